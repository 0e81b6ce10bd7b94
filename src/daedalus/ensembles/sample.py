"""Values drawn from distributions: plainly at random, or spread evenly by Latin hypercubes or Sobol' points.

Every kind draws points of the unit cube and sends each coordinate through the inverse of its distribution function, so
that the same seed gives the same cases on every machine and for any number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.errors import InputError
from daedalus.model.plain_numbers import is_quantity

KINDS = ("random", "latin", "sobol")
# Points of the cube this close to its faces would give infinite values of unbounded distributions.
_EDGE = 2.0**-53


@dataclass(frozen=True, eq=False)
class Sample:
    """Cases drawn by `dd.sample`: one column of values per name, for `dd.sweep(over=...)`.

    Example
    -------
    >>> import daedalus as dd
    >>> drawn = dd.sample({"L": dd.uniform(1.0, 2.0)}, 4, kind="latin")
    >>> sorted(int(4 * (v - 1)) for v in drawn["L"])
    [0, 1, 2, 3]
    """

    columns: Mapping[str, np.ndarray]
    kind: str
    seed: int

    @property
    def count(self) -> int:
        """How many cases there are."""
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        return f"Sample({self.count} cases of {', '.join(self.columns)}; {self.kind}, seed {self.seed})"


def sample(distributions: Mapping[str, Any], count: int, kind: str = "random", seed: int = 0) -> Sample:
    """Draw cases from independent distributions by name, for `dd.sweep(over=...)`.

    Parameters
    ----------
    distributions: for each name of a parameter, start value or constant input (`"L"`, `"x[0]"`, `"u"`), `dd.normal`,
        `dd.uniform`, `dd.lognormal` or any frozen distribution of scipy.stats.
    count: the number of cases.
    kind: "random" draws them independently. "latin" puts one into each of `count` equal slices of every coordinate
        (McKay, Beckman and Conover 1979). "sobol" uses scrambled Sobol' points, whose means converge almost like
        1/count for smooth results; use a power of two as `count`.
    seed: equal seeds give equal cases.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.sample({"L": dd.normal(1.0, 0.1), "q[0]": dd.uniform(-1.0, 1.0)}, 1000, kind="sobol", seed=1)
    Sample(1000 cases of L, q[0]; sobol, seed 1)
    """
    if not isinstance(distributions, Mapping) or not distributions:
        raise InputError("dd.sample takes distributions by name.", remedy='dd.sample({"L": dd.normal(1.0, 0.1)}, 1000)')
    for name, distribution in distributions.items():
        if not hasattr(distribution, "ppf"):
            raise InputError(
                f"The values of {name} are not a distribution.",
                f"got {distribution!r}"[:120],
                remedy="dd.normal(mean, std), dd.uniform(low, high), or a frozen distribution of scipy.stats",
            )
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
        raise InputError("The number of cases is not a whole number above zero.", f"got {count!r}")
    if kind not in KINDS:
        raise InputError(f"kind={kind!r} is not valid.", remedy=" or ".join(f'kind="{k}"' for k in KINDS))
    points = np.clip(_unit_points(len(distributions), int(count), kind, seed), _EDGE, 1 - _EDGE)
    columns = {name: _drawn(name, d, points[:, k]) for k, (name, d) in enumerate(distributions.items())}
    return Sample(columns, kind, seed)


def _unit_points(dimensions: int, count: int, kind: str, seed: int) -> np.ndarray:
    """Points of the unit cube, (count, dimensions)."""
    if kind == "random":
        return np.random.default_rng(seed).random((count, dimensions))
    from scipy.stats import qmc

    generator = np.random.default_rng(seed)
    if kind == "latin":
        return np.asarray(qmc.LatinHypercube(dimensions, rng=generator).random(count))
    points = qmc.Sobol(dimensions, scramble=True, rng=generator)
    # Whole powers of two are drawn without SciPy's warning about balance; what is beyond the count is left.
    return np.asarray(points.random_base2(max(count - 1, 0).bit_length())[:count])


def _drawn(name: str, distribution: Any, points: np.ndarray) -> np.ndarray:
    found = distribution.ppf(points)
    values = found if is_quantity(found) else np.asarray(found, dtype=float)
    if not np.isfinite(getattr(values, "magnitude", values)).all():
        raise InputError(f"The distribution of {name} gives values that are not finite.", f"got {distribution!r}"[:120])
    return values
