"""Time at equal achieved error: interpolation on log-log axes, and never beyond what was run."""

import math

import pytest
from benchmarks.precision import Curve, Point, curve_of
from hypothesis import given
from hypothesis import strategies as st


def curve(*runs: tuple[float, float]) -> Curve:
    points = tuple(Point(10.0**-k, error, seconds) for k, (error, seconds) in enumerate(runs))
    return Curve("problem", "tool", "method", points)


def test_power_laws_are_read_off_exactly():
    law = curve(*((error, 1e-6 * error ** (-1 / 8)) for error in (1e-2, 1e-5, 1e-9)))
    for error in (1e-2, 3e-4, 1e-5, 2e-8, 1e-9):
        assert law.time_at(error).seconds == pytest.approx(1e-6 * error ** (-1 / 8), rel=1e-12)


def test_the_middle_of_a_decade_is_the_geometric_mean():
    assert curve((1e-4, 1.0), (1e-6, 100.0)).time_at(1e-5).seconds == pytest.approx(10.0)


def test_nothing_is_read_beyond_the_runs():
    short = curve((1e-4, 1.0), (1e-6, 2.0))
    assert short.time_at(1e-7).seconds is None
    assert short.time_at(1e-7).note == "not reached: best error 1.0e-06"
    assert short.time_at(1e-3).seconds is None
    assert short.time_at(1e-3).note == "not reached: already 1.0e-04 at the loosest tolerance"


def test_a_run_beaten_in_both_does_not_count():
    bumpy = curve((1e-3, 1.0), (1e-4, 5.0), (1e-5, 2.0))
    assert bumpy.front() == [(1e-3, 1.0), (1e-5, 2.0)]
    assert bumpy.time_at(1e-4).seconds == pytest.approx(math.sqrt(2.0))


def test_a_finer_run_that_is_the_cheapest_serves_coarser_errors_that_were_run():
    assert curve((1e-3, 3.0), (1e-5, 2.0)).time_at(1e-4).seconds == 2.0


def test_failed_runs_are_left_out_and_a_curve_of_failures_says_why():
    points = (Point(1e-3, 1e-3, 1.0), Point(1e-4, failure="no convergence"), Point(1e-5, 1e-5, 4.0))
    assert Curve("p", "t", "m", points).time_at(1e-4).seconds == pytest.approx(2.0)
    failed = Curve("p", "t", "m", (Point(1e-3, failure="no convergence"),))
    assert failed.time_at(1e-3).note == "no convergence"
    assert Curve("p", "t", "m", failure="crashed: SIGSEGV").time_at(1e-3).note == "crashed: SIGSEGV"


runs = st.lists(st.tuples(st.floats(1e-12, 1e-1), st.floats(1e-6, 1.0)), min_size=1, max_size=8)


@given(runs, st.floats(1e-12, 1e-1))
def test_a_reading_lies_between_the_runs_and_more_accuracy_never_costs_less(found, error):
    measured = curve(*found)
    seconds = measured.time_at(error).seconds
    if seconds is None:
        return
    times = [time for _, time in measured.front()]
    assert min(times) * (1 - 1e-9) <= seconds <= max(times) * (1 + 1e-9)
    finer = measured.time_at(error / 3).seconds
    assert finer is None or finer >= seconds * (1 - 1e-9)


def test_records_of_a_process_become_a_curve():
    records = [
        {"import_seconds": 0.5},
        {"first_seconds": 2.0},
        {"rtol": 1e-3, "error": 1e-4, "seconds": 0.25},
        {"rtol": 1e-6, "failure": "too many steps"},
    ]
    made = curve_of("p", "t", "m", records, None)
    assert (made.name, made.import_seconds, made.compile_seconds) == ("p/t:m", 0.5, 1.75)
    assert made.points == (Point(1e-3, 1e-4, 0.25), Point(1e-6, failure="too many steps"))
