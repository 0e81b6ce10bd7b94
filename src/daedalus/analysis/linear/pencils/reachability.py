"""What the inputs can reach and the outputs can see: controllability and observability by a staircase of ranks.

Orthogonal transformations turn (A, B) into steps, each with the part of the states that the step before drives; what
no step reaches is the uncontrollable part (P. Van Dooren, "The generalized eigenstructure problem in linear system
theory", IEEE Transactions on Automatic Control 26 (1981) 111-129). Observability is the same for (Aᵀ, Cᵀ).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daedalus.algebra.rank_decision import (
    CLEAR_GAP,
    EPSILON,
    RankDecision,
    amplified,
    decide_rank,
    default_tolerance,
    largest_singular_value,
    singular_values,
)
from daedalus.analysis.linear.axis_names import Names
from daedalus.analysis.linear.system_text import complex_text
from daedalus.model.names import counted

# A state belongs to a mode when its share is at least this part of the largest one.
SHARE_SHOWN = 0.1


@dataclass(frozen=True)
class Mode:
    """A pole that no input can move or no output can see, and its states, largest share first."""

    pole: complex
    states: Names

    def __str__(self) -> str:
        return f"pole {complex_text(self.pole)} in {', '.join(self.states)}"


@dataclass(frozen=True)
class Reachability:
    """The result of `lin.controllability()` and `lin.observability()`: true if all states are reached (or seen).

    Attributes
    ----------
    complete: whether rank = number of states.
    rank, size: the dimension of the reached (seen) part, and the number of states.
    modes: what is out of reach (unseen): poles with the states that take part.
    tolerance: singular values below tolerance times the size of B (or A) counted as zero.
    gap: the narrowest ratio of kept to dropped singular values; below 1000 the verdict is in doubt.
    ranks: every rank decision.

    Example
    -------
    >>> import daedalus as dd
    >>> system = dd.LTI([[-1, 0], [0, -2]], [1, 0], states=["heated", "forgotten"])
    >>> print(system.controllability())
    not controllable: rank 1 of 2, so the inputs do not reach every state; narrowest gap ...
      out of reach: pole -2 in forgotten
    """

    kind: str
    complete: bool
    rank: int
    size: int
    modes: tuple[Mode, ...]
    tolerance: float
    gap: float
    ranks: tuple[RankDecision, ...]

    def __bool__(self) -> bool:
        return self.complete

    def __str__(self) -> str:
        word = {"controllability": "controllable", "observability": "observable"}[self.kind]
        close = "; in doubt" if self.gap < CLEAR_GAP else ""
        verdict = word if self.complete else f"not {word}"
        who, does = ("inputs", "reach") if self.kind == "controllability" else ("outputs", "determine")
        reason = f"the {who} {'' if self.complete else 'do not '}{does} every state"
        gap = f"; narrowest gap {self.gap:.1e}{close}" if self.ranks else ""
        lines = [f"{verdict}: rank {self.rank} of {self.size}, so {reason}{gap}"]
        lost = "out of reach" if self.kind == "controllability" else "unseen"
        lines += [f"  {lost}: {mode}" for mode in self.modes]
        return "\n".join(lines)


def reach(A: np.ndarray, B: np.ndarray, names: Names, tolerance: float | None, kind: str) -> Reachability:
    """Which part of x' = A x + B u the inputs reach."""
    n = len(A)
    tol = default_tolerance(n, B.shape[1]) if tolerance is None else float(tolerance)
    A_scaled, B_scaled = _scaled(A, B)
    rank, A_turned, turn, ranks = _reached(A_scaled, B_scaled, tol)
    return Reachability(
        kind=kind,
        complete=rank == n,
        rank=rank,
        size=n,
        modes=_modes(A_turned[rank:, rank:], turn[:, rank:], names),
        tolerance=tol,
        gap=min((decision.gap for decision in ranks), default=float("inf")),
        ranks=tuple(ranks),
    )


def _scaled(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same system in balanced units of states and inputs: exact, by powers of two."""
    from scipy.linalg import matrix_balance

    if A.size == 0:
        return A.copy(), B.copy()
    balanced, (scale, _) = matrix_balance(A, permute=False, separate=True)
    driven = B / scale[:, None]
    sizes = np.abs(driven).max(axis=0, initial=0.0)
    return balanced, driven / np.exp2(np.round(np.log2(np.where(sizes > 0, sizes, 1.0))))


def _reached(A: np.ndarray, B: np.ndarray, tolerance: float) -> tuple[int, np.ndarray, np.ndarray, list[RankDecision]]:
    """The dimension reached, A in the turned coordinates (reached first), the turn, and the rank decisions."""
    from scipy.linalg import svd

    n = len(A)
    A, turn = A.copy(), np.eye(n)
    size_A, size_B = largest_singular_value(A), largest_singular_value(B)
    done, block, ranks, amplification = 0, B, [], 1.0
    while done < n:
        matrix = "B" if done == 0 else f"A below {counted(done, 'reached state')}"
        size = size_A if done else size_B
        decision = decide_rank(singular_values(block), block.shape, size, tolerance, matrix, amplification)
        amplification = amplified(amplification, decision, size)
        if block.size:
            ranks.append(decision)
        if decision.rank == 0:
            break
        U, _, _ = svd(block, full_matrices=True)
        A[done:] = U.T @ A[done:]
        A[:, done:] = A[:, done:] @ U
        turn[:, done:] = turn[:, done:] @ U
        new = done + decision.rank
        block = A[new:, done:new]
        done = new
    return done, A, turn, ranks


def _modes(A: np.ndarray, turn: np.ndarray, names: Names) -> tuple[Mode, ...]:
    """Poles of the part that is not reached; wᵀ x with wᵀ A = λ wᵀ is the combination that no input moves."""
    from scipy.linalg import eig

    if A.size == 0:
        return ()
    found, left, vectors = eig(A.T, left=True, right=True)
    # Rounding moves a pole by ε ‖A‖ over the cosine between its eigenvectors: what is less is no part of it.
    cosines = np.maximum(np.abs(np.sum(left.conj() * vectors, axis=0)), np.sqrt(EPSILON))
    doubts = EPSILON * len(A) * np.linalg.norm(A) / cosines
    real, imag = (np.where(np.abs(part) <= doubts, 0.0, part) for part in (found.real, found.imag))
    poles = real + 1j * imag
    modes = []
    for pole, vector in zip(poles, vectors.T):
        if pole.imag < 0:
            continue
        share = np.abs(turn @ vector)
        order = [int(k) for k in np.argsort(-share) if share[k] >= SHARE_SHOWN * share.max()]
        modes.append(Mode(complex(pole), tuple(names[k] for k in order[:6])))
        if pole.imag > 0:
            modes.append(Mode(complex(pole.conjugate()), modes[-1].states))
    return tuple(sorted(modes, key=lambda mode: (mode.pole.real, mode.pole.imag)))
