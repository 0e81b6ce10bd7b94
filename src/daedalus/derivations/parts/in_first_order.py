"""The first-order form: derivatives that are states, what is solved for the others, x' = f(x, u)."""

from __future__ import annotations

import casadi as ca

from daedalus.derivations.derivation import DerivationStep
from daedalus.derivations.formula.formula_length import operations
from daedalus.derivations.formula.line import FormulaLine
from daedalus.derivations.formula.notation import Notation, name, rate
from daedalus.derivations.reading import Reading
from daedalus.derivations.solved_unknowns import SolvedBlock, has_dependent_rows, left_over, solvable, solved_blocks
from daedalus.model.expressions import elements, symbol_key
from daedalus.model.model import Model
from daedalus.model.names import listed, split_index
from daedalus.model.system.equation_row import Role

PART = "first_order"


def first_order_steps(model: Model) -> list[DerivationStep]:
    """The steps to x' = f(t, x, u, p), z = g(t, x, u, p)."""
    whole, was_reduced = solvable(model)
    book = whole.flat()
    read = Reading(book)
    system = whole.freeze()
    rates = {
        symbol_key(symbol): rate(name(label))
        for symbol, label in zip(elements(system.symbol("xdot")), system.labels["x"])
    }
    steps = []
    if was_reduced:
        text = "The equations are those of the reduced model: differentiated constraints stand in their places."
        steps.append(read.step(PART, "reduced equations", text, [], [], 0.0))
    blocks = solved_blocks(whole, read)
    linking = {row.label for row in system.rows if row.role is Role.DERIVATIVE}
    links = [b for b in blocks if linking.issuperset(b.equations)]
    rest = [b for b in blocks if b not in links]
    if links:
        text = "Derivatives of higher order are states of their own, so that every state has a first derivative."
        lines = [line for b in links for line in _lines(read, b, rates)]
        steps.append(read.step(PART, "states", text, [], lines, left_over(system, links, read.usual)))
    left = left_over(system, [b for b in blocks if b.values is not None], read.usual)
    alone = [b for b in rest if len(b.unknowns) == 1 and b.values is not None]
    if alone:
        before = [read.line(e, ca.SX(0)) for b in alone for e in elements(read.short(b.residual, [b.symbols]))]
        text = "Each of these equations gives one unknown." if len(alone) > 1 else (
            f"Solve {alone[0].equations[0]} for `{alone[0].unknowns[0]}`.")  # fmt: skip
        lines = [line for b in alone for line in _lines(read, b, {})]
        steps.append(read.step(PART, "solved", text, before, lines, left))
    steps += [_solved(read, block, left) for block in rest if block not in alone]
    lines = [line for b in (*links, *rest) for line in _lines(read, b, rates)]
    # The states in their order, then algebraic variables, then equations without a formula.
    place = {notation: k for k, notation in enumerate(rates.values())}
    lines.sort(key=lambda line: (_rank(line), place.get(line.left, 0) if isinstance(line.left, Notation) else 0))
    text = "Together: the derivative of every state, and every algebraic variable."
    if any(ca.depends_on(_right(line), b.symbols) for line in lines for b in rest if b.values is not None):
        text += " What a line contains beside states and inputs has a line of its own."
    steps.append(read.step(PART, "first-order form", text, [], lines, left_over(system, blocks, read.usual)))
    return steps


def _solved(read: Reading, block: SolvedBlock, check: float) -> DerivationStep:
    words = listed([f"`{label}`" for label in sorted(block.unknowns, key=_index_order)], 8)
    before = [read.line(entry, ca.SX(0)) for entry in elements(read.short(block.residual, [block.symbols]))]
    names = _equation_names(block.equations)
    if block.values is None:
        one = len(block.equations) == 1
        these = "This equation is" if one else "These equations are"
        kind = f"nonlinear; a run solves {'it' if one else 'them'} by Newton's method"
        if block.linear:
            kind = "linear, but the solution is too long to read as a formula; a run computes it numerically"
        if block.linear and has_dependent_rows(block):
            kind = "linear and depend on each other, so that they have no unique solution"
        text = f"{words} {'follows' if one else 'follow together'} from {names}. {these} {kind}."
        return read.step(PART, "implicit equations", text, before, before, 0.0)
    together = " together" if len(block.unknowns) > 1 else ""
    text = f"Solve{together} for {words}: {names}."
    return read.step(PART, "solved", text, before, _lines(read, block, {}), check)


def _equation_names(labels: tuple[str, ...]) -> str:
    """Names of equations in a sentence, the index behind the name that it belongs to: loop[0], differentiated twice."""
    found = []
    for label in labels[:6]:
        stem, index = split_index(label)
        own, *rest = stem.split(", ", 1)
        place = f"[{','.join(map(str, index))}]" if index is not None else ""
        found.append(", ".join([f"{own}{place}", *rest]))
    return "; ".join(found) + ("; …" if len(labels) > 6 else "")


def _right(line: FormulaLine) -> ca.SX:
    return line.right if isinstance(line.right, ca.SX) else ca.SX(0)


def _rank(line: FormulaLine) -> int:
    """Derivatives of states, algebraic variables, equations."""
    return (
        0 if isinstance(line.left, Notation) else 1 if isinstance(line.left, ca.SX) and line.left.is_symbolic() else 2
    )


def _index_order(label: str) -> tuple[str, tuple[int, ...]]:
    """Elements of one variable by their index."""
    stem, index = split_index(label)
    return stem, tuple(index or ())


def _lines(read: Reading, block: SolvedBlock, rates: dict[int, Notation]) -> list[FormulaLine]:
    """What a block gives: each unknown by those before it where that is shorter, or by states and inputs alone."""
    if block.values is None or block.successive is None:
        return [read.line(entry, ca.SX(0)) for entry in elements(read.short(block.residual, [block.symbols]))]
    long = 1.5 * operations(block.successive) + 4 < operations(block.values)
    pairs = zip(elements(block.values), elements(block.successive))
    values = [after if long and operations(after) < operations(alone) else alone for alone, after in pairs]
    symbols = elements(block.symbols)
    return [read.line(rates.get(symbol_key(symbols[j]), symbols[j]), values[j]) for j in block.order]
