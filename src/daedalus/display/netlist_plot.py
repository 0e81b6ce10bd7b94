"""Draw what the analyses of a netlist gave: a run, a Bode diagram, or curves over a swept value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from daedalus.display.look import legend, look, panel_of
from daedalus.errors import InputError


@look()
def plot_results(results: Any, names: Sequence[str] | None) -> Any:
    """The figure of the first of .tran, .ac, .dc and .noise that there is."""
    if results.tran is not None:
        return results.tran.plot(names)
    if results.ac is not None:
        return _bode(results.ac, names or _voltages(results))
    data = results.dc if results.dc is not None else results.noise
    if data is None:
        raise InputError("There is nothing to draw.", "no .tran, .ac, .dc or .noise", remedy=".tran 1u 1m")
    over = str(list(data.dims)[-1]) if results.dc is not None else "frequency"
    figure, panel = panel_of(None, (8, 3.6))
    for name in names or (_voltages(results) if results.dc is not None else ["onoise", "inoise"]):
        for row in np.atleast_2d(data[name].values):
            panel.plot(data[over].values, row, label=name, linewidth=1.4)
    if results.dc is None:
        panel.set_xscale("log")
        panel.set_yscale("log")
    panel.set_xlabel(over)
    panel.grid(alpha=0.3)
    legend(panel, beside=True)
    return figure


def _voltages(results: Any) -> list[str]:
    return [name for name in results.shown if name.startswith("v_")]


def _bode(data: Any, names: Sequence[str]) -> Any:
    import matplotlib.pyplot as plt

    figure, (upper, lower) = plt.subplots(2, 1, sharex=True, figsize=(8, 5.4), layout="constrained")
    frequency = data["frequency"].values
    for name in names:
        values = data[name].values
        with np.errstate(divide="ignore"):
            upper.semilogx(frequency, 20 * np.log10(np.abs(values)), label=name, linewidth=1.4)
        lower.semilogx(frequency, np.degrees(np.unwrap(np.angle(values))), label=name, linewidth=1.4)
    upper.set_ylabel("magnitude [dB]")
    lower.set_ylabel("phase [°]")
    lower.set_xlabel("frequency [Hz]")
    for panel in (upper, lower):
        panel.grid(alpha=0.3, which="both")
    legend(upper, beside=True)
    return figure
