"""The error of one step and its order."""

import numpy as np
import pytest

import daedalus as dd


@pytest.fixture(scope="module")
def decay():
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    return m


@pytest.mark.document(
    "002",
    "the one-step error is one order higher than the global error",
    "`dd.step_error`, `dd.convergence`",
)
@pytest.mark.parametrize(("method", "order"), [("euler", 1), ("heun", 2), ("rk4", 4), ("implicit_euler", 1),
                                               ("trapezoidal", 2), (dd.tableau("ralston3"), 3)])  # fmt: skip
def test_one_more_than_the_order_of_a_run(decay, method, order):
    found = dd.step_error(decay, method, 0.2)
    assert found.expected == order + 1
    assert found.order == pytest.approx(order + 1, abs=0.15)


def test_the_error_is_that_of_the_stability_function(decay):
    for name in ("euler", "rk4", "implicit_euler"):
        error = dd.step_error(decay, name, 0.1).errors["x"]
        assert error == pytest.approx(dd.tableau(name).stability(-0.1).real - np.exp(-0.1), rel=1e-6)


def test_a_multistep_method_steps_from_right_values(decay):
    """The first error of BDF of 2 steps: x3 = 4/3 x2 - 1/3 x1, over 1 + 2/3 h."""
    h, past = 0.1, np.exp(-0.1)
    expected = (4 / 3 * past - 1 / 3) / (1 + 2 / 3 * h) - np.exp(-0.2)
    assert dd.step_error(decay, dd.bdf(2), h).errors["x"] == pytest.approx(expected, rel=1e-6)


def test_other_starts_and_refusals(decay):
    found = dd.step_error(decay, "euler", 0.1, time=3.0, start={"x": 2.0})
    assert (found.time, found.error) == (3.0, pytest.approx(2 * (np.exp(-0.1) - 0.9)))
    with pytest.raises(dd.InputError, match="one method and one step"):
        dd.step_error(decay, "auto", 0.1)
    with pytest.raises(dd.InputError, match="one method and one step"):
        dd.step_error(decay, "euler", -0.1)
