"""Signs that stand for something before its formula is known: ∂L/∂q̇, d/dt of it, a product of matrices."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca


@dataclass(frozen=True)
class Notation:
    """A piece of notation: `kind` is "name", "text", "slope", "rate", "row" or "product"; `parts` are its pieces."""

    kind: str
    parts: tuple[Notation | str, ...]


@dataclass(frozen=True, eq=False)
class Matrix:
    """A matrix or a column of expressions in brackets; its letter names entries that are too long for it."""

    entries: ca.SX
    letter: str = ""


@dataclass(frozen=True, eq=False)
class Juxtaposed:
    """Juxtaposed one after another: matrices and notation as a product, or with signs between them."""

    pieces: tuple[Side, ...]


Side = ca.SX | Notation | Matrix | Juxtaposed


def name(label: str) -> Notation:
    """A name by itself, dots and indices as in every formula."""
    return Notation("name", (label,))


def sign(text: str) -> Notation:
    """An operator between two pieces."""
    return Notation("sign", (text,))


def slope(of: str, by: str) -> Notation:
    """∂ of / ∂ by."""
    return Notation("slope", (of, by))


def rate(of: Notation) -> Notation:
    """d/dt of something."""
    return Notation("rate", (of,))
