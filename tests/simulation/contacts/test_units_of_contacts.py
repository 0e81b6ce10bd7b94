"""Contacts let go where they should in any unit: of 1e-21 kg as of 1e12, of nanometres as of thousands of km."""

import pickle

import casadi as ca
import pytest

import daedalus as dd

G = 9.81


def lifted_by_hand(mass, size):
    """Mass times acceleration is a pull that reaches the weight after a second."""
    m = dd.Model("lifted")
    h, v = m.state("h", start=0.0, nominal=size), m.state("v", start=0.0, nominal=size)
    push = m.unilateral("table", h)
    m.equation(m.der(h), v)
    m.equation(mass * m.der(v), mass * G * size * (m.time - 1) + push)
    return m, "h", G * size / 6


def lifted_coordinate(mass, size):
    m = dd.Model("lifted")
    weight = m.parameter("mass", mass)
    h = m.coordinate("h", start=0.0, rate=0.0, nominal=size)
    m.kinetic_energy(0.5 * weight * m.rate(h) ** 2)
    m.potential_energy(weight * G * size * h)
    m.unilateral("table", h)
    m.force(weight * G * size * m.time, at=h)
    return m, "h", G * size / 6


def lifted_through_a_force(mass, size):
    """The multiplier acts through a force with an equation of its own."""
    m = dd.Model("lifted")
    h, v = m.state("h", start=0.0, nominal=size), m.state("v", start=0.0, nominal=size)
    force = m.algebraic("force")
    push = m.unilateral("table", h)
    m.equation(m.der(h), v)
    m.equation(mass * m.der(v), mass * G * size * (m.time - 1) + 2 * force)
    m.equation(force, 0.5 * push)
    return m, "h", G * size / 6


def pulled_block(mass, size):
    """Static friction holds 0.4 of the weight, which the pull reaches after a second; it slides at 0.3."""
    m = dd.Model("pulled")
    x, v = m.state("x", start=0.0, nominal=size), m.state("v", start=0.0, nominal=size)
    hold = m.friction("floor", v, kinetic=0.3 * mass * G * size, static=0.4 * mass * G * size)
    m.equation(m.der(x), v)
    m.equation(mass * m.der(v), 0.4 * mass * G * size * m.time + hold)
    return m, "x", G * size * (0.4 / 6 + 0.1 / 2)


@pytest.mark.parametrize("model", [lifted_by_hand, lifted_coordinate, lifted_through_a_force, pulled_block])
@pytest.mark.parametrize(("mass", "size"), [(1e-21, 1e-9), (1e-15, 1.0), (1.0, 1.0), (1e12, 1.0), (1e6, 1e6)])
@pytest.mark.parametrize("method", ["auto", pytest.param("radau5", marks=pytest.mark.wide)])
def test_it_lets_go_at_the_same_moment(model, mass, size, method):
    m, name, end = model(mass, size)
    tr = dd.simulate(m, 2.0, method=method, rtol=1e-8)
    assert [event.name for event in tr.events] in (["table.opens"], ["floor.slips"])
    assert tr.events[0].time == pytest.approx(1.0, abs=1e-7)
    assert tr[name][-1] == pytest.approx(end, rel=1e-6)


def test_a_heavy_and_a_light_body_part_at_the_same_moment_in_a_part_and_as_data():
    """A grain of 1e-15 kg on a plate of a ton that sinks faster and faster."""

    def grain_on_plate():
        m = dd.Model("grain on a plate")
        q = m.coordinate("q", 2, start=[0.0, 0.0], rate=[0.0, 0.0])
        masses = ca.DM([1e3, 1e-15])
        m.kinetic_energy(0.5 * ca.dot(masses, m.rate(q) ** 2))
        m.potential_energy(G * ca.dot(masses, q))
        m.force(masses[0] * G * (1 - m.time), at=q[0])
        m.unilateral("plate", q[1] - q[0])
        return m

    # The plate falls with g t, the grain with it up to t = 1.
    whole = dd.Model("whole")
    whole.include("inner", grain_on_plate())
    kept = pickle.loads(pickle.dumps(grain_on_plate().freeze()))
    for m, prefix in (
        (grain_on_plate(), ""),
        (whole, "inner."),
        (kept, ""),
        (dd.reduce(grain_on_plate()), ""),
    ):
        tr = dd.simulate(m, 2.0, rtol=1e-9)
        assert tr[f"{prefix}q"][-1] == pytest.approx([-G * 8 / 6, -G * (1 / 6 + 1 / 2 + 1 / 2)], rel=1e-6)
