"""The road of a run: which system is run for a request, by which method and why, driven by what.

Explicit methods run the system solved for x' and z, its index reduced if need be; implicit ones the model as it is
written. "auto" is explicit where x' and z follow from x by formulas or linear solves, and implicit otherwise. Plain
numbers for inputs, parameters and start values change nothing of this: the road is kept with the model's snapshot, so
that a call in a loop looks it up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from daedalus import _core
from daedalus.analysis.structure.written_structure import variable_index
from daedalus.errors import DaedalusError, InputError, SolverError
from daedalus.integrators.methods import check_known, is_implicit, takes_momenta
from daedalus.model.mechanics.mechanics_part import refuse_touching
from daedalus.model.mechanics.momentum_form import momentum_form
from daedalus.model.system.once import KeptByKey, once
from daedalus.model.system.system import System
from daedalus.reduction.redundancy.independent_constraints import Redundancy, redundancy_at_start
from daedalus.reduction.redundancy.repeated_equations import with_independent_equations
from daedalus.reduction.switches import switches_of
from daedalus.simulation.inputs.differentiated_inputs import driven_system, with_input_derivatives
from daedalus.simulation.inputs.jumps_differentiated import jumps_differentiated
from daedalus.simulation.inputs.read_inputs import Drive, gathered_inputs, read_inputs
from daedalus.simulation.inputs.table_rates import check_tables
from daedalus.simulation.plant.selected_plant import SelectedPlant
from daedalus.simulation.plant.solvable import of_index_1
from daedalus.simulation.result.held_values import ConditionModes
from daedalus.simulation.result.records_of_methods import ImplicitChosen, MethodChoice, Stiffness, choice_of
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.method_choice import implicit_choice, runs_smoothly
from daedalus.simulation.run.request import Options, Request, checked_numbers
from daedalus.simulation.run.settings import Settings, settings_for
from daedalus.simulation.switching.jumps_on_conditions import jumps_on_states, switches_on_algebraics

if TYPE_CHECKING:
    from daedalus.integrators.tableaux.tableau import Tableau

Inputs = Mapping[str, object]
Key = Options | tuple[Options, str]
# What a run that watches guards of its own gives to the core.
OF_GUARDS = ("guards", "directions", "actions", "occurrences")
CHOSEN = "dependent states follow from constraints in every step"


class Road(NamedTuple):
    """What a request comes to, but for where it begins."""

    request: Request  # with its inputs as the road takes them
    solved: System  # the system for the request, which takes the inputs
    system: System  # that is run: expressions are put in for inputs
    method: str | Tableau  # as asked for, or as chosen
    settings: Settings
    drive: Drive
    inputs: Inputs  # that the solved system takes
    why: MethodChoice | None = None  # this method, where it was not asked for


class Piece(NamedTuple):
    """A road that may be run from a time on: with which numbers, and the row it begins with."""

    road: Road
    parameters: np.ndarray
    begin: float
    row: np.ndarray  # x, or (x, z, x') for an implicit method
    fired: frozenset[str] | None = None  # what happened at its beginning already; None in the midst of a run
    told: frozenset[str] = frozenset()  # in the midst of a run: events that the piece before ended with
    goes_on: bool = False  # whether it goes on where another run of the same events was: its start is none
    modes: ConditionModes | None = None  # of the conditions, as they were there

    @property
    def settings(self) -> Settings:
        """How the core runs it."""
        return self.road.settings

    @property
    def drive(self) -> Drive:
        """What drives it."""
        return self.road.drive

    def with_settings(self, settings: Settings) -> Piece:
        """The same in another way."""
        return self._replace(road=self.road._replace(settings=settings))

    def continued_settings(self, system: System, method: Any) -> Settings:
        """Settings for the same request by a method, with the restarts and guards of this piece."""
        settings, own = settings_for(self.road.request, system, method), self.settings
        kept = ("restart",) if own.watched is None else ("restart", *OF_GUARDS)
        call = {**settings.call, **{k: v for k, v in own.call.items() if k in kept}}
        return replace(settings, call=call, watched=own.watched)

    def behind(
        self, done: Trajectory, settings: Settings, t: float, row: np.ndarray, why: MethodChoice | None = None
    ) -> Piece:
        """The rest of a run behind a piece of it that is done; why: this method, where that was chosen just now."""
        why = why or choice_of(done.records)
        system = settings.plant.system
        road = self.road._replace(system=system, settings=settings, drive=done._drive, why=why)
        return Piece(road, done._parameters, t, row)


def find_road(request: Request) -> Road:
    """The road of a request, looked up where it was taken before with other numbers."""
    known = _known_road(request, request.options)
    if known is not None:
        return known
    check_known(request.method)
    if not request.options.stepped:
        refuse_touching(request.system, "This run")
    checked_numbers(request.rtol, request.limits)
    request = with_whole_inputs(request)
    system, left, method, why = _system_and_method(request)
    road = road_through(request, system, left, method, why, request.t0)
    _keep(road, request.options)
    return road


def with_whole_inputs(request: Request) -> Request:
    """The request with inputs put together that were given by element, and with derivatives that the model takes."""
    gathered = gathered_inputs(request.model, request.inputs)
    return request._replace(inputs=with_input_derivatives(request.model, gathered, request.span))


def road_through(
    request: Request, system: System, left: Inputs, method: str | Tableau, why: MethodChoice | None, t0: float
) -> Road:
    """The road that runs a given system, which still takes the inputs `left`, by a given method from t0 on."""
    closed, drive = read_inputs(system, left, (t0, request.t1))
    if drive.tables and is_implicit(method):
        check_tables(closed, drive, (t0, request.t1))
    if takes_momenta(method):
        _check_independent(request, system)
        momentum_form(closed)
    settings = settings_for(request, closed, method).with_moving_inputs(left)
    return Road(request, system, closed, method, settings, drive, left, why)


def _check_independent(request: Request, system: System) -> None:
    """Refuse redundant constraints for methods that solve for all multipliers themselves."""
    redundancy = system.part(Redundancy)
    if redundancy is not None:
        raise InputError(
            f"The method {request.method!r} needs independent constraints.",
            f"{redundancy.listed(redundancy.first.dependent)} follows from the others",
            because="it solves for every multiplier, and those of redundant constraints are not unique.",
            remedy='a model without it, or another method such as "radau5", which takes the smallest multipliers',
        )


def implicit_road(request: Request, reason: str) -> Road:
    """The road of a model as it is written, by the implicit method that suits it."""
    system, left = _independent(request)
    method, why = implicit_choice(system, reason, request.rtol, atol=request.atol)
    return road_through(request, system, left, method, why, request.t0)


def stiff_road(request: Request, found: Stiffness) -> Road:
    """The road of a run that is stiff from its start on: the model as it is written, by an implicit method."""
    key = (request.options, "stiff")
    known = _known_road(request, key)
    if known is not None and isinstance(known.why, ImplicitChosen):
        return known._replace(why=replace(known.why, because=found))
    road = road_through(request, *_as_written(request, found), request.t0)
    _keep(road, key)
    return road


# -- which system, which method ----------------------------------------------------------------------------------------


def _system_and_method(request: Request) -> tuple[System, Inputs, str | Tableau, MethodChoice | None]:
    """The system, the inputs that it still takes, the method, and why this method where that was left open."""
    system, method, inputs = request.system, request.method, request.inputs or {}
    if is_implicit(method):
        return *_independent(request), method, None
    if system.choices and method == "auto":
        return system, inputs, *implicit_choice(system, CHOSEN, request.rtol, atol=request.atol)
    jumps = jumps_differentiated(system, request.span)
    if jumps and not _has_redundant_constraints(request):  # of redundant constraints only the reduction can be run
        if method != "auto":
            raise _differentiates_jumps(method, jumps)
        return _as_written(request, jumps)
    found, left = driven_system(request.model, request.inputs, request.span)
    if isinstance(found, System):
        return found, left, method, None
    if method != "auto":
        raise found.error
    return _as_written(request, found.reason)


def _as_written(request: Request, reason: str | Stiffness) -> tuple[System, Inputs, str, MethodChoice]:
    """The model as it is written, by an implicit method."""
    system, left = _independent(request)
    smooth = runs_smoothly(system, request.inputs)
    return system, left, *implicit_choice(system, reason, request.rtol, smooth, request.atol)


def _independent(request: Request) -> tuple[System, Inputs]:
    """The model as it is written, without equations that follow from others, and the inputs that it takes.

    With its index reduced where constraints of a mechanism are redundant, where conditions are on algebraic variables
    of a higher index, and where equations jump as states change a condition.
    """
    inputs = request.inputs or {}
    if _has_redundant_constraints(request):
        reduced, left = driven_system(request.model, request.inputs, request.span)
        # Nonlinear algebraic equations beside the mechanism have no solved form.
        return (reduced, left) if isinstance(reduced, System) else (of_index_1(request.system), inputs)
    found = with_independent_equations(request.system)
    switches = jumps_on_states(found) or switches_on_algebraics(found)
    if inputs or not switches or variable_index(found).largest <= 1:
        return found, inputs
    try:
        return of_index_1(found), inputs
    except DaedalusError:  # it has no reduction, and is run as it is
        return found, inputs


def _has_redundant_constraints(request: Request) -> bool:
    """Whether constraints follow from others along the motion, so that only the reduction can be run."""
    return redundancy_at_start(request.system) is not None


def _differentiates_jumps(method: object, jumps: str) -> SolverError:
    return SolverError(
        f"The method {method!r} needs derivatives of what jumps.",
        jumps,
        because="a jump in time becomes an impulse when it is differentiated, and is lost.",
        remedy='a smooth function of time, or method="bdf" or "radau5"',
    )


# -- roads that were taken before --------------------------------------------------------------------------------------


def _known_road(request: Request, key: Key) -> Road | None:
    """The road where it is known and nothing but plain numbers drives it.

    key: what decides it, the options and, where it is not the one that the request itself leads to, which one.
    """
    try:
        kept: Road | None = once(request.system, _roads).get(key)
    except TypeError:  # atol by name cannot be looked up
        return None
    if kept is None:
        return None
    _, solved, system, method, settings, drive, _, why = kept
    inputs, elements = request.inputs or {}, len(drive.constants)
    if inputs or elements:
        constants = np.empty(elements)
        if type(inputs) is not dict or _core.write_plain(constants, system.plain_places["u"], inputs) != elements:
            return None  # anything but plain numbers for all inputs has words of its own
        drive = Drive(constants)
    return Road(request, solved, system, method, settings, drive, inputs, why)


def _roads(system: System) -> KeptByKey[Road]:
    """The roads that were taken, by what decides them."""
    return KeptByKey()


def _keep(road: Road, key: Key) -> None:
    """Keep a road where nothing but plain numbers was given for the inputs."""
    request, drive = road.request, road.drive
    own = request.system
    plain = not (drive.tables or drive.callbacks) and len(drive.constants) == own.sizes["u"]
    plain = plain and not own.delayed
    if not plain or road.system is not road.solved or isinstance(road.settings.plant, SelectedPlant):
        return
    switches = switches_of(own)
    if switches is not None and switches.clock is not None:  # what may be differentiated depends on the span
        return
    # What this call began with and asked for is not kept.
    asked = request._replace(model=own, start=None, inputs=None, parameters=None, save_at=None)
    try:
        once(own, _roads)[key] = road._replace(request=asked, drive=Drive(drive.constants), inputs={})
    except TypeError:  # atol by name cannot be looked up
        return
