"""The result of `dd.sensitivities`: derivatives at the end of the span and before it, by letter and by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.differentiation.parts import goes_on
from daedalus.differentiation.result.sensitivity_samples import SensitivitySamples
from daedalus.differentiation.variational.recorded import Part, Recorded, joined_record
from daedalus.differentiation.variational.tangent_start import TangentStart
from daedalus.errors import InputError
from daedalus.model.system.system import System
from daedalus.simulation.result.joined_trajectory import joined
from daedalus.simulation.result.trajectory import Dense, Outcome, Trajectory

if TYPE_CHECKING:
    import xarray

    from daedalus.differentiation.result.identifiability import Ranking
    from daedalus.differentiation.result.verification import Verification


@dataclass(frozen=True, eq=False)
class EventSensitivity:
    """An event on the way: its name and time, and how the time moves, by name of what is varied."""

    name: str
    time: float
    time_derivative: dict[str, float]


class Sensitivities(SensitivitySamples):
    """What `dd.sensitivities` returns: `sens.M` at the end, `sens.d("x", "L")` by name, `sens.at(t)` before the end.

    Attributes: `value`, `M`, `N`, `O`, `P`, `Q`, `by_parameters` at the end of the span; `how` ("variational" or
    "discrete"); `states`, the trajectory; `projector`, P of M = Dφ P; `metric`, the norm of P in words; `events`;
    `notes`; `labels` of the columns.

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

    def __init__(
        self,
        parts: Sequence[Part],
        start: TangentStart,
        how: str,
        notes: Sequence[str] = (),
    ) -> None:
        recorded, last = joined_record(parts), parts[-1]
        end, case = np.array([recorded.t[-1]]), last.case
        super().__init__(case, last.augmented, end, recorded.y[-1:], True, parts)
        self._recorded, self._start = recorded, start
        self.how = how
        self.notes = (case.settings.reason, *case.drive.notes, *parts[0].case.plant.notes, *notes)

    @property
    def system(self) -> System:
        """The system that was run."""
        return self._case.system

    @property
    def labels(self) -> list[str]:
        """The names of what was varied, one a column: start values, inputs, parameters."""
        return self._directions.labels(self.system)

    @property
    def projector(self) -> np.ndarray:
        """P, (n, n): the part of a change of the start that lies along the constraints; the identity without them."""
        return self._start.projector.copy()

    @property
    def metric(self) -> str:
        """In which norm P is the shortest way: "mass matrix", "nominal values", or "no constraints"."""
        return self._start.metric

    @property
    def steps(self) -> np.ndarray:
        """The times of the steps."""
        return self._recorded.t.copy()

    @cached_property
    def states(self) -> Trajectory:
        """The solution itself, as `dd.simulate` would return it."""
        return joined([self._trajectory(part) for part in self._parts])

    def _trajectory(self, part: Part) -> Trajectory:
        case, recorded, width = part.case, part.recorded, part.augmented.layout.width
        events = tuple((e.guard, e.time, e.before[:width], e.after[:width]) for e in recorded.events)
        end = f"{'reached' if recorded.status == 'finished' else 'an event ended the run at'} t = {recorded.t[-1]:.6g}"
        outcome = Outcome(end, case.settings.method, recorded.work, self.notes, events)
        rows, source = np.ascontiguousarray(recorded.y[:, :width]), _Lazy(recorded, width)
        return Trajectory(case.plant, case.drive, case.p, recorded.t, rows, recorded.status, outcome, source)

    @cached_property
    def events(self) -> list[EventSensitivity]:
        """The events in order of time, with the derivative of each time."""
        found = []
        for part in self._parts:
            for event in part.recorded.events:
                if goes_on(part.case, event.guard):
                    continue
                row = part.augmented.event_moves(part.case, event.guard, event.time, event.before)
                moves = dict(zip(self.labels, row.tolist()))
                found.append(EventSensitivity(part.case.system.events[event.guard].name, event.time, moves))
        return found

    def at(self, t: object) -> SensitivitySamples:
        """Sensitivities at any time of the run, from the dense output: one time, or an array of times.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay")
        >>> x = m.state("x", start=1.0)
        >>> m.equation(m.der(x), -x)
        >>> dd.sensitivities(m, 1.0, rtol=1e-9).at([0.0, 0.5]).M.round(6).ravel().tolist()
        [1.0, 0.606531]
        """
        times = np.asarray(t, dtype=float)
        flat = np.ascontiguousarray(times.reshape(-1))
        ends = sorted((float(self._recorded.t[0]), float(self._recorded.t[-1])))
        slack = 1e-12 * max(abs(ends[0]), abs(ends[1]), 1e-300)
        if (
            flat.size == 0
            or not np.all(np.isfinite(flat))
            or flat.min() < ends[0] - slack
            or flat.max() > ends[1] + slack
        ):
            raise InputError(
                "at() takes finite times within the run.", f"it covers t = {ends[0]:g} to {ends[1]:g}; got {t!r}"[:160]
            )
        y = self._recorded.at(np.clip(flat, ends[0], ends[1]))
        return SensitivitySamples(self._case, self._augmented, flat, y, times.ndim == 0, self._parts)

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
        from daedalus.differentiation.result.labelled import to_dataset

        times = np.unique(self._recorded.t) if times is None else np.atleast_1d(np.asarray(times, dtype=float))
        return to_dataset(self, self.at(times))

    def verify(self) -> Verification:
        """Compare with other ways: differences over shrinking increments, symmetry, forward against adjoint.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay")
        >>> x = m.state("x", start=1.0); k = m.parameter("k", 2.0)
        >>> m.equation(m.der(x), -k * x)
        >>> dd.sensitivities(m, 1.0).verify().passed
        True
        """
        from daedalus.differentiation.result.verification import verify

        return verify(self)

    def rank(self, of: object = None) -> Ranking:
        """Parameters (and what else was varied) in the order of their influence on the solution.

        Parameters
        ----------
        of: names of states, algebraic variables or outputs; all states if None.

        The influence of θ is the root mean square over time of ∂y/∂θ, times the size of θ, over the size of y: what a
        change of θ by its own size does, to first order, in units of y.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("two rates")
        >>> x = m.state("x", start=1.0); a = m.parameter("a", 1.0); b = m.parameter("b", 0.01)
        >>> m.equation(m.der(x), -a * x + b)
        >>> dd.sensitivities(m, 1.0, wrt="parameters").rank().names
        ['a', 'b']
        """
        from daedalus.differentiation.result.identifiability import rank

        return rank(self, of)

    def fisher(self, outputs: str | Sequence[str], sigma: object = 1.0, times: object = None) -> xarray.DataArray:
        """The Fisher information of the parameters in measurements of outputs with standard deviation sigma.

        F = Σ over times and outputs of (∂y/∂p)ᵀ (∂y/∂p) / σ², (np, np), labelled.

        Parameters
        ----------
        outputs: names of what is measured. sigma: a number, or one a name (a mapping), in the units of the output.
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
        from daedalus.differentiation.result.identifiability import fisher

        return fisher(self, outputs, sigma, times)

    def correlation(self, outputs: str | Sequence[str], sigma: object = 1.0, times: object = None) -> xarray.DataArray:
        """How estimates of the parameters from such measurements correlate, (np, np): the scaled inverse of `fisher`.

        Raises a SolverError that names the parameters where measurements cannot tell them apart.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("line")
        >>> x = m.state("x", start=0.0); a = m.parameter("a", 1.0); b = m.parameter("b", 1.0)
        >>> m.equation(m.der(x), a + b * m.time)
        >>> round(float(dd.sensitivities(m, 1.0).correlation("x")[0, 1]), 3)
        -0.968
        """
        from daedalus.differentiation.result.identifiability import correlation

        return correlation(self, outputs, sigma, times)

    def plot(
        self, of: str | Sequence[str] | None = None, wrt: str | Sequence[str] | None = None, ax: Any = None
    ) -> Any:
        """Draw curves of ∂y/∂θ over time, scaled by the size of θ, with the band that a change of θ by 10 % makes of y.

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

    def __repr__(self) -> str:
        t0, t1 = self._recorded.t[0], self._recorded.t[-1]
        size = f"{self._augmented.layout.n} states by {self._directions.count} quantities"
        return f"Sensitivities({self.system.name!r}: {size}, order {self.order}, {self.how}, t = {t0:g} to {t1:g})"


class _Lazy:
    """The dense output of the rows within that of y, made when a trajectory asks for it."""

    def __init__(self, recorded: Recorded, width: int) -> None:
        self._recorded, self._width = recorded, width

    def dense(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Starts, ends and coefficients."""
        whole: Dense = self._recorded.dense
        return whole.starts, whole.ends, np.ascontiguousarray(whole.coefficients[:, :, : self._width])
