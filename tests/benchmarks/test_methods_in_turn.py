"""The figure of "auto": methods timed in turn in one process, and rows that compare at equal error."""

from benchmarks.figures import auto_method
from benchmarks.measurements import methods_in_turn


def record(method, seconds):
    return {"method": method, "error": 1e-6, "rtol": 1e-6, "seconds": seconds, "contends": True}


def test_a_row_compares_auto_with_the_fastest_method_at_the_error():
    failed = {"method": "coarse", "error": 1e-6, "failure": "best error 1e-4"}
    found = auto_method.row("made up", [record("auto", 4e-3), record("slow", 5e-3), record("fast", 2e-3), failed], None)
    assert (found.peer_name, found.peer, found.ours, found.ratio) == ("fast", 2e-3, 4e-3, 2.0)
    assert not found.reached
    nothing = auto_method.row("made up", [failed], None)
    assert (nothing.peer_name, nothing.ratio, nothing.note) == ("no method", None, "auto does not reach the error")


def test_tolerances_stand_between_those_of_a_session():
    assert auto_method.between((1e-2, 1e-4)) == [1e-2, 1e-3, 1e-4]


def test_methods_are_timed_at_equal_errors_and_what_fails_has_a_reason():
    options = {"problem": "lotka_volterra", "methods": ["auto", "dop853", "no_such"], "errors": [1e-3, 1e-5]}
    found = list(methods_in_turn.measure({**options, "tolerances": [1e-2, 1e-4, 1e-6], "seconds": 1e-3}))
    failed = [(one["method"], one["error"]) for one in found if "failure" in one]
    assert failed == [("no_such", 1e-3), ("no_such", 1e-5)]
    tolerances = {(one["method"], one["error"]): one["rtol"] for one in found if "rtol" in one}
    # The same method either way: the same tolerance leads to the same error.
    assert tolerances["auto", 1e-5] == tolerances["dop853", 1e-5] < tolerances["auto", 1e-3]
    assert all(one["seconds"] > 0 for one in found if "rtol" in one)


def test_what_is_far_from_the_fastest_is_no_contender():
    first = {("auto", 1e-4): 9.0, ("a", 1e-4): 1.0, ("b", 1e-4): 1.9, ("c", 1e-4): 2.1, ("c", 1e-6): 7.0}
    assert methods_in_turn.contenders(first) == set(first) - {("c", 1e-4)}


def test_each_call_has_its_turn_until_all_were_timed_long_enough():
    called = []
    solvers = {("a", 1e-3): lambda: called.append("a") or sum(range(20_000)), ("b", 1e-3): lambda: called.append("b")}
    times = methods_in_turn.times_in_turn(solvers, 5e-3)
    assert set(times) == set(solvers)
    assert times["b", 1e-3] < times["a", 1e-3]
    assert called[:4] == ["a", "a", "b", "b"]
    # The short one is called a millisecond long at each of its turns.
    assert called.count("b") > called.count("a")
