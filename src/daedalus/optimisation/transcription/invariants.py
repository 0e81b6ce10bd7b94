"""Quantities that a model keeps whatever its inputs do: its constraints and invariants, and conserved norms and sums.

What a reduction or a body keeps at zero is known by name. Beside it, a model may conserve a quadratic form of one of
its vectors without saying so, as a hand-written unit quaternion does: q' = ½ q ⊗ ω keeps |q|². Such forms
Q(x) = xᵀ S x + sᵀ x of each vector are found by asking dQ/dt = 0 at random points, a linear system for S and s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO, SINGULAR
from daedalus.initialisation.freedom import row_reduced
from daedalus.model.expressions import column, concatenate, elements, symbol_key
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.optimisation.description.description import Description
from daedalus.optimisation.description.unknown import Unknown
from daedalus.optimisation.stage_form import stage_form

# Vectors of at most so many elements are searched for quadratic forms.
LARGEST = 16
# Numbers this near to a whole one are it, but for the rounding of the singular vectors.
PLAIN = 1e-7


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
    """Quadratic forms of single vectors that no input changes: (name of the vector, form).

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("turning")
    >>> x, u = m.state("x", 2, start=[1.0, 0.0]), m.input("u")
    >>> m.equation(m.der(x), [-u * x[1], u * x[0]])
    >>> [name for name, _ in conserved_forms(m.freeze())]
    ['x']
    """
    held = {symbol_key(s) for e in {**system.invariants, **system.watched}.values() for s in ca.symvar(e)}
    found = []
    rates = stage_form(system).rates
    for variable in system.of_kind("state"):
        place = system.places[variable.name]
        if place.letter != "x" or not 2 <= variable.size <= LARGEST:
            continue
        positions = place.positions.tolist()
        own = system.symbol("x")[positions]
        if any(symbol_key(s) in held for s in elements(own)):
            continue
        found += [(variable.name, form) for form in _forms(system, own, rates[positions])]
    return tuple(found)


def _forms(system: System, x: ca.SX, rates: ca.SX) -> list[ca.SX]:
    """A basis of the forms of one vector that its rates conserve."""
    n = x.numel()
    pairs = [(i, j) for i in range(n) for j in range(i + 1)]
    monomials = ca.vertcat(*(x[i] * x[j] for i, j in pairs), x)
    change = ca.jtimes(monomials, x, rates)
    symbols = concatenate(ca.symvar(change))
    function = ca.Function("change", [symbols], [change])
    random = np.random.default_rng(7)
    count = monomials.numel() + 8
    samples = function(ca.DM(random.uniform(-1.5, 1.5, (symbols.numel(), count)))).full().T
    samples = samples[np.isfinite(samples).all(axis=1)]
    if len(samples) < monomials.numel():
        return []
    _, sizes, right = np.linalg.svd(samples / max(np.abs(samples).max(), NOT_ZERO))
    rank = int(np.sum(sizes > SINGULAR * max(sizes[0], NOT_ZERO)))
    return [_written(row, monomials) for row in _tidied(right[rank:])]


def _tidied(rows: np.ndarray) -> np.ndarray:
    """The same space in reduced echelon form, whose entries are plain numbers where there are such."""
    rows = row_reduced(rows)
    whole = np.round(rows)
    return np.where(np.abs(rows - whole) < PLAIN, whole, rows)


def _written(row: np.ndarray, monomials: ca.SX) -> ca.SX:
    terms = [float(c) * monomials[k] for k, c in enumerate(row) if c]
    return sum(terms[1:], terms[0])
