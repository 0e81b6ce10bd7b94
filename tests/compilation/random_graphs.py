"""Random graphs of SX operations, and a bound on how far roundings can carry their values apart."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import casadi as ca
import numpy as np
from hypothesis import strategies as st

from daedalus.compilation.operations import COPIES, operations

# Every scalar operation that SX can contain and that needs nobody beside the machine.
ALL_OPERATIONS = sorted({*operations(strict=False), *COPIES})
ARITHMETIC = [ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_SQ, ca.OP_DIV]
# Operations that ask whether an operand is zero: their value jumps there.
ZERO_TESTS = {ca.OP_NOT: (0,), ca.OP_AND: (0, 1), ca.OP_OR: (0, 1), ca.OP_IF_ELSE_ZERO: (0,), ca.OP_SIGN: (0,)}

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 2.3e-308, -1e-310,
           1.7976931348623157e308, -1e308, np.pi, 1e22, 0.7, -0.7, 3.0, -3.0, 1e-9, 709.8, -745.2, 2.0**53]  # fmt: skip
# Half the exponents that the fast mode takes by square roots, half that it leaves to the library.
CONSTANTS = [0.0, -0.0, 1.0, 2.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.5, 1 / 3, 101.0, np.inf, np.nan, 1e-300, 0.1]

UNIT_ROUNDOFF = 2.0**-53


@dataclass(frozen=True)
class Graph:
    """Steps (operation, operands counted back from the step) over inputs and constants; the last nodes are outputs."""

    inputs: int
    constants: tuple[float, ...]
    steps: tuple[tuple[int, int, int], ...]

    def nodes(self, x: ca.SX) -> list[ca.SX]:
        nodes = [x[i] for i in range(self.inputs)] + [ca.SX(c) for c in self.constants]
        for op, i, j in self.operands():
            nodes.append(ca.SX.binary(op, nodes[i], nodes[j]))
        return nodes

    def operands(self) -> list[tuple[int, int, int]]:
        """Every step with its operands counted from the first node on."""
        first = self.inputs + len(self.constants)
        return [(op, k - 1 - i % k, k - 1 - j % k) for k, (op, i, j) in enumerate(self.steps, first)]

    def function(self, outputs: int) -> ca.Function:
        x = ca.SX.sym("x", self.inputs)
        return ca.Function("graph", [x], [ca.vertcat(*self.nodes(x)[-outputs:])])

    def node_values(self, points: np.ndarray) -> np.ndarray:
        """Values of all nodes by CasADi's interpreter, one row a point."""
        x = ca.SX.sym("x", self.inputs)
        every = ca.Function("nodes", [x], [ca.densify(ca.vertcat(*self.nodes(x)))])
        return np.array([np.array(every(point)).ravel() for point in points])


def interpreted(f: ca.Function, points: np.ndarray) -> np.ndarray:
    """The nonzeros of the only output by CasADi's interpreter, one row a point."""
    return np.array([f(point).nonzeros() for point in points])


@st.composite
def graphs(draw: st.DrawFn, most_steps: int = 40) -> Graph:
    """Graphs of all operations, with arithmetic in every other step, so that there is much to fuse and to cancel."""
    inputs = draw(st.integers(1, 3))
    constants = tuple(draw(st.lists(st.sampled_from(CONSTANTS) | st.floats(-10, 10), max_size=3)))
    operation = st.sampled_from(ARITHMETIC) | st.sampled_from(ALL_OPERATIONS)
    step = st.tuples(operation, st.integers(0, 7), st.integers(0, 7))
    return Graph(inputs, constants, tuple(draw(st.lists(step, min_size=5, max_size=most_steps))))


@st.composite
def points(draw: st.DrawFn, inputs: int, ordinary: int = 10) -> np.ndarray:
    """A few special points, and some ordinary ones."""
    number = st.sampled_from(SPECIAL) | st.floats(width=64)
    special = draw(st.lists(st.tuples(*[number] * inputs), min_size=1, max_size=6))
    usual = np.random.default_rng(draw(st.integers(0, 2**32))).normal(size=(ordinary, inputs))
    return np.vstack([np.array(special), usual])


def same_bits(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether numbers are identical, signs of zeros included; the bits of a NaN are its own affair."""
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    return (a.view(np.int64) == b.view(np.int64)) | (np.isnan(a) & np.isnan(b))


def reads_sign_of_nan(graph: Graph, values: np.ndarray) -> bool:
    """Whether somebody copies the sign of a NaN, which no two compilers agree on."""
    return any(op == ca.OP_COPYSIGN and np.isnan(values[j]) for op, _, j in graph.operands())


@functools.cache
def _nine_at_once(op: int) -> ca.Function:
    a, b = ca.SX.sym("a", 9), ca.SX.sym("b", 9)
    return ca.Function("nine", [a, b], [ca.densify(ca.SX.binary(op, a, b))])


def error_bounds(graph: Graph, values: np.ndarray) -> np.ndarray:
    """How far each node may lie from its value when every operation rounds differently by a few units.

    The deviation is carried through the graph by evaluating every operation at the corners of its operands' intervals,
    which is the operation's own condition. Infinite where the value may jump.
    """
    bounds = np.zeros(len(values))
    first = len(values) - len(graph.steps)
    for here, (op, i, j) in enumerate(graph.operands(), first):
        bounds[here] = _bound(op, values[[i, j]], bounds[[i, j]], values[here])
    return bounds


def _bound(op: int, operands: np.ndarray, spread: np.ndarray, value: float) -> float:
    if not np.all(np.isfinite(spread)):
        return np.inf
    touched = [operands[k] for k in ZERO_TESTS.get(op, ()) if 0 < spread[k] >= abs(operands[k])]
    if op in (ca.OP_EQ, ca.OP_NE) and 0 < spread.sum() >= abs(operands[0] - operands[1]):
        touched.append(0.0)
    if touched:
        return np.inf
    shifts = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)]
    with np.errstate(over="ignore"):
        corners = operands[:, None] + spread[:, None] * np.array(shifts).T
    found = np.array(_nine_at_once(op)(corners[0], corners[1])).ravel()
    if not np.isfinite(value) or not np.all(np.isfinite(found)):
        return 0.0 if np.all(same_bits(found, np.full(9, value))) else np.inf
    # Twice the corners for curvature between them; eight units of roundoff for two roundings a side and the library.
    with np.errstate(over="ignore"):
        return float(2 * np.max(np.abs(found - value)) + 16 * UNIT_ROUNDOFF * abs(value) + 1e-307)
