"""Why a run cannot go on at a contact."""

from __future__ import annotations

from collections.abc import Sequence

from daedalus.errors import SolverError


class RefusedContacts(SolverError):
    """Contacts whose modes or impulses the equations do not determine, by name."""

    def __init__(
        self, what: str, facts: Sequence[str], because: str = "", remedy: str = "", names: tuple[str, ...] = ()
    ) -> None:
        super().__init__(what, list(facts), because=because, remedy=remedy)
        self.names = names
