"""Values near those that a model begins with: where its formulas are defined, if they are not elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np

from daedalus.model.expressions import elements, symbol_key
from daedalus.model.model import Model

# How far from them values are drawn: a share of their size, and a little where they are zero.
DRAWN_AWAY, LITTLE = 0.02, 1e-3


def usual_values(book: Model) -> dict[int, float]:
    """What the model was written with, start values and parameters, by the keys of their symbols."""
    found: dict[int, float] = {}
    for variable in book.written.variables.values():
        symbols = elements(book.written.symbols[variable.name])
        given, guessed = (values or (None,) * len(symbols) for values in (variable.start, variable.guess))
        for symbol, *values in zip(symbols, given, guessed):
            found[symbol_key(symbol)] = next((float(value) for value in values if value is not None), 0.0)
        for chain in book.written.derivatives.get(variable.name, ()):
            for symbol in elements(ca.densify(chain)):
                found.setdefault(symbol_key(symbol), 0.0)
    return found


def drawn_near(draw: np.random.Generator, symbols: Sequence[ca.SX], usual: Mapping[int, float]) -> np.ndarray:
    """A random point near usual values; symbols without one are drawn between 0.2 and 1.6."""
    values = np.array([usual.get(symbol_key(s), np.nan) for s in symbols], dtype=float)
    spread = DRAWN_AWAY * np.abs(values) + LITTLE
    near = values + spread * draw.uniform(-1.0, 1.0, len(values))
    return np.where(np.isnan(values), draw.uniform(0.2, 1.6, len(values)), near)
