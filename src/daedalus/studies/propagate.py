"""`dd.propagate(m, span, ...)`: how uncertain a motion is whose start, parameters and noise are uncertain.

"linear": covariances by the derivatives of the motion, right to first order in the deviations; noise is gathered on
the way.
"unscented": mean and variance of 2 n + 1 runs (S. J. Julier and J. K. Uhlmann, Proc. IEEE 92, 2004).
"chaos": polynomials of the deviations, orthogonal for normal ones, at points of Gauss and Hermite, or by least squares
at points of a Sobol sequence where there are too many (D. Xiu and G. E. Karniadakis, SIAM J. Sci. Comput. 24, 2002).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.ensembles.ensemble import Ensemble
from daedalus.ensembles.sweep import DEFAULT_SAMPLES, sweep
from daedalus.errors import InputError, SolverError
from daedalus.estimation.covariance_matrix import covariance_matrix
from daedalus.estimation.model_noise import noise_density, without_noise
from daedalus.estimation.propagation import Propagation
from daedalus.initialisation.initialise import initialise
from daedalus.model.model import Model, as_system
from daedalus.model.names import counted, did_you_mean, listed
from daedalus.model.plain_numbers import plain_number
from daedalus.model.system.system import System
from daedalus.model.values import check_mapping, parameter_values
from daedalus.simulation.run.request import read_save_at, read_span

WAYS = ("linear", "unscented", "chaos")
# Up to so many runs at the points of Gauss and Hermite; beyond, so many points a polynomial of a Sobol sequence.
MOST_POINTS, POINTS_PER_TERM = 2000, 3
# Directions whose variance is below this share of the largest are not varied.
NOTHING = 1e-14


class _Uncertain(NamedTuple):
    """What is uncertain: names of single numbers, their means, and their covariance."""

    names: tuple[str, ...]
    means: np.ndarray
    covariance: np.ndarray

    @property
    def directions(self) -> np.ndarray:
        """(n, k): a normal vector of k independent numbers times this has the covariance."""
        values, vectors = np.linalg.eigh(self.covariance)
        kept = values > NOTHING * max(float(values.max(initial=0.0)), NOT_ZERO)
        return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def propagate(
    model: Model | System,
    span: float | tuple[float, float],
    start_covariance: object = None,
    parameters: Mapping[str, float] | None = None,
    by: str = "linear",
    degree: int = 3,
    outputs: Sequence[str] | None = None,
    save_at: Any = None,
    **simulate_options: Any,
) -> Ensemble:
    """Compute mean and standard deviation of a motion over time, without drawing samples.

    Parameters
    ----------
    model: a model of any index; the noise of `m.noise` counts, too (by="linear").
    start_covariance: of the states at the start: a number, a diagonal, a matrix, or variances by name.
    parameters: standard deviations of parameters or constant inputs by name; their means are the values of the model
        or of `inputs=`.
    by: "linear" uses the exact derivatives of the motion: right for small deviations, at the cost of one run with
        derivatives. "unscented" uses 2 n + 1 runs and is right to second order. "chaos" fits polynomials of a degree
        in the deviations.
    degree: the degree of "chaos". outputs: names to keep, by default all states, algebraic variables and outputs.
    save_at: the times, or "end"; by default 201 equal ones.
    simulate_options: start, inputs, rtol and others of `dd.simulate`.

    Returns an Ensemble: `en["x"].sel(summary="mean")`, `en["x"].sel(summary="std")`; `en.plot("x")` draws the band.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay"); x = m.state("x", start=1.0); k = m.parameter("k", 1.0); m.equation(m.der(x), -k * x)
    >>> en = dd.propagate(m, 1.0, start_covariance=0.01, parameters={"k": 0.1}, save_at=[1.0], rtol=1e-9)
    >>> round(float(en["x"].sel(summary="std", time=1.0)), 6)        # exp(-1) times the root of 0.1² + 0.1²
    0.052026
    """
    if by not in WAYS:
        raise InputError(f"by={by!r} is not a way to propagate.", remedy=" or ".join(f'by="{way}"' for way in WAYS))
    if not isinstance(degree, (int, np.integer)) or isinstance(degree, bool) or not 1 <= degree <= 10:
        raise InputError(f"degree={degree!r} is not a degree of polynomials.", remedy="degree=3")
    system = as_system(model)
    t0, t1 = read_span(span)
    wanted = [t1] if isinstance(save_at, str) and save_at == "end" else save_at
    times = np.linspace(t0, t1, DEFAULT_SAMPLES) if save_at is None else read_save_at(wanted, t0, t1)
    uncertain = _read(system, start_covariance, parameters, simulate_options)
    noisy = any(v.noise is not None and v.noise.is_white for v in system.noises)
    if noisy and by != "linear":
        raise InputError(
            f"by={by!r} takes no noise.",
            f"the model has {listed([v.name for v in system.noises])}",
            because="noise adds a random value at every moment, and each of them would be a dimension.",
            remedy='by="linear", or dd.sweep(m, span, seeds=1000)',
        )
    if not noisy and not uncertain.names:
        raise InputError(
            "Nothing is uncertain.",
            because="neither the start nor a parameter has a deviation, and the model has no noise.",
            remedy='start_covariance=0.01, parameters={"k": 0.1}, or m.noise("w")',
        )
    quiet = without_noise(system) if system.noises else system
    kept = {"outputs": outputs, "save_at": times, **simulate_options}
    if by == "linear":
        return _linear(quiet, (t0, t1), uncertain, kept, system if noisy else None)
    points = _unscented(uncertain) if by == "unscented" else _polynomial(uncertain, int(degree))
    return _by_runs(quiet, (t0, t1), uncertain, points, kept)


def _read(system: System, start: object, parameters: Any, options: Mapping[str, Any]) -> _Uncertain:
    labels = list(system.labels["x"]) if start is not None else []
    spread = np.zeros((0, 0))
    if start is not None:
        spread = covariance_matrix(start, len(labels), labels, "start_covariance", [""] * len(labels))
        chosen = [k for k in range(len(labels)) if np.any(spread[k])]
        labels, spread = [labels[k] for k in chosen], spread[np.ix_(chosen, chosen)]
    names, deviations = [], []
    for name, deviation in check_mapping(parameters, "parameters").items():
        known = [*system.labels["p"], *system.labels["u"]]
        if name not in known:
            raise InputError(
                f"{name} is neither a parameter nor an input.",
                f"of {system.name!r}",
                remedy=did_you_mean(name, known, listed=False),
            )
        value = plain_number(deviation, f"the deviation of {name}", system.place(name).unit)
        if not 0 <= value < math.inf:
            raise InputError(
                f"The deviation of {name} is {value:g}.", because="a standard deviation is not negative.", remedy="0.1"
            )
        names.append(name)
        deviations.append(value)
    means = _means(system, labels, names, options)
    count = len(labels)
    whole = np.zeros((count + len(names), count + len(names)))
    whole[:count, :count] = spread
    whole[count:, count:] = np.diag(np.square(deviations))
    return _Uncertain((*labels, *names), means, whole)


def _means(system: System, labels: list[str], names: list[str], options: Mapping[str, Any]) -> np.ndarray:
    found = []
    if labels:
        given = {key: options.get(key) for key in ("start", "inputs", "parameters")}
        start, inputs, parameters = (given[key] for key in ("start", "inputs", "parameters"))
        begun = initialise(system, start, inputs=inputs, parameters=parameters)
        found += [float(begun[label]) for label in labels]
    p = parameter_values(system, options.get("parameters"))
    for name in names:
        place = system.place(name)
        if place.letter == "p":
            found.append(float(p[place.positions[0]]))
            continue
        value = (options.get("inputs") or {}).get(name)
        if not isinstance(value, (int, float, np.number)):
            raise InputError(
                f"The input {name} is not a number.",
                because="only an input that stays the same has a deviation.",
                remedy=f"inputs={{{name!r}: 1.0}}",
            )
        found.append(float(value))
    return np.array(found)


# -- derivatives -----------------------------------------------------------------------------------------------------


def _linear(
    system: System, span: tuple[float, float], uncertain: _Uncertain, kept: dict[str, Any], noisy: System | None
) -> Ensemble:
    over = {name: [value] for name, value in zip(uncertain.names[:1], uncertain.means)}
    if not over:  # noise alone: any number of the model, as it is
        over = {system.labels["x"][0]: [float(_means(system, [system.labels["x"][0]], [], kept)[0])]}
    runs = sweep(system, span, over=over, wrt=list(uncertain.names), **kept)
    _check(runs)
    data = runs.data.isel({str(runs.success.dims[0]): 0}, drop=True)
    names = [str(name) for name in data.data_vars if " by " not in str(name) and "time" in data[name].dims]
    root = uncertain.directions
    gathered = {}
    if noisy is not None:
        shapes = {name: data[name].shape[1:] for name in names}
        gathered = _gathered(noisy, system, span[0], data["time"].values, shapes, kept)
    columns = {}
    for name in names:
        mean = data[name].values
        slopes = [_slope(data, name, by) for by in uncertain.names]
        variance = np.zeros_like(mean) + gathered.get(name, 0.0)
        if slopes:
            variance = variance + np.sum((np.stack(slopes, axis=-1) @ root) ** 2, axis=-1)
        columns[name] = (mean, np.sqrt(variance))
    return _summarised(system, data, columns, 1, "by derivatives of one run")


def _slope(data: Any, name: str, by: str) -> np.ndarray:
    """The derivative of a name by another; an input has one by itself alone."""
    found = data.get(f"{name} by {by}")
    return np.full(data[name].shape, float(name == by)) if found is None else np.asarray(found.values)


def _gathered(
    noisy: System,
    quiet: System,
    t0: float,
    times: np.ndarray,
    shapes: Mapping[str, tuple[int, ...]],
    kept: Mapping[str, Any],
) -> dict[str, np.ndarray]:
    """The variances that noise alone brings about, at some times."""
    options = {key: value for key, value in kept.items() if key not in ("outputs", "save_at", "start")}
    carried = Propagation(quiet, list(shapes), 1.0, kept.get("start"), options)
    density = noise_density(noisy, carried.labels["x"], options.get("parameters"))
    now, x, covariance = t0, carried.start, np.zeros_like(density)
    rows = []
    for t in times:
        x, covariance = carried.over(now, float(t) - now, x, covariance, None, density)[:2]
        now = float(t)
        slopes = carried.measured(now, x, None)[1]
        rows.append(np.einsum("ij,jk,ik->i", slopes, covariance, slopes))
    found, first, whole = {}, 0, np.array(rows)
    for name, shape in shapes.items():
        size = math.prod(shape)
        block = whole[:, first : first + size].reshape(len(times), *shape[::-1])  # elements by columns
        found[name] = block.swapaxes(-1, -2) if len(shape) == 2 else block
        first += size
    return found


# -- runs ------------------------------------------------------------------------------------------------------------


class _RunPoints(NamedTuple):
    """Deviations (points, n), and what turns values at the points into a mean and a variance."""

    deviations: np.ndarray
    mean: np.ndarray  # weights (points,)
    terms: np.ndarray | None  # (polynomials, points): coefficients, whose squares add up to the variance
    how: str


def _unscented(uncertain: _Uncertain) -> _RunPoints:
    root = uncertain.directions
    n = root.shape[1]
    width = float(max(3, n))  # points at the root of 3, as far as weights stay positive
    steps = math.sqrt(width) * np.concatenate([np.zeros((1, n)), np.eye(n), -np.eye(n)])
    weights = np.array([1 - n / width, *[0.5 / width] * (2 * n)])
    return _RunPoints(steps @ root.T, weights, None, f"by {counted(len(weights), 'run')} of the unscented transform")


def _polynomial(uncertain: _Uncertain, degree: int) -> _RunPoints:
    root = uncertain.directions
    n = root.shape[1]
    powers = list(_powers(n, degree))
    if (degree + 1) ** n <= MOST_POINTS:
        nodes, weights = np.polynomial.hermite_e.hermegauss(degree + 1)
        weights = weights / weights.sum()
        points = np.array(list(itertools.product(nodes, repeat=n)))
        shares = np.array([math.prod(w) for w in itertools.product(weights, repeat=n)])
        terms = _polynomials(points, powers) * shares
        how = "at points of Gauss and Hermite"
    else:
        from scipy.stats import norm, qmc

        count = POINTS_PER_TERM * len(powers)
        exponent = math.ceil(math.log2(count))
        points = norm.ppf(qmc.Sobol(n, scramble=True, seed=0).random_base2(exponent))
        terms = np.linalg.pinv(_polynomials(points, powers).T)
        how = "by least squares at points of a Sobol sequence"
    told = f"by {len(powers)} polynomials of degree {degree}, from {counted(len(points), 'run')} {how}"
    return _RunPoints(points @ root.T, terms[0], terms[1:], told)


def _powers(n: int, degree: int) -> Iterator[tuple[int, ...]]:
    """Exponents of n numbers whose sum is at most the degree; all zero first."""
    for total in range(degree + 1):
        for chosen in itertools.combinations_with_replacement(range(n), total):
            yield tuple(chosen.count(k) for k in range(n))


def _polynomials(points: np.ndarray, powers: Sequence[tuple[int, ...]]) -> np.ndarray:
    """Hermite's polynomials, orthonormal for independent standard normal numbers: (polynomials, points)."""
    highest = max(max(power, default=0) for power in powers)
    values = [np.polynomial.hermite_e.hermeval(points, np.eye(highest + 1)[k]) for k in range(highest + 1)]
    return np.array([
        math.prod((values[k][:, j] / math.sqrt(math.factorial(k)) for j, k in enumerate(power)), start=np.ones(1))
        * np.ones(len(points))
        for power in powers
    ])  # fmt: skip


def _by_runs(
    system: System, span: tuple[float, float], uncertain: _Uncertain, points: _RunPoints, kept: dict[str, Any]
) -> Ensemble:
    values = uncertain.means + points.deviations
    over = {name: values[:, k] for k, name in enumerate(uncertain.names)}
    runs = sweep(system, span, over=over, combine="zip", **kept)
    _check(runs)
    data = runs.data
    columns = {}
    for name in [str(name) for name in data.data_vars if "time" in data[name].dims]:
        rows = data[name].values
        mean = np.tensordot(points.mean, rows, axes=1)
        if points.terms is None:
            variance = np.tensordot(points.mean, (rows - mean) ** 2, axes=1)
        else:
            variance = np.sum(np.tensordot(points.terms, rows, axes=1) ** 2, axis=0)
        columns[name] = (mean, np.sqrt(np.maximum(variance, 0.0)))
    return _summarised(system, data.isel(case=0, drop=True), columns, len(values), points.how)


def _check(runs: Ensemble) -> None:
    if not bool(runs.success.all()):
        values, reason = runs.failed[0]
        raise SolverError(
            f"{counted(len(runs.failed), 'run')} of {runs.success.size} stopped early.",
            ", ".join(f"{name} = {value:.6g}" for name, value in values.items()),
            because=reason,
            remedy='smaller deviations, or by="linear"',
        )


def _summarised(system: System, data: Any, columns: dict[str, Any], runs: int, how: str) -> Ensemble:
    import xarray

    labels = np.empty(2, dtype=object)
    labels[:] = ["mean", "std"]
    found: dict[str, Any] = {
        name: (["summary", *data[name].dims], np.stack(values), data[name].attrs) for name, values in columns.items()
    }
    found |= {"cases": ((), runs), "not_run": ((), 0)}
    found |= {"failed_case": (["failure"], np.zeros(0, int)), "failed_reason": (["failure"], np.zeros(0, str))}
    coordinates = {"summary": (["summary"], labels), "time": ("time", data["time"].values)}
    told = {**data.attrs, "title": system.name, "notes": how}
    return Ensemble(xarray.Dataset(found, coords=coordinates, attrs=told))
