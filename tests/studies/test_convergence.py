"""Measured orders: those of theory on known systems, by hand where the solution is known; what was left out is said."""

import math

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.studies.convergence import convergence
from daedalus.studies.measured_order import fitted_order

# Orders 10 and 12 reach rounding on these systems before their slope is steady; tests/core/test_implicit_tableau.py
# measures them on problems with room for it.
RUNNING = [m.name for m in dd.methods() if m.name in dd.tableau_names() and m.order < 10]
# Steps over the span by order: small enough for the asymptotic slope, large enough to stay above rounding.
# Below 24 steps the local orders of radau9 on lotka_volterra lie between 4 and 15; from there on they are steady.
COUNTS = {
    1: [2000, 4000, 8000], 2: [400, 800, 1600], 3: [200, 400, 800], 4: [100, 200, 400], 5: [80, 160, 320],
    9: [24, 28, 34, 40],
}  # fmt: skip


def counts_for(order):
    return COUNTS.get(order, [20, 28, 40])


def oscillator():
    m = dd.Model("oscillator")
    x = m.state("x", start=1.0)
    v = m.state("v", start=0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -x)
    return m


def decay():
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    return m


@pytest.mark.parametrize("method", RUNNING)
@pytest.mark.parametrize(("name", "span"), [("van_der_pol", 3.0), ("lotka_volterra", 3.0)])
def test_every_method_has_its_order_on_known_systems(method, name, span):
    known = catalogue.load(name)
    expected = dd.methods()[method].order
    c = convergence(known.model, method, span / np.array(counts_for(expected)), span=span)
    assert c.expected == expected
    # Theory is a lower bound: the leading term of the fifth-order pairs is so small that the next one shows.
    assert expected - 0.25 < c.order < expected + (0.25 if expected < 5 else 2.0), c


@pytest.mark.parametrize("name", ["heun3", "ralston3", "ssprk3", "rk38", "fehlberg", "cash_karp"])
def test_tableaux_beside_the_named_methods(name):
    T = dd.tableau(name)
    c = convergence(catalogue.load("van_der_pol").model, T, 5.0 / np.array(counts_for(T.order)), span=5.0)
    assert c.method == name
    assert c.expected == T.order
    assert c.order > T.order - 0.25


@pytest.mark.parametrize("alpha", [0.3, 0.7, 1.0, -0.5])
def test_families_have_their_order_for_every_alpha(alpha):
    for family, order in (("rk2", 2), ("rk3", 3)):
        if (family, alpha) == ("rk3", 1.0):
            continue
        c = convergence(oscillator(), dd.tableau(family, alpha=alpha), 2.0 / np.array([40, 80, 160]), span=2.0)
        assert abs(c.order - order) < 0.1


def test_the_errors_are_those_one_takes_by_hand():
    steps = [0.1, 0.05, 0.02]
    c = convergence(oscillator(), "heun", steps, span=3.0)
    for k, step in enumerate(steps):
        tr = dd.simulate(oscillator(), 3.0, method="heun", step=step)
        by_hand = abs(tr["x"][-1] - math.cos(3.0)), abs(tr["v"][-1] + math.sin(3.0))
        assert c.errors["x"][k] == pytest.approx(by_hand[0], rel=1e-9)
        assert c.errors["v"][k] == pytest.approx(by_hand[1], rel=1e-9)
        # Both states swing between -1 and 1.
        assert c.error[k] == pytest.approx(math.hypot(*by_hand) / math.sqrt(2), rel=5e-3)
    assert c.orders["x"] == pytest.approx(np.polyfit(np.log(c.steps), np.log(c.errors["x"]), 1)[0])


def test_points_at_the_rounding_floor_are_left_out_and_named():
    c = convergence(oscillator(), "rk4", 2.0 / 2.0 ** np.arange(2, 15, 2), span=2.0)
    assert c.order == pytest.approx(4.0, abs=0.1)
    assert not c.used["x"][-1]
    assert c.used["x"][0]
    assert c.ranges["x"] == (c.steps[c.used["x"]].min(), 0.5)
    left = ", ".join(f"{step:g}" for step in c.steps[~c.used["x"]])
    assert c.notes == (
        f"left out for every variable: steps {left} (no larger than rounding or the reference can make it)",
    )
    assert "left out" in repr(c)


def test_a_fit_through_the_rounding_floor_would_be_wrong():
    c = convergence(oscillator(), "rk4", 2.0 / 2.0 ** np.arange(2, 15, 2), span=2.0)
    everything = fitted_order(c.steps, np.maximum(c.error, 1e-17), np.ones(len(c.steps), dtype=bool))
    assert everything < 3.8 < c.order


def test_runs_that_blow_up_at_large_steps_are_left_out_and_named():
    known = catalogue.load("lotka_volterra")
    c = convergence(known.model, "rk4", 10.0 / np.array([8, 128, 256, 512]), span=10.0)
    assert c.order == pytest.approx(4.0, abs=0.2)
    assert math.isnan(c.error[0])
    assert c.notes[0] == "left out for every variable: step 1.25 (prey_dot is not finite at t = 5)"


def test_errors_as_large_as_the_variable_do_not_count():
    m = dd.Model("fast")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -50 * (x - np.cos(m.time)))
    c = convergence(m, "euler", 2.0 / np.array([40, 400, 800, 1600]), span=2.0)
    assert c.order == pytest.approx(1.0, abs=0.05)
    assert c.notes == ("left out for every variable: step 0.05 (the error is as large as the variable itself)",)


def test_a_variable_that_is_integrated_exactly_has_no_order():
    m = decay()
    clock = m.state("clock", start=0.0)
    m.equation(m.der(clock), 1.0)
    c = convergence(m, "rk4", [0.1, 0.05, 0.025])
    assert math.isnan(c.orders["clock"])
    assert c.ranges["clock"] is None
    assert c.orders["x"] == pytest.approx(4.0, abs=0.1)
    assert c.notes == ("left out for clock: all steps (no larger than rounding or the reference can make it)",)
    assert "clock -" in repr(c)


def test_a_kink_costs_the_order_and_a_remark_says_so():
    m = dd.Model("kink")
    x = m.state("x", start=0.0)
    m.equation(m.der(x), np.fabs(m.time - 0.31) - x)
    c = convergence(m, "rk4", 1.0 / 2.0 ** np.arange(2, 9), locate_switches=False)
    assert c.order < 2.5
    assert c.notes[-1] == (
        "below the expected order: the steps are still too large, the right-hand side is not smooth enough, or an "
        "event falls between the steps"
    )


def test_a_located_kink_costs_nothing():
    m = dd.Model("kink")
    x = m.state("x", start=0.0)
    m.equation(m.der(x), np.fabs(m.time - 0.31) - x)
    assert convergence(m, "rk4", 1.0 / 2.0 ** np.arange(2, 6)).order > 3.75


def test_algebraic_variables_and_vectors_have_orders_of_their_own():
    m = dd.Model("with z")
    x = m.state("x", 2, start=[1.0, 0.0])
    z = m.algebraic("z")
    m.equation(m.der(x), [x[1], -x[0]])
    m.equation(z, x[0] * x[1])
    c = convergence(m, "midpoint", [0.1, 0.05, 0.025])
    assert list(c.orders) == ["x[0]", "x[1]", "z"]
    assert all(abs(order - 2) < 0.2 for order in c.orders.values())
    # The overall error is that of the states.
    both = np.sqrt(0.5 * (c.errors["x[0]"] ** 2 + c.errors["x[1]"] ** 2 / np.sin(1.0) ** 2))
    np.testing.assert_allclose(c.error, both, rtol=1e-6)


def test_without_a_span_ten_of_the_largest_steps_are_taken():
    assert convergence(decay(), "heun", [0.05, 0.1]).span == (0.0, 1.0)


def test_backwards_and_with_inputs_starts_and_parameters():
    m = dd.Model("driven")
    x = m.state("x", start=1.0)
    u = m.input("u")
    k = m.parameter("k", 1.0)
    m.equation(m.der(x), -k * x + u)
    backwards = convergence(m, "rk4", [0.1, 0.05, 0.025], span=(1.0, 0.0), inputs={"u": lambda t: np.sin(t)})
    assert backwards.order == pytest.approx(4.0, abs=0.1)
    c = convergence(
        m, "rk4", [0.1, 0.05, 0.025], inputs={"u": 0.0}, start={"x": 2.0}, parameters={"k": 3.0},
        reference={"x": 2 * math.exp(-3.0)},
    )  # fmt: skip
    assert c.order == pytest.approx(4.0, abs=0.2)


def test_references_of_all_kinds_agree():
    known = catalogue.load("lotka_volterra")
    steps, span = 10.0 / np.array([200, 400, 800]), known.span
    fine = dd.simulate(known.model, known.span, rtol=1e-13, atol=1e-16)
    kinds = [None, known.reference, dict(known.reference), fine, fine.at(10.0)]
    orders = [convergence(known.model, "rk4", steps, span=span, reference=kind).order for kind in kinds]
    np.testing.assert_allclose(orders, orders[0], atol=1e-4)


def test_a_reference_with_few_digits_sets_the_floor():
    known = catalogue.load("lotka_volterra")
    rough = catalogue.reference.Reference(10.0, {"prey": 1.0263, "predators": 0.9097}, 5, "by eye")
    c = convergence(known.model, "rk4", 10.0 / np.array([50, 100, 200, 400, 800]), span=10.0, reference=rough)
    assert c.order > 3.5
    assert c.used["prey"].tolist() == [True, True, False, False, False]


def test_only_the_variables_of_the_reference_are_compared_outputs_too():
    m = decay()
    m.output("square", m["x"] ** 2)
    c = convergence(m, "rk4", [0.1, 0.05], reference={"square": math.exp(-2.0)})
    assert list(c.orders) == ["square"]
    assert c.order == pytest.approx(4.0, abs=0.1)


def test_results_are_frozen():
    c = convergence(decay(), "heun", [0.1, 0.05])
    with pytest.raises(AttributeError):
        c.order = 3.0
    with pytest.raises(ValueError, match="read-only"):
        c.errors["x"][0] = 1.0
    with pytest.raises(TypeError):
        c.orders["x"] = 1.0


def message(kind, *arguments, **options):
    with pytest.raises(kind) as caught:
        convergence(*arguments, **options)
    return str(caught.value)


def test_too_few_steps():
    assert message(dd.InputError, decay(), "rk4", [0.1, 0.1]) == (
        "Too few steps to measure an order.\n"
        "  different step sizes: 0.1\n"
        "  Because the order is the slope between errors, so two step sizes are needed at least.\n"
        "  Try: steps=[0.1, 0.05, 0.025]"
    )
    assert "different step sizes: none" in message(dd.InputError, decay(), "rk4", [])


def test_steps_that_do_not_divide_the_span():
    assert message(dd.InputError, decay(), "rk4", [0.1, 0.07]) == (
        "The steps do not divide the span.\n"
        "  the span is 1 long; it is not a multiple of 0.07\n"
        "  Because a shortened last step would count as a whole one; steps= holds step sizes, not numbers of steps.\n"
        "  Try: steps=1 / np.array([10, 14])"
    )
    assert "Try: steps=1 / np.array([10, 20, 40])" in message(dd.InputError, decay(), "rk4", [10, 20, 40], span=1.0)
    convergence(decay(), "rk4", 1 / np.array([10, 14]))


@pytest.mark.parametrize("steps", ["abc", 0.1, [0.1, -0.05], [0.1, math.nan], [[0.1, 0.05]], None])
def test_steps_that_are_no_steps(steps):
    assert "because steps= is a list of step sizes" in message(dd.InputError, decay(), "rk4", steps).lower()


def test_methods_that_cannot_be_measured():
    assert 'method = "auto"' in message(dd.InputError, decay(), "auto", [0.1, 0.05])
    assert "There is no method 'rk5'." in message(dd.InputError, decay(), "rk5", [0.1, 0.05])
    wrong = dd.Tableau([[0, 0], [0.5, 0]], [0, 0.5], [0, 0.5], name="misprint")
    assert "'misprint' is not consistent" in message(dd.InputError, decay(), wrong, [0.1, 0.05])


def test_a_solution_that_does_not_reach_the_end():
    m = dd.Model("explosion")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), x**2)
    text = message(dd.SolverError, m, "rk4", [0.1, 0.05], span=2.0)
    assert text.startswith("The reference run of 'explosion' did not reach the end.\n  step size fell below")
    assert "Try: a span that ends earlier, or the right values at its end as reference=" in text


def test_runs_that_do_not_reach_the_end():
    known = catalogue.load("van_der_pol")
    assert message(dd.SolverError, known.model, "euler", [1.0, 0.5], span=20.0) == (
        "The runs of 'van_der_pol' do not reach the end of the span.\n"
        "  step 1: x_ddot is not finite at t = 12\n"
        "  step 0.5: x_ddot is not finite at t = 8.5\n"
        "  Because the errors are compared at one time, the end of the span.\n"
        "  Try: smaller steps, or a method with a larger region of stability"
    )


def test_a_terminal_event_before_the_end():
    m = decay()
    m.event("half", m["x"] - 0.5, terminal=True)
    text = message(dd.SolverError, m, "rk4", [0.1, 0.05], span=2.0, reference={"x": 0.5})
    assert "step 0.05: event 'half' ended the run at t = 0.693147" in text
    assert "Try: a span that ends before the event" in text


def test_errors_that_say_nothing():
    text = message(dd.SolverError, decay(), "dop853", [0.01, 0.005])
    assert text.startswith("The order cannot be measured from these errors.\n  step 0.01: relative error")
    assert text.endswith("Try: larger steps, or a longer span")
    stiff = dd.Model("stiff")
    x = stiff.state("x", start=1.0)
    stiff.equation(stiff.der(x), -50 * (x - np.cos(stiff.time)))
    assert message(dd.SolverError, stiff, "euler", [0.1, 0.05], span=1.0).endswith(
        "Try: smaller steps, or a shorter span"
    )


def test_references_that_do_not_fit():
    known = catalogue.load("van_der_pol")
    assert message(dd.InputError, known.model, "rk4", [0.1, 0.05], reference=known.reference) == (
        "The reference belongs to another time.\n"
        "  it holds at t = 20, the span ends at 1\n"
        "  Because the errors are those at the end of the span.\n"
        "  Try: span=20"
    )
    assert "no variable 'y'" in message(dd.InputError, decay(), "rk4", [0.1, 0.05], reference={"y": 1.0})
    assert "The reference of x is not a number." in message(
        dd.InputError, decay(), "rk4", [0.1, 0.05], reference={"x": None}
    )
    assert "The reference cannot be used." in message(dd.InputError, decay(), "rk4", [0.1, 0.05], reference=3.0)
    short = dd.simulate(decay(), 0.5)
    assert "it holds at t = 0.5" in message(dd.InputError, decay(), "rk4", [0.1, 0.05], reference=short)
    other = dd.simulate(oscillator(), 1.0).at([0.5, 1.0])
    assert "more than one time" in message(dd.InputError, decay(), "rk4", [0.1, 0.05], reference=other)


def pendulum_of_index(index):
    """A pendulum in Cartesian coordinates; its rod is written for accelerations, velocities or positions."""
    m = dd.Model("pendulum")
    p, v = m.state("p", 2, start=[1.0, 0.0]), m.state("v", 2, start=[0.0, 0.0])
    z = m.algebraic("z")
    m.equation(m.der(p), v)
    m.equation(m.der(v), [-z * p[0], -z * p[1] - 9.81])
    rod = {1: ca.sumsqr(v) - z * ca.sumsqr(p) - 9.81 * p[1], 2: ca.dot(p, v), 3: ca.sumsqr(p) - 1}
    m.equation(rod[index], name="rod")
    return m


@pytest.mark.parametrize(("index", "expected", "orders"), [(1, 5, (5, 5, 5)), (2, 5, (5, 5, 3)), (3, 3, (4, 3, 1.8))])
def test_daes_of_every_index(index, expected, orders):
    # Hairer, Lubich, Roche 1989: a lower bound for positions, velocities and the force in the rod.
    found = dd.convergence(pendulum_of_index(index), "radau5", [0.04, 0.02, 0.01], span=0.8)
    assert found.expected == expected
    for name, order in zip(("p[1]", "v[1]", "z"), orders):
        assert found.orders[name] > order - 0.25


def test_explicit_methods_run_the_reduced_model():
    found = dd.convergence(pendulum_of_index(3), "rk4", [0.04, 0.02, 0.01], span=0.8)
    assert found.expected == 4
    assert found.order == pytest.approx(4.2, abs=0.3)


def test_algebraic_equations_without_a_formula():
    m = dd.Model("cubic")
    x, z = m.state("x", start=1.0), m.algebraic("z", start=0.6)
    m.equation(m.der(x), -z)
    m.equation(z**3 + z, x)
    found = dd.convergence(m, "gauss2", [0.2, 0.1, 0.05])
    assert found.order == pytest.approx(4, abs=0.1)
    assert found.orders["z"] == pytest.approx(4, abs=0.1)


def test_a_method_below_the_index_is_refused():
    with pytest.raises(dd.InputError, match="The method 'gauss2' does not solve a model of index 2"):
        dd.convergence(pendulum_of_index(2), "gauss2", [0.02, 0.01], span=0.8)
