"""A saved plan read back: `at`, `inputs`, `replay`, `multipliers` and `plot` work as before. Nothing is executed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.model.lazy_values import cached_property
from daedalus.model.signals import KINDS, Signal
from daedalus.model.system.plain_record import PlainRecord, misfit
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
from daedalus.simulation.result.rebuilt_run import SavedArrays

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
                "The file does not contain the defects of this plan.",
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
    check_numbers(record, "begin", "duration")
    checked = PlanArrays(arrays)
    variables, parameters, rows = checked.program()
    description = _description(record, checked, system)
    stage = stage_of(description)
    layout = _layout(record, checked, (variables, parameters, rows), stage)
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
    plan = _PlanOfFile(system, transcription, outcome, checked.get("values", parameters), outcome.w, _not_again)
    plan.kept_defects = checked.get("defects", None, None) if "defects" in checked else None
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


def _description(record: PlainRecord, arrays: PlanArrays, system: System) -> Description:
    description = Description(
        system, system, stage_form(system), record.number("begin"), record.number("duration"),
        len(arrays.increasing("layout/shares")) - 1, ca.SX.sym("duration"),
    )  # fmt: skip
    description.kinds = {int(k): InputKind("linear") for k in record.integers("linear", below=system.sizes["u"])}
    for k, part in enumerate(record.parts("given")):
        positions = tuple(part.integers("positions", below=system.sizes["u"]).tolist())
        shape = tuple(part.integers("shape").tolist())
        kind, times, own = part.word("kind", KINDS), arrays.increasing(f"given_{k}/times"), None
        if kind == "spline":
            own = arrays.get(f"given_{k}/coefficients", len(times) - 1, None, len(positions))
        table = Signal(times, arrays.get(f"given_{k}/values", len(times), len(positions)), kind, shape, own)
        description.given_names.append((positions, table))
        description.given.update(dict.fromkeys(positions, table))
    description.parameters = np.nan_to_num(system.start["p"])
    integrals = record.integer("integrals", 0, 10_000)
    if integrals:
        # Only their number matters here: what was integrated is not needed any more.
        symbol = ca.SX.sym("integral", integrals)
        description.stand_ins.append(StandIn(symbol, "integral", ca.SX.zeros(integrals, 1)))
    return description


def _layout(record: PlainRecord, arrays: PlanArrays, sizes: tuple[int, int, int], stage: Any) -> ProgramLayout:
    variables, parameters, rows = sizes
    shares = arrays.increasing("layout/shares")
    intervals = len(shares) - 1
    if "degree" in record:
        degrees = np.full(intervals, record.integer("degree", 1, 101))
    else:
        degrees = record.integers("degrees", intervals, lowest=1, below=101)
    mesh = mesh_of(shares, record.word("points", ("radau", "legendre")), degrees)
    count, states, given = len(mesh.point_shares), stage.states.size, stage.parameters.numel()
    shapes: dict[str, tuple[int | None, ...]] = {
        "nodes": (intervals + 1, states), "points": (count, states), "unknowns": (count, stage.unknowns.size),
        "inputs": (intervals, stage.inputs.size), "length": (intervals + 1,), "parameters": (intervals + 1, given),
    }  # fmt: skip
    if "degree" in record:
        # Before every interval had a degree of its own: points stood in a table (intervals, degree, states).
        for name in ("points", "unknowns"):
            shapes[name] = (intervals, None, shapes[name][1])
    parts: dict[str, Any] = {}
    for name in OF_LAYOUT[1:]:
        parts[name] = arrays.places(f"layout/{name}", -parameters, variables, *shapes[name])
    for name in ("points", "unknowns"):
        parts[name] = parts[name].reshape(count, parts[name].shape[-1])
    layout = ProgramLayout(mesh, **parts)
    for k, part in enumerate(record.parts("groups")):
        names, own = tuple(part.texts("names")), arrays.get(f"group_{k}/shares", None)
        group = arrays.places(f"group_{k}/rows", 0, rows, len(own), len(names))
        layout.groups.append(RowGroup(part.text("kind"), names, group, own))
    return layout


def _program(arrays: Arrays) -> Program:
    own = {name: arrays[f"program/{name}"] for name in OF_PROGRAM}
    patterns = ("jacobian_row", "jacobian_column", "hessian_row", "hessian_column")
    empty = dict.fromkeys(patterns, np.zeros(0, dtype=int))
    return Program(core=None, **own, **empty)  # type: ignore[arg-type]


def _not_again(*_: object) -> NoReturn:
    raise InputError(
        "A plan loaded from a file does not contain its problem.",
        because="conditions and costs are not saved, only the result.",
        remedy="solve the problem again and use that plan",
    )


# The arrays of a saved plan, each checked against the others before anything is made of them.


class PlanArrays(SavedArrays):
    """Arrays by name, asked for with their shape and what their entries are."""

    def __init__(self, arrays: Mapping[str, np.ndarray], place: str = "plan") -> None:
        super().__init__(arrays, place)

    def places(self, name: str, lowest: int, below: int, *shape: int | None) -> np.ndarray:
        """An array of whole numbers of [lowest, below)."""
        values = self.get(name, *shape)
        with np.errstate(invalid="ignore"):
            whole = np.isfinite(values) & (values == np.round(values)) & (values >= lowest) & (values < below)
        if not np.all(whole):
            raise misfit(f"{self._place}.{name}", f"whole numbers of {lowest} to {below - 1}", float(values[~whole][0]))
        return values.astype(int)

    def increasing(self, name: str) -> np.ndarray:
        """At least two finite numbers, each larger than the one before."""
        values = self.get(name, None)
        if len(values) < 2 or not np.all(np.isfinite(values)) or np.any(np.diff(values) <= 0):
            raise misfit(f"{self._place}.{name}", "increasing numbers", values.tolist()[:4])
        return values

    def program(self) -> tuple[int, int, int]:
        """How many variables, parameters and rows the program has, all its arrays being of these sizes."""
        variables, rows = len(self.get("outcome/w", None)), len(self.get("program/row_lower", None))
        for name in ("program/lower", "program/upper", "outcome/bound_multipliers"):
            self.get(name, variables)
        for name in ("program/row_upper", "outcome/multipliers"):
            self.get(name, rows)
        return variables, len(self.get("program/parameters", None)), rows


def check_numbers(record: PlainRecord, *names: str) -> None:
    """Refuse entries that are no finite numbers."""
    for name in names:
        if not np.isfinite(record.number(name)):
            raise record.misfit(name, "a finite number", record.number(name))
