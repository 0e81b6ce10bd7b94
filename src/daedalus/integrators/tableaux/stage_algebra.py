"""Three ways to compute with stage vectors: exact matrices, polynomials in the nodes, and doubles with error bounds.

Order conditions and stability need five things of a method: A times a vector, componentwise products, b·v, the row
bᵀdiag(v), and a row times A. Collocation methods of many stages have irrational nodes, yet A maps polynomials in c to
polynomials in c with rational coefficients, so everything asked of them is exact in Q[x] modulo Π(x - c_i).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from daedalus.algebra.agreement import TWELVE_DIGITS
from daedalus.integrators.tableaux.exact_polynomials import divided, plus, times
from daedalus.model.lazy_values import cached_property

# A floating tableau counts as given to twelve digits: residuals below this part of the sum of absolute terms are zero.
TOLERANCE = TWELVE_DIGITS


class StageAlgebra(Protocol):
    """What order conditions and simplifying assumptions compute with; vectors, rows and numbers are its own types."""

    def ones(self) -> Any:
        """The vector (1, …, 1)."""

    def nodes(self) -> Any:
        """The vector c."""

    def apply(self, v: Any) -> Any:
        """A v."""

    def product(self, v: Any, w: Any) -> Any:
        """The componentwise product."""

    def combine(self, *terms: tuple[Fraction, Any]) -> Any:
        """Σ factor·vector."""

    def weigh(self, v: Any) -> Any:
        """b·v."""

    def row(self, v: Any) -> Any:
        """The row bᵀ diag(v)."""

    def apply_left(self, row: Any) -> Any:
        """The row times A."""

    def legendre(self, k: int) -> Any:
        """P_k(c), the Legendre polynomial on [0, 1]; well scaled where powers of c are all alike."""

    def same_number(self, value: Any, target: Fraction) -> bool:
        """Whether a weighed number equals the target."""

    def same_vector(self, v: Any, w: Any) -> bool:
        """Whether two vectors are equal."""

    def same_row(self, first: Any, second: Any) -> bool:
        """Whether two rows are equal."""

    def residual(self, value: Any, target: Fraction) -> float:
        """value - target as a float."""


class _ExactNumbers:
    """Equality and Legendre polynomials of an algebra whose numbers are exact."""

    ones: Any
    nodes: Any
    product: Any
    combine: Any

    def __init__(self) -> None:
        self._legendre: dict[int, Any] = {}

    def legendre(self, k: int) -> Any:
        """P_k(c) by (k+1) P_{k+1} = (2k+1)(2c-1) P_k - k P_{k-1}, remembered."""
        known = self._legendre
        if k not in known:
            if k == 0:
                known[0] = self.ones()
            elif k == 1:
                known[1] = self.combine((Fraction(2), self.nodes()), (Fraction(-1), self.ones()))
            else:
                product = self.product(self.legendre(1), self.legendre(k - 1))
                known[k] = self.combine((Fraction(2 * k - 1, k), product), (Fraction(1 - k, k), self.legendre(k - 2)))
        return known[k]

    def same_number(self, value: Any, target: Fraction) -> bool:
        """Exact equality."""
        return bool(value == target)

    def same_vector(self, v: list[Any], w: list[Any]) -> bool:
        """Exact equality."""
        return v == w

    same_row = same_vector

    def residual(self, value: Any, target: Fraction) -> float:
        """value - target as a float."""
        return float(value - target)


class ExactStages(_ExactNumbers):
    """Vectors are lists of Fractions or of elements of one number field.

    Example
    -------
    >>> from fractions import Fraction
    >>> from daedalus.integrators.tableaux.stage_algebra import ExactStages
    >>> midpoint = ExactStages([[0, 0], [Fraction(1, 2), 0]], [0, 1], [0, Fraction(1, 2)])
    >>> print(midpoint.weigh(midpoint.apply(midpoint.ones())))
    1/2
    """

    def __init__(self, A: Sequence[Sequence[Any]], b: Sequence[Any], c: Sequence[Any]) -> None:
        super().__init__()
        self.A, self.b, self.c = A, list(b), list(c)

    def ones(self) -> list[Any]:
        """The vector (1, …, 1)."""
        return [Fraction(1)] * len(self.b)

    def nodes(self) -> list[Any]:
        """The vector c."""
        return self.c

    def apply(self, v: list[Any]) -> list[Any]:
        """A v."""
        return [sum((a * x for a, x in zip(row, v) if a and x), Fraction(0)) for row in self.A]

    def product(self, v: list[Any], w: list[Any]) -> list[Any]:
        """The componentwise product."""
        return [x * y for x, y in zip(v, w)]

    def combine(self, *terms: tuple[Fraction, list[Any]]) -> list[Any]:
        """Σ factor·vector."""
        return [sum((f * v[i] for f, v in terms), Fraction(0)) for i in range(len(self.b))]

    def weigh(self, v: list[Any]) -> Any:
        """b·v."""
        return sum((b * x for b, x in zip(self.b, v) if b and x), Fraction(0))

    def row(self, v: list[Any]) -> list[Any]:
        """The row bᵀ diag(v)."""
        return self.product(self.b, v)

    def apply_left(self, row: list[Any]) -> list[Any]:
        """The row times A."""
        columns = zip(*self.A)
        return [sum((x * a for x, a in zip(row, column) if a and x), Fraction(0)) for column in columns]


class PolynomialStages(_ExactNumbers):
    """Vectors are polynomials g with rational coefficients and stand for g(c_1), …, g(c_s), modulo Π(x - c_i).

    Parameters
    ----------
    node_polynomial: Π(x - c_i), ascending powers, monic.
    images: for m = 0, …, s-1 the polynomial that A makes of the vector c^m.
    moments: for m = 0, …, s-1 the number b·c^m.

    Example
    -------
    >>> from fractions import Fraction
    >>> from daedalus.integrators.tableaux.stage_algebra import PolynomialStages
    >>> implicit_midpoint = PolynomialStages([Fraction(-1, 2), Fraction(1)], [[Fraction(1, 2)]], [Fraction(1)])
    >>> print(*implicit_midpoint.nodes(), implicit_midpoint.weigh(implicit_midpoint.nodes()))
    1/2 1/2
    """

    def __init__(
        self,
        node_polynomial: Sequence[Fraction],
        images: Sequence[Sequence[Fraction]],
        moments: Sequence[Fraction],
    ) -> None:
        super().__init__()
        self.node_polynomial = tuple(node_polynomial)
        self.images = tuple(tuple(image) for image in images)
        self.moments = tuple(moments)

    @property
    def stages(self) -> int:
        """How many nodes there are."""
        return len(self.moments)

    def ones(self) -> list[Fraction]:
        """The constant polynomial 1."""
        return [Fraction(1)]

    def nodes(self) -> list[Fraction]:
        """The polynomial x, modulo the node polynomial."""
        return divided([Fraction(0), Fraction(1)], self.node_polynomial)[1]

    def apply(self, v: list[Fraction]) -> list[Fraction]:
        """A v, by linearity from the images of the powers."""
        result: list[Fraction] = []
        for factor, image in zip(v, self.images):
            if factor:
                result = plus(result, image, factor)
        return result

    def product(self, v: list[Fraction], w: list[Fraction]) -> list[Fraction]:
        """The product, modulo the node polynomial."""
        full = times(v, w)
        return full if len(full) <= self.stages else divided(full, self.node_polynomial)[1]

    def combine(self, *terms: tuple[Fraction, list[Fraction]]) -> list[Fraction]:
        """Σ factor·vector."""
        result: list[Fraction] = []
        for factor, v in terms:
            result = plus(result, v, factor)
        return result

    def weigh(self, v: list[Fraction]) -> Fraction:
        """b·v from the moments."""
        return sum((x * m for x, m in zip(v, self.moments)), Fraction(0))

    def row(self, v: list[Fraction]) -> list[Fraction]:
        """The values of bᵀ diag(v) on 1, c, c², …"""
        values, shifted = [], v
        for _ in range(self.stages):
            values.append(self.weigh(shifted))
            shifted = self.product(shifted, [Fraction(0), Fraction(1)])
        return values

    def apply_left(self, row: list[Fraction]) -> list[Fraction]:
        """The values of the row times A on 1, c, c², …"""
        return [sum((x * r for x, r in zip(image, row)), Fraction(0)) for image in self.images]

    def matrices(self) -> tuple[list[list[Fraction]], list[list[Fraction]]]:
        """A and A - 1bᵀ in the basis 1, c, c², …"""
        columns = [[*image, *[Fraction(0)] * (self.stages - len(image))] for image in self.images]
        A = [[column[i] for column in columns] for i in range(self.stages)]
        return A, [[a - m for a, m in zip(A[0], self.moments)], *A[1:]]

    def __reduce__(self) -> tuple[Any, ...]:
        return PolynomialStages, (self.node_polynomial, self.images, self.moments)


class FloatStages:
    """Vectors are arrays of two rows: the values, and the sums of absolute terms that their rounding is measured by.

    Example
    -------
    >>> import numpy as np
    >>> from daedalus.integrators.tableaux.stage_algebra import FloatStages
    >>> heun = FloatStages(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([0.5, 0.5]), np.array([0.0, 1.0]))
    >>> heun.weigh(heun.nodes()).tolist()
    [0.5, 0.5]
    """

    def __init__(self, A: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
        self.A, self.b, self.c = A, b, c
        self._legendre_values: list[np.ndarray] = [np.ones_like(c), 2 * c - 1]

    @cached_property
    def _sizes(self) -> tuple[np.ndarray, np.ndarray]:
        return np.abs(self.A), np.abs(self.b)

    def ones(self) -> np.ndarray:
        """The vector (1, …, 1)."""
        return np.ones((2, len(self.b)))

    def nodes(self) -> np.ndarray:
        """The vector c."""
        return np.stack([self.c, np.abs(self.c)])

    def apply(self, v: np.ndarray) -> np.ndarray:
        """A v."""
        return np.stack([self.A @ v[0], self._sizes[0] @ v[1]])

    def product(self, v: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The componentwise product."""
        return v * w

    def combine(self, *terms: tuple[Fraction, np.ndarray]) -> np.ndarray:
        """Σ factor·vector."""
        return sum((np.stack([float(f) * v[0], abs(float(f)) * v[1]]) for f, v in terms), np.zeros((2, len(self.b))))

    def weigh(self, v: np.ndarray) -> np.ndarray:
        """b·v and its size."""
        return np.array([self.b @ v[0], self._sizes[1] @ v[1]])

    def row(self, v: np.ndarray) -> np.ndarray:
        """The row bᵀ diag(v)."""
        return np.stack([self.b, self._sizes[1]]) * v

    def apply_left(self, row: np.ndarray) -> np.ndarray:
        """The row times A."""
        return np.stack([row[0] @ self.A, row[1] @ self._sizes[0]])

    def legendre(self, k: int) -> np.ndarray:
        """P_k(c), which is at most 1 in size for nodes in [0, 1]."""
        known = self._legendre_values
        while len(known) <= k:
            n = len(known)
            known.append(((2 * n - 1) * known[1] * known[-1] - (n - 1) * known[-2]) / n)
        return np.stack([known[k], np.maximum(np.abs(known[k]), 1.0)])

    def same_number(self, value: np.ndarray, target: Fraction) -> bool:
        """Equality within TOLERANCE."""
        return abs(value[0] - float(target)) <= TOLERANCE * (value[1] + abs(float(target)))

    def same_vector(self, v: np.ndarray, w: np.ndarray) -> bool:
        """Equality within TOLERANCE in every entry, measured by the largest of them."""
        return bool(np.all(np.abs(v[0] - w[0]) <= TOLERANCE * np.max(v[1] + w[1])))

    same_row = same_vector

    def residual(self, value: np.ndarray, target: Fraction) -> float:
        """value - target as a float."""
        return float(value[0] - float(target))
