"""`dd.boundary_value(m, (0, 1), conditions)`: motions that obey conditions at several times, by collocation.

Between mesh points the states are polynomials that obey the equations at Gauss points, which makes mesh values accurate
to order eight with four of them (U. M. Ascher, J. Christiansen and R. D. Russell, ACM TOMS 7, 1981; U. M. Ascher and L.
R. Petzold, Computer Methods for ODEs and DAEs, 1998, chapters 8 and 10). The mesh is refined where the equations are
missed between these points, and the result is compared with one on half the steps before it is called a success.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.damped_newton import damped_newton
from daedalus.analysis.points.operating_point import read_point
from daedalus.analysis.points.partial_derivatives import full_matrix, partial_derivatives
from daedalus.compilation import compile_function
from daedalus.differentiation.differentiable_system import flowing_system
from daedalus.errors import InputError, SolverError
from daedalus.integrators.tableaux.collocation import gauss_legendre
from daedalus.model.expressions import concatenate
from daedalus.model.model import Model, as_system
from daedalus.model.names import counted, listed
from daedalus.model.plain_numbers import result_at
from daedalus.model.system.system import LETTERS, System
from daedalus.simulation.run.request import read_span
from daedalus.studies.boundary_solution import STAGES, BoundarySolution, lagrange

FIRST_INTERVALS, MOST_INTERVALS, MOST_REFINEMENTS = 8, 4000, 14
# Where in an interval the equations are tried, between the points where they hold.
TRIED = (0.02, 0.2, 0.5, 0.8, 0.98)
# An interval that misses by more than this many tolerances is cut in three, by less in two.
FAR = 100.0


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
        self.span, self.inputs = span, dict(inputs or {})
        self.system = system = flowing_system(model)
        if system.events:
            raise InputError(
                "A boundary value problem does not support events.",
                f"the model has {listed([event.name for event in system.events])}",
                because="polynomials between mesh points cannot jump.",
                remedy="dd.simulate, or a model without events",
            )
        self.n, self.m = system.sizes["x"], system.sizes["z"]
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
        known = {**dict(parameters or {}), **self.free}
        self.p = np.array(read_point(system, None, None, known)["p"])
        self.derivatives = partial_derivatives(system)
        self._read_conditions(conditions, as_system(model))
        table = gauss_legendre(STAGES)
        self.A, self.b, self.c = (np.asarray(part, dtype=float) for part in (table.A, table.b, table.c))

    # -- conditions --------------------------------------------------------------------------------------------

    def _read_conditions(self, conditions: Callable[..., Any], written: System) -> None:
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
        expression = concatenate([ca.SX(row) for row in rows]) if rows else ca.SX(0, 1)
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
                f"{given - self.kept} conditions were given, {wanted - self.kept} are needed.",
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
        self.pattern = slopes.sparsity()
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
        values = self._first(mesh, guess)
        iterations, before = 0, None
        for _ in range(MOST_REFINEMENTS):
            values, count = self._newton(mesh, values)
            iterations += count
            misses, x = self._misses(mesh, values, rtol, atol)
            sizes = np.maximum(np.abs(x).max(axis=0), 1e-300)
            if before is not None:
                error = self._difference(before, mesh, values)
                if error <= max(10 * rtol, 1e-12) and np.max(misses) <= 1:
                    return self._solution(mesh, values, error, float(np.max(misses)) * rtol, iterations)
            if np.max(misses) <= 1:
                before = (mesh, values, sizes)
                finer = np.sort(np.concatenate([mesh, 0.5 * (mesh[1:] + mesh[:-1])]))
            else:
                before = None
                pieces = np.where(misses <= 1, 1, np.where(misses > FAR, 3, 2))
                parts = [np.linspace(a, b, k + 1)[:-1] for a, b, k in zip(mesh[:-1], mesh[1:], pieces)]
                finer = np.append(np.concatenate(parts), mesh[-1])
            if len(finer) > MOST_INTERVALS:
                break
            values, mesh = self._moved(mesh, values, finer), finer
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
            target, times = (x, mesh) if place.letter == "x" else (z, self._points(mesh).ravel())
            for k, t in enumerate(times):
                here = result_at(value, float(t), name, "a number, or a function of time") if callable(value) else value
                target[k, place.positions] = np.asarray(here, dtype=float).ravel(order="F")
        rates = np.repeat(np.diff(x, axis=0) / np.diff(mesh)[:, None], s, axis=0)
        return self._joined(x, rates.reshape(N, s, self.n), z.reshape(N, s, self.m), np.array(list(self.free.values())))

    def _points(self, mesh: np.ndarray) -> np.ndarray:
        return mesh[:-1, None] + np.diff(mesh)[:, None] * self.c

    def _joined(self, x: np.ndarray, rates: np.ndarray, z: np.ndarray, p: np.ndarray) -> np.ndarray:
        inner = np.concatenate([rates, z], axis=2).reshape(len(rates), -1)
        return np.concatenate([np.concatenate([x[:-1], inner], axis=1).ravel(), x[-1], p])

    def _split(self, values: np.ndarray, N: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        n, width = self.n, self.n + STAGES * (self.n + self.m)
        block = values[: N * width].reshape(N, width)
        inner = block[:, n:].reshape(N, STAGES, n + self.m)
        rest = values[N * width :]
        return np.vstack([block[:, :n], rest[:n]]), inner[:, :, :n], inner[:, :, n:], rest[n:]

    def _vectors(
        self, times: np.ndarray, rates: np.ndarray, x: np.ndarray, z: np.ndarray, p: np.ndarray
    ) -> list[np.ndarray]:
        count = len(times)
        whole = self.p.copy()
        whole[self.at_p] = p
        u = np.zeros((count, self.system.sizes["u"]))
        for name, value in self.inputs.items():
            place = self.system.place(name)
            for k, t in enumerate(times):
                here = result_at(value, float(t), name, "a number, or a function of time") if callable(value) else value
                u[k, place.positions] = np.asarray(here, dtype=float).ravel(order="F")
        parts = {"t": times[:, None], "xdot": rates, "x": x, "z": z, "u": u, "p": np.tile(whole, (count, 1))}
        return [np.ascontiguousarray(parts[letter]) for letter in ("t", *LETTERS)]

    def _evaluated(self, vectors: list[np.ndarray]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        function, patterns = self.derivatives._equations
        value, *nonzeros = function.core.evaluate_many(*vectors)
        return value, dict(zip(LETTERS, map(full_matrix, patterns, nonzeros)))

    def _newton(self, mesh: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, int]:
        N = len(mesh) - 1
        x, _, _, p = self._split(values, N)
        size_x = np.maximum(np.abs(x).max(axis=0), self.system.nominal["x"])
        size_x = np.where(size_x > 0, size_x, 1.0)
        size_z = np.where(self.system.nominal["z"] > 0, self.system.nominal["z"], 1.0)
        steps = np.tile(size_x / (self.span[1] - self.span[0]), (N, STAGES, 1))
        nominal = self._joined(
            np.tile(size_x, (N + 1, 1)), steps, np.tile(size_z, (N, STAGES, 1)), np.maximum(np.abs(p), 1e-3)
        )
        root = damped_newton(lambda v: self._equations(mesh, v), values, nominal, limit=60)
        if not root.converged or root.worst > 1e-6:
            raise SolverError(
                f"The boundary value problem of {self.system.name!r} was not solved.",
                f"{counted(root.iterations, 'iteration')} on {counted(N, 'interval')}, largest scaled residual "
                f"{root.worst:.2g}",
                because="Newton's method does not converge from the guess, or there is no solution.",
                remedy="guess={...} with numbers or functions of time, and better guesses in free=",
            )
        return root.values, root.iterations

    def _equations(self, mesh: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, Any, np.ndarray]:
        """All rows, their sparse Jacobian, and their sizes."""
        from scipy.sparse import coo_matrix

        N, s, n, m = len(mesh) - 1, STAGES, self.n, self.m
        h, width = np.diff(mesh), n + STAGES * (n + m)
        x, rates, z, p = self._split(values, N)
        inside = x[:-1, None, :] + h[:, None, None] * np.einsum("jl,iln->ijn", self.A, rates)
        vectors = self._vectors(
            self._points(mesh).ravel(), rates.reshape(N * s, n), inside.reshape(N * s, n), z.reshape(N * s, m), p
        )
        residual, slopes = self._evaluated(vectors)
        q = n + m
        residual = residual.reshape(N, s, -1)
        by = {letter: slope.reshape(N, s, q, -1) for letter, slope in slopes.items()}
        # Rows of an interval: those of the points, then x_{i+1} = x_i + h Σ b K; unknowns: x_i, (K, z) of each point.
        block = np.zeros((N, s * q + n, width + n))
        for j in range(s):
            rows = slice(j * q, (j + 1) * q)
            block[:, rows, :n] = by["x"][:, j]
            for k in range(s):
                first = n + k * q
                block[:, rows, first : first + n] = h[:, None, None] * self.A[j, k] * by["x"][:, j]
            first = n + j * q
            block[:, rows, first : first + n] += by["xdot"][:, j]
            block[:, rows, first + n : first + q] = by["z"][:, j]
        eye = np.eye(n)
        block[:, s * q :, :n] = eye
        block[:, s * q :, width:] = -eye
        for k in range(s):
            first = n + k * q
            block[:, s * q :, first : first + n] = h[:, None, None] * self.b[k] * eye
        joins = x[:-1] + h[:, None] * np.einsum("l,iln->in", self.b, rates) - x[1:]
        height = s * q + n
        rows_of = np.broadcast_to(
            (np.arange(N) * height)[:, None, None] + np.arange(height)[None, :, None], block.shape
        )
        columns_of = np.broadcast_to(
            (np.arange(N) * width)[:, None, None] + np.arange(width + n)[None, None, :], block.shape
        )
        there = block != 0
        data, where, which = [block[there]], [rows_of[there]], [columns_of[there]]
        last = N * width + n
        if len(self.at_p):
            own = by["p"][:, :, :, self.at_p].reshape(N, s * q, -1)
            rows_p = np.broadcast_to(
                (np.arange(N) * height)[:, None, None] + np.arange(s * q)[None, :, None], own.shape
            )
            columns_p = np.broadcast_to(last + np.arange(own.shape[2])[None, None, :], own.shape)
            data, where, which = [*data, own.ravel()], [*where, rows_p.ravel()], [*which, columns_p.ravel()]
        nodes = np.searchsorted(mesh, self.times)
        ends, entries = self.rows(x[nodes].ravel(), p)
        own_rows, own_columns = (np.asarray(part) for part in self.pattern.get_triplet())
        columns = np.concatenate([np.concatenate([k * width + np.arange(n) for k in nodes]), last + np.arange(len(p))])
        data, where = [*data, entries], [*where, N * height + own_rows]
        which = [*which, columns[own_columns]]
        total = N * height + len(ends)
        matrix = coo_matrix(
            (np.concatenate(data), (np.concatenate(where), np.concatenate(which))), (total, len(values))
        ).tocsc()
        everything = np.concatenate([residual.reshape(N, -1), joins], axis=1).ravel()
        whole = np.concatenate([everything, ends])
        scale = abs(matrix).max(axis=1).toarray().ravel() * max(1.0, float(np.abs(values).max(initial=0.0)))
        return whole, matrix, np.where(scale > 0, scale, 1.0)

    # -- errors and meshes -------------------------------------------------------------------------------------

    def _misses(self, mesh: np.ndarray, values: np.ndarray, rtol: float, atol: float) -> tuple[np.ndarray, np.ndarray]:
        """For every interval, by how many tolerances its step misses the equations between the Gauss points."""
        N, h = len(mesh) - 1, np.diff(mesh)
        x, rates, z, p = self._split(values, N)
        shares = np.array(TRIED)
        polynomial, integral = lagrange(shares)
        between = np.einsum("ts,isn->itn", polynomial, rates)
        inside = x[:-1, None] + h[:, None, None] * np.einsum("ts,isn->itn", integral, rates)
        algebraic = np.einsum("ts,ism->itm", polynomial, z)
        times = mesh[:-1, None] + h[:, None] * shares
        n, m = self.n, self.m
        k = times.size
        residual, slopes = self._evaluated(
            self._vectors(times.ravel(), between.reshape(k, n), inside.reshape(k, n), algebraic.reshape(k, m), p)
        )
        matrix = np.concatenate([slopes["xdot"], slopes["z"]], axis=2)
        try:
            off = np.linalg.solve(matrix, residual[..., None])[:, :n, 0]
        except np.linalg.LinAlgError:
            off = np.array([np.linalg.lstsq(a, r, rcond=None)[0][:n] for a, r in zip(matrix, residual)])
        off = np.abs(off.reshape(N, len(shares), n)) * h[:, None, None]
        sizes = np.abs(x).max(axis=0)
        allowed = atol + rtol * np.maximum(np.abs(inside), 1e-3 * sizes)
        return (off / allowed).max(axis=(1, 2)), x

    def _moved(self, mesh: np.ndarray, values: np.ndarray, finer: np.ndarray) -> np.ndarray:
        """The same solution on another mesh."""
        N = len(mesh) - 1
        x, rates, z, p = self._split(values, N)

        def looked(times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            k = np.clip(np.searchsorted(mesh, times, side="right") - 1, 0, N - 1)
            h = np.diff(mesh)[k]
            polynomial, integral = lagrange((times - mesh[k]) / h)
            at = x[k] + h[:, None] * np.einsum("ts,tsn->tn", integral, rates[k])
            slope = np.einsum("ts,tsn->tn", polynomial, rates[k])
            return at, slope, np.einsum("ts,tsm->tm", polynomial, z[k])

        points = self._points(finer)
        _, slope, algebraic = looked(points.ravel())
        shape = (len(finer) - 1, STAGES)
        return self._joined(looked(finer)[0], slope.reshape(*shape, self.n), algebraic.reshape(*shape, self.m), p)

    def _difference(
        self, before: tuple[np.ndarray, np.ndarray, np.ndarray], mesh: np.ndarray, values: np.ndarray
    ) -> float:
        """The largest difference from a solution on half the steps, in shares of the sizes of the states."""
        old, coarse, sizes = before
        x, _, _, p = self._split(values, len(mesh) - 1)
        x_old, _, _, p_old = self._split(coarse, len(old) - 1)
        common = np.searchsorted(mesh, old)
        gap = float(np.max(np.abs(x[common] - x_old) / sizes))
        return max(gap, float(np.max(np.abs(p - p_old) / np.maximum(np.abs(p), 1e-300), initial=0.0)))

    def _solution(
        self, mesh: np.ndarray, values: np.ndarray, error: float, residual: float, iterations: int
    ) -> BoundarySolution:
        x, rates, z, p = self._split(values, len(mesh) - 1)
        whole = self.p.copy()
        whole[self.at_p] = p
        return BoundarySolution(self.system, mesh, x, rates, z, whole, list(self.free), error, residual, iterations)


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
