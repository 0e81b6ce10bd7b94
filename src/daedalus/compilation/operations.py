"""How each scalar operation of CasADi reads in LLVM's language, once for speed and once for CasADi's very bits.

CasADi's meaning of every operation is in its header calculus.hpp. The strict reading calls the very functions of the
mathematical library that CasADi's interpreter calls, behind names that LLVM does not know and so cannot replace by
something nearly equal. The fast one lets LLVM see which function it is: it then joins sin and cos of one angle and
evaluates constants. Both keep infinities, NaN and the order of the operations.
"""

from __future__ import annotations

import functools
import platform
import struct
from collections.abc import Callable
from typing import NamedTuple

import casadi as ca

from daedalus.compilation.mathematics_library import ONE_OPERAND, STRICT_PREFIX, TWO_OPERANDS, operand_order

# Writes the lines that compute `result` from two operands (the second is empty for one-operand operations).
Writer = Callable[[str, str, str], str]


class Operation(NamedTuple):
    """The lines of one operation, and the functions outside the code that they call."""

    write: Writer
    calls: tuple[str, ...] = ()


def literal(value: float) -> str:
    """A number exactly, the way LLVM reads it.

    Example
    -------
    >>> literal(1.0)
    '0x3FF0000000000000'
    """
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


ONE, MINUS_ONE, ZERO, TWO = literal(1.0), literal(-1.0), literal(0.0), literal(2.0)


def _plain(instruction: str) -> Operation:
    return Operation(lambda r, a, b: f"{r} = {instruction} double {a}, {b}")


def _comparison(condition: str) -> Operation:
    return Operation(
        lambda r, a, b: f"{r}.c = fcmp {condition} double {a}, {b}\n{r} = select i1 {r}.c, double {ONE}, double {ZERO}"
    )


def _logic(instruction: str) -> Operation:
    # NaN counts as true, as in C.
    return Operation(
        lambda r, a, b: (
            f"{r}.a = fcmp une double {a}, {ZERO}\n{r}.b = fcmp une double {b}, {ZERO}\n"
            f"{r}.c = {instruction} i1 {r}.a, {r}.b\n{r} = select i1 {r}.c, double {ONE}, double {ZERO}"
        )
    )


def _sign(r: str, a: str, b: str) -> str:
    return (
        f"{r}.n = fcmp olt double {a}, {ZERO}\n{r}.p = fcmp ogt double {a}, {ZERO}\n"
        f"{r}.s = select i1 {r}.p, double {ONE}, double {a}\n{r} = select i1 {r}.n, double {MINUS_ONE}, double {r}.s"
    )


def _call(symbol: str, operands: int = 1) -> Operation:
    if operands == 1:
        return Operation(lambda r, a, b: f"{r} = call double @{symbol}(double {a})", (symbol,))
    return Operation(lambda r, a, b: f"{r} = call double @{symbol}(double {a}, double {b})", (symbol,))


# Operations with one meaning in both readings: IEEE 754 fixes every bit of the result.
EXACT: dict[int, Operation] = {
    ca.OP_ADD: _plain("fadd"),
    ca.OP_SUB: _plain("fsub"),
    ca.OP_MUL: _plain("fmul"),
    ca.OP_DIV: _plain("fdiv"),
    ca.OP_NEG: Operation(lambda r, a, b: f"{r} = fneg double {a}"),
    ca.OP_SQ: Operation(lambda r, a, b: f"{r} = fmul double {a}, {a}"),
    ca.OP_TWICE: Operation(lambda r, a, b: f"{r} = fmul double {a}, {TWO}"),
    ca.OP_INV: Operation(lambda r, a, b: f"{r} = fdiv double {ONE}, {a}"),
    ca.OP_SQRT: _call("llvm.sqrt.f64"),
    ca.OP_FABS: _call("llvm.fabs.f64"),
    ca.OP_FLOOR: _call("llvm.floor.f64"),
    ca.OP_CEIL: _call("llvm.ceil.f64"),
    ca.OP_COPYSIGN: _call("llvm.copysign.f64", 2),
    ca.OP_LT: _comparison("olt"),
    ca.OP_LE: _comparison("ole"),
    ca.OP_EQ: _comparison("oeq"),
    ca.OP_NE: _comparison("une"),
    ca.OP_NOT: Operation(
        lambda r, a, b: f"{r}.c = fcmp oeq double {a}, {ZERO}\n{r} = select i1 {r}.c, double {ONE}, double {ZERO}"
    ),
    ca.OP_AND: _logic("and"),
    ca.OP_OR: _logic("or"),
    ca.OP_SIGN: Operation(_sign),
    ca.OP_IF_ELSE_ZERO: Operation(
        lambda r, a, b: f"{r}.c = fcmp oeq double {a}, {ZERO}\n{r} = select i1 {r}.c, double {ZERO}, double {b}"
    ),
}

# Operations whose value is that of another row: no code.
COPIES = frozenset({ca.OP_ASSIGN, ca.OP_LIFT})

# Functions of the C library, with their number of operands.
LIBRARY: dict[int, tuple[str, int]] = {
    **{getattr(ca, f"OP_{name.upper()}"): (name, 1) for name in ONE_OPERAND},
    **{getattr(ca, f"OP_{name.upper()}"): (name, 2) for name in TWO_OPERANDS},
    ca.OP_CONSTPOW: ("pow", 2),
}

# Library functions for which LLVM has a word of its own; minnum and maxnum have the NaN rule of fmin and fmax.
_INTRINSIC = {name: f"llvm.{name}.f64" for name in ("sin", "cos", "exp", "log", "pow")}
_INTRINSIC |= {"fmin": "llvm.minnum.f64", "fmax": "llvm.maxnum.f64"}

_TWO_OPERAND_WORDS = frozenset(
    {"llvm.copysign.f64", *(_INTRINSIC[name] for name in TWO_OPERANDS if name in _INTRINSIC)}
)

_ERFINV_CALLS = ("erf", "exp", "log", "llvm.sqrt.f64", "llvm.fma.f64")


@functools.cache
def operations(strict: bool) -> dict[int, Operation]:
    """Every operation that can be translated, by CasADi's number, in the strict or in the fast reading.

    Example
    -------
    >>> import casadi as ca
    >>> operations(strict=False)[ca.OP_ADD].write("%sum", "%a", "%b")
    '%sum = fadd double %a, %b'
    """
    known = dict(EXACT)
    for number, (name, operands) in LIBRARY.items():
        known[number] = _call(STRICT_PREFIX + name if strict else _INTRINSIC.get(name, name), operands)
    if strict:
        for number in (ca.OP_FMIN, ca.OP_FMAX):
            _order_operands(known, number)
    # CasADi's own inverse error function is many operations; only here is its compiled form known to the last bit.
    if not strict or platform.machine().lower() in ("x86_64", "amd64", "aarch64"):
        calls = tuple(STRICT_PREFIX + c if strict and not c.startswith("llvm.") else c for c in _ERFINV_CALLS)
        known[ca.OP_ERFINV] = Operation(lambda r, a, b: f"{r} = call double @erfinv(double {a})", ("erfinv", *calls))
    return known


def _order_operands(known: dict[int, Operation], number: int) -> None:
    """Hand operands to the library in CasADi's order, or give the operation up where that order is a riddle."""
    name, _ = LIBRARY[number]
    order = operand_order(name)
    if order is None:
        del known[number]
    elif order == (1, 0):
        straight = known[number]
        known[number] = Operation(lambda r, a, b: straight.write(r, b, a), straight.calls)


def power(r: str, a: str, exponent: float) -> str | None:
    """Lines for a to a constant power that is cheaper than the library's pow, or None.

    Half-integers n + 1/2 become a^n √a, and one over it for negative exponents. The first line maps -0 to +0, the next
    two -∞ to +∞, which is what pow does with them.
    """
    whole = abs(exponent) - 0.5
    if whole not in (0.0, 1.0, 2.0):
        return None
    lines = [
        f"{r}.z = fadd double {a}, {ZERO}",
        f"{r}.m = fcmp oeq double {a}, {literal(float('-inf'))}",
        f"{r}.x = select i1 {r}.m, double {literal(float('inf'))}, double {r}.z",
        f"{r}.0 = call double @llvm.sqrt.f64(double {r}.x)",
    ]
    lines += [f"{r}.{n} = fmul double {r}.{n - 1}, {r}.x" for n in range(1, int(whole) + 1)]
    last = f"{r}.{int(whole)}"
    lines.append(f"{r} = fdiv double {ONE}, {last}" if exponent < 0 else f"{r} = fadd double {last}, {literal(-0.0)}")
    return "\n".join(lines)


def operand_count(symbol: str) -> int:
    """How many numbers a called function takes.

    Example
    -------
    >>> operand_count("daedalus.pow"), operand_count("llvm.fma.f64"), operand_count("sin")
    (2, 3, 1)
    """
    if symbol == "llvm.fma.f64":
        return 3
    name = symbol.removeprefix(STRICT_PREFIX)
    return 2 if name in TWO_OPERANDS or name in _TWO_OPERAND_WORDS else 1
