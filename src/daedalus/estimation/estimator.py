"""States from sampled measurements: the extended Kalman filter, and estimation over a moving horizon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from daedalus import _core
from daedalus.algebra.agreement import HALF_OF_DIGITS
from daedalus.errors import InputError
from daedalus.estimation.covariance_matrix import covariance_matrix
from daedalus.estimation.model_noise import noise_density, without_noise
from daedalus.estimation.propagation import Propagation
from daedalus.model.model import Model, as_system
from daedalus.model.names import read_names
from daedalus.model.plain_numbers import plain_number, plain_vector
from daedalus.model.switching.schedule import SAME_TIME
from daedalus.model.system.system import System
from daedalus.model.values import unit_of

KINDS = ("ekf", "mhe")


class Estimator:
    """Estimates the state of a model from measurements: `x = estimator(y, u)` at every sample.

    A call takes the current measurements y (NaN for missing ones) and the inputs u that hold until the next call, and
    returns the estimated state, a vector in the order of `labels["x"]`. Estimates satisfy the constraints of the model,
    and a quaternion is corrected in its tangent space. `estimator(y, time=t)` takes measurements at any time, including
    late ones. An output that contains an input is computed with the inputs before the measurement: those of the
    previous call, or in the first call those passed with it.

    The state also holds the discrete variables of a model. They have no process noise, and no variance at the start
    unless `start_covariance` names them; those that conditions compare are followed and never corrected. A clock that
    ticks at the time of a call ticks after its measurement, with its inputs.

    Parameters
    ----------
    model: of any index that `dd.reduce` makes explicit. outputs: names of what is measured.
    start: values by name, or those of the model. start_covariance, process_noise, measurement_noise: a number, a
        diagonal, a matrix, or variances by name. Process noise is the spectral density of white noise in the state
        equations, integrated exactly over intervals of any length; by default that of the model's `m.noise`, or zero.
        Measurement noise is the covariance of one sample.
    kind: "ekf" corrects the last state; "mhe" corrects the last `horizon` states together and linearises again.
    every: the sampling interval. horizon: the number of samples that are stored, for "mhe" and for late measurements.
    simulate_options: options of `dd.simulate`. Inputs that are not in `inputs=` are passed with each call.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("constant")
    >>> x = m.state("x", start=0.0)
    >>> m.equation(m.der(x), 0)
    >>> estimator = dd.Estimator(m, ["x"], start_covariance=1.0, measurement_noise=1.0, every=0.1)
    >>> [round(float(estimator([1.0])[0]), 6) for _ in range(3)]
    [0.5, 0.666667, 0.75]
    >>> m = dd.Model("cart")
    >>> x = m.state("x", start=0.0); v = m.state("v", start=0.0); force = m.input("force")
    >>> m.equation([m.der(x), m.der(v)], [v, force])
    >>> estimator = dd.Estimator(m, ["x"], start_covariance=1e-6, measurement_noise=1e-2, every=0.1)
    >>> _, foreseen = estimator([0.0], [2.0]), estimator([float("nan")], [0.0])
    >>> foreseen.round(6).tolist()
    [0.01, 0.2]
    """

    def __init__(
        self,
        model: Model | System,
        outputs: str | Sequence[str],
        start: Mapping[str, object] | None = None,
        start_covariance: object = 1.0,
        process_noise: object = None,
        measurement_noise: object = 1.0,
        kind: str = "ekf",
        every: float = 0.01,
        horizon: int = 10,
        **simulate_options: Any,
    ) -> None:
        if kind not in KINDS:
            raise InputError(f"kind={kind!r} is not an estimator.", remedy='kind="ekf" or kind="mhe"')
        interval = plain_number(every, "every", "s")
        if not 0 < interval < np.inf or horizon < 1:
            raise InputError("every and horizon must be positive.", f"got {every!r} and {horizon!r}")
        names = read_names(outputs, "outputs")
        if not names:
            raise InputError("An estimator needs an output that is measured.", remedy='outputs=["x"]')
        noisy = as_system(model)
        self._model = Propagation(
            without_noise(noisy) if noisy.noises else model, names, interval, start, simulate_options
        )
        if process_noise is None:
            parameters = simulate_options.get("parameters")
            process_noise = noise_density(noisy, self._model.labels["x"], parameters) if noisy.noises else 0.0
        self.labels = {**self._model.labels, "y": tuple(names)}
        self.kind, self.time, self._horizon = kind, 0.0, horizon
        states = self.labels["x"]
        rows, tangent = self._model.outputs_count(), self._model.tangent
        system = self._model.system
        of_states = [unit_of(system, name) for name in states]
        self._units = [unit_of(system, name) for name in names]
        n, squares, rates = len(states), _squared(of_states), _squared(of_states, "/s")
        moves = np.ones(n)
        moves[self._model.rests] = 0.0
        self._spread = covariance_matrix(start_covariance, n, states, "start_covariance", squares)
        if isinstance(start_covariance, (int, float, np.number)):
            self._spread = self._spread * moves
        self.covariance = tangent @ self._spread @ tangent.T
        self._density = covariance_matrix(process_noise, n, states, "process_noise", rates) * np.outer(moves, moves)
        self._noise = covariance_matrix(measurement_noise, rows, names, "measurement_noise", _squared(self._units))
        self.state = self._model.start
        self._moments: list[MeasuredMoment] = []
        self._count: tuple[float, int, float] | None = (
            None  # a first time, the intervals since then, and where they end
        )
        self._before: np.ndarray | None = None  # the inputs before the first moment that is remembered

    def _repr_html_(self) -> str:
        from daedalus.display.cards.tool_cards import words_card

        return words_card(f"{self._model.system.name}: estimator", repr(self), self.labels)

    def __repr__(self) -> str:
        name, every = self._model.system.name, self._model.every
        return f"Estimator of {name!r}: {self.kind}, every {every:g} s, at t = {self.time:g} s"

    def __call__(self, y: object, u: object = None, time: float | None = None) -> np.ndarray:
        """The estimate of the state at the newest moment; u holds until the next call.

        Parameters
        ----------
        y: the measurements in the order of `labels["y"]`, NaN for missing ones.
        u: the inputs from now on, in the order of `labels["u"]` or by name. None for those of `inputs=`; those of the
            call before where `inputs=` gives none, or for a late measurement.
        time: when y was measured, `every` after the call before if None. A time before that of an earlier call is that
            of late measurements: they are taken in where they belong, and what came after is gone through again.
        """
        measured = plain_vector(y, "The measurements", self.labels["y"], self._units)
        if measured.shape != (len(self._noise),):
            raise InputError(
                "The measurements do not fit.", f"got {measured.size} numbers for {', '.join(self.labels['y'])}"
            )
        at = None if time is None else plain_number(time, "time", "s")
        if at is not None and self._moments and at < self.time:
            self._late(measured, u is not None, at)
        else:
            self._now(measured, self._inputs_of(u), at)
        return np.array(self.state)

    def _now(self, measured: np.ndarray, held: np.ndarray | None, time: float | None) -> None:
        moments = self._moments
        if moments:
            last = moments[-1]
            now = self._next_time() if time is None else time
            before = last.inputs
            self.state, self.covariance = self._model.over(
                last.time, now - last.time, self.state, self.covariance, before, self._density
            )[:2]
            self.time = now
        else:
            self.time = self.time if time is None else time
            before = self._before = self._begin(held)
        moment = MeasuredMoment(self.time, self.state, self.covariance, measured, held)
        moments.append(moment)
        if len(moments) > self._horizon:
            self._before = moments.pop(0).inputs
        if self.kind == "mhe":
            self.state, self.covariance = smoothed(self._model, moments, self._before, self._density, self._noise)
        else:
            self.state, self.covariance = corrected(self._model, moment, before, self._noise)

    def _next_time(self) -> float:
        """The interval after the last call, in exact decimals as clocks have them, so that sums of it do not drift."""
        every = Fraction(Decimal(repr(self._model.every)))
        if self._count is None or self._count[2] != self.time:
            self._count = self.time, 0, self.time
        begin, calls, _ = self._count
        now = float(Fraction(Decimal(repr(begin))) + (calls + 1) * every)
        self._count = begin, calls + 1, now
        return now

    def _begin(self, held: np.ndarray | None) -> np.ndarray | None:
        """The inputs before the first call: those of the call itself where the options have none."""
        if held is None or not np.any(self._model.open_inputs):
            return None
        self._model.begin_with(held)
        tangent = self._model.tangent
        self.state, self.covariance = self._model.start, tangent @ self._spread @ tangent.T
        return held

    def hold(self, u: object) -> None:
        """Set the inputs that hold until the next call, if they were chosen after the estimate."""
        held = self._inputs_of(u)
        if self._moments:
            self._moments[-1] = self._moments[-1]._replace(inputs=held)

    def to_c(self, folder: str | Path, name: str | None = None, steps: int | None = None) -> Any:
        """Write the filter as self-contained C99 beside its model: no heap, fixed sizes, a Makefile and a test.

        `NAME_filter_call(&filter, y, u)` is a call of the estimator, from its start on; `make test` compares calls to
        1e-10. Returns what `dd.exchange.c` returns.

        Parameters
        ----------
        name: the prefix in C; by default the name of the model.
        steps: explicit steps in an interval, all of one length; by default as many as the tolerances ask for in the
            first few calls.

        Raises an InputError for kind="mhe", stiff models, events, jumps, and models without formulas.

        Example
        -------
        >>> import daedalus as dd, tempfile
        >>> m = dd.Model("decay")
        >>> x = m.state("x", start=1.0)
        >>> m.equation(m.der(x), -x)
        >>> estimator = dd.Estimator(m, ["x"], measurement_noise=0.1, every=0.1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = estimator.to_c(folder)
        >>> written.files[4:]
        ('decay_filter.h', 'decay_filter.c', 'test_decay_filter.c')
        """
        from daedalus.exchange.c_code.export_filter import export_filter

        noises = (self._spread, self._density, self._noise)
        return export_filter(self.kind, self._model, self.labels["y"], noises, folder, name, steps)

    def _late(self, measured: np.ndarray, driven: bool, time: float) -> None:
        """Take in measurements of an earlier moment, and go on from there through what is remembered."""
        moments, slack = self._moments, SAME_TIME * self._model.every
        if time < moments[0].time - slack or driven:
            raise InputError(
                f"The measurements of t = {time:g} are too late."
                if not driven
                else "Late measurements do not accept inputs.",
                f"the last {len(moments)} moments are remembered, from t = {moments[0].time:g} on",
                remedy="a larger horizon=" if not driven else "u=None; the inputs of that time are stored",
            )
        k = max(i for i, moment in enumerate(moments) if moment.time <= time + slack)
        there = moments[k]._replace(time=max(time, moments[k].time), measured=measured)
        again = [moments[k], there, *moments[k + 1 :]]
        before = moments[k - 1].inputs if k else self._before
        found, self.state, self.covariance = gone_through(self._model, again, before, self._density, self._noise)
        self._moments = [*moments[:k], *found]
        if len(self._moments) > self._horizon:
            self._before = self._moments.pop(0).inputs
        if self.kind == "mhe":
            self.state, self.covariance = smoothed(self._model, self._moments, self._before, self._density, self._noise)

    def _inputs_of(self, u: object) -> np.ndarray | None:
        """The inputs from now on; None for those of the options."""
        last = self._moments[-1].inputs if self._moments else None
        if u is not None:
            return self._model.inputs_of(u, last, self.time)
        return last if np.any(self._model.open_inputs) else None


def _squared(units: Sequence[str], rest: str = "") -> list[str]:
    """The units of variances, and per time those of spectral densities."""
    return [f"({unit})**2{rest}" if unit else "" for unit in units]


# The last few states together: the least squares of a first state, the noise on the way, and all measurements.
#
# min |x₀ − x̄₀|²_P + Σ |x_k₊₁ − φ(x_k)|²_Q + Σ |y_k − h(x_k)|²_R, by Gauss–Newton: each round linearises at the
# states of the round before and solves the linear problem by a filter forward and a smoother back (Rauch, Tung,
# Striebel 1965).

# Gauss–Newton converges fast where measurements are good; rounds end earlier where states move no more.
ROUNDS, SETTLED = 4, HALF_OF_DIGITS


def smoothed(
    model: Propagation,
    nodes: Sequence[MeasuredMoment],
    before: np.ndarray | None,
    density: np.ndarray,
    noise: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The last state and its covariance, from all of the horizon; before: the inputs up to its first moment."""
    points, covariance = [node.foreseen for node in nodes], nodes[-1].covariance
    usual = model.system.nominal["x"]
    for _ in range(ROUNDS):
        found, covariance = _round(model, nodes, points, before, density, noise)
        moved = max(float(np.max(np.abs(a - b) / (usual + np.abs(b)))) for a, b in zip(found, points))
        points = found
        if moved < SETTLED:
            break
    last = nodes[-1]
    return model.kept(last.time, points[-1], last.inputs), covariance


def _round(
    model: Propagation,
    nodes: Sequence[MeasuredMoment],
    points: Sequence[np.ndarray],
    before: np.ndarray | None,
    density: np.ndarray,
    noise: np.ndarray,
) -> tuple[list[np.ndarray], np.ndarray]:
    """All states of the problem that is linearised at points, and the covariance of the last."""
    ahead_of, filtered = [], []
    x, P = nodes[0].foreseen, nodes[0].covariance
    for k, (node, at) in enumerate(zip(nodes, points)):
        seen = np.isfinite(node.measured)
        values, slopes = model.measured(node.time, at, nodes[k - 1].inputs if k else before)
        H, R = slopes[seen], noise[np.ix_(seen, seen)]
        if np.any(seen):
            gain = np.linalg.solve(H @ P @ H.T + R, H @ P).T
            x = x + gain @ ((node.measured - values)[seen] - H @ (x - at))
            left = np.eye(len(x)) - gain @ H
            P = left @ P @ left.T + gain @ R @ gain.T
        filtered.append((x, P))
        if k + 1 < len(nodes):
            on_it = model.kept(node.time, at, node.inputs)
            step = model.over(node.time, nodes[k + 1].time - node.time, on_it, P, node.inputs, density)
            x = step.x + step.transition @ (x - at)
            ahead_of.append((step.transition, x, step.transition @ P @ step.transition.T + step.noise))
            P = ahead_of[-1][2]
    found, later = [filtered[-1][0]], filtered[-1][0]
    for (own, spread), (transition, foreseen, wide) in zip(filtered[-2::-1], ahead_of[::-1]):
        later = own + spread @ transition.T @ np.linalg.pinv(wide) @ (later - foreseen)
        found.append(later)
    return found[::-1], filtered[-1][1]


class MeasuredMoment(NamedTuple):
    """One moment: what was foreseen there, what was measured, and the inputs that hold from then on."""

    time: float
    foreseen: np.ndarray
    covariance: np.ndarray
    measured: np.ndarray
    inputs: np.ndarray | None


def corrected(
    model: Propagation, moment: MeasuredMoment, before: np.ndarray | None, noise: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The state and its covariance with the measurements of a moment taken in; missing ones say nothing."""
    t, x = moment.time, moment.foreseen
    values, slopes = model.measured(t, x, before)
    found = _core.take_in(x, moment.covariance, slopes, noise, moment.measured - values)
    if not found:
        raise InputError(
            f"The measurements at t = {t:.6g} cannot be weighted.",
            "in some direction, neither the state nor the measurements have noise",
            remedy="measurement_noise= above zero, or a larger start_covariance=",
        )
    return model.kept(t, found[0], before), found[1]


def gone_through(
    model: Propagation,
    moments: Sequence[MeasuredMoment],
    before: np.ndarray | None,
    density: np.ndarray,
    noise: np.ndarray,
) -> tuple[list[MeasuredMoment], np.ndarray, np.ndarray]:
    """The moments with what is foreseen from the first one on, and the state and covariance after the last."""
    found = [moments[0]]
    x, P = corrected(model, moments[0], before, noise)
    for last, moment in pairwise(moments):
        x, P = model.over(last.time, moment.time - last.time, x, P, last.inputs, density)[:2]
        found.append(moment._replace(foreseen=x, covariance=P))
        x, P = corrected(model, found[-1], last.inputs, noise)
    return found, x, P
