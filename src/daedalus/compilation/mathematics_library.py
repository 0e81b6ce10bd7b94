"""Where the functions of the C mathematical library live in this process: the newest ones, or those CasADi calls."""

from __future__ import annotations

import ctypes
import functools
import math
import platform
import sys

import casadi as ca

# The functions that CasADi's operations of the same names call, by their number of operands.
ONE_OPERAND = (
    "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf",
    "log1p", "expm1",
)  # fmt: skip
TWO_OPERANDS = ("pow", "fmod", "remainder", "atan2", "hypot", "fmin", "fmax")

# What LLVM may call of its own accord in place of the functions it was asked for.
_ALSO = ("sincos", "exp2", "exp10", "sqrt", "floor", "ceil", "fma")

# In strict code the functions go by opaque names that begin with this.
STRICT_PREFIX = "daedalus."

# The oldest version that glibc gives its symbols on each processor. CasADi's wheels are linked against it, and glibc
# keeps it apart from newer versions of the same function (exp, log, pow, hypot) that handle errors differently.
_OLDEST_VERSION = {"x86_64": b"GLIBC_2.2.5", "aarch64": b"GLIBC_2.17"}


class _Library:
    """The loaded mathematical library, searched by name and, where there are several, by version."""

    def __init__(self) -> None:
        self._versioned = None
        if sys.platform == "linux":
            self._versioned = getattr(ctypes.CDLL(None), "dlvsym", None)
            try:
                self._library = ctypes.CDLL("libm.so.6")
            except OSError:
                self._library = ctypes.CDLL(None)
        else:
            self._library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
        if self._versioned is not None:
            self._versioned.restype = ctypes.c_void_p
            self._versioned.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]

    def newest(self, name: str) -> int | None:
        """The address of a function, or None where the library has none of that name."""
        function = getattr(self._library, name, None)
        return ctypes.cast(function, ctypes.c_void_p).value if function is not None else None

    def oldest(self, name: str) -> int | None:
        """The address of the version that CasADi's interpreter calls."""
        version = _OLDEST_VERSION.get(platform.machine())
        if self._versioned is not None and version is not None:
            address = self._versioned(self._library._handle, name.encode(), version)
            if address:
                return int(address)
        return self.newest(name)


@functools.cache
def addresses(strict: bool) -> dict[str, int]:
    """The address behind every name that generated code may call.

    Example
    -------
    >>> "sin" in addresses(strict=False), "daedalus.sin" in addresses(strict=True)
    (True, True)
    """
    library = _Library()
    if strict:
        found = {STRICT_PREFIX + name: library.oldest(name) for name in (*ONE_OPERAND, *TWO_OPERANDS)}
    else:
        found = {name: library.newest(name) for name in (*ONE_OPERAND, *TWO_OPERANDS, *_ALSO)}
    return {name: address for name, address in found.items() if address}


@functools.cache
def operand_order(name: str) -> tuple[int, int] | None:
    """The order in which CasADi's interpreter hands its operands to fmin or fmax; None if neither order explains it.

    The compiler that built CasADi was free to swap them, which shows in the sign where +0 meets -0.
    """
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    casadi = ca.Function(name, [x, y], [getattr(ca, name)(x, y)])
    library = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)(
        addresses(strict=True)[STRICT_PREFIX + name]
    )
    pairs = ((0.0, -0.0), (-0.0, 0.0))
    wanted = [math.copysign(1.0, float(casadi(*pair))) for pair in pairs]
    for order in ((0, 1), (1, 0)):
        if wanted == [math.copysign(1.0, library(pair[order[0]], pair[order[1]])) for pair in pairs]:
            return order
    return None
