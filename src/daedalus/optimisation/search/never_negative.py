"""States that no motion of the model takes below zero: amounts and concentrations.

A search between the motions may take them there, to other sides of poles such as x / (k + x), and not come back. Where
xᵢ = 0 and the others are not negative, xᵢ' >= 0 keeps xᵢ from falling below zero (the system is positive: L. Farina,
S. Rinaldi, Positive Linear Systems, 2000, chapter 2). That is looked at in many places, so that it is no proof: what is
found with xᵢ >= 0 keeps all that was asked for, as every plan.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import ROUNDING
from daedalus.model.expressions import elements, symbol_key
from daedalus.optimisation.description.description import Description
from daedalus.optimisation.result.plan import Plan
from daedalus.optimisation.transcription.boundary.reference_ends import fixed_states

# How many places are looked at for every state, and over how many orders of magnitude.
PLACES, ORDERS = 200, 6.0


def never_negative(description: Description) -> dict[int, str]:
    """The states that begin at zero or above and never fall below, by position; without those that are bounded so."""
    system, form = description.system, description.form
    if form.unknowns.numel() or description.given or form.rates.numel() == 0:
        return {}
    starts, letters = fixed_states(description.starts), ("t", "x", "u", "p")
    symbols = [system.symbol(letter) for letter in letters]
    rates = ca.substitute([form.rates], [form.damping], [ca.SX.zeros(form.damping.shape)])[0]
    function = ca.Function("rates", symbols, [rates])
    draw = np.random.default_rng(0)
    kept = [k for k, value in starts.items() if value >= 0]
    while kept:
        left = [k for k in kept if _stays(description, function, kept, k, draw)]
        if left == kept:
            break
        kept = left
    symbols_of_states = elements(system.symbol("x"))
    lower = {k: description.bounds.get(symbol_key(symbols_of_states[k]), (-np.inf, np.inf))[0] for k in kept}
    return {k: system.labels["x"][k] for k in kept if lower[k] < 0}


def fallen_below_zero(description: Description, plan: Plan) -> dict[int, str]:
    """All of those states where a search has taken one below zero, which may have led it astray."""
    found = never_negative(description)
    return found if any(plan[name].min() < 0 for name in found.values()) else {}


def with_bounds(description: Description, states: dict[int, str]) -> dict[int, tuple[float, float]]:
    """The bounds of a problem with these states at zero or above."""
    symbols = elements(description.system.symbol("x"))
    found = dict(description.bounds)
    for k in states:
        upper = found.get(symbol_key(symbols[k]), (-np.inf, np.inf))[1]
        found[symbol_key(symbols[k])] = (0.0, upper)
    return found


def _stays(
    description: Description, function: ca.Function, kept: list[int], own: int, draw: np.random.Generator
) -> bool:
    """Whether a state does not fall from zero, wherever the kept ones are not negative."""
    n, system = description.system.sizes["x"], description.system
    x = _numbers(draw, (n, PLACES))
    x[kept] = np.abs(x[kept])
    x[own] = 0.0
    inputs = [description.bounds.get(symbol_key(s), (-np.inf, np.inf)) for s in elements(system.symbol("u"))]
    p = np.tile(np.asarray(description.parameters, dtype=float)[:, None], PLACES)
    for k, wanted in description.free.items():
        p[k] = _between(draw, wanted.lower, wanted.upper)
    u = np.array([_between(draw, *limits) for limits in inputs]).reshape(len(inputs), PLACES)
    t = description.begin + np.abs(_numbers(draw, (1, PLACES)))
    rates = np.asarray(function.map(PLACES)(t, x, u, p))
    size = np.abs(np.where(np.isfinite(rates), rates, 0.0)).max(axis=0)
    return bool(np.isfinite(rates[own]).all() and np.all(rates[own] >= -ROUNDING * size))


def _numbers(draw: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    sizes = 10.0 ** draw.uniform(-ORDERS, ORDERS, size=shape)
    return np.asarray(np.where(draw.uniform(size=shape) < 0.5, -1.0, 1.0) * sizes)


def _between(draw: np.random.Generator, lower: float, upper: float) -> np.ndarray:
    """Numbers between two, of any size where they are open."""
    if np.isfinite(lower) and np.isfinite(upper):
        return np.asarray(draw.uniform(lower, upper, size=PLACES))
    return np.asarray(np.clip(_numbers(draw, (1, PLACES))[0], lower, upper))
