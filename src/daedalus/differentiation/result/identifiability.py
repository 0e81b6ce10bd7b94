"""Which parameters matter and which can be told apart: ranking, Fisher information and correlation.

F = Σ_k (∂y/∂p)ᵀ Σ⁻¹ (∂y/∂p) at the times of the measurements       cov(p) >= F⁻¹       (Cramér, Rao)
correlation_ij = (F⁻¹)_ij / √((F⁻¹)_ii (F⁻¹)_jj)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.algebra.seen_space import seen_space
from daedalus.differentiation.result.differentiated_run import DifferentiatedRun
from daedalus.errors import InputError, SolverError

if TYPE_CHECKING:
    import xarray

# Times at which outputs count where none are given: every hundredth of the run.
TIMES = 101


@dataclass(frozen=True)
class Ranking:
    """Names in the order of their influence, with its size; `sens.rank()` gives it."""

    names: list[str]
    influence: np.ndarray

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return iter(zip(self.names, self.influence.tolist()))

    def __repr__(self) -> str:
        width = max((len(name) for name in self.names), default=0)
        largest = max(self.influence.max(initial=0.0), NOT_ZERO)
        bars = ("█" * max(1, round(24 * value / largest)) if value > 0 else "" for value in self.influence)
        return "\n".join(f"{n.ljust(width)}  {v:9.3g}  {bar}" for n, v, bar in zip(self.names, self.influence, bars))


def rank(sens: DifferentiatedRun, of: object = None) -> Ranking:
    """Influence of everything that was varied: RMS over time of ∂y/∂θ · size of θ / size of y."""
    names = [of] if isinstance(of, str) else list(of) if of is not None else None  # type: ignore[call-overload]
    samples = sens.at(_times(sens, None))
    slopes, values = [], []
    if names is None:
        slopes, values = [samples._slopes[:, samples._own]], [samples.value]
    else:
        for name in names:
            what = samples._followed(name)
            slopes.append(what.first(samples._point, samples._seeds))
            values.append(what.value(samples._point))
    S, y = np.concatenate(slopes, axis=1), np.concatenate(values, axis=1)
    size_y = np.sqrt(np.mean(y**2, axis=0))
    floor = 1e-12 * max(size_y.max(initial=0.0), NOT_ZERO)
    scaled = S * sens._directions.sizes(sens.system, sens._case.p) / np.maximum(size_y, floor)[None, :, None]
    # A quantity that stays zero has no size of its own.
    scaled[:, size_y <= floor] = 0.0
    influence = np.sqrt(np.mean(scaled**2, axis=(0, 1)))
    order = np.argsort(-influence, kind="stable")
    labels = sens.labels
    return Ranking([labels[k] for k in order], influence[order])


def fisher(sens: DifferentiatedRun, outputs: str | Sequence[str], sigma: object, times: object) -> xarray.DataArray:
    """The information about the parameters, labelled on both axes."""
    import xarray

    labels, slopes, _ = _weighted(sens, outputs, sigma, times)
    F = slopes.T @ slopes
    return xarray.DataArray(F, dims=("p", "p_2"), coords={"p": labels, "p_2": labels}, name="fisher")


def correlation(
    sens: DifferentiatedRun, outputs: str | Sequence[str], sigma: object, times: object
) -> xarray.DataArray:
    """The correlation of the parameters' estimates; refuses what cannot be told apart."""
    import xarray

    labels, slopes, of = _weighted(sens, outputs, sigma, times)
    sizes = sens._directions.sizes(sens.system, sens._case.p)[sens._directions.columns("p")]
    space = seen_space(slopes * sizes, of)
    if space.unseen:
        first = space.unseen[0]
        raise SolverError(
            "The measurements cannot tell the parameters apart.",
            f"a combination of {', '.join([labels[k] for k in first.places][:6])} changes none of the outputs",
            because="the Fisher information is singular.",
            remedy="more outputs or times, or wrt= without one of them",
        )
    covariance = space.covariance(slopes * sizes)
    spread = np.sqrt(np.diag(covariance))
    values = covariance / spread[:, None] / spread[None, :]
    return xarray.DataArray(values, dims=("p", "p_2"), coords={"p": labels, "p_2": labels}, name="correlation")


def _weighted(
    sens: DifferentiatedRun, outputs: str | Sequence[str], sigma: object, times: object
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Labels, slopes of the outputs over their noise (rows, parameters), and the output that each row belongs to."""
    names = [outputs] if isinstance(outputs, str) else list(outputs)
    columns = sens._columns("p")
    samples = sens.at(_times(sens, times))
    each = []
    for name in names:
        what = samples._followed(name)
        deviation = sigma.get(name, 1.0) if isinstance(sigma, Mapping) else sigma
        spread = np.broadcast_to(np.asarray(deviation, dtype=float), what.shape).ravel(order="F")
        if not np.all(spread > 0):
            raise InputError(f"sigma of {name} must be positive.", f"got {deviation!r}", remedy="sigma=0.01")
        each.append(what.known(samples._point, samples._seeds)[:, :, columns] / spread[None, :, None])
    rows = np.concatenate(each, axis=1)
    return sens.labels[columns], rows.reshape(-1, rows.shape[2]), np.tile(np.arange(rows.shape[1]), len(rows))


def _times(sens: DifferentiatedRun, times: object) -> np.ndarray:
    if times is None:
        return np.linspace(sens._recorded.t[0], sens._recorded.t[-1], TIMES)
    return np.atleast_1d(np.asarray(times, dtype=float))
