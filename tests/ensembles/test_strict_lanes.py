"""strict=True: kernels do every operation of a model as it is written, on a processor and on a GPU alike."""

import casadi as ca
import numpy as np
import pytest
from tests.ensembles.fake_gpu import install

import daedalus as dd
from daedalus.compilation.lanes.machine import lane_width
from daedalus.compilation.lanes.ptx import ptx_of
from daedalus.ensembles.cases import read_cases
from daedalus.ensembles.gpu.gpu_runs import gpu_text
from daedalus.ensembles.lanes.lane_runs import lane_runs
from daedalus.ensembles.sweep_plan import SweepPlan

NAMES, COUNT = ("a", "b", "c"), 400


def rate(a, b, c):
    """Divisions by what stays and by what does not, products that feed sums, roots: IEEE rounds each of them."""
    return (a * b + c) / (b - c * a) - a / b + (c + a / (1.0 + c * c)) * (b * b - 2.0 * a) / (a * c + 3.0)


def quotients():
    m = dd.Model("quotients")
    x, y = m.state("x", start=0.0), m.state("y", start=0.0)
    a, b, c = (m.parameter(name, 1.0) for name in NAMES)
    m.equation(m.der(x), rate(a, b, c + y))
    m.equation(m.der(y), 0.0 * a)
    return m


def drawn():
    source = np.random.default_rng(25)
    return {name: source.uniform(0.5, 2.0, COUNT) for name in NAMES}


def test_every_operation_is_rounded_on_its_own():
    """A step of Euler's method from zero over one second ends at the slope itself: NumPy's bits are those asked for."""
    over, options = drawn(), {"combine": "zip", "method": "euler", "step": 1.0, "save_at": "end"}
    expected = rate(*over.values())
    strict = dd.sweep(quotients(), 1.0, over=over, strict=True, **options)
    np.testing.assert_array_equal(strict["x"].values[:, -1], expected)
    fused = dd.sweep(quotients(), 1.0, over=over, on="cpu", **options)["x"].values[:, -1]
    np.testing.assert_allclose(fused, expected, rtol=1e-12)
    assert np.count_nonzero(fused != expected) > COUNT // 10


def test_few_cases_take_lanes_too_and_are_the_same_in_any_company():
    over = drawn()
    options = {"combine": "zip", "strict": True, "method": "tsit5"}
    many = dd.sweep(quotients(), 1.0, over=over, **options)
    few = dd.sweep(quotients(), 1.0, over={name: values[:3] for name, values in over.items()}, **options)
    assert few.notes == (f"3 cases on {lane_width()} lanes of this processor, by tsit5",)
    np.testing.assert_array_equal(few["x"].values, many["x"].values[:3])


@pytest.mark.parametrize("method", ["tsit5", "rodas5p"])
def test_a_gpu_has_the_bits_of_lanes(monkeypatch, method):
    install(monkeypatch)
    options = {"over": drawn(), "combine": "zip", "strict": True, "method": method}
    there, here = (dd.sweep(quotients(), 1.0, on=on, **options) for on in ("gpu", "cpu"))
    np.testing.assert_array_equal(there["x"].values, here["x"].values)


@pytest.mark.parametrize("method", ["tsit5", "rodas5p"])
def test_divisions_stay_in_the_text_of_a_gpu(method):
    m = dd.Model("division")
    x, a = m.state("x", start=1.0), m.parameter("a", 2.0)
    m.equation(m.der(x), -ca.sin(x) / a)

    def divisions(strict):
        plan = SweepPlan(m.freeze(), (0.0, 1.0), (None,) * 3, [1.0], {"method": method}, strict=strict)
        found = lane_runs(plan.opened(read_cases(plan.system, {"a": [1.0, 2.0]}, "product")).runs)
        return ptx_of(gpu_text(found)).decode().count("div.rn.f64")

    # The inverse of the parameter, taken once a case, against a division at each evaluation.
    assert divisions(True) > divisions(False)


def test_other_words_for_it_are_refused():
    with pytest.raises(dd.InputError, match="strict= is neither True nor False"):
        dd.sweep(quotients(), 1.0, over={"a": [1.0]}, strict="yes")
