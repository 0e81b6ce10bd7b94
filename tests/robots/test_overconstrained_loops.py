"""Loops whose closing equations follow from each other, through places where a chosen one of these passes zero."""

import numpy as np
import pytest
from tests.support.mechanisms import MOMENTS, bennett, bennett_ratio, built

import daedalus as dd

GRAVITY = (0.3, 0.2, -9.81)


def energy(tr, bodies):
    """Kinetic and potential energy of bodies at every sample."""
    found = 0.0
    for name, _, mass in bodies:
        place, speed, spin = (np.asarray(tr[f"{name}.{what}"]) for what in ("position", "velocity", "angular_velocity"))
        found += 0.5 * mass * (speed**2).sum(1) + 0.5 * (MOMENTS * spin**2).sum(1) - mass * place @ GRAVITY
    return found


def folding_linkage(seed):
    """Twists and first angle of a random Bennett linkage, and its length."""
    draw = np.random.default_rng(seed)
    alpha, beta = np.deg2rad(draw.uniform(20, 85)), np.deg2rad(draw.uniform(95, 160))
    return alpha, beta, draw.choice([-1, 1]) * draw.uniform(0.2, 0.8), draw.uniform(0.4, 1.6)


@pytest.mark.parametrize(
    ("seed", "rtol"), [(6, 1e-7), *(pytest.param(k, 1e-10, marks=pytest.mark.wide) for k in (4, 6, 7, 10))]
)
def test_bennett_linkages_move_through_their_fold(seed, rtol):
    """Energy and the closed form tan φ/2 tan ψ/2 = ±sin (β + α)/2 / sin (β - α)/2 hold behind the fold φ = 0 too."""
    alpha, beta, first, length = folding_linkage(seed)
    mechanism = bennett(alpha, beta, first, length)
    m = built(mechanism, "joint", GRAVITY)
    tr = dd.simulate(m, 2.0, rtol=rtol, atol=rtol / 100)
    assert tr.success
    total = energy(tr, mechanism[0])
    phi = first + np.asarray(tr["j0.angle"])
    assert (phi * first).min() < 0
    assert np.abs(total - total[0]).max() < 20 * rtol
    misses = []
    for ratio in (bennett_ratio(alpha, beta), -bennett_ratio(alpha, beta)):
        psi = 2 * np.arctan(ratio / np.tan(first / 2)) + np.asarray(tr["j1.angle"])
        misses.append(np.abs(np.sin(phi / 2) * np.sin(psi / 2) - ratio * np.cos(phi / 2) * np.cos(psi / 2)).max())
    assert min(misses) < rtol
