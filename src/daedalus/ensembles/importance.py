"""Which of the uncertain values matter: Sobol' indices of what a model does, by Saltelli's design.

With f(A) and f(B) for two independent samples and f(A_i), where column i of A is that of B,

    first order  S_i = E[f(B) (f(A_i) − f(A))] / V,        total  T_i = E[(f(A) − f(A_i))²] / (2 V)

(A. Saltelli et al., Computer Physics Communications 181, 2010; M. Jansen, ibid. 117, 1999). S_i is the share of the
variance that a value explains alone, T_i the share that it has a part in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.algebra.rank_decision import EPSILON
from daedalus.ensembles.ensemble import Ensemble
from daedalus.ensembles.sample import Sample, sample
from daedalus.ensembles.sweep import sweep
from daedalus.errors import InputError
from daedalus.model.model import Model
from daedalus.model.names import did_you_mean
from daedalus.model.system.system import System

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

# Samples drawn anew from those there are, for the spread of the indices.
_REDRAWN = 100


@dataclass(frozen=True, eq=False)
class Importance:
    """The result of `dd.importance`: `imp.first["x"]` and `imp.total["x"]` over the uncertain names and time.

    spread: the standard deviation of both by bootstrap, with a dimension "index" (first, total).
    left_out: the number of base cases with a failed run.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("drop")
    >>> v = m.state("v", start=0.0); g, c = m.parameter("g", 9.81), m.parameter("c", 0.1)
    >>> m.equation(m.der(v), g - c * v**2)
    >>> imp = dd.importance(m, 10.0, {"g": dd.normal(9.81, 0.01), "c": dd.uniform(0.05, 0.2)}, 64)
    >>> imp["v"].dims, imp.total["v"].sel(name="g", time=10.0).item() < 0.01
    (('index', 'name', 'time'), True)
    """

    first: xarray.Dataset
    total: xarray.Dataset
    spread: xarray.Dataset
    cases: int
    left_out: int
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> xarray.DataArray:
        import pandas
        import xarray

        if name not in self.first:
            known = [str(n) for n in self.first.data_vars]
            raise InputError(
                f"{name!r} is not among the outputs of this importance.", remedy=did_you_mean(name, known, listed=False)
            )
        index = pandas.Index(["first", "total"], name="index")
        return xarray.concat([self.first[name], self.total[name]], dim=index)

    def plot(self, name: str | None = None, ax: Axes | None = None) -> Any:
        """Draw the indices of one variable at its last time as bars, with their spread.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay")
        >>> x = m.state("x", start=1.0); k = m.parameter("k", 1.0)
        >>> m.equation(m.der(x), -k * x)
        >>> figure = dd.importance(m, 1.0, {"k": dd.uniform(1, 2), "x": dd.uniform(1, 2)}, 64).plot("x")
        """
        from daedalus.display.importance_plot import plot_importance

        return plot_importance(self, name, ax)

    def _repr_html_(self) -> str:
        from daedalus.display.cards.study_cards import importance_card

        return importance_card(self)

    def __repr__(self) -> str:
        names = ", ".join(str(n) for n in self.first["name"].values)
        left = f"; {self.left_out} left out" if self.left_out else ""
        return f"Importance(of {names} for {', '.join(map(str, self.first.data_vars))}; {self.cases} cases{left})"


def importance(
    model: Model | System,
    span: float | tuple[float, float],
    distributions: Mapping[str, Any],
    count: int = 1024,
    outputs: Sequence[str] | None = None,
    seed: int = 0,
    save_at: Any = "end",
    **options: Any,
) -> Importance:
    """Compute which uncertain values matter for a result: Sobol' indices of first order and total.

    Parameters
    ----------
    distributions: `dd.normal`, `dd.uniform`, … or frozen ones of scipy.stats, by name of parameters, start values or
        constant inputs; they are independent of each other.
    count: the number of base cases; `dd.sweep` makes (names + 2) · count runs. Use a power of two, because the cases
        are Sobol' points.
    outputs: the results to study; by default all states, algebraic variables and outputs.
    save_at: the times to study; by default the end.
    options: all options of `dd.sweep`.

    Base cases with a failed run are excluded. The index is NaN if a variable does not vary.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay")
    >>> x = m.state("x", start=1.0); k = m.parameter("k", 1.0); c = m.parameter("c", 0.0)
    >>> m.equation(m.der(x), -k * x + 0.01 * c)
    >>> imp = dd.importance(m, 1.0, {"k": dd.uniform(1.0, 2.0), "c": dd.uniform(0.0, 1.0)}, 256)
    >>> imp.total["x"].sel(name="k", time=1.0).item() > 0.99
    True
    >>> imp
    Importance(of k, c for x; 1024 cases)
    """
    if len(distributions) < 1 or not isinstance(distributions, Mapping):
        raise InputError("dd.importance takes distributions by name.", remedy='{"L": dd.normal(1.0, 0.1)}')
    if "summary" in options or "combine" in options or "over" in options:
        raise InputError("dd.importance draws its own cases.", remedy="dd.sweep for other designs")
    drawn, names = _design(distributions, count, seed), tuple(distributions)
    en = sweep(model, span, over=drawn, outputs=outputs, save_at=save_at, **options)
    return _judged(en, names, int(count), seed)


def _design(distributions: Mapping[str, Any], count: int, seed: int) -> Sample:
    """A, B, then A with each column of B in turn, below each other."""
    # One set of Sobol' points serves A and B, so that they are balanced together.
    twice = {f"{part} {name}": d for part in "AB" for name, d in distributions.items()}
    both = sample(twice, count, kind="sobol", seed=seed)
    a, b = ({name: both[f"{part} {name}"] for name in distributions} for part in "AB")
    blocks = [a, b, *({**a, name: b[name]} for name in distributions)]
    columns = {name: np.concatenate([block[name] for block in blocks]) for name in distributions}
    return Sample(columns, "sobol", seed)


def _judged(en: Ensemble, names: tuple[str, ...], count: int, seed: int) -> Importance:
    import xarray

    blocks = len(names) + 2
    good = en.success.values.reshape(blocks, count).all(axis=0)
    if not good.any():
        reasons = sorted({reason for _, reason in en.failed})
        raise InputError("No base case has all its runs.", reasons[:3], remedy="narrower distributions")
    of_runs = {"success", "stop_reason", "end_time"}
    draws = np.random.default_rng(seed).integers(int(good.sum()), size=(_REDRAWN, int(good.sum())))
    first, total, spread = {}, {}, {}
    for name, values in en.data.data_vars.items():
        if name in of_runs:
            continue
        runs = values.values.reshape(blocks, count, *values.shape[1:])[:, good]
        dims = ["name", *(str(d) for d in values.dims[1:])]
        indices = _indices(runs)
        redrawn = np.stack([_indices(runs[:, draw]) for draw in draws])
        first[name], total[name] = (dims, indices[0]), (dims, indices[1])
        spread[name] = (["index", *dims], redrawn.std(axis=0))
    places = {"name": list(names), "time": en.data["time"].values}
    of = [xarray.Dataset(found, coords=places) for found in (first, total)]
    spreads = xarray.Dataset(spread, coords={**places, "index": ["first", "total"]})
    return Importance(of[0], of[1], spreads, blocks * count, int((~good).sum()), en.notes)


def _indices(runs: np.ndarray) -> np.ndarray:
    """First-order and total indices, (2, names, ...), from runs (2 + names, cases, ...)."""
    a, b, changed = runs[0], runs[1], runs[2:]
    both = runs[:2].reshape(-1, *runs.shape[2:])
    mean, variance = both.mean(axis=0), both.var(axis=0)
    # What does not vary beyond rounding has no variance to share.
    still = variance <= (8 * EPSILON * np.abs(both).max(axis=0)) ** 2
    variance = np.where(still, np.nan, variance)
    first = ((b - mean) * (changed - a)).mean(axis=1) / variance
    total = ((changed - a) ** 2).mean(axis=1) / (2 * variance)
    return np.stack([first, total])
