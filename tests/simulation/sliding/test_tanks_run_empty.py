"""Tanks that run empty one after the other: h' = q - sqrt(max(h, 0)), whose slope is infinite at h = 0."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

METHODS = ["auto", "dopri5", "radau3", "radau5", "radau9", "bdf", "rodas5p", "sdirk4"]


def chain(levels, written, inflow=0.0):
    """Tanks that flow into the next one, the last one away."""
    m = dd.Model("tanks")
    h = m.state("h", len(levels), start=levels)
    q = m.input("q") if inflow is None else inflow

    def flow(level):
        root = ca.sqrt(ca.fmax(level, 0))
        return root if written == "fmax" else ca.if_else(level > 0, root, 0)

    for k in range(len(levels)):
        m.equation(m.der(h[k]), (q if k == 0 else flow(h[k - 1])) - flow(h[k]))
    return m


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("written", "rtol"), [(written, rtol) for written in ("fmax", "if_else") for rtol in (1e-4, 1e-6, 1e-8)]
)
def test_two_tanks_from_an_empty_one(written, rtol, method):
    """The first is (1 - t/2)² until it is empty at t = 2; then the other one runs out linearly in its root."""
    tr = dd.simulate(chain([1.0, 0.0], written), 8.0, method=method, rtol=rtol)
    assert tr.success, tr.stop_reason
    assert tr.at(1.0)["h"][0] == pytest.approx(0.25, abs=100 * rtol)
    # By SciPy's DOP853 at rtol = 1e-12 from t = 1e-6 on, where it is t - 2/3 t^(3/2).
    assert tr.at(1.0)["h"][1] == pytest.approx(0.29635235, abs=max(1e-5, 20 * rtol))
    assert np.abs(tr["h"][-1]).max() < 1e-6
    # Nothing drains an empty tank: with the steep slope of a full one, radau5 let it sink to -1.4e-4 in silence.
    assert tr["h"].min() > -1e-6


@pytest.mark.parametrize("written", ["fmax", "if_else"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_random_chains(seed, method, written):
    random = np.random.default_rng(seed)
    levels = np.where(random.uniform(size=4) < 0.4, 0.0, random.uniform(0.1, 3.0, 4))
    rtol = 10.0 ** -random.integers(3, 8)
    tr = dd.simulate(chain(list(levels), written), 30.0, method=method, rtol=rtol)
    if (
        method != "auto" and not tr.success
    ):  # Radau methods may miss the first steps of an empty tank, by 2e-6, and say so
        assert tr.status == "stuck"
        return
    assert tr.success, tr.stop_reason
    assert np.abs(tr["h"][-1]).max() < 1e-5
    assert tr["h"].min() > -1e-5


@pytest.mark.parametrize("method", METHODS)
def test_empty_tanks_fill_again(method):
    """At rest from t = 3.7 on; an inflow of ½ from t = 6 on leads to levels of ¼."""
    refill = dd.signal([0.0, 6.0], [0.0, 0.5], kind="hold")
    tr = dd.simulate(chain([1.0, 0.0], "fmax", None), 20.0, inputs={"q": refill}, method=method)
    assert tr.success, tr.stop_reason
    assert np.abs(tr.at(5.5)["h"]).max() < 1e-5
    assert tr["h"][-1] == pytest.approx([0.25, 0.25], abs=1e-4)
