"""What is this system? `dd.analyse(m)` classifies it, finds its index and what is hidden in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import SINGULAR
from daedalus.analysis.points.operating_point import OperatingPoint, read_point
from daedalus.analysis.report import Report
from daedalus.analysis.stated_constraint import StatedConstraint
from daedalus.analysis.structure.block_form import blocks_in_order, coarse_parts
from daedalus.analysis.structure.classification import classify, form_of, linearity
from daedalus.analysis.structure.examination import Examination, examine_away_from_special_values
from daedalus.analysis.structure.hidden_constraints import FoundConstraint, constraints_of
from daedalus.analysis.structure.jets.consistent_jet import Jet, JetStart, jet_start
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.joined_index import joined_index
from daedalus.analysis.structure.judgement import judge, structure_warnings, without_slopes
from daedalus.analysis.structure.regimes import regime_warnings
from daedalus.analysis.structure.signature import Signature
from daedalus.analysis.structure.structural_repair import repaired_structure
from daedalus.analysis.structure.system_jacobian import singular_anywhere
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.errors import ModelError
from daedalus.model.expressions import elements
from daedalus.model.model import Model, as_system
from daedalus.model.names import listed
from daedalus.model.system.conservation import broken_invariants
from daedalus.model.system.equation_row import Role, level_name
from daedalus.model.system.open_algebraics import as_written, smallest_taken
from daedalus.model.system.surplus_equations import Surplus
from daedalus.model.system.system import System

# Regimes are looked for in systems up to this size.
LARGEST_FOR_REGIMES = 60


def analyse(
    model: Model | System,
    at: object = None,
    *,
    inputs: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
) -> Report:
    """Report the kind of a model, its index, its hidden constraints, and which parts are over- or under-determined.

    The index is computed at a point. First, values of all unknowns and their derivatives are solved for that satisfy
    the equations and their derivatives; given values are kept if possible.

    Parameters
    ----------
    model: any model, also with too many or too few equations; the report names them.
    at: the point: values by name of states, algebraic variables, inputs, derivatives ("x_dot") and the time ("t"). The
        default is the model's start. Inputs without a value are zero, or one if zero is special.
    inputs, parameters: values by name that override those of `at` and of the model.

    Example
    -------
    >>> import daedalus as dd, casadi as ca
    >>> m = dd.Model("pendulum")
    >>> p = m.coordinate("p", 2, start=[1, 0], rate=[0, 0])
    >>> m.kinetic_energy(0.5 * ca.sumsqr(m.rate(p))); m.potential_energy(9.81 * p[1])
    >>> rod = m.constraint("rod", ca.sumsqr(p) - 1)
    >>> print(dd.analyse(m))
    pendulum: nonlinear semi-explicit DAE of index 3
      5 equations, 5 unknowns
      well-posed: yes: the equations determine every derivative and algebraic unknown, so each consistent start ...
      index: 3: x' and z' follow from the equations differentiated 3 times at most; ... differentiate rod twice
      differential: p, p_dot
      algebraic: rod
      start: 2 start values may be chosen freely; a consistent start obeys 1 written constraint and 2 hidden ones
      solution: dd.reduce(m) differentiates rod twice; radau5 also solves it as written
      structure: index 3, 1 block, the largest with 5
      constraints written:
        rod: p[0]^2 + p[1]^2 - 1 = 0
      hidden constraints:
        rod, differentiated once: 2*(p[0]*p_dot[0] + p[1]*p_dot[1]) = 0
        rod, differentiated twice: ...
      ranks: ...
    """
    whole = _snapshot(model)
    system, smallest = as_written(whole), smallest_taken(whole)
    found = _analysed(system, at, inputs, parameters, smallest)
    if smallest and not found.overdetermined:
        # With those of least norm it is another system, which has what runs and starts solve.
        settled = _analysed(whole, at, inputs, parameters, ())
        found = replace(found, solvable=settled.solvable, index=settled.index)
    if not isinstance(model, Model):
        return found
    return replace(
        found, joined=joined_index(model, lambda joined: _analysed(joined, None, inputs, parameters, ()).index)
    )


def _analysed(
    system: System,
    at: object,
    inputs: Mapping[str, object] | None,
    parameters: Mapping[str, object] | None,
    smallest: tuple[str, ...],
) -> Report:
    """The report of a system as it is; smallest: unknowns that it leaves open and the motion does not feel."""
    vectors = read_point(system, at, inputs, parameters)
    array = DerivativeArray(system)
    s = structure_of(system).signature
    start = jet_start(system, vectors)
    do = "do" if len(smallest) > 1 else "does"
    told = f"{listed(smallest)} {do} not influence the motion: a run takes the values of least norm"
    notes = [told] if smallest else []
    examination = examine_away_from_special_values(array, s, start, vectors, notes)
    return _structural_report(array, s, start) if examination is None else _report(array, s, examination, notes)


def _snapshot(model: Model | System) -> System:
    """The system of a model, also where the number of equations does not fit."""
    if isinstance(model, Model):
        try:
            system = model.freeze()
        except ModelError:
            from daedalus.model.system.freeze import freeze

            if not any(v.kind in ("state", "algebraic") for v in model.variables.values()):
                raise
            return freeze(model, square=False)
        return system
    return as_system(model)


def _report(array: DerivativeArray, s: Signature, found: Examination, notes: list[str]) -> Report:
    system, jet, structure = array.system, found.jet, found.structure
    kind = classify(array, jet, found.start.size, s if found.proved or found.dependence is not None else None)
    if found.dependence is not None:
        kind = replace(kind, directly_solvable=False)
    constraints, written_out = _constraints(array, found, notes)
    free = found.freedom(kind)
    judged = judge(array, s, found, kind, free)
    # Every start of an ODE fits; values that moved did so because a step of the search was too coarse for them.
    ode = found.proved and structure.signature.index == 0
    moved = [array.label(j, k) for k, j in jet.moved if not (ode and k == 0)]
    if moved and jet.consistent:
        verb = "contradicts" if len(moved) == 1 else "contradict"
        notes.append(f"the given {listed(moved)} {verb} the equations: ranks are taken at a point nearby that fits")
    if found.index is not None and not written_out and free.start_values < len(kind.differential):
        notes.append("constraints of the start values exist that could not be written out")
    if judged.multipliers and not written_out:
        notes.append("hidden constraints are written out once the redundant ones are dropped")
    surplus = system.part(Surplus)
    if surplus is not None:
        notes += _surplus_notes(surplus)
    felt = bool(judged.multipliers) and not judged.undetermined and not len(without_slopes(array, found, free.loose))
    determined = not len(free.loose) or felt
    settled = found.whole.settled if judged.multipliers and found.whole is not None else found.index
    return Report(
        **_common(array, s, jet),
        kind=kind.kind,
        is_linear=kind.is_linear,
        is_dae=kind.is_dae,
        index=settled,
        directly_solvable=kind.directly_solvable,
        solvable=jet.consistent and determined and array.count >= array.size,
        degrees_of_freedom=free.start_values,
        differential=[array.label(int(j)) for j in kind.differential],
        algebraic=[array.label(int(j)) for j in kind.algebraic],
        constraints=(*(_stated(array, c) for c in constraints), *_declared(array)),
        undetermined=judged.undetermined,
        overdetermined=judged.overdetermined,
        redundant=[*judged.redundant, *(() if surplus is None else surplus.implied)],
        non_unique_multipliers=judged.multipliers,
        warnings=[*judged.warnings, *structure_warnings(array, s, found), *_special(array, found, constraints)],
        notes=notes,
        moved=moved,
        block_indices=found.block_indices if s.regular else [],
        ranks=(*kind.ranks, *found.ranks),
    )


def _common(array: DerivativeArray, s: Signature, jet: Jet) -> dict[str, Any]:
    """What a report says however its verdict was found."""
    return {
        "system": array.system, "structural_index": s.index, "invariants": list(array.system.invariants),
        "point": _point(array.system, jet), "signature": s, "blocks": blocks_in_order(s), "tolerance": SINGULAR,
    }  # fmt: skip


def _special(array: DerivativeArray, found: Examination, constraints: list[FoundConstraint]) -> list[str]:
    """Where the system changes its nature, and what is declared to be kept and is not."""
    system, jet, structure = array.system, found.jet, found.structure
    plain = structure.signature.regular and not structure.singular and not structure.combinations
    warnings = []
    if plain and found.dependence is None and array.size <= LARGEST_FOR_REGIMES:
        conditions = [c.expression for c in constraints if c.free and structure.trusted]
        warnings = regime_warnings(array, structure, jet, found.start.size, conditions)
    broken = broken_invariants(system, [jet.t], jet.y[0, : system.sizes["x"]], [jet.u], jet.p)
    return [*warnings, *(f"not kept by the equations: {one}" for one in broken)]


def _declared(array: DerivativeArray) -> list[StatedConstraint]:
    """What somebody declared to be kept."""
    system = array.system
    entries = [entry for kept in system.invariants.values() for entry in elements(kept)]
    own = [(row.label, e) for row, e in zip(system.invariant_rows, entries) if row.role is Role.DECLARED]
    return [StatedConstraint(label, entry, True, array.labels_in(entry)) for label, entry in own]


def _surplus_notes(surplus: Surplus) -> list[str]:
    """What becomes of equations that follow from the others."""
    told = []
    if surplus.kept:
        told.append(f"{listed(list(surplus.kept))}: kept by the other equations, so that it is an invariant")
    if surplus.implied:
        told.append(f"{listed(list(surplus.implied))}: implied by the other equations, so that it is left out")
    return told


def _constraints(array: DerivativeArray, found: Examination, notes: list[str]) -> tuple[list[FoundConstraint], bool]:
    """What solutions obey, and whether that is all; where inputs make the point special, while they stay."""
    if found.structure.trusted:
        dropped = [] if found.dependence is None else found.dependence.dropped.tolist()
        return [c for c in constraints_of(found.structure) if c.others or c.equation not in dropped], True
    if found.structure.at_point and len(found.jet.u) and found.index is not None:
        held = repaired_structure(array, replace(found.jet, inputs_stay=True))
        if held.trusted:
            notes.append("hidden constraints are those of inputs that keep their values")
            return constraints_of(held), True
    return [], False


def _stated(array: DerivativeArray, found: FoundConstraint) -> StatedConstraint:
    source, expression = level_name(found.source, found.times), ca.SX(found.expression)
    return StatedConstraint(source, expression, found.hidden, array.labels_in(expression))


def _point(system: System, jet: Jet) -> OperatingPoint:
    n = system.sizes["x"]
    vectors = {"t": [jet.t], "x": jet.y[0, :n], "z": jet.y[0, n:], "xdot": jet.y[1, :n], "u": jet.u, "p": jet.p}
    return OperatingPoint(system, {letter: np.asarray(values) for letter, values in vectors.items()})


def _structural_report(array: DerivativeArray, s: Signature, start: JetStart) -> Report:
    """The verdict on a system too large for ranks: from its structure alone."""
    pattern = ca.jacobian_sparsity(array.level(0), array.y[1])
    differential = np.unique(np.array(pattern.get_triplet()[1], dtype=int))
    algebraic = np.setdiff1d(np.arange(array.size), differential)
    parts = coarse_parts(s)
    labels = array.system.equation_labels
    is_dae = s.index != 0
    jet = Jet(start.t, start.p, start.u, start.y, np.zeros(1))
    notes = ["no consistent point confirms it and it is too large for ranks: the verdict is that of the structure"]
    warnings = []
    if s.regular:
        if singular_anywhere(array, s, jet):
            warnings.append("the structure misleads: its system Jacobian is singular, so the index is higher")
        else:
            notes.append("its system Jacobian is regular at values drawn at random")
    return Report(
        **_common(array, s, jet),
        kind=form_of(array, pattern, is_dae),
        is_linear=linearity(array, jet)[0],
        is_dae=is_dae,
        index=s.index,
        directly_solvable=s.regular and not np.any(s.c),
        solvable=s.regular,
        degrees_of_freedom=s.degrees_of_freedom or 0,
        differential=[array.label(int(j)) for j in differential],
        algebraic=[array.label(int(j)) for j in algebraic],
        undetermined=[array.label(int(j)) for j in parts.undetermined_unknowns],
        overdetermined=[labels[i] for i in parts.too_many_equations],
        warnings=warnings,
        notes=notes,
    )
