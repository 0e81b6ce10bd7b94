"""NumPy's functions on traced arrays give formulas of what they give on numbers, or refuse."""

import numpy as np
import pytest
from traced_formula import refusal, traced

from daedalus.tracing.trace import agree, as_column


@pytest.mark.parametrize(
    "fun",
    [
        lambda t, y: np.einsum("ij,j->i", np.ones((3, 3)), y) + np.gradient(y) + np.roll(y, 1),
        lambda t, y: np.cumsum(y) + np.diff(np.append(y, 0)) + np.prod(y) + np.mean(y) + np.max(y) - y.min(),
        lambda t, y: np.outer(y, y).sum(axis=0) + np.cross(y, [1, 2, 3]) + np.linalg.norm(y) * y.std(),
        lambda t, y: np.select([y < 0, y < 0.5], [2 * y, 3 * y], 4 * y) + np.any(y > 0.5) * 1.0,
        lambda t, y: np.linalg.inv(np.diag(2 + y**2)) @ y + np.linalg.det(np.outer(y, y) + np.eye(3)),
        lambda t, y: np.stack([y, y * t]).T @ np.array([1.0, 2.0]) + np.trapezoid(y, dx=0.1),
        lambda t, y: np.full(3, t) + np.full_like(y, y[0]) + np.ones(3) * np.sinc(0.5) + np.array([1, 2, 3]) @ y,
        lambda t, y: np.block([y[:1], y[1:]]) + np.where([True, False, True], y, 0) + np.linalg.norm(y, 1),
        lambda t, y: np.max(np.abs(y.reshape(1, 3)), axis=1)[0] + np.hstack((y[2], y[:2])) + np.linalg.norm(y, np.inf),
        lambda t, y: np.vectorize(lambda v: v * v)(y) + np.matmul(np.eye(3), y) + np.tensordot(y, y, 1),
        lambda t, y: np.linalg.solve(np.array([[2.0, 1, 0], [1, 3, 0], [0, 0, 1]]), y) + np.repeat(y[:1], 3),
        lambda t, y: y.dot(np.ones((3, 3))) + y[::-1] + y[[0, 2, 1]] + y[np.array([True, True, True])] + -y + +y,
        lambda t, y: np.piecewise(y, [y < 0, y >= 0], [lambda v: -v, lambda v: v**2]),
    ],
)
def test_numpy_functions(fun):
    formula = traced(fun, 3)
    assert callable(formula), formula
    points = np.random.default_rng(2)
    for _ in range(30):
        t, y = points.uniform(0, 5), points.normal(size=3)
        assert agree(formula(t, y), as_column(fun(t, y.copy()), 3)), (t, y)


def test_arrays_made_in_a_traced_function_look_like_arrays():
    def looks(t, y):
        assert isinstance(y, np.ndarray)
        assert isinstance(t, float)
        assert np.isscalar(t)
        assert np.ndim(t) == 0
        assert len(y) == 2
        assert y.shape == (2,)
        assert y.size == 2
        return np.zeros(2, dtype=float) + np.asarray(y, dtype=float) + y.astype(float)

    assert np.array_equal(traced(looks, 2)(0.0, np.ones(2)), [2.0, 2.0])


def test_interpolation_is_numpys_everywhere():
    points, values = np.array([0.0, 1.0, 1.5, 4.0]), np.array([1.0, -1.0, 3.0, 0.5])
    for options in ({}, {"left": -7.0, "right": 9.0}):
        formula = traced(lambda t, y, o=options: [np.interp(y[0], points, values, **o)], 1)
        for x in [-1.0, 0.0, 0.3, 1.0, 1.2, 1.5, 3.9, 4.0, 4.1]:
            assert formula(0.0, np.array([x]))[0] == np.interp(x, points, values, **options)


def test_float_array_from_outside_is_refused_not_written():
    buffer = np.zeros(2)

    def writes(t, y):
        buffer[:] = y
        return buffer

    assert "value of a number" in refusal(writes)
    assert np.all(buffer == 0.0)


def test_whole_number_arrays_truncate_as_in_numpy():
    def truncates(t, y):
        dy = np.zeros(2, dtype=int)
        dy[0] = y[1]
        return dy

    assert isinstance(traced(truncates, 2), str)


@pytest.mark.parametrize(
    ("fun", "reason"),
    [
        (lambda t, y: np.nan_to_num(np.sqrt(y)), "np.nan_to_num looks for NaN"),
        (lambda t, y: np.nansum(y) * y, "np.nansum looks for NaN"),
        (lambda t, y: np.where(np.sqrt(y) != np.sqrt(y), 0, y), "compares a number with itself"),
        (lambda t, y: np.where(np.isnan(y), 0, y), "isnan needs numbers"),
        (lambda t, y: np.frombuffer(y.tobytes()), "memory of an array"),
        (lambda t, y: y * y.ctypes.data, "memory of an array"),
        (lambda t, y: np.sum(y, dtype=int) * y, "another dtype"),
        (lambda t, y: np.add(y, y, where=[True, False]), "where="),
        (lambda t, y: np.linalg.eigvals(np.outer(y, y)), "np.eigvals needs numbers"),
        (lambda t, y: np.fft.fft(y).real, "np.fft needs numbers"),
        (lambda t, y: y[np.floor(y)], "computed numbers as indices"),
        (lambda t, y: y[np.where(y > 0)], "np.where with the condition alone"),
        (lambda t, y: y * np.array([1j, 2]), "complex"),
        (lambda t, y: y.astype(int), "whole one"),
    ],
)
def test_what_needs_numbers_is_refused(fun, reason):
    assert reason in refusal(fun)


def test_options_of_reductions_count():
    formula = traced(lambda t, y: [np.max(y, initial=0.5), np.sum(y, initial=3.0)], 2)
    assert np.array_equal(formula(0.0, np.array([-1.0, -2.0])), [0.5, 0.0])
    formula = traced(lambda t, y: np.outer(y, y).min(axis=0, keepdims=True)[0], 2)
    assert np.array_equal(formula(0.0, np.array([1.0, -2.0])), [-2.0, -2.0])
