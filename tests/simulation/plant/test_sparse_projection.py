"""Constraints kept by solves with the matrix of the model: drift, energy, order, resets, points between the steps."""

import numpy as np
import pytest

import daedalus as dd
from daedalus.reduction.forms import explicit_form
from daedalus.reduction.index.constraint_rows import constraint_rows
from daedalus.simulation.plant.linear_plant import LinearPlant
from daedalus.simulation.plant.solvable import solvable


@pytest.fixture
def by_solves(monkeypatch):
    """No block is small enough for formulas."""
    monkeypatch.setattr(explicit_form, "SYMBOLIC_SOLVE", 1)
    monkeypatch.setattr(explicit_form, "MOST_TORN", 0)


def two_masses(light=1.0, heavy=4.0):
    """Two beads on a line, joined by a rod: an impulse on one is shared by mass."""
    m = dd.Model("beads")
    q = m.coordinate("q", 2, start=[0.0, 1.0], rate=[1.0, 1.0])
    v = m.rate(q)
    m.kinetic_energy(0.5 * light * v[0] ** 2 + 0.5 * heavy * v[1] ** 2)
    m.constraint("rod", q[1] - q[0] - 1.0)
    return m


def test_rows_and_invariants_find_each_other():
    system = solvable(dd.catalogue.load("rod_chain", rods=3).model)
    rows = constraint_rows(system)
    assert len(rows.positions) == len(rows.velocities) == 6
    assert rows.others == ()
    assert {row for row, _ in rows.positions} == {row for row, _ in rows.velocities}
    assert all(system.rows[row].times == 2 and system.invariant_rows[k].times == 0 for row, k in rows.positions)
    assert all(system.rows[row].source == system.invariant_rows[k].source for row, k in rows.velocities)


@pytest.mark.parametrize("rods", [10, pytest.param(50, marks=pytest.mark.wide)])
@pytest.mark.parametrize("method", ["tsit5", "dop853"])
def test_chains_stay_together_and_keep_their_energy(rods, method):
    tr = dd.simulate(dd.catalogue.load("rod_chain", rods=rods).model, 0.1, rtol=1e-8, method=method)
    assert tr.success
    assert max(tr.drift().values()) < 5e-15
    assert np.ptp(tr["energy"]) < 1e-7 * tr["energy"][0]


def test_no_factorisation_is_spent_on_keeping_the_constraints():
    model = dd.catalogue.load("rod_chain", rods=10).model
    work = dd.simulate(model, 0.2, method="tsit5").work
    assert work.factorisations == work.rhs == 6 * (work.steps + work.rejected) + 2


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "delta_robot", "pendulum_3d"])
def test_mechanisms_drift_at_rounding_only(name, by_solves):
    known = dd.catalogue.load(name)
    tr = dd.simulate(known.model, 0.3, start=known.start, inputs=known.inputs, rtol=1e-6)
    assert isinstance(tr._plant, LinearPlant)
    assert tr.success
    size = max(1.0, np.abs(tr._x).max())
    kept = {key: value for key, value in tr.drift().items() if key in tr._plant.invariant_labels}
    assert max(kept.values()) < 1e-14 * size**2


def test_projection_does_not_spoil_the_order():
    model = dd.catalogue.load("rod_chain", rods=6).model
    rk4 = dd.tableau("rk4")
    ends = [dd.simulate(model, 0.2, method=rk4, step=h)._x[-1] for h in (0.01, 0.005, 0.0025, 0.00125)]
    errors = [np.abs(end - ends[-1]).max() for end in ends[:-1]]
    assert np.log2(errors[0] / errors[1]) > 3.5


def test_values_between_the_steps_can_be_put_on_the_constraints():
    tr = dd.simulate(dd.catalogue.load("rod_chain", rods=8).model, 0.2, rtol=1e-5)
    times = np.linspace(0, 0.2, 77)
    assert max(tr.drift(between=True).values()) > 1e-12
    assert max(tr.at(times, project=True).violations().values()) < 5e-15


@pytest.mark.parametrize("forced", [False, True])
def test_an_impulse_is_shared_by_mass(forced, monkeypatch):
    """The light bead is stopped; the rod takes the heavy one with it, and momentum p of both is what is left."""
    if forced:
        monkeypatch.setattr(explicit_form, "SYMBOLIC_SOLVE", 1)
        monkeypatch.setattr(explicit_form, "MOST_TORN", 0)
    m = two_masses()
    q = m.written.symbols["q"]
    v = m.rate(q)
    m.event("stop", q[0] - 0.5, direction=1, reset={"q_dot": [0.0, v[1]]})
    tr = dd.simulate(m, 1.0)
    assert isinstance(tr._plant, LinearPlant) == forced
    (event,) = tr.events
    assert event.time == pytest.approx(0.5, abs=1e-12)
    # Momentum behind the reset: 1 * 0 + 4 * 1, shared by 5.
    np.testing.assert_allclose(event.after["q_dot"], [0.8, 0.8], atol=1e-14)
    np.testing.assert_allclose(tr["q_dot"][-1], [0.8, 0.8], atol=1e-12)
    assert max(tr.drift().values()) < 1e-14


def test_a_reset_of_positions_moves_them_back_in_the_mass_metric(by_solves):
    m = two_masses()
    q = m.written.symbols["q"]
    m.event("jump", q[0] - 0.5, direction=1, reset={"q": [q[0] + 0.5, q[1]]})
    (event,) = dd.simulate(m, 1.0).events
    # The gap of -0.5 closes by moving the light bead four times as far as the heavy one.
    np.testing.assert_allclose(event.after["q"], [1.0 - 0.4, 1.5 + 0.1], atol=1e-12)
