"""A run by a linear multistep method: `simulate(method=dd.bdf(3), step=h)`.

Between times at which inputs jump or bend the interval is cut into equal steps, the longest that do not exceed the one
asked for, and at least m. The first m values come from an adaptive method at a tolerance
far below the error of the method: dop853, or radau9 where the model is taken as it is written.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.errors import InputError
from daedalus.integrators.multistep.multistep import Multistep
from daedalus.model.system.system import System
from daedalus.reduction.switches import switches_of
from daedalus.simulation.between.dense import Dense
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.multistep.past_values import (
    ExplicitStepper,
    ImplicitStepper,
    NotSolved,
    inputs_at,
)
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.result.ending import Ending, Stop, reached, time_text
from daedalus.simulation.result.outcome import COUNTED, Outcome, Work
from daedalus.simulation.result.records_of_methods import StartedUp
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.begin import begin
from daedalus.simulation.run.pieces import run_piece
from daedalus.simulation.run.request import NO_LIMITS, Request, check_step
from daedalus.simulation.run.road import Piece, find_road

# The start-up: its method and tolerance.
EXPLICIT, IMPLICIT, RTOL_OF_START = "dop853", "radau9", 1e-12
# Up to which index a method is taken: BDF of constant steps, others.
HIGHEST_INDEX = {True: 2, False: 1}
# Progress is told after so many steps.
TOLD_EVERY = 64


def run_multistep(request: Request, method: Multistep, progress: Callable[[float], object] | None = None) -> Trajectory:
    """The run of a request by a multistep method."""
    began = time.perf_counter()
    _check(request, method)
    way = EXPLICIT if method.is_explicit else IMPLICIT
    tight = request.with_options(method=way, rtol=RTOL_OF_START, atol=1e-3 * RTOL_OF_START, limits=NO_LIMITS)._replace(
        save_at=None
    )
    road = find_road(tight)
    plant = road.settings.plant
    _check_system(method, road.system)
    if isinstance(plant, ImplicitPlant):
        _check_index(method, plant)
    first = begin(road, request.t0, request.start)
    march = _March(request, method, first, progress)
    stop = march.go()
    return march.trajectory(stop, time.perf_counter() - began)


def _check(request: Request, method: Multistep) -> None:
    name = method.name or "multistep"
    if request.step is None:
        raise InputError(
            f"The method {name!r} needs a step.",
            because="its formula needs past values at equal distances.",
            remedy='step=0.01, or method="bdf", which chooses order and step',
        )
    check_step(request)
    if method.is_consistent and method.is_zero_stable:
        return
    why = "its order is 0: even a constant derivative is integrated wrongly"
    if method.is_consistent:
        why = "it is not zero-stable: ρ has a root outside the unit circle, or a double one on it"
    raise InputError(
        f"The method {name!r} does not converge.",
        why,
        because="errors grow with the number of steps, however short they are.",
        remedy="dd.bdf(m) with m <= 6, or an Adams method",
    )


def _check_system(method: Multistep, system: System) -> None:
    if system.events or system.discrete_count:
        names = [event.name for event in system.events] or [v.name for v in system.of_kind("discrete")]
        raise InputError(
            f"The method {method.name!r} does not support events.",
            f"the model has {', '.join(names[:6])}",
            because="after an event its past values would have to be computed again.",
            remedy='a one-step method such as "rk4", or an adaptive one',
        )


def _check_index(method: Multistep, plant: ImplicitPlant) -> None:
    is_bdf = not any(method.b[1:])
    if plant.index.largest > HIGHEST_INDEX[is_bdf]:
        raise InputError(
            f"The method {method.name!r} does not solve this model as it is written.",
            f"its index is {plant.index.largest}",
            because="with constant steps, BDF is supported up to index 2 and other multistep methods up to index 1.",
            remedy='dd.reduce(m), or method="radau5"',
        )


@dataclass
class _March:
    """The grid of a run, filled interval by interval."""

    request: Request
    method: Multistep
    first: Piece
    progress: Callable[[float], object] | None

    def __post_init__(self) -> None:
        plant, p = self.first.settings.plant, self.first.parameters
        self.drive: Drive = self.first.drive
        implicit = isinstance(plant, ImplicitPlant)
        self.stepper: Any = (ImplicitStepper if implicit else ExplicitStepper)(self.method, plant, p)  # type: ignore[arg-type]
        self.times: list[float] = []
        self.rows: list[np.ndarray] = []
        self.denses: list[Dense] = []
        self.steps = 0
        self.counts: list[tuple[int, int, int]] = []
        self.began = time.perf_counter()

    def go(self) -> Stop:
        """March to the end, or to where a step is not solved."""
        t0, t1 = self.request.span
        forward = t1 >= t0
        low, high = min(t0, t1), max(t0, t1)
        inner = [t for table, _ in self.drive.tables for t in table.times.tolist() if low < t < high]
        ends = [t0, *sorted(set(inner), reverse=not forward), t1]
        row = self.first.row
        if t0 == t1:
            self.times, self.rows = [t0], [row]
        for begins, end in itertools.pairwise(ends):
            if begins == end:
                continue
            stop = self._interval(begins, end, row)
            if stop is not None:
                return stop
            row = self.rows[-1]
        return reached(t1)

    def _interval(self, begins: float, end: float, row: np.ndarray) -> Stop | None:
        m, step = self.method.steps, float(self.request.step or 0.0)
        count = max(math.ceil(abs(end - begins) / step * (1 - 1e-9)), m)
        grid = np.linspace(begins, end, count + 1)
        h, middle = (end - begins) / count, 0.5 * (begins + end)
        rows = self._started(grid[:m], row)
        reason = None
        if not self.stepper.plant.is_implicit:
            known = [self.stepper.slope(t, x, inputs_at(self.drive, t, middle)) for t, x in zip(grid, rows)]
            self.stepper.slopes = known
        else:
            self.stepper._factor = None
        self.steps += m - 1
        self.counts += [(0, self.stepper.counts.newton, 0)] * (m - 1)
        for k in range(m, count + 1):
            t = float(grid[k])
            reason = self._limit(t)
            if reason is not None:
                break
            try:
                rows.append(self.stepper.next_row(t, inputs_at(self.drive, t, middle), np.array(rows[-m:]), h))
            except (NotSolved, KeyboardInterrupt) as error:
                reason = self._failure(float(grid[k - 1]), isinstance(error, KeyboardInterrupt))
                break
            self.steps += 1
            self.counts.append((0, self.stepper.counts.newton, self.method.order))
        self._keep(grid[: len(rows)], np.array(rows))
        return reason

    def _started(self, grid: np.ndarray, row: np.ndarray) -> list[np.ndarray]:
        """The first m rows of an interval: its beginning, and values of the adaptive method."""
        piece = self.first._replace(begin=float(grid[0]), row=self._consistent(row, float(grid[0])))
        if len(grid) == 1:
            return [piece.row]
        done = run_piece(piece, float(grid[-1]), None, None, None)
        return [piece.row, *done.at(grid[1:])._x]

    def _consistent(self, row: np.ndarray, t: float) -> np.ndarray:
        """The row behind a jump of the inputs: z and x' of a model as it is written follow from its states."""
        plant = self.first.settings.plant
        if not isinstance(plant, ImplicitPlant) or t == self.request.t0 or not self.drive.tables:
            return row
        states = dict(zip(plant.system.labels["x"], row[plant.row_parts["x"]].tolist()))
        return begin(self.first.road, t, states).row

    def _limit(self, t: float) -> Stop | None:
        _, _, _, max_steps, time_limit = self.request.limits
        if self.progress is not None and self.steps % TOLD_EVERY == 0:
            self.progress(t)
        if max_steps is not None and self.steps >= max_steps:
            return Stop(Ending.STEP_LIMIT, t, f"took max_steps = {max_steps} steps and got to {time_text(t)}")
        if time_limit is not None and time.perf_counter() - self.began > time_limit:
            return Stop(Ending.TIME_LIMIT, t, f"ran for time_limit = {time_limit:g} s and got to {time_text(t)}")
        return None

    def _failure(self, t: float, interrupted: bool) -> Stop:
        if interrupted:
            return Stop(Ending.INTERRUPTED, t, f"interrupted by the user at {time_text(t)}")
        if isinstance(self.stepper, ExplicitStepper):
            return Stop(Ending.NOT_FINITE, t, f"a value is not finite behind {time_text(t)}", remedy="a shorter step")
        return Stop(Ending.NEWTON_FAILED, t, f"a step was not solved behind {time_text(t)}", remedy="a shorter step")

    def _keep(self, grid: np.ndarray, rows: np.ndarray) -> None:
        if len(grid) > 1:
            self.denses.append(interpolated(grid, rows, self.method.order))
        skip = 1 if self.times else 0
        self.times += grid[skip:].tolist()
        self.rows += list(rows[skip:])

    def trajectory(self, stop: Stop, seconds: float) -> Trajectory:
        """What `dd.simulate` returns."""
        plant, counts, road = self.first.settings.plant, self.stepper.counts, self.first.road
        work = Work(self.steps, 0, counts.rhs, counts.jacobians, counts.jacobians, counts.newton, seconds)
        over = bool(switches_of(road.system)) if self.request.locate_switches else False
        record = StartedUp(
            self.method.name or "multistep", self.method.steps - 1, road.settings.method, RTOL_OF_START, over
        )
        records = (record, *self.drive.notes, *plant.notes)
        outcome = Outcome(
            stop,
            self.method.name or "multistep",
            work,
            records,
            step_counts=np.array(self.counts, float).reshape(-1, COUNTED),
        )
        dense = Dense.joined(self.denses, plant.row_width)
        times, rows = np.array(self.times), np.array(self.rows)
        save_at = self.request.save_at
        if save_at is not None and len(dense.starts):
            inside = save_at[(save_at - times[0]) * (save_at - times[-1]) <= 0]
            rows, times = dense.at(inside), inside
        return Trajectory(plant, self.drive, self.first.parameters, times, rows, stop.ending, outcome, dense)


# Dense output of a grid: on every step the polynomial through the rows nearest to it, of the order of the method.


def interpolated(times: np.ndarray, rows: np.ndarray, order: int) -> Dense:
    """The dense output of rows (k + 1, width) at equal steps; polynomials of the order, or through all rows if fewer.

    Example
    -------
    >>> t = np.linspace(0.0, 1.0, 5)
    >>> dense = interpolated(t, (t**3)[:, None], 3)
    >>> bool(np.allclose(dense.coefficients[1].sum(axis=0), 0.5**3))
    True
    """
    count = len(times) - 1
    degree = min(order, count)
    first = np.clip(np.arange(count) - (degree - 1) // 2, 0, count - degree)
    # Nodes in steps from the beginning of each step: one Vandermonde matrix for every place of the window.
    coefficients = np.empty((count, degree + 1, rows.shape[1]))
    for shift in np.unique(np.arange(count) - first):
        own = np.flatnonzero(np.arange(count) - first == shift)
        powers = np.vander(np.arange(degree + 1.0) - shift, increasing=True)
        window = rows[first[own][:, None] + np.arange(degree + 1)]
        coefficients[own] = np.linalg.solve(powers[None], window)
    return Dense(times[:-1].copy(), times[1:].copy(), coefficients)
