"""The integration methods by name: what each can solve, with which order (`dd.methods`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from daedalus.errors import InputError
from daedalus.model.names import did_you_mean

if TYPE_CHECKING:
    from daedalus.simulation.tableaux.tableau import Tableau


@dataclass(frozen=True)
class Method:
    """One row of the table of methods; a `-` means that the method does not solve that kind of system."""

    name: str
    order: int
    explicit: bool
    adaptive: bool
    ode: str
    index_1: str
    index_2: str = "-"
    index_3: str = "-"
    title: str = ""
    family: str = "runge-kutta"  # what of the core runs it: runge-kutta, radau, bdf, rosenbrock, tableau
    highest_index: int = 3  # that it solves as written; explicit methods run reduced models


def _explicit(name: str, order: int, adaptive: bool, title: str) -> Method:
    # Explicit methods solve index 1 where z is an expression of x, and higher indices after reduction to that form
    # with projection onto the constraints; x and z then have the order of the method.
    reduced = f"{order} reduced"
    return Method(name, order, True, adaptive, str(order), f"{order} z explicit", reduced, reduced, title)


def _radau(stages: int) -> Method:
    # Hairer, Lubich, Roche 1989: x and z at index 1, x and z at index 2, positions, velocities and multipliers at 3.
    s, order = stages, 2 * stages - 1
    orders = (f"{order} z {order}", f"{order} z {s}", f"q {s + 1} v {s} z {s - 1}")
    return Method(f"radau{order}", order, False, True, str(order), *orders, f"Radau IIA, {s} stages", "radau")


METHODS = {
    method.name: method
    for method in (
        _explicit("euler", 1, False, "explicit Euler"),
        _explicit("midpoint", 2, False, "explicit midpoint (Runge 1895)"),
        _explicit("heun", 2, False, "Heun, explicit trapezoidal"),
        _explicit("ralston", 2, False, "Ralston 1962, smallest error bound of order 2"),
        _explicit("rk4", 4, False, "the classical method (Kutta 1901)"),
        _explicit("bs3", 3, True, "Bogacki and Shampine 1989, 3(2)"),
        _explicit("dopri5", 5, True, "Dormand and Prince 1980, 5(4)"),
        _explicit("tsit5", 5, True, "Tsitouras 2011, 5(4)"),
        _explicit("dop853", 8, True, "Dormand and Prince 8(5,3), Hairer, Nørsett and Wanner 1993"),
        *(_radau(stages) for stages in (2, 3, 5)),
    )
}

# Written in the contract for later; named here so that the error says more than "unknown".
IMPLICIT = {
    "implicit_euler", "trapezoidal", "bdf", "rodas5p", "rattle",
    *(f"gauss{k}" for k in range(1, 7)),
}  # fmt: skip


class MethodTable:
    """The table that `dd.methods()` returns: iterate over it, look a name up, or print it."""

    def __iter__(self) -> Iterator[Method]:
        return iter(METHODS.values())

    def __len__(self) -> int:
        return len(METHODS)

    def __getitem__(self, name: str) -> Method:
        return METHODS[name]

    def __repr__(self) -> str:
        head = ("name", "order", "explicit", "adaptive", "ODE", "index 1", "index 2", "index 3", "")
        rows = [
            (m.name, str(m.order), _yes(m.explicit), _yes(m.adaptive), m.ode, m.index_1, m.index_2, m.index_3, m.title)
            for m in self
        ]
        widths = [max(len(row[k]) for row in (head, *rows)) for k in range(len(head))]
        lines = ("  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in (head, *rows))
        return "\n".join(lines)


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"


def methods() -> MethodTable:
    """The table of integration methods: name, order, explicit, adaptive, and the orders by index.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.methods()["dop853"].order
    8
    >>> [m.name for m in dd.methods() if m.adaptive]
    ['bs3', 'dopri5', 'tsit5', 'dop853', 'radau3', 'radau5', 'radau9']
    """
    return MethodTable()


@dataclass(frozen=True)
class Choice:
    """A method as the core takes it, and why it was taken."""

    name: str
    core: Any
    adaptive: bool
    reason: str


def choose_method(method: str | Tableau, rtol: float, step: float | None) -> Choice:
    """Turn `method=` into what the core runs; refuse unknown names and a fixed-step method without a step."""
    if not isinstance(method, str):
        return _from_tableau(method, step)
    if method == "auto":
        # Order 8 pays its 12 stages back below about 1e-7 (Hairer, Nørsett, Wanner I, II.10).
        name = "dop853" if rtol < 1e-7 else "tsit5"
        return Choice(name, name, True, f"auto: {name}, explicit, for rtol = {rtol:g}")
    if method not in METHODS:
        raise _unknown_method(method)
    if not METHODS[method].explicit:
        return _implicit(METHODS[method], step)
    if METHODS[method].adaptive:
        if step is None:
            return Choice(method, method, True, "as asked")
        return Choice(method, _core_tableau(method), False, "as asked, at fixed step")
    if step is None:
        raise _no_step(method)
    return Choice(method, _core_tableau(method), False, "as asked")


def is_implicit(method: object) -> bool:
    """Whether `method=` names an implicit method."""
    known = METHODS.get(method) if isinstance(method, str) else None
    return known is not None and not known.explicit


def _implicit(method: Method, step: float | None) -> Choice:
    from daedalus.simulation.tableaux.collocation_transform import core_collocation

    core = core_collocation((method.order + 1) // 2)
    return Choice(method.name, core, step is None, "as asked" if step is None else "as asked, at fixed step")


def _from_tableau(method: object, step: float | None) -> Choice:
    from daedalus.simulation.tableaux.tableau import Tableau

    if not isinstance(method, Tableau):
        raise InputError("method= is a name or a Tableau.", f"got {type(method).__name__}", remedy='method="tsit5"')
    name = method.name or "tableau"
    if not method.is_explicit:
        raise InputError(
            f"The tableau {name!r} is implicit.",
            because="this version integrates explicit tableaux.",
            remedy='an explicit tableau, or method="dop853"',
        )
    problems = [] if method.is_consistent else method.problems()
    if problems:
        raise InputError(f"The tableau {name!r} is not consistent.", problems, remedy="correct the coefficients")
    adaptive = step is None and method.b_hat is not None
    if step is None and not adaptive:
        raise _no_step(name)
    return Choice(name, _tableau_of(method), adaptive, "as asked")


def _no_step(name: str) -> InputError:
    return InputError(
        f"The method {name!r} needs a step.",
        because="it has no error estimate to choose one.",
        remedy='step=0.01, or an adaptive method such as "tsit5"',
    )


def _unknown_method(method: str) -> InputError:
    if method in IMPLICIT:
        return InputError(
            f"The method {method!r} is not in this version.",
            "available: " + ", ".join(METHODS),
            because="implicit methods are still to come.",
            remedy='method="auto"',
        )
    return InputError(
        f"There is no method {method!r}.",
        "available: auto, " + ", ".join(METHODS),
        remedy=did_you_mean(method, METHODS),
    )


@cache
def _core_tableau(name: str) -> Any:
    from daedalus.simulation.tableaux.named_tableaux import tableau

    return _tableau_of(tableau(name))


@cache
def _tableau_of(method: Tableau) -> Any:
    from daedalus.simulation.tableaux.core_tableau import core_tableau

    return core_tableau(method)
