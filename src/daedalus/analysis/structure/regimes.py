"""Where a system changes its nature: factors of the determinants that make it an ODE, or that carry its index.

Each irreducible block of the system Jacobian has a determinant; where one of its factors vanishes, the block no longer
determines its unknowns. Such places count when the constraints allow them; on them the system is classified anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.damped_newton import damped_newton
from daedalus.algebra.dense_values import DenseValues
from daedalus.algebra.rank_decision import null_space
from daedalus.analysis.structure.block_form import Block
from daedalus.analysis.structure.jets.consistent_jet import Jet
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.structural_repair import Structure
from daedalus.analysis.structure.system_jacobian import system_jacobian
from daedalus.deadline import poll
from daedalus.model.expressions import elements, symbol_key
from daedalus.model.names import listed

# Determinants of larger blocks are not factored; their expressions have more terms than anyone reads.
LARGEST_BLOCK = 4
MOST_FACTORS = 12
STARTS = 8
ON_IT = 1e-8
# A zero this many sizes away is one at infinity: x z = 1 and x = 0.
FAR = 1e3
# Longer expressions are told by the names in them, and of these no more than the second number.
LONGEST, NAMES = 48, 3


@dataclass(frozen=True, eq=False)
class Factor:
    """An expression whose zeros make a block singular."""

    expression: ca.SX
    block: Block


def regime_warnings(
    array: DerivativeArray, structure: Structure, jet: Jet, size: np.ndarray, constraints: list[ca.SX]
) -> list[str]:
    """A sentence for every factor that can vanish where the constraints hold."""
    found: dict[str, str] = {}
    for factor in factors_of(array, structure)[:MOST_FACTORS]:
        poll("the structure of the equations")
        sentence = _sentence(array, structure, jet, size, constraints, factor)
        if sentence:
            found.setdefault(array.text(factor.expression), sentence)
    return list(found.values())


def factors_of(array: DerivativeArray, structure: Structure) -> list[Factor]:
    """The factors of the block determinants that contain an unknown or an input."""
    jacobian = system_jacobian(array, structure.equations, structure.signature)
    moving = {symbol_key(s) for level in (*array.y, *array.u) for s in elements(level)}
    factors: list[Factor] = []
    for block in structure.blocks:
        if len(block.equations) > LARGEST_BLOCK:
            continue
        matrix = ca.densify(jacobian[block.equations.tolist(), block.unknowns.tolist()])
        determinant = matrix if matrix.is_scalar() else ca.det(matrix)
        for expression in split_product(determinant):
            if any(symbol_key(s) in moving for s in ca.symvar(expression)):
                factors.append(Factor(expression, block))
    return factors


def split_product(expression: ca.SX) -> list[ca.SX]:
    """The factors of a scalar expression that can make it zero: through products, quotients, powers and signs.

    Example
    -------
    >>> import casadi as ca
    >>> x, u = ca.SX.sym("x"), ca.SX.sym("u")
    >>> split_product(-3 * u * (x - 1) ** 2 / ca.exp(x))
    [SX(u), SX((x-1))]
    """
    if expression.is_constant() or expression.is_symbolic():
        return [] if expression.is_constant() else [expression]
    operation = expression.op()
    if operation == ca.OP_MUL:
        return [*split_product(expression.dep(0)), *split_product(expression.dep(1))]
    if operation in (ca.OP_DIV, ca.OP_NEG, ca.OP_SQ, ca.OP_TWICE, ca.OP_SQRT, ca.OP_FABS):
        return split_product(expression.dep(0))
    if operation in (ca.OP_POW, ca.OP_CONSTPOW):
        power = expression.dep(1)
        return split_product(expression.dep(0)) if power.is_constant() and float(power) > 0 else []
    if operation in (ca.OP_EXP, ca.OP_COSH, ca.OP_INV):
        return []
    if operation in (ca.OP_ADD, ca.OP_SUB):
        # x² + 2 x x vanishes with x: both sides are powers of the same symbol.
        sides = [split_product(expression.dep(k)) for k in range(2)]
        keys = {symbol_key(f) if f.is_symbolic() else None for side in sides for f in side}
        if len(keys) == 1 and None not in keys and all(sides):
            return [sides[0][0]]
    return [expression]


def _sentence(
    array: DerivativeArray,
    structure: Structure,
    jet: Jet,
    size: np.ndarray,
    constraints: list[ca.SX],
    factor: Factor,
) -> str:
    expression = factor.expression
    with_equations = [*elements(structure.equations), *constraints]
    point = _zero(array, [expression, *with_equations], jet, size)
    names = [array.label(int(j), int(structure.signature.d[j])) for j in factor.block.unknowns]
    place = equality_text(array, expression)
    if len(place) > LONGEST:
        return _in_short(array, structure, expression, names, point)
    if array.highest_order(expression) > 0:
        if point is None:
            return ""
        return f"where {place} the equations cannot be solved for {listed(names)}: uniqueness is not guaranteed there"
    if point is None:
        # The place exists, but the equations have no solution on it: a derivative grows without bound towards it.
        if array.highest_order(expression) < 0 or _zero(array, [expression, *constraints], jet, size) is None:
            return ""
        return f"no solution was found on {place}: {listed(names)} cannot be determined there"
    alone = _zero(array, [expression, *constraints], jet, size)
    if alone is not None and _holds_for_any_rate(array, structure, factor.block, alone):
        return f"on {place} it is a DAE, and there the solution is not unique"
    usual = "an ODE" if structure.signature.index == 0 else f"a DAE of index {structure.signature.index}"
    rank = _rate_rank(array, point)
    apart = place.replace(" = ", " != ", 1)
    if usual != "an ODE":
        return f"{usual} for {apart}, singular in {listed(names)} at {place}"
    plain = "" if rank else ", an algebraic equation" if array.size == 1 else ", algebraic equations"
    return f"{usual} for {apart}, a DAE at {place}{plain}"


def _in_short(
    array: DerivativeArray, structure: Structure, expression: ca.SX, names: list[str], point: list[Any] | None
) -> str:
    """The sentence for an expression that is too long to read: the names in it, and one place where it vanishes."""
    if point is None:
        return ""
    inside = [s for s in ca.symvar(expression) if array.place(s)[0] in ("y", "u", "t")]
    values = array.read(inside, point)
    shown = [f"{array.symbol_label(s)} = {value:.4g}" for s, value in zip(inside[:NAMES], values)]
    more = ", …" if len(inside) > NAMES else ""
    what = "derivatives" if structure.signature.index == 0 else "unknowns"
    return (
        f"the {what} {listed(names, NAMES)} are not determined at some values of "
        f"{listed([array.symbol_label(s) for s in inside], NAMES)}: near {', '.join(shown)}{more} for one"
    )


def equality_text(array: DerivativeArray, expression: ca.SX) -> str:
    """`x1 = x2` for x1 - x2, `u = 0` for u."""
    if not expression.is_symbolic() and expression.op() == ca.OP_SUB:
        right = expression.dep(1)
        if right.is_symbolic() or right.is_constant():
            return f"{array.text(expression.dep(0))} = {array.text(right)}"
    return f"{array.text(expression)} = 0"


def _zero(array: DerivativeArray, conditions: list[ca.SX], jet: Jet, size: np.ndarray) -> list[Any] | None:
    """Arguments at which conditions vanish, looked for from several starts; None when none are found."""
    stack = ca.vertcat(*conditions)
    depth = max(array.highest_order(stack), 1)
    arguments = array.arguments(depth)
    n_inputs = len(jet.u)
    variables = ca.vertcat(array.u[0], arguments[3])
    slopes_too = [ca.densify(stack), ca.densify(ca.jacobian(stack, variables))]
    function = DenseValues(ca.Function("conditions", arguments, slopes_too))
    t, p, u, y = jet.arguments(depth)
    usual = np.concatenate([np.ones(n_inputs), np.tile(size, depth + 1)])
    draw = np.random.default_rng(3)
    guess = np.concatenate([u[:n_inputs], y])
    starts = [guess + usual * draw.standard_normal(len(guess)) * 1.5 for _ in range(STARTS)]

    def evaluate(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        full = np.concatenate([values[:n_inputs], u[n_inputs:]])
        residual, slopes = function(t, p, full, values[n_inputs:])
        residual = residual.ravel()
        # Zero is what is small beside its own slopes there: a determinant of farads is small everywhere and zero
        # nowhere, and so is the slope of a diode that blocks, however large it is where the diode conducts.
        scale = (np.abs(slopes) * np.maximum(usual, np.abs(values))).max(axis=1, initial=0.0)
        return residual, slopes, np.where(scale > 0, scale, np.abs(residual))

    for shaken in starts:
        with np.errstate(over="ignore"):  # where laws are steep a step may be too long to be measured: it is refused
            root = damped_newton(evaluate, shaken, usual, limit=60)
        bounded = np.all(np.abs(root.values) <= FAR * np.maximum(usual, np.abs(guess)))
        if bounded and np.all(np.isfinite(root.scaled)) and root.worst <= ON_IT:
            return [t, p, np.concatenate([root.values[:n_inputs], u[n_inputs:]]), root.values[n_inputs:]]
    return None


def _holds_for_any_rate(array: DerivativeArray, structure: Structure, block: Block, point: list[Any]) -> bool:
    """Whether the equations of a block hold there whatever the derivatives of its unknowns are."""
    s = structure.signature
    orders = [int(s.d[j]) for j in block.unknowns]
    if min(orders) < 1 or np.any(s.c[block.equations] > 0):
        return False
    depth = len(point[3]) // array.size - 1
    equations = ca.vertcat(*(structure.equations[int(i)] for i in block.equations))
    function = ca.Function("block", array.arguments(depth), [equations])
    draw = np.random.default_rng(22)
    for _ in range(3):
        y = np.array(point[3])
        for j, order in zip(block.unknowns, orders):
            y[order * array.size + j] += draw.uniform(0.5, 2.0)
        if np.abs(function(point[0], point[1], point[2], y).full()).max() > 1e-6:
            return False
    return True


def _rate_rank(array: DerivativeArray, point: list[Any]) -> int:
    u, y = point[2][: 2 * len(elements(array.u[0]))], point[3][: 2 * array.size]
    _, slopes = array.function(0)(point[0], point[1], u, y)
    matrix = slopes.full()
    largest = np.abs(matrix).max(axis=1, initial=0.0, keepdims=True)
    matrix = matrix / np.where(largest > 0, largest, 1.0)
    matrix[np.abs(matrix) < 1e-7] = 0.0
    return null_space(matrix[:, array.size :], "dF/dx'")[1].rank
