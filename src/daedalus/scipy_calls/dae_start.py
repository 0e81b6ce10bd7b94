"""The start of `solve_dae`: F = 0 and hidden constraints checked, y' computed, y0 moved only where that is allowed.

A traced function is a model, and `dd.initialise` knows its hidden constraints at any index. For a function that is
called as it is, those that one differentiation shows are checked: with N spanning the left null space of ∂F/∂y',

    F = 0,   N' (∂F/∂t + ∂F/∂y y') = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from daedalus.algebra.newton_steps import full_newton
from daedalus.algebra.rank_decision import CENTRAL, KNOWN_BY_DIFFERENCES, null_space
from daedalus.analysis.points.partial_derivatives import full_matrix
from daedalus.errors import InconsistentStartError
from daedalus.initialisation.initialise import initialise
from daedalus.scipy_calls.dae_callbacks import CallbackDae
from daedalus.scipy_calls.dae_model import DaeModel
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.start.implicit_start import ATOL, RTOL, UNMOVED, first_row

# Full steps of Newton's method; they double the digits, or do not converge.
MOST_CORRECTIONS = 25
# y' moves this much more easily than y, which it follows from.
EASE = 100.0


@dataclass(frozen=True)
class GivenStart:
    """Start values as given: y0, y'0 or None, the tolerances of the run, and whether y0 may move."""

    t: float
    y: np.ndarray
    yp: np.ndarray | None
    rtol: float
    atol: np.ndarray
    repair: bool

    @property
    def allowed(self) -> np.ndarray:
        """By how much each component may be off without counting."""
        return np.maximum(UNMOVED * self.size, self.atol + self.rtol * np.abs(self.y))

    @property
    def size(self) -> np.ndarray:
        """What a share of each component counts from."""
        return np.maximum(1.0, np.abs(self.y))

    def allowed_by_index(self, index: np.ndarray, has_derivative: np.ndarray) -> np.ndarray:
        """The same for components of higher index, which a run keeps less well than its tolerances.

        With positions kept to a share ε of their size Radau IIA of two stages, of the orders 3, 2, 1 at index 3, keeps
        velocities to ε^(2/3) and multipliers to ε^(1/3), which move nothing else. So a run may go on from its own end.
        """
        order = np.where(has_derivative, np.maximum(4 - index, 1) / 3, 1 / index)
        return self.size * (self.allowed / self.size) ** order


def traced_start(found: DaeModel, wanted: GivenStart, p: np.ndarray) -> tuple[np.ndarray, str]:
    """A consistent row (y, y'), and what was changed in words."""
    plant, y, t = found.plant, wanted.y, wanted.t
    if wanted.yp is not None and not wanted.repair:
        numeric = numeric_dae(found, p)
        whole, dot = numeric.jacobians(t, y, wanted.yp)
        _check_rate(numeric.residual(t, y, wanted.yp), whole, dot, wanted, lambda: _row(found, wanted, p)[0])
        if plant.index.largest == 1:
            return np.concatenate([y, wanted.yp]), ""
    return _row(found, wanted, p)


def _row(found: DaeModel, wanted: GivenStart, p: np.ndarray) -> tuple[np.ndarray, str]:
    plant, y, t = found.plant, wanted.y, wanted.t
    n = len(y)
    if plant.index.largest == 1:
        guess = np.concatenate([y, np.zeros(n) if wanted.yp is None else wanted.yp])
        row = plant.model.consistent(t, guess, np.zeros(0), p, RTOL, np.full(2 * n, ATOL))
        if row is not None:
            moved = np.abs(row[:n] - y)
            if np.all(moved <= wanted.allowed):
                row[:n] = y
                return row, ""
            if wanted.repair:
                return row, _moved(y, row[:n])
        else:
            # Derivatives occur in fixed combinations only, as voltages across capacitors do.
            row, left = _solved(numeric_dae(found, p), wanted, wanted.allowed, False)
            if left <= 1.0:
                return row, ""
    if wanted.repair:
        # What contradicts what need not be found out.
        row = _nearest(found, wanted, p)
        return row, "" if np.array_equal(row[:n], y) else _moved(y, row[:n])
    try:
        row = first_row(found.model, plant, Drive(np.zeros(0)), {"y": y}, {}, t, p)
        return row, ""
    except InconsistentStartError as error:
        row = _nearest(found, wanted, p)
        has_derivative = ~np.isin(np.arange(n), plant.without_derivative)
        if np.all(np.abs(row[:n] - y) <= wanted.allowed_by_index(plant.index.index, has_derivative)):
            return row, _moved(y, row[:n])
        _refuse(y, row[:n], error.facts[:1] if error.facts else [])


def _nearest(found: DaeModel, wanted: GivenStart, p: np.ndarray) -> np.ndarray:
    """The consistent row near a start of which everything may move."""
    values = dict(zip(found.plant.system.labels["p"], p.tolist()))
    near = initialise(found.model, {"y": wanted.y}, free=["y"], parameters=values, time=wanted.t)
    return np.concatenate([near.vectors["x"], near.vectors["xdot"]])


def numeric_dae(found: DaeModel, p: np.ndarray) -> CallbackDae:
    """A traced F with its exact Jacobians on numbers."""
    plant = found.plant
    residual, jacobian = (function.core for function in plant.functions)
    patterns = plant.patterns
    nothing = np.zeros(0)

    def jacobians(t: float, y: np.ndarray, yp: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values = jacobian(np.array([t]), yp, y, nothing, nothing, p)
        dot, whole = (full_matrix(pattern, entries) for pattern, entries in zip(patterns, values))
        return whole, dot

    def at(t: float, y: np.ndarray, yp: np.ndarray) -> np.ndarray:
        return residual(np.array([t]), yp, y, nothing, nothing, p)[0]

    occurs = [full_matrix(pattern, np.ones(pattern.nnz())) > 0 for pattern in patterns]
    return CallbackDae(at, jacobians, occurs[0], occurs[1], found.structure)


def callback_start(found: CallbackDae, wanted: GivenStart, index: np.ndarray) -> tuple[np.ndarray, str]:
    """The same for a function on numbers, by least squares with the ranks of its Jacobians."""
    t, y = wanted.t, wanted.y
    allowed = wanted.allowed_by_index(index, np.asarray(found.dot.any(axis=0)))
    n = len(y)
    if wanted.yp is not None and not wanted.repair:
        whole, dot = found.sharp(t, y, wanted.yp)
        residual = found.residual(t, y, wanted.yp)
        _check_rate(residual, whole, dot, wanted, lambda: _solved(found, wanted, allowed, False)[0])
        return np.concatenate([y, wanted.yp]), ""
    row, left = _solved(found, wanted, allowed, False)
    if left <= 1.0:
        return np.concatenate([y, row[n:]]), ""
    near, left = _solved(found, wanted, allowed, True)
    if left > 1.0:
        raise InconsistentStartError(
            "No consistent start was found near y0.",
            f"F(t0, y0, yp0) stays at {np.max(np.abs(found.residual(t, near[:n], near[n:]))):.3g}",
            remedy="a y0 that obeys the equations without a derivative",
        )
    if not wanted.repair:
        _refuse(y, near[:n], [])
    return near, _moved(y, near[:n])


def _solved(found: CallbackDae, wanted: GivenStart, allowed: np.ndarray, moves: bool) -> tuple[np.ndarray, float]:
    """A row by Gauss and Newton with the shortest corrections, and what is left in units of what is allowed."""
    t, n = wanted.t, len(wanted.y)
    row = np.concatenate([wanted.y, np.zeros(n) if wanted.yp is None else wanted.yp])
    size, unit = (np.concatenate([wanted.size, np.full(n, ease)]) for ease in (EASE, 1.0))
    left = np.inf

    # Full steps: slopes are differences, whose noise the test of a damped method takes for curvature.
    def correction(row: np.ndarray) -> np.ndarray | None:
        nonlocal left
        y, yp = row[:n], row[n:]
        base = found.residual(t, y, yp)
        whole, dot = found.sharp(t, y, yp)
        kernel = _left_kernel(dot)
        step = CENTRAL * max(1.0, abs(t))
        drift = (found.residual(t + step, y, yp) - found.residual(t - step, y, yp)) / (2 * step)
        values = np.concatenate([base, kernel.T @ (drift + whole @ yp)])
        by_rate = np.vstack([dot, kernel.T @ whole])
        bent = kernel.T @ _change_along(found, t, y, yp) if moves else np.zeros((kernel.shape[1], n))
        by_y = np.vstack([whole if moves else np.zeros((n, n)), bent])
        matrix = np.hstack([by_y, by_rate])
        # Terms of a hidden constraint are as exact as the differences that they come from, however they cancel.
        terms = np.abs(dot) @ np.abs(yp), np.abs(kernel.T) @ (np.abs(drift) + np.abs(whole) @ np.abs(yp))
        slack = np.abs(np.vstack([whole, kernel.T @ whole])) @ allowed + UNMOVED * (1 + np.concatenate(terms))
        left = float(np.max(np.abs(values) / slack))
        # Equations in their own sizes, so that ranks do not depend on units.
        rows = np.max(np.abs(matrix * size), axis=1)
        rows = np.where(rows > 0, rows, 1.0)
        change = size * np.linalg.lstsq(matrix * size / rows[:, None], values / rows, rcond=KNOWN_BY_DIFFERENCES)[0]
        return -change if np.all(np.isfinite(change)) else None

    def length(step: np.ndarray, row: np.ndarray) -> float:
        return float(np.max(np.abs(step) / (unit + np.abs(row))))

    return full_newton(correction, row, length, most=MOST_CORRECTIONS, tolerance=1e-9).values, left


def _change_along(found: CallbackDae, t: float, y: np.ndarray, yp: np.ndarray) -> np.ndarray:
    """How ∂F/∂y changes along the motion: the derivative by y of ∂F/∂t + ∂F/∂y y', by a central difference."""
    reach = 1e-4 * min(1.0, np.max(np.maximum(1.0, np.abs(y))) / max(1.0, np.max(np.abs(yp))))
    ahead, behind = (found.sharp(t + way, y + way * yp, yp)[0] for way in (reach, -reach))
    return (ahead - behind) / (2 * reach)


def _left_kernel(dot: np.ndarray) -> np.ndarray:
    """A basis (n, k) of the combinations of equations without a derivative."""
    return null_space(dot.T, "∂F/∂y'", KNOWN_BY_DIFFERENCES)[0]


def _check_rate(residual: np.ndarray, whole: np.ndarray, dot: np.ndarray, wanted: GivenStart, computed: Any) -> None:
    """Refuse a y'0 that leaves more of F than changes of y0 and y'0 within the tolerances explain."""
    assert wanted.yp is not None
    slack = np.abs(whole) @ wanted.allowed + np.abs(dot) @ (UNMOVED + wanted.rtol * np.abs(wanted.yp))
    worst = int(np.argmax(np.abs(residual) - slack))
    if np.abs(residual[worst]) <= slack[worst]:
        return
    # Raises by itself where y0 is what does not fit.
    row = computed()
    n = len(wanted.y)
    gaps = np.abs(row[n:] - wanted.yp) * np.any(dot != 0, axis=0)
    k = int(np.argmax(gaps))
    raise InconsistentStartError(
        "yp0 contradicts the equations.",
        [
            f"F[{worst}](t0, y0, yp0) = {residual[worst]:.3g}, not 0",
            f"yp0[{k}] = {wanted.yp[k]:g} is off by {gaps[k]:.3g}: y0 asks for {row[n + k]:g}",
        ],
        because="y0 is kept as it is, and y' follows from it.",
        remedy="yp0=None, which computes it, or repair=True, which takes yp0 for a guess",
    )


def _refuse(y: np.ndarray, near: np.ndarray, facts: list[str]) -> NoReturn:
    distance = np.abs(near - y)
    worst = np.argsort(-distance)[:3]
    off = [
        f"y0[{k}] = {y[k]:g} is off by {distance[k]:.3g}: {_apart(near[k], y[k])} would fit"
        for k in worst
        if distance[k] > 0
    ]
    raise InconsistentStartError(
        "y0 contradicts the equations.",
        [*off, *facts],
        because="equations without a derivative, and hidden ones that follow from them, hold at the start too.",
        remedy="repair=True, which moves y0 to the nearest values that fit",
    )


def _apart(value: float, other: float) -> str:
    """A number with as many digits as it takes to tell it from another one."""
    return next(text for digits in (6, 9, 12, 17) if (text := f"{value:.{digits}g}") != f"{other:.{digits}g}")


def _moved(y: np.ndarray, near: np.ndarray) -> str:
    distance = np.abs(near - y)
    k = int(np.argmax(distance))
    return f"y0 moved onto the constraints by up to {distance[k]:.2g} (y0[{k}])" if distance[k] > 0 else ""
