"""How a run begins, and how it goes on where a piece of it stopped before the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from daedalus.integrators.methods import METHODS, check_known, is_implicit, takes_momenta
from daedalus.integrators.tableaux.collocation import radau_iia
from daedalus.model.model import Model, as_system
from daedalus.model.system.system import System
from daedalus.model.values import parameter_values
from daedalus.simulation.inputs.read_inputs import read_inputs
from daedalus.simulation.inputs.tables_in_constraints import check_tables
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.lobatto_step import attach_momentum_form
from daedalus.simulation.plant.solvable import reduced_system
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.known_way import keep_way
from daedalus.simulation.run.pieces import Next, Piece
from daedalus.simulation.run.rechosen_constraints import Rechosen, rechosen, unclosed
from daedalus.simulation.run.reselection import another_choice, with_choice
from daedalus.simulation.run.settings import checked_numbers, settings_of
from daedalus.simulation.run.system_to_run import implicit_choice, runs_smoothly, system_to_run
from daedalus.simulation.singular.impasse import impasse_end
from daedalus.simulation.singular.singular_configuration import singular_end
from daedalus.simulation.start.start_row import Start, start_row
from daedalus.simulation.start.vanishing_divisor import VanishingDivisor
from daedalus.simulation.switching.unlocated_switches import piece_without_cuts

if TYPE_CHECKING:
    from daedalus.integrators.tableaux.tableau import Tableau

Values = Mapping[str, object] | None
FULL_NEWTON = "each stage has a Jacobian of its own"


class Asked(NamedTuple):
    """What `dd.simulate` was asked for: every piece of the run is made from it."""

    model: Model | System
    t1: float
    method: str | Tableau
    inputs: Values
    parameters: Values
    rtol: float
    atol: object
    limits: tuple[Any, ...]  # step, max_step, first_step, max_steps, time_limit
    locate_switches: bool

    def piece(
        self,
        system: System,
        left: Mapping[str, object],
        method: str | Tableau,
        why: str,
        begin: float,
        start: Start | None,
    ) -> Piece:
        """A piece that runs a system, which still takes the inputs `left`, from a start."""
        p = parameter_values(system, self.parameters)
        system, drive = read_inputs(system, left, (begin, self.t1))
        if drive.tables and is_implicit(method):
            check_tables(system, drive, (begin, self.t1))
        if takes_momenta(method):
            attach_momentum_form(self.model, system)
        settings = settings_of(system, method, self.rtol, self.atol, *self.limits, locate_switches=self.locate_switches)
        given = (start, self.inputs, self.parameters)
        row, settings, drive = start_row(self.model, settings, drive, begin, p, left, given)
        return with_choice(Piece(settings, drive, p, begin, row, why))


def first_piece(asked: Asked, t0: float, start: Start | None) -> Piece:
    """The piece that a run begins with."""
    span = t0, asked.t1
    check_known(asked.method)
    checked_numbers(asked.rtol, asked.limits)
    system, left, method, why = system_to_run(asked.model, asked.inputs, span, asked.method, asked.rtol, asked.atol)
    try:
        piece = asked.piece(system, left, method, why, t0, start)
        keep_way(asked, system, method, piece)
        return piece
    except VanishingDivisor as error:
        if asked.method != "auto" or error.of_states:
            raise
        # Inputs or parameters take the unknown out of an equation, which then constrains the states.
        whole = as_system(asked.model)
        method, why = implicit_choice(whole, error.facts[0], asked.rtol, atol=asked.atol)
        return asked.piece(whole, asked.inputs or {}, method, why, t0, start)


def next_piece(asked: Asked, done: Trajectory, first: Piece | None = None) -> Next:
    """What follows a piece that stopped before the end: see `daedalus.simulation.run.pieces`.

    `first` is the piece that the run began with, which a model with a choice of states needs.
    """
    if done.system.choices and first is not None:
        return another_choice(first, done)
    if done.status == "stiff":
        return _implicit_piece(asked, done)
    crossing = piece_without_cuts(done, asked.rtol, asked.atol, asked.limits) if asked.locate_switches else None
    following = crossing or _by_full_newton(asked, done, first) or _with_other_constraints(asked, done)
    return following or singular_end(done) or impasse_end(done)


def _by_full_newton(asked: Asked, done: Trajectory, first: Piece | None) -> Piece | None:
    """The rest of a Radau run at fixed step, with a matrix of its own for each stage, where one for all led nowhere.

    A long step cannot be made shorter here, and its stages see equations that differ much. The run goes on with the row
    that it came to, which hidden constraints need not know.
    """
    step = asked.limits[0]
    if done.status != "newton_failed" or step is None or first is None or done.method not in METHODS:
        return None
    if METHODS[done.method].family != "radau" or FULL_NEWTON in done.notes[0]:
        return None
    begin, full = done._source.stop_time, radau_iia((METHODS[done.method].order + 1) // 2)
    settings = settings_of(done.system, full, asked.rtol, asked.atol, *asked.limits,
                           locate_switches=asked.locate_switches)  # fmt: skip
    told = f"from t = {begin:.6g} on {FULL_NEWTON}, since one for all leads nowhere over steps of {step:g}"
    call = {**settings.call, **{k: v for k, v in first.settings.call.items() if k == "restart"}}
    settings = replace(settings, method=done.method, reason=told, call=call)
    return Piece(settings, first.drive, first.parameters, begin, done._source.end)


def _with_other_constraints(asked: Asked, done: Trajectory) -> Next:
    """The rest of a run whose redundant constraints had to be chosen anew, by the method it had."""
    system, left = _system_asked_for(asked, float(done.end.time))
    redundancy = system.prepared.get("redundancy") or getattr(asked.model, "_redundancy", None)
    found = None if redundancy is None else rechosen(redundancy, done, asked.t1)
    if not isinstance(found, Rechosen):
        return found
    method = done.method if isinstance(done._plant, ImplicitPlant) else asked.method
    why = done.notes[0]
    return asked.piece(reduced_system(found.reduced), left, method, why, float(done.end.time), found.start)


def _system_asked_for(asked: Asked, begin: float) -> tuple[System, Mapping[str, object]]:
    """The system that the run began with, and the inputs that it still takes."""
    system, left, _, _ = system_to_run(asked.model, asked.inputs, (begin, asked.t1), asked.method, asked.rtol)
    return system, left


def _implicit_piece(asked: Asked, done: Trajectory) -> Piece:
    """The rest of a run by an implicit method, after stability held back an explicit one."""
    run, end = done._source, done.end
    found = f"stability held {done.method} to steps of {abs(run.last_step):.2g} from t = {run.stop_time:.3g} on"
    steps = "step" if run.steps == 1 else "steps"
    system, left = as_system(asked.model), asked.inputs or {}
    reduced, left_of_reduced = _system_asked_for(asked, float(end.time))
    if reduced.prepared.get("redundancy") is not None:
        # Redundant constraints as written would make every matrix singular.
        system, left = unclosed(reduced.prepared["redundancy"], done), left_of_reduced
    smooth = runs_smoothly(system, asked.inputs)
    name, why = implicit_choice(system, f"{found}, seen after {run.steps} {steps}", asked.rtol, smooth, asked.atol)
    return asked.piece(system, left, name, why, float(end.time), end)
