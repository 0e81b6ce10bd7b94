"""The functions of a loaded FMU, of (t, x, u, p, token), as nodes of CasADi expressions.

Rates, outputs and the distance to the next event are pure: the token says what the FMU holds inside (see fmu_states).
Derivatives are the FMU's own, or central differences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from daedalus.compilation.foreign_calls import keep_error
from daedalus.errors import InputError
from daedalus.exchange.fmu_import.fmu_states import FmuStates, marked

ARGUMENTS = ("t", "x", "u", "p", "token")
Point = tuple[float, list[float], list[float], list[float], float]


class FmuFunctions:
    """What one loaded part asks its FMU.

    sizes: of t, x, u, p and token. settable: which states may be given before the start, by position. first: the states
    of the FMU's own start. nominal: sizes of x and u, for differences. blocks: how many numbers each variable holds.
    """

    def __init__(
        self, states: FmuStates, serial: int, sizes: dict[str, int], p: np.ndarray, settable: np.ndarray,
        nominal: list[float], u: list[float], tolerance: float, blocks: dict[str, list[int]],
    ) -> None:  # fmt: skip
        self.states, self.serial, self.sizes = states, serial, sizes
        self.p, self.settable, self.nominal, self.u, self.tolerance = p, settable, nominal, u, tolerance
        self.blocks = blocks
        self.first = np.zeros(sizes["x"])
        self._jacobians: dict[str, tuple[Any, np.ndarray]] = {}

    def start(self, t: float, x: Sequence[float] | None, u: Sequence[float], p: Sequence[float]) -> int:
        """The token of a start: parameters and states that are not the FMU's own are set before it."""
        given = marked(p, self.p.tolist(), self.blocks["p"])
        states = self.first if x is None else np.asarray(x)
        given += marked(states[self.settable].tolist(), self.first[self.settable].tolist(), self.blocks["settable"])
        lengths = [len(given), len(u)]
        return self.states.started([*given, *u, t, self.tolerance], lengths, self.serial)

    def token(self, token: float, p: Sequence[float]) -> int:
        """The token of a point: as given, or a start with these parameters."""
        number = round(token)
        if number == 0:
            return self.start(0.0, None, self.u, p)
        if not self.states.is_known(number):
            raise InputError(
                "This FMU state does not exist in this process.",
                f"token {number}",
                because="the internal state of an FMU exists only in the process that loaded it.",
                remedy="a run from the start in this process",
            )
        return number

    def values(self, what: str, t: float, x: list[float], u: list[float], p: list[float], token: float) -> list[float]:
        """Rates, outputs or guard at a point."""
        return self.states.asked(self.token(token, p), "evaluate", [len(x), len(u)], [*x, *u, t], what)

    def after(self, t: float, x: list[float], u: list[float], p: list[float], token: float) -> list[float]:
        """The states, the token and whether to end, after an event; at token 0 after the start."""
        number = round(token)
        if number == 0:
            number = self.start(t, x, u, p)
            found = self.states.found(number)
            moved = (np.asarray(x) != self.first) & ~self.settable
            states = np.where(moved, np.asarray(x), found[: len(x)])
            return [*states.tolist(), float(number), found[-2]]
        number = self.states.reached(self.token(token, p), "event", [len(x), len(u)], [*x, *u, t], keep=True)
        found = self.states.found(number)
        return [*(found[: len(x)] if found[-1] else x), float(number), found[-2]]

    def jacobian(self, what: str, t: float, x: list[float], u: list[float], p: list[float], token: float) -> np.ndarray:
        """d values / d (t, x, u), one row a value; the last one is kept, since it is asked for column by column."""
        key = (t, tuple(x), tuple(u), tuple(p), token)
        kept = self._jacobians.get(what)
        if kept is not None and kept[0] == key:
            return kept[1]
        lengths = [len(x), len(u), len(self.nominal)]
        flat = self.states.asked(self.token(token, p), "jacobian", lengths, [*x, *u, *self.nominal, t], what)
        columns = 1 + len(x) + len(u)
        matrix = np.array(flat).reshape(columns, -1).T
        self._jacobians[what] = (key, matrix)
        return matrix

    def by_parameters(
        self, what: str, t: float, x: list[float], u: list[float], p: list[float], token: float
    ) -> np.ndarray:
        """d values / d p by central differences of starts with other parameters; NaN for FMUs with events."""
        if round(token) != 0:
            # What the FMU holds inside after an event does not say how it depends on them.
            return np.full((len(self.values(what, t, x, u, p, token)), len(p)), np.nan)
        columns = []
        for k, value in enumerate(p):
            size = 6e-6 * max(abs(value), 1e-3)
            sides = []
            for way in (1, -1):
                moved = list(p)
                moved[k] = value + way * size
                sides.append(np.array(self.values(what, t, x, u, moved, 0.0)))
            columns.append((sides[0] - sides[1]) / (2 * size))
        return np.column_stack(columns)


class FmuNode(ca.Callback):
    """One function of an FMU; expressions call it through `in_expressions`, since they hold only its address."""

    def __init__(self, functions: FmuFunctions, what: str, size: int, pattern: dict[str, ca.Sparsity]) -> None:
        ca.Callback.__init__(self)
        self.functions, self.what, self.size, self.pattern = functions, what, size, pattern
        self._derivatives: list[Any] = []
        self.construct(f"fmu_{what.partition(':')[0]}", {})

    def get_n_in(self) -> int:
        """How many arguments."""
        return len(ARGUMENTS)

    def get_n_out(self) -> int:
        """How many results."""
        return 1

    def get_name_in(self, i: int) -> str:
        """The name of an argument."""
        return ARGUMENTS[i]

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        """The shape of an argument."""
        return ca.Sparsity.dense(self.functions.sizes[ARGUMENTS[i]], 1)

    def get_sparsity_out(self, i: int) -> ca.Sparsity:
        """The shape of a result."""
        return ca.Sparsity.dense(self.size, 1)

    def eval(self, given: Sequence[ca.DM]) -> list[ca.DM]:
        """The values at a point, for CasADi."""
        point = _point(given)
        return [_kept_or_nan(lambda: self._values(point), (self.size, 1))]

    def _values(self, point: Point) -> Any:
        return self.functions.after(*point) if self.what == "after" else self.functions.values(self.what, *point)

    def has_jac_sparsity(self, oind: int, iind: int) -> bool:
        """Whether the structure is known."""
        return self.what != "after"

    def get_jac_sparsity(self, oind: int, iind: int, symmetric: bool) -> ca.Sparsity:
        """Which results depend on which elements of an argument."""
        return self.pattern[ARGUMENTS[iind]]

    def has_forward(self, count: int) -> bool:
        """Whether there is a derivative along so many directions at once."""
        return count == 1

    def has_reverse(self, count: int) -> bool:
        """Whether there is a derivative back along so many directions at once."""
        return count == 1

    def get_forward(
        self, count: int, name: str, inames: Sequence[str], onames: Sequence[str], opts: Mapping[str, Any]
    ) -> ca.Function:
        """The derivative along a direction."""
        self._derivatives.append(_ProductNode(self, name, opts, False))
        return self._derivatives[-1]

    def get_reverse(
        self, count: int, name: str, inames: Sequence[str], onames: Sequence[str], opts: Mapping[str, Any]
    ) -> ca.Function:
        """The derivative back along a direction."""
        self._derivatives.append(_ProductNode(self, name, opts, True))
        return self._derivatives[-1]


class _ProductNode(ca.Callback):
    """The derivative of a node along a direction, or back along one; its own derivatives are differences."""

    def __init__(self, node: FmuNode, name: str, options: Mapping[str, Any], back: bool) -> None:
        ca.Callback.__init__(self)
        self.node, self.back = node, back
        self.construct(name, {**options, "enable_fd": True})

    def get_n_in(self) -> int:
        """How many arguments."""
        return len(ARGUMENTS) + 1 + (1 if self.back else len(ARGUMENTS))

    def get_n_out(self) -> int:
        """How many results."""
        return len(ARGUMENTS) if self.back else 1

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        """The shape of an argument."""
        count = len(ARGUMENTS)
        if i < count:
            return self.node.get_sparsity_in(i)
        if i == count:
            return ca.Sparsity(self.node.size, 1)
        return ca.Sparsity.dense(self.node.size, 1) if self.back else self.node.get_sparsity_in(i - count - 1)

    def get_sparsity_out(self, i: int) -> ca.Sparsity:
        """The shape of a result."""
        return self.node.get_sparsity_in(i) if self.back else ca.Sparsity.dense(self.node.size, 1)

    def eval(self, given: Sequence[ca.DM]) -> list[ca.DM]:
        """The values at a point, for CasADi."""
        node, count = self.node, len(ARGUMENTS)
        point, seeds = _point(given), [np.array(value.nonzeros()) for value in given[count + 1 :]]
        if self.back:
            rows = sum(node.functions.sizes.values())
            found = _kept_or_nan(lambda: self._matrix(point, True).T @ seeds[0], (rows, 1))
            ends = np.cumsum([0, *(node.functions.sizes[word] for word in ARGUMENTS)]).tolist()
            return [found[a:b] for a, b in pairwise(ends)]
        along = np.concatenate(seeds)
        by_p = bool(np.any(seeds[3]))
        return [_kept_or_nan(lambda: self._matrix(point, by_p) @ along, (node.size, 1))]

    def _matrix(self, point: Point, by_p: bool) -> np.ndarray:
        """d values / d (t, x, u, p, token)."""
        node = self.node
        if node.what == "after":
            raise InputError(
                "Derivatives through the events of an FMU are not available.",
                because="an FMU does not tell how its states after an event depend on those before.",
                remedy="differences of whole runs",
            )
        first = node.functions.jacobian(node.what, *point)
        count = node.functions.sizes["p"]
        middle = node.functions.by_parameters(node.what, *point) if by_p and count else np.zeros((node.size, count))
        return np.hstack([first, middle, np.zeros((node.size, 1))])


def _point(given: Sequence[ca.DM]) -> Point:
    t, x, u, p, token = (value.nonzeros() for value in given[: len(ARGUMENTS)])
    return t[0], x, u, p, token[0]


def _kept_or_nan(compute: Callable[[], Any], shape: tuple[int, int]) -> ca.DM:
    """What is computed; where that fails, the error is kept for the caller of the whole expression."""
    try:
        return ca.DM(np.asarray(compute(), dtype=float))
    except Exception as error:
        keep_error(error)
        return ca.DM(np.full(shape, np.nan))
