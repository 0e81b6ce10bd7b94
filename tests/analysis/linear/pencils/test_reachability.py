import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kronecker_blocks import well_conditioned

from daedalus.analysis.linear.lti import LTI


def bridge(R1, C1, R2, C2):
    """Two RC branches on one source, read as the voltage between them."""
    return LTI(
        np.diag([-1 / (R1 * C1), -1 / (R2 * C2)]),
        [1 / (R1 * C1), 1 / (R2 * C2)],
        [1.0, -1.0],
        states=["upper", "lower"],
    )


def test_balanced_bridge():
    """Equal time constants: the difference of the voltages cannot be driven, nor the sum seen."""
    balanced = bridge(1e3, 1e-6, 2e3, 0.5e-6)
    control, sight = balanced.controllability(), balanced.observability()
    assert (control.rank, sight.rank) == (1, 1)
    assert control.modes[0].pole == pytest.approx(-1000.0)
    assert set(control.modes[0].states) == {"upper", "lower"}
    assert bridge(1e3, 1e-6, 2e3, 0.6e-6).controllability().complete


def cart_with_two_pendulums(l1, l2):
    """Two inverted pendulums on a cart that is accelerated: θᵢ'' = (g θᵢ - a) / lᵢ."""
    A = np.zeros((4, 4))
    A[:2, 2:] = np.eye(2)
    A[2:, :2] = np.diag([9.81 / l1, 9.81 / l2])
    return LTI(A, [0, 0, -1 / l1, -1 / l2], states=["first", "second", "first_rate", "second_rate"])


def test_two_pendulums_of_one_length_cannot_both_be_balanced():
    assert cart_with_two_pendulums(1.0, 0.5).controllability()
    verdict = cart_with_two_pendulums(1.0, 1.0).controllability()
    assert (verdict.complete, verdict.rank) == (False, 2)
    assert sorted(mode.pole.real for mode in verdict.modes) == pytest.approx([-np.sqrt(9.81), np.sqrt(9.81)])


def test_nearly_equal_lengths_show_in_the_gap():
    near = cart_with_two_pendulums(1.0, 1.0 + 1e-12).controllability()
    far = cart_with_two_pendulums(1.0, 0.5).controllability()
    assert near.gap < 1e6 < far.gap


@given(st.integers(1, 4), st.integers(0, 3), st.integers(1, 2), st.integers(0, 2**32 - 1))
def test_the_part_out_of_reach_is_found(reached, lost, inputs, seed):
    rng = np.random.default_rng(seed)
    n = reached + lost
    # A chain drives the reached part; the rest runs by itself and may push the chain.
    A = np.triu(rng.normal(size=(n, n)))
    A[:reached, :reached] += np.diag(np.ones(reached - 1), -1)
    A[reached:, reached:] = np.diag(-1.0 - np.arange(lost))
    B = np.zeros((n, inputs))
    B[0] = 1.0
    T = well_conditioned(rng, n)
    back = np.linalg.inv(T)
    verdict = LTI(T @ A @ back, T @ B).controllability()
    assert verdict.rank == reached
    assert np.allclose([mode.pole for mode in verdict.modes], sorted(-1.0 - np.arange(lost)), atol=1e-6)
    # The same for what outputs see, by duality.
    dual = LTI((T @ A @ back).T, None, (T @ B).T).observability()
    assert (dual.rank, dual.complete) == (reached, lost == 0)


@given(st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_agrees_with_the_rank_of_the_controllability_matrix(n, seed):
    """Small integers, where the matrix [B, A B, A² B, ...] is exact."""
    rng = np.random.default_rng(seed)
    A, B = rng.integers(-1, 2, (n, n)), rng.integers(-1, 2, (n, 1))
    columns = np.hstack([np.linalg.matrix_power(A, k) @ B for k in range(n)])
    assert LTI(A, B).controllability().rank == np.linalg.matrix_rank(columns)


def test_without_inputs_nothing_is_reached():
    verdict = LTI(np.diag([-1.0, -2.0]), states=["a", "b"]).controllability()
    assert (verdict.rank, [mode.states for mode in verdict.modes]) == (0, [("b",), ("a",)])


def test_printed_and_on_record():
    verdict = LTI([[-1, 0, 0], [0, -0.5, 2], [0, -2, -0.5]], [1, 0, 0], states=["a", "b", "c"]).controllability()
    lines = str(verdict).splitlines()
    assert lines[0].startswith("not controllable: rank 1 of 3, so the inputs do not reach every state; narrowest gap ")
    assert [line[:34] for line in lines[1:]] == [
        "  out of reach: pole -0.5 - 2j in ",
        "  out of reach: pole -0.5 + 2j in ",
    ]
    assert all(set(mode.states) == {"b", "c"} for mode in verdict.modes)
    assert [decision.matrix for decision in verdict.ranks] == ["B", "A below 1 reached state"]
    assert str(LTI([[-1.0]], [[1.0]]).observability()).startswith(
        "observable: rank 1 of 1, so the outputs determine every state"
    )
