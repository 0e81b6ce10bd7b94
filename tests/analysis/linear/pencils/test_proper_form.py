import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from kronecker_blocks import block_diagonal, finite_block, infinite_block, well_conditioned

from daedalus.analysis.linear.descriptor import DescriptorSystem
from daedalus.errors import SingularModelError


def coupled_masses(m1=2.0, m2=3.0, k=7.0, d=0.4):
    """Two masses joined by a rigid rod, the first on a spring: m₁ v₁' = u - k x₁ - d v₁ + λ, m₂ v₂' = -λ, x₁ = x₂."""
    E = np.diag([1.0, 1.0, m1, m2, 0.0])
    A = np.zeros((5, 5))
    A[0, 2] = A[1, 3] = 1.0
    A[2, [0, 2, 4]] = [-k, -d, 1.0]
    A[3, 4] = -1.0
    A[4, :2] = [1.0, -1.0]
    return DescriptorSystem(E, A, [0, 0, 1, 0, 0], states=["x1", "x2", "v1", "v2", "rod"], inputs=["force"])


def test_rigidly_joined_masses_become_one():
    system = coupled_masses()
    assert system.index == 3
    space = system.to_state_space()
    assert space.states == ("x1", "v1")
    assert np.allclose(space.A, [[0, 1], [-7 / 5, -0.4 / 5]], atol=1e-12)
    assert np.allclose(space.B[:, 0], [0, 1 / 5], atol=1e-13)
    # The rod carries the force that accelerates the second mass.
    rod = space.select(outputs="rod")
    assert np.allclose(rod.C, [[7 * 3 / 5, 0.4 * 3 / 5]])
    assert np.allclose(rod.D, [[-3 / 5]])
    assert space.select(outputs="x1").C.tolist() == [[1.0, 0.0]]


@given(st.tuples(*[st.floats(-4, 4)] * 4))
def test_units_of_the_masses_do_not_matter(decades):
    m1, m2, k, d = (10.0**decade for decade in decades)
    system = coupled_masses(m1, m2, k, d)
    assert system.index == 3
    space = system.to_state_space()
    expected = np.roots([m1 + m2, d, k])
    slow = np.abs(expected).max() * 1e-7
    assert np.allclose(space.poles(), expected[np.lexsort((expected.imag, expected.real))], rtol=1e-7, atol=slow)
    assert space.B[1, 0] * (m1 + m2) == pytest.approx(1.0, rel=1e-6)


def test_prescribed_motion_is_improper_and_named():
    """x prescribed by the input: m x'' = λ, x = u, so λ = m u''."""
    system = DescriptorSystem(
        np.diag([1.0, 2.0, 0.0]),
        [[0, 1, 0], [0, 0, 1], [1, 0, 0]],
        [0, 0, -1],
        states=["x", "v", "reaction"],
        inputs=["track"],
    )
    with pytest.raises(SingularModelError) as caught:
        system.to_state_space()
    assert str(caught.value).splitlines() == [
        "The system has no proper state space: outputs contain derivatives of inputs.",
        "  v contains 1 · track'",
        "  reaction contains 2 · track''",
        "  Because the index is 3: algebraic equations have to be differentiated, and inputs with them.",
        "  Try: select(outputs=['x']) leaves them out, or make the derivative of track the input and integrate it in "
        "the model",
    ]
    with pytest.raises(SingularModelError, match="derivatives of inputs"):
        system.to_control()
    only = system.select(outputs="x").to_state_space()
    assert (only.states, only.D.tolist()) == ((), [[1.0]])


def test_an_ode_with_a_mass_matrix_keeps_all_states():
    rng = np.random.default_rng(0)
    M, A, B = rng.normal(size=(3, 3)) + 3 * np.eye(3), rng.normal(size=(3, 3)), rng.normal(size=(3, 2))
    space = DescriptorSystem(M, A, B, states=["a", "b", "c"]).to_state_space()
    assert space.states == ("a", "b", "c")
    assert np.allclose(M @ space.A, A)
    assert np.allclose(M @ space.B, B)


def test_semi_explicit_elimination_is_plain_substitution():
    system = DescriptorSystem([[1, 0], [0, 0]], [[0, 1], [-1, -2]], [0, 1], states=["charge", "current"])
    space = system.to_state_space()
    assert (space.A.tolist(), space.B.tolist()) == ([[-0.5]], [[0.5]])
    assert (space.C.tolist(), space.D.tolist()) == ([[1.0], [-0.5]], [[0.0], [0.5]])


def test_states_that_jump_with_the_input_are_not_taken_as_states():
    """x₁' + x₂' = -x₁, x₁ - x₂ = u: only the sum moves without jumps, and it is none of the states."""
    system = DescriptorSystem([[1, 1], [0, 0]], [[-1, 0], [1, -1]], [0, -1])
    space = system.to_state_space()
    assert space.states == ("slow",)
    s = 0.7 + 0.2j
    assert np.allclose(space.transfer(s), system.transfer(s))


systems = st.tuples(
    st.lists(st.integers(1, 3), min_size=1, max_size=3),
    st.lists(st.floats(-3, 0.0), max_size=3, unique_by=lambda value: round(2 * value)),
    st.integers(0, 2**32 - 1),
)


def hidden_system(infinite, finite, rng, proper):
    """A descriptor system from its canonical form, and the polynomial part it must have."""
    blocks = [finite_block(1, value) for value in finite] + [infinite_block(k) for k in infinite]
    E, A = block_diagonal(blocks)
    n, k = len(finite), sum(infinite)
    B, C = rng.normal(size=(n + k, 2)), rng.normal(size=(2, n + k))
    if proper:
        # Inputs enter only where no derivative is taken of them: the first equation of each block.
        starts = n + np.cumsum([0, *infinite[:-1]])
        B[np.setdiff1d(np.arange(n, n + k), starts)] = 0.0
    N, b = E[n:, n:], B[n:]
    expected = [-C[:, n:] @ np.linalg.matrix_power(N, j) @ b for j in range(max(infinite))]
    left, right = well_conditioned(rng, n + k), well_conditioned(rng, n + k)
    system = DescriptorSystem(left @ E @ right, left @ A @ right, left @ B, C @ right)
    return system, expected


@given(systems)
def test_the_state_space_has_the_same_transfer_function(parts):
    infinite, finite, seed = parts
    rng = np.random.default_rng(seed)
    system, expected = hidden_system(infinite, finite, rng, proper=True)
    assert system.is_proper
    space = system.to_state_space()
    assert len(space.A) == len(finite)
    for s in (1.0, 2j, 3.0 - 1j):
        reference = system.transfer(s)
        assert np.allclose(space.transfer(s), reference, rtol=1e-8, atol=1e-8 * (1 + np.abs(reference).max()))
    assert np.allclose(space.poles(), sorted(finite), atol=1e-6)
    assert np.allclose(space.D, expected[0], atol=1e-8 * (1 + np.abs(expected[0]).max()))


@given(systems)
def test_derivatives_of_inputs_are_found_with_their_factors(parts):
    infinite, finite, seed = parts
    assume(max(infinite) > 1)
    rng = np.random.default_rng(seed)
    system, expected = hidden_system(infinite, finite, rng, proper=False)
    assert len(system.improper) == len(expected) - 1
    for found, known in zip(system.improper, expected[1:]):
        assert np.allclose(found, known, rtol=1e-7, atol=1e-8)
    with pytest.raises(SingularModelError, match="no proper state space"):
        system.to_state_space()
