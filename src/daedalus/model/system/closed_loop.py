"""A system whose inputs are expressions of its own variables: the loop closed, the input now an output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

from daedalus.errors import InputError
from daedalus.model.expressions import concatenate
from daedalus.model.system.equal_expressions import EqualExpressions
from daedalus.model.system.once import once
from daedalus.model.system.system import System

# A system keeps this many of its closed loops.
MOST_LOOPS = 32


@dataclass(frozen=True, eq=False)
class ClosedLoop:
    """A part of a system: the one that it was before expressions took the place of inputs."""

    opened: System


def opened(system: System) -> System:
    """The system before any loop was closed around it; itself where none was."""
    while (loop := system.part(ClosedLoop)) is not None:
        system = loop.opened
    return system


def closed_loop(system: System, feedback: Mapping[str, ca.SX], *, with_addition: bool = False) -> System:
    """The system with each input in `feedback` replaced by its expression; the result keeps it as an output.

    with_addition: the input stays one too, and is what is added to the expression; the output is the sum.
    It is kept with the system: equal expressions are closed and compiled once.
    """
    return once(system, _closed, EqualExpressions(feedback), with_addition, most=MOST_LOOPS) if feedback else system


def _closed(system: System, expressions: EqualExpressions, with_addition: bool) -> System:
    driven = _driven(system, expressions.by_name, with_addition)
    left = [v for v in system.variables if with_addition or v.name not in driven]
    old, new = [_input(system, name) for name in driven], list(driven.values())
    inputs = concatenate(_input(system, v.name) for v in left if v.kind == "input")

    def closed(expression: ca.SX) -> ca.SX:
        return ca.densify(ca.substitute([expression], old, new)[0])

    outputs = {name: closed(value) for name, value in system.outputs.items()}
    for name, expression in driven.items():
        outputs[name] = ca.densify(ca.reshape(expression, *(*system.places[name].shape, 1, 1)[:2]))
    return system.changed(
        variables=left,
        symbols={**{letter: system.symbol(letter) for letter in ("t", "xdot", "x", "z", "p")}, "u": inputs},
        residual=closed(system.residual),
        outputs=outputs,
        guards=closed(system.guards),
        resets=closed(system.resets),
        assigned=closed(system.assigned),
        invariants={name: closed(value) for name, value in system.invariants.items()},
        watched={name: closed(value) for name, value in system.watched.items()},
        parts=(ClosedLoop(system),),
        output_units={**system.output_units, **{name: system.places[name].unit for name in driven}},
    )


def _driven(system: System, feedback: Mapping[str, ca.SX], with_addition: bool) -> dict[str, ca.SX]:
    """The inputs as columns; one that is an expression of others comes behind them, and contains none of them."""
    waiting = {name: ca.vec(value) for name, value in feedback.items()}
    done: dict[str, ca.SX] = {}
    while waiting:
        names = list(waiting)
        ready = [
            name
            for name in names
            if not ca.depends_on(waiting[name], concatenate(_input(system, other) for other in names))
        ]
        if not ready:
            raise InputError(
                f"The expressions for the inputs {', '.join(names[:6])} depend on each other.",
                because="none of them can be evaluated first.",
                remedy="expressions of states, parameters and the time, or m.algebraic variables with equations",
            )
        old, new = [_input(system, name) for name in done], list(done.values())
        for name in ready:
            value = ca.densify(ca.substitute([waiting.pop(name)], old, new)[0])
            done[name] = value + _input(system, name) if with_addition else value
    return {name: done[name] for name in feedback}


def _input(system: System, name: str) -> ca.SX:
    return system.symbol("u")[system.places[name].positions.tolist()]
