"""Tracing: what a function computes becomes a formula that is the function, or a reason why not."""

import math
import threading

import casadi as ca
import numpy as np
import pytest
from right_hand_sides import STYLES, make_closure
from traced_formula import refusal, traced

from daedalus.tracing.trace import (
    agree,
    as_column,
    disagreement,
    mentions_casadi,
    nearby,
    trace_signal,
)
from daedalus.tracing.traced_number import MOST_PATHS


@pytest.mark.parametrize("style", STYLES, ids=str)
def test_formula_is_the_function(style):
    n, vectorized = len(style.y0), style.options.get("vectorized", False)
    formula = traced(style.fun, n, style.args, vectorized)
    assert callable(formula) == style.traced, formula
    if not style.traced:
        return
    points = np.random.default_rng(1)
    for _ in range(60):
        t, y = points.uniform(0, 5), points.normal(size=n)
        expected = as_column(style.fun(t, y.reshape(n, 1).copy() if vectorized else y.copy(), *style.args), n)
        assert agree(formula(t, y), expected), (t, y)


def test_most_styles_are_traced():
    assert sum(style.traced for style in STYLES) >= 35


def test_every_branch_and_its_boundary():
    def steps(t, y):
        if y[0] > 1:
            return [1.0]
        if y[0] == 0.5:
            return [2.0]
        if y[0] <= -1:
            return [3.0]
        return [4.0 if not y[0] < 0.25 else 5.0]

    formula = traced(steps, 1)
    for value in (2.0, 1.0, np.nextafter(1.0, 2.0), 0.5, 0.25, np.nextafter(0.25, 0), -1.0, -2.0, 0.0):
        assert formula(0.0, np.array([value]))[0] == steps(0.0, [value])[0], value


def test_the_branch_not_taken_may_be_nan():
    formula = traced(lambda t, y: [np.sqrt(y[0]) if y[0] > 0 else 0.0], 1)
    assert formula(0.0, np.array([-1.0]))[0] == 0.0
    assert formula(0.0, np.array([4.0]))[0] == 2.0


def test_too_many_ways_are_refused():
    def many(t, y):
        return sum(1.0 if v > 0 else 2.0 for v in y) * y

    assert f"more than {MOST_PATHS} ways" in refusal(many, 8)


def test_too_many_operations_are_refused():
    big = np.ones((300, 300))
    assert "50000 scalar operations" in refusal(lambda t, y: big @ y, 300)


def test_nan_is_never_silent():
    def forgets(t, y):
        dy = np.empty(2)
        dy[0] = y[1]
        return dy

    assert refusal(forgets) == "its formula holds NaN"


def test_wrong_number_of_values():
    assert refusal(lambda t, y: [y[0], y[1], 0.0]) == "it returned values of shape (3,) where 2 are needed"


def test_threads_trace_at_the_same_time():
    results = {}

    def work(k):
        results[k] = [traced(make_closure(float(k), 0.1), 2)(0.0, np.array([1.0, 0.0]))[1] for _ in range(5)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert results == {k: [-float(k)] * 5 for k in range(4)}


def test_mentions_casadi():
    assert mentions_casadi(lambda t: ca.sin(t))
    assert not mentions_casadi(lambda t: np.sin(t))


def test_column_of_casadi_symbols():
    matrix = ca.DM([[0, 1], [-1, 0]])

    def rotates(t, y):
        return ca.mtimes(matrix, y) if isinstance(y, ca.SX) else matrix.full() @ y

    formula = traced(rotates, 2)
    assert np.array_equal(formula(0.0, np.array([1.0, 2.0])), [2.0, -1.0])


class TestDisagreement:
    points = [(0.1, np.array([0.5])), (0.2, np.array([0.6])), (0.3, np.array([0.7]))]
    start = (0.0, np.array([1.0]))

    def test_none(self):
        assert disagreement(lambda t, y: -y, lambda t, y: -y, self.start, self.points) == ""

    def test_random(self):
        draw = np.random.default_rng(0)
        assert "two calls" in disagreement(lambda t, y: y, lambda t, y: y + draw.random(), self.start, self.points)

    def test_at_the_start(self):
        assert "differ at the start" in disagreement(lambda t, y: y, lambda t, y: -y, self.start, self.points)

    def test_near_the_start(self):
        problem = disagreement(lambda t, y: y, lambda t, y: y + (t > 0), self.start, self.points)
        assert "differ near the start" in problem

    def test_nan_at_the_start(self):
        problem = disagreement(lambda t, y: y, lambda t, y: y * np.nan, self.start, self.points)
        assert problem == "its value at the start is not finite, so the formula cannot be checked"

    def test_nowhere_finite_nearby(self):
        problem = disagreement(lambda t, y: y, lambda t, y: y if t == 0 else y * np.nan, self.start, self.points)
        assert "fewer than two points" in problem

    def test_errors_at_the_start_pass_through(self):
        with pytest.raises(ZeroDivisionError):
            disagreement(lambda t, y: y, lambda t, y: y / (1 // 0), self.start, self.points)


def test_nearby_points_lie_inside_the_span_and_differ():
    points = list(nearby(1.0, np.array([0.0, 5.0]), 3.0))
    assert all(1.0 <= t <= 3.0 for t, _ in points)
    assert len({tuple(y) for _, y in points}) == 8
    assert all(np.all(y[:1] != 0.0) for _, y in points)
    assert any(np.all(y >= [0.0, 5.0]) for _, y in points)


class TestSignals:
    t = ca.SX.sym("t")

    def value(self, expression, time):
        return ca.Function("u", [self.t], [expression])(time).full().reshape(-1)

    def test_scalar_and_vector(self):
        expression, reason = trace_signal(lambda t: [math.sin(t), 2.0], self.t, 2)
        assert reason == "traced"
        assert np.allclose(self.value(expression, 0.3), [math.sin(0.3), 2.0], rtol=1e-15)

    def test_constant(self):
        assert float(self.value(trace_signal(lambda t: 3, self.t, 1)[0], 0.0)[0]) == 3.0

    def test_matrix_is_flattened_by_columns(self):
        expression, _ = trace_signal(lambda t: np.array([[1.0, t], [3.0, 4.0]]), self.t, 4)
        assert np.array_equal(self.value(expression, 7.0), [1.0, 3.0, 7.0, 4.0])

    def test_steps_in_time(self):
        expression, _ = trace_signal(lambda t: 1.0 if t < 2 else -1.0, self.t, 1)
        assert [self.value(expression, t)[0] for t in (0.0, 2.0, 3.0)] == [1.0, -1.0, -1.0]

    def test_untraceable(self):
        expression, reason = trace_signal(lambda t: float(np.random.rand()), self.t, 1)  # noqa: NPY002
        assert expression is None
        assert reason == "it draws random numbers"

    def test_errors_become_a_reason(self):
        assert trace_signal(lambda t: undefined_name, self.t, 1)[0] is None  # noqa: F821
        assert trace_signal(lambda t: [1.0, 2.0, 3.0], self.t, 2)[0] is None
