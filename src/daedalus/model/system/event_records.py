"""What a record of a system says of its events beside their names: what they are for, what makes them happen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daedalus.model.event_purpose import EventPurpose
from daedalus.model.variables import PLAIN, Event


def manners(events: Sequence[Event]) -> dict[str, Any]:
    """What makes events happen beside their guards, by name; nothing where guards alone do."""
    own = {event.name: event.manner.to_record() for event in events if event.manner != PLAIN}
    return {"event_manners": own} if own else {}


def purposes(events: Sequence[Event]) -> dict[str, Any]:
    """What events are for that the model does not have of its own, by name; nothing where it has all of them."""
    added = {event.name: event.purpose.value for event in events if event.purpose is not EventPurpose.MODEL}
    return {"event_purposes": added} if added else {}
