"""A system whose inputs are expressions of its own variables: the loop closed, the input now an output."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from daedalus.model.expressions import concatenate
from daedalus.model.system.equal_expressions import EqualExpressions
from daedalus.model.system.once import kept, once
from daedalus.model.system.system import System

# A system keeps this many of its closed loops.
MOST_LOOPS = 32


def closed_loop(system: System, feedback: Mapping[str, ca.SX]) -> System:
    """The system with each input in `feedback` replaced by its expression; the result keeps it as an output.

    It is kept with the system: equal expressions are closed and compiled once.
    """
    return once(system, _closed, EqualExpressions(feedback), most=MOST_LOOPS) if feedback else system


def is_closed_loop_of(system: System, original: System) -> bool:
    """Whether a system is what `closed_loop` made of another one."""
    return any(closed is system for closed in kept(original, _closed))


def _closed(system: System, expressions: EqualExpressions) -> System:
    feedback = expressions.by_name
    left = [v for v in system.variables if v.name not in feedback]
    old, new = [], []
    for name, expression in feedback.items():
        old.append(system.symbol("u")[system.places[name].positions.tolist()])
        new.append(ca.vec(expression))
    inputs = concatenate(
        system.symbol("u")[system.places[v.name].positions.tolist()] for v in left if v.kind == "input"
    )

    def closed(expression: ca.SX) -> ca.SX:
        return ca.densify(ca.substitute([expression], old, new)[0])

    symbols = {letter: system.symbol(letter) for letter in ("t", "xdot", "x", "z", "p")}
    outputs = {name: closed(value) for name, value in system.outputs.items()}
    for name, expression in feedback.items():
        outputs[name] = closed(ca.reshape(expression, *(*_shape(system, name), 1, 1)[:2]))
    return System(
        system.name,
        left,
        system.orders,
        {**symbols, "u": inputs},
        closed(system.residual),
        system.equation_labels,
        outputs,
        system.events,
        closed(system.guards),
        closed(system.resets),
        {name: closed(value) for name, value in system.invariants.items()},
        {name: closed(value) for name, value in system.watched.items()},
        system.choices,
    )


def _shape(system: System, name: str) -> tuple[int, ...]:
    return system.places[name].shape
