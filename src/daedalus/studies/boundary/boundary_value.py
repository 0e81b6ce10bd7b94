"""`dd.boundary_value(m, (0, 1), conditions)`: motions that obey conditions at several times, by collocation.

Between mesh points the states are polynomials that obey the equations at Gauss points (see `collocation`). The mesh is
refined where the equations are missed between these points, and the result is compared with one on half the steps
before it is called a success. Where Newton's method does not converge from the guess, a curve is followed from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from daedalus._core import IntervalSearch
from daedalus.algebra.damped_newton import (
    SMALLEST_DAMPING,
    SOLVED,
    STALLED,
    TOLERANCE,
    Equations,
    Root,
    damped_newton,
)
from daedalus.algebra.newton_record import new_record
from daedalus.algebra.rank_decision import NOT_ZERO, SINGULAR
from daedalus.analysis.points.operating_point import read_point
from daedalus.deadline import poll
from daedalus.differentiation.differentiable_system import flowing_system
from daedalus.errors import InputError, SolverError
from daedalus.model.model import Model, as_system
from daedalus.model.names import counted, listed
from daedalus.model.plain_numbers import plain_array, plain_number, result_at
from daedalus.model.system.system import System
from daedalus.model.values import check_mapping, flat_values
from daedalus.simulation.inputs.read_inputs import read_inputs
from daedalus.simulation.noise.without_noise import refuse_noise
from daedalus.simulation.run.request import read_span
from daedalus.studies.boundary.boundary_conditions import read_conditions
from daedalus.studies.boundary.boundary_solution import BoundarySolution
from daedalus.studies.branches.curve import LARGEST_TURN, ImplicitCurve, next_length
from daedalus.studies.collocation import STAGES, Collocation, MeshValues, cut
from daedalus.studies.interval_matrix import WIDE, IntervalMatrix

# Intervals of the first mesh: more of them where a coarse one has no solution near the guess.
FIRST_INTERVALS, MOST_INTERVALS, MOST_REFINEMENTS = (8, 40), 4000, 30
# What an interval misses goes with the fifth power of its length (U. M. Ascher, R. M. M. Mattheij and R. D. Russell,
# Numerical Solution of Boundary Value Problems for ODEs, 1995, section 9.3). Intervals are halved, since large misses
# say little of shorter steps, until no interval needs more than three halvings: these are made at once, in as many
# pieces as miss by half a tolerance. A motion is compared with one on steps of half the length at most.
POWER, LAST_PIECES = 5, 2**3
NEARLY = 0.5 * 2**POWER
# Steps of Newton's method at most, and the scaled residual of what is solved.
MOST_STEPS, SOLVES = 60, 1e-6


def boundary_value(
    model: Model | System,
    span: float | tuple[float, float],
    conditions: Callable[[Callable[[float], Mapping[str, Any]]], Sequence[Any]],
    guess: Mapping[str, object] | None = None,
    free: Mapping[str, float] | None = None,
    inputs: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
    rtol: float = 1e-6,
    atol: float = 1e-9,
) -> BoundarySolution:
    """Solve a boundary value problem: find a motion that satisfies conditions at any times of a span.

    Parameters
    ----------
    model: an ODE or a DAE up to index 3, which is reduced first.
    span: (begin, end).
    conditions: a function of `at`, where `at(t)` returns the states at a time, and the free parameters, as symbols by
        name. The expressions that it returns are driven to zero: `lambda at: [at(0)["y"], at(1)["y"] - 1]`.
    guess: numbers or functions of time by name; by default the model's start.
    free: parameters to solve for, with their guesses.
    inputs: numbers or functions of time by name. parameters: values by name over those of the model.
    rtol, atol: the tolerances of the solution.

    Raises an InputError if the number of conditions is wrong, and a SolverError if Newton's method does not converge or
    the mesh would become too large.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("string"); y = m.state("y", start=0.0, rate=1.0); k = m.parameter("k", 3.0)
    >>> m.equation(m.der(m.der(y)), -k**2 * y)
    >>> sol = dd.boundary_value(
    ...     m, (0, 1), lambda at: [at(0)["y"], at(1)["y"], at(0)["y_dot"] - 1], free={"k": 3.0}
    ... )
    >>> round(sol["k"], 7)
    3.1415927
    """
    begin, end = read_span(span)
    if not end > begin:
        raise InputError(
            "The span of a boundary value problem goes from an earlier time to a later one.",
            f"got {begin:g} to {end:g}",
            because="conditions are taken at times of the span, in any order.",
            remedy="dd.boundary_value(m, (0.0, 1.0), ...)",
        )
    for name, tolerance, usual in (("rtol", rtol, "1e-6"), ("atol", atol, "1e-9")):
        if isinstance(tolerance, bool) or not isinstance(tolerance, (int, float, np.number)) or not tolerance > 0:
            raise InputError(f"{name} must be a positive number.", f"got {tolerance!r}"[:80], remedy=f"{name}={usual}")
    refuse_noise(as_system(model), "dd.boundary_value", inputs)
    return _BoundaryCollocation(model, (begin, end), conditions, free, inputs, parameters).solved(guess, rtol, atol)


class _BoundaryCollocation:
    """The equations of all collocation points and conditions as one sparse system."""

    def __init__(
        self, model: Model | System, span: tuple[float, float], conditions: Callable[..., Any],
        free: Mapping[str, float] | None, inputs: Mapping[str, object] | None, parameters: Mapping[str, object] | None,
    ) -> None:  # fmt: skip
        self.span = span
        model, inputs = _driven(model, inputs, span)
        parameters = check_mapping(parameters, "parameters")
        self.system = system = flowing_system(model)
        if system.events:
            raise InputError(
                "A boundary value problem does not support events.",
                f"the model has {listed([event.name for event in system.events])}",
                because="polynomials between mesh points cannot jump.",
                remedy="dd.simulate, or a model without events",
            )
        self.collocation = Collocation(system, inputs)
        self.n = system.sizes["x"]
        self.free = {
            name: plain_number(value, f"The guess of {name}", "") for name, value in check_mapping(free, "free").items()
        }
        entries = [(name, system.place(name)) for name in self.free]
        wrong = [name for name, place in entries if place.letter != "p" or len(place.positions) != 1]
        if wrong:
            raise InputError(
                f"{listed(wrong)} is not a parameter of one number.",
                because="free= names parameters that are solved for.",
                remedy='free={"lam": 1.0}',
            )
        self._at_p = [int(place.positions[0]) for _, place in entries]
        known = {**parameters, **self.free}
        self.p = np.array(read_point(system, None, None, known)["p"])
        names = dict(zip(self._at_p, self.free))
        self.conditions = read_conditions(conditions, system, as_system(model).name, span, names, self.p)

    # -- solving -----------------------------------------------------------------------------------------------

    def solved(self, guess: Mapping[str, object] | None, rtol: float, atol: float) -> BoundarySolution:
        """The solution from the coarsest first mesh that leads to one."""
        failures = []
        for count in FIRST_INTERVALS:
            found = self._refined(count, guess, rtol, atol)
            if isinstance(found, BoundarySolution):
                return found
            failures.append(found)
        raise failures[-1]

    def _refined(
        self, count: int, guess: Mapping[str, object] | None, rtol: float, atol: float
    ) -> BoundarySolution | SolverError:
        """The mesh refined until the equations hold between the points, then compared with half the steps."""
        mesh = self._mesh(np.linspace(*self.span, count + 1))
        unknowns = self._first(mesh, guess)
        iterations, before, agrees = 0, None, False
        for _ in range(MOST_REFINEMENTS):
            root = self._newton(mesh, unknowns)
            if isinstance(root, SolverError):
                return root
            unknowns, iterations = root.values, iterations + root.iterations
            p = unknowns[len(unknowns) - len(self.free) :]
            misses = self.collocation.misses(mesh, unknowns, self._whole(p), rtol, atol)
            if before is not None:
                error = self._difference(*before, mesh, unknowns)
                agrees = error <= max(10 * rtol, 1e-12)
                if agrees and np.max(misses) <= 1:
                    values = self.collocation.split(unknowns, len(mesh) - 1)[0]
                    return BoundarySolution(
                        self.collocation, mesh, values, self._whole(p), list(self.free), error,
                        float(np.max(misses)) * rtol, iterations,
                    )  # fmt: skip
            wanted = np.ceil((2 * np.nan_to_num(misses, nan=np.inf)) ** (1 / POWER))
            most = LAST_PIECES if np.max(wanted) <= LAST_PIECES else 2
            pieces = np.where(misses <= 1, 1, np.clip(wanted, 2, most))
            if np.max(misses) <= NEARLY and not agrees:
                pieces *= 2
            before = (mesh, unknowns) if agrees or np.all(pieces > 1) else None
            finer = cut(mesh, pieces)
            if len(finer) > MOST_INTERVALS:
                break
            unknowns, mesh = np.concatenate([self.collocation.moved(mesh, unknowns, finer), p]), finer
        raise SolverError(
            f"The boundary value problem of {self.system.name!r} needs more than {MOST_INTERVALS} intervals.",
            f"{counted(len(mesh) - 1, 'interval')} miss the equations by {np.max(misses):.2g} tolerances",
            because="the solution has layers that the mesh does not resolve, or there is none."
            if np.max(misses) > 1
            else "finer meshes lead to other solutions: the conditions jump, or hold for many motions.",
            remedy="a larger rtol, a better guess=, or an easier problem first whose solution is the guess",
        )

    def _mesh(self, mesh: np.ndarray) -> np.ndarray:
        return np.unique(np.concatenate([mesh, self.conditions.times]))

    def _first(self, mesh: np.ndarray, guess: Mapping[str, object] | None) -> np.ndarray:
        """Guesses at mesh and collocation points as one vector."""
        N, s, system = len(mesh) - 1, STAGES, self.system
        x = np.tile(system.default_start, (N + 1, 1))
        z = np.tile(np.nan_to_num(system.start["z"]), (N * s, 1))
        for name, value in check_mapping(guess, "guess").items():
            place = system.place(name)
            if place.letter not in ("x", "z"):
                raise InputError(f"{name} is neither a state nor an algebraic variable.", remedy="free= for parameters")
            target, times = (x, mesh) if place.letter == "x" else (z, self.collocation.points(mesh).ravel())
            for k, t in enumerate(times):
                here = result_at(value, float(t), name, "a number, or a function of time") if callable(value) else value
                finite = np.all(np.isfinite(plain_array(here, f"The guess of {name}", place.unit)))
                target[k, place.positions] = flat_values(place, here, "guess") if finite else np.nan
            if not np.all(np.isfinite(target[:, place.positions])):
                raise InputError(
                    f"The guess of {name} is not finite everywhere.",
                    because="Newton's method begins with these values.",
                    remedy=f'guess={{"{name}": 0.0}}, or a function of time that returns numbers',
                )
        rates = np.repeat(np.diff(x, axis=0) / np.diff(mesh)[:, None], s, axis=0)
        values = MeshValues(x, rates.reshape(N, s, -1), z.reshape(N, s, -1))
        return np.concatenate([self.collocation.joined(values), list(self.free.values())])

    def _whole(self, p: np.ndarray) -> np.ndarray:
        """All parameters, with the free ones put in."""
        whole = self.p.copy()
        whole[self._at_p] = p
        return whole

    def _newton(self, mesh: np.ndarray, unknowns: np.ndarray) -> Root | SolverError:
        N = len(mesh) - 1
        values, p = self.collocation.split(unknowns, N)
        size_x = np.maximum(np.abs(values.x).max(axis=0), self.system.nominal["x"])
        size_x = np.where(size_x > 0, size_x, 1.0)
        size_z = np.where(self.system.nominal["z"] > 0, self.system.nominal["z"], 1.0)
        inner = np.tile(np.concatenate([size_x / (self.span[1] - self.span[0]), size_z]), STAGES)
        sizes = np.tile(np.concatenate([size_x, inner]), N)
        nominal = np.concatenate([sizes, size_x, np.maximum(np.abs(p), 1e-3)])
        root = self._root(mesh, unknowns, nominal)
        if not root.converged or root.worst > SOLVES:
            reached = root_by_continuation(lambda v: self._equations(mesh, v)[:2], unknowns, nominal)
            if reached is not None:
                root = self._root(mesh, reached, nominal)
        if not root.converged or root.worst > SOLVES:
            return SolverError(
                f"The boundary value problem of {self.system.name!r} was not solved.",
                f"{counted(root.iterations, 'iteration')} on {counted(N, 'interval')}, largest scaled residual "
                f"{root.worst:.2g}",
                because="neither Newton's method nor continuation from the guess led to a solution, or there is none.",
                remedy="guess={...} with numbers or functions of time, and better guesses in free=",
            )
        return root

    def _root(self, mesh: np.ndarray, guess: np.ndarray, nominal: np.ndarray) -> Root:
        inner = self.collocation.height - self.n

        def begun() -> IntervalSearch:
            nodes, columns = self._places(mesh)
            u = self.collocation.driven(self.collocation.points(mesh).ravel())
            own = self.conditions.own
            return IntervalSearch(
                self.collocation.kernel, mesh, guess, u, self.p, self._at_p, own.code.core, self.conditions.numbers,
                nodes.tolist(), (own.rows.tolist(), columns[own.columns].tolist()), nominal, LIMITS,
            )  # fmt: skip

        return motion_on_mesh(begun, lambda v: self._equations(mesh, v), guess, nominal, inner, MOST_STEPS)

    def _places(self, mesh: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The mesh points of the conditions, and where what they take stands among all unknowns."""
        N, n, width, k = len(mesh) - 1, self.n, self.collocation.width, len(self.free)
        nodes = np.searchsorted(mesh, self.conditions.times)
        last = N * width + n
        return nodes, np.concatenate([(nodes[:, None] * width + np.arange(n)).ravel(), np.arange(last, last + k)])

    def _equations(self, mesh: np.ndarray, unknowns: np.ndarray) -> tuple[np.ndarray, Any, np.ndarray]:
        """All rows, their Jacobian, and their sizes."""
        N, n, width, inner = len(mesh) - 1, self.n, self.collocation.width, self.collocation.height - self.n
        p = unknowns[N * width + n :]
        rows = self.collocation.intervals(mesh, unknowns, self._whole(p), moved={"p": self._at_p})
        tail = np.zeros((N, inner + n, len(p)))
        tail[:, :inner] = rows.by_moved.reshape(N, inner, len(p))
        nodes, columns = self._places(mesh)
        at_ends, slopes = self.conditions(unknowns[columns[: len(nodes) * n]], p)
        ends = np.zeros((len(at_ends), len(unknowns)))
        ends[self.conditions.own.rows, columns[self.conditions.own.columns]] = slopes
        matrix = IntervalMatrix(rows.block, tail, ends, inner)
        scale = matrix.row_sizes() * max(1.0, float(np.abs(unknowns).max(initial=0.0)))
        return np.concatenate([rows.residual.ravel(), at_ends]), matrix, np.where(scale > 0, scale, 1.0)

    def _difference(self, old: np.ndarray, coarse: np.ndarray, mesh: np.ndarray, unknowns: np.ndarray) -> float:
        """The largest difference from a solution on half the steps, in shares of the sizes of the states."""
        values, p = self.collocation.split(unknowns, len(mesh) - 1)
        before, p_old = self.collocation.split(coarse, len(old) - 1)
        sizes = np.maximum(np.abs(before.x).max(axis=0), NOT_ZERO)
        gap = float(np.max(np.abs(values.x[np.searchsorted(mesh, old)] - before.x) / sizes))
        return max(gap, float(np.max(np.abs(p - p_old) / np.maximum(np.abs(p), NOT_ZERO), initial=0.0)))


def _driven(
    model: Model | System, inputs: Mapping[str, object] | None, span: tuple[float, float]
) -> tuple[System, dict[str, object]]:
    """The system with expressions in place of inputs, and values of all other inputs: numbers or functions of time."""
    given = check_mapping(inputs, "inputs")
    closed, drive = read_inputs(as_system(model), given, span)
    left = {v.name: closed.place(v.name) for v in closed.of_kind("input")}
    kept = {name: value for name, value in given.items() if callable(value) and name.split("[")[0] in left}
    held = {name: drive.constants[place.positions].reshape(place.shape, order="F") for name, place in left.items()}
    return closed, {**held, **kept}


# Newton's method for a motion on a mesh: by the core where its matrices are safely regular.


# What the core decides by.
LIMITS = np.array([TOLERANCE, STALLED, SMALLEST_DAMPING, 1 / SINGULAR])


def motion_on_mesh(
    begun: Callable[[], IntervalSearch], equations: Equations, guess: np.ndarray, nominal: np.ndarray, inner: int,
    limit: int,
) -> Root:  # fmt: skip
    """The root near a guess. begun: the search of the core; inner: unknowns inside of an interval."""
    found = None if inner > WIDE else _by_the_core(begun(), limit)
    return damped_newton(equations, guess, nominal, limit=limit) if found is None else found


def _by_the_core(search: IntervalSearch, limit: int) -> Root | None:
    """The root that the core finds; None where it does not converge, or a matrix is nearly singular."""
    if not search.begin():
        return None
    record = new_record("residual", SOLVED)
    if record is not None:
        record.at(search.values, search.scaled)
    for iteration in range(limit):
        poll("a root of the equations")
        outcome = search.advance()
        if outcome not in ("advanced", "converged"):
            return None
        if record is not None:
            record.at(search.values, search.scaled, search.damping)
        if outcome == "converged":
            values, scaled = search.values, search.scaled
            return Root(values, scaled, scaled, np.zeros((len(values), 0)), iteration, True, np.zeros_like(values))
    return None


# -- a root by continuation --------------------------------------------------------------------------------------------
#
# A root of F(v) = 0 along a curve from the guess v₀: F(v) - (1 - s) F(v₀) = 0 from s = 0 to s = 1, through folds.
#
# E. L. Allgower and K. Georg, Introduction to Numerical Continuation Methods, 2003, section 11.6.

# Steps in lengths of the curve: the first, the largest and the smallest one, and how many there may be.
FIRST, LARGEST, SMALLEST, MOST = 1e-2, 0.5, 1e-6, 400


def root_by_continuation(
    equations: Callable[[np.ndarray], tuple[np.ndarray, Any]], guess: np.ndarray, sizes: np.ndarray
) -> np.ndarray | None:
    """A root of F, reached from a guess along a curve; None where the curve does not come to one.

    equations: v -> F (N,) and ∂F/∂v (N, N), full or with a method `with_column`. sizes: of the unknowns, (N,).

    Example
    -------
    >>> import numpy as np
    >>> def far(v):               # Newton's method leaves for infinity from 3
    ...     return np.arctan(v), np.diag(1 / (1 + v**2))
    >>> bool(abs(root_by_continuation(far, np.array([3.0]), np.ones(1))[0]) < 1e-9)
    True
    """
    first, _ = equations(guess)
    if not np.all(np.isfinite(first)):
        return None

    def homotopy(Y: np.ndarray) -> tuple[np.ndarray, Any]:
        residual, matrix = equations(Y[:-1])
        wide = matrix.with_column(first) if hasattr(matrix, "with_column") else np.column_stack([matrix, first])
        return residual - (1 - Y[-1]) * first, wide

    curve = ImplicitCurve(homotopy, lambda Y: np.append(np.maximum(sizes, np.abs(Y[:-1])), 1.0))
    along = np.zeros(len(guess) + 1)
    along[-1] = 1.0
    point, length = curve.through(np.append(guess, 0.0), along), FIRST
    for _ in range(MOST):
        poll("a root of the equations")
        after = curve.step(point, length)
        if after is None or after.turn < LARGEST_TURN:
            length /= 2
            if length < SMALLEST:
                return None
            continue
        if after.unknowns[-1] >= 1.0:
            share = (1.0 - point.unknowns[-1]) / (after.unknowns[-1] - point.unknowns[-1])
            last = curve.corrected(point.unknowns + share * (after.unknowns - point.unknowns), along, along)
            if last is not None:
                root: np.ndarray = last.unknowns[:-1]
                return root
            length /= 2
            continue
        point, length = after, next_length(after, length, LARGEST)
    return None
