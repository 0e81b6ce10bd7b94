"""A stack of equations and their time derivatives as a function of the jet, with names for its rows and unknowns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.analysis.structure.incomplete_structure import with_rest
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.jets.jet_evaluation import JetEvaluation
from daedalus.analysis.structure.signature import Signature, raised
from daedalus.model.expressions import column, elements, symbol_key
from daedalus.model.lazy_values import cached_property
from daedalus.model.names import times_text
from daedalus.model.system.equation_row import EquationRow, level_name

# Characters of an equation in an error.
LONGEST_TEXT = 100


@dataclass(frozen=True)
class Row:
    """One row: the equation of the system, how often it is differentiated here, its stage, and what it is called.

    combined: its name where the equation is combined with others. number: which equation of the array it is, -1 for an
    invariant.
    """

    origin: EquationRow
    times: int
    stage: int
    combined: str = ""
    number: int = -1

    @property
    def label(self) -> str:
        """The equation in words."""
        return self.combined or self.origin.label

    @property
    def name(self) -> str:
        """The row in words: `rod, differentiated once`."""
        return level_name(self.label, self.times)

    @property
    def times_in_words(self) -> str:
        """How often the equation is differentiated; empty for a written one."""
        return f"differentiated {times_text(self.times)}" if self.times else ""


Pieces = list[tuple[Row, ca.SX]]
StageOf = dict[tuple[int, int], int]


def staged_pieces(
    array: DerivativeArray, equations: ca.SX, offsets: Signature, combined: Mapping[int, str] | None = None
) -> tuple[Pieces, StageOf]:
    """Every equation with as many derivatives as its offset says, and the stages of the unknowns up to their offset.

    Row (i, l) belongs to stage l - c_i and unknown (j, k) to stage k - d_j; a row contains no unknown of a later stage
    (J. D. Pryce, A simple structural analysis method for DAEs, BIT 41, 2001). The rates of all states are among them.
    combined: names of equations that stand for several.
    """
    states = np.arange(array.size) < array.system.sizes["x"]
    s = with_rest(raised(offsets, np.where(states, 1, 0)))
    names = combined or {}
    pieces = [
        (Row(array.rows[i], times, times - int(s.c[i]), names.get(i, ""), i), entry)
        for level in array.levels(equations, s.c)
        for (i, times), entry in level.items()
    ]
    return pieces, {(j, k): k - int(s.d[j]) for j in range(array.size) for k in range(int(s.d[j]) + 1)}


def level_pieces(array: DerivativeArray, order: int) -> tuple[Pieces, StageOf]:
    """Every equation differentiated 0 to `order` times, a stage for each level, and the unknowns that they contain."""
    pieces = [
        (Row(array.rows[i], k, k - order, "", i), entry)
        for k in range(order + 1)
        for i, entry in enumerate(elements(array.level(k)))
    ]
    states = array.system.sizes["x"]
    first = {j: int(j < states) for j in range(array.size)}  # states come with their rates
    return pieces, {(j, k): max(k - s, 0) - order for j, s in first.items() for k in range(order + s + 1)}


class JetEquations:
    """The stack as a function of the jet, with names for its rows and unknowns.

    unknowns: (position in y = (x, z), order) of every unknown, where q' is the state q_dot itself if that is one.
    symbols: time, parameters, the inputs with their derivatives, and the unknowns, which the stack is written in.
    offsets: of the equations, where these are in doubt; a start must then be checked with equations differentiated more
    often, which are `deeper`, unless the doubt is removed.
    """

    def __init__(
        self,
        array: DerivativeArray,
        pieces: Pieces,
        stage_of: StageOf,
        offsets: Signature | None = None,
        further: Callable[[], JetEquations] | None = None,
    ) -> None:
        self.array, self.system = array, array.system
        self.offsets, self._further = offsets, further
        self._canonical = _Canonical(array)
        stack = self._canonical.rewritten(ca.vertcat(*(e for _, e in pieces)) if pieces else ca.SX(0, 1))
        keep = [k for k, entry in enumerate(elements(stack)) if not entry.is_zero()]
        self.stack = column(stack[keep]) if keep else ca.SX(0, 1)
        self.rows = [pieces[k][0] for k in keep]
        self.unknowns = self._sorted_unknowns(stage_of)
        self.place = {unknown: k for k, unknown in enumerate(self.unknowns)}
        stages: StageOf = {}
        for unknown, stage in stage_of.items():
            own = self._canonical(*unknown)
            stages[own] = min(stage, stages.get(own, 0))
        self.row_stage = np.array([row.stage for row in self.rows], dtype=int)
        self.stage = np.array([stages.get(unknown, 0) for unknown in self.unknowns], dtype=int)
        self.input_order = max(array.highest_order(self.stack, "u"), 0)
        self._make_function()

    @cached_property
    def deeper(self) -> JetEquations | None:
        """Equations differentiated more often; None where the offsets are right."""
        return None if self._further is None else self._further()

    @property
    def in_doubt(self) -> bool:
        """Whether the offsets may be wrong."""
        return self._further is not None

    def jet_of(self, values: np.ndarray) -> np.ndarray:
        """y^(k) in row k from values of the unknowns, zero where there is no such unknown."""
        highest = max((k for _, k in self.unknowns), default=0) + self._canonical.longest
        y = np.zeros((max(highest, 1) + 1, self.array.size))
        for j in range(self.array.size):
            for k in range(len(y)):
                place = self.place.get(self._canonical(j, k))
                y[k, j] = 0.0 if place is None else values[place]
        return y

    def _sorted_unknowns(self, stage_of: StageOf) -> list[tuple[int, int]]:
        n = self.system.sizes["x"]
        asked = [(j, 0) for j in range(self.array.size)] + [(j, 1) for j in range(n)] + list(stage_of)
        present = {symbol_key(s) for s in ca.symvar(self.stack)}
        found = [
            (j, k)
            for k, symbols in enumerate(self.array.y)
            for j, symbol in enumerate(elements(symbols))
            if symbol_key(symbol) in present
        ]
        return sorted({self._canonical(*unknown) for unknown in [*asked, *found]}, key=lambda u: (u[1], u[0]))

    def _make_function(self) -> None:
        array = self.array
        jet = ca.vertcat(*(array.unknowns(k)[j] for j, k in self.unknowns)) if self.unknowns else ca.SX(0, 1)
        u = ca.vertcat(*(array.inputs(k) for k in range(self.input_order + 1)))
        self.symbols = (array.time, array.parameters, u, jet)
        slopes = ca.jacobian(self.stack, jet)
        self._function = ca.Function("start", [array.time, array.parameters, u, jet], [self.stack, slopes])
        rows, columns = slopes.sparsity().get_triplet()
        self._unknowns_in: list[list[int]] = [[] for _ in self.rows]
        for r, c in zip(rows, columns):
            self._unknowns_in[r].append(c)

    # -- x', x and z in the jet --------------------------------------------------------------------------------

    @cached_property
    def places(self) -> dict[str, np.ndarray]:
        """Where x', x and z stand in the jet: x comes behind x', whose places it has where a derivative is a state."""
        n, m = self.system.sizes["x"], self.system.sizes["z"]
        unknowns = {"xdot": [(k, 1) for k in range(n)], "x": [(k, 0) for k in range(n)]}
        unknowns["z"] = [(n + k, 0) for k in range(m)]
        return {
            letter: np.array([self.place[self._canonical(*unknown)] for unknown in own], dtype=int)
            for letter, own in unknowns.items()
        }

    def along_jet(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """What is known of x', x and z, by letter, along the jet; zero elsewhere."""
        found = np.zeros(len(self.unknowns), dtype=values["x"].dtype)
        for letter, places in self.places.items():
            found[places] = values[letter]
        return found

    def by_letter(self, jet: np.ndarray) -> dict[str, np.ndarray]:
        """x', x and z out of a jet."""
        return {letter: jet[places] for letter, places in self.places.items()}

    @cached_property
    def sizes(self) -> np.ndarray:
        """The nominal value of every unknown."""
        nominal = np.concatenate([self.system.nominal["x"], self.system.nominal["z"]])
        return np.array([nominal[j] for j, _ in self.unknowns])

    def steady(self, u: np.ndarray) -> np.ndarray:
        """Inputs that are constant in time, with their derivatives: zero."""
        return np.concatenate([u, np.zeros(self.input_order * len(u))])

    def evaluation(self, time: float, p: np.ndarray, u: np.ndarray) -> JetEvaluation:
        """The stack in numbers, at a time with parameters and inputs."""
        return JetEvaluation(self._function, np.array([time]), p, u)

    # -- names -------------------------------------------------------------------------------------------------

    def label(self, k: int) -> str:
        """The name of an unknown."""
        return self.array.label(*self.unknowns[k])

    def text(self, row: int) -> str:
        """A row in the user's names."""
        return f"{self.array.text(self.stack[row], LONGEST_TEXT)} = 0"

    def parameters_in(self, row: int) -> list[int]:
        """Which parameters stand in a row."""
        present = {symbol_key(s) for s in ca.symvar(self.stack[row])}
        return [k for k, s in enumerate(elements(self.array.parameters)) if symbol_key(s) in present]

    def unknowns_in(self, row: int) -> list[int]:
        """Which unknowns stand in a row."""
        return self._unknowns_in[row]


class _Canonical:
    """One symbol for each derivative: where q_dot is a state, q^(k) is its derivative of order k - 1."""

    def __init__(self, array: DerivativeArray) -> None:
        self.array = array
        position = {entry: j for j, entry in enumerate(array.system.entries)}
        self._next = {
            j: position[name, k, order + 1]
            for (name, k, order), j in position.items()
            if (name, k, order + 1) in position
        }

    @property
    def longest(self) -> int:
        """The most states of which each is the derivative of the one before, less one."""
        orders = [order for _, _, order in self.array.system.entries]
        return max(orders, default=0)

    def __call__(self, j: int, order: int) -> tuple[int, int]:
        while order and j in self._next:
            j, order = self._next[j], order - 1
        return j, order

    def rewritten(self, stack: ca.SX) -> ca.SX:
        """A stack with one symbol for each derivative; the equations that only say so vanish."""
        pairs = [
            (self.array.unknowns(order)[j], self.array.unknowns(own[1])[own[0]])
            for order in range(1, len(self.array.y))
            for j in self._next
            if (own := self(j, order)) != (j, order)
        ]
        if not pairs:
            return ca.densify(stack)
        old, new = (ca.vertcat(*side) for side in zip(*pairs))
        return ca.densify(ca.substitute(stack, old, new))
