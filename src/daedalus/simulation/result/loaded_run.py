"""A saved run read back: `dd.load` can do what the run could."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from daedalus.errors import InputError
from daedalus.model.signals import Signal
from daedalus.model.system.system import System
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.plants import plant_for_rows
from daedalus.simulation.result.ending import Stop
from daedalus.simulation.result.joined_trajectory import joined
from daedalus.simulation.result.recorded_run import Dense, Outcome, Work
from daedalus.simulation.result.records_as_data import from_data, read_fields
from daedalus.simulation.result.saved_run import FORMAT, GROUP, OF_PIECES, prefix_of
from daedalus.simulation.result.trajectory import Trajectory


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
        prefix = prefix_of(k)
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
    events = tuple((index, t, *arrays[f"event_{k}"]) for k, (index, t) in enumerate(description["events"]))
    stop, records = Stop(**read_fields(description["stop"])), tuple(map(from_data, description["records"]))
    outcome = Outcome(stop, description["method"], Work(**description["work"]), records, events)
    dense = Dense(*(np.ascontiguousarray(arrays[name]) for name in ("starts", "ends", "coefficients")))
    drive = Drive(arrays["constants"], tables)
    x = np.ascontiguousarray(arrays["x"])
    plant = plant_for_rows(system, x)
    return Trajectory(plant, drive, arrays["parameters"], times, x, stop.ending, outcome, dense)
