"""What `dd.analyse` found out about a system, in numbers, names and words."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import casadi as ca

from daedalus.algebra.rank_decision import CLEAR_GAP, RankDecision
from daedalus.analysis.answers import answers
from daedalus.analysis.points.operating_point import OperatingPoint
from daedalus.analysis.stated_constraint import StatedConstraint
from daedalus.analysis.structure.block_form import Block
from daedalus.analysis.structure.joined_index import JoinedIndex
from daedalus.analysis.structure.signature import Signature
from daedalus.model.lazy_values import cached_property
from daedalus.model.names import counted, listed
from daedalus.model.system.packed_expressions import apart, packed, together, unpacked
from daedalus.model.system.system import System

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# print(report) is one screen of this width and height: lists are cut after so many entries, those of constraints where
# the screen is full.
SHOWN, WIDTH, HEIGHT = 6, 80, 40
# A constraint is printed whole where it fits so many rows; a longer one is cut to one row, with the count of its terms.
ROWS, INDENT = 4, 8


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Report:
    """The result of `dd.analyse`: what a system is at a point. `print` shows it in words.

    Attributes
    ----------
    kind: "explicit ODE", "implicit ODE", "semi-explicit DAE" or "fully implicit DAE".
    is_linear: linear in x', x, z and u. is_dae: dF/dx' is rank deficient at the point.
    index: the differential index at the point, 0 for an ODE, None if the equations do not determine all derivatives.
        For a model of components, the index of the equations that remain after connecting them.
    joined, joined_index: for a model of components, the index of all equations before elimination, including ports and
        currents, with the names of what is differentiated and what was eliminated. For other models None, and equal to
        `index`.
    structural_index: the index of the signature method, from the sparsity pattern; None for a singular pattern.
    directly_solvable: [dF/dx' dF/dz] has full rank, so that x' and z follow from the equations as written.
    solvable: x' and z follow from the equations and their derivatives. Multipliers of redundant constraints, and
        algebraic unknowns that do not influence the motion, are exempt: a run uses those of least norm. `dd.simulate`
        and `dd.initialise` accept solvable models.
    degrees_of_freedom: the number of start values that you can choose freely.
    differential, algebraic: names of the unknowns whose derivative occurs in the equations, and of the others.
    hidden_constraints: (text, expression) of constraints that follow from the equations by differentiation, in full.
    written_constraints: (text, expression) of the written equations that restrict start values, in full.
    undetermined: unknowns that nothing determines. overdetermined: equations that cannot all hold.
    redundant: equations that repeat each other. non_unique_multipliers: algebraic unknowns that these leave
        undetermined, although the motion and the total constraint force are unique.
    invariants: names of the declared invariants.
    warnings: where the kind of the system changes, and what is special about the point. notes: assumptions.
    point: values of all variables where ranks were computed. moved: given values that contradict the equations.
    tolerance, gap, ranks: how ranks were decided. signature, blocks, block_indices: the structure, block by block.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("tank and valve")
    >>> h = m.state("h", start=1.0); q = m.algebraic("q")
    >>> m.equation(m.der(h), -q); m.equation(q, 0.5 * h)
    >>> r = dd.analyse(m)
    >>> r.kind, r.index, r.degrees_of_freedom, r.algebraic
    ('semi-explicit DAE', 1, 1, ['q'])
    """

    system: System
    kind: str
    is_linear: bool
    is_dae: bool
    index: int | None
    structural_index: int | None
    directly_solvable: bool
    solvable: bool
    degrees_of_freedom: int
    differential: list[str]
    algebraic: list[str]
    constraints: tuple[StatedConstraint, ...] = ()
    undetermined: list[str]
    overdetermined: list[str]
    redundant: list[str] = field(default_factory=list)
    non_unique_multipliers: list[str] = field(default_factory=list)
    invariants: list[str]
    warnings: list[str]
    notes: list[str]
    point: OperatingPoint
    moved: list[str] = field(default_factory=list)
    signature: Signature
    blocks: list[Block]
    block_indices: list[int | None] = field(default_factory=list)
    tolerance: float
    ranks: tuple[RankDecision, ...] = ()
    joined: JoinedIndex | None = None

    def __getstate__(self) -> dict[str, Any]:
        expressions: list[ca.SX] = []
        constraints = apart(tuple(own.plain() for own in self.constraints), expressions)
        state = {own.name: getattr(self, own.name) for own in fields(self)}
        return {**state, "constraints": (constraints, packed(self.system, expressions))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        constraints, expressions = state["constraints"]
        vars(self).update(state, constraints=together(constraints, unpacked(state["system"], expressions)))

    @cached_property
    def hidden_constraints(self) -> list[tuple[str, ca.SX]]:
        """Constraints that follow from the equations, as text and expression."""
        return [(own.text, own.expression) for own in self.constraints if own.hidden]

    @cached_property
    def written_constraints(self) -> list[tuple[str, ca.SX]]:
        """Written equations that restrict start values, as text and expression."""
        return [(own.text, own.expression) for own in self.constraints if not own.hidden]

    @property
    def gap(self) -> float:
        """The narrowest ratio of kept to dropped singular values over all rank decisions."""
        return min((rank.gap for rank in self.ranks), default=float("inf"))

    @property
    def joined_index(self) -> int | None:
        """The index of the connected equations of components, before elimination."""
        return self.index if self.joined is None else self.joined.index

    @property
    def verdict(self) -> str:
        """The verdict in one sentence."""
        linear = "linear" if self.is_linear else "nonlinear"
        if self.overdetermined:
            return f"{linear} {self.kind} whose equations contradict each other"
        if self.undetermined:
            return f"{linear} {self.kind} that does not determine {listed(self.undetermined)}"
        if self.non_unique_multipliers:
            return f"{linear} {self.kind} with redundant constraints: the motion is unique, single multipliers are not"
        if self.index is None:
            return f"{linear} {self.kind}, singular at this point"
        if self.redundant:
            return f"{linear} {self.kind} with redundant equations"
        return f"{linear} {self.kind}" + (f" of index {self.index}" if self.is_dae else "")

    @property
    def answers(self) -> dict[str, str]:
        """Is it "well-posed", which "index", which "start" is consistent, how is the "solution" found: why, in words.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("tank"); h = m.state("h", start=1.0); q = m.algebraic("q")
        >>> m.equation(m.der(h), -q); m.equation(q, 0.5 * h)
        >>> dd.analyse(m).answers["start"]
        '1 start value may be chosen freely; a consistent start obeys 1 written constraint'
        """
        return answers(self)

    def plot(self, ax: Axes | None = None) -> Figure:
        """Draw which equation contains which unknown, in block-triangular order; `ax` are axes to draw into."""
        from daedalus.display.incidence_plot import incidence_plot

        return incidence_plot(self, ax)

    def _repr_html_(self) -> str:
        from daedalus.display.cards.result_cards import report_card

        return report_card(self)

    def to_latex(self) -> str:
        """The verdict and all constraints in LaTeX."""
        from daedalus.display.formulas.object_latex import report_latex

        return report_latex(self)

    def __str__(self) -> str:
        above = [f"{self.system.name}: {self.verdict}", *self._counts()]
        above += _section("cannot all hold", self.overdetermined)
        above += _section("determined by nothing", self.undetermined)
        above += _section("say the same, to be dropped until the others are independent", self.redundant)
        above += _section("not unique one by one", self.non_unique_multipliers)
        below = _section("invariants", self.invariants)
        below += _section("warnings", self.warnings)
        below += _section("notes", self.notes)
        if self.ranks:
            doubt = "; the closest decision is in doubt" if self.gap < CLEAR_GAP else ""
            below.append(
                f"  ranks: {counted(len(self.ranks), 'decision')}, tolerance {self.tolerance:.0e}, gap {self.gap:.1e}"
                f"{doubt}"
            )
        rows = [part for line in above for part in _wrapped(line)]
        end = [part for line in below for part in _wrapped(line)]
        return "\n".join([*rows, *self._constraint_rows(HEIGHT - len(rows) - len(end)), *end])

    def _constraint_rows(self, room: int) -> list[str]:
        """The written and the hidden constraints in as many rows: one of each in turn while they fit, or the first."""
        kinds = {
            "constraints written": [own for own in self.constraints if not own.hidden],
            "hidden constraints": [own for own in self.constraints if own.hidden],
        }
        # A title and the count of those left out take a row each.
        room -= sum(1 + (len(entries) > 1) for entries in kinds.values() if entries)
        shown: dict[str, list[list[str]]] = {title: [] for title in kinds}
        for title, entry in _in_turn(kinds):
            rows = _wrapped(f"    {_constraint_line(entry)}")
            room -= len(rows)
            if room < 0 and shown[title]:
                break
            shown[title].append(rows)
        lines = list[str]()
        for title, entries in kinds.items():
            if entries:
                lines += [f"  {title}:", *(row for rows in shown[title] for row in rows)]
                left = len(entries) - len(shown[title])
                lines += [f"    … and {left} more"] if left else []
        return lines

    def _counts(self) -> list[str]:
        told = self.answers
        equations, unknowns = len(self.system.equation_labels), len(self.differential) + len(self.algebraic)
        lines = [f"  {counted(equations, 'equation')}, {counted(unknowns, 'unknown')}"]
        lines += [f"  {question}: {told[question]}" for question in ("well-posed", "index")]
        lines.append(f"  differential: {listed(self._whole_names(self.differential)) or 'none'}")
        lines.append(f"  algebraic: {listed(self._whole_names(self.algebraic)) or 'none'}")
        lines += [f"  {question}: {told[question]}" for question in ("start", "solution")]
        structural = "singular" if self.structural_index is None else f"index {self.structural_index}"
        largest = max((len(b.unknowns) for b in self.blocks), default=0)
        lines.append(f"  structure: {structural}, {counted(len(self.blocks), 'block')}, the largest with {largest}")
        if self.joined is not None:
            left = self._whole_names([*self.differential, *self.algebraic])
            lines.append(f"  {self.joined.sentence(self.index, left)}")
        return lines

    def _whole_names(self, labels: list[str]) -> list[str]:
        """The same with `q` for all elements of q."""
        names, of_element = dict.fromkeys(labels), dict[str, str]()
        for name, place in self.system.places.items():
            own = [place.element(k).name for k in range(len(place.positions))] if place.shape else []
            if own and all(label in names for label in own):
                of_element |= dict.fromkeys(own, name)
        return list(dict.fromkeys(of_element.get(label, label) for label in names))

    def __repr__(self) -> str:
        return f"Report({self.system.name!r}: {self.verdict})"


def _section(title: str, entries: Sequence[str]) -> list[str]:
    if not entries:
        return []
    more = [f"    … and {len(entries) - SHOWN} more"] if len(entries) > SHOWN else []
    return [f"  {title}:", *(f"    {entry}" for entry in entries[:SHOWN]), *more]


def _in_turn(kinds: dict[str, list[StatedConstraint]]) -> list[tuple[str, StatedConstraint]]:
    """The first constraints of every kind, one of each in turn."""
    return [(title, entries[k]) for k in range(SHOWN) for title, entries in kinds.items() if k < len(entries)]


def _constraint_line(entry: StatedConstraint) -> str:
    whole = entry.line(ROWS * (WIDTH - INDENT))
    return entry.line(WIDTH - 4) if "…" in whole else whole


def _wrapped(line: str) -> list[str]:
    """A line of the report in lines of its width, later ones indented further."""
    text = line.lstrip(" ")
    start = line[: len(line) - len(text)]
    # A count stays with its noun: a space that does not break stands between them meanwhile.
    lines = textwrap.wrap(
        re.sub(r"… \((\d+) (terms?)\)", "…\u00a0(\\1\u00a0\\2)", text),
        WIDTH,
        initial_indent=start,
        subsequent_indent=start + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\u00a0", " ") for line in lines]
