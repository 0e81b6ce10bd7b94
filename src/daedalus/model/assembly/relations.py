"""Signed sums of unknowns that are zero: 0 = Σ ± x_i, solved exactly, in a time that grows with their number.

Connecting parts writes thousands of them: equal potentials, balances, the voltage of a part as a difference. Sums of
two make unknowns equal but for the sign, sums of one make them zero; longer ones give one of their unknowns as a sum
of the others. Integers alone are added, so that what cancels is gone and cannot mislead an analysis of the structure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

ZERO = 0  # the unknown that is zero
Terms = dict[int, int]


class SignedSums:
    """Rows of signed sums over unknowns 1, 2, ...; `rank` says which of two equal unknowns stays, the higher one.

    merges: whether an unknown may be put in the place of another, asked with (leaving, staying).
    """

    def __init__(self, ranks: list[int], merges: Callable[[int, int], bool]) -> None:
        self.rank = ranks
        self.merges = merges
        self.parent = list(range(len(ranks)))
        self.sign = [1] * len(ranks)
        self.rows: list[Terms | None] = []  # None once a row is used up
        self.at: list[set[int]] = [set() for _ in ranks]  # in which rows a root stands
        self.given: dict[int, Terms] = {}  # roots that follow from others, in the order in which they were found
        self.empty: list[int] = []  # rows in which everything cancelled
        self.waiting: deque[int] = deque()

    def add_unknown(self) -> None:
        """Room for one more unknown, whose rank is known."""
        self.parent.append(len(self.parent))
        self.sign.append(1)
        self.at.append(set())

    # -- equal unknowns ----------------------------------------------------------------------------------------

    def root(self, x: int) -> tuple[int, int]:
        """The unknown that stands for x, and the sign: x = sign · root."""
        if self.parent[x] == x:
            return x, 1
        sign, way = 1, []
        while self.parent[x] != x:
            way.append(x)
            sign *= self.sign[x]
            x = self.parent[x]
        total = sign
        for step in way:
            before = self.sign[step]
            self.parent[step], self.sign[step] = x, total
            total *= before
        return x, sign

    def add(self, terms: Iterable[tuple[int, int]]) -> int:
        """Take in a row; returns its number."""
        row: Terms = {}
        for x, factor in terms:
            r, sign = self.root(x)
            if r != ZERO:
                row[r] = row.get(r, 0) + sign * factor
        if 0 in row.values():
            row = {x: factor for x, factor in row.items() if factor}
        number = len(self.rows)
        self.rows.append(row)
        for x in row:
            self.at[x].add(number)
        if len(row) <= 2:
            self.waiting.append(number)
        return number

    def equate(self) -> None:
        """Use up all rows with at most two unknowns, and those that become such on the way."""
        while self.waiting:
            number = self.waiting.popleft()
            row = self.rows[number]
            if row is None or len(row) > 2:
                continue
            if not row:
                self.empty.append(number)
                self.rows[number] = None
                continue
            (a, one), *rest = row.items()
            b, two = rest[0] if rest else (ZERO, 1)
            if abs(one) != abs(two) and b != ZERO:
                continue
            if self.rank[a] > self.rank[b] or (self.rank[a] == self.rank[b] and a < b):
                a, b = b, a
            if a == ZERO or not self.merges(a, b):
                continue
            self.rows[number] = None
            for x in row:
                self.at[x].discard(number)
            self._merge(a, b, 1 if b == ZERO or a == ZERO else -one * two // abs(one * two))

    def _merge(self, a: int, b: int, sign: int) -> None:
        self.parent[a], self.sign[a] = b, sign
        for number in self.at[a]:
            row = self.rows[number]
            if row is None:
                continue
            factor = row.pop(a)
            if b != ZERO:
                total = row.get(b, 0) + sign * factor
                if total:
                    row[b] = total
                    self.at[b].add(number)
                else:
                    row.pop(b, None)
                    self.at[b].discard(number)
            if len(row) <= 2:
                self.waiting.append(number)
        self.at[a] = set()

    # -- unknowns that follow ----------------------------------------------------------------------------------

    def solve_for(self, x: int, number: int, longest: int = 24) -> bool:
        """Let a row give one of its unknowns, and put it into all other rows; False where these would get too long."""
        row = self.rows[number]
        if row is None or abs(row.get(x, 0)) != 1:
            return False
        others = [k for k in self.at[x] if k != number and self.rows[k] is not None]
        if len(row) > longest and others:
            return False
        factor = row[x]
        sums = {y: -c * factor for y, c in row.items() if y != x}
        self.given[x] = sums
        self.rows[number] = None
        for y in row:
            self.at[y].discard(number)
        for k in others:
            target = self.rows[k]
            assert target is not None
            times = target.pop(x)
            for y, c in sums.items():
                total = target.get(y, 0) + times * c
                if total:
                    target[y] = total
                    self.at[y].add(k)
                else:
                    target.pop(y, None)
                    self.at[y].discard(k)
            if len(target) <= 2:
                self.waiting.append(k)
        self.at[x] = set()
        return True

    def replace(self, number: int, row: Terms) -> None:
        """Put another row in the place of one."""
        for x in self.rows[number] or ():
            self.at[x].discard(number)
        self.rows[number] = row
        for x in row:
            self.at[x].add(number)
        if len(row) <= 2:
            self.waiting.append(number)
