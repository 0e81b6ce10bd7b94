"""Linear systems in words and labelled arrays: poles in order, names in a sentence, matrices with labelled axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from daedalus.analysis.linear.axis_names import Names
from daedalus.model.names import listed

if TYPE_CHECKING:
    import xarray

# What rounding leaves of a pole at zero, beside the largest one.
ROUNDING_LEFT = 1e-15


def by_real_part(poles: np.ndarray) -> np.ndarray:
    """Complex numbers in order of real part, then imaginary part."""
    values = np.asarray(poles, dtype=complex)
    return values[np.lexsort((values.imag, values.real))]


def complex_text(value: complex) -> str:
    """A pole in a sentence: `-0.1 + 2j`."""
    if value.imag == 0:
        return f"{value.real:.4g}"
    return f"{value.real:.4g} {'+' if value.imag > 0 else '-'} {abs(value.imag):.4g}j"


def without_rounding(poles: np.ndarray) -> np.ndarray:
    """Poles whose parts are zero where rounding alone is left, beside the largest pole.

    Example
    -------
    >>> import numpy as np
    >>> without_rounding(np.array([-2e-18, 0.7 + 1e-17j])).tolist()
    [0j, (0.7+0j)]
    """
    values = np.asarray(poles, dtype=complex)
    finite = np.abs(values[np.isfinite(values)])
    least = ROUNDING_LEFT * finite.max(initial=0.0)
    real, imag = (np.where(np.abs(part) <= least, 0.0, part) for part in (values.real, values.imag))
    return real + 1j * imag


def describe(equations: str, states: Names, inputs: Names, outputs: Names, poles: np.ndarray, note: str = "") -> str:
    """A linear system in a few lines: its equations, names and poles."""
    lines = [equations]
    for kind, names in (("states", states), ("inputs", inputs), ("outputs", outputs)):
        lines.append(f"  {kind}: {listed(names) or 'none'}")
    texts = [complex_text(pole) for pole in without_rounding(poles)]
    lines.append(f"  poles: {listed(texts) or 'none'}{note}")
    return "\n".join(lines)


def labelled(
    matrices: Mapping[str, np.ndarray], rows: tuple[str, Names], states: Names, inputs: Names, outputs: Names
) -> xarray.Dataset:
    """Matrices of a linear system as an xarray Dataset; `rows` names the axis of equations."""
    import xarray

    axes = {
        "E": (rows[0], "state"),
        "A": (rows[0], "state"),
        "B": (rows[0], "input"),
        "C": ("output", "state"),
        "D": ("output", "input"),
    }
    coords = {rows[0]: list(rows[1]), "state": list(states), "input": list(inputs), "output": list(outputs)}
    return xarray.Dataset({name: (axes[name], values) for name, values in matrices.items()}, coords=coords)
