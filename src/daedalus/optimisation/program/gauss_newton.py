"""Gauss and Newton's approximation of a Hessian: of costs that are sums of squares Σ c r² only 2 c ∇r ∇rᵀ is kept.

The curvature of conditions and of what is not a square is left out; the matrix is then never indefinite.
"""

from __future__ import annotations

import casadi as ca

from daedalus.model.expressions import elements, operation

# How deep sums and products are looked into.
DEEPEST = 400


def gauss_newton_curvature(results: ca.SX, arguments: ca.SX, of_cost: list[bool]) -> tuple[ca.SX, ca.SX]:
    """Multipliers and the approximate Hessian of multipliers · results; only results that are costs count."""
    multipliers = ca.SX.sym("mu", results.numel())
    matrix = ca.SX(arguments.numel(), arguments.numel())
    for k, entry in enumerate(elements(results)):
        if of_cost[k]:
            for weight, residual in squares(entry):
                slope = ca.jacobian(residual, arguments)
                matrix += 2.0 * multipliers[k] * weight * (slope.T @ slope)
    return multipliers, matrix


def squares(expression: ca.SX, deepest: int = DEEPEST) -> list[tuple[ca.SX, ca.SX]]:
    """The squares that a sum consists of: pairs (weight, residual); other terms are left out.

    Example
    -------
    >>> import casadi as ca
    >>> x, y = ca.SX.sym("x"), ca.SX.sym("y")
    >>> [(str(w), str(r)) for w, r in squares(3 * (x - 1)**2 + y * y + 5 * x)]
    [('3', '(x-1)'), ('1', 'y')]
    """
    kind = operation(expression)
    if kind is None or deepest == 0:
        return []
    parts = [expression.dep(k) for k in range(expression.n_dep())]
    inner = [lambda part=part: squares(part, deepest - 1) for part in parts]
    if kind == ca.OP_ADD:
        return [*inner[0](), *inner[1]()]
    if kind == ca.OP_SUB:
        return inner[0]()
    if kind == ca.OP_SQ:
        return [(ca.SX(1), parts[0])]
    if kind == ca.OP_TWICE:
        return [(2 * weight, residual) for weight, residual in inner[0]()]
    if kind == ca.OP_DIV:
        return [(weight / parts[1], residual) for weight, residual in inner[0]()]
    if kind == ca.OP_MUL:
        if ca.is_equal(parts[0], parts[1], 3):
            return [(ca.SX(1), parts[0])]
        for one, other in ((0, 1), (1, 0)):
            found = inner[one]()
            if found:
                return [(weight * parts[other], residual) for weight, residual in found]
    return []
