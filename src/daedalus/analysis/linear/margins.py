"""Margins of a loop: how far the gain, the phase and a delay may change before the closed loop loses stability.

The loop of G with negative feedback is on its border where G(iω) = −1. Where arg G = −180° the gain may grow or fall by
1 / |G|; where |G| = 1 the phase may fall by 180° + arg G, and a delay of that phase over ω does the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.analysis.linear.axis_names import Selection
from daedalus.errors import InputError

# Frequencies that are looked at in each decade, and how many decades beyond the slowest and fastest pole or zero.
IN_A_DECADE, BEYOND_POLES = 60, 3.0
# Decades that are looked at beyond a crossing far from all poles and zeros, and how far one is followed at most.
ASIDE, FARTHEST = 1.5, 20.0
# A gain that differs from one by less is one, and an angle of fewer degrees is zero: the loop is on its border.
ON_BORDER = 1e-9
# Places below this share of the farthest are zero: a double one comes out at the root of rounding, 1.5e-8, times a few.
AT_ZERO = 1e-7
# Beside a lightly damped pole or zero, in units of its distance from the imaginary axis.
BESIDE = np.array([-8.0, -4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0, 8.0])


@dataclass(frozen=True, eq=False)
class Margins:
    """The result of `lin.margins()`: the stability margins of a loop with one input and one output.

    gain: the factor nearest to one that brings the loop to its border, infinite where none does. phase: degrees that
    may be lost at the frequency where that is least, infinite where |G| never is one. delay: the least delay that
    brings the loop to its border. gain_frequency, phase_frequency: where gain and phase are read, NaN where nowhere.
    stable: whether the closed loop is stable as it is. gain_crossings, phase_crossings: all (frequency, margin).

    Example
    -------
    >>> import daedalus as dd
    >>> G = dd.LTI.from_transfer_function([4.0], [1.0, 3.0, 3.0, 1.0])
    >>> margins = G.margins()
    >>> round(margins.gain, 4), round(margins.phase, 2), margins.stable
    (2.0, 27.14, True)
    >>> print(margins)
    Stable with negative feedback: gain margin 2 at 1.732, phase margin 27.1° at 1.233.
    """

    gain: float
    phase: float
    delay: float
    gain_frequency: float
    phase_frequency: float
    stable: bool
    gain_crossings: tuple[tuple[float, float], ...]
    phase_crossings: tuple[tuple[float, float], ...]

    @property
    def on_border(self) -> bool:
        """Whether the closed loop has a pole on the imaginary axis as it is: the curve runs through −1."""
        gains = any(abs(np.log(factor)) < ON_BORDER for _, factor in self.gain_crossings)
        return gains or any(abs(angle) < ON_BORDER for _, angle in self.phase_crossings)

    def __str__(self) -> str:
        head = "On the border" if self.on_border else "Stable" if self.stable else "Unstable"
        gain = f"gain margin {self.gain:.4g} at {self.gain_frequency:.4g}"
        phase = f"phase margin {self.phase:.1f}° at {self.phase_frequency:.4g}"
        told = [gain if np.isfinite(self.gain) else "any gain", phase if np.isfinite(self.phase) else "any phase"]
        return f"{head} with negative feedback: {', '.join(told)}."

    __repr__ = __str__


def margins_of(loop: Any) -> Margins:
    """The margins of a system of one input and one output."""
    w = fine_frequencies(loop)
    values = loop.transfer(1j * w)[:, 0, 0]

    def at(frequency: float) -> complex:
        return complex(loop.transfer(np.array([1j * frequency]))[0, 0, 0])

    gains = _at_the_ends(loop)
    for k in np.flatnonzero(_changes(values.imag) & (values.real[:-1] + values.real[1:] < 0)):
        frequency = _root(lambda x: at(x).imag, w[k], w[k + 1])
        value = at(frequency)
        if value.real < 0 and abs(value.imag) < 1e-6 * abs(value):
            gains.append((frequency, float(1 / abs(value))))
    phases = []
    for k in np.flatnonzero(_changes(np.abs(values) - 1)):
        frequency = _root(lambda x: abs(at(x)) - 1, w[k], w[k + 1])
        phases.append((frequency, float((np.degrees(np.angle(at(frequency))) + 360) % 360 - 180)))
    found = _chosen(gains, phases, bool(np.all(closed_poles(loop, 1.0).real < 0)))
    return replace(found, stable=False) if found.on_border else found


def _at_the_ends(loop: Any) -> list[tuple[float, float]]:
    """Crossings of the negative axis at ω = 0 and beyond all frequencies."""
    found, poles = [], np.asarray(state_space(loop).poles())
    far = 1e8 * max(1.0, float(np.abs(poles).max(initial=1.0)))
    if not np.any(np.abs(poles) <= AT_ZERO * np.abs(poles).max(initial=0.0)):
        value = complex(loop.transfer(np.array([0j]))[0, 0, 0])
        found += [(0.0, float(1 / abs(value)))] if value.real < 0 else []
    through = float(np.asarray(state_space(loop).D)[0, 0])
    return [*found, *([(far, 1 / abs(through))] if through < 0 else [])]


def _chosen(gains: list[tuple[float, float]], phases: list[tuple[float, float]], stable: bool) -> Margins:
    nothing = (float("nan"), float("inf"))
    gain = min(gains, key=lambda pair: abs(np.log(pair[1])), default=nothing)
    phase = min(phases, key=lambda pair: abs(pair[1]), default=nothing)
    delays = [np.radians(angle % 360) / frequency for frequency, angle in phases if frequency > 0]
    delay = float(min(delays, default=np.inf))
    return Margins(gain[1], phase[1], delay, gain[0], phase[0], stable, tuple(gains), tuple(phases))


def one_pair(system: Any, source: str | None, output: str | None, what: str) -> Any:
    """The system between one input and one output; refuses a choice that is open."""
    chosen = []
    for kind, name, names in (("input", source, system.inputs), ("output", output, system.outputs)):
        if name is None and len(names) != 1:
            raise InputError(
                f"{what} needs one input and one output.",
                f"the {kind}s are {', '.join(names) or 'none'}",
                because="each pair of them is a different loop.",
                remedy=f"{kind}={names[0]!r}" if names else f"a system with an {kind}",
            )
        chosen.append(names[0] if name is None else name)
    picked: Selection = [chosen[0]]
    found = system.select(inputs=picked, outputs=[chosen[1]])
    if (len(found.inputs), len(found.outputs)) != (1, 1):
        raise InputError(
            f"{what} needs one input and one output.",
            f"{chosen[0]} and {chosen[1]} have {len(found.inputs)} and {len(found.outputs)} elements",
            remedy=f'input="{found.inputs[0]}", output="{found.outputs[0]}"',
        )
    return found


def state_space(loop: Any) -> Any:
    """A, B, C, D of a system in either form."""
    return loop.to_state_space() if hasattr(loop, "to_state_space") else loop


def closed_poles(loop: Any, gain: float) -> np.ndarray:
    """The poles with the feedback u = −gain · y."""
    space = state_space(loop)
    A, B, C, D = (np.asarray(getattr(space, letter), dtype=float) for letter in "ABCD")
    around = 1 + gain * float(D[0, 0])
    return np.linalg.eigvals(A - gain * (B @ C) / around) if around != 0 else np.full(len(A), np.nan + 0j)


def fine_frequencies(loop: Any) -> np.ndarray:
    """Frequencies that show every pole and zero: even in every decade, dense beside those that are hardly damped."""
    space = state_space(loop)
    places = np.concatenate([space.poles(), space.zeros()])
    sizes = away_from_zero(places)
    low, high = (np.log10(sizes.min()), np.log10(sizes.max())) if len(sizes) else (0.0, 0.0)
    low, high = low - BEYOND_POLES, high + BEYOND_POLES
    low, high = min(low, _far_crossing(loop, low, -1.0)), max(high, _far_crossing(loop, high, 1.0))
    w = np.logspace(low, high, int(IN_A_DECADE * (high - low)) + 1)
    near = (np.abs(places.imag)[:, None] + np.abs(places.real)[:, None] * BESIDE[None, :]).ravel()
    w = np.unique(np.concatenate([w, near[near > w[0]]]))
    # On a pole of the imaginary axis there is no value.
    on_axis = np.abs(places.imag[np.abs(places.real) <= 1e-12 * np.maximum(sizes.max(initial=1.0), NOT_ZERO)])
    return w[~np.isin(w, on_axis)]


def _far_crossing(loop: Any, end: float, way: float) -> float:
    """The decade up to which to look, so that a gain of one on the straight line beyond an end is inside.

    Far from all poles and zeros |G| is c ωⁿ with a whole number n.
    """
    here, there = np.abs(loop.transfer(1j * 10.0 ** np.array([end, end + way]))[:, 0, 0])
    if not (np.isfinite(here) and np.isfinite(there) and here > 0 and there > 0):
        return end
    slope = round(float(np.log10(there / here)) * way)
    if not slope:
        return end
    crossing = end - float(np.log10(here)) / slope
    return float(np.clip(crossing + way * ASIDE, end - FARTHEST, end + FARTHEST))


def away_from_zero(places: np.ndarray) -> np.ndarray:
    """The sizes of poles and zeros without those that are zero but for rounding.

    Example
    -------
    >>> away_from_zero(np.array([2e-9j, -2e-9j, -1.0, 3.0]))
    array([1., 3.])
    """
    sizes = np.abs(places)
    return sizes[sizes > AT_ZERO * sizes.max(initial=0.0)]


def _changes(values: np.ndarray) -> np.ndarray:
    """Between which neighbours the sign changes; a value of zero has the sign of the one before it."""
    signs = np.sign(values)
    for k in np.flatnonzero(signs == 0):
        signs[k] = signs[k - 1] if k else 0.0
    return np.isfinite(values[:-1]) & np.isfinite(values[1:]) & (signs[:-1] * signs[1:] < 0)


def _root(function: Any, low: float, high: float) -> float:
    from scipy.optimize import brentq

    return float(brentq(function, low, high, xtol=1e-15 * high, rtol=1e-14))
