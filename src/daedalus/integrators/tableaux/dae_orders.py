"""With which order a Runge–Kutta method solves a DAE of index 1, 2 or 3, or why it must not be used there.

The stages solve F(t + c_i h, K_i, x + h Σ a_ij K_j, Z_i) = 0. The orders follow from the tableau: p is its order, q the
largest number with C(q), r with D(r), and R(∞) is what a step makes of an error in z.

Index 1: eliminating z leaves the same method for an ODE, at the stages and at the end, so x and z both have order p.
Index 2, A invertible, |R(∞)| < 1: z has order q; x has order min(p, 2q, q + r + 1) where the method ends in its last
stage and min(p, q + 1) where not (E. Hairer, C. Lubich, M. Roche, The Numerical Solution of Differential-Algebraic
Systems by Runge–Kutta Methods, 1989, sections 4 and 5; E. Hairer, G. Wanner, Solving Ordinary Differential Equations
II, VII.4). The same holds where only the first stage is explicit and q is at least 2 (L. Jay, BIT 33, 1993).
Index 3, A invertible, |R(∞)| < 1, ending in the last stage, q at least 2: positions and velocities have order q,
multipliers q - 1; with Radau IIA positions have order q + 1 (the same book, section 6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daedalus.errors import InputError
from daedalus.integrators.tableaux.simplifying_assumptions import row_order

if TYPE_CHECKING:
    from daedalus.integrators.tableaux.tableau import Tableau

# What the orders of one index belong to.
KINDS = {0: ("x",), 1: ("x", "z"), 2: ("x", "z"), 3: ("q", "v", "λ")}


@dataclass(frozen=True)
class DaeOrders:
    """Orders of a method on one index by kind of variable; None where it is refused, and then the reason."""

    index: int
    orders: dict[str, int] | None
    reason: str = ""

    @property
    def is_refused(self) -> bool:
        """Whether the method must not be used on this index."""
        return self.orders is None

    def __str__(self) -> str:
        """The entry of a list: one number where all orders are the same, else each with its kind; - where refused."""
        if self.orders is None:
            return "-"
        if len(set(self.orders.values())) == 1:
            return str(next(iter(self.orders.values())))
        return " ".join(f"{kind} {order}" for kind, order in self.orders.items())


def dae_orders(method: Tableau | str, index: int) -> DaeOrders:
    """The orders of x and z (of positions, velocities and multipliers for index 3) on systems of an index.

    Parameters
    ----------
    method: a tableau or the name of one.
    index: 0 (an ODE) to 3.

    What can go wrong: a name that is no tableau, an index outside 0 to 3 (InputError).

    Example
    -------
    >>> import daedalus as dd
    >>> from daedalus.integrators.tableaux.dae_orders import dae_orders
    >>> print(*(dae_orders("radau5", index) for index in (1, 2, 3)), sep=", ")
    5, x 5 z 3, q 4 v 3 λ 2
    >>> dae_orders("gauss2", 2).reason
    'R(∞) = 1: an error of z, and rounding is one, is carried from step to step and never decays'
    """
    from daedalus.integrators.tableaux.named_tableaux import tableau

    T = tableau(method) if isinstance(method, str) else method
    if index not in KINDS:
        raise InputError(
            "Orders are known for the indices 0 to 3.",
            f"index = {index!r}",
            because="methods for a higher index would lose one more order with each, and none is offered.",
            remedy="dd.reduce(m), which lowers the index.",
        )
    if index <= 1:
        return _all_alike(index, T.order)
    reason = _refusal(T) or (_refusal_of_index_3(T) if index == 3 else "")
    if reason:
        return DaeOrders(index, None, reason)
    return _orders_of_index_2(T) if index == 2 else _orders_of_index_3(T)


def _all_alike(index: int, order: int) -> DaeOrders:
    if order == 0:
        return DaeOrders(index, None, "the weights b do not sum to 1: no step size helps")
    return DaeOrders(index, dict.fromkeys(KINDS[index], order))


def orders_of_mixed_states(method: Tableau | str) -> tuple[int, int]:
    """The orders of states some of whose combinations are algebraic, M x' = f with a singular M: over a run, in a step.

    Nothing is eliminated at the end of a step: the algebraic part ends as R(∞) and the stages say. A method that ends
    in its last stage keeps its order p; others have min(p, q + 1), and min(p, q) for R(∞) = 1, over a run, and q + 1 in
    a step (E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, VI.1, theorem 1.1).

    Example
    -------
    >>> [orders_of_mixed_states(name) for name in ("radau5", "gauss1", "gauss2", "gauss3")]
    [(5, 6), (2, 2), (2, 3), (4, 4)]
    """
    from daedalus.integrators.tableaux.named_tableaux import tableau

    T = tableau(method) if isinstance(method, str) else method
    p, q = T.order, T.stage_order
    if T.is_stiffly_accurate or not _is_invertible(T.A):
        return p, p + 1
    limit = float(np.real(T.stability(np.inf)))
    return min(p, q if abs(limit - 1) < 1e-9 else q + 1), min(p, q) + 1


def _orders_of_index_2(T: Tableau) -> DaeOrders:
    p, q = T.order, T.stage_order
    if not T.is_stiffly_accurate:
        x = min(p, q + 1)
    else:
        r = row_order(T._algebra(), T.stages)
        x = min(p, 2 * q, q + r + 1)
    return DaeOrders(2, {"x": x, "z": min(x, q)})


def _orders_of_index_3(T: Tableau) -> DaeOrders:
    q = T.stage_order
    if _is_implicit_euler(T):
        return DaeOrders(3, {"q": 1, "v": 1, "λ": 1})
    is_radau_iia = q == T.stages and T.order == 2 * T.stages - 1
    return DaeOrders(3, {"q": q + 1 if is_radau_iia else q, "v": q, "λ": q - 1})


def _refusal(T: Tableau) -> str:
    """Why a method cannot solve index 2 and above; empty where it can."""
    if T.is_explicit:
        return "it is explicit: no stage obeys a constraint that z does not appear in"
    if T.order == 0:
        return "the weights b do not sum to 1: no step size helps"
    first_explicit = not np.any(T.A[0])
    inner = T.A[1:, 1:] if first_explicit else T.A
    if not _is_invertible(inner):
        return "A is singular beyond an explicit first stage: the stages do not determine z"
    if first_explicit and not T.is_stiffly_accurate:
        return (
            "its first stage is explicit and it does not end in its last stage: the end does not obey the constraints"
        )
    limit = float(np.real(T.stability(np.inf)))
    if not abs(limit) < 1 - 1e-9:
        return _undamped(limit)
    if first_explicit and T.stage_order < 2:
        return "its first stage is explicit and its stage order is 1: no order of z is left"
    return ""


def _undamped(limit: float) -> str:
    grows = not abs(limit) <= 1 + 1e-9
    what = "grows with every step" if grows else "is carried from step to step and never decays"
    if limit < 0 and not grows:
        what = "changes its sign in every step and never decays"
    return f"R(∞) = {limit:.3g}: an error of z, and rounding is one, {what}"


def _is_implicit_euler(T: Tableau) -> bool:
    """BDF of order 1, which converges with constant steps: its transients end after two steps (Brenan, Campbell,
    Petzold 1996, section 3.2.4)."""
    return bool(T.stages == 1 and T.A[0, 0] == 1 and T.b[0] == 1)


def _refusal_of_index_3(T: Tableau) -> str:
    if T.stage_order < 2 and not _is_implicit_euler(T):
        return (
            "its stage order is 1: multipliers are wrong by O(1) at the first step and after each change of step, "
            "however small the step"
        )
    if not np.any(T.A[0]):
        return "its first stage is explicit: it starts from derivatives that drift off the hidden constraints"
    if not T.is_stiffly_accurate:
        return "it does not end in its last stage: positions leave the constraint, which multiplies by 1/h² in λ"
    return ""


def _is_invertible(matrix: np.ndarray) -> bool:
    sizes = np.linalg.svd(matrix, compute_uv=False)
    return len(sizes) > 0 and bool(sizes[-1] > 1e-12 * sizes[0])
