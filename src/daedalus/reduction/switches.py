"""Conditions in equations as modes: each `a > b` becomes a hidden parameter 0 or 1 that a guard a - b turns.

Between two switches the equations are smooth then, so that an integrator keeps its order across them (E. Hairer,
G. Wanner, S. P. Nørsett, Solving Ordinary Differential Equations I, section II.6). With m = [a > b], fmax(a, b) is a
where m else b, |a| is (2m - 1) a, sign(a) is [a > 0] - [0 > a], which a / |a| and |a| / a are too, copysign(a, b) is
(1 - 2 [0 > b]) |a|, and a <= b is 1 - m. What keeps an operation where it
is defined, as in log(fmax(x, 0)), stays as it is (protecting_conditions.py says how it is told); steps end there, too.

floor(a) has one mode for all its steps, m = [sin(π a) > 0], on where k = floor(a) is even: the number of that kind that
is next to a - 1/2 is k, and stays k for half a unit beyond both ends, so that a step may pass them and be cut there. A
whole number that a misses by rounding counts as reached. ceil, fmod and remainder are made from it. Where one of them
keeps an operation defined, as in sqrt(x - floor(x)), it stays as it is, and steps pass over it. The jumps of
atan2(y, x) and atan(y / x) have modes of the same kind, see `daedalus.reduction.angle_cut`.

What time alone decides is known before a run: such conditions, and the steps of floor(t), are hidden inputs instead,
held from one of their times to the next; fmod(t, b) is t - b k with the hidden k = trunc(t / b).

A condition on conditions, as in `if_else((a > b) > 0.5, ...)`, changes where those do and has no guard of its own.

Conditions inside the guards of events are found in the same way, so that an event happens where its guard jumps.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.compilation.foreign_calls import calls_foreign_code
from daedalus.model.expressions import (
    concatenate,
    contains,
    elements,
    nan_inside,
    symbol_key,
)
from daedalus.model.switching.held_states import HeldStates
from daedalus.model.system.instruction_list import (
    LONG,
    Instructions,
    outputs_with,
    read_instructions,
    tell_replaced,
)
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS
from daedalus.model.variables import Variable
from daedalus.reduction.forms.linearity import surely_without
from daedalus.reduction.modes_put_in import CLOCK, JUMPING, MODES, PARAMETERS, ModesPutIn

# Up to this share of changed equations their instructions are put into those of all; above, all are read again.
FEW = 0.25


@dataclass(frozen=True, eq=False)
class Switches:
    """The conditions of a system, and the system with modes behind its parameters and their guards behind its own.

    clock: the hidden inputs behind the system's own, as functions of (t, p); None where time alone decides nothing.
    """

    system: System
    conditions: tuple[str, ...]  # in the user's names
    left: tuple[str, ...]  # operations that stay as they are
    clock: ca.Function | None = None
    on_time: tuple[str, ...] = ()  # conditions of the clock

    @property
    def count(self) -> int:
        """The number of conditions."""
        return len(self.conditions)

    @property
    def modes(self) -> list[ca.SX]:
        """The modes behind the parameters."""
        return elements(self.system.symbol("p"))[int(self.system.symbol("p").numel()) - self.count :]

    @property
    def guards(self) -> list[ca.SX]:
        """Their guards."""
        return elements(self.system.guards)[int(self.system.guards.numel()) - self.count :]


@dataclass(frozen=True, eq=False)
class _Searched:
    """The equations that conditions may be left in; all others were searched before and have none."""

    places: np.ndarray


@remembered
def switches_of(system: System) -> Switches | None:
    """The switches of a system, found once and kept with it; None where the equations have none.

    Example
    -------
    >>> import casadi as ca, daedalus as dd
    >>> m = dd.Model("tank")
    >>> h = m.state("h", start=1.0)
    >>> m.equation(m.der(h), ca.if_else(h > 0.5, -1, -2))
    >>> switches_of(m.freeze()).conditions
    ('h > 0.5',)
    """
    arguments = system.symbols()
    guards, whole = ca.densify(system.guards), ca.densify(system.residual)
    # Without guards the function that is compiled later.
    alone = not guards.numel() and system.residual.is_dense()
    function = system.function if alone else ca.Function("equations", arguments, [whole, guards])
    if calls_foreign_code(function):
        # Its conditions cannot be followed through the calls; steps pass them by their error estimates.
        return None
    earlier = system.part(_Searched)
    known: Instructions | None = None
    if earlier is not None:
        chosen = earlier.places
        function = ca.Function("equations", arguments, [whole[chosen.tolist()], guards])
        if not contains(function, JUMPING):
            return None
    elif function.n_instructions() >= LONG:
        if alone and surely_without(system, JUMPING):
            return None
        rows = read_instructions(function, placed=False)
        known = rows if alone else None
        if np.isnan(np.frombuffer(rows.constants, float)).any():
            raise nan_inside("An equation or a guard")
        touched = [*outputs_with(rows, JUMPING), np.zeros(0, bool)][:2]
        if not any(part.any() for part in touched):
            return None
        # Equations without a condition stay as they are.
        chosen = np.flatnonzero(touched[0])
        function = ca.Function("equations", arguments, [whole[chosen.tolist()], guards])
    else:
        if not contains(function, JUMPING):
            return None
        chosen = np.arange(whole.numel())
    rows = read_instructions(function)
    discrete = system.sizes["p"] - system.discrete_count
    held = system.part(HeldStates)
    rests = frozenset() if held is None else frozenset(held.positions.tolist())
    symbols, given = [elements(argument) for argument in arguments], {PARAMETERS: system.start["p"]}
    work = ModesPutIn(rows, symbols, _labels(system, rows), discrete, rests, given)
    changed, written = work.rewritten(len(chosen), guards.numel())
    residual = changed if len(chosen) == whole.numel() else ca.SX(whole)
    residual[chosen.tolist()] = changed
    if not work.guards and not work.hidden:
        return None
    clock = ca.Function("clock", system.symbols(("t", "p")), [concatenate(work.clock)]) if work.hidden else None
    twin = _with_modes(system, work, residual, written, chosen)
    if known is not None and len(chosen) < FEW * whole.numel():
        tell_replaced(twin.function, known, chosen, ca.Function("changed", twin.symbols(), [changed]))
    return Switches(
        twin,
        tuple(work.texts),
        tuple(sorted(work.left)),
        clock,
        tuple(work.on_time),
    )


def _labels(system: System, rows: Instructions) -> dict[int, str]:
    """The names of what the instructions read."""
    operation, first, second, _ = rows.columns()
    is_read = operation == ca.OP_INPUT
    found = {symbol_key(system.symbol("t")): "t"}
    for which, letter in enumerate(ARGUMENTS[1:], 1):
        symbols, names = elements(system.symbol(letter)), system.labels[letter]
        found.update((symbol_key(symbols[k]), names[k]) for k in second[is_read & (first == which)].tolist())
    return found


def _with_modes(system: System, work: ModesPutIn, residual: ca.SX, guards: ca.SX, places: np.ndarray) -> System:
    """The same system with modes as further parameters; only runs see it."""
    symbols = {letter: system.symbol(letter) for letter in ARGUMENTS}
    symbols["p"] = concatenate([symbols["p"], *work.modes])
    symbols["u"] = concatenate([symbols["u"], *work.hidden])
    further = []
    if work.modes:
        further.append(Variable(MODES, "parameter", (len(work.modes),), start=(0.0,) * len(work.modes)))
    if work.hidden:
        further.append(Variable(CLOCK, "input", (len(work.hidden),)))
    return system.changed(
        variables=[*system.variables, *further],
        symbols=symbols,
        residual=residual,
        outputs={},
        guards=concatenate([guards, *work.guards]),
        watched={},
        watched_rows=(),
        parts=(_Searched(places),),
    )
