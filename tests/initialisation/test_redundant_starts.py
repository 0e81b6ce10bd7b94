"""Starts of mechanisms with redundant constraints: found without differentiating everything further, at any size."""

import numpy as np
import pytest
from tests.support.redundant_models import chain, first_rod, planar_linkage_in_space, platform, rolling_chain

import daedalus as dd
from daedalus.initialisation import start_equations


@pytest.fixture
def nothing_further(monkeypatch):
    """Equations differentiated further than their offsets say are refused."""

    def refuse(*_):
        raise AssertionError("all equations were differentiated further")

    monkeypatch.setattr(start_equations, "_uniform", refuse)


@pytest.mark.parametrize(
    "model",
    [
        lambda: chain(3, first_rod),
        lambda: chain(14, first_rod),
        lambda: chain(4, first_rod, lambda q: 3 * first_rod(q)),
        lambda: platform(3),
        lambda: platform(20),
        lambda: planar_linkage_in_space(),
        lambda: rolling_chain(4, holonomic=False),
        lambda: rolling_chain(4, holonomic=True),
    ],
)
def test_offsets_that_are_in_doubt_for_redundant_rows_alone_are_confirmed(nothing_further, model):
    start = dd.initialise(model())
    assert max(abs(value) for value in start.residual.values()) < 1e-9


def test_the_accelerations_are_those_of_the_chain_without_the_repetition():
    """Two independent ways: the multipliers are not unique, the accelerations are."""
    once, twice = (dd.initialise(m) for m in (chain(14), chain(14, first_rod)))
    assert np.abs(once.der("q_dot") - twice.der("q_dot")).max() < 1e-8
    assert once["rod0"] == pytest.approx(twice["rod0"] + 2 * twice["again0"], abs=1e-8)


def test_given_values_that_disagree_are_named_in_a_redundant_chain(nothing_further):
    start = [v for i in range(12) for v in (i + 1.0, 0.0)]
    start[0] = 0.9
    with pytest.raises(dd.InconsistentStartError) as error:
        dd.initialise(chain(12, first_rod, start=start))
    assert "the given q[0] = 0.9" in str(error.value)
    assert 'free=["q[0]"], which becomes 1' in str(error.value)


def test_rows_that_contradict_each_other_are_named(nothing_further):
    with pytest.raises(dd.InconsistentStartError) as error:
        dd.initialise(chain(12, lambda q: first_rod(q) + 0.3))
    assert str(error.value).startswith("The equations contradict each other.\n  again0:")
