"""The index of a model of parts as they are joined, before joining eliminated anything.

Currents, torques and equal potentials that joining solves for take differentiations with them: a capacitor on a source
is of index 2 with its current as an unknown, and of index 1 without. The index as joined does not depend on what could
be eliminated.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from daedalus.algebra.rank_decision import FULL_MATRIX, FULL_NULL_SPACE
from daedalus.analysis.structure.signature import Signature
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.analysis.structure.written_structure import repaired_signature
from daedalus.errors import DaedalusError
from daedalus.model.assembly.joined_model import joined_model
from daedalus.model.model import Model
from daedalus.model.names import listed, times_text
from daedalus.model.switching.locking_losses import locking
from daedalus.model.system.equation_row import Role
from daedalus.model.system.freeze import freeze


@dataclass(frozen=True)
class JoinedIndex:
    """The index of the equations as joined and how many there are.

    differentiated: the equations that are differentiated, with how often, the most first. eliminated: unknowns that are
    no longer there after joining.
    """

    index: int
    equations: int
    differentiated: tuple[tuple[str, int], ...]
    eliminated: tuple[str, ...]

    def sentence(self, left: int | None, unknowns: list[str]) -> str:
        """What is told beside the index of what is left."""
        most = self.differentiated[0][1] if self.differentiated else 0
        names = [name for name, times in self.differentiated if times == most]
        how = f", {listed(names, 4)} differentiated {times_text(most)}" if most else ""
        rest = "singular" if left is None else f"index {left}"
        return (
            f"as joined: {self.equations} equations of index {self.index}{how}; without {listed(self.eliminated, 4)} "
            f"{rest} is left, in {listed(unknowns, 4)}"
        )


def joined_index(model: Model, judge: Callable[..., int | None] | None = None) -> JoinedIndex | None:
    """The index of a model as its parts are joined; None without parts, or with a singular pattern.

    judge: the index of a system by its ranks. Structure counts differentiations of equations that ranks may not need,
    where a derivative stands in two equations in the same way; larger models are judged by structure alone.

    Example
    -------
    >>> import daedalus as dd
    >>> C, m = dd.components.electrical, dd.Model("charged")
    >>> s, c = m.add(C.VoltageSource("s", voltage=5.0)), m.add(C.Capacitor("c", capacitance=1.0))
    >>> g = m.add(C.Ground("g"))
    >>> m.connect(s.plus, c.plus); m.connect(s.minus, c.minus, g.pin)
    >>> joined_index(m).index, dd.analyse(m).index
    (2, 1)
    """
    unknowns = sum(v.size for v in model.written.variables.values() if v.kind in ("state", "algebraic"))
    if model.written.assembly.is_empty or unknowns > FULL_NULL_SPACE:
        return None
    try:
        system, left = freeze(joined_model(locking(model))), model.freeze()
        found = structure_of(system).signature
        own: Signature = (repaired_signature(system) if found.regular else None) or found
    except DaedalusError:
        return None
    if own.index is None:
        return None
    rows = [row for row in system.rows if row.role is not Role.DERIVATIVE]
    times = sorted(
        ((row.label, int(c)) for row, c in zip(system.rows, own.c) if c and row in rows), key=lambda e: -e[1]
    )
    index = own.index
    if judge is not None and index > 1 and len(system.rows) <= FULL_MATRIX:
        with suppress(DaedalusError):
            ranked = judge(system)
            index, times = (index, times) if ranked is None or ranked >= index else (ranked, [])
    kept = {*left.labels["x"], *left.labels["z"]}
    gone = tuple(name for name in (*system.labels["x"], *system.labels["z"]) if name not in kept)
    return JoinedIndex(index, len(rows), tuple(times), gone)
