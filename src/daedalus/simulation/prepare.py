"""The same run again and again: everything but the numbers settled once, arrays in and arrays out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.model.lazy_values import cached_property
from daedalus.model.mechanics.mechanics_part import refuse_touching
from daedalus.model.model import Model, as_system
from daedalus.model.signals import Signal
from daedalus.model.switching.delays import refuse_delays
from daedalus.model.system.packed_expressions import PackedExpressions, packed, unpacked
from daedalus.model.system.system import System
from daedalus.model.time_limit import time_limited
from daedalus.model.values import parameter_values
from daedalus.reduction.selection.selected_states import without_choice
from daedalus.simulation.between.rows_between_steps import keep_between_steps
from daedalus.simulation.contacts.held_between_steps import stops_where_broken
from daedalus.simulation.inputs.read_inputs import traced_input
from daedalus.simulation.result.ending import ENDINGS, Ending
from daedalus.simulation.result.records import sentences
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.begin import begin
from daedalus.simulation.run.judge import raise_stopped
from daedalus.simulation.run.pieces import read_piece
from daedalus.simulation.run.request import LIMITS, check_step, read_request
from daedalus.simulation.run.road import Piece, Road, find_road
from daedalus.simulation.run.travel import travel_begun, travel_from
from daedalus.simulation.singular.rank_watch import rank_watch_of
from daedalus.simulation.start.consistent_start import is_off
from daedalus.simulation.start.vanishing_divisor import vanishing_divisor
from daedalus.simulation.switching.agenda import Agenda, agenda_of

Numbers = np.ndarray | None
FINISHED = Ending.FINISHED  # a call in a loop does not look it up


class PreparedRun:
    """A prepared run, as returned by `dd.prepare`: a call only takes numbers.

    Call it with flat arrays (all optional) to get the states, (times, n), at `save_at` or at the steps. The entries are
    in the order of `labels["x"]`, `labels["u"]` and `labels["p"]`. You can call it from several threads at once.

    Example
    -------
    >>> import daedalus as dd, numpy as np
    >>> m = dd.Model("decay")
    >>> x = m.state("x", start=1.0); k = m.parameter("k", 1.0)
    >>> m.equation(m.der(x), -k * x)
    >>> run = dd.prepare(m, 1.0, save_at=[0.5, 1.0], rtol=1e-9)
    >>> run(p=np.array([2.0])).round(6).tolist()
    [[0.367879], [0.135335]]
    >>> run.labels["p"]
    ('k',)
    """

    def __init__(
        self,
        model: Model | System,
        span: float | tuple[float, float],
        start: Any,
        inputs: Mapping[str, object] | None,
        parameters: Mapping[str, object] | None,
        save_at: Any,
        options: dict[str, Any],
    ) -> None:
        # The same steps whatever the numbers are: all states are integrated, none is selected.
        model = without_choice(as_system(model)) if as_system(model).choices else model
        refuse_delays(as_system(model), "A prepared run")
        refuse_touching(as_system(model), "A prepared run")
        road = find_road(read_request(model, span, start, inputs, parameters, save_at, options, "dd.prepare"))
        check_step(road.request)
        if road.drive.callbacks:
            raise InputError(
                "A prepared run does not accept Python functions.",
                sentences(road.drive.notes),
                because="each call would run Python code thousands of times.",
                remedy="dd.signal(times, values), an expression, or dd.simulate",
            )
        settings, drive = road.settings, road.drive
        self._road, self._span, self._saves = road, road.request.span, road.request.save_at
        self._plan, self._plant, self._states = settings.plan, settings.plant, settings.plant.row_parts["x"]
        self._p, self._u = parameter_values(road.system, parameters), drive.constants
        self._tables = drive.core_tables() if drive.tables else None
        self._begins_anywhere = settings.begins_anywhere
        is_plain = settings.switches is None and settings.stops is None  # a call in a loop does not ask again
        self._core_numbers = None if is_plain else settings.core_numbers
        self._has_events = bool(road.system.events)
        self._discretes = road.system.discrete_count
        if self._discretes:
            self._p = self._first.parameters
        if start is not None:
            _ = self._first  # a start that nothing can begin with is refused at once

    def __reduce__(self) -> tuple[Any, ...]:
        road, request = self._road, self._road.request
        names, expressions = [], []
        for name, value in road.inputs.items():
            if isinstance(value, ca.SX) or (callable(value) and not isinstance(value, Signal)):
                names.append(name)
                expressions.append(_driving(road, name, value))
        plain = {name: value for name, value in road.inputs.items() if name not in names}
        start = None
        if request.start is not None:
            labels = [*self.labels["x"], *(self.system.labels["z"] if road.settings.plant.is_implicit else ())]
            start = dict(zip(labels, self._first.row.tolist()))
        options = dict(zip(LIMITS, request.limits), method=road.method, rtol=request.rtol, atol=request.atol)
        options["locate_switches"] = request.locate_switches
        settled = (request.span, start, plain, request.parameters, request.save_at, options)
        return _prepared_again, (road.solved, settled, names, packed(road.solved, expressions))

    @property
    def system(self) -> System:
        """The system that is run."""
        return self._road.system

    @cached_property
    def _first(self) -> Piece:
        """The piece that a call without numbers of its own begins with."""
        return begin(self._road, self._road.request.t0, self._road.request.start, may_turn=False)

    def __repr__(self) -> str:
        return f"PreparedRun of {self.system.name!r}: call it with x0, u and p"

    def _repr_html_(self) -> str:
        from daedalus.display.cards.tool_cards import words_card

        return words_card(f"{self.system.name}: prepared run", repr(self), self.labels)

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """The names of the entries of x, u and p."""
        return {letter: self.system.labels[letter] for letter in ("x", "u", "p")}

    def __call__(
        self, x0: np.ndarray | None = None, u: np.ndarray | None = None, p: np.ndarray | None = None
    ) -> np.ndarray:
        """The states (times, n) for a start x0, constant inputs u and parameters p; those not given as prepared.

        p may leave out the discrete variables, which stand last and begin as prepared then. Raises a SolverError that
        carries the trajectory when the run stops early.
        """
        p = self._with_discretes(p)
        run, row, codes = self._run(x0, u, p)
        finished = ENDINGS[run.status] is FINISHED and self._road.settings.contacts is None
        if finished and not self._may_branch:
            if self._saves is not None and self._plant.has_constraints:
                self._keep_between_steps(run, u, p)
            states: np.ndarray = run.x[:, self._states]
            return states
        whole = self._whole(run, row, codes, u, p)
        if not whole.success:
            raise_stopped(whole)
        if finished and len(whole.pieces) == 1:
            states = run.x[:, self._states]
            return states
        return np.stack([whole[label] for label in self.labels["x"]], axis=1)

    def _keep_between_steps(self, run: Any, u: Numbers, p: Numbers) -> None:
        """Move the rows of save_at onto what the model keeps, as `dd.simulate` does."""
        drive = self._road.drive if u is None else self._road.drive._replace(constants=np.asarray(u, dtype=float))
        held = self._p if p is None else np.asarray(p, dtype=float)
        request, switches = self._road.request, self._road.settings.switches
        conditions = () if switches is None else switches.conditions
        keep_between_steps(self._plant, drive, held, run, request.rtol, request.step is not None, conditions)

    def trajectory(
        self, x0: np.ndarray | None = None, u: np.ndarray | None = None, p: np.ndarray | None = None
    ) -> Trajectory:
        """The same run with everything that `dd.simulate` returns."""
        p = self._with_discretes(p)
        run, row, codes = self._run(x0, u, p)
        return self._whole(run, row, codes, u, p)

    def _with_discretes(self, p: Numbers) -> Numbers:
        count = self._discretes
        return (
            np.concatenate([p, self._p[len(p) :]]) if p is not None and count and len(p) + count == len(self._p) else p
        )

    @cached_property
    def _may_branch(self) -> bool:
        """Whether constraints may lose a rank on the way, so that a run has to be looked through."""
        return rank_watch_of(self._road.settings.plant) is not None

    def _run(self, x0: Numbers, u: Numbers, p: Numbers) -> tuple[Any, np.ndarray, Mapping[str, Any] | None]:
        """The first piece in the core, the row it began with, and the code that ran in it."""
        row = x0 if x0 is not None and self._begins_anywhere else self._row(x0, u, p)
        inputs, parameters, tables = self._u if u is None else u, self._p if p is None else p, self._tables
        if self._core_numbers is not None:
            inputs, parameters, tables = self._core_numbers(inputs, parameters, tables, self._span)
        agenda = self._agenda(row, u, p) if self._has_events else None
        core = None if agenda is None else agenda.core
        run = self._plan.run(*self._span, row, inputs, parameters, self._saves, tables, None, None, core)
        return run, row, None if agenda is None else agenda.codes

    def _agenda(self, row: np.ndarray, u: Numbers, p: Numbers) -> Agenda | None:
        """What is known to happen when, with the memory of code anew."""
        settings, own = self._road.settings, self._p if p is None else np.array(p, dtype=float)
        drive = self._road.drive if u is None else self._road.drive._replace(constants=np.asarray(u, dtype=float))
        inputs = drive.at_time(self._span[0])
        happened = (self._first.fired, self._first.told)
        return agenda_of(settings.plant, settings.core_plant, own, self._span, happened, row, inputs)

    def _row(self, x0: Numbers, u: Numbers, p: Numbers) -> np.ndarray:
        """The row that a call begins with: made consistent or refused as `dd.simulate` does."""
        if x0 is None and u is None and p is None:
            return self._first.row
        if self._begins_anywhere:
            return self._first.row if x0 is None else x0
        if x0 is not None and self._is_start(x0, u, p):
            return x0
        road = self._road_with(u, p)
        start = road.request.start
        if x0 is not None:
            start = dict(zip(self.labels["x"], np.asarray(x0, dtype=float).tolist()))
        return begin(road, road.request.t0, start, may_turn=False).row

    def _is_start(self, x0: np.ndarray, u: Numbers, p: Numbers) -> bool:
        """Whether states are a row to begin with as they are: on what the model keeps, with no vanishing divisor."""
        road, request = self._road, self._road.request
        plant, drive = road.settings.plant, road.drive if u is None else road.drive._replace(constants=u)
        parameters = self._p if p is None else p
        if plant.is_implicit or len(x0) != self.system.sizes["x"]:
            return False
        if self.system.constrains_start and is_off(plant, drive, request.t0, x0, parameters, request.rtol):
            return False
        return vanishing_divisor(request.model, plant, drive, request.t0, x0, parameters) is None

    def _whole(self, run: Any, row: np.ndarray, codes: Mapping[str, Any] | None, u: Numbers, p: Numbers) -> Trajectory:
        """The run as `dd.simulate` returns it, gone on with where the first piece stopped."""
        with time_limited(self._road.settings.time_limit):
            road = self._road_with(u, p)
            request, parameters = road.request, self._p if p is None else np.array(p, dtype=float)
            fired = self._first.fired if self._has_events else frozenset()
            piece = Piece(road, parameters, request.t0, row, fired)
            begun = read_piece(piece, run, request.t1, request.save_at is not None, codes)
            if len(stops_where_broken(begun, road.settings.contacts, request.span)):
                return travel_from(piece)
            return travel_begun(piece, begun)

    def _road_with(self, u: Numbers, p: Numbers) -> Road:
        """The road with other numbers, by name too, as pieces that follow read them."""
        road, request, labels = self._road, self._road.request, self.labels
        if p is not None:
            request = request._replace(parameters=dict(zip(labels["p"], np.asarray(p, dtype=float).tolist())))
        if u is None:
            return road._replace(request=request)
        # Constants by the element; tables and expressions stay as they are.
        drive = road.drive._replace(constants=np.array(u, dtype=float))
        tabled = {k for _, slots in drive.tables for k in slots}
        constants = {n: float(drive.constants[k]) for k, n in enumerate(labels["u"]) if k not in tabled}

        def renewed(inputs: Mapping[str, object] | None) -> dict[str, object]:
            kept = {n: v for n, v in (inputs or {}).items() if isinstance(v, Signal) or n not in self.system.places}
            return {**kept, **constants}

        request = request._replace(inputs=renewed(request.inputs))
        return road._replace(request=request, drive=drive, inputs=renewed(road.inputs))


def _driving(road: Road, name: str, value: Any) -> ca.SX:
    """The expression of an input; functions were read as one when the run was prepared."""
    if isinstance(value, ca.SX):
        return value
    expression, _ = traced_input(road.solved, road.solved.place(name), value, road.request.span)
    assert expression is not None
    return expression


def _prepared_again(
    system: System, settled: tuple[Any, ...], names: list[str], expressions: PackedExpressions
) -> PreparedRun:
    """A prepared run as pickles hold it: of the system that solves it, with inputs in its symbols."""
    span, start, plain, *rest = settled
    return PreparedRun(system, span, start, {**plain, **dict(zip(names, unpacked(system, expressions)))}, *rest)


def prepare(
    model: Model | System,
    span: float | tuple[float, float],
    start: Any = None,
    inputs: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
    save_at: Any = None,
    **options: Any,
) -> PreparedRun:
    """Prepare a run once, so that you can repeat it with other numbers in a few microseconds per call.

    Arguments as in `dd.simulate`; `options` are method, rtol, atol and the limits. A call can pass its own arrays x0
    (n,), u (nu,) and p (np,), in the order of `labels`; otherwise it uses the values given here.

    Example
    -------
    >>> import daedalus as dd, numpy as np
    >>> m = dd.Model("oscillator")
    >>> y = m.state("y", start=1.0)
    >>> m.equation(m.der(m.der(y)), -y)
    >>> run = dd.prepare(m, np.pi, save_at=[np.pi], rtol=1e-10)
    >>> run(np.array([2.0, 0.0])).round(6).tolist()
    [[-2.0, -0.0]]
    """
    if "save" in options:
        raise InputError(
            "dd.prepare takes no save.",
            because="a call returns all states, one column for each name in run.labels['x'].",
            remedy='columns of the result, or dd.simulate(..., save=["x"])',
        )
    with time_limited(options.get("time_limit")):
        return PreparedRun(model, span, start, inputs, parameters, save_at, options)
