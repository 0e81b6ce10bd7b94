"""How a run bends on a surface: ẇ where w = 0, and ẅ on the sides, for surfaces on which ẇ does not jump.

Where ẅ leads back from both sides, turns follow each other in ever shorter times, and a finite time holds all of them
(A. Levant, Sliding order and sliding accuracy in sliding mode control, International Journal of Control 58, 1993).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.algebra.newton_steps import full_newton, largest_entry
from daedalus.algebra.rank_decision import SINGULAR
from daedalus.model.expressions import concatenate, contains, divided
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.reduction.modes_put_in import SWITCHING
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.plants import find_plant
from daedalus.simulation.sliding.solved_slopes import Undetermined, slopes_of
from daedalus.simulation.sliding.surface import (
    AT_ZERO,
    HeldState,
    Surface,
    SurfaceSide,
    held_state,
    rate_of,
    vanishes,
)

# States are moved off a surface by this part of the tolerances.
OFF_BY = 0.1


class Bend:
    """w = 0 and ẇ = 0 together: the states that follow from them, and the equations where both are above or below."""

    def __init__(self, surface: Surface, held: HeldState, rate: ca.SX) -> None:
        self.surface, self.rate = surface, rate
        system, also = surface.system, surface.changing_with(rate)
        self._held = [held]
        if (second := held_state(system, rate)) is not None:
            self._held.append(second)
        self.above, self.below = (self._side(surface.side(above, also)) for above in (True, False))
        self.second_rate = rate_of(system, rate)
        x, arguments = system.symbol("x"), system.symbols(("t", "x", "u", "p"))
        both = ca.vertcat(surface.guard, rate)
        self._gaps = ca.Function("gaps", arguments, [both, ca.densify(ca.jacobian(both, x))])
        self._second = ca.Function("second", system.symbols(), [self.second_rate])

    def _side(self, side: SurfaceSide) -> SurfaceSide:
        """One side with the states that follow from the surface in the place of their symbols: w = ẇ = 0 exactly."""
        whole = concatenate([side.residual, side.guards, side.guard, *(ca.vec(v) for v in side.outputs.values())])
        whole = at_surface(self.surface.system, self._held, whole)
        outputs = concatenate(ca.vec(value) for value in side.outputs.values())
        parts = divided(whole, [side.residual, side.guards, side.guard, outputs])
        return SurfaceSide(
            parts[0], parts[1], dict(zip(side.outputs, divided(parts[3], side.outputs.values()))), parts[2]
        )

    def pull(self, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> float:
        """The smaller one of -ẅ above and ẅ below: positive where both lead back."""
        try:
            above, below = (self._second_on(side, t, x, u, p) for side in (self.above, self.below))
        except Undetermined:
            return -np.inf
        return min(-above, below)

    def has_settled(self, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray, within: np.ndarray) -> bool:
        """Whether what is left of the turns moves a state across the surface by no more than it may be off.

        They last ẇ / ẅ, and w moves by ẇ² / ẅ in this time.
        """
        pull = self.pull(t, self.nearest(t, x, u, p, within), u, p)
        (gap, rate), slopes = (part.full() for part in self._gaps(t, x, u, p))
        reach = float(np.abs(slopes[0]) @ within)
        return bool(pull > 0 and abs(float(gap[0])) <= reach and float(rate[0]) ** 2 <= pull * reach)

    def _second_on(self, side: SurfaceSide, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> float:
        system = self.surface.system
        y = slopes_of(system.changed(residual=side.residual)).at(t, x, u, p)
        n = len(x)
        return float(self._second(t, y[:n], x, y[n:], u, p))

    def is_zero(self, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> bool:
        """Whether w and ẇ are zero to rounding."""
        gaps, slopes = (part.full() for part in self._gaps(t, x, u, p))
        sizes = np.abs(slopes) @ np.maximum(self.surface.system.nominal["x"], np.abs(x))
        return bool(np.all(np.abs(gaps.ravel()) <= AT_ZERO * sizes))

    def nearest(self, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """The state moved onto w = ẇ = 0 by the shortest way in some sizes of the states."""

        def correction(at: np.ndarray) -> np.ndarray | None:
            gaps, slopes = (part.full() for part in self._gaps(t, at, u, p))
            slopes = slopes * sizes
            units = np.abs(slopes).max(axis=1)
            if not np.all(np.isfinite(slopes)) or not units.all():
                return None
            return np.asarray(
                -sizes * np.linalg.lstsq(slopes / units[:, None], gaps.ravel() / units, rcond=SINGULAR)[0]
            )

        return full_newton(correction, x, largest_entry, most=3, tolerance=0.0).values

    def beside(
        self, side: float, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray, sizes: np.ndarray
    ) -> np.ndarray | None:
        """A state within some sizes of the surface from which a run goes on to one side, 1 or -1.

        None where ẇ does not lead there at this state: beside the surface roots of w lead back, as in ẇ = v - √w.
        """
        moved = x + side * OFF_BY * _direction(self._gaps(t, x, u, p)[1].full()[1], sizes)
        held, slopes = self._held[0], slopes_of(self.surface.system)
        slope = self._gaps(t, moved, u, p)[1].full()[0, held.place]
        away = OFF_BY * sizes[held.place] * float(np.sign(slope))
        moved[held.place] = float(ca.Function("x", self.surface.system.symbols(("t", "x", "u", "p")), [held.formula])(
            t, moved, u, p))  # fmt: skip
        moved[held.place] += side * away
        return moved if side * self.surface.rate(t, slopes.at(t, moved, u, p), moved, u, p) > 0 else None


def _direction(slope: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The steepest way up in some sizes, one of them long."""
    scaled = slope * sizes
    return np.asarray(sizes * scaled / np.abs(scaled).max())


def at_surface(system: System, held: Sequence[HeldState], expression: ca.SX) -> ca.SX:
    """An expression with states replaced that follow from a surface, the last one last."""
    x = system.symbol("x")
    for state in held:
        expression = ca.substitute(expression, x[state.place], state.formula)
    return expression


class _RatesInStates(NamedTuple):
    """ẇ and ẅ in states, where w = 0, with the conditions of the surface decided."""

    first: ca.SX
    second: ca.SX


def _rates(surface: Surface, held: HeldState, above: bool) -> _RatesInStates | None:
    system = surface.system
    sided = system.changed(residual=at_surface(system, [held], surface.side(above).residual))
    plant = find_plant(sided)
    if not isinstance(plant, ExplicitPlant):
        return None

    def in_states(guard: ca.SX) -> ca.SX:
        return at_surface(system, [held], plant.form.applied(sided, rate_of(sided, guard)))

    first = in_states(surface.guard)
    return _RatesInStates(first, in_states(first))


def second_rate_jumps(surface: Surface, held: HeldState) -> bool:
    """Whether ẅ jumps on a surface on which ẇ does not: what moves ẇ there goes on while w rests."""
    above, below = (_rates(surface, held, above) for above in (True, False))
    if above is None or below is None or not vanishes(surface.system, above.first - below.first):
        return False
    return not vanishes(surface.system, above.second - below.second)


def bend_of(system: System, which: int) -> Bend | None:
    """How a run bends on the surface of a condition; None where ẇ jumps, or ẅ does not."""
    surface = once(system, Surface, which)
    held = held_state(system, surface.guard) if surface.is_of_states and not surface.of_unknowns else None
    if held is None:
        return None
    above, below = (_rates(surface, held, above) for above in (True, False))
    if above is None or below is None:
        return None
    rate = above.first
    known = not ca.depends_on(rate, system.symbol("u")) and ca.depends_on(rate, system.symbol("x"))
    smooth = known and not contains(ca.Function("rate", system.symbols(), [rate]), SWITCHING)
    if not smooth or not vanishes(system, rate - below.first):
        return None
    return Bend(surface, held, rate)
