import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from daedalus.analysis.rank_decision import amplified, decide_rank, largest_singular_value


def test_the_cut_lies_at_the_widest_gap_within_the_doubt():
    values = np.array([1.0, 0.5, 3e-11, 1e-15])
    plain = decide_rank(values, (4, 4), 1.0, 1e-13, "E")
    assert (plain.rank, plain.smallest_kept, plain.largest_dropped) == (3, 3e-11, 1e-15)
    informed = decide_rank(values, (4, 4), 1.0, 1e-13, "E", amplification=1e4)
    assert (informed.rank, informed.gap) == (2, 0.5 / 3e-11)


def test_amplification_never_swallows_a_large_singular_value():
    assert decide_rank(np.array([1.0, 1e-3]), (2, 2), 1.0, 1e-13, "E", amplification=1e13).rank == 2


def test_all_kept_and_none_kept():
    full = decide_rank(np.array([1.0, 0.5]), (2, 2), 1.0, 1e-12, "E")
    assert (full.rank, full.largest_dropped, full.gap) == (2, 0.0, 0.5 / (2 * np.finfo(float).eps))
    none = decide_rank(np.array([1e-15]), (3, 1), 1.0, 1e-12, "A")
    assert (none.rank, none.smallest_kept, none.largest_dropped) == (0, 1.0, 1e-15)
    assert decide_rank(np.zeros(2), (2, 2), 0.0, 1e-12, "E").rank == 0


def test_amplification_is_the_worst_ratio_so_far():
    decision = decide_rank(np.array([1.0, 1e-3]), (2, 2), 1.0, 1e-12, "E")
    assert amplified(1.0, decision, 1.0) == 1e3
    assert amplified(1e5, decision, 1.0) == 1e5


def test_a_decision_in_words():
    decision = decide_rank(np.array([1.0, 1e-15]), (2, 2), 1.0, 1e-12, "E after 1 step")
    assert str(decision) == "E after 1 step (2 × 2) has rank 1, gap 1.0e+15"


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_the_size_of_a_matrix_is_near_its_largest_singular_value(rows, columns, seed):
    matrix = np.random.default_rng(seed).normal(size=(rows, columns))
    exact = np.linalg.norm(matrix, 2)
    assert 0.8 * exact < largest_singular_value(matrix) <= exact * (1 + 1e-12)
    assert largest_singular_value(np.zeros((rows, columns))) == 0.0
