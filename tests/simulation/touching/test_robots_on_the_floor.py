"""Contacts of bodies whose joints bring the states: robots on the floor, the same as in coordinates of bodies."""

from __future__ import annotations

import numpy as np
import pytest

import daedalus as dd

G = 9.81


def rod(kind, rotor=0.0, restitution=0.5, friction=0.4):
    """A rod on a hinge above the floor, which it meets with a ball at its end."""
    m = dd.Model("rod")
    m.gravity([0, 0, -G])
    body = {"position": [0.25, 0, 0.4], "velocity": [0, 0, 0], "rotation": dd.rot_y(np.pi / 2),
            "angular_velocity": [0, 0, 0]}  # fmt: skip
    a = m.body("a", mass=1.0, inertia=[0.02, 0.02, 0.002], **(body if kind == "body" else {}))
    start = {"start": np.pi / 2, "rate": 0.0} if kind == "joint" else {}
    m.joint("hip", "revolute", dd.ground, a, axis_a=[0, 1, 0], at_a=[0, 0, 0.4], at_b=[0, 0, -0.25], coordinates=kind,
            **start)  # fmt: skip
    if rotor:
        m.kinetic_energy(0.5 * rotor * m.rate(m["hip.angle"]) ** 2)
    a.shape("sphere", size=0.05, at=[0, 0, 0.25])
    m.contact(a, dd.ground, friction=friction, restitution=restitution)
    return m


def test_a_rod_on_a_hinge_moves_as_in_body_coordinates():
    runs = [dd.simulate(rod(kind), 0.5) for kind in ("joint", "body")]
    one, two = runs
    assert [e.name for e in one.events[:2]] == [e.name for e in two.events[:2]]
    assert [e.time for e in one.events[:2]] == pytest.approx([e.time for e in two.events[:2]], abs=1e-5)
    for name in ("a.position", "a.velocity", "a.quaternion"):
        assert one[name][-1] == pytest.approx(two[name][-1], abs=1e-5)


@pytest.mark.parametrize("rotor", [0.0, 0.03])
def test_the_inertia_of_a_rotor_takes_part_in_an_impact(rotor):
    tr = dd.simulate(rod("joint", rotor, friction=0.0), 0.3)
    hit = tr.events[0]
    before, after = (float(row["hip.angle_dot"]) for row in (hit.before, hit.after))
    assert after == pytest.approx(-0.5 * before, rel=1e-9)
    # The ball's centre is 0.35 below the hinge and 0.5 away from it; the floor pushes upwards.
    arm = np.sqrt(0.5**2 - 0.35**2)
    inertia = 0.02 + 0.25**2 + rotor
    assert float(tr["a_ground.impulse"][-1, 2]) * arm == pytest.approx(inertia * (before - after), rel=1e-6)
    energy = 0.5 * inertia * before**2
    assert energy == pytest.approx(G * 0.35 / 2, rel=1e-6)


def leg(kind, start=None):
    """A trunk with a leg of a ball joint and a knee, thrown onto the floor."""
    m = dd.Model("leg")
    m.gravity([0, 0, -G])
    free = {"position": [0, 0, 0.75], "rotation": np.eye(3), "velocity": [0.4, 0.1, 0.0],
            "angular_velocity": [0.1, 0.5, 0.2]}  # fmt: skip
    trunk = m.body("trunk", mass=3.0, inertia=[0.05, 0.04, 0.03], **free)
    thigh, shin = (m.body(name, mass=mass, inertia=inertia, **({} if kind == "joint" else {"rotation": np.eye(3)}))
                   for name, mass, inertia in (("thigh", 1.0, [0.01, 0.01, 0.002]),
                                               ("shin", 0.6, [0.006, 0.006, 0.001])))  # fmt: skip
    own = {"start": [1, 0, 0, 0], "rate": [0, 0, 0]} if kind == "joint" else {}
    m.joint("hip", "spherical", trunk, thigh, at_a=[0, 0, -0.05], at_b=[0, 0, 0.12], coordinates=kind, **own)
    own = {"start": 0.3, "rate": 0.0} if kind == "joint" else {}
    m.joint("knee", "revolute", thigh, shin, axis_a=[0, 1, 0], at_a=[0, 0, -0.12], at_b=[0, 0, 0.13], coordinates=kind,
            **own)  # fmt: skip
    shin.shape("sphere", size=0.04, at=[0, 0, -0.13])
    m.contact(shin, dd.ground, friction=0.8)
    return m


@pytest.mark.wide
def test_a_leg_with_a_free_trunk_moves_as_in_body_coordinates():
    one = dd.simulate(leg("joint"), 0.4)
    start = {f"{body}.{word}": one[f"{body}.{word}"][0] for body in ("trunk", "thigh", "shin")
             for word in ("position", "velocity", "quaternion", "angular_velocity")}  # fmt: skip
    two = dd.simulate(leg("body"), 0.4, start=start)
    assert one.events[0].time == pytest.approx(two.events[0].time, abs=1e-6)
    for name in ("trunk.position", "shin.position", "trunk.quaternion"):
        assert one[name][-1] == pytest.approx(two[name][-1], abs=2e-4), name


ROBOT = """<mujoco><worldbody><body name="base" pos="0 0 0.5"><freejoint/>
  <geom type="box" size="0.2 0.1 0.05" mass="4"/>
  {legs}
</body></worldbody></mujoco>"""
LEG = """<body name="leg{k}" pos="{x} {y} 0">
  <joint name="hip{k}" type="hinge" axis="0 1 0" damping="5" armature="0.01"/>
  <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.03" mass="0.5"/></body>"""


def test_a_robot_of_a_file_stands_on_its_legs():
    legs = "".join(LEG.format(k=k, x=x, y=y) for k, (x, y) in enumerate([(0.2, 0.1), (0.2, -0.1), (-0.2, 0.0)]))
    m = dd.read_mjcf(ROBOT.format(legs=legs))
    m.gravity([0, 0, -G])
    for k in range(3):
        m.bodies[f"leg{k}"].shape("sphere", size=0.03, at=[0, 0, -0.15])
        m.contact(m.bodies[f"leg{k}"], dd.ground, friction=1.0, name=f"foot{k}")
    tr = dd.simulate(m, 0.4, start={"base.position": [0, 0, 0.33], "base.velocity": [0, 0, 0]})
    loads = [float(tr[f"foot{k}.normal"][-1]) for k in range(3)]
    assert sum(loads) == pytest.approx(5.5 * G, rel=1e-3)
    # The centre of mass is above x = 0.2 / 3 · (1.5 / 5.5), the feet are at ±0.2.
    front = 0.5 + 0.5 * (0.2 / 3) * (1.5 / 5.5) / 0.2
    assert loads[0] + loads[1] == pytest.approx(5.5 * G * front, rel=1e-2)


@pytest.mark.wide
def test_a_loop_beside_a_tree_holds_while_it_hits_the_floor():
    m = dd.Model("parallelogram")
    m.gravity([0, -G])
    names = ["left", "right", "bar"]
    left, right, bar = (m.body(n, mass=1.0, inertia=0.01, orientation="planar") for n in names)
    tree = {"coordinates": "joint", "rate": 0.0}
    m.joint("a", "revolute", dd.ground, left, at_a=[0, 0.4], at_b=[0, 0.2], start=1.2, **tree)
    m.joint("b", "revolute", dd.ground, right, at_a=[0.4, 0.4], at_b=[0, 0.2], start=1.2, **tree)
    m.joint("c", "revolute", left, bar, at_a=[0, -0.2], at_b=[-0.2, 0], start=-1.2, **tree)
    m.joint("d", "revolute", right, bar, at_a=[0, -0.2], at_b=[0.2, 0])
    bar.shape("box", size=[0.4, 0.1])
    m.contact(bar, dd.ground, friction=0.2, restitution=0.3)
    tr = dd.simulate(m, 0.6)
    assert any(event.name == "bar_ground.closes" for event in tr.events)
    angle = np.asarray(tr["a.angle"])
    assert np.asarray(tr["b.angle"]) == pytest.approx(angle, abs=1e-6)
    assert np.asarray(tr["bar.position"])[:, 0] == pytest.approx(0.2 + 0.4 * np.sin(angle), abs=1e-6)
    assert np.asarray(tr["bar.position"])[:, 1].min() > 0.05 - 1e-6


@pytest.mark.parametrize("kind", ["joint", "body"])
def test_a_cart_on_wheels_is_pushed_by_a_force(kind):
    m = dd.Model("cart")
    m.gravity([0, -G])
    frame = m.body("frame", mass=2.0, inertia=0.1, orientation="planar", position=[0, 0.1], velocity=[1.0, 0],
                   rotation=0.0, angular_velocity=0.0)  # fmt: skip
    for name, x in (("front", 0.3), ("rear", -0.3)):
        free = {"position": [x, 0.1], "velocity": [1.0, 0], "rotation": 0.0, "angular_velocity": -10.0}
        start = {"coordinates": "joint", "start": 0.0, "rate": -10.0} if kind == "joint" else {}
        wheel = m.body(name, mass=0.2, inertia=0.001, orientation="planar", **(free if kind == "body" else {}))
        wheel.shape("sphere", size=0.1)
        m.joint(f"{name}_axle", "revolute", frame, wheel, at_a=[x, 0], at_b=[0, 0], **start)
        m.contact(wheel, dd.ground, friction=0.8)
    frame.apply_force([1.0, 0])
    tr = dd.simulate(m, 0.5)
    # Half a wheel's mass turns with it.
    assert tr["frame.velocity"][-1, 0] == pytest.approx(1 + 0.5 / (2 + 2 * 0.2 * 1.5), rel=1e-6)


def test_an_energy_that_couples_joints_is_refused():
    m = dd.Model("coupled")
    m.gravity([0, 0, -G])
    a, b = (m.body(name, mass=1.0, inertia=[0.1] * 3) for name in "ab")
    for name, one, two, place in (("h", dd.ground, a, 1.0), ("k", a, b, -0.3)):
        m.joint(name, "revolute", one, two, axis_a=[0, 1, 0], at_a=[0, 0, place], coordinates="joint", start=0.0,
                rate=0.0)  # fmt: skip
    m.kinetic_energy(0.1 * (m.rate(m["h.angle"]) + m.rate(m["k.angle"])) ** 2)
    b.shape("sphere", size=0.1)
    m.contact(b, dd.ground)
    with pytest.raises(dd.DaedalusError, match="An added kinetic energy couples joints"):
        dd.simulate(m, 0.1)
