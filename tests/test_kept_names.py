"""Names that users rely on: each is in the reference with words of its own, and does what these say."""

import inspect
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

DOCS = Path(__file__).parent.parent / "docs"


def decay():
    m = dd.Model("decay")
    x, k = m.state("x", start=1.0), m.parameter("k", 1.0)
    m.equation(m.der(x), -k * x)
    return m


def pendulum():
    m = dd.Model("pendulum")
    p = m.coordinate("p", 2, start=[1, 0], rate=[0, 0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(p)))
    m.potential_energy(9.81 * p[1])
    m.constraint("rod", ca.sumsqr(p) - 1)
    return m


def test_prepare():
    run = dd.prepare(decay(), 1.0, save_at=[0.5, 1.0], rtol=1e-9)
    assert run(np.array([2.0]), None, np.array([3.0])).shape == (2, 1)
    assert run(p=np.array([2.0]))[-1, 0] == pytest.approx(np.exp(-2.0), abs=1e-7)
    assert (run.labels["x"], run.labels["p"]) == (("x",), ("k",))


def test_gradient():
    m = decay()
    g = dd.gradient(m, 1.0, final=m["x"] ** 2, wrt=["k"], rtol=1e-9)
    assert g.value == pytest.approx(np.exp(-2.0), abs=1e-7)
    assert g["k"] == pytest.approx(-2 * np.exp(-2.0), abs=1e-6)


def test_locate_switches():
    m = dd.Model("valve")
    x = m.state("x", start=0.0)
    m.equation(m.der(x), ca.if_else(m.time > 0.3, 1.0, 0.0))
    assert dd.simulate(m, 1.0)["x"][-1] == pytest.approx(0.7, abs=1e-12)
    over = dd.simulate(m, 1.0, method="rk4", step=0.25, locate_switches=False)
    assert abs(over["x"][-1] - 0.7) > 1e-3


def test_dummy_derivatives_and_tearing():
    n = dd.reduce(pendulum(), stabilise="dummy_derivatives")
    tr = dd.simulate(n, 0.3, rtol=1e-7)
    assert max(tr.drift().values()) < 1e-6
    assert "selection" in n.parameters
    m = dd.Model("chain")
    x, a, b = m.state("x", start=1.0), m.algebraic("a"), m.algebraic("b")
    m.equation(m.der(x), -b)
    m.equation(a, 2 * x)
    m.equation(b, a)
    torn = dd.reduce(m, tear=True)
    assert torn.freeze().sizes["z"] == 0
    assert dd.simulate(torn, 1.0, rtol=1e-9)["b"][-1] == pytest.approx(2 * np.exp(-2.0), abs=1e-7)


def test_status_pieces_and_end():
    m = decay()
    tr = dd.simulate(m, 1.0)
    assert tr.status == "finished"
    assert len(tr.pieces) == 1
    assert dd.simulate(m, (1.0, 2.0), start=tr.end)["x"][0] == tr["x"][-1]
    stiff = dd.Model("relaxation")
    x, y = stiff.state("x", start=2.0), stiff.state("y", start=0.0)
    stiff.equation([stiff.der(x), stiff.der(y)], [y, 1000 * (1 - x**2) * y - x])
    whole = dd.simulate(stiff, 2000.0)
    assert [piece.method for piece in whole.pieces] == [whole.method] == ["radau5"]


def test_repair():
    """x' = z, x = 1 + z from x = 0, z = 0: a start that does not obey the equations is repaired on request."""

    def residual(t, y, yp):
        return [yp[0] + y[0], y[1] - 2 * y[0]]

    with pytest.raises(dd.DaedalusError):
        dd.solve_dae(residual, (0.0, 1.0), [1.0, 0.0], [-1.0, 0.0])
    found = dd.solve_dae(residual, (0.0, 1.0), [1.0, 0.0], [-1.0, 0.0], repair=True)
    assert found.y[1, 0] == pytest.approx(2 * found.y[0, 0])


def test_two_ways_to_differentiate():
    m = decay()
    ways = [dd.sensitivities(m, 1.0, by=way, rtol=1e-9).M[0, 0] for way in ("variational", "discrete")]
    assert ways == pytest.approx([np.exp(-1.0)] * 2, abs=1e-6)


@pytest.mark.parametrize(("name", "order"), [("rodas4", 4), ("lobatto4", 4), ("lobatto6", 6)])
def test_methods(name, order):
    assert dd.methods()[name].order == order
    assert (DOCS / "methods" / f"{name}.md").exists()
    step = {} if name == "rodas4" else {"step": 0.01}
    assert dd.simulate(pendulum() if step else decay(), 0.1, method=name, **step).success


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (dd.simulate, ["locate_switches"]),
        (dd.reduce, ["dummy_derivatives", "tear"]),
        (dd.solve_dae, ["repair"]),
        (dd.sensitivities, ["by"]),
        (dd.prepare, ["save_at"]),
        (dd.gradient, ["final", "running", "wrt"]),
    ],
)
def test_keywords_are_documented(call, words):
    parameters = inspect.signature(call).parameters
    for word in words:
        assert word in call.__doc__
        assert word in parameters or '"' + word + '"' in call.__doc__


@pytest.mark.parametrize("name", ["pieces", "end", "records", "stop", "notes"])
def test_parts_of_a_result_are_documented(name):
    assert inspect.getattr_static(dd.Trajectory, name).__doc__
