"""Null spaces through samples against singular values, and against closed forms."""

import numpy as np
import pytest
from scipy.sparse import csc_matrix, random

from daedalus.analysis.structure.dependence.null_space_probe import NullSpaceProbe


def low_rank(rows, columns, rank, seed):
    rng = np.random.default_rng(seed)
    left = random(rows, rank, 0.3, random_state=seed, data_rvs=rng.standard_normal)
    right = random(rank, columns, 0.3, random_state=seed + 1, data_rvs=rng.standard_normal)
    matrix = csc_matrix(left @ right)
    return matrix / max(abs(matrix).max(), 1e-3)


@pytest.mark.parametrize("seed", range(6))
def test_dimensions_are_those_of_singular_values(seed):
    matrix = low_rank(30 + seed, 40, 12 + 4 * seed, seed)
    full = matrix.toarray()
    _, values, right = np.linalg.svd(full)
    rank = int(np.sum(values > 1e-10 * values[0]))
    probe = NullSpaceProbe(matrix)
    assert probe.dimension() == 40 - rank
    null = right[rank:].T
    assert np.array_equal(probe.moved(), np.linalg.norm(null, axis=1) > 1e-6)
    some = np.arange(0, 40, 3)
    assert probe.dimension(some) == np.linalg.matrix_rank(null[some], tol=1e-8)


def test_samples_lie_in_the_null_space_and_the_gap_is_on_record():
    matrix = low_rank(30, 40, 20, 3)
    probe = NullSpaceProbe(matrix)
    assert np.abs(matrix @ probe.samples(5)).max() < 1e-12
    decision = probe.decision(name="samples")
    assert decision.matrix == "samples"
    assert decision.gap > 1e6


def test_a_regular_matrix_has_no_null_space_and_an_empty_one_nothing_else():
    assert NullSpaceProbe(csc_matrix(np.eye(7) + 0.1)).dimension() == 0
    assert NullSpaceProbe(csc_matrix((3, 5))).dimension() == 5
    assert NullSpaceProbe(csc_matrix((3, 0))).dimension() == 0
