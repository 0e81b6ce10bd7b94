"""Data and fitted model over time, one panel a measured name; residuals over time and beside normal noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.display.look import TIME_LABEL
from daedalus.estimation.fit_result import Fit


def plot_fit(fit: Fit, ax: Any = None) -> Any:
    """Draw the samples as points and the model as lines; experiments share a panel."""
    import matplotlib.pyplot as plt

    problem = fit._problem
    names = list(problem.sigma)
    axes = np.atleast_1d(ax) if ax is not None else plt.subplots(len(names), sharex=True, squeeze=False)[1][:, 0]
    for name, panel in zip(names, axes):
        for one, curves in zip(problem.experiments, problem.curves(fit._theta)):
            if name not in one.measured:
                continue
            points = panel.plot(one.times, one.measured[name], ".", alpha=0.5)
            for point, line in zip(points, curves[name][0].T):
                panel.plot(one.times, line, color=point.get_color())
        panel.set_ylabel(name)
    axes[-1].set_xlabel(TIME_LABEL)
    return axes[0].figure


def plot_residuals(fit: Fit, ax: Any = None) -> Any:
    """Draw residuals in standard deviations over time (left) and their quantiles over those of normal noise (right).

    ax: two axes a measured name; a new figure if None.
    """
    import matplotlib.pyplot as plt
    from scipy import stats

    names = list(fit.noise)
    panels = plt.subplots(len(names), 2, squeeze=False)[1] if ax is None else np.reshape(ax, (len(names), 2))
    for name, (over_time, quantiles) in zip(names, panels):
        every: list[np.ndarray] = []
        for one, rows in zip(fit._problem.experiments, fit.residuals):
            if name in rows:
                shares = rows[name] / fit.noise[name]
                over_time.plot(one.times, shares, ".")
                every.append(shares[np.isfinite(shares)])
        ordered = np.sort(np.concatenate(every))
        normal = stats.norm.ppf((np.arange(len(ordered)) + 0.5) / len(ordered))
        quantiles.plot(normal, ordered, ".")
        quantiles.plot(normal[[0, -1]], normal[[0, -1]], color="0.5", linewidth=1)
        over_time.axhspan(-2, 2, color="0.5", alpha=0.15, linewidth=0)
        over_time.set_ylabel(f"{name}, residual / σ")
        quantiles.set_xlabel("normal noise")
    panels[-1][0].set_xlabel(TIME_LABEL)
    return panels[0][0].figure
