"""Which order is cheapest for a tolerance: evaluations per unit of time against the order of an explicit method.

With a global error c·Δt^o the step is Δt = (tolerance/c)^(1/o), and s stages make s/Δt evaluations per unit of time.
Order o needs at least s(o) stages: s = o up to 4, then 6, 7, 9, 11 (Butcher's barriers). A high order takes longer
steps but more stages, so there is an optimum; it lies between 3 and 6 while tolerance/c is between 2.6e-5 and 0.088.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from daedalus.errors import InputError

# Fewest stages of an explicit method of order 1 to 8 (Butcher 1964, 1965, 1985).
FEWEST_STAGES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 7, 7: 9, 8: 11}


@dataclass(frozen=True)
class OrderCost:
    """What one order costs: its stages, the step it may take, its evaluations per unit of time."""

    order: int
    stages: int
    step: float
    evaluations: float


@dataclass(frozen=True)
class BestOrder:
    """The result of `dd.best_order`: the cheapest order for a tolerance, and the cost of every order.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.best_order(1e-2).order, [round(cost.evaluations) for cost in dd.best_order(1e-2).costs]
    (4, [100, 20, 14, 13, 15, 15, 17, 20])
    """

    order: int
    tolerance: float
    constant: float
    costs: tuple[OrderCost, ...]

    def __index__(self) -> int:
        return self.order

    def __str__(self) -> str:
        lines = [
            f"order {self.order} is cheapest for tolerance {self.tolerance:g} and error {self.constant:g} Δt^order",
            "order  stages        step  evaluations per unit of time",
        ]
        for cost in self.costs:
            mark = "  <-" if cost.order == self.order else ""
            lines.append(f"{cost.order:5d} {cost.stages:7d} {cost.step:11.4g} {cost.evaluations:13.4g}{mark}")
        return "\n".join(lines)


def best_order(tolerance: float, constant: float = 1.0) -> BestOrder:
    """The order with the fewest evaluations per unit of time, n/T = s (tolerance/c)^(-1/o), among orders 1 to 8.

    Parameters
    ----------
    tolerance: largest global error wanted.
    constant: c in the error c·Δt^o, assumed to be equal for every order, in units of the solution. Scale time first if
        the time scale of the system is not 1.

    The result is between 3 and 6 for tolerance/constant from 2.6e-5 to 0.088; a tighter tolerance needs a higher order.

    Example
    -------
    >>> import daedalus as dd
    >>> print(dd.best_order(1e-3))
    order 6 is cheapest for tolerance 0.001 and error 1 Δt^order
    order  stages        step  evaluations per unit of time
        1       1       0.001          1000
        2       2     0.03162         63.25
        3       3         0.1            30
        4       4      0.1778         22.49
        5       6      0.2512         23.89
        6       7      0.3162         22.14  <-
        7       9      0.3728         24.14
        8      11      0.4217         26.09
    """
    for name, value in (("tolerance", tolerance), ("constant", constant)):
        try:
            usable = math.isfinite(value) and value > 0
        except TypeError:
            usable = False
        if not usable:
            raise InputError(
                f"The {name} cannot be used.",
                f"{name} = {value!r}",
                because="the step is (tolerance/constant)^(1/order), so both are positive numbers.",
                remedy="dd.best_order(1e-4, constant=1.0).",
            )
    costs = []
    for order, stages in FEWEST_STAGES.items():
        step = (tolerance / constant) ** (1 / order)
        costs.append(OrderCost(order, stages, step, stages / step))
    cheapest = min(costs, key=lambda cost: cost.evaluations)
    return BestOrder(cheapest.order, float(tolerance), float(constant), tuple(costs))
