"""The equations of a periodic orbit by collocation, in its values, its period and one parameter.

The phase of an autonomous orbit is held by the integral condition ∫ x_ref' · (x - x_ref) dt = 0 (E. J. Doedel, H. B.
Keller and J. P. Kernévez, Int. J. Bifurcation and Chaos 1, 1991). Of a driven orbit the period is that of the drive:
F(t + T) = F(t) in the least-squares sense. What the equations keep (constraints of a reduced model) holds at the
beginning, and the closing condition gets one multiplier for each kept quantity, which is zero on an orbit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO, leading_rows
from daedalus.analysis.points.complete_point import Entry
from daedalus.compilation import compile_function
from daedalus.model.expressions import concatenate
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.system import System
from daedalus.studies.collocation import STAGES, Collocation, IntervalRows, MeshValues, cut
from daedalus.studies.interval_matrix import IntervalMatrix

# Motions beside an orbit over an interval and over its halves are the same to this share; where they are not, the
# interval is cut in so many pieces, so many times: rates beyond that decay within a piece, and their motions with them.
AGREE, PIECES, MOST_CUTS = 1e-4, 4, 3


class OrbitProblem:
    """What an orbit is searched for: the system, its numbers, and the parameter or input that moves."""

    def __init__(
        self, system: System, inputs: Mapping[str, object], u: np.ndarray, p: np.ndarray, entry: Entry | None,
        driven: bool, begin: float,
    ) -> None:  # fmt: skip
        self.system, self.entry, self.driven, self.begin = system, entry, driven, begin
        self.u, self.p = u, p
        self.collocation = Collocation(system, inputs)
        # A function of time as an input has no period that a parameter could move.
        self.fixed_drive = any(callable(value) for value in inputs.values())
        nominal = system.nominal["x"]
        self.nominal = np.where(nominal > 0, nominal, 1.0)

    def numbers(self, a: float) -> tuple[np.ndarray, dict[int, float]]:
        """All parameters and the held inputs, with the moved one put in."""
        p, held = self.p.copy(), dict(enumerate(self.u.tolist()))
        for name, value in self.collocation.inputs.items():
            if callable(value):
                for k in self.system.place(name).positions.tolist():
                    del held[k]
        if self.entry is not None:
            if self.entry[0] == "p":
                p[self.entry[1]] = a
            else:
                held[self.entry[1]] = a
        return p, held

    # -- kept quantities ---------------------------------------------------------------------------------------

    @cached_property
    def _kept(self) -> Any:
        system = self.system
        arguments = system.symbols()
        rows = concatenate(list(system.invariants.values()))
        moved = system.symbol(self.entry[0])[self.entry[1]] if self.entry is not None else ca.SX.sym("nothing")
        slopes = [ca.densify(ca.jacobian(rows, symbol)) for symbol in (system.symbol("x"), moved)]
        return compile_function(ca.Function("kept", arguments, [ca.densify(rows), *slopes]))

    def kept(self, x: np.ndarray, a: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Kept quantities at the beginning, (k,), and their derivatives by x, (k, n), and by the parameter, (k,)."""
        n = len(x)
        if not self.system.has_invariants:
            return np.zeros(0), np.zeros((0, n)), np.zeros(0)
        p, held = self.numbers(a)
        z = np.zeros((1, self.system.sizes["z"]))
        vectors = self.collocation.vectors(np.array([self.begin]), np.zeros((1, n)), x[None], z, p, held)
        value, by_x, by_a = self._kept(*(np.ravel(vector) for vector in vectors))
        return np.ravel(value), np.reshape(by_x, (n, -1)).T, np.ravel(by_a)

    def independent(self, x: np.ndarray, a: float) -> np.ndarray:
        """Positions of kept quantities that are independent there."""
        _, by_x, _ = self.kept(x, a)
        return np.array(sorted(leading_rows(by_x * self.nominal, "what is kept")[0]), dtype=int)

    # -- the drive ---------------------------------------------------------------------------------------------

    @cached_property
    def _drive(self) -> Any:
        system, T = self.system, ca.SX.sym("T")
        t = system.symbol("t")
        arguments = system.symbols()
        moved = system.symbol(self.entry[0])[self.entry[1]] if self.entry is not None else ca.SX.sym("nothing")
        now, slope = system.residual, ca.jacobian(system.residual, moved)
        later = ca.substitute([now, slope, ca.jacobian(now, t)], [t], [t + T])
        rows = [ca.densify(value) for value in (later[0] - now, later[1] - slope, later[2])]
        return compile_function(ca.Function("drive", [*arguments, T], rows))

    def drive_row(self, vectors: list[np.ndarray], T: float) -> tuple[float, float] | None:
        """By how much the period has to change so that the drive has it, and how that depends on the parameter."""
        periods = np.full((len(vectors[0]), 1), T)
        gap, by_a, rate = self._drive.core.evaluate_many(*vectors, periods)
        weight = float(np.sum(rate**2))
        if weight <= 1e-20 * float(np.sum(vectors[1] ** 2)) or not np.isfinite(weight):
            return None
        return float(np.sum(rate * gap)) / weight, float(np.sum(rate * by_a)) / weight


@dataclass(frozen=True, eq=False)
class OrbitValues:
    """An orbit on a mesh of shares of its period, with its period, the multipliers of what is kept, the parameter."""

    mesh: np.ndarray
    values: MeshValues
    period: float
    closing: np.ndarray
    parameter: float


class OrbitEquations:
    """The rows of an orbit on one mesh; unknowns are those of the collocation, the period, multipliers, parameter.

    The phase is held by x' of the reference, or by rates that are given in its place.
    """

    def __init__(self, problem: OrbitProblem, reference: OrbitValues, rates: np.ndarray | None = None) -> None:
        self.problem, self.mesh, self.reference = problem, reference.mesh, reference
        self.intervals = len(self.mesh) - 1
        self.kept = problem.independent(reference.values.x[0], reference.parameter)
        collocation, n = problem.collocation, problem.collocation.n
        self.at_period = self.intervals * collocation.width + n
        x = reference.values.x
        self.size_x = np.maximum(problem.nominal * 1e-3, np.abs(x).max(axis=0))
        # The phase is held by weights ∫ x_ref'/size²; their sum with x_ref is what it is held at.
        weights = np.diff(self.mesh)[:, None, None] * collocation.b[None, :, None]
        weights = weights * (reference.values.rates if rates is None else rates)
        self._phase = weights / self.size_x**2 * reference.period
        times = self.times(reference.period)
        self._held = float(np.sum(self._phase * collocation.inside(times, reference.values)))

    def times(self, period: float) -> np.ndarray:
        """The mesh in time."""
        return np.asarray(self.problem.begin + period * self.mesh)

    def joined(self, orbit: OrbitValues) -> np.ndarray:
        """All unknowns as one vector."""
        closing = orbit.closing if len(orbit.closing) == len(self.kept) else np.zeros(len(self.kept))
        head = self.problem.collocation.joined(orbit.values)
        return np.concatenate([head, [orbit.period], closing, [orbit.parameter]])

    def split(self, Y: np.ndarray) -> OrbitValues:
        """The orbit that a vector holds."""
        values, rest = self.problem.collocation.split(Y, self.intervals)
        return OrbitValues(self.mesh, values, float(rest[0]), rest[1:-1], float(rest[-1]))

    def sizes(self, Y: np.ndarray, width: float) -> np.ndarray:
        """Lengths in which a step is measured: the mean over the orbit, the period and the parameter count."""
        n, N = self.problem.collocation.n, self.intervals
        share = ((n + 2) / len(Y)) ** 0.25
        orbit = self.split(Y)
        far = 1e9
        x = np.tile(self.size_x * np.sqrt(N + 1) * share, (N + 1, 1))
        rates = np.tile(far * self.size_x / orbit.period, (N, STAGES, 1))
        z = np.full((N, STAGES, self.problem.collocation.m), far)
        head = self.problem.collocation.joined(MeshValues(x, rates, z))
        ends = [orbit.period * share, *np.full(len(self.kept), far), width * share]
        return np.concatenate([head, ends])

    def interval_rows(self, orbit: OrbitValues, unknowns: np.ndarray | None = None) -> IntervalRows:
        """The collocation equations of an orbit; `unknowns` are those of its collocation, where they are at hand."""
        p, held = self.problem.numbers(orbit.parameter)
        head = self.problem.collocation.joined(orbit.values) if unknowns is None else unknowns
        entry = self.problem.entry
        moved = None if entry is None else {entry[0]: [entry[1]]}
        return self.problem.collocation.intervals(self.times(orbit.period), head, p, held, moved)

    def misses(self, orbit: OrbitValues, rtol: float) -> np.ndarray:
        """By how many tolerances each interval misses the equations between the points where they hold."""
        p, held = self.problem.numbers(orbit.parameter)
        head = self.problem.collocation.joined(orbit.values)
        atol = rtol * 1e-2 * np.maximum(np.ptp(orbit.values.x, axis=0), 1e-9 * self.size_x)
        return self.problem.collocation.misses(self.times(orbit.period), head, p, rtol, atol, held)

    def __call__(self, Y: np.ndarray) -> tuple[np.ndarray, IntervalMatrix]:
        """All rows, and their derivatives by all unknowns; there is one unknown more than there are rows."""
        problem, collocation, N = self.problem, self.problem.collocation, self.intervals
        n, k, inner = collocation.n, len(self.kept), STAGES * collocation.rows
        orbit = self.split(Y)
        values, times = orbit.values, self.times(orbit.period)
        rows = self.interval_rows(orbit, Y)
        at_T, at_a, last = self.at_period, len(Y) - 1, self.at_period - n
        # By the period: times and steps grow with it.
        tail = np.zeros((N, collocation.height, k + 2))
        h = np.diff(self.mesh)
        stretched = h[:, None, None] * np.einsum("jl,iln->ijn", collocation.A, values.rates)
        by_T = np.einsum("ijqn,ijn->ijq", rows.by_x, stretched)
        if problem.driven:
            by_T += self._time_slopes(orbit) * collocation.points(self.mesh)[:, :, None]
        tail[:, :inner, 0] = by_T.reshape(N, -1)
        tail[:, inner:, 0] = h[:, None] * np.einsum("l,iln->in", collocation.b, values.rates)
        if problem.entry is not None:
            tail[:, :inner, -1] = rows.by_moved[..., 0].reshape(N, -1)
        # Closing, with a multiplier for everything that is kept.
        kept, by_x, by_a = (part[self.kept] for part in problem.kept(values.x[0], orbit.parameter))
        directions = by_x * self.size_x**2
        directions = directions / np.maximum(np.linalg.norm(directions / self.size_x, axis=1, keepdims=True), NOT_ZERO)
        closes = values.x[-1] - values.x[0] + directions.T @ orbit.closing
        ends = np.zeros((n + k + 1, len(Y)))
        own = np.arange(n)
        ends[own, own], ends[own, last + own] = -1.0, 1.0
        ends[:n, at_T + 1 : at_T + 1 + k] = directions.T
        ends[n : n + k, :n], ends[n : n + k, at_a] = by_x, by_a
        phase = self._phase_row(orbit, times, ends[-1]) if orbit.period > 0 else np.nan
        residual = np.concatenate([rows.residual.ravel(), closes, kept, [phase]])
        return residual, IntervalMatrix(rows.block, tail, ends, inner)

    def _stage_vectors(self, orbit: OrbitValues) -> list[np.ndarray]:
        collocation, times = self.problem.collocation, self.times(orbit.period)
        p, held = self.problem.numbers(orbit.parameter)
        count = self.intervals * STAGES
        x = collocation.inside(times, orbit.values).reshape(count, -1)
        rates, z = orbit.values.rates.reshape(count, -1), orbit.values.z.reshape(count, -1)
        return collocation.vectors(collocation.points(times).ravel(), rates, x, z, p, held)

    def _time_slopes(self, orbit: OrbitValues) -> np.ndarray:
        """∂F/∂t at the Gauss points, (N, stages, rows)."""
        vectors = self._stage_vectors(orbit)
        _, _, rate = self.problem._drive.core.evaluate_many(*vectors, np.zeros((len(vectors[0]), 1)))
        return np.asarray(rate).reshape(self.intervals, STAGES, -1)

    def _phase_row(self, orbit: OrbitValues, times: np.ndarray, row: np.ndarray) -> float:
        """What fixes the phase of an autonomous orbit, or the period of a driven one; its derivatives go into `row`."""
        collocation, N, at_T = self.problem.collocation, self.intervals, self.at_period
        if self.problem.driven:
            row[at_T] = 1.0
            found = None
            if not self.problem.fixed_drive:
                found = self.problem.drive_row(self._stage_vectors(orbit), orbit.period)
            if found is None:
                return orbit.period - self.reference.period
            row[-1] = found[1]
            return found[0]
        by_rates = np.diff(times)[:, None, None] * np.einsum("jl,ijn->iln", collocation.A, self._phase)
        head = row[: N * collocation.width].reshape(N, collocation.width)
        head[:, : collocation.n] = self._phase.sum(axis=1)
        stages = head[:, collocation.n :].reshape(N, STAGES, collocation.rows)
        stages[:, :, : collocation.n] = by_rates
        row[at_T] = float(np.sum(by_rates * orbit.values.rates)) / orbit.period
        return float(np.sum(self._phase * collocation.inside(times, orbit.values))) - self._held

    # -- stability ---------------------------------------------------------------------------------------------

    def transitions(self, orbit: OrbitValues) -> tuple[np.ndarray, np.ndarray]:
        """How x at the end of each interval, (N, n, n), and its inner unknowns depend on x at its beginning."""
        block, n = self.interval_rows(orbit).block, self.problem.collocation.n
        width, inner = self.problem.collocation.width, STAGES * self.problem.collocation.rows
        inside = -np.linalg.solve(block[:, :inner, n:width], block[:, :inner, :n])
        return block[:, inner:, :n] + block[:, inner:, n:width] @ inside, inside

    def monodromy(self, orbit: OrbitValues) -> tuple[np.ndarray, np.ndarray]:
        """The derivative of one period by its beginning, and directions along which a beginning may move."""
        product = np.eye(self.problem.collocation.n)
        for step in self.transitions(orbit)[0]:
            product = step @ product
        _, by_x, _ = self.problem.kept(orbit.values.x[0], orbit.parameter)
        free = np.eye(len(product))
        if len(self.kept):
            matrix = by_x[self.kept] * self.size_x
            free = self.size_x[:, None] * np.linalg.svd(matrix)[2][len(self.kept) :].T
        return product, free

    def multipliers(self, orbit: OrbitValues) -> np.ndarray:
        """Floquet's multipliers, the largest first.

        Motions beside the orbit may part or meet within intervals that are short enough for the orbit itself: these are
        cut until the motions over halves agree with those over wholes.
        """
        for _ in range(MOST_CUTS):
            apart = self._unresolved(orbit)
            if not np.any(apart):
                break
            orbit = on_mesh(self.problem, orbit, cut(orbit.mesh, np.where(apart, PIECES, 1)))
        return self._of(orbit)._own_multipliers(orbit)

    def _of(self, orbit: OrbitValues) -> OrbitEquations:
        return self if np.array_equal(orbit.mesh, self.mesh) else OrbitEquations(self.problem, orbit)

    def _unresolved(self, orbit: OrbitValues) -> np.ndarray:
        """Over which intervals motions beside an orbit are not those over their halves."""
        halved = on_mesh(self.problem, orbit, cut(orbit.mesh, 2))
        scale = self.size_x / self.size_x[:, None]
        whole, halves = (self._of(one).transitions(one)[0] * scale for one in (orbit, halved))
        product = halves[1::2] @ halves[::2]
        apart = np.abs(product - whole).max(axis=(1, 2), initial=0.0)
        return np.asarray(apart > AGREE * np.abs(product).max(axis=(1, 2), initial=0.0))

    def _own_multipliers(self, orbit: OrbitValues) -> np.ndarray:
        across = None if self.problem.driven or len(self.kept) else self._across(orbit)
        if across is not None:
            values = np.append(np.linalg.eigvals(across), 1.0)
            return values.astype(complex)[np.argsort(-np.abs(values), kind="stable")]
        product, free = self.monodromy(orbit)
        values = np.linalg.eigvals(
            np.linalg.pinv(free / self.size_x[:, None]) @ (product @ free / self.size_x[:, None])
        )
        return values.astype(complex)[np.argsort(-np.abs(values), kind="stable")]

    def _across(self, orbit: OrbitValues) -> np.ndarray | None:
        """The map of one period on what is orthogonal to the flow; None where the flow is not determined or at rest.

        It goes from one mesh point to the next: what the steps leave along the flow does not come back into the rest,
        as it would in the product of whole steps where motions beside the orbit part and meet again by large factors.
        """
        p, held = self.problem.numbers(orbit.parameter)
        times, values = self.times(orbit.period), orbit.values
        _, rates, z = values.between(times, times)
        off = self.problem.collocation.corrections(times, rates, values.x, z, p, held)
        flows = (rates - off[:, : values.x.shape[1]]) / self.size_x
        lengths = np.linalg.norm(flows, axis=1)
        if not np.all(np.isfinite(lengths)) or np.any(lengths <= NOT_ZERO):
            return None
        flows[-1] = flows[0]
        frames = [np.linalg.svd(flow[None, :])[2][1:] for flow in flows]
        product = np.eye(len(self.size_x) - 1)
        for step, before, after in zip(self.transitions(orbit)[0], frames, frames[1:]):
            product = after @ (step * self.size_x / self.size_x[:, None]) @ before.T @ product
        return product

    def direction_of(self, orbit: OrbitValues, multiplier: complex) -> MeshValues:
        """The motion beside the orbit that comes back multiplied by a real multiplier, of length one in the sizes."""
        product, free = self.monodromy(orbit)
        scaled = np.linalg.pinv(free / self.size_x[:, None]) @ (product @ free / self.size_x[:, None])
        values, vectors = np.linalg.eig(scaled)
        flow = orbit.values.rates[0, 0] / self.size_x
        order = np.argsort(np.abs(values - multiplier))
        first = (free @ vectors[:, order[0]]).real
        if abs(multiplier - 1) < 0.5 and not self.problem.driven and len(order) > 1:
            # Two multipliers are one: the direction that is not the flow's.
            pair = (free @ vectors[:, order[:2]]).real
            scaled_pair = pair / self.size_x[:, None]
            across = scaled_pair - np.outer(flow, flow @ scaled_pair) / max(float(flow @ flow), NOT_ZERO)
            first = pair[:, int(np.argmax(np.linalg.norm(across, axis=0)))]
        first = first / np.linalg.norm(first / self.size_x)
        steps, inside = self.transitions(orbit)
        x = [first]
        for step in steps:
            x.append(step @ x[-1])
        inner = np.einsum("kij,kj->ki", inside, np.array(x[:-1])).reshape(self.intervals, STAGES, -1)
        n = self.problem.collocation.n
        return MeshValues(np.array(x), inner[:, :, :n], inner[:, :, n:])


def on_mesh(problem: OrbitProblem, orbit: OrbitValues, mesh: np.ndarray) -> OrbitValues:
    """The same orbit on another mesh."""
    times, finer = (problem.begin + orbit.period * part for part in (orbit.mesh, mesh))
    collocation = problem.collocation
    unknowns = collocation.moved(times, collocation.joined(orbit.values), finer)
    moved, _ = collocation.split(unknowns, len(mesh) - 1)
    return OrbitValues(mesh, moved, orbit.period, orbit.closing, orbit.parameter)
