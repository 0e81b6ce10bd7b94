"""What nothing determines, what contradicts itself and what repeats itself, and where pattern and numbers disagree."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from daedalus.algebra.rank_decision import STILL, null_space
from daedalus.analysis.structure.block_form import coarse_parts
from daedalus.analysis.structure.classification import Classification
from daedalus.analysis.structure.dependence.null_space_probe import NullSpaceProbe
from daedalus.analysis.structure.examination import Examination
from daedalus.analysis.structure.jets.consistent_jet import Jet, JetStart, consistent_jet
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.numeric_index import JetJacobian, OpenUnknowns
from daedalus.analysis.structure.signature import Signature
from daedalus.analysis.structure.system_jacobian import random_arguments
from daedalus.model.names import listed
from daedalus.model.system.equation_row import Role

# How far the second jet lies from the first, in sizes of the unknowns.
NEARBY = 0.05
# Smaller slopes vanish: at a multiple root values are known to the root of rounding only.
FLAT = 1e-4


@dataclass(frozen=True, eq=False)
class Judgement:
    """Names of unknowns and equations that stand out, and sentences about the point."""

    undetermined: list[str]
    overdetermined: list[str]
    redundant: list[str]
    multipliers: list[str]
    warnings: list[str]


def judge(
    array: DerivativeArray, s: Signature, found: Examination, kind: Classification, free: OpenUnknowns
) -> Judgement:
    """What nothing determines, what contradicts and what repeats itself."""
    labels = array.system.equation_labels
    jet = found.jet
    if found.dependence is not None:
        return _of_dependence(array, found)
    if not jet.consistent:
        left = jet.left_of(array.count)
        wrong = [labels[i] for i in np.flatnonzero(left > 1e-6)] or list(labels)
        return Judgement([], wrong, [], [], ["no values were found that obey all equations and their derivatives"])
    if found.index is not None and array.count == array.size:
        return Judgement([], [], [], [], [])
    repeated = repeated_equations(array, found.start, jet, found.order)
    loose = free.loose
    redundant = [labels[i] for i in repeated.everywhere]
    names = [array.label(int(j)) for j in loose]
    warnings = _special_point(array, found, repeated, loose)
    if len(repeated.here):
        return Judgement([], [], [], [], warnings)
    if len(loose) and np.all(np.isin(loose, kind.algebraic)) and redundant:
        return Judgement([], [], redundant, names, warnings)
    if not redundant and s.count >= s.size:
        warnings.append(f"{found.order} differentiations do not determine {listed(names)}; more were not tried")
        return Judgement([], [], [], [], warnings)
    if len(loose) and s.count < s.size:
        warnings.append(
            f"{s.size - s.count} more equations are needed" if s.size - s.count > 1 else "one equation is missing"
        )
    return Judgement(names, [], redundant, [], warnings)


def _of_dependence(array: DerivativeArray, found: Examination) -> Judgement:
    """What the system Jacobian shows of equations that depend on others."""
    own = found.dependence
    assert own is not None
    equations = [array.system.equation_labels[i] for i in own.equations if i not in _definitions(array)]
    if own.contradicts:
        return Judgement([], equations, [], [], ["no values obey all of these equations: one says what another denies"])
    names = [array.label(int(j)) for j in own.unknowns]
    if own.here_alone:
        here = RepeatedEquations(np.zeros(0, dtype=int), own.equations)
        return Judgement([], [], [], [], _special_point(array, found, here, own.unknowns))
    warnings = []
    if own.more_here:
        what = f"at this point more of {listed(equations)} depend on each other than nearby"
        warnings.append(f"{what}: another point in at= gives the index")
    return Judgement([], [], equations, names, warnings)


def _definitions(array: DerivativeArray) -> set[int]:
    """The equations that say that q_dot is the derivative of q, which goes without saying."""
    return {i for i, row in enumerate(array.system.rows) if row.role is Role.DERIVATIVE}


def _special_point(
    array: DerivativeArray, found: Examination, repeated: RepeatedEquations, loose: np.ndarray
) -> list[str]:
    """The sentence for a point where slopes vanish or depend on each other that nearby do not."""
    if not len(repeated.here):
        return []
    labels = array.system.equation_labels
    _, slopes = array.function(0)(*found.jet.arguments(1))
    largest = abs(slopes.sparse()).multiply(np.tile(found.start.size, 2)).max(axis=1).toarray().ravel()
    flat = [i for i in repeated.here if largest[i] < FLAT]
    what = f"all slopes of {listed([labels[i] for i in flat])} vanish"
    if not flat:
        what = f"the slopes of {listed([labels[i] for i in repeated.here])} are not independent"
    unknowns = listed([array.label(int(j)) for j in loose])
    left_open = f", so that {unknowns} cannot be determined" if unknowns else ""
    return [f"at this point {what}{left_open}; nearby that is not so: another point in at= gives the index"]


def without_slopes(array: DerivativeArray, found: Examination, unknowns: np.ndarray) -> np.ndarray:
    """Those of some unknowns that no equation feels at a jet, as multipliers of redundant constraints are felt."""
    _, slopes = array.function(0)(*found.jet.arguments(1))
    largest = abs(slopes.sparse()).multiply(np.tile(found.start.size, 2)).max(axis=0).toarray().ravel()
    own = np.asarray(unknowns, dtype=int)
    silent: np.ndarray = own[np.maximum(largest[own], largest[own + array.size]) < FLAT]
    return silent


def structure_warnings(array: DerivativeArray, s: Signature, found: Examination) -> list[str]:
    """Where pattern and numbers disagree."""
    labels, structure = found.structure.array.equation_labels, found.structure
    warnings = []
    for repair in structure.repairs if structure.trusted else ():
        others = listed([labels[i] for i in repair.involved if i != repair.replaced])
        what = f"{labels[repair.replaced]} combined with {others} contains fewer derivatives"
        if not others:
            what = f"at these values of the parameters {labels[repair.replaced]} contains less than is written in it"
        warnings.append(f"the pattern of the equations misleads (structural index {s.index}): {what}")
    for own in structure.combinations if structure.trusted else ():
        warnings.append(
            f"the pattern of the equations misleads (structural index {s.index}): derivatives enter only through "
            f"{structure.array.text(own.definition)}, in fewer combinations than unknowns"
        )
    for block in structure.at_point if found.index is not None else ():
        own_array = structure.array
        names = dict.fromkeys(own_array.label(int(j), int(structure.signature.d[j])) for j in block.unknowns)
        equations = listed([labels[i] for i in block.equations])
        warnings.append(
            f"at this point {equations} cannot be solved for {listed(list(names))}; elsewhere that is possible"
        )
    if structure.singular and not structure.folded and found.dependence is None:
        equations = listed([labels[i] for block in structure.singular for i in block.equations])
        warnings.append(
            f"the pattern of the equations misleads: the system Jacobian of {equations} is singular everywhere"
        )
    if not s.regular and found.dependence is None:
        parts = coarse_parts(s)
        many = listed([labels[i] for i in parts.too_many_equations])
        few = listed([array.label(int(j)) for j in parts.undetermined_unknowns])
        if many:
            warnings.append(f"{many} are too many equations for the unknowns in them")
        if few:
            warnings.append(f"the unknowns {few} stand in too few equations")
    comparable = structure.trusted and not structure.times and not structure.combinations
    if comparable and found.index is not None and structure.signature.index not in (found.index, None):
        warnings.append(f"the structure says index {structure.signature.index}, the ranks at the point {found.index}")
    return warnings


# Equations that repeat each other, unknowns that nothing determines, and multipliers that are not unique.
#
# A left null vector of the derivative array's Jacobian in the whole jet is a combination of (differentiated) equations
# that says nothing; a null vector in the derivatives moves unknowns that nothing determines. Where only algebraic
# unknowns move, the motion is unique and the equations in the combination are redundant; else the motion itself is
# undetermined.


@dataclass(frozen=True, eq=False)
class RepeatedEquations:
    """Positions of equations that repeat others, everywhere or at this point alone."""

    everywhere: np.ndarray
    here: np.ndarray


def repeated_equations(array: DerivativeArray, start: JetStart, jet: Jet, order: int) -> RepeatedEquations:
    """The equations in a combination that says nothing at a jet, and whether that holds nearby too."""
    none = np.zeros(0, dtype=int)
    here, count = _combinations(array, jet, start.size, order)
    if not count:
        return RepeatedEquations(none, none)
    if len(_flat_here_alone(array, start, jet)):
        return RepeatedEquations(none, here)
    draw = np.random.default_rng(1958)
    y = jet.y[:2]
    shaken = y + NEARBY * np.maximum(start.size, np.abs(y)) * draw.standard_normal(y.shape)
    nearby = consistent_jet(array, replace(start, y=shaken, given=np.zeros_like(start.given)), order)
    if nearby.consistent:
        _, count_nearby = _combinations(array, nearby, start.size, order)
        if count_nearby < count:
            return RepeatedEquations(none, here)
    return RepeatedEquations(here, none)


def _flat_here_alone(array: DerivativeArray, start: JetStart, jet: Jet) -> np.ndarray:
    """The equations whose slopes all vanish at a jet but not at values drawn at random."""
    points = (jet.arguments(1), *random_arguments(array, jet, 1))
    matrices = [array.function(0)(*point)[1].sparse() for point in points]
    largest = [abs(m).multiply(np.tile(start.size, 2)).max(axis=1).toarray().ravel() for m in matrices]
    return np.flatnonzero((largest[0] < FLAT) & (np.min(largest[1:], axis=0) > FLAT))


def _combinations(array: DerivativeArray, jet: Jet, size: np.ndarray, order: int) -> tuple[np.ndarray, int]:
    """The equations in left null vectors of the array's Jacobian, and how many such vectors there are."""
    jacobian = JetJacobian(array, jet, size, order)
    equations, unknowns = np.arange(array.count), np.arange(array.size)
    whole = jacobian.part(order, 0, equations, unknowns)
    if not isinstance(whole, np.ndarray):
        probe = NullSpaceProbe(whole.T)
        moved = probe.moved().reshape(order + 1, array.count).any(axis=0)
        return np.flatnonzero(moved), probe.dimension()
    null, _ = null_space(whole.T, "all rows")
    weight = (
        np.linalg.norm(null.reshape(order + 1, array.count, -1), axis=(0, 2)) if null.size else np.zeros(array.count)
    )
    return np.flatnonzero(weight > STILL), null.shape[1]
