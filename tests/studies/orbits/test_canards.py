"""Orbits that grow within 1e-9 of a parameter: their multipliers are known by Liouville's formula."""

import numpy as np
import pytest

import daedalus as dd


def test_the_canard_explosion_of_fitzhugh_and_nagumo():
    """In the plane the multiplier is exp ∫ div f dt, never negative; one fold lies before the spikes."""
    m = dd.Model("FitzHugh-Nagumo")
    v, w, current = m.state("v", start=-1.2), m.state("w", start=-0.6), m.parameter("I", 0.0)
    m.equation([m.der(v), m.der(w)], [v - v**3 / 3 - w + current, 0.08 * (v + 0.7 - 0.8 * w)])
    rest = dd.branch(m, "I", (0.0, 0.5))
    # The trace 1 - v² - 0.064 is zero at rest.
    v_hopf = -np.sqrt(1 - 0.064)
    assert rest.points[0].parameter == pytest.approx((v_hopf + 0.7) / 0.8 - v_hopf + v_hopf**3 / 3, abs=1e-8)
    orbits = dd.branch(rest.points[0], "I", (0.3, 0.34))
    assert [point.kind for point in orbits.points] == ["fold of cycles"]
    assert len(orbits.notes) == 1
    assert orbits["I"][-1] == pytest.approx(0.34)
    assert bool(orbits.stable[-1])
    for k in range(0, len(orbits["I"]), 12):
        speed = 1 - np.ravel(orbits.samples(k, ["v"], 1000)) ** 2 - 0.064
        expected = float(np.mean(speed) * orbits.period[k])
        values = orbits.multipliers[k]
        multiplier = values[np.argmax(np.abs(values - 1))]
        assert multiplier.imag == 0
        assert multiplier.real > 0
        # Between mesh points the orbit is known to 1e-5 of its size.
        assert float(np.log(multiplier.real)) == pytest.approx(expected, rel=5e-3, abs=0.05)


@pytest.mark.wide
def test_motions_beside_an_orbit_that_part_within_its_intervals():
    """With a recovery of 0.02, the multiplier goes from exp(22) to exp(-160)."""
    m = dd.Model("FitzHugh-Nagumo")
    v, w, current = m.state("v", start=-1.2), m.state("w", start=-0.6), m.parameter("I", 0.0)
    m.equation([m.der(v), m.der(w)], [v - v**3 / 3 - w + current, 0.02 * (v + 0.7 - 0.8 * w)])
    orbits = dd.branch(dd.branch(m, "I", (0.0, 1.0)).points[0], "I", (0.0, 1.0), most_points=240)
    assert [point.kind for point in orbits.points] == ["fold of cycles"]
    assert len(orbits.notes) == 1
    for k in range(30, 240, 30):
        speed = 1 - np.ravel(orbits.samples(k, ["v"], 8000)) ** 2 - 0.016
        values = orbits.multipliers[k]
        multiplier = values[np.argmax(np.abs(values - 1))]
        expected = float(np.mean(speed) * orbits.period[k])
        assert float(np.log(multiplier.real)) == pytest.approx(expected, rel=1e-3, abs=0.02)
