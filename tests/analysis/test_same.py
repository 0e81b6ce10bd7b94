"""The same system by several doors: accelerations agree on consistent states, and differences are found."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue

G = 9.81


def cart_by_energies():
    m = dd.Model("energies")
    x, a, force = m.coordinate("position"), m.coordinate("angle", start=0.3), m.input("force")
    bob = ca.vertcat(x + 0.5 * ca.sin(a), 0.5 * ca.cos(a))
    m.kinetic_energy(0.5 * m.rate(x) ** 2 + 0.5 * 0.2 * ca.sumsqr(m.der(bob)))
    m.potential_energy(0.2 * G * bob[1])
    m.force([force, 0], at=[x, 0])
    return m, {"cart.position": ca.vertcat(x, 0), "cart.angle": 0.0, "bob.position": bob}


def cart_by_bodies():
    m = dd.Model("bodies")
    m.gravity([0, -G])
    cart = m.body("cart", 1.0, 1.0, "planar")
    bob = m.body("bob", 0.2, orientation=None, position=[0, 0.5])
    m.joint("rail", "prismatic", dd.ground, cart, axis_a=[1, 0])
    m.joint("rod", "distance", cart, bob, length=0.5)
    cart.apply_force([m.input("force"), 0])
    return m


@pytest.mark.wide
def test_the_cart_pendulum_by_three_doors():
    hand = catalogue.load("cart_pendulum").model
    energies, carried = cart_by_energies()
    bodies = cart_by_bodies()
    assert dd.same(hand, energies)
    assert dd.same(energies, hand)
    assert dd.same(energies, bodies, map=carried).difference < 1e-11
    back = dd.same(
        bodies,
        energies,
        map={
            "position": bodies["cart.position"][0],
            "angle": ca.atan2(bodies["bob.position"][0] - bodies["cart.position"][0], bodies["bob.position"][1]),
        },
    )
    assert back.difference < 1e-11
    assert back.samples == 20


@pytest.mark.parametrize("orientation", ["quaternion", "rpy"])
def test_a_free_body_by_bodies_and_by_newton_euler(orientation):
    tensor = dd.inertia.tensor(2.0, 3.0, 4.0, xy=0.3)
    m = dd.Model("body")
    b = m.body("b", 2.0, tensor, orientation)
    force, torque = m.input("force", 3), m.input("torque", 3)
    b.apply_force(force, frame="body")
    b.apply_torque(torque)
    n = dd.Model("hand")
    p, v, w = n.state("b.position", 3), n.state("b.velocity", 3), n.state("b.angular_velocity", 3)
    force, torque = n.input("force", 3), n.input("torque", 3)
    if orientation == "quaternion":
        q = n.state("b.quaternion", 4)
        rotation, rate = dd.rotation_from_quaternion(q), dd.quaternion_rate(q, w)
    else:
        q = n.state("b.rpy", 3)
        rotation, rate = dd.rotation_from_rpy(q), dd.rpy_rate(q, w)
    found = dd.newton_euler(2.0, tensor, force, torque, w)
    n.equation(n.der(p), v)
    n.equation(n.der(v), rotation @ found.linear)
    n.equation(n.der(q), rate)
    n.equation(n.der(w), found.angular)
    assert dd.same(m, n).difference < 1e-12


def test_a_quaternion_follows_roll_pitch_and_yaw():
    one, two = dd.Model("rpy"), dd.Model("quaternion")
    tensor = dd.inertia.tensor(2.0, 3.0, 4.0, xy=0.3)
    for m, orientation in ((one, "rpy"), (two, "quaternion")):
        m.gravity([0, 0, -G])
        b = m.body("b", 2.0, tensor, orientation)
        m.joint("pin", "spherical", dd.ground, b, at_b=[0.1, -0.2, 0.3])
    turned = dd.quaternion_from_rotation(one.bodies["b"].rotation)
    assert dd.same(one, two, map={"b.quaternion": turned}).difference < 1e-11
    assert dd.same(two, one, map={"b.rpy": dd.rpy_from_rotation(two.bodies["b"].rotation)}).difference < 1e-10


def test_the_3d_pendulum_by_cable_angles_and_body():
    angles, cable, body = dd.Model("angles"), dd.Model("cable"), dd.Model("body")
    a = angles.coordinate("a", 2, start=[1.0, 0.3])
    place = 1.5 * ca.vertcat(ca.sin(a[0]) * ca.cos(a[1]), ca.sin(a[0]) * ca.sin(a[1]), -ca.cos(a[0]))
    angles.kinetic_energy(ca.sumsqr(angles.der(place)))
    angles.potential_energy(2 * G * place[2])
    p = cable.coordinate("p", 3, start=[1.5, 0.0, 0.0])
    cable.kinetic_energy(ca.sumsqr(cable.rate(p)))
    cable.potential_energy(2 * G * p[2])
    cable.constraint("cable", (ca.sumsqr(p) - 1.5**2) / 2)
    body.gravity([0, 0, -G])
    bob = body.body("bob", 2.0, orientation=None)
    body.joint("cable", "distance", dd.ground, bob, length=1.5)
    assert dd.same(angles, cable, map={"p": place}).difference < 1e-10
    assert dd.same(cable, body, map={"bob.position": "p"}).difference < 1e-10


def test_the_double_pendulum_by_hand_and_by_joints():
    known = catalogue.load("double_pendulum")
    m = dd.Model("joints")
    m.gravity([0, -G])
    one, two = (m.body(n, mass, orientation=None, position=[0, 0]) for n, mass in (("one", 1.0), ("two", 0.5)))
    m.joint("upper", "distance", dd.ground, one, length=1.0)
    m.joint("lower", "distance", one, two, length=0.8)
    carried = {"one.position": known.model["elbow"], "two.position": known.model["tip"]}
    assert dd.same(known.model, m, map=carried).difference < 1e-10


def test_rods_by_angles_and_by_joints():
    """Three rods with their inertia: relative angles against bodies and hinges."""
    angles, bodies = dd.Model("angles"), dd.Model("bodies")
    a = angles.coordinate("a", 3)
    bodies.gravity([0, -G])
    pivot, partner, at = ca.SX.zeros(2), dd.ground, [0.0, 0.0]
    carried = {}
    for k in range(3):
        turn = ca.sum1(a[: k + 1])
        direction = ca.vertcat(ca.cos(turn), ca.sin(turn))
        centre = pivot + 0.5 * direction
        angles.kinetic_energy(0.5 * ca.sumsqr(angles.der(centre)) + 0.5 / 12 * angles.der(turn) ** 2)
        angles.potential_energy(G * centre[1])
        rod = bodies.body(f"rod{k}", 1.0, 1 / 12, "planar")
        bodies.joint(f"hinge{k}", "revolute", partner, rod, at_a=at, at_b=[-0.5, 0.0])
        carried |= {f"rod{k}.position": centre, f"rod{k}.angle": turn}
        pivot, partner, at = pivot + direction, rod, [0.5, 0.0]
    assert dd.same(angles, bodies, map=carried).difference < 1e-10


def test_differences_are_found_and_told():
    one, two = cart_by_energies()[0], cart_by_energies()[0]
    two.dissipation(0.5e-3 * two.rate(two["angle"]) ** 2)
    found = dd.same(one, two)
    assert not found
    assert 1e-6 < found.difference < 1e-1
    assert found.worst == "angle_ddot"
    assert str(found).startswith("Not the same: largest difference ")


def test_states_that_break_the_other_model_s_constraints_are_told():
    energies, carried = cart_by_energies()
    bodies = cart_by_bodies()
    carried["bob.position"] = 1.01 * carried["bob.position"]
    found = dd.same(energies, bodies, map=carried)
    assert not found
    assert found.violation >= 0.005
    assert "violate the second model's constraints by" in str(found)


def refused(call):
    with pytest.raises(dd.DaedalusError) as caught:
        call()
    return str(caught.value)


def test_what_the_map_lacks_is_named():
    energies, carried = cart_by_energies()
    bodies = cart_by_bodies()
    del carried["bob.position"]
    assert refused(lambda: dd.same(energies, bodies, map=carried)) == (
        "'bob.position' of the second model has no counterpart in the first.\n"
        "  states of the first: position, angle\n"
        "  Because the first model has no state of that name.\n"
        "  Try: map={'bob.position': expression in the symbols of the first model}"
    )
    assert refused(lambda: dd.same(energies, bodies, map={"bob.positon": 0.0})).startswith(
        "The second model has no state or input 'bob.positon'."
    )
    assert refused(lambda: dd.same(energies, bodies, map={**carried, "bob.position": [1.0]})).startswith(
        "The map of 'bob.position' has the wrong size."
    )


def test_rates_that_are_no_states_are_refused():
    one = dd.Model("first order")
    s = one.state("s")
    one.equation(one.der(s), -s)
    two = dd.Model("second order")
    q = two.coordinate("q")
    two.kinetic_energy(0.5 * two.rate(q) ** 2)
    assert refused(lambda: dd.same(one, two, map={"q": "s"})).startswith("The map does not give s_dot as a function")
    assert not dd.same(one, two, map={"q": "s", "q_dot": -s})


def test_no_consistent_state():
    m = dd.Model("impossible")
    q = m.coordinate("q", 2)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.constraint("never", ca.sumsqr(q) + 1)
    assert refused(lambda: dd.same(m, m.copy())).startswith(
        "No consistent state of 'impossible' was found near its start."
    )


def test_inputs_are_mapped_too():
    one, two = dd.Model("one"), dd.Model("two")
    for m, name, factor in ((one, "u", 2.0), (two, "w", 1.0)):
        q = m.coordinate("q")
        m.kinetic_energy(0.5 * m.rate(q) ** 2)
        m.generalised_force(q, factor * m.input(name))
    assert dd.same(one, two, map={"w": 2.0 * one["u"]})
    assert not dd.same(one, two, map={"w": "u"})
    assert np.isfinite(dd.same(one, two).difference)
