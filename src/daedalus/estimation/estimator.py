"""States from sampled measurements: the extended Kalman filter, and estimation over a moving horizon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from daedalus.errors import InputError
from daedalus.estimation.moving_horizon import HorizonPoint, smoothed
from daedalus.estimation.propagation import Propagation
from daedalus.model.model import Model
from daedalus.model.system.system import System

KINDS = ("ekf", "mhe")


class Estimator:
    """Follows the state of a model by measurements: `x = estimator(y, u)` once every sampling interval.

    A call takes the measurements y of this moment (NaN for missing ones) and the inputs u that hold from now until the
    next call, and gives the estimate of the state at this moment, a vector in the order of `labels["x"]`. Estimates lie
    on the constraints of the model, and the covariance along them: a quaternion is corrected in its tangent space.

    Parameters
    ----------
    model: of any index that `dd.reduce` makes explicit. outputs: names of what is measured.
    start: values by name, or those of the model. start_covariance, process_noise, measurement_noise: a number, a
        diagonal, a matrix, or variances by name. Process noise is the spectral density of white noise in the state
        equations; measurement noise the covariance of one sample.
    kind: "ekf" corrects the last state; "mhe" the last `horizon` states together, again linearised where they are.
    every: the sampling interval. simulate_options: those of `dd.simulate`.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("constant")
    >>> x = m.state("x", start=0.0)
    >>> m.equation(m.der(x), 0)
    >>> estimator = dd.Estimator(m, ["x"], start_covariance=1.0, measurement_noise=1.0, every=0.1)
    >>> [round(float(estimator([1.0])[0]), 6) for _ in range(3)]
    [0.5, 0.666667, 0.75]
    """

    def __init__(
        self,
        model: Model | System,
        outputs: str | Sequence[str],
        start: Mapping[str, object] | None = None,
        start_covariance: object = 1.0,
        process_noise: object = 0.0,
        measurement_noise: object = 1.0,
        kind: str = "ekf",
        every: float = 0.01,
        horizon: int = 10,
        **simulate_options: Any,
    ) -> None:
        if kind not in KINDS:
            raise InputError(f"kind={kind!r} is no estimator.", remedy='kind="ekf" or kind="mhe"')
        if not every > 0 or horizon < 1:
            raise InputError("every and horizon must be positive.", f"got {every!r} and {horizon!r}")
        names = [outputs] if isinstance(outputs, str) else list(outputs)
        self._model = Propagation(model, names, float(every), start, simulate_options)
        self.labels = {**self._model.labels, "y": tuple(names)}
        self.kind, self.time, self._horizon = kind, 0.0, horizon
        states = self.labels["x"]
        rows = len(self._model.measured(0.0, self._model.start, None)[0])
        tangent = self._model.tangent
        self.covariance = tangent @ _matrix(start_covariance, len(states), states, "start_covariance") @ tangent.T
        self._density = _matrix(process_noise, len(states), states, "process_noise")
        self._noise = _matrix(measurement_noise, rows, names, "measurement_noise")
        self.state = self._model.start
        self._inputs: np.ndarray | None = None
        self._nodes: list[HorizonPoint] = []

    def __call__(self, y: object, u: object = None) -> np.ndarray:
        """The estimate of the state at this moment; u holds until the next call."""
        measured = np.asarray(y, dtype=float).ravel()
        if measured.shape != (len(self._noise),):
            raise InputError(
                "The measurements do not fit.", f"got {measured.size} numbers for {', '.join(self.labels['y'])}"
            )
        if self._nodes:
            ahead = self._model.over(self.time, self.state, self._inputs, self._density)
            self.time += self._model.every
            self.state = ahead.x
            self.covariance = ahead.transition @ self.covariance @ ahead.transition.T + ahead.noise
        held = None if u is None else np.asarray(u, dtype=float).ravel()
        node = HorizonPoint(self.time, self.state, self.covariance, measured, held)
        self._nodes = [*self._nodes, node][-(self._horizon if self.kind == "mhe" else 1) :]
        if self.kind == "mhe":
            self.state, self.covariance = smoothed(self._model, self._nodes, self._density, self._noise)
        else:
            self.state, self.covariance = corrected(
                self._model, self.time, self.state, self.covariance, measured, self._inputs, self._noise
            )
        self._inputs = node.inputs
        return np.array(self.state)


def corrected(
    model: Propagation,
    t: float,
    x: np.ndarray,
    covariance: np.ndarray,
    measured: np.ndarray,
    u: np.ndarray | None,
    noise: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """A state and its covariance with measurements taken in, in Joseph's form; missing ones say nothing."""
    seen = np.isfinite(measured)
    if not np.any(seen):
        return x, covariance
    values, slopes = model.measured(t, x, u)
    H, R = slopes[seen], noise[np.ix_(seen, seen)]
    gain = np.linalg.solve(H @ covariance @ H.T + R, H @ covariance).T
    left = np.eye(len(x)) - gain @ H
    moved = x + gain @ (measured - values)[seen]
    return model.kept(t, moved, u), left @ covariance @ left.T + gain @ R @ gain.T


def _matrix(value: object, size: int, names: Sequence[str], word: str) -> np.ndarray:
    """A covariance from a number, a diagonal, a matrix, or variances by name."""
    if isinstance(value, Mapping):
        unknown = [name for name in value if name not in names]
        if unknown:
            raise InputError(f"{word}= has {unknown[0]}.", f"known are {', '.join(list(names)[:8])}")
        value = [value.get(name, 0.0) for name in names]
    array = np.asarray(value, dtype=float)
    whole = np.eye(size) * array if array.ndim == 0 else np.diag(array) if array.ndim == 1 else array
    if whole.shape != (size, size) or not np.allclose(whole, whole.T) or np.linalg.eigvalsh(whole)[0] < -1e-12:
        raise InputError(f"{word} is no covariance of {size} numbers.", f"got shape {array.shape}")
    return whole
