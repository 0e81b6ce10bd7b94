"""A plan in a file: its values as NetCDF for any tool, behind its end all that it consists of as plain data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES
from daedalus.model.signals import Signal
from daedalus.optimisation.transcription.inputs_at_points import given_values
from daedalus.simulation.result.labelled_samples import labelled_values
from daedalus.simulation.result.sealed_record import save_sealed

if TYPE_CHECKING:
    import xarray

KIND = "plan"
OF_PHASES = "plan in phases"
# What phases that were found together have in common, by the beginnings of the names of its arrays.
COMMON = ("program/", "outcome/", "values")
# Numbers of variables and values, each an array of the file.
OF_LAYOUT = ("shares", "nodes", "points", "unknowns", "inputs", "length", "parameters")
OF_PROGRAM = ("lower", "upper", "scale", "row_lower", "row_upper", "parameters")
OF_OUTCOME = ("w", "multipliers", "bound_multipliers")


def save_plan(plan: Any, path: Path) -> None:
    """Write a plan; an existing file is replaced only when the new one is complete."""
    save_sealed(path, "plan", 'plan.save("plan.nc")', lambda: _dataset(plan), lambda: _described(plan))


def save_phases(plan: Any, path: Path) -> None:
    """Write the plans of all phases to one file."""
    remedy = 'plan.save("plan.nc")'
    save_sealed(path, "plan", remedy, lambda: _dataset_of_phases(plan), lambda: _described_phases(plan))


def _dataset_of_phases(plan: Any) -> xarray.Dataset:
    """Every phase at its nodes; names, times among them, begin with the number of their phase."""
    import xarray

    parts = [_dataset(phase) for phase in plan.phases]
    named = [part.rename({name: f"phase_{k}_{name}" for name in (*part.variables, *part.sizes)})
             for k, part in enumerate(parts, start=1)]  # fmt: skip
    whole = xarray.merge(named, combine_attrs="drop")
    return whole.assign_attrs(title=", ".join(part.attrs["title"] for part in parts), objective=plan.objective,
                              status=plan.status)  # fmt: skip


def _described_phases(plan: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    parts = [_described(phase) for phase in plan.phases]
    # Of shooting each phase has points of its own behind the variables of all.
    first = parts[0][1]
    common = {name: values for name, values in first.items() if name.startswith(COMMON)
              and all(np.array_equal(own[name], values) for _, own in parts[1:])}  # fmt: skip
    arrays = dict(common)
    for k, (_, own) in enumerate(parts):
        arrays |= {f"phase_{k}/{name}": values for name, values in own.items() if name not in common}
    return {"kind": OF_PHASES, "phases": [record for record, _ in parts]}, arrays


def _dataset(plan: Any) -> xarray.Dataset:
    """The plan at its nodes, labelled."""
    import xarray

    system = plan.system
    names = [*(v.name for v in system.variables if v.kind != "parameter"), *system.output_names]
    variables = {name: labelled_values(system, name, plan[name]) for name in names}
    attributes = {"title": system.name, "objective": plan.objective, "status": plan.status}
    return xarray.Dataset(variables, coords={"time": ("time", plan.time)}, attrs=attributes)


def _described(plan: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    made, outcome = plan.transcription, plan.outcome
    layout, description = plan.interpolant.layout, made.description
    arrays = {f"layout/{name}": np.asarray(getattr(layout, name), dtype=float) for name in OF_LAYOUT}
    arrays |= {f"program/{name}": getattr(made.program, name) for name in OF_PROGRAM}
    arrays |= {f"outcome/{name}": getattr(outcome, name) for name in OF_OUTCOME}
    # Points that are no variables of the program stand behind them, and no bound presses on them.
    arrays["outcome/w"] = plan.interpolant.w
    arrays["outcome/bound_multipliers"] = _filled(outcome.bound_multipliers, len(plan.interpolant.w), 0.0)
    arrays["program/lower"] = _filled(made.program.lower, len(plan.interpolant.w), -np.inf)
    arrays["program/upper"] = _filled(made.program.upper, len(plan.interpolant.w), np.inf)
    arrays["values"] = np.asarray(plan._values)
    arrays["defects"] = np.stack(list(plan.defects.values())) if plan.defects else np.zeros((0, 0))
    for k, group in enumerate(layout.groups):
        arrays[f"group_{k}/rows"], arrays[f"group_{k}/shares"] = group.rows.astype(float), group.shares
    given = []
    for k, (positions, value) in enumerate(description.given_names):
        table = _table(plan, positions, value)
        arrays[f"given_{k}/times"], arrays[f"given_{k}/values"] = table.times, table.values
        if table.coefficients is not None:
            arrays[f"given_{k}/coefficients"] = table.coefficients
        given.append({"positions": list(positions), "kind": table.kind, "shape": list(table.shape)})
    record = {
        "kind": KIND,
        "system": description.system.to_record(),
        "begin": description.begin,
        "duration": plan.duration,
        "points": layout.mesh.family,
        "degrees": layout.mesh.degrees.tolist(),
        "linear": sorted(made.stage.linear),
        "integrals": made.stage.states.size - made.stage.model_states - len(made.stage.linear),
        "groups": [{"kind": group.kind, "names": list(group.names)} for group in layout.groups],
        "given": given,
        "notes": list(plan.notes),
        "solver": outcome.solver,
        "ending": plan.ending.name,
        "iterations": outcome.iterations,
        "objective": outcome.objective,
        "seconds": outcome.seconds,
    }
    return record, arrays


def _filled(values: np.ndarray, size: int, by: float) -> np.ndarray:
    return np.concatenate([values, np.full(size - len(values), by)])


def _table(plan: Any, positions: tuple[int, ...], value: object) -> Signal:
    """A given input as a table: as it is, or at all points of the plan."""
    if isinstance(value, Signal):
        return value
    layout, description = plan.transcription.layout, plan.transcription.description
    mesh, every = layout.mesh, np.arange(layout.intervals)

    def at(shares: np.ndarray) -> np.ndarray:
        return given_values(description, positions, description.begin + plan.duration * shares)

    # A jump takes as long as the two sides of its node are apart; smooth signals hardly change from one to the other.
    before = mesh.inside(every, mesh.shares[1:], description.rounding)[:-1]
    behind = mesh.inside(every, mesh.shares[:-1], description.rounding)[1:]
    jumps = (np.abs(at(behind) - at(before)) > KNOWN_BY_DIFFERENCES * np.ptp(at(mesh.shares), axis=0)).any(axis=1)
    points = mesh.inside(mesh.point_interval, mesh.point_shares, description.rounding)
    points = points[np.concatenate([scheme.tau for scheme in mesh.schemes]) < 1.0 - KNOWN_BY_DIFFERENCES]
    nodes = mesh.shares[np.concatenate([[True], ~jumps, [True]])]
    shares = np.unique(np.concatenate([nodes, before[jumps], behind[jumps], points]))
    times = description.begin + plan.duration * shares
    return Signal(times, at(shares), "linear", () if len(positions) == 1 else (len(positions),))
