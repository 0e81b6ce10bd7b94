"""How states behind an instant follow from those before it, round by round, and how its time moves.

At an instant whose time moves by dτ = c dv, v = (x, u, p), the rounds one behind the other are one reset of the states
(saltation.py). Clocks and schedules do not move, c = 0; an event that a guard g brings about has c = -g_v / (g_t + g_x
f⁻).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import casadi as ca
import numpy as np

from daedalus.algebra.agreement import agree
from daedalus.compilation import Compiled, compile_function
from daedalus.differentiation.case import Case
from daedalus.differentiation.events.causes import (
    Passage,
    move_together,
    moved_in_time,
    passage,
    slope_sizes,
    varied_sizes,
)
from daedalus.differentiation.events.jumping_conditions import conditions_of
from daedalus.differentiation.events.saltation import carried, in_turn, unchanged
from daedalus.differentiation.instants.any_order import SAME_STATE, Alone, Sizes, in_any_order
from daedalus.differentiation.instants.contact_jumps import behind_contacts, contacts_of_case
from daedalus.differentiation.instants.foreseen import Instant
from daedalus.differentiation.variational.implicit_slopes import ImplicitSlopes, consistent_row
from daedalus.errors import SolverError
from daedalus.initialisation.behind_reset import Behind, reset_rule
from daedalus.initialisation.reset_refusals import RefusedReset
from daedalus.initialisation.reset_slopes import reset_slopes
from daedalus.model.expressions import elements
from daedalus.model.names import listed
from daedalus.model.switching.held_states import HeldStates
from daedalus.model.switching.schedule import same_instant
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.plant.plants import implicit_plant_of, plant_of
from daedalus.simulation.result.event_records import SettledMoment
from daedalus.simulation.result.held_values import whole_text
from daedalus.simulation.start.restart import Restart, restarts
from daedalus.simulation.switching.agenda import order_of


class InstantMaps:
    """The resets and guards of a system between instants, with their derivatives at points."""

    def __init__(self, system: System, formulas: bool) -> None:
        held = system.part(HeldStates)
        assert held is not None
        self.system, self.own, self.formulas = system, held.instants, formulas
        self.assigned = reset_rule(self.own).assigned
        self.varied = sum(system.sizes[letter] for letter in ("x", "u", "p"))
        self._made: dict[tuple[str, tuple[int, ...]], Compiled | ImplicitSlopes] = {}
        still = set(held.positions.tolist())
        self.moves_states = [restarts(self.own) and not set(targets) <= still for targets in self.assigned]

    # -- functions with derivatives by (t, x, u, p) ------------------------------------------------------------

    def _at(self, key: tuple[str, tuple[int, ...]], case: Case, t: float, row: np.ndarray) -> tuple[np.ndarray, ...]:
        """A value and its derivatives by (t, x, u, p) at a row (x, z, x')."""
        if key not in self._made:
            self._made[key] = self._function(self._expression(*key), case)
        function, u, p = self._made[key], case.u_at(t), case.p
        if isinstance(function, ImplicitSlopes):
            return function.at(t, row, u, p)[:2]
        value, slopes = function.core(np.array([t]), row[: len(case.x0)], u, p)
        return value, slopes.reshape(-1, len(value)).T

    def _function(self, expression: ca.SX, case: Case) -> Compiled | ImplicitSlopes:
        if not self.formulas:
            return ImplicitSlopes(self.system, expression)
        arguments = self.system.symbols(("t", "x", "u", "p"))
        flat = ca.densify(case.form.applied(self.system, expression))
        slopes = ca.densify(ca.jacobian(flat, ca.vertcat(*arguments)))
        return compile_function(ca.Function("instant", arguments, [flat, slopes]))

    def _expression(self, what: str, actors: tuple[int, ...]) -> ca.SX:
        if what == "guard":
            return self.own.guards[actors[0]]
        if what == "condition":
            return conditions_of(self.own).guards_together()[actors[0]]
        after, resets = elements(self.own.symbol("x")), self.own.resets
        for actor in actors:
            for k in self.assigned[actor]:
                after[k] = resets[actor, k]
        return ca.vertcat(*after)

    # -- one instant -------------------------------------------------------------------------------------------

    def _cause(self, instant: Instant, event: int) -> tuple[str, tuple[int, ...]]:
        """What brought an event about: its guard, or where that jumped the condition in it that was led to zero."""
        if event in instant.led_events or not instant.led_conditions:
            return "guard", (event,)
        known = conditions_of(self.own)
        led = [k for k, text in enumerate(known.texts) if whole_text(text) in instant.led_conditions]
        # Those in the guard itself come first; one in the equations makes z jump, and the guard with it.
        led.sort(key=lambda k: k not in known.in_event(event))
        return ("condition", (led[0],)) if led else ("guard", (event,))

    def _passage(self, case: Case, instant: Instant, event: int, t: float, row: np.ndarray) -> Passage:
        """What brought an event about, at a row."""
        values, slopes = self._at(self._cause(instant, event), case, t, row)
        return passage(float(values[0]), slopes[0], row, len(case.x0))

    def rate_share(self, case: Case, instant: Instant, event: int, t: np.ndarray, rows: np.ndarray, most: int) -> float:
        """The rate of what brought an event about at the last of some rows over the largest at the others."""

        def rate(k: int) -> float:
            row = rows[k] if not case.has_formulas else case.row_at(float(t[k]), rows[k][: len(case.x0)])
            return abs(self._passage(case, instant, event, float(t[k]), row).rate)

        places = np.unique(np.linspace(0, len(t) - 1, min(most, len(t))).astype(int)).tolist()
        last, largest = rate(len(t) - 1), max(rate(k) for k in places)
        return last / largest if largest else 1.0

    def time_slopes(self, case: Case, instant: Instant, t: float, row: np.ndarray) -> np.ndarray:
        """c = ∂τ/∂(x, u, p) of an instant at a row (x, z, x')."""
        still, first = np.zeros(self.varied), instant.first_events
        if instant.has_clocks or not first:
            return still
        known = [c for event in first if (c := self._decided_time(case, instant, event, t, row)) is not None]
        if known:
            return known[0] if all(c.any() for c in known) else still  # time alone decides one of them
        if t == case.first_time:
            return still  # what holds at the start happens there
        raise self._unmoved(first[0], t)

    def _decided_time(self, case: Case, instant: Instant, event: int, t: float, row: np.ndarray) -> np.ndarray | None:
        """∂τ/∂(x, u, p) of an event that the motion brought about, or formulas of time; None of others."""
        if event not in instant.led_events and self._cause(instant, event)[0] == "guard":
            moved = moved_in_time(case, self._formulas_of_time(event), t, row)
            return np.zeros(self.varied) if moved is None and self._is_given(case, t) else moved
        cause = self._passage(case, instant, event, t, row)
        return cause.moves if cause.rate else None

    def _formulas_of_time(self, event: int) -> list[ca.SX]:
        """What time and parameters decide of an event: its guard, conditions in it, and those that make it jump."""
        known, guard = conditions_of(self.own), self.own.guards[event]
        moving = ca.vertcat(*(ca.vec(self.own.symbol(letter)) for letter in ("xdot", "x", "z", "u")))
        own = [] if ca.depends_on(guard, moving) else [guard]
        inside, timed = known.in_event(event), range(known.located, known.count)
        return [*own, *(known.guards_together()[k] for k in sorted(timed, key=lambda k: k not in inside))]

    def _is_given(self, case: Case, t: float) -> bool:
        """Whether a moment is a time at which an input jumps, or a condition on time alone."""
        span = case.first_time, case.last_time
        times = [conditions_of(self.own).clock_times(case.p[: self.own.sizes["p"]], span)]
        times += [table.times for table, _ in case.drive.tables]
        return any(np.any(np.abs(own - t) <= same_instant(*span)) for own in times)

    def _unmoved(self, event: int, t: float) -> SolverError:
        return SolverError(
            f"The time of {self.own.events[event].name!r} has no derivative.",
            f"at t = {t:.6g} neither its guard nor a condition in it passes zero with a rate",
            because="a guard that jumps, or that only touches zero, has no derivative there.",
            remedy="a guard that passes zero, or a span that ends before it",
        )

    def jump(
        self, case: Case, instant: Instant, t: float, row: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The row behind all rounds, ∂x⁺/∂(t, x, u, p) of them, and c, at a row (x, z, x')."""
        n = len(case.x0)
        several = self._several(case, instant, t, row)
        if several:
            behind, slopes = in_any_order(
                partial(self._alone, case, instant, t), several, row, partial(self._refused, t), _sizes(case, row)
            )
            if not self._is_rule(case, instant, several, t, row, behind):
                raise self._refused(t, several)
            return behind, np.concatenate([np.zeros((n, 1)), slopes], axis=1), np.zeros(slopes.shape[1])
        c = self.time_slopes(case, instant, t, row)
        total = unchanged(n, len(c))
        for each in instant.rounds:
            row, slopes = self._behind(case, (*each.events, *each.clocks), t, row, settled=_settled_at(case, instant))
            total = in_turn(slopes, total)
        return row, total, c

    # -- several events at once --------------------------------------------------------------------------------

    def _several(self, case: Case, instant: Instant, t: float, row: np.ndarray) -> list[int]:
        """The events of an instant whose times move apart; none where one moves alone or all do together."""
        if instant.has_clocks or len(instant.rounds) != 1 or instant.time == case.first_time:
            return []
        actors = list(instant.events)
        contacts = contacts_of_case(case)
        if contacts is not None:
            settled = _settled_at(case, instant)
            found = contacts.acting(actors, t, row[: len(case.x0)], settled)
            actors = [*(k for k in actors if k not in found), *found]
        if len(actors) < 2:
            return []
        times = [c for event in actors if (c := self._own_time(case, instant, event, t, row)) is not None and c.any()]
        if len(times) < len(actors):
            return []  # time alone decides about one of them, or it has no rate
        return [] if all(move_together(case, c, times[0]) for c in times[1:]) else actors

    def meets_time(self, case: Case, instant: Instant, t: float, row: np.ndarray) -> bool:
        """Whether some events move and others, which time alone decides, do not: either may come first beside the run.

        row: the last one of a part, (x, z, x') or x.
        """
        events = instant.located_events
        if len(events) < 2:
            return False
        whole = case.row_at(t, row[: len(case.x0)]) if case.has_formulas else row
        times = (self._own_time(case, instant, event, t, whole) for event in events)
        moves = [c is not None and bool(c.any()) for c in times]
        return any(moves) and not all(moves)

    def _own_time(self, case: Case, instant: Instant, event: int, t: float, row: np.ndarray) -> np.ndarray | None:
        """∂τ/∂(x, u, p) of one event; None where it does not follow from a guard that passes zero."""
        known = self._decided_time(case, instant, event, t, row)
        if known is not None:
            return known
        cause = self._passage(case, instant, event, t, row)
        return cause.moves if cause.rate else None

    def _alone(
        self, case: Case, instant: Instant, t: float, event: int, waiting: Sequence[int], row: np.ndarray
    ) -> Alone | None:
        """What one event makes of a row while others wait: the row behind it, and ∂x⁺/∂(x, u, p) at a fixed time."""
        n, c = len(case.x0), self._own_time(case, instant, event, t, row)
        if c is None:
            return None
        behind, slopes = self._behind(case, (event,), t, row, waiting)
        return Alone(behind, carried(slopes, row[-n:], behind[-n:], c))

    def _is_rule(
        self, case: Case, instant: Instant, events: list[int], t: float, row: np.ndarray, behind: np.ndarray
    ) -> bool:
        """Whether events one after the other end where the rule of an instant ends."""
        if any(self.moves_states[event] for event in events):
            return True
        value, contacts = self._at(("resets", tuple(events)), case, t, row)[0], contacts_of_case(case)
        if contacts is not None:
            recorded = contacts.recorded(contacts.point(t, value), instant.events, _settled_at(case, instant))
            value = contacts.behind(value, recorded)
        return agree(value, behind[: len(value)], SAME_STATE, varied_sizes(case)[: len(value)])

    def _refused(self, t: float, events: Sequence[int]) -> SolverError:
        own = [self.own.events[k] for k in events]
        names = [event.name if event.manner.contact is None else event.manner.contact.name for event in own]
        return SolverError(
            f"The derivatives of {self.own.name!r} cannot be computed through simultaneous events whose order matters.",
            f"at t = {t:.6g} {listed(names)} happen together",
            because="in a slightly different run they happen one after the other, in either order.",
            remedy="a start from which they happen one by one, or a span that ends before",
        )

    def _behind(
        self,
        case: Case,
        actors: tuple[int, ...],
        t: float,
        row: np.ndarray,
        waiting: Sequence[int] = (),
        settled: Sequence[SettledMoment] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The row behind a round, and ∂x⁺/∂(t, x, u, p); waiting: events of contacts that stay as they are.

        settled: what the run found at its contacts.
        """
        if any(self.moves_states[actor] for actor in actors):
            return self._restarted(case, actors, t, row)
        value, slopes = self._at(("resets", actors), case, t, row)
        contacts = contacts_of_case(case)
        if contacts is not None:
            value, own = behind_contacts(contacts, actors, t, value, waiting, settled)
            slopes = in_turn(own, slopes)
        return self._consistent(case, t, value, row, actors), slopes

    def _consistent(self, case: Case, t: float, x: np.ndarray, before: np.ndarray, actors: Sequence[int]) -> np.ndarray:
        if self.formulas:
            return case.row_at(t, x)
        plant = case.plant
        assert isinstance(plant, ImplicitPlant)
        found = consistent_row(plant, t, np.concatenate([x, before[len(x) :]]), case.u_at(t), case.p)
        if found is None:
            raise SolverError(
                f"No consistent values exist after the event {self.own.events[actors[0]].name!r}.",
                f"at t = {t:.6g} the equations have no solution for x' and z near those before it",
                remedy="another assignment, or start values of the algebraic variables",
            )
        return found

    def _restarted(
        self, case: Case, actors: tuple[int, ...], t: float, row: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same where states depend on each other, one actor after the other."""
        plant = plant_of(self.own) if self.formulas else implicit_plant_of(self.own)
        n, u, p = len(case.x0), case.u_at(t), case.p
        total = unchanged(n, n + len(u) + len(p))
        for actor in actors:
            written = self._at(("resets", (actor,)), case, t, row)[1]
            own, number = row[:n] if self.formulas else row, order_of(self.own).all.index(actor)
            behind = self._searched(plant, case.settings.rtol, t, own, u, p, number, self.own.events[actor].name)
            slopes = reset_slopes(behind, self.assigned[actor], written)
            total = in_turn(slopes, total)
            row = self._consistent(case, t, behind.vector("x"), behind.row, (actor,))
        return row, total

    def _searched(
        self, plant: Plant, rtol: float, t: float, row: np.ndarray, u: np.ndarray, p: np.ndarray, actor: int, name: str
    ) -> Behind:
        """What `dd.simulate` finds behind an actor at a row."""
        try:
            return Restart(plant, rtol).behind(t, row, u, p, actor)
        except RefusedReset as error:
            raise SolverError(
                f"The run of {plant.system.name!r} with its derivatives stopped at {name!r}.",
                [f"at t = {t:.6g}: {error.what.rstrip('.')}", *error.facts],
                because=error.because,
                remedy=error.remedy,
            ) from None


def _settled_at(case: Case, instant: Instant) -> list[SettledMoment]:
    assert case.foreseen is not None
    return case.foreseen.settled_at(instant)


def _sizes(case: Case, row: np.ndarray) -> Sizes:
    """The usual sizes of a row (x, z, x') and of ∂x⁺/∂(x, u, p)."""
    x, span = varied_sizes(case)[: len(case.x0)], abs(case.last_time - case.first_time)
    z = case.system.nominal["z"][: len(row) - 2 * len(x)]
    slopes, contacts = slope_sizes(case), contacts_of_case(case)
    if contacts is not None:
        slopes[:, contacts.modes] = np.inf  # nothing varies them
    return np.concatenate([x, z, x / span]), slopes


def instant_maps_of(case: Case) -> InstantMaps:
    """The maps of the system of a case, made once."""
    return once(case.system, InstantMaps, case.has_formulas)
