"""The start of the sensitivities: how consistent start values move with what the user varies.

Start values obey c(t, x, u, p) = 0 (constraints left by a reduction, unit quaternions). With J = ∂c/∂x and a right
inverse B of J that moves as little as possible,

    P = I - B J           a start value is varied along the constraints: S = P
    -B c_p                parameters (and inputs) carry the start along
    -B c''[V_j, V_k]      the second derivative of the start that goes along the tangent and is put back by B

Little is measured in the norm of the mass matrix where the model has one, in nominal values otherwise, and over states
that were written: those that a reduction made follow. Positions move first, by their own constraints; then velocities,
with positions held. In that norm P is the orthogonal projector onto the tangent space of each (P.-A. Absil, J. Malick,
Projection-like retractions on matrix manifolds, SIAM J. Optim. 22, 2012, for the second derivative). Parameters and
inputs move only what was not given where the constraints let given values stay, just as a start is found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daedalus.algebra.agreement import HALF_OF_DIGITS
from daedalus.algebra.rank_decision import SINGULAR
from daedalus.analysis.structure.jets.jet_search import MassMetric
from daedalus.differentiation.case import Case
from daedalus.differentiation.directions import Directions
from daedalus.initialisation.mass_metric import is_mass, mass_blocks, of_positions
from daedalus.initialisation.written_states import written_states
from daedalus.model.expressions import concatenate
from daedalus.model.lazy_values import cached_property
from daedalus.model.mechanics.mechanics_part import motion_or_none
from daedalus.model.mechanics.motion_functions import MotionFunctions
from daedalus.model.model import Model, as_system
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import ExplicitForm

Point = tuple[float, np.ndarray, np.ndarray, np.ndarray]  # t, x, u, p


@dataclass(frozen=True, eq=False)
class TangentStart:
    """S and W at the start, the projector P (n, n), the right inverse B (n, invariants) and the norm in words.

    kept: P; None where nothing constrains the start, and P is the identity. inverse: B of the second derivatives, which
        moves only what was not given where that is enough.
    """

    S: np.ndarray
    W: np.ndarray
    kept: np.ndarray | None
    inverse: np.ndarray
    metric: str

    @property
    def projector(self) -> np.ndarray:
        """P, (n, n), made anew each time."""
        return np.eye(len(self.S)) if self.kept is None else self.kept.copy()


def tangent_start(case: Case, directions: Directions, order: int) -> TangentStart:
    """The sensitivities of the consistent start of a case."""
    moves = StartMoves(case.model, case.system, case.form, case.given)
    return moves.at((case.t0, case.x0, case.u0, case.p), directions, order)


def start_pulled_back(case: Case, directions: Directions, weights: np.ndarray) -> np.ndarray:
    """Sᵀ weights (n,), one number for each direction; a start that is free needs no matrix for it."""
    if case.system.invariants:
        return weights @ tangent_start(case, directions, 1).S
    found = np.zeros(directions.count)
    found[directions.columns("x")] = weights[list(directions.x)]
    return found


class StartMoves:
    """How consistent starts of a system move, at any of them; what its expressions are is found once.

    given: which states were given at the start, (n,) bool.
    """

    def __init__(self, model: Model | System, system: System, form: ExplicitForm, given: np.ndarray) -> None:
        self.system, self._form, self._given = system, form, given
        self.motion = _motion(model, system) if system.invariants else None
        self._functions: dict[int, ca.Function] = {}  # by order

    def at(self, point: Point, directions: Directions, order: int = 1) -> TangentStart:
        """The sensitivities of a start (t, x, u, p)."""
        d, n, m = directions, len(point[1]), directions.count
        pairs = np.triu_indices(m) if order == 2 else (np.zeros(0, int), np.zeros(0, int))
        if not self.system.invariants:
            S = np.zeros((n, m))
            S[list(d.x), np.arange(len(d.x))] = 1.0
            return TangentStart(S, np.zeros((n, len(pairs[0]))), None, np.zeros((n, 0)), "no constraints")
        slopes, *bends = (part.full() for part in self._derivatives(order).call([ca.DM(value) for value in point]))
        B, metric = self._right_inverse(slopes[:, :n], point)
        projector = np.eye(n) - B @ slopes[:, :n]
        held = self._moving_guesses(slopes[:, :n])
        V = _varied(slopes, B, held, d, len(point[2]))
        if _is_inverse(slopes[:, :n], held):
            B = held
        W = np.zeros((n, len(pairs[0])))
        if order == 2:
            W = -B @ np.array([(V.T @ bend @ V)[pairs] for bend in bends]).reshape(len(bends), -1)
        return TangentStart(V[:n].copy(), W, projector, B, metric)

    def many(self, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray, directions: Directions) -> np.ndarray:
        """S of many starts at one time, (starts, n, m); x, u and p have a row for each."""
        n = x.shape[1]
        slopes = of_all(self._derivatives(1), np.full((len(x), 1), t), x, u, p)
        metric = self._metrics(np.full((len(x), 1), t), x, u, p)
        if metric is None:
            return np.stack([self.at((t, *own), directions).S for own in zip(x, u, p)])
        J = slopes[:, :, :n]
        B = _staged(self.system, J, self.stages, metric)
        found = _varied(slopes, B, self._moving_guesses(J), directions, u.shape[1])[:, :n]
        left, most = (np.abs(part).max(axis=(1, 2), initial=0.0) for part in (J - J @ B @ J, J))
        for k in np.flatnonzero(~(left <= HALF_OF_DIGITS * most)).tolist():
            found[k] = self.at((t, x[k], u[k], p[k]), directions).S
        return found

    def _metrics(self, t: np.ndarray, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> MassMetric | None:
        """The norm at many starts; None where they have to be looked at one by one."""
        motion, system = self.motion, self.system
        if motion is None:
            return MassMetric()
        if any(motion.system.labels[letter] != system.labels[letter] for letter in "up"):
            return None
        labels = system.labels["x"]
        q, v, other = (
            np.array([labels.index(name) for name in own], dtype=int)
            for own in (motion.positions, motion.velocities, motion.other_labels)
        )
        arguments = (t, x[:, q], x[:, v], u, p, x[:, other])
        mass, rates = of_all(motion.M, *arguments), of_all(motion.N, *arguments)
        if not (np.isfinite(mass).all() and np.isfinite(rates).all()):
            return None
        blocks = [(places, (m + m.swapaxes(1, 2)) / 2) for places, m in ((q, of_positions(mass, rates)), (v, mass))]
        return MassMetric(tuple(blocks)) if all(is_mass(matrix).all() for _, matrix in blocks) else None

    @cached_property
    def _kept(self) -> ca.SX:
        """What a start keeps at zero."""
        return self._form.applied(self.system, concatenate(self.system.invariants.values()))

    @cached_property
    def stages(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """(rows of c, columns of x) in the order in which they are satisfied."""
        pattern = ca.DM(ca.jacobian_sparsity(self._kept, self.system.symbol("x")), 1).full()
        return _stages(self.system, self.motion, np.array(pattern, dtype=bool))

    def _derivatives(self, order: int) -> ca.Function:
        """∂c/∂(x, u, p) and, at second order, the Hessian of every row of c."""
        if order not in self._functions:
            arguments = self.system.symbols(("t", "x", "u", "p"))
            v, kept = ca.vertcat(*arguments[1:]), self._kept
            hessians = [ca.hessian(kept[i], v)[0] for i in range(kept.numel())] if order == 2 else []
            self._functions[order] = ca.Function("invariants", arguments, [ca.jacobian(kept, v), *hessians])
        return self._functions[order]

    def _right_inverse(self, J: np.ndarray, point: Point) -> tuple[np.ndarray, str]:
        """B with J B J = J that moves least: positions first, then the rest; all together where that does not work."""
        t0, x0, u0, p = point
        system, motion = self.system, self.motion
        if motion is not None and motion.M.size1_in(3) != len(u0):
            u0 = np.zeros(motion.M.size1_in(3))  # a closed loop has fewer inputs, and masses do not depend on them
        vectors = {
            "t": np.array([t0]),
            "x": x0,
            "u": u0,
            "p": p,
            "xdot": np.zeros(len(x0)),
            "z": np.zeros(system.sizes["z"]),
        }
        blocks = mass_blocks(motion, system, vectors) if motion else []
        metric = MassMetric(tuple(blocks))
        words = "mass matrix" if blocks else "nominal values"
        B = _staged(system, J, self.stages, metric)
        if not _is_inverse(J, B):
            B = _staged(system, J, [(np.arange(len(J)), np.arange(len(x0)))], metric)
        return B, words

    def _moving_guesses(self, J: np.ndarray) -> np.ndarray:
        """A right inverse that moves only states that were not given, as far as these are enough."""
        open_ = np.flatnonzero(~self._given)
        B = np.zeros((*J.shape[:-2], J.shape[-1], J.shape[-2]))
        if len(open_):
            spread = np.diag(self.system.nominal["x"][open_])
            B[..., open_, :] = _least_inverse(J[..., open_], spread, written_states(self.system)[open_])
        return B


def _varied(slopes: np.ndarray, B: np.ndarray, held: np.ndarray, d: Directions, inputs: int) -> np.ndarray:
    """∂(x, u, p)/∂θ at a start, or at a stack of them, from ∂c/∂(x, u, p) and right inverses of ∂c/∂x.

    held: moves only what was not given.
    """
    n = B.shape[-2]
    J, V = slopes[..., :n], np.zeros((*slopes.shape[:-2], slopes.shape[-1], d.count))
    first = d.columns("u").start
    V[..., n + np.array(d.u, dtype=int), np.arange(first, first + len(d.u))] = 1.0
    parameters = d.columns("p")
    V[..., n + inputs + np.array(d.p, dtype=int), np.arange(parameters.start, parameters.stop)] = 1.0
    right = slopes @ V
    moved = -held @ right
    lost = np.abs(right + J @ moved).max(axis=-2) > HALF_OF_DIGITS * np.abs(right).max(axis=-2, initial=0.0)
    V[..., :n, :] = np.where(lost[..., None, :], -B @ right, moved)
    V[..., :n, d.columns("x")] = (np.eye(n) - B @ J)[..., list(d.x)]
    return V


def of_all(function: ca.Function, *columns: np.ndarray) -> np.ndarray:
    """The first output of a function at many points, (points, rows, columns); a row of every argument for each."""
    found = function.call([ca.DM(np.ascontiguousarray(part.T)) for part in columns])[0].full()
    return found.reshape(len(found), len(columns[0]), -1).transpose(1, 0, 2)


def _is_inverse(J: np.ndarray, B: np.ndarray) -> bool:
    return bool(np.abs(J - J @ B @ J).max(initial=0.0) <= HALF_OF_DIGITS * np.abs(J).max(initial=0.0))


def _motion(model: Model | System, system: System) -> MotionFunctions | None:
    """The mechanics of the model where it has any, and its names are those of the system that runs."""
    motion = motion_or_none(as_system(model))
    if motion is None:
        return None
    names = set(system.labels["x"])
    fits = {*motion.positions, *motion.velocities, *motion.other_labels} <= names
    same = motion.M.size1_in(3) == system.sizes["u"] or motion.M.jac_sparsity(0, 3).nnz() == 0
    return motion if fits and same else None


def _stages(system: System, motion: MotionFunctions | None, pattern: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """(rows of c, columns of x) in the order in which they are satisfied."""
    n = pattern.shape[1]
    if motion is not None:
        labels = system.labels["x"]
        positions = np.array([labels.index(name) for name in motion.positions], dtype=int)
    else:
        # Constraints on positions are those whose derivative is kept as well.
        levels = {row.level for row in system.invariant_rows}
        above = [k for k, row in enumerate(system.invariant_rows) if replace(row, times=row.times + 1).level in levels]
        positions = np.flatnonzero(pattern[above].any(axis=0))
    others = np.setdiff1d(np.arange(n), positions)
    on_positions = ~pattern[:, others].any(axis=1)
    return [(np.flatnonzero(on_positions), positions), (np.flatnonzero(~on_positions), others)]


def _staged(
    system: System, J: np.ndarray, stages: list[tuple[np.ndarray, np.ndarray]], metric: MassMetric
) -> np.ndarray:
    sizes, written = system.nominal["x"], written_states(system)
    *stack, count, n = J.shape
    B = np.zeros((*stack, n, count))
    for rows, columns in stages:
        if not len(rows) or not len(columns):
            continue
        spread = metric.spread(columns, sizes[columns])
        spread = np.diag(spread) if spread.ndim == 1 else spread
        own = _least_inverse(J[..., rows[:, None], columns], spread, written[columns])
        wanted = np.eye(count)[rows] - J[..., rows, :] @ B
        B[..., columns, :] += own @ wanted
    return B


def _least_inverse(J: np.ndarray, spread: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """A right inverse with the smallest change of the columns that count; the others follow from them."""
    if counts.all() or not counts.any():
        return spread @ np.linalg.pinv(J @ spread, rcond=SINGULAR)
    (yes,), (no,) = np.nonzero(counts), np.nonzero(~counts)
    *stack, count, n = J.shape
    other = spread[..., no[:, None], no]
    follow = other @ np.linalg.pinv(J[..., no] @ other, rcond=SINGULAR)
    rest = np.eye(count) - J[..., no] @ follow  # what only the columns that count can do
    own = spread[..., yes[:, None], yes]
    first = own @ np.linalg.pinv(rest @ J[..., yes] @ own, rcond=SINGULAR) @ rest
    found = np.zeros((*stack, n, count))
    found[..., yes, :], found[..., no, :] = first, follow @ (np.eye(count) - J[..., yes] @ first)
    return found
