"""method="auto" takes what the model asks for and says why; a method that cannot solve a model is refused."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue


def van_der_pol(stiffness):
    m = dd.Model("van der Pol")
    x, v = m.state("x", start=2.0), m.state("v", start=0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), stiffness * (1 - x**2) * v - x)
    return m


def pendulum():
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[1.0, 0.0], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", ca.sumsqr(q) - 1)
    return m


def test_a_soft_model_stays_explicit():
    tr = dd.simulate(van_der_pol(1.0), 20.0)
    assert (tr.method, tr.notes[0]) == ("tsit5", "auto: tsit5, explicit, for rtol = 1e-06")


def test_a_stiff_model_is_continued_by_an_implicit_method():
    tr = dd.simulate(van_der_pol(1000.0), 2000.0)
    assert tr.success
    assert tr.method == "tsit5, then radau5"
    assert tr.notes[0] == "auto: tsit5, explicit, for rtol = 1e-06"
    assert tr.notes[1].startswith("auto: radau5, implicit, because stability held tsit5 to steps of")
    assert tr.work.steps < 2000
    reference = dd.simulate(van_der_pol(1000.0), 2000.0, method="radau9", rtol=1e-10, atol=1e-12)
    assert tr["x"][-1] == pytest.approx(reference["x"][-1], abs=1e-3)


def test_stiffness_near_the_end_does_not_pay_for_another_method():
    tr = dd.simulate(van_der_pol(1000.0), 0.05)
    assert tr.method == "tsit5"


def test_tight_tolerances_take_the_higher_order():
    tr = dd.simulate(van_der_pol(1000.0), 2000.0, rtol=1e-9)
    assert tr.method == "dop853, then radau9"


def test_the_same_values_are_found_with_samples_events_and_limits():
    m = van_der_pol(1000.0)
    m.event("falls", m["x"] - 1.2, direction=-1)
    tr = dd.simulate(m, 2000.0, save_at=[0.0, 100.0, 2000.0])
    assert tr.method == "tsit5, then radau5"
    assert tr.time.tolist() == [0.0, 100.0, 2000.0]
    assert [e.name for e in tr.events] == ["falls"] * len(tr.events)
    assert tr.events
    assert dd.simulate(m, 2000.0, max_steps=10).status == "step_limit"


def test_algebraic_equations_that_are_not_linear_need_an_implicit_method():
    m = dd.Model("tank")
    h, q = m.state("h", start=4.0), m.algebraic("q", start=1.0)
    m.equation(m.der(h), -q)
    m.equation(q + 0.1 * q**3, h, name="outlet")
    tr = dd.simulate(m, 2.0)
    assert tr.method == "radau5"
    assert tr.notes[0] == "auto: radau5, implicit, because outlet is nonlinear in q"
    assert np.max(np.abs(tr["q"] + 0.1 * tr["q"] ** 3 - tr["h"])) < 1e-6


def test_a_mechanism_is_reduced_and_stays_explicit():
    tr = dd.simulate(pendulum(), 2.0)
    assert tr.method == "tsit5"
    assert max(tr.drift().values()) < 1e-14


@pytest.mark.parametrize("method", ["gauss2", "trapezoidal", "rodas5p", "bdf", "implicit_euler"])
def test_a_method_below_the_index_is_refused_with_the_reason(method):
    with pytest.raises(dd.InputError) as caught:
        dd.simulate(pendulum(), 1.0, method=method, step=0.01 if method not in ("bdf", "rodas5p") else None)
    text = str(caught.value)
    assert text.startswith(f"The method {method!r} does not solve a model of index 3.")
    assert "rod" in text
    assert "\n  Because " in text
    assert text.endswith('Try: dd.simulate(dd.reduce(m), ...), or method="auto"')


def test_gauss_is_refused_on_index_2():
    known = catalogue.load("cstr")
    with pytest.raises(dd.InputError, match="does not solve a model of index 2"):
        dd.simulate(known.model, known.span, start=known.start, inputs=known.inputs, method="gauss3", step=0.1)


def test_a_tableau_of_ones_own_is_judged_by_its_coefficients():
    own = dd.Tableau([[0.5]], [1.0], [0.5], name="middle")
    with pytest.raises(dd.InputError, match=r"R\(∞\) = -1"):
        dd.simulate(pendulum(), 1.0, method=own, step=0.01)
    tr = dd.simulate(van_der_pol(1.0), 1.0, method=own, step=0.01)
    assert (tr.method, tr.success) == ("middle", True)


def test_rosenbrock_methods_need_a_constant_matrix():
    m = dd.Model("cone")
    h = m.state("h", start=1.0)
    m.equation(h**2 * m.der(h), -h)
    with pytest.raises(dd.InputError) as caught:
        dd.simulate(m, 0.3, method="rodas5p")
    assert str(caught.value) == (
        "The method 'rodas5p' does not fit this model.\n"
        "  what stands before the derivatives depends on h\n"
        "  Because a Rosenbrock method keeps its order only where M x' = f(t, x, z) has a constant M.\n"
        '  Try: method="radau5", or m.algebraic variables for the derivatives'
    )


def test_bdf_takes_no_fixed_step():
    with pytest.raises(dd.InputError, match="BDF takes no fixed step"):
        dd.simulate(van_der_pol(1.0), 1.0, method="bdf", step=0.1)
