"""A small Galton board: balls fall through rows of pegs into bins."""

import numpy as np
import pytest

import daedalus as dd

G, RADIUS, PEG, PITCH, DROP = 9.81, 0.01, 0.006, 0.05, 0.045


def board(balls, rows, seed):
    """Pegs in a rectangle between walls, every other row shifted by half a pitch; bins below it."""
    m = dd.Model("Galton board")
    m.gravity([0.0, -G])
    half, floor = 0.5 * PITCH * (rows + 1), -DROP * rows - 0.1
    for row in range(rows):
        for k in np.arange(-(rows // 2) - 1, rows // 2 + 2) + 0.5 * (row % 2):
            if abs(PITCH * k) <= half - PEG - 2.5 * RADIUS:  # no ball is caught beside a wall
                m.ground.shape("sphere", size=PEG, at=[PITCH * k, -DROP * row])
    m.ground.shape("plane", at=[0.0, floor])
    m.ground.shape("plane", at=[-half, 0.0], rotation=-np.pi / 2)
    m.ground.shape("plane", at=[half, 0.0], rotation=np.pi / 2)
    for k in range(1, rows + 1):
        m.ground.shape("capsule", size=[0.002, 0.08], at=[-half + PITCH * k, floor + 0.04], rotation=np.pi / 2)
    draw = np.random.default_rng(seed)
    for k in range(balls):
        b = m.body(f"b{k}", mass=0.01, inertia=0.4 * 0.01 * RADIUS**2, orientation="planar", rotation=0.0,
                   position=[0.004 * draw.uniform(-1, 1), 0.05 + 0.05 * k], velocity=[0.0, 0.0],
                   angular_velocity=0.0)  # fmt: skip
        b.shape("sphere", size=RADIUS)
    m.contact("all", friction=0.2, restitution=0.3, rolling_friction=1e-4)
    return m, half, floor


@pytest.mark.parametrize(("balls", "rows", "options"), [
    (6, 4, {"step": 2e-3}), pytest.param(4, 4, {}, marks=pytest.mark.wide),
    pytest.param(20, 6, {"step": 2e-3}, marks=pytest.mark.wide),
])  # fmt: skip
def test_every_ball_comes_to_rest_in_a_bin_with_less_energy_and_the_same_bits(balls, rows, options):
    m, half, floor = board(balls, rows, seed=1)
    seconds = 1.6 if balls < 20 else 3.0
    tr = dd.simulate(m, seconds, **options)
    places = np.array([tr[f"b{k}.position"][-1] for k in range(balls)])
    speeds = np.array([tr[f"b{k}.velocity"][-1] for k in range(balls)])
    depth = next(r for r in tr.records if type(r).__name__ == "ContactsStepped").depth
    counts = np.histogram(places[:, 0], bins=np.linspace(-half, half, rows + 2))[0]
    assert counts.sum() == balls
    assert np.count_nonzero(counts) > 1
    assert np.abs(speeds).max() < 1e-3
    assert places[:, 1].min() >= floor + RADIUS - 1e-6
    assert places[:, 1].max() < floor + 0.08 + RADIUS
    energy = tr.stored_energy()
    # What has gone in is lifted out again.
    assert np.diff(energy).max() <= 1e-9 * energy[0] + 0.01 * G * depth
    again = dd.simulate(m, seconds, **options)
    assert all(np.array_equal(tr[f"b{k}.position"], again[f"b{k}.position"]) for k in range(balls))
