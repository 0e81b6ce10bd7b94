"""States between the steps of implicit runs at index 2 and 3, mended by the reduced equations.

    x(θ) = x0 + h ∫ f(x(s)) ds + θ (x1 - x0 - h ∫ f(x(s)) ds over the step)

Velocities are of index 2 there, and stages of a Radau method give them to a lower order than the ends of its steps (E.
Hairer, C. Lubich, M. Roche, The Numerical Solution of Differential-Algebraic Systems by Runge-Kutta Methods, 1989). The
reduced equations x' = f(t, x) have no such orders: two of Picard's iterations from the polynomial of the step, with f
at Gauss points inside it, leave the square of h ∂f/∂x of what it is off by. Where the second one moves a state by more
than a part of what the first one did, that state is stiff, and its polynomial stays.

Measured on mechanisms of the catalogue by radau3 at rtol = 1e-6: velocities between steps were up to 39 tolerances off,
forces up to 99; mended, up to 0.02 and 0.01.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from daedalus.algebra.batches import batches
from daedalus.deadline import poll
from daedalus.simulation.between.deep_values import DeepValues
from daedalus.simulation.between.dense import Dense
from daedalus.simulation.plant.plant import Plant

# The second iteration moves a state by at most this part of what the first one did.
CONVERGES = 0.5
# Points in a step, where its polynomial has no higher degree.
FEWEST_POINTS = 4


def mended_states(plant: Plant, deep: DeepValues | None, dense: Dense) -> Dense:
    """A dense output with its states mended where there is a way to: by `deep_values` of the run.

    Example
    -------
    >>> import daedalus as dd, numpy as np
    >>> from daedalus import catalogue
    >>> known = catalogue.load("pendulum_3d")
    >>> call = {"start": known.start, "inputs": known.inputs}
    >>> coarse = dd.simulate(known.model, 1.0, method="radau3", rtol=1e-4, **call)
    >>> exact = dd.simulate(known.model, 1.0, rtol=1e-11, **call)
    >>> def off(t): return float(abs(coarse.at(t)["cable"] / exact.at(t)["cable"] - 1).max())
    >>> off(np.linspace(0, 1, 1000)) < 1.1 * off(coarse.time)
    True
    """
    starts, ends, given = dense
    if deep is None or not len(starts):
        return dense
    found = with_room(given)
    points, states = found.shape[1] - 1, deep.reduced.states
    # States that the reduction made of algebraic variables have no column of x'.
    own, rates = plant.system.sizes["x"], plant.row_parts["xdot"].start
    rated = np.flatnonzero(states < own)
    for some in _parts(np.flatnonzero(starts != ends), points * found.shape[2]):
        poll("values between steps")
        begins, lengths = starts[some], ends[some] - starts[some]
        part = (np.polynomial.legendre.leggauss(points)[0] + 1) / 2
        times = (begins[:, None] + lengths[:, None] * part).ravel()
        rows = np.vander(part, points + 1, increasing=True) @ found[some]

        def slopes(x: np.ndarray, times: np.ndarray = times, rows: np.ndarray = rows) -> np.ndarray:
            rows[:, :, states] = x
            return deep.rates(times, rows.reshape(len(times), -1)).reshape(x.shape)

        mended = _mended(found[np.ix_(some, np.arange(points + 1), states)], lengths, part, slopes)
        found[np.ix_(some, np.arange(points + 1), states)] = mended
        moving = mended[:, 1:, rated] * (np.arange(1, points + 1)[:, None] / lengths[:, None, None])
        found[np.ix_(some, np.arange(points), rates + states[rated])] = moving
        found[np.ix_(some, [points], rates + states[rated])] = 0.0
    return Dense(starts, ends, found)


def with_room(coefficients: np.ndarray) -> np.ndarray:
    """A copy of coefficients (count, degree + 1, row), filled up to the degree that states are mended to.

    Example
    -------
    >>> import numpy as np
    >>> with_room(np.ones((10, 4, 2))).shape, with_room(np.ones((10, 7, 2))).shape
    ((10, 5, 2), (10, 7, 2))
    """
    missing = max(FEWEST_POINTS + 1 - coefficients.shape[1], 0)
    return np.pad(coefficients, ((0, 0), (0, missing), (0, 0)))


class Mending:
    """A dense output whose steps are mended where and when they are asked for."""

    def __init__(self, plant: Plant, deep: DeepValues | None, dense: Dense) -> None:
        self._plant, self._deep = plant, deep
        self.dense = Dense(dense.starts, dense.ends, with_room(dense.coefficients))
        self._left = np.ones(len(dense.starts), dtype=bool)

    def around(self, times: np.ndarray) -> None:
        """Mend the steps that times lie in."""
        starts, ends, coefficients = self.dense
        if not self._left.any():
            return
        around = self.dense.steps_around(times)
        some = around[self._left[around]]
        if len(some):
            part = Dense(starts[some], ends[some], coefficients[some])
            coefficients[some] = mended_states(self._plant, self._deep, part).coefficients
            self._left[some] = False

    def everywhere(self) -> None:
        """Mend all steps."""
        self.around(self.dense.starts)


def _parts(places: np.ndarray, each: int) -> Iterator[np.ndarray]:
    """Some places after the other, as many as make a batch."""
    return (places[batch] for batch in batches(len(places), each))


def _mended(
    x: np.ndarray, lengths: np.ndarray, part: np.ndarray, slopes: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Polynomials (pieces, degree + 1, n) behind two iterations, where these converge; slopes: f at the points."""
    points = len(part)
    powers = np.vander(part, points + 1, increasing=True)
    # From values of f at the points to the powers of its integral.
    integral = np.linalg.inv(powers[:, :points]) / np.arange(1, points + 1)[:, None]
    begin, end = x[:, :1], x.sum(axis=1)

    def once(values: np.ndarray) -> np.ndarray:
        found = np.concatenate([begin, lengths[:, None, None] * (integral @ slopes(values))], axis=1)
        found[:, 1] += end - found.sum(axis=1)
        return found

    before = powers @ x
    first = once(before)
    between = powers @ first
    second = once(between)
    moved, again = (np.abs(b - a).max(axis=1) for a, b in ((before, between), (between, powers @ second)))
    with np.errstate(invalid="ignore"):
        better = np.isfinite(second).all(axis=1) & (again <= CONVERGES * moved)
    return np.where(better[:, None, :], second, x)
