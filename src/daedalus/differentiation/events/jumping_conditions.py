"""Conditions across which the equations jump: between two of them the equations are smooth, at each S jumps.

`if_else(x < k, 1, 3)` and sign(v) move the solution on with another slope from the moment τ at which the condition
changes; τ moves with what is varied, so that S⁺ = S + (f⁻ - f⁺) dτ/dθ as at an event without reset. fabs, fmax and
branches that meet have a corner but no jump, f⁻ = f⁺, and need nothing but steps that end there. Which of them jump is
found by trying: points on a condition, with its mode on and off.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import casadi as ca
import numpy as np

from daedalus.differentiation.events.smoothness import corners
from daedalus.model.expressions import concatenate, elements
from daedalus.model.switching.held_states import HeldStates
from daedalus.model.system.closed_loop import ClosedLoop
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.model.variables import Event
from daedalus.reduction.reduction_record import Reduction
from daedalus.reduction.switches import LETTERS, STAIRS, switches_of
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_of_derivatives import JumpNotDifferentiated

# Points on a condition, how often each is moved towards it, and by what share of its terms an equation must jump there.
POINTS, MOVES, JUMPS = 6, 20, 1e-9
# A guard that is smaller, in units of what it changes by over the span, is zero.
ZERO = 1e-9
# Equations are compiled for each combination of modes that a run meets; with more conditions steps pass over corners.
MOST_CORNERS = 16


@dataclass(eq=False)
class JumpingConditions:
    """The conditions of a system that make its equations jump, and its equations for each of their modes.

    corners: for each of them whether the equations only bend there, which matters where steps are differentiated.
    """

    original: System
    texts: tuple[str, ...]
    guards: ca.SX  # of the symbols of the system and of the modes
    modes: ca.SX
    residual: ca.SX
    corners: tuple[bool, ...]
    made: dict[tuple[int, ...], System] = field(default_factory=dict)

    def system(self, modes: tuple[int, ...]) -> System:
        """The system with given modes, and an event that ends a run where one of them changes."""
        if modes not in self.made:
            own, numbers = self.original, ca.DM(list(modes))
            residual, guards = (ca.substitute(e, self.modes, numbers) for e in (self.residual, self.guards))
            ends = [Event(text, -1 if mode else 1, True) for text, mode in zip(self.texts, modes)]
            stay = ca.repmat(own.symbol("x").T, len(ends), 1)
            resets = ca.vertcat(own.resets, stay) if own.events else stay
            self.made[modes] = own.changed(
                residual=residual,
                events=(*own.events, *ends),
                guards=concatenate([own.guards, guards]),
                resets=resets,
                parts=(FixedModes(self, modes), *own.parts(Reduction, ClosedLoop, HeldStates)),
            )
        return self.made[modes]

    @cached_property
    def _conditions(self) -> ca.Function:
        """The guards and their rates, z held, of (t, x', x, z, u, p) and the modes."""
        t, rate, x = (self.original.symbol(letter) for letter in LETTERS[:3])
        slope = ca.jacobian(self.guards, t) + ca.mtimes(ca.jacobian(self.guards, x), rate)
        arguments = [self.original.symbol(letter) for letter in LETTERS]
        return ca.Function("conditions", [*arguments, self.modes], [self.guards, ca.densify(slope)])

    def rates(self, point: tuple[np.ndarray | float, ...], modes: tuple[int, ...]) -> np.ndarray:
        """How fast the guards move at a point, z held."""
        return self._conditions(*point, list(modes))[1].full().ravel()

    def modes_at(
        self, point: tuple[np.ndarray | float, ...], modes: tuple[int, ...] | None, span: float
    ) -> tuple[int, ...]:
        """The modes at a point (t, x', x, z, u, p); a guard at zero goes the way in which it moves.

        modes: those before, which hold where a guard is clear of zero. span: how far the run goes, negative backwards.
        """
        found = list(modes or (0,) * len(self.texts))
        for k in range(len(found)):  # a condition inside another one comes before it
            value, moves = (float(part[k]) for part in self._conditions(*point, found))
            if abs(value) <= ZERO * abs(moves * span):
                found[k] = int(moves * span > 0)
            elif modes is None:
                found[k] = int(value > 0)
        return tuple(found)


@dataclass(frozen=True, eq=False)
class FixedModes:
    """A part of a system with modes put in: the conditions that turn them, and the modes."""

    conditions: JumpingConditions
    values: tuple[int, ...]


def jumping_conditions(system: System, corners: bool = False) -> JumpingConditions | None:
    """The conditions of a system that make it jump, found once and kept with it; None where there are none.

    corners: those at which its equations bend come with them.

    Example
    -------
    >>> import casadi as ca, daedalus as dd
    >>> m = dd.Model("tank")
    >>> h = m.state("h", start=1.0)
    >>> m.equation(m.der(h), ca.if_else(h > 0.5, -1, -2) - ca.fabs(h))
    >>> jumping_conditions(m.freeze()).texts
    ('h > 0.5',)
    >>> jumping_conditions(m.freeze(), corners=True).texts
    ('h > 0.5', 'h > 0')
    """
    return once(system, _found, corners)


def unlocated_jumps(system: System) -> list[Record]:
    """Records of what jumps in the equations at places that are not looked for."""
    return list(once(system, _unlocated))


def _unlocated(system: System) -> tuple[Record, ...]:
    switches = switches_of(system)
    left = corners(system.residual) if switches is None else switches.left
    return tuple(JumpNotDifferentiated(name) for name in left if name in STAIRS.values())


def _found(system: System, corners: bool) -> JumpingConditions | None:
    switches = switches_of(system)
    if switches is None:
        return None
    count, hidden = switches.count, switches.system.sizes["u"] - system.sizes["u"]
    parameters, inputs = switches.system.symbol("p"), switches.system.symbol("u")
    modes = elements(parameters[parameters.numel() - count :])
    guards = elements(switches.system.guards[len(system.events) :])
    residual, texts = switches.system.residual, list(switches.conditions)
    if hidden:
        assert switches.clock is not None
        clock = elements(inputs[inputs.numel() - hidden :])
        values = elements(switches.clock.call([system.symbol("t"), system.symbol("p")])[0])
        for symbol, value, text in zip(clock, values, switches.on_time):
            # What time decides alone has a fixed moment, unless a parameter moves it.
            if value.op() in (ca.OP_LT, ca.OP_LE) and ca.depends_on(value, system.symbol("p")):
                guard = value.dep(1) - value.dep(0)
                modes.append(symbol)
                guards.append(guard)
                texts.append(text)
            else:
                residual, *guards = ca.substitute([residual, *guards], [symbol], [value])
    jumping = [_jumps(system, residual, guards, modes, k) for k in range(len(modes))]
    bends = [corners and len(modes) <= MOST_CORNERS and not jumps for jumps in jumping]
    chosen = [k for k in range(len(modes)) if jumping[k] or bends[k]]
    if not chosen:
        return None
    for k in reversed([k for k in range(len(modes)) if k not in chosen]):
        residual, *guards = ca.substitute([residual, *guards], [modes[k]], [guards[k] > 0])
    return JumpingConditions(
        system,
        tuple(texts[k] for k in chosen),
        concatenate(guards[k] for k in chosen),
        concatenate(modes[k] for k in chosen),
        residual,
        tuple(bends[k] for k in chosen),
    )


def _jumps(system: System, residual: ca.SX, guards: list[ca.SX], modes: list[ca.SX], k: int) -> bool:
    """Whether the equations jump somewhere on a condition, the others as they happen to be there."""
    if not ca.depends_on(residual, modes[k]):
        return False
    others = [j for j in range(len(modes)) if j != k]
    expressions = [residual, guards[k]]
    for j in reversed(others):
        expressions = ca.substitute(expressions, [modes[j]], [guards[j] > 0])
    expressions[1] = ca.substitute(expressions[1], modes[k], guards[k] > 0)
    v = concatenate(system.symbol(letter) for letter in LETTERS)
    there = [ca.substitute(expressions[0], modes[k], value) for value in (0, 1)]
    guard = ca.Function("guard", [v], [expressions[1], ca.jacobian(expressions[1], v)])
    both = ca.Function("both", [v], there)
    draw = np.random.default_rng(2000)
    middle, size = _usual(system)
    for _ in range(POINTS):
        point = middle + size * draw.standard_normal(len(middle))
        for _ in range(MOVES):
            value, slope = (part.full().ravel() for part in guard(point))
            scaled = slope * size
            if not np.all(np.isfinite(scaled)) or not scaled @ scaled:
                break
            point = point - size * scaled * (value[0] / (scaled @ scaled))
        off, on = (part.full().ravel() for part in both(point))
        gap, terms = np.abs(off - on), np.abs(off) + np.abs(on) + 1e-12
        if np.all(np.isfinite(gap)) and np.any(gap > JUMPS * (terms + np.abs(terms).mean())):
            return True
    return False


def _usual(system: System) -> tuple[np.ndarray, np.ndarray]:
    """A point (t, x', x, z, u, p) in the middle of the usual values, and how far they spread."""
    start, nominal, sizes = system.start, system.nominal, system.sizes
    p = np.nan_to_num(np.array(start["p"], dtype=float), nan=1.0)
    parts = {
        "t": (np.zeros(1), np.ones(1)),
        "xdot": (np.zeros(sizes["x"]), nominal["x"]),
        "x": (np.nan_to_num(np.array(system.default_start, dtype=float)), nominal["x"]),
        "z": (np.zeros(sizes["z"]), nominal["z"]),
        "u": (np.zeros(sizes["u"]), np.ones(sizes["u"])),
        "p": (p, 0.1 * np.abs(p)),
    }
    return tuple(np.concatenate([np.asarray(parts[letter][k], float) for letter in LETTERS]) for k in (0, 1))  # type: ignore[return-value]
