"""What a flow can depend on, from patterns alone, and what the core and CasADi need for its derivatives.

Directions are the entries of x, u and, where they are wanted, p. A second derivative along two directions vanishes
unless some variable that enters nonlinearly depends on each: the others are left out of it from the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daedalus.compilation import Compiled
from daedalus.differentiation.flow.flow_stages import Stage, entries_of
from daedalus.errors import SingularModelError
from daedalus.model.lazy_values import cached_property

# Numbers of a vector of AVX2, the width that columns are rounded up to.
LANES = 4
INPUTS = ("x", "u", "p")


class StageDependence:
    """Which entries of (x, u, p) at the start each variable of a stage, and the end of a step, can depend on.

    state, unknown: boolean matrices, one row a state (or an unknown k, z), one column an entry of (x, u, p).
    """

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.blocks = stage_blocks(stage)
        self.inputs = sum(stage.sizes[letter] for letter in INPUTS)
        n = stage.sizes["x"]
        self.state = np.eye(n, self.inputs, dtype=bool)
        self.unknown = np.zeros((n + stage.sizes["z"] if stage.implicit else n, self.inputs), dtype=bool)
        main = entries_of(stage.main(True).jacobian)
        moved = stage.projection(True)
        projection = entries_of(moved.jacobian) if moved else []
        while True:
            before = self.state.copy()
            self._close_stage(main)
            self.state |= self.unknown[:n]
            self.state |= self._rows(projection, n)
            if np.array_equal(before, self.state):
                return

    def _rows(self, entries: list[Entry], rows: int) -> np.ndarray:
        """What each row depends on through its x, u and p."""
        found = np.zeros((rows, self.inputs), dtype=bool)
        n = self.stage.sizes["x"]
        for _, row, variable in entries:
            if variable < n:
                found[row] |= self.state[variable]
            elif (place := self.input_of(variable)) is not None:
                found[row, place] = True
        return found

    def input_of(self, variable: int) -> int | None:
        """The number of a variable among the entries of (x, u, p), or None for an unknown of the stage."""
        offsets = self.stage.offsets
        if variable < offsets["k"]:
            return variable
        return variable - offsets["p"] + offsets["k"] if variable >= offsets["p"] else None

    def _close_stage(self, entries: list[Entry]) -> None:
        rows = self._rows(entries, len(self.unknown))
        if not self.stage.implicit:
            self.unknown |= rows
            return
        for block in self.blocks:
            whole = np.any(rows[block.equations], axis=0)
            for _, _, unknown in (*block.other_direct, *block.other_state):
                whole |= self.unknown[unknown]
            self.unknown[block.unknowns] |= whole

    def of(self, variable: int) -> np.ndarray:
        """The dependence of a variable, numbered as in the columns of the stage's patterns."""
        if variable < self.stage.sizes["x"]:
            return self.state[variable]
        place = self.input_of(variable)
        if place is not None:
            return np.arange(self.inputs) == place
        return self.unknown[variable - self.stage.offsets["k"]]

    @cached_property
    def second(self) -> np.ndarray:
        """Pairs of entries of (x, u, p) along which the second derivative can differ from zero."""
        pairs = np.zeros((self.inputs, self.inputs), dtype=bool)
        for part in (self.stage.main(True), self.stage.projection(True)):
            for _, a, b in entries_of(part.hessian) if part else ():
                pairs |= np.outer(self.of(a), self.of(b))
        return pairs | pairs.T


class FlowDirections:
    """One choice of directions, x and u or x, u and p, in the order that the core works in."""

    def __init__(self, dependence: StageDependence, parameters: bool, second: bool = True) -> None:
        self.dependence, self.stage, self.parameters = dependence, dependence.stage, parameters
        sizes, self._second = self.stage.sizes, second
        chosen = range(dependence.inputs if parameters else sizes["x"] + sizes["u"])
        active = np.zeros(len(chosen), dtype=bool)
        if second:
            active = np.any(dependence.second[: len(chosen), : len(chosen)], axis=1)
        self.order = [k for k in chosen if active[k]] + [k for k in chosen if not active[k]]
        self.active = int(active.sum())
        self.position = {variable: d for d, variable in enumerate(self.order)}
        self.lanes, self.active_lanes = padded(len(self.order)), padded(self.active)

    def source(self, variable: int) -> int | None:
        """Where the tangent of a variable is found: a row of the stage, or ~direction; None for one left out."""
        n = self.stage.sizes["x"]
        if variable < n:
            return variable
        place = self.dependence.input_of(variable)
        if place is not None:
            return ~self.position[place] if place in self.position else None
        return n + variable - self.stage.offsets["k"]

    def products(self, pattern: ca.Sparsity) -> list[int]:
        """The nonzeros by x, u and p of a Jacobian, as the core multiplies them with tangents."""
        flat: list[int] = []
        for place, row, variable in entries_of(pattern):
            source = self.source(variable)
            if self.dependence.input_of(variable) is not None and source is not None:
                flat += (place, row, source)
        return flat

    def transposed(self, pattern: ca.Sparsity) -> list[int]:
        """The same nonzeros with their columns among the entries of (x, u, p)."""
        flat: list[int] = []
        for place, row, variable in entries_of(pattern):
            column = self.dependence.input_of(variable)
            if column is not None:
                flat += (place, row, column)
        return flat

    def curvature(self, entries: list[Entry]) -> tuple[list[int], list[int]]:
        """Sources of the variables that a second derivative touches, tangents first, and its nonzeros among them."""
        kept = [e for e in entries if self.source(e[1]) is not None and self.source(e[2]) is not None]
        sources = {v: self.source(v) for _, a, b in kept for v in (a, b)}
        touched = sorted(sources, key=lambda v: (sources[v] < 0, v))  # type: ignore[operator]
        number = {v: k for k, v in enumerate(touched)}
        flat = [k for place, a, b in kept for k in (place, number[a], number[b])]
        return [sources[v] for v in touched], flat  # type: ignore[misc]

    def tensor(self) -> list[tuple[list[int], list[int]]]:
        """As `curvature`, for the second derivative of each equation by itself."""
        rows: list[list[Entry]] = [[] for _ in range(self.stage.sizes["x"])]
        for place, (equation, a, b) in enumerate(self.stage.tensor(self.parameters)[0]):
            rows[equation].append((place, a, b))
        return [self.curvature(row) for row in rows]

    def columns(self, letter: str) -> range:
        """The entries of x, u or p among all inputs."""
        sizes = self.stage.sizes
        begin = {"x": 0, "u": sizes["x"], "p": sizes["x"] + sizes["u"]}[letter]
        return range(begin, begin + sizes[letter])

    def jacobian_places(self, letter: str) -> list[int]:
        """Where the nonzeros of ∂x⁺/∂(letter) stand in M, in CasADi's order."""
        state, lanes = self.dependence.state, self.lanes
        if letter == "p" and not self._with("p"):
            return []
        return [int(r) * lanes + self.position[c] for c in self.columns(letter) for r in np.flatnonzero(state[:, c])]

    def transposed_places(self, letter: str) -> list[int]:
        """Where the nonzeros of (∂x⁺/∂(letter))ᵀ stand in M."""
        state, lanes = self.dependence.state, self.lanes
        if letter == "p" and not self._with("p"):
            return []
        return [r * lanes + self.position[c] for r in range(len(state)) for c in self.columns(letter) if state[r, c]]

    def second_places(self, first: str, second: str) -> list[int]:
        """Where the nonzeros of the block (first, second) of λᵀ∇²φ stand in the core's upper half."""
        if not self._second:
            return []
        if "p" in (first, second) and not self._with("p"):
            return []
        pairs, places = self.dependence.second, []
        for b in self.columns(second):
            for a in self.columns(first):
                if pairs[a, b]:
                    low, high = sorted((self.position[a], self.position[b]))
                    places.append(low * self.active_lanes + high)
        return places

    def _with(self, letter: str) -> bool:
        return all(c in self.position for c in self.columns(letter))

    def core_arguments(self, with_tensors: bool) -> dict[str, Any]:
        """Everything the core wants to know about these directions."""
        n = self.stage.sizes["x"]
        main, projection = self.stage.main(self.parameters), self.stage.projection(self.parameters)
        functions: list[Compiled | None] = [main.value, main.linear, main.curvature if self._second else None]
        functions.append(self.stage.tensor(self.parameters)[1] if with_tensors else None)
        functions += [projection.value, projection.linear] if projection else [None, None]
        functions.append(projection.curvature if projection and self._second else None)
        touched, curvature = self.curvature(entries_of(main.hessian) if self._second else [])
        bends = entries_of(projection.hessian) if projection and self._second else []
        moved, moved_curvature = self.curvature(bends)
        return {
            "state_of": [k if k < n else -1 for k in self.order],
            "active": self.active,
            "functions": [None if f is None else f.core for f in functions],
            "jacobian": self.products(main.jacobian),
            "projection_jacobian": self.products(projection.jacobian) if projection else [],
            "transposed": self.transposed(main.jacobian),
            "projection_transposed": self.transposed(projection.jacobian) if projection else [],
            "touched": touched,
            "curvature": curvature,
            "projection_touched": moved,
            "projection_curvature": moved_curvature,
            "tensor": self.tensor() if with_tensors else [],
            "jacobian_outputs": [self.jacobian_places(letter) for letter in INPUTS],
            "second_outputs": [
                places for first in INPUTS for places in (*(self.second_places(first, s) for s in INPUTS), [],
                                                          self.transposed_places(first))
            ],
        }  # fmt: skip


def padded(count: int) -> int:
    """A number of columns rounded up to full lanes of the core."""
    return -(-count // LANES) * LANES


def block_arguments(blocks: list[StageBlock]) -> list[dict[str, list[int]]]:
    """The blocks of an implicit stage as flat lists."""

    def flat(entries: list[Entry]) -> list[int]:
        return [k for entry in entries for k in entry]

    return [
        {
            "equations": block.equations,
            "unknowns": block.unknowns,
            "own_direct": flat(block.own_direct),
            "own_state": flat(block.own_state),
            "other_direct": flat(block.other_direct),
            "other_state": flat(block.other_state),
        }
        for block in blocks
    ]


# The unknowns of an implicit stage in blocks that are solved one after the other, and where their nonzeros go.

Entry = tuple[int, int, int]


@dataclass(frozen=True)
class StageBlock:
    """Equations solved together for unknowns (k, then z); each entry is (place in the Jacobian, row, column).

    Own entries count rows and columns inside the block; the others have a row inside and, as column, an unknown or a
    state of an earlier block. Entries by x act through h Σ a_ij k_j.
    """

    equations: list[int]
    unknowns: list[int]
    own_direct: list[Entry]
    own_state: list[Entry]
    other_direct: list[Entry]
    other_state: list[Entry]


def stage_blocks(stage: Stage) -> list[StageBlock]:
    """The blocks of an implicit stage, by the block-triangular form of its equations; none for an explicit one.

    A state counts where its derivative k stands, since it is x + h Σ a_ij k_j.
    """
    if not stage.implicit:
        return []
    n, offset = stage.sizes["x"], stage.offsets["k"]
    unknowns, end = n + stage.sizes["z"], stage.offsets["p"]
    entries = [entry for entry in entries_of(stage.main(False).jacobian) if entry[2] < end]
    direct = [(row, variable - offset) for _, row, variable in entries if variable >= offset]
    by_unknown = _pattern(unknowns, direct)
    if ca.sprank(by_unknown) < unknowns:
        raise SingularModelError(
            "The equations as written do not determine all derivatives and algebraic variables.",
            f"{unknowns} unknowns, structural rank {ca.sprank(by_unknown)}",
            because="the model is a DAE of index 2 or higher, or two equations constrain the same unknowns.",
            remedy="dd.flow(dd.reduce(m), ...)",
        )
    by_state = [(row, variable) for _, row, variable in entries if variable < n]
    count, row_order, column_order, row_start, column_start, *_ = _pattern(unknowns, direct + by_state).btf()
    rows = [list(row_order[row_start[b] : row_start[b + 1]]) for b in range(count)]
    columns = [list(column_order[column_start[b] : column_start[b + 1]]) for b in range(count)]
    return _filled(entries, rows, columns, n, offset)


def _pattern(size: int, places: list[tuple[int, int]]) -> ca.Sparsity:
    places = sorted(set(places))
    return ca.Sparsity.triplet(size, size, [row for row, _ in places], [column for _, column in places])


def _filled(
    entries: list[Entry], rows: list[list[int]], columns: list[list[int]], n: int, offset: int
) -> list[StageBlock]:
    blocks = [StageBlock(r, c, [], [], [], []) for r, c in zip(rows, columns)]
    row_place = {e: (b, k) for b, block in enumerate(rows) for k, e in enumerate(block)}
    column_place = {v: (b, k) for b, block in enumerate(columns) for k, v in enumerate(block)}
    for place, equation, variable in entries:
        if n <= variable < offset:  # an input
            continue
        direct = variable >= offset
        unknown = variable - offset if direct else variable
        block, row = row_place[equation]
        owner, column = column_place[unknown]
        if owner == block:
            (blocks[block].own_direct if direct else blocks[block].own_state).append((place, row, column))
        else:
            (blocks[block].other_direct if direct else blocks[block].other_state).append((place, row, unknown))
    return blocks
