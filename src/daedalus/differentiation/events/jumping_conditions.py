"""Conditions across which the equations jump: between two of them the equations are smooth, at each S jumps.

`if_else(x < k, 1, 3)` and sign(v) move the solution on with another slope from the moment τ at which the condition
changes; τ moves with what is varied, so that S⁺ = S + (f⁻ - f⁺) dτ/dθ as at an event without reset. fabs, fmax and
branches that meet have a corner but no jump, f⁻ = f⁺, and need nothing but steps that end there. Which of them jump is
found by trying (places_on_conditions.py). Where both sides lead back to a surface the run slides along it, with
equations of its own (sliding_equations.py), or rests on it where slopes are infinite, as √|h| has them at h = 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from daedalus.differentiation.events.places_on_conditions import looked_at
from daedalus.differentiation.events.sliding_equations import (
    Sides,
    jumps_across,
    no_sliding,
    pivots_at,
    rate_along,
    slid_residual,
)
from daedalus.differentiation.events.smoothness import corners as corners_in
from daedalus.model.event_purpose import EventPurpose
from daedalus.model.expressions import concatenate, divided, elements
from daedalus.model.lazy_values import cached_property
from daedalus.model.switching.held_states import HeldStates
from daedalus.model.system.closed_loop import ClosedLoop
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.model.variables import Event
from daedalus.reduction.reduction_record import Reduction
from daedalus.reduction.switches import LETTERS, STAIRS, switches_of
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_of_derivatives import JumpNotDifferentiated
from daedalus.simulation.sliding.sliding_system import held_state, still_at_rest

# (t, x', x, z, u, p), and the conditions that change together on one surface.
Point = tuple[np.ndarray | float, ...]
Face = tuple[int, ...]
# A guard that is smaller, in units of what it changes by over the span, is zero.
ZERO = 1e-9
# Equations are compiled for each combination of modes that a run meets; with more conditions steps pass over corners.
MOST_CORNERS = 16


@dataclass(eq=False)
class JumpingConditions:
    """The conditions of a system that make its equations jump, and its equations for each of their modes.

    corners: for each of them whether the equations only bend there, which matters where steps are differentiated.
    levels: where slopes are infinite at it, how far before it a part ends; else 0.
    """

    original: System
    texts: tuple[str, ...]
    guards: ca.SX  # of the symbols of the system and of the modes
    modes: ca.SX
    residual: ca.SX
    corners: tuple[bool, ...]
    levels: tuple[float, ...]
    outputs: dict[str, ca.SX]  # those with conditions, of the modes
    made: dict[tuple[Any, ...], System] = field(default_factory=dict)

    def _with(self, expression: ca.SX, modes: tuple[int, ...]) -> ca.SX:
        return ca.substitute(expression, self.modes, ca.DM(list(modes)))

    def system(self, modes: tuple[int, ...], unseen: Face = ()) -> System:
        """The system with given modes, and an event that ends a run where one of them changes, but for the unseen."""
        if (modes, unseen) not in self.made:
            fixed = FixedModes(self, modes, tuple(k for k in range(len(modes)) if k not in unseen))
            self.made[modes, unseen] = self._ending(fixed, self._with(self.residual, modes), [], {})
        return self.made[modes, unseen]

    def resting(self, modes: tuple[int, ...], face: Face) -> System | None:
        """The system that rests on the surface of a face; None where no state follows from it."""
        key = (modes, face, "rests")
        if key not in self.made:
            still = tuple(0 if k in face else mode for k, mode in enumerate(modes))
            guard = self._with(self.guards[face[0]], still)
            held = held_state(self.original, guard)
            if held is None:
                return None
            told = [self._with(value, still) for value in self.outputs.values()]
            whole = concatenate([self._with(self.residual, still), *(ca.vec(value) for value in told)])
            whole = ca.substitute(whole, self.original.symbol("x")[held.place], held.formula)
            count = int(self.original.residual.numel())
            ends = tuple(k for k in range(len(modes)) if k not in face)
            leaving = still_at_rest(self.original, guard, held.size)
            outputs = dict(zip(self.outputs, divided(whole[count:], told)))
            self.made[key] = self._ending(FixedModes(self, still, ends, (), face), whole[:count], leaving, outputs)
        return self.made[key]

    def sliding(self, modes: tuple[int, ...], faces: tuple[Face, ...], point: Point) -> System:
        """The system along the surfaces of `faces`, whose modes are those of one side; point: where it begins."""
        if not faces:
            return self.system(modes)
        own, text = self.system(modes), self.texts[faces[-1][0]]
        D = once(own, _jumps_across, self, modes, faces)
        key = (modes, faces, pivots_at(own, D, point))
        if key not in self.made:
            base, guards = self._with(self.residual, modes), self._with(self.guards, modes)
            rates = [rate_along(own, guards[face[0]], self.texts[face[0]], D) for face in faces]
            if len(key[2]) < len(faces):
                raise no_sliding(own, text, "nothing in the equations jumps there")
            residual, shares = slid_residual(base, D, rates, key[2])
            outputs = {name: self._blended(value, modes, faces, shares) for name, value in self.outputs.items()}
            held = {k for face in faces for k in face}
            ends = tuple(k for k in range(len(modes)) if k not in held)
            leaving = [guard for share in elements(shares) for guard in (share, 1 - share)]
            self.made[key] = self._ending(FixedModes(self, modes, ends, faces), residual, leaving, outputs)
        return self.made[key]

    def sides(self, expression: ca.SX, modes: tuple[int, ...], faces: tuple[Face, ...]) -> Sides:
        """An expression of the modes on the sides of surfaces."""
        across = tuple(self._with(expression, across_faces(modes, (face,))) for face in faces)
        return Sides(self._with(expression, modes), across, self._with(expression, across_faces(modes, faces)))

    def _blended(self, value: ca.SX, modes: tuple[int, ...], faces: tuple[Face, ...], shares: ca.SX) -> ca.SX:
        base, across, _ = self.sides(value, modes, faces)
        return base + sum((shares[k] * (other - base) for k, other in enumerate(across)), ca.SX(0))

    def _ending(self, fixed: FixedModes, residual: ca.SX, leaving: list[ca.SX], outputs: dict[str, ca.SX]) -> System:
        """A system with an event for each condition that ends it, and two for each surface that it is on."""
        own, modes = self.original, fixed.values
        events = [Event(self.texts[k], -1 if modes[k] else 1, True) for k in fixed.ends]
        for face in (*fixed.faces, *((fixed.rests,) if fixed.rests else ())):
            name = f"the end of {self.texts[face[0]]}"
            events += [Event(f"{name}, {side}", -1, True, (), EventPurpose.LEAVES_SURFACE) for side in ("near", "far")]
        stay = ca.repmat(own.symbol("x").T, len(events), 1)
        guards = self._with(self.guards, modes) + ca.DM([(1 - 2 * mode) * h for mode, h in zip(modes, self.levels)])
        changes: dict[str, Any] = {"outputs": {**own.outputs, **outputs}} if outputs else {}
        return own.changed(
            residual=residual,
            events=(*own.events, *events),
            guards=concatenate([own.guards, *(guards[k] for k in fixed.ends), *leaving]),
            resets=ca.vertcat(own.resets, stay) if own.events else stay,
            parts=(fixed, *own.parts(Reduction, ClosedLoop, HeldStates)),
            **changes,
        )

    @cached_property
    def of_unknowns(self) -> tuple[bool, ...]:
        """Which conditions contain algebraic variables."""
        z = self.original.symbol("z")
        return tuple(bool(ca.depends_on(guard, z)) for guard in elements(self.guards))

    @cached_property
    def _conditions(self) -> ca.Function:
        """The guards and their rates, z held, of (t, x', x, z, u, p) and the modes."""
        t, rate, x = (self.original.symbol(letter) for letter in LETTERS[:3])
        slope = ca.jacobian(self.guards, t) + ca.mtimes(ca.jacobian(self.guards, x), rate)
        arguments = [self.original.symbol(letter) for letter in LETTERS]
        return ca.Function("conditions", [*arguments, self.modes], [self.guards, ca.densify(slope)])

    def values(self, point: Point, modes: tuple[int, ...]) -> np.ndarray:
        """The guards at a point (t, x', x, z, u, p)."""
        return self._conditions(*point, list(modes))[0].full().ravel()

    def modes_at(self, point: Point, modes: tuple[int, ...] | None, span: float) -> tuple[int, ...]:
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
    """A part of a system with modes put in: the conditions that turn them, and the modes.

    ends: the conditions whose events end it, behind those of the model. faces: the surfaces that it slides along, whose
    events come last, two for each; the modes are those of one side of them. rests: the one that it rests on instead.
    """

    conditions: JumpingConditions
    values: tuple[int, ...]
    ends: tuple[int, ...]
    faces: tuple[Face, ...] = ()
    rests: Face = ()


def across_faces(modes: tuple[int, ...], faces: tuple[Face, ...]) -> tuple[int, ...]:
    """The modes on the other side of surfaces."""
    turned = {k for face in faces for k in face}
    return tuple(1 - mode if k in turned else mode for k, mode in enumerate(modes))


def _jumps_across(system: System, jumps: JumpingConditions, modes: tuple[int, ...], faces: tuple[Face, ...]) -> ca.SX:
    return jumps_across(system, jumps.sides(jumps.residual, modes, faces), jumps.texts[faces[-1][0]])


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
    left = corners_in(system.residual) if switches is None else switches.left
    return tuple(JumpNotDifferentiated(name) for name in left if name in STAIRS.values())


def _found(system: System, corners: bool) -> JumpingConditions | None:
    switches = switches_of(system)
    if switches is None:
        return None
    rows, told = system.residual.numel(), once(system, _outputs_with_conditions)
    if told:
        whole = concatenate([system.residual, *(ca.vec(system.outputs[name]) for name in told)])
        switches = switches_of(system.changed(residual=whole, rows=system.rows, parts=system.parts(HeldStates)))
        assert switches is not None
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
    looked = [looked_at(system, residual[:rows], guards, modes, k) for k in range(len(modes))]
    bends = [(corners and len(modes) <= MOST_CORNERS and not found.jumps) or found.level > 0 for found in looked]
    chosen = [k for k in range(len(modes)) if looked[k].jumps or bends[k]]
    if not chosen:
        return None
    for k in reversed([k for k in range(len(modes)) if k not in chosen]):
        residual, *guards = ca.substitute([residual, *guards], [modes[k]], [guards[k] > 0])
    return JumpingConditions(
        system,
        tuple(texts[k] for k in chosen),
        concatenate(guards[k] for k in chosen),
        concatenate(modes[k] for k in chosen),
        residual[:rows],
        tuple(bends[k] for k in chosen),
        tuple(looked[k].level for k in chosen),
        dict(zip(told, divided(residual[rows:], [system.outputs[name] for name in told]))),
    )


def _outputs_with_conditions(system: System) -> tuple[str, ...]:
    return tuple(name for name, value in system.outputs.items() if corners_in(value))
