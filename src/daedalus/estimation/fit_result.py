"""What `dd.fit` returns: values, how well they are known, what data cannot tell, and the model with the values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.errors import InputError
from daedalus.estimation.least_squares_search import SearchEnd
from daedalus.estimation.residual_tests import ResidualTests, judged_as_noise
from daedalus.estimation.unseen_directions import Seen, Unseen
from daedalus.estimation.weighted_residuals import WeightedResiduals
from daedalus.model.lazy_values import cached_property
from daedalus.model.model import Model
from daedalus.model.reopened import as_model

if TYPE_CHECKING:
    import xarray


WAYS = ("linear", "profile")
# A value this near to a bound, as a share of its deviation, is at it; a χ² that is less probable is told.
AT_BOUND, UNLIKELY = 1e-6, 1e-6


class Fit(Mapping[str, float]):
    """The result of `dd.fit`: the values that fit the data best.

    `fit["L"]` is a value, `fit.std["L"]` its standard deviation. Attributes: `std`, `covariance`, `correlation`,
    `unidentifiable`, `residuals`, `residual_tests`, `noise` (given or estimated), `chi_squared`,
    `degrees_of_freedom`, `probability`, `notes`, `model`, `success`, `message`, `evaluations`.

    Example
    -------
    >>> import daedalus as dd, numpy as np
    >>> m = dd.Model("decay")
    >>> x = m.state("x", start=1.0); k = m.parameter("k", 1.0)
    >>> m.equation(m.der(x), -k * x)
    >>> times = np.linspace(0, 2, 21)
    >>> fit = dd.fit(m, {"time": times, "x": np.exp(-0.7 * times)}, free=["k"], noise={"x": 0.01})
    >>> round(fit["k"], 6), round(fit.std["k"], 4), fit.success
    (0.7, 0.005, True)
    """

    def __init__(
        self,
        problem: WeightedResiduals,
        theta: np.ndarray,
        bounds: tuple[np.ndarray, np.ndarray],
        estimated: Sequence[str],
        end: SearchEnd,
    ) -> None:
        self.problem, self._theta, self._bounds = problem, theta, bounds
        self._estimated = tuple(estimated)
        self.noise = dict(problem.sigma)
        self.success, self.message, self.evaluations = end.success, end.message, end.evaluations
        self._end = end

    # -- values ------------------------------------------------------------------------------------------------

    @property
    def labels(self) -> list[str]:
        """The names of the estimated values."""
        return [unknown.label for unknown in self.problem.unknowns]

    def __getitem__(self, name: str) -> float:
        try:
            return float(self._theta[self.labels.index(name)])
        except ValueError:
            raise InputError(f"{name} was not fitted.", f"fitted: {', '.join(self.labels[:8])}") from None

    def __iter__(self) -> Any:
        return iter(self.labels)

    def __len__(self) -> int:
        return len(self._theta)

    @cached_property
    def _linear(self) -> tuple[np.ndarray, np.ndarray]:
        """Residuals and their slopes at the values found."""
        return self.problem.both(self._theta)

    @cached_property
    def chi_squared(self) -> float:
        """Σ ((model − data) / σ)², priors included."""
        return float(np.sum(self._linear[0] ** 2))

    @property
    def degrees_of_freedom(self) -> int:
        """The number of samples (and priors) minus the number of unknowns."""
        return len(self._linear[0]) - len(self._theta)

    # -- how well they are known -------------------------------------------------------------------------------

    @property
    def _seen(self) -> Seen:
        return Seen(self._linear[1], self._theta, self.problem.output_of_rows, self.problem.priors)

    @cached_property
    def unidentifiable(self) -> list[Unseen]:
        """Combinations of the unknowns that change no measurement; `str` of each is a sentence."""
        return self._seen.unseen(self.labels)

    @cached_property
    def _covariance(self) -> np.ndarray:
        """(JᵀJ)⁻¹; infinite on the diagonal for what data says nothing about."""
        return self._seen.covariance()

    @cached_property
    def std(self) -> dict[str, float]:
        """The standard deviation of each value, infinite if the data contain no information about it."""
        return dict(zip(self.labels, np.sqrt(np.diag(self._covariance)).tolist()))

    @property
    def covariance(self) -> xarray.DataArray:
        """The covariance of the values, labelled on both axes."""
        return self._labelled(self._covariance, "covariance")

    @property
    def correlation(self) -> xarray.DataArray:
        """The correlation of the values, labelled on both axes."""
        spread = np.sqrt(np.diag(self._covariance))
        return self._labelled(self._covariance / spread[:, None] / spread[None, :], "correlation")

    def _labelled(self, values: np.ndarray, name: str) -> xarray.DataArray:
        import xarray

        coords = {"name": self.labels, "other": self.labels}
        return xarray.DataArray(values, dims=("name", "other"), coords=coords, name=name)

    def confidence(self, level: float = 0.95, by: str = "linear") -> dict[str, tuple[float, float]]:
        """A confidence interval for each value.

        Parameters
        ----------
        level: the probability.
        by: "linear" assumes a linear model near the values. "profile" follows χ² with all other unknowns at their best;
            it is also right for a nonlinear model and needs ten to a hundred runs per value.
        """
        if not 0 < level < 1 or by not in WAYS:
            raise InputError(
                "This confidence interval is not available.", f"level={level!r}, by={by!r}", remedy='0.95, by="profile"'
            )
        q, found = self._quantile(level), {}
        for k, name in enumerate(self.labels):
            width = q * self.std[name]
            if by == "linear" or not np.isfinite(width):
                found[name] = (self[name] - width, self[name] + width)
            else:
                found[name] = profile_interval(self.problem, self._theta, k, width, q, self._bounds)
        return found

    def _quantile(self, level: float) -> float:
        from scipy import stats

        if self._estimated and self.degrees_of_freedom > 0:
            return float(stats.t.ppf(0.5 + level / 2, self.degrees_of_freedom))
        return float(stats.norm.ppf(0.5 + level / 2))

    # -- how well it fits --------------------------------------------------------------------------------------

    @property
    def curves(self) -> list[dict[str, tuple[np.ndarray, np.ndarray]]]:
        """What the model says at the sample times of each experiment, by name, with the slopes by the unknowns."""
        return self.problem.curves(self._theta)

    @property
    def residuals(self) -> list[dict[str, np.ndarray]]:
        """Data minus model for each experiment, by name, (times,) or (times, elements); NaN for missing samples."""
        found = []
        for one, curves in zip(self.problem.experiments, self.curves):
            rows = {name: data - curves[name][0] for name, data in one.measured.items()}
            found.append({name: row[:, 0] if row.shape[1] == 1 else row for name, row in rows.items()})
        return found

    @cached_property
    def residual_tests(self) -> dict[str, ResidualTests]:
        """For each measured name, whether its residuals look like noise: runs, whiteness, normality."""
        series: dict[str, list[np.ndarray]] = {name: [] for name in self.noise}
        for rows in self.residuals:
            for name, values in rows.items():
                series[name] += list(np.atleast_2d(values.T))
        return {name: judged_as_noise(parts) for name, parts in series.items()}

    @property
    def probability(self) -> float:
        """The probability that noise alone gives a χ² as large as this. Near zero, the model or the noise is wrong.

        It is NaN if the noise was estimated from the residuals.
        """
        from scipy import stats

        if self._estimated or self.degrees_of_freedom < 1:
            return float("nan")
        return float(stats.chi2.sf(self.chi_squared, self.degrees_of_freedom))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the fit: values at their bounds, a χ² that the given noise does not explain, other searches.

        Example
        -------
        >>> import daedalus as dd, numpy as np
        >>> m = dd.Model("decay"); x = m.state("x", start=1.0); k = m.parameter("k", 1.0); m.equation(m.der(x), -k * x)
        >>> times = np.linspace(0, 1, 21); data = {"time": times, "x": np.exp(-3 * times)}
        >>> dd.fit(m, data, free="k", bounds={"k": (0, 2)}).notes
        ('k is at its upper bound 2: its deviation does not count the bound',)
        """
        found = list(self._end.notes)
        for name, value, low, high in zip(self.labels, self._theta, *self._bounds):
            near = AT_BOUND * (self.std[name] if np.isfinite(self.std[name]) else 0.0)
            for side, limit in (("lower", low), ("upper", high)):
                if abs(value - limit) <= near:
                    found.append(f"{name} is at its {side} bound {limit:g}: its deviation does not count the bound")
        if self.probability < UNLIKELY and not self._end.forgives:
            share = self.chi_squared / self.degrees_of_freedom
            found.append(f"χ² is {share:.3g} a degree of freedom: the model, a bound or the given noise is wrong")
        return tuple(found)

    @property
    def model(self) -> Model:
        """The model with the estimated values. Unknowns of single experiments keep the values of the model."""
        twin = as_model(self.problem.model).copy()
        for unknown, value in zip(self.problem.unknowns, self._theta.tolist()):
            if unknown.experiment is not None:
                continue
            place = self.problem.system.place(unknown.name)
            stem, position = next(
                (v, k)
                for v in twin.written.variables.values()
                for k in range(v.size)
                if v.label(k) == place.element(0).name
            )
            start = list(stem.start or (None,) * stem.size)
            start[position] = value
            twin.written.variables[stem.name] = replace(stem, start=tuple(start))
        return twin

    def plot(self, ax: Any = None) -> Any:
        """Draw data and model over time, with one panel per measured name."""
        from daedalus.display.fit_plot import plot_fit

        return plot_fit(self, ax)

    def plot_residuals(self, ax: Any = None) -> Any:
        """Draw residuals in standard deviations over time, and compare their quantiles with those of normal noise."""
        from daedalus.display.fit_plot import plot_residuals

        return plot_residuals(self, ax)

    def _repr_html_(self) -> str:
        from daedalus.display.cards.tool_cards import fit_card

        return fit_card(self)

    def __repr__(self) -> str:
        rows = [f"  {name} = {self[name]:.6g} ± {self.std[name]:.2g}" for name in self.labels]
        head = f"Fit: χ² = {self.chi_squared:.4g} with {self.degrees_of_freedom} degrees of freedom"
        told = list(dict.fromkeys(f"  {direction}" for direction in self.unidentifiable))
        doubts = [
            f"  the residuals of {name} are not noise: {', '.join(tests.doubts)}"
            for name, tests in self.residual_tests.items()
            if tests.doubts
        ]
        notes = [f"  {note}" for note in self.notes]
        return "\n".join([head if self.success else f"{head} ({self.message})", *rows, *told, *doubts, *notes])


# Confidence intervals by profile likelihood: how far one unknown may go while all others make the best of it.
#
# min over the others of χ²(θ) − χ²(θ̂) = q²      with q the quantile of the level that is asked for

# How far, in widths of the linear interval, an end is looked for, and how closely it is found.
FARTHEST, CLOSE = 64.0, 1e-4


def profile_interval(
    problem: WeightedResiduals, theta: np.ndarray, k: int, width: float, q: float, bounds: tuple[np.ndarray, np.ndarray]
) -> tuple[float, float]:
    """The ends of the interval of unknown k; an end that data does not give is the bound, or infinite."""
    least = float(np.sum(problem.value(theta) ** 2))
    ends = []
    for step, limit in ((-width, bounds[0][k]), (width, bounds[1][k])):
        others = np.array(theta)

        def excess(value: float, others: np.ndarray = others) -> float:
            """The root of what χ² grows by, less q; the others begin where they were best the last time."""
            cost, others[:] = _best_with(problem, others, k, value, bounds)
            return float(np.sqrt(max(cost - least, 0.0))) - q

        ends.append(_end(excess, float(theta[k]), step, float(limit), CLOSE * q))
    return ends[0], ends[1]


def _end(excess: Callable[[float], float], middle: float, step: float, limit: float, close: float) -> float:
    """Where the excess is zero, from the middle on in the direction of a step; the limit where it is nowhere."""
    inside, share = 0.0, 1.0
    while True:
        value = middle + share * step
        if (value - limit) * step >= 0:
            value = limit
        beyond = excess(value)
        if abs(beyond) < close:
            return float(value)
        if beyond > 0:
            break
        if value == limit or share > FARTHEST:
            return limit
        inside, share = share, 2 * share
    from scipy.optimize import brentq

    return float(brentq(excess, middle + inside * step, value, xtol=CLOSE * abs(step), rtol=1e-12))


def _best_with(
    problem: WeightedResiduals, theta: np.ndarray, k: int, value: float, bounds: tuple[np.ndarray, np.ndarray]
) -> tuple[float, np.ndarray]:
    """The least χ² with unknown k held at a value, and where it is."""
    from scipy.optimize import least_squares

    free = [i for i in range(len(theta)) if i != k]
    whole = np.array(theta)
    whole[k] = value
    if not free:
        return float(np.sum(problem.value(whole) ** 2)), whole

    def full(part: np.ndarray) -> np.ndarray:
        found = np.array(whole)
        found[free] = part
        return found

    solver: Any = least_squares
    done = solver(
        lambda part: problem.value(full(part)), whole[free], jac=lambda part: problem.both(full(part))[1][:, free],
        bounds=(bounds[0][free], bounds[1][free]), x_scale="jac", method="trf",
    )  # fmt: skip
    return float(2 * done.cost), full(done.x)
