"""A coordinate that the kinetic energy forgets is refused by name, unless a constraint holds it."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def two_coordinates(kinetic, potential=lambda q, r: 0.5 * (q - 1) ** 2 + 0.5 * (r - q) ** 2):
    m = dd.Model("two coordinates")
    q, r = m.coordinate("q", start=0.3, rate=0.0), m.coordinate("r", start=0.5, rate=0.0)
    m.kinetic_energy(kinetic(q, r, m.rate(q), m.rate(r)))
    m.potential_energy(potential(q, r))
    return m


@pytest.mark.parametrize("use", [dd.Model.freeze, lambda m: dd.simulate(m, 0.1), dd.initialise])
def test_a_forgotten_coordinate_is_named(use):
    m = two_coordinates(lambda q, r, q_dot, r_dot: 0.5 * (1 + r**2) * q_dot**2)
    with pytest.raises(dd.SingularModelError) as caught:
        use(m)
    assert str(caught.value) == (
        "The mass matrix is singular: no kinetic energy belongs to r.\n"
        "  the rate of r enters no kinetic energy, and r no constraint\n"
        "  Because the acceleration of every coordinate follows from its inertia.\n"
        '  Try: m.kinetic_energy(...) with the rate of r, or m.state("r", ...) and m.equation(...) '
        "for a part without mass"
    )


def test_a_constant_force_does_not_hide_a_forgotten_coordinate():
    m = two_coordinates(lambda q, r, q_dot, r_dot: 0.5 * q_dot**2, lambda q, r: q - 2 * r)
    with pytest.raises(dd.SingularModelError, match="no kinetic energy belongs to r"):
        m.freeze()


def test_the_element_of_a_vector_is_named():
    m = dd.Model("vector")
    q = m.coordinate("q", 3, start=[1.0, 2.0, 3.0])
    rate = m.rate(q)
    m.kinetic_energy(0.5 * (rate[0] ** 2 + rate[2] ** 2))
    m.potential_energy(ca.sumsqr(q))
    with pytest.raises(dd.SingularModelError, match=r"no kinetic energy belongs to q\[1\]"):
        m.freeze()


def test_a_massless_coordinate_that_a_constraint_holds_is_accepted():
    """r = 2 q without inertia of its own: its spring acts on q, so that q'' = -2 k r = -4 k q."""
    m = dd.Model("lever")
    q, r = m.coordinate("q", start=0.1, rate=0.0), m.coordinate("r", start=0.2, rate=0.0)
    m.kinetic_energy(0.5 * m.rate(q) ** 2)
    m.potential_energy(0.5 * 3.0 * r**2)
    m.constraint("lever", r - 2 * q)
    tr = dd.simulate(m, 1.0, rtol=1e-9, atol=1e-12)
    assert tr["q"][-1] == pytest.approx(0.1 * np.cos(np.sqrt(12.0)), abs=1e-7)


def test_inertia_by_a_force_counts():
    """An added mass, written as a force that opposes the acceleration."""
    m = dd.Model("added mass")
    q = m.coordinate("q", start=1.0, rate=0.0)
    m.potential_energy(0.5 * q**2)
    m.force(-4.0 * m.der(m.rate(q)), at=q)
    tr = dd.simulate(m, 1.0, rtol=1e-9, atol=1e-12)
    assert tr["q"][-1] == pytest.approx(np.cos(0.5), abs=1e-7)
