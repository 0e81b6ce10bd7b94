"""The equations of a run that slides along a surface, or rests on it.

Along g = 0, between r⁻ = 0 below and r⁺ = 0 above, the residual is r⁻ + s (r⁺ - r⁻) with a share s that is one more
unknown, and ġ = 0 gives it (A. F. Filippov, Differential Equations with Discontinuous Righthand Sides, 1988;
V. I. Utkin, Sliding Modes in Control and Optimization, 1992). On two surfaces the second share is put on top of the
first, which blends the four fields bilinearly (L. Dieci, L. Lopez, Numerische Mathematik 117, 2011). It ends where a
share leaves 0 … 1.

Where both sides agree on the surface and lead back to it from afar, as sign(p) √|p| does, the run rests there: one
state follows from g = 0, and it ends where ġ is no longer zero.

Where ġ is the same on both sides and g̈ leads back from both, turns become endlessly short, as under twisting control:
the run stays with g = ġ = 0, and g̈ = 0 gives the share.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import casadi as ca

from daedalus.model.event_purpose import EventPurpose
from daedalus.model.expressions import concatenate, divided
from daedalus.model.system.equation_row import Role, rows_of
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.model.variables import Event, make_variable
from daedalus.simulation.sliding.bend import bend_of, second_rate_jumps
from daedalus.simulation.sliding.surface import Surface, condition_like, held_state, rate_of, vanishes

# How far a run may be carried off the surface, at least, and how fast it may leave one that it rests on, in nominal
# values.
OFF_SURFACE, MOVING = 1e-6, 1e-9
SHARE = "share above {condition}"


class Stay(Enum):
    """How a run stays on a surface."""

    SLIDES = "between fields that lead onto it"
    RESTS = "where infinite slopes lead to it"
    SECOND_ORDER = "where its turns have become endlessly short"


@dataclass(frozen=True, eq=False)
class Sliding:
    """A part of a system that slides along a surface or rests on it: what holds outside, and which condition it is.

    off: how far it may be carried off in nominal values before the stay ends.
    """

    outside: System
    which: int  # of the conditions outside
    condition: str
    stay: Stay
    off: float

    @property
    def rests(self) -> bool:
        """Whether it rests, and has no share."""
        return self.stay is Stay.RESTS

    @property
    def depth(self) -> int:
        """How many surfaces it slides along."""
        below = self.outside.part(Sliding)
        return 1 + (0 if below is None else below.depth)

    @property
    def base(self) -> System:
        """The system that holds outside of all surfaces."""
        below = self.outside.part(Sliding)
        return self.outside if below is None else below.base


def sliding_along(base: System, surfaces: tuple[int, ...], off: float = OFF_SURFACE) -> System:
    """The system that slides along the surfaces of several conditions of a system; that system itself where none is."""
    system = base
    for which in surfaces:
        own = which if system is base else condition_like(system, once(base, Surface, which).guard)
        system = once(system, sliding_system, own, off)
    return system


def levels_of(system: System) -> list[Surface]:
    """The surfaces that a system slides along, in the order of their shares."""
    own = system.part(Sliding)
    return [] if own is None else [*levels_of(own.outside), once(own.outside, Surface, own.which)]


def surfaces_of(system: System) -> tuple[str, ...]:
    """The conditions that a system slides along or rests on."""
    own = system.part(Sliding)
    return () if own is None else (*surfaces_of(own.outside), own.condition)


def rests_on_surface(system: System) -> bool:
    """Whether a system rests on a surface instead of sliding along it."""
    own = system.part(Sliding)
    return own is not None and own.rests


def sliding_system(system: System, which: int, off: float = OFF_SURFACE) -> System:
    """The system that slides along the surface of a condition."""
    surface = Surface(system, which)
    above, below = surface.side(True), surface.side(False)
    share = ca.SX.sym("share")
    rate = rate_of(system, below.guard)
    difference = difference_of(system, above.residual, below.residual)
    name, label = SHARE.format(condition=surface.condition), f"sliding along {surface.condition}"
    outputs = {key: value + share * (above.outputs[key] - value) for key, value in below.outputs.items()}
    leaving = [share, 1 - share, _still_on(system, below.guard, off)]
    variable = make_variable(name, "algebraic", (), start=0.5)
    changes = _with_leaving(system, below.guards, leaving)
    return system.changed(
        variables=[*system.variables, variable],
        symbols=_with_share(system, share),
        residual=concatenate([below.residual + share * difference, rate]),
        rows=[*system.rows, *rows_of(label, [label], Role.DEFINITION)],
        outputs=outputs,
        parts=(Sliding(system, which, surface.condition, Stay.SLIDES, off),),
        **changes,
    )


def resting_system(system: System, which: int, off: float = OFF_SURFACE) -> System | None:
    """The system that rests on the surface of a condition; None where no state follows from the surface.

    Nor where what moves ġ jumps there: it decides whether the run stays, which is not a rest.
    """
    surface = Surface(system, which)
    side = surface.side(None)
    held = held_state(system, side.guard)
    if held is None or second_rate_jumps(surface, held):
        return None
    x, (k, own, size) = system.symbol("x"), held
    whole = concatenate([side.residual, side.guards, *(ca.vec(value) for value in side.outputs.values())])
    whole = ca.substitute(whole, x[k], own)
    count, events = int(side.residual.numel()), int(side.guards.numel())
    leaving = [*still_at_rest(system, side.guard, size), _still_on(system, side.guard, off)]
    return system.changed(
        residual=whole[:count],
        outputs=dict(zip(side.outputs, divided(whole[count + events :], side.outputs.values()))),
        parts=(Sliding(system, which, surface.condition, Stay.RESTS, off),),
        **_with_leaving(system, whole[count : count + events], leaving),
    )


def second_order_system(system: System, which: int, off: float = OFF_SURFACE) -> System | None:
    """The system that stays where the guard of a condition and its rate are zero; None where it does not bend there.

    ẅ = 0 gives the share of the side on which both are positive.
    """
    bend = once(system, bend_of, which)
    if bend is None:
        return None
    share = ca.SX.sym("share")
    above, below, condition = bend.above, bend.below, bend.surface.condition
    leaving = [share, 1 - share, *(_still_on(system, kept, off) for kept in (bend.surface.guard, bend.rate))]
    label = f"staying on {condition}"
    return system.changed(
        variables=[*system.variables, make_variable(SHARE.format(condition=condition), "algebraic", (), start=0.5)],
        symbols=_with_share(system, share),
        residual=concatenate([below.residual + share * (above.residual - below.residual), bend.second_rate]),
        rows=[*system.rows, *rows_of(label, [label], Role.DEFINITION)],
        outputs={key: value + share * (above.outputs[key] - value) for key, value in below.outputs.items()},
        parts=(Sliding(system, which, condition, Stay.SECOND_ORDER, off),),
        **_with_leaving(system, below.guards, leaving),
    )


STAYS = {Stay.SLIDES: sliding_system, Stay.RESTS: resting_system, Stay.SECOND_ORDER: second_order_system}


def staying(system: System, which: int, stay: Stay, off: float = OFF_SURFACE) -> System:
    """The system that stays on the surface of a condition in a way that is known to be possible."""
    made = once(system, STAYS[stay], which, off)
    assert made is not None
    return made


def still_at_rest(system: System, guard: ca.SX, size: float) -> list[ca.SX]:
    """Positive while ġ is zero; size: the nominal size of g."""
    rate, allowed = rate_of(system, guard), MOVING * size
    return [allowed - rate, allowed + rate]


def _with_share(system: System, share: ca.SX) -> dict[str, ca.SX]:
    symbols = {letter: system.symbol(letter) for letter in ("t", "xdot", "x", "z", "u", "p")}
    return {**symbols, "z": ca.vertcat(symbols["z"], share)}


def difference_of(system: System, above: ca.SX, below: ca.SX) -> ca.SX:
    """r⁺ - r⁻, without x' and z where both sides contain them in the same way."""
    unknowns = ca.vertcat(system.symbol("xdot"), system.symbol("z"))
    plain = above - below
    if not all(ca.is_linear(side, unknowns) for side in (above, below)):
        return plain
    slopes = [ca.jacobian(side, unknowns) for side in (above, below)]
    if not vanishes(system, ca.densify(slopes[0] - slopes[1])):
        return plain
    return ca.SX(ca.substitute(plain, unknowns, ca.SX.zeros(unknowns.numel())))


def _still_on(system: System, guard: ca.SX, off: float) -> ca.SX:
    """Positive while the state is on the surface; a reset may carry it off."""
    slope = ca.jacobian(guard, ca.vertcat(system.symbol("x"), system.symbol("z")))
    nominal = ca.DM([*system.nominal["x"], *system.nominal["z"]])
    size = ca.dot(ca.fabs(slope.T), nominal) if slope.nnz() else 1.0
    return ca.SX(off * size - ca.fabs(guard))


def _with_leaving(system: System, guards: ca.SX, leaving: list[ca.SX]) -> dict[str, Any]:
    """The events of a system, and those that end its stay on the surface."""
    names = [f"leaves the surface {k + 1}" for k in range(len(leaving))]
    own = [Event(name, -1, True, (), EventPurpose.LEAVES_SURFACE) for name in names]
    rows = ca.repmat(system.symbol("x").T, len(own), 1)
    held = system.symbol("p")[system.sizes["p"] - system.discrete_count :]
    kept = ca.repmat(held.T, len(own), 1) if system.discrete_count else ca.SX(len(own), 0)
    return {
        "events": [*system.events, *own],
        "guards": concatenate([guards, *leaving]),
        "resets": ca.vertcat(system.resets, rows) if system.events else rows,
        "assigned": ca.vertcat(system.assigned, kept) if system.events else kept,
    }
