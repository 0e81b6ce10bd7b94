"""Which constraints follow from others is judged where joints are assembled, not half a turn away."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.random_trees import random_direction

import daedalus as dd
from daedalus.reduction.redundancy.independent_constraints import redundancy_at_start

SIDED = ("prismatic", "fixed", "planar", "revolute")


def chain(seed: int, closed: bool = False) -> dd.Model:
    """Bodies in a row whose orientations nobody wrote, one to five; closed: the last joint is written twice."""
    rng, m = np.random.default_rng(seed), dd.Model("chain")
    before, count = dd.ground, 1 + seed % 5
    for k in range(count):
        body, kind = m.body(f"b{k}", 1.0, [0.1, 0.2, 0.15]), str(rng.choice(SIDED))
        options = {"at_a": rng.normal(size=3) * 0.3, "at_b": rng.normal(size=3) * 0.3}
        if kind != "fixed":
            options |= {"axis_a": random_direction(rng), "axis_b": random_direction(rng)}
        pair = (before, body) if rng.random() < 0.5 else (body, before)
        for name in (f"j{k}", *(["again"] if closed and k == count - 1 else [])):
            m.joint(name, kind, *pair, **options)
        before = body
    return m


@pytest.mark.parametrize(
    "seed", [8, 14, 23, *(pytest.param(seed, marks=pytest.mark.wide) for seed in range(24) if seed not in (8, 14, 23))]
)
def test_no_constraint_of_a_chain_follows_from_others(seed: int) -> None:
    assert redundancy_at_start(chain(seed).freeze()) is None
    twice = redundancy_at_start(chain(seed, closed=True).freeze())
    assert twice is not None
    assert len(twice.first.dependent) == sum(name.startswith("again") for name in twice.names)
