"""The order of a Runge–Kutta method: one condition Φ(t) = 1/γ(t) for every rooted tree t with at most p nodes.

A tree is the sorted tuple of its subtrees, a single node the empty tuple. Its stage vector is the product of A times
the stage vectors of its subtrees, and Φ(t) = b·(stage vector). γ(t) is the number of nodes times the γ of the
subtrees (Butcher 1963; Hairer, Nørsett & Wanner I, II.2). Up to order 8 these are 200 conditions; beyond, the
simplifying assumptions B(p), C(η), D(ξ) prove order p where p <= η + ξ + 1 and p <= 2η + 2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from daedalus.integrators.tableaux.simplifying_assumptions import quadrature_order, row_order, stage_order
from daedalus.integrators.tableaux.stage_algebra import StageAlgebra

# A nested tuple of subtrees, or the text "t" for a leaf that stands for time where c differs from the row sums of A.
Tree: TypeAlias = Any

# The 200 trees up to order 8 are written in a moment; there are 286 of order 9 alone.
TREE_LIMIT = 8
# Where the assumptions leave a gap (an explicit method of order 9 or 10), trees are followed this far.
FAR_TREE_LIMIT = 10
TIME: Tree = "t"


class OrderCondition(NamedTuple):
    """One condition: its tree, its formula, the number that it must be, and by how much the method misses it."""

    tree: Tree
    formula: str
    target: Fraction
    residual: float
    holds: bool

    def to_latex(self) -> str:
        """The condition in LaTeX.

        Example
        -------
        >>> import daedalus as dd
        >>> print(dd.tableau("rk4").order_conditions(3)[0].to_latex())
        b^{\\top} A c = \\frac{1}{6}
        """
        from daedalus.display.formulas.object_latex import order_condition_latex

        return order_condition_latex(self.tree, self.target)


@lru_cache(maxsize=32)
def trees(order: int, time_leaves: bool = False) -> tuple[Tree, ...]:
    """Every rooted tree with that many nodes.

    Example
    -------
    >>> from daedalus.integrators.tableaux.rooted_trees import trees
    >>> [len(trees(order)) for order in range(1, 9)]
    [1, 1, 2, 4, 9, 20, 48, 115]
    """
    return tuple(sorted(_forests(order - 1, order - 1, time_leaves), key=repr))


@lru_cache(maxsize=256)
def _forests(nodes: int, largest: int, time_leaves: bool) -> frozenset[tuple[Tree, ...]]:
    """Multisets of trees with that many nodes together, none larger than largest."""
    if nodes == 0:
        return frozenset({()})
    found: set[tuple[Tree, ...]] = set()
    for size in range(1, min(nodes, largest) + 1):
        firsts = trees(size, time_leaves) + ((TIME,) if time_leaves and size == 1 else ())
        for rest in _forests(nodes - size, size, time_leaves):
            found.update(tuple(sorted((first, *rest), key=repr)) for first in firsts)
    return frozenset(found)


@lru_cache(maxsize=4096)
def size(tree: Tree) -> int:
    """How many nodes the tree has."""
    return 1 if tree == TIME else 1 + sum(size(child) for child in tree)


@lru_cache(maxsize=4096)
def density(tree: Tree) -> int:
    """γ(t): the number of nodes times the γ of every subtree.

    Example
    -------
    >>> from daedalus.integrators.tableaux.rooted_trees import density
    >>> density((((),),)), density(((), ()))          # the tall and the bushy tree of three nodes
    (6, 3)
    """
    if tree == TIME:
        return 1
    product = size(tree)
    for child in tree:
        product *= density(child)
    return product


def formula(tree: Tree) -> str:
    """Φ(t) in words of the tableau: b·(c²∘Ac).

    Example
    -------
    >>> from daedalus.integrators.tableaux.rooted_trees import formula
    >>> print(formula(((), (), ((),))))
    b·(c²∘Ac)
    """
    if not tree:
        return "Σb"
    return f"b·{_factors(tree)}"


def _factors(tree: Tree) -> str:
    texts = []
    counts: Counter[Tree] = Counter(tree)
    for child, count in sorted(counts.items(), key=lambda item: (size(item[0]), repr(item[0]))):
        text = "c" if child in ((), TIME) else f"A{_factors(child)}"
        if count == 1:
            texts.append(text)
        else:
            power = "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(count))
            texts.append(f"{text if text == 'c' else f'({text})'}{power}")
    return texts[0] if len(texts) == 1 else f"({'∘'.join(texts)})"


class ElementaryWeights:
    """The numbers Φ(t) of one method, each stage vector computed once."""

    def __init__(self, algebra: StageAlgebra, time_leaves: bool = False) -> None:
        self.algebra = algebra
        self.time_leaves = time_leaves
        self._applied: dict[Tree, Any] = {}

    def _stage_vector(self, tree: Tree) -> Any:
        vector = None
        for child in tree:
            factor = self._applied_vector(child)
            vector = factor if vector is None else self.algebra.product(vector, factor)
        return self.algebra.ones() if vector is None else vector

    def _applied_vector(self, tree: Tree) -> Any:
        if tree == TIME:
            return self.algebra.nodes()
        if tree not in self._applied:
            self._applied[tree] = self.algebra.apply(self._stage_vector(tree))
        return self._applied[tree]

    def conditions(self, order: int) -> Iterator[OrderCondition]:
        """The conditions of exactly this order, one after the other."""
        for tree in trees(order, self.time_leaves):
            value = self.algebra.weigh(self._stage_vector(tree))
            target = Fraction(1, density(tree))
            residual = self.algebra.residual(value, target)
            yield OrderCondition(tree, formula(tree), target, residual, self.algebra.same_number(value, target))

    def order(self, limit: int) -> int:
        """The largest order, up to limit, of which every condition holds."""
        for order in range(1, limit + 1):
            if not all(condition.holds for condition in self.conditions(order)):
                return order - 1
        return limit


def method_order(algebra: StageAlgebra, stages: int, time_leaves: bool = False) -> int:
    """The order of a method: rooted trees up to 8, the simplifying assumptions beyond.

    Example
    -------
    >>> import numpy as np
    >>> from daedalus.integrators.tableaux.rooted_trees import method_order
    >>> from daedalus.integrators.tableaux.stage_algebra import FloatStages
    >>> heun = FloatStages(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([0.5, 0.5]), np.array([0.0, 1.0]))
    >>> method_order(heun, 2)
    2
    """
    weights = ElementaryWeights(algebra, time_leaves)
    order = weights.order(TREE_LIMIT)
    if order < TREE_LIMIT or time_leaves:
        return order
    # B(p) is necessary, so p from B is an upper bound; with enough of C and D it is the order itself.
    upper = quadrature_order(algebra, 2 * stages)
    if upper <= TREE_LIMIT:
        return TREE_LIMIT
    eta, xi = stage_order(algebra, stages), row_order(algebra, stages)
    proven = min(upper, eta + xi + 1, 2 * eta + 2)
    if proven == upper:
        return upper
    return max(proven, weights.order(min(upper, FAR_TREE_LIMIT)))
