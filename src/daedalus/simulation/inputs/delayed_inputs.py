"""Delayed signals in a run: what they were before its start, and what a run has computed of them since.

What signals were is kept as polynomials, one piece a step, so that nothing is evaluated twice: each as its samples at
Chebyshev's points, evaluated by the barycentric formula (J.-P. Berrut, L. N. Trefethen, SIAM Review 46, 2004). Before
the start they are constant, or follow from a formula, which is sampled until polynomials of degree eight fit it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.errors import InputError, SolverError
from daedalus.model.switching.delays import BEFORE, SIGNAL, TIME
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System
from daedalus.simulation.plant.plant import Plant

# Of a formula before the start: the degree of a piece, how well it has to fit, and how many pieces there may be.
DEGREE, FITS, MOST_PIECES = 8, 1e-13, 512


@dataclass(frozen=True, eq=False)
class DelayedInputs:
    """Delayed signals: their slots in u, their delays, and all that is known of the signals themselves."""

    slots: tuple[int, ...]
    delays: tuple[float, ...]
    starts: np.ndarray  # (k,) pieces
    ends: np.ndarray
    samples: np.ndarray  # (k, degree + 1, signals)

    def at(self, times: np.ndarray) -> np.ndarray:
        """The delayed signals at times, (times, signals); the later values where they jump."""
        out = np.empty((len(times), len(self.slots)))
        for k, delay in enumerate(self.delays):
            back = np.clip(times - delay, self.starts[0], self.ends[-1])
            piece = np.searchsorted(self.starts, back, side="right") - 1
            part = (back - self.starts[piece]) / (self.ends[piece] - self.starts[piece])
            out[:, k] = np.sum(weights_at(part, self.samples.shape[1] - 1) * self.samples[piece, :, k], axis=1)
        return out

    def until(self, t: float) -> DelayedInputs:
        """What is known before a time."""
        kept = self.starts < t
        parts = (self.starts[kept], self.ends[kept], np.ascontiguousarray(self.samples[kept]))
        return DelayedInputs(self.slots, self.delays, *parts)

    def recorded(self, run: Any) -> DelayedInputs:
        """The same with what a core run has recorded."""
        return DelayedInputs(self.slots, self.delays, *run.signals)

    def core(self, plant: Plant, system: System) -> Any:
        """All this as the core takes it. plant: whose functions it calls; system: that names the signals."""
        signals = compiled_signals(plant, system)
        slots = list(self.slots)
        return _core.Delays(signals.core, list(self.delays), slots, self.starts, self.ends, self.samples)


@remembered
def compiled_signals(plant: Plant, system: System) -> Any:
    """The signals that are delayed as a function of rows of a plant; system: that names them."""
    return plant.compiled_values("signals", _expressions(system, SIGNAL))


def _expressions(system: System, what: str) -> ca.SX:
    outputs = system.outputs
    return ca.vertcat(*(ca.vec(ca.densify(outputs[v.name + what])) for v in system.delayed))


def delays_at(system: System, p: np.ndarray) -> tuple[float, ...]:
    """How long each element of the delayed signals is delayed; what is not positive is refused."""
    function = ca.Function("delays", [system.symbol("p")], [_expressions(system, TIME)])
    values = function(p).full().ravel()
    found: list[float] = []
    for variable, value in zip(system.delayed, values.tolist()):
        if not (np.isfinite(value) and value > 0):
            raise InputError(
                f"The time of {variable.name!r} is {value:g}.",
                because="a delay must be positive.",
                remedy="a positive parameter",
            )
        found += [float(value)] * variable.size
    return tuple(found)


def check_signals(system: System) -> None:
    """Refuse delays of what is not a signal: a derivative that no state stands for."""
    for variable in system.delayed:
        signal = system.output(variable.name + SIGNAL)
        if ca.depends_on(signal, system.symbol("xdot")):
            raise InputError(
                f"{variable.name!r} delays a derivative.",
                because="such equations are neutral: jumps in them never become smooth.",
                remedy="m.delay of a state, and m.der of it in the equations",
            )


def before_start(
    system: System, p: np.ndarray, t0: float, values: np.ndarray, known: DelayedInputs | None = None
) -> DelayedInputs:
    """What signals were before t0: constant values, or their histories. known: by another run, instead of all that."""
    delays = delays_at(system, p)
    slots = tuple(int(k) for v in system.delayed for k in system.place(v.name).positions)
    if known is not None:
        kept = known.until(t0)
        if len(kept.starts):
            return DelayedInputs(slots, delays, kept.starts, kept.ends, kept.samples)
    begin = t0 - max(delays) * (1 + 1e-9)
    given = [k for k, v in enumerate(system.delayed) if v.name + BEFORE in system.output_names]
    if not given:
        return DelayedInputs(slots, delays, np.array([begin]), np.array([t0]), values.reshape(1, 1, -1))
    return DelayedInputs(slots, delays, *_fitted(system, p, (begin, t0), values))


@cache
def sampled_parts(degree: int) -> np.ndarray:
    """Where a piece is sampled: Chebyshev's points of [0, 1] with both ends."""
    return 0.5 * (1 - np.cos(np.pi * np.arange(degree + 1) / degree)) if degree else np.ones(1)


def weights_at(parts: np.ndarray, degree: int) -> np.ndarray:
    """What the samples of a piece count for at parts of it, (parts, degree + 1)."""
    signs = (-1.0) ** np.arange(degree + 1)
    signs[[0, -1]] *= 0.5
    gaps = parts[:, None] - sampled_parts(degree)
    met = gaps == 0
    weights = np.where(met.any(axis=1, keepdims=True), met, signs / np.where(met, 1.0, gaps))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _fitted(
    system: System, p: np.ndarray, span: tuple[float, float], values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pieces that fit the formulas of time, halved until they do."""
    outputs, columns, first = system.outputs, [], 0
    for variable in system.delayed:
        own = values[first : first + variable.size]
        name = variable.name + BEFORE
        columns.append(ca.vec(ca.densify(outputs[name])) if name in outputs else ca.SX(ca.DM(own)))
        first += variable.size
    function = ca.Function("before", [system.symbol("t"), system.symbol("p")], [ca.vertcat(*columns)])
    nodes = sampled_parts(DEGREE)
    between = 0.5 * (nodes[1:] + nodes[:-1])
    weights = weights_at(between, DEGREE)

    def at(times: np.ndarray) -> np.ndarray:
        return np.array(function(ca.DM(times).T, ca.repmat(ca.DM(p), 1, len(times))).full().T)

    sizes = np.zeros(len(values))  # of each signal, as far as it was seen
    waiting = [span]
    pieces: list[tuple[float, float, np.ndarray]] = []
    while waiting:
        begin, end = waiting.pop()
        samples = at(begin + nodes * (end - begin))
        wanted = at(begin + between * (end - begin))
        sizes = np.maximum(sizes, np.abs(np.concatenate([samples, wanted])).max(axis=0))
        off = (np.abs(weights @ samples - wanted) / np.where(sizes > 0, sizes, 1.0)).max(initial=0.0)
        if not np.isfinite(off):
            raise SolverError(f"The history of a delayed signal is not finite between t = {begin:g} and {end:g}.")
        if off <= FITS or len(pieces) + len(waiting) > MOST_PIECES:
            pieces.append((begin, end, samples))
        else:
            middle = 0.5 * (begin + end)
            waiting += [(middle, end), (begin, middle)]
    starts, ends, all_samples = zip(*pieces)
    return np.array(starts), np.array(ends), np.ascontiguousarray(all_samples)
