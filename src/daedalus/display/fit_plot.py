"""Data and fitted model over time with residuals below, one row per measured name; residuals beside normal noise."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

import numpy as np

from daedalus.display.look import COLOURS, TIME_LABEL, labelled, legend, look
from daedalus.estimation.fit_result import Fit
from daedalus.model.values import unit_of

# How much the band of noise around the model reaches, in standard deviations.
BAND = 2.0


@look()
def plot_fit(fit: Fit, ax: Any = None) -> Any:
    """Draw the samples as points, the model as lines with a band of the noise, and residuals in panels below."""
    import matplotlib.pyplot as plt

    problem = fit.problem
    names = list(problem.sigma)
    below: list[Any] = [None] * len(names)
    if ax is not None:
        axes = list(np.atleast_1d(ax))
    else:
        heights = [part for _ in names for part in (2.4, 0.9)]
        figure, grid = plt.subplots(
            2 * len(names), 1, sharex=True, squeeze=False, figsize=(8, 1.0 + sum(heights)),
            layout="constrained", gridspec_kw={"height_ratios": heights},
        )  # fmt: skip
        axes, below = list(grid[::2, 0]), list(grid[1::2, 0])
        values = ", ".join(f"{name} = {fit[name]:.4g} ± {fit.std[name]:.1g}" for name in fit.labels[:3])
        more = f" and {len(fit.labels) - 3} more" if len(fit.labels) > 3 else ""
        figure.suptitle("\n".join(wrap(f"{fit.model.name}: {values}{more}", 80)), fontsize="medium")
    for name, panel, rest in zip(names, axes, below):
        _draw_name(fit, name, panel, rest)
        legend(panel, beside=ax is None)
    (axes if ax is not None else below)[-1].set_xlabel(TIME_LABEL)
    return axes[0].figure


def _draw_name(fit: Fit, name: str, panel: Any, rest: Any) -> None:
    problem, drawn = fit.problem, 0
    several = sum(name in one.measured for one in problem.experiments) > 1
    for k, (one, curves) in enumerate(zip(problem.experiments, fit.curves)):
        if name not in one.measured:
            continue
        measured = np.reshape(one.measured[name], (len(one.times), -1))
        lines, sigma = curves[name][0], np.atleast_1d(np.asarray(problem.sigma[name], dtype=float))
        for j in range(measured.shape[1]):
            colour = COLOURS[drawn % len(COLOURS)]
            drawn += 1
            label = (name if measured.shape[1] == 1 else f"{name}[{j}]") + (f", experiment {k}" if several else "")
            noise = BAND * float(sigma[min(j, len(sigma) - 1)])
            line = lines[:, j]
            panel.plot(one.times, measured[:, j], ".", color=colour, alpha=0.5, label=f"{label}: data")
            panel.plot(one.times, line, color=colour, label=f"{label}: model")
            panel.fill_between(one.times, line - noise, line + noise, color=colour, alpha=0.15, linewidth=0,
                               label=f"± {BAND:g} σ" if drawn == 1 else None)  # fmt: skip
            if rest is not None:
                rest.plot(one.times, measured[:, j] - line, ".", color=colour, alpha=0.6)
    unit = unit_of(fit.model.freeze(), name)
    panel.set_ylabel(labelled(name, unit))
    if rest is not None:
        rest.axhline(0.0, color="0.5", linewidth=0.8)
        rest.set_ylabel(labelled("residual", unit))


@look()
def plot_residuals(fit: Fit, ax: Any = None) -> Any:
    """Draw residuals in standard deviations over time (left) and their quantiles over those of normal noise (right).

    ax: two axes per measured name; a new figure if None.
    """
    import matplotlib.pyplot as plt
    from scipy import stats

    names = list(fit.noise)
    if ax is None:
        figure, panels = plt.subplots(
            len(names), 2, squeeze=False, figsize=(10, 1.2 + 2.6 * len(names)), layout="constrained"
        )
        figure.suptitle(f"{fit.model.name}: residuals of the fit")
    else:
        panels = np.reshape(ax, (len(names), 2))
    for name, (over_time, quantiles) in zip(names, panels):
        every: list[np.ndarray] = []
        for k, (one, rows) in enumerate(zip(fit.problem.experiments, fit.residuals)):
            if name in rows:
                shares = rows[name] / fit.noise[name]
                over_time.plot(one.times, shares, ".", color=COLOURS[k % len(COLOURS)], label=f"experiment {k}")
                every.append(shares[np.isfinite(shares)])
        ordered = np.sort(np.concatenate(every), axis=None)
        normal = stats.norm.ppf((np.arange(len(ordered)) + 0.5) / len(ordered))
        quantiles.plot(normal, ordered, ".", label="residuals")
        quantiles.plot(normal[[0, -1]], normal[[0, -1]], color="0.5", linewidth=1, label="normal noise")
        over_time.axhspan(-BAND, BAND, color="0.5", alpha=0.15, linewidth=0, label=f"± {BAND:g} σ")
        over_time.set_ylabel(f"{name}, residual / σ")
        quantiles.set_ylabel("residual / σ")
        legend(over_time, beside=False)
        legend(quantiles, beside=False)
    panels[-1][0].set_xlabel(TIME_LABEL)
    panels[-1][1].set_xlabel("quantile of normal noise / σ")
    return panels[0][0].figure
