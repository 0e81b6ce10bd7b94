"""Measuring: real processes for our own tool, and every way in which a peer can fail is a row and not a crash."""

import sys

import pytest
from benchmarks import __main__ as command
from benchmarks import launch
from benchmarks.cases import Case
from benchmarks.measurements import work_precision
from benchmarks.peers import Peers
from benchmarks.precision import Curve, Point, Reading
from benchmarks.session import Session, Settings
from benchmarks.tool import Tool

FAST = Settings(tolerances=(1e-3, 1e-6, 1e-9), seconds=0.001, limit=5.0, repeats=1)
# An environment without peers: the project's own Python, in which numbalsoda is missing.
ALONE = Peers(sys.executable, "key", {}, {"numbalsoda": "no Fortran compiler"})


class Silent:
    """A console that says nothing."""

    def print(self, *words: object, **how: object) -> None:
        pass


def test_a_curve_is_measured_in_a_process_of_its_own():
    curve = Session(ALONE, FAST).measure(Case("lotka_volterra", "daedalus", "dop853"))
    assert curve.failure is None
    errors = [point.error for point in curve.points]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-7
    assert curve.time_at(1e-5).seconds > 0
    assert curve.compile_seconds > 0


@pytest.mark.wide
def test_missing_and_failing_peers_are_rows_and_the_run_goes_on():
    session = Session(ALONE, FAST)
    cases = [Case("quadrotor", "numbalsoda", "dop853"), Case("quadrotor", "pydiffsol", "bdf")]
    cases += [Case("lotka_volterra", "daedalus", "no_such_method"), Case("lotka_volterra", "daedalus", "tsit5")]
    assert command.measure(session, cases, [], Silent())
    missing, not_there, refused, good = session.curves.values()
    assert missing.reason() == "numbalsoda not installed: no Fortran compiler"
    assert not_there.reason() == "ModuleNotFoundError: No module named 'pydiffsol'"
    assert refused.reason()
    assert len(refused.points) == 3
    assert good.reason() is None
    row = session.compare("flight", "lotka_volterra/daedalus:tsit5", "quadrotor/numbalsoda:dop853", 1e-5, 1.0)
    assert (row.ratio, row.reached) == (None, None)
    assert "numbalsoda not installed: no Fortran compiler" in row.note


def test_a_crash_and_a_process_that_hangs_have_reasons(tmp_path):
    crash = [sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"]
    assert launch.run(crash, str(tmp_path), None, 30.0)[1] == "crashed: SIGSEGV"
    hang = [sys.executable, "-c", "import time; time.sleep(60)"]
    assert launch.run(hang, str(tmp_path), None, 0.5)[1] == "stopped after 0 s"
    assert launch.run(["no-such-program"], str(tmp_path), None, 1.0)[1] == "did not start: No such file or directory"


def test_ctrl_c_keeps_what_was_measured(monkeypatch):
    session = Session(ALONE, FAST)
    measured = Session.measure

    def broken_off(self: Session, case: Case) -> object:
        if self.curves:
            raise KeyboardInterrupt
        return measured(self, case)

    monkeypatch.setattr(Session, "measure", broken_off)
    cases = [Case("quadrotor", "numbalsoda", "dop853"), Case("quadrotor", "numbalsoda", "lsoda")]
    assert not command.measure(session, cases, [], Silent())
    assert list(session.curves) == ["quadrotor/numbalsoda:dop853"]


@pytest.mark.parametrize(("drift", "kept"), [(0.0, True), (1.0, False)])
def test_a_tool_whose_repeated_calls_answer_otherwise_is_found_out(monkeypatch, drift, kept):
    from benchmarks.problems.lotka_volterra import PROBLEM

    def prepare(*given: object) -> object:
        calls = []

        def solve() -> list[float]:
            calls.append(1)
            return [value + 1e-6 + drift * (len(calls) > 1) for value in PROBLEM.reference]

        return solve

    monkeypatch.setattr(work_precision.tools, "load", lambda name: Tool("drifting", (), prepare))
    options = {"problem": "lotka_volterra", "tool": "drifting", "method": "m"}
    options |= {"tolerances": [1e-6], "seconds": 0.001, "limit": 1.0}
    *_, point = work_precision.measure(options)
    assert ("seconds" in point) is kept
    assert kept or point["failure"] == "error 1.0e+00 in a repeated call, 1.0e-06 at first"


@pytest.mark.wide
def test_a_dae_runs_without_peers_by_every_way_of_ours():
    session = Session(ALONE, FAST)
    ways = ("radau5", "prepared-radau9", "auto", "mechanics")
    cases = [Case("pendulum_index_3", "daedalus", way) for way in ways]
    assert command.measure(session, cases, [], Silent())
    for case in cases:
        curve = session.curve(case.name)
        assert curve.reason() is None
        assert curve.points[-1].error < 1e-4
    race = session.race("pendulum", [case.name for case in cases], ["pendulum_index_3/sundae:IDA"], 1e-2, 3.0)
    assert (race.peer_name, race.reached) == ("no peer", None)
    assert "ours: " in race.note
    assert "sundae IDA: not measured in this run" in race.note
    assert session.reaches("succeeds", [case.name for case in cases], 1e-4).reached
    missing = session.reaches("succeeds", ["pendulum_index_3/sundae:IDA"], 1e-4)
    assert (missing.reached, missing.note) == (None, "sundae IDA: not measured in this run")


def test_the_fastest_is_the_first_within_the_error():
    session = Session(ALONE, FAST)
    for tool, points in (("a", [(1e-3, 3.0), (1e-6, 9.0)]), ("b", [(1e-5, 4.0)]), ("c", [(1e-2, 1.0)])):
        runs = tuple(Point(10.0**-k, error, seconds) for k, (error, seconds) in enumerate(points))
        session.curves[f"p/{tool}:m"] = Curve("p", tool, "m", runs)
    names = list(session.curves)
    assert session.fastest(names, 1e-3)[0] == "p/a:m"
    # Finer than asked for at its only tolerance, and cheaper than the others there.
    assert session.fastest(names, 1e-5) == ("p/b:m", Reading(4.0))
    row = session.race("title", ["p/b:m"], ["p/a:m", "p/c:m"], 1e-6, 2.0)
    assert (row.ours, row.peer, row.peer_name) == (None, pytest.approx(9.0), "a m")
    assert row.note == "b m: not reached: best error 1.0e-05"
