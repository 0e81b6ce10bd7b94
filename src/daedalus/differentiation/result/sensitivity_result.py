"""The result of `dd.sensitivities`: derivatives at the end of the span and before it, by letter and by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.differentiation.result.differentiated_run import DifferentiatedRun
from daedalus.differentiation.result.identifiability import Ranking, correlation, fisher, rank
from daedalus.differentiation.result.sensitivity_samples import SensitivitySamples
from daedalus.differentiation.result.verification import Verification, verify

if TYPE_CHECKING:
    import xarray


class Sensitivities(DifferentiatedRun):
    """The result of `dd.sensitivities`: `sens.M` at the end, `sens.d("x", "L")` by name, `sens.at(t)` at any time.

    Attributes: `value`, `M`, `N`, `O`, `P`, `Q`, `by_parameters` at the end of the span; `how` ("variational" or
    "discrete"); `states`, the trajectory; `projector`, P of M = Dφ P; `metric`, the norm of P in words; `events`;
    `notes`, and the same as data in `records`; `labels` of the columns.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("oscillator")
    >>> x = m.state("x", start=1.0); v = m.state("v", start=0.0); k = m.parameter("k", 1.0)
    >>> m.equation(m.der(x), v); m.equation(m.der(v), -k * x)
    >>> sens = dd.sensitivities(m, 3.14159265358979, rtol=1e-10)
    >>> (abs(sens.M) * 1e6).round().tolist()
    [[1000000.0, 0.0], [0.0, 1000000.0]]
    >>> sens
    Sensitivities('oscillator': 2 states by 3 quantities, order 1, variational, t = 0 to 3.14159)
    """

    def to_xarray(self, times: object = None) -> xarray.Dataset:
        """Arrays over `time` with names on their axes: x, M, N and so on; at the steps unless times are given.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay")
        >>> x = m.state("x", start=1.0); k = m.parameter("k", 2.0)
        >>> m.equation(m.der(x), -k * x)
        >>> data = dd.sensitivities(m, 1.0, rtol=1e-9).to_xarray([0.0, 1.0])
        >>> data["by_parameters"].dims, round(float(data["by_parameters"].sel(x="x", p="k")[-1]), 6)
        (('time', 'x', 'p'), -0.135335)
        """
        times = np.unique(self._recorded.t) if times is None else np.atleast_1d(np.asarray(times, dtype=float))
        return to_dataset(self, self.at(times))

    def verify(self) -> Verification:
        """Check the derivatives by finite differences with shrinking increments, symmetry, and forward against adjoint
        mode.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay")
        >>> x = m.state("x", start=1.0); k = m.parameter("k", 2.0)
        >>> m.equation(m.der(x), -k * x)
        >>> dd.sensitivities(m, 1.0).verify().passed
        True
        """
        return verify(self)

    def rank(self, of: object = None) -> Ranking:
        """Rank parameters (and other varied values) by their influence on the solution.

        Parameters
        ----------
        of: names of states, algebraic variables or outputs; all states if None.

        The influence of θ is the root mean square over time of ∂y/∂θ, times the size of θ, divided by the size of y:
        the relative effect of changing θ by its own size, to first order.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("two rates")
        >>> x = m.state("x", start=1.0); a = m.parameter("a", 1.0); b = m.parameter("b", 0.01)
        >>> m.equation(m.der(x), -a * x + b)
        >>> dd.sensitivities(m, 1.0, wrt="parameters").rank().names
        ['a', 'b']
        """
        return rank(self, of)

    def fisher(self, outputs: str | Sequence[str], sigma: object = 1.0, times: object = None) -> xarray.DataArray:
        """The Fisher information of the parameters in measurements of outputs with standard deviation sigma.

        F = Σ over times and outputs of (∂y/∂p)ᵀ (∂y/∂p) / σ², (np, np), labelled.

        Parameters
        ----------
        outputs: names of what is measured. sigma: a number, or one per name (a mapping), in the units of the output.
        times: when it is measured; 101 equally spaced times of the run if None.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("line")
        >>> x = m.state("x", start=0.0); a = m.parameter("a", 1.0)
        >>> m.equation(m.der(x), a)
        >>> round(float(dd.sensitivities(m, 1.0).fisher("x", sigma=0.1, times=[1.0])[0, 0]), 6)
        100.0
        """
        return fisher(self, outputs, sigma, times)

    def correlation(self, outputs: str | Sequence[str], sigma: object = 1.0, times: object = None) -> xarray.DataArray:
        """How estimates of the parameters from such measurements correlate, (np, np): the scaled inverse of `fisher`.

        Raises a SolverError that names the parameters if the measurements cannot distinguish them.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("line")
        >>> x = m.state("x", start=0.0); a = m.parameter("a", 1.0); b = m.parameter("b", 1.0)
        >>> m.equation(m.der(x), a + b * m.time)
        >>> round(float(dd.sensitivities(m, 1.0).correlation("x")[0, 1]), 3)
        -0.968
        """
        return correlation(self, outputs, sigma, times)

    def plot(
        self, of: str | Sequence[str] | None = None, wrt: str | Sequence[str] | None = None, ax: Any = None
    ) -> Any:
        """Draw ∂y/∂θ over time, scaled by the size of θ, and y with the band of a change of θ by 10 %.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay")
        >>> x = m.state("x", start=1.0); k = m.parameter("k", 2.0)
        >>> m.equation(m.der(x), -k * x)
        >>> figure = dd.sensitivities(m, 1.0).plot("x", "k")
        """
        from daedalus.display.sensitivity_plot import plot_sensitivities

        return plot_sensitivities(self, of, wrt, ax)

    def _repr_html_(self) -> str:
        from daedalus.display.cards.result_cards import sensitivities_card

        return sensitivities_card(self)

    def __repr__(self) -> str:
        t0, t1 = self._recorded.t[0], self._recorded.t[-1]
        how = f"order {self.order}, {self.how}, t = {t0:g} to {t1:g}"
        return f"Sensitivities({self.system.name!r}: {self._size_text}, {how})"


# Sensitivities as xarray: every axis carries the names of what stands along it.

FIRST = {"M": "x", "N": "u", "by_parameters": "p"}
SECOND = {"O": ("x", "x"), "P": ("x", "u"), "Q": ("u", "u")}
AXES = {"x": ("start",), "u": ("u",), "p": ("p",)}


def to_dataset(sens: DifferentiatedRun, samples: SensitivitySamples) -> xarray.Dataset:
    """All arrays that the run has, over `time`."""
    import xarray

    system, d = sens.system, sens._directions
    varied = {letter for letter in ("x", "u", "p") if getattr(d, letter)}
    variables: dict[str, Any] = {"value": (["time", "x"], samples.value)}
    for name, letter in FIRST.items():
        if letter in varied:
            variables[name] = (["time", "x", *_axes(d.intervals, letter)], getattr(samples, name))
    for name, (one, other) in SECOND.items():
        if sens.order == 2 and {one, other} <= varied:
            second = [f"{axis}_2" if one == other else axis for axis in _axes(d.intervals, other)]
            axes = ["time", "x", *_axes(d.intervals, one), *second]
            variables[name] = (axes, getattr(samples, name))
    names = {
        "x": [system.labels["x"][k] for k in sens._own],
        "start": [system.labels["x"][k] for k in d.x if k in sens._own],
        "u": [system.labels["u"][k] for k in d.u],
        "p": [system.labels["p"][k] for k in d.p],
    }
    used = {axis for axes, _ in variables.values() for axis in axes}
    coordinates: dict[str, Any] = {"time": samples._times}
    for axis in used - {"time", "interval", "interval_2"}:
        coordinates[axis] = names[axis.removesuffix("_2")]
    attributes = {"title": system.name, "order": sens.order, "how": sens.how, "method": sens._case.settings.method}
    return xarray.Dataset(variables, coords=coordinates, attrs=attributes)


def _axes(intervals: int, letter: str) -> list[str]:
    return ["interval", "u"] if letter == "u" and intervals else list(AXES[letter])
