"""How a road is begun: values by name become the row that the first piece of a run, or a later one, starts with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from daedalus.model.names import split_index
from daedalus.model.system.system import System
from daedalus.model.values import flat_values, parameter_values, plain_start
from daedalus.reduction.reduction_record import check_held_values
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.run.request import Start
from daedalus.simulation.run.reselection import with_choice
from daedalus.simulation.run.road import Piece, Road, implicit_road
from daedalus.simulation.start.start_history import with_history
from daedalus.simulation.start.start_row import passed_over, settles, start_row
from daedalus.simulation.start.vanishing_divisor import vanishing_divisor


def begin(road: Road, t0: float, start: Start | None, may_turn: bool = True) -> Piece:
    """A piece that runs the road from a start at t0; a start that nothing can begin with is refused.

    `may_turn`: whether another road may be taken where "auto" finds that numbers take an unknown out of an equation.
    """
    request, settings, system = road.request, road.settings, road.system
    p = parameter_values(system, request.parameters)
    if request.parameters:
        check_held_values(request.system, request.parameters)
    fired: frozenset[str] = frozenset()
    behind = start.begins(t0) if isinstance(start, Samples) else None
    goes_on = behind is not None and {e.name for e in system.events} <= {e.name for e in behind.system.events}
    modes = behind._modes if goes_on and behind is not None else None
    if behind is not None:
        start, fired = behind, behind._fired
    if system.discrete_count:
        p, start = with_discrete_start(system, p, start)
    if system.delayed:
        road = with_history(road, t0, p, start)
    if settings.begins_anywhere and (start is None or type(start) is dict):
        plain = plain_start(system, start)
        if plain is not None:
            return Piece(road, p, t0, plain, fired)
    row, drive = start_row(road, t0, p, start)
    first = Piece(road._replace(drive=drive), p, t0, row, fired, goes_on=goes_on, modes=modes)
    if settings.plant.is_implicit:
        return with_choice(first) if system.choices else first
    lost = vanishing_divisor(request.model, settings.plant, drive, t0, row, p)
    if lost is None:
        over = passed_over(road, t0, row, p, start)
        if over is None:
            return first
        if request.method != "auto" or not may_turn:
            raise over
        return begin(implicit_road(request, over.what), t0, start)
    if request.method != "auto" or not may_turn:
        raise lost.error
    if lost.of_states and not settles(road, t0, row, p, start, lost.unknown):
        raise lost.error
    # Inputs or parameters take the unknown out of an equation, which then constrains the states; or it is known.
    return begin(implicit_road(request, lost.error.facts[0]), t0, start)


# -- start values of discrete variables -------------------------------------------------------------------------


def with_discrete_start(system: System, p: np.ndarray, start: Any) -> tuple[np.ndarray, Any]:
    """p with the discrete variables of a start, and the start without them.

    Example
    -------
    >>> import numpy as np, daedalus as dd
    >>> m = dd.Model("switch"); x = m.state("x", start=1.0); mode = m.discrete("mode", start=2)
    >>> m.equation(m.der(x), -mode * x)
    >>> with_discrete_start(m.freeze(), np.array([2.0]), {"mode": 1, "x": 3.0})
    (array([1.]), {'x': 3.0})
    """
    names = {v.name for v in system.of_kind("discrete")}
    if isinstance(start, Samples):
        found = {name: start[name] for name in names if name in start}
        rest: Any = start
    elif isinstance(start, Mapping):
        found = {name: value for name, value in start.items() if split_index(str(name))[0] in names}
        rest = {name: value for name, value in start.items() if name not in found}
    else:
        return p, start
    if not found:
        return p, start
    p = p.copy()
    for name, value in found.items():
        place = system.place(name)
        p[place.positions] = flat_values(place, value, "start value")
    return p, rest
