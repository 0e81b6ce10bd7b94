"""A proper state space out of a descriptor system, where there is one, and the derivatives of inputs where not.

In the coordinates of the Weierstrass form x = slow s + fast f the output is

    y = C slow s + (D + P₀) u + P₁ u' + P₂ u'' + ...,     Pₖ = -C fast Nᵏ b,  b = left_fast B

and the system is proper when P₁, P₂, ... are zero.
"""

from __future__ import annotations

import numpy as np

from daedalus.algebra.rank_decision import EPSILON, KNOWN
from daedalus.analysis.linear.axis_names import Names
from daedalus.analysis.linear.lti import LTI
from daedalus.analysis.linear.pencils.linear_dae import LinearDae
from daedalus.analysis.linear.pencils.weierstrass import Weierstrass
from daedalus.errors import SingularModelError

# Blocks worse than this leave the elimination of algebraic variables to orthogonal transformations.
BADLY_CONDITIONED = 1e8
# A state joins the coordinates when this much of it is new, relative to its size; lowered until there are enough.
NEW_SHARES = (0.1, 1e-2, 1e-4, 1e-6, 1e-8)


def polynomial_part(C: np.ndarray, B: np.ndarray, parts: Weierstrass) -> list[np.ndarray]:
    """P₀, P₁, ... with exact zeros where only rounding is left, without trailing zero matrices."""
    reading, driven = C @ parts.fast, parts.left_fast @ B
    size = np.outer(np.abs(C) @ parts.fast_size, parts.left_fast_size @ np.abs(B))
    growth = np.linalg.norm(parts.N)
    found = []
    for k in range(parts.index):
        values = -(reading @ driven)
        values[np.abs(values) <= KNOWN * size * growth**k] = 0.0
        found.append(values)
        driven = parts.N @ driven
    while found and not np.any(found[-1]):
        found.pop()
    return found


def state_space(system: LinearDae, drop_input_rates: bool = False) -> LTI:
    """The system as x' = A x + B u, y = C x + D u; its states are states of the descriptor system where possible.

    Outputs that contain derivatives of inputs are refused, or lose these terms.
    """
    from scipy.linalg import solve

    n = len(system.states)
    if system.pencil.index == 0 and n:
        scaled = system.pencil._scaled
        given = scaled.rows[:, None] * np.hstack([system.A, system.B])
        solved = (scaled.speed * scaled.columns)[:, None] * solve(scaled.E, given)
        names = {"states": system.states, "inputs": system.inputs, "outputs": system.outputs}
        return LTI(solved[:, :n], solved[:, n:], system.C, system.D, **names)
    if system.pencil.index == 1:
        direct = _eliminated(system)
        if direct is not None:
            return direct
    parts = system.pencil.weierstrass()
    derivatives = polynomial_part(system.C, system.B, parts)
    if len(derivatives) > 1 and not drop_input_rates:
        raise _improper(system, derivatives)
    chosen = _coordinates(system, parts)
    turn = parts.slow[chosen] if chosen is not None else np.eye(len(parts.M))
    back = solve(turn, np.eye(len(turn))) if len(turn) else turn
    units = system.pencil._scaled.columns[chosen] if chosen is not None else np.ones(len(turn))
    A = _without_rounding(_product(turn, parts.M, back), units, units)
    B = _without_rounding(_product(turn, parts.left_slow, system.B), units)
    C = _product(system.C, parts.slow, back)
    D = system.D + derivatives[0] if derivatives else system.D
    states: str | Names = "slow"
    if chosen is not None:
        states = tuple(system.states[k] for k in chosen)
        # An output that is a chosen state stays exactly that state.
        for row in np.flatnonzero(np.count_nonzero(system.C, axis=1) == 1):
            column = int(np.argmax(np.abs(system.C[row])))
            if column in chosen:
                C[row] = system.C[row, column] * (np.array(chosen) == column)
    return LTI(A, B, C, D, states=states, inputs=system.inputs, outputs=system.outputs)


def _eliminated(system: LinearDae) -> LTI | None:
    """A semi-explicit system of index 1 with its algebraic variables put in; None when it is not of this form."""
    rows, columns = np.any(system.E, axis=1), np.any(system.E, axis=0)
    inner = system.A[np.ix_(~rows, ~columns)]
    mass = system.E[np.ix_(rows, columns)]
    for block in (inner, mass):
        if block.shape[0] != block.shape[1] or (block.size and np.linalg.cond(block) > BADLY_CONDITIONED):
            return None
    n = np.count_nonzero(columns)
    # z = -A₂₂⁻¹ (A₂₁ x + B₂ u), for all x and u side by side.
    z = -np.linalg.solve(inner, np.hstack([system.A[np.ix_(~rows, columns)], system.B[~rows]]))
    motion = np.hstack([system.A[np.ix_(rows, columns)], system.B[rows]]) + system.A[np.ix_(rows, ~columns)] @ z
    reading = np.hstack([system.C[:, columns], system.D]) + system.C[:, ~columns] @ z
    solved = np.linalg.solve(mass, motion)
    names = tuple(name for name, moves in zip(system.states, columns) if moves)
    return LTI(
        solved[:, :n] + 0.0,
        solved[:, n:] + 0.0,
        reading[:, :n] + 0.0,
        reading[:, n:] + 0.0,
        states=names,
        inputs=system.inputs,
        outputs=system.outputs,
    )


def _product(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a b c with exact zeros where only rounding is left."""
    values = a @ b @ c
    rounding = 8.0 * EPSILON * max(*b.shape, 1) * (np.abs(a) @ np.abs(b) @ np.abs(c))
    values[np.abs(values) <= rounding] = 0.0
    return values


def _without_rounding(values: np.ndarray, rows: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
    """A matrix with exact zeros where its numbers in balanced units are rounding of the largest; columns B by column.

    The parts of a pencil are known to rounding of their norms, whatever an entry is made of.
    """
    balanced = np.abs(values) / rows[:, None] * (1.0 if columns is None else columns)
    largest = balanced.max(axis=0 if columns is None else None, initial=0.0)
    return np.where(balanced <= 16.0 * EPSILON * max(*values.shape, 1) * largest, 0.0, values)


def _coordinates(system: LinearDae, parts: Weierstrass) -> list[int] | None:
    """States that determine the slow part and do not jump with the inputs, first declared first; None without such."""
    n = len(system.states)
    direct = polynomial_part(np.eye(n), system.B, parts)
    quiet = [k for k in range(n) if not any(np.any(matrix[k]) for matrix in direct)]
    sizes = np.linalg.norm(parts.slow, axis=1)
    quiet = [k for k in quiet if sizes[k] > KNOWN * parts.slow_size[k]]
    for share in NEW_SHARES:
        chosen: list[int] = []
        basis = np.zeros((0, parts.slow.shape[1]))
        for k in quiet:
            row = parts.slow[k] / sizes[k]
            # Twice is enough for orthogonality to rounding.
            new = row - basis.T @ (basis @ row)
            new = new - basis.T @ (basis @ new)
            if np.linalg.norm(new) > share:
                basis = np.vstack([basis, new / np.linalg.norm(new)])
                chosen.append(k)
        if len(chosen) == parts.slow.shape[1]:
            return chosen
    return None


def _improper(system: LinearDae, derivatives: list[np.ndarray]) -> SingularModelError:
    index, facts, bad = system.pencil.index, [], []
    for row, output in enumerate(system.outputs):
        for column, source in enumerate(system.inputs):
            orders = [k for k in range(1, len(derivatives)) if derivatives[k][row, column]]
            if orders:
                highest = max(orders)
                prime = "'" * highest if highest < 4 else f"^({highest})"
                facts.append(f"{output} contains {derivatives[highest][row, column]:.4g} · {source}{prime}")
                bad.append(output)
    good = [name for name in system.outputs if name not in bad]
    leave = f"select(outputs={good[:4]!r}) leaves them out, or " if good else ""
    return SingularModelError(
        "The system has no proper state space: outputs contain derivatives of inputs.",
        facts[:8],
        because=f"the index is {index}: algebraic equations have to be differentiated, and inputs with them.",
        remedy=f"{leave}make the derivative of {system.inputs[0]} the input and integrate it in the model",
    )
