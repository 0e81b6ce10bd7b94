"""How runs began, kept with the system: the same run again begins at once.

A first piece follows from the system, the request and the numbers of a run alone, and so does a trial of its first
steps (`daedalus.simulation.run.stiff_start`): a run is the same, bit for bit, whether or not another went before it.
"""

from __future__ import annotations

from daedalus.initialisation.start import Start
from daedalus.model.system.once import KeptByKey, once
from daedalus.model.system.system import System
from daedalus.model.values import parameter_values, plain_start
from daedalus.simulation.run.request import Request
from daedalus.simulation.run.road import Piece, Road

Key = tuple[object, ...]


def known_beginning(road: Road) -> Piece | None:
    """How a run with the same numbers began before; None where none did."""
    kept = once(road.request.system, _kept)
    if not kept:
        return None
    key = _key(road)
    known = None if key is None else kept.get(key)
    return None if known is None else known._replace(road=known.road._replace(request=road.request))


def keep_beginning(road: Road, first: Piece, tried: bool = False) -> None:
    """Keep how the run of a road began, where that took more than writing numbers down.

    tried: whether a trial of another method went before it.
    """
    if not tried and (road.settings.begins_anywhere or first.settings is not road.settings):
        return
    key = _key(road)
    if key is None:
        return
    request = road.request._replace(save_at=None)
    once(request.system, _kept)[key] = first._replace(road=first.road._replace(request=request))


def _kept(system: System) -> KeptByKey[Piece]:
    """The beginnings by all that they follow from."""
    return KeptByKey()


def _key(road: Road) -> Key | None:
    """What the beginning of a run follows from, where that is numbers alone."""
    request, drive, system = road.request, road.drive, road.system
    if drive.tables or drive.callbacks or system is not road.solved or system.delayed or system.discrete_count:
        return None
    start = _start_key(system, request)
    if start is None or len(drive.constants) != request.system.sizes["u"]:  # others are put into the equations
        return None
    p = parameter_values(system, request.parameters)
    key = (request.options, request.t0, request.t1, start, drive.constants.tobytes(), p.tobytes())
    try:
        hash(key)
    except TypeError:  # atol by name cannot be looked up
        return None
    return key


def _start_key(system: System, request: Request) -> Key | None:
    """What a start is made from: names with their numbers, or what `dd.initialise` found."""
    start = request.start
    if isinstance(start, Start):
        return (start.row.tobytes(), start.time) if start.system is request.system else None
    if start is not None and type(start) is not dict:
        return None
    x = plain_start(system, start)
    return None if x is None else (x.tobytes(), *(start or ()))
