"""Look at a system at one jet: repair its structure, and differentiate until its derivatives are determined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from daedalus.analysis.linear.pencil import pencil
from daedalus.analysis.rank_decision import CLEAR_GAP, RankDecision
from daedalus.analysis.structure.block_form import Block, blocks_in_order
from daedalus.analysis.structure.classification import linearity
from daedalus.analysis.structure.consistent_jet import Jet, JetStart, consistent_jet
from daedalus.analysis.structure.derivative_array import DerivativeArray
from daedalus.analysis.structure.numeric_index import Fullness, JetJacobian, fullness, index_from_blocks
from daedalus.analysis.structure.regimes import listed
from daedalus.analysis.structure.signature import Signature
from daedalus.analysis.structure.structural_repair import Structure, repaired_structure

# Derivative arrays with more rows are judged block by block.
LARGEST_WHOLE = 600
# A structure that its Jacobian does not confirm may need this many differentiations more than it says.
FURTHER = 2


@dataclass(frozen=True, eq=False)
class Examination:
    """What was found at one jet: the structure, repaired, and the derivative array up to an order."""

    start: JetStart
    jet: Jet
    order: int
    structure: Structure
    jacobian: JetJacobian
    whole: Fullness | None
    blocks: tuple[Fullness, ...]
    determined: int | None  # the order that determines all derivatives, whether or not the jet is consistent

    @property
    def proved(self) -> bool:
        """Whether it is an ODE for sure: what stands before y' is regular once rows and columns are scaled."""
        structure = self.structure
        return structure.trusted and not structure.repairs and structure.signature.index == 0

    @property
    def index(self) -> int | None:
        """The index at the jet; None where it is not consistent or nothing determines some derivative."""
        return self.determined if self.jet.consistent else None

    @property
    def block_indices(self) -> list[int | None]:
        """The index of each block by itself, in block-triangular order."""
        parts = (self.whole,) if self.whole is not None and not self.blocks else self.blocks
        return [part.index for part in parts]

    @property
    def gap(self) -> float:
        """The narrowest ratio of kept to dropped singular values."""
        return min((rank.gap for rank in self.ranks), default=float("inf"))

    @property
    def ranks(self) -> list[RankDecision]:
        """All rank decisions, of the whole array and of the blocks."""
        parts = self.blocks if self.whole is None else (self.whole, *self.blocks)
        return [rank for part in parts for rank in part.ranks]


def examine(array: DerivativeArray, s: Signature, start: JetStart) -> Examination:
    """Solve for a jet, repair the structure, and differentiate until all derivatives are determined, if ever."""
    order = max(1, s.index or 1)
    jet = consistent_jet(array, start, order)
    structure = repaired_structure(array, jet)
    wanted = max(order, structure.signature.index or 1)
    everything = Block(np.arange(array.count), np.arange(array.size))
    blocks = blocks_in_order(s) if s.regular else []
    # A repair may contain differentiated equations, which the offsets of the repaired structure do not count.
    limit = wanted + sum(repair.times for repair in structure.repairs)
    if not structure.trusted:
        limit += max(FURTHER, _pencil_index(array, jet))
    best: Examination | None = None
    while True:
        if wanted > order:
            order, before, jet = wanted, jet, consistent_jet(array, start, wanted)
            if best is not None and (not jet.consistent or jet.runs_away_from(before, start.size)):
                return best
        jacobian = JetJacobian(array, jet, start.size, order)
        whole = None
        if (order + 1) * array.size <= LARGEST_WHOLE or len(blocks) <= 1:
            whole = fullness(jacobian, everything, "derivative array")
        parts = tuple(fullness(jacobian, block, f"block {k}") for k, block in enumerate(blocks) if len(blocks) > 1)
        index = index_from_blocks(s, blocks, list(parts)) if whole is None else whole.index
        best = Examination(start, jet, order, structure, jacobian, whole, parts, index)
        if best.proved:
            return replace(best, determined=0)
        clear = index is not None and (structure.trusted or best.gap >= CLEAR_GAP)
        if clear or order >= limit or not jet.consistent:
            # Ranks of numbers of very different sizes may be too low; a regular system Jacobian proves its offsets.
            return replace(best, determined=structure.signature.index) if structure.trusted and index is None else best
        wanted = order + 1


def _pencil_index(array: DerivativeArray, jet: Jet) -> int:
    """The index of the pencil of a linear system with constant coefficients; 0 for all others."""
    if array.count != array.size or linearity(array, jet) != (True, True):
        return 0
    _, slopes = array.function(0)(*jet.arguments(1))
    full = slopes.full()
    return pencil(full[:, array.size :], -full[:, : array.size]).index or 0


def away_from_special_values(
    array: DerivativeArray, s: Signature, found: Examination, vectors: Mapping[str, np.ndarray], notes: list[str]
) -> Examination:
    """Where nobody asked for a point that happens to be special, look at one that is not."""
    start, special = found.start, bool(found.structure.at_point) or found.index is None
    unset = np.isnan(vectors["u"])
    usual = array.system.nominal["u"]
    if special and np.any(unset):
        moved = replace(start, u=np.where(unset, usual, start.u))
        other = examine(array, s, moved)
        if other.index is not None and not other.structure.at_point:
            names = [label for label, flag in zip(array.system.labels["u"], unset) if flag]
            notes.append(f"{listed(names)} had no value; zero is special, so 1 is taken")
            return other
    if special and not np.all(start.given[0]):
        draw = np.random.default_rng(1995)
        shaken = start.y + start.size * draw.uniform(0.3, 1.0, start.y.shape)
        other = examine(array, s, replace(start, y=np.where(start.given, start.y, shaken)))
        if other.index is not None and not other.structure.at_point:
            names = [array.label(int(j)) for j in np.flatnonzero(~start.given[0])]
            notes.append(f"{listed(names)} had no start value; zero is special, so another value is taken")
            return other
    return found
