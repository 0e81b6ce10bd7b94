"""A function with a start, ready to be run: as a formula on the road of every model, or called as it is by the core.

A formula is a model, so its run takes the settings, the pieces, the rules and the judge of `dd.simulate`. Nothing is
known of a function that is called but its values: it is one core run, with the endings that every core run has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from daedalus import _core
from daedalus.model.system.once import By, once
from daedalus.model.system.system import System
from daedalus.scipy_calls.dae_model import DaeModel
from daedalus.scipy_calls.ivp_ending import stop_of
from daedalus.scipy_calls.ivp_events import Guards
from daedalus.scipy_calls.ivp_settings import IvpSettings
from daedalus.simulation.plant.plants import plant_of
from daedalus.simulation.result.ending import ENDINGS, Stop
from daedalus.simulation.result.recorded_run import Dense
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_of_methods import MethodAsked
from daedalus.simulation.result.records_on_the_way import NotDetermined
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.pieces import Piece, run_piece
from daedalus.simulation.run.request import Options, Request
from daedalus.simulation.run.road import Road, road_through
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
class Task(ABC):
    """A row to begin with, y or (y, y') of an implicit model, and the numbers of `args`.

    rates: whether the result has y' too. constant_jacobians: whether they are numbers that nobody evaluates.
    """

    row: np.ndarray
    p: np.ndarray
    implicit: bool = False
    rates: bool = False
    constant_jacobians: bool = False

    @property
    def size(self) -> int:
        """How many components y has."""
        return len(self.row) // 2 if self.implicit else len(self.row)

    def slope(self, t: float) -> np.ndarray:
        """y' at the start."""
        return self.row[self.size :] if self.implicit else self._right_side(t)

    @abstractmethod
    def _right_side(self, t: float) -> np.ndarray:
        """f at the start."""

    @abstractmethod
    def first_step(self, ask: Ask) -> tuple[float, np.ndarray]:
        """Time and row behind the first step."""

    @abstractmethod
    def run(self, ask: Ask, guards: Guards | None, fired: list[int]) -> Ended:
        """The whole run; `fired` are events that were counted at the start."""

    def _counts(self, calls: int, jacobians: int, factorisations: int) -> tuple[int, int, int]:
        """As SciPy counts: a Jacobian that is a matrix of numbers is not evaluated."""
        return calls, 0 if self.constant_jacobians else jacobians, factorisations


@dataclass(frozen=True, eq=False)
class CoreTask(Task):
    """A function that the core calls as it is: a right-hand side, or an implicit model with kinks anywhere."""

    model: Any = None

    def _right_side(self, t: float) -> np.ndarray:
        return self.model(np.array([t]), self.row, NOTHING, self.p)[0]

    def first_step(self, ask: Ask) -> tuple[float, np.ndarray]:
        """Time and row behind the first step."""
        short = self._run(ask, None, {"max_steps": 1})
        return float(short.t[-1]), short.x[-1]

    def run(self, ask: Ask, guards: Guards | None, fired: list[int]) -> Ended:
        """The whole run."""
        run = self._run(ask, ask.save_at, guards.options(fired) if guards else {})
        counts = self._counts(run.rhs_calls, run.jacobians, run.factorisations)
        return Ended(run.t, run.x, run.events, run.dense, run.steps, counts, stop_of(run, self.size, self.rates))

    def _run(self, ask: Ask, save_at: np.ndarray | None, more: dict[str, Any]) -> Any:
        settings = ask.settings
        atol = np.concatenate([settings.atol, np.ones(self.size)]) if self.implicit else settings.atol
        call: dict[str, Any] = {"rtol": settings.rtol, "atol": atol, **settings.limits}
        if self.implicit:
            call["kinked"] = True
        plan = _core.Plan(self.model, settings.core, **call, **more)
        return plan.run(ask.t0, ask.t1, self.row, NOTHING, self.p, save_at, None, None, None)


@dataclass(frozen=True, eq=False)
class TracedTask(Task):
    """A formula, which is a model."""

    found: DaeModel | None = None

    @property
    def _model(self) -> DaeModel:
        assert self.found is not None
        return self.found

    def _right_side(self, t: float) -> np.ndarray:
        return plant_of(self._model.system).rhs.core(np.array([t]), self.row, NOTHING, self.p)[0]

    def first_step(self, ask: Ask) -> tuple[float, np.ndarray]:
        """Time and row behind the first step."""
        short = run_piece(self._piece(self._road(ask)), ask.t1, None, None, None, {"max_steps": 1})
        return float(short.run_data.times[-1]), short.run_data.rows[-1]

    def run(self, ask: Ask, guards: Guards | None, fired: list[int]) -> Ended:
        """The whole run: piece after piece, what it passed and where it left its branch judged."""
        road = self._road(ask)
        first = self._piece(road)
        if guards:
            call = {**first.settings.call, **guards.options(fired)}
            first = first._replace(settings=replace(first.settings, call=call, watched=guards.described))
        found = travel_from(road, first)
        work = found.work
        counts = self._counts(work.rhs, work.jacobians, work.factorisations)
        # The method is told beside the records.
        told = tuple(self._named(record) for record in found.records if not isinstance(record, MethodAsked))
        return Ended(
            found.run_data.times, self._rows(found), list(found.outcome.events),
            lambda: Dense.joined([piece.dense for piece in found.pieces]), work.steps, counts, self._stop(found), told,
        )  # fmt: skip

    def _named(self, record: Record) -> Record:
        """A record with names as SciPy's users write them."""
        if not isinstance(record, NotDetermined):
            return record
        names = {label: f"yp[{k}]" for k, label in enumerate(self._model.system.labels["xdot"])}
        return replace(record, unknowns=tuple(names.get(name, name) for name in record.unknowns))

    def _road(self, ask: Ask) -> Road:
        settings, model = ask.settings, self._model
        limits = (settings.step, settings.max_step, settings.first_step, None, None)
        tolerances = (settings.rtol, {"y": settings.atol})
        values = (None, None, None, ask.save_at)  # of start, inputs and parameters: the piece has them
        options = Options(settings.method, *tolerances, limits, False)
        request = Request(model.model, ask.t0, ask.t1, *values, options)
        key = (settings.method, settings.rtol, settings.atol.tobytes(), limits)
        return once(model.system, _road_of, By(request, key))._replace(request=request)

    def _piece(self, road: Road) -> Piece:
        return Piece(road.settings, road.drive, self.p, road.request.t0, self.row)

    def _rows(self, found: Trajectory) -> np.ndarray:
        """The samples, y or (y, y') each; of several pieces by name."""
        if len(found.pieces) == 1:
            return found.run_data.rows
        return np.hstack([found["y"], found["y_dot"]]) if self.implicit else found["y"]

    def _stop(self, found: Trajectory) -> Stop:
        """How the run ended: as the core says in SciPy's words, or for what was found out behind that."""
        run = found.pieces[-1].run_data.source
        told_by_core = isinstance(run, _core.Run) and ENDINGS[run.status] is found.status
        return stop_of(run, self.size, self.rates) if told_by_core else found.stop


def _road_of(system: System, request: By[Request]) -> Road:
    """The road of a formula for the first request with these tolerances and limits; others go it with their own."""
    asked = request.value
    return road_through(asked, system, {}, asked.method, None, asked.t0)
