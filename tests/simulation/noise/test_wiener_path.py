"""Noise by its place: the numbers of NumPy's Philox, normally distributed, the same path for every step."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples
from scipy import stats
from scipy.special import ndtri

from daedalus.simulation.noise.wiener_path import increments, normals, stream_of


@pytest.mark.parametrize(("seed", "level", "first"), [(0, 0, 0), (7, 3, -5), (2**64 - 1, -16, 10**12 + 1)])
def test_numbers_are_quantiles_of_numpys_words(seed, level, first):
    count, place = 500, first + 2**62
    key, counter = ([seed, stream_of("w")], [place // 4, level % 2**64, 0, 0])
    philox = np.random.Philox(key=np.array(key, np.uint64), counter=np.array(counter, np.uint64))
    words = philox.random_raw(place % 4 + count)[place % 4 :]
    expected = ndtri(((words >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53)
    assert normals([seed], "w", level, first, count)[0] == pytest.approx(expected, rel=1e-13, abs=1e-15)


@settings(max_examples=examples(50), deadline=None)
@given(
    st.integers(0, 2**64 - 1), st.integers(1, 9999), st.integers(-9, 3), st.integers(-(10**6), 10**6), st.integers(1, 4)
)  # fmt: skip
@pytest.mark.parametrize("shorter", [2, 5, 8, 40])
def test_a_path_does_not_depend_on_decimal_steps(shorter, seed, digits, exponent, first, count):
    """The same values to rounding, which is that of the path itself."""
    step = float(f"{digits}e{exponent}")
    whole = increments([seed], "w", step, first, count)[0]
    fine = increments([seed], "w", step / shorter, first * shorter, count * shorter)[0]
    rounding = 1e-12 * math.sqrt((abs(first) + count) * step)
    assert fine.reshape(count, shorter).sum(axis=1) == pytest.approx(whole, abs=rounding)


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(0, 2**64 - 1), st.floats(1e-9, 1e6), st.integers(-1000, 1000), st.integers(1, 4))
@pytest.mark.parametrize("shorter", [2, 3, 7])
def test_a_path_hardly_depends_on_any_steps(shorter, seed, step, first, count):
    """Ends of steps move to nodes: by half of 10^-6 steps on both sides, five standard deviations of the path there."""
    whole = increments([seed], "w", step, first, count)[0]
    fine = increments([seed], "w", step / shorter, first * shorter, count * shorter)[0]
    assert fine.reshape(count, shorter).sum(axis=1) == pytest.approx(whole, abs=6 * math.sqrt(2e-6 * step))


@pytest.mark.parametrize("step", [0.5, 0.3, 1 / 3, 2.0**-7])
@pytest.mark.parametrize("first", [0, -40, 10**5])
def test_increments_of_any_step_are_normal_and_independent(step, first):
    """Also across zero, where the tree has its root, and beside the ends of its longer cells."""
    many = increments(np.arange(1500), "w", step, first, 80) / math.sqrt(step)
    assert stats.kstest(many.ravel(), "norm").pvalue > 1e-4
    correlations = np.corrcoef(many.T) - np.eye(80)
    assert np.abs(correlations).max() < 5.5 / math.sqrt(len(many))
    assert many.var(axis=0) == pytest.approx(np.ones(80), abs=5.5 * math.sqrt(2 / len(many)))
    assert np.var(many.sum(axis=1) / math.sqrt(80)) == pytest.approx(1, abs=5 * math.sqrt(2 / len(many)))


def test_values_inside_a_step_are_those_of_a_bridge():
    """Given the increment over a step, the value at a share s of it has the mean s ΔW and the variance s (1 - s) h."""
    for share, parts in ((0.5, 2), (0.2, 5), (0.3, 10), (1 / 3, 3)):
        seeds, step = np.arange(6000), 0.07
        fine = increments(seeds, "w", step / parts, 11 * parts, parts)
        whole, inside = fine.sum(axis=1), fine[:, : round(share * parts)].sum(axis=1)
        bridge = (inside - share * whole) / math.sqrt(share * (1 - share) * step)
        assert stats.kstest(bridge, "norm").pvalue > 1e-3
        assert abs(np.corrcoef(bridge, whole)[0, 1]) < 4.5 / math.sqrt(len(seeds))


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(0, 1000), st.integers(-50, 50), st.integers(1, 40), st.integers(0, 60))
def test_a_path_does_not_depend_on_where_it_is_read(seed, first, count, more):
    long = increments([seed], "w", 0.01, first - more, count + 2 * more)[0]
    assert np.array_equal(long[more : more + count], increments([seed], "w", 0.01, first, count)[0])


def test_seeds_names_and_cells_are_independent():
    many = increments(np.arange(400), "w", 0.25, 0, 100) / 0.5
    assert stats.kstest(many.ravel(), "norm").pvalue > 1e-3
    other = increments(np.arange(400), "v", 0.25, 0, 100) / 0.5
    for one, two in ((many[:, 1:], many[:, :-1]), (many[1:], many[:-1]), (many, other)):
        assert abs(np.corrcoef(one.ravel(), two.ravel())[0, 1]) < 5 / math.sqrt(one.size)


def test_tails_are_there():
    """One number in 31 574 is beyond four standard deviations."""
    far = int(np.sum(np.abs(normals(np.arange(100), "w", 0, 0, 10_000)) > 4))
    assert abs(far - 63.3) < 5 * math.sqrt(63.3)
