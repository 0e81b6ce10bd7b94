"""Where a run passes singular configurations: found between steps, and told from places that are only near."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples
from tests.support.records_of import records_of
from tests.support.slider_cranks import slider_crank

import daedalus as dd
from daedalus.simulation.result.records_on_the_way import DeadCentresPassed
from daedalus.simulation.singular import singular_places as places
from daedalus.simulation.singular.rank_watch import RankWatch, rank_watch_of
from daedalus.simulation.singular.singular_places import singular_places


@pytest.mark.parametrize("rtol", [1e-3, 1e-5, 1e-7, 1e-9])
@pytest.mark.parametrize("method", ["auto", "tsit5", "radau5", "radau9"])
def test_times_of_dead_centres_are_found_between_steps(method, rtol):
    tr = dd.simulate(slider_crank(), 1.5, method=method, rtol=rtol, atol=1e-2 * rtol)
    if not tr.success:  # tight implicit runs may stop there by themselves
        assert tr.status == "stuck"
        return
    (told,) = records_of(tr, DeadCentresPassed)
    assert float(tr.at(told.times[0])["q"][0]) == pytest.approx(np.pi / 2, abs=1e-5)
    if len(tr.pieces) > 1:  # led over it
        return
    (place,) = singular_places(tr, rtol)
    assert told.times == (pytest.approx(place.time),)
    assert not place.has_kink
    if method in ("auto", "tsit5"):  # whose steps do not shrink there
        assert np.min(np.abs(tr.time - place.time)) > 1e-3
    labels = rank_watch_of(tr._plant).labels
    assert [labels[k] for k in np.flatnonzero(place.weak)] == ["closure[0]"]


@pytest.mark.wide
@settings(max_examples=examples(25), deadline=None)
@given(st.floats(1e-3, 1.0), st.floats(0.2, 6.0))
def test_near_is_not_there(gap, speed):
    """Rods that differ by a thousandth or more come near a dead centre and have none."""
    tr = dd.simulate(slider_crank(rod=1.0 + gap, speed=speed), 3.0, rtol=1e-6)
    assert tr.success
    assert singular_places(tr, 1e-6) == []


def test_near_to_the_tolerance_counts_as_there():
    """Rods that differ by less than errors that the tolerance allows."""
    tr = dd.simulate(slider_crank(rod=1.0 + 1e-7), 1.5, method="radau5", rtol=1e-4, atol=1e-6)
    assert tr.status == "stuck" or records_of(tr, DeadCentresPassed)


def test_a_usual_run_is_looked_at_once(monkeypatch):
    """Only values at the steps: no search where det stays as large as it is."""
    m = dd.Model("pendulum")
    q, v, force = m.state("q", 2, start=[1.0, 0.0]), m.state("v", 2), m.algebraic("force")
    m.equation(m.der(q), v)
    m.equation(m.der(v), -force * q - ca.DM([0, 9.81]))
    m.equation(ca.sumsqr(q), 1.0)
    monkeypatch.setattr(places, "_brackets", None)
    assert dd.simulate(m, 3.0).success
    assert dd.simulate(m, 3.0, method="radau5").success


def test_samples_of_save_at_are_not_taken_for_steps():
    tr = dd.simulate(slider_crank(), 1.5, save_at=np.linspace(0.0, 0.1, 300))
    (told,) = records_of(tr, DeadCentresPassed)
    assert told.times == pytest.approx([0.553642], abs=1e-6)


def test_redundant_constraints_are_not_singular_places():
    """Dependent everywhere by the same number: what is smallest is rounding, at all times."""
    tr = dd.simulate(slider_crank(rod=1.4), 1.0, method="radau5")
    watch = rank_watch_of(tr._plant)

    class Redundant(RankWatch):
        def __init__(self):
            self.__dict__.update(watch.__dict__)

        def matrices(self, samples):
            found = watch.matrices(samples)
            found[:, -1] = found[:, -2]
            return found

    weak, small = places._vanishing(Redundant(), tr, tr.at([0.1]), np.array([0.2, 0.5, 0.9]), 1e-4)
    assert weak.shape == (3, len(watch.labels))
    assert not small.any()
