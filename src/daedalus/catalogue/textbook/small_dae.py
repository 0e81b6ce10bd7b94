"""Small DAEs from two lectures, each of which shows one effect; `EXAMPLES` lists them with their known properties.

Gros: S. Gros, Numerical Optimal Control with DAEs, lecture 10 (2016). Savin: S. Savin, Contact-aware control, lecture 1
(2023), with the numbers of its equations. The default is Savin (21), a force that holds x on the line x2 = 2 x1:

    x1' = x1 + 5 x2 - λ,    x2' = -2 x1 + x2 + λ,    2 x1 - x2 = 0

On the line 2 (11 x1 - λ) = λ, so that λ = 22/3 x1 and x1' = 11/3 x1: the reference.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import casadi as ca

from daedalus.catalogue.known_system import KnownSystem, Value
from daedalus.catalogue.reference import Reference
from daedalus.errors import InputError
from daedalus.model.model import Model
from daedalus.model.names import did_you_mean


@dataclass(frozen=True)
class Verdict:
    """The attributes of `dd.analyse(model, at=at)` that are known; None means that nothing is promised.

    hidden: texts of hidden constraints, each contained in one that is found. warnings: likewise.

    Example
    -------
    >>> from daedalus.catalogue.textbook.small_dae import Verdict
    >>> Verdict("explicit ODE", index=0, freedom=1).index
    0
    """

    kind: str
    index: int | None
    freedom: int
    at: dict[str, object] = field(default_factory=dict)
    structural_index: int | None = None
    is_linear: bool | None = None
    directly_solvable: bool | None = None
    solvable: bool = True
    algebraic: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    undetermined: tuple[str, ...] = ()


END = 1.0
SLOPE_21 = 11 / 3


@dataclass(frozen=True)
class Example:
    """A system, where it comes from, and the verdicts at one or several points."""

    write: Callable[[Model], None]
    source: str
    verdicts: tuple[Verdict, ...]
    end: float = END  # of the span


EXAMPLES: dict[str, Example] = {}


def _shows(source: str, *verdicts: Verdict, end: float = END) -> Callable[[Callable[[Model], None]], None]:
    """Takes what writes a system into the examples, under its name."""

    def taken(write: Callable[[Model], None]) -> None:
        EXAMPLES[write.__name__.removeprefix("_")] = Example(write, source, verdicts, end)

    return taken


def build(example: str = "savin_21") -> KnownSystem:
    """One of the small systems, by its name in `EXAMPLES`.

    Example
    -------
    >>> from daedalus import catalogue
    >>> from daedalus.catalogue.textbook.small_dae import EXAMPLES
    >>> list(EXAMPLES)[:4]
    ['algebraic_inside', 'input_switched', 'start_switched', 'product']
    >>> catalogue.load("small_dae", example="savin_14").index
    1
    """
    if example not in EXAMPLES:
        raise InputError(
            f"There is no small system {example!r}.",
            f"known: {', '.join(EXAMPLES)}",
            remedy=did_you_mean(str(example), EXAMPLES),
        )
    chosen = EXAMPLES[example]
    m = Model("small_dae")
    chosen.write(m)
    verdict = chosen.verdicts[0]
    reference = None
    if example == "savin_21":
        growth = math.exp(SLOPE_21 * END)
        reference = Reference(END, {"x1": growth, "x2": 2 * growth}, 15, "closed form")
    inputs: dict[str, Value] = {name: float(verdict.at.get(name, 1.0)) for name in m.inputs}  # type: ignore[arg-type]
    return KnownSystem(
        m,
        span=(0.0, chosen.end),
        inputs=inputs,
        index=verdict.index,
        reference=reference,
        source=chosen.source,
    )


# -- Gros ------------------------------------------------------------------------------------------------------

_GROS = "S. Gros, Numerical Optimal Control with DAEs (2016)"


@_shows(
    _GROS,
    Verdict("fully implicit DAE", 1, 1, structural_index=1, is_linear=False, directly_solvable=True, algebraic=("x2",)),
)
def _algebraic_inside(m: Model) -> None:
    x1, x2 = m.state("x1", start=1.0), m.state("x2")
    m.equation(x1 - m.der(x1) + 1)
    m.equation(m.der(x1) * x2 + 2)


_AT_ZERO = ("an ODE for u != 0, a DAE at u = 0, an algebraic equation",)


@_shows(
    _GROS,
    Verdict("implicit ODE", 0, 1, {"u": 2.0}, structural_index=0, directly_solvable=True, warnings=_AT_ZERO),
    Verdict("fully implicit DAE", 1, 0, {"u": 0.0}, directly_solvable=False, warnings=_AT_ZERO),
)
def _input_switched(m: Model) -> None:
    x, u = m.state("x", start=1.0), m.input("u")
    m.equation(u * m.der(x) + x)


_ON_LINE = ("on x1 = x2 it is a DAE, and there the solution is not unique",)


@_shows(
    _GROS,
    Verdict("implicit ODE", 0, 2, {"u": 0.5}, directly_solvable=True, warnings=_ON_LINE),
    Verdict("fully implicit DAE", 1, 1, {"x1": 2.0, "x2": 2.0, "u": 0.5}, directly_solvable=False, warnings=_ON_LINE),
)
def _start_switched(m: Model) -> None:
    x1, x2, u = m.state("x1", start=2.0), m.state("x2", start=1.0), m.input("u")
    m.equation(m.der(x1) + x1 - u)
    m.equation((x1 - x2) * m.der(x2) + x1 - x2)


@_shows(_GROS, Verdict("semi-explicit DAE", 1, 1, structural_index=1, directly_solvable=True, algebraic=("z",)))
def _product(m: Model) -> None:
    x, z, u = m.state("x", start=1.0), m.algebraic("z", start=1.0), m.input("u")
    m.equation(m.der(x), u - x + z)
    m.equation(x * z, 1)


# -- Savin -----------------------------------------------------------------------------------------------------

_SAVIN = "S. Savin, Contact-aware control, lecture 1 (2023)"


@_shows(_SAVIN, Verdict("explicit ODE", 0, 1, is_linear=False, directly_solvable=True))
def _savin_3(m: Model) -> None:
    x = m.state("x", start=0.0)
    m.equation(m.der(x) + ca.sin(x + 1), ca.sin(2 * m.time))


@_shows(
    _SAVIN,
    Verdict("implicit ODE", 0, 1, is_linear=False, warnings=("where x_dot = 0",)),
    Verdict("fully implicit DAE", 1, 0, {"x": 0.0}, warnings=("at this point",)),
)
def _savin_4(m: Model) -> None:
    x = m.state("x", start=1.0)
    m.equation(m.der(x) ** 3 + x)


@_shows(_SAVIN, Verdict("explicit ODE", 0, 1, is_linear=False, directly_solvable=True))
def _savin_5(m: Model) -> None:
    x = m.state("x", start=0.0)
    m.equation(m.der(x), ca.sin(2 * m.time) - ca.sin(x + 1))


@_shows(_SAVIN, Verdict("explicit ODE", 0, 2, is_linear=True, directly_solvable=True))
def _savin_6(m: Model) -> None:
    x = m.state("x", start=1.0, rate=0.0)
    m.equation(m.der(m.der(x)), -5 * m.der(x) - 2 * x)


@_shows(_SAVIN, Verdict("fully implicit DAE", 1, 1, structural_index=1, is_linear=False, directly_solvable=False))
def _savin_13(m: Model) -> None:
    x1, x2 = m.state("x1", start=1.0), m.state("x2", start=1.0)
    m.equation(m.der(x1) + m.der(x2) + x1 * x2 + ca.sin(m.time))
    m.equation(x1 - x2)


# x2 - cos(x2) = 7 t - 1 comes to 3π/2, where the derivatives have no bound, at t = 0.816.
@_shows(
    _SAVIN,
    Verdict(
        "fully implicit DAE",
        1,
        1,
        structural_index=0,
        directly_solvable=False,
        hidden=("x1 + cos(x2) + 7 = 0",),
        warnings=("the pattern of the equations misleads", "sin(x2) + 1 = 0"),
    ),
    end=0.75,
)
def _savin_14(m: Model) -> None:
    x1, x2 = m.state("x1", start=-8.0), m.state("x2", start=0.0)
    m.equation(m.der(x1) + m.der(x2) - 7)
    m.equation(m.der(x1) + m.der(x2) + x1 + ca.cos(x2))


@_shows(
    _SAVIN,
    Verdict(
        "semi-explicit DAE",
        2,
        1,
        structural_index=2,
        is_linear=True,
        directly_solvable=False,
        algebraic=("force",),
        hidden=("line, differentiated once",),
    ),
)
def _savin_21(m: Model) -> None:
    x1, x2, force = m.state("x1", start=1.0), m.state("x2", start=2.0), m.algebraic("force")
    m.equation(m.der(x1), x1 + 5 * x2 - force)
    m.equation(m.der(x2), -2 * x1 + x2 + force)
    m.equation(2 * x1 - x2, name="line")


@_shows(
    _SAVIN,
    Verdict(
        "semi-explicit DAE",
        None,
        1,
        is_linear=True,
        directly_solvable=False,
        solvable=False,
        algebraic=("force1", "force2"),
        undetermined=("x1", "x2", "force1", "force2"),
        warnings=("one equation is missing",),
    ),
)
def _savin_22(m: Model) -> None:
    x1, x2 = m.state("x1", start=7.0), m.state("x2", start=-3.0)
    force1, force2 = m.algebraic("force1"), m.algebraic("force2")
    m.equation(m.der(x1), 10 * x1 + 15 * x2 - force1 + force2)
    m.equation(m.der(x2), x1 + 5 * x2 + force2)
    m.equation(3 * x1 + 7 * x2, name="line")
