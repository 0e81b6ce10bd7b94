"""The equations that a start obeys: those written, their needed time derivatives, and the invariants, in one stack.

With the offsets c and d of the signature method, equation i is taken with its derivatives up to order c_i, and the
unknowns are all derivatives y_j^(k) up to order d_j. Row (i, l) belongs to stage l - c_i and unknown (j, k) to stage
k - d_j; a row contains no unknown of a later stage, so positions can be solved for before velocities, and these before
accelerations and multipliers (J. D. Pryce, A simple structural analysis method for DAEs, BIT 41, 2001).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import casadi as ca
import numpy as np

from daedalus.analysis.structure.incomplete_structure import completed
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.jets.jet_equations import JetEquations, Pieces, Row, StageOf, staged_pieces
from daedalus.analysis.structure.structural_repair import Structure, repaired_structure
from daedalus.analysis.structure.written_structure import WrittenStructure, anywhere
from daedalus.model.expressions import column, elements, symbol_key
from daedalus.model.system.once import By, once
from daedalus.model.system.system import System

# Differentiations beyond the structural index where the structure cannot be trusted.
FURTHER = 1


def start_equations(system: System, p: np.ndarray) -> JetEquations:
    """The stack of a system, kept with it; only values of parameters that change the structure make another.

    Example
    -------
    >>> import daedalus as dd, numpy as np
    >>> m = dd.Model("position given by a table"); x = m.state("x"); v = m.state("v"); f = m.algebraic("f")
    >>> m.equation(m.der(x), v, name="speed"); m.equation(m.der(v), f, name="newton")
    >>> m.equation(x, m.time**2, name="table")
    >>> [row.name for row in start_equations(m.freeze(), np.zeros(0)).rows]
    ['speed', 'newton', 'table', 'speed, differentiated once', 'table, differentiated once',
     'table, differentiated twice']
    """
    return once(system, _stack_of, once(system, WrittenStructure).singular_blocks(p), By(p))


def _stack_of(system: System, singular: tuple[int, ...], p: By[np.ndarray]) -> JetEquations:
    # Each stack has an array of its own, which it differentiates further where it needs to.
    written = WrittenStructure(system) if singular else once(system, WrittenStructure)
    array, structure = written.array, written.structure
    if structure.signature.regular:
        if not singular:
            return _staged(array, structure)
        repaired = repaired_structure(array, replace(anywhere(array), p=p.value), substitute=False)
        if repaired.signature.regular and not repaired.singular:
            return _staged(array, repaired)
    # The offsets as written serve redundant equations well; whether they hide something else is checked afterwards.
    offsets = completed(structure.signature)
    if offsets is None:
        return _uniform(array, structure)
    return _staged(array, replace(structure, signature=offsets), lambda: _uniform(array, structure))


def _staged(
    array: DerivativeArray, structure: Structure, further: Callable[[], JetEquations] | None = None
) -> JetEquations:
    """Every equation with as many derivatives as its offset says."""
    rows, names = array.system.rows, dict[int, str]()
    for repair in structure.repairs:
        others = [rows[k].label for k in repair.involved if k != repair.replaced]
        if others:
            names[repair.replaced] = f"{rows[repair.replaced].label} combined with {', '.join(others)}"
    pieces, stage_of = staged_pieces(array, structure.equations, structure.signature, names)
    # A combined equation takes the place of one that was written; that one holds, too.
    replaced = dict.fromkeys(repair.replaced for repair in structure.repairs)
    pieces += [(Row(rows[i], 0, 0), array.level(0)[i]) for i in replaced]
    return JetEquations(
        array, [*pieces, *_invariants(array, stage_of)], stage_of, structure.signature if further else None, further
    )


def _uniform(array: DerivativeArray, structure: Structure) -> JetEquations:
    """All equations differentiated equally often, to be solved at once."""
    order = max(structure.signature.index or 2, 1) + FURTHER
    pieces = [
        (Row(row, times, 0), entry)
        for times in range(order + 1)
        for row, entry in zip(array.system.rows, elements(array.level(times)))
    ]
    return JetEquations(array, [*pieces, *_invariants(array, {})], {})


def _invariants(array: DerivativeArray, stage_of: StageOf) -> Pieces:
    """What solutions keep at zero, held to it or not, each at the stage at which its unknowns are solved for."""
    own = {symbol_key(s): (j, k) for k, level in enumerate(array.y) for j, s in enumerate(elements(level))}
    pieces = []
    system = array.system
    rows = (*system.invariant_rows, *system.watched_rows)
    kept = [*system.invariants.values(), *system.watched.values()]
    for row, entry in zip(rows, (e for value in kept for e in elements(column(value))), strict=True):
        stages = [stage_of.get(own[symbol_key(s)], 0) for s in ca.symvar(entry) if symbol_key(s) in own]
        pieces.append((Row(row, 0, max(stages, default=0)), entry))
    return pieces
