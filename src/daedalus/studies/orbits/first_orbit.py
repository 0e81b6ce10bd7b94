"""Where a branch of orbits begins: at an orbit that is known, or at a Hopf point."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from daedalus.algebra.damped_newton import SOLVED
from daedalus.algebra.newton_steps import newton_of_many
from daedalus.analysis.points.complete_point import Entry
from daedalus.analysis.points.operating_point import read_point
from daedalus.differentiation.differentiable_system import COMPARED, assigns, flowing_system
from daedalus.errors import InputError, SolverError
from daedalus.model.expressions import contains
from daedalus.model.model import Model, as_system
from daedalus.model.plain_numbers import plain_number
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.studies.branches.equilibrium_branch import SpecialPoint
from daedalus.studies.branches.walk import moved_entry, read_range
from daedalus.studies.collocation import STAGES, MeshValues
from daedalus.studies.orbits.orbit_branch import OrbitBranch
from daedalus.studies.orbits.orbit_equations import OrbitProblem, OrbitValues
from daedalus.studies.orbits.orbit_search import FIRST_INTERVALS, solved_orbit
from daedalus.studies.orbits.orbit_walk import OrbitWalk
from daedalus.studies.orbits.periodic_orbit import OrbitQuestion, PeriodicOrbit
from daedalus.studies.orbits.shooting_walk import ShootingWalk, check_shooting

if TYPE_CHECKING:
    from daedalus.simulation.result.trajectory import Trajectory

# `dd.periodic`.
Find = Callable[..., PeriodicOrbit]
# Steps of Newton's method for x' and z at given states.
MOST_STEPS = 20


def is_smooth(system: System) -> bool:
    """Whether a system flows without events, and without conditions in its equations."""
    return not system.events and not once(system, _has_conditions)


def _has_conditions(system: System) -> bool:
    arguments = system.symbols()
    return contains(ca.Function("rows", arguments, [system.residual]), COMPARED)


def takes_inputs(inputs: Mapping[str, Any] | None) -> bool:
    """Whether all inputs are numbers or functions of time."""
    return all(
        callable(value) or (isinstance(value, (int, float, np.number, np.ndarray, list)) and np.ndim(value) <= 1)
        for value in (inputs or {}).values()
    )


def orbit_problem(
    system: System, inputs: Mapping[str, Any] | None, parameters: Mapping[str, Any] | None, entry: Entry | None,
    driven: bool, begin: float,
) -> OrbitProblem:  # fmt: skip
    """The equations of orbits of a system."""
    numbers = {name: value for name, value in (inputs or {}).items() if not callable(value)}
    functions = {name: float(value(begin)) for name, value in (inputs or {}).items() if callable(value)}
    vectors = read_point(system, None, {**numbers, **functions} or None, dict(parameters or {}) or None)
    return OrbitProblem(
        system, dict(inputs or {}), np.array(vectors["u"]), np.array(vectors["p"]), entry, driven, begin
    )


def sampled(problem: OrbitProblem, run: Trajectory, period: float, parameter: float) -> OrbitValues | None:
    """A run over one period on a first mesh, with x' and z from the equations."""
    mesh = np.linspace(0, 1, FIRST_INTERVALS + 1)
    times = problem.begin + period * mesh
    labels = problem.system.labels["x"]
    points = problem.collocation.points(times)

    def states(at: np.ndarray) -> np.ndarray:
        seen = run.at(np.clip(at, float(run.time[0]), float(run.time[-1])))
        return np.array([np.asarray(seen[label], dtype=float).ravel() for label in labels]).T

    x, inside = states(times), states(points.ravel())
    z = np.tile(np.nan_to_num(problem.system.start["z"]), (points.size, 1))
    found = _rates(problem, points.ravel(), inside, z, parameter)
    if found is None:
        return None
    rates, z = found
    shape = FIRST_INTERVALS, STAGES
    return OrbitValues(
        mesh, MeshValues(x, rates.reshape(*shape, -1), z.reshape(*shape, -1)), period, np.zeros(0), parameter
    )


def _rates(
    problem: OrbitProblem, times: np.ndarray, x: np.ndarray, z: np.ndarray, parameter: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """x' and z at many points by Newton's method; one step where they stand in the equations linearly."""
    p, held = problem.numbers(parameter)
    n = x.shape[1]

    def equations(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        vectors = problem.collocation.vectors(times, y[:, :n], x, y[:, n:], p, held)
        residual, slopes = problem.collocation.evaluated(vectors)
        return residual, np.concatenate([slopes["xdot"], slopes["z"]], axis=2)

    y, sizes = newton_of_many(equations, np.hstack([np.zeros_like(x), z]), most=MOST_STEPS, tolerance=SOLVED)
    return (y[:, :n], y[:, n:]) if np.all(sizes <= SOLVED) else None


def branch_of_orbit(
    orbit: PeriodicOrbit, parameter: str, span: tuple[float, float], most: int, find: Find
) -> OrbitBranch:
    """The branch through an orbit, from the first value of the range on; `find` is `dd.periodic`."""
    question, written = orbit.question, as_system(orbit.question.model)
    entry, ends = moved_entry(written, parameter), read_range(parameter, span)
    if assigns(written) or not is_smooth(written) or not takes_inputs(question.inputs):
        return _by_shooting(orbit, parameter, entry, span, most, find)
    system = flowing_system(question.model)
    if not is_smooth(system):
        return _by_shooting(orbit, parameter, entry, span, most, find)
    entry = moved_entry(system, parameter)
    problem = orbit_problem(system, question.inputs, question.parameters, entry, orbit.driven, question.begin)
    here = float((problem.p if entry[0] == "p" else problem.u)[entry[1]])
    guess = sampled(problem, orbit.trajectory, orbit.period, here)
    found = None if guess is None else solved_orbit(problem, guess)
    if found is None:
        raise SolverError(
            f"The orbit of {system.name!r} could not be found by collocation.",
            f"at {parameter} = {here:.6g}, period {orbit.period:.6g}",
            because="a whole family of orbits passes through it, as without friction, or the mesh would be too fine.",
            remedy="a model with damping, or a smoother one",
        )
    walk = OrbitWalk(problem, parameter, ends, most, OrbitAgain(find, question, parameter, entry))
    first = found[1]
    begin = float(span[0])
    if abs(here - begin) > 1e-9 * walk.width:
        # From where the orbit is known to the first value of the range, which is where the branch begins.
        there = OrbitWalk(problem, parameter, (min(here, begin), max(here, begin)), most, None)
        reached = there.along(first, begin - here)
        if abs(reached._orbits[-1].parameter - begin) > 1e-6 * walk.width:
            raise _not_reached(parameter, begin, here, reached)
        first = reached._orbits[-1]
    return walk.along(first, float(span[1]) - begin)


def _by_shooting(
    orbit: PeriodicOrbit, parameter: str, entry: Entry, span: tuple[float, float], most: int, find: Find
) -> OrbitBranch:
    """The branch through an orbit with events, switching or clocks."""
    check_shooting(orbit)
    question, begin = orbit.question, float(span[0])
    again = OrbitAgain(find, question, parameter, entry)
    here = _value(orbit, parameter)
    width = abs(float(span[1]) - begin)
    if abs(here - begin) > 1e-9 * width:
        ends = min(here, begin), max(here, begin)
        reached = ShootingWalk(orbit, parameter, entry[0], ends, most, again).first(orbit, here, begin - here)
        last = reached._orbits[-1]
        if abs(last.parameter - begin) > 1e-6 * width:
            raise _not_reached(parameter, begin, here, reached)
        orbit = again(last)
    walk = ShootingWalk(orbit, parameter, entry[0], read_range(parameter, span), most, again)
    return walk.first(orbit, begin, float(span[1]) - begin)


def _value(orbit: PeriodicOrbit, name: str) -> float:
    """The value that a parameter or an input has on an orbit."""
    given = {**(orbit.question.parameters or {}), **(orbit.question.inputs or {})}
    if name in given:
        return plain_number(given[name], name, "")
    vectors = read_point(as_system(orbit.question.model), None, None, None)
    letter, k = moved_entry(as_system(orbit.question.model), name)
    return float(vectors[letter][k])


def _not_reached(parameter: str, begin: float, here: float, reached: OrbitBranch) -> SolverError:
    return SolverError(
        f"The branch does not reach {parameter} = {begin:.6g}.",
        f"the orbit is known at {parameter} = {here:.6g}; {reached.ended[0].lower()}{reached.ended[1:]}",
        because="the branch begins at the first value of the range.",
        remedy=f"a range that begins at {here:.6g}",
    )


def branch_from_hopf(
    point: SpecialPoint, parameter: str, span: tuple[float, float], most: int, find: Find
) -> OrbitBranch:
    """The branch of orbits that is born at a Hopf point."""
    system = _born_in(point, parameter)
    entry, ends = moved_entry(system, parameter), read_range(parameter, span)
    inputs, parameters = point.state.inputs, point.state.parameters
    problem = orbit_problem(system, inputs, parameters, entry, False, float(point.state.time))
    base, direction = _small_oscillation(problem, point)
    question = OrbitQuestion(point.state.system, inputs, parameters, problem.begin, {})
    walk = OrbitWalk(problem, parameter, ends, most, OrbitAgain(find, question, parameter, entry))
    begun = walk.left(base, direction, born=True)
    if begun is None:
        raise SolverError(
            f"The orbits that are born at {parameter} = {point.parameter:.6g} could not be found.",
            because="Newton's method returns to the equilibrium from every distance tried.",
            remedy="dd.periodic from a run that has settled, then dd.branch(orbit, ...)",
        )
    return walk.walk(begun, (f"begins at the Hopf point {parameter} = {point.parameter:.10g}",))


def _born_in(point: SpecialPoint, parameter: str) -> System:
    """The system in which orbits are born at a point over a parameter; an error where none are."""
    if point.kind != "hopf" or point.frequency is None:
        raise InputError(
            f"No orbits are born at a {point.kind}.",
            f"{point.name} = {point.parameter:.6g}",
            because="a branch of periodic orbits begins at a Hopf point.",
            remedy="dd.branch(p, ...) for p in br.points if p.kind == 'hopf'",
        )
    if parameter != point.name:
        raise InputError(
            f"The Hopf point was found over {point.name}, not over {parameter}.",
            remedy=f"dd.branch(point, {point.name!r}, ...)",
        )
    system = flowing_system(point.state.system)
    if not is_smooth(system):
        raise InputError(
            f"The orbits of {system.name!r} cannot be followed by collocation.",
            "the model has events or conditions",
            because="polynomials between mesh points cannot jump.",
            remedy="dd.periodic for each value of the parameter",
        )
    return system


def _small_oscillation(problem: OrbitProblem, point: SpecialPoint) -> tuple[OrbitValues, MeshValues]:
    """The equilibrium at a Hopf point as an orbit at rest, and the direction in which orbits grow out of it."""
    system = problem.system
    assert point.frequency is not None
    x = np.array([float(point.state[label]) for label in system.labels["x"]])
    z = np.tile(np.nan_to_num(system.start["z"]), (1, 1))
    for k, label in enumerate(system.labels["z"]):
        if label in point.state:
            z[0, k] = float(point.state[label])
    here = np.array([problem.begin])
    found = _rates(problem, here, x[None], z, point.parameter)
    if found is None:
        raise SolverError(f"The equations of {system.name!r} have no solution at the Hopf point.")
    rates, z = found
    p, held = problem.numbers(point.parameter)
    _, slopes = problem.collocation.evaluated(problem.collocation.vectors(here, rates, x[None], z, p, held))
    matrix = np.concatenate([slopes["xdot"][0], slopes["z"][0]], axis=1)
    # x' and z as functions of x: their derivatives, whose eigenvector swings with the frequency of the point.
    follows = -np.linalg.solve(matrix, slopes["x"][0])
    values, vectors = np.linalg.eig(follows[: len(x)])
    k = int(np.argmin(np.abs(values - 1j * point.frequency)))
    q, omega = vectors[:, k], point.frequency
    mesh = np.linspace(0, 1, FIRST_INTERVALS + 1)
    period = 2 * np.pi / omega
    times = problem.begin + period * mesh
    swing = np.exp(2j * np.pi * mesh)[:, None] * q
    inner = np.exp(2j * np.pi * (problem.collocation.points(times) - problem.begin) / period)[:, :, None] * q
    direction = MeshValues(swing.real, (1j * omega * inner).real, (inner @ follows[len(x) :].T).real)
    N = len(mesh) - 1
    rest = MeshValues(np.tile(x, (N + 1, 1)), np.zeros((N, STAGES, len(x))), np.tile(z[0], (N, STAGES, 1)))
    return OrbitValues(mesh, rest, period, np.zeros(0), point.parameter), direction


@dataclass(frozen=True)
class OrbitAgain:
    """Turns an orbit of the branch into one of `dd.periodic`."""

    find: Find
    question: OrbitQuestion
    parameter: str
    entry: Entry

    def __call__(self, values: OrbitValues) -> PeriodicOrbit:
        """The periodic orbit with the values of the branch as its guess."""
        question = self.question
        given = _given(question.inputs, question.parameters, self.parameter, self.entry, values.parameter)
        start = _start(question.model, values)
        return self.find(question.model, start, values.period, **given, begin=question.begin, **question.options)


def _given(
    inputs: Mapping[str, Any] | None, parameters: Mapping[str, Any] | None, name: str, entry: Entry, value: float
) -> dict[str, dict[str, Any]]:
    both = {"inputs": dict(inputs or {}), "parameters": dict(parameters or {})}
    both["parameters" if entry[0] == "p" else "inputs"][name] = value
    return both


def _start(model: Model | System, values: OrbitValues) -> dict[str, float]:
    shot = getattr(values.values, "labels", None)
    labels = flowing_system(model).labels["x"] if shot is None else shot
    return dict(zip(labels, values.values.x[0].tolist()))
