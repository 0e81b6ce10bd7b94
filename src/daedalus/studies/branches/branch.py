"""`dd.branch(m, "mu", (0, 2))`: equilibria over a parameter, through folds, with what happens on the way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

import numpy as np

from daedalus.analysis.points.equilibrium import equilibrium
from daedalus.errors import InputError, SolverError
from daedalus.model.mechanics.mechanics_part import refuse_touching
from daedalus.model.model import Model, as_system
from daedalus.model.names import listed
from daedalus.model.switching.delays import refuse_delays
from daedalus.model.system.system import System
from daedalus.model.values import check_mapping
from daedalus.studies.branches.equilibrium_branch import Branch, SpecialPoint
from daedalus.studies.branches.rest_equations import RestEquations
from daedalus.studies.branches.walk import Walk, moved_entry, read_range
from daedalus.studies.orbits.first_orbit import branch_from_hopf, branch_of_orbit
from daedalus.studies.orbits.orbit_branch import OrbitBranch
from daedalus.studies.orbits.periodic_orbit import PeriodicOrbit
from daedalus.studies.orbits.return_time import depends_on_time
from daedalus.studies.periodic import periodic

# Special points are told apart in steps of 1e-6 of the range; the longest step leaves room for a hundred of these.
SHORTEST = 1e-4


@overload
def branch(
    model: Model | System,
    parameter: str,
    span: tuple[float, float],
    start: object = None,
    inputs: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
    most_points: int = 2000,
    max_step: float | None = None,
) -> Branch: ...
@overload
def branch(
    model: PeriodicOrbit | SpecialPoint, parameter: str, span: tuple[float, float], *, most_points: int = 2000
) -> OrbitBranch: ...
def branch(
    model: Model | System | PeriodicOrbit | SpecialPoint,
    parameter: str,
    span: tuple[float, float],
    start: object = None,
    inputs: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
    most_points: int = 2000,
    max_step: float | None = None,
) -> Branch | OrbitBranch:
    """Follow the equilibria of a model, or a periodic orbit, over a parameter or an input, through folds.

    The equations are used as written, including DAEs of any index. Folds, Hopf points and branch points are located by
    extended systems and reported with their normal-form coefficients. Stability comes from the finite eigenvalues of
    the linearisation.

    Parameters
    ----------
    model: a model, whose equilibria are followed. An orbit of `dd.periodic` or a Hopf point of another branch, in which
        case periodic orbits are followed, with folds of cycles, period doublings, tori and branch points.
    parameter: the name of a scalar parameter or input.
    span: its range; the branch starts at the first value and ends where it leaves the range on either side. If no
        equilibrium is found at the first value, it is followed both ways from the model's own value of the parameter.
    start: a guess for the first equilibrium: values by name, or `tr.end` of a run.
    inputs, parameters: values by name of all others; an orbit and a Hopf point bring their own.
    most_points: the largest number of points.
    max_step: how far a step may move the unknowns, as a share of their sizes; the parameter's size is its range. 0.025
        by default. Smaller for smoother plots, and where several branches run close to each other.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("Brusselator")
    >>> A = m.parameter("A", 1.0); B = m.parameter("B", 1.0)
    >>> x = m.state("x", start=1.0); y = m.state("y", start=1.0)
    >>> m.equation(m.der(x), A + x**2 * y - (B + 1) * x); m.equation(m.der(y), B * x - x**2 * y)
    >>> br = dd.branch(m, "B", (1.0, 3.0))
    >>> print(br.points[0])
    Hopf point at B = 2: a pair of eigenvalues ±1j crosses the imaginary axis; first Lyapunov coefficient -0.5, ...
    >>> br.stable[0], br.stable[-1]
    (np.True_, np.False_)
    >>> orbits = dd.branch(br.points[0], "B", (1.0, 3.0))
    >>> round(float(orbits["B"][-1]), 6), round(float(orbits.period[-1]), 4), orbits.stable.all()
    (3.0, 7.1569, np.True_)
    """
    checked_most(most_points)
    if max_step is not None:
        _checked_step(max_step, isinstance(model, (PeriodicOrbit, SpecialPoint)))
    if isinstance(model, (PeriodicOrbit, SpecialPoint)):
        if start is not None or inputs or parameters:
            raise InputError(
                "An orbit and a Hopf point bring their own start, inputs and parameters.",
                remedy="dd.branch(orbit, 'mu', (0.0, 2.0)), with other values given to dd.periodic",
            )
        if isinstance(model, PeriodicOrbit):
            return branch_of_orbit(model, parameter, span, most_points, periodic)
        return branch_from_hopf(model, parameter, span, most_points, periodic)
    system = as_system(model)
    refuse_delays(system, "dd.branch")
    refuse_touching(system, "dd.branch")
    entry, ends = moved_entry(system, parameter), read_range(parameter, span)
    given = dict(check_mapping(inputs, "inputs")), dict(check_mapping(parameters, "parameters"))
    own = given[0 if entry[0] == "u" else 1]
    value: Any = own.get(parameter, system.start["p"][entry[1]] if entry[0] == "p" else np.nan)
    own[parameter] = float(span[0])
    notes: list[str] = []
    try:
        rest_point = equilibrium(system, given[0] or None, start, given[1] or None)
    except SolverError:
        # The model rests at its own value, perhaps, from which the branch goes both ways.
        if not (isinstance(value, (int, float)) and ends[0] < value < ends[1]):
            raise
        own[parameter] = float(value)
        rest_point = equilibrium(system, given[0] or None, start, given[1] or None)
        notes.append(
            f"no equilibrium was found at {parameter} = {span[0]:g}; the branch was followed both ways from {value:g}"
        )
    rest = RestEquations(system, rest_point, [entry])
    direction = np.zeros(rest.n + 1)
    direction[-1] = float(span[1]) - float(span[0])
    inside = bool(notes)
    notes += rest_point.notes
    if depends_on_time(system, given[0]):
        notes.append(f"{system.name!r} depends on time: the branch is that of the equations at t = 0")
    if rest_point.free:
        notes.append(
            f"{listed(rest_point.free)} may be anywhere and {_stays(rest_point.free)} where the first point has it"
        )
    traced = Walk(rest, parameter, ends, most_points, max_step)
    follow = traced.both_ways if inside else traced.along
    return follow(np.append(rest.y, rest.a), direction, tuple(notes))


def checked_most(most_points: object) -> None:
    """Refuse what is not a number of points."""
    if isinstance(most_points, bool) or not isinstance(most_points, (int, np.integer)) or most_points < 1:
        raise InputError(f"{most_points!r} is not a number of points."[:80], remedy="most_points=2000")


def _checked_step(max_step: object, of_orbits: bool) -> None:
    """Refuse what is no share, and a longest step of orbits."""
    if of_orbits:
        raise InputError(
            "max_step= is for branches of equilibria.",
            because="steps along orbits follow from how their shapes change.",
            remedy="dd.branch(orbit, 'mu', (0.0, 2.0)) without max_step=",
        )
    number = isinstance(max_step, (int, float, np.number)) and not isinstance(max_step, bool)
    if not number or not SHORTEST <= float(max_step) <= 1:  # type: ignore[arg-type]
        raise InputError(
            f"max_step={max_step!r} is not valid."[:80],
            because=f"it is a share of the range, from {SHORTEST:g} to 1.",
            remedy="max_step=0.01",
        )


def _stays(names: tuple[str, ...]) -> str:
    return "stays" if len(names) == 1 else "stay"
