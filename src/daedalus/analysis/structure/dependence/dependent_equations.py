"""Equations that follow from others in a large system, each with an unknown that it leaves open.

Where the system Jacobian J of the signature method is singular at a consistent jet, with uᵀ J = 0 and J v = 0, one
equation of each u is dropped, one of the lowest offset c, and one algebraic unknown of each v is held. The rest has a
regular J again. Whether the dropped equations follow from it is seen at jets nearby that obey the rest alone: if they
hold there with all their derivatives they are redundant for good, even where u and v change from place to place. If
they do not, J is looked at where all equations hold: regular there, the point is special (a dead centre).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daedalus.algebra.damped_newton import CONSISTENT
from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES, WITNESSES, balanced_sparse
from daedalus.analysis.structure.dependence.null_vectors import NullVectors, independent_components, moved, null_vectors
from daedalus.analysis.structure.jets.consistent_jet import Jet, JetStart, Stages, solved_jet
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.signature import Signature
from daedalus.analysis.structure.system_jacobian import jacobians_at, system_jacobian
from daedalus.deadline import poll
from daedalus.model.expressions import elements
from daedalus.model.system.equation_row import EquationRow, Role, Source

# How far jets nearby lie from the one asked for, in sizes of the unknowns; nearer ones where none is found.
DISTANCES = (0.02, 0.005, 0.001)


@dataclass(frozen=True, eq=False)
class Dependence:
    """Positions of equations that repeat others and of unknowns that they leave open.

    dropped, held: one equation and one unknown of each dependence. here_alone: whether nearby all is independent.
    more_here: whether nearby fewer depend on each other. contradicts: whether the equations cannot all hold.
    """

    equations: np.ndarray
    unknowns: np.ndarray
    dropped: np.ndarray
    held: np.ndarray
    here_alone: bool = False
    more_here: bool = False
    contradicts: bool = False


class DependenceSearch:
    """The dependences of a system's equations at jets."""

    def __init__(self, array: DerivativeArray, s: Signature, stages: Stages) -> None:
        self._array, self._signature, self._stages = array, s, stages
        self._jacobian = system_jacobian(array, array.level(0), s)
        derivatives = ca.jacobian_sparsity(array.level(0), array.y[1]).get_triplet()[1]
        self._algebraic = np.setdiff1d(np.arange(array.size), np.unique(np.array(derivatives, dtype=int)))

    def at(self, jet: Jet) -> Dependence | None:
        """What depends at a jet; None where nothing does, or where the motion itself is left open."""
        found = self._null_vectors(jet)
        if found is None or not found.count:
            return None
        if not jet.consistent:
            return self._contradiction(jet, found)
        own = self._of(found)
        if own is not None and self._follows(own, jet):
            return own
        # What holds at this time alone is contradicted soon after.
        if (never := self._contradiction(jet, found)) is not None:
            return never
        others = [self._null_vectors(nearby) for nearby in self._all_hold_nearby(jet)]
        least = min((v for v in others if v is not None), key=lambda v: v.count, default=None)
        if least is None or least.count >= found.count:
            return None
        if not least.count:
            none = np.zeros(0, dtype=int)
            return Dependence(moved(found.left), moved(found.right), none, none, here_alone=True)
        # Some are redundant for good, others at this point alone.
        own = self._of(least)
        return replace(own, more_here=True) if own is not None and self._follows(own, jet) else None

    def _null_vectors(self, jet: Jet) -> NullVectors | None:
        """The null vectors of J at a jet, rows and columns scaled; None where it is not finite or a row is empty."""
        matrix = jacobians_at(self._array, self._jacobian, [jet])[0]
        if not np.all(np.isfinite(matrix.data)):
            return None
        if not all(abs(matrix).max(axis=axis).toarray().all() for axis in (0, 1)):
            return None
        return null_vectors(balanced_sparse(matrix)[0])

    def _of(self, found: NullVectors) -> Dependence | None:
        """The equations to drop and the unknowns to hold; None unless these are algebraic and not differentiated."""
        unknowns = moved(found.right)
        if not np.all(np.isin(unknowns, self._algebraic)) or np.any(self._signature.d[unknowns]):
            return None
        dropped = independent_components(found.left, self._signature.c)
        held = independent_components(found.right, np.zeros(self._array.size))
        if len(dropped) < found.count or len(held) < found.count:
            return None
        return Dependence(moved(found.left), unknowns, dropped, held)

    # -- jets nearby -------------------------------------------------------------------------------------------

    def _follows(self, own: Dependence, jet: Jet) -> bool:
        """Whether the dropped equations hold at jets nearby that obey the others."""
        kept = np.setdiff1d(np.arange(self._array.count), own.dropped)
        witnesses = 0
        for nearby in self._nearby(jet, own.dropped, own.held):
            if self._stages.left(nearby, kept) > CONSISTENT:
                continue
            if self._stages.left(nearby, own.dropped) > CONSISTENT:
                return False
            witnesses += 1
            if witnesses == WITNESSES:
                return True
        return False

    def _all_hold_nearby(self, jet: Jet) -> list[Jet]:
        """Jets nearby that obey all equations."""
        found: list[Jet] = []
        none = np.zeros(0, dtype=int)
        for nearby in self._nearby(jet, none, none):
            found += [nearby] if nearby.consistent else []
            if len(found) == WITNESSES:
                break
        return found

    def _nearby(self, jet: Jet, without: np.ndarray, still: np.ndarray) -> Iterator[Jet]:
        """Jets nearby that obey all equations but some."""
        draw = np.random.default_rng(1958)
        for distance in DISTANCES:
            for _ in range(WITNESSES):
                poll("the structure of the equations")
                yield self._stages.nearby(jet, distance, draw, without, still)

    # -- contradictions ----------------------------------------------------------------------------------------

    def _contradiction(self, jet: Jet, found: NullVectors) -> Dependence | None:
        """Equations that depend on others and say something else, wherever the others hold."""
        own = self._of(found)
        if own is None:
            return None
        kept = np.setdiff1d(np.arange(self._array.count), own.dropped)
        witnesses = 0
        for nearby in self._nearby(jet, own.dropped, own.held):
            if self._stages.left(nearby, kept) > CONSISTENT:
                continue
            there = self._null_vectors(nearby)
            # What the dropped ones say beside the others is a constant there: J is as singular as before.
            if (
                there is None
                or there.count < found.count
                or self._stages.left(nearby, own.dropped) < KNOWN_BY_DIFFERENCES
            ):
                return None
            witnesses += 1
            if witnesses == WITNESSES:
                return replace(own, contradicts=True)
        return None


def only_repeats(array: DerivativeArray, s: Signature, start: JetStart, jet: Jet | None = None) -> bool:
    """Whether J is singular only because equations repeat others, wherever one looks, be it that they contradict them.

    jet: one that obeys all equations; it is solved for where there is none.
    """
    stages = Stages(array, s, start)
    own = DependenceSearch(array, s, stages).at(solved_jet(stages, start) if jet is None else jet)
    return own is not None and not (own.here_alone or own.more_here)


def independent_system(array: DerivativeArray, own: Dependence, jet: Jet) -> DerivativeArray:
    """The system with the dropped equations replaced: each holds one unknown at its value in the jet."""
    equations, rows = elements(array.level(0)), list(array.rows)
    for i, j in zip(own.dropped.tolist(), own.held.tolist()):
        equations[i] = array.symbol(j, 0) - float(jet.y[0, j])
        label = f"choice of {array.label(j)}"
        rows[i] = EquationRow(label, Source(label), role=Role.HELD)
    narrowed = array.extended([])
    narrowed.rewrite(ca.vertcat(*equations), rows)
    return narrowed
