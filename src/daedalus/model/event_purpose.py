"""What an event of a system is for: the model's own, or added by a reduction to watch its choice of constraints."""

from __future__ import annotations

from enum import Enum


class EventPurpose(Enum):
    """Whose an event is, and what a run does there.

    >>> EventPurpose.MODEL.watches_constraints, EventPurpose.BADLY_CHOSEN.watches_constraints
    (False, True)
    """

    MODEL = "model"
    """written into the model, or into a choice of states"""
    NO_LONGER_REDUNDANT = "no longer redundant"
    """a constraint that was dropped no longer follows from the others"""
    BADLY_CHOSEN = "badly chosen"
    """other constraints than the chosen ones would serve better"""
    RANK_LOST = "rank lost"
    """no constraints serve: all become parallel"""
    LEAVES_SURFACE = "leaves the surface"
    """a run that slides along a condition comes to the end of it"""

    @property
    def watches_constraints(self) -> bool:
        """Whether redundant constraints are chosen anew there."""
        return self not in (EventPurpose.MODEL, EventPurpose.LEAVES_SURFACE)
