"""The discrete adjoint of a run: the gradient of a scalar pulled back over its steps, projections and events.

One pull back costs a few right-hand sides a stage, however many parameters there are. States are needed in reverse
order; they are kept at checkpoints only, and each segment between two of them is run again on its own steps. Segments
grow one after the other, so that with N steps both their number and their length grow like √N (A. Griewank, A. Walther,
Evaluating Derivatives, chapter 12). With events every step is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.compilation import Compiled, compile_function
from daedalus.differentiation.case import Case, interval_of
from daedalus.differentiation.discrete import nominal_run
from daedalus.differentiation.error_controlled import check_finished
from daedalus.differentiation.frozen_steps import breakpoints, pieces, run_on_steps
from daedalus.simulation.plant import ExplicitPlant
from daedalus.simulation.projection import projection
from daedalus.simulation.tableaux.named_tableaux import tableau
from daedalus.simulation.tableaux.tableau import Tableau

# Steps of the first segment; each later one has as many more.
SEGMENT = 16


@dataclass(frozen=True, eq=False)
class Segment:
    """Steps that follow each other: their times, the state before them, and the events right behind them."""

    times: np.ndarray  # (steps + 1,)
    x: np.ndarray  # (n,)
    events: tuple[tuple[int, float, np.ndarray], ...] = ()  # guard, time, x before


class Pullbacks:
    """Compiled transposed derivatives of right-hand side, projection and events; kept with the plant."""

    def __init__(self, plant: ExplicitPlant) -> None:
        self.system, self.form, self.plant = plant.system, plant.form, plant
        self._point = [self.system.symbol(letter) for letter in ("t", "x", "u", "p")]
        self._v = ca.vertcat(*self._point[1:])
        self._weights = ca.SX.sym("k", self.system.sizes["x"])
        self.rhs = self._compiled("pullback", self._pulled(self.form.xdot))
        moved = projection(self.system, self.form) if plant.projection is not None else None
        self.projection = None if moved is None else self._compiled("moved_pullback", self._pulled(moved))
        self.events = [self._event(k) for k in range(len(self.system.events))]

    def _compiled(self, name: str, pulled: ca.SX) -> Compiled:
        n, nu = self.system.sizes["x"], self.system.sizes["u"]
        parts = [pulled[:n], pulled[n : n + nu], pulled[n + nu :]]
        return compile_function(ca.Function(name, [*self._point, self._weights], [ca.densify(part) for part in parts]))

    def _pulled(self, expression: ca.SX) -> ca.SX:
        return ca.densify(ca.jtimes(expression, self._v, self._weights, True))

    def _event(self, k: int) -> Compiled | None:
        """Transposed saltation: r_vᵀ κ - g_vᵀ (r_x f⁻ + r_t - f⁺)ᵀ κ / (g_t + g_x f⁻)."""
        if not self.system.events[k].resets:
            return None
        t, x = self._point[:2]
        guard = self.form.applied(self.system, self.system.guards[k])
        new = ca.densify(self.form.applied(self.system, self.system.resets[k, :]).T)
        rate = ca.jacobian(guard, t) + ca.mtimes(ca.jacobian(guard, x), self.form.xdot)
        behind = ca.substitute(self.form.xdot, x, new)
        jump = ca.mtimes(ca.jacobian(new, x), self.form.xdot) + ca.jacobian(new, t) - behind
        moved = ca.jacobian(guard, self._v).T * (ca.dot(jump, self._weights) / rate)
        return self._compiled("event_pullback", self._pulled(new) - moved)


def pullbacks_of(plant: ExplicitPlant) -> Pullbacks:
    """The pullbacks of a plant, made once."""
    prepared = plant.system.prepared
    with plant.system.lock:
        if "pullbacks" not in prepared:
            prepared["pullbacks"] = Pullbacks(plant)
    return prepared["pullbacks"]


def tableau_of(case: Case) -> Tableau:
    """The Butcher tableau of the method of a run."""
    return case.method if isinstance(case.method, Tableau) else tableau(case.settings.method)


def forward(case: Case) -> tuple[list[Segment], np.ndarray]:
    """The nominal run as segments, and its last state."""
    if case.system.events:
        run = nominal_run(case)
        return recorded_segments(run)
    segments: list[Segment] = []
    t, x, length, first_step = case.t0, case.x0, SEGMENT, case.settings.call.get("first_step")
    tables = case.drive.core_tables() + ([] if case.grid is None else [breakpoints(case.grid)])
    taken, limit = 0, case.settings.call.get("max_steps")
    while True:
        call = {**case.settings.call, "tables": tables, "max_steps": length, "watch_stiffness": False}
        if first_step and "step" not in call:
            call["first_step"] = first_step
        run = _core.integrate(
            case.settings.rhs, case.settings.core_method, t, case.t1, x, case.drive.constants, case.p, **call
        )
        over = limit is not None and taken + run.steps > limit
        if run.status != "step_limit" or over:
            check_finished(case, run)
        segments.append(Segment(np.array(run.t), np.array(x)))
        t, x, first_step = float(run.t[-1]), np.array(run.x[-1]), abs(run.last_step) or None
        taken += run.steps
        if run.status != "step_limit" or t == case.t1:
            return segments, x
        length += SEGMENT


def recorded_segments(run: Any) -> tuple[list[Segment], np.ndarray]:
    """A run with every step kept as segments between its events."""
    times, left = np.array(run.t), list(run.events)
    segments = []
    for first, last in pieces(times):
        own = [(guard, t, before) for guard, t, before, _ in left if t == times[last]]
        left = [event for event in left if event[1] != times[last]]
        segments.append(Segment(times[first : last + 1], np.array(run.x[first]), tuple(own)))
    return segments, np.array(run.x[-1])


def backward(case: Case, segments: list[Segment], weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pull weights of the last state back: to those of the first state (n,), of inputs (blocks, nu) and of p (np,)."""
    pulled = pullbacks_of(case.plant)
    table = tableau_of(case)
    blocks = max(case.intervals, 1)
    by_inputs, by_parameters = np.zeros((blocks, case.system.sizes["u"])), np.zeros(len(case.p))
    tables = case.drive.core_tables()
    moved = pulled.projection if "projection" in case.settings.call else None
    for segment in reversed(segments):
        for guard, t, before in reversed(segment.events):
            event = pulled.events[guard]
            if event is None:
                continue
            u = case.drive.at(np.array([t]))[0]
            weights, of_u, of_p = event.core(np.array([t]), before, u, case.p, weights)
            by_inputs[0 if case.grid is None else interval_of(case.grid, t)] += of_u
            by_parameters += of_p
        if len(segment.times) < 2:
            continue
        weights, of_inputs, of_p = _core.pull_back(
            case.plant.rhs.core,
            pulled.rhs.core,
            None if moved is None else moved.core,
            table.A,
            table.b,
            table.c,
            segment.times,
            _states(case, segment),
            case.drive.constants,
            case.p,
            tables,
            _blocks(case, segment.times),
            blocks,
            weights,
        )
        by_inputs += of_inputs
        by_parameters += of_p
    return weights, by_inputs, by_parameters


def _states(case: Case, segment: Segment) -> np.ndarray:
    """The states at the steps of a segment, run again from its checkpoint."""
    settings = case.settings
    again = run_on_steps(
        settings.rhs,
        settings.core_method,
        segment.times,
        segment.x,
        case.drive.constants,
        case.p,
        case.drive.core_tables(),
        settings.call.get("projection"),
    )
    return np.ascontiguousarray(again.x)


def _blocks(case: Case, times: np.ndarray) -> list[int]:
    """In which interval of the grid each step lies."""
    if case.grid is None:
        return [0] * (len(times) - 1)
    return [interval_of(case.grid, 0.5 * (a + b)) for a, b in pairwise(times)]
