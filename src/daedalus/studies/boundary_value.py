"""`dd.boundary_value(m, (0, 1), conditions)`: motions that obey conditions at several times, by collocation.

Between mesh points the states are polynomials that obey the equations at Gauss points (see `collocation`). The mesh is
refined where the equations are missed between these points, and the result is compared with one on half the steps
before it is called a success.

Where Newton's method does not converge from the guess v₀, v₀ solves F(v) - (1 - s) F(v₀) = 0 at s = 0; the curve
through it is followed to s = 1, through folds (E. L. Allgower and K. Georg, Introduction to Numerical Continuation
Methods, 2003, section 11.6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.damped_newton import damped_newton
from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.analysis.points.operating_point import read_point
from daedalus.compilation import compile_function
from daedalus.deadline import poll
from daedalus.differentiation.differentiable_system import flowing_system
from daedalus.errors import InputError, SolverError
from daedalus.model.expressions import concatenate, is_inequality, is_logical, split_equalities
from daedalus.model.model import Model, as_system
from daedalus.model.names import counted, listed
from daedalus.model.plain_numbers import result_at
from daedalus.model.system.system import System
from daedalus.simulation.run.request import read_span
from daedalus.studies.boundary_solution import BoundarySolution
from daedalus.studies.branches.curve import LARGEST_TURN, ImplicitCurve, next_length
from daedalus.studies.collocation import STAGES, Collocation, MeshValues, cut
from daedalus.studies.interval_matrix import IntervalMatrix

FIRST_INTERVALS, MOST_INTERVALS, MOST_REFINEMENTS = 8, 4000, 30
# An interval that misses by more than this many tolerances is cut in three, by less in two.
FAR = 100.0
# Steps of Newton's method at most, and the scaled residual of what is solved.
MOST_STEPS, SOLVES = 60, 1e-6


# Steps in lengths of the curve: the first, the largest and the smallest one, and how many there may be.
FIRST, LARGEST, SMALLEST, MOST = 1e-2, 0.5, 1e-6, 400


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
    return _BoundaryCollocation(model, read_span(span), conditions, free, inputs, parameters).solved(guess, rtol, atol)


class _BoundaryCollocation:
    """The equations of all collocation points and conditions as one sparse system."""

    def __init__(
        self, model: Model | System, span: tuple[float, float], conditions: Callable[..., Any],
        free: Mapping[str, float] | None, inputs: Mapping[str, object] | None, parameters: Mapping[str, object] | None,
    ) -> None:  # fmt: skip
        self.span = span
        self.system = system = flowing_system(model)
        if system.events:
            raise InputError(
                "A boundary value problem does not support events.",
                f"the model has {listed([event.name for event in system.events])}",
                because="polynomials between mesh points cannot jump.",
                remedy="dd.simulate, or a model without events",
            )
        self.collocation = Collocation(system, inputs or {})
        self.n = system.sizes["x"]
        self.free = {name: float(value) for name, value in (free or {}).items()}
        entries = [(name, system.place(name)) for name in self.free]
        wrong = [name for name, place in entries if place.letter != "p" or len(place.positions) != 1]
        if wrong:
            raise InputError(
                f"{listed(wrong)} is not a parameter of one number.",
                because="free= names parameters that are solved for.",
                remedy='free={"lam": 1.0}',
            )
        self.at_p = np.array([int(place.positions[0]) for _, place in entries], dtype=int)
        self._at_p = self.at_p.tolist()
        known = {**dict(parameters or {}), **self.free}
        self.p = np.array(read_point(system, None, None, known)["p"])
        self._read_conditions(conditions, as_system(model))

    # -- conditions --------------------------------------------------------------------------------------------

    def _read_conditions(self, conditions: Callable[..., Any], written: System) -> None:
        if not callable(conditions):
            raise InputError(
                "The conditions are not a function.",
                f"got {type(conditions).__name__}: {conditions!r}",
                because="they are written with the states at times of the span, which the function receives.",
                remedy="lambda at: [at(0)['y'], at(1)['y'] - 1], a list of what is zero",
            )
        system, symbols = self.system, dict[float, ca.SX]()
        p = ca.SX.sym("p", len(self.free))
        begin, end = self.span

        def at(t: float) -> _StatesAt:
            time = float(t)
            if not begin - 1e-12 <= time <= end + 1e-12:
                raise InputError(
                    f"t = {time:g} is outside of the span.",
                    f"the span is {begin:g} to {end:g}",
                    remedy="conditions at times of the span",
                )
            x = symbols.setdefault(min(max(time, begin), end), ca.SX.sym(f"x{len(symbols)}", self.n))
            return _StatesAt(system, x, dict(zip(self.free, ca.vertsplit(p) if self.free else [])), written.name)

        rows = conditions(at)
        rows = [rows] if isinstance(rows, ca.SX) else list(rows)
        expression = concatenate([_zero(row) for row in rows]) if rows else ca.SX(0, 1)
        self.kept = 0
        if system.has_invariants:
            # What the reduced equations keep holds everywhere when it holds in the beginning.
            x0 = symbols.setdefault(begin, ca.SX.sym("x_begin", self.n))
            kept = concatenate(list(system.invariants.values()))
            kept = ca.substitute(kept, system.symbol("x"), x0)
            kept = ca.substitute(kept, system.symbol("p"), self._parameters(p))
            kept = ca.substitute(kept, system.symbol("t"), ca.SX(begin))
            self.kept = int(kept.numel())
            expression = ca.vertcat(expression, kept)
        wanted, given = self.n + len(self.free), int(expression.numel())
        if given != wanted:
            raise InputError(
                f"{counted(wanted - self.kept, 'condition')} needed, {given - self.kept} given.",
                [
                    f"{counted(self.n, 'state')}, {counted(len(self.free), 'free parameter')}",
                    *([f"{counted(self.kept, 'condition')} from the constraints of the model"] if self.kept else []),
                ],
                because="each state and each free parameter needs one.",
                remedy="one condition for each of them",
            )
        self.times = np.array(sorted(symbols))
        every = ca.vertcat(*(symbols[t] for t in self.times))
        unknowns = ca.vertcat(every, p)
        slopes = ca.jacobian(expression, unknowns)
        self._own_rows, self._own_columns = (np.array(part, dtype=int) for part in slopes.sparsity().get_triplet())
        self.rows = compile_function(ca.Function("conditions", [every, p], [ca.densify(expression), slopes]))

    def _parameters(self, p: ca.SX) -> ca.SX:
        whole = ca.SX(ca.DM(self.p))
        for k, position in enumerate(self.at_p.tolist()):
            whole[position] = p[k]
        return whole

    # -- solving -----------------------------------------------------------------------------------------------

    def solved(self, guess: Mapping[str, object] | None, rtol: float, atol: float) -> BoundarySolution:
        """Refine the mesh until the equations hold between the points, then compare with half the steps."""
        mesh = self._mesh(np.linspace(*self.span, FIRST_INTERVALS + 1))
        unknowns = self._first(mesh, guess)
        iterations, before = 0, None
        for _ in range(MOST_REFINEMENTS):
            unknowns, count = self._newton(mesh, unknowns)
            iterations += count
            values, p = self.collocation.split(unknowns, len(mesh) - 1)
            misses = self.collocation.misses(mesh, values, self._whole(p), rtol, atol)
            if before is not None:
                error = self._difference(*before, mesh, unknowns)
                if error <= max(10 * rtol, 1e-12) and np.max(misses) <= 1:
                    return BoundarySolution(
                        self.collocation, mesh, values, self._whole(p), list(self.free), error,
                        float(np.max(misses)) * rtol, iterations,
                    )  # fmt: skip
            before = (mesh, unknowns) if np.max(misses) <= 1 else None
            finer = cut(mesh, 2 if before else np.where(misses <= 1, 1, np.where(misses > FAR, 3, 2)))
            if len(finer) > MOST_INTERVALS:
                break
            moved = self.collocation.joined(self.collocation.moved(mesh, values, finer))
            unknowns, mesh = np.concatenate([moved, p]), finer
        raise SolverError(
            f"The boundary value problem of {self.system.name!r} needs more than {MOST_INTERVALS} intervals.",
            f"{counted(len(mesh) - 1, 'interval')} miss the equations by {np.max(misses):.2g} tolerances",
            because="the solution has layers that the mesh does not resolve, or there is none.",
            remedy="a larger rtol, a better guess=, or an easier problem first whose solution is the guess",
        )

    def _mesh(self, mesh: np.ndarray) -> np.ndarray:
        return np.unique(np.concatenate([mesh, self.times]))

    def _first(self, mesh: np.ndarray, guess: Mapping[str, object] | None) -> np.ndarray:
        """Guesses at mesh and collocation points as one vector."""
        N, s, system = len(mesh) - 1, STAGES, self.system
        x = np.tile(np.nan_to_num(system.start["x"]), (N + 1, 1))
        z = np.tile(np.nan_to_num(system.start["z"]), (N * s, 1))
        for name, value in (guess or {}).items():
            place = system.place(name)
            if place.letter not in ("x", "z"):
                raise InputError(f"{name} is neither a state nor an algebraic variable.", remedy="free= for parameters")
            target, times = (x, mesh) if place.letter == "x" else (z, self.collocation.points(mesh).ravel())
            for k, t in enumerate(times):
                here = result_at(value, float(t), name, "a number, or a function of time") if callable(value) else value
                target[k, place.positions] = np.asarray(here, dtype=float).ravel(order="F")
        rates = np.repeat(np.diff(x, axis=0) / np.diff(mesh)[:, None], s, axis=0)
        values = MeshValues(x, rates.reshape(N, s, -1), z.reshape(N, s, -1))
        return np.concatenate([self.collocation.joined(values), list(self.free.values())])

    def _whole(self, p: np.ndarray) -> np.ndarray:
        """All parameters, with the free ones put in."""
        whole = self.p.copy()
        whole[self.at_p] = p
        return whole

    def _newton(self, mesh: np.ndarray, unknowns: np.ndarray) -> tuple[np.ndarray, int]:
        N = len(mesh) - 1
        values, p = self.collocation.split(unknowns, N)
        size_x = np.maximum(np.abs(values.x).max(axis=0), self.system.nominal["x"])
        size_x = np.where(size_x > 0, size_x, 1.0)
        size_z = np.where(self.system.nominal["z"] > 0, self.system.nominal["z"], 1.0)
        steps = np.tile(size_x / (self.span[1] - self.span[0]), (N, STAGES, 1))
        sizes = MeshValues(np.tile(size_x, (N + 1, 1)), steps, np.tile(size_z, (N, STAGES, 1)))
        nominal = np.concatenate([self.collocation.joined(sizes), np.maximum(np.abs(p), 1e-3)])
        root = damped_newton(lambda v: self._equations(mesh, v), unknowns, nominal, limit=MOST_STEPS)
        if not root.converged or root.worst > SOLVES:
            reached = root_by_continuation(lambda v: self._equations(mesh, v)[:2], unknowns, nominal)
            if reached is not None:
                root = damped_newton(lambda v: self._equations(mesh, v), reached, nominal, limit=MOST_STEPS)
        if not root.converged or root.worst > SOLVES:
            raise SolverError(
                f"The boundary value problem of {self.system.name!r} was not solved.",
                f"{counted(root.iterations, 'iteration')} on {counted(N, 'interval')}, largest scaled residual "
                f"{root.worst:.2g}",
                because="neither Newton's method nor continuation from the guess led to a solution, or there is none.",
                remedy="guess={...} with numbers or functions of time, and better guesses in free=",
            )
        return root.values, root.iterations

    def _equations(self, mesh: np.ndarray, unknowns: np.ndarray) -> tuple[np.ndarray, Any, np.ndarray]:
        """All rows, their Jacobian, and their sizes."""
        N, n, width, inner = len(mesh) - 1, self.n, self.collocation.width, self.collocation.height - self.n
        p = unknowns[N * width + n :]
        rows = self.collocation.intervals(mesh, unknowns, self._whole(p), moved={"p": self._at_p})
        last = N * width + n
        tail = np.zeros((N, inner + n, len(p)))
        tail[:, :inner] = rows.by_moved.reshape(N, inner, len(p))
        nodes = np.searchsorted(mesh, self.times)
        columns = np.concatenate([(nodes[:, None] * width + np.arange(n)).ravel(), np.arange(last, last + len(p))])
        at_ends, slopes = self.rows(unknowns[columns[: len(nodes) * n]], p)
        ends = np.zeros((len(at_ends), len(unknowns)))
        ends[self._own_rows, columns[self._own_columns]] = slopes
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


def _zero(row: Any) -> ca.SX:
    """A condition as what is zero: `a == b` is `a - b`; other comparisons are refused."""
    if isinstance(row, bool):
        raise InputError(
            "A condition is True or False.",
            because="a comparison of numbers says nothing about the solution.",
            remedy='at(0)["y"] - 1',
        )
    entries = split_equalities(ca.SX(row))[0]
    if any(is_inequality(entry) or is_logical(entry) for entry in entries):
        raise InputError(
            "A condition is an inequality.",
            because="a boundary value problem has as many equations as unknowns.",
            remedy='at(0)["y"] - 1, which is zero at the solution',
        )
    return concatenate(entries)


class _StatesAt(Mapping[str, ca.SX]):
    """The states at one time as symbols by name, and the free parameters."""

    def __init__(self, system: System, x: ca.SX, free: Mapping[str, ca.SX], name: str) -> None:
        self._system, self._x, self._free, self._name = system, x, free, name

    def __getitem__(self, name: str) -> ca.SX:
        if name in self._free:
            return self._free[name]
        place = self._system.place(name)
        if place.letter != "x":
            raise InputError(
                f"{name} cannot be used in a condition.",
                f"the states of {self._name!r} are {listed(list(self._system.labels['x']))}",
                because="conditions are written in states and free parameters.",
                remedy="what it follows from, or a state for it",
            )
        values = self._x[place.positions.tolist()]
        return ca.reshape(values, *place.shape) if len(place.shape) == 2 else values

    def __iter__(self) -> Iterator[str]:
        return iter((*(name for name, place in self._system.places.items() if place.letter == "x"), *self._free))

    def __len__(self) -> int:
        return sum(1 for _ in self)


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
