"""What the objects of the package look like in LaTeX: tableaux, multistep formulas, linear systems, starts, reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from daedalus.derivations.formula.simplify import simplified
from daedalus.display.formulas.number_latex import number_latex, polynomial_latex
from daedalus.display.formulas.sides import SideWriter
from daedalus.display.formulas.styles import Latex
from daedalus.model.expressions import elements, symbol_key
from daedalus.model.names import derivative_name, split_derivative
from daedalus.model.system.equation_row import Role
from daedalus.model.system.system import System


def aligned(rows: Sequence[str]) -> str:
    """Rows with their marks below each other."""
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


# -- methods ---------------------------------------------------------------------------------------------------


def tableau_latex(entries: dict[str, Any], explicit: bool) -> str:
    """The Butcher array: nodes to the left of A, the weights below a line."""
    rows = []
    for i, (node, row) in enumerate(zip(entries["c"], entries["A"])):
        cells = ["" if explicit and j >= i else number_latex(value) for j, value in enumerate(row)]
        rows.append(" & ".join([number_latex(node), *cells]))
    feet = [
        " & ".join(["", *(number_latex(value) for value in entries[part])]) for part in ("b", "b_hat") if entries[part]
    ]
    count = len(entries["b"])
    body = " \\\\\n".join([*rows[:-1], f"{rows[-1]} \\\\ \\hline\n{feet[0]}", *feet[1:]])
    return f"\\begin{{array}}{{c|{'c' * count}}}\n{body}\n\\end{{array}}"


def stability_latex(numerator: Sequence[Any], denominator: Sequence[Any]) -> str:
    """R(z) as a polynomial or a fraction of two."""
    above, below = polynomial_latex(list(numerator)), polynomial_latex(list(denominator))
    return f"R(z) = {above}" if below == "1" else f"R(z) = \\frac{{{above}}}{{{below}}}"


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
    """x' = A x + B u, y = C x + D u with names and numbers; E before x' of a descriptor system."""
    x, u, y = (_column(names) for names in (system.states, system.inputs, system.outputs))
    rate = _column([_dotted(name) for name in system.states])
    left = f"{matrix_latex(system.E)} {rate}" if descriptor else rate
    first = f"{left} &= {matrix_latex(system.A)} {x}"
    second = f"{y} &= {matrix_latex(system.C)} {x}"
    if len(system.inputs):
        first += f" + {matrix_latex(system.B)} {u}"
        if np.any(np.asarray(system.D)):
            second += f" + {matrix_latex(system.D)} {u}"
    return aligned([first, second] if len(system.outputs) else [first])


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
    rows = elements(system.residual)
    own = [row for row, origin in zip(rows, system.rows) if origin.role is not Role.DERIVATIVE]
    return aligned(equations_latex(system, own))


def equations_latex(system: System, rows: Sequence[ca.SX]) -> list[str]:
    """Expressions that are zero, ready to be aligned."""
    writer = SideWriter(labels_of_system(system), Latex())
    constants = [system.symbol("p")]
    short = [simplified(row, [system.symbol("xdot")], constants, constants) for row in rows]
    return [f"{writer.side(row)} &= 0" for row in short]


def sentence_latex(text: str) -> str:
    """Words in a formula."""
    for letter in "\\{}$&#%_^~":
        text = text.replace(letter, f"\\{letter}" if letter in "{}$&#%_" else " ")
    return f"\\text{{{text}}}"


def report_latex(report: Any) -> str:
    """The verdict, then the constraints that were written and those that are hidden."""
    rows = [f"&{sentence_latex(report.verdict)}"]
    for title, found in (("written", report.written_constraints), ("hidden", report.hidden_constraints)):
        entries = [entry for _, expression in found for entry in elements(ca.densify(ca.vec(expression)))]
        rows += [f"{row} \\quad {sentence_latex(title)}" for row in equations_latex(report.system, entries)]
    return aligned(rows)


def reduction_latex(reduction: Any) -> str:
    """Which equation was differentiated how often, and what became of the unknowns."""
    name = Latex().name
    rows = [f"\\nu &= {max(reduction.index, reduction.structural_index)}"]
    rows += [
        f"{sentence_latex(row.equation)} &: \\frac{{\\mathrm{{d}}^{{{row.times}}}}}{{\\mathrm{{d}} t^{{{row.times}}}}}"
        for row in reduction.levels
    ]
    rows.append(f"x &= ({', '.join(name(label) for label in reduction.states)})")
    if reduction.algebraic:
        rows.append(f"z &= ({', '.join(name(label) for label in reduction.algebraic)})")
    return aligned(rows)


def start_latex(start: Any) -> str:
    """A table of values and where they come from."""
    system = start.system
    rows = ["\\text{name} & \\text{value} & \\text{origin} \\\\ \\hline"]
    for letter in ("x", "z"):
        words = start.origin._words.get(letter, ())
        for label, value, word in zip(system.labels[letter], start.vectors[letter], words):
            rows.append(f"{Latex().name(label)} & {number_latex(float(value))} & \\text{{{word}}} \\\\")
    return "\\begin{array}{rrl}\n" + "\n".join(rows) + "\n\\end{array}"


def problem_latex(description: Any, stand_ins: dict[int, str]) -> str:
    """A problem of optimal control as in a paper: what is minimised, over what, and subject to what."""
    system, style = description.system, Latex()
    labels = {**labels_of_system(system), symbol_key(description.length): "T", **stand_ins}
    writer = SideWriter(labels, style)
    chosen = [label for k, label in enumerate(system.labels["u"]) if k not in description.given]
    free = [system.labels["p"][k] for k in description.free]
    unknowns = [*chosen, *free, *([] if isinstance(description.duration, (int, float)) else ["T"])]
    end = "T" if "T" in unknowns else number_latex(float(description.duration))
    begin = number_latex(float(description.begin))
    costs = []
    running = description.running + description.integrated
    if not running.is_zero():
        costs.append(f"\\int_{{{begin}}}^{{{end}}} {writer.side(running)} \\, \\mathrm{{d}} t")
    if not description.final.is_zero():
        costs.append(f"\\left. {writer.side(description.final)} \\right|_{{t = {end}}}")
    names = ", ".join(style.name(label) for label in unknowns)
    rows = [f"\\min_{{{names}}} \\quad & {' + '.join(costs) or '0'}"]
    body = [f"{left} = {right}" for left, right in (row.split(" &= ") for row in _model_rows(system))]
    body += [f"{writer.side(fixed.expression)} = {number_latex(float(fixed.value))}, \\quad t = {begin}"
             for fixed in description.starts or []]  # fmt: skip
    body += [f"{writer.side(fixed.expression)} = {number_latex(float(fixed.value))}, \\quad t = {end}"
             for fixed in description.ends]  # fmt: skip
    for key, (low, high) in description.bounds.items():
        body.append(_between(low, style.name(labels.get(key, "?")), high))
    for condition in description.conditions:
        where = {"all": "", "nodes": "", "start": f", \\quad t = {begin}", "end": f", \\quad t = {end}"}
        place = where.get(condition.at, f", \\quad t = {condition.at}")
        for k, entry in enumerate(elements(ca.densify(ca.vec(condition.expression)))):
            low, high = (float(np.ravel(side)[k]) for side in (condition.lower, condition.upper))
            body.append(_between(low, writer.side(entry), high) + place)
    body += [f"{style.name(system.labels['x'][k])}({begin}) = {style.name(system.labels['x'][k])}({end})"
             for k in description.periodic]  # fmt: skip
    first = "\\text{s.t.} \\quad"
    rows += [f"{'' if k else first} & {line}" for k, line in enumerate(body)]
    return aligned(rows)


def _model_rows(system: System) -> list[str]:
    return system_latex(system).removeprefix("\\begin{aligned}\n").removesuffix("\n\\end{aligned}").split(" \\\\\n")


def _between(low: float, text: str, high: float) -> str:
    """low ≤ text ≤ high, without sides that are infinite."""
    if low == high:
        return f"{text} = {number_latex(float(low))}"
    left = f"{number_latex(float(low))} \\leq " if np.isfinite(low) else ""
    right = f" \\leq {number_latex(float(high))}" if np.isfinite(high) else ""
    return f"{left}{text}{right}"
