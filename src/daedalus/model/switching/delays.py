"""Delayed signals: `m.delay(expression, 0.1)` is what an expression was, one delay ago.

A delayed signal is an input that nobody drives: a run computes it from its own history. What is delayed, by how long
and what it was before the start stand among the outputs, under names made of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca

from daedalus.errors import InputError, ModelError
from daedalus.model.expressions import described, plain_shape
from daedalus.model.notebook import shaped_like
from daedalus.model.plain_numbers import without_unit
from daedalus.model.switching.clocks import ClockDoor
from daedalus.model.system.system import System
from daedalus.model.variables import make_variable

SIGNAL, TIME, BEFORE = "_signal", "_delay", "_before"


class DelayDoor(ClockDoor):
    """Write delayed signals."""

    def delay(self, expression: object, time: object, *, history: object = None, name: str | None = None) -> ca.SX:
        """The value that an expression had `time` ago: a transport delay of states, algebraic variables, inputs or
        outputs.

        Parameters
        ----------
        expression: a scalar, column or matrix of the model's symbols; an output by its name.
        time: a positive number, or an expression of parameters.
        history: the value before the start: a number or array, an expression of m.time and parameters, or a function of
            time that can be traced. The default is the value at the start. A run that starts from `tr.end` or
            `tr.at(t)` continues with the history of that run.
        name: the name of the delayed signal in results; by default "delay_1" and so on.

        Explicit methods and Radau support delays, forward in time. Steps are never longer than the shortest delay, and
        end where a jump leaves a delay. For a delay by one sample of a clock, use a discrete variable instead.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("Hutchinson")
        >>> x = m.state("x", start=1.0)
        >>> m.equation(m.der(x), -m.delay(x, 1.0))
        >>> tr = dd.simulate(m, 2.0, rtol=1e-9)
        >>> tr.at([0.5, 2.0])["x"].round(6).tolist()
        [0.5, -0.5]
        """
        own = self._clock_name(name, "delay", self.written.variables)
        for more in (SIGNAL, TIME, BEFORE):
            self._check_free(own + more, "delay")
        named = self._lookup(expression) if isinstance(expression, str) else expression
        value = self._expression(named, f"What {own!r} delays")
        length = self._delay_time(own, time)
        before = None if history is None else self._history(own, history, value)
        symbol = self._declare(make_variable(own, "input", plain_shape(value)))
        self.written.variables[own] = replace(self.written.variables[own], delayed=True)
        self.written.outputs[own + SIGNAL], self.written.outputs[own + TIME] = ca.SX(value), length
        if before is not None:
            self.written.outputs[own + BEFORE] = before
        return symbol

    def _delay_time(self, own: str, time: object) -> ca.SX:
        where = f"The time of {own!r}"
        length = self._expression(without_unit(time, "s", where), where)
        kinds = self._kinds_in(length, f"The time of {own!r}")
        moving = [name for name, kind in kinds.items() if kind != "parameter"]
        if moving:
            raise ModelError(
                f"The time of {own!r} depends on {moving[0]}.",
                because="a delay is a number or follows from parameters; varying delays are not supported.",
                remedy="m.delay(x, 0.1), or a parameter",
            )
        if not length.is_scalar() or (length.is_constant() and not float(length) > 0):
            raise ModelError(
                f"The time of {own!r} is not a positive number.",
                f"got {described(time)}",
                because="without a delay it is the signal itself.",
                remedy="m.delay(x, 0.1)",
            )
        return length

    def _history(self, own: str, history: Any, value: ca.SX) -> ca.SX:
        where = f"The history of {own!r}"
        if callable(history) and not isinstance(history, ca.SX):
            try:
                history = history(self.written.time)
            except Exception as error:
                raise ModelError(
                    f"{where} cannot be read as a formula.",
                    f"history(m.time) raised {type(error).__name__}: {error}",
                    because="the history is stored as a formula of time.",
                    remedy="an expression of m.time: history=ca.sin(m.time)",
                ) from error
        before = self._expression(history, where)
        moving = [name for name, kind in self._kinds_in(before, where).items() if kind not in ("time", "parameter")]
        if moving:
            raise ModelError(
                f"{where} depends on {moving[0]}.",
                because="a run has no values before its start.",
                remedy="a number, or an expression of m.time and parameters",
            )
        return shaped_like(value, before, where, "every element had a value.")


def refuse_delays(system: System, what: str) -> None:
    """Refuse delayed signals by name."""
    names = [v.name for v in system.delayed]
    if names:
        raise InputError(
            f"{what} takes no delayed signals.",
            f"the model has {', '.join(names[:6])}",
            because="the history of a signal is not part of the state.",
            remedy="dd.simulate, or a chain of states in place of the delay",
        )
