"""The modes of contacts that a run begins with, as start values by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.simulation.contacts.contact_run import has_contacts
from daedalus.simulation.run.begin import begin
from daedalus.simulation.run.request import Request
from daedalus.simulation.run.road import find_road


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
