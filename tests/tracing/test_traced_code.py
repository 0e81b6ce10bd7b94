"""Functions are traced in private copies: what they captured is never touched, and what they would change is found."""

import math

import numpy as np
from right_hand_sides import Pendulum
from traced_formula import refusal, traced

from daedalus.scipy_calls.ivp_arguments import Arguments
from daedalus.tracing.traced_array import TracedArray

log = []
history = []
weird = iter(range(10))


def logs_late(t, y):
    if t > 100:
        log.append(y[0])
    return -y


def delays(t, y):
    history.append(y[0])
    return -history[0] * y


def reads_iterator(t, y):
    return -y * (1 + 0 * next(weird, 0))


def test_a_captured_list_is_never_touched():
    assert refusal(logs_late) == "it changes log"
    assert refusal(delays) == "it changes history"
    assert log == []
    assert history == []


def test_what_cannot_be_watched_is_refused():
    assert "weird, a range_iterator" in refusal(reads_iterator)
    assert next(weird) == 0


def test_writes_to_arguments_are_refused():
    from daedalus.scipy_calls import ivp_function

    def switches(t, y, p):
        if y[0] < 0.5:
            p["mode"] = 2.0
        return -p["mode"] * y

    args = ({"mode": 1.0},)
    found, reason = ivp_function.find_formula(
        switches, lambda t, y: switches(t, y, *args), 1, (0.0, np.ones(1)), 1.0, Arguments(args)
    )
    assert found is None
    assert reason == "it changes its arguments"
    assert args[0]["mode"] == 1.0


def test_an_object_bound_to_the_function_is_never_touched():
    class Counter:
        calls = 0

        def rhs(self, t, y):
            self.calls = self.calls + y[0]
            return -y

    counter = Counter()
    assert refusal(counter.rhs) == "it changes the object it is bound to"
    assert counter.calls == 0


def test_attributes_of_functions():
    def rhs(t, y):
        rhs.calls = rhs.calls + 1
        return -y

    rhs.calls = 0
    assert "changes" in refusal(rhs)
    assert rhs.calls == 0


def test_mutable_default():
    def rhs(t, y, seen=[]):  # noqa: B006
        seen.append(t)
        return -y

    assert refusal(rhs) == "it changes a default value"
    assert rhs.__defaults__ == ([],)


def test_nonlocal_variable():
    count = 0

    def rhs(t, y):
        nonlocal count
        count += 1
        return -y

    assert refusal(rhs) == "it changes count, a variable of the function around it"
    assert count == 0


def _hides(y):
    try:
        return math.sqrt(y)
    except ValueError:
        return 0.0


def test_functions_that_catch_errors_are_called():
    assert refusal(lambda t, y: [_hides(y[0])], 1) == "_hides catches errors, which a formula never raises"


def test_a_refusal_cannot_be_caught_by_the_function():
    class Careful:
        def value(self, y):
            try:
                return [0.0][int(y)]
            except BaseException:
                return 1.0

    careful = Careful()
    assert refusal(lambda t, y: [careful.value(y[0])], 1) == "it turns a number into a whole one"


def test_just_in_time_compiled_functions_are_read_through_py_func():
    class Dispatcher:
        def __init__(self, function):
            self.py_func = function

        def __call__(self, *args):
            raise TypeError("takes numbers only")

    formula = traced(Dispatcher(lambda t, y: -y), 2)
    assert np.array_equal(formula(0.0, np.array([1.0, 2.0])), [-1.0, -2.0])


def test_nothing_of_numpy_or_math_is_patched():
    before = (np.zeros, np.array, math.sin, np.random.random, float, max, print)
    traced(Pendulum(1.0).rhs, 2)
    assert before == (np.zeros, np.array, math.sin, np.random.random, float, max, print)
    assert type(np.zeros(2)) is np.ndarray
    assert not isinstance(np.zeros(2), TracedArray)
