"""Quantities that a model keeps whatever its inputs do: its constraints and invariants, and conserved norms and sums.

What a reduction or a body keeps at zero is known by name. Beside it, a model may conserve a quadratic form of its
states without saying so, as a hand-written unit quaternion does: q' = ½ q ⊗ ω keeps |q|². Such forms
Q(x) = xᵀ S x + sᵀ x are found by asking dQ/dt = 0 at random points, a linear system for S and s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO, ROUNDING, SINGULAR, STILL
from daedalus.initialisation.freedom import row_reduced
from daedalus.model.expressions import column, concatenate, elements, symbol_key
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.optimisation.description.description import Description
from daedalus.optimisation.description.unknown import Unknown
from daedalus.optimisation.stage_form import stage_form

# At most so many states together are searched for quadratic forms.
LARGEST = 16
# Numbers this near to a whole one are it, but for the rounding of the singular vectors.
PLAIN = 1e-7
# A sum of terms that is smaller than this share of each of them is zero.
SAME = 100 * ROUNDING
# Over so many decades sizes of symbols are spread, so that each term is the largest one at some point.
DECADES = 8.0


@dataclass(frozen=True, eq=False)
class KeptQuantities:
    """held: kept at zero; conserved: kept at the value of the start. Expressions of the states and parameters."""

    description: Description
    held: ca.SX
    held_names: tuple[str, ...]
    conserved: ca.SX
    conserved_names: tuple[str, ...]

    def pinned(self, starts: dict[int, float], states: int) -> ca.SX:
        """What is settled by the start: all that is held, and what is conserved of fixed states."""
        fixed = {symbol_key(s) for k, s in enumerate(elements(self._x)) if k in starts}
        own = {symbol_key(s) for s in elements(self._x)}
        settled = [
            entry
            for entry in elements(self.conserved)
            if all(symbol_key(s) in fixed or symbol_key(s) not in own for s in ca.symvar(entry))
        ]
        return concatenate([self.held, *settled])

    def names_of(self, pinned: ca.SX) -> str:
        """The names of pinned quantities."""
        own = (*elements(self.held), *elements(self.conserved))
        names = dict(zip(map(symbol_key, own), (*self.held_names, *self.conserved_names)))
        return ", ".join(dict.fromkeys(names.get(symbol_key(e), "the model") for e in elements(pinned)))

    @property
    def at_end(self) -> KeptQuantities:
        """The same at the time at which the plan ends, or is guessed to end."""
        late = self.description.begin + self.description.expected_duration
        return replace(self, description=replace(self.description, begin=late))

    @property
    def end_moves(self) -> bool:
        """Whether what is held at the end depends on a duration that is not known."""
        return isinstance(self.description.duration, Unknown) and bool(
            ca.depends_on(self.held, self.description.system.symbol("t"))
        )

    @property
    def _x(self) -> ca.SX:
        return self.description.system.symbol("x")

    def values(self, x: np.ndarray, quantities: ca.SX) -> np.ndarray:
        """What they are at x."""
        return self._evaluated(quantities, x).ravel()

    def slopes(self, x: np.ndarray, quantities: ca.SX) -> np.ndarray:
        """Their derivatives by the states at x."""
        if not quantities.numel():
            return np.zeros((0, len(x)))
        return self._evaluated(ca.jacobian(quantities, self._x), x)

    def known(self, quantities: ca.SX) -> bool:
        """Whether quantities hold no number that a search finds: free parameters, or the time of an unknown end."""
        p = self.description.system.symbol("p")
        return not self.end_moves and not any(ca.depends_on(quantities, p[k]) for k in self.description.free)

    def touch(self, quantities: ca.SX, states: Iterable[int]) -> bool:
        """Whether some of the quantities depend on some of the states."""
        return bool(quantities.numel()) and any(ca.depends_on(quantities, self._x[k]) for k in states)

    def values_and_slopes(self, quantities: ca.SX) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """x -> what they are there, (c,), and their derivatives by the states, (c, n)."""
        system, description = self.description.system, self.description
        both = [ca.densify(quantities), ca.densify(ca.jacobian(quantities, self._x))]
        function = ca.Function("kept", [system.symbol("t"), self._x, system.symbol("p")], both)

        def at(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            value, slopes = function(description.begin, x, description.parameters)
            return value.full().ravel(), slopes.full()

        return at

    def curvature(self, x: np.ndarray, quantity: ca.SX) -> np.ndarray:
        """The second derivatives of one of them."""
        return self._evaluated(ca.hessian(quantity, self._x)[0], x)

    def _evaluated(self, expression: ca.SX, x: np.ndarray) -> np.ndarray:
        system, description = self.description.system, self.description
        function = ca.Function("kept", [system.symbol("t"), self._x, system.symbol("p")], [expression])
        return np.array(function(description.begin, x, description.parameters).full())


def kept_quantities(description: Description) -> KeptQuantities:
    """What the system of a problem keeps; only what depends on states, parameters and time alone."""
    system = description.system
    held, names = [], []
    known = {symbol_key(s) for letter in ("t", "x", "p") for s in elements(system.symbol(letter))}
    for name, expression in {**system.invariants, **system.watched}.items():
        for entry in elements(column(expression)):
            if all(symbol_key(s) in known for s in ca.symvar(entry)):
                held.append(entry)
                names.append(name)
    forms = once(system, conserved_forms)
    return KeptQuantities(
        description,
        concatenate(held),
        tuple(names),
        concatenate(form for _, form in forms),
        tuple(name for name, _ in forms),
    )


def conserved_forms(system: System) -> tuple[tuple[str, ca.SX], ...]:
    """Independent quadratic forms of the states that no input changes: (names of the variables, form).

    They are looked for among all states together; where these are many, among those of each vector.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("turning")
    >>> x, y, u = m.state("x", start=1.0), m.state("y", start=0.0), m.input("u")
    >>> m.equation([m.der(x), m.der(y)], [-u * y, u * x])
    >>> [name for name, _ in conserved_forms(m.freeze())]
    ['x, y']
    """
    held = {symbol_key(s) for e in {**system.invariants, **system.watched}.values() for s in ca.symvar(e)}
    x, rates, vectors = system.symbol("x"), stage_form(system).rates, dict[str, list[int]]()
    for variable in system.of_kind("state"):
        place = system.places[variable.name]
        if place.letter == "x" and not any(symbol_key(s) in held for s in elements(x[place.positions.tolist()])):
            vectors[variable.name] = place.positions.tolist()
    together = [k for own in vectors.values() for k in own]
    groups = [together] if len(together) <= LARGEST else [own for own in vectors.values() if len(own) <= LARGEST]
    found = []
    for own in groups:
        for form in _forms(x[own], rates[own]) if len(own) > 1 else ():
            names = [name for name, positions in vectors.items() if ca.depends_on(form, x[positions])]
            found.append((", ".join(names), form))
    return tuple(found)


def _forms(x: ca.SX, rates: ca.SX) -> list[ca.SX]:
    """Independent forms of some states that their rates conserve, sums first."""
    pairs = [(i, j) for i in range(x.numel()) for j in range(i + 1)]
    monomials = ca.vertcat(*(x[i] * x[j] for i, j in pairs), x)
    samples, changes = _changes(x, rates, pairs), _changes(x, rates, pairs, DECADES)
    if min(len(samples), len(changes)) < monomials.numel():
        return []
    # Each monomial and each sample is as large as any other: constants of a model spread over many decades.
    sizes = _sizes_of(samples, axis=0)
    samples /= sizes
    _, singular, right = np.linalg.svd(samples / _sizes_of(samples, axis=1), full_matrices=False)
    rank = int(np.sum(singular > SINGULAR * max(singular[0], NOT_ZERO)))
    rows = right[rank:] / sizes
    rows = _tidied(rows / _sizes_of(rows, axis=1))
    # A term that is small beside others is no rounding: dQ/dt has to vanish beside each, whichever is large.
    left, terms = np.abs(changes @ rows.T), np.abs(changes) @ np.abs(rows.T)
    forms = [_written(row, monomials) for row in rows[(left <= SAME * terms).all(axis=0)]]
    return _independent(forms[::-1], x)


def _changes(x: ca.SX, rates: ca.SX, pairs: list[tuple[int, int]], decades: float = 0.2) -> np.ndarray:
    """How the products of pairs of states and the states themselves change at random points, (points, monomials)."""
    count = len(pairs) + x.numel() + 8
    values, slopes = values_of_formulas(concatenate([x, rates]), count, decades).reshape(2, x.numel(), -1)
    changes = np.vstack([*(values[i] * slopes[j] + values[j] * slopes[i] for i, j in pairs), slopes]).T
    return np.asarray(changes[np.isfinite(changes).all(axis=1)])


def _sizes_of(samples: np.ndarray, axis: int) -> np.ndarray:
    """The largest entries of columns or rows; 1 for those that are zero."""
    largest = np.abs(samples).max(axis=axis, keepdims=True, initial=0.0)
    return np.where(largest > 0, largest, 1.0)


def _independent(forms: list[ca.SX], x: ca.SX) -> list[ca.SX]:
    """Forms that are no functions of those before them: the square of a sum that is conserved says nothing new."""
    if not forms:
        return []
    at = np.random.default_rng(11).uniform(-1.5, 1.5, x.numel())
    slopes = np.array(ca.Function("slopes", [x], [ca.jacobian(concatenate(forms), x)])(at).full())
    slopes /= _sizes_of(slopes, axis=1)
    kept: list[int] = []
    for k in range(len(forms)):
        if np.linalg.matrix_rank(slopes[[*kept, k]], tol=STILL) > len(kept):
            kept.append(k)
    return [forms[k] for k in kept]


def _tidied(rows: np.ndarray) -> np.ndarray:
    """The same space in reduced echelon form, whose entries are plain numbers where there are such."""
    rows = row_reduced(rows)
    whole = np.round(rows)
    return np.where(np.abs(rows - whole) < PLAIN, whole, rows)


def _written(row: np.ndarray, monomials: ca.SX) -> ca.SX:
    terms = [float(c) * monomials[k] for k, c in enumerate(row) if c]
    return sum(terms[1:], terms[0])


# -- values of formulas ----------------------------------------------------------------------------------------------


# Digits to which the values that a function is applied to are compared: sums in another order are rounded otherwise.
DIGITS = 9


def values_of_formulas(formulas: ca.SX, count: int, decades: float = 0.2) -> np.ndarray:
    """Values at so many random points, (formulas, points); sizes of symbols spread over so many decades around one.

    Two polynomials that agree at random points are the same (J. T. Schwartz, Fast probabilistic algorithms for
    verification of polynomial identities, Journal of the ACM 27, 1980). exp(-6000 / T) and max(0, x - 10) are zero at
    all points of an ordinary size: each such function has a random value of its own, the same one wherever it is
    applied to the same values. What agrees then, agrees for any such function.

    Example
    -------
    >>> import casadi as ca
    >>> T, x = ca.SX.sym("T"), ca.SX.sym("x")
    >>> first, second = values_of_formulas(ca.vertcat(x * ca.exp(-6000 / T), ca.exp(-6000 / T) * x), 3)
    >>> bool((first == second).all() and (first != 0).all())
    True
    """
    symbols = ca.symvar(formulas)
    function = ca.Function("formulas", symbols, [formulas])
    draw, unknown = np.random.default_rng(7), dict[tuple[object, ...], np.ndarray]()
    sizes = 10.0 ** draw.uniform(-decades, decades, (len(symbols), count))
    inputs = sizes * draw.choice([-1.0, 1.0], sizes.shape)
    places = formulas.sparsity().find()
    found, work = np.zeros((len(elements(formulas)), count)), [np.zeros(count)] * max(1, function.sz_w())
    for k in range(function.n_instructions()):
        operation, into, of = function.instruction_id(k), function.instruction_output(k), function.instruction_input(k)
        if operation == ca.OP_CONST:
            work[into[0]] = np.full(count, function.instruction_constant(k))
        elif operation == ca.OP_INPUT:
            work[into[0]] = inputs[of[0]]
        elif operation == ca.OP_OUTPUT:
            found[places[into[1]]] = work[of[0]]
        else:
            values = [work[place] for place in of]
            if operation in RATIONAL:
                work[into[0]] = _computed(operation, values)
                continue
            key = (operation, *(tuple(f"{v:.{DIGITS}e}" for v in value) for value in values))
            if key not in unknown:
                unknown[key] = 10.0 ** draw.uniform(-decades, decades, count)
            work[into[0]] = unknown[key]
    return found


# Operations whose results are computed: sums, products and quotients.
RATIONAL = (ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_DIV, ca.OP_NEG, ca.OP_SQ, ca.OP_TWICE, ca.OP_INV)


def _computed(operation: int, values: list[np.ndarray]) -> Any:
    first, last = values[0], values[-1]
    with np.errstate(all="ignore"):
        if operation in (ca.OP_ADD, ca.OP_SUB):
            return first + last if operation == ca.OP_ADD else first - last
        if operation in (ca.OP_MUL, ca.OP_SQ):
            return first * last
        if operation in (ca.OP_DIV, ca.OP_INV):
            return first / last if operation == ca.OP_DIV else 1.0 / first
        return -first if operation == ca.OP_NEG else 2.0 * first
