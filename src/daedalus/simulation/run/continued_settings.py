"""The settings of a piece that goes on with what the first piece of its run gave to the core."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from daedalus.model.system.system import System
from daedalus.simulation.run.pieces import Piece
from daedalus.simulation.run.road import Road
from daedalus.simulation.run.settings import Settings, settings_for

# What a run that watches guards of its own gives to the core.
OF_GUARDS = ("guards", "directions", "actions", "occurrences")


def continued_settings(road: Road, first: Piece, system: System, method: Any) -> Settings:
    """Settings for the same request by a method, with the restarts and guards of the first piece."""
    settings = settings_for(road.request, system, method)
    own = ("restart",) if first.settings.watched is None else ("restart", *OF_GUARDS)
    call = {**settings.call, **{k: v for k, v in first.settings.call.items() if k in own}}
    return replace(settings, call=call, watched=first.settings.watched)
