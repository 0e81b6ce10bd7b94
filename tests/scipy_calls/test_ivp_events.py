"""Events are found where SciPy finds them, with SciPy's attributes and SciPy's rule for a guard that starts at zero."""

import numpy as np
import pytest
import right_hand_sides
import scipy.integrate

from daedalus.scipy_calls.solve_ivp import solve_ivp


def oscillator(t, y):
    return [y[1], -y[0]]


def height(t, y):
    return y[0]


def speed(t, y):
    return y[1] - 0.3


def attributed(function, **attributes):
    def event(t, y, *args):
        return function(t, y, *args)

    vars(event).update(attributes)
    return event


EVENTS = {
    "one": height,
    "two": [height, speed],
    "up and down": [attributed(height, direction=1), attributed(height, direction=-1)],
    "terminal": [speed, attributed(lambda t, y: y[0] + 0.5, terminal=True)],
    "third crossing ends": [attributed(height, terminal=3), speed],
    "zero at the start": attributed(lambda t, y: y[1]),
    "zero at the start, terminal": attributed(lambda t, y: y[1], terminal=True),
    "zero at the start, only rising": attributed(lambda t, y: y[1], terminal=True, direction=1),
    "zero at the start, only falling": attributed(lambda t, y: y[1], terminal=True, direction=-1),
    "zero at the start, second ends": attributed(lambda t, y: y[1], terminal=2),
    "at the very end": lambda t, y: t - 10.0,
    "at the very end, terminal": attributed(lambda t, y: t - 10.0, terminal=True),
    "last step": lambda t, y: t - 9.999,
    "none": [],
    "never": lambda t, y: y[0] + 5,
    "a method": right_hand_sides.Pendulum(1.0).torque.__class__(lambda self, t, y: y[0] - 0.2, object()),
}


@pytest.mark.parametrize("span", [(0, 10), (10, 0)])
@pytest.mark.parametrize("name", sorted(EVENTS))
def test_scipys_times_and_values(name, span):
    for times in (None, np.linspace(*span, 7)):
        options = {"rtol": 1e-9, "atol": 1e-11, "events": EVENTS[name], "t_eval": times}
        ours = solve_ivp(oscillator, span, [1.0, 0.0], **options)
        theirs = scipy.integrate.solve_ivp(oscillator, span, [1.0, 0.0], **options)
        assert (ours.status, ours.message) == (theirs.status, theirs.message)
        assert len(ours.t_events) == len(theirs.t_events)
        for k in range(len(theirs.t_events)):
            assert ours.t_events[k].shape == theirs.t_events[k].shape
            assert ours.y_events[k].shape == theirs.y_events[k].shape
            np.testing.assert_allclose(ours.t_events[k], theirs.t_events[k], atol=1e-7)
            np.testing.assert_allclose(ours.y_events[k], theirs.y_events[k], atol=1e-7)
        assert ours.t[-1] == pytest.approx(theirs.t[-1], abs=1e-7)
        if times is not None:
            np.testing.assert_allclose(ours.t, theirs.t)
            np.testing.assert_allclose(ours.y, theirs.y, atol=1e-7)


def test_terminal_event_is_the_last_sample_once():
    found = solve_ivp(oscillator, (0, 10), [1, 0], events=attributed(height, terminal=True), dense_output=True)
    assert found.status == 1
    assert found.message == "A termination event occurred."
    assert np.all(np.diff(found.t) > 0)
    assert found.t[-1] == found.t_events[0][0]
    assert abs(found.y[0, -1]) < 1e-12
    assert found.sol.t_max == found.t[-1]


def test_args_reach_events():
    def level(t, y, goal):
        return y[0] - goal

    found = solve_ivp(lambda t, y, goal: -y, (0, 5), [1.0], args=(0.5,), events=level, rtol=1e-8)
    assert found.t_events[0] == pytest.approx([np.log(2)], abs=1e-6)


def test_one_untraceable_event_is_called():
    seen = []

    def watch(t, y):
        seen.append(t)
        return y[0]

    found = solve_ivp(oscillator, (0, 4), [1, 0], events=[speed, watch], rtol=1e-8)
    assert found.traced
    assert seen
    assert found.reason == "traced; events[1] is called as a Python function: it changes seen"
    assert found.t_events[1] == pytest.approx([np.pi / 2], abs=1e-6)
    assert found.t_events[0].shape == (1,)


def test_an_array_with_one_element_will_do():
    found = solve_ivp(oscillator, (0, 3), [1, 0], events=lambda t, y: y[:1], rtol=1e-8)
    assert found.t_events[0] == pytest.approx([np.pi / 2], abs=1e-6)


def test_errors_in_events_pass_through():
    with pytest.raises(ZeroDivisionError):
        solve_ivp(oscillator, (0, 1), [1, 0], events=lambda t, y: 1 // 0)
