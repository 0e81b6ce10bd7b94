"""Draw the response of a linear system over time, and its transfer function over frequency."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from daedalus.analysis.linear.frequency_response import FrequencyResponse
from daedalus.analysis.linear.responses.response import Response
from daedalus.display.look import TIME_LABEL, Axes, labelled, legend, look, panel_column


@look()
def plot_response(response: Response, names: str | Sequence[str] | None, ax: Axes | None) -> Any:
    """Draw columns of a response over time and return the figure: one panel per unit; without names all outputs."""
    wanted = list(response.output_names) if names is None else [names] if isinstance(names, str) else list(names)
    units = list(dict.fromkeys(response.units.get(name, "") for name in wanted))
    figure, panels = panel_column(ax, len(units), 1.2 + 2.4 * len(units))
    for name in wanted:
        values, unit = response[name], response.units.get(name, "")
        panel = panels[units.index(unit)]
        for k, column in enumerate(np.atleast_2d(values.T)):
            label = name if values.ndim == 1 else f"{name}[{k}]"
            panel.plot(response.time, column, label=label, linewidth=1.4)
        panel.set_ylabel(labelled("", unit).strip())
    panels[-1].set_xlabel(TIME_LABEL)
    for panel in dict.fromkeys(panels):
        panel.grid(alpha=0.3)
        legend(panel, beside=ax is None)
    if ax is None:
        figure.suptitle(f"{response.title}: linear response".removeprefix(": "))
    return figure


@look()
def plot_frequency_response(response: FrequencyResponse, ax: tuple[Axes, Axes] | None) -> Any:
    """Draw magnitude in decibels and phase in degrees over the frequency and return the figure."""
    import matplotlib.pyplot as plt

    if ax is None:
        figure, (upper, lower) = plt.subplots(2, 1, sharex=True, figsize=(8, 5.4), layout="constrained")
    else:
        upper, lower = ax
        figure = upper.figure
    magnitude, phase = response.magnitude, np.degrees(response.phase)
    for row, output in enumerate(response.outputs):
        for column, source in enumerate(response.inputs):
            label = f"{source} to {output}"
            with np.errstate(divide="ignore"):
                decibels = 20.0 * np.log10(magnitude[:, row, column])
            upper.semilogx(response.frequency, decibels, label=label, linewidth=1.4)
            lower.semilogx(response.frequency, phase[:, row, column], label=label, linewidth=1.4)
    upper.set_ylabel("magnitude [dB]")
    lower.set_ylabel("phase [°]")
    lower.set_xlabel("frequency [rad/s]")
    for panel in (upper, lower):
        panel.grid(alpha=0.3, which="both")
    legend(upper, beside=ax is None)
    if ax is None:
        figure.suptitle("frequency response")
    return figure
