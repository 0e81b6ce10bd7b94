"""Draw which equation contains which unknown before and after an index reduction, side by side."""

from __future__ import annotations

from typing import Any

from daedalus.analysis.analyse import analyse
from daedalus.display.incidence_plot import incidence_plot
from daedalus.display.look import look
from daedalus.model.model import Model
from daedalus.model.system.system import System
from daedalus.reduction.reduce import reduce

# Inches a row or column and a letter beside it, and the smallest and largest side of a panel.
PLACE, LETTER, SMALLEST, LARGEST = 0.32, 0.1, 2.5, 9.0


@look()
def plot_reduction(model: Model | System, **options: Any) -> Any:
    """The incidence of a model and of its reduced form in two panels, with index and kind above each.

    A mark shows that an equation contains an unknown; it is filled if the equation contains its derivative. Frames are
    blocks that are solved together.

    Parameters
    ----------
    options: of `dd.reduce`, such as `stabilise`.

    Example
    -------
    >>> import daedalus as dd, casadi as ca
    >>> m = dd.Model("pendulum")
    >>> p = m.coordinate("p", 2, start=[1, 0], rate=[0, 0])
    >>> m.kinetic_energy(0.5 * ca.sumsqr(m.rate(p))); m.potential_energy(9.81 * p[1])
    >>> rod = m.constraint("rod", ca.sumsqr(p) - 1)
    >>> figure = dd.plot_reduction(m)
    >>> [axes.get_title(loc="left").splitlines()[0] for axes in figure.axes]
    ['before: index 3', 'after: index 1']
    """
    import matplotlib.pyplot as plt

    reports = [analyse(model), analyse(reduce(model, **options))]
    sizes = [min(max(PLACE * max(r.signature.count, r.signature.size), SMALLEST), LARGEST) for r in reports]
    texts = [LETTER * max(map(len, r.system.equation_labels), default=0) for r in reports]
    names = [LETTER * max(map(len, (*r.system.labels["x"], *r.system.labels["z"])), default=0) for r in reports]
    figure, panels = plt.subplots(
        1, 2, figsize=(sum(sizes) + sum(texts) + 1, max(map(sum, zip(sizes, names))) + 1.2), width_ratios=sizes,
        layout="constrained",
    )  # fmt: skip
    for panel, when, report in zip(panels, ("before", "after"), reports):
        incidence_plot(report, panel)
        index = "no index at this point" if report.index is None else f"index {report.index}"
        panel.set_title(f"{when}: {index}\n{report.kind}", loc="left", fontsize="medium")
    return figure
