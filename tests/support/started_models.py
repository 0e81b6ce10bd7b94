"""Small models that are started in several tests, written as equations."""

import casadi as ca

import daedalus as dd

GRAVITY = 9.81


def pendulum(size: int = 2, p=None, v=None) -> dd.Model:
    """A point mass on a rod in Cartesian coordinates, index 3; `force` is the force of the rod over its length."""
    m = dd.Model("pendulum")
    position, velocity = m.state("p", size, start=p), m.state("v", size, start=v)
    length, force = m.parameter("L", 1.0), m.algebraic("force")
    weight = ca.DM([0.0] * (size - 1) + [-GRAVITY])
    m.equation(m.der(position), velocity, name="kinematics")
    m.equation(m.der(velocity), weight + force * position, name="newton")
    m.equation(ca.sumsqr(position) - length**2, name="rod")
    return m


def energy_pendulum(p=None, rate=None, masses=(1.0, 1.0)) -> dd.Model:
    """The same from energies, with a mass for each direction."""
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=p, rate=rate)
    v = m.rate(q)
    m.kinetic_energy(0.5 * (masses[0] * v[0] ** 2 + masses[1] * v[1] ** 2))
    m.potential_energy(GRAVITY * masses[1] * q[1])
    m.constraint("rod", ca.sumsqr(q) - 1.0)
    return m


def reactor() -> dd.Model:
    """The isothermal CSTR A ⇌ B → C with the first reaction in equilibrium: index 2, its rate is in no constraint."""
    m = dd.Model("cstr")
    a, b, c = (m.state(name) for name in ("cA", "cB", "cC"))
    first, second = m.algebraic("R1"), m.algebraic("R2")
    flow, feed, ratio, rate = (m.parameter(n, v) for n, v in (("F", 1.0), ("c0", 1.0), ("K", 0.5), ("k", 2.0)))
    m.equation(m.der(a), flow * (feed - a) - first, name="A")
    m.equation(m.der(b), -flow * b + first - second, name="B")
    m.equation(m.der(c), -flow * c + second, name="C")
    m.equation(a - b / ratio, name="equilibrium")
    m.equation(second - rate * b, name="rate")
    return m


def four_bar(start, rate=(None, None, None)) -> dd.Model:
    """A planar four-bar linkage from three angles and one closed loop."""
    lengths, ground = (0.3, 1.0, 0.8), 0.9
    m = dd.Model("four_bar")
    a = m.coordinate("a", 3, start=list(start), rate=list(rate))
    w = m.rate(a)
    along = [ca.vertcat(ca.cos(a[k]), ca.sin(a[k])) for k in range(3)]
    foot = ca.DM([ground, 0.0])
    centres = [lengths[0] / 2 * along[0], lengths[0] * along[0] + lengths[1] / 2 * along[1], foot + 0.4 * along[2]]
    for k, centre in enumerate(centres):
        speed = ca.jtimes(centre, a, w)
        m.kinetic_energy(0.5 * lengths[k] * ca.sumsqr(speed) + lengths[k] ** 3 / 24 * w[k] ** 2)
        m.potential_energy(GRAVITY * lengths[k] * centre[1])
    m.constraint("loop", lengths[0] * along[0] + lengths[1] * along[1] - foot - lengths[2] * along[2])
    return m
