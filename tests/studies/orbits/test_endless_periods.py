"""Families of orbits that end at an orbit from a point of rest to itself: no multipliers are told beyond it."""

import numpy as np
import pytest

import daedalus as dd

ENDS = "the period grows without bounds while"


@pytest.mark.wide
def test_the_homoclinic_orbit_of_lorenz():
    # C. Sparrow, The Lorenz Equations, 1982, section 2.2: r = 13.926 for sigma = 10, b = 8/3.
    m = dd.Model("Lorenz")
    x, y, z, r = m.state("x", start=8.0), m.state("y", start=8.0), m.state("z", start=23.0), m.parameter("r", 24.0)
    m.equation([m.der(x), m.der(y), m.der(z)], [10 * (y - x), r * x - y - x * z, x * y - 8 / 3 * z])
    hopf = dd.branch(m, "r", (24.0, 28.0), start={"x": 7.8, "y": 7.8, "z": 23.0}).points[0]
    orbits = dd.branch(hopf, "r", (13.0, 25.0))
    assert not orbits.points
    assert not np.any(orbits.stable)
    assert orbits["r"][-1] == pytest.approx(13.926557, abs=1e-6)
    assert ENDS in orbits.ended


@pytest.mark.wide
def test_the_homoclinic_orbit_beside_a_saddle():
    """x' = y, y' = x² - 1 + b y + x y: the family of the Hopf point b = 1, with one multiplier exp ∫ (b + x) dt."""
    m = dd.Model("Bogdanov and Takens")
    x, y, b = m.state("x", start=-1.0), m.state("y", start=0.0), m.parameter("b", 0.5)
    m.equation([m.der(x), m.der(y)], [y, x**2 - 1 + b * y + x * y])
    hopf = dd.branch(m, "b", (0.5, 2.0)).points[0]
    orbits = dd.branch(hopf, "b", (0.2, 2.0))
    assert orbits.notes == ("begins at the Hopf point b = 1",)
    assert not orbits.points
    assert ENDS in orbits.ended
    for k in range(150, 230, 20):
        mean = float(np.mean(orbits.samples(k, ["x"], 4000)))
        expected = (orbits["b"][k] + mean) * orbits.period[k]
        assert float(np.log(np.abs(orbits.multipliers[k]).max())) == pytest.approx(expected, rel=1e-3)
