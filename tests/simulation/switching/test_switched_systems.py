"""Switched and sampled systems against closed forms and computations of another kind."""

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq

import daedalus as dd

METHODS = ["auto", "tsit5", "radau5", "bdf"]


@pytest.mark.parametrize("method", METHODS)
def test_thermostat_has_the_period_of_its_two_exponentials(method):
    """T' = 10 on - (T - 10)/2 goes between 18 and 22 in 2 ln(12/8), both ways."""
    m = dd.Model("room")
    T, on = m.state("T", start=20.0), m.discrete("on", start=1)
    m.equation(m.der(T), 10.0 * on - 0.5 * (T - 10.0))
    m.when(T > 22, {"on": 0}, name="warm")
    m.when(T < 18, {"on": 1}, name="cold")
    tr = dd.simulate(m, 12.0, method=method, rtol=1e-9)
    times = np.array([event.time for event in tr.events])
    assert [event.name for event in tr.events[:3]] == ["warm", "cold", "warm"]
    np.testing.assert_allclose(times, 2 * np.log(10 / 8) + 2 * np.log(1.5) * np.arange(len(times)), atol=1e-6)
    assert len(times) == 15


@pytest.mark.parametrize("method", METHODS)
def test_relay_feedback_has_its_limit_cycle(method):
    """A relay with hysteresis h around x' = -x + u: half a period is ln((1 + h)/(1 - h))."""
    m, h = dd.Model("relay"), 0.3
    x, u = m.state("x", start=0.0), m.discrete("u", start=1.0)
    m.equation(m.der(x), -x + u)
    m.when(x > h, {"u": -1.0})
    m.when(x < -h, {"u": 1.0})
    tr = dd.simulate(m, 10.0, method=method, rtol=1e-9)
    times = np.array([event.time for event in tr.events])
    np.testing.assert_allclose(times[0], -np.log(1 - h), atol=1e-7)
    np.testing.assert_allclose(np.diff(times), np.log((1 + h) / (1 - h)), atol=1e-6)
    assert len(times) == 1 + int((10 - times[0]) / np.log((1 + h) / (1 - h)))


def two_tanks_exactly(end):
    """Times of the pump by matrix exponentials and a search for roots."""
    A, b, x, on, t, found = (
        np.array([[-0.5, 0.0], [0.5, -0.25]]),
        np.array([1.0, 0.0]),
        np.array([0.0, 1.0]),
        1.0,
        0.0,
        [],
    )
    while True:
        rest = np.linalg.solve(A, -b * on)
        level = 1.2 if on else 0.8

        def gap(s, x=x, rest=rest, level=level):
            return (expm(A * s) @ (x - rest) + rest)[1] - level

        grid = np.arange(0.01, 60.0, 0.01)
        sign = 1 if on else -1
        k = next((k for k, s in enumerate(grid) if sign * gap(s) > 0), None)
        if k is None:
            return found
        s = brentq(gap, grid[k] - 0.01, grid[k], xtol=1e-14)
        t, x = t + s, expm(A * s) @ (x - rest) + rest
        if t > end:
            return found
        found.append(t)
        on = 1.0 - on


@pytest.mark.parametrize("method", METHODS)
def test_two_tanks_with_an_on_off_pump(method):
    m = dd.Model("tanks")
    a, b, pump = m.state("a", start=0.0), m.state("b", start=1.0), m.discrete("pump", start=1)
    m.equation(m.der(a), pump - 0.5 * a)
    m.equation(m.der(b), 0.5 * a - 0.25 * b)
    m.when(b > 1.2, {"pump": 0})
    m.when(b < 0.8, {"pump": 1})
    tr = dd.simulate(m, 30.0, method=method, rtol=1e-9)
    wanted = two_tanks_exactly(30.0)
    assert len(wanted) > 4
    np.testing.assert_allclose([event.time for event in tr.events], wanted, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_sampled_loop_equals_the_exact_sampled_system(method):
    """x(k + 1) = Φ x(k) + Γ u(k) with Φ, Γ from a matrix exponential, and the same controller."""
    A, B, h = np.array([[0.0, 1.0], [-1.0, -0.4]]), np.array([0.0, 1.0]), 0.1
    whole = expm(np.block([[A, B[:, None]], [np.zeros((1, 3))]]) * h)
    x, integral, wanted = np.zeros(2), 0.0, []
    for _ in range(50):
        u = 8 * (1 - x[0]) + 4 * integral - 3 * x[1]
        integral += h * (1 - x[0])
        x = whole[:2, :2] @ x + whole[:2, 2] * u
        wanted.append(x[0])
    m = dd.Model("loop")
    p, v, u, sum_ = m.state("p", start=0.0), m.state("v", start=0.0), m.discrete("u"), m.discrete("sum")
    m.equation(m.der(p), v)
    m.equation(m.der(v), u - 0.4 * v - p)
    m.every(h, {"u": 8 * (1 - p) + 4 * sum_ - 3 * v, "sum": sum_ + h * (1 - p)})
    tr = dd.simulate(m, 5.0, method=method, rtol=1e-9, save_at=np.arange(1, 51) * h)
    np.testing.assert_allclose(tr["p"], wanted, atol=1e-6)


def test_a_bridge_of_diodes_switches_when_its_closed_form_says():
    from benchmarks.measurements import diode_bridge

    end = 0.1
    tr = dd.simulate(diode_bridge.model(), end, rtol=1e-8, atol=1e-9)
    times = np.array([event.time for event in tr.events if event.time > 1e-6])
    np.testing.assert_allclose(times, diode_bridge.turns(end), rtol=0, atol=1e-9)


# By rounding alone: an event that fired where steps began to cross switches was told again, and so was one beside two
# switches that turn at its time, one after the other.
@pytest.mark.parametrize("method", ["radau5", "radau9"])
def test_turns_of_diodes_are_told_once_whatever_rounding_brings(method):
    from benchmarks.measurements import diode_bridge

    m, end, rng = diode_bridge.model(), 0.1, np.random.default_rng(11)
    known = [0.688446730571e-3, 0.357795196709e-3, 0.0147063049654e-3, 0.3631269505505e-3, 0.5155226691063e-3]
    for extra in [*known, *1e-3 * rng.random(10)]:
        tr = dd.simulate(m, end, rtol=1e-8 * (1 + extra), atol=1e-9, method=method)
        times = np.array([event.time for event in tr.events if event.time > 1e-6])
        np.testing.assert_allclose(times, diode_bridge.turns(end), rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", ["tsit5", "radau5", "bdf"])
def test_what_counts_at_the_start_does_not_count_again_where_a_run_begins_to_slide(method):
    m = dd.Model("relay")
    x, n = m.state("x", start=1.0), m.discrete("n")
    m.equation(m.der(x), -ca.sign(x))
    m.when(x < 2, {"n": n + 1}, at_start=True, name="low")
    tr = dd.simulate(m, 2.0, method=method)
    assert tr.success, tr.stop_reason
    assert [(event.name, event.time) for event in tr.events] == [("low", 0.0)]
    assert tr["n"][-1] == 1


def clocked():
    m = dd.Model("wrong")
    x, u = m.state("x", start=0.0), m.discrete("u")
    m.equation(m.der(x), u)
    return m, x, u


def both_assign():
    m, _, _ = clocked()
    m.every(0.1, {"u": 1}, name="one")
    m.every(0.2, {"u": 2}, name="two")
    return dd.simulate(m, 1.0)


def endless():
    m, _x, u = clocked()
    m.when(u > 0.5, {"u": 0}, name="down")
    m.when(u < 0.5, {"u": 1}, name="up")
    m.schedule([0.5], {"u": 1})
    tr = dd.simulate(m, 1.0)
    raise dd.SolverError(tr.stop.what)


def raises():
    m, _, _ = clocked()
    m.every(0.1, call=lambda t, values, memory: 1 / 0, writes=["u"], name="code")
    tr = dd.simulate(m, 1.0)
    raise dd.SolverError(tr.stop.what)


def written(use):
    return lambda: use(*clocked())


WRONG = [
    (
        lambda: clocked()[0].every(0.0, {"u": 1}),
        "The period of 'clock_1' is not a positive number.\n"
        "  got float: 0.0\n"
        "  Because time would not advance from one tick to the next.\n"
        "  Try: 0.01",
    ),
    (
        lambda: clocked()[0].every(0.1, {"w": 1}),
        "The model 'wrong' has no variable 'w'.\n"
        "  it has x, u\n"
        "  Because only declared variables have names.\n"
        "  Try: one of the names above",
    ),
    (both_assign, "'one' and 'two' both assign u.\n  both are due at t = 0"),
    (written(lambda m, x, u: m.schedule([], {"u": 1})), "The schedule 'schedule_1' has no times."),
    (
        written(lambda m, x, u: m.when(ca.SX.sym("y") > 1, {"u": 1})),
        "The guard of event 'condition_1' contains a symbol that no model declared.",
    ),
    (written(lambda m, x, u: m.when(x - 1, {"u": 1})), "The condition of 'condition_1' is a quantity."),
    (written(lambda m, x, u: m.when(dd.all_of(x, x > 1), {"u": 1})), "dd.all_of takes conditions."),
    (
        written(lambda m, x, u: m.every(0.1, {"u": 1}, after="nobody")),
        "The clock 'clock_1' comes after 'nobody', which is not a clock.",
    ),
    (endless, "events at t = 0.5 trigger each other endlessly"),
    (raises, "the code of 'code' raised ZeroDivisionError: division by zero at t = 0"),
    (written(lambda m, x, u: m.event("e", x, direction=2)), "The direction of event 'e' is not -1, 0 or 1."),
]


@pytest.mark.parametrize(("use", "told"), WRONG, ids=[told.splitlines()[0] for _, told in WRONG])
def test_wrong_uses_are_told_in_words(use, told):
    with pytest.raises(dd.DaedalusError) as error:
        use()
    assert str(error.value).startswith(told)
