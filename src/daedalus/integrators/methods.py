"""The integration methods by name: what each can solve, with which order (`dd.methods`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from daedalus.errors import InputError
from daedalus.model.names import counted, did_you_mean

if TYPE_CHECKING:
    from daedalus.integrators.tableaux.tableau import Tableau


@dataclass(frozen=True)
class Method:
    """One row of the list of methods; a `-` means that the method does not solve that kind of system."""

    name: str
    order: int
    explicit: bool
    adaptive: bool
    ode: str
    index_1: str
    index_2: str = "-"
    index_3: str = "-"
    title: str = ""
    family: str = "explicit"  # what of the core runs it: explicit, radau, bdf, rosenbrock, tableau, lobatto
    highest_index: int = 3  # that it solves as written; explicit methods run reduced models
    why_not_higher: str = ""


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


def _lobatto(name: str, stages: int, title: str) -> Method:
    # Jay 1996: positions, velocities and, from the accelerations at the steps, multipliers have the order of the pair.
    order = 2 * stages - 2
    return Method(
        name, order, False, False, f"{order} mechanics", "-", "-", f"{order} mechanics", title, "lobatto"
    )  # fmt: skip


def _rosenbrock(name: str, order: int, title: str) -> Method:
    why = "a Rosenbrock method solves one linear system per stage, which does not keep constraints without z."
    return Method(name, order, False, True, str(order), f"{order} z {order}", "-", "-", title, "rosenbrock", 1, why)


def _undamped(name: str, order: int, title: str, limit: int) -> Method:
    # The orders by index are derived from the tableau in tableaux/dae_orders.py; a test compares them with these.
    why = f"R(∞) = {limit}: an error of z is carried from step to step and never decays."
    orders = (str(order), f"{order} z {order}", "-", "-")
    return Method(name, order, False, False, *orders, title, "tableau", 1, why)


def _diagonal(name: str, order: int, x: int, z: int, title: str, adaptive: bool = False) -> Method:
    # Diagonally implicit and damped: x and z at index 2 by the same theory.
    why = "its stage order is 1 or its first stage is explicit, so multipliers would be wrong in the first steps."
    orders = (str(order), f"{order} z {order}", f"{x} z {z}")
    return Method(name, order, False, adaptive, *orders, "-", title, "tableau", 2, why)


def _lobatto_iiic(stages: int) -> Method:
    s, order, name = stages, 2 * stages - 2, f"lobatto_iiic{stages}"
    title, orders = f"Lobatto IIIC, {s} stages", (str(order), f"{order} z {order}", f"{order} z {s - 1}")
    if s == 2:
        why = "its stage order is 1, so multipliers would be wrong in the first steps."
        return Method(name, order, False, False, *orders, "-", title, "tableau", 2, why)
    return Method(name, order, False, False, *orders, f"q {s - 1} v {s - 1} z {s - 2}", title, "tableau")


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
        _explicit("heun3", 3, False, "Heun 1900, three stages"),
        _explicit("kutta3", 3, False, "Kutta 1901, three stages"),
        _explicit("ralston3", 3, False, "Ralston 1962, smallest error bound of order 3"),
        _explicit("ssprk3", 3, False, "Shu and Osher 1988, strong stability preserving"),
        _explicit("rk38", 4, False, "the 3/8 rule (Kutta 1901)"),
        _explicit("fehlberg", 4, True, "Fehlberg 1969, 4(5), continues with the order 4 solution"),
        _explicit("cash_karp", 5, True, "Cash and Karp 1990, 5(4)"),
        Method("implicit_euler", 1, False, False, "1", "1 z 1", "1", "q 1 v 1 z 1", "implicit Euler", "tableau"),
        _undamped("trapezoidal", 2, "trapezoidal rule, Lobatto IIIA", -1),
        *(_undamped(f"gauss{s}", 2 * s, f"Gauss–Legendre, {counted(s, 'stage')}", (-1) ** s) for s in range(1, 7)),
        *(_undamped(f"lobatto_iiia{s}", 2 * s - 2, f"Lobatto IIIA, {s} stages", (-1) ** (s - 1)) for s in (2, 3, 4)),
        *(_lobatto_iiic(stages) for stages in (2, 3, 4)),
        _diagonal("sdirk2", 2, 2, 1, "Alexander 1977, diagonally implicit, two stages"),
        _diagonal("sdirk3", 3, 2, 1, "Alexander 1977, diagonally implicit, three stages"),
        _diagonal("sdirk4", 4, 2, 1, "Hairer and Wanner 1991, diagonally implicit, 4(3)", adaptive=True),
        _diagonal("trbdf2", 2, 2, 2, "Bank et al. 1985, trapezoidal rule then BDF, 2(3)", adaptive=True),
        *(_radau(stages) for stages in (2, 3, 5)),
        _rosenbrock("rodas4", 4, "Hairer and Wanner 1996, Rosenbrock 4(3)"),
        _rosenbrock("rodas5p", 5, "Steinebach 2023, Rosenbrock 5(4)"),
        Method(
            "bdf",
            5,
            False,
            True,
            "1 to 5",
            "1 to 5 z 1 to 5",
            "1 to 5",
            "-",
            "BDF of variable order and step (Brenan, Campbell, Petzold 1996)",
            "bdf",
            2,
            "BDF with varying steps does not converge for index 3 (Gear, Leimkuhler, Gupta 1985).",
        ),
        _lobatto("rattle", 2, "RATTLE, symplectic on the constraints (Andersen 1983)"),
        _lobatto("lobatto4", 3, "Lobatto IIIA–IIIB, 3 stages, symplectic on the constraints (Jay 1996)"),
        _lobatto("lobatto6", 4, "Lobatto IIIA–IIIB, 4 stages, symplectic on the constraints (Jay 1996)"),
    )
}


class MethodList:
    """The list that `dd.methods()` returns: iterate over it, look a name up, or print it."""

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


def methods() -> MethodList:
    """The list of integration methods: name, order, explicit, adaptive, and the orders by index.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.methods()["dop853"].order
    8
    >>> [m.name for m in dd.methods() if m.adaptive]
    ['bs3', 'dopri5', 'tsit5', 'dop853', 'fehlberg', 'cash_karp', 'sdirk4', 'trbdf2', 'radau3', 'radau5', 'radau9', ...
    """
    return MethodList()


# Explicit methods that the core has a step of its own for; all others run by their tableau.
IN_CORE = ("bs3", "dopri5", "tsit5", "dop853")
# The one that "auto" takes.
EXPLICIT = "dop853"


@dataclass(frozen=True)
class ChosenMethod:
    """A method as the core takes it."""

    name: str
    core: Any
    adaptive: bool


def check_known(method: object) -> None:
    """Refuse what is neither "auto", the name of a method, nor a Tableau."""
    if isinstance(method, str):
        if method != "auto" and method not in METHODS:
            raise _unknown_method(method)
        return
    from daedalus.integrators.tableaux.tableau import Tableau

    if is_multistep(method):
        raise InputError(
            "Linear multistep methods run only in dd.simulate and dd.convergence.",
            f"got {getattr(method, 'name', '') or 'a Multistep'}",
            because="its steps depend on each other, so other functions cannot use them one by one.",
            remedy='a name of dd.methods(), or a Tableau; "bdf" is BDF of variable order and step',
        )
    if not isinstance(method, Tableau):
        raise InputError("method= is a name or a Tableau.", f"got {type(method).__name__}", remedy='method="tsit5"')


def choose_method(method: str | Tableau, rtol: float, step: float | None) -> ChosenMethod:
    """Turn `method=` into what the core runs; refuse unknown names and a fixed-step method without a step."""
    check_known(method)
    if not isinstance(method, str):
        return _from_tableau(method, step)
    if method == "auto":
        # Order 8 pays its 12 stages back at once (compare Hairer, Nørsett, Wanner I, II.10): over the problems of the
        # benchmarks it takes the time of tsit5 at rtol = 1e-2, for errors ten times smaller, and less at tighter ones.
        return ChosenMethod(EXPLICIT, EXPLICIT, True)
    if not METHODS[method].explicit:
        return _implicit(METHODS[method], step)
    if METHODS[method].adaptive:
        own = step is None and method in IN_CORE
        return ChosenMethod(method, method if own else _core_tableau(method), step is None)
    if step is None:
        raise _no_step(method, True)
    return ChosenMethod(method, _core_tableau(method), False)


def is_multistep(method: object) -> bool:
    """Whether `method=` is a linear multistep method as an object."""
    from daedalus.integrators.multistep.multistep import Multistep

    return isinstance(method, Multistep)


def is_implicit(method: object) -> bool:
    """Whether `method=` is an implicit method, by name or as a tableau."""
    if isinstance(method, str):
        return method in METHODS and not METHODS[method].explicit
    return not getattr(method, "is_explicit", True)


def takes_momenta(method: object) -> bool:
    """Whether `method=` names a method for mechanics by momenta; its step belongs to the model that it runs."""
    return isinstance(method, str) and method in METHODS and METHODS[method].family == "lobatto"


def _implicit(method: Method, step: float | None) -> ChosenMethod:
    if not method.adaptive and step is None:
        raise _no_step(method.name, False)
    if method.family == "bdf" and step is not None:
        raise InputError(
            "BDF takes no fixed step.",
            because="its order and step are chosen together.",
            remedy='max_step=..., or a one-step method such as "radau5"',
        )
    if method.family == "lobatto":
        return ChosenMethod(method.name, None, False)
    return ChosenMethod(method.name, _core_implicit(method), step is None)


@cache
def _core_implicit(method: Method) -> Any:
    from daedalus import _core
    from daedalus.integrators.tableaux.collocation_transform import core_collocation
    from daedalus.integrators.tableaux.rosenbrock_coefficients import core_rosenbrock

    if method.family == "radau":
        return core_collocation((method.order + 1) // 2)
    if method.family == "rosenbrock":
        return core_rosenbrock(method.name)
    if method.family == "bdf":
        return _core.Bdf()
    return _core_tableau(method.name)


def _from_tableau(method: Tableau, step: float | None) -> ChosenMethod:
    name = method.name or "tableau"
    problems = [] if method.is_consistent else method.problems()
    if problems:
        raise InputError(f"The tableau {name!r} is not consistent.", problems, remedy="correct the coefficients")
    adaptive = step is None and method.b_hat is not None
    if step is None and not adaptive:
        raise _no_step(name, method.is_explicit)
    return ChosenMethod(name, _tableau_of(method), adaptive)


def _no_step(name: str, explicit: bool) -> InputError:
    return InputError(
        f"The method {name!r} needs a step.",
        because="it has no error estimate to choose one.",
        remedy=f'step=0.01, or an adaptive method such as "{"tsit5" if explicit else "radau5"}"',
    )


# What SciPy calls its methods.
OF_SCIPY = {"RK23": "bs3", "RK45": "dopri5", "DOP853": "dop853", "Radau": "radau5", "BDF": "bdf", "LSODA": "auto"}


def _unknown_method(method: str) -> InputError:
    if method in OF_SCIPY:
        remedy = f'method="{OF_SCIPY[method]}"'
    else:
        alone = method.casefold() not in METHODS and _is_tableau(method)
        remedy = f'method=dd.tableau("{method}")' if alone else did_you_mean(method, METHODS)
    return InputError(f"There is no method {method!r}.", "available: auto, " + ", ".join(METHODS), remedy=remedy)


def _is_tableau(name: str) -> bool:
    from daedalus.integrators.tableaux.named_tableaux import tableau

    try:
        tableau(name)
    except InputError:
        return False
    return True


@cache
def _core_tableau(name: str) -> Any:
    from daedalus.integrators.tableaux.named_tableaux import tableau

    return _tableau_of(tableau(name))


@cache
def _tableau_of(method: Tableau) -> Any:
    from daedalus.integrators.tableaux.core_tableau import core_tableau

    return core_tableau(method)
