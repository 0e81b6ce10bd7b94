"""Joint coordinates and body coordinates give one motion and one set of forces."""

from __future__ import annotations

import numpy as np
import pytest

import daedalus as dd
from tests.support.random_trees import body_start, random_joint_start, random_tree


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_random_trees_move_as_in_body_coordinates(seed: int, free: bool) -> None:
    joint, body = (random_tree(seed, kind, free=free) for kind in ("joint", "body"))
    options = {"rtol": 1e-9, "atol": 1e-10}
    tr = dd.simulate(joint, 0.2, start=random_joint_start(joint, seed), **options)
    other = dd.simulate(body, 0.2, start=body_start(tr, joint), **options)
    assert tr.success and other.success
    for name in joint.bodies:
        for what in ("position", "velocity", "angular_velocity"):
            np.testing.assert_allclose(tr[f"{name}.{what}"][-1], other[f"{name}.{what}"][-1], atol=1e-7)
    for name in joint._mechanics.tree:
        size = max(1.0, np.abs(other[name][0]).max())
        np.testing.assert_allclose(tr[name][0], other[name][0], atol=1e-7 * size)
