"""Requests that have no derivative, or no meaning, are refused in words: models without formulas, and numbers."""

import casadi as ca
import numpy as np
import pytest
from differentiable_models import leaking_tank, linear

import daedalus as dd


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"parameters": {"a": np.nan}}, "The value of a is nan."),
        ({"inputs": {"u": [0.0, np.nan]}}, "The value of u[1] is nan."),
        ({"start": {"x": [np.nan, 0.0]}}, "The start value of x[0] is nan."),
        ({"wrt": "alpha"}, "The model 'linear' has no variable 'alpha'."),
        ({"order": 3}, "order=3 is not supported."),
        ({"method": "gauss3"}, "The method 'gauss3' needs a step."),
        ({"method": "rattle", "step": 0.1}, "The method 'rattle' has no derivatives."),
        ({"method": "bdf", "by": "discrete"}, 'by="discrete" cannot be used with bdf.'),
    ],
)
def test_the_headline_says_what_is_wrong(options, text):
    with pytest.raises(dd.InputError) as refused:
        dd.sensitivities(linear(), 1.0, **{"inputs": {"u": [0.0, 0.0]}, **options})
    assert str(refused.value).startswith(text)
    assert refused.value.remedy


def test_second_order_of_equations_with_corners_and_without_formulas():
    m = dd.Model("corner")
    x, z = m.state("x", start=1.0), m.algebraic("z", start=0.5)
    m.equation(m.der(x), -ca.fabs(z), name="drain")
    m.equation(z + z**3, x)
    assert dd.sensitivities(m, 0.5).M.shape == (1, 1)
    with pytest.raises(dd.SolverError, match="no second derivatives") as refused:
        dd.sensitivities(m, 0.5, order=2)
    assert refused.value.facts == ["fabs in drain"]


def swing(**event):
    """A state that swings to -1, with an algebraic variable beside it that has no formula."""
    m = dd.Model("swing")
    x, v, z = m.state("x", start=1.0), m.state("v", start=0.0), m.algebraic("z", start=0.6)
    m.equation([m.der(x), m.der(v)], [v, -x])
    m.equation(z + z**3, x)
    m.event("touch", x + 1.0 - 1e-7, reset={"v": -0.5 * v}, **event)
    return m


def test_an_event_that_grazes_in_a_model_without_formulas():
    options = {"rtol": 1e-6, "method": "radau9", "max_step": 0.05}
    with pytest.raises(dd.SolverError) as refused:
        dd.sensitivities(swing(direction=-1), 5.0, **options)
    assert str(refused.value).startswith("The event 'touch' grazes.\n  at t = 3.141")


def test_events_that_follow_a_grazing_one_are_not_reached():
    with pytest.raises(dd.SolverError) as refused:
        dd.sensitivities(swing(), 5.0, rtol=1e-6, method="radau9", max_step=0.05)
    assert str(refused.value).startswith("The event 'touch' grazes.\n  at t = 3.141")


def test_events_without_end_are_told_as_the_run_tells_them():
    m = dd.Model("ball")
    h, v = m.state("h", start=1.0), m.state("v", start=0.0)
    m.equation([m.der(h), m.der(v)], [v, -9.81])
    m.event("bounce", h, direction=-1, reset={"v": -0.5 * v})
    with pytest.raises(dd.SolverError, match="with its derivatives stopped early") as refused:
        dd.sensitivities(m, 5.0)
    assert refused.value.facts == [dd.simulate(m, 5.0).stop_reason]


def test_a_fold_stops_the_run_at_its_time():
    """z² = x with x on its way through zero: no solution behind t = 1, and none of the derivatives at it."""
    m = dd.Model("fold")
    x, z = m.state("x", start=1.0), m.algebraic("z", start=1.0)
    m.equation(m.der(x), -1.0)
    m.equation(z**2, x)
    with pytest.raises(dd.SolverError, match="with its derivatives stopped early") as refused:
        dd.sensitivities(m, 1.5)
    assert " at t = 1 " in refused.value.facts[0]
    assert refused.value.facts[1:] in ([], ["it is a sensitivity that stopped the run; the states alone may go on"])


def test_algebraic_variables_are_not_varied():
    with pytest.raises(dd.InputError) as refused:
        dd.sensitivities(leaking_tank(), 1.0, wrt="z")
    assert str(refused.value).startswith("z cannot be varied.\n  it follows from the states")
