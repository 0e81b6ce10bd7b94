"""The figure of "auto": methods timed in turn in one process, and rows that compare at equal error."""

import math

from benchmarks.figures import auto_method
from benchmarks.measurements import methods_in_turn
from benchmarks.precision import Curve, Point


def curve(method, *runs):
    return Curve("made up", "daedalus", method, tuple(Point(*run) for run in runs))


def test_a_row_compares_auto_with_the_fastest_method_within_the_error():
    curves = {
        "auto": curve("auto", (1e-3, 1e-4, 2e-3), (1e-6, 1e-8, 8e-3)),
        "quick": curve("quick", (1e-3, 1e-3, 1e-3), (1e-6, 1e-5, 4e-3)),
        "fine": curve("fine", (1e-3, 1e-6, 5e-3)),
    }
    found = auto_method.row("made up", curves, 1e-6, None)
    # Halfway between the runs of "auto" in log error: the geometric mean of their times.
    assert (found.peer_name, found.peer, math.isclose(found.ours, 4e-3)) == ("fine", 5e-3, True)
    assert found.reached
    assert auto_method.row("made up", curves, 1e-4, None).peer_name == "quick"
    nothing = auto_method.row("made up", curves, 1e-12, None)
    assert (nothing.peer_name, nothing.ratio, nothing.note) == ("no method", None, "auto does not reach the error")


def test_tolerances_stand_between_those_of_a_session():
    assert auto_method.between((1e-2, 1e-4)) == [1e-2, 1e-3, 1e-4]


def test_methods_are_timed_in_turn_and_what_fails_has_a_reason():
    options = {"problem": "lotka_volterra", "methods": ["auto", "dop853", "no_such"], "tolerances": [1e-3, 1e-6]}
    records = list(methods_in_turn.measure({**options, "seconds": 1e-3}))
    failed = [record for record in records if "failure" in record]
    assert [record["rtol"] for record in failed] == [1e-3, 1e-6]
    errors = {(record["method"], record["rtol"]): record["error"] for record in records if "error" in record}
    assert errors["auto", 1e-6] == errors["dop853", 1e-6] < 1e-5
    assert all(record["seconds"] > 0 for record in records if "error" in record)


def test_each_call_has_its_turn_until_all_were_timed_long_enough():
    called = []
    solvers = {("a", 1e-3): lambda: called.append("a") or sum(range(20_000)), ("b", 1e-3): lambda: called.append("b")}
    times = methods_in_turn.times_in_turn(solvers, 5e-3)
    assert set(times) == set(solvers)
    assert times["b", 1e-3] < times["a", 1e-3]
    assert called[:4] == ["a", "a", "b", "b"]
    # The short one is called a millisecond long at each of its turns.
    assert called.count("b") > called.count("a")
