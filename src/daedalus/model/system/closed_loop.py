"""A system whose inputs are expressions of its own variables: the loop closed, the input now an output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

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


def closed_loop(system: System, feedback: Mapping[str, ca.SX]) -> System:
    """The system with each input in `feedback` replaced by its expression; the result keeps it as an output.

    It is kept with the system: equal expressions are closed and compiled once.
    """
    return once(system, _closed, EqualExpressions(feedback), most=MOST_LOOPS) if feedback else system


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

    outputs = {name: closed(value) for name, value in system.outputs.items()}
    for name, expression in feedback.items():
        outputs[name] = closed(ca.reshape(expression, *(*_shape(system, name), 1, 1)[:2]))
    return system.changed(
        variables=left,
        symbols={**{letter: system.symbol(letter) for letter in ("t", "xdot", "x", "z", "p")}, "u": inputs},
        residual=closed(system.residual),
        outputs=outputs,
        guards=closed(system.guards),
        resets=closed(system.resets),
        invariants={name: closed(value) for name, value in system.invariants.items()},
        watched={name: closed(value) for name, value in system.watched.items()},
        parts=(ClosedLoop(system),),
    )


def _shape(system: System, name: str) -> tuple[int, ...]:
    return system.places[name].shape
