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
