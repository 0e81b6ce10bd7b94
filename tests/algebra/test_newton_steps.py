"""Newton's method with corrections of the caller: what converges, what is refused, and many systems side by side."""

import numpy as np
import pytest

from daedalus.algebra.newton_steps import full_newton, halved_newton, newton_of_many
from daedalus.algebra.shortened_steps import Descent, levenberg_marquardt


def length(step, v):
    return float(np.abs(step).max())


def arctangent(v):
    return np.arctan(v), lambda: lambda right: right * (1 + v**2)


def by_full_steps(start, **options):
    return full_newton(lambda v: -np.arctan(v) * (1 + v**2), np.array([start]), length, tolerance=1e-12, **options)


def test_full_steps_end_where_they_begin_to_grow():
    # From 1.3 the steps shrink; from 1.4 each is longer than the one before.
    assert by_full_steps(1.3, most=12).converged
    refused = by_full_steps(1.4, most=12, contracts=True)
    assert not refused.converged
    assert abs(refused.values[0]) < 2  # the step that grew was not taken


@pytest.mark.parametrize("start", [1.4, 20.0, -300.0])
def test_halved_steps_arrive_where_full_ones_lead_away(start):
    done = halved_newton(arctangent, np.array([start]), length, most=40, tolerance=1e-12, stalled=0.0)
    assert done.converged
    assert abs(done.values[0] + done.step[0]) < 1e-12


def test_the_shortest_step_is_taken_only_where_it_is_forced():
    def no_root(v):
        return v**2 + 1, lambda: lambda right: right / (2 * v)

    options = {"most": 3, "tolerance": 1e-12, "stalled": 0.0}
    start = np.array([1e-3])
    assert halved_newton(no_root, start, length, **options).values == start
    assert halved_newton(no_root, start, length, **options, forced=True).values != start


def test_a_singular_system_does_not_stop_its_neighbours():
    def squares(v):
        return v**2 - np.array([[4.0], [1.0], [9.0]]), (2 * v * np.array([[1.0], [0.0], [1.0]]))[:, :, None]

    values, sizes = newton_of_many(squares, np.ones((3, 1)), most=20, tolerance=1e-12)
    assert values[[0, 2]].ravel().tolist() == pytest.approx([2.0, 3.0])
    assert np.isnan(values[1])
    assert np.isnan(sizes[1])


def test_a_descent_stops_at_its_limits():
    def at(v):
        return Descent(v, v - np.array([2.0, 0.5]), np.eye(2))

    def free(here, slope):
        return ~((here.values >= 1) & (slope < 0))

    done = levenberg_marquardt(
        at, np.zeros(2), lambda v, step: np.minimum(v + step, 1.0), enough=1e-12, most=100, free=free
    )
    assert done.values.tolist() == pytest.approx([1.0, 0.5])
    assert done.size == pytest.approx(1.0)
