"""A problem of optimal control as in a paper: what is minimised, over what, and subject to what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from daedalus.display.formulas.fitted_rows import PAGE, filled_rows
from daedalus.display.formulas.latex_width import latex_width
from daedalus.display.formulas.number_latex import number_latex
from daedalus.display.formulas.object_latex import aligned, labels_of_system, system_rows
from daedalus.display.formulas.sides import SideWriter
from daedalus.display.formulas.styles import Latex
from daedalus.model.expressions import elements, symbol_key
from daedalus.model.names import split_index


def problem_latex(description: Any, stand_ins: dict[int, str]) -> str:
    """min over inputs and free parameters of the cost, subject to equations, fixed values and bounds."""
    return _ProblemWriter(description, stand_ins).rows()


class _ProblemWriter:
    """Writes one problem; every row fits the page beside min and s.t."""

    def __init__(self, description: Any, stand_ins: dict[int, str]) -> None:
        system = description.system
        self.of, self.style = description, Latex()
        self.labels = {**labels_of_system(system), symbol_key(description.length): "T", **stand_ins}
        self.writer = SideWriter(self.labels, self.style)
        chosen = [label for k, label in enumerate(system.labels["u"]) if k not in description.given]
        free = [system.labels["p"][k] for k in description.free]
        unknowns = [*_stems(chosen, system.labels["u"]), *_stems(free, system.labels["p"])]
        unknowns += [] if isinstance(description.duration, (int, float)) else ["T"]
        self.end = "T" if "T" in unknowns else number_latex(float(description.duration))
        self.begin = number_latex(float(description.begin))
        self.least = f"\\min_{{{', '.join(self.style.name(label) for label in unknowns)}}} \\quad"
        self.subject = "\\text{s.t.} \\quad"
        self.room = PAGE - max(map(latex_width, (self.least, self.subject)))

    def rows(self) -> str:
        """The aligned block."""
        found: list[str] = []
        for word, block in ((self.least, filled_rows(self._cost(), self.room)), (self.subject, self._conditions())):
            found += [f"{'' if k else word} {row}" for k, row in enumerate(block)]
        return aligned(found)

    def _terms(self, expression: ca.SX) -> list[str]:
        return self.writer.fitted(expression).pieces(self.room)

    def _cost(self) -> list[str]:
        """The pieces of what is minimised: an integral and a value at the end."""
        costs: list[str] = []
        running, final = self.of.running + self.of.integrated, self.of.final
        if not running.is_zero():
            own = self._terms(running)
            costs += [f"\\int_{{{self.begin}}}^{{{self.end}}} {own[0]}", *own[1:], "\\, \\mathrm{d} t"]
        if not final.is_zero():
            own = self._terms(final)
            sign = "+ " if costs else ""
            if len(own) == 1:
                costs.append(f"{sign}\\left. {own[0]} \\right|_{{t = {self.end}}}")
            else:
                costs += [f"{sign}\\bigl( {own[0]}", *own[1:], f"\\bigr) \\big|_{{t = {self.end}}}"]
        return costs or ["0"]

    def _conditions(self) -> list[str]:
        """Rows of everything that must hold."""
        system, name = self.of.system, self.style.name
        at = {"start": f", \\quad t = {self.begin}", "end": f", \\quad t = {self.end}"}
        body = [f"&{row.replace('&', '', 1)}" for row in system_rows(system, self.room)]
        for place, fixed_values in (("start", self.of.starts or []), ("end", self.of.ends)):
            for fixed in fixed_values:
                value = f"= {number_latex(float(fixed.value))}{at[place]}"
                body += filled_rows([*self._terms(fixed.expression), value], self.room)
        for key, (low, high) in self.of.bounds.items():
            body += filled_rows(_between(low, [name(self.labels.get(key, "?"))], high), self.room)
        for condition in self.of.conditions:
            behind = {"all": "", "nodes": "", **at}.get(condition.at, f", \\quad t = {condition.at}")
            for k, entry in enumerate(elements(ca.densify(ca.vec(condition.expression)))):
                low, high = (float(np.ravel(side)[k]) for side in (condition.lower, condition.upper))
                *before, last = _between(low, self._terms(entry), high)
                body += filled_rows([*before, last + behind], self.room)
        periodic = [name(system.labels["x"][k]) for k in self.of.periodic]
        return [*body, *(f"&{own}({self.begin}) = {own}({self.end})" for own in periodic)]


def _stems(chosen: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Names of what is chosen; a vector of which every entry is chosen has one name."""
    found: dict[str, None] = {}
    for label in chosen:
        stem = split_index(label)[0]
        whole = all(other in chosen for other in labels if split_index(other)[0] == stem)
        found[stem if whole else label] = None
    return list(found)


def _between(low: float, pieces: list[str], high: float) -> list[str]:
    """low ≤ a text in pieces ≤ high, without sides that are infinite."""
    if low == high:
        return [*pieces, f"= {number_latex(float(low))}"]
    left = f"{number_latex(float(low))} \\leq " if np.isfinite(low) else ""
    right = [f"\\leq {number_latex(float(high))}"] if np.isfinite(high) else []
    return [left + pieces[0], *pieces[1:], *right]
