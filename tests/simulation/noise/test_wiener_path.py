"""Noise by its place: the numbers of NumPy's Philox, normally distributed, the same path for every step."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples
from scipy import stats
from scipy.special import ndtri

from daedalus.simulation.noise.noise_signals import increments, normals, stream_of


@pytest.mark.parametrize(("seed", "level", "first"), [(0, 0, 0), (7, 3, -5), (2**64 - 1, -16, 10**12 + 1)])
def test_numbers_are_quantiles_of_numpys_words(seed, level, first):
    count, place = 500, first + 2**62
    key, counter = ([seed, stream_of("w")], [place // 4, level % 2**64, 0, 0])
    philox = np.random.Philox(key=np.array(key, np.uint64), counter=np.array(counter, np.uint64))
    words = philox.random_raw(place % 4 + count)[place % 4 :]
    expected = ndtri(((words >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53)
    assert normals([seed], "w", level, first, count)[0] == pytest.approx(expected, rel=1e-13, abs=1e-15)


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(0, 2**64 - 1), st.floats(1e-9, 1e6), st.integers(-(10**6), 10**6), st.integers(1, 4))
@pytest.mark.parametrize("halvings", [1, 3])
def test_a_path_does_not_depend_on_the_step(halvings, seed, step, first, count):
    whole = increments([seed], "w", step, first, count)[0]
    parts = 2**halvings
    fine = increments([seed], "w", step / parts, first * parts, count * parts)[0]
    assert fine.reshape(count, parts).sum(axis=1) == pytest.approx(whole, abs=1e-9 * math.sqrt(step))


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
