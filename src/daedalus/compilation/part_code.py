"""Code of a function with equal parts: parts side by side in vector registers, everything else as before.

Equal parts (`equal_parts.py`) become one loop over lanes (`lanes/`), whose exponentials and logarithms are part of the
code, within 1 ulp of the library's. Numbers that go in lie in the working memory, one row of lanes for each place of
the law: what follows from inputs that seldom change is put there early, the rest by straight code before the loop.
Divisors that seldom change are inverted early too. Results lie there for the straight code behind it.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import casadi as ca

from daedalus.compilation.equal_parts import EqualParts, PartedRows, equal_parts
from daedalus.compilation.instructions import needed_rows, operands
from daedalus.compilation.lanes.lane_formulas import FixedPart, check_known, fixed_part, written_formulas
from daedalus.compilation.lanes.words import LaneModule, LaneText, Word
from daedalus.compilation.llvm_code import Chunk, CodePlan, Style, declarations, entry_module, function_of_chunk
from daedalus.compilation.operations import ONE
from daedalus.compilation.prologue import NO_PROLOGUE, EarlyPlaces, Prologue, prologue
from daedalus.model.system.instruction_list import Instructions, UnknownOperationError

# Straight code is cut into functions of so many rows.
_CHUNK = 2000


class PartCode(NamedTuple):
    """LLVM's text: straight modules, modules that seldom run, the module over lanes; and how much memory it needs."""

    straight: tuple[str, ...]
    early: tuple[str, ...]
    lanes: str
    work: int


class _Slot(NamedTuple):
    """A place of a law: the rows that stand there, one for each part, and where they lie in the working memory."""

    sources: tuple[int, ...]
    place: int
    early: bool

    @property
    def shared(self) -> bool:
        """Whether all parts have the same there."""
        return len(set(self.sources)) == 1


class _Law(NamedTuple):
    """The formula of equal parts, and where its numbers come from and go to."""

    group: EqualParts
    rows: Instructions
    slots: tuple[_Slot, ...]
    fixed: FixedPart
    inverses: tuple[_Slot, ...]
    results: tuple[int, ...]
    length: int  # the number of parts, up to full lanes


def part_code(rows: Instructions, style: Style, lanes: int) -> PartCode | None:
    """The code of a function with equal parts; None where there is too little of them.

    Example
    -------
    >>> import casadi as ca
    >>> from daedalus.model.system.instruction_list import read_instructions
    >>> x, p = ca.SX.sym("x", 40), ca.SX.sym("p")
    >>> y = x
    >>> for k in range(10):
    ...     y = ca.exp(-(y**2)) / p + y
    >>> rows = read_instructions(ca.Function("f", [x, p], [ca.sum1(y)]))
    >>> code = part_code(rows, Style(strict=False, fuse=True, chunk=3000, seldom=(1,)), lanes=4)
    >>> code.lanes.count("define void @part"), code.lanes.count("load <4 x double>")
    (1, 1)
    """
    early = prologue(rows, style.seldom) if style.seldom else NO_PROLOGUE
    found = equal_parts(rows, early.rows)
    if found is None:
        return None
    try:
        return _PartWriter(rows, style, lanes, early, found).code()
    except UnknownOperationError:
        return None


class _PartPlan(CodePlan):
    """Which function of straight code computes which row, and where rows lie that others read."""

    def __init__(self, rows: Instructions, style: Style, early: Prologue, found: PartedRows) -> None:
        super().__init__(rows, style._replace(seldom=(), chunk=len(rows) + 1))
        self.early = early.rows
        self.in_parts = {row for group in found.groups for own in group.members for row in own}
        self.kept: dict[int, int] = {}
        # Straight rows by level, early ones apart, in functions of bounded length; a product is with its sum.
        pieces: dict[int, list[int]] = defaultdict(list)
        for row in range(len(rows)):
            if self.needed[row] and row not in self.in_parts and rows.operation[row] not in (ca.OP_INPUT, ca.OP_CONST):
                pieces[-1 if row in self.early else found.level[row]].append(row)
        self.functions: list[tuple[int, list[int]]] = []
        self.piece: dict[int, int] = {}
        for level in sorted({-1, *pieces, *(group.level for group in found.groups)}):
            own = pieces.get(level, [])
            for start in range(0, max(len(own), 1), _CHUNK):
                part = own[start : start + _CHUNK]
                self.piece.update(dict.fromkeys(part, len(self.functions)))
                self.functions.append((level, part))
        self.swallows = {
            total: product
            for total, product in self.swallows.items()
            if self.piece.get(total, -1) == self.piece.get(product, -2)
        }
        self.swallowed = set(self.swallows.values())

    def kept_at(self, row: int) -> int | None:
        return self.kept.get(row)

    def crossing_rows(self) -> Iterator[int]:
        """Straight rows that another function of straight code reads."""
        rows = self.rows
        for row, own in self.piece.items():
            for source in operands(rows, row):
                if self.piece.get(source, own) != own:
                    yield source


class _PartWriter:
    def __init__(self, rows: Instructions, style: Style, lanes: int, early: Prologue, found: PartedRows) -> None:
        self.rows, self.lanes, self.early, self.style = rows, lanes, early, style
        self.needed = needed_rows(rows)
        self.plan = _PartPlan(rows, style, early, found)
        self.work = style.base
        mark, inputs = self._room(1), []
        for number, begin, end in early.inputs:
            inputs.append((number, begin, end - begin, self._room(end - begin)))
        self.read_outside = self._read_outside(found)
        self.laws = [self._law(group) for group in found.groups]
        for row in (*self.plan.crossing_rows(), *self._filled_elsewhere()):
            if row not in self.plan.kept:
                self.plan.kept[row] = self._room(1)
        if early.inputs:
            self.plan.places = EarlyPlaces(mark, tuple(inputs), self.plan.kept)

    def _room(self, count: int) -> int:
        place = self.work
        self.work += count
        return place

    def _filled_elsewhere(self) -> Iterator[int]:
        """Straight rows that are put into slots by another function than the one that computes them."""
        last = {level: number for number, (level, _) in enumerate(self.plan.functions)}
        for law in self.laws:
            for slot in (*law.slots, *law.inverses):
                fills = last[-1 if slot.early else law.group.level]
                yield from (row for row in slot.sources if self.plan.piece.get(row, fills) != fills)

    def code(self) -> PartCode:
        """All modules."""
        names: dict[bool, list[str]] = {True: [], False: []}
        texts: dict[bool, list[str]] = {True: [], False: []}
        plan, functions = self.plan, self.plan.functions
        for number, (level, own) in enumerate(functions):
            is_early, is_last = level < 0, number + 1 == len(functions) or functions[number + 1][0] != level
            if is_early and not self.early.inputs:
                continue
            chunk = Chunk(plan, own)
            if is_last:
                self._fill_slots(chunk, level)
            name = f"straight{number}"
            names[is_early].append(name)
            lines = [*function_of_chunk(name, chunk), *declarations(chunk.calls, plan.strict)]
            texts[is_early].append("\n".join(lines))
            if is_last:
                names[False] += [f"part{k}" for k, law in enumerate(self.laws) if law.group.level == level]
        texts[False].append(entry_module(plan, names[True], names[False]))
        return PartCode(tuple(texts[False]), tuple(texts[True]), self._lane_module(), self.work)

    # -- laws --------------------------------------------------------------------------------------------------------

    def _law(self, group: EqualParts) -> _Law:
        rows, members = self.rows, group.members
        length = -(-len(members) // self.lanes) * self.lanes
        inside = set(members[0])
        slots: list[_Slot] = []
        operation, first, second, constants = array("i"), array("i"), array("i"), array("d")

        def add(op: int, a: int, b: int) -> int:
            for column, number in ((operation, op), (first, a), (second, b)):
                column.append(number)
            return len(operation) - 1

        place: dict[int, int] = {}  # a row of the first part -> its row in the law
        known: dict[object, int] = {}  # what a part is given -> its row in the law

        def given(found: tuple[int, ...]) -> int:
            values = {rows.constants[rows.first[s]] for s in found if rows.operation[s] == ca.OP_CONST}
            if len(values) == 1 and all(rows.operation[s] == ca.OP_CONST for s in found):
                value = values.pop()
                key: object = ("constant", value.hex())
                if key not in known:
                    constants.append(value)
                    known[key] = add(ca.OP_CONST, len(constants) - 1, -1)
                return known[key]
            if found not in known:
                slots.append(self._slot(found, length))
                known[found] = add(ca.OP_INPUT, 0, len(slots) - 1)
            return known[found]

        for k, row in enumerate(members[0]):
            sources = []
            for side, source in enumerate(operands(rows, row)):
                outside = tuple(operands(rows, own[k])[side] for own in members)
                sources.append(place[source] if source in inside else given(outside))
            place[row] = add(rows.operation[row], *sources, *(-1,) * (2 - len(sources)))
        wanted = [k for k in range(len(members[0])) if any(own[k] in self.read_outside for own in members)]
        slot = array("i", [0] * len(operation))
        for number, k in enumerate(wanted):
            add(ca.OP_OUTPUT, place[members[0][k]], 0)
            slot.append(number)
        law = Instructions(operation, first, second, slot, constants, (len(slots),), (len(wanted),))
        check_known(law)
        fixed = fixed_part(law, lambda _, which: slots[which].early)
        fixed = FixedPart(frozenset(), (), tuple(r for r in fixed.inverses if law.operation[r] == ca.OP_INPUT))
        inverses = tuple(self._slot(slots[law.second[row]].sources, length) for row in fixed.inverses)
        results = []
        for k in wanted:
            results.append(self._room(length))
            self.plan.kept.update({own[k]: results[-1] + i for i, own in enumerate(members)})
        return _Law(group, law, tuple(slots), fixed, inverses, tuple(results), length)

    def _slot(self, found: tuple[int, ...], length: int) -> _Slot:
        rows, seldom = self.rows, self.style.seldom
        early = bool(self.early.inputs) and all(
            s in self.early.rows
            or rows.operation[s] == ca.OP_CONST
            or (rows.operation[s] == ca.OP_INPUT and self._is_compared(rows.first[s], rows.second[s], seldom))
            for s in found
        )
        return _Slot(found, self._room(1 if len(set(found)) == 1 else length), early)

    def _is_compared(self, number: int, place: int, seldom: Sequence[int]) -> bool:
        """Whether an input is among those whose change is noticed."""
        return number in seldom and any(n == number and begin <= place < end for n, begin, end in self.early.inputs)

    def _read_outside(self, found: PartedRows) -> set[int]:
        """Rows of parts that somebody else reads."""
        rows, owner = self.rows, dict[int, int]()
        for number, own in enumerate(own for group in found.groups for own in group.members):
            owner.update(dict.fromkeys(own, number))
        read = set()
        for row in range(len(rows)):
            for source in operands(rows, row) if self.needed[row] else ():
                if source in owner and owner.get(row) != owner[source]:
                    read.add(source)
        return read

    # -- text --------------------------------------------------------------------------------------------------------

    def _fill_slots(self, chunk: Chunk, level: int) -> None:
        """Lines that put what laws of a level are given into their places; level -1: what seldom changes."""
        for number, law in enumerate(self.laws):
            if level >= 0 and law.group.level != level:
                continue
            for of, slots in (("s", law.slots), ("i", law.inverses)):
                for k, slot in enumerate(slots):
                    if slot.early == (level < 0):
                        self._fill(chunk, slot, law.length, f"{of}{number}.{k}", of == "i")

    def _fill(self, chunk: Chunk, slot: _Slot, length: int, name: str, inverted: bool) -> None:
        sources = slot.sources[:1] if slot.shared else slot.sources + slot.sources[-1:] * (length - len(slot.sources))
        for i, source in enumerate(sources):
            word = chunk.word(source)
            if inverted:
                chunk.lines.append(f"%{name}.{i} = fdiv double {ONE}, {word}")
                word = f"%{name}.{i}"
            chunk.store(f"{name}.{i}", "%w", slot.place + i, word)

    def _lane_module(self) -> str:
        module = LaneModule(self.lanes)
        kernels = [line for k, law in enumerate(self.laws) for line in self._kernel(module, law, f"part{k}")]
        return module.text(kernels)

    def _kernel(self, module: LaneModule, law: _Law, name: str) -> list[str]:
        w = LaneText(module)
        w.raw("br label %loop\nloop:\n%i = phi i64 [ 0, %0 ], [ %next, %loop ]")

        def loaded(slot: _Slot) -> Word:
            if slot.shared:
                at = w.line(f"getelementptr inbounds double, ptr %w, i64 {slot.place}")
                return w.spread(w.line(f"load double, ptr {at}, align 8"))
            return w.line(f"load {w.real}, ptr {address(slot.place)}, align 8")

        def address(place: int) -> Word:
            at = w.line(f"getelementptr inbounds double, ptr %w, i64 {place}")
            return w.line(f"getelementptr inbounds double, ptr {at}, i64 %i")

        given = [loaded(slot) for slot in law.slots]
        fixed = [loaded(slot) for slot in law.inverses]
        [results] = written_formulas(w, law.rows, [given], law.fixed, fixed)
        for place, word in zip(law.results, results):
            w.raw(f"store {w.real} {word}, ptr {address(place)}, align 8")
        w.raw(f"%next = add nuw nsw i64 %i, {self.lanes}\n%more = icmp slt i64 %next, {law.length}")
        w.raw("br i1 %more, label %loop, label %end\nend:\nret void")
        head = f"define void @{name}(ptr %arg, ptr %res, ptr noalias %w) nounwind {{"
        return [head, *w.whole_text(), "}"]
