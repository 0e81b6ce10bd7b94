"""Butcher tableaux: a Runge–Kutta method as a description that answers questions about itself.

One step of size h takes x to x + h Σ b_i K_i with K_i = f(t + c_i h, x + h Σ a_ij K_j). Nothing about the method is
stored beside A, b, c and b_hat: order, stage order and stability are computed from them when asked for, exactly
where the coefficients are exact.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, final

import numpy as np

from daedalus.errors import InputError
from daedalus.integrators.tableaux.coefficients import (
    Coefficient,
    check_shapes,
    read_matrix,
    read_vector,
    settle,
    write_coefficient,
)
from daedalus.integrators.tableaux.rooted_trees import ElementaryWeights, OrderCondition, method_order
from daedalus.integrators.tableaux.simplifying_assumptions import quadrature_order, stage_order
from daedalus.integrators.tableaux.stability import (
    StabilityFunction,
    exact_stability,
    floating_stability,
    method_verdict,
    useful_stages,
)
from daedalus.integrators.tableaux.stage_algebra import (
    TOLERANCE,
    ExactStages,
    FloatStages,
    PolynomialStages,
    StageAlgebra,
)
from daedalus.integrators.tableaux.tableau_problems import find_problems
from daedalus.model.lazy_values import cached_property


@final
class Tableau:
    """A Runge–Kutta method given by its Butcher tableau; immutable, hashable, usable as ``simulate(method=...)``.

    Parameters
    ----------
    A: stage coefficients, s rows of s.
    b: weights, s.
    c: nodes, s; by default the row sums of A.
    b_hat: weights of the embedded solution, s; a method with them can choose its step size.
    name: the name of the method.

    Coefficients are numbers, fractions, or texts such as "1/6" and "1/4 - sqrt(3)/6". Whole numbers, fractions, texts
    and small binary fractions (0.5) are exact, and all properties are computed exactly. With other floats the tableau
    is assumed to be right to twelve digits: a residual below 1e-12 of the sum of its absolute terms counts as zero.

    Raises an InputError for shapes that do not fit and entries that are not finite numbers. A wrong coefficient is not
    an error here: ``problems()`` lists what is wrong, and ``simulate`` does not accept an inconsistent tableau.

    Example
    -------
    >>> import daedalus as dd
    >>> T = dd.Tableau([[0, 0], ["2/3", 0]], ["1/4", "3/4"], [0, "2/3"], name="Ralston")
    >>> T
    Ralston: 2 stages, order 2, explicit
      0 |
    2/3 | 2/3
    ----+--------
        | 1/4 3/4
    >>> T.order, T.is_explicit, T.problems()
    (2, True, [])
    """

    A: np.ndarray
    b: np.ndarray
    c: np.ndarray
    b_hat: np.ndarray | None
    name: str
    is_exact: bool
    # The entries as they were given, and the exact form of collocation methods with irrational nodes.
    _entries: dict[str, Any]
    _form: PolynomialStages | None

    def __init__(self, A: Any, b: Any, c: Any = None, b_hat: Any = None, name: str = "") -> None:
        rows = read_matrix(A, "A")
        weights = read_vector(b, "b")
        nodes = None if c is None else read_vector(c, "c")
        second = None if b_hat is None else read_vector(b_hat, "b_hat")
        check_shapes(rows, weights, nodes, second)
        if not isinstance(name, str):
            raise InputError("The name of a tableau is not a text.", f"name = {name!r}", remedy='name="my method".')
        exact = settle([*(entry for row in rows for entry in row), *weights, *(nodes or []), *(second or [])])
        if nodes is None:
            nodes = [sum(row if exact else map(float, row), Fraction(0) if exact else 0.0) for row in rows]
        self._store(rows, weights, nodes, second, name, exact, None)

    def _store(
        self,
        A: list[list[Coefficient]],
        b: list[Coefficient],
        c: list[Coefficient],
        b_hat: list[Coefficient] | None,
        name: str,
        exact: bool,
        form: PolynomialStages | None,
    ) -> None:
        settled = (lambda value: value) if exact else float
        entries = {
            "A": tuple(tuple(settled(value) for value in row) for row in A),
            "b": tuple(settled(value) for value in b),
            "c": tuple(settled(value) for value in c),
            "b_hat": None if b_hat is None else tuple(settled(value) for value in b_hat),
        }
        write = object.__setattr__
        write(self, "name", name)
        write(self, "_entries", entries)
        write(self, "_form", form)
        write(self, "is_exact", exact or form is not None)
        for part, values in entries.items():
            write(self, part, None if values is None else _read_only(values))

    @classmethod
    def from_polynomial_stages(cls, A: Any, b: Any, c: Any, form: PolynomialStages, name: str) -> Tableau:
        """A tableau of correctly rounded doubles that also holds its exact form in polynomials of the nodes.

        Example
        -------
        >>> import daedalus as dd
        >>> dd.gauss_legendre(16).order           # built this way: the nodes are irrational, the answer is exact
        32
        """
        tableau = object.__new__(cls)
        tableau._store(read_matrix(A, "A"), read_vector(b, "b"), read_vector(c, "c"), None, name, False, form)
        return tableau

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Tableau does not change; build a new one instead of writing {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Tableau does not change; {name} cannot be deleted")

    def _algebra(self, weights: str = "b") -> StageAlgebra:
        if self._form is not None:
            return self._form
        entries = self._entries
        if self.is_exact:
            return ExactStages(entries["A"], entries[weights], entries["c"])
        return FloatStages(self.A, getattr(self, weights), self.c)

    @property
    def stages(self) -> int:
        """The number of stages s."""
        return len(self.b)

    @property
    def _row_sums_agree(self) -> bool:
        algebra = self._algebra()
        return algebra.same_vector(algebra.apply(algebra.ones()), algebra.nodes())

    @cached_property
    def order(self) -> int:
        """The order p of the method: the global error is O(h^p) on smooth systems.

        Computed from the conditions of all rooted trees up to order 8, beyond that from the simplifying assumptions;
        0 for weights that do not sum to 1. Where c differs from the row sums of A, it is the order on systems that
        depend on t.

        Example
        -------
        >>> import daedalus as dd
        >>> dd.tableau("dopri5").order, dd.radau_iia(7).order
        (5, 13)
        """
        return method_order(self._algebra(), self.stages, time_leaves=not self._row_sums_agree)

    @cached_property
    def embedded_order(self) -> int | None:
        """The order of the second weights b_hat, or None without them.

        Example
        -------
        >>> import daedalus as dd
        >>> dd.tableau("dopri5").embedded_order
        4
        """
        if self.b_hat is None:
            return None
        return method_order(self._algebra("b_hat"), self.stages, time_leaves=not self._row_sums_agree)

    @cached_property
    def stage_order(self) -> int:
        """The largest q with B(q) and C(q): every stage has order q, which limits the order on stiff systems.

        Example
        -------
        >>> import daedalus as dd
        >>> dd.radau_iia(3).stage_order, dd.tableau("rk4").stage_order
        (3, 1)
        """
        algebra = self._algebra()
        return min(quadrature_order(algebra, 2 * self.stages), stage_order(algebra, 2 * self.stages))

    def order_conditions(self, order: int) -> list[OrderCondition]:
        """The conditions of exactly this order (1 to 10): tree, formula, target and by how much each is missed.

        Example
        -------
        >>> import daedalus as dd
        >>> for condition in dd.tableau("midpoint").order_conditions(3):
        ...     print(condition.formula, condition.target, round(condition.residual, 4))
        b·Ac 1/6 -0.1667
        b·c² 1/3 -0.0833
        """
        if not 1 <= order <= 10:
            raise InputError(
                "Order conditions are listed for orders 1 to 10.",
                f"order = {order}",
                because="the number of rooted trees grows beyond reading (4766 of order 12).",
            )
        return list(ElementaryWeights(self._algebra(), not self._row_sums_agree).conditions(order))

    @cached_property
    def is_explicit(self) -> bool:
        """Whether the diagonal of A and everything above it is zero."""
        return not np.any(np.triu(self.A))

    @cached_property
    def is_diagonally_implicit(self) -> bool:
        """Whether stages can be solved one after the other: A is lower triangular with an entry on its diagonal."""
        return not np.any(np.triu(self.A, 1)) and bool(np.any(np.diag(self.A)))

    @cached_property
    def is_stiffly_accurate(self) -> bool:
        """Whether an implicit method ends in its last stage: the last row of A is b."""
        return not self.is_explicit and self._ends_in_last_stage

    @cached_property
    def reuses_last_stage(self) -> bool:
        """Whether an explicit method's last stage is the first one of the next step (first same as last)."""
        return self.stages > 1 and self.is_explicit and self._ends_in_last_stage and not self.c[0]

    @property
    def _ends_in_last_stage(self) -> bool:
        size = np.max(np.abs(self.b))
        return bool(np.all(np.abs(self.A[-1] - self.b) <= TOLERANCE * size))

    @cached_property
    def is_consistent(self) -> bool:
        """Whether b sums to 1 and every node is the sum of its row of A.

        Example
        -------
        >>> import daedalus as dd
        >>> dd.Tableau([[0, 0], [0.5, 0]], [0, 0.5], [0, 0.5]).is_consistent
        False
        """
        algebra = self._algebra()
        return self._row_sums_agree and algebra.same_number(algebra.weigh(algebra.ones()), Fraction(1))

    @cached_property
    def is_symplectic(self) -> bool:
        """Whether b_i a_ij + b_j a_ji = b_i b_j: quadratic invariants, and the structure of mechanics, are kept.

        Example
        -------
        >>> import daedalus as dd
        >>> dd.gauss_legendre(2).is_symplectic, dd.radau_iia(2).is_symplectic
        (True, False)
        """
        weighted = self.b[:, None] * self.A
        products = np.outer(self.b, self.b)
        size = np.abs(weighted) + np.abs(weighted.T) + np.abs(products)
        return bool(np.all(np.abs(weighted + weighted.T - products) <= TOLERANCE * np.max(size)))

    def problems(self) -> list[str]:
        """What is wrong with the tableau, as a list of sentences; empty if nothing is.

        Example
        -------
        >>> import daedalus as dd
        >>> print(*dd.Tableau([[0, 0], [0.5, 0]], [0, 0.5], [0, 0.5]).problems())
        the weights b sum to 1/2, not 1: even a constant derivative is integrated wrongly, and no step size helps;
        with b[1] = 1 instead of 1/2 the method has order 2
        """
        exact = self.is_exact and self._form is None
        return find_problems(self, self._entries, exact, lambda A, b, c: Tableau(A, b, c).order)

    @cached_property
    def stability_function(self) -> StabilityFunction:
        """R(z) as an object: its coefficients, E-polynomial, stability and intervals."""
        if self._form is not None:
            return exact_stability(*self._form.matrices())
        useful = useful_stages(self.A, self.b)
        if not self.is_exact:
            return floating_stability(self.A[np.ix_(useful, useful)], self.b[useful])
        A = [[self._entries["A"][i][j] for j in useful] for i in useful]
        b = [self._entries["b"][j] for j in useful]
        return exact_stability(A, [[a - weight for a, weight in zip(row, b)] for row in A])

    def stability(self, z: Any) -> Any:
        """R(z), the factor by which one step multiplies x where x' = λx and z = hλ; numbers or arrays.

        Example
        -------
        >>> import daedalus as dd
        >>> float(dd.tableau("rk4").stability(-1.0)), dd.tableau("implicit_euler").stability([1j, -3]).round(3).tolist()
        (0.375, [(0.5+0.5j), (0.25+0j)])
        """
        return self.stability_function(z)

    @property
    def stability_coefficients(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Numerator and denominator of R(z) in ascending powers; Fractions where the coefficients are exact.

        Example
        -------
        >>> import daedalus as dd
        >>> numerator, denominator = dd.radau_iia(2).stability_coefficients
        >>> [str(p) for p in numerator], [str(q) for q in denominator]
        (['1', '1/3'], ['1', '-2/3', '1/6'])
        """
        return self.stability_function.numerator, self.stability_function.denominator

    @property
    def is_a_stable(self) -> bool:
        """Whether |R(z)| <= 1 in the whole left half plane: decaying systems decay for any step."""
        return self.stability_function.is_a_stable

    @property
    def is_l_stable(self) -> bool:
        """Whether the method is A-stable and R(z) vanishes at infinity: infinitely fast parts decay in one step."""
        return self.stability_function.is_l_stable

    @property
    def verdict(self) -> str:
        """Order and stability in two sentences, each with its reason.

        Example
        -------
        >>> import daedalus as dd
        >>> print(dd.radau_iia(2).verdict)
        Order 3: every order condition up to 3 holds, and one of order 4 does not.
        A-stable, since |R(iy)| <= 1 and no pole of R lies in the left half plane; L-stable, since R(∞) = 0.
        >>> print(dd.tableau("rk4").verdict.splitlines()[1])
        Not A-stable, since R is a polynomial and grows without bound: real z are stable down to -2.785.
        """
        return method_verdict(self.order, self.stability_function, self.is_explicit)

    @property
    def real_stability_interval(self) -> float:
        """The largest x with |R| <= 1 on [-x, 0]: what h times a decay rate may be.

        Example
        -------
        >>> import daedalus as dd
        >>> round(dd.tableau("rk4").real_stability_interval, 6), dd.gauss_legendre(2).real_stability_interval
        (2.785294, inf)
        """
        return self.stability_function.real_interval

    @property
    def imaginary_stability_interval(self) -> float:
        """The largest y with |R| <= 1 on [-iy, iy]: what h times an undamped frequency may be.

        Example
        -------
        >>> import daedalus as dd
        >>> dd.tableau("rk4").imaginary_stability_interval, dd.tableau("heun").imaginary_stability_interval
        (2.8284271247461903, 0.0)
        """
        return self.stability_function.imaginary_interval

    def plot_stability(self, ax: Any = None, order_star: bool = False, window: Any = None) -> Any:
        """Draw where |R(z)| <= 1, or the order star |R(z)| > |exp(z)|; returns the matplotlib axes.

        Example
        -------
        >>> import matplotlib
        >>> matplotlib.use("Agg")
        >>> import daedalus as dd
        >>> dd.tableau("rk4").plot_stability().get_xlabel()
        'Re z'
        """
        from daedalus.display.lectures.stability_plot import plot_stability

        return plot_stability(self, ax=ax, order_star=order_star, window=window)

    def to_latex(self) -> str:
        """The Butcher tableau in LaTeX, with exact fractions and roots.

        Example
        -------
        >>> import daedalus as dd
        >>> print(dd.tableau("heun").to_latex())
        \\begin{array}{c|cc}
        0 &  &  \\\\
        1 & 1 &  \\\\ \\hline
         & \\frac{1}{2} & \\frac{1}{2}
        \\end{array}
        """
        from daedalus.display.formulas.object_latex import tableau_latex

        return tableau_latex(self._entries, self.is_explicit)

    def _key(self) -> tuple[Any, ...]:
        return tuple(None if part is None else part.tobytes() for part in (self.A, self.b, self.c, self.b_hat))

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Tableau) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[Any, ...]:
        entries = self._entries
        parts = entries["A"], entries["b"], entries["c"], entries["b_hat"]
        return _restored, (*parts, self.name, self.is_exact and self._form is None, self._form)

    def _repr_html_(self) -> str:
        from daedalus.display.cards.study_cards import method_card

        return method_card(self)

    def __repr__(self) -> str:
        kind = "explicit" if self.is_explicit else "diagonally implicit" if self.is_diagonally_implicit else "implicit"
        pair = "" if self.b_hat is None else f"({self.embedded_order})"
        plural = "stage" if self.stages == 1 else "stages"
        headline = f"{self.name or 'Tableau'}: {self.stages} {plural}, order {self.order}{pair}, {kind}"
        return "\n".join([headline, *butcher_array(self._entries, self.is_explicit)])


def _restored(A: Any, b: Any, c: Any, b_hat: Any, name: str, exact: bool, form: PolynomialStages | None) -> Tableau:
    tableau = object.__new__(Tableau)
    tableau._store(A, b, c, b_hat, name, exact, form)
    return tableau


def _read_only(values: Any) -> np.ndarray:
    array = np.array(values, dtype=float) + 0.0
    array.setflags(write=False)
    return array


# A tableau as one draws it on paper: nodes to the left, A to the right, the weights below the line.


def butcher_array(entries: dict[str, Any], explicit: bool) -> list[str]:
    """The lines c | A over b (and b_hat); an explicit A is drawn as the triangle it is.

    Example
    -------
    >>> from daedalus.integrators.tableaux.tableau import butcher_array
    >>> entries = {"A": ((0.0, 0.0), (0.5, 0.0)), "b": (0.0, 1.0), "c": (0.0, 0.5), "b_hat": None}
    >>> for line in butcher_array(entries, explicit=True):
    ...     print(line)
      0 |
    0.5 | 0.5
    ----+------
        |   0 1
    """
    nodes = [write_coefficient(value) for value in entries["c"]]
    body = [[write_coefficient(value) for value in row] for row in entries["A"]]
    if explicit:
        body = [[text if j < i else "" for j, text in enumerate(row)] for i, row in enumerate(body)]
    feet = [[write_coefficient(value) for value in entries[part]] for part in ("b", "b_hat") if entries[part]]
    left = max(map(len, nodes))
    widths = [max(len(row[j]) for row in body + feet) for j in range(len(nodes))]

    def line(head: str, row: list[str]) -> str:
        cells = " ".join(text.rjust(width) for text, width in zip(row, widths))
        return f"{head.rjust(left)} | {cells}".rstrip()

    rule = "-" * (left + 1) + "+" + "-" * (sum(widths) + len(widths))
    return [*map(line, nodes, body), rule, *(line("", foot) for foot in feet)]
