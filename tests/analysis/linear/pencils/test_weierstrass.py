import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kronecker_blocks import finite_block, hidden, infinite_block

from daedalus.analysis.linear.pencils.pencil import pencil
from daedalus.errors import SingularModelError


@given(
    st.lists(st.integers(1, 4), max_size=3),
    st.lists(st.floats(-5, 5), max_size=4),
    st.integers(0, 2**32 - 1),
)
def test_the_transformations_take_the_pencil_apart(infinite, finite, seed):
    if not infinite and not finite:
        return
    blocks = [infinite_block(k) for k in infinite] + [finite_block(1, value) for value in finite]
    E, A = hidden(blocks, np.random.default_rng(seed))
    parts = pencil(E, A).weierstrass()
    left, right = np.vstack([parts.left_slow, parts.left_fast]), np.hstack([parts.slow, parts.fast])
    n, k = len(finite), sum(infinite)
    corner = np.zeros((n, k))
    scale = np.linalg.norm(left) * np.linalg.norm(right)
    E_apart = np.block([[np.eye(n), corner], [corner.T, parts.N]])
    A_apart = np.block([[parts.M, corner], [corner.T, np.eye(k)]])
    assert np.allclose(left @ E @ right, E_apart, atol=1e-11 * scale)
    assert np.allclose(left @ A @ right, A_apart, atol=1e-11 * scale)
    assert parts.index == max(infinite, default=0)
    assert not np.any(np.linalg.matrix_power(parts.N, parts.index)) or k == 0


def test_a_singular_pencil_cannot_be_taken_apart():
    with pytest.raises(SingularModelError) as caught:
        pencil([[1, 0], [0, 0]], [[1, 0], [1, 0]]).weierstrass()
    lines = str(caught.value).splitlines()
    assert lines[0] == "The pencil s E - A is singular."
    assert lines[1] == "  2 equations, 2 unknowns; det(s E - A) is zero for every s"
    assert lines[2].startswith("  Because the equations leave a combination of unknowns undetermined")
    assert lines[3].startswith("  Try: dd.pencil(E, A).right_indices")
