"""Why nothing lies behind a reset: what it assigns contradicts the equations, or leaves a choice."""

from __future__ import annotations

from collections.abc import Sequence

from daedalus.errors import InconsistentStartError
from daedalus.model.names import listed


class RefusedReset(InconsistentStartError):
    """A reset that cannot be carried out; candidates: states of which the equations force some to move."""

    candidates: tuple[str, ...] = ()


def leaves_choice(event: str, assigned: Sequence[str], candidates: Sequence[str], rows: Sequence[str]) -> RefusedReset:
    """The error for a reset after which states have to move, and more than one way is open."""
    names = listed(list(candidates))
    more = ", ".join(f'"{name}": ...' for name in [*assigned[:2], candidates[0]])
    error = RefusedReset(
        f"The reset of {event!r} leaves a choice.",
        [f"with {listed(list(assigned))} given, {' and '.join(rows[:2])} cannot hold where {names} keep their values"],
        because="names that a reset assigns are given, and which of the others moves is not said.",
        remedy=f"a value for one of {names} too: reset={{{more}}}",
    )
    error.candidates = tuple(candidates)
    return error


def contradicts(event: str, assigned: Sequence[str], found: InconsistentStartError | None) -> RefusedReset:
    """The error for a reset that no values of the other variables fit."""
    facts = [f"it assigns {listed(list(assigned))}"]
    if found is not None:
        facts = [found.what.rstrip("."), *found.facts]
    return RefusedReset(
        f"The reset of {event!r} contradicts the equations.",
        facts,
        because="names that a reset assigns are given, and no values of the others fit.",
        remedy="fewer names in reset=, or values that obey the constraints",
    )
