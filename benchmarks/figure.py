"""A figure to reach: a named check that compares a measured ratio with its target."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.session import Session


@dataclass(frozen=True)
class Row:
    """One comparison: our number, the peer's number (seconds mostly), and what their ratio should be.

    "at least": how many times faster we are, peer / ours. "at most": how many times longer we take, ours / peer.
    Without a target the row is for information.
    """

    figure: str
    peer_name: str
    ours: float | None
    peer: float | None
    target: float | None
    sense: str = "at least"
    note: str = ""
    # What the two numbers are: seconds, or errors without a unit.
    unit: str = "s"

    @property
    def ratio(self) -> float | None:
        if self.ours is None or self.peer is None:
            return None
        return self.peer / self.ours if self.sense == "at least" else self.ours / self.peer

    @property
    def reached(self) -> bool | None:
        """Whether the target is met; None when there is no target or something was not measured."""
        if self.ratio is None or self.target is None:
            return None
        return self.ratio >= self.target if self.sense == "at least" else self.ratio <= self.target


@dataclass(frozen=True)
class Figure:
    """A check: the cases whose curves it reads, and how its rows are measured."""

    name: str
    title: str
    evaluate: Callable[["Session"], Iterable[Row]]
    needs: tuple[str, ...] = ()
