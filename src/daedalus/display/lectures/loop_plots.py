"""Draw a loop: Bode and Nyquist with margins, and the poles of the closed loop over the gain (root locus)."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.analysis.linear.margins import (
    Margins,
    away_from_zero,
    closed_poles,
    fine_frequencies,
    margins_of,
    state_space,
)
from daedalus.display.look import COLOURS, Axes, draw_axes, look, panel_of
from daedalus.model.names import counted

# Nyquist's curve is shown out to this size: an integrator has none.
FARTHEST = 4.0
# Bode's diagram shows so much beyond the lowest and the highest pole, zero or crossing.
AROUND = 30.0
GAINS = 600
# Gains reach so many decades around the one that makes the loop as large as one.
DECADES = 3.0
# What is shown around poles and zeros, in units of their spread.
MARGIN = 0.6
# Neighbours on a curve that differ by more than this part get a point between them, in so many rounds at most.
CORNER, ROUNDS, MOST_POINTS = 0.04, 6, 8000
# Decibels below and above the rest of a curve to which notches and peaks are drawn.
DEEPEST_NOTCH = 40.0
# Halvings of the gains between which real poles of the closed loop meet.
BISECTIONS = 40


@look()
def plot_bode(loop: Any, ax: tuple[Axes, Axes] | None) -> Any:
    """Magnitude and phase with the margins drawn where they are read."""
    import matplotlib.pyplot as plt

    if ax is None:
        figure, (upper, lower) = plt.subplots(2, 1, sharex=True, figsize=(8, 5.6), layout="constrained")
    else:
        (upper, lower), figure = ax, ax[0].figure
    w, values = smooth_curve(loop)
    found = margins_of(loop)
    phase = np.degrees(np.unwrap(np.angle(values)))
    with np.errstate(divide="ignore"):
        decibels = 20 * np.log10(np.abs(values))
    upper.semilogx(w, decibels)
    lower.semilogx(w, phase)
    upper.axhline(0.0, color="0.4", linewidth=0.9, linestyle="--")
    _mark_margins(upper, lower, w, decibels, phase, found)
    low, high = _shown(loop, w, found)
    inside = decibels[(w >= low) & (w <= high) & np.isfinite(decibels)]
    if len(inside):
        # A notch of undamped zeros has no floor, a peak of undamped poles no top: the rest of the curve limits both.
        even = np.interp(np.linspace(np.log(low), np.log(high), 400), np.log(w), decibels)
        floor, top = np.nanpercentile(even, [5, 95]) + np.array([-DEEPEST_NOTCH, DEEPEST_NOTCH])
        upper.set_ylim(max(float(inside.min()), floor) - 6, min(float(inside.max()), top) + 6)
    upper.set(ylabel="magnitude [dB]", title=_title(found), xlim=(low, high))
    lower.set(xlabel="frequency [rad/s]", ylabel="phase [°]")
    for panel in (upper, lower):
        panel.grid(alpha=0.3, which="both")
    return figure


def smooth_curve(loop: Any) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies and values of G(iω), close enough to each other that no corner is seen.

    Between neighbours that differ by more than a few percent there is one more, in several rounds.
    """
    w = fine_frequencies(loop)
    values = loop.transfer(1j * w)[:, 0, 0]
    for _ in range(ROUNDS):
        with np.errstate(invalid="ignore", divide="ignore"):
            apart = np.abs(np.diff(values)) / np.minimum(np.abs(values[:-1]), np.abs(values[1:]))
        far = np.flatnonzero(np.isfinite(apart) & (apart > CORNER))
        if not len(far) or len(w) + len(far) > MOST_POINTS:
            break
        # Not in the middle: poles on the imaginary axis lie there, between points on both sides.
        between = w[far] ** 0.55 * w[far + 1] ** 0.45
        order = np.argsort(np.concatenate([w, between]), kind="stable")
        values = np.concatenate([values, loop.transfer(1j * between)[:, 0, 0]])[order]
        w = np.concatenate([w, between])[order]
    return w, values


def _shown(loop: Any, w: np.ndarray, found: Margins) -> tuple[float, float]:
    """The frequencies that are drawn: a bit more than a decade around poles, zeros and crossings."""
    places = away_from_zero(np.concatenate([state_space(loop).poles(), state_space(loop).zeros()]))
    crossings = [at for at, _ in (*found.gain_crossings, *found.phase_crossings)]
    marks = np.array([x for x in (*places, *crossings) if w[0] * 10 < x < w[-1] / 10])
    return (marks.min() / AROUND, marks.max() * AROUND) if len(marks) else (w[0], w[-1])


def _mark_margins(
    upper: Any, lower: Any, w: np.ndarray, decibels: np.ndarray, phase: np.ndarray, found: Margins
) -> None:
    """A bar from the curve to the border; the legend has its length."""
    if np.isfinite(found.gain) and w[0] < found.gain_frequency < w[-1]:
        at, height = found.gain_frequency, -20 * np.log10(found.gain)
        text = f"gain margin {float(f'{found.gain:.3g}'):g} ({-height:.1f} dB)"
        upper.plot([at, at], [height, 0.0], color=COLOURS[1], linewidth=2.5, solid_capstyle="butt", label=text)
        upper.legend(loc="best", fontsize="small")
        lower.axvline(at, color=COLOURS[1], linewidth=0.8, linestyle=":")
    if np.isfinite(found.phase):
        at = found.phase_frequency
        height = float(np.interp(np.log(at), np.log(w), phase))
        border = height - found.phase
        lower.axhline(border, color="0.4", linewidth=0.9, linestyle="--")
        text = f"phase margin {found.phase:.1f}°"
        lower.plot([at, at], [border, height], color=COLOURS[2], linewidth=2.5, solid_capstyle="butt", label=text)
        lower.legend(loc="best", fontsize="small")
        upper.axvline(at, color=COLOURS[2], linewidth=0.8, linestyle=":")


def _title(found: Margins) -> str:
    if found.on_border:
        return "on the border of stability with negative feedback"
    return "stable with negative feedback" if found.stable else "unstable with negative feedback"


@look()
def plot_nyquist(loop: Any, ax: Axes | None) -> Any:
    """G(iω) for both signs of ω with the unit circle, −1, and the margins; far parts are cut."""
    _, values = smooth_curve(loop)
    found = margins_of(loop)
    figure, ax = panel_of(ax, (6.0, 5.6))
    size = np.abs(values)
    reach = float(np.clip(1.1 * size[np.isfinite(size)].max(initial=1.0), 1.5, FARTHEST))
    curve = np.where(size < 50 * reach, values, np.nan)
    ax.plot(curve.real, curve.imag, color=COLOURS[0], label="ω > 0")
    ax.plot(curve.real, -curve.imag, color=COLOURS[0], linestyle="--", linewidth=0.9, label="ω < 0")
    _arrow(ax, values, reach)
    turn = np.linspace(0, 2 * np.pi, 361)
    ax.plot(np.cos(turn), np.sin(turn), color="0.6", linewidth=0.8, linestyle=":")
    draw_axes(ax, color="0.5", linewidth=0.8)
    ax.plot(-1, 0, "+", color="black", markersize=11, markeredgewidth=2, label="−1")
    if np.isfinite(found.gain):
        ax.plot([-1 / found.gain], [0], "o", color=COLOURS[1], label=f"gain margin {float(f'{found.gain:.3g}'):g}")
    if np.isfinite(found.phase):
        angle = np.radians(180 + found.phase)
        ax.plot([0, np.cos(angle)], [0, np.sin(angle)], color=COLOURS[2], linewidth=0.9)
        ax.plot([np.cos(angle)], [np.sin(angle)], "s", color=COLOURS[2], label=f"phase margin {found.phase:.1f}°")
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xlabel="Re G(iω)", ylabel="Im G(iω)")
    right = int(np.sum(np.asarray(loop.poles()).real > 0))
    open_poles = f", {counted(right, 'open-loop pole')} to the right" if right else ""
    ax.set_title(f"{_title(found)}{open_poles}")
    ax.legend(loc="upper right", fontsize="small")
    return figure


def _arrow(ax: Any, values: np.ndarray, reach: float) -> None:
    """The direction of growing frequency, in the middle of what is shown."""
    shown = np.flatnonzero(np.abs(values) < reach)
    if len(shown) < 3:
        return
    steps = np.cumsum(np.abs(np.diff(values[shown])))
    k = shown[min(int(np.searchsorted(steps, 0.5 * steps[-1])), len(shown) - 2)]
    here, there = values[k], values[k + 1]
    if here != there:
        style = {"arrowstyle": "-|>", "color": COLOURS[0], "lw": 1.4, "mutation_scale": 16}
        ax.annotate("", (there.real, there.imag), (here.real, here.imag), arrowprops=style)


@look()
def plot_root_locus(loop: Any, gains: np.ndarray | None, ax: Axes | None) -> Any:
    """The poles of the closed loop u = −k y while k grows: from the poles (crosses) to the zeros (circles)."""
    chosen = with_break_points(loop, default_gains(loop) if gains is None else gains)
    branches = locus(loop, chosen)
    poles, zeros = np.asarray(state_space(loop).poles()), np.asarray(state_space(loop).zeros())
    figure, ax = panel_of(ax, (6.4, 5.6))
    for branch in branches.T:
        ax.plot(branch.real, branch.imag, color=COLOURS[0], linewidth=1.8)
    draw_axes(ax, color="0.5", linewidth=0.9)
    ax.plot(poles.real, poles.imag, "x", color="black", markersize=8, markeredgewidth=1.8, label="poles, k = 0")
    if len(zeros):
        ax.plot(zeros.real, zeros.imag, "o", color=COLOURS[1], markersize=7, fillstyle="none", label="zeros, k → ∞")
    crossings = border_gains(loop, chosen, branches)
    for k, (_, place) in enumerate(crossings):
        label = f"border at k = {', '.join(dict.fromkeys(f'{g:.4g}' for g, _ in crossings))}" if k == 0 else None
        ax.plot(place.real, place.imag, "s", color=COLOURS[2], markersize=5, label=label)
    places = np.concatenate([poles, zeros, [place for _, place in crossings]])
    half = (1 + MARGIN) * max(float(np.ptp(places.real)), 2 * float(np.abs(places.imag).max()), 1e-12) / 2 + 1e-12
    middle = (places.real.min() + places.real.max()) / 2
    ax.set(xlim=(middle - half, middle + half), ylim=(-half, half), aspect="equal")
    ax.set(xlabel="real part [1/s]", ylabel="imaginary part [rad/s]", title="root locus, u = −k y")
    ax.legend(fontsize="small")
    return figure


def default_gains(loop: Any) -> np.ndarray:
    """Zero, and gains around the one at which the loop is as large as one."""
    w = fine_frequencies(loop)
    size = np.abs(loop.transfer(1j * w)[:, 0, 0])
    size = size[np.isfinite(size) & (size > 0)]
    middle = -np.log10(np.median(size)) if len(size) else 0.0
    return np.concatenate([[0.0], np.logspace(middle - 2 * DECADES, middle + DECADES, GAINS)])


def with_break_points(loop: Any, gains: np.ndarray) -> np.ndarray:
    """Gains, with those just before and behind the ones at which real poles meet and leave the axis, or come to it."""

    def is_real(gain: float) -> int:
        found = closed_poles(loop, gain)
        return int(np.sum(found.imag == 0))

    counts, more = [is_real(float(gain)) for gain in gains], []
    for low, high, before, after in zip(gains, gains[1:], counts, counts[1:]):
        if before == after:
            continue
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            low, high = (middle, high) if is_real(middle) == before else (low, middle)
        more += [low, high]
    return np.unique(np.concatenate([gains, more]))


def locus(loop: Any, gains: np.ndarray) -> np.ndarray:
    """Closed-loop poles (gains, poles), each column one branch: neighbours are joined at the least distance."""
    from scipy.optimize import linear_sum_assignment

    rows = [closed_poles(loop, float(gains[0]))]
    for gain in gains[1:]:
        found = closed_poles(loop, float(gain))
        if np.all(np.isfinite(found)) and np.all(np.isfinite(rows[-1])):
            _, order = linear_sum_assignment(np.abs(rows[-1][:, None] - found[None, :]))
            found = found[order]
        rows.append(found)
    return np.array(rows)


def border_gains(loop: Any, gains: np.ndarray, branches: np.ndarray) -> list[tuple[float, complex]]:
    """Where branches cross the imaginary axis: gain and place."""
    from scipy.optimize import brentq

    def pole(gain: float, near: complex) -> complex:
        found = closed_poles(loop, gain)
        return complex(found[np.argmin(np.abs(found - near))])

    found = []
    real = branches.real
    for row, column in zip(*np.nonzero(real[:-1] * real[1:] < 0)):
        near = complex(branches[row, column])
        low, high = float(gains[row]), float(gains[row + 1])
        gain = low
        if pole(low, near).real * pole(high, near).real < 0:
            gain = float(brentq(lambda k, near=near: pole(k, near).real, low, high))
        found.append((gain, pole(gain, near)))
    return sorted(found, key=lambda pair: pair[0])
