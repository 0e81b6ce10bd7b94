"""What a matrix pencil s E - A is made of: `dd.pencil(E, A)` says whether E x' = A x + f is solvable, and its index."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from daedalus.algebra.rank_decision import CLEAR_GAP, RankDecision, default_tolerance
from daedalus.analysis.linear.pencils.equilibration import Equilibrated, equilibrate
from daedalus.analysis.linear.pencils.staircase import Staircase, staircase
from daedalus.analysis.linear.real_matrix import matrix
from daedalus.analysis.linear.system_text import by_real_part, complex_text
from daedalus.errors import InputError
from daedalus.model.lazy_values import cached_property
from daedalus.model.names import counted, listed

if TYPE_CHECKING:
    from daedalus.analysis.linear.pencils.weierstrass import Weierstrass


@dataclass(frozen=True, eq=False, repr=False)
class Pencil:
    """The result of `dd.pencil`: the Kronecker structure of s E - A. `print` shows it in words.

    Attributes
    ----------
    regular: whether E x' = A x + f has one solution for every smooth f: square, and det(s E - A) not zero for all s.
    index: the nilpotency index, which is the differential index of E x' = A x + f: 0 when E is invertible, None when
        the pencil is singular.
    finite: (k,) complex, the finite eigenvalues, by real part.
    infinite: how many eigenvalues are infinite.
    infinite_blocks: sizes of the Jordan blocks at infinity, largest first.
    right_indices, left_indices: the minimal indices of a singular pencil: one right index for each combination of
        unknowns that nothing determines, one left index for each equation too many.
    tolerance: singular values below tolerance times the size of E (or A) counted as zero.
    gap: the narrowest ratio of kept to dropped singular values over all rank decisions.
    ranks: every rank decision, in order.

    Example
    -------
    >>> import daedalus as dd
    >>> print(dd.pencil([[0, 1, 0], [0, 0, 1], [0, 0, 0]], [[1, 0, 0], [0, 1, 0], [0, 0, 1]]))
    Pencil s E - A, 3 × 3: regular, index 3
      no finite eigenvalue; 3 infinite ones in a block of 3
      6 rank decisions, tolerance 4.3e-14, narrowest gap ...
    """

    E: np.ndarray
    A: np.ndarray
    regular: bool
    index: int | None
    finite: np.ndarray
    infinite: int
    infinite_blocks: tuple[int, ...]
    right_indices: tuple[int, ...]
    left_indices: tuple[int, ...]
    tolerance: float
    gap: float
    ranks: tuple[RankDecision, ...]
    _form: Staircase = field(repr=False)
    _scaled: Equilibrated = field(repr=False)

    @property
    def normal_rank(self) -> int:
        """The rank of s E - A for all s but the eigenvalues."""
        return self.E.shape[1] - len(self.right_indices)

    @property
    def doubtful(self) -> bool:
        """Whether some rank decision was close: kept and dropped singular values differ by less than a factor 1000."""
        return self.gap < CLEAR_GAP

    def __post_init__(self) -> None:
        self.finite.setflags(write=False)

    def weierstrass(self) -> Weierstrass:
        """The transformations that take a regular pencil apart into x' = M x and N x' = x.

        Example
        -------
        >>> import daedalus as dd
        >>> parts = dd.pencil([[1, 0], [0, 0]], [[-2, 1], [1, -1]]).weierstrass()
        >>> parts.M.round(12).tolist(), parts.N.tolist()
        ([[-1.0]], [[0.0]])
        """
        return self._weierstrass

    @cached_property
    def _weierstrass(self) -> Weierstrass:
        from daedalus.analysis.linear.pencils.weierstrass import separate

        return separate(self._form, self._scaled)

    def __str__(self) -> str:
        rows, columns = self.E.shape
        kind = f"regular, index {self.index}" if self.regular else "singular"
        lines = [f"Pencil s E - A, {rows} × {columns}: {kind}", f"  {self._eigenvalues_in_words()}"]
        if self.right_indices:
            lines.append(
                f"  right minimal indices {listed(self.right_indices)}: "
                f"{counted(len(self.right_indices), 'combination')} of unknowns that nothing determines"
            )
        if self.left_indices:
            lines.append(
                f"  left minimal indices {listed(self.left_indices)}: "
                f"{counted(len(self.left_indices), 'equation')} too many"
            )
        close = "; the closest decision is in doubt" if self.doubtful else ""
        decisions = f"{counted(len(self.ranks), 'rank decision')}, tolerance {self.tolerance:.1e}"
        lines.append(f"  {decisions}, narrowest gap {self.gap:.1e}{close}")
        return "\n".join(lines)

    def _eigenvalues_in_words(self) -> str:
        shown = listed([complex_text(value) for value in self.finite])
        finite = (
            f"{counted(len(self.finite), 'finite eigenvalue')}: {shown}" if len(self.finite) else "no finite eigenvalue"
        )
        if not self.infinite:
            return f"{finite}; no infinite one"
        sizes = Counter(self.infinite_blocks)
        if len(self.infinite_blocks) == 1:
            blocks = f"a block of {self.infinite_blocks[0]}"
        else:
            blocks = "blocks of " + ", ".join(str(size) + (f" (× {k})" if k > 1 else "") for size, k in sizes.items())
        return f"{finite}; {counted(self.infinite, 'infinite one')} in {blocks}"

    def __repr__(self) -> str:
        kind = f"regular, index {self.index}" if self.regular else "singular"
        rows, columns = self.E.shape
        return f"Pencil({rows} × {columns}, {kind}, {len(self.finite)} finite, {self.infinite} infinite)"


def pencil(E: object, A: object, tolerance: float | None = None, balance: bool = True) -> Pencil:
    """The structure of the pencil s E - A: regularity, index, finite and infinite eigenvalues, minimal indices.

    It determines the solutions of E x' = A x + f(t): with P (s E - A) Q = diag(s I - M, s N - I), the finite part is an
    ODE, and the nilpotent N with N^index = 0 differentiates f index - 1 times. The structure comes from a staircase of
    singular value decompositions (Van Dooren 1979), and the finite eigenvalues from the QZ algorithm on the remainder.

    Parameters
    ----------
    E, A: matrices of one shape, also rectangular.
    tolerance: singular values below tolerance times the size of E (or A) count as zero; by default 64 ε times the
        larger dimension. For measured numbers, use about their relative accuracy.
    balance: first scale rows, columns and time by powers of two, so that ranks do not depend on the units.

    Ranks of rounded numbers are decisions: `gap` shows how clear the closest one was, and `ranks` lists them all.

    Example
    -------
    >>> import daedalus as dd
    >>> p = dd.pencil([[1, 0], [0, 0]], [[-2, 1], [1, -1]])     # x' = -2 x + z, 0 = x - z
    >>> p.regular, p.index, p.finite.real.round(12).tolist(), p.infinite
    (True, 1, [-1.0], 1)
    >>> dd.pencil([[1, 0], [0, 0]], [[1, 0], [1, 0]]).regular
    False
    """
    right_side = matrix(A, "A")
    left_side = matrix(E, "E", *right_side.shape)
    tol = default_tolerance(*right_side.shape) if tolerance is None else float(tolerance)
    if not 0.0 < tol < 1.0:
        raise InputError(
            "The tolerance of a rank decision must be between 0 and 1.",
            f"got {tol:g}",
            because="it is relative to the largest singular value.",
            remedy="tolerance=1e-10",
        )
    identity = Equilibrated(
        left_side, right_side, np.ones(right_side.shape[0]), np.ones(right_side.shape[1]), speed=1.0
    )
    scaled = equilibrate(left_side, right_side) if balance else identity
    form = staircase(scaled.E, scaled.A, tol)
    right_indices, blocks = _structure(form.right_steps)
    left_indices, more_blocks = _structure(form.left_steps)
    blocks = sorted([*blocks, *more_blocks], reverse=True)
    regular = not right_indices and not left_indices
    return Pencil(
        E=left_side,
        A=right_side,
        regular=regular,
        index=(max(blocks) if blocks else 0) if regular else None,
        finite=_finite_eigenvalues(form) * scaled.speed,
        infinite=sum(blocks),
        infinite_blocks=tuple(blocks),
        right_indices=tuple(right_indices),
        left_indices=tuple(left_indices),
        tolerance=tol,
        gap=min((decision.gap for decision in form.decisions), default=float("inf")),
        ranks=tuple(form.decisions),
        _form=form,
        _scaled=scaled,
    )


def _structure(steps: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Minimal indices and sizes of infinite blocks from the widths and heights of the steps."""
    indices: list[int] = []
    blocks: list[int] = []
    for j, (null, rank) in enumerate(steps):
        following = steps[j + 1][0] if j + 1 < len(steps) else 0
        indices += [j] * (null - rank)
        blocks += [j + 1] * (rank - following)
    return indices, blocks


def _finite_eigenvalues(form: Staircase) -> np.ndarray:
    from scipy.linalg import eigvals

    if form.finite_E.size == 0:
        return np.zeros(0, dtype=complex)
    return by_real_part(eigvals(form.finite_A, form.finite_E))
