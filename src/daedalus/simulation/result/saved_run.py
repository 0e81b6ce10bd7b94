"""A run in a file: what is kept of it, and how it is written.

The file has the samples in its root group, readable by any NetCDF tool, and all else in the group `daedalus`: arrays,
those of each piece of the run under a prefix of their own, and each system once. Nothing in it is executed on loading:
expressions are CasADi's serialised graphs, the rest is numbers and JSON.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.errors import InputError
from daedalus.simulation.result.labelled_samples import to_dataset
from daedalus.simulation.result.recorded_run import RecordedRun
from daedalus.simulation.result.records_as_data import as_data, fields_of

if TYPE_CHECKING:
    import xarray


# Of a run, and of one in pieces, which earlier versions do not know.
FORMAT, OF_PIECES = 3, 4
GROUP = "daedalus"


def save(tr: RecordedRun, pieces: Sequence[RecordedRun], path: Path) -> None:
    """Write a trajectory; an existing file is replaced only when the new one is complete."""
    if path.suffix not in (".nc", ".nc4", ".h5"):
        raise InputError("A run is saved as NetCDF.", f"got the file name {path.name!r}", remedy='tr.save("run.nc")')
    if not path.parent.exists():
        raise InputError("The folder does not exist.", str(path.parent), remedy="make it first")
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        to_dataset(tr).to_netcdf(partial, engine="h5netcdf")
        _all_internals(tr, pieces).to_netcdf(partial, engine="h5netcdf", mode="a", group=GROUP)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _all_internals(tr: RecordedRun, pieces: Sequence[RecordedRun]) -> xarray.Dataset:
    """All that a trajectory needs beside its samples, as arrays plus one JSON text."""
    import xarray

    if len(pieces) == 1:
        arrays, description = _internals(tr)
        description = {"format": FORMAT, "system": tr.system.to_record(), **description}
    else:
        # Pieces of one system share it, so that it is compiled once behind a load.
        systems = {id(piece.system): piece.system for piece in pieces}
        places = {key: k for k, key in enumerate(systems)}
        description = {"format": OF_PIECES, "systems": [system.to_record() for system in systems.values()]}
        arrays, description["pieces"] = {}, []
        for k, piece in enumerate(pieces):
            own, told = _internals(piece)
            own["times"] = (["sample"], piece.time)
            for name, (axes, values) in own.items():
                arrays[prefix_of(k) + name] = ([prefix_of(k) + axis for axis in axes], values)
            description["pieces"].append({**told, "system": places[id(piece.system)]})
    text = np.frombuffer(json.dumps(description).encode(), dtype=np.uint8)
    return xarray.Dataset({**arrays, "description": (["byte"], text)})


def prefix_of(piece: int) -> str:
    """What stands before the names of the arrays of a piece."""
    return f"piece_{piece}_"


def _internals(tr: RecordedRun) -> tuple[dict[str, Any], dict[str, Any]]:
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
        "method": tr.method,
        "work": vars(tr.work),
        "stop": fields_of(tr.stop),
        "records": [as_data(record) for record in tr.records],
        "events": [e[:2] for e in tr.outcome.events],
        "tables": [{"slots": slots, "kind": table.kind, "shape": table.shape} for table, slots in drive.tables],
    }
    return arrays, description
