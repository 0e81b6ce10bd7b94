"""Parameters and start values from data: the least squares of weighted residuals, by Gauss–Newton in a trust region.

min over θ of Σ ((y(t_k; θ) − y_k) / σ_k)² + Σ ((θ_i − μ_i) / s_i)²
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import EPSILON
from daedalus.errors import DaedalusError, InputError
from daedalus.estimation.experiments import Experiment, read_experiments
from daedalus.estimation.fit_result import Fit
from daedalus.estimation.least_squares_search import LeastSquaresSearch, SearchProgress
from daedalus.estimation.weighted_residuals import FreeValue, WeightedResiduals
from daedalus.initialisation.wording import number
from daedalus.model.mechanics.mechanics_part import refuse_touching
from daedalus.model.model import Model, as_system
from daedalus.model.names import read_names
from daedalus.model.plain_numbers import plain_number
from daedalus.model.switching.delays import refuse_delays
from daedalus.model.system.system import System
from daedalus.model.time_limit import limits_time
from daedalus.model.values import check_mapping, parameter_values, unit_of

LOSSES = ("linear", "soft_l1", "huber", "cauchy", "arctan")
# Runs hold this much more than noise asks for, so that differences between them mean something.
RTOL, ATOL = 1e-8, 1e-11
# Weights of several outputs without a given noise are found from the residuals, in so many rounds at most.
ROUNDS, SETTLED = 8, 1e-4
# Noise of less than this share of the data cannot be told from rounding.
EXACT = EPSILON


@limits_time
def fit(
    model: Model | System,
    data: object,
    free: str | Sequence[str],
    time: str = "time",
    noise: Mapping[str, float] | float | None = None,
    bounds: Mapping[str, tuple[float | None, float | None]] | None = None,
    prior: Mapping[str, tuple[float, float]] | None = None,
    per_experiment: str | Sequence[str] = (),
    hold: str = "linear",
    loss: str = "linear",
    starts: int = 1,
    seed: int = 0,
    begin: float | None = None,
    progress: bool | Callable[[int, float], None] | None = None,
    **simulate_options: Any,
) -> Fit:
    """Estimate parameters and start values of a model from measurements.

    Parameters
    ----------
    model: a model of any index. Derivatives come from `dd.sensitivities` and are exact through constraints and events.
    data: a DataFrame, an xarray Dataset, a dict of arrays, a CSV file, or a list of these with one entry per
        experiment. Columns named like inputs drive the model; columns named like states, algebraic variables or outputs
        are compared with it. NaN is a missing sample.
    free: names of parameters and of states (for their start values), also elements such as "x[0]". The search starts
        from the values of the model, or from those in `start=` and `parameters=`.
    time: the name of the column of times.
    noise: the standard deviation of one sample, by name or one number; by default estimated from the residuals.
    bounds: (lower, upper) by name, None for no bound. prior: (mean, standard deviation) by name.
    per_experiment: unknowns with a separate value for each experiment; `fit["x[0], experiment 1"]`.
    hold: inputs between the samples, "linear" or "hold".
    loss: "linear" for least squares; "huber", "soft_l1", "cauchy", "arctan" reduce the weight of outliers. The search
        then starts from the least squares.
    starts: the number of searches, from different points within the bounds (or within a factor of two). The best one is
        returned.
    begin: the time of the start values, where every run starts; by default the first time of the data. If the data
        begin later than the experiment did, give it: `begin=0.0`.
    progress: show a bar with the number of runs and the smallest χ² so far (None: on a terminal, after half a second),
        or a function of these two.
    simulate_options: options of `dd.simulate`; rtol is 1e-8 by default. time_limit is that of the whole fit.

    A run with derivatives costs more the more unknowns are free; with many of them it is made in blocks of unknowns, so
    that memory stays bounded. Ctrl-C and time_limit end the search and return the best so far. Raises an InputError for
    data that cannot be compared.

    Example
    -------
    >>> import daedalus as dd, numpy as np
    >>> m = dd.Model("spring")
    >>> x = m.state("x", start=1.0); v = m.state("v", start=0.0)
    >>> k = m.parameter("k", 3.0); mass = m.parameter("mass", 1.0)
    >>> m.equation(m.der(x), v); m.equation(mass * m.der(v), -k * x)
    >>> times = np.linspace(0, 3, 31)
    >>> data = {"time": times, "x": np.cos(2 * times)}
    >>> round(dd.fit(m, data, free=["k"])["k"], 6)
    4.0
    >>> print(dd.fit(m, data, free=["k", "mass"], noise=0.01).unidentifiable[0])
    only k / mass is seen
    """
    system = as_system(model)
    refuse_delays(system, "dd.fit")
    refuse_touching(system, "dd.fit")
    begin = None if begin is None else plain_number(begin, "begin", "s")
    experiments = read_experiments(system, data, time, hold, begin)
    unknowns = _unknowns(system, free, per_experiment, len(experiments))
    options = {"rtol": RTOL, "atol": ATOL, **simulate_options}
    start, parameters = (dict(options.pop(name, None) or {}) for name in ("start", "parameters"))
    sigma, estimated = _noise(system, experiments, noise)
    priors = _checked_pairs(system, prior, unknowns, "prior")
    problem = WeightedResiduals(model, system, experiments, unknowns, sigma, priors, start, parameters, options)
    if loss not in LOSSES:
        raise InputError(f"loss={loss!r} is not valid.", f"known: {', '.join(LOSSES)}")
    theta = _first(system, unknowns, start, parameters)
    limits = _limits(system, unknowns, bounds)
    theta = np.clip(theta, *limits)
    problem.both(theta)  # what cannot be run at all is told by its own error
    search = LeastSquaresSearch(problem, limits, loss, SearchProgress(progress, system.name))
    first = theta
    theta, end = search.best_of(theta, starts, seed, estimated)
    for _ in range(ROUNDS if estimated else 0):
        moved = _estimate_noise(problem, theta, estimated)
        if moved < SETTLED or len(sigma) == 1 or end.interrupted:
            break
        theta, again = search.from_here(theta)
        end = replace(again, notes=end.notes)
    end = replace(end, forgives=loss != "linear")
    end = replace(end, notes=(*end.notes, *note_of_blocks(problem)))
    found = Fit(problem, theta, limits, estimated, end)
    told = () if end.interrupted else note_of_an_earlier_start(found, search, first)
    search.progress.close()
    return Fit(problem, theta, limits, estimated, replace(end, notes=(*end.notes, *told))) if told else found


def note_of_blocks(problem: WeightedResiduals) -> tuple[str, ...]:
    """A note where the columns of derivatives do not fit into memory together."""
    if problem.blocks == 1:
        return ()
    states, count = problem.system.sizes["x"], len(problem.unknowns)
    return (f"derivatives of {states} states by {count} unknowns were run in {problem.blocks} blocks of columns",)


def _unknowns(
    system: System, free: str | Sequence[str], per_experiment: str | Sequence[str], experiments: int
) -> list[FreeValue]:
    names = read_names(free, "free")
    own = set(read_names(per_experiment, "per_experiment"))
    found = []
    for name in [*names, *(n for n in own if n not in names)]:
        place = system.place(name)
        if place.letter not in ("x", "p"):
            raise InputError(
                f"{name} cannot be fitted.",
                "only parameters and start values of states can",
                remedy='free=["L", "x[0]"]',
            )
        for k in range(len(place.positions)):
            label = place.element(k).name if len(place.positions) > 1 else place.name
            numbers = range(experiments) if name in own and experiments > 1 else (None,)
            found += [FreeValue(label, place.letter, number) for number in numbers]
    if not found:
        raise InputError("Nothing is free.", "free= is empty", remedy='free=["L"]')
    return found


def _noise(
    system: System, experiments: Sequence[Experiment], noise: Mapping[str, float] | float | None
) -> tuple[dict[str, float], list[str]]:
    """σ by name, and the names whose σ is to be estimated; those begin with the size of their data."""
    sigma: dict[str, float] = {}
    estimated = []
    for name in dict.fromkeys(name for one in experiments for name in one.measured):
        given = noise.get(name) if isinstance(noise, Mapping) else noise
        if given is None:
            sigma[name] = _size(experiments, name)
            estimated.append(name)
        else:
            sigma[name] = plain_number(given, f"The noise of {name}", unit_of(system, name))
            if not (0 < sigma[name] < np.inf):
                raise InputError(
                    f"The noise of {name} must be positive.", f"got {given!r}", remedy="noise=None estimates it"
                )
    unknown = [name for name in noise if name not in sigma] if isinstance(noise, Mapping) else []
    if unknown:
        raise InputError(f"noise= has {unknown[0]}, which is not measured.", f"measured: {', '.join(sigma)}")
    return sigma, estimated


def _size(experiments: Sequence[Experiment], name: str) -> float:
    """How large what is measured is; 1 where it is nothing but zeros."""
    values = np.concatenate([one.measured[name].ravel() for one in experiments if name in one.measured])
    size = float(np.sqrt(np.nanmean(values**2))) if np.any(np.isfinite(values)) else 0.0
    return size if size > 0 else 1.0


def _estimate_noise(problem: WeightedResiduals, theta: np.ndarray, names: Sequence[str]) -> float:
    """Set σ of names from their residuals; the largest relative change."""
    total = sum(one.samples for one in problem.experiments)
    share = max(1e-3, 1 - len(theta) / max(total, 1))
    changed = 0.0
    for name in names:
        squares = [
            (curves[name][0] - one.measured[name])[np.isfinite(one.measured[name])] ** 2
            for one, curves in zip(problem.experiments, problem.curves(theta))
            if name in one.measured
        ]
        # Data that a model meets exactly is still rounded.
        spread = max(float(np.sqrt(np.concatenate(squares).mean() / share)), EXACT * _size(problem.experiments, name))
        changed = max(changed, abs(spread / problem.sigma[name] - 1))
        problem.sigma[name] = spread
    return changed


def _checked_pairs(
    system: System, pairs: Mapping[str, Any] | None, unknowns: Sequence[FreeValue], word: str
) -> dict[str, Any]:
    """Pairs of plain numbers by name, quantities in the unit of what they are for; bounds may be None."""
    of_label = {label: u.name for u in unknowns for label in (u.name, u.label)}
    found = {}
    for name, pair in check_mapping(pairs, word).items():
        if name not in of_label:
            raise InputError(f"{word}= has {name}, which is not free.", f"free: {', '.join(sorted(of_label)[:8])}")
        try:
            one, other = pair  # type: ignore[misc]
        except (TypeError, ValueError):
            one = other = np.nan
        unit, what = unit_of(system, of_label[name]), f"{word} of {name}"
        numbers = tuple(None if value is None else plain_number(value, what, unit) for value in (one, other))
        if any(number is not None and np.isnan(number) for number in numbers) or (
            word == "prior" and not _is_belief(numbers)
        ):
            raise InputError(
                f"{word} of {name} does not fit.", f"got {pair!r}"[:80], remedy=f'{word}={{"{name}": (1.0, 0.1)}}'
            )
        found[name] = numbers
    return found


def _is_belief(numbers: tuple[float | None, ...]) -> bool:
    """Whether numbers are a mean and a standard deviation."""
    mean, std = numbers
    return mean is not None and std is not None and bool(np.isfinite(mean)) and 0 < std < np.inf


def _first(
    system: System, unknowns: Sequence[FreeValue], start: Mapping[str, object], parameters: Mapping[str, object]
) -> np.ndarray:
    """Where the search begins: given values before those of the model."""
    p = parameter_values(system, parameters)
    theta = []
    for unknown in unknowns:
        place = system.place(unknown.name)
        if unknown.letter == "p":
            theta.append(float(p[place.positions[0]]))
        else:
            value = start.get(unknown.name, system.start["x"][place.positions[0]])
            number = np.nan if value is None else plain_number(value, f"The start of {unknown.name}", place.unit)
            theta.append(number if np.isfinite(number) else 0.0)
    return np.array(theta)


def _limits(
    system: System, unknowns: Sequence[FreeValue], bounds: Mapping[str, tuple[float | None, float | None]] | None
) -> tuple[np.ndarray, np.ndarray]:
    pairs = _checked_pairs(system, bounds, unknowns, "bounds")
    low, high = np.full(len(unknowns), -np.inf), np.full(len(unknowns), np.inf)
    for k, unknown in enumerate(unknowns):
        lower, upper = pairs.get(unknown.label, pairs.get(unknown.name, (None, None)))
        low[k], high[k] = -np.inf if lower is None else lower, np.inf if upper is None else upper
        if not low[k] < high[k]:
            raise InputError(f"The bounds of {unknown.name} are crossed.", f"got ({lower}, {upper})")
    return low, high


# -- a run that starts before the first sample -------------------------------------------------------------------------
#
# Whether a run that starts before the first sample explains the data: start values of a model are often those of 0 s.
#
# A run of a fit starts at the first time of the data unless `begin=` says otherwise. Where the first sample is a
# little later than zero, start values of zero are used too late, and rates come out wrong (k = 1.2 for 1.0 in data
# from 0.2 s).
# Only where residuals are not noise is it looked at once more from zero.

# χ² has to fall to this part of itself: a wrong start leaves far more.
CLEARLY = 0.25


def note_of_an_earlier_start(fit: Fit, search: LeastSquaresSearch, theta: np.ndarray) -> tuple[str, ...]:
    """A note where residuals are not noise and a run from 0 s leaves far less; theta: where the search begins."""
    experiments = fit.problem.experiments
    late = [one for one in experiments if _begins_a_little_later(one)]
    if len(late) < len(experiments) or not any(tests.doubts for tests in fit.residual_tests.values()):
        return ()
    try:
        problem = replace(fit.problem, experiments=[replace(one, begin=0.0) for one in experiments])
        earlier = replace(search, problem=problem)
        found, _ = earlier.from_here(theta)
        left = float(np.sum(earlier.problem.value(found) ** 2))
    except DaedalusError:
        return ()
    if not left < CLEARLY * fit.chi_squared:
        return ()
    costs = f"{number(fit.chi_squared)} to {number(left)}"
    return (
        f"the run starts {_first_times(experiments)}, and from 0 s χ² falls from {costs}: "
        "if the start values of the model are those of 0 s, use dd.fit(..., begin=0.0)",
    )


def _begins_a_little_later(one: Experiment) -> bool:
    first, last = float(one.times[0]), float(one.times[-1])
    return one.begin is None and 0 < first <= last - first


def _first_times(experiments: Sequence[Experiment]) -> str:
    if len(experiments) > 1:
        return "at the first time of each experiment"
    return f"at {number(float(experiments[0].times[0]))} s, the first time of the data"
