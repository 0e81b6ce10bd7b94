"""What is known to happen when in a run: ticks of clocks, and zeros of guards that time alone decides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.errors import InputError, ModelError
from daedalus.model.switching.schedule import same_instant
from daedalus.model.system.once import By, once
from daedalus.model.system.system import System
from daedalus.model.variables import Event
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.switching.guard_times import passages, timed_guards

# More ticks than these would fill the memory before the run begins.
MOST_TICKS = 20_000_000
# A guard that is this share of what it is so much of the span later, is not zero but jumps.
BESIDE, JUMPED = 1e-7, 1e-2
# A guard that the states, moved by this share of their size, can bring to zero is where its event left it.
AT_ZERO = 1e-6


class Order(NamedTuple):
    """Events as the core numbers them, those with guards before clocks: positions in the system."""

    events: tuple[int, ...]
    clocks: tuple[int, ...]

    @property
    def all(self) -> tuple[int, ...]:
        """Events, then clocks."""
        return self.events + self.clocks


def order_of(system: System) -> Order:
    """How the core numbers the events and clocks of a system."""
    clocks = tuple(k for k, event in enumerate(system.events) if event.is_clock)
    return Order(tuple(k for k, event in enumerate(system.events) if not event.is_clock), clocks)


def has_agenda(system: System) -> bool:
    """Whether anything is known to happen at given times in the runs of a system, or is assigned in them."""
    return bool(system.discrete_count or any(e.is_clock for e in system.events) or timed_guards(system))


def levels_of(system: System) -> list[int]:
    """Of each clock how many rounds it comes behind those that it reads."""
    level: dict[str, int] = {}
    for event in system.events:  # a clock is written behind those that it reads
        if event.is_clock:
            level[event.name] = max((level.get(name, 0) + 1 for name in event.manner.after), default=0)
    return list(level.values())


class Agenda(NamedTuple):
    """An agenda as the core takes it, and the code of clocks that runs in it, by name."""

    core: Any
    codes: Mapping[str, Any]


def agenda_of(
    plant: Plant, core_plant: Plant, p: np.ndarray, span: tuple[float, float],
    happened: tuple[frozenset[str] | None, frozenset[str]], row: np.ndarray, u: np.ndarray,
    modes: Sequence[int] = (),
) -> Agenda | None:  # fmt: skip
    """The agenda of a run over a span from a row under inputs; None where nothing is known of it beforehand.

    happened: events and clocks that happened at the beginning already; None where it goes on in the midst of a run, and
    the events that were told there. modes: guards of conditions whose modes are known.
    """
    system = plant.system
    if not system.events:
        return None
    fired, told = happened
    passing = passing_at(system, p, span)
    fired = fired and still_there(plant, span[0], row, u, p, fired, passing)
    told = still_there(plant, span[0], row, u, p, told, passing)
    order = order_of(system)
    names = [system.events[k].name for k in order.all]
    done = set(names) if fired is None else set(fired)
    times, what, rising = [np.zeros(0)], [np.zeros(0, dtype=int)], [np.zeros(0, dtype=int)]
    scheduled = []
    for k in timed_guards(system):
        found = passages(system, k, p, span)
        if found is None:
            continue
        number = order.events.index(k)
        scheduled.append(number)
        keep = _counting(system, k, p, span, found.times, names[number] in done)
        times.append(found.times[keep])
        what.append(np.full(int(keep.sum()), number))
        rising.append((found.rising[keep] == (span[1] >= span[0])).astype(int))
    for j, k in enumerate(order.clocks):
        ticks = ticks_of(system.events[k], span, names[len(order.events) + j] in done)
        times.append(ticks)
        what.append(np.full(len(ticks), len(order.events) + j))
        rising.append(np.zeros(len(ticks), dtype=int))
    _check_meetings(system, order, dict(zip(order.clocks, times[len(times) - len(order.clocks) :])))
    every = np.concatenate(times)
    place = np.argsort(every if span[1] >= span[0] else -every, kind="stable")
    numbers, ways = (np.concatenate(column)[place].tolist() for column in (what, rising))
    resting = told if fired is None else done
    known = [*(k for k in range(len(order.events)) if names[k] in resting), *modes]
    if not scheduled and not order.clocks and not known:
        return None
    calls, codes = _codes(plant, core_plant, order)
    return Agenda(_core.Agenda(every[place], numbers, ways, scheduled, known, calls), codes)


def passing_at(system: System, p: np.ndarray, span: tuple[float, float]) -> frozenset[str]:
    """The events that time alone decides whose guards pass zero where a span begins, by a jump too."""
    known = {k: passages(system, k, p, span) for k in timed_guards(system)}
    closest = same_instant(*span)
    return frozenset(
        system.events[k].name
        for k, found in known.items()
        if found is not None and np.any(np.abs(found.times - span[0]) <= closest)
    )


def still_there(
    plant: Plant, t: float, row: np.ndarray, u: np.ndarray, p: np.ndarray, fired: frozenset[str],
    passing: frozenset[str],
) -> frozenset[str]:  # fmt: skip
    """Of what fired at a moment the clocks, and the events whose guards are still at zero, or pass it there.

    Zero is what a guard can reach by a small share of the sizes of what it reads: a guard in other units is no nearer.
    """
    order = order_of(plant.system)
    if not fired or not order.events or plant.guards.function.n_in() != 4:
        return fired
    _, near = near_zero(plant, t, row, u, p)
    gone = {plant.system.events[k].name for k, is_near in zip(order.events, near) if not is_near}
    return fired - (gone - passing)


def near_zero(plant: Plant, t: float, row: np.ndarray, u: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The guards of a plant at a moment, and which of them are at zero but for a small share of what they read."""
    found = once(plant.system, _guards_and_sizes, plant.is_implicit, By(plant))(t, row, u, p)
    values, sizes = (part.full().ravel() for part in found)
    return values, np.abs(values) <= AT_ZERO * sizes


def _guards_and_sizes(system: System, implicit: bool, plant: By[Plant]) -> ca.Function:
    """The guards, and Σ |∂g/∂y| max(|y|, nominal) + |∂g/∂u| |u| + |∂g/∂t| max(|t|, 1), as functions of (t, y, u, p)."""
    guards, nominal = plant.value.guards.function, np.ones(plant.value.row_width)
    for letter in ("x", "z"):
        if letter in plant.value.row_parts:
            nominal[plant.value.row_parts[letter]] = system.nominal[letter]
    t, y, u, _p = arguments = [ca.SX.sym(guards.name_in(k), guards.size1_in(k)) for k in range(4)]
    values = guards.call(arguments)[0]
    sizes = ca.mtimes(ca.fabs(ca.jacobian(values, y)), ca.fmax(ca.fabs(y), ca.DM(nominal)))
    sizes += ca.mtimes(ca.fabs(ca.jacobian(values, u)), ca.fabs(u))
    sizes += ca.fabs(ca.jacobian(values, t)) * ca.fmax(ca.fabs(t), 1)
    return ca.Function("guards_and_sizes", arguments, [ca.densify(values), ca.densify(sizes)])


def ticks_of(event: Event, span: tuple[float, float], done: bool) -> np.ndarray:
    """When a clock ticks in a span, ends included; done: whether the tick at its beginning has happened already."""
    assert event.manner.schedule is not None
    low, high = min(span), max(span)
    period = event.manner.schedule.period
    if period is not None and (high - low) / period > MOST_TICKS:
        raise InputError(
            f"The clock {event.name!r} ticks too often.",
            f"{(high - low) / period:.3g} times between t = {low:g} and {high:g}",
            because="all ticks of a run are computed before it starts.",
            remedy="a longer period, or a shorter span",
        )
    return event.manner.schedule.due(*span, done)


def _counting(
    system: System, event: int, p: np.ndarray, span: tuple[float, float], times: np.ndarray, done: bool
) -> np.ndarray:
    """Which passages count: at the start not that of what happened there already, nor of a condition that holds."""
    keep = np.ones(len(times), dtype=bool)
    manner, own = system.events[event].manner, system.symbols(("t", "p"))
    guard = ca.Function("guard", own, [system.guards[event]])
    if not done and manner.side:
        value = float(guard(span[0], p)) * system.events[event].direction
        done = value > 0 or (value == 0 and manner.side == 1)
    elif not done:
        # A guard that jumps there has never been zero.
        value, later = (abs(float(guard(t, p))) for t in (span[0], span[0] + BESIDE * (span[1] - span[0])))
        done = value > JUMPED * later
    if done:
        keep &= np.abs(times - span[0]) > same_instant(*span)
    return keep


def _check_meetings(system: System, order: Order, ticks: Mapping[int, np.ndarray]) -> None:
    """Two clocks of one level that write one name must never be due together."""
    levels = dict(zip(order.clocks, levels_of(system)))
    for i, a in enumerate(order.clocks):
        for b in order.clocks[i + 1 :]:
            first, second = system.events[a], system.events[b]
            shared = sorted(_entries(system, first) & _entries(system, second))
            meet = np.intersect1d(ticks[a], ticks[b]) if shared and levels[a] == levels[b] else np.zeros(0)
            if len(meet):
                raise ModelError(
                    f"{first.name!r} and {second.name!r} both assign {shared[0]}.",
                    f"both are due at t = {meet[0]:g}",
                    because="what is due at one instant reads the values before and assigns together.",
                    remedy=f'after="{first.name}" for the one that should win, or another offset',
                )


def _entries(system: System, event: Event) -> set[str]:
    found: set[str] = set()
    for target in event.resets:
        place = system.place(target)
        found |= {system.labels[letter][int(k)] for letter, k in zip(place.letters, place.positions)}
    return found


# -- Python code of clocks ---------------------------------------------------------------------------------------------


def _codes(plant: Plant, core_plant: Plant, order: Order) -> tuple[list[Any], dict[str, Any]]:
    """For each clock None, or (what it reads, its code with the memory of one run, where its answers go)."""
    system = plant.system
    coded = [system.events[k].manner.code for k in order.clocks]
    if not any(code is not None for code in coded):
        return [], {}
    calls: list[Any] = []
    codes: dict[str, Any] = {}
    for k, code in zip(order.clocks, coded):
        if code is None:
            calls.append(None)
            continue
        name = system.events[k].name
        if code.call is None:
            raise InputError(
                f"The code of the clock {name!r} is not there.",
                because="a file or another process keeps the names that the code reads and writes, but not the code.",
                remedy="simulate the model that was written with it",
            )
        sizes = [[size_of(system, each) for each in names] for names in (code.reads, code.writes)]
        codes[name] = _core.SampledCode(code.call, code.memory, *sizes)
        reads = once(core_plant.system, code_reads, core_plant, system, code.reads)
        calls.append((reads.core, codes[name], assigned_places(plant, code.writes)))
    return calls, codes


def size_of(system: System, name: str) -> int:
    """How many numbers a name stands for; 0 for a scalar."""
    if name in system.output_names:
        expression = system.output(name)
        return 0 if expression.is_scalar() else int(expression.numel())
    place = system.place(name)
    return len(place.positions) if place.shape else 0


def code_reads(system: System, plant: Plant, names_of: System, names: tuple[str, ...]) -> Any:
    """What code reads, of the plant that is run, by the names of the system without modes."""
    columns = []
    for name in names:
        if name in ("t", "time"):
            columns.append(system.symbol("t"))
            continue
        if name in names_of.outputs:
            columns.append(ca.vec(names_of.outputs[name]))
        else:
            place = names_of.place(name)
            columns += [system.symbol(letter)[int(k)] for letter, k in zip(place.letters, place.positions)]
    return plant.compiled_values("reads", ca.vertcat(ca.SX(0, 1), *columns))


def assigned_places(plant: Plant, names: Iterable[str]) -> list[int]:
    """Places of what is assigned in a row of the resets: states, then discrete variables behind the whole row."""
    system, found = plant.system, []
    for name in names:
        place = system.place(name)
        for letter, k in zip(place.letters, place.positions):
            first = system.sizes["p"] - system.discrete_count
            found.append(int(k) if letter == "x" else plant.row_width + int(k) - first)
    return found
