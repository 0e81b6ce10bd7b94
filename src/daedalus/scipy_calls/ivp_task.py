"""A function with a start, ready to be run on the road of every model: with its settings, pieces, rules and judge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from daedalus import _core
from daedalus.model.system.once import By, once
from daedalus.model.system.system import System
from daedalus.scipy_calls.called_model import CalledFunction, Shape, called_model
from daedalus.scipy_calls.dae_callbacks import CallbackDae
from daedalus.scipy_calls.dae_model import DaeModel, equation_levels
from daedalus.scipy_calls.ivp_ending import stop_of
from daedalus.scipy_calls.ivp_events import Guards
from daedalus.scipy_calls.ivp_settings import IvpSettings
from daedalus.simulation.between.dense import Dense
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.plants import plant_of
from daedalus.simulation.result.ending import ENDINGS, Stop
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_of_methods import MethodAsked
from daedalus.simulation.result.records_on_the_way import NotDetermined
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.pieces import run_piece
from daedalus.simulation.run.request import Options, Request
from daedalus.simulation.run.road import Piece, Road, road_through
from daedalus.simulation.run.travel import travel_from

NOTHING = np.zeros(0)


class Ask(NamedTuple):
    """What a run is to do: from when to when, how, and which samples to keep (None: every step)."""

    t0: float
    t1: float
    settings: IvpSettings
    save_at: np.ndarray | None


class Ended(NamedTuple):
    """What a run leaves behind: samples, events, its dense output, what it cost, how it ended, what it passed."""

    t: np.ndarray
    rows: np.ndarray  # (samples, entries)
    events: list[Any]
    dense: Callable[[], tuple[np.ndarray, np.ndarray, np.ndarray]]
    steps: int
    counts: tuple[int, int, int]  # calls, Jacobians, factorisations
    stop: Stop
    records: tuple[Record, ...] = ()


@dataclass(frozen=True, eq=False)
class Task:
    """A model, a row to begin with, y or (y, y') of an implicit model, and the numbers of `args`.

    rates: whether the result has y' too. constant_jacobians: whether they are numbers that nobody evaluates. called:
    the function that a model of called equations calls.
    """

    found: DaeModel
    row: np.ndarray
    p: np.ndarray
    implicit: bool = False
    rates: bool = False
    constant_jacobians: bool = False
    called: CalledFunction | None = None

    @property
    def size(self) -> int:
        """How many components y has."""
        return len(self.row) // 2 if self.implicit else len(self.row)

    @property
    def inputs(self) -> np.ndarray:
        """Which function is called; nothing where the equations are formulas."""
        return NOTHING if self.called is None else self.called.input

    def slope(self, t: float) -> np.ndarray:
        """y' at the start."""
        if self.implicit:
            return self.row[self.size :]
        return plant_of(self.found.system).rhs.core(np.array([t]), self.row, self.inputs, self.p)[0]

    def first_step(self, ask: Ask) -> tuple[float, np.ndarray]:
        """Time and row behind the first step."""
        short = run_piece(self._piece(ask), ask.t1, None, None, None, {"max_steps": 1})
        return float(short.run_data.times[-1]), short.run_data.rows[-1]

    def run(self, ask: Ask, guards: Guards | None, fired: list[int]) -> Ended:
        """The whole run: piece after piece, what it passed and where it left its branch judged."""
        first = self._piece(ask)
        if guards:
            call = {**first.settings.call, **guards.options(fired)}
            first = first.with_settings(replace(first.settings, call=call, watched=guards.described))
        whole = travel_from(first)
        data, pieces = whole.run_data, whole.pieces
        rows = data.rows if len(pieces) == 1 else self._joined_rows(whole)
        dense = lambda: Dense.joined([self._dense_of(piece) for piece in pieces])  # noqa: E731
        run = pieces[-1].run_data.source
        told_by_core = isinstance(run, _core.Run) and ENDINGS[run.status] is whole.status
        stop = stop_of(run, self.size, self.rates) if told_by_core else whole.stop
        if self.called is not None and len(pieces) == 1:  # records tell what is known of equations
            return Ended(data.times, rows, run.events, dense, run.steps, self._counts(run.rhs_calls, run), stop)
        # The method is told beside the records.
        told = tuple(self._named(record) for record in whole.records if not isinstance(record, MethodAsked))
        work, events = whole.work, list(whole.outcome.events)
        return Ended(data.times, rows, events, dense, work.steps, self._counts(work.rhs, work), stop, told)

    def _dense_of(self, piece: Trajectory) -> Dense:
        """The polynomials of a piece, for y or (y, y'): pieces beside singular places are explicit."""
        dense = piece.dense
        has_slopes = dense.coefficients.shape[2] > self.size
        return dense.with_slopes() if self.implicit and len(dense.starts) and not has_slopes else dense

    def _counts(self, calls: int, work: Any) -> tuple[int, int, int]:
        """As SciPy counts: a Jacobian that is a matrix of numbers is not evaluated."""
        return calls, 0 if self.constant_jacobians else work.jacobians, work.factorisations

    def _named(self, record: Record) -> Record:
        """A record with names as SciPy's users write them."""
        if not isinstance(record, NotDetermined):
            return record
        names = {label: f"yp[{k}]" for k, label in enumerate(self.found.system.labels["xdot"])}
        return replace(record, unknowns=tuple(names.get(name, name) for name in record.unknowns))

    def _piece(self, ask: Ask) -> Piece:
        settings, model = ask.settings, self.found
        limits = (settings.step, settings.max_step, settings.first_step, None, None)
        tolerances = (settings.rtol, {"y": settings.atol})
        values = (None, None, None, ask.save_at)  # of start, inputs and parameters: the piece has them
        options = Options(settings.method, *tolerances, limits, False)
        request = Request(model.model, ask.t0, ask.t1, *values, options)
        key = (settings.method, settings.rtol, settings.atol.tobytes(), limits)
        road = once(model.system, _road_of, By(request, key))._replace(request=request, drive=Drive(self.inputs))
        return Piece(road, self.p, ask.t0, self.row)

    def _joined_rows(self, whole: Trajectory) -> np.ndarray:
        """The samples of several pieces, y or (y, y') each."""
        return np.hstack([whole["y"], whole["y_dot"]]) if self.implicit else whole["y"]


def _road_of(system: System, request: By[Request]) -> Road:
    """The road of a formula for the first request with these tolerances and limits; others go it with their own."""
    asked = request.value
    return road_through(asked, system, {}, asked.method, None, asked.t0)


def called_task(found: CallbackDae, row: np.ndarray, p: np.ndarray, index: np.ndarray, **about: bool) -> Task:
    """The task of a function F that is called, for given indices of the components."""
    scales = (index.tolist(), equation_levels(index, found.structure).tolist()) if index.max() > 1 else ((), ())
    shape = Shape(found.size, p.size, found.dot.tobytes(), *(tuple(scale) for scale in scales))
    function = CalledFunction(found.residual, found.jacobians)
    return Task(called_model(shape), row, p, implicit=True, called=function, **about)
