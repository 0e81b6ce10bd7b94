"""Quantiles of streams: the rank error stays below its bound, and nothing is drawn at random."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

from daedalus.ensembles.quantile_sketch import RANK_ERROR, QuantileSketch, levels_needed, places_for, rank_error


def rank_errors(values, sketch, shares):
    """How far the rank of each quantile is off, as a share of the count."""
    ordered = np.sort(values)
    found = []
    for share in shares:
        value = sketch.quantile(share)[0]
        low, high = np.searchsorted(ordered, value, "left"), np.searchsorted(ordered, value, "right")
        found.append(max(0.0, low - share * len(values), share * len(values) - high) / len(values))
    return found


@pytest.mark.parametrize("order", ["rising", "falling", "shuffled", "zigzag", "sawtooth"])
@pytest.mark.parametrize("count", [5_000, 70_000, 300_000])
def test_rank_errors_stay_below_the_bound_in_any_order(order, count):
    values = np.arange(count, dtype=float)
    if order == "falling":
        values = values[::-1].copy()
    if order == "shuffled":
        values = np.random.default_rng(1).permutation(values)
    if order == "zigzag":
        values = np.concatenate([values[::2], values[1::2][::-1]])
    if order == "sawtooth":
        values = values.reshape(100, -1).T.ravel().copy()
    sketch = QuantileSketch(1, count)
    for block in np.array_split(values[:, None], 97):
        sketch.add(block)
    assert max(rank_errors(values, sketch, np.linspace(0, 1, 41))) <= RANK_ERROR


@given(st.integers(1, 10**8))
def test_the_bound_holds_for_every_count(count):
    places = places_for(count)
    assert rank_error(count, places) <= RANK_ERROR
    assert 8 * places * (levels_needed(count, places) + 1) <= 8 * max(count + 1, 200_000)


@settings(max_examples=examples(30))
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), st.floats(0, 1))
def test_few_values_give_exact_quantiles(values, share):
    sketch = QuantileSketch(1, len(values))
    sketch.add(np.array(values)[:, None])
    assert sketch.quantile(share)[0] == pytest.approx(np.quantile(values, share), abs=1e-6)


def test_how_values_are_cut_into_blocks_changes_nothing():
    values = np.random.default_rng(2).normal(size=(20_000, 3))
    whole, cut = QuantileSketch(3, 20_000), QuantileSketch(3, 20_000)
    whole.add(values)
    for block in np.array_split(values, 333):
        cut.add(block)
    assert np.array_equal(whole.quantile(0.3), cut.quantile(0.3))
