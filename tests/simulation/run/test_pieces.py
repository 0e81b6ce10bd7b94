"""Pieces of a run follow each other by a rule; limits, samples and cancellation are those of the whole."""

import gc
import weakref
from time import perf_counter, sleep

import numpy as np
import pytest

import daedalus as dd
from daedalus import _core
from daedalus.simulation.result.ending import Ending, Stop
from daedalus.simulation.run.pieces import run_in_pieces
from daedalus.simulation.run.request import read_request
from daedalus.simulation.run.road import Piece, find_road

NONE = np.zeros(0)


def sawtooth():
    """x grows until it meets 1."""
    m = dd.Model("sawtooth")
    x, n = m.state("x", start=0.0), m.state("n", start=0.0)
    m.equation(m.der(x), 1.0)
    m.equation(m.der(n), 0.0)
    m.event("top", x - 1, direction=1, terminal=True)
    m.event("middle", x - 0.5, direction=1)
    return m.freeze()


def piece(begin, row, max_steps=None, time_limit=None, system=None):
    options = {"method": "tsit5", "max_steps": max_steps, "time_limit": time_limit}
    return Piece(find_road(read_request(system or sawtooth(), 1e6, options=options)), NONE, begin, np.array(row))


def falls(**limits):
    def rule(done):
        return piece(float(done.end.time), [0.0, float(done.end["n"]) + 1], **limits)

    return rule


def test_an_event_that_ends_a_piece_is_no_event_of_the_run():
    tr = run_in_pieces(piece(0.0, [0.0, 0.0]), falls(), 3.25)
    assert tr.success
    assert len(tr.pieces) == 4
    assert [e.name for e in tr.events] == ["middle"] * 3
    assert tr["n"][-1] == 3
    # The end of a piece is located to rounding.
    assert tr.at([0.5, 1.5, 2.0 + 1e-12, 2.5])["x"] == pytest.approx([0.5, 0.5, 0.0, 0.5], abs=1e-11)
    # Two samples share the time of an event, one the end of a piece.
    assert tr.time[1:][np.diff(tr.time) == 0].tolist() == [e.time for e in tr.events]


def test_none_ends_the_run_with_its_event():
    tr = run_in_pieces(piece(0.0, [0.0, 0.0]), lambda done: None, 3.25)
    assert (tr.status, [e.name for e in tr.events]) == ("event", ["middle", "top"])


def test_stuck_says_why_and_is_no_success():
    def rule(done):
        end = Stop(Ending.STUCK, float(done.end.time), "no tooth follows", ("the wheel is worn",), "a file")
        return falls()(done) if done.end.time < 1.5 else end

    tr = run_in_pieces(piece(0.0, [0.0, 0.0]), rule, 3.25)
    assert (tr.success, tr.stop_reason) == (False, "no tooth follows; the wheel is worn; try a file")
    assert tr.time[-1] == pytest.approx(2.0, rel=1e-15)
    assert [e.name for e in tr.events] == ["middle"] * 2


def test_pieces_without_a_step_end_the_run():
    m = dd.Model("wall")
    x = m.state("x", start=0.0)
    m.equation(m.der(x), 1.0 / (m.time - 1))
    tr = run_in_pieces(piece(1.0, [0.0], system=m.freeze()), lambda done: piece(1.0, [0.0], system=m.freeze()), 2.0)
    assert (tr.status, len(tr.pieces)) == ("stuck", 3)
    assert tr.stop_reason == "the equations were changed 3 times without a step at t = 1"


def test_limits_count_over_all_pieces():
    whole = run_in_pieces(piece(0.0, [0.0, 0.0]), falls(), 3.25).work.steps
    most = whole - 2
    tr = run_in_pieces(piece(0.0, [0.0, 0.0], max_steps=most), falls(max_steps=most), 3.25)
    assert (tr.status, tr.work.steps) == ("step_limit", most)
    assert tr.stop.what == f"took max_steps = {most} steps and got to t = {tr.time[-1]:.6g}"
    late = run_in_pieces(piece(0.0, [0.0, 0.0], time_limit=1e-9), falls(time_limit=1e-9), 3.25)
    assert late.status in ("time_limit", "finished")


def test_samples_are_taken_once():
    times = np.array([0.0, 0.5, 1.0, 1.25, 2.0, 3.0, 3.25])
    tr = run_in_pieces(piece(0.0, [0.0, 0.0]), falls(), 3.25, save_at=times)
    assert tr.time.tolist() == times.tolist()
    assert tr["x"][[1, 3, 6]] == pytest.approx([0.5, 0.25, 0.25])


def test_cancelling_ends_all_pieces():
    cancel, seen = _core.Cancel(), []

    def rule(done):
        seen.append(float(done.end.time))
        cancel.set()
        return falls()(done)

    tr = run_in_pieces(piece(0.0, [0.0, 0.0]), rule, 3.25, cancel=cancel)
    assert (tr.status, len(seen)) == ("cancelled", 1)


def test_progress_is_reported_over_the_whole_run():
    reached = []
    run_in_pieces(piece(0.0, [0.0, 0.0]), falls(), 3.25, progress=reached.append)
    assert reached == sorted(reached)
    assert reached[-1] == 3.25


def test_the_time_that_rules_take_counts():
    """Rules that think for long, or pieces of a step each, do not run past time_limit."""

    def rule(done):
        sleep(0.05)
        return falls(time_limit=0.2)(done)

    begun = perf_counter()
    tr = run_in_pieces(piece(0.0, [0.0, 0.0], time_limit=0.2), rule, 1e6)
    assert tr.status is Ending.TIME_LIMIT
    assert str(tr.stop_reason).startswith("ran for time_limit = 0.2 s and got to t = ")
    assert perf_counter() - begun < 60.0  # 300 000 rules would take hours


def test_a_run_is_cancelled_between_its_pieces():
    cancel = _core.Cancel()

    def rule(done):
        cancel.set()
        return falls()(done)

    tr = run_in_pieces(piece(0.0, [0.0, 0.0]), rule, 1e6, cancel=cancel)
    assert tr.status is Ending.CANCELLED
    assert len(tr.pieces) == 1


def test_a_run_lets_go_of_the_run_that_it_began_with():
    """A loop that goes on from the end of the last run holds one run, not all of them."""
    tr, before = dd.simulate(sawtooth(), 0.25), []
    for _ in range(3):
        before.append(weakref.ref(tr))
        tr = dd.simulate(sawtooth(), (float(tr.end.time), float(tr.end.time) + 0.1), start=tr.end)
    gc.collect()
    assert [run() for run in before] == [None] * 3
    assert tr.success
