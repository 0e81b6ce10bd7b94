"""The discrete adjoint of a run: the gradient of a scalar pulled back over its steps and projections.

One pull back costs a few right-hand sides a stage, however many parameters there are. States are needed in reverse
order. They are stored while there is room (segments.py); beyond that checkpoints only are, and each segment between two
of them is run again on its own steps. Segments grow one after the other, so that with N steps both their number and
their length grow like √N (A. Griewank, A. Walther, Evaluating Derivatives, chapter 12).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.compilation import Compiled, compile_function
from daedalus.deadline import poll
from daedalus.differentiation.case import Case
from daedalus.differentiation.directions import interval_of
from daedalus.differentiation.steps.discrete import nominal_settings, nominal_tables, states_again, steps_again
from daedalus.differentiation.steps.frozen_steps import pieces
from daedalus.differentiation.steps.implicit_adjoint import ImplicitPullback, implicit_pullback_of
from daedalus.differentiation.steps.residual_pullback import is_large
from daedalus.differentiation.steps.rosenbrock_adjoint import RosenbrockPullback, rosenbrock_pullback_of
from daedalus.differentiation.steps.segments import Room, Segment, TakenSteps
from daedalus.differentiation.steps.sparse_adjoint import SparsePullback
from daedalus.differentiation.steps.stages_of_run import stages_of_run
from daedalus.differentiation.steps.stepwise import family_of
from daedalus.differentiation.variational.finished import check_finished
from daedalus.integrators.methods import is_implicit
from daedalus.integrators.tableaux.named_tableaux import tableau
from daedalus.integrators.tableaux.tableau import Tableau
from daedalus.model.system.once import remembered
from daedalus.simulation.between.dense import Dense
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.projection import projection
from daedalus.simulation.result.ending import ENDINGS, Ending

# Steps of the first segment; each later one has as many more.
SEGMENT = 16


class Pullbacks:
    """Compiled transposed derivatives of right-hand side and projection; kept with the plant."""

    def __init__(self, plant: ExplicitPlant) -> None:
        self._point = plant.system.symbols(("t", "x", "u", "p"))
        self._weights = ca.SX.sym("k", plant.system.sizes["x"])
        self.rhs = self._pulled("pullback", plant.form.xdot)
        moved = projection(plant.system, plant.form) if plant.projection is not None else None
        self.projection = None if moved is None else self._pulled("moved_pullback", moved)

    def _pulled(self, name: str, expression: ca.SX) -> Compiled:
        _, x, u, p = self._point
        pulled = ca.densify(ca.jtimes(expression, ca.vertcat(x, u, p), self._weights, True))
        parts = ca.vertsplit(pulled, np.cumsum([0, x.numel(), u.numel(), p.numel()]).tolist())
        return compile_function(ca.Function(name, [*self._point, self._weights], parts))


@remembered
def pullbacks_of(plant: ExplicitPlant) -> Pullbacks:
    """The pullbacks of a plant, made once."""
    return Pullbacks(plant)


def tableau_of(case: Case) -> Tableau:
    """The Butcher tableau of the method of a run."""
    return case.method if isinstance(case.method, Tableau) else tableau(case.settings.method)


def forward(case: Case, room: Room) -> tuple[list[Segment], np.ndarray, Ending] | None:
    """The nominal run as segments, its last row and how it ended; None where "auto" finds explicit steps held back.

    Implicit segments without events are taken twice: once to find the steps, once more on them with stages solved to
    rounding, so that each begins exactly where the one before it ends.
    """
    implicit, settings = is_implicit(case.method), nominal_settings(case)
    segments: list[Segment] = []
    t, row, first_step = case.t0, case.row0 if implicit else case.x0, settings.call.get("first_step")
    tables, constants = nominal_tables(case), case.drive.constants
    taken, limit, length = 0, settings.call.get("max_steps"), SEGMENT
    while True:
        poll("the steps to differentiate")
        call = {**settings.call, "tables": tables, "max_steps": length}
        if first_step and "step" not in call:
            call["first_step"] = first_step
        run = _core.integrate(settings.rhs, settings.core_method, t, case.t1, row, constants, case.p, **call)
        if run.status == Ending.STIFF:
            return None
        goes_on = run.status == Ending.STEP_LIMIT and not (limit is not None and taken + run.steps > limit)
        if not goes_on:
            check_finished(case, run)
        if goes_on and run.events and run.events[-1][1] == run.t[-1]:
            length += 1  # a run does not begin on a guard's zero
            continue
        if implicit and not run.events and len(run.t) > 1:
            segment = Segment(np.array(run.t), np.array(row))
            large = is_large(case.system) and isinstance(_pullback_of(case), SparsePullback)
            steps = _with_stages(case, run, settings.call["rtol"]) if large else taken_steps(case, segment)
            segments.append(room.kept(segment, steps))
            row = steps.rows[-1].copy()
        else:
            own, row = recorded_segments(np.array(run.t), run.x, None if implicit else room)
            segments += own
        t, first_step = float(run.t[-1]), abs(run.last_step) or None
        taken += run.steps
        if not goes_on or t == case.t1:
            return segments, row, ENDINGS[run.status]
        length += SEGMENT


def recorded_segments(
    times: np.ndarray, rows: np.ndarray, room: Room | None = None
) -> tuple[list[Segment], np.ndarray]:
    """A run with every step kept as segments, and its last row; where a condition was met it has two rows.

    room: where the rows themselves may be stored, which are those of explicit steps.
    """
    segments = []
    for first, last in pieces(times):
        own = slice(first, last + 1)
        segment = Segment(times[own], np.array(rows[first]))
        segments.append(segment if room is None else room.kept(segment, TakenSteps(np.array(rows[own]))))
    return segments, np.array(rows[-1])


def taken_steps(case: Case, segment: Segment) -> TakenSteps:
    """The steps of a segment as they are differentiated: stages of implicit methods solved to rounding."""
    if not is_implicit(case.method):
        return TakenSteps(states_again(case, segment.times, segment.row))
    run = steps_again(case, segment.times, segment.row)
    if not isinstance(_pullback_of(case), SparsePullback):
        return TakenSteps(np.ascontiguousarray(run.x))
    return _with_stages(case, run, 0.0)


def _with_stages(case: Case, run: Any, solved_to: float) -> TakenSteps:
    """The steps of a run by a tableau, with the stages that it left."""
    stages = stages_of_run(tableau_of(case).c, Dense(*run.dense()), len(case.x0))
    return TakenSteps(np.array(run.x), stages, solved_to)


def backward(case: Case, segments: list[Segment], weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pull weights of the last state back: to those of the first state (n,), of inputs (blocks, nu) and of p (np,)."""
    by_inputs = np.zeros((max(case.intervals, 1), case.system.sizes["u"]))
    by_parameters = np.zeros(len(case.p))
    take = _implicit_steps if is_implicit(case.method) else _explicit_steps
    for segment in reversed(segments):
        poll("derivatives back through the steps")
        if len(segment.times) < 2:
            continue
        weights, of_inputs, of_p = take(case, segment, weights)
        by_inputs += of_inputs
        by_parameters += of_p
    return weights, by_inputs, by_parameters


def _explicit_steps(case: Case, segment: Segment, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    plant, tableau = case.plant, tableau_of(case)
    assert isinstance(plant, ExplicitPlant)
    pulled = pullbacks_of(plant)
    moved = pulled.projection if "projection" in case.settings.call else None
    return _core.pull_back(
        plant.rhs.core,
        pulled.rhs.core,
        None if moved is None else moved.core,
        tableau.A,
        tableau.b,
        tableau.c,
        segment.times,
        (segment.taken or taken_steps(case, segment)).rows,
        case.drive.constants,
        case.p,
        case.drive.core_tables(),
        _blocks(case, segment.times),
        max(case.intervals, 1),
        weights,
    )


def _implicit_steps(case: Case, segment: Segment, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    taken, pullback = segment.taken or taken_steps(case, segment), _pullback_of(case)
    if isinstance(pullback, SparsePullback):
        pulled, of_steps, of_p = pullback.steps(case, segment.times, taken, weights)
    else:
        pulled, of_steps, of_p = pullback.steps(case, segment.times, taken.rows, weights)
    by_inputs = np.zeros((max(case.intervals, 1), case.system.sizes["u"]))
    np.add.at(by_inputs, _blocks(case, segment.times), of_steps)
    return pulled, by_inputs, of_p


def _pullback_of(case: Case) -> RosenbrockPullback | ImplicitPullback | SparsePullback:
    """The pullback of implicit steps."""
    return (
        rosenbrock_pullback_of(case)
        if family_of(case) == "rosenbrock"
        else implicit_pullback_of(case, tableau_of(case))
    )


def _blocks(case: Case, times: np.ndarray) -> list[int]:
    """In which interval of the grid each step lies."""
    if case.grid is None:
        return [0] * (len(times) - 1)
    return [interval_of(case.grid, 0.5 * (a + b)) for a, b in pairwise(times)]
