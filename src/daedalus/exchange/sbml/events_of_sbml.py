"""Events of an SBML model: triggers, assignments and delays as conditions of a model.

A delayed event waits in a discrete variable for its time; the values that it assigns are kept where the file asks for
those of the trigger (SBML Level 3 Version 2, section 4.11). One execution of each event can wait at a time.

A concentration that an event assigns becomes an amount with the volume before the event, also where the same event
changes the volume: all assignments are made from the state before it (cases 01506 and 01779 of the SBML Test Suite).
"""

from __future__ import annotations

import math
from typing import Any

import casadi as ca

from daedalus.exchange.sbml.quantities import Moved, Quantities, sbml_list
from daedalus.model.model import Model
from daedalus.model.switching.combined_conditions import is_condition, negate

# A time that no run reaches, for an event that does not wait; infinity would make NaN of differences.
NEVER = 1e300


def write_events(m: Model, quantities: Quantities, names: dict[str, str]) -> list[str]:
    """Write the events of the file; returns what the model does not follow."""
    lost = []
    for k, event in enumerate(sbml_list(quantities.model.getListOfEvents())):
        name = event.getId() or f"event_{k + 1}"
        while name in names.values() or name in m.variables or name in m.outputs:
            name += "_"
        trigger = event.getTrigger()
        if trigger is None or trigger.getMath() is None:
            continue
        condition = quantities.read(trigger.getMath())
        if not condition.is_constant() and not is_condition(condition):
            condition = ca.ne(condition, 0)
        at_start = trigger.getLevel() > 2 and not trigger.getInitialValue()
        if event.getPriority() is not None:
            lost.append(f"the priority of event {name}: events of one instant act together")
        assigned = _assignments(quantities, event, names)
        if event.getDelay() is not None and event.getDelay().getMath() is not None:
            _write_delayed(m, quantities, event, (name, condition, at_start), assigned)
            lost.append(f"event {name} waits once at a time: triggers that come while it waits replace the waiting one")
        elif assigned:
            _write_when(m, quantities, name, condition, at_start, _stored(assigned))
    return lost


def _assignments(quantities: Quantities, event: Any, names: dict[str, str]) -> dict[str, tuple[ca.SX, ca.SX]]:
    """What an event assigns, by the names of the model: values, and what each is multiplied by when it is stored."""
    found = {}
    for assignment in sbml_list(event.getListOfEventAssignments()):
        if assignment.getMath() is None:
            continue
        quantity, value = quantities.all[assignment.getVariable()], quantities.read(assignment.getMath())
        amount = quantity.stored_as_amount
        factor = quantities.value(quantity.element.getCompartment()) if amount else ca.SX(1)
        found[names[quantity.name]] = (value, factor)
    return found


def _stored(assigned: dict[str, tuple[ca.SX, ca.SX]]) -> dict[str, ca.SX]:
    return {name: value * factor for name, (value, factor) in assigned.items()}


def _write_when(
    m: Model, quantities: Quantities, name: str, condition: ca.SX, at_start: bool, assigned: dict[str, ca.SX]
) -> None:
    if _moves(quantities, condition):
        m.when(condition, assigned, name=name, at_start=at_start)
    elif at_start and quantities.number(condition):
        m.schedule([0.0], assigned, name=name)


def _moves(quantities: Quantities, condition: ca.SX) -> bool:
    """Whether a condition can change at all."""
    held = {q.symbol.element_hash() for q in quantities.all.values() if q.moved is Moved.NEVER}
    return any(s.element_hash() not in held for s in ca.symvar(condition))


def _write_delayed(
    m: Model,
    quantities: Quantities,
    event: Any,
    trigger: tuple[str, ca.SX, bool],
    assigned: dict[str, tuple[ca.SX, ca.SX]],
) -> None:
    name, condition, at_start = trigger
    due = m.discrete(f"{name}.due", start=NEVER)
    noted: dict[str, Any] = {f"{name}.due": m.time + quantities.read(event.getDelay().getMath())}
    if event.getUseValuesFromTriggerTime() or event.getLevel() < 2:
        for target, (value, factor) in list(assigned.items()):
            kept = f"{name}.{target}"
            assigned[target] = (m.discrete(kept, start=0.0), factor)
            noted[kept] = value
    _write_when(m, quantities, name, condition, at_start, noted)
    if event.getTrigger().getLevel() > 2 and not event.getTrigger().getPersistent() and _moves(quantities, condition):
        m.when(negate(condition), {f"{name}.due": NEVER}, name=f"{name}.withdrawn")
    m.when(m.time >= due, {**_stored(assigned), f"{name}.due": NEVER}, name=f"{name}.acts")


assert math.isfinite(NEVER)
