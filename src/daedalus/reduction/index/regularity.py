"""Whether the offsets of the signature method are right: the system Jacobian, at random values and at the start.

Where it is singular for all values, the equations are combined (`analysis.structure.structural_repair`); where
it is singular at the start alone, that is said.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from daedalus.algebra.counted_entries import counted_entries
from daedalus.algebra.rank_decision import FULL_MATRIX, is_singular
from daedalus.analysis.points.operating_point import read_point
from daedalus.analysis.structure.block_form import Block, blocks_in_order
from daedalus.analysis.structure.jets.consistent_jet import Jet, Stages, consistent_jet, jet_start, solved_jet
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.signature import Signature, tight_slopes
from daedalus.analysis.structure.structural_repair import Structure, repaired_structure
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.deadline import poll
from daedalus.errors import DaedalusError, SingularModelError
from daedalus.model.expressions import concatenate, elements, symbol_key
from daedalus.model.model import Model
from daedalus.model.names import listed
from daedalus.model.system.equation_row import EquationRow
from daedalus.model.system.system import System
from daedalus.reduction.index.differentiate import DifferentiatedInputError
from daedalus.reduction.index.offsets import Unknown, jet_of, unknown_label

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

# Systems with more unknowns are not solved for all derivatives at their start, which costs too much.
LARGEST_AT_START = 60
# Where the structure has to be repaired, a point is worth more.
LARGEST_REPAIRED = 300


# Values of symbols by key: the start with all derivatives that the equations give there.
Values = dict[int, float]


class MisleadingStructureError(SingularModelError):
    """The structure misleads, and no combination of the equations repairs it."""


class SystemJacobian:
    """J_ij = ∂f_i/∂x_j^(d_j - c_i) as a function of the symbols in it."""

    def __init__(self, book: Model, residual: ca.SX, s: Signature, unknowns: list[Unknown]) -> None:
        jet = jet_of(book, unknowns, int(s.orders.max(initial=0)))
        total = tight_slopes(lambda order, rows, columns: ca.jacobian(residual[rows], jet[order][columns]), s)
        self.symbols = ca.symvar(total)
        self.blocks = blocks_in_order(s, tight=True)
        self.matrix = total
        self._function = ca.Function("J", [concatenate(self.symbols)], [total])
        kinds = [
            book.written.variables[name].kind if name != "t" else "t"
            for name in map(partial(_name, book), self.symbols)
        ]
        self._moving = np.array([kind in ("state", "algebraic") for kind in kinds], dtype=bool)

    def singular_blocks(self, values: np.ndarray) -> set[int]:
        """The blocks that are singular at these values; where the values mean nothing, none."""
        sizes = np.where(self._moving, np.maximum(1.0, np.abs(values)), 0.0)
        entries = counted_entries(lambda own: np.array(self._function(own).nonzeros()), values, sizes)
        if not np.all(np.isfinite(entries)):
            return set()
        matrix = self._with_entries(entries)
        single = [b for b, block in enumerate(self.blocks) if len(block.equations) == 1]
        rows = np.array([self.blocks[b].equations[0] for b in single], dtype=int)
        columns = np.array([self.blocks[b].unknowns[0] for b in single], dtype=int)
        found = set()
        if len(single):
            found = {b for b, value in zip(single, np.asarray(matrix[rows, columns]).ravel()) if value == 0}
        for b, block in enumerate(self.blocks):
            if len(block.equations) > 1 and is_singular(matrix[block.equations][:, block.unknowns]):
                found.add(b)
        return found

    def _with_entries(self, entries: np.ndarray) -> csr_matrix | np.ndarray:
        """The matrix with these entries: a full array where it is small."""
        shape, places = self.matrix.shape, self.matrix.sparsity().get_triplet()
        if max(shape) <= FULL_MATRIX:
            full = np.zeros(shape)
            full[tuple(places)] = entries
            return full
        from scipy.sparse import csr_matrix

        return csr_matrix((entries, places), shape)


def always_singular(book: Model, jacobian: SystemJacobian) -> list[Block]:
    """The blocks that are singular at three draws of random values, hence everywhere but for bad luck."""
    draw = np.random.default_rng(2001)
    common: set[int] | None = None
    for _ in range(3):
        poll("reducing the index")
        values = np.array([_drawn(book, symbol, draw) for symbol in jacobian.symbols])
        found = jacobian.singular_blocks(values)
        common = found if common is None else common & found
        if not common:
            return []
    return [jacobian.blocks[b] for b in sorted(common or ())]


def _name(book: Model, symbol: ca.SX) -> str:
    return str(book.written.known[symbol_key(symbol)][0])


def _drawn(book: Model, symbol: ca.SX, draw: np.random.Generator) -> float:
    """A value for a symbol: parameters have their own, everything else is drawn."""
    name, k, _ = book.written.known[symbol_key(symbol)]
    random = float(draw.uniform(0.4, 1.6) * draw.choice([-1.0, 1.0]))
    if name == "t" or book.written.variables[name].kind != "parameter":
        return random
    value = book.written.variables[name].start[k]
    return abs(random) if value is None else float(value)


# -- the start -------------------------------------------------------------------------------------------------


def written_values(book: Model, symbols: list[ca.SX]) -> np.ndarray | None:
    """The values that were written for these symbols; None where one was not."""
    values = []
    for symbol in symbols:
        name, k, order = book.written.known[symbol_key(symbol)]
        variable = book.written.variables.get(name)
        given = {0: variable.start, 1: variable.rate}.get(order) if variable is not None else (0.0,)
        if not given or given[k] is None or (variable is not None and variable.kind in ("input", "algebraic")):
            return None
        values.append(given[k])
    return np.array(values, dtype=float)


def start_point(book: Model, system: System, symbols: list[ca.SX], index: int) -> Values | None:
    """Values of some symbols at the start: the written ones, or all that the equations give there."""
    written = written_values(book, symbols)
    if written is not None:
        return dict(zip(map(symbol_key, symbols), written.tolist()))
    found = start_jet(system, index, LARGEST_AT_START, by_levels=True)
    return point_of(book, system, found[1]) if found is not None and found[1].consistent else None


def start_jet(system: System, index: int, largest: int, by_levels: bool = False) -> tuple[DerivativeArray, Jet] | None:
    """All unknowns and their derivatives at the start, as far as they follow; None where there is no such point.

    by_levels: whether the structure can be trusted; otherwise all equations are differentiated equally often.
    """
    array = DerivativeArray(system)
    if array.size > largest:
        return None
    try:
        start = jet_start(system, read_point(system, None, None, None))
        s = structure_of(system).signature
        jet = solved_jet(Stages(array, s, start), start) if by_levels and s.regular else None
        if jet is None or not jet.consistent or jet.moved:
            jet = consistent_jet(array, start, max(1, index))
    except DaedalusError:  # a parameter without a value
        return None
    return array, jet


def point_of(book: Model, system: System, jet: Jet) -> Values:
    """The values of a jet by symbol."""
    values = {symbol_key(system.symbol("t")): jet.t}
    for letter, numbers in (("u", jet.u), ("p", jet.p)):
        values.update(zip(map(symbol_key, elements(system.symbol(letter))), numbers.tolist()))
    for j, (name, k, own) in enumerate(entries_of(system)):
        for r in range(len(jet.y)):
            key = symbol_key(book.written.derivative_scalar(name, k, own + r))
            values.setdefault(key, float(jet.y[r, j]))
    return values


def entries_of(system: System) -> list[tuple[str, int, int]]:
    """What stands in y = (x, z): name, element, order of derivative."""
    return [*system.entries, *((v.name, k, 0) for v in system.of_kind("algebraic") for k in range(v.size))]


def singular_at(jacobian: SystemJacobian, point: Values) -> list[int]:
    """The numbers of the blocks that are singular at a point."""
    values = np.array([point.get(symbol_key(s), 0.0) for s in jacobian.symbols])
    return sorted(jacobian.singular_blocks(values))


# -- repair ----------------------------------------------------------------------------------------------------


def repaired_equations(
    book: Model, system: System, unknowns: list[Unknown], singular: list[Block], rows: list[EquationRow], index: int
) -> tuple[ca.SX, list[EquationRow], tuple[str, ...]]:
    """The equations combined until the structure tells the truth, in the notebook's symbols, and what they are.

    The last are the parameters for whose values alone they are right.
    """
    found = start_jet(system, index, LARGEST_REPAIRED)
    structure: Structure | None = repaired_structure(*found, substitute=False) if found else None
    count = len(rows)
    if structure is not None and structure.folded:
        raise _repeated(system, structure)
    broken = structure is None or not structure.signature.regular or bool(structure.singular)
    if structure is None or broken or any(r.replaced >= count for r in structure.repairs):
        raise _irreparable(book, unknowns, singular, rows)
    assert found is not None
    old, new = [], []
    for r, symbols in enumerate(found[0].y):
        for symbol, (name, k, own) in zip(elements(symbols), entries_of(system)):
            old.append(symbol)
            new.append(book.written.derivative_scalar(name, k, own + r))
    equations = ca.substitute(structure.equations[:count], concatenate(old), concatenate(new))
    _check_signals(book, found[0], equations)
    combined = list(rows)
    for repair in structure.repairs:
        others = [rows[i] for i in repair.involved if i != repair.replaced and i < count]
        combined[repair.replaced] = rows[repair.replaced].combined_with(others)
    held = dict.fromkeys(name for repair in structure.repairs for name in repair.holds_for)
    return ca.densify(equations), combined, tuple(held)


def _check_signals(book: Model, array: DerivativeArray, equations: ca.SX) -> None:
    """Refuse combinations that contain the derivative of an input."""
    rates = [s for s in ca.symvar(equations) if symbol_key(s) not in book.written.known]
    if rates:
        error = DifferentiatedInputError(
            f"The derivative of an input would be needed: {', '.join(map(array.symbol_label, rates[:6]))}.",
            "the equations are combined so that derivatives of unknowns cancel, and this one stays",
            because="a signal from outside may jump, and its derivative would be an impulse.",
            remedy="dd.reduce(m, inputs={name: expression of m.time}), or make it a state with an equation for its "
            "derivative",
        )
        error.needed = {}
        for name, order in map(array.input_of, rates):
            error.needed[name] = max(order, error.needed.get(name, 0))
        raise error


def _repeated(system: System, structure: Structure) -> SingularModelError:
    repair = structure.folded[0]
    names = [system.equation_labels[i] for i in repair.involved]
    contradiction = bool(repair.constant)
    facts = [f"{', '.join(names[:8])}: a combination of them says 0 = {repair.constant:g}"]
    because = "two equations then constrain the same unknowns and leave others undetermined."
    remedy = f"remove one of {', '.join(names[:4])}; dd.analyse(m) tells what is redundant"
    loose, multipliers = ([], []) if contradiction else _left_open(system)
    if multipliers:
        facts.append(f"the motion is determined without one of them; not unique: {', '.join(multipliers[:8])}")
    elif loose:
        moving = set(loose) & set(system.labels["x"])
        left = f"{listed(loose, 8)}"
        facts.append(f"the motion is not determined: {left} are left open" if moving else f"left undetermined: {left}")
        remedy = f"write something new in the place of one of {', '.join(names[:4])}"
    return SingularModelError(
        "The model cannot be reduced: "
        + ("equations contradict each other." if contradiction else "an equation follows from the others."),
        facts,
        because=because,
        remedy=remedy,
    )


def _left_open(system: System) -> tuple[list[str], list[str]]:
    """What an analysis says is undetermined, and which multipliers are not unique; nothing for large systems."""
    if system.sizes["x"] + system.sizes["z"] > LARGEST_AT_START:
        return [], []
    from daedalus.analysis.analyse import analyse

    try:
        report = analyse(system)
    except DaedalusError:
        return [], []
    return list(report.undetermined), list(report.non_unique_multipliers)


def _irreparable(
    book: Model, unknowns: list[Unknown], singular: list[Block], rows: list[EquationRow]
) -> MisleadingStructureError:
    equations = [rows[i].label for block in singular for i in block.equations]
    names = [unknown_label(book, unknowns[j]) for block in singular for j in block.unknowns]
    return MisleadingStructureError(
        "The model cannot be reduced: its structure misleads.",
        [
            f"the equations {', '.join(equations[:8])} do not determine {', '.join(names[:8])}",
            "their matrix is singular for all values, and no combination of equations or of unknowns helps",
        ],
        because="how often each equation is differentiated is read from which unknowns stand in it.",
        remedy="combine the equations by hand so that derivatives cancel; dd.analyse(m) names what is redundant",
    )
