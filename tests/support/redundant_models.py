"""Mechanisms with more constraints than they need, of any size."""

import casadi as ca
import numpy as np

import daedalus as dd


def chain(rods, *further, start=None):
    """Point masses on a chain of rods of length 1; `further` are functions of the positions q, each a constraint."""
    m = dd.Model("pendula")
    start = [v for i in range(rods) for v in (i + 1.0, 0.0)] if start is None else start
    q = m.coordinate("q", 2 * rods, start=start, rate=[0.0] * (2 * rods))
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * sum(q[2 * i + 1] for i in range(rods)))
    before = ca.SX(2, 1)
    for i in range(rods):
        here = q[2 * i : 2 * i + 2]
        m.constraint(f"rod{i}", ca.sumsqr(here - before) - 1)
        before = here
    for k, function in enumerate(further):
        m.constraint(f"again{k}", function(q))
    return m


def first_rod(q):
    """The first rod of a chain again, twice as large."""
    return 2 * (ca.sumsqr(q[:2]) - 1)


def platform(legs, angle=0.7, longer=0.0):
    """A plank on parallel legs of one length: two of them leave it one motion, all others follow on that motion."""
    m = dd.Model("plank")
    q = m.coordinate(
        "q", 3, start=[np.cos(angle), np.sin(angle), 0.0], rate=[-0.3 * np.sin(angle), 0.3 * np.cos(angle), 0.0]
    )
    m.kinetic_energy(0.5 * m.rate(q)[0] ** 2 + 0.5 * m.rate(q)[1] ** 2 + 0.1 * m.rate(q)[2] ** 2)
    m.potential_energy(9.81 * q[1])
    for i in range(legs):
        foot = i / legs
        head = q[:2] + foot * ca.vertcat(ca.cos(q[2]), ca.sin(q[2]))
        length = 1.0 + (longer if i == legs - 1 else 0.0)
        m.constraint(f"leg{i}", ca.sumsqr(head - ca.vertcat(foot, 0)) - length**2)
    return m


def with_chain(m, rods):
    """A model together with a chain of rods of its own, which makes it large."""
    s = m.coordinate("s", 2 * rods, start=[v for i in range(rods) for v in (i + 1.0, 0.0)], rate=[0.0] * (2 * rods))
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(s)))
    m.potential_energy(9.81 * sum(s[2 * i + 1] for i in range(rods)))
    before = ca.SX(2, 1)
    for i in range(rods):
        here = s[2 * i : 2 * i + 2]
        m.constraint(f"rod{i}", ca.sumsqr(here - before) - 1)
        before = here
    return m


def rolling_chain(rods, holonomic):
    """A chain whose rods hold their lengths, by velocities alone or not, and the first velocity once more."""
    m = dd.Model("velocities")
    q = m.coordinate("q", 2 * rods, start=[v for i in range(rods) for v in (i + 1.0, 0.0)], rate=[0.0] * (2 * rods))
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * sum(q[2 * i + 1] for i in range(rods)))
    v, place, speed = m.rate(q), ca.SX(2, 1), ca.SX(2, 1)
    for i in range(rods):
        here, rate = q[2 * i : 2 * i + 2], v[2 * i : 2 * i + 2]
        if holonomic:
            m.constraint(f"rod{i}", ca.sumsqr(here - place) - 1)
        else:
            m.velocity_constraint(f"rod{i}", ca.dot(here - place, rate - speed))
        place, speed = here, rate
    m.velocity_constraint("again", ca.dot(q[:2], v[:2]) * (2 + q[2] ** 2))
    return m


def planar_linkage_in_space():
    """A parallelogram of three bars in one plane, each joint free to turn about one axis only: three too many rows."""
    m = dd.Model("linkage")
    m.gravity([0, 0, -9.81])
    c, s = np.cos(1.0), np.sin(1.0)
    bars = {}
    for name, place, angle, length in (
        ("crank", [0.5 * c, 0, 0.5 * s], 1.0, 1.0),
        ("coupler", [c + 1.0, 0, s], 0.0, 2.0),
        ("rocker", [2 + 0.5 * c, 0, 0.5 * s], 1.0, 1.0),
    ):
        turned = np.array([[np.cos(angle), 0, -np.sin(angle)], [0, 1, 0], [np.sin(angle), 0, np.cos(angle)]])
        bars[name] = m.body(
            name, mass=1.0, inertia=dd.inertia.box(1.0, [length, 0.05, 0.05]), orientation="quaternion",
            position=place, velocity=[0, 0, 0], rotation=turned, angular_velocity=[0, 0, 0],
        )  # fmt: skip
    axes = {"axis_a": [0, 1.0, 0], "axis_b": [0, 1.0, 0]}
    m.joint("A", "revolute", dd.ground, bars["crank"], at_a=[0, 0, 0], at_b=[-0.5, 0, 0], **axes)
    m.joint("B", "revolute", bars["crank"], bars["coupler"], at_a=[0.5, 0, 0], at_b=[-1, 0, 0], **axes)
    m.joint("C", "revolute", bars["coupler"], bars["rocker"], at_a=[1, 0, 0], at_b=[0.5, 0, 0], **axes)
    m.joint("D", "revolute", dd.ground, bars["rocker"], at_a=[2, 0, 0], at_b=[-0.5, 0, 0], **axes)
    return m
