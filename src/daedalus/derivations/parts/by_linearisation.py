"""Linearisation on the board: E, A, B, C, D as formulas of the point, then their numbers at one."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.agreement import TWELVE_DIGITS
from daedalus.algebra.rank_decision import EPSILON
from daedalus.analysis.linear.linearisation import row_order
from daedalus.analysis.linear.linearise import linearise
from daedalus.derivations.derivation import DerivationStep
from daedalus.derivations.formula.notation import Matrix, name
from daedalus.derivations.numbers_along import slope_residual
from daedalus.derivations.reading import Reading
from daedalus.model.expressions import concatenate, elements
from daedalus.model.model import Model
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS

PART = "linearise"
# Larger matrices are not simplified: they are written by their size.
LARGEST = 16
# Significant digits of numbers at a point; `dd.linearise` has all of them.
DIGITS = 5
# Poles that a sentence lists.
MOST_POLES = 8
# Names of a vector that a sentence lists.
MOST_NAMES = 12


def linearisation_steps(model: Model, at: object = None, **options: Any) -> list[DerivationStep]:
    """The steps to E δx' = A δx + B δu; `at` and further options are those of `dd.linearise`."""
    read = Reading(model.flat())
    system = model.freeze()
    order = row_order(system)
    residual = system.residual[[int(k) for k in order]]
    states, unknowns, inputs = system.symbol("xdot"), _unknowns(system), system.symbol("u")
    for symbol, label in zip(elements(states), system.labels["xdot"]):
        read.name(symbol, label)
    rows = [read.line(entry, ca.SX(0)) for entry in elements(read.short(residual))]
    slopes = {
        "E": ca.horzcat(ca.jacobian(residual, states), ca.SX(residual.numel(), system.sizes["z"])),
        "A": -ca.jacobian(residual, unknowns),
        "B": -ca.jacobian(residual, inputs),
    }
    steps = []
    found: dict[str, ca.SX] = {}
    texts = {
        "E": "Small deviations from a point obey E x' = A x + B u. E holds the derivatives of the equations with "
        f"respect to the derivatives of x = ({_order(system, 'x', 'z')}).",
        "A": "A holds their derivatives with respect to x, with the opposite sign.",
        "B": f"B holds their derivatives with respect to the inputs u = ({_order(system, 'u')}), "
        "with the opposite sign.",
    }
    by = {"E": states, "A": unknowns, "B": inputs}
    for letter, slope in slopes.items():
        if not slope.numel():
            continue
        small = slope.shape[0] <= LARGEST and slope.shape[1] <= LARGEST
        found[letter] = read.short(ca.densify(slope)) if small else ca.densify(slope)
        matrix = found[letter][:, : by[letter].numel()]
        check = slope_residual(residual, elements(by[letter]), matrix if letter == "E" else -matrix, read.usual)
        lines = [read.line(name(read.letter(letter)), Matrix(found[letter]))]
        steps.append(read.step(PART, letter, texts[letter], rows, lines, check))
    lin = linearise(model, at=at, **options)
    lines, check = [], 0.0
    arguments = system.symbols()
    values = [np.asarray(lin.point.vectors[letter]) for letter in ARGUMENTS]
    for letter, matrix in found.items():
        numbers = ca.Function("at", arguments, [matrix])(*values).full()
        known = np.asarray(getattr(lin, letter))
        # Outputs with derivatives bring rows of their own, behind those of the equations.
        rows, columns = (min(sizes) for sizes in zip(numbers.shape, known.shape))
        own, other = numbers[:rows, :columns], known[:rows, :columns]
        check = max(check, float(np.max(np.abs(own - other) / np.maximum(1.0, np.abs(other)), initial=0.0)))
        lines.append(read.line(name(read.letter(letter)), Matrix(_shown(known))))
    for letter in ("C", "D"):
        numbers = np.asarray(getattr(lin, letter))
        if numbers.size:
            lines.append(read.line(name(read.letter(letter)), Matrix(_shown(numbers))))
    text = f"At the point {_point_text(lin)} these are numbers. {_verdict(lin)}"
    steps.append(read.step(PART, "at the point", text, [], lines, check))
    return steps


def _order(system: System, *letters: str) -> str:
    """The names of a vector in their order; beyond a dozen the first of them."""
    names = [f"`{label}`" for letter in letters for label in system.labels[letter]]
    return ", ".join(names if len(names) <= MOST_NAMES else [*names[:MOST_NAMES], "…"])


def _shown(numbers: np.ndarray) -> ca.SX:
    """Numbers with as many digits as one reads."""
    rounded = [[float(f"{value:.{DIGITS}g}") for value in row] for row in numbers]
    return ca.SX(ca.sparsify(ca.DM(rounded)))


def _shown_poles(poles: np.ndarray) -> np.ndarray:
    """Poles without what rounding left: parts that are tiny beside the pole, and poles tiny beside the largest one.

    Example
    -------
    >>> _shown_poles(np.array([3e-16 + 2j, 1e-17 + 0j]))
    array([0.+2.j, 0.+0.j])
    """
    sizes = np.abs(poles)
    limit = np.maximum(TWELVE_DIGITS * sizes, EPSILON * sizes.max(initial=0.0))
    real, imaginary = (np.where(np.abs(part) > limit, part, 0.0) for part in (poles.real, poles.imag))
    return real + 1j * imaginary


def _unknowns(system: System) -> ca.SX:
    return concatenate([system.symbol("x"), system.symbol("z")])


def _point_text(lin: Any) -> str:
    pairs = [f"`{label}` = {value:.4g}" for label, value in zip(lin.point.system.labels["x"], lin.point.vectors["x"])]
    return ", ".join(pairs[:8]) + (" …" if len(pairs) > 8 else "")


def _verdict(lin: Any) -> str:
    if not lin.is_regular:
        return "Redundant equations leave E and A without poles of their own: reduce the model first."
    poles = np.asarray(lin.poles())
    if not poles.size:
        return "There are no finite poles."
    poles = _shown_poles(poles.astype(complex))
    stability = lin.stability()
    # A double pole at zero is moved by rounding to both sides of it.
    poles = np.where(np.abs(poles) <= stability.uncertainty, 0.0, poles)
    shown = [p for p in poles if p.imag >= 0]
    texts = ", ".join(_pole_text(p) for p in shown[:MOST_POLES])
    texts += ", …" if len(shown) > MOST_POLES else ""
    words = "asymptotically stable" if stability.stable else "unstable" if (
        stability.margin < -stability.uncertainty
    ) else "on the edge: the linearisation does not decide stability"  # fmt: skip
    return f"Poles: {texts}; {words}."


def _pole_text(pole: complex) -> str:
    """A real pole, or a pair of them.

    Example
    -------
    >>> _pole_text(-2 + 0j), _pole_text(2j), _pole_text(-0.5 + 2j)
    ('-2', '±2i', '-0.5 ± 2i')
    """
    if not pole.imag:
        return f"{pole.real:.4g}"
    return f"{pole.real:.4g} ± {pole.imag:.4g}i" if pole.real else f"±{pole.imag:.4g}i"
