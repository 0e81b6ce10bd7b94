"""What is followed along runs: the blocks that hold constraints, as a formula of a row of the run."""

import casadi as ca
import numpy as np
import pytest
from tests.support.slider_cranks import slider_crank

import daedalus as dd
from daedalus.simulation.singular import rank_watch
from daedalus.simulation.singular.rank_watch import rank_watch_of


@pytest.mark.parametrize("method", ["auto", "radau5"])
@pytest.mark.parametrize("index", [2, 3])
def test_the_formula_is_the_determinant_of_the_matrix(index, method):
    tr = dd.simulate(slider_crank(rod=1.4, index=index), 1.0, method=method)
    measure = rank_watch_of(tr._plant)
    logarithms, matrices = measure.logarithms(tr), measure.matrices(tr)
    assert np.ptp(logarithms - np.linalg.slogdet(matrices)[1]) < 1e-10
    # By hand: masses m and directions G give det G m^-1 G'.
    q = tr["q"]
    zero, one = np.zeros(len(q)), np.ones(len(q))
    first = np.stack([np.cos(q[:, 0]), 1.4 * np.cos(q[:, 1]), zero], axis=1)
    second = np.stack([np.sin(q[:, 0]), 1.4 * np.sin(q[:, 1]), one], axis=1)
    directions = np.stack([first, second], axis=1)
    by_hand = np.linalg.slogdet(directions / [2.0, 0.5, 1.0] @ directions.transpose(0, 2, 1))[1]
    assert np.ptp(logarithms - by_hand) < 1e-10


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_constraints_have_the_names_of_the_model(method):
    measure = rank_watch_of(dd.simulate(slider_crank(), 0.1, method=method)._plant)
    names = {label for label, constrains in zip(measure.labels, measure.constrains) if constrains}
    assert {"closure[0]", "closure[1]"} <= names
    assert not any("differentiated" in name for name in names)


def test_forces_among_the_states_do_not_move():
    m = dd.Model("pendulum with its force as a state without derivative")
    q, v, force = m.state("q", 2, start=[1.0, 0.0]), m.state("v", 2), m.state("force")
    m.equation(m.der(q), v)
    m.equation(m.der(v), -force * q - ca.DM([0, 9.81]))
    m.equation(ca.sumsqr(q), 1.0)
    assert rank_watch_of(dd.simulate(m, 0.1, method="radau5")._plant).moving.tolist() == [0, 1, 2, 3]


def held_mass():
    m = dd.Model("held mass")
    y, v, force = m.state("y", start=0.0), m.state("v", start=0.0), m.algebraic("force")
    m.equation(m.der(y), v)
    m.equation(m.der(v), force - 9.81)
    m.equation(y, 0.0)
    return m


def oscillator():
    m = dd.Model("oscillator")
    x = m.state("x", start=1.0)
    m.equation(m.der(m.der(x)), -x)
    return m


@pytest.mark.parametrize("method", ["auto", "radau5"])
@pytest.mark.parametrize("model", [held_mass, oscillator])
def test_what_never_changes_is_not_followed(model, method):
    assert rank_watch_of(dd.simulate(model(), 0.1, method=method)._plant) is None


@pytest.mark.parametrize("limit", ["FULL_RANK", "LARGEST", "LONGEST"])
def test_large_systems_are_not_followed(monkeypatch, limit):
    monkeypatch.setattr(rank_watch, limit, 3)
    tr = dd.simulate(slider_crank(), 1.0)
    assert rank_watch_of(tr._plant) is None
    assert tr.success
