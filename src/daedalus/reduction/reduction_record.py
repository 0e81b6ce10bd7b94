"""The record of a reduction: what was differentiated, what became of the unknowns, and what else was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from daedalus.errors import InputError
from daedalus.model.names import counted, times_text
from daedalus.model.system.equation_row import EquationRow
from daedalus.model.system.system import System
from daedalus.reduction.findings import (
    DifferentiatedInput,
    Finding,
    HoldsForValues,
    LoweredIndex,
    in_line,
    level_texts,
)

_TREATMENTS = {
    "projection": "kept at zero by projection",
    "baumgarte": "damped towards zero (Baumgarte, alpha = {alpha:g})",
    "ggl": "written as equations (Gear, Gupta, Leimkuhler)",
    "dummy_derivatives": "equations in the place of the derivatives of dependent states",
    None: "zero at the start and free to drift",
}


@dataclass(frozen=True, eq=False)
class Reduction:
    """The result of index reduction, as `dd.reduce(m).reduction`. `print` shows what was done.

    original: the snapshot of the model before. structural_index: that of the model before, from its pattern. index:
    the same once equations were combined where the pattern misleads. levels:
    the equations that were differentiated, each with how often. inputs: how often each input was differentiated.
    states, algebraic: the unknowns of the reduced model. stabilise, alpha: as used. constraints: what solutions keep at
    zero, by name. degrees_of_freedom: how many start values may be chosen freely. findings: what else should be known.
    selected, dependent: with "dummy_derivatives", the states whose derivatives are integrated at the start and those
    that follow from the constraints there; a run changes the choice where another one is better. for_a_run: whether a
    run made it for itself, and tells of it.
    """

    original: System
    structural_index: int
    stabilise: str | None
    index: int = 0
    alpha: float | None = None
    levels: tuple[EquationRow, ...] = ()
    inputs: dict[str, int] = field(default_factory=dict)
    states: tuple[str, ...] = ()
    algebraic: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    degrees_of_freedom: int = 0
    findings: tuple[Finding, ...] = ()
    selected: tuple[str, ...] = ()
    dependent: tuple[str, ...] = ()
    for_a_run: bool = True

    @property
    def differentiated(self) -> dict[str, int]:
        """How often each equation was differentiated, by its name; those that were."""
        return {row.equation: row.times for row in self.levels}

    @property
    def written_starts(self) -> dict[str, float]:
        """All start values that were written for states of the model before, by name."""
        before = zip(self.original.labels["x"], self.original.start["x"].tolist())
        return {**self.original.written_starts, **{label: value for label, value in before if value == value}}

    @property
    def notes(self) -> tuple[str, ...]:
        """The findings as sentences."""
        return tuple(str(finding) for finding in self.findings)

    @property
    def told(self) -> tuple[Finding, ...]:
        """What a run tells of the reduction that it was made with."""
        inputs = [DifferentiatedInput(name, times) for name, times in self.inputs.items() if times]
        lowered = LoweredIndex(max(self.index, self.structural_index), self.levels)
        return (lowered, *inputs, *(finding for finding in self.findings if finding.told))

    @property
    def text(self) -> str:
        """The record in words."""
        name = self.original.name
        lines = [f"{name}: nothing to differentiate, the equations determine every highest derivative"]
        if self.stabilise == "ggl":
            lines = [f"{name}: no constraint has to be differentiated twice, the index is 2 at most"]
        if self.levels:
            lines = [f"{name}: structural index {self.structural_index} before the reduction"]
        lines += [f"  {text}" for text in level_texts(self.levels)]
        lines += [f"  input {name} differentiated {times_text(times)}" for name, times in self.inputs.items() if times]
        lines.append(f"  states: {in_line(self.states)}")
        if self.algebraic:
            lines.append(f"  algebraic: {in_line(self.algebraic)}")
        lines.append(f"  {counted(self.degrees_of_freedom, 'start value')} may be chosen freely")
        if self.original.invariants:
            lines[-1] += f", less what {in_line(list(self.original.invariants))} fixes"
        if self.constraints:
            lines.append(f"  {_TREATMENTS[self.stabilise].format(alpha=self.alpha)}: {in_line(self.constraints, '; ')}")
        if self.dependent:
            lines.append(f"  selected at the start: {in_line(self.selected)}; dependent: {in_line(self.dependent)}")
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    def to_latex(self) -> str:
        """What was differentiated how often, and the unknowns that are left, in LaTeX."""
        from daedalus.display.formulas.object_latex import reduction_latex

        return reduction_latex(self)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False)
class FormOf:
    """The reduction that the model behind another form of it came of: `dd.eliminate(dd.reduce(m))` is one of m too."""

    reduction: Reduction

    @property
    def written_starts(self) -> dict[str, float]:
        """All start values that were written for states of the model before that reduction, by name."""
        return self.reduction.written_starts


def reduction_behind(system: System) -> Reduction | None:
    """The last reduction that a system came of, also where it was written in another form afterwards."""
    own = system.part(Reduction)
    if own is not None:
        return own
    form = system.part(FormOf)
    return None if form is None else form.reduction


def check_held_values(system: System, given: Mapping[str, object]) -> None:
    """Refuse other values for parameters of a reduced model whose own values took derivatives out of its equations."""
    reduction = reduction_behind(system)
    held = [own for own in reduction.findings if isinstance(own, HoldsForValues)] if reduction else []
    for label, value in (pair for own in held for pair in own.values):
        position = list(system.labels["p"]).index(label)
        whole = next(v for v in system.of_kind("parameter") if position in system.place(v.name).positions)
        name, wanted = (
            whole.name,
            np.ravel(np.asarray(given.get(label, given.get(whole.name, value)), dtype=float), "F"),
        )
        if label not in given and 1 < whole.size == wanted.size:
            wanted = wanted[np.asarray(system.place(name).positions) == position]
        if np.any(wanted != value):
            raise InputError(
                f"The reduction of {system.name!r} holds for {label} = {value:g} alone.",
                f"another value is given for {label if label in given else name}",
                because="that value removes derivatives from the equations, and the reduced model lacks them.",
                remedy=f"dd.reduce of the model with the other value of {name}, or a run of the model itself",
            )
