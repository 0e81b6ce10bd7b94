"""The arguments of `solve_ivp`: methods, tolerances, steps, and refusals in four parts that are SciPy's errors too."""

import numpy as np
import pytest
import scipy.integrate

from daedalus.errors import InputError
from daedalus.integrators.methods import METHODS
from daedalus.integrators.tableaux.tableau import Tableau
from daedalus.scipy_calls.solve_ivp import solve_ivp


def oscillator(t, y):
    return [y[1], -y[0]]


def crossing(**attributes):
    def event(t, y):
        return y[0]

    vars(event).update(attributes)
    return event


def test_max_step():
    found = solve_ivp(oscillator, (0, 1), [1, 0], max_step=0.03)
    assert np.max(np.diff(found.t)) <= 0.03 * (1 + 1e-12)


def test_first_step():
    assert solve_ivp(oscillator, (0, 1), [1, 0], first_step=1e-3).t[1] == pytest.approx(1e-3, rel=1e-12)


def test_atol_for_each_component():
    loose = solve_ivp(oscillator, (0, 10), [1, 0], rtol=1e-13, atol=[1e-2, 1e-2])
    tight = solve_ivp(oscillator, (0, 10), [1, 0], rtol=1e-13, atol=[1e-2, 1e-9])
    assert tight.nfev > 2 * loose.nfev


def test_too_small_rtol_warns():
    with pytest.warns(UserWarning, match="`rtol` is too small"):
        solve_ivp(oscillator, (0, 0.1), [1, 0], rtol=1e-16)


def test_useless_options_warn():
    with pytest.warns(UserWarning, match="no effect for a chosen solver: `jac`, `lband`"):
        solve_ivp(oscillator, (0, 0.1), [1, 0], jac=None, lband=1)


def test_endless_span_until_an_event():
    def stop(t, y):
        return y[0]

    stop.terminal = True
    found = solve_ivp(oscillator, (0, np.inf), [1, 0], events=stop, rtol=1e-8)
    assert found.t[-1] == pytest.approx(np.pi / 2, abs=1e-6)
    assert found.nfev < 1000


@pytest.mark.parametrize(("name", "order"), [("RK23", 3), ("RK45", 5), ("DOP853", 8)])
def test_scipys_explicit_methods(name, order):
    found = solve_ivp(oscillator, (0, 10), [1, 0], method=name, rtol=1e-8, atol=1e-10)
    assert METHODS[found.method].order == order
    assert np.max(np.abs(found.y[0] - np.cos(found.t))) < 1e-6


def test_methods_of_momenta_are_refused():
    with pytest.raises(ValueError, match=r"The method 'rattle' does not take a function y' = f\(t, y\)\.") as error:
        solve_ivp(oscillator, (0, 1), [1, 0], method="rattle", step=0.01)
    assert "Try: dd.simulate(m, ...)" in str(error.value)


@pytest.mark.parametrize("name", sorted(n for n, m in METHODS.items() if m.family != "lobatto"))
def test_own_names(name):
    options = {} if METHODS[name].adaptive else {"step": 1e-3}
    found = solve_ivp(oscillator, (0, 1), [1, 0], method=name, **options)
    assert found.method == name
    assert found.y[0, -1] == pytest.approx(np.cos(1.0), abs=2e-3)


def test_tableau():
    ralston = Tableau([[0, 0], ["2/3", 0]], ["1/4", "3/4"], name="Ralston")
    found = solve_ivp(oscillator, (0, 1), [1, 0], method=ralston, step=0.01)
    assert found.method == "Ralston"
    assert found.y[0, -1] == pytest.approx(np.cos(1.0), abs=1e-4)


def message(error):
    return str(error.value)


@pytest.mark.parametrize(
    ("change", "kind", "lines"),
    [
        ({"y0": [[1.0, 0.0]]}, ValueError, ["`y0` must be 1-dimensional.", "got shape (1, 2)", "Try: y0.ravel()"]),
        ({"y0": 1.0}, ValueError, ["`y0` must be 1-dimensional.", "Try: y0=[1.0]"]),
        (
            {"y0": [1.0, np.nan]},
            ValueError,
            ["All components of the initial state `y0` must be finite.", "y0[1] = nan"],
        ),
        ({"t_span": (0, 1, 2)}, ValueError, ["`t_span` must be two numbers.", "Try: t_span=(0, 10)"]),
        ({"t_span": 3}, ValueError, ["`t_span` must be two numbers."]),
        ({"t_span": (0, np.nan)}, ValueError, ["`t_span` must be two numbers."]),
        ({"t_eval": [[0.0]]}, ValueError, ["`t_eval` must be 1-dimensional."]),
        (
            {"t_eval": [0.0, 2.0]},
            ValueError,
            ["Values in `t_eval` are not within `t_span`.", "t = 2 lies outside 0"],
        ),
        ({"t_eval": [0.5, 0.1]}, ValueError, ["Values in `t_eval` are not properly sorted.", "Try: np.unique"]),
        ({"t_eval": [0.5, 0.5]}, ValueError, ["Values in `t_eval` are not properly sorted."]),
        (
            {"method": "RK54"},
            ValueError,
            ["There is no method 'RK54'.", "`method` must be one of RK45, RK23, DOP853"],
        ),
        ({"method": 5}, ValueError, ["method= is a name or a Tableau."]),
        ({"method": "rk4"}, ValueError, ["The method 'rk4' needs a step.", "Try: step=0.01"]),
        ({"args": 3.0}, TypeError, ["Supplied 'args' cannot be unpacked.", "args=(3.0,)"]),
        ({"atol": [1.0] * 3}, ValueError, ["`atol` has wrong shape.", "shape (3,) for 2 unknowns"]),
        ({"atol": -1.0}, ValueError, ["`atol` must be positive."]),
        ({"first_step": 0.0}, ValueError, ["`first_step` must be positive."]),
        ({"first_step": 5.0}, ValueError, ["`first_step` exceeds bounds.", "first_step = 5 in a span of length 1"]),
        ({"max_step": -1.0}, ValueError, ["`max_step` must be positive."]),
        ({"fun": "f"}, TypeError, ["`fun` is not a function.", "got str"]),
        ({"events": [3]}, TypeError, ["events[0] is not a function.", "got int"]),
        (
            {"events": crossing(terminal=1.5)},
            ValueError,
            ["The `terminal` attribute of events[0] must be a boolean or positive integer.", "got 1.5"],
        ),
        ({"events": lambda t, y: y}, ValueError, ["events[0] returns 2 values.", "one event function for each"]),
        (
            {"fun": lambda t, y: [1.0, 2.0, 3.0]},
            ValueError,
            ["`fun` returns the wrong number of values.", "y0 has 2 components, fun(t0, y0) has shape (3,)"],
        ),
        (
            {"fun": lambda t, y: y.reshape(2, 1)},
            ValueError,
            ["`fun` returns the wrong number of values.", "has shape (2, 1)", ".ravel() at the end"],
        ),
    ],
)
def test_refusals(change, kind, lines):
    call = {"fun": oscillator, "t_span": (0, 1), "y0": [1.0, 0.0], **change}
    with pytest.raises(kind) as error:
        solve_ivp(**call)
    assert isinstance(error.value, InputError)
    for line in lines:
        assert line in message(error)


def test_scipy_refuses_the_same():
    for change in ({"y0": [[1.0]]}, {"y0": [np.nan]}, {"t_eval": [3.0]}, {"t_eval": [0.5, 0.1]}, {"atol": -1.0}):
        call = {"fun": lambda t, y: -y, "t_span": (0, 1), "y0": [1.0], **change}
        for solver in (solve_ivp, scipy.integrate.solve_ivp):
            with pytest.raises(ValueError):
                solver(**call)
