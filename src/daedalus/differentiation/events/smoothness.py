"""Where second derivatives do not exist: equations with corners or jumps, found and named before anything runs."""

from __future__ import annotations

import casadi as ca

from daedalus.errors import SolverError
from daedalus.model.expressions import BENDS, COMPARISONS, LOGICAL, STAIRS, elements
from daedalus.model.names import listed
from daedalus.model.system.system import System


class NoSecondDerivativesError(SolverError):
    """A derivative of second order that does not exist or that no rule is known for; those of first order may."""


# Operations with a corner or a jump; their second derivative is zero almost everywhere and says nothing.
CORNERS = {
    **BENDS, **STAIRS, **COMPARISONS, **LOGICAL,
    ca.OP_SIGN: "sign", ca.OP_COPYSIGN: "copysign", ca.OP_IF_ELSE_ZERO: "if_else",
}  # fmt: skip


def corners(expression: ca.SX) -> list[str]:
    """The operations in an expression that have no second derivative everywhere.

    Example
    -------
    >>> import casadi as ca
    >>> x = ca.SX.sym("x")
    >>> corners(ca.fabs(x) + ca.fmax(x, 0) + ca.sin(x))
    ['fabs', 'fmax']
    """
    function = ca.Function("probe", [ca.vertcat(*ca.symvar(expression))], [expression])
    met = {function.instruction_id(k) for k in range(function.n_instructions())}
    return sorted(CORNERS[operation] for operation in met & CORNERS.keys())


def stairs_of(expression: ca.SX) -> list[ca.SX]:
    """What is counted in whole steps by floor, ceil, fmod and remainder in an expression.

    Example
    -------
    >>> import casadi as ca
    >>> t, T = ca.SX.sym("t"), ca.SX.sym("T")
    >>> stairs_of(ca.fmod(t, T) - ca.floor(2 * t))
    [SX((t/T)), SX((2.*t))]
    """
    found, seen, waiting = list[ca.SX](), set[int](), elements(expression)[::-1]
    while waiting:
        node = waiting.pop()
        if node.__hash__() in seen:
            continue
        seen.add(node.__hash__())
        operation = node.op()
        if operation in (ca.OP_FLOOR, ca.OP_CEIL):
            found.append(node.dep(0))
        elif operation in (ca.OP_FMOD, ca.OP_REMAINDER):
            steps = node.dep(0) / node.dep(1)
            found.append(steps + 0.5 if operation == ca.OP_REMAINDER else steps)
        waiting += [node.dep(k) for k in reversed(range(node.n_dep()))]
    return found


def refuse_corners(system: System) -> None:
    """Raise a SolverError where an equation of the system is not twice differentiable."""
    found = corners(system.residual)
    if not found:
        return
    residual = system.residual
    where = [label for k, label in enumerate(system.equation_labels) if corners(residual[k])]
    raise NoSecondDerivativesError(
        "The model has no second derivatives.",
        f"{', '.join(found)} in {listed(where, 6)}",
        because="at a corner or a jump a second derivative does not exist, and beside it, it misses the corner.",
        remedy="order=1, or a smooth form such as sqrt(x**2 + epsilon**2) for fabs(x)",
    )
