"""Plain numbers by name are written at once, and everything else is left to who finds the words for it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daedalus as dd
from daedalus.model.values import parameter_values, plain_start, write_plain


@pytest.fixture(scope="module")
def system():
    m = dd.Model("values")
    x = m.state("x", 3, start=[1.0, 2.0, 3.0])
    y = m.state("y", start=4.0)
    R = m.state("R", (2, 2))
    u, w = m.input("u"), m.input("w", 2)
    k = m.parameter("k", 1.0)
    m.equation(m.der(x), -k * x + u)
    m.equation(m.der(y), w[0] + w[1])
    m.equation(m.der(R), -R)
    return m.freeze()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2, [2.0, 2.0, 2.0]),
        (2.5, [2.5, 2.5, 2.5]),
        (np.float64(2.5), [2.5, 2.5, 2.5]),
        ([1, 2.0, np.float64(3.0)], [1.0, 2.0, 3.0]),
        ((1, 2, 3), [1.0, 2.0, 3.0]),
        (np.array([1.0, 2.0, 3.0]), [1.0, 2.0, 3.0]),
        (np.arange(6.0)[::2], [0.0, 2.0, 4.0]),
    ],
)
def test_plain_numbers_are_written(system, value, expected):
    target = np.zeros(system.sizes["x"])
    assert write_plain(target, system, "x", {"x": value}) == 3
    assert target[system.places["x"].positions].tolist() == expected


@pytest.mark.parametrize(
    "values",
    [
        {"x": True},
        {"x": [1.0, 2.0]},
        {"x": [1.0, True, 2.0]},
        {"x": [1.0, None, 2.0]},
        {"x": [[1.0], [2.0], [3.0]]},
        {"x": np.array([1, 2, 3])},
        {"x": np.zeros((3, 1))},
        {"x": np.zeros(3, dtype=np.float32)},
        {"x": "1"},
        {"x": math.nan},
        {"x": [0.0, math.inf, 0.0]},
        {"x": 10**400},
        {"y": [1.0]},
        {"y": np.array([1.0])},
        {"x[0]": 1.0},
        {"R": np.eye(2)},
        {"k": 1.0},
        {"unknown": 1.0},
        {3: 1.0},
    ],
)
def test_everything_else_is_left_to_a_closer_look(system, values):
    assert write_plain(np.zeros(system.sizes["x"]), system, "x", values) == -1
    assert plain_start(system, values) is None


def test_an_entry_that_nothing_was_written_to_counts(system):
    assert write_plain(np.full(3, np.nan), system, "u", {"u": 1.0}) == -1
    assert write_plain(np.full(3, np.nan), system, "u", {"u": 1.0, "w": [2.0, 3.0]}) == 3


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3), st.integers(-(2**60), 2**60))
def test_lists_tuples_and_arrays_say_the_same(numbers, whole):
    m = dd.Model("three")
    x, y = m.state("x", 3, start=[0.0] * 3), m.state("y", start=0.0)
    m.equation(m.der(x), -x)
    m.equation(m.der(y), -y)
    system = m.freeze()
    rows = [plain_start(system, {"x": kind(numbers), "y": whole}) for kind in (list, tuple, np.array)]
    assert all(row.tolist() == [*numbers, float(whole)] for row in rows)


def test_parameters_keep_those_of_the_model(system):
    own = parameter_values(system, {})
    changed = parameter_values(system, {"k": 3})
    assert own.tolist() == [1.0]
    assert changed.tolist() == [3.0]
    assert parameter_values(system, None) is own
