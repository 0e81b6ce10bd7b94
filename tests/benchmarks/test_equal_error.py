"""The tolerance for an error, read off a line through runs at many tolerances."""

import pytest
from benchmarks.equal_error import tolerance_for

# error = 5 rtol
STRAIGHT = [(10.0**-k, 5 * 10.0**-k) for k in range(2, 11)]


def test_a_line_through_runs_gives_the_tolerance():
    assert tolerance_for(STRAIGHT, 1e-6) == pytest.approx(2e-7)


def test_one_lucky_run_counts_for_little():
    lucky = [(rtol, error / 30 if rtol == 1e-5 else error) for rtol, error in STRAIGHT]
    # Interpolation between neighbours would take 1e-5, which is fifty times too loose.
    assert tolerance_for(lucky, 5e-5 / 30) < 3 * tolerance_for(STRAIGHT, 5e-5 / 30)


def test_an_error_is_not_reached_or_reached_at_the_loosest_tolerance():
    assert tolerance_for(STRAIGHT, 1e-11) is None
    assert tolerance_for([], 1e-4) is None
    assert tolerance_for(STRAIGHT, 0.1) == 1e-2


def test_runs_that_rounding_holds_up_do_not_bend_the_line():
    held = [*STRAIGHT[:6], *((rtol, 5e-7) for rtol, _ in STRAIGHT[6:])]
    assert tolerance_for(held, 5e-4) == pytest.approx(1e-4)
