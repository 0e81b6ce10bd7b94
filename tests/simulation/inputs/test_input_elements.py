"""Vector inputs given element by element: numbers, expressions and functions side by side."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def carrier():
    m = dd.Model("carrier")
    x, u = m.state("x", 3, start=[1.0, 1.0, 1.0]), m.input("u", 3)
    m.equation(m.der(x), u)
    return m


def exact(t):
    """x' = (2, -x1, cos t) from ones."""
    return [1 + 2 * t, np.exp(-t), 1 + np.sin(t)]


def given(m):
    feedback = -m["x"][1]
    return {
        "a list": {"u": [2, feedback, np.cos]},
        "a tuple": {"u": (2.0, feedback, lambda t: ca.cos(t))},
        "names": {"u[2]": np.cos, "u[0]": 2.0, "u[1]": feedback},
        "all expressions": {"u": [ca.SX(2), feedback, ca.cos(m.time)]},
    }


@pytest.mark.parametrize("how", given(carrier()))
@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_elements_of_every_kind(how, method):
    m = carrier()
    tr = dd.simulate(m, 1.0, inputs=given(m)[how], method=method, rtol=1e-9)
    assert tr["x"][-1] == pytest.approx(exact(1.0), abs=1e-7)


def test_functions_and_numbers_in_sweeps():
    m = carrier()
    en = dd.sweep(m, 1.0, over={"x[0]": [0.0, 1.0]}, inputs={"u": [2, 0, lambda t: np.cos(t)]}, save_at=[0.0, 1.0])
    assert en["x"].values[:, -1] == pytest.approx(np.array([[2.0, 1.0, 1 + np.sin(1)], [3.0, 1.0, 1 + np.sin(1)]]))


def test_elements_that_are_left_out_are_named():
    with pytest.raises(dd.InputError, match=r"An expression or function drives u\[2\], one element of an input"):
        dd.simulate(carrier(), 1.0, inputs={"u[0]": 0.0, "u[2]": np.cos})
    with pytest.raises(dd.InputError, match=r"The function for input u has the wrong shape"):
        dd.simulate(carrier(), 1.0, inputs={"u": [0.0, np.cos]})


def test_a_function_that_is_not_finite_at_the_start_is_named():
    with pytest.raises(dd.InputError) as caught:
        dd.simulate(carrier(), 1.0, inputs={"u": lambda t: [0.0, float("nan"), float("inf")]})
    assert str(caught.value) == (
        "The input u[1] is nan at t = 0.\n"
        "  not finite either: u[2]\n"
        "  Because a run cannot start with a value that is not finite.\n"
        "  Try: a function that has a value over the whole span"
    )
