"""What does not change from call to call: method, tolerances, limits and compiled functions, checked once and kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.compilation.foreign_calls import calls_foreign_code
from daedalus.errors import InputError
from daedalus.initialisation.written_states import has_other_states
from daedalus.integrators.methods import METHODS, choose_method, is_implicit, takes_momenta
from daedalus.model.expressions import contains, symbol_key
from daedalus.model.lazy_values import cached_property
from daedalus.model.plain_numbers import plain_array, plain_number, without_unit
from daedalus.model.system.instruction_list import LONG, read_instructions
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.model.variables import Event
from daedalus.reduction.switches import switches_of
from daedalus.simulation.contacts.contact_run import Contacts, has_contacts
from daedalus.simulation.contacts.gap_projection import gap_projection
from daedalus.simulation.plant.called_plant import CalledEquations
from daedalus.simulation.plant.constant_mass import varying_mass
from daedalus.simulation.plant.events_by_states import guards_by_states, resets_by_states
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.plant.plants import implicit_plant_of, plant_of, switched_plant
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_of_methods import (
    ExplicitChosen,
    FirstStepsWrong,
    MethodAsked,
    MethodChoice,
    NotSymplectic,
    ToleranceTightened,
)
from daedalus.simulation.run.linear_way import (
    AUTO,
    GivenPreconditioner,
    LinearWay,
    core_with_linear_way,
)
from daedalus.simulation.run.method_choice import implicit_cost
from daedalus.simulation.run.request import Request, checked_numbers
from daedalus.simulation.singular.rank_watch import rank_watch_of
from daedalus.simulation.sliding.surface import Surface, settled_unknowns
from daedalus.simulation.start.restart import Restart, restarts
from daedalus.simulation.switching.agenda import levels_of, order_of
from daedalus.simulation.switching.condition_times import behind_start, condition_times

if TYPE_CHECKING:
    from daedalus.integrators.tableaux.tableau import Tableau
    from daedalus.reduction.switches import Switches


# Constrained mechanisms pass local errors on much enlarged: on the car axis a component ends up to 560 rtol away from
# what is published, with SciPy's DOP853 as with ours. With a tenth of the tolerance in the error test each component is
# within 100 rtol (18 at rtol = 1e-4, 72 at 1e-6, 33 at 1e-8), for 20 to 35 % more evaluations.
CONSTRAINED, FLOOR = 0.1, 1e-12
# Errors of a variable that is zero are divided by its tolerance, which is not zero for that; squares of it still count.
SMALLEST = 1e-150


@dataclass(frozen=True, eq=False)
class Settings:
    """One way to run one system."""

    plant: Plant
    rhs: Any  # the compiled right-hand side, as the core takes it
    core_method: Any  # a name or a tableau, as the core takes it
    method: str
    reason: MethodChoice  # why this method
    rtol: float  # as asked for
    max_steps: int | None
    time_limit: float | None
    call: dict[str, Any]  # what the core's plan takes beside these, where it differs from its own defaults
    core_plant: Plant  # whose functions the core calls: the plant itself, or one with modes
    switches: Switches | None = None
    notes: tuple[Record, ...] = ()
    # What guards are called, where they are not those of the system.
    watched: tuple[Event, ...] | None = None
    # Conditions on time that steps end at although the equations keep them as they are.
    stops: ca.Function | None = None
    # Dependent states and the equations in their place, where parameters choose the states.
    choice: tuple[Sequence[int], Sequence[int]] = ((), ())
    # What lies behind resets where states depend on each other.
    restart: Restart | None = None
    contacts: Contacts | None = None
    # How linear systems are solved, and a preconditioner that was given.
    linear: LinearWay = AUTO
    preconditioner: GivenPreconditioner | None = None

    @cached_property
    def plan(self) -> _core.Plan:
        """All this as the core takes it: a run adds its span and its numbers."""
        return _core.Plan(self.rhs, self.core_method, **self.call, rows_at_jumps=True)

    @property
    def moves_by_formula(self) -> bool:
        """Whether steps end with a move onto what the model keeps that is a formula, whose derivatives are known."""
        return not isinstance(self.call.get("projection"), _core.Projection | None)

    @property
    def events(self) -> tuple[Event, ...]:
        """What the guards of a run are called, in their order."""
        own = self.plant.system
        return tuple(own.events[k] for k in order_of(own).all) if self.watched is None else self.watched

    @cached_property
    def begins_anywhere(self) -> bool:
        """Whether every state is a start: nothing constrains it, and no formula divides by what may vanish."""
        plant = self.plant
        if plant.is_implicit or plant.system.constrains_start or has_other_states(plant.system):
            return False
        return not isinstance(plant, ExplicitPlant) or not (plant.form.divisors or plant.form.coupled)

    def with_moving_inputs(self, inputs: Mapping[str, object]) -> Settings:
        """The same for inputs that are more than numbers, whose derivatives matter behind a reset."""
        if self.restart is None:
            return self
        restart = self.restart.driven_by(inputs)
        return replace(self, call={**self.call, "restart": restart.function(self.core_plant.system)}, restart=restart)

    @cached_property
    def has_branches(self) -> bool:
        """Whether a run may pass places where branches of the motion cross."""
        return rank_watch_of(self.plant) is not None

    def core_numbers(
        self, u: np.ndarray, p: np.ndarray, tables: list[Any] | None, span: tuple[float, float]
    ) -> tuple[np.ndarray, np.ndarray, list[Any] | None]:
        """u, p and tables as the core takes them.

        Conditions on time follow u, held until they change; the modes of switches, which it finds itself, follow p.
        """
        if self.stops is not None:
            times, _ = condition_times(self.plant.system, self.stops, p, span)
            tables = [*(tables or []), _core.Table(times, np.zeros((len(times), 0)), [], False)]
        elif self.switches is not None and self.switches.clock is not None:
            times, values = condition_times(self.core_plant.system, self.switches.clock, p, span)
            first, slots = values[0 if span[1] >= span[0] else -1], list(range(len(u), len(u) + values.shape[1]))
            own = [_core.Table(times, values, slots, False)] if len(times) > 1 else []
            u, tables = np.concatenate([u, first]), [*(tables or []), *own] or None
        return u, p if self.switches is None else np.concatenate([p, np.zeros(self.switches.count)]), tables

    def behind_start(self, p: np.ndarray, span: tuple[float, float]) -> float:
        """The beginning of a span, or a time beside it, where conditions on time are what a run begins with."""
        if self.stops is not None:
            return behind_start(self.plant.system, self.stops, p, span)
        if self.switches is None or self.switches.clock is None:
            return span[0]
        return behind_start(self.core_plant.system, self.switches.clock, p, span)

    def values_in_time(
        self, p: np.ndarray, span: tuple[float, float], end: float
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """When conditions on time change in a run over a span that came to an end, and what they are from then on.

        The first time is that of the beginning. None where time alone decides nothing.
        """
        if self.switches is None or self.switches.clock is None:
            return None
        times, values = condition_times(self.core_plant.system, self.switches.clock, p, span)
        passed = np.append(True, (times[1:] <= max(span[0], end)) & (times[1:] >= min(span[0], end)))
        if span[1] < span[0]:  # each value holds before its time there
            passed, times, values = np.append(True, passed[:0:-1]), np.append(span[0], times[:0:-1]), values[::-1]
        return times[passed], values[passed]


def settings_of(
    system: System,
    method: str | Tableau,
    rtol: float,
    atol: object,
    *limits: Any,
    locate_switches: bool = False,
    linear: LinearWay = AUTO,
    takes_slopes: bool = False,
) -> Settings:
    """The settings of a run, from memory where they were used before; what means nothing is refused.

    `limits` are step, max_step, first_step, max_steps and time_limit. takes_slopes: Rosenbrock methods take x' as
    unknowns where what stands before it moves; derivatives of their steps are not written for that.
    """
    further = (locate_switches, linear, takes_slopes)
    try:
        hash((method, rtol, atol, limits))
    except TypeError:  # atol by name cannot be looked up
        return _checked(system, method, rtol, atol, limits, *further)
    return once(system, _checked, method, rtol, atol, limits, *further)


def settings_for(request: Request, system: System, method: str | Tableau) -> Settings:
    """The settings of a request for a system by a method."""
    locate = request.locate_switches
    return settings_of(
        system,
        method,
        request.rtol,
        request.atol,
        *request.limits,
        locate_switches=locate,
        linear=request.options.linear,
        takes_slopes=True,
    )


def _checked(
    system: System, method: str | Tableau, rtol: float, atol: object, limits: tuple[Any, ...], locate: bool,
    linear: LinearWay, takes_slopes: bool,
) -> Settings:  # fmt: skip
    numbers = checked_numbers(rtol, limits)
    choice = choose_method(method, rtol, numbers["step"])
    implicit = is_implicit(method)
    called = system.part(CalledEquations) is not None
    plant: Plant = implicit_plant_of(system) if implicit and not called else plant_of(system)
    if isinstance(plant, ImplicitPlant):
        check_fits(plant, method)
        if not takes_slopes:
            _check_mass(plant, choice.name)
    tolerance = row_tolerance(system, atol) if implicit else absolute_tolerance(system, atol)
    call = {"atol": tolerance, **{k: v for k, v in numbers.items() if v is not None}}
    notes: tuple[Record, ...]
    core_plant, switches, notes = switched_plant(plant) if locate and not takes_momenta(method) else (plant, None, ())
    if system.has_invariants and core_plant.projection is not None:
        call["projection"] = core_plant.projection.core
        if method == "auto" and rtol > FLOOR:
            call["rtol"], call["atol"] = CONSTRAINED * rtol, CONSTRAINED * tolerance
            notes = (*notes, ToleranceTightened())
    if method == "auto" and not system.delayed:
        call["watch_stiffness"] = implicit_cost(rtol)
    if system.events or (switches is not None and switches.count) or system.discrete_count:
        call.update(event_call(plant, core_plant, 0 if switches is None else switches.count, numbers["step"] is None))
    restart = Restart(plant, rtol) if restarts(system) else None
    if restart is not None:
        call["restart"] = restart.function(core_plant.system)
    contacts = Contacts(plant) if has_contacts(system) else None
    if contacts is not None:
        call["contacts"], call["is_contact"] = contacts.function(core_plant.system), contacts.flags
        curved = None if implicit or "projection" in call else gap_projection(system, core_plant.system)
        if curved is not None:
            call["projection"] = curved.core
    if isinstance(plant, ImplicitPlant):
        notes += caveats(plant, method)
        # What time alone decides is no kink: steps end there.
        by_time = switches is not None and not switches.count and switches_of(core_plant.system) is None
        if switches_of(system) is not None and not by_time:
            call["kinked"] = True
        call["junctions"] = has_junctions(core_plant.system)
        if choice.name in METHODS and METHODS[choice.name].family == "rosenbrock":
            call["moving_mass"] = bool(varying_mass(core_plant.system))
    elif implicit:
        call["kinked"] = True  # there may be conditions inside
    core_method = choice.core
    if takes_momenta(method):
        core_method, more = _momentum_step(system, choice.name)
        notes += more
    chosen = (core_method, choice.name, reason_of(method, choice.name, rtol, numbers["step"]))
    core = _core_model(core_plant, choice.name)
    core, linear, given = core_with_linear_way(
        core, core_plant, linear, system.sizes["x"] + system.sizes["z"], choice.name, numbers["step"] is not None
    )
    ends = numbers["max_steps"], numbers["time_limit"]
    return Settings(
        plant, core, *chosen, rtol, *ends, call, core_plant, switches, notes, restart=restart, contacts=contacts,
        linear=linear, preconditioner=given,
    )  # fmt: skip


def has_junctions(system: System) -> bool:
    """Whether laws of junctions are in the equations: they are written with ln(1 + e)."""
    return once(system, _has_log1p)


def _has_log1p(system: System) -> bool:
    function = system.function
    if function.n_instructions() < LONG or calls_foreign_code(function):
        return contains(function, (ca.OP_LOG1P,))
    return ca.OP_LOG1P in read_instructions(function, placed=False).operation


def _core_model(plant: Plant, method: str) -> Any:
    if not isinstance(plant, ImplicitPlant):
        return plant.rates.core
    needs_drift = method in METHODS and METHODS[method].family == "rosenbrock"
    return plant.model_with_drift if needs_drift else plant.model


def reason_of(method: str | Tableau, name: str, rtol: float, step: float | None) -> MethodChoice:
    """Why the method of a name runs: by the tolerance, or since it was asked for."""
    return ExplicitChosen(name, rtol) if method == "auto" else MethodAsked(name, step is not None)


def _momentum_step(system: System, method: str) -> tuple[Any, tuple[Record, ...]]:
    """The step of a method of momenta, and whether it is symplectic for this system."""
    from daedalus.model.mechanics.momentum_form import momentum_form
    from daedalus.simulation.plant.lobatto_step import lobatto_step

    step = lobatto_step(system, METHODS[method].order // 2 + 1)
    return step, () if momentum_form(system).symplectic else (NotSymplectic(),)


def row_tolerance(system: System, atol: object) -> np.ndarray:
    """atol over the rows (x, z, x') of an implicit run; algebraic variables have an error of their own here."""
    sizes, of_z, of_x = system.sizes, 1e-9, atol
    if isinstance(atol, Mapping):
        of_x = {name: value for name, value in atol.items() if system.place(name).letter != "z"}
    elif isinstance(atol, (int, float, np.integer, np.floating)):
        of_z = plain_number(atol, "atol")
    z = np.maximum(of_z * system.nominal["z"], SMALLEST)
    for name, value in atol.items() if isinstance(atol, Mapping) else ():
        place = system.place(name)
        if place.letter == "z":
            z[place.positions] = np.maximum(_absolute(name, value, len(place.positions), place.unit), SMALLEST)
    return np.concatenate([absolute_tolerance(system, of_x), z, np.ones(sizes["x"])])


def _absolute(name: str, value: object, count: int, unit: str = "") -> np.ndarray:
    plain = without_unit(value, unit, f"atol of {name}")
    try:
        entries = plain_array(plain, f"atol of {name}").ravel(order="F")
    except InputError:
        entries = np.array([np.nan])
    if entries.size not in (1, count) or not np.all(entries >= 0):
        raise InputError(f"atol of {name} does not fit.", f"got {value!r}"[:80], remedy=f'atol={{"{name}": 1e-9}}')
    return entries


def absolute_tolerance(system: System, atol: object) -> np.ndarray:
    """atol as a vector over x: a number counts in nominal values, values by name are absolute."""
    if not isinstance(atol, Mapping):
        if not isinstance(atol, (int, float, np.integer, np.floating)) or not atol >= 0:
            raise InputError("atol must be a number >= 0, or numbers by name.", f"got {atol!r}", remedy="atol=1e-9")
        vector = plain_number(atol, "atol") * system.nominal["x"]
    else:
        vector = 1e-9 * system.nominal["x"]
        for name, value in atol.items():
            place = system.place(name)
            if place.letter == "z":
                # It follows from x without an error of its own.
                _absolute(name, value, len(place.positions), place.unit)
                continue
            if place.letter != "x":
                raise InputError(
                    f"atol of {name} is not valid.", "only states have an error of their own with an explicit method"
                )
            vector[place.positions] = _absolute(name, value, len(place.positions), place.unit)
    return np.maximum(vector, SMALLEST)


def event_call(plant: Plant, core_plant: Plant, switches: int, by_states: bool) -> dict[str, Any]:
    """Guards, resets and clocks for the core: every event cuts the step, terminal ones end the run; switches come last.

    plant: that of the system as written; core_plant: whose functions the core calls. by_states: whether what is read of
    a higher index follows from the states, as in rows of adaptive runs.
    """
    system = plant.system
    order = order_of(system)
    events = [system.events[k] for k in order.events]
    call: dict[str, Any] = {"from_start": True}
    if events or switches:
        call |= {
            "guards": (guards_by_states(core_plant, switches) if by_states else core_plant.guards).core,
            "directions": [e.direction for e in events] + [0] * switches,
            "actions": [2 if e.terminal else 1 for e in events] + [1] * switches,
            "occurrences": [1] * (len(events) + switches),
            "sides": [e.manner.side for e in events] + [0] * switches,
            "at_start": [int(e.manner.at_start) for e in events] + [0] * switches,
        }
    if system.events:
        call["resets"] = (resets_by_states(core_plant) if by_states else core_plant.resets).core
        call["writes"] = assignments(plant).ravel().tolist()
        call["levels"] = levels_of(system)
    if system.discrete_count:
        call["discretes"] = system.discrete_count
        call["is_read"] = _read_discretes(system)
    if switches:
        call |= {"switches": switches, "may_slide": _may_slide(plant, core_plant, switches)}
    return call


def _may_slide(plant: Plant, core_plant: Plant, switches: int) -> list[int]:
    """Of each switch 1 where its guard is one of states, time and inputs alone, also through formulas for z and x'.

    2 where it is one of unknowns that follow from these on both sides of its surface alike, 0 elsewhere.
    """
    twin = core_plant.system
    modes = twin.symbol("p")[twin.sizes["p"] - switches :]
    guards = twin.guards[twin.guards.numel() - switches :]
    if isinstance(core_plant, ExplicitPlant):
        guards = core_plant.form.applied(twin, guards)
    found = [
        int(not ca.depends_on(guards[k], ca.vertcat(twin.symbol("xdot"), twin.symbol("z"), modes)))
        for k in range(switches)
    ]
    if settled_unknowns(plant.system):
        for k in range(switches):
            of_unknowns = not found[k] and not ca.depends_on(guards[k], ca.vertcat(twin.symbol("xdot"), modes))
            if of_unknowns and once(plant.system, Surface, k).is_of_states:
                found[k] = 2
    return found


def assignments(plant: Plant) -> np.ndarray:
    """Which entries of a row, then which discrete variables, each event and clock assigns, (events, width), 0 or 1."""
    system, width = plant.system, plant.row_width
    first = system.sizes["p"] - system.discrete_count
    found = np.zeros((len(system.events), width + system.discrete_count), dtype=np.uint8)
    for row, k in enumerate(order_of(system).all):
        for target in system.events[k].resets:
            place = system.place(target)
            for letter, position in zip(place.letters, place.positions):
                found[row, int(position) if letter == "x" else width + int(position) - first] = 1
    return found


def _read_discretes(system: System) -> list[int]:
    """Of each entry of the discrete variables whether an equation or a guard reads it."""
    read = {symbol_key(symbol) for symbol in ca.symvar(ca.vertcat(system.residual, system.guards))}
    own = system.symbol("p")[system.sizes["p"] - system.discrete_count :]
    return [int(symbol_key(own[k]) in read) for k in range(system.discrete_count)]


# Refuse an implicit method on a model that it cannot solve, with the reason.


def check_fits(plant: ImplicitPlant, method: str | Tableau) -> None:
    """An InputError where the index is too high for the method, or its form does not fit the model."""
    found = plant.index.largest
    name, highest, why = _ability(method, found)
    if found > highest:
        labels = [*plant.system.labels["x"], *plant.system.labels["z"]]
        deep = [labels[k] for k in np.flatnonzero(plant.index.index > highest)]
        raise InputError(
            f"The method {name!r} does not solve a model of index {found}.",
            f"{', '.join(deep[:6])} {'has' if len(deep) == 1 else 'have'} an index above {highest}",
            because=why or "each derivative of the constraints costs an order, and none is left.",
            remedy='dd.simulate(dd.reduce(m), ...), or method="auto"',
        )


def caveats(plant: ImplicitPlant, method: str | Tableau) -> tuple[Record, ...]:
    """What a method that fits still does badly on a model."""
    if plant.index.largest < 3 or not _is_implicit_euler(method):
        return ()
    labels = [*plant.system.labels["x"], *plant.system.labels["z"]]
    return (FirstStepsWrong(tuple(labels[k] for k in np.flatnonzero(plant.index.index > 2))),)


def _is_implicit_euler(method: str | Tableau) -> bool:
    return method == "implicit_euler" if isinstance(method, str) else bool(method.stages == 1 and method.A[0, 0] == 1)


def _ability(method: str | Tableau, index: int) -> tuple[str, int, str]:
    """The name of a method, the highest index that it solves, and why not a higher one."""
    if isinstance(method, str):
        known = METHODS[method]
        return method, known.highest_index, known.why_not_higher
    from daedalus.integrators.tableaux.dae_orders import dae_orders

    name = method.name or "tableau"
    for highest in range(1, min(index, 3) + 1):
        orders = dae_orders(method, highest)
        if orders.is_refused:
            return name, highest - 1, f"{orders.reason}."
    return name, 3, ""


def _check_mass(plant: ImplicitPlant, name: str) -> None:
    moving = varying_mass(plant.system) if name in METHODS and METHODS[name].family == "rosenbrock" else []
    if moving:
        raise InputError(
            f"The method {name!r} does not fit this model.",
            f"the matrix that multiplies the derivatives depends on {', '.join(moving[:6])}",
            because="steps of a Rosenbrock method are differentiated only where M x' = f(t, x, z) has a constant M.",
            remedy='method="radau5", or m.algebraic variables for the derivatives',
        )
