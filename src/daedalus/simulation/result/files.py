"""Trajectories as xarray, pandas and NetCDF; a saved run holds its model, so that `dd.load` can do what the run could.

The file has the samples as NetCDF, readable by any tool that knows it, and behind its end all that a run consists of as
plain data under a checksum. Loading reads that record alone, and nothing in it is executed.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daedalus.errors import InputError
from daedalus.model.names import element_label
from daedalus.model.system.system import System
from daedalus.simulation.result.files_before_plain_data import is_of_before, load_trusted, not_trusted
from daedalus.simulation.result.run_record import cannot_be_rebuilt, described_run, rebuilt_run
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.sealed_record import append_record, not_a_run, read_record
from daedalus.simulation.result.trajectory import Trajectory

if TYPE_CHECKING:
    import pandas
    import xarray


def recorded_names(samples: Samples) -> list[str]:
    """What a table of a run holds: states, algebraic variables, inputs and outputs, not parameters and derivatives."""
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
    """The samples as a table, one column an element."""
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
        description, arrays = described_run(tr)
        to_dataset(tr).to_netcdf(partial, engine="h5netcdf")
        append_record(partial, description, arrays)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def load(path: str | Path, trusted: bool = False) -> Trajectory:
    """Read a trajectory that `tr.save` wrote; `at`, `plot` and `drift` work as before.

    Nothing in a file is executed: it holds names, numbers and formulas as plain data, checked against a closed list of
    operations and bound to a checksum. A file that was damaged or changed, or that never was a saved run, raises an
    InputError that says so.

    Parameters
    ----------
    path: the file.
    trusted: also read a file of a version before this format, whose model is held as CasADi's serialised functions.
        These can run code, so say so only of files whose origin you know; save the run again, and it is plain data.

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
    place = Path(path)
    try:
        found = read_record(place)
        if found is None:
            return _loaded_of_before(place, trusted)
        description, arrays = found
        systems = [System.from_record(record) for record in description.only(("systems", "pieces")).items("systems")]
        return rebuilt_run(description, arrays, systems)
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        # The parts fit each other, but the model they make is none that the package could have saved.
        raise cannot_be_rebuilt(error) from error


def _loaded_of_before(path: Path, trusted: bool) -> Trajectory:
    """A run of a version before plain data, if the user trusts it."""
    if not is_of_before(path):
        raise not_a_run(path, "it has no record of a run")
    if not trusted:
        raise not_trusted(path)
    warnings.warn(
        f"{path.name} holds CasADi's serialised functions, which can run code; they were read because trusted=True "
        "says that the file may. Save the run again: the new file is plain data.",
        stacklevel=3,
    )
    return load_trusted(path)
