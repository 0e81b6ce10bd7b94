"""The power ledger of runs that were saved, pickled, cut short, or that failed."""

import pickle

import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue

C = dd.components


def lift():
    known = catalogue.load("motor_lift")
    return dd.simulate(known.model, known.span, start=known.start)


@pytest.mark.parametrize("kept", ["file", "pickle", "file of a pickle"])
def test_a_run_read_back_keeps_its_ledger(kept, tmp_path):
    tr = lift()
    again = pickle.loads(pickle.dumps(tr)) if "pickle" in kept else tr
    if "file" in kept:
        again.save(tmp_path / "run.nc")
        again = dd.load(tmp_path / "run.nc")
    for depth in (1, 2, None):
        ours, theirs = tr.power(depth), again.power(depth)
        assert list(ours["component"].values) == list(theirs["component"].values)
        for kind in ("supplied", "stored", "lost", "received"):
            np.testing.assert_array_equal(ours[kind], theirs[kind])
    assert str(again.energy_balance()) == str(tr.energy_balance())


def test_a_model_without_parts_and_energies_keeps_none(tmp_path):
    known = catalogue.load("van_der_pol")
    dd.simulate(known.model, 1.0).save(tmp_path / "run.nc")
    with pytest.raises(dd.InputError, match="has no energy balance"):
        dd.load(tmp_path / "run.nc").power()


def test_a_run_that_fails_on_the_way_has_the_ledger_of_what_it_did(tmp_path):
    """x' = x² runs away at t = 1: the balance is that of the run up to there."""
    m = dd.Model("runaway")
    mass = m.add(C.translational.Mass("mass", mass=1.0))
    push = m.add(C.translational.ForceSource("push", force=2 * mass.velocity**2))
    m.connect(mass.flange, push.flange)
    tr = dd.simulate(m, 1.0, start={"mass.velocity": 1.0})
    assert not tr.success
    tr.save(tmp_path / "run.nc")
    for run in (tr, dd.load(tmp_path / "run.nc")):
        balance = run.energy_balance()
        assert balance.supplied > 1e3
        assert np.isfinite(balance.error)
        assert np.isfinite(run.power().to_array()).all()
