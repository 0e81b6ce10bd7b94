"""Linear systems from coefficients, transfer functions, zeros and poles: state spaces in companion form."""

from __future__ import annotations

import numpy as np

from daedalus.analysis.linear.axis_names import Names
from daedalus.errors import InputError
from daedalus.model.names import derivative_name


def polynomial(given: object, word: str) -> np.ndarray:
    """Coefficients of a polynomial, highest power first, without leading zeros."""
    try:
        values = np.atleast_1d(np.array(given, dtype=float))
    except (TypeError, ValueError):
        values = np.full((1, 1), np.nan)
    if values.ndim != 1 or not len(values) or not np.all(np.isfinite(values)):
        raise InputError(
            f"The coefficients of the {word} are not usable.",
            f"got {given!r}"[:120],
            because="they are numbers, highest power first.",
            remedy="[1.0, 0.5, 2.0] for s² + 0.5 s + 2",
        )
    nonzero = np.flatnonzero(values)
    return values[nonzero[0] :] if len(nonzero) else values[-1:]


def from_differential_equation(given: object) -> tuple[np.ndarray, np.ndarray, Names]:
    """A, B and the names of the states of a_n x⁽ⁿ⁾ + ... + a_1 x' + a_0 x = f."""
    a = np.atleast_1d(np.array(given, dtype=float))
    if a.ndim != 1 or len(a) < 2 or not np.all(np.isfinite(a)) or a[0] == 0:
        raise InputError(
            "The coefficients give no ordinary differential equation.",
            f"got {given!r}"[:120],
            because="a_n, the first of them, multiplies the highest derivative and is not zero.",
            remedy="[a_n, ..., a_1, a_0], such as [1.0, 0.2, 4.0] for x'' + 0.2 x' + 4 x = f",
        )
    n = len(a) - 1
    A = np.eye(n, k=1)
    A[-1] = -a[:0:-1] / a[0]
    B = np.zeros((n, 1))
    B[-1] = 1.0 / a[0]
    return A, B, tuple(derivative_name("x", k) for k in range(n))


def divided(numerator: object, denominator: object) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A transfer function as polynomial part and proper rest: (quotient, rest, denominator), highest power first."""
    top, bottom = polynomial(numerator, "numerator"), polynomial(denominator, "denominator")
    if not np.any(bottom):
        raise InputError(
            "The denominator of the transfer function is zero.",
            because="a division by zero is not possible.",
            remedy="[1.0]",
        )
    quotient, rest = np.polydiv(top, bottom) if len(top) >= len(bottom) else (np.zeros(1), top)
    return np.atleast_1d(quotient), np.atleast_1d(rest), bottom


def companion(rest: np.ndarray, bottom: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, B, C of a strictly proper transfer function: its states are s⁻ⁿ u, ..., s⁻¹ u over the denominator."""
    n = len(bottom) - 1
    A = np.eye(n, k=1)
    B, C = np.zeros((n, 1)), np.zeros((1, n))
    if n:
        A[-1] = -bottom[:0:-1] / bottom[0]
        B[-1] = 1.0
        own = rest[::-1] / bottom[0]
        C[0, : len(own)] = own
    return A, B, C


def from_roots(zeros: object, poles: object, gain: object) -> tuple[np.ndarray, np.ndarray]:
    """Numerator and denominator of gain Π(s - z) / Π(s - p); complex roots come in pairs."""
    found = []
    for given, word in ((zeros, "zeros"), (poles, "poles")):
        roots = np.atleast_1d(np.array(given, dtype=complex)).ravel()
        values = np.atleast_1d(np.poly(roots))
        if not np.all(np.isfinite(roots)) or np.abs(values.imag).max() > 1e-9 * np.abs(values).max():
            raise InputError(
                f"The {word} do not belong to a real system.",
                f"got {given!r}"[:120],
                because="complex ones come in conjugate pairs.",
                remedy="[-1 + 2j, -1 - 2j]",
            )
        found.append(values.real)
    factor = np.array(gain, dtype=float)
    if factor.ndim or not np.isfinite(factor):
        raise InputError("The gain is not a number.", f"got {gain!r}"[:80], remedy="gain=1.0")
    return float(factor) * found[0], found[1]
