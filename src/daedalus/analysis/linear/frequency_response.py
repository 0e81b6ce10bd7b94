"""The transfer function along the imaginary axis, by name of output and input."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.analysis.linear.axis_names import Names, Selection, positions
from daedalus.errors import InputError
from daedalus.model.names import counted

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class FrequencyResponse:
    """The result of `lin.frequency_response()`: G(iω) as `f["y", "u"]`, `f.magnitude`, `f.phase` and `f.plot()`.

    Attributes
    ----------
    frequency: (nw,), radians per unit of time.
    values: (nw, ny, nu), complex.
    inputs, outputs: names.

    Example
    -------
    >>> import daedalus as dd
    >>> f = dd.LTI([[-1.0]], [[1.0]]).frequency_response([0.1, 1.0, 10.0])
    >>> f.magnitude[1, 0, 0].round(4).item(), np.degrees(f.phase[1, 0, 0]).round(4).item()
    (0.7071, -45.0)
    """

    frequency: np.ndarray
    values: np.ndarray
    inputs: Names
    outputs: Names

    def __post_init__(self) -> None:
        self.frequency.setflags(write=False)
        self.values.setflags(write=False)

    @property
    def magnitude(self) -> np.ndarray:
        """|G(iω)|, (nw, ny, nu)."""
        return np.abs(self.values)

    @property
    def phase(self) -> np.ndarray:
        """arg G(iω) in radians, continuous over the frequencies, (nw, ny, nu)."""
        return np.unwrap(np.angle(self.values), axis=0)

    def __getitem__(self, pair: str | tuple[str, str]) -> np.ndarray:
        """G(iω) from an input to an output, (nw,): `f["y", "u"]`, or `f["y"]` when there is one input."""
        output, source = (pair, None) if isinstance(pair, str) else pair
        if source is None and len(self.inputs) != 1:
            raise InputError(
                f"Which input drives {output!r}?",
                f"the inputs are {', '.join(self.inputs)}",
                remedy=f"response[{output!r}, {self.inputs[0]!r}]" if self.inputs else "a system with an input",
            )
        rows = positions(self.outputs, output, "output")
        columns = positions(self.inputs, source, "input")
        values = self.values[:, rows][:, :, columns]
        return values[:, 0, 0] if values.shape[1:] == (1, 1) else values

    def select(self, inputs: Selection = None, outputs: Selection = None) -> FrequencyResponse:
        """The same with the chosen inputs and outputs only.

        Example
        -------
        >>> import daedalus as dd
        >>> f = dd.LTI([[0, 1], [-1, -1]], [0, 1], states=["x", "v"]).frequency_response([1.0])
        >>> f.select(outputs="v").values.shape
        (1, 1, 1)
        """
        rows, columns = positions(self.outputs, outputs, "output"), positions(self.inputs, inputs, "input")
        return replace(
            self,
            values=self.values[:, rows][:, :, columns],
            inputs=tuple(self.inputs[k] for k in columns),
            outputs=tuple(self.outputs[k] for k in rows),
        )

    def to_xarray(self) -> xarray.DataArray:
        """The values as an xarray DataArray over frequency, output and input.

        Example
        -------
        >>> import daedalus as dd
        >>> dd.LTI([[-1.0]], [[1.0]]).frequency_response([1.0]).to_xarray().dims
        ('frequency', 'output', 'input')
        """
        import xarray

        coords = {"frequency": self.frequency, "output": list(self.outputs), "input": list(self.inputs)}
        return xarray.DataArray(self.values, coords, ("frequency", "output", "input"), name="transfer")

    def plot(self, ax: tuple[Axes, Axes] | None = None) -> Any:
        """Draw magnitude and phase over frequency (a Bode diagram); `ax` is a pair of axes.

        Example
        -------
        >>> import daedalus as dd
        >>> figure = dd.LTI([[-1.0]], [[1.0]]).frequency_response().plot()
        """
        from daedalus.display.response_plot import plot_frequency_response

        return plot_frequency_response(self, ax)

    def __repr__(self) -> str:
        sizes = ((self.outputs, "output"), (self.inputs, "input"))
        names = ", ".join(counted(len(names), kind) for names, kind in sizes)
        return f"FrequencyResponse({len(self.frequency)} frequencies, {names})"


def check_frequencies(frequencies: object) -> np.ndarray:
    """Frequencies as given, (nw,), refused when one is not a number."""
    values = np.atleast_1d(np.array(frequencies, dtype=float))
    if values.ndim != 1 or not np.all(np.isfinite(values)):
        raise InputError(
            "Frequencies are a list of finite numbers.", f"got {frequencies!r}"[:120], remedy="np.logspace(-2, 2)"
        )
    return values


def spread_frequencies(poles: np.ndarray, count: int = 200) -> np.ndarray:
    """Frequencies from a decade below the slowest pole to a decade above the fastest one."""
    sizes = np.abs(poles)
    sizes = sizes[sizes > 1e-9 * sizes.max(initial=0.0)]
    low, high = (sizes.min(), sizes.max()) if len(sizes) else (1.0, 1.0)
    return np.logspace(np.log10(low) - 1, np.log10(high) + 1, count)
