"""Index reduction keeps solutions: against second ways of computing, published values and the original equations."""

import pickle

import casadi as ca
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from reduced_models import angle_of_pendulum, chain, first_order_pendulum, pendulum, residual_along, text_of

import daedalus as dd
from daedalus import catalogue

SHARP = {"rtol": 1e-11, "atol": 1e-13}


# -- mechanics -------------------------------------------------------------------------------------------------


def test_the_record_of_a_pendulum():
    n = dd.reduce(pendulum())
    assert n.reduction.text == "\n".join(
        [
            "pendulum: structural index 3 before the reduction",
            "  rod differentiated twice",
            "  states: p[0], p[1], p_dot[0], p_dot[1]",
            "  algebraic: rod",
            "  2 start values may be chosen freely",
            "  kept at zero by projection: rod; rod, differentiated once",
        ]
    )
    assert n.reduction.differentiated == {"rod": 2}
    assert n.reduction.degrees_of_freedom == 2
    assert list(n.freeze().invariants) == ["rod", "rod, differentiated once"]
    assert list(n.equations) == ["motion of p", "rod, differentiated twice"]
    assert dd.analyse(n).index == 1


def test_a_pendulum_in_cartesian_coordinates_is_the_one_by_angle():
    at = np.linspace(0, 3, 31)
    position, multiplier = angle_of_pendulum(3.0, save_at=at, **SHARP)
    m = pendulum()
    tr = dd.simulate(dd.reduce(m), 3.0, save_at=at, **SHARP)
    assert np.abs(tr["p"] - position).max() < 1e-8
    assert np.abs(tr["rod"] - multiplier).max() < 1e-7
    assert max(residual_along(m, tr).values()) < 1e-9


def test_the_form_does_not_matter():
    """Written with second derivatives, with velocities as states: the same motion and no additional states."""
    n = dd.reduce(first_order_pendulum())
    assert n.reduction.states == ("p[0]", "p[1]", "v[0]", "v[1]")
    assert n.reduction.differentiated == {"length": 2}
    assert n.equations["rates"] == ["p_dot[0] - v[0] = 0", "p_dot[1] - v[1] = 0"]
    one = dd.simulate(n, 2.0, save_at=[2.0], **SHARP)
    two = dd.simulate(dd.reduce(pendulum()), 2.0, save_at=[2.0], **SHARP)
    assert np.abs(one["p"] - two["p"]).max() < 1e-9
    assert np.abs(one["v"] - two["p_dot"]).max() < 1e-9


def test_rates_with_a_factor_are_put_in_too():
    m = dd.Model("scaled")
    k = m.parameter("k", 2.0)
    x, v, z = m.state("x", start=0.0), m.state("v", start=1.0), m.algebraic("z")
    m.equation(k * m.der(x) - 3 * v, name="rate")
    m.equation(m.der(v), z, name="push")
    m.equation(x, 1.5 * ca.sin(m.time), name="path")
    n = dd.reduce(m)
    assert n.reduction.states == ("x", "v")
    tr = dd.simulate(n, 1.0, rtol=1e-9)
    assert tr["z"][-1] == pytest.approx(-np.sin(1.0), abs=1e-12)


def test_rates_that_depend_on_unknowns_are_differentiated():
    """A rate with a factor that may vanish cannot be put in: x_dot becomes a state with an invariant of its own."""
    m = dd.Model("varying factor")
    x, v, z = m.state("x", start=1.0, rate=0.5), m.state("v", start=0.5), m.algebraic("z")
    m.equation(x * m.der(x) - v, name="rate")
    m.equation(m.der(v), z, name="push")
    m.equation(x**2, 1 + m.time, name="path")
    n = dd.reduce(m)
    assert n.reduction.differentiated == {"rate": 1, "path": 2}
    assert n.reduction.states == ("x", "v", "x_dot")
    assert n.reduction.degrees_of_freedom == 0
    tr = dd.simulate(n, 1.0, rtol=1e-10, atol=1e-12)
    assert tr["x"][-1] == pytest.approx(np.sqrt(2), abs=1e-9)
    assert tr["v"][-1] == pytest.approx(0.5, abs=1e-9)


# End values of the Test Set for Initial Value Problem Solvers (Mazzia and Magherini, 2008).
PUBLISHED = {
    ("car_axis", "position"): [0.0493455784275402, 0.496989460230171, 1.04174252488542, 0.373911027265361],
    ("andrews", "angle"): [
        *(15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948),
        *(0.5244099658805304, 0.5347301163226948, 1.048080741042263),
    ],
}


@pytest.mark.parametrize(("name", "variable"), list(PUBLISHED))
def test_published_values(name, variable):
    k = catalogue.load(name)
    tr = dd.simulate(dd.reduce(k.model), k.span, start=k.start, inputs=k.inputs, rtol=1e-10, atol=1e-12)
    assert tr.success
    assert np.abs(tr[variable][-1] / PUBLISHED[name, variable] - 1).max() < 1e-6


def test_a_drift_that_stays_small():
    n = dd.reduce(pendulum())
    tr = dd.simulate(n, 20.0, rtol=1e-6)
    assert tr["p"][:, 0].min() < -0.9
    assert max(tr.drift().values()) < 1e-12


# -- other systems ---------------------------------------------------------------------------------------------


def test_a_stirred_tank_with_a_fast_equilibrium():
    """Document 003: R1 stands in no algebraic equation, so the index is 2."""
    k = catalogue.load("cstr")
    n = dd.reduce(k.model)
    assert n.reduction.differentiated == {"equilibrium": 1}
    tr = dd.simulate(n, k.span, start=k.start, inputs=k.inputs, rtol=1e-11, atol=1e-13)
    assert all(k.reference.error(name, tr[name][-1]) < 1e-9 for name in ("V", "CA", "CB", "CC"))


def test_a_chain_of_derivatives():
    """Nilpotent of index 3: x1 = u'', x2 = u', x3 = u."""
    n = dd.reduce(chain(), inputs={"u": lambda t: np.sin(t)})
    assert n.reduction.states == ("x2", "x3")
    assert n.reduction.algebraic == ("x1",)
    assert "x1 has no derivative left and is algebraic" in n.reduction.text
    tr = dd.simulate(n, 2.0, start={"x2": 1.0, "x3": 0.0}, rtol=1e-9)
    for name, value in (
        ("x1", -np.sin(tr.time)),
        ("x2", np.cos(tr.time)),
        ("x3", np.sin(tr.time)),
        ("u", np.sin(tr.time)),
    ):
        assert np.abs(tr[name] - value).max() < 1e-12
    assert max(residual_along(chain(inputs=False), tr).values()) < 1e-12


def test_a_chain_inside_one_variable():
    """x[0] has no derivative but its neighbours have: all elements become states."""
    m = dd.Model("vector")
    x = m.state("x", 3, start=[0, 1, 0])
    m.equation([m.der(x[1]) - x[0], m.der(x[2]) - x[1], x[2] - ca.sin(m.time)], name="chain")
    n = dd.reduce(m)
    assert n.reduction.states == ("x[0]", "x[1]", "x[2]")
    assert n.reduction.differentiated == {"chain[2]": 3}
    tr = dd.simulate(n, 1.0, rtol=1e-10, atol=1e-12)
    assert np.abs(tr["x"][-1] - [-np.sin(1), np.cos(1), np.sin(1)]).max() < 1e-9


def test_a_circuit_with_a_capacitor_across_a_source():
    """The source current is C u' + i: an index of 2."""
    m = dd.Model("circuit")
    C, L, R = m.parameter("C", 2.0), m.parameter("L", 0.5), m.parameter("R", 1.0)
    v, i = m.state("v", start=0.0, unit="V"), m.state("i", start=0.0, unit="A")
    source, charging = m.algebraic("source"), m.algebraic("charging")
    m.equation(C * m.der(v), charging, name="capacitor")
    m.equation(L * m.der(i), v - R * i, name="coil")
    m.equation(source, charging + i, name="node")
    m.equation(v, ca.sin(3 * m.time), name="voltage")
    n = dd.reduce(m)
    assert n.reduction.differentiated == {"voltage": 1}
    assert n.variables["v"].unit == "V"
    assert n.reduction.degrees_of_freedom == 1
    tr = dd.simulate(n, 2.0, **SHARP)
    assert np.abs(tr["source"] - (2.0 * 3 * np.cos(3 * tr.time) + tr["i"])).max() < 1e-11
    assert max(residual_along(m, tr).values()) < 1e-11


def test_an_algebraic_variable_that_gets_a_derivative():
    m = dd.Model("alias")
    x, w, force = m.state("x", start=0.0), m.algebraic("w", start=0.25), m.algebraic("force")
    m.equation(m.der(x), force, name="balance")
    m.equation(w, x + 0, name="alias")
    m.equation(w, ca.sin(m.time), name="path")
    n = dd.reduce(m)
    assert n.variables["w"].kind == "state"
    assert n.variables["w"].guess == (0.25,)
    assert n.variables["w"].start == (None,)
    assert "w has a derivative and is a state" in n.reduction.text
    tr = dd.simulate(n, 1.0, rtol=1e-9)
    assert tr["force"][-1] == pytest.approx(np.cos(1.0), abs=1e-12)


def test_index_zero_makes_states_of_algebraic_variables():
    m = dd.Model("tank")
    x, z = m.state("x", start=1.0), m.algebraic("z", start=1.0)
    m.equation(m.der(x), -z, name="balance")
    m.equation(z**3 + z, 2 * x, name="law")
    n = dd.reduce(m, index=0)
    assert n.reduction.states == ("x", "z")
    assert n.reduction.algebraic == ()
    tr = dd.simulate(n, 1.0, start={"z": 1.0}, **SHARP)
    assert np.abs(tr["z"] ** 3 + tr["z"] - 2 * tr["x"]).max() < 1e-12


@st.composite
def kronecker(draw):
    """P diag(I, N) Q x' = P diag(J, I) Q x with random regular P, Q: index = size of the largest block of N."""
    finite = draw(st.integers(1, 2))
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=2))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    J, N = rng.uniform(-1, 1, (finite, finite)), scipy.linalg.block_diag(*(np.eye(s, k=1) for s in sizes))
    n = finite + len(N)
    P, Q = (scipy.linalg.qr(rng.standard_normal((n, n)))[0] @ np.diag(rng.uniform(0.5, 2, n)) for _ in range(2))
    E = P @ scipy.linalg.block_diag(np.eye(finite), N) @ Q
    A = P @ scipy.linalg.block_diag(J, np.eye(len(N))) @ Q
    y = rng.uniform(-1, 1, finite)
    return E, A, lambda t: np.linalg.solve(Q, np.concatenate([scipy.linalg.expm(J * t) @ y, np.zeros(len(N))])), finite


@settings(max_examples=25, deadline=None)
@given(kronecker())
def test_linear_systems_with_a_known_kronecker_form(case):
    E, A, solution, finite = case
    m = dd.Model("linear")
    x = m.state("x", len(E), start=solution(0.0))
    m.equation(ca.DM(E) @ m.der(x), ca.DM(A) @ x, name="e")
    n = dd.reduce(m)
    assert n.reduction.degrees_of_freedom == finite
    tr = dd.simulate(n, 1.0, rtol=1e-10, atol=1e-12)
    assert np.abs(tr["x"][-1] - solution(1.0)).max() < 1e-7
    assert max(residual_along(m, tr).values()) < 1e-6


# -- what is kept ----------------------------------------------------------------------------------------------


def test_a_model_of_index_one_comes_back_as_it_is():
    m = dd.Model("tank")
    x, z, u = m.state("x", start=1.0), m.algebraic("z", start=2.0), m.input("u")
    m.equation(m.der(x), u - z, name="balance")
    m.equation(z, 2 * x, name="law")
    n = dd.reduce(m)
    assert n is not m
    assert n.freeze() == m.freeze()
    assert n.reduction.text.startswith(
        "tank: nothing to differentiate, the equations determine every highest derivative"
    )
    assert n.constraints == {}
    assert n.reduction.differentiated == {}
    assert n.reduction.inputs == {"u": 0}


def test_a_state_without_derivative_becomes_algebraic():
    m = dd.Model("lazy")
    x, y = m.state("x", start=1.0), m.state("y", start=5.0)
    m.equation(m.der(x), -y)
    m.equation(y, 2 * x)
    n = dd.reduce(m)
    assert n.variables["y"].kind == "algebraic"
    assert dd.simulate(n, 1.0, rtol=1e-9)["y"][-1] == pytest.approx(2 * np.exp(-2), abs=1e-8)


def test_outputs_events_and_symbols_live_on():
    m = pendulum()
    p = m["p"]
    m.output("energy", 0.5 * ca.sumsqr(m.der(p)) + 9.81 * p[1])
    m.event("left", p[0] + 0.5, terminal=True)
    n = dd.reduce(m)
    n.output("height", p[1] + 1)
    tr = dd.simulate(n, 5.0, **SHARP)
    assert np.ptp(tr["energy"]) < 1e-8
    assert tr.events[0].name == "left"
    assert tr["p"][-1, 0] == pytest.approx(-0.5, abs=1e-9)
    assert np.array_equal(tr["height"], tr["p"][:, 1] + 1)
    assert "height" not in m.outputs
    assert list(m.equations) == ["motion of p", "rod"]


def test_an_output_with_a_derivative_keeps_it():
    m = dd.Model("path")
    x, z = m.state("x", start=0.0), m.algebraic("z")
    m.equation(x, ca.sin(m.time), name="path")
    m.equation(z, 2 * x, name="double")
    m.output("speed", m.der(x))
    n = dd.reduce(m)
    assert n.reduction.differentiated == {"path": 1}
    assert dd.simulate(n, 1.0, rtol=1e-9)["speed"][-1] == pytest.approx(np.cos(1.0), abs=1e-12)


def test_events_may_set_states():
    m = dd.Model("path")
    x, y = m.state("x", start=1.0), m.state("y", start=0.0)
    m.equation(x, 1.0, name="constant")
    m.equation(m.der(y), x, name="growth")
    m.event("reset", y - 0.5, reset={"x": 1.0, "y": 0.0})
    n = dd.reduce(m)
    assert n.variables["x"].kind == "state"
    assert dd.simulate(n, 1.2, rtol=1e-9)["y"][-1] == pytest.approx(0.2, abs=1e-7)


def test_existing_invariants_stay():
    m = dd.Model("body")
    m.body("b", mass=1.0, inertia=np.eye(3))
    n = dd.reduce(m)
    assert list(n.freeze().invariants) == list(m.freeze().invariants) != []


def test_it_travels():
    n = dd.reduce(pendulum())
    twin = pickle.loads(pickle.dumps(n))
    assert twin.freeze() == n.freeze()
    assert twin.reduction.text == n.reduction.text
    assert list(twin.constraints) == list(n.constraints)
    assert twin.reduction.original == pendulum().freeze()


def test_constraints_are_expressions_of_states():
    n = dd.reduce(pendulum())
    length, rate = n.constraints.values()
    f = ca.Function("f", [n["p"], n["p_dot"]], [length, rate])
    assert [float(part) for part in f([0.6, 0.9], [2.0, 3.0])] == pytest.approx([0.36 + 0.81 - 1, 2 * (1.2 + 2.7)])


# -- notes and refusals ----------------------------------------------------------------------------------------


def test_a_start_off_the_constraint_is_said():
    n = dd.reduce(pendulum(start=[0.9, 0.0]))
    assert "the start values are off rod by 0.19: dd.initialise(m) finds values that fit" in n.reduction.notes


def test_a_start_at_which_the_constraint_has_no_slope_is_said():
    m = dd.Model("cross")
    q = m.coordinate("q", 2, start=[0.0, 0.0], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.constraint("axes", q[0] * q[1])
    (note,) = dd.reduce(m).reduction.notes
    assert note.startswith("at the start ")
    assert note.endswith("their matrix is singular there")
    assert "axes" in note


def test_inputs_are_not_differentiated():
    assert text_of(lambda: dd.reduce(chain()), dd.ModelError) == (
        "The input u would have to be differentiated twice.\n"
        "  it stands in chain[2], which is differentiated\n"
        "  Because a signal from outside may jump, and its derivative would be an impulse.\n"
        '  Try: dd.reduce(m, inputs={"u": expression of m.time}), or make u a state with an equation for its derivative'
    )


def test_a_singular_structure_is_refused():
    m = dd.Model("twice")
    x, y = m.state("x"), m.state("y")
    m.equation(x, 1, name="one")
    m.equation(ca.sin(x), 1, name="two")
    text = text_of(lambda: dd.reduce(m), dd.SingularModelError)
    assert text.startswith("The model cannot be reduced: its structure is singular.\n  y stand in too few equations\n")
    assert "one, two are too many equations" in text
    assert "Try: dd.analyse(m)" in text
    assert y.is_symbolic()


def test_redundant_constraints_are_named():
    m = dd.Model("doubled")
    q = m.coordinate("q", 2, start=[1.0, 0.0], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.constraint("one", q[0] + q[1] - 1)
    m.constraint("two", 2 * q[0] + 2 * q[1] - 2)
    text = text_of(lambda: dd.reduce(m), dd.SingularModelError)
    assert text.startswith("The model cannot be reduced: an equation follows from the others.")
    assert "one, two: a combination of them says 0 = 0" in text.replace("two, one", "one, two")


def test_a_misleading_pattern_is_repaired():
    """Example (14) of document 004: the difference of the equations is x1 + cos x2 + 7 = 0."""
    m = dd.Model("example 14")
    x1, x2 = m.state("x1", start=-7 - np.cos(2.0)), m.state("x2", start=2.0)
    m.equation(m.der(x1) + m.der(x2) - 7, name="sum")
    m.equation(m.der(x1) + m.der(x2) + x1 + ca.cos(x2), name="other")
    n = dd.reduce(m)
    (text,) = n.constraints
    assert "combined with" in text
    assert f"{text}, which contains fewer derivatives" in n.reduction.notes
    tr = dd.simulate(n, 0.5, **SHARP)
    assert np.abs(tr["x1"] + np.cos(tr["x2"]) + 7).max() < 1e-10
    assert max(residual_along(m, tr).values()) < 1e-9
    assert np.abs(tr["x1"] + tr["x2"] - (7 * tr.time + tr["x1"][0] + tr["x2"][0])).max() < 1e-9


@pytest.mark.parametrize(
    ("arguments", "headline"),
    [
        ({"stabilise": "magic"}, "stabilise='magic' means nothing."),
        ({"index": 2}, "index=2 is not offered."),
        ({"index": True}, "index=True is not offered."),
        ({"alpha": 3.0}, "alpha=3.0 cannot be used."),
        ({"alpha": -1.0, "stabilise": "baumgarte"}, "alpha=-1.0 cannot be used."),
        ({"inputs": {"w": 1.0}}, "The model 'pendulum' has no input 'w'."),
    ],
)
def test_arguments_that_mean_nothing(arguments, headline):
    text = text_of(lambda: dd.reduce(pendulum(), **arguments), dd.InputError)
    assert text.splitlines()[0] == headline
    assert "  Because " in text
    assert "  Try: " in text


def test_only_a_model_is_reduced():
    text = text_of(lambda: dd.reduce(pendulum().freeze()), dd.ModelError)
    assert text.startswith("reduce takes a Model.\n  got System\n")


def test_large_systems_take_seconds():
    """1000 cells of index 3: no search grows with the square of the size (the states are looked at, not the clock)."""
    m = dd.Model("large")
    q, v, pull = m.state("q", 1000), m.state("v", 1000), m.algebraic("pull", 1000)
    m.equation(m.der(q), v, name="rates")
    m.equation(m.der(v), pull - q + ca.vertcat(0, q[:-1]), name="motion")
    m.equation(q, ca.repmat(ca.sin(m.time), 1000), name="path")
    n = dd.reduce(m)
    assert n.reduction.degrees_of_freedom == 0
    assert len(n.reduction.states) == 2000
    assert "path differentiated twice" in n.reduction.text


def test_a_compound_pendulum_as_a_body_in_space():
    """A hinge of five constraints on a quaternion body against the angle alone: m l² + J = 0.25 + 0.09."""
    m = dd.Model("compound")
    m.gravity([0, 0, -9.81])
    b = m.body(
        "rod", mass=1.0, inertia=np.diag([0.09, 0.09, 0.01]), position=[0.5, 0, 0], rotation=dd.rot_y(-np.pi / 2)
    )
    m.joint("hinge", "revolute", dd.ground, b, at_a=[0, 0, 0], at_b=[0, 0, 0.5], axis_a=[0, 1, 0], axis_b=[0, 1, 0])
    k = dd.Model("angle")
    a = k.coordinate("a", start=0.0, rate=0.0)
    k.kinetic_energy(0.5 * 0.34 * k.rate(a) ** 2)
    k.potential_energy(9.81 * 0.5 * ca.sin(a))
    tr, by_angle = (dd.simulate(model, 1.0, save_at=[1.0], **SHARP) for model in (dd.reduce(m), k))
    angle = by_angle["a"][-1]
    assert np.abs(tr["rod.position"][-1] - [0.5 * np.cos(angle), 0, 0.5 * np.sin(angle)]).max() < 1e-8


def test_reducing_twice_changes_nothing():
    n = dd.reduce(pendulum())
    twice = dd.reduce(n)
    assert twice.freeze() == n.freeze()
    assert list(twice.constraints) == list(n.constraints)
    assert dd.to_first_order(n).constraints["rod, differentiated once"].n_dep() == 2
