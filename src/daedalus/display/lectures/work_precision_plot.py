"""Draw work and precision: error over work in logarithmic axes, one line a method."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.display.look import Axes, look, panel_of
from daedalus.errors import InputError
from daedalus.studies.work_precision import WorkPrecision


@look()
def plot_work_precision(found: WorkPrecision, ax: Axes | None, work: str) -> Any:
    """One line per method; runs that failed are left out, and a method without any run is named as such."""
    if work not in ("evaluations", "steps", "seconds"):
        raise InputError(f"work={work!r} is not measured.", remedy='work="evaluations", "steps" or "seconds"')
    figure, ax = panel_of(ax, (6.4, 4.4))
    marks = "os^Dv<>P*X"
    for k, (name, errors) in enumerate(found.errors.items()):
        cost = getattr(found, work)[name]
        good = np.isfinite(errors) & (errors > 0) & (cost > 0)
        ax.loglog(cost[good], errors[good], f"{marks[k % len(marks)]}-", markersize=5,
                  label=name if good.any() else f"{name}: no run succeeded")  # fmt: skip
    words = {"evaluations": "evaluations of the equations", "steps": "steps", "seconds": "processor time (s)"}
    ax.set(xlabel=words[work], ylabel="error at the end")
    ax.set_title(f"Work and precision: {found.model}", fontsize="medium")
    ax.grid(alpha=0.3, which="both")
    ax.legend(fontsize="small")
    return figure
