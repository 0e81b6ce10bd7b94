"""A run that cannot begin for want of inertia says which part has none, and where."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def refused(call) -> str:
    with pytest.raises(dd.SingularModelError) as caught:
        call()
    return str(caught.value)


def bead(start=0.0):
    """T = q² q'²/2 is the motion of s = q²/2 with unit mass: without inertia at q = 0 only."""
    m = dd.Model("bead")
    q = m.coordinate("q", start=start, rate=0.0)
    m.kinetic_energy(0.5 * q**2 * m.rate(q) ** 2)
    m.potential_energy(-0.5 * q**2)
    return m


@pytest.mark.parametrize("on_stop", ["return", "raise"])
def test_a_mass_matrix_that_is_singular_at_the_start(on_stop):
    assert refused(lambda: dd.simulate(bead(), 1.0, on_stop=on_stop)) == (
        "The mass matrix is singular at the start.\n"
        "  no inertia belongs to q at q = 0\n"
        "  Because the accelerations follow from M v' = f, which has no single solution there.\n"
        "  Try: another start of q, or an m.kinetic_energy(...) that q has there too"
    )


def test_the_remedy_helps():
    """With s = q²/2 the bead falls freely: s = s0 + t²/2."""
    tr = dd.simulate(bead(), 1.0, start={"q": 1.0}, rtol=1e-9)
    assert 0.5 * tr["q"][-1] ** 2 == pytest.approx(1.0, abs=1e-7)


def test_the_start_of_the_call_counts():
    m = bead(start=1.0)
    assert dd.simulate(m, 0.1).success
    assert "q at q = 0" in refused(lambda: dd.simulate(m, 0.1, start={"q": 0.0}))


def test_the_coordinate_without_inertia_and_the_one_that_makes_it_so():
    """A spherical pendulum that hangs straight down has no inertia about the vertical."""
    m = dd.Model("spherical pendulum")
    theta, phi = m.coordinate("theta", start=0.0, rate=0.0), m.coordinate("phi", start=0.4, rate=0.0)
    m.kinetic_energy(0.5 * (m.rate(theta) ** 2 + ca.sin(theta) ** 2 * m.rate(phi) ** 2))
    m.potential_energy(-9.81 * ca.cos(theta))
    text = refused(lambda: dd.simulate(m, 1.0))
    assert "no inertia belongs to phi at theta = 0" in text
    assert "Try: another start of theta, or an m.kinetic_energy(...) that phi has there too" in text


def test_rounding_does_not_hide_a_singular_start():
    """[1 1; 1 1 + q²] is solved with rounding errors for pivots at q = 0, and the run gets nowhere."""
    m = dd.Model("two coordinates")
    q, r = m.coordinate("q", start=0.0, rate=0.0), m.coordinate("r", start=0.5, rate=0.0)
    m.kinetic_energy(0.5 * (m.rate(q) + m.rate(r)) ** 2 + 0.5 * q**2 * m.rate(r) ** 2)
    m.potential_energy(0.1 * (q - r))
    assert "no inertia belongs to q, r at q = 0" in refused(lambda: dd.simulate(m, 0.1))


def test_a_mass_of_zero_names_the_parameter():
    m = dd.Model("cart")
    mass = m.parameter("mass", 2.0)
    x, y = m.coordinate("x", start=1.0, rate=0.0), m.coordinate("y", start=1.0, rate=0.0)
    m.kinetic_energy(0.5 * mass * m.rate(x) ** 2 + m.rate(y) ** 2)
    m.potential_energy(x**2 + y**2)
    text = refused(lambda: dd.simulate(m, 1.0, parameters={"mass": 0.0}))
    assert "no inertia belongs to x at mass = 0" in text
    assert "Try: other parameters mass, or" in text


def test_a_body_without_mass_is_named():
    m = dd.Model("plane")
    mass = m.parameter("mass", 2.0)
    kite = m.body("kite", mass, 0.1, "planar", position=[0.0, 1.0])
    m.potential_energy(3.0 * ca.sumsqr(kite.position))
    assert dd.simulate(m, 0.1).success
    text = refused(lambda: dd.simulate(m, 0.1, parameters={"mass": 0.0}))
    assert "no inertia belongs to kite at mass = 0" in text


def test_a_mass_matrix_that_is_singular_everywhere():
    m = dd.Model("sum only")
    q, r = m.coordinate("q", start=0.0, rate=0.0), m.coordinate("r", start=0.5, rate=0.0)
    m.kinetic_energy(0.5 * (m.rate(q) + m.rate(r)) ** 2)
    m.potential_energy(0.5 * (q - 1) ** 2 + 0.5 * (r - q) ** 2)
    assert refused(lambda: dd.simulate(m, 0.1)) == (
        "The mass matrix of 'sum only' is singular.\n"
        "  a motion of q, r has no kinetic energy, wherever it begins\n"
        "  Because the accelerations follow from M v' = f, which has no single solution.\n"
        "  Try: m.kinetic_energy(...) for every motion of q, r, or a constraint between them"
    )


def test_other_failures_keep_their_words():
    """A force without a value is not a fault of the mass matrix, and a run that fails later keeps its data."""
    m = dd.Model("root")
    q = m.coordinate("q", start=-1.0, rate=0.0)
    m.kinetic_energy(0.5 * m.rate(q) ** 2)
    m.force(ca.sqrt(q), at=q)
    assert dd.simulate(m, 1.0).stop_reason == "q_ddot is not finite at t = 0"
    later = dd.simulate(m, 5.0, start={"q": 1.0, "q_dot": -3.0})
    assert later.status != "finished"
    assert len(later.time) > 1
    assert np.all(np.isfinite(later["q"]))
