"""Gauss and Newton's view of costs: the curvature of what is quadratic as it is, of squares Σ c r² only 2 c ∇r ∇rᵀ.

Terms of second degree count together, with their mixed products, references and weights; other terms that are no
squares by their own second derivative, which is that of a convex function or is made one where it is used
(`core/program/convex_part.hpp`). The curvature of conditions is left out.
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
            matrix += multipliers[k] * cost_curvature(entry, arguments)
    return multipliers, matrix


def cost_curvature(cost: ca.SX, v: ca.SX) -> ca.SX:
    """The second derivative of a cost by v, of terms that are squares without that of what is squared.

    Example
    -------
    >>> import casadi as ca
    >>> x = ca.SX.sym("x", 2)
    >>> matrix = cost_curvature(x[0]**2 + x[0] * x[1] + x[1]**2 + (ca.sin(x[0]) - 1)**2, x)
    >>> matrix[0, 0], matrix[0, 1]
    (SX((2+(2.*sq(cos(x_0))))), SX(1))
    """
    quadratic, matrix = ca.SX(0), ca.SX(v.numel(), v.numel())
    for factor, term in summands(cost, v):
        slope = ca.jacobian(term, v)
        if not ca.depends_on(ca.jacobian(slope, v), v):
            quadratic += factor * term
            continue
        found = squares(term)
        for weight, residual in found:
            own = ca.jacobian(residual, v)
            matrix += 2.0 * factor * weight * (own.T @ own)
        if not found:
            matrix += factor * ca.hessian(term, v)[0]
    return ca.hessian(quadratic, v)[0] + matrix


def summands(
    expression: ca.SX, v: ca.SX, factor: ca.SX | float = 1.0, deepest: int = DEEPEST
) -> list[tuple[ca.SX, ca.SX]]:
    """The terms of a sum that depend on v, each with a factor that does not.

    Example
    -------
    >>> import casadi as ca
    >>> x, p = ca.SX.sym("x"), ca.SX.sym("p")
    >>> [(str(f), str(t)) for f, t in summands(p * (x**2 - ca.sin(x)) / 2 + p, x)]
    [('(0.5*p)', 'sq(x)'), ('(-(0.5*p))', 'sin(x)')]
    """
    if not ca.depends_on(expression, v):
        return []
    kind, factor = operation(expression), ca.SX(factor)
    parts = [expression.dep(k) for k in range(expression.n_dep())] if kind is not None and deepest else []

    def inner(part: ca.SX, times: ca.SX) -> list[tuple[ca.SX, ca.SX]]:
        return summands(part, v, times, deepest - 1)

    if kind == ca.OP_ADD and parts:
        return [*inner(parts[0], factor), *inner(parts[1], factor)]
    if kind == ca.OP_SUB and parts:
        return [*inner(parts[0], factor), *inner(parts[1], -factor)]
    if kind in (ca.OP_NEG, ca.OP_TWICE) and parts:
        return inner(parts[0], -factor if kind == ca.OP_NEG else 2 * factor)
    if kind == ca.OP_DIV and parts and not ca.depends_on(parts[1], v):
        return inner(parts[0], factor / parts[1])
    if kind == ca.OP_MUL and parts:
        for one, other in ((0, 1), (1, 0)):
            if not ca.depends_on(parts[other], v):
                return inner(parts[one], factor * parts[other])
    return [(factor, expression)]


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
