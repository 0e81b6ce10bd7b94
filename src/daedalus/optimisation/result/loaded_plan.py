"""A saved plan read back: `at`, `inputs`, `replay`, `multipliers` and `plot` work as before. Nothing is executed."""

from __future__ import annotations

from typing import Any, NoReturn

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.model.lazy_values import cached_property
from daedalus.model.signals import KINDS, Signal
from daedalus.model.system.plain_record import PlainRecord
from daedalus.model.system.system import System
from daedalus.optimisation.description.description import Description, InputKind, StandIn
from daedalus.optimisation.program.program import Program
from daedalus.optimisation.program.program_outcome import ProgramEnding, ProgramOutcome
from daedalus.optimisation.result.explanation import Explanation
from daedalus.optimisation.result.phased_plan import PhasedPlan
from daedalus.optimisation.result.plan import Plan
from daedalus.optimisation.result.saved_plan import COMMON, OF_LAYOUT, OF_PROGRAM
from daedalus.optimisation.stage_form import stage_form
from daedalus.optimisation.transcription.collocated import Transcription
from daedalus.optimisation.transcription.mesh import mesh_of
from daedalus.optimisation.transcription.problem_stage import stage_of
from daedalus.optimisation.transcription.program_layout import ProgramLayout, RowGroup

ENTRIES = (
    "kind", "system", "begin", "duration", "points", "degree", "degrees", "linear", "integrals", "groups", "given",
    "notes", "solver", "ending", "iterations", "objective", "seconds",
)  # fmt: skip

Arrays = dict[str, np.ndarray]


class _PlanOfFile(Plan):
    """A plan whose problem is not known any more."""

    kept_defects: np.ndarray | None = None

    @cached_property
    def defects(self) -> dict[str, np.ndarray]:
        """As they were saved."""
        if self.kept_defects is None:
            raise InputError(
                "The file holds no defects of this plan.",
                because="it was written by a version that did not keep them.",
                remedy="plan.mesh_error, or solve the problem again",
            )
        return dict(zip(self.system.labels["x"], self.kept_defects))

    def explain(self) -> Explanation:
        """Which bounds hold a solution; what is wrong with a failure is found with its problem alone."""
        return super().explain() if self.success else _not_again()


def plan_of(record: PlainRecord, arrays: Arrays) -> Plan:
    """The plan that a record describes."""
    record.only(ENTRIES)
    system = System.from_record(record.entry("system"))
    description = _description(record, arrays, system)
    stage = stage_of(description)
    layout = _layout(record, arrays)
    outcome = ProgramOutcome(
        record.text("solver"),
        ProgramEnding[record.word("ending", [ending.name for ending in ProgramEnding])],
        record.integer("iterations", 0, 2**31),
        arrays["outcome/w"],
        record.number("objective"),
        arrays["outcome/multipliers"],
        arrays["outcome/bound_multipliers"],
        record.number("seconds"),
    )
    transcription = Transcription(stage, layout, _program(arrays), None, record.texts("notes"))  # type: ignore[arg-type]
    plan = _PlanOfFile(system, transcription, outcome, arrays["values"], outcome.w, _not_again)
    plan.kept_defects = arrays.get("defects")
    plan.interpolant.vectors(layout.shares[:1])
    return plan


def phases_of(record: PlainRecord, arrays: Arrays) -> PhasedPlan:
    """The plan in phases that a record describes."""
    record.only(("kind", "phases"))
    common = {name: values for name, values in arrays.items() if name.startswith(COMMON)}
    plans = []
    for k, part in enumerate(record.parts("phases")):
        prefix = f"phase_{k}/"
        own = {name[len(prefix) :]: values for name, values in arrays.items() if name.startswith(prefix)}
        plans.append(plan_of(part, {**common, **own}))
    return PhasedPlan(plans)


def _description(record: PlainRecord, arrays: Arrays, system: System) -> Description:
    description = Description(
        system, system, stage_form(system), record.number("begin"), record.number("duration"),
        len(arrays["layout/shares"]) - 1, ca.SX.sym("duration"),
    )  # fmt: skip
    description.kinds = {int(k): InputKind("linear") for k in record.integers("linear", below=system.sizes["u"])}
    for k, part in enumerate(record.parts("given")):
        positions = tuple(part.integers("positions", below=system.sizes["u"]).tolist())
        shape = tuple(part.integers("shape").tolist())
        kind, own = part.word("kind", KINDS), arrays.get(f"given_{k}/coefficients")
        table = Signal(arrays[f"given_{k}/times"], arrays[f"given_{k}/values"], kind, shape, own)
        description.given_names.append((positions, table))
        description.given.update(dict.fromkeys(positions, table))
    description.parameters = np.nan_to_num(system.start["p"])
    integrals = record.integer("integrals", 0, 10_000)
    if integrals:
        # Only their number matters here: what was integrated is not needed any more.
        symbol = ca.SX.sym("integral", integrals)
        description.stand_ins.append(StandIn(symbol, "integral", ca.SX.zeros(integrals, 1)))
    return description


def _layout(record: PlainRecord, arrays: Arrays) -> ProgramLayout:
    parts: dict[str, Any] = {name: arrays[f"layout/{name}"].astype(int) for name in OF_LAYOUT[1:]}
    if "degree" in record:
        # Before every interval had a degree of its own: points stood in a table (intervals, degree, states).
        degrees = np.full(len(arrays["layout/shares"]) - 1, record.integer("degree", 1, 101))
        for name in ("points", "unknowns"):
            parts[name] = parts[name].reshape(-1, parts[name].shape[-1])
    else:
        degrees = record.integers("degrees", below=101)
    layout = ProgramLayout(
        mesh_of(arrays["layout/shares"], record.word("points", ("radau", "legendre")), degrees), **parts
    )
    for k, part in enumerate(record.parts("groups")):
        names = tuple(part.texts("names"))
        rows = arrays[f"group_{k}/rows"].astype(int)
        layout.groups.append(RowGroup(part.text("kind"), names, rows, arrays[f"group_{k}/shares"]))
    return layout


def _program(arrays: Arrays) -> Program:
    own = {name: arrays[f"program/{name}"] for name in OF_PROGRAM}
    patterns = ("jacobian_row", "jacobian_column", "hessian_row", "hessian_column")
    empty = dict.fromkeys(patterns, np.zeros(0, dtype=int))
    return Program(core=None, **own, **empty)  # type: ignore[arg-type]


def _not_again(*_: object) -> NoReturn:
    raise InputError(
        "A plan from a file holds no problem.",
        because="conditions and costs are not saved, only what came of them.",
        remedy="solve the problem again, and ask that plan",
    )
