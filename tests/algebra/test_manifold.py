"""Coming back onto what is kept: redundant rows, entries that are held, points from which no way leads back."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.rings import examples

from daedalus.algebra.manifold import Manifold


def sphere(x):
    return np.array([x @ x - 1.0]), 2 * x[None, :]


@given(st.integers(0, 10**6), st.integers(2, 6))
@settings(max_examples=examples(40), deadline=None)
def test_the_nearest_point_of_a_sphere_lies_on_the_line_to_its_centre(seed, size):
    draw = np.random.default_rng(seed)
    x = draw.uniform(0.3, 1.5) * (direction := draw.standard_normal(size)) / np.linalg.norm(direction)
    found = Manifold(sphere, np.ones(size)).nearest(x)
    assert found.solved
    assert found.values == pytest.approx(x / np.linalg.norm(x), abs=1e-6)


def test_constraints_may_repeat_each_other_and_entries_may_be_held():
    def kept(x):
        value, slope = sphere(x)
        return np.repeat(value, 2) * [1.0, 3.0], np.vstack([slope, 3 * slope])

    found = Manifold(kept, np.ones(3)).nearest(np.array([0.6, 0.1, 2.0]), free=np.array([2]))
    assert found.solved
    assert found.values == pytest.approx([0.6, 0.1, np.sqrt(1 - 0.37)])


def test_a_point_without_a_way_back_is_told():
    far = Manifold(lambda x: (np.array([x @ x + 1.0]), 2 * x[None, :]), np.ones(2)).nearest(np.ones(2))
    assert not far.solved
    held = Manifold(sphere, np.ones(2)).nearest(np.array([2.0, 0.0]), free=np.array([1]))
    assert not held.solved


def test_many_unknowns_are_corrected_without_a_full_factorisation(monkeypatch):
    def chain(x):
        """Lengths of a chain in the plane, the first written twice."""
        q = np.vstack([[0.0, 0.0], x.reshape(-1, 2)])
        links = np.diff(q, axis=0)
        slopes = np.zeros((len(links), len(x)))
        for k, link in enumerate(links):
            slopes[k, 2 * k : 2 * k + 2] = 2 * link
            if k:
                slopes[k, 2 * k - 2 : 2 * k] = -2 * link
        left = np.sum(links**2, axis=1) - 1
        return np.append(left, 2 * left[0]), np.vstack([slopes, 2 * slopes[0]])

    factorised, whole = [], np.linalg.svd

    def counted(*given, **options):
        # A module that is imported meanwhile may keep this function.
        factorised.append(given)
        return whole(*given, **options)

    monkeypatch.setattr(np.linalg, "svd", counted)
    begin = np.ravel(np.cumsum(np.tile([0.8, 0.6], (60, 1)), axis=0)) + 0.01 * np.sin(np.arange(120.0))
    found = Manifold(chain, np.ones(120)).nearest(begin)
    assert factorised == []
    assert found.solved
    assert np.abs(chain(found.values)[0]).max() < 1e-9
    assert found.steps < 8
