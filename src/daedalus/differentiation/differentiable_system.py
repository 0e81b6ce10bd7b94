"""The system that is differentiated for a model: with formulas where it has them, else as it is written or reduced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from daedalus.analysis.structure.system_structure import structure_of
from daedalus.analysis.structure.written_structure import variable_index
from daedalus.errors import InputError, SolverError
from daedalus.model.event_purpose import EventPurpose
from daedalus.model.expressions import COMPARISONS, LOGICAL, contains
from daedalus.model.input_rates import refuse_rates
from daedalus.model.model import Model, as_system
from daedalus.model.switching.delays import refuse_delays
from daedalus.model.system.equation_row import Role
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.reduction.forms.no_form import NoForm
from daedalus.simulation.contacts.contact_run import has_contacts
from daedalus.simulation.inputs.differentiated_inputs import with_inputs_put_in
from daedalus.simulation.plant.solvable import solvable
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.run.begin import begin
from daedalus.simulation.run.request import Request
from daedalus.simulation.run.road import find_road

COMPARED = frozenset((*COMPARISONS, *LOGICAL))


def differentiable_system(
    model: Model | System, inputs: Mapping[str, Any] | None, span: tuple[float, float]
) -> tuple[System, Mapping[str, Any]]:
    """The system, and the inputs that it still takes: those that a constraint differentiates are put in.

    Where x' and z follow from a nonlinear solve the system is the model itself at index 1, and its reduced form above.
    """
    found, left = with_inputs_put_in(model, inputs, span)
    return (in_all_directions(system_without_formulas(model) if isinstance(found, NoForm) else found), left)


def in_all_directions(system: System) -> System:
    """The system with declared invariants watched, not held, where it keeps nothing else.

    The equations of an ODE lead on from every start, and its derivatives are those in all directions, M = I at the
    start; beside constraints a start moves along all that is kept together.
    """
    declared = all(row.role is Role.DECLARED for row in system.invariant_rows)
    return once(system, _watching) if system.has_invariants and declared else system


def _watching(system: System) -> System:
    rows = (*system.watched_rows, *system.invariant_rows)
    seen = {**system.watched, **system.invariants}
    return system.changed(invariants={}, invariant_rows=(), watched=seen, watched_rows=rows, parts=system.parts())


def assigns(system: System) -> bool:
    """Whether a model has discrete variables or clocks, or events that follow from conditions put together."""
    return bool(system.discrete_count) or any(e.is_clock for e in system.events) or once(system, _has_conditions)


def has_instants(system: System) -> bool:
    """Whether anything may happen in a run of a model: events and clocks, or discrete variables that they assign."""
    return bool(system.discrete_count) or any(e.purpose is EventPurpose.MODEL for e in system.events)


def _has_conditions(system: System) -> bool:
    if not system.events:
        return False
    arguments = system.symbols()
    return contains(ca.Function("guards", arguments, [system.guards]), COMPARED)


def whole_start(system: System, start: Any) -> Any:
    """A start of values by name; that of another run has one for each state and discrete variable."""
    if not isinstance(start, Samples):
        return start
    own = [v.name for kind in ("state", "discrete") for v in system.of_kind(kind)]
    rates = [name for name, place in system.places.items() if place.letter == "x" and name not in own]
    return {name: start[name] for name in (*own, *rates) if name in start}


def refuse_code(system: System) -> None:
    """Refuse clocks that call Python code."""
    names = [event.name for event in system.events if event.manner.code is not None]
    if names:
        raise InputError(
            f"A run cannot be differentiated through the Python code of {', '.join(names[:6])}.",
            because="Python code is called with numbers, and has no derivative.",
            remedy="m.every(period, {name: formula}), with its memory in discrete variables",
        )


def refuse_sampled(system: System, what: str) -> None:
    """Refuse discrete variables and clocks by name."""
    names = [v.name for v in system.of_kind("discrete")] + [e.name for e in system.events if e.is_clock]
    if names:
        raise InputError(
            f"{what} does not support discrete variables and clocks.",
            f"the model has {', '.join(names[:6])}",
            because="what is assigned at an instant is not differentiated.",
            remedy="a model without them: parameters for modes, an algebraic variable for what a clock assigns",
        )


def flowing_system(model: Model | System, sampled: bool = False) -> System:
    """The system whose inputs are given step by step, so that none can be differentiated.

    sampled: what is assigned at instants is allowed; between them it is a parameter.
    """
    if not sampled:
        refuse_sampled(as_system(model), "A flow")
    refuse_rates(as_system(model), "A flow")
    refuse_delays(as_system(model), "A flow")
    found = solvable(model)
    if not isinstance(found, NoForm):
        return in_all_directions(_without_choices(found))
    if isinstance(found.found, SolverError):
        return in_all_directions(system_without_formulas(model))
    raise found.error


def _without_choices(system: System) -> System:
    """The system without the events at which redundant constraints would be chosen anew: a flow keeps its choice."""
    if not any(event.purpose.watches_constraints for event in system.events):
        return system
    return once(system, _flowing)


def _flowing(system: System) -> System:
    kept = [k for k, event in enumerate(system.events) if not event.purpose.watches_constraints]
    return system.changed(
        events=[system.events[k] for k in kept],
        guards=system.guards[kept],
        resets=system.resets[kept, :],
        assigned=system.assigned[kept, :],
    )


def system_without_formulas(model: Model | System) -> System:
    """A model whose x' and z follow from nonlinear equations: as written at index 1, reduced above."""
    return once(as_system(model), _reduced)


def _reduced(system: System) -> System:
    if variable_index(system).largest == 1 and not _singular(system):
        return system
    from daedalus.reduction.reduce import reduce

    return reduce(system).freeze()


def _singular(system: System) -> bool:
    """Whether a state's derivative occurs in no equation: it is an algebraic variable by use, and has no rate here."""
    pattern = structure_of(system).pattern("xdot", "z")
    return bool(ca.sprank(pattern) < pattern.size2())


# -- modes of contacts at the start ----------------------------------------------------------------------------------


def with_first_modes(request: Request, start: Any) -> Any:
    """A start with the modes that the contacts of a model have there."""
    if not has_contacts(request.system):
        return start
    road = find_road(request)
    piece = begin(road, request.t0, request.start)
    contacts, system = road.settings.contacts, road.system
    assert contacts is not None
    u = piece.drive.at_time(request.t0)
    none, span = np.zeros(len(contacts.flags)), request.t1 - request.t0
    behind = contacts.behind(request.t0, piece.row, u, piece.parameters, none, span)
    names = system.labels["p"][system.sizes["p"] - system.discrete_count :]
    found = dict(zip(names, behind[len(behind) - len(names) :].tolist()))
    modes = {f"{name}.mode": found[f"{name}.mode"] for name in contacts.laws.names}
    return {**(start or {}), **modes}
