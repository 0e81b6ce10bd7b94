"""Problems of optimal control with a known optimum: how they are written, and that a plan reaches it."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

import daedalus as dd


@dataclass
class Published:
    """A problem, its optimum with the largest relative distance from it (absolute where it is 0), and how to solve."""

    build: Callable[[], dd.OptimalControl]
    optimum: float
    error: float
    way: dict = field(default_factory=dict)
    long: bool = False


def ode(names: str, inputs: str, rates: Callable, start: list[float]) -> tuple[dd.Model, list, list]:
    """x' = rates(x, u) with states and inputs by name."""
    m = dd.Model("published")
    x = [m.state(name, start=value) for name, value in zip(names.split(), start)]
    u = [m.input(name) for name in inputs.split()]
    m.equation([m.der(s) for s in x], rates(*x, *u))
    return m, x, u


def begun(m: dd.Model, duration: object, intervals: int = 60, linear: str = "", **ends: float) -> dd.OptimalControl:
    """A problem from the model's start to the given ends, with some inputs linear."""
    ocp = dd.OptimalControl(m, duration, intervals)
    ocp.start()
    if ends:
        ocp.finish(ends)
    for name in linear.split():
        ocp.input(name, kind="linear")
    return ocp


def check(known: Published) -> None:
    """A plan that is a success, at its optimum, as finely as was asked."""
    plan = known.build().solve(**known.way)
    assert plan.success, plan
    if known.optimum:
        assert plan.objective == pytest.approx(known.optimum, rel=known.error)
    else:
        assert abs(plan.objective) < known.error
    if "mesh_tolerance" in known.way:
        assert plan.mesh_error.max() <= known.way["mesh_tolerance"]
