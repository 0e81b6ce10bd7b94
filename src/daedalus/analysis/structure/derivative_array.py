"""The equations and their time derivatives as expressions of the jet y, y', y'', ... with y = (x, z).

With fresh symbols for every derivative, the total derivative of an expression f(t, y, y', ..., u, u', ...) is one
directional derivative: d/dt f = ∂f/∂t + Σ ∂f/∂y^(k) y^(k+1) + Σ ∂f/∂u^(k) u^(k+1). The stack F, dF/dt, ..., d^k F/dt^k
is the derivative array of S. L. Campbell (1987).
"""

from __future__ import annotations

from functools import cached_property

import casadi as ca

from daedalus.model.expressions import column, elements, symbol_key
from daedalus.model.names import Shape, derivative_name, element_label
from daedalus.model.system import System, state_order


class DerivativeArray:
    """A system's equations, to be differentiated as often as needed.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay"); x = m.state("x", start=1.0)
    >>> m.equation(m.der(x), -x**2)
    >>> array = DerivativeArray(m.freeze())
    >>> array.text(array.level(1)[0])
    'x_ddot + 2*x*x_dot'
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self.size = system.sizes["x"] + system.sizes["z"]
        self.count = len(system.equation_labels)
        self.time, self.parameters = system.symbol("t"), system.symbol("p")
        self.y = [
            ca.vertcat(system.symbol("x"), system.symbol("z")),
            ca.vertcat(system.symbol("xdot"), ca.SX.sym("z_1", system.sizes["z"])),
        ]
        self.u = [system.symbol("u")]
        self._levels = [system.residual]
        self._functions: dict[int, ca.Function] = {}

    # -- symbols and names -------------------------------------------------------------------------------------

    def unknowns(self, order: int) -> ca.SX:
        """The symbols y^(order)."""
        while len(self.y) <= order:
            self.y.append(ca.SX.sym(f"y_{len(self.y)}", self.size))
        return self.y[order]

    def inputs(self, order: int) -> ca.SX:
        """The symbols u^(order)."""
        while len(self.u) <= order:
            self.u.append(ca.SX.sym(f"u_{len(self.u)}", self.system.sizes["u"]))
        return self.u[order]

    def label(self, position: int, order: int = 0) -> str:
        """The name of the derivative of an unknown."""
        name, shape, k, own = self._entries[position]
        return element_label(derivative_name(name, own + order), shape, k)

    @cached_property
    def _entries(self) -> list[tuple[str, Shape, int, int]]:
        """What stands in y: name, shape, element, order of derivative."""
        shapes = {v.name: v.shape for v in self.system.variables}
        states = state_order(self.system.of_kind("state"), self.system.orders)
        entries = [(name, shapes[name], k, order) for name, k, order in states]
        return entries + [(v.name, v.shape, k, 0) for v in self.system.of_kind("algebraic") for k in range(v.size)]

    @property
    def labels(self) -> dict[int, str]:
        """The name of every symbol made so far, by its key."""
        system = self.system
        names = {symbol_key(system.symbol("t")): "t"}
        for k, symbol in enumerate(elements(self.parameters)):
            names[symbol_key(symbol)] = system.labels["p"][k]
        flat = [(v, k) for v in system.of_kind("input") for k in range(v.size)]
        for order, symbols in enumerate(self.u):
            for (v, k), symbol in zip(flat, elements(symbols)):
                names[symbol_key(symbol)] = element_label(derivative_name(v.name, order), v.shape, k)
        for order, symbols in enumerate(self.y):
            for position, symbol in enumerate(elements(symbols)):
                names[symbol_key(symbol)] = self.label(position, order)
        return names

    def text(self, expression: ca.SX, limit: int = 160) -> str:
        """A scalar expression in the user's names."""
        from daedalus.model.printing import expression_text

        return expression_text(expression, self.labels, limit)

    # -- differentiating ---------------------------------------------------------------------------------------

    def differentiated(self, expression: ca.SX, times: int = 1) -> ca.SX:
        """The total time derivative of an expression of the jet."""
        for _ in range(times):
            order = self.highest_order(expression, self.y)
            input_order = self.highest_order(expression, self.u)
            values = [self.time, *self.y[: order + 1], *self.u[: input_order + 1]]
            rates = [
                ca.SX(1),
                *(self.unknowns(k) for k in range(1, order + 2)),
                *(self.inputs(k) for k in range(1, input_order + 2)),
            ]
            expression = ca.densify(column(ca.jtimes(expression, ca.vertcat(*values), ca.vertcat(*rates))))
        return expression

    @staticmethod
    def highest_order(expression: ca.SX, symbols: list[ca.SX]) -> int:
        """The highest k of the symbols^(k) that stand in an expression; -1 when none does."""
        present = {symbol_key(s) for s in ca.symvar(expression)}
        found = [k for k, own in enumerate(symbols) if any(symbol_key(s) in present for s in elements(own))]
        return max(found, default=-1)

    def level(self, order: int) -> ca.SX:
        """d^order F / dt^order."""
        while len(self._levels) <= order:
            self._levels.append(self.differentiated(self._levels[-1]))
        return self._levels[order]

    # -- numbers -----------------------------------------------------------------------------------------------

    def arguments(self, order: int) -> list[ca.SX]:
        """What expressions with derivatives up to `order` are functions of: t, p, (u, u', ...), (y, y', ...)."""
        u = [self.inputs(k) for k in range(order + 1)]
        y = [self.unknowns(k) for k in range(order + 1)]
        return [self.time, self.parameters, ca.vertcat(*u), ca.vertcat(*y)]

    def function(self, order: int) -> ca.Function:
        """(t, p, u-jet, y-jet up to order + 1) -> the stack of levels 0 to order, and its Jacobian in the y-jet."""
        if order not in self._functions:
            stack = ca.vertcat(*(self.level(k) for k in range(order + 1)))
            arguments = self.arguments(order + 1)
            self._functions[order] = ca.Function("array", arguments, [stack, ca.jacobian(stack, arguments[3])])
        return self._functions[order]
