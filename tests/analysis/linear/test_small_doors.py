"""Small doors that open alike: starts as lists, derivatives behind first order."""

import casadi as ca
import numpy as np

import daedalus as dd


def pendulum():
    m = dd.Model("pendulum")
    q = m.coordinate("q", start=0.4, rate=0.1)
    m.kinetic_energy(m.rate(q) ** 2 / 2)
    m.potential_energy(-4 * ca.cos(q))
    return m


def test_a_linearisation_along_a_run_takes_its_start_as_a_list_or_by_name():
    tr = dd.simulate(pendulum(), 1.0, rtol=1e-9)
    ltv, times = dd.linearise(pendulum(), along=tr), np.linspace(0.0, 1.0, 11)
    one, other = ltv.respond(times, start=[1e-3, 0.0]), ltv.respond(times, start={"q": 1e-3})
    np.testing.assert_allclose(one["q"], other["q"], rtol=1e-12)


def test_accelerations_are_read_behind_first_order():
    tr = dd.simulate(dd.to_first_order(pendulum()), 1.0, rtol=1e-9)
    np.testing.assert_allclose(tr["q_ddot"], -4 * np.sin(tr["q"]), atol=1e-8)
