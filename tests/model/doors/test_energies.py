"""Door 2: Lagrange's equations from energies, forces and constraints, and every refusal of that door."""

import pickle

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daedalus as dd

numbers = st.floats(-2, 2)
G = 9.81


def refused(call):
    with pytest.raises(dd.ModelError) as caught:
        call()
    return str(caught.value)


def pendulum_model():
    """One coordinate with all there is to it."""
    m = dd.Model("pendulum")
    a = m.coordinate("a", start=0.3, rate=-0.2)
    m.kinetic_energy(0.5 * m.rate(a) ** 2)
    m.potential_energy(G * (1 - ca.cos(a)))
    return m, a


def double_pendulum(order=(0, 1)):
    """Angles from the vertical, energies added one mass after the other."""
    m = dd.Model("double pendulum")
    a = m.coordinate("angle", 2, start=[1.5, -0.5], rate=[0.3, 0.2])
    mass, length = [1.0, 0.5], [1.0, 0.8]
    elbow = ca.vertcat(length[0] * ca.sin(a[0]), -length[0] * ca.cos(a[0]))
    tip = elbow + ca.vertcat(length[1] * ca.sin(a[1]), -length[1] * ca.cos(a[1]))
    for k in order:
        point = (elbow, tip)[k]
        m.kinetic_energy(0.5 * mass[k] * ca.sumsqr(m.der(point)))
        m.potential_energy(mass[k] * G * point[1])
    return m


# -- coordinates and energies ----------------------------------------------------------------------------------


def test_a_coordinate_is_a_state_of_second_order_with_given_start_and_rate():
    m, a = pendulum_model()
    system = m.freeze()
    assert system.labels["x"] == ("a", "a_dot")
    assert system.start["x"].tolist() == [0.3, -0.2]
    assert m.rate(a).name() == m["a_dot"].name()


def test_the_double_pendulum_is_the_one_derived_by_hand():
    m = double_pendulum()
    found = m.mechanics().accelerations()["angle_ddot"]
    a, b, da, db = 1.5, -0.5, 0.3, 0.2
    m1, m2, l1, l2 = 1.0, 0.5, 1.0, 0.8
    c, s = np.cos(a - b), np.sin(a - b)
    matrix = [[(m1 + m2) * l1**2, m2 * l1 * l2 * c], [m2 * l1 * l2 * c, m2 * l2**2]]
    right = [
        -m2 * l1 * l2 * s * db**2 - (m1 + m2) * G * l1 * np.sin(a),
        m2 * l1 * l2 * s * da**2 - m2 * G * l2 * np.sin(b),
    ]
    assert found == pytest.approx(np.linalg.solve(matrix, right), rel=1e-13)
    assert dd.same(dd.catalogue.load("double_pendulum").model, m)


def test_the_order_of_adding_energies_does_not_matter():
    assert dd.same(double_pendulum((0, 1)), double_pendulum((1, 0)))


@given(st.lists(numbers, min_size=4, max_size=4), numbers, numbers)
def test_a_total_time_derivative_in_the_lagrangian_changes_nothing(weights, x, v):
    """L + dF/dt has the same equations: F(q, t) = a q + b q t + c q² + d q³."""
    models = []
    for extra in (False, True):
        m = dd.Model("m")
        q = m.coordinate("q")
        m.kinetic_energy((1 + q**2) * m.rate(q) ** 2)
        m.potential_energy(q**4)
        if extra:
            a, b, c, d = weights
            m.kinetic_energy(m.der(a * q + b * q * m.time + c * q**2 + d * q**3))
        models.append(m.mechanics().accelerations({"q": x, "q_dot": v}, time=0.7)["q_ddot"])
    assert models[0] == pytest.approx(models[1], rel=1e-9, abs=1e-9)


@given(numbers, numbers, st.floats(0.1, 0.9))
def test_other_coordinates_give_the_same_accelerations(s, v, k):
    """q = s + k sin s for one, q itself for the other."""
    one, two = dd.Model("one"), dd.Model("two")
    q = one.coordinate("q")
    one.kinetic_energy(0.5 * (2 + ca.cos(q)) * one.rate(q) ** 2)
    one.potential_energy(ca.sin(2 * q))
    r = two.coordinate("s")
    place = r + k * ca.sin(r)
    two.kinetic_energy(0.5 * (2 + ca.cos(place)) * two.der(place) ** 2)
    two.potential_energy(ca.sin(2 * place))
    slope, bend = 1 + k * np.cos(s), -k * np.sin(s)
    direct = one.mechanics().accelerations({"q": s + k * np.sin(s), "q_dot": slope * v})["q_ddot"]
    through = two.mechanics().accelerations({"s": s, "s_dot": v})["s_ddot"]
    assert slope * through + bend * v**2 == pytest.approx(direct, rel=1e-9, abs=1e-9)


def test_explicit_time_in_the_energies():
    """The pivot is shaken, z = A sin Ω t: θ'' = −(g + z'')/L sin θ (Landau and Lifshitz, Mechanics, §30)."""
    m = dd.Model("Kapitza")
    a = m.coordinate("a", start=0.4, rate=1.1)
    amplitude, speed = 0.1, 30.0
    bob = ca.vertcat(ca.sin(a), amplitude * ca.sin(speed * m.time) - ca.cos(a))
    m.kinetic_energy(0.5 * ca.sumsqr(m.der(bob)))
    m.potential_energy(G * bob[1])
    time = 0.23
    lift = -amplitude * speed**2 * np.sin(speed * time)
    assert m.mechanics().accelerations(time=time)["a_ddot"] == pytest.approx(-(G + lift) * np.sin(0.4), rel=1e-12)


def test_a_state_of_another_door_in_the_kinetic_energy_brings_its_rate():
    """A winch shortens the rope: θ'' L + 2 L' θ' = −g sin θ."""
    m = dd.Model("winch")
    a, rope = m.coordinate("a", start=0.4, rate=1.1), m.state("L", start=2.0)
    m.equation(m.der(rope), -0.3)
    m.kinetic_energy(0.5 * (rope * m.rate(a)) ** 2)
    m.potential_energy(-G * rope * ca.cos(a))
    found = dd.simulate(m, 1e-6)["a_dot"]
    wanted = (-G * np.sin(0.4) + 2 * 0.3 * 1.1) / 2.0
    assert (found[-1] - found[0]) / 1e-6 == pytest.approx(wanted, rel=1e-4)


def test_dissipation_takes_power_away():
    m = dd.Model("damped")
    q = m.coordinate("q", 2, start=[1.0, 0.0], rate=[0.3, -0.4])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(0.5 * ca.sumsqr(q))
    m.dissipation(0.5 * 0.7 * (m.rate(q)[1] - m.rate(q)[0]) ** 2)
    m.output("energy", 0.5 * ca.sumsqr(m.rate(q)) + 0.5 * ca.sumsqr(q))
    found = m.mechanics().accelerations()["q_ddot"]
    assert found == pytest.approx([-1.0 + 0.7 * -0.7, 0.7 * 0.7], rel=1e-13)
    # dE/dt = -2 D
    v = np.array([0.3, -0.4])
    assert v @ found + v @ [1.0, 0.0] == pytest.approx(-2 * 0.5 * 0.7 * 0.7**2)


def test_forces_by_virtual_work_are_those_by_hand():
    """A force (F, P) at the tip of a double pendulum: τ = (l1 (F cos a + P sin a), l2 (F cos b + P sin b))."""
    m = double_pendulum()
    a, u = m["angle"], m.input("u", 2)
    tip = ca.vertcat(ca.sin(a[0]) + 0.8 * ca.sin(a[1]), -ca.cos(a[0]) - 0.8 * ca.cos(a[1]))
    m.force(u, at=tip)
    f = m.mechanics()
    found = f.tau(*f.arguments({"angle": [0.2, 1.1]}, inputs={"u": [3.0, -2.0]})).full().ravel()
    wanted = [3 * np.cos(0.2) - 2 * np.sin(0.2), 0.8 * (3 * np.cos(1.1) - 2 * np.sin(1.1))]
    assert found == pytest.approx(wanted, rel=1e-14)


def test_forces_add_up_and_generalised_forces_act_on_elements():
    m = dd.Model("m")
    q = m.coordinate("q", 2)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.generalised_force(q[1], 3.0)
    m.generalised_force(q, [1.0, 2.0])
    m.force([0.5], at=[2 * q[0]])
    assert m.mechanics().accelerations()["q_ddot"].tolist() == [2.0, 5.0]


# -- constraints ----------------------------------------------------------------------------------------------


def test_the_3d_pendulum_is_that_of_the_slides():
    """m p'' + m g e3 + z p = u with z = −λ, here solved by hand: λ = (p·(m g e3 − u) − m v·v) / L²."""
    m = dd.Model("pendulum_3d")
    p, u = m.coordinate("p", 3), m.input("u", 3)
    m.kinetic_energy(0.5 * 2.0 * ca.sumsqr(m.rate(p)))
    m.potential_energy(2.0 * G * p[2])
    m.generalised_force(p, u)
    m.constraint("cable", 0.5 * (ca.sumsqr(p) - 1.5**2))
    place = np.array([0.5, -1.0, -1.0])
    speed = np.cross([0.3, -0.2, 0.9], place)
    push = np.array([0.4, 0.1, -0.6])
    found = m.mechanics().accelerations({"p": place, "p_dot": speed}, inputs={"u": push})
    multiplier = (place @ ([0, 0, 2 * G] - push) - 2.0 * speed @ speed) / 1.5**2
    assert found["cable"] == pytest.approx(multiplier, rel=1e-13)
    assert found["p_ddot"] == pytest.approx((push + multiplier * place) / 2.0 - [0, 0, G], rel=1e-13)


def test_explicit_time_in_a_constraint():
    """A bead on a straight wire that turns with Ω: r'' = Ω² r, in Cartesian coordinates."""
    speed, time, r = 2.0, 0.3, 0.7
    m = dd.Model("wire")
    q = m.coordinate("q", 2)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.constraint("wire", q[1] * ca.cos(speed * m.time) - q[0] * ca.sin(speed * m.time))
    along = np.array([np.cos(speed * time), np.sin(speed * time)])
    across = np.array([-along[1], along[0]])
    values = {"q": r * along, "q_dot": 0.4 * along + speed * r * across}
    f = m.mechanics()
    assert float(f.c_dot(*f.arguments(values, time=time))) == pytest.approx(0, abs=1e-14)
    # a = (r'' − r Ω²) along + 2 Ω r' across
    assert f.accelerations(values, time=time)["q_ddot"] == pytest.approx(2 * speed * 0.4 * across, abs=1e-12)


def test_the_skate_turns_at_a_constant_rate_on_a_circle():
    m = dd.Model("skate")
    q, a = m.coordinate("q", 2), m.coordinate("a")
    m.kinetic_energy(0.5 * 2.0 * ca.sumsqr(m.rate(q)) + 0.5 * m.rate(a) ** 2)
    m.velocity_constraint("blade", -ca.sin(a) * m.rate(q)[0] + ca.cos(a) * m.rate(q)[1])
    heading, speed, turn = 0.6, 1.3, 0.9
    along = np.array([np.cos(heading), np.sin(heading)])
    found = m.mechanics().accelerations({"a": heading, "q_dot": speed * along, "a_dot": turn})
    assert found["q_ddot"] == pytest.approx(speed * turn * np.array([-along[1], along[0]]), rel=1e-13)
    assert found["blade"] == pytest.approx(2.0 * speed * turn, rel=1e-13)
    assert found["a_ddot"] == pytest.approx(0, abs=1e-14)


def test_a_multiplier_is_a_variable_with_the_shape_of_its_constraint():
    m = dd.Model("m")
    q = m.coordinate("q", 3)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    assert m.constraint("one", q[0]).shape == (1, 1)
    assert m.constraint("two", [q[1], q[2] - 1]).shape == (2, 1)
    assert m.variables["two"].kind == "algebraic"
    assert m["two[1]"].is_symbolic()


# -- travelling ------------------------------------------------------------------------------------------------


def chained():
    m, a = pendulum_model()
    u = m.input("u")
    q = m.coordinate("q", 2, start=[1.0, 0.0], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.dissipation(0.1 * m.rate(a) ** 2)
    m.generalised_force(a, u)
    m.constraint("rod", ca.sumsqr(q) - 1)
    return m


def test_copies_pickles_and_parts_have_the_same_motion():
    m = chained()
    for twin in (m.copy(), pickle.loads(pickle.dumps(m))):
        assert twin.equations == m.equations
        assert dd.same(m, twin)
    whole = dd.Model("whole")
    whole.include("left", m)
    whole.include("right", m, inputs={"u": whole["left.q"][0]})
    assert whole.freeze().sizes == {"xdot": 12, "x": 12, "z": 2, "u": 1, "p": 0}
    found = whole.mechanics().accelerations({"left.a": 0.5}, inputs={"left.u": 2.0})
    assert found["left.a_ddot"] == m.mechanics().accelerations({"a": 0.5}, inputs={"u": 2.0})["a_ddot"]
    assert found["right.a_ddot"] == m.mechanics().accelerations(inputs={"u": 1.0})["a_ddot"]
    assert found["right.rod"] == m.mechanics().accelerations()["rod"]


def test_a_copy_is_written_in_alone():
    m = chained()
    n = m.copy()
    n.potential_energy(n["q"][1])
    n.constraint("rail", n["q"][0] - 1)
    assert "rail" not in m
    assert m.mechanics().accelerations()["q_ddot"].tolist() == [0.0, 0.0]


# -- refusals --------------------------------------------------------------------------------------------------


def test_an_energy_is_a_scalar():
    m, _ = pendulum_model()
    q = m.coordinate("q", 2)
    assert refused(lambda: m.kinetic_energy(m.rate(q))) == (
        "The kinetic energy is not a scalar.\n"
        "  it is 2 numbers\n"
        "  Because an energy is one number.\n"
        "  Try: 0.5 * m * casadi.sumsqr(v)"
    )


def test_energies_contain_no_higher_derivatives():
    m, a = pendulum_model()
    assert refused(lambda: m.potential_energy(m.rate(a))) == (
        "The potential energy contains a_dot.\n"
        "  Because T and the dissipation depend on positions and velocities, V on positions.\n"
        "  Try: rates go into the kinetic energy or the dissipation"
    )
    assert refused(lambda: m.kinetic_energy(m.der(m.rate(a)))).startswith("The kinetic energy contains a_ddot.")
    b = m.body("b", mass=1.0, orientation=None)
    assert refused(lambda: m.potential_energy(b.velocity[0])).startswith("The potential energy contains b.velocity[0].")
    assert refused(lambda: m.dissipation(m["b.velocity_dot"][1])).startswith(
        "The dissipation contains b.velocity_dot[1]."
    )


def test_the_kinetic_energy_contains_nothing_without_a_derivative():
    m, a = pendulum_model()
    u, z = m.input("u"), m.algebraic("z")
    assert refused(lambda: m.kinetic_energy(u * m.rate(a))) == (
        "The kinetic energy contains u.\n"
        "  u is an input\n"
        "  Because the equations of motion would contain its derivative, and it has none.\n"
        '  Try: m.state("u", ...) with an equation for its derivative'
    )
    assert "z is an algebraic variable" in refused(lambda: m.kinetic_energy(z * m.rate(a)))
    m.potential_energy(u * a)
    m.equation(z, a)
    assert m.mechanics().accelerations({"a": 0.0}, inputs={"u": 2.0})["a_ddot"] == -2.0


def test_a_coordinate_that_nothing_moves():
    m, _ = pendulum_model()
    m.coordinate("q", 2)
    assert refused(m.freeze) == (
        "Nothing moves q[0].\n"
        "  the equation of motion of q[0] simplified to the constant 0\n"
        "  Because no kinetic or potential energy, dissipation or constraint contains it.\n"
        "  Try: m.kinetic_energy(...) with the rate of q[0]"
    )


def test_a_force_at_a_point_that_does_not_move():
    m, _ = pendulum_model()
    k = m.parameter("k", 1.0)
    assert refused(lambda: m.force([1.0, 0.0], at=[k, 0.0])) == (
        "The force acts at a point that cannot move.\n"
        "  no coordinate and no body enters its position\n"
        "  Because a force at a fixed point has no effect.\n"
        "  Try: at= as an expression of coordinates"
    )


def test_the_point_of_a_force_is_a_position():
    m, a = pendulum_model()
    assert refused(lambda: m.force([1.0], at=[m.rate(a)])) == (
        "The point of the force contains a_dot.\n"
        "  Because it is an expression of positions, and that is a velocity.\n"
        "  Try: an expression of positions"
    )


def test_a_force_fits_its_point_and_its_coordinate():
    m, a = pendulum_model()
    assert refused(lambda: m.force([1.0, 2.0], at=[a])) == (
        "The force and its point have different dimensions.\n"
        "  force 2 numbers, point a scalar\n"
        "  Because a force acts along the directions of its point.\n"
        "  Try: as many components on both sides"
    )
    assert refused(lambda: m.generalised_force(a, [1.0, 2.0])) == (
        "The generalised force does not fit its coordinate.\n"
        "  1 coordinate, 2 numbers of force\n"
        "  Because each coordinate takes one force.\n"
        "  Try: as many entries on both sides"
    )
    for wrong, label in ((m.rate(a), "a_dot"), (2 * a, "an expression"), (m.input("u"), "u")):
        assert refused(lambda wrong=wrong: m.generalised_force(wrong, 1.0)) == (
            "The generalised force does not act on a coordinate.\n"
            f"  it is given for {label}\n"
            "  Because a generalised force belongs to a generalised coordinate.\n"
            "  Try: 'a'"
        )


def test_a_constraint_that_no_coordinate_enters():
    m, a = pendulum_model()
    k, s = m.parameter("k", 1.0), m.state("s")
    assert refused(lambda: m.constraint("c", k - 1)) == (
        "Constraint 'c' does not constrain anything.\n"
        "  no coordinate or position of a body enters it\n"
        "  Because a constraint acts on what moves.\n"
        "  Try: an expression of a"
    )
    assert refused(lambda: m.constraint("c", [a, s * k])).startswith(
        "Component 1 of constraint 'c' does not constrain anything."
    )
    assert refused(lambda: m.velocity_constraint("c", a)).startswith(
        "Constraint 'c' does not constrain anything.\n  no velocity"
    )
    assert "c" not in m


def test_a_velocity_in_a_holonomic_constraint():
    m, a = pendulum_model()
    assert refused(lambda: m.constraint("c", a - m.rate(a))) == (
        "Constraint 'c' contains a_dot.\n"
        "  Because it is an expression of positions, and that is a velocity.\n"
        '  Try: m.velocity_constraint("c", ...)'
    )


def test_velocity_constraints_are_linear_in_velocities():
    m, a = pendulum_model()
    assert refused(lambda: m.velocity_constraint("c", m.rate(a) ** 2 - 1)) == (
        "Velocity constraint 'c' is not linear in the velocities.\n"
        "  Because its force is (∂a/∂q')ᵀ λ only then.\n"
        "  Try: a form a(q, t) q' + b(q, t) = 0"
    )
    assert refused(lambda: m.velocity_constraint("c", m["a_ddot"] + m.rate(a))) == (
        "Velocity constraint 'c' contains an acceleration.\n"
        "  it contains a_ddot\n"
        "  Because a velocity constraint is one between positions and velocities.\n"
        "  Try: a form a(q, t) q' + b(q, t) = 0"
    )


def test_names_of_constraints_are_free_names():
    m, a = pendulum_model()
    assert refused(lambda: m.constraint("a", a)).startswith("The name 'a' is taken.")
    assert refused(lambda: m.constraint("a b", a)).startswith("'a b' cannot name a constraint.")
    m.constraint("stop", a)
    s = m.state("s")
    m.equation(m.der(s), s, name="stop")
    assert refused(m.freeze) == (
        "The equation name 'stop' is taken.\n"
        "  an equation of motion or a constraint has that name\n"
        "  Because errors and results use the name of an equation.\n"
        "  Try: m.equation(..., name=...) with another name"
    )


# -- size ------------------------------------------------------------------------------------------------------


def rods(count):
    """A planar chain in absolute coordinates (x, y, angle), pinned rod to rod."""
    m = dd.Model("rods")
    q = m.coordinate("q", 3 * count)
    joint = ca.SX.zeros(2)
    for k in range(count):
        centre, angle = q[3 * k : 3 * k + 2], q[3 * k + 2]
        half = 0.5 * ca.vertcat(ca.cos(angle), ca.sin(angle))
        m.constraint(f"pin{k}", centre - half - joint)
        joint = centre + half
    rate = m.rate(q)
    weights = np.tile([1.0, 1.0, 1 / 12], count)
    m.kinetic_energy(0.5 * ca.dot(weights, rate**2))
    m.potential_energy(G * ca.sum1(q[1::3]))
    return m


def test_the_equations_of_a_chain_grow_with_its_length():
    """Instructions a rod stay constant: nothing of the derivation is quadratic."""
    sizes = [rods(count).freeze().function.n_instructions() / count for count in (20, 80)]
    assert sizes[1] < 1.05 * sizes[0]
    f = rods(80).mechanics()
    assert f.M.nnz_out() == 3 * 80
    assert f.G.nnz_out() <= 8 * 80
