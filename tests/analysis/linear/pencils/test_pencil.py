import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kronecker_blocks import finite_block, hidden, infinite_block, left_block, right_block
from scipy.linalg import eigvals

from daedalus.analysis.linear.pencils.pencil import pencil
from daedalus.errors import InputError

NILPOTENT = np.diag([1.0, 1.0], 1)  # document 003: E x' = x + B u with E nilpotent


def test_document_003_nilpotent_matrix_has_index_three():
    p = pencil(NILPOTENT, np.eye(3))
    assert (p.regular, p.index, len(p.finite), p.infinite, p.infinite_blocks) == (True, 3, 0, 3, (3,))


def test_printed_in_words():
    text = str(pencil(NILPOTENT, np.eye(3)))
    assert text.splitlines()[:2] == [
        "Pencil s E - A, 3 × 3: regular, index 3",
        "  no finite eigenvalue; 3 infinite ones in a block of 3",
    ]
    assert "6 rank decisions, tolerance 4.3e-14, narrowest gap" in text
    singular = str(pencil([[1, 0], [0, 0]], [[1, 0], [1, 0]]))
    assert singular.splitlines()[0] == "Pencil s E - A, 2 × 2: singular"
    assert "right minimal indices 0: 1 combination of unknowns that nothing determines" in singular
    assert "left minimal indices 1: 1 equation too many" in singular


@pytest.mark.parametrize(
    ("E", "A", "index", "finite"),
    [
        ([[2.0]], [[-3.0]], 0, [-1.5]),
        ([[0.0]], [[5.0]], 1, []),
        ([[1, 0], [0, 0]], [[-2, 1], [1, -1]], 1, [-1.0]),
        ([[1, 0], [0, 0]], [[0, 1], [1, 0]], 2, []),
    ],
)
def test_small_cases(E, A, index, finite):
    p = pencil(E, A)
    assert p.index == index
    assert np.allclose(p.finite, finite)
    assert p.infinite == len(E) - len(finite)


@pytest.mark.parametrize(
    ("level", "index", "blocks"),
    [("position", 3, (3,)), ("velocity", 2, (2,)), ("acceleration", 1, (1,))],
)
def test_hanging_pendulum_by_level_of_its_constraint(level, index, blocks):
    """x'' = -λ x/l - g, constraint x² + y² = l² at the bottom (0, -l): G = (0, -1), with l = 1, m = 1, λ₀ = g."""
    g = 9.81
    K = np.diag([g, g])
    G = np.array([[0.0, -1.0]])
    E = np.diag([1.0, 1.0, 1.0, 1.0, 0.0])
    A = np.zeros((5, 5))
    A[:2, 2:4] = np.eye(2)
    A[2:4, :2], A[2:4, 4:] = -K, G.T
    # G q, its derivative G v, and the derivative of that with the equation of motion put in.
    A[4:] = {
        "position": np.hstack([G, np.zeros((1, 3))]),
        "velocity": np.hstack([np.zeros((1, 2)), G, [[0.0]]]),
        "acceleration": np.hstack([-G @ K, np.zeros((1, 2)), G @ G.T]),
    }[level]
    p = pencil(E, A)
    assert p.index == index
    assert p.infinite_blocks == blocks
    swinging = p.finite[np.abs(p.finite) > 1e-3]
    assert np.allclose(np.sort(swinging.imag), [-np.sqrt(g), np.sqrt(g)])


structures = st.fixed_dictionaries(
    {
        "infinite": st.lists(st.integers(1, 4), max_size=3),
        "finite": st.lists(st.floats(-3, 3), max_size=4, unique_by=lambda value: round(2 * value)),
        "right": st.lists(st.integers(0, 3), max_size=2),
        "left": st.lists(st.integers(0, 3), max_size=2),
        "seed": st.integers(0, 2**32 - 1),
    }
).filter(lambda s: len(s["infinite"]) + len(s["finite"]) + len(s["right"]) + len(s["left"]) > 0)


def build(structure, rng, spread=0.5):
    blocks = [infinite_block(k) for k in structure["infinite"]]
    blocks += [finite_block(1, value) for value in structure["finite"]]
    blocks += [right_block(k) for k in structure["right"]] + [left_block(k) for k in structure["left"]]
    return hidden(blocks, rng, spread)


@given(structures)
def test_hidden_structure_is_found(structure):
    E, A = build(structure, np.random.default_rng(structure["seed"]))
    p = pencil(E, A)
    assert sorted(p.infinite_blocks) == sorted(structure["infinite"])
    assert sorted(p.right_indices) == sorted(structure["right"])
    assert sorted(p.left_indices) == sorted(structure["left"])
    assert p.regular == (not structure["right"] and not structure["left"])
    assert p.index == (max(structure["infinite"], default=0) if p.regular else None)
    assert np.allclose(p.finite, sorted(structure["finite"]), atol=1e-7)
    assert not p.doubtful


@pytest.mark.parametrize("seed", range(40))
def test_badly_conditioned_transformations(seed):
    """Condition 10⁴ on each side: null spaces lose digits, and the decisions have to allow for it."""
    structure = {"infinite": [3, 2, 1], "finite": [-1.0, 0.5, 2.0], "right": [2], "left": [1]}
    p = pencil(*build(structure, np.random.default_rng(seed), spread=2.0))
    assert (p.infinite_blocks, p.right_indices, p.left_indices) == ((3, 2, 1), (2,), (1,))
    assert not p.doubtful


@given(structures, st.integers(-20, 20))
def test_units_do_not_matter(structure, speed):
    """Rows, columns and time in other units: the structure stays and finite eigenvalues scale with time."""
    rng = np.random.default_rng(structure["seed"])
    E, A = build(structure, rng)
    before = pencil(E, A)
    rows, columns = (10.0 ** rng.uniform(-6, 6, size) for size in E.shape)
    after = pencil(E * rows[:, None] * columns / 2.0**speed, A * rows[:, None] * columns)
    assert after.infinite_blocks == before.infinite_blocks
    assert after.right_indices == before.right_indices
    assert after.left_indices == before.left_indices
    assert np.allclose(after.finite / 2.0**speed, before.finite, atol=1e-5)


@given(structures)
def test_transposing_swaps_left_and_right(structure):
    E, A = build(structure, np.random.default_rng(structure["seed"]))
    p, q = pencil(E, A), pencil(E.T, A.T)
    assert (p.right_indices, p.left_indices, p.infinite_blocks) == (q.left_indices, q.right_indices, q.infinite_blocks)


@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_regular_without_infinite_part_agrees_with_scipy(n, seed):
    rng = np.random.default_rng(seed)
    E, A = well = (rng.normal(size=(n, n)) + 3 * np.eye(n), rng.normal(size=(n, n)))
    if np.linalg.cond(well[0]) > 1e6:
        return
    expected = eigvals(A, E)
    found = pencil(E, A).finite
    assert np.allclose(np.sort_complex(found.round(6)), np.sort_complex(expected.round(6)), atol=1e-4)


def test_multiple_finite_eigenvalue_beside_infinite_ones():
    rng = np.random.default_rng(3)
    E, A = hidden([finite_block(2, -1.0), finite_block(1, 0.0), infinite_block(2), infinite_block(1)], rng)
    p = pencil(E, A)
    # A double eigenvalue moves by the square root of the rounding.
    assert np.allclose(p.finite, [-1, -1, 0], atol=1e-6)
    assert p.infinite_blocks == (2, 1)


def test_every_decision_is_on_record():
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    E = turn @ np.diag([1.0, 1e-13]) @ turn
    p = pencil(E, np.eye(2))
    assert p.index == 0
    assert p.doubtful
    assert p.gap == min(decision.gap for decision in p.ranks) < 1e3
    assert p.ranks[0].smallest_kept == pytest.approx(1e-13, rel=1e-2)
    assert "in doubt" in str(p)
    # Told that the numbers are good to 1e-10, the small one counts as nothing.
    assert pencil(E, np.eye(2), tolerance=1e-10).index == 1


def test_a_parasitic_capacitor_is_no_rounding_error():
    """C v' = i, v = u with C = 1e-12 beside x' = v - x: the current is C u', so the index is 2 however small C is."""
    p = pencil([[1e-12, 0, 0], [0, 0, 1], [0, 0, 0]], [[0, 1, 0], [1, 0, -1], [1, 0, 0]])
    assert (p.index, len(p.finite), p.doubtful) == (2, 1, False)
    assert p.finite[0] == pytest.approx(-1.0)


def test_noise_at_the_rounding_level_is_dropped():
    rng = np.random.default_rng(0)
    E, A = hidden([infinite_block(3), infinite_block(1), finite_block(1, -2.0)], rng)
    noise = 1e-16 * rng.normal(size=E.shape)
    assert pencil(E + noise, A - noise).infinite_blocks == (3, 1)
    # More noise than the default tolerance allows: visible in the wrong answer or cured by a stated tolerance.
    noise = 1e-9 * rng.normal(size=E.shape)
    assert pencil(E + noise, A, tolerance=1e-7).infinite_blocks == (3, 1)


def test_empty_rectangular_and_zero_pencils():
    assert pencil(np.zeros((0, 0)), np.zeros((0, 0))).regular
    zero = pencil(np.zeros((2, 3)), np.zeros((2, 3)))
    assert (zero.right_indices, zero.left_indices, zero.normal_rank) == ((0, 0, 0), (0, 0), 0)
    assert pencil([[1.0, 0.0]], [[0.0, 1.0]]).right_indices == (1,)


def test_refusals():
    with pytest.raises(InputError) as caught:
        pencil(np.eye(2), np.eye(3))
    assert str(caught.value) == "The matrix E has the wrong shape.\n  it is 2 × 2, it should be 3 × 3"
    with pytest.raises(InputError, match="contains NaN or infinity"):
        pencil([[np.nan]], [[1.0]])
    with pytest.raises(InputError) as caught:
        pencil(np.eye(2), np.eye(2), tolerance=2.0)
    assert "Try: tolerance=1e-10" in str(caught.value)
