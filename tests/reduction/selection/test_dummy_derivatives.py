"""Dummy derivatives: which states are selected, what stands in the place of the others, and that solutions stay."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from reduced_models import chain, first_order_pendulum, kronecker, pendulum, residual_along, text_of
from rings import examples

import daedalus as dd
from daedalus import catalogue
from daedalus.model.system.equation_row import EquationRow, Source
from daedalus.reduction.selection.choice_groups import Level
from daedalus.reduction.selection.dummy_derivatives import _chosen
from daedalus.reduction.selection.selected_states import selected_states, without_choice

STABILISE = "dummy_derivatives"


def test_the_record_of_a_pendulum():
    n = dd.reduce(pendulum(), stabilise=STABILISE)
    assert n.reduction.text == "\n".join(
        [
            "pendulum: structural index 3 before the reduction",
            "  rod differentiated twice",
            "  states: p[0], p[1], p_rate[0], p_rate[1]",
            "  algebraic: rod",
            "  2 start values may be chosen freely",
            "  equations in the place of the derivatives of dependent states: rod; rod, differentiated once",
            "  selected at the start: p[1], p_rate[1]; dependent: p[0], p_rate[0]",
        ]
    )
    assert n.reduction.selected == ("p[1]", "p_rate[1]")
    assert n.reduction.dependent == ("p[0]", "p_rate[0]")
    assert n.freeze().invariants == {}
    report = dd.analyse(n)
    assert (report.index, report.degrees_of_freedom) == (1, 2)


def test_the_equations_of_a_pendulum():
    """Accelerations follow from equations with constant masses: no unknown is added. One choice serves both levels."""
    n = dd.reduce(pendulum(), stabilise=STABILISE)
    assert n.equations["rate of p"] == [
        "(1 - selection[0])*(p_dot[0] - p_rate[0]) + selection[0]*(p[0]^2 + p[1]^2 - 1) = 0",
        "(1 - selection[1])*(p_dot[1] - p_rate[1]) + selection[1]*(p[0]^2 + p[1]^2 - 1) = 0",
    ]
    assert n.variables["selection"].start == (1.0, 0.0)
    system = n.freeze()
    assert (system.sizes["x"], system.sizes["z"], system.sizes["p"]) == (4, 1, 2)
    (choice,) = system.choices
    assert choice.states == ((("p", 0), ("p", 1)), (("p_rate", 0), ("p_rate", 1)))
    rod = EquationRow("rod", Source("rod"))
    assert choice.constraints == ((rod,), (rod.differentiated(1),))


def test_coupled_accelerations_get_names():
    m = dd.Model("coupled")
    q = m.coordinate("q", 2, start=[1.0, 0.0], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)) + 0.2 * m.rate(q)[0] * m.rate(q)[1])
    m.constraint("rod", ca.sumsqr(q) - 1)
    n = dd.reduce(m, stabilise=STABILISE)
    assert n.reduction.algebraic == ("rod", "q_rate_rate[0]", "q_rate_rate[1]")
    tr = dd.simulate(n, 1.0, start={"q_rate": [0.0, 3.0]}, method="radau5", rtol=1e-9)
    other = dd.simulate(dd.reduce(m), 1.0, start={"q_dot": [0.0, 3.0]}, rtol=1e-11, atol=1e-12)
    assert np.abs(tr["q"][-1] - other["q"][-1]).max() < 1e-6
    assert max(residual_along(m, dd.simulate(n, 1.0, save_at=[0.0, 0.5, 1.0], method="radau5")).values()) < 1e-6


def test_rates_that_depend_on_unknowns():
    """A derivative of higher order in the reduced model becomes a state with a name."""
    m = dd.Model("varying factor")
    x, v, z = m.state("x", start=1.0, rate=0.5), m.state("v", start=0.5), m.algebraic("z")
    m.equation(x * m.der(x) - v, name="rate")
    m.equation(m.der(v), z, name="push")
    m.equation(x**2, 1 + m.time, name="path")
    n = dd.reduce(m, stabilise=STABILISE)
    assert n.reduction.states == ("x", "v", "x_rate")
    assert n.reduction.selected == ()
    tr = dd.simulate(n, 1.0, rtol=1e-9)
    assert tr["x"][-1] == pytest.approx(np.sqrt(2), abs=1e-10)
    assert tr["v"][-1] == pytest.approx(0.5, abs=1e-10)


def test_groups_of_their_own():
    """Two pendulums that share nothing have two choices, and two events."""
    m = dd.Model("two")
    for name in "ab":
        q = m.coordinate(name, 2, start=[1.0, 0.0], rate=[0.0, 0.0])
        m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
        m.potential_energy(9.81 * q[1])
        m.constraint(f"rod_{name}", ca.sumsqr(q) - 1)
    n = dd.reduce(m, stabilise=STABILISE)
    assert [choice.event for choice in n.freeze().choices] == ["another_selection_1", "another_selection_2"]
    tr = dd.simulate(n, 2.0, start={"a_rate": [0.0, 7.0]}, method="radau5", rtol=1e-8)
    alone = dd.simulate(dd.reduce(pendulum(rate=(0.0, 7.0))), 2.0, rtol=1e-10, atol=1e-12)
    assert np.abs(tr["a"][-1] - alone["p"][-1]).max() < 1e-6


def test_the_form_does_not_matter():
    n = dd.reduce(first_order_pendulum(), stabilise=STABILISE)
    assert n.reduction.dependent == ("p[0]", "v[0]")
    assert n.reduction.states == ("p[0]", "p[1]", "v[0]", "v[1]")


def test_a_quaternion_is_a_choice_too():
    """The unit length of a body's quaternion is an equation here and needs no projection."""
    m = dd.Model("top")
    m.body("top", mass=1.0, inertia=np.diag([1.0, 2.0, 3.0]), angular_velocity=[0.1, 3.0, 0.1])
    n = dd.reduce(m, stabilise=STABILISE)
    assert n.freeze().invariants == {}
    assert [len(c.states[0]) for c in n.freeze().choices] == [4]
    tr = dd.simulate(n, 4.0, method="radau9", rtol=1e-9)
    other = dd.simulate(m, 4.0, rtol=1e-11, atol=1e-12)
    assert len(tr.pieces) > 2
    assert np.abs(tr["top.quaternion"][-1] - other["top.quaternion"][-1]).max() < 1e-7


def test_a_model_without_constraints_stays_as_it_is():
    m = dd.Model("oscillator")
    y = m.state("y", start=1.0, rate=0.0)
    m.equation(m.der(m.der(y)), -y, name="force")
    n = dd.reduce(m, stabilise=STABILISE)
    assert n.equations == {"force": ["y_ddot + y = 0"]}
    assert n.freeze().choices == ()


def test_expressions_stay_valid_and_a_part_inside_another_model_too():
    n = dd.reduce(pendulum(rate=(0.0, 7.0)), stabilise=STABILISE)
    whole = dd.Model("whole")
    whole.include("left", n)
    tr = dd.simulate(whole, 1.0, method="radau5", rtol=1e-8)
    alone = dd.simulate(n.copy(), 1.0, method="radau5", rtol=1e-8)
    assert len(tr.pieces) == len(alone.pieces) == 5
    assert np.array_equal(tr["left.p"], alone["p"])
    assert whole.freeze().choices[0].event == "left.another_selection"


def test_without_a_choice_all_states_are_integrated():
    n = dd.reduce(pendulum(), stabilise=STABILISE)
    system = without_choice(n.freeze())
    assert list(system.invariants) == ["rod", "rod, differentiated once"]
    assert system.events == ()
    assert system.choices == ()
    assert without_choice(system) is system
    own = selected_states(n.freeze())
    x, p = np.array([0.6, -0.8, 0.0, 0.0]), np.array([1.0, 0.0])
    assert own.worst_rates(0.0, x, np.zeros(0), p) == pytest.approx([0.8 / 0.6])
    assert own.places(p) == ([0, 2], [3, 0])


def test_a_choice_that_is_good_enough_stays():
    own = selected_states(dd.reduce(pendulum(), stabilise=STABILISE).freeze())
    none, first, second = np.zeros(0), np.array([1.0, 0.0]), np.array([0.0, 1.0])
    for angle, before, after in ((60, first, first), (64, first, second), (30, second, second), (26, second, first)):
        x = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle)), 0.0, 0.0])
        assert np.array_equal(own.chosen(0.0, x, none, before), after)


def test_nominal_values_count():
    """In units of their sizes the longer axis of an ellipse counts as much as the shorter one."""
    m = dd.Model("ellipse")
    p, v, pull = (
        m.state("p", 2, start=[0.6e3, 0.8], nominal=[1e3, 1.0]),
        m.state("v", 2, start=[0.0, 0.0], nominal=[1e3, 1.0]),
        m.algebraic("pull"),
    )
    m.equation(m.der(p), v, name="rates")
    m.equation(m.der(v), [2e-6 * p[0] * pull, 2 * p[1] * pull - 1], name="motion")
    m.equation((p[0] / 1e3) ** 2 + p[1] ** 2, 1, name="track")
    assert dd.reduce(m, stabilise=STABILISE).reduction.dependent == ("p[1]", "v[1]")


# -- solutions stay ----------------------------------------------------------------------------------------------


@pytest.mark.wide
@settings(max_examples=examples(12, 4), deadline=None)
@given(kronecker())
def test_linear_systems_with_a_known_kronecker_form(case):
    E, A, solution, finite = case
    m = dd.Model("linear")
    x = m.state("x", len(E), start=solution(0.0))
    m.equation(ca.DM(E) @ m.der(x), ca.DM(A) @ x, name="e")
    n = dd.reduce(m, stabilise=STABILISE)
    assert n.reduction.degrees_of_freedom == finite
    assert len(n.reduction.selected) <= finite
    tr = dd.simulate(n, 1.0, rtol=1e-9, atol=1e-11)
    # The matrices are constant: no choice gets worse.
    assert tr.success
    assert len(tr.pieces) == 1
    assert np.abs(tr["x"][-1] - solution(1.0)).max() < 1e-7
    assert max(residual_along(m, tr).values()) < 1e-6


def test_inputs_are_differentiated_as_by_the_other_ways():
    m = chain()
    n = dd.reduce(m, stabilise=STABILISE, inputs={"u": ca.sin(m.time)})
    assert n.reduction.inputs == {"u": 2}
    tr = dd.simulate(n, 1.0, rtol=1e-9)
    assert np.abs(tr["x1"] + np.sin(tr.time)).max() < 1e-12


# -- refusals ----------------------------------------------------------------------------------------------------


def test_what_it_does_not_fit():
    assert text_of(
        lambda: dd.reduce(catalogue.load("rod_chain", rods=13).model, stabilise=STABILISE), dd.ModelError
    ) == (
        'stabilise="dummy_derivatives" does not fit this model.\n'
        "  26 constraints share their states: hinge0[0], hinge0[1], hinge1[0], hinge1[1], …\n"
        "  Because rating a choice of states would take one formula of more than 24 equations.\n"
        '  Try: stabilise="projection", which grows with the number of constraints alone'
    )
    assert 'Try: "projection", "baumgarte", "ggl", "dummy_derivatives" or None' in text_of(
        lambda: dd.reduce(pendulum(), stabilise="dummy"), dd.InputError
    )
    assert "index=0 is not supported" in text_of(
        lambda: dd.reduce(pendulum(), stabilise=STABILISE, index=0), dd.InputError
    )


def test_a_choice_is_not_reduced_again():
    n = dd.reduce(pendulum(), stabilise=STABILISE)
    assert text_of(lambda: dd.reduce(n), dd.ModelError) == (
        "reduce does not accept a model with dummy derivatives.\n"
        "  the constraints of 'pendulum' are equations in the place of the derivatives of dependent states\n"
        "  Because a run changes which equations hold.\n"
        "  Try: dd.reduce(m) with the model before its reduction"
    )
    # The multiplier has a formula: it can be eliminated, and the choice stays.
    tr = dd.simulate(dd.eliminate(n, "rod"), 1.0, start={"p_rate": [0.0, 7.0]}, method="radau5", rtol=1e-8)
    assert len(tr.pieces) == 5


def test_constraints_that_determine_nothing():
    level = Level((EquationRow("rod", Source("rod")),), ca.SX(0), ((0, 0), (1, 0)), ca.SX.sym("p", 2))
    assert text_of(lambda: _chosen(np.zeros((1, 2)), level), dd.ModelError) == (
        'stabilise="dummy_derivatives" does not fit this model.\n'
        "  rod cannot be solved for any of the unknowns there\n"
        "  Because each constraint takes the place of the derivative of one state, which has to follow from it.\n"
        '  Try: stabilise="projection"; dd.analyse(m) names constraints that follow from others'
    )


def test_equations_that_give_a_derivative_together_with_another_one():
    """v' stands with y', which is not a state of the choice: its value is read with the y' of the run."""
    m = dd.Model("linked")
    p, v, y, pull = m.state("p", 2, start=[1, 0]), m.state("v", 2, start=[0, 7]), m.state("y"), m.algebraic("pull")
    m.equation(m.der(p), v, name="rates")
    m.equation(m.der(v) + 0.1 * m.der(y), 2 * p * pull + ca.DM([0, -9.81]), name="motion")
    m.equation(m.der(y) * (1 + y**2), p[0], name="other")
    m.equation(ca.sumsqr(p), 1, name="length")
    n = dd.reduce(m, stabilise=STABILISE)
    tr = dd.simulate(n, 1.0, method="radau5", rtol=1e-9)
    other = dd.simulate(dd.reduce(m), 1.0, rtol=1e-11, atol=1e-12)
    assert len(tr.pieces) == 5
    for name in ("p", "v", "y"):
        assert np.abs(tr[name][-1] - other[name][-1]).max() < 1e-6
    assert np.abs(tr["y_dot"] * (1 + tr["y"] ** 2) - tr["p"][:, 0]).max() < 1e-8
    assert max(residual_along(m, tr).values()) < 1e-6
