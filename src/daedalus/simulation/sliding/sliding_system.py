"""The equations of a run that slides along a surface, or rests on it.

Along g = 0, between r⁻ = 0 below and r⁺ = 0 above, the residual is r⁻ + s (r⁺ - r⁻) with a share s that is one more
unknown, and ġ = 0 gives it (A. F. Filippov, Differential Equations with Discontinuous Righthand Sides, 1988;
V. I. Utkin, Sliding Modes in Control and Optimization, 1992). On two surfaces the second share is put on top of the
first, which blends the four fields bilinearly (L. Dieci, L. Lopez, Numerische Mathematik 117, 2011). It ends where a
share leaves 0 … 1.

Where both sides agree on the surface and lead back to it from afar, as sign(p) √|p| does, the run rests there: one
state follows from g = 0, and it ends where ġ is no longer zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus.model.event_purpose import EventPurpose
from daedalus.model.expressions import concatenate, divided
from daedalus.model.system.equation_row import Role, rows_of
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.model.variables import Event, make_variable
from daedalus.simulation.sliding.surface import Surface, condition_like, rate_of

# How far a run may be carried off the surface, and how fast it may leave one that it rests on, in nominal values.
OFF, MOVING = 1e-6, 1e-9
SHARE = "share above {condition}"


@dataclass(frozen=True, eq=False)
class Sliding:
    """A part of a system that slides along a surface or rests on it: what holds outside, and which condition it is."""

    outside: System
    which: int  # of the conditions outside
    condition: str
    rests: bool

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


def sliding_along(base: System, surfaces: tuple[int, ...]) -> System:
    """The system that slides along the surfaces of several conditions of a system; that system itself where none is."""
    system = base
    for which in surfaces:
        own = which if system is base else condition_like(system, once(base, Surface, which).guard)
        system = once(system, sliding_system, own)
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


def sliding_system(system: System, which: int) -> System:
    """The system that slides along the surface of a condition."""
    surface = Surface(system, which)
    above, below = surface.side(True), surface.side(False)
    share = ca.SX.sym("share")
    rate = rate_of(system, below.guard)
    difference = difference_of(system, above.residual, below.residual)
    name, label = SHARE.format(condition=surface.condition), f"sliding along {surface.condition}"
    outputs = {key: value + share * (above.outputs[key] - value) for key, value in below.outputs.items()}
    leaving = [share, 1 - share, _still_on(system, below.guard)]
    variable = make_variable(name, "algebraic", (), start=0.5)
    changes = _with_leaving(system, below.guards, leaving)
    return system.changed(
        variables=[*system.variables, variable],
        symbols={**_symbols(system), "z": ca.vertcat(system.symbol("z"), share)},
        residual=concatenate([below.residual + share * difference, rate]),
        rows=[*system.rows, *rows_of(label, [label], Role.DEFINITION)],
        outputs=outputs,
        parts=(Sliding(system, which, surface.condition, False),),
        **changes,
    )


def resting_system(system: System, which: int) -> System | None:
    """The system that rests on the surface of a condition; None where no state follows from the surface."""
    surface = Surface(system, which)
    side = surface.side(None)
    held = held_state(system, side.guard)
    if held is None:
        return None
    x, (k, own, size) = system.symbol("x"), held
    whole = concatenate([side.residual, side.guards, *(ca.vec(value) for value in side.outputs.values())])
    whole = ca.substitute(whole, x[k], own)
    count, events = int(side.residual.numel()), int(side.guards.numel())
    leaving = [*still_at_rest(system, side.guard, size), _still_on(system, side.guard)]
    return system.changed(
        residual=whole[:count],
        outputs=dict(zip(side.outputs, divided(whole[count + events :], side.outputs.values()))),
        parts=(Sliding(system, which, surface.condition, True),),
        **_with_leaving(system, whole[count : count + events], leaving),
    )


class HeldState(NamedTuple):
    """The state that follows from g = 0: its place, its formula, and the nominal size of what it gives to g."""

    place: int
    formula: ca.SX
    size: float


def held_state(system: System, guard: ca.SX) -> HeldState | None:
    """The state that follows from a surface; None where the surface is not flat."""
    x = system.symbol("x")
    slope = ca.jacobian(guard, x)
    if not slope.is_constant() or slope.nnz() == 0:
        return None
    sizes = np.abs(ca.DM(slope).full().ravel()) * system.nominal["x"]
    k = int(np.argmax(sizes))
    return HeldState(k, -ca.substitute(guard, x[k], 0) / slope[k], float(sizes[k]))


def still_at_rest(system: System, guard: ca.SX, size: float) -> list[ca.SX]:
    """Positive while ġ is zero; size: the nominal size of g."""
    rate, allowed = rate_of(system, guard), MOVING * size
    return [allowed - rate, allowed + rate]


def _symbols(system: System) -> dict[str, ca.SX]:
    return {letter: system.symbol(letter) for letter in ("t", "xdot", "x", "z", "u", "p")}


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


def vanishes(system: System, expression: ca.SX) -> bool:
    """Whether an expression of a system's symbols is zero wherever one looks."""
    arguments = list(_symbols(system).values())
    function, rng = ca.Function("gap", arguments, [expression]), np.random.default_rng(2)
    points = ([rng.uniform(0.5, 1.5, int(a.numel())) for a in arguments] for _ in range(3))
    return all(bool(np.all(np.abs(function(*point).full()) <= 1e-12)) for point in points)


def _still_on(system: System, guard: ca.SX) -> ca.SX:
    """Positive while the state is on the surface; a reset may carry it off."""
    slope = ca.jacobian(guard, ca.vertcat(system.symbol("x"), system.symbol("z")))
    nominal = ca.DM([*system.nominal["x"], *system.nominal["z"]])
    size = ca.dot(ca.fabs(slope.T), nominal) if slope.nnz() else 1.0
    return ca.SX(OFF * size - ca.fabs(guard))


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
