"""The equations and their time derivatives as expressions of the jet y, y', y'', ... with y = (x, z).

With fresh symbols for every derivative, the total derivative of an expression f(t, y, y', ..., u, u', ...) is one
directional derivative: d/dt f = ∂f/∂t + Σ ∂f/∂y^(k) y^(k+1) + Σ ∂f/∂u^(k) u^(k+1). The stack F, dF/dt, ..., d^k F/dt^k
is the derivative array of S. L. Campbell (1987).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import casadi as ca
import numpy as np

from daedalus.analysis.structure.system_structure import SystemStructure, structure_of
from daedalus.deadline import poll
from daedalus.model.expressions import column, elements, nonzeros, symbol_key
from daedalus.model.input_rates import system_rates
from daedalus.model.lazy_values import cached_property
from daedalus.model.names import Shape, derivative_name, element_label, split_derivative
from daedalus.model.system.equation_row import EquationRow
from daedalus.model.system.named_vectors import state_order
from daedalus.model.system.system import System

Evaluation = tuple[list[ca.SX], ca.Function]  # of an expression, as a function of its symbols alone


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
        # Points at which expressions were looked at before, by jet.
        self.drawn_points: dict[tuple[int, ...], tuple[Any, list[list[Any]]]] = {}
        self.written: SystemStructure | None = structure_of(system)  # None for equations that were rewritten
        self.size = self.written.size
        self.count = len(system.rows)
        self.time, self.parameters = system.symbol("t"), system.symbol("p")
        self.y = list(self.written.jet)
        self.u = [system.symbol("u")]
        self.rows = list(system.rows)
        self._entries = _entries(system)
        self._levels = [system.residual]
        self._functions: dict[int, ca.Function] = {}
        self._slopes: Evaluation | None = None
        self._places: dict[int, tuple[str, int, int]] = {symbol_key(self.time): ("t", 0, 0)}
        self._places |= {symbol_key(s): ("p", 0, k) for k, s in enumerate(elements(self.parameters))}
        self._note("u", 0, self.u[0])
        for order, symbols in enumerate(self.y):
            self._note("y", order, symbols)

    def extended(self, names: Sequence[str]) -> DerivativeArray:
        """The same with further unknowns behind the others; its equations are still to be set by `rewrite`."""
        wide = object.__new__(DerivativeArray)
        wide.__dict__.update(self.__dict__)
        wide.size, wide.drawn_points, wide._slopes, wide.written = self.size + len(names), {}, None, None
        wide._entries = [*self._entries, *((name, (), 0, 0) for name in names)]
        wide.u, wide._places = list(self.u), dict(self._places)
        wide.y = [ca.vertcat(own, ca.SX.sym(f"w_{order}", len(names))) for order, own in enumerate(self.y)]
        for order, symbols in enumerate(wide.y):
            wide._note("y", order, symbols)
        return wide

    def rewrite(self, equations: ca.SX, rows: Sequence[EquationRow]) -> None:
        """Set other equations in the place of the system's."""
        self.count, self.rows = int(equations.numel()), list(rows)
        self._levels, self._functions = [equations], {}
        self.drawn_points, self._slopes, self.written = {}, None, None

    # -- symbols and names -------------------------------------------------------------------------------------

    def unknowns(self, order: int) -> ca.SX:
        """The symbols y^(order)."""
        while len(self.y) <= order:
            self.y.append(ca.SX.sym(f"y_{len(self.y)}", self.size))
            self._note("y", len(self.y) - 1, self.y[-1])
        return self.y[order]

    def inputs(self, order: int) -> ca.SX:
        """The symbols u^(order)."""
        while len(self.u) <= order:
            self.u.append(ca.SX.sym(f"u_{len(self.u)}", self.system.sizes["u"]))
            self._note("u", len(self.u) - 1, self.u[-1])
        return self.u[order]

    @property
    def equation_labels(self) -> list[str]:
        """The names of the equations."""
        return [row.label for row in self.rows]

    def label(self, position: int, order: int = 0) -> str:
        """The name of the derivative of an unknown."""
        name, shape, k, own = self._entries[position]
        return element_label(derivative_name(name, own + order), shape, k)

    def symbol(self, position: int, order: int) -> ca.SX:
        """The symbol of the derivative of an unknown."""
        return self.unknowns(order)[position]

    def place(self, symbol: ca.SX) -> tuple[str, int, int]:
        """What a symbol stands for: "t", "p", "u" or "y", the order of its derivative, and its position."""
        return self._places[symbol_key(symbol)]

    def _note(self, letter: str, order: int, symbols: ca.SX) -> None:
        self._places.update((symbol_key(s), (letter, order, k)) for k, s in enumerate(elements(symbols)))

    def symbol_label(self, symbol: ca.SX) -> str:
        """The name that users know a symbol by."""
        letter, order, position = self.place(symbol)
        if letter == "y":
            return self.label(position, order)
        if letter == "u":
            name, shape, k = self._inputs[position]
            origin, own = split_derivative(name)
            return element_label(derivative_name(origin, own + order), shape, k)
        return "t" if letter == "t" else self.system.labels["p"][position]

    def input_of(self, symbol: ca.SX) -> tuple[str, int]:
        """The input that a symbol is a derivative of, and which."""
        _, order, position = self.place(symbol)
        return self._inputs[position][0], order

    @cached_property
    def _inputs(self) -> list[tuple[str, Shape, int]]:
        return [(v.name, v.shape, k) for v in self.system.of_kind("input") for k in range(v.size)]

    def text(self, expression: ca.SX, limit: int = 160) -> str:
        """A scalar expression in the user's names."""
        from daedalus.model.printing import expression_text

        return expression_text(expression, self.labels_in(expression), limit)

    def labels_in(self, expression: ca.SX) -> dict[int, str]:
        """The users' names of the symbols in an expression, by the key of the symbol."""
        return {symbol_key(s): self.symbol_label(s) for s in ca.symvar(expression)}

    # -- differentiating ---------------------------------------------------------------------------------------

    def differentiated(self, expression: ca.SX, times: int = 1) -> ca.SX:
        """The total time derivative of an expression of the jet."""
        for _ in range(times):
            values = [s for s in ca.symvar(expression) if self.place(s)[0] != "p"]
            rates = [self._rate(s) for s in values]
            if not values:
                return ca.SX.zeros(expression.shape)
            slope = ca.jtimes(expression, ca.vertcat(*values), ca.vertcat(*rates))
            expression = ca.densify(column(slope))
        return expression

    def _rate(self, symbol: ca.SX) -> ca.SX:
        letter, order, position = self.place(symbol)
        if letter == "t":
            return ca.SX(1)
        if letter == "u" and position in self._input_rates:
            return self.inputs(order)[self._input_rates[position]]
        return (self.unknowns if letter == "y" else self.inputs)(order + 1)[position]

    @cached_property
    def _input_rates(self) -> dict[int, int]:
        """Where the derivatives of inputs are that are inputs themselves, by the position of what they are of."""
        places, found = self.system.places, dict[int, int]()
        for name, rates in system_rates(self.system).items():
            for low, high in zip((name, *rates), rates):
                if low in places and high in places:
                    found.update(zip(places[low].positions.tolist(), places[high].positions.tolist()))
        return found

    def highest_order(self, expression: ca.SX, letter: str = "y") -> int:
        """The highest derivative of an unknown ("y") or input ("u") in an expression; -1 when there is none."""
        places = (self.place(s) for s in ca.symvar(expression))
        return max((order for own, order, _ in places if own == letter), default=-1)

    def level(self, order: int) -> ca.SX:
        """d^order F / dt^order."""
        while len(self._levels) <= order:
            poll("the structure of the equations")
            self._levels.append(self.differentiated(self._levels[-1]))
        return self._levels[order]

    def slopes(self, points: Sequence[Sequence[Any]]) -> np.ndarray:
        """The nonzero slopes of the equations by their unknowns at points; (points, slopes)."""
        if self._slopes is None:
            equations = self.level(0)
            own = [s for s in ca.symvar(equations) if self.place(s)[0] == "y"]
            found = ca.jacobian(equations, ca.vertcat(*own)) if own else ca.SX(0, 1)
            self._slopes = self._evaluation(nonzeros(found) if found.nnz() else ca.SX(0, 1))
        return self._at(self._slopes, points)

    def stack(self, equations: ca.SX, times: np.ndarray) -> tuple[list[ca.SX], list[tuple[int, int]]]:
        """Every equation with its derivatives up to `times`, equation by equation, and (equation, order) of each."""
        rows = {place: row for level in self.levels(equations, times) for place, row in level.items()}
        origin = sorted(rows)
        return [rows[place] for place in origin], origin

    def levels(self, equations: ca.SX, times: np.ndarray) -> Iterator[dict[tuple[int, int], ca.SX]]:
        """The equations, then their derivatives of every order up to `times`, each by (equation, order)."""
        level, own = equations, np.arange(len(times))
        for order in range(int(times.max(initial=0)) + 1):
            if order:
                keep = np.flatnonzero(times[own] >= order)
                own, level = own[keep], self.differentiated(level[keep.tolist()])
            yield {(int(i), order): entry for i, entry in zip(own, elements(level))}

    # -- numbers -----------------------------------------------------------------------------------------------

    def arguments(self, order: int) -> list[ca.SX]:
        """What expressions with derivatives up to `order` are functions of: t, p, (u, u', ...), (y, y', ...)."""
        u = [self.inputs(k) for k in range(order + 1)]
        y = [self.unknowns(k) for k in range(order + 1)]
        return [self.time, self.parameters, ca.vertcat(*u), ca.vertcat(*y)]

    def function(self, order: int) -> ca.Function:
        """(t, p, u-jet, y-jet up to order + 1) -> the stack of levels 0 to order, and its Jacobian in the y-jet."""
        if order not in self._functions:
            stack = ca.densify(ca.vertcat(*(self.level(k) for k in range(order + 1))))
            arguments = self.arguments(order + 1)
            self._functions[order] = ca.Function("array", arguments, [stack, ca.jacobian(stack, arguments[3])])
        return self._functions[order]

    def values(self, expression: ca.SX, points: Sequence[Sequence[Any]]) -> np.ndarray:
        """A dense column at points, each (t, p, u-jet, y-jet); (points, rows). Only the symbols in it are read."""
        return self._at(self._evaluation(expression), points)

    def _evaluation(self, expression: ca.SX) -> Evaluation:
        symbols = ca.symvar(expression)
        return symbols, ca.Function("values", [ca.vertcat(*symbols) if symbols else ca.SX(0, 1)], [expression])

    def _at(self, evaluation: Evaluation, points: Sequence[Sequence[Any]]) -> np.ndarray:
        symbols, function = evaluation
        return np.array([function(self.read(symbols, point)).full().ravel(order="F") for point in points])

    def sizes_at(self, symbols: Sequence[ca.SX], values: np.ndarray) -> np.ndarray:
        """The sizes of symbols at these values, nominal ones at least; zero for what is not an unknown."""
        sizes = np.zeros(len(symbols))
        for k, symbol in enumerate(symbols):
            letter, _, position = self.place(symbol)
            if letter == "y":
                sizes[k] = max(abs(values[k]), self.sizes[position] if position < len(self.sizes) else 1.0)
        return sizes

    @cached_property
    def sizes(self) -> np.ndarray:
        """The usual sizes of the system's unknowns."""
        return np.concatenate([self.system.nominal["x"], self.system.nominal["z"]])

    def read(self, symbols: Sequence[ca.SX], point: Sequence[Any]) -> np.ndarray:
        """The values of symbols at a point (t, p, u-jet, y-jet); derivatives beyond it are zero."""
        jets = {"t": np.atleast_1d(point[0]), "p": point[1], "u": point[2], "y": point[3]}
        width = {"t": 1, "p": 0, "u": self.system.sizes["u"], "y": self.size}
        found = np.zeros(len(symbols))
        for k, symbol in enumerate(symbols):
            letter, order, position = self.place(symbol)
            flat = order * width[letter] + position
            found[k] = jets[letter][flat] if flat < len(jets[letter]) else 0.0
        return found


def _entries(system: System) -> list[tuple[str, Shape, int, int]]:
    """What stands in y: name, shape, element, order of derivative."""
    shapes = {v.name: v.shape for v in system.variables}
    states = state_order(system.of_kind("state"), system.orders)
    entries = [(name, shapes[name], k, order) for name, k, order in states]
    return entries + [(v.name, v.shape, k, 0) for v in system.of_kind("algebraic") for k in range(v.size)]
