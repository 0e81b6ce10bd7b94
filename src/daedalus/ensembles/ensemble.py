"""The result of a sweep: labelled arrays over the swept names and time, and how every case ended."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.errors import InputError
from daedalus.model.names import did_you_mean

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes


class Ensemble:
    """What `dd.sweep` returns: `en["x"]` over the swept names and time; a failed case is NaN with its stop reason.

    `data` is the whole xarray Dataset; `stop_reason` and `success` have one entry a case.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay")
    >>> x = m.state("x", start=1.0); k = m.parameter("k", 1.0)
    >>> m.equation(m.der(x), -k * x)
    >>> en = dd.sweep(m, 1.0, over={"k": [1.0, 2.0]}, save_at=[0.0, 1.0])
    >>> en["x"].sel(k=2.0).values.round(4).tolist()
    [1.0, 0.1353]
    """

    def __init__(self, data: xarray.Dataset) -> None:
        self.data = data

    def __getitem__(self, name: str) -> xarray.DataArray:
        if name not in self.data:
            names = [str(n) for n in self.data.data_vars]
            raise InputError(f"The sweep has no variable {name!r}.", remedy=did_you_mean(name, names))
        return self.data[name]

    @property
    def success(self) -> xarray.DataArray:
        """Whether each case reached its end."""
        return self.data["success"]

    @property
    def stop_reason(self) -> xarray.DataArray:
        """How each case ended, in a sentence."""
        return self.data["stop_reason"]

    @property
    def failed(self) -> list[tuple[dict[str, float], str]]:
        """The cases that failed: their values and why."""
        names = [str(d) for d in self.success.dims]
        found = []
        for index in np.argwhere(~self.success.values):
            position = dict(zip(names, index))
            case = self.success[position]
            values = {str(n): c.item() for n, c in case.coords.items() if c.ndim == 0}
            found.append((values, str(self.stop_reason[position].item())))
        return found

    def to_xarray(self) -> xarray.Dataset:
        """The whole result as a Dataset."""
        return self.data

    def save(self, path: str | Path) -> None:
        """Write the result to a NetCDF file, readable with `xarray.open_dataset`."""
        self.data.to_netcdf(path, engine="h5netcdf")

    def plot(self, name: str | None = None, ax: Axes | None = None) -> Any:
        """Draw one variable over time, a line a case.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay")
        >>> x = m.state("x", start=1.0); k = m.parameter("k", 1.0)
        >>> m.equation(m.der(x), -k * x)
        >>> figure = dd.sweep(m, 1.0, over={"k": [1.0, 2.0]}).plot("x")
        """
        from daedalus.display.ensemble_plot import plot_ensemble

        return plot_ensemble(self, name, ax)

    def __repr__(self) -> str:
        cases, good = self.success.size, int(self.success.sum())
        sizes = " × ".join(f"{n} {d}" for d, n in zip(self.success.dims, self.success.shape))
        return f"Ensemble({sizes}: {good} of {cases} cases reached the end)"
