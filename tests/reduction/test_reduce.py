"""Index reduction keeps solutions: against second ways of computing, published values and the original equations."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from reduced_models import angle_of_pendulum, chain, first_order_pendulum, kronecker, pendulum, residual_along
from rings import examples

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


def test_a_drift_that_stays_small():
    n = dd.reduce(pendulum())
    tr = dd.simulate(n, 20.0, rtol=1e-6)
    assert tr["p"][:, 0].min() < -0.9
    assert max(tr.drift().values()) < 1e-12


# -- other systems ---------------------------------------------------------------------------------------------


@pytest.mark.document("003", "the isothermal CSTR", '`catalogue.load("cstr")`')
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


@settings(max_examples=examples(25, 3), deadline=None)
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


@pytest.mark.wide
def test_a_large_system():
    """1000 cells of index 3 in a chain: no motion is left to choose."""
    m = dd.Model("large")
    q, v, pull = m.state("q", 1000), m.state("v", 1000), m.algebraic("pull", 1000)
    m.equation(m.der(q), v, name="rates")
    m.equation(m.der(v), pull - q + ca.vertcat(0, q[:-1]), name="motion")
    m.equation(q, ca.repmat(ca.sin(m.time), 1000), name="path")
    n = dd.reduce(m)
    assert n.reduction.degrees_of_freedom == 0
    assert len(n.reduction.states) == 2000
    assert "path differentiated twice" in n.reduction.text
