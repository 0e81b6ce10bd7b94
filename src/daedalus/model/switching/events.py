"""What a model does beside its equations: outputs that are evaluated along a run, and events that interrupt it."""

from __future__ import annotations

import numbers
from collections.abc import Mapping

import casadi as ca
import numpy as np

from daedalus.errors import ModelError
from daedalus.model.expressions import (
    as_matrix,
    column,
    described,
    elements,
    has_three_axes,
    operation,
    symbol_key,
)
from daedalus.model.names import check_name, did_you_mean
from daedalus.model.notebook import Notebook, shaped_like
from daedalus.model.plain_numbers import without_unit
from daedalus.model.switching.combined_conditions import is_condition
from daedalus.model.switching.pole_free_guard import pole_free
from daedalus.model.unit_labels import checked_unit
from daedalus.model.variables import Manner
from daedalus.model.written import WrittenEvent

_GUARD_REMEDY = "a quantity that passes zero, such as h - 1"


class EventDoor(Notebook):
    """Write outputs and events."""

    def output(self, name: str, expression: object, *, unit: str = "") -> None:
        """Declare a quantity that is computed along every result: `tr[name]`. `unit` is a label, see `dd.units`.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay")
        >>> x = m.state("x", start=2.0)
        >>> m.equation(m.der(x), -x)
        >>> m.output("energy", 0.5 * x**2)
        >>> float(dd.simulate(m, 1.0)["energy"][0])
        2.0
        """
        check_name(name, "output")
        self._check_free(name, "output")
        value, label = self._expression(expression, f"Output {name!r}"), checked_unit(unit, name)
        self._changed()
        self.written.outputs[name], self.written.output_units[name] = value, label

    def event(
        self,
        name: str,
        guard: object,
        *,
        direction: int = 0,
        reset: Mapping[str, object] | None = None,
        terminal: bool = False,
    ) -> None:
        """Declare an event: an action when `guard` crosses zero.

        Parameters
        ----------
        guard: a scalar expression; the event happens where it is zero. An inequality such as `h <= 0` is an event when
            it becomes true, and needs no direction.
        direction: -1 falling, +1 rising, 0 both.
        reset: new values of states and discrete variables by name. All expressions read the values before the event and
            are assigned together. For a discrete variable, True and False are 1 and 0.
        terminal: the run ends at the event.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("ball")
        >>> h = m.state("h", start=1.0); v = m.state("v", start=0.0)
        >>> m.equation(m.der(h), v); m.equation(m.der(v), -9.81)
        >>> m.event("bounce", h, direction=-1, reset={"v": -0.8 * v})
        >>> tr = dd.simulate(m, 1.0)
        >>> tr.events[0].name, round(tr.events[0].time, 4)
        ('bounce', 0.4515)
        """
        check_name(name, "event")
        self._check_free(name, "event")
        value, way, side = self._guard(name, guard, direction)
        if not isinstance(reset, Mapping) and reset is not None:
            raise ModelError(
                f"The reset of event {name!r} takes values by name.",
                f"got {type(reset).__name__}",
                because="each new value belongs to a state.",
                remedy='reset={"v": -0.8 * v}',
            )
        if not isinstance(terminal, (bool, np.bool_)):
            raise ModelError(
                f"terminal of event {name!r} is {type(terminal).__name__}, not True or False.",
                because="it decides whether the run ends at the event.",
                remedy="terminal=True",
            )
        self._write_event(name, value, way, reset or {}, bool(terminal), Manner(side))

    def _write_event(
        self, name: str, guard: ca.SX, way: int, reset: Mapping[str, object], terminal: bool, manner: Manner
    ) -> None:
        """Check what an event or a clock assigns, and note it."""
        resets = {target: self._reset_value(name, target, new) for target, new in reset.items()}
        self._check_overlap(name, resets)
        self._changed()
        self.written.events[name] = WrittenEvent(name, guard, way, resets, terminal, manner=manner)

    def _guard(self, name: str, guard: object, direction: object) -> tuple[ca.SX, int, int]:
        """The quantity that passes zero, in which direction, and which side of a condition zero is on.

        An inequality is an event when it becomes true; so is any other condition, which jumps from -1 to 1 there.
        """
        where = f"The guard of event {name!r}"
        because, one_each = "an event happens where one quantity passes zero.", "one event for each component"
        value = self._scalar(guard, where, because, one_each, _GUARD_REMEDY)
        if not isinstance(direction, numbers.Real) or isinstance(direction, bool) or direction not in (-1, 0, 1):
            raise ModelError(
                f"The direction of event {name!r} is not -1, 0 or 1.",
                f"got {described(direction)}",
                because="a guard passes zero falling, rising, or either way.",
                remedy="-1 falling, 1 rising, 0 both",
            )
        way = int(float(direction))
        side = 0
        if operation(value) in (ca.OP_LT, ca.OP_LE):
            side = 1 if operation(value) == ca.OP_LE else 2
            value, way = _becomes_true(value, way, where)
            value = pole_free(value, self._is_moving)
        elif operation(value) == ca.OP_EQ and not self._only_held(value):
            value = value.dep(0) - value.dep(1)
        elif is_condition(value):
            if way < 0:
                raise _with_direction(where, way)
            value, way, side = 2 * value - 1, 1, 1
        if set(self._kinds_in(value, where).values()) <= {"parameter"}:
            raise ModelError(
                f"{where} never passes zero.",
                f"it is the constant {float(value):g}" if value.is_constant() else "it contains only parameters",
                because="an event happens where a quantity changes its sign during a run.",
                remedy=_GUARD_REMEDY,
            )
        return value, way, side

    def _is_moving(self, key: int) -> bool:
        """Whether the symbol with a key changes between instants."""
        known = self.written.known.get(key)
        if known is None or known[0] == "t":
            return known is not None
        return self.written.variables[known[0]].kind not in ("discrete", "parameter")

    def _only_held(self, value: ca.SX) -> bool:
        """Whether nothing in an expression moves between instants."""
        return set(self._kinds_in(value, "a condition").values()) <= {"discrete", "parameter"}

    def _reset_value(self, event: str, target: str, new: object) -> ca.SX:
        where = f"The reset of {target} in event {event!r}"
        symbol = self._lookup(target) if isinstance(target, str) else ca.SX(0)
        keys = [self.written.known.get(symbol_key(s)) for s in elements(symbol)] if symbol.is_valid_input() else [None]
        kinds = ("state", "discrete")
        if any(k is None or k[0] == "t" or self.written.variables[k[0]].kind not in kinds for k in keys):
            raise ModelError(
                f"{where} is not possible.",
                f"{target} is not {'a state' if isinstance(target, str) else 'a name'}",
                because="only states and discrete variables keep the value that an event gives them.",
                remedy=did_you_mean(
                    str(target), [v.name for v in self.written.variables.values() if v.kind in kinds], listed=False
                ),
            )
        if all(k is not None and self.written.variables[k[0]].kind == "discrete" for k in keys):
            new = _without_truth_values(new)
        if (key := keys[0]) is not None:
            own = self.written.variables[key[0]]
            new = without_unit(new, own.unit, where)
            if has_three_axes(new) and new.shape == own.shape:
                new = as_matrix(new)
        return shaped_like(symbol, self._expression(new, where), where, "every element takes one new value.")

    def _check_overlap(self, name: str, resets: Mapping[str, ca.SX]) -> None:
        """An element that two resets name would have two new values."""
        owner: dict[int, str] = {}
        for target in resets:
            for scalar in elements(column(self._lookup(target))):
                first = owner.setdefault(symbol_key(scalar), target)
                if first != target:
                    raise ModelError(
                        f"Event {name!r} resets {self.written.labels()[symbol_key(scalar)]} twice.",
                        f"once by {first!r}, once by {target!r}",
                        because="all resets of an event are assigned together.",
                        remedy="one of the two",
                    )


def _without_truth_values(new: object) -> object:
    """What a discrete variable is assigned, with 1 and 0 for True and False."""
    if isinstance(new, (bool, np.bool_)):
        return float(new)
    if isinstance(new, np.ndarray) and new.dtype == bool:
        return new.astype(float)
    if isinstance(new, (list, tuple)):
        return [_without_truth_values(each) for each in new]
    return new


def _becomes_true(inequality: ca.SX, direction: int, where: str) -> tuple[ca.SX, int]:
    """The guard h - 1 and its direction: falling for `h <= 1`, rising for `h >= 1`, which CasADi keeps as `1 <= h`."""
    left, right = inequality.dep(0), inequality.dep(1)
    value, way = (right - left, 1) if left.is_constant() else (left - right, -1)
    unclear = not left.is_constant() and not right.is_constant()
    if direction and (unclear or direction != way):
        raise _with_direction(where, direction)
    return value, way


def _with_direction(where: str, direction: int) -> ModelError:
    return ModelError(
        f"{where} is an inequality with a direction.",
        f"direction={direction}",
        because="an inequality acts as it becomes true, which already is a direction.",
        remedy="the inequality without direction=, or a - b with it",
    )
