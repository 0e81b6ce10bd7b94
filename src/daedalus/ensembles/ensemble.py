"""The result of a sweep: labelled arrays over the swept names and time, and how every case ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.ensembles.columns import derivative_name
from daedalus.ensembles.further_names import is_on_request, name_behind
from daedalus.ensembles.gpu.device_array import DeviceArray
from daedalus.ensembles.gpu.results_there import ResultsThere
from daedalus.ensembles.saved_ensemble import save_dataset
from daedalus.errors import InputError
from daedalus.model.lazy_values import cached_property
from daedalus.model.names import did_you_mean

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes


class Ensemble:
    """The result of `dd.sweep`: `en["x"]` over the swept names and time. A failed case is NaN with its stop reason.

    `data` is the whole xarray Dataset; `stop_reason` and `success` have one entry per case.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay"); x = m.state("x", start=1.0); k = m.parameter("k", 1.0); m.equation(m.der(x), -k * x)
    >>> en = dd.sweep(m, 1.0, over={"k": [1.0, 2.0]}, save_at=[0.0, 1.0])
    >>> en["x"].sel(k=2.0).values.round(4).tolist()
    [1.0, 0.1353]
    """

    def __init__(self, data: xarray.Dataset | Callable[[], xarray.Dataset], there: ResultsThere | None = None) -> None:
        self._made, self._there = data, there

    @cached_property
    def data(self) -> xarray.Dataset:
        """The whole result as a Dataset; values on a GPU are copied when you first read them."""
        return self._made() if callable(self._made) else self._made

    def device(self, name: str) -> DeviceArray:
        """A state in GPU memory, for a sweep with `on="gpu", keep="there"`, with the dimensions of `en[name]`.

        CuPy, JAX and PyTorch read it without a copy (`__cuda_array_interface__`, DLPack), and the next sweep takes it
        as values: `over={"x": en.device("x")[:, -1]}` continues from the ends. Derivatives of `wrt=` are `"x by k"`.
        """
        if self._there is None:
            raise InputError(
                "The results of this sweep are not on a GPU.", remedy='dd.sweep(..., on="gpu", keep="there")'
            )
        return self._there.array(name)

    def __getitem__(self, name: str) -> xarray.DataArray:
        own = name if name in self.data else name_behind(self.data.attrs, name)
        if own not in self.data:
            names = [str(n) for n in self.data.data_vars]
            stem = name.removesuffix("_ddot").removesuffix("_dot")
            if stem != name and name_behind(self.data.attrs, stem) in self.data:
                raise InputError(
                    f"The sweep has not kept {name}.",
                    because="derivatives are only kept if you ask for them.",
                    remedy=f'dd.sweep(..., outputs=["{name}", ...])',
                )
            if is_on_request(self.data.attrs, name):
                raise InputError(
                    f"The sweep has not kept {name}.",
                    because="charges, fluxes, momenta and inner unknowns of parts are only kept if you ask for them.",
                    remedy=f'dd.sweep(..., outputs=["{name}", ...])',
                )
            raise InputError(f"The sweep has no variable {name!r}.", remedy=did_you_mean(name, names, listed=False))
        return self.data[own]

    def __contains__(self, name: object) -> bool:
        """Whether `en[name]` is there."""
        return isinstance(name, str) and (name in self.data or name_behind(self.data.attrs, name) in self.data)

    def d(self, name: str, by: str) -> xarray.DataArray:
        """The derivative of a result by a parameter, start value or input of `wrt=`, for every case.

        By all elements of a vector it has their dimension, `"q_by"` of `"q"`, last.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay"); x = m.state("x", start=1.0); k = m.parameter("k", 1.0); m.equation(m.der(x), -k * x)
        >>> en = dd.sweep(m, 1.0, over={"k": [1.0, 2.0]}, save_at="end", wrt=["k"], rtol=1e-9)
        >>> en.d("x", "k").values.round(6).ravel().tolist()     # -t exp(-k t)
        [-0.367879, -0.135335]
        """
        whole = derivative_name(name, by)
        parts = [n for n in self.data.data_vars if str(n).startswith(f"{whole}[")]
        if whole in self.data or not parts:
            return self[whole]
        import xarray

        return xarray.concat([self.data[n] for n in parts], f"{by}_by").transpose(..., f"{by}_by").rename(whole)

    @property
    def success(self) -> xarray.DataArray:
        """Whether each case reached its end."""
        return self._of_cases("success")

    @property
    def stop_reason(self) -> xarray.DataArray:
        """How each case ended, in a sentence."""
        return self._of_cases("stop_reason")

    def _of_cases(self, name: str) -> xarray.DataArray:
        if self.is_summary:
            raise InputError(
                f"A summary keeps no {name} of every case.",
                f"{int(self.data['cases'])} cases went in, {len(self.failed)} were left out",
                remedy="en.failed, or a sweep without summary=",
            )
        return self.data[name]

    @property
    def notes(self) -> tuple[str, ...]:
        """Where and how the cases ran, as sentences.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay"); x = m.state("x", start=1.0); k = m.parameter("k", 1.0); m.equation(m.der(x), -k * x)
        >>> dd.sweep(m, 1.0, over={"k": [1.0, 2.0]}).notes
        ('2 cases one by one: fewer than a kernel for many is worth',)
        """
        return tuple(str(self.data.attrs.get("notes", "")).splitlines())

    @property
    def is_summary(self) -> bool:
        """Whether it holds statistics over the cases instead of the cases."""
        return "summary" in self.data.dims

    @property
    def failed(self) -> list[tuple[dict[str, float], str]]:
        """The failed cases: their values and the reason."""
        return self._left_out() if self.is_summary else self._without_success()

    def _left_out(self) -> list[tuple[dict[str, float], str]]:
        """The cases that went into no statistic."""
        prefix, reasons = "failed_", self.data["failed_reason"].values
        names = [str(n).removeprefix(prefix) for n in self.data.data_vars if str(n).startswith(prefix)]
        swept = [n for n in names if n not in ("case", "reason")]
        columns = {n: self.data[prefix + n].values for n in swept}
        return [({n: float(columns[n][k]) for n in swept}, str(reason)) for k, reason in enumerate(reasons)]

    def _without_success(self) -> list[tuple[dict[str, float], str]]:
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
        """Write the result to a NetCDF file: `dd.load` reads it back, and `xarray.open_dataset` opens it.

        Example
        -------
        >>> import daedalus as dd, tempfile, os
        >>> m = dd.Model("decay"); x = m.state("x", start=1.0); k = m.parameter("k", 1.0); m.equation(m.der(x), -k * x)
        >>> file = os.path.join(tempfile.mkdtemp(), "sweep.nc")
        >>> dd.sweep(m, 1.0, over={"k": [1.0, 2.0]}).save(file)
        >>> dd.load(file)
        Ensemble(2 k: 2 of 2 cases reached the end)
        """
        save_dataset(self.data, Path(path))

    def plot(self, name: str | Sequence[str] | None = None, ax: Axes | None = None, bands: bool | None = None) -> Any:
        """Draw variables over time, one panel each: one line per case, or percentile bands if there are many cases.

        The colour shows the first swept value, and the line style the second.

        Parameters
        ----------
        name: a scalar, an element such as "x[0]", or a list of them; by default up to six that were kept.
        bands: True for the median with 5–95 % and 25–75 % bands, False for lines; by default it depends on the number
            of cases.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay"); x = m.state("x", start=1.0); k = m.parameter("k", 1.0); m.equation(m.der(x), -k * x)
        >>> figure = dd.sweep(m, 1.0, over={"k": [1.0, 2.0]}).plot("x")
        """
        from daedalus.display.ensemble_plot import plot_ensemble

        return plot_ensemble(self, name, ax, bands)

    def __array__(self, *_: object, **__: object) -> Any:
        raise InputError(
            "An ensemble is not an array.",
            because="it holds many variables, each of its own shape.",
            remedy='en["x"] for one variable',
        )

    def _repr_html_(self) -> str:
        from daedalus.display.cards.result_cards import ensemble_card

        return ensemble_card(self)

    def _ipython_key_completions_(self) -> list[str]:
        return [str(name) for name in self.data.data_vars]

    def __repr__(self) -> str:
        if self._there is not None and "data" not in self.__dict__:
            return f"Ensemble({self._there.count} cases on {self._there.where})"
        if self.is_summary:
            labels = ", ".join(str(label) for label in self.data["summary"].values)
            return f"Ensemble({labels} over {int(self.data['cases'])} cases; {len(self.failed)} left out)"
        sizes = " × ".join(f"{n} {d}" for d, n in zip(self.success.dims, self.success.shape))
        if self.success.chunks is not None:
            return f"Ensemble({sizes}: run on a cluster when somebody asks)"
        cases, good = self.success.size, int(self.success.sum())
        return f"Ensemble({sizes}: {good} of {cases} cases reached the end)"
