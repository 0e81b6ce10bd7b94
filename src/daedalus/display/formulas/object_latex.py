"""What the objects of the package look like in LaTeX: tableaux, multistep formulas, linear systems, starts, reports."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from daedalus.derivations.formula.formula_length import operations
from daedalus.derivations.formula.line import FormulaLine
from daedalus.derivations.formula.notation import Side
from daedalus.derivations.formula.repeated_parts import PAGES, with_named_parts
from daedalus.derivations.formula.simplify import simplified
from daedalus.display.formulas.fitted_rows import PAGE, FittedEquation, FittedSide, filled_rows, fitted_rows
from daedalus.display.formulas.latex_width import latex_width
from daedalus.display.formulas.number_latex import number_latex, polynomial_latex, polynomial_terms
from daedalus.display.formulas.sides import LARGEST_MATRIX, SideWriter, lines_latex
from daedalus.display.formulas.styles import Latex
from daedalus.model.expressions import elements, symbol_key
from daedalus.model.names import derivative_name, split_derivative
from daedalus.model.system.equation_row import Role
from daedalus.model.system.system import System

# Names of a vector that are listed.
MOST_NAMES = 60
# Letters of a sentence that fit a row of a page.
LETTERS_OF_A_ROW = 90


def aligned(rows: Sequence[str]) -> str:
    """Rows with their marks below each other."""
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


# -- methods ---------------------------------------------------------------------------------------------------


def tableau_latex(entries: dict[str, Any], explicit: bool) -> str:
    """The Butcher array: nodes to the left of A, the weights below a line; columns beyond a page in arrays below."""
    count = len(entries["b"])
    whole = _columns_latex(entries, explicit, range(count))
    if latex_width(whole) <= PAGE or count == 1:
        return whole
    for parts in range(2, count + 1):
        width = -(-count // parts)
        cuts = [range(k, min(k + width, count)) for k in range(0, count, width)]
        arrays = [_columns_latex(entries, explicit, columns) for columns in cuts]
        if all(latex_width(text) <= PAGE for text in arrays):
            break
    titles = [f"\\text{{columns {columns[0] + 1} to {columns[-1] + 1}}}" for columns in cuts]
    stacked = [f"{title} \\\\\n{text}" for title, text in zip(titles, arrays)]
    return "\\begin{gathered}\n" + " \\\\[1ex]\n".join(stacked) + "\n\\end{gathered}"


def _columns_latex(entries: dict[str, Any], explicit: bool, columns: range) -> str:
    """The nodes, and some columns of A and of the weights."""
    rows = []
    for i, (node, row) in enumerate(zip(entries["c"], entries["A"])):
        cells = ["" if explicit and j >= i else number_latex(row[j]) for j in columns]
        rows.append(" & ".join([number_latex(node), *cells]))
    feet = [
        " & ".join(["", *(number_latex(entries[part][j]) for j in columns)]) for part in ("b", "b_hat") if entries[part]
    ]
    body = " \\\\\n".join([*rows[:-1], f"{rows[-1]} \\\\ \\hline\n{feet[0]}", *feet[1:]])
    return f"\\begin{{array}}{{c|{'c' * len(columns)}}}\n{body}\n\\end{{array}}"


def stability_latex(numerator: Sequence[Any], denominator: Sequence[Any]) -> str:
    """R(z) as a polynomial or a fraction of two; a polynomial wider than a page goes on in the next row."""
    above, below = polynomial_latex(list(numerator)), polynomial_latex(list(denominator))
    whole = f"R(z) = {above}" if below == "1" else f"R(z) = \\frac{{{above}}}{{{below}}}"
    if below != "1" or latex_width(whole) <= PAGE:
        return whole
    return aligned(filled_rows(["R(z) =", *polynomial_terms(list(numerator))], PAGE))


def order_condition_latex(tree: Any, target: Any) -> str:
    """b · Φ = 1/γ, the vector of the tree in powers, products with A and componentwise products."""
    return f"b^{{\\top}} {_vector(tree)} = {number_latex(target)}"


def _vector(tree: Any) -> str:
    """The stage vector of a tree: A applied to its subtrees, multiplied component by component."""
    if tree == ():
        return "\\mathbf{1}"
    factors: dict[str, int] = {}
    for subtree in tree:
        text = "c" if subtree in ((), "t") else f"A {_inner(subtree)}"
        factors[text] = factors.get(text, 0) + 1
    parts = [
        text if count == 1 else f"{text}^{{{count}}}" if text == "c" else f"({text})^{{{count}}}"
        for text, count in factors.items()
    ]
    return parts[0] if len(parts) == 1 else "(" + " \\circ ".join(parts) + ")"


def _inner(tree: Any) -> str:
    return _vector(tree)


def multistep_latex(a: Sequence[Any], b: Sequence[Any]) -> str:
    """x_{n+1} = −Σ a_j x_{n+1−j} + h Σ b_j f_{n+1−j}."""
    past = _sum([-value for value in a], [f"x_{{{_step(1 - j)}}}" for j in range(1, len(a) + 1)])
    slopes = _sum(list(b), [f"f_{{{_step(1 - j)}}}" for j in range(len(b))])
    single = sum(value != 0 for value in b) == 1
    right = slopes if single else f"\\left({slopes}\\right)"
    return f"x_{{n+1}} = {past} + h \\, {right}"


def _step(offset: int) -> str:
    return "n" if offset == 0 else f"n{offset:+d}"


def _sum(factors: list[Any], names: list[str]) -> str:
    text = ""
    for factor, name in zip(factors, names):
        if factor == 0:
            continue
        size = number_latex(abs(factor))
        own = name if size == "1" else f"{size} {name}"
        sign = " - " if factor < 0 else " + "
        text = (f"-{own}" if factor < 0 else own) if not text else f"{text}{sign}{own}"
    return text or "0"


# -- linear systems --------------------------------------------------------------------------------------------


def matrix_latex(matrix: Any) -> str:
    """A matrix of numbers in square brackets."""
    rows = [[number_latex(_rounded(float(value))) for value in row] for row in np.atleast_2d(np.asarray(matrix))]
    return Latex().matrix(rows)


def _rounded(value: float) -> float:
    return 0.0 if value == 0 else value


def linear_system_latex(system: Any, descriptor: bool) -> str:
    """x' = A x + B u, y = C x + D u with names and numbers; E before x' of a descriptor system.

    Where that is wider than a page, the equations stand in letters with a row for each vector and matrix below.
    """
    x, u, y = (_column(names) for names in (system.states, system.inputs, system.outputs))
    rate = _column([_dotted(name) for name in system.states])
    fed, through = bool(len(system.inputs)), bool(np.any(np.asarray(system.D)))
    if max(len(system.states), len(system.outputs), len(system.inputs)) <= LARGEST_MATRIX:
        left = f"{matrix_latex(system.E)} {rate}" if descriptor else rate
        first = f"{left} &= {matrix_latex(system.A)} {x}" + (f" + {matrix_latex(system.B)} {u}" if fed else "")
        second = f"{y} &= {matrix_latex(system.C)} {x}" + (
            f" + {matrix_latex(system.D)} {u}" if fed and through else ""
        )
        rows = [first, second] if len(system.outputs) else [first]
        if max(map(latex_width, rows)) <= PAGE:
            return aligned(rows)
    rows = [f"{'E ' if descriptor else ''}\\dot{{x}} &= A x{' + B u' if fed else ''}"]
    if len(system.outputs):
        rows.append(f"y &= C x{' + D u' if fed and through else ''}")
    vectors = (("x", system.states), ("u", system.inputs), ("y", system.outputs))
    rows += [row for letter, names in vectors if len(names) for row in _listed(letter, list(names))]
    letters = ["E"] * descriptor + ["A"] + ["B"] * fed + ["C"] * bool(len(system.outputs)) + ["D"] * (fed and through)
    rows += [f"{letter} &= {_matrix_or_size(getattr(system, letter))}" for letter in letters]
    return aligned(rows)


def _listed(letter: str, names: list[str]) -> list[str]:
    """The names of a vector in brackets, in as many rows as they need."""
    texts = [f"{Latex().name(name)}," for name in names[:MOST_NAMES]]
    texts[-1] = f"{texts[-1]} \\dots, {Latex().name(names[-1])}" if len(names) > MOST_NAMES else texts[-1][:-1]
    whole = f"({' '.join(texts)})"
    pieces = [f"({texts[0]}", *texts[1:-1], f"{texts[-1]})"] if len(texts) > 1 else [whole]
    return fitted_rows([FittedEquation(FittedSide(letter, lambda _: [letter]), FittedSide(whole, lambda _: pieces))])


def _matrix_or_size(matrix: Any) -> str:
    """The numbers, or the size of a matrix that is wider than a page."""
    dense = np.atleast_2d(np.asarray(matrix))
    text = matrix_latex(dense) if max(dense.shape) <= LARGEST_MATRIX else ""
    if text and latex_width(text) <= PAGE:
        return text
    rows, columns = dense.shape
    return Latex().large_matrix(rows, columns, int(np.count_nonzero(dense)))


def _dotted(name: str) -> str:
    """The name of the derivative of a name."""
    stem, bracket, rest = name.partition("[")
    origin, order = split_derivative(stem)
    return f"{derivative_name(origin, order + 1)}{bracket}{rest}"


def _column(names: Sequence[str]) -> str:
    return Latex().matrix([[Latex().name(name)] for name in names])


# -- models and what is found about them -----------------------------------------------------------------------


def labels_of_system(system: System) -> dict[int, str]:
    """The names of all symbols of a system."""
    found: dict[int, str] = {symbol_key(system.symbol("t")): "t"}
    for letter in ("xdot", "x", "z", "u", "p"):
        found.update({symbol_key(s): label for s, label in zip(elements(system.symbol(letter)), system.labels[letter])})
    return found


def system_latex(system: System) -> str:
    """0 = F, row by row, terms collected; that q' is the derivative of q stands in its name."""
    return aligned(system_rows(system, PAGE))


def system_rows(system: System, widest: float) -> list[str]:
    """The equations of a system as rows of an aligned block; repeated parts of long ones have names."""
    rows = elements(system.residual)
    own = [row for row, origin in zip(rows, system.rows) if origin.role is not Role.DERIVATIVE]
    return equations_latex(system, own, widest) if _is_short(own) else _rows_by_names(system, own, widest)


def _is_short(rows: Sequence[ca.SX]) -> bool:
    """Whether equations take no more than some pages."""
    return sum(operations(row) for row in rows) <= PAGES


def _rows_by_names(system: System, rows: Sequence[ca.SX], widest: float = PAGE) -> list[str]:
    """Long expressions that are zero, with names for the parts that they repeat."""
    scribe = _SystemNames(labels_of_system(system))
    shown, where = with_named_parts(scribe, [scribe.line(row, ca.SX(0)) for row in rows])
    rows_of_names = ["&\\text{where}", *lines_latex(where, widest)] if where else []
    return [*lines_latex(shown, widest), *rows_of_names]


class _SystemNames:
    """Gives names to parts of the equations of a system."""

    def __init__(self, labels: dict[int, str]) -> None:
        self.labels = labels
        self._kept: list[ca.SX] = []  # keys of symbols are valid while these live

    def name(self, symbol: ca.SX, label: str) -> None:
        """Give a symbol a name."""
        self._kept.append(symbol)
        self.labels[symbol_key(symbol)] = label

    def line(self, left: Side, right: Side, sign: str = "=") -> FormulaLine:
        """left = right."""
        return FormulaLine(left, right, self.labels, self, sign)


def equations_latex(
    system: System,
    rows: Sequence[ca.SX],
    widest: float = PAGE,
    notes: Sequence[str] = (),
    heading: Sequence[str] = (),
) -> list[str]:
    """Expressions that are zero, ready to be aligned; long ones are broken.

    notes: words behind each of them. heading: lines of words above them.
    """
    writer = SideWriter(labels_of_system(system), Latex())
    constants = [system.symbol("p")]
    short = [simplified(row, [system.symbol("xdot")], constants, constants) for row in rows]
    zeros = [f"0 \\quad {sentence_latex(note)}" for note in notes] or ["0"] * len(short)
    above = [FittedEquation(_whole(""), _whole(sentence_latex(line)), "") for line in heading]
    return fitted_rows(
        [*above, *(FittedEquation(writer.fitted(row), _whole(zero)) for row, zero in zip(short, zeros))], widest
    )


def _whole(text: str) -> FittedSide:
    """A side that is not broken."""
    return FittedSide(text, lambda _: [text])


def sentence_latex(text: str) -> str:
    """Words in a formula."""
    for letter in "\\{}$&#%_^~":
        text = text.replace(letter, f"\\{letter}" if letter in "{}$&#%_" else " ")
    return f"\\text{{{text}}}"


def report_latex(report: Any) -> str:
    """The verdict, then the constraints that were written and those that are hidden."""
    entries, notes = [], []
    for title, hidden in (("written", False), ("hidden", True)):
        found = [ca.densify(ca.vec(one.expression)) for one in report.constraints if one.hidden is hidden]
        own = [entry for expression in found for entry in elements(expression)]
        entries += own
        notes += [title] * len(own)
    heading = textwrap.wrap(report.verdict, LETTERS_OF_A_ROW)
    if _is_short(entries):
        return aligned(equations_latex(report.system, entries, notes=notes, heading=heading))
    count = notes.count("hidden")
    heading.append(f"{len(notes) - count} written constraints, then {count} hidden ones:")
    rows = [f"&{sentence_latex(line)}" for line in heading]
    return aligned([*rows, *_rows_by_names(report.system, entries)])


def _differentiated(times: int) -> str:
    """d/dt, d²/dt², …"""
    power = f"^{{{times}}}" if times > 1 else ""
    return f"\\frac{{\\mathrm{{d}}{power}}}{{\\mathrm{{d}} t{power}}}"


def reduction_latex(reduction: Any) -> str:
    """Which equation was differentiated how often, and what became of the unknowns."""
    rows = [f"\\nu &= {max(reduction.index, reduction.structural_index)}"]
    rows += [f"{sentence_latex(row.equation)} &: {_differentiated(row.times)}" for row in reduction.levels]
    rows += _listed("x", list(reduction.states))
    if reduction.algebraic:
        rows += _listed("z", list(reduction.algebraic))
    return aligned(rows)


def start_latex(start: Any) -> str:
    """A table of values and where they come from."""
    system = start.system
    rows = ["\\text{name} & \\text{value} & \\text{origin} \\\\ \\hline"]
    for letter in ("x", "z"):
        words = start.origin.of_entries(letter)
        for label, value, word in zip(system.labels[letter], start.vectors[letter], words):
            rows.append(f"{Latex().name(label)} & {number_latex(float(value))} & \\text{{{word}}} \\\\")
    return "\\begin{array}{rrl}\n" + "\n".join(rows) + "\n\\end{array}"
