"""Tables as splines: exact for polynomials of their order, differentiable as often, refused where they do not fit."""

import numpy as np
import pytest

import daedalus as dd
from daedalus.analysis.linear.responses.piecewise_inputs import read_inputs


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5, 7])
def test_polynomials_of_the_order_are_exact_with_all_derivatives(order):
    times = np.array([0.0, 0.3, 1.0, 1.2, 2.0, 2.5, 3.0, 3.1, 4.0])
    curve = np.polynomial.Polynomial(np.arange(1.0, order + 2))
    table = dd.signal(times, curve(times), kind="spline", order=order)
    at = np.linspace(0.0, 4.0, 37)
    for k in range(order + 1):
        exact = curve.deriv(k)(at) if k else curve(at)
        assert table(at) == pytest.approx(exact, rel=1e-8, abs=1e-7)
        table = table.derivative() if k < order else table
    assert table.kind == "hold"


def test_vectors_matrices_and_elements():
    times = np.linspace(0.0, 1.0, 6)
    values = np.stack([[[t, t**2], [t**3, 1.0]] for t in times])
    table = dd.signal(times, values, kind="spline")
    assert table(0.37) == pytest.approx(np.array([[0.37, 0.37**2], [0.37**3, 1.0]]))
    assert table.element(1)(0.37) == pytest.approx(0.37**3)
    assert repr(table) == "signal(4 times from 0 to 1, spline of order 3)"


def test_a_spline_drives_a_run_and_a_linear_system_alike():
    times = np.linspace(0.0, 2.0, 9)
    wave = dd.signal(times, np.sin(times), kind="spline")
    m = dd.Model("lag")
    x, u = m.state("x", start=0.0), m.input("u")
    m.equation(m.der(x), u - x)
    ends = [dd.simulate(m, 2.0, inputs={"u": wave}, method=name, rtol=1e-9, atol=1e-11)["x"][-1]
            for name in ("auto", "rodas5p", "radau5")]  # fmt: skip
    exact = dd.LTI([[-1.0]], [[1.0]]).respond([0.0, 2.0], wave)["x"][-1]
    assert ends == pytest.approx([exact] * 3, abs=1e-8)
    pieces = read_inputs(wave, np.array([0.1, 1.9]), ("u",), "linear")
    assert pieces.values.ravel() == pytest.approx(wave([0.1, 1.9]))


def test_in_plans_of_unknown_duration_it_is_a_formula():
    times = np.linspace(0.0, 3.0, 13)
    m = dd.Model("carried")
    x, u, w = m.state("x", start=0.0), m.input("u"), m.input("w")
    m.equation(m.der(x), u + w)
    ocp = dd.OptimalControl(m, duration=dd.unknown(1.0, 0.1, 3.0), intervals=8)
    ocp.start()
    ocp.finish({"x": 1.0})
    ocp.bound(u, -1.0, 1.0)
    ocp.given("w", dd.signal(times, times**2, kind="spline"))
    ocp.minimise(final=ocp.duration)
    plan = ocp.solve()
    assert plan.duration + plan.duration**3 / 3 == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (([0, 1, 2], [0, 1, 4]), "A spline of order 3 needs 4 points.\n  got 3\n  Because fewer points do not "
         "determine its polynomials.\n  Try: order=2"),
        (([0, 1, 2, 3], [0, 1, 4, 9], "spline", 0), "order=0 is not a valid order of a spline."),
        (([0, 1, 2, 3], [0, 1, 4, 9], "linear", 2), "A table of kind 'linear' takes no order=."),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(arguments, text):
    times, values, kind, order = (*arguments, "spline", None)[:4] if len(arguments) == 2 else arguments
    with pytest.raises(dd.InputError) as caught:
        dd.signal(times, values, kind=kind, order=order)
    assert str(caught.value).startswith(text)


def test_steps_have_no_derivative():
    with pytest.raises(dd.InputError, match="A table that jumps has no derivative"):
        dd.signal([0, 1], [0, 1]).derivative()
    assert dd.signal([0, 1], [2, 2]).derivative()(0.5) == 0.0
