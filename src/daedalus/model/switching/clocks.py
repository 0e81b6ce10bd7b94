"""Discrete variables and what changes them at known or found moments: clocks, schedules, conditions."""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import casadi as ca
import numpy as np

from daedalus.errors import ModelError
from daedalus.model.expressions import described
from daedalus.model.names import check_name, did_you_mean
from daedalus.model.plain_numbers import without_unit
from daedalus.model.switching.events import EventDoor
from daedalus.model.switching.schedule import Schedule
from daedalus.model.variables import Code, Manner, check_shape, make_variable, shape_of_values


class ClockDoor(EventDoor):
    """Write discrete variables, clocks, schedules and conditions."""

    def discrete(
        self,
        name: str,
        shape: int | tuple[int, ...] = (),
        *,
        start: object = 0.0,
        unit: str = "",
        nominal: object = 1.0,
    ) -> ca.SX:
        """Declare a variable that keeps its value until a clock, a schedule or an event changes it.

        Parameters
        ----------
        shape: () for a scalar, or as `start` has it.
        start: its initial value; `simulate(start={name: ...})` overrides it.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("thermostat")
        >>> T = m.state("T", start=20.0); on = m.discrete("on", start=1)
        >>> m.equation(m.der(T), 5.0 * on - 0.1 * (T - 10.0))
        >>> m.when(T > 22, {"on": 0}); m.when(T < 21, {"on": 1})
        >>> tr = dd.simulate(m, 10.0)
        >>> bool(20.9 < tr["T"][-1] < 22.1), sorted(set(tr["on"].tolist()))
        (True, [0.0, 1.0])
        """
        check_name(name, "discrete")
        dims, start = check_shape(shape, name), without_unit(start, str(unit or ""), name)
        if dims == ():
            dims = shape_of_values(start, name)
        return self._declare(make_variable(name, "discrete", dims, start=start, unit=unit, nominal=nominal))

    def every(
        self,
        period: float,
        assign: Mapping[str, object] | None = None,
        *,
        call: Callable[..., Any] | SampledCode | None = None,
        reads: Sequence[str] = (),
        writes: Sequence[str] = (),
        memory: object = None,
        offset: float = 0.0,
        after: str | Sequence[str] = (),
        name: str | None = None,
    ) -> None:
        """Declare a clock that assigns values at offset + k · period, in absolute time. It also ticks at the start.

        Parameters
        ----------
        assign: new values of discrete variables or states, by name. All expressions read the values before the tick.
        call: Python code instead of `assign`: f(t, (values of reads), memory) -> ((values of writes), memory). The
            memory is reset at the start of each run. An exception ends the run and keeps what was computed. You can
            pass a `dd.Controller` directly; it knows what it reads and writes.
        offset: the time of the first tick. Periods and offsets are exact decimals, so clocks coincide exactly.
        after: clocks whose new values this one reads when both are due.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("sampled")
        >>> x = m.state("x", start=1.0); u = m.discrete("u")
        >>> m.equation(m.der(x), u)
        >>> m.every(0.1, {"u": -2.0 * x})
        >>> round(float(dd.simulate(m, 0.2)["x"][-1]), 9)
        0.64
        """
        own = self._clock_name(name, "clock")
        length = _checked_time(period, f"The period of {own!r}", positive=True)
        shift = _checked_time(offset, f"The offset of {own!r}")
        schedule = Schedule(length, shift)
        behind = self._clocks_before(own, (after,) if isinstance(after, str) else tuple(after))
        if (call is None) == (assign is None):
            raise ModelError(
                f"The clock {own!r} assigns {'nothing' if call is None else 'twice'}.",
                "neither values nor call= is given" if call is None else "values and call= are given",
                because="a clock assigns formulas by name, or what Python code returns.",
                remedy='m.every(0.01, {"u": -k * x}), or m.every(0.01, call=f, reads=["x"], writes=["u"])',
            )
        if isinstance(call, SampledCode):
            reads, writes, call = reads or call.reads, writes or call.writes, call.sample
        if call is not None:
            self._write_code(own, schedule, behind, call, reads, writes, memory)
            return
        targets = _checked_targets(assign, own)
        self._write_event(own, ca.SX(1), 0, targets, False, Manner(schedule=schedule, after=behind))

    def schedule(self, times: Sequence[float], assign: Mapping[str, object], *, name: str | None = None) -> None:
        """Assign values at given times.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("motor")
        >>> v = m.state("v", start=0.0); mode = m.discrete("mode", start=0)
        >>> m.equation(m.der(v), mode)
        >>> m.schedule([1.0], {"mode": 1}); m.schedule([2.5], {"mode": 0})
        >>> round(float(dd.simulate(m, 4.0)["v"][-1]), 9)
        1.5
        """
        own = self._clock_name(name, "schedule")
        entries = list(times) if isinstance(times, (Sequence, np.ndarray)) and not isinstance(times, str) else [times]
        if not entries:
            raise ModelError(
                f"The schedule {own!r} has no times.",
                because="it would never act.",
                remedy="m.schedule([1.0, 2.5], {...})",
            )
        given = tuple(_checked_time(time, f"A time of {own!r}") for time in entries)
        targets = _checked_targets(assign, own)
        self._write_event(own, ca.SX(1), 0, targets, False, Manner(schedule=Schedule(times=given)))

    def when(
        self, condition: object, assign: Mapping[str, object], *, name: str | None = None, at_start: bool = False
    ) -> None:
        """Assign values when a condition becomes true: `x > 1`, or several combined by `dd.all_of`, `dd.any_of`,
        `dd.negate`.

        Parameters
        ----------
        at_start: if True, a condition that holds at the start acts there; otherwise `tr.notes` only mentions it.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("tank")
        >>> h = m.state("h", start=0.0); valve = m.discrete("valve", start=1)
        >>> m.equation(m.der(h), valve)
        >>> m.when(h > 1, {"valve": 0}, name="full")
        >>> round(float(dd.simulate(m, 3.0)["h"][-1]), 9)
        1.0
        """
        own = self._clock_name(name, "condition")
        value, way, side = self._guard(own, condition, 0)
        if way == 0:
            raise ModelError(
                f"The condition of {own!r} is a quantity.",
                because="m.when acts as a condition becomes true.",
                remedy="m.when(x > 1, {...}), or m.event for a quantity that passes zero",
            )
        targets = _checked_targets(assign, own)
        self._write_event(own, value, way, targets, False, Manner(side, at_start=bool(at_start)))

    # -- checks ------------------------------------------------------------------------------------------------

    def _clock_name(self, name: str | None, what: str, taken: Container[str] | None = None) -> str:
        """The name of a clock, schedule or condition: as given, or the first of its kind that is free."""
        if name is None:
            others = self.written.events if taken is None else taken
            return next(own for k in itertools.count(1) if (own := f"{what}_{k}") not in others)
        check_name(name, what)
        self._check_free(name, what)
        return name

    def _clocks_before(self, own: str, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            known = [e.name for e in self.written.events.values() if e.manner.schedule is not None]
            if name not in known:
                raise ModelError(
                    f"The clock {own!r} comes after {name!r}, which is not a clock.",
                    f"the clocks are {', '.join(known[:8])}" if known else "there is no other clock yet",
                    because="a clock reads the new values of one that is written before it.",
                    remedy=did_you_mean(name, known) if known else f'm.every(..., name="{name}") first',
                )
        return names

    def _write_code(
        self,
        own: str,
        schedule: Schedule,
        behind: tuple[str, ...],
        call: Callable[..., Any],
        reads: Sequence[str],
        writes: Sequence[str],
        memory: object,
    ) -> None:
        if not callable(call):
            raise ModelError(
                f"The code of {own!r} cannot be called.",
                f"got {described(call)}",
                because="call= is a function f(t, values, memory) -> (values, memory).",
                remedy="def f(t, values, memory): return (u,), memory",
            )
        names = tuple((given,) if isinstance(given, str) else tuple(given) for given in (reads, writes))
        for name in (*names[0], *names[1]):
            self._lookup(name)
        if not names[1]:
            raise ModelError(
                f"The code of {own!r} writes nothing.",
                because="what it returns goes to the names in writes=.",
                remedy='writes=["u"]',
            )
        code = Code(names[0], names[1], memory, call)
        # Its targets stand as what they are: the core writes what the code returns.
        stay = {target: self._lookup(target) for target in names[1]}
        self._write_event(own, ca.SX(1), 0, stay, False, Manner(schedule=schedule, after=behind, code=code))


def _checked_time(value: object, what: str, positive: bool = False) -> float:
    value = without_unit(value, "s", what)
    number = float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else math.nan
    if not math.isfinite(number) or (positive and number <= 0):
        raise ModelError(
            f"{what} is not {'a positive' if positive else 'a finite'} number.",
            f"got {described(value)}",
            because="time would not advance from one tick to the next." if positive else "it is a moment of a run.",
            remedy="0.01" if positive else "0.0",
        )
    return number


def _checked_targets(assign: object, own: str) -> Mapping[str, object]:
    if isinstance(assign, Mapping) and assign:
        return assign
    raise ModelError(
        f"{own!r} assigns nothing.",
        f"got {described(assign)}",
        because="new values are given by name.",
        remedy='{"mode": 1}',
    )


# Objects that can stand on a clock as they are: they know what they read and what they write.


@runtime_checkable
class SampledCode(Protocol):
    """Something with a method that a clock can call, as a controller: `m.every(0.05, call=controller)`."""

    reads: Sequence[str]
    writes: Sequence[str]

    def sample(self, t: float, values: tuple[Any, ...], memory: Any) -> tuple[tuple[Any, ...], Any]:
        """(values of writes, memory) from (values of reads, memory); the memory is None at the first tick of a run."""
        ...
