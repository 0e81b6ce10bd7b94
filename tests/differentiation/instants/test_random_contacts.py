"""Two masses with random frictions, stops, a clock and a reset: derivatives against central differences of runs."""

import numpy as np
import pytest

import daedalus as dd

SPAN, STEP = 3.0, 1e-5
STATES = ["x0", "v0", "x1", "v1"]
DEFAULT = {3, 5, 8}  # bounces that end, a stop beside a friction that it holds, impacts that turn a friction


def two_masses(seed):
    draw = np.random.default_rng(seed)
    m = dd.Model(f"two masses {seed}")
    force = m.discrete("force", start=float(draw.uniform(0.5, 2)))
    x, v = [], []
    for k in range(2):
        x.append(m.state(f"x{k}", start=float(k + draw.uniform(0.1, 0.4))))
        v.append(m.state(f"v{k}", start=float(draw.uniform(-1, 1))))
    stiffness = m.parameter("stiffness", float(draw.uniform(1, 4)))
    level = m.parameter("level", float(draw.uniform(0.1, 0.6)))
    rubs = [m.friction(f"f{k}", v[k], kinetic=level, static=1.2 * level) for k in range(2)] if seed % 3 else [0, 0]
    stop = m.unilateral("stop", gap=x[0], restitution=float(draw.uniform(0.2, 0.8)))
    pair = m.unilateral("pair", gap=x[1] - x[0] - 0.2, restitution=0.5) if seed % 2 else 0
    spring = stiffness * (x[0] - x[1] + 0.6)
    for k in range(2):
        m.equation(m.der(x[k]), v[k])
    m.equation(m.der(v[0]), -spring - force + rubs[0] + stop - pair)
    m.equation(m.der(v[1]), spring + rubs[1] + pair - 0.3 * (x[1] - 1))
    m.every(0.7, {"force": 1.0 - 0.3 * x[0]})
    if seed % 4 == 0:
        m.when(x[1] > 1.35, {"v1": -0.5 * v[1]}, name="hit")
    return m


def differences(m, names):
    """∂(states at the end)/∂(states at the start)."""
    start, columns = dd.simulate(m, SPAN, rtol=1e-10, atol=1e-12), []
    for name in names:
        ends = []
        for side in (1, -1):
            moved = {other: float(start[other][0]) for other in STATES}
            moved[name] += side * STEP
            tr = dd.simulate(m, SPAN, start=moved, rtol=1e-10, atol=1e-12)
            ends.append([float(tr.end[other]) for other in STATES])
        columns.append((np.array(ends[0]) - np.array(ends[1])) / (2 * STEP))
    return np.array(columns).T


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[] if seed in DEFAULT else pytest.mark.wide) for seed in range(16)]
)
def test_derivatives_through_what_contacts_do(seed):
    m = two_masses(seed)
    names = STATES if seed not in DEFAULT else ["x1", "v0"]
    slopes = dd.sensitivities(m, SPAN, rtol=1e-9, atol=1e-11).M[:, [STATES.index(name) for name in names]]
    assert slopes[:4] == pytest.approx(differences(m, names), abs=2e-5 * max(1.0, np.abs(slopes).max()))
