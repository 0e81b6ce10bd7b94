"""Runs whose results are larger than memory: computed part by part, each written to a file and let go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from daedalus.errors import InputError
from daedalus.model.model import Model, as_system
from daedalus.model.system.system import System
from daedalus.simulation.result.outcome import Work
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.run.request import read_save_at, read_saved_names, read_span
from daedalus.simulation.simulate import simulate

# Of a step a run keeps about so many rows: a polynomial, its ends, and what is read of them.
ROWS_A_STEP = 12
# A part is at most so much longer than the one before.
GROWTH = 4.0
# Parts are no shorter than this fraction of the span: each begins with small steps, which take memory as well.
MOST_PARTS = 100


@dataclass(frozen=True)
class StreamedRun:
    """The result of `dd.stream`: the path of the file, how the run ended, and the values at its end.

    end: the values at the end, from which `dd.simulate(..., start=run.end)` continues. parts: the number of parts.

    Example
    -------
    >>> import daedalus as dd, tempfile
    >>> m = dd.Model("decay"); x = m.state("x", start=1.0)
    >>> m.equation(m.der(x), -x)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = dd.stream(m, 1.0, folder + "/decay.nc", [0.5, 1.0])
    >>> run.rows, run.success, round(float(run.end["x"]), 5)
    (2, True, 0.36788)
    """

    path: Path
    success: bool
    stop_reason: str
    rows: int
    parts: int
    work: Work
    end: Samples

    def open(self) -> Any:
        """Open the file as an xarray Dataset, which reads values from disk on demand."""
        import xarray

        return xarray.open_dataset(self.path, engine="h5netcdf")


def stream(
    model: Model | System,
    span: float | tuple[float, float],
    path: str | PathLike[str],
    save_at: Sequence[float] | np.ndarray,
    variables: Sequence[str] | None = None,
    memory: float = 2e8,
    **options: Any,
) -> StreamedRun:
    """Simulate a model and write chosen variables to a NetCDF file on the way, for results that memory cannot hold.

    The run is computed part by part. Each part starts where the previous one ended, and only one is in memory: about
    `memory` bytes, however long the run is. Multistep methods begin each part with small steps.

    Parameters
    ----------
    span, options: as in `dd.simulate`; start, inputs, parameters, method, rtol, ... are taken.
    path: the file; one that exists is replaced.
    save_at: the times of the rows, in the order of the run.
    variables: the names to keep, outputs and derivatives too; all states and algebraic variables by default.
    memory: bytes that a part may take beside the model itself; each part is at least a hundredth of the span.

    Example
    -------
    >>> import daedalus as dd, numpy as np, tempfile
    >>> m = dd.Model("rod")
    >>> u = m.state("u", 50, start=np.sin(np.pi * (np.arange(50) + 0.5) / 50)); m.output("mean", (u[0] + u[49]) / 2)
    >>> m.equation(m.der(u), dd.laplacian(u, 1 / 50, ("dirichlet", 0.0)))
    >>> folder = tempfile.TemporaryDirectory()
    >>> run = dd.stream(m, 0.1, folder.name + "/rod.nc", np.linspace(0, 0.1, 11), ["u"], method="bdf")
    >>> with run.open() as data:
    ...     print(data["u"].shape, run.success)
    (11, 50) True
    >>> folder.cleanup()
    """
    t0, t1 = read_span(span)
    times = read_save_at(save_at, t0, t1)
    system = as_system(model)
    if times is None or not len(times):
        raise InputError("A file needs times.", "save_at is empty", remedy="save_at=np.linspace(t0, t1, 101)")
    if not isinstance(memory, (int, float)) or not memory > 0:
        raise InputError("memory must be a positive number of bytes.", f"got {memory!r}"[:80], remedy="memory=2e8")
    if "save" in options:
        raise InputError("dd.stream takes no save.", remedy='variables=["u"], which chooses what the file keeps')
    for name in ("progress", "on_stop", "seed"):
        if name in options:
            raise InputError(f"dd.stream takes no {name}.", remedy="the other options of dd.simulate")
    names = _names(system, variables)
    begin, now, reach, left = options.pop("start", None), t0, abs(t1 - t0), times
    reach = min(reach, abs(float(times[0]) - t0) or abs(float(times[min(1, len(times) - 1)]) - t0) or reach)
    width, parts, rows, work, limit = sum(system.sizes[k] for k in ("x", "xdot", "z")), 0, 0, Work(), 0.0
    with _File(Path(path)) as file:
        while True:
            end = t1 if reach >= abs(t1 - now) else now + float(np.copysign(reach, t1 - now))
            inside = left[np.abs(left - t0) <= abs(end - t0)]
            moments = np.unique(np.append(inside, end))
            moments = moments if t1 >= t0 else moments[::-1]
            tr = simulate(model, (now, end), start=begin, save_at=moments, **options)
            parts, work, before = parts + 1, work + tr.work if parts else tr.work, now
            now, begin = float(tr.time[-1]) if len(tr.time) else now, tr.end
            kept = np.isin(tr.time, inside)
            if kept.any():
                file.add(tr.time[kept], {name: np.asarray(tr[name])[kept] for name in names})
            rows, left = rows + int(kept.sum()), left[len(inside) :]
            if not tr.success or now == t1 or now != end:
                return StreamedRun(Path(path), tr.success, tr.stop_reason, rows, parts, work, begin)
            used = 8.0 * width * (ROWS_A_STEP * max(tr.work.steps, 1) + len(moments))
            limit = abs(now - before) * min(GROWTH, memory / used)
            reach = max(limit, abs(t1 - t0) / MOST_PARTS)


def _names(system: System, variables: Sequence[str] | None) -> list[str]:
    """The names to keep; unknown ones are refused before anything runs."""
    if variables is None:
        return [v.name for v in system.variables if v.kind in ("state", "algebraic")]
    return read_saved_names(system, variables, "variables")


class _File:
    """A NetCDF file with an endless time."""

    def __init__(self, path: Path) -> None:
        self.path, self.rows = path, 0

    def __enter__(self) -> _File:
        import h5netcdf

        self.file = h5netcdf.File(self.path, "w")
        self.file.dimensions["time"] = None
        self.file.create_variable("time", ("time",), float)
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def add(self, times: np.ndarray, values: dict[str, np.ndarray]) -> None:
        for name, value in values.items():
            if name not in self.file.variables:
                axes = [f"{name}_{k}" for k in range(value.ndim - 1)]
                self.file.dimensions.update(dict(zip(axes, value.shape[1:])))
                self.file.create_variable(name, ("time", *axes), float)
        self.file.resize_dimension("time", self.rows + len(times))
        self.file.variables["time"][self.rows :] = times
        for name, value in values.items():
            self.file.variables[name][self.rows :] = value
        self.rows += len(times)
        self.file.flush()
