"""Look at a system at one jet: repair its structure, and differentiate until its derivatives are determined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from daedalus.algebra.rank_decision import CLEAR_GAP, FULL_ARRAY, FULL_MATRIX, RankDecision
from daedalus.analysis.linear.pencils.pencil import pencil
from daedalus.analysis.structure.block_form import Block, block_indices, blocks_in_order
from daedalus.analysis.structure.classification import Classification, linearity
from daedalus.analysis.structure.dependence.dependent_equations import Dependence, DependenceSearch, independent_system
from daedalus.analysis.structure.incomplete_structure import completed
from daedalus.analysis.structure.jets.consistent_jet import Jet, JetStart, Stages, consistent_jet, solved_jet
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.numeric_index import (
    Fullness,
    JetJacobian,
    OpenUnknowns,
    freedom,
    fullness,
)
from daedalus.analysis.structure.signature import Signature, signature
from daedalus.analysis.structure.structural_repair import Structure, repaired_structure
from daedalus.analysis.structure.system_jacobian import singular_anywhere, structural_index_holds
from daedalus.deadline import poll
from daedalus.model.names import listed

# A structure that its Jacobian does not confirm may need this many differentiations more than it says.
FURTHER = 2
# Derivative arrays with fewer rows have their ranks taken even where the structure is confirmed without.
SECOND_OPINION = 150


@dataclass(frozen=True, eq=False)
class Examination:
    """What was found at one jet: the structure, repaired, and the derivative array up to an order."""

    start: JetStart
    jet: Jet
    order: int
    structure: Structure
    jacobian: JetJacobian | None
    whole: Fullness | None
    blocks: tuple[Fullness, ...]
    determined: int | None  # the order that determines all derivatives, whether or not the jet is consistent
    block_indices: list[int | None]
    proved: bool = False  # whether ranks follow from a regular system Jacobian
    dependence: Dependence | None = None  # equations that repeat others, found on the system Jacobian

    @property
    def index(self) -> int | None:
        """The index at the jet; None where it is not consistent or nothing determines some derivative."""
        return self.determined if self.jet.consistent else None

    @property
    def gap(self) -> float:
        """The narrowest ratio of kept to dropped singular values."""
        return min((rank.gap for rank in self.ranks), default=float("inf"))

    @property
    def ranks(self) -> list[RankDecision]:
        """All rank decisions, of the whole array and of the blocks."""
        parts = self.blocks if self.whole is None else (self.whole, *self.blocks)
        own = [self.structure.rank] if self.proved and self.structure.rank is not None else []
        return [*own, *(rank for part in parts for rank in part.ranks)]

    def freedom(self, kind: Classification) -> OpenUnknowns:
        """What the derivative array leaves open; where its ranks are too low, what a regular system Jacobian proves.

        With J regular every derivative is determined and Σ d - Σ c start values are free (J. D. Pryce, BIT 41, 2001).
        """
        none = np.zeros(0, dtype=int)
        if self.jacobian is None:
            return OpenUnknowns(
                none if self.dependence is None else self.dependence.unknowns, int(self.structure.value)
            )
        found = freedom(self.jacobian, self.order, kind.differential, kind.algebraic)
        structure = self.structure
        proved = structure.trusted and not structure.times and not structure.combinations and not kind.is_linear
        if proved and self.index is not None and found.start_values < structure.value:
            return OpenUnknowns(none, int(structure.value))
        return found


def examine(array: DerivativeArray, s: Signature, start: JetStart) -> Examination | None:
    """Solve for a jet, repair the structure, and differentiate until all derivatives are determined, if ever.

    None for a system that is too large for that where its structure is not confirmed at a consistent jet.
    """
    order = max(1, s.index or 1)
    blocks = blocks_in_order(s) if s.regular else []
    # Ranks of numbers of very different sizes may be too low: an ODE that its scaled matrix proves is one.
    if s.regular and ((order + 1) * array.count > SECOND_OPINION or s.index == 0):
        found = _proved(array, s, start, blocks)
        if found is not None or (order + 2) * array.size > FULL_ARRAY:
            return found
    elif s.regular and (found := _redundant(array, s, start, blocks)) is not None:
        return found
    if not s.regular and (rest := completed(s)) is not None:
        found = _proved(array, rest, start, blocks)
        if found is not None or (int(rest.c.max(initial=0)) + 3) * array.size > FULL_ARRAY:
            return found
    jet = consistent_jet(array, start, order)
    structure = repaired_structure(array, jet)
    wanted = max(order, structure.signature.index or 1)
    # A repair may contain differentiated equations, which the offsets of the repaired structure do not count.
    limit = wanted + structure.times
    if not structure.trusted:
        limit += max(FURTHER, _pencil_index(array, jet))
    best: Examination | None = None
    while True:
        poll("the structure of the equations")
        if wanted > order:
            order, before, jet = wanted, jet, consistent_jet(array, start, wanted, jet)
            # A jet that gives up values which lower orders keep belongs to another point.
            elsewhere = jet.runs_away_from(before, start.size) or len(jet.moved) > len(before.moved)
            if best is not None and (not jet.consistent or elsewhere):
                return best
        best = _by_ranks(array, start, jet, order, structure, blocks)
        clear = best.determined is not None and (structure.trusted or best.gap >= CLEAR_GAP)
        if clear or order >= limit or not jet.consistent:
            return _by_structure(best) if structure.trusted and best.determined is None else best
        wanted = order + 1


def _by_structure(found: Examination) -> Examination:
    """What the structure says where ranks decide nothing: those of numbers of very different sizes may be too low.

    Not for linear systems with constant coefficients, which may be singular for every structure; ranks are right there.
    """
    if linearity(found.structure.array, found.jet) == (True, True):
        return found
    return replace(found, jacobian=None, determined=found.structure.signature.index)


def _by_ranks(
    array: DerivativeArray, start: JetStart, jet: Jet, order: int, structure: Structure, blocks: list[Block]
) -> Examination:
    """The index from ranks of the whole derivative array, and of each irreducible block where there are several."""
    everything = Block(np.arange(array.count), np.arange(array.size))
    jacobian = JetJacobian(array, jet, start.size, order)
    whole = fullness(jacobian, everything, "derivative array")
    parts = tuple(fullness(jacobian, block, f"block {k}") for k, block in enumerate(blocks) if len(blocks) > 1)
    own = [part.index for part in (parts or (whole,))]
    return Examination(start, jet, order, structure, jacobian, whole, parts, whole.index, own)


def _proved(array: DerivativeArray, s: Signature, start: JetStart, blocks: list[Block]) -> Examination | None:
    """What follows without ranks where the system Jacobian is regular at a consistent jet, if it is.

    Where it is singular, redundant equations are looked for: without them it may be regular.
    """
    stages = Stages(array, s, start)
    jet = solved_jet(stages, start)
    if s.regular and jet.consistent and not singular_anywhere(array, s, jet):
        structure = repaired_structure(array, jet)
        if structure.trusted and not structure.repairs and not structure.combinations:
            return _confirmed(s, start, jet, structure, blocks)
    own = DependenceSearch(array, s, stages).at(jet)
    return None if own is None else _without_dependence(array, s, start, jet, own, blocks)


def _redundant(array: DerivativeArray, s: Signature, start: JetStart, blocks: list[Block]) -> Examination | None:
    """What a small system says without equations that repeat others for good, if there are such."""
    stages = Stages(array, s, start)
    jet = solved_jet(stages, start)
    own = DependenceSearch(array, s, stages).at(jet) if jet.consistent else None
    if own is None or own.here_alone:
        return None
    found = _without_dependence(array, s, start, jet, own, blocks)
    return None if found is None or found.index is None else found


def _confirmed(
    s: Signature, start: JetStart, jet: Jet, structure: Structure, blocks: list[Block]
) -> Examination | None:
    index = int(s.index or 0)
    if index > 1 and not structural_index_holds(structure.array, structure.signature, jet):
        return None
    return Examination(start, jet, index, structure, None, None, (), index, block_indices(s, blocks), proved=True)


def _without_dependence(
    array: DerivativeArray, s: Signature, start: JetStart, jet: Jet, own: Dependence, blocks: list[Block]
) -> Examination | None:
    """What follows from the equations that are independent, the unknowns that the others leave open being chosen."""
    part = (Block(own.equations, own.unknowns),)
    indices = block_indices(s, blocks) if s.regular else []
    order = int(s.c.max(initial=0)) + int(np.any(s.d == 0))
    if own.here_alone:
        there = Structure(array, jet, array.level(0), s, at_point=part)
        return Examination(start, jet, order, there, None, None, (), None, indices, dependence=own)
    narrowed = independent_system(array, own, jet)
    if own.contradicts:
        rest = signature(narrowed.level(0), narrowed.y)
        there = Structure(narrowed, jet, narrowed.level(0), rest, singular=part)
        return Examination(start, jet, order, there, None, None, (), None, indices, dependence=own)
    structure = repaired_structure(narrowed, jet)
    if structure.singular or structure.repairs or structure.combinations or not structure.signature.regular:
        return None
    if structure.at_point:
        return Examination(start, jet, order, structure, None, None, (), None, indices, dependence=own)
    found = _confirmed(structure.signature, start, jet, structure, blocks_in_order(structure.signature))
    return None if found is None else replace(found, dependence=own, block_indices=indices)


def _pencil_index(array: DerivativeArray, jet: Jet) -> int:
    """The index of the pencil of a linear system with constant coefficients; 0 for all others."""
    if array.count != array.size or array.size > FULL_MATRIX or linearity(array, jet) != (True, True):
        return 0
    _, slopes = array.function(0)(*jet.arguments(1))
    full = slopes.full()
    return pencil(full[:, array.size :], -full[:, : array.size]).index or 0


def examine_away_from_special_values(
    array: DerivativeArray, s: Signature, start: JetStart, vectors: Mapping[str, np.ndarray], notes: list[str]
) -> Examination | None:
    """Look at a system at the point asked for; where nobody asked and it happens to be special, at another one."""
    found = examine(array, s, start)
    if _is_usual(found):
        return found
    unset = np.isnan(vectors["u"])
    if np.any(unset):
        other = examine(array, s, replace(start, u=np.where(unset, array.system.nominal["u"], start.u)))
        if _is_usual(other):
            names = [label for label, flag in zip(array.system.labels["u"], unset) if flag]
            notes.append(f"{listed(names)} had no value; zero is special, so 1 is taken")
            return other
    if not np.all(start.given[0]):
        draw = np.random.default_rng(1995)
        shaken = start.y + start.size * draw.uniform(0.3, 1.0, start.y.shape)
        other = examine(array, s, replace(start, y=np.where(start.given, start.y, shaken)))
        if _is_usual(other):
            names = [array.label(int(j)) for j in np.flatnonzero(~start.given[0])]
            notes.append(f"{listed(names)} had no start value; zero is special, so another value is taken")
            return other
    return found


def _is_usual(found: Examination | None) -> bool:
    """Whether another point would tell no more: all is determined, or the structure is singular wherever one looks."""
    if found is None or found.structure.at_point:
        return False
    return found.index is not None or (found.jet.consistent and bool(found.structure.singular))
