"""What nothing determines, what contradicts itself and what repeats itself, and where pattern and numbers disagree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daedalus.analysis.structure.block_form import coarse_parts
from daedalus.analysis.structure.classification import Classification
from daedalus.analysis.structure.dependence.redundancy import FLAT, RepeatedEquations, repeated_equations
from daedalus.analysis.structure.examination import Examination
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.numeric_index import OpenUnknowns
from daedalus.analysis.structure.signature import Signature
from daedalus.model.names import listed
from daedalus.model.system.equation_row import Role


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
        left = np.abs(np.nan_to_num(jet.residual, nan=np.inf)).reshape(-1, array.count).max(axis=0)
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
