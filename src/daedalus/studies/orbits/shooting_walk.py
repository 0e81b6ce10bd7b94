"""Branches of orbits with events, switching and clocks: one run over a period, with its derivatives, is the equation.

The unknowns are the states at the beginning, the period of an autonomous orbit, and the parameter. Runs are
differentiated by `dd.sensitivities`, which carries derivatives through events; the curve and what happens on it are
those of `OrbitWalk`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.analysis.points.complete_point import complete_point
from daedalus.analysis.points.operating_point import read_point
from daedalus.errors import InputError, SolverError
from daedalus.simulation.simulate import simulate
from daedalus.studies.branches.curve import CurvePoint
from daedalus.studies.orbits.one_period import first_values, run_over, unknowns_of
from daedalus.studies.orbits.orbit_branch import OrbitBranch, SpecialOrbit
from daedalus.studies.orbits.orbit_equations import OrbitValues
from daedalus.studies.orbits.orbit_walk import OrbitStep, OrbitWalk
from daedalus.studies.orbits.periodic_orbit import PeriodicOrbit


@dataclass(frozen=True, eq=False)
class RunOverPeriod:
    """A run over one period as `MeshValues` has it: x at rows of the run, and values between them."""

    x: np.ndarray
    run: Any
    labels: tuple[str, ...]
    algebraic: tuple[str, ...]

    def between(self, times: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """x, nothing for x', and z at any times."""
        seen = self.run.at(np.clip(at, float(self.run.time[0]), float(self.run.time[-1])))
        parts = [
            np.array([np.asarray(seen[label], dtype=float).ravel() for label in labels]).reshape(len(labels), -1).T
            for labels in (self.labels, self.algebraic)
        ]
        return parts[0], np.zeros_like(parts[0]), parts[1]


@dataclass(eq=False)
class Shot:
    """One run with its derivatives, kept with the unknowns it belongs to."""

    unknowns: bytes = b""
    residual: np.ndarray = field(default_factory=lambda: np.zeros(0))
    matrix: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    monodromy: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))


class ShootingEquations:
    """x(T) = x(0), and the phase of an autonomous orbit, in x(0), T and the parameter."""

    def __init__(self, walk: ShootingWalk, reference: np.ndarray, period: float, size_x: np.ndarray) -> None:
        self.walk, self.period, self.size_x = walk, period, size_x
        self.n = len(walk.labels)
        self.reference = reference[: self.n]
        self.rate = np.zeros(self.n) if walk.driven else walk.rate(self.reference, float(reference[-1]))
        self._shot = Shot()

    def joined(self, x: np.ndarray, period: float, parameter: float) -> np.ndarray:
        """All unknowns as one vector."""
        return np.concatenate([x, [] if self.walk.driven else [period], [parameter]])

    def sizes(self, Y: np.ndarray, width: float) -> np.ndarray:
        """Lengths in which a step is measured."""
        return self.joined(self.size_x, float(self.time_of(Y)), width)

    def time_of(self, Y: np.ndarray) -> float:
        """The period that a vector holds."""
        return self.period if self.walk.driven else float(Y[self.n])

    def __call__(self, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All rows and their derivatives by all unknowns; not numbers where the run does not reach its end."""
        key = Y.tobytes()
        if self._shot.unknowns != key:
            self._shot = self._run(Y, key)
        return self._shot.residual, self._shot.matrix

    def _run(self, Y: np.ndarray, key: bytes) -> Shot:
        walk, n, period = self.walk, self.n, self.time_of(Y)
        rows = n + (0 if walk.driven else 1)
        lost = Shot(key, np.full(rows, np.nan), np.full((rows, rows + 1), np.nan), np.full((n, n), np.nan))
        if period <= 0:
            return lost
        try:
            run = run_over(
                walk.unknowns, walk.question.model, (walk.begin, walk.begin + period), walk.start(Y[:n]),
                walk.options(float(Y[-1])), walk.name,
            )  # fmt: skip
        except SolverError:
            return lost
        end, M, by_parameter = run.end, run.by_start, run.by_parameter
        residual = end - Y[:n]
        if walk.driven:
            return Shot(key, residual, np.column_stack([M - np.eye(n), by_parameter]), M)
        weight = self.rate / self.size_x**2
        weight = weight / max(float(np.linalg.norm(weight * self.size_x)), NOT_ZERO)
        top = np.column_stack([M - np.eye(n), walk.rate(end, float(Y[-1])), by_parameter])
        matrix = np.vstack([top, [*weight, 0.0, 0.0]])
        return Shot(key, np.append(residual, weight @ (Y[:n] - self.reference)), matrix, M)

    def split(self, Y: np.ndarray) -> OrbitValues:
        """The orbit that a vector holds, with a run of its own."""
        walk, period = self.walk, self.time_of(Y)
        options = {**walk.options(float(Y[-1])), "progress": False}
        run = simulate(walk.question.model, (walk.begin, walk.begin + period), start=walk.start(Y[: self.n]), **options)
        x = np.array([np.asarray(run[label], dtype=float).ravel() for label in walk.labels]).T
        x[0] = Y[: self.n]
        motion: Any = RunOverPeriod(x, run, walk.labels, walk.problem.system.labels["z"])
        return OrbitValues(np.linspace(0, 1, 2), motion, period, np.zeros(0), float(Y[-1]))

    def multipliers(self, orbit: OrbitValues) -> np.ndarray:
        """Floquet's multipliers, the largest first."""
        self(self.joined(orbit.values.x[0], orbit.period, orbit.parameter))
        if not np.all(np.isfinite(self._shot.monodromy)):
            raise np.linalg.LinAlgError
        felt = np.any(self._shot.monodromy != 0, axis=0)
        felt[: self.walk.unknowns.states] = True
        values = np.linalg.eigvals(self._shot.monodromy[np.ix_(felt, felt)]).astype(complex)
        return values[np.argsort(-np.abs(values), kind="stable")]

    def direction_of(self, multiplier: float) -> np.ndarray:
        """The change of the start that comes back multiplied by a real multiplier."""
        values, vectors = np.linalg.eig(self._shot.monodromy)
        found = vectors[:, int(np.argmin(np.abs(values - multiplier)))].real
        return np.asarray(found / np.linalg.norm(found / self.size_x))


@dataclass(frozen=True, eq=False)
class _Asked:
    """What `OrbitWalk` reads of a problem."""

    system: Any
    driven: bool
    begin: float
    nominal: np.ndarray


class ShootingWalk(OrbitWalk):
    """Follow one branch of orbits with events and clocks."""

    def __init__(
        self, orbit: PeriodicOrbit, name: str, letter: str, ends: tuple[float, float], most: int, again: Any
    ) -> None:
        system = orbit.trajectory.system
        question, options = orbit.question, {"rtol": 1e-10, "atol": 1e-12, **orbit.question.options}
        options |= {"inputs": question.inputs, "parameters": question.parameters}
        self.unknowns = unknowns_of(question.model, question.begin, orbit.period / 100, orbit.begun, options)
        self.labels = self.unknowns.labels
        asked: Any = _Asked(system, orbit.driven, question.begin, self.unknowns.sizes)
        super().__init__(asked, name, ends, most, again)
        self.question, self.letter, self.driven, self.begin = orbit.question, letter, orbit.driven, orbit.question.begin

    def options(self, value: float) -> dict[str, Any]:
        """The options of a run at a value of the parameter."""
        given: dict[str, Any] = {
            "inputs": dict(self.question.inputs or {}), "parameters": dict(self.question.parameters or {})
        }  # fmt: skip
        given["parameters" if self.letter == "p" else "inputs"][self.name] = value
        return {"rtol": 1e-10, "atol": 1e-12, **self.question.options, **given}

    def start(self, x: np.ndarray) -> dict[str, Any]:
        """A start by name."""
        return self.unknowns.start(x)

    def rate(self, x: np.ndarray, value: float) -> np.ndarray:
        """x' at a point, from the equations."""
        options = self.options(value)
        here = {"t": self.begin, **self.start(x)}
        vectors = read_point(self.problem.system, here, options["inputs"] or None, options["parameters"] or None)
        return np.asarray(complete_point(self.problem.system, vectors)[0].vectors["xdot"])[: len(self.labels)]

    # -- the walk ----------------------------------------------------------------------------------------------

    def first(self, orbit: PeriodicOrbit, value: float, direction: float) -> OrbitBranch:
        """The branch from an orbit at a value of the parameter."""
        x = first_values(self.unknowns, self.question.model, orbit.begun, orbit.trajectory)
        rows = [np.abs(np.asarray(orbit.trajectory[label], dtype=float)).max() for label in self.labels]
        sizes = np.maximum(rows, 1e-3 * self.problem.nominal)
        equations = ShootingEquations(self, np.append(x, value), orbit.period, sizes)
        Y = equations.joined(x, orbit.period, value)
        along = np.zeros(len(Y))
        along[-1] = direction
        point = self.curve(equations).through(Y, along)  # type: ignore[arg-type]
        return self.walk(self._step(equations, point), ("by shooting, through events and clocks",))

    def _step(self, equations: ShootingEquations, point: CurvePoint) -> OrbitStep:
        orbit = equations.split(point.unknowns)
        own: Any = equations
        return OrbitStep(own, orbit, point, equations.multipliers(orbit))

    def prepared(self, step: OrbitStep) -> OrbitStep | str:
        """The same orbit with its own phase as the reference."""
        own: Any = step.equations
        if self.driven:
            return step
        fresh = ShootingEquations(self, step.point.unknowns, own.period, own.size_x)
        point = self.curve(fresh).through(step.point.unknowns, step.point.tangent)  # type: ignore[arg-type]
        return OrbitStep(fresh, step.orbit, point, step.multipliers)  # type: ignore[arg-type]

    def switched(self, special: SpecialOrbit) -> OrbitBranch:
        """The branch that crosses at a special orbit: twice the period, or the same period."""
        step: OrbitStep = special._step
        own: Any = step.equations
        doubling = special.kind == "period doubling"
        Y = step.point.unknowns
        own(Y)
        direction = own.direction_of(-1.0 if doubling else 1.0)
        period = step.orbit.period * (2 if doubling else 1)
        equations = ShootingEquations(self, Y, period, own.size_x)
        base = equations.joined(Y[: equations.n], period, float(Y[-1]))
        along = equations.joined(direction, 0.0, 0.0)
        curve = self.curve(equations)  # type: ignore[arg-type]
        point = self.entered(curve, base, along, equations.sizes(base, self.width))
        if point is not None:
            told = f"begins at {special.sentence[0].lower()}{special.sentence[1:]}"
            return self.walk(self._step(equations, point), (told,))
        raise SolverError(
            f"The branch that crosses at {self.name} = {special.parameter:.6g} could not be entered.",
            because="Newton's method falls back onto the first one from every distance tried.",
            remedy="dd.branch of an orbit on it: dd.periodic(m, start=..., period=...)",
        )


def check_shooting(orbit: PeriodicOrbit) -> None:
    """Refuse what a branch by shooting does not take: constraints beside events."""
    system = orbit.trajectory.system
    given: Mapping[str, Any] = orbit.question.inputs or {}
    if system.constrains_start:
        raise InputError(
            f"The orbits of {system.name!r} cannot be followed.",
            [f"it has constraints, and events or conditions{' or inputs that are signals' if given else ''}"],
            because="collocation does not support jumps, and shooting does not support constraints.",
            remedy="dd.periodic for each value of the parameter",
        )
