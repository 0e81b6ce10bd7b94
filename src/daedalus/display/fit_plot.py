"""Data and fitted model over time, one panel a measured name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
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
    axes[-1].set_xlabel("time")
    return axes[0].figure
