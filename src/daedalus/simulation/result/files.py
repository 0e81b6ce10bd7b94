"""Trajectories as xarray, pandas and NetCDF; a saved run holds its model, so that `dd.load` can do what the run could.

The file has the samples in its root group, readable by any NetCDF tool, and all else in the group `daedalus`: arrays,
those of each piece of the run under a prefix of their own, and each system once. Nothing in it is executed on loading:
expressions are CasADi's serialised graphs, the rest is numbers and JSON.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.errors import InputError
from daedalus.model.names import element_label
from daedalus.model.signals import Signal
from daedalus.model.system.system import System
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.plants import plant_for_rows
from daedalus.simulation.result.joined_trajectory import joined
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.trajectory import Dense, Outcome, Trajectory, Work

if TYPE_CHECKING:
    import pandas
    import xarray

# Of a run, and of one in pieces, which earlier versions do not know.
FORMAT, OF_PIECES = 1, 2
GROUP = "daedalus"


def recorded_names(samples: Samples) -> list[str]:
    """What a data frame holds: states, algebraic variables, inputs and outputs, not parameters and derivatives."""
    system, known = samples._plant.system, set(samples.keys())
    names = [v.name for v in system.variables if v.kind != "parameter"]
    rates = [n for n, place in system.places.items() if place.letter == "x" and n not in names]
    return [name for name in (*names, *rates, *samples._plant.output_slices) if name in known]


def unit_of(system: System, name: str) -> str:
    """The unit label of a name; that of a derivative gets /s."""
    units = {v.name: v.unit for v in system.variables}
    if name in units:
        return units[name]
    stem, order = (name.removesuffix("_dot"), 1) if name.endswith("_dot") else (name, 0)
    return f"{units[stem]}/s" if order and units.get(stem) else ""


def to_dataset(tr: Trajectory) -> xarray.Dataset:
    """The samples as labelled arrays."""
    import xarray

    variables = {}
    for name in recorded_names(tr):
        values = tr[name]
        axes = {2: [f"{name}_index"], 3: [f"{name}_row", f"{name}_column"]}.get(values.ndim, [])
        unit = unit_of(tr.system, name)
        variables[name] = (["time", *axes], values, {"units": unit} if unit else {})
    attributes = {
        "title": tr.system.name,
        "method": tr.method,
        "success": int(tr.success),
        "stop_reason": tr.stop_reason,
    }
    return xarray.Dataset(variables, coords={"time": ("time", tr.time)}, attrs=attributes)


def to_dataframe(tr: Trajectory) -> pandas.DataFrame:
    """The samples as a data frame, one column an element."""
    import pandas

    columns: dict[str, np.ndarray] = {}
    for name in recorded_names(tr):
        values = tr[name]
        shape = values.shape[1:]
        flat = values.reshape(len(values), -1) if len(shape) < 2 else values.transpose(0, 2, 1).reshape(len(values), -1)
        columns.update({element_label(name, shape, k): flat[:, k] for k in range(flat.shape[1])})
    return pandas.DataFrame(columns, index=pandas.Index(tr.time, name="time"))


def save(tr: Trajectory, path: Path) -> None:
    """Write a trajectory; an existing file is replaced only when the new one is complete."""
    if path.suffix not in (".nc", ".nc4", ".h5"):
        raise InputError("A run is saved as NetCDF.", f"got the file name {path.name!r}", remedy='tr.save("run.nc")')
    if not path.parent.exists():
        raise InputError("The folder does not exist.", str(path.parent), remedy="make it first")
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        to_dataset(tr).to_netcdf(partial, engine="h5netcdf")
        _all_internals(tr).to_netcdf(partial, engine="h5netcdf", mode="a", group=GROUP)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _all_internals(tr: Trajectory) -> xarray.Dataset:
    """All that a trajectory needs beside its samples, as arrays plus one JSON text."""
    import xarray

    if len(tr.pieces) == 1:
        arrays, description = _internals(tr)
        description = {"format": FORMAT, "system": tr.system.to_record(), **description}
    else:
        # Pieces of one system share it, so that it is compiled once behind a load.
        systems = {id(piece.system): piece.system for piece in tr.pieces}
        places = {key: k for k, key in enumerate(systems)}
        description = {"format": OF_PIECES, "systems": [system.to_record() for system in systems.values()]}
        arrays, description["pieces"] = {}, []
        for k, piece in enumerate(tr.pieces):
            own, told = _internals(piece)
            own["times"] = (["sample"], piece.time)
            for name, (axes, values) in own.items():
                arrays[_prefix(k) + name] = ([_prefix(k) + axis for axis in axes], values)
            description["pieces"].append({**told, "system": places[id(piece.system)]})
    text = np.frombuffer(json.dumps(description).encode(), dtype=np.uint8)
    return xarray.Dataset({**arrays, "description": (["byte"], text)})


def _prefix(piece: int) -> str:
    return f"piece_{piece}_"


def _internals(tr: Trajectory) -> tuple[dict[str, Any], dict[str, Any]]:
    """What belongs to one piece, without its system: arrays with their axes, and plain data."""
    dense = tr.dense
    drive = tr._drive.sampled(np.concatenate([dense.starts, dense.ends, tr.time]))
    arrays: dict[str, Any] = {
        "starts": (["piece"], dense.starts),
        "ends": (["piece"], dense.ends),
        "coefficients": (["piece", "power", "state"], dense.coefficients),
        "x": (["sample", "state"], tr._x),
        "parameters": (["parameter"], tr._parameters),
        "constants": (["input"], drive.constants),
    }
    for k, (table, _) in enumerate(drive.tables):
        arrays[f"table_{k}_times"] = ([f"table_{k}_time"], table.times)
        arrays[f"table_{k}_values"] = ([f"table_{k}_time", f"table_{k}_slot"], table.values)
    for k, (_, _, before, after) in enumerate(tr.outcome.events):
        arrays[f"event_{k}"] = (["side", "state"], np.stack([before, after]))
    description = {
        "status": tr.status,
        "outcome": {**vars(tr.outcome), "work": vars(tr.work), "events": [e[:2] for e in tr.outcome.events]},
        "tables": [{"slots": slots, "kind": table.kind, "shape": table.shape} for table, slots in drive.tables],
    }
    return arrays, description


def load(path: str | Path) -> Trajectory:
    """Read a trajectory that `tr.save` wrote; `at`, `plot` and `drift` work as before.

    Example
    -------
    >>> import daedalus as dd, tempfile, os
    >>> m = dd.Model("decay")
    >>> x = m.state("x", start=1.0)
    >>> m.equation(m.der(x), -x)
    >>> file = os.path.join(tempfile.mkdtemp(), "run.nc")
    >>> dd.simulate(m, 1.0).save(file)
    >>> dd.load(file).stop_reason
    'reached t = 1'
    """
    import xarray

    path = Path(path)
    if not path.exists():
        raise InputError("There is no such file.", str(path), remedy="the path of a file that tr.save wrote")
    try:
        with xarray.open_dataset(path, engine="h5netcdf", group=GROUP) as stored:
            arrays = {str(name): values.values for name, values in stored.load().variables.items()}
        description = json.loads(arrays["description"].tobytes().decode())
        with xarray.open_dataset(path, engine="h5netcdf") as root:
            times = root["time"].values.copy()
    except (OSError, KeyError, ValueError) as error:
        raise InputError(
            "The file is not a saved run.",
            f"{path.name}: {str(error).splitlines()[0] if str(error) else type(error).__name__}",
            remedy="a file that tr.save wrote; other NetCDF files open with xarray",
        ) from error
    if description["format"] == FORMAT:
        return _rebuild(arrays, description, System.from_record(description["system"]), times)
    if description["format"] != OF_PIECES:
        known = f"{FORMAT} and {OF_PIECES}"
        raise InputError(
            "The file was written by another version.", f"format {description['format']}, this version reads {known}"
        )
    systems = [System.from_record(record) for record in description["systems"]]
    pieces = []
    for k, told in enumerate(description["pieces"]):
        prefix = _prefix(k)
        own = {name.removeprefix(prefix): values for name, values in arrays.items() if name.startswith(prefix)}
        pieces.append(_rebuild(own, told, systems[told["system"]], own["times"]))
    return joined(pieces)


def _rebuild(
    arrays: Mapping[str, np.ndarray], description: dict[str, Any], system: System, times: np.ndarray
) -> Trajectory:
    tables = tuple(
        (
            Signal(arrays[f"table_{k}_times"], arrays[f"table_{k}_values"], table["kind"], tuple(table["shape"])),
            tuple(table["slots"]),
        )
        for k, table in enumerate(description["tables"])
    )
    stored = description["outcome"]
    events = tuple((index, t, *arrays[f"event_{k}"]) for k, (index, t) in enumerate(stored["events"]))
    outcome = Outcome(**{**stored, "work": Work(**stored["work"]), "notes": tuple(stored["notes"]), "events": events})
    dense = Dense(*(np.ascontiguousarray(arrays[name]) for name in ("starts", "ends", "coefficients")))
    drive = Drive(arrays["constants"], tables)
    x = np.ascontiguousarray(arrays["x"])
    plant = plant_for_rows(system, x)
    return Trajectory(plant, drive, arrays["parameters"], times, x, description["status"], outcome, dense)
