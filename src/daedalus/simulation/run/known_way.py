"""A run whose way is known: with the same model, method and tolerances as before only the numbers are read anew.

Which system is run, by which method and with which compiled functions does not depend on plain numbers for inputs,
parameters and start values. It is kept with the model's snapshot, so that a call in a loop looks it up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from daedalus.model.model import as_system
from daedalus.model.system.system import System
from daedalus.model.values import parameter_values, write_plain
from daedalus.reduction.switches import switches_of
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.selected_plant import SelectedPlant
from daedalus.simulation.run.pieces import Piece
from daedalus.simulation.run.settings import Settings, settings_of
from daedalus.simulation.start.start_row import Start, start_row
from daedalus.simulation.start.vanishing_divisor import VanishingDivisor

if TYPE_CHECKING:
    from daedalus.integrators.tableaux.tableau import Tableau
    from daedalus.simulation.run.next_piece import Asked

# A System keeps this many ways; beyond that it begins anew.
MOST_KEPT = 64


class Way(NamedTuple):
    """What a run of a model comes to, but for its numbers."""

    system: System
    settings: Settings
    why: str
    undriven: Drive | None  # that of a system without inputs


def known_piece(asked: Asked, t0: float, start: Start | None) -> Piece | None:
    """The piece that a run begins with where its way is known; None where it has to be found."""
    try:
        way = as_system(asked.model).prepared.get("ways", {}).get(_key(asked))
    except TypeError:  # atol by name
        return None
    if way is None:
        return None
    inputs, parameters = asked.inputs or {}, asked.parameters
    drive = _plain_drive(way.system, inputs) if inputs or way.undriven is None else way.undriven
    if drive is None:
        return None
    p = parameter_values(way.system, parameters)
    try:
        given = (start, inputs, parameters)
        row, settings, drive = start_row(asked.model, way.settings, drive, t0, p, inputs, given)
    except VanishingDivisor:  # these numbers take an unknown out of an equation: another way
        return None
    return Piece(settings, drive, p, t0, row, way.why)


def _plain_drive(system: System, inputs: object) -> Drive | None:
    """The drive by plain numbers for all inputs; None for anything else, which has words of its own."""
    constants = np.empty(system.sizes["u"])
    whole = type(inputs) is dict and write_plain(constants, system, "u", inputs) == len(constants)
    return Drive(constants) if whole else None


def keep_way(asked: Asked, system: System, method: str | Tableau, first: Piece) -> None:
    """Keep the way of a run by the piece it began with, where nothing but plain numbers was given for the inputs."""
    own, drive, plant = as_system(asked.model), first.drive, first.settings.plant
    plain = not (drive.tables or drive.callbacks) and len(drive.constants) == own.sizes["u"]
    if not plain or plant.system is not system or isinstance(plant, SelectedPlant):
        return
    switches = switches_of(own)
    if switches is not None and switches.clock is not None:  # what may be differentiated depends on the span
        return
    ways = own.prepared.setdefault("ways", {})
    if len(ways) >= MOST_KEPT:
        ways.clear()
    settings = settings_of(system, method, asked.rtol, asked.atol, *asked.limits, locate_switches=asked.locate_switches)
    try:
        undriven = None if own.sizes["u"] else Drive(np.zeros(0))
        ways[_key(asked)] = Way(system, settings, first.why, undriven)
    except TypeError:  # atol by name cannot be looked up
        return


def _key(asked: Asked) -> tuple[object, ...]:
    # The method, rtol, atol, the limits and whether switches are located.
    return (asked.method, *asked[5:])
