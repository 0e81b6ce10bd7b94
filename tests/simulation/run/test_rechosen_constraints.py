"""Redundant constraints are chosen anew along a run: motion, energy, constraints and the smallest multipliers stay."""

import pickle
from functools import cache

import casadi as ca
import numpy as np
import pytest
from tests.support.records_of import records_of

import daedalus as dd
from daedalus import catalogue
from daedalus.model.event_purpose import EventPurpose
from daedalus.reduction.forms import explicit_form
from daedalus.reduction.reduction_record import Reduction
from daedalus.reduction.redundancy.independent_constraints import Redundancy
from daedalus.simulation.plant.linear_plant import LinearPlant
from daedalus.simulation.plant.solvable import solvable
from daedalus.simulation.result.ending import Ending, Obstacle
from daedalus.simulation.result.records_on_the_way import ConstraintsRechosen, DeadCentresPassed
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run import rechosen_constraints
from daedalus.simulation.run.rechosen_constraints import rechosen
from daedalus.simulation.singular.leading_over import way_over

SHARP = {"rtol": 1e-9, "atol": 1e-11}
IN_A_LINE = ((0.0, 0.0), (1.0, 0.0), (2.0, 0.0))
TRIANGLE = ((0.0, 0.0), (1.0, 0.0), (0.5, 0.8))


def linkage(points=TRIANGLE, speed=4.0):
    """A plate on parallel cranks: two of three keep it level, unless they lie on the line between them."""
    m = dd.Model("linkage")
    q = m.coordinate("q", 2, start=[np.cos(1.0), np.sin(1.0)], rate=[-speed * np.sin(1.0), speed * np.cos(1.0)])
    a = m.coordinate("a", start=0.0, rate=0.0)
    weight = m.parameter("weight", 2.0)
    kinetic = 0.5 * ca.sumsqr(m.rate(q)) + 0.1 * m.rate(a) ** 2
    m.kinetic_energy(kinetic)
    m.potential_energy(weight * q[1])
    m.output("energy", kinetic + weight * q[1])
    for k, (x, y) in enumerate(points):
        end = q + ca.vertcat(ca.cos(a) * x - ca.sin(a) * y, ca.sin(a) * x + ca.cos(a) * y) - ca.vertcat(x, y)
        m.constraint(f"crank{k}", (ca.sumsqr(end) - 1) / 2)
    return m


@cache
def usual_linkage():
    """The one on a triangle, for tests that do not change it: what is known of it is found once."""
    return linkage()


def rows_of(tr, k):
    """The rows of the constraints at a sample; the plate is level."""
    q = tr["q"][k]
    return np.array([[*q, q @ [-y, x]] for x, y in TRIANGLE])


def crank_angle(span, weight=2.0, speed=4.0):
    m = dd.Model("crank")
    b = m.state("b", start=1.0, rate=speed)
    m.equation(m.der(m.der(b)), -weight * ca.cos(b))
    return dd.simulate(m, span, rtol=1e-12, atol=1e-13)["b"][-1]


@pytest.mark.parametrize("solves", [False, True], ids=["formulas", "sparse solves"])
def test_full_circles(solves, monkeypatch):
    if solves:
        monkeypatch.setattr(explicit_form, "SYMBOLIC_SOLVE", 1)
        monkeypatch.setattr(explicit_form, "MOST_TORN", 0)
    tr = dd.simulate(linkage(), 5.0, **SHARP)
    assert isinstance(tr.pieces[0]._plant, LinearPlant) == solves
    assert (tr.success, tr.method, tr.events) == (True, "dop853", [])
    # Each pair of cranks is bad twice in a turn; more than three turns were made.
    angle = np.unwrap(np.arctan2(tr["q"][:, 1], tr["q"][:, 0]))
    assert angle[-1] - 1 > 6 * np.pi
    assert 12 <= len(tr.pieces) <= 24
    assert angle[-1] == pytest.approx(crank_angle(5.0), abs=1e-8)
    assert np.ptp(tr["energy"]) < 1e-8
    assert max(tr.drift().values()) < 1e-12
    assert {"crank0", "crank1", "crank2"} <= set(tr.drift())
    assert np.abs(tr["a"]).max() < 1e-12
    # No time twice, no sample twice.
    assert np.all(np.diff(tr.time) > 0)
    assert tr.work.steps == len(tr.time) - 1
    times = np.linspace(0.0, 5.0, 333)
    assert max(tr.at(times, project=True).violations().values()) < 1e-12


def test_the_multipliers_are_the_smallest_throughout():
    tr = dd.simulate(usual_linkage(), 3.0, **SHARP)
    assert len(records_of(tr, ConstraintsRechosen)) >= 1
    found = [piece.system.part(Reduction).findings[0] for piece in tr.pieces]
    assert all(finding.dependent[0].source.equation in ("crank0", "crank1", "crank2") for finding in found)
    assert len(set(found)) >= 2
    assert {str(finding) for finding in found} <= set(tr.notes)
    for k in range(len(tr.time)):
        rows = rows_of(tr, k)
        lengths = np.linalg.norm(rows, axis=1)
        shown = np.array([tr[f"crank{i}"][k] for i in range(3)])
        smallest = np.linalg.lstsq((rows / lengths[:, None]).T, rows.T @ shown, rcond=1e-9)[0]
        assert shown * lengths == pytest.approx(smallest, abs=1e-10)
        # The forces are those of the motion: M v' = Gᵀ λ + weight.
        x, y = tr["q_ddot"][k]
        force = [x, y + 2.0, 0.2 * tr["a_ddot"][k]]
        assert rows.T @ shown == pytest.approx(force, abs=1e-8)
    told = "the multipliers crank0, crank1, crank2 are not unique: the smallest that give the same forces are shown, "
    assert told + "each counted in the length of its row" in tr.notes


def test_backwards_with_samples_parameters_and_files(tmp_path):
    times = np.linspace(0.0, -1.5, 16)
    tr = dd.simulate(usual_linkage(), (0.0, -1.5), save_at=times, parameters={"weight": 1.0}, **SHARP)
    assert np.array_equal(tr.time, times)
    assert len(tr.pieces) > 3
    end = crank_angle((0.0, -1.5), weight=1.0)
    assert tr["q"][-1] == pytest.approx([np.cos(end), np.sin(end)], abs=1e-8)
    tr.save(tmp_path / "run.nc")
    for twin in (dd.load(tmp_path / "run.nc"), pickle.loads(pickle.dumps(tr))):
        for name in ("q", "q_dot", "crank1", "energy"):
            assert twin[name] == pytest.approx(tr[name], abs=1e-12)
        assert twin.at([-0.3, -1.2])["crank2"] == pytest.approx(tr.at([-0.3, -1.2])["crank2"], abs=1e-9)


def test_events_inputs_and_feedback_go_along():
    """A push by a table, a brake by feedback, and an event that turns the speed around."""
    m = linkage()
    push, brake = m.input("push"), m.input("brake", 2)
    q = m["q"]
    v = m.rate(q)
    m.generalised_force(q, push * ca.vertcat(-q[1], q[0]) + brake)
    m.event("bump", q[0] - 0.5, direction=1, reset={"q_dot": -0.5 * v})
    inputs = {"push": dd.signal([0.0, 1.0, 9.0], [0.5, 0.1, 0.1]), "brake": -0.1 * v}
    tr = dd.simulate(m, 4.0, inputs=inputs, **SHARP)
    assert tr.success
    assert len(tr.pieces) > 3
    assert {e.name for e in tr.events} == {"bump"}
    two = linkage(TRIANGLE[:1])
    # One crank and a plate held level by a constraint of its own: the same motion.
    two.constraint("level", two["a"])
    push, brake, q = two.input("push"), two.input("brake", 2), two["q"]
    two.generalised_force(q, push * ca.vertcat(-q[1], q[0]) + brake)
    two.event("bump", q[0] - 0.5, direction=1, reset={"q_dot": -0.5 * two.rate(q)})
    other = dd.simulate(two, 4.0, inputs={**inputs, "brake": -0.1 * two.rate(q)}, **SHARP)
    assert [e.time for e in tr.events] == pytest.approx([e.time for e in other.events], abs=1e-7)
    assert tr["q"][-1] == pytest.approx(other["q"][-1], abs=1e-6)


def test_a_prepared_run_and_a_sweep_choose_anew():
    run = dd.prepare(usual_linkage(), 3.0, save_at=[1.0, 3.0], **SHARP)
    end = crank_angle(3.0)
    assert run()[-1, :2] == pytest.approx([np.cos(end), np.sin(end)], abs=1e-8)
    slow = crank_angle(3.0, weight=1.0)
    assert run(p=np.array([1.0]))[-1, :2] == pytest.approx([np.cos(slow), np.sin(slow)], abs=1e-8)
    swept = dd.sweep(usual_linkage(), 3.0, {"weight": [1.0, 2.0]}, save_at=[3.0], **SHARP)
    assert swept["q"].values[:, 0, 0] == pytest.approx([np.cos(slow), np.cos(end)], abs=1e-8)


def test_loose_tolerances_do_not_raise_false_alarms():
    tr = dd.simulate(usual_linkage(), 5.0, rtol=1e-3, atol=1e-5)
    assert tr.success
    assert len(tr.pieces) <= 24
    assert max(tr.drift().values()) < 1e-12


def test_a_stiff_mechanism_keeps_its_choice():
    m = linkage()
    m.dissipation(1e4 * (1 + ca.tanh(20 * (m.time - 1))) / 2 * ca.sumsqr(m.rate(m["q"])) / 2)
    tr = dd.simulate(m, 4.0)
    assert tr.success
    assert tr.method == "dop853, then radau5"
    assert max(tr.drift().values()) < 1e-6


def test_a_reduced_model_chooses_anew_as_well():
    tr = dd.simulate(dd.reduce(usual_linkage()), 3.0, **SHARP)
    assert tr.success
    assert len(tr.pieces) > 6


@pytest.mark.wide
def test_a_chain_with_doubled_hinges():
    """By sparse solves; 24 rods, every third hinge written twice: each of the two carries half."""
    known = catalogue.load("rod_chain", rods=24)
    plain = dd.simulate(known.model, 0.05, **SHARP)
    m, doubled = known.copy().model, range(2, 23, 3)
    for k in doubled:
        ends = [
            m[f"rod{j}.position"] + side / 48 * ca.vertcat(ca.cos(m[f"rod{j}.angle"]), ca.sin(m[f"rod{j}.angle"]))
            for j, side in ((k - 1, 1), (k, -1))
        ]
        m.constraint(f"again{k}", ends[1] - ends[0])
    tr = dd.simulate(m, 0.05, **SHARP)
    assert isinstance(tr._plant, LinearPlant)
    assert tr["rod23.position"][-1] == pytest.approx(plain["rod23.position"][-1], abs=1e-12)
    assert max(tr.drift().values()) < 1e-14
    for k in doubled:
        assert tr[f"again{k}"][-1] == pytest.approx(tr[f"hinge{k}"][-1], abs=1e-9)
        assert tr[f"hinge{k}"][-1] == pytest.approx(plain[f"hinge{k}"][-1] / 2, abs=1e-8)


# -- dead centres ----------------------------------------------------------------------------------------------


def test_dead_centres_are_passed_on_the_branch_of_the_motion():
    """All cranks in a line with the plate: two motions go on from there, one of them as before."""
    tr = dd.simulate(linkage(IN_A_LINE), 6.0, rtol=1e-11, atol=1e-13)
    assert tr.success
    over = [piece for piece in tr.pieces if records_of(piece, DeadCentresPassed)]
    assert len(over) >= 4
    (told,) = records_of(tr, DeadCentresPassed)
    assert len(told.times) == len(over)
    assert np.abs(tr.at(told.times)["q"][:, 1]).max() < 1e-3
    assert not records_of(tr, ConstraintsRechosen)
    angle = np.unwrap(np.arctan2(tr["q"][:, 1], tr["q"][:, 0]))
    assert angle[-1] == pytest.approx(crank_angle(6.0), abs=1e-9)
    assert np.abs(tr["a"]).max() < 1e-10
    assert np.ptp(tr["energy"]) < 1e-9
    # Values between the steps exist on the way over too.
    times = np.concatenate([np.linspace(*(float(ends[0]) for ends in piece.dense_spans), 5) for piece in over])
    q = tr.at(times)["q"]
    assert np.sum(q**2, axis=1) == pytest.approx(np.ones(len(q)), abs=1e-11)
    assert np.all(np.diff(tr.time) > 0)


def test_samples_on_the_way_over_a_dead_centre():
    plain = dd.simulate(linkage(IN_A_LINE), 3.0, rtol=1e-11, atol=1e-13)
    over = next(piece for piece in plain.pieces if records_of(piece, DeadCentresPassed))
    begin, end = (float(ends[0]) for ends in over.dense_spans)
    times = np.array([0.0, 0.5 * (begin + end), 3.0])
    tr = dd.simulate(linkage(IN_A_LINE), 3.0, rtol=1e-11, atol=1e-13, save_at=times)
    assert np.array_equal(tr.time, times)
    assert np.linalg.norm(tr["q"][1]) == pytest.approx(1.0, abs=1e-11)
    # A run that ends in the middle of it.
    short = dd.simulate(linkage(IN_A_LINE), times[1], rtol=1e-11, atol=1e-13)
    assert (short.success, short.stop_reason) == (True, f"reached t = {times[1]:.6g}")
    assert short.end["q"] == pytest.approx(tr["q"][1], abs=1e-10)


# -- where it cannot go on -------------------------------------------------------------------------------------


def test_a_constraint_that_asks_for_more_ends_the_run_in_words():
    """Two constraints say the same until t = 0.5; from then on the second asks for more."""
    m = dd.Model("late")
    q = m.coordinate("q", 2, start=[0.0, 1.0], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.constraint("wall", q[0])
    m.constraint("slope", 2 * q[0] + ca.fmax(m.time - 0.5, 0) ** 3 * q[1])
    tr = dd.simulate(m, 2.0, **SHARP)
    # Rows count in their length: (t - 0.5)³ / 2 is the distance.
    assert tr.time[-1] == pytest.approx(0.5 + 2e-5 ** (1 / 3), abs=1e-4)
    assert not tr.success
    assert tr.events == []
    assert tr.stop_reason == (
        "slope no longer follows from wall at t = 0.527144 (violated by 2e-05), and no state nearby obeys both; try "
        "constraints that allow the motion, or an event that ends one of them"
    )
    with pytest.raises(dd.SolverError) as caught:
        dd.simulate(m, 2.0, on_stop="raise", **SHARP)
    assert str(caught.value).splitlines()[1].strip().startswith("slope no longer follows from wall at t = 0.527")
    assert str(caught.value).endswith("Try: constraints that allow the motion, or an event that ends one of them")


def stopped(tr, status):
    """The same run as if it had ended for another reason."""
    return Trajectory(tr._plant, tr._drive, tr._parameters, tr._times, tr._x, status, tr.outcome, tr._source)


@pytest.mark.parametrize("status", [Ending.SINGULAR, Ending.NOT_PROJECTED])
def test_a_failure_of_the_chosen_rows_is_mended(status):
    m = usual_linkage()
    redundancy = solvable(m).part(Redundancy)
    bad = dd.simulate(m, 2.0, **SHARP).pieces[0]
    assert bad.status == "event"
    found = rechosen(redundancy, stopped(bad, status), None)
    assert found.reduced is not redundancy.model(redundancy.first)
    # Where the rows are good, the failure has another reason.
    good = dd.simulate(m, 0.1, **SHARP)
    assert rechosen(redundancy, stopped(good, status), None) is None


def test_a_singular_configuration_that_is_not_passed_ends_in_words(monkeypatch):
    monkeypatch.setattr(rechosen_constraints, "way_over", lambda *_: None)
    tr = dd.simulate(linkage(IN_A_LINE), 10.0, rtol=1e-11, atol=1e-13)
    assert (tr.status, tr.events) == ("stuck", [])
    assert tr.stop_reason == (
        f"the mechanism comes to a singular configuration at t = {tr.stop.time:.6g}: crank0, crank2 no longer act in "
        "different directions there, and the motion may go on in more than one way; try another start, or a constraint "
        "that leads it through"
    )
    assert (tr.stop.obstacle, tr.stop.equations) == (Obstacle.SINGULAR_CONFIGURATION, ("crank0", "crank2"))
    # The cranks lie on the line of their bearings there.
    assert abs(tr["q"][-1, 1]) < 0.01
    # What was computed until then is right.
    assert np.ptp(tr["energy"]) < 1e-10
    with pytest.raises(dd.SolverError) as caught:
        dd.simulate(linkage(IN_A_LINE), 10.0, rtol=1e-11, atol=1e-13, on_stop="raise")
    assert str(caught.value).endswith("Try: another start, or a constraint that leads it through")


def test_no_way_is_shown_by_a_short_past():
    """A run that begins close to a dead centre."""
    m = linkage(IN_A_LINE)
    v = 4.0 * np.array([-np.sin(3.14), np.cos(3.14)])
    tr = dd.simulate(m, 1.0, start={"q": [np.cos(3.14), np.sin(3.14)], "q_dot": v}, **SHARP)
    begin = tr.pieces[0]
    assert way_over(begin, 10.0, 20.0, 1e-10) is None
    assert way_over(begin, float(begin.time[0]), 1.0, 1e-10) is None


def test_an_event_of_the_model_is_told_from_those_that_watch_the_choice_whatever_its_name():
    m = linkage()
    m.event("constraints_badly_chosen", m["q"][1], direction=1)
    plain = dd.simulate(usual_linkage(), 2.0, **SHARP)
    tr = dd.simulate(m, 2.0, **SHARP)
    assert tr.success
    assert len(tr.pieces) >= len(plain.pieces) > 1
    assert {event.name for event in tr.events} == {"constraints_badly_chosen"}
    assert tr["energy"][-1] == pytest.approx(plain["energy"][-1], abs=1e-8)


def test_what_added_events_are_for_is_part_of_a_system():
    system = solvable(usual_linkage())
    twin = dd.System.from_record(system.to_record())
    purposes = [event.purpose for event in system.events]
    assert [event.purpose for event in twin.events] == purposes
    assert purposes == [EventPurpose.NO_LONGER_REDUNDANT, EventPurpose.BADLY_CHOSEN, EventPurpose.RANK_LOST]
