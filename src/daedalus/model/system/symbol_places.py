"""Whose symbol is whose: the variable, element and order of derivative of each scalar symbol of a model.

Symbols of large arrays are looked at when one of their elements is asked for: fields are written, checked and run as
wholes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import casadi as ca

from daedalus.model.expressions import elements, symbol_key

SymbolPlace = tuple[str, int, int]
# Arrays of this many elements wait until one of them is asked for.
LARGE_ARRAY = 200


class Elements(Sequence[ca.SX]):
    """The elements of a symbol, made when the first one is asked for.

    Example
    -------
    >>> import casadi as ca
    >>> own = Elements(ca.SX.sym("x", 300))
    >>> len(own), own[7]
    (300, SX(x_7))
    """

    def __init__(self, symbol: ca.SX) -> None:
        self._symbol = symbol
        self._made: list[ca.SX] | None = None

    def _all(self) -> list[ca.SX]:
        if self._made is None:
            self._made = elements(self._symbol)
        return self._made

    def __len__(self) -> int:
        return int(self._symbol.numel())

    def __getitem__(self, k: Any) -> Any:
        return self._all()[k]


class SymbolPlaces(Mapping[int, SymbolPlace]):
    """(variable, element, order of derivative) by the key of a symbol.

    Example
    -------
    >>> import casadi as ca
    >>> places, x = SymbolPlaces(), ca.SX.sym("x", 300)
    >>> places.enter("x", x, 0)
    >>> places[symbol_key(x[7])], len(places)
    (('x', 7, 0), 300)
    """

    def __init__(self) -> None:
        self._found: dict[int, SymbolPlace] = {}
        self._waiting: list[tuple[str, ca.SX, int]] = []

    def enter(self, name: str, symbol: ca.SX, order: int) -> None:
        """Know all elements of a symbol."""
        if symbol.numel() >= LARGE_ARRAY:
            self._waiting.append((name, symbol, order))
            self._found[symbol_key(symbol[0])] = (name, 0, order)
            return
        for k, scalar in enumerate(elements(symbol)):
            self._found[symbol_key(scalar)] = (name, k, order)

    def _fill(self) -> bool:
        """Look at the elements that wait; False where there are none."""
        waiting, self._waiting = self._waiting, []
        for name, symbol, order in waiting:
            self._found.update((symbol_key(s), (name, k, order)) for k, s in enumerate(elements(symbol)))
        return bool(waiting)

    def __getitem__(self, key: int) -> SymbolPlace:
        try:
            return self._found[key]
        except KeyError:
            if self._fill():
                return self._found[key]
            raise

    def __contains__(self, key: object) -> bool:
        return key in self._found or (self._fill() and key in self._found)

    def __iter__(self) -> Iterator[int]:
        self._fill()
        return iter(self._found)

    def __len__(self) -> int:
        self._fill()
        return len(self._found)

    def pop(self, key: int) -> None:
        """Forget a symbol, if it is known."""
        self._fill()
        self._found.pop(key, None)

    def copied(self) -> SymbolPlaces:
        """The same, to be changed on its own."""
        other = SymbolPlaces()
        other._found, other._waiting = dict(self._found), list(self._waiting)
        return other
