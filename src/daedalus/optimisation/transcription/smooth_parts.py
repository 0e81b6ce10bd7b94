"""What of a problem wants to be small, and the same without kinks: costs, integrals, and conditions with one bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from daedalus.model.expressions import concatenate, elements, symbol_key
from daedalus.optimisation.description.description import Description
from daedalus.optimisation.description.unknown import Unknown
from daedalus.optimisation.transcription.kinks import SmoothCost, smooth_cost

# At so many shares of the duration weights are looked at where no mesh is known yet.
SHARES = 101


@dataclass(frozen=True)
class SmoothParts:
    """Expressions with `bounds` in the place of their kinks, and the `sides` that may not be positive."""

    parts: list[ca.SX]
    bounds: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    sides: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    lower: tuple[float, ...] = ()
    kinks: ca.SX = field(default_factory=lambda: ca.SX(0, 1))


def smooth_parts(
    description: Description, share: ca.SX, shares: np.ndarray | None, parts: Sequence[ca.SX], signs: Sequence[float],
    within: ca.SX | None = None, divided: int = 0,
) -> SmoothParts:  # fmt: skip
    """Expressions without kinks where they want to be small (sign 1) or large (-1); with sign 0 they stay as they are.

    share: the symbol of the share of the duration, shares: those at which the expressions count.
    divided: in so many first parts, lengths are bounded by a quotient.
    """
    if all(sign == 0 for sign in signs):
        return SmoothParts(list(parts))
    constants, values = constants_of(description, share, np.linspace(0.0, 1.0, SHARES) if shares is None else shares)
    found = [
        smooth_cost(sign * part, constants, values, within, k < divided) if sign else SmoothCost(part)
        for k, (part, sign) in enumerate(zip(parts, signs))
    ]
    kept = [
        (sign * own.cost if own.bounds.numel() else part) if sign else part
        for part, own, sign in zip(parts, found, signs)
    ]
    bounds, sides, kinks = (concatenate(getattr(own, name) for own in found) for name in ("bounds", "sides", "kinks"))
    return SmoothParts(kept, bounds, sides, tuple(value for own in found for value in own.lower), kinks)


def constants_of(description: Description, share: ca.SX, shares: np.ndarray) -> tuple[ca.SX, np.ndarray]:
    """Symbols that a search does not move, and their values at some shares, (shares, symbols)."""
    symbols = elements(description.system.symbol("p"))
    fixed = [k for k in range(len(symbols)) if k not in description.free]
    found = [share, *(symbols[k] for k in fixed)]
    numbers = [*(float(description.parameters[k]) for k in fixed)]
    if not isinstance(description.duration, Unknown):
        found.append(description.length)
        numbers.append(float(description.duration))
    return concatenate(found), np.column_stack([shares, np.tile(numbers, (len(shares), 1))])


def signs_of(lower: np.ndarray, upper: np.ndarray) -> list[float]:
    """1 for elements that only have an upper bound, -1 for those that only have a lower one, else 0."""
    low, high = np.isfinite(lower), np.isfinite(upper)
    return [float(only_high) - float(only_low) for only_high, only_low in zip(high & ~low, low & ~high)]


def gives_integrals_values(description: Description) -> bool:
    """Whether a condition says what an integral is, and not only what bounds it."""
    symbols = concatenate(s.symbol for s in description.integrals)
    return any(
        np.any(condition.lower == condition.upper) and ca.depends_on(condition.expression, symbols)
        for condition in description.conditions
    )


def signs_of_integrals(description: Description) -> list[float]:
    """1 for elements of integrals that costs and conditions want to be small, -1 for those that they want large.

    What has to have a value is taken to be small, where that is `loose`: most often as much is used as there is.
    """
    uses = [(description.final, 1.0, False)]
    for condition in description.conditions:
        fixed = (condition.lower == condition.upper) & description.loose
        uses += list(zip(elements(condition.expression), signs_of(condition.lower, condition.upper), fixed))
    others = [description.running, *(s.expression for s in description.stand_ins)]
    found = []
    for stand_in in description.integrals:
        for symbol in elements(stand_in.symbol):
            pressed = [
                1.0 if is_fixed else slope_sign(description, part, symbol) * sign
                for part, sign, is_fixed in uses
                if ca.depends_on(part, symbol)
            ]
            alone = not any(ca.depends_on(other, symbol) for other in others)
            same = bool(pressed) and alone and len(set(pressed)) == 1
            found.append(pressed[0] if same else 0.0)
    # Of shooting the last integral is the running cost.
    return found if description.integrated.is_zero() else [*found[:-1], 1.0]


def slope_sign(description: Description, part: ca.SX, symbol: ca.SX) -> float:
    """Whether an expression grows with a symbol (1) or falls with it (-1), whatever a search does; 0: not known."""
    slope = ca.jacobian(part, symbol)
    p, length, duration = description.system.symbol("p"), description.length, description.duration
    fixed = [s for k, s in enumerate(elements(p)) if k not in description.free]
    known = {symbol_key(s) for s in (*fixed, *elements(length))}
    if any(symbol_key(s) not in known for s in ca.symvar(slope)):
        return 0.0
    tried = [description.expected_duration]
    if isinstance(duration, Unknown):
        tried += [bound for bound in (duration.lower, duration.upper) if np.isfinite(bound) and bound > 0]
    function = ca.Function("slope", [p, length], [slope])
    signs = {float(np.sign(float(function(description.parameters, value)))) for value in tried}
    return signs.pop() if len(signs) == 1 else 0.0
