"""What an analysis of a known system must find, as data."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Verdict:
    """The attributes of `dd.analyse(model, at=at)` that are known; None means that nothing is promised.

    hidden: texts of hidden constraints, each contained in one that is found. warnings: likewise.

    Example
    -------
    >>> from daedalus.catalogue.verdict import Verdict
    >>> Verdict("explicit ODE", index=0, freedom=1).index
    0
    """

    kind: str
    index: int | None
    freedom: int
    at: dict[str, object] = field(default_factory=dict)
    structural_index: int | None = None
    is_linear: bool | None = None
    directly_solvable: bool | None = None
    solvable: bool = True
    algebraic: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    undetermined: tuple[str, ...] = ()
