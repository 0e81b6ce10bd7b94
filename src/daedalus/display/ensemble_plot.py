"""Draw a sweep: one line a case, coloured by the swept value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.ensembles.ensemble import Ensemble
from daedalus.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_ensemble(en: Ensemble, name: str | None, ax: Axes | None) -> Any:
    """Draw one scalar variable over time for every case and return the figure."""
    import matplotlib.pyplot as plt

    scalars = [str(n) for n in en.data.data_vars if en.data[n].dims[-1:] == ("time",)]
    if not scalars:
        raise InputError("The sweep has no scalar variable to draw.", remedy='en["x"].isel(x_index=0).plot()')
    name = name or scalars[0]
    if name not in scalars:
        raise InputError(f"{name} is not a scalar of the sweep.", f"scalars: {', '.join(scalars)}")
    values = en[name]
    rows = values.values.reshape(-1, values.shape[-1])
    if ax is None:
        figure, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
    else:
        figure = ax.figure
    colour = _colour_values(en, len(rows))
    palette = plt.get_cmap("viridis")
    span = np.ptp(colour) or 1.0
    for row, value in zip(rows, colour):
        ax.plot(en.data["time"], row, color=palette((value - colour.min()) / span), linewidth=1.1)
    swept = [str(c) for c in en.data.coords if c != "time"]
    if np.ptp(colour) > 0:
        scale = plt.cm.ScalarMappable(cmap=palette, norm=plt.Normalize(colour.min(), colour.max()))
        figure.colorbar(scale, ax=ax, label=swept[0])
    unit = values.attrs.get("units", "")
    ax.set(xlabel="time", ylabel=f"{name} [{unit}]" if unit else name, title=en.data.attrs.get("title", ""))
    ax.grid(alpha=0.3)
    return figure


def _colour_values(en: Ensemble, count: int) -> np.ndarray:
    """The first swept value of every case."""
    first = next(str(c) for c in en.data.coords if c != "time")
    spread = en.data[first].broadcast_like(en.success) if first in en.success.dims else en.data[first]
    values = spread.transpose(*en.success.dims).values.reshape(-1)
    return values if len(values) == count else np.zeros(count)
