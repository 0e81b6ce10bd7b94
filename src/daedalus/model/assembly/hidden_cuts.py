"""Cuts of a network that only states cross, written as the equations that they are.

The currents of three coils that feed a bridge of diodes add up to zero, since the bridge is joined to nothing else. No
node says so: it is the sum of the balances at all nodes of the bridge, where every current between two of them cancels.
Written as balances the constraint between the states is hidden from every analysis of the structure; here it takes the
place of one of them.

Every flow that a law gives stands in two balances at most, as an edge joins two nodes, so that joining the balances
that share one finds the parts that are cut off, in a time that grows with their number.

A load behind a bridge of diodes hangs on their leakage while all of them block. Its potential follows from picoamperes,
which are rounding errors in balances that amperes of the load stand in as well. In the sum over the load these cancel
before they are rounded, so it takes the place of one of them, too.
"""

from __future__ import annotations

from collections.abc import Callable

from daedalus.model.assembly.relations import SignedSums, Terms


def write_hidden_cuts(sums: SignedSums, is_flow: Callable[[int], bool], is_fixed: Callable[[int], bool]) -> int:
    """Put the sums of balances in which all flows cancel in the place of one of them; how many there were.

    is_flow: whether an unknown is a flow that a law gives. is_fixed: whether a run integrates or knows it.

    Example
    -------
    >>> sums = SignedSums([100, 60, 60, 10, 10], lambda leaving, staying: True)
    >>> a, b = sums.add([(1, 1), (3, 1), (4, 1)]), sums.add([(2, 1), (3, -1), (4, -1)])
    >>> write_hidden_cuts(sums, lambda x: x in (3, 4), lambda x: x in (1, 2)), sums.rows
    (1, [{1: 1, 2: 1}, {2: 1, 3: -1, 4: -1}])
    """
    return _write_sums(sums, is_flow, is_fixed)


def write_hanging_cuts(
    sums: SignedSums, is_flow: Callable[[int], bool], is_leak: Callable[[int], bool], is_fixed: Callable[[int], bool]
) -> int:
    """As `write_hidden_cuts`, for sums in which all flows but those that may leak cancel, and one of these is left.

    Example
    -------
    >>> sums = SignedSums([100, 60, 60, 10, 10], lambda leaving, staying: True)
    >>> a, b = sums.add([(1, 1), (3, 1), (4, 1)]), sums.add([(2, 1), (3, -1), (4, -1)])
    >>> write_hanging_cuts(sums, lambda x: x in (3, 4), lambda x: x in (1, 2), lambda x: False), sums.rows
    (1, [{1: 1, 2: 1}, {2: 1, 3: -1, 4: -1}])
    """
    return _write_sums(
        sums, lambda x: is_flow(x) and not is_leak(x), lambda x: is_leak(x) or is_fixed(x), needed=is_leak
    )


def _write_sums(
    sums: SignedSums,
    is_flow: Callable[[int], bool],
    is_fixed: Callable[[int], bool],
    needed: Callable[[int], bool] = lambda x: True,
) -> int:
    balances = {
        number
        for number, row in enumerate(sums.rows)
        if row and any(map(is_flow, row)) and all(is_flow(x) or is_fixed(x) for x in row)
    }
    groups = _Groups(balances)
    for x in {x for number in balances for x in sums.rows[number] or () if is_flow(x)}:
        groups.join(x, [k for k in sums.at[x] if sums.rows[k]], sums.rows)
    found = 0
    for members in groups.closed():
        if len(members) < 2:
            continue
        total: Terms = {}
        for number, sign in members.items():
            for x, factor in (sums.rows[number] or {}).items():
                total[x] = total.get(x, 0) + sign * factor
        total = {x: factor for x, factor in total.items() if factor}
        if any(map(needed, total)) and not any(map(is_flow, total)):
            sums.replace(max(members, key=lambda number: (len(sums.rows[number] or ()), -number)), total)
            found += 1
    return found


class _Groups:
    """Balances that share flows, each with the sign that lets these cancel in their sum."""

    def __init__(self, numbers: set[int]) -> None:
        self.parent = {number: number for number in numbers}
        self.sign = dict.fromkeys(numbers, 1)
        self.open: set[int] = set()  # roots of groups that something else joins

    def _root(self, number: int) -> tuple[int, int]:
        sign, way = 1, []
        while self.parent[number] != number:
            way.append(number)
            sign *= self.sign[number]
            number = self.parent[number]
        total = sign
        for step in way:
            before = self.sign[step]
            self.parent[step], self.sign[step] = number, total
            total *= before
        return number, sign

    def join(self, x: int, places: list[int], rows: list[Terms | None]) -> None:
        """Join the balances that a flow stands in."""
        own = [number for number in places if number in self.parent]
        factors = [(rows[number] or {})[x] for number in own]
        if len(own) < 2 or len(places) > 2 or abs(factors[0]) != abs(factors[1]):
            self.open |= {self._root(number)[0] for number in own}
            return
        (a, of_a), (b, of_b) = self._root(own[0]), self._root(own[1])
        sign = -1 if factors[0] * of_a * factors[1] * of_b > 0 else 1
        if a != b:
            self.parent[b], self.sign[b] = a, sign
            if b in self.open:
                self.open.add(a)
        elif sign < 0:
            self.open.add(a)

    def closed(self) -> list[dict[int, int]]:
        """The groups that nothing else joins: their balances with signs."""
        found: dict[int, dict[int, int]] = {}
        for number in sorted(self.parent):
            root, sign = self._root(number)
            found.setdefault(root, {})[number] = sign
        return [members for root, members in found.items() if root not in self.open]
