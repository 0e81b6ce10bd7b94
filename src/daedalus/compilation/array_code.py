"""Long functions as loops: equal expression trees are found in the instruction list and evaluated group by group.

Fields written cell by cell repeat a few formulas thousands of times. Values that are used more than once, and outputs,
are the roots of trees; a root's tree ends at inputs, constants and other roots. Trees of one shape and one level (how
many roots lie below each other)
form a group, and a group is one loop: each leaf is a pointer that moves by a constant stride, over the whole group or
over runs of it, or is looked up in a table. The time to compile depends on the number of shapes, not on the length of
the function.

Operations are those of llvm_code.py, so that strict code gives CasADi's bits here too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.compilation.llvm_code import ENTRY as ENTRY
from daedalus.compilation.llvm_code import (
    ENTRY_PARAMETERS,
    POWERS,
    Style,
    declarations,
    pointers,
    stand_ins,
)
from daedalus.compilation.operations import COPIES, literal, operations, power
from daedalus.model.system.instruction_list import Instructions

# A tree deeper than this, as a sum of many terms is, is left to straight code: it would be one long formula.
DEEPEST = 100
# Written-out operations of all loops together: more are not worth being called a few shapes.
MOST_WRITTEN = 6000
MOST_LOOPS = 600
# Groups with fewer members are written out.
FEWEST = 4
# A constant that stands in so many places belongs to the shape; others are looked up.
FREQUENT = 32
# Runs must be this long on average; shorter ones are looked up in tables. As often an operation that is written must be
# done on average.
SHORTEST_RUN = 8
_KEPT, _CONSTANT, _INPUT_SHAPE, _CONSTANT_SHAPE = 7, 1, 100, 1000


class ArrayCode(NamedTuple):
    """LLVM's text, how many numbers of working memory it needs, and how many operations are written in it."""

    text: str
    work: int
    written: int


class TreeGroup(NamedTuple):
    """Trees of one shape: their roots, whether they are outputs, and where their values go."""

    members: np.ndarray
    output: int  # which one, -1: kept in the working memory
    places: np.ndarray


class _Leaf(NamedTuple):
    base: str
    places: np.ndarray


class IrregularError(Exception):
    """A function without enough repetition."""


def array_code(rows: Instructions, style: Style) -> ArrayCode | None:
    """A function as loops; None where it has too many shapes, or recursions too deep.

    Example
    -------
    >>> import casadi as ca
    >>> from daedalus.model.system.instruction_list import read_instructions
    >>> x = ca.SX.sym("x", 5000)
    >>> rows = read_instructions(ca.Function("f", [x], [ca.sin(x) - 2 * x**2]))
    >>> code = array_code(rows, Style(strict=True, fuse=False, chunk=1000))
    >>> code.text.count(", !llvm.loop"), len(code.text) < 5000
    (1, True)
    """
    try:
        trees = Trees(rows)
        return LoopWriter(trees, style).code()
    except IrregularError:
        return None


class Trees:
    """The instructions in columns, which of them are roots, and the groups of equal trees in the order of their
    levels."""

    def __init__(self, rows: Instructions) -> None:
        self.rows = rows
        self.operation, self.first, self.second, self.slot = rows.columns()
        self.constants = np.frombuffer(rows.constants, float) if len(rows.constants) else np.zeros(0)
        count = len(rows)
        is_leaf = np.isin(self.operation, (ca.OP_INPUT, ca.OP_CONST))
        self.stored = np.flatnonzero(self.operation == ca.OP_OUTPUT)
        self.computed = ~is_leaf & (self.operation != ca.OP_OUTPUT)
        own = self.first[self.computed]
        two = self.second[self.computed]
        uses = np.bincount(own, minlength=count) + np.bincount(two[two >= 0], minlength=count)
        uses += np.bincount(self.first[self.stored], minlength=count)
        self.kind = self._leaf_kinds(uses)
        self.root = self.computed & (uses >= 2)
        leaf = np.where(self.kind > 0, self.kind, _KEPT)
        marks = (self.computed.view(np.uint8), self.operation, leaf, self.root.view(np.uint8))
        shape, level = _core.tree_shapes(self.first, self.second, *marks, _KEPT)
        self.deepest = int(_core.row_depths(self.first, self.second, marks[0]).max(initial=0))
        self.groups = self._groups(shape, level)

    def _leaf_kinds(self, uses: np.ndarray) -> np.ndarray:
        """0 for what is computed; the input of an input; frequent constants by their value, others as one."""
        kind = np.zeros(len(self.operation), np.int64)
        is_input, is_constant = self.operation == ca.OP_INPUT, np.flatnonzero(self.operation == ca.OP_CONST)
        kind[is_input] = _INPUT_SHAPE + self.first[is_input]
        if len(is_constant):
            bits = self.constants[self.first[is_constant]].view(np.int64)
            _, number = np.unique(bits, return_inverse=True)
            often = np.bincount(number, uses[is_constant]) >= FREQUENT
            kind[is_constant] = np.where(
                often[number], _CONSTANT_SHAPE + _INPUT_SHAPE + len(self.rows.size_in) + number, _CONSTANT
            )
        return kind

    def _groups(self, shape: np.ndarray, level: np.ndarray) -> list[TreeGroup]:
        kept = np.flatnonzero(self.root)
        sources = self.first[self.stored]
        members = np.concatenate([kept, sources])
        output = np.concatenate([np.full(len(kept), -1), self.second[self.stored]])
        places = np.concatenate([np.zeros(len(kept), np.int64), self.slot[self.stored]])
        is_copy = (output >= 0) & self.root[members]
        shapes = np.where(is_copy, np.uint64(_KEPT), shape[members])
        levels = level[members] + is_copy
        order = np.lexsort((np.arange(len(members)), shapes, output, levels))
        changes = (
            (np.diff(levels[order]) != 0) | (shapes[order][1:] != shapes[order][:-1]) | (np.diff(output[order]) != 0)
        )
        found = np.split(order, np.flatnonzero(changes) + 1) if len(order) else []
        self.work_place = np.full(len(self.operation), -1)
        self.work = 0
        groups = []
        for part in found:
            own = members[part]
            if output[part[0]] < 0:
                self.work_place[own] = self.work + np.arange(len(own))
                self.work += len(own)
            groups.append(TreeGroup(own, int(output[part[0]]), places[part]))
        return groups


def _bytes(name: str, numbers: np.ndarray, alignment: int) -> str:
    """A table as one word of LLVM's text: written out number by number it takes longer to read than to compile."""
    raw = numbers.tobytes()
    word = "\\" + raw.hex("\\")
    return f'@{name} = private constant [{len(raw)} x i8] c"{word}", align {alignment}'


class LoopWriter:
    """LLVM's text for groups of trees."""

    # Whether a function that is no good as loops becomes straight code.
    else_straight = True

    def __init__(self, trees: Trees, style: Style) -> None:
        self.trees, self.style = trees, style
        self.operations = operations(style.strict)
        self.lines: list[str] = []
        self.tables: list[np.ndarray] = []
        self.calls: set[str] = set()
        self.loops = self.written = self.words = 0

    def code(self) -> ArrayCode:
        """The whole function."""
        self.write_all()
        rows = self.trees.rows
        text = [
            *stand_ins(rows),
            *self.table_lines(),
            f"define i32 @{ENTRY}({ENTRY_PARAMETERS}) nounwind {{",
            *pointers("%arg", "%in", range(len(rows.size_in)), "@zeros"),
            *pointers("%res", "%out", range(len(rows.size_out)), "@unwanted"),
            "br label %start",
            "start:",
            *self.lines,
            "ret i32 0\n}",
            *declarations(self.calls, self.style.strict),
            "!0 = distinct !{}",
            '!1 = !{!"llvm.loop.parallel_accesses", !0}',
            *(f"!{k + 2} = distinct !{{!{k + 2}, !1}}" for k in range(self.loops)),
        ]
        return ArrayCode("\n".join(text), self.trees.work, self.written)

    def write_all(self) -> None:
        """All groups, in their order."""
        groups = self.trees.groups
        looping = sum(len(group.members) >= FEWEST for group in groups)
        # Trees without enough equals have at least one operation each: most functions without loops are seen by that.
        self._refuse_irregular(sum(len(group.members) for group in groups if len(group.members) < FEWEST), looping)
        for group in groups:
            self._write(group)
            self._refuse_irregular(self.written, self.loops)

    def _refuse_irregular(self, written: int, loops: int) -> None:
        if written > MOST_WRITTEN or loops > MOST_LOOPS:
            raise IrregularError
        # What stands one by one, as steps of a recursion do, is left to straight code where it is most of the function.
        rare = self.else_straight or self.trees.deepest > DEEPEST
        if rare and written * SHORTEST_RUN > self.trees.computed.sum():
            raise IrregularError

    def emit(self, lines: str) -> None:
        """Lines of a loop."""
        self.lines.append(lines)

    def table_lines(self) -> Iterator[str]:
        """Constants and tables of places."""
        if len(self.trees.constants):
            yield _bytes("constants", self.trees.constants, 8)
        for k, table in enumerate(self.tables):
            yield _bytes(f"table{k}", table.astype(np.int32), 4)

    # -- one group ---------------------------------------------------------------------------------------------

    def _write(self, group: TreeGroup) -> None:
        leaves: list[_Leaf] = []
        is_copy = group.output >= 0 and bool(self.trees.root[group.members[0]])
        tree = self._tree(group.members, not is_copy, leaves)
        target = "%w" if group.output < 0 else f"%out{group.output}"
        index = self.trees.work_place[group.members] if group.output < 0 else group.places
        leaves.append(_Leaf(target, index))
        count = len(group.members)
        if count < FEWEST:
            for k in range(count):
                self._straight(tree, leaves, k)
            return
        table = np.array([leaf.places for leaf in leaves])
        # In the order in which the target is written.
        order = np.argsort(table[-1], kind="stable")
        table = table[:, order]
        starts, lengths, strides = _runs(table)
        if len(starts) == 1:
            self._loop(tree, leaves, [str(v) for v in table[:, 0].tolist()], strides[:, 0].tolist(), str(count))
        elif len(starts) * SHORTEST_RUN <= count:
            self._runs(tree, leaves, table, starts, lengths, strides)
        else:
            self._gather(tree, leaves, table)

    def _tree(self, members: np.ndarray, top: bool, leaves: list[_Leaf], depth: int = 0) -> object:
        """The tree of a group: a number of a leaf, a literal, or (operation, left, right)."""
        trees, one = self.trees, int(members[0])
        if depth > DEEPEST:
            raise IrregularError
        kind = trees.kind[one]
        if not top and np.all(trees.root[members]):
            # Kept values, whatever computed each of them.
            leaves.append(_Leaf("%w", trees.work_place[members]))
            return len(leaves) - 1
        if np.any(trees.operation[members] != trees.operation[one]) or np.any(trees.kind[members] != kind):
            raise IrregularError
        if not top and np.any(trees.root[members]):
            raise IrregularError
        if kind >= _INPUT_SHAPE and trees.operation[one] == ca.OP_INPUT:
            leaves.append(_Leaf(f"%in{trees.first[one]}", trees.second[members]))
            return len(leaves) - 1
        if trees.operation[one] == ca.OP_CONST:
            places = trees.first[members]
            values = trees.constants[places].view(np.int64)
            if np.all(values == values[0]):
                return literal(float(trees.constants[places[0]]))
            leaves.append(_Leaf("@constants", places))
            return len(leaves) - 1
        operation = int(trees.operation[one])
        if operation not in self.operations and operation not in COPIES:
            raise IrregularError
        left = self._tree(trees.first[members], False, leaves, depth + 1)
        has_two = trees.second[members] >= 0
        if np.any(has_two != has_two[0]):
            raise IrregularError
        right = self._tree(trees.second[members], False, leaves, depth + 1) if has_two[0] else None
        return left if operation in COPIES else (operation, left, right)

    def _straight(self, tree: object, leaves: list[_Leaf], k: int) -> None:
        words = [self.load(leaf.base, str(int(leaf.places[k]))) for leaf in leaves[:-1]]
        self.store(leaves[-1].base, str(int(leaves[-1].places[k])), self.value(tree, words))

    def _loop(self, tree: object, leaves: list[_Leaf], base: list[str], stride: list[int], count: str) -> None:
        """for i < count: the leaf k stands at base[k] + stride[k] i."""
        number, name = self.loops, f"loop{self.loops}"
        self.loops += 1
        before = self.word("before")
        self.emit(f"br label {before}\n{before[1:]}:\nbr label %{name}\n{name}:")
        self.emit(f"%{name}.i = phi i64 [ 0, {before} ], [ %{name}.next, %{name} ]")
        words = [
            self.load(leaf.base, self._moved(base[k], stride[k], f"%{name}.i"), True)
            for k, leaf in enumerate(leaves[:-1])
        ]
        value = self.value(tree, words)
        self.store(leaves[-1].base, self._moved(base[-1], stride[-1], f"%{name}.i"), value, True)
        self._close(name, count, number)

    def _close(self, name: str, count: str, number: int) -> None:
        self.emit(
            f"%{name}.next = add nuw nsw i64 %{name}.i, 1\n%{name}.more = icmp slt i64 %{name}.next, {count}\n"
            f"br i1 %{name}.more, label %{name}, label %{name}.end, !llvm.loop !{number + 2}\n{name}.end:"
        )

    def _runs(
        self,
        tree: object,
        leaves: list[_Leaf],
        table: np.ndarray,
        starts: np.ndarray,
        lengths: np.ndarray,
        strides: np.ndarray,
    ) -> None:
        """One loop over runs for each set of strides, with a table of lengths and first places."""
        strides = np.where(lengths == 1, strides[:, [int(np.argmax(lengths))]], strides)
        kinds, which = np.unique(strides.T, axis=0, return_inverse=True)
        for kind, stride in enumerate(kinds.tolist()):
            own = np.flatnonzero(which.ravel() == kind)
            lines = np.concatenate([lengths[own][:, None], table[:, starts[own]].T], axis=1)
            name, number = f"runs{self.loops}", len(self.tables)
            self.tables.append(lines.ravel())
            width = lines.shape[1]
            before = self.word("before")
            self.emit(f"br label {before}\n{before[1:]}:\nbr label %{name}\n{name}:")
            outer, inner_end = f"%{name}.z", f"%{name}.latch"
            self.emit(f"{outer} = phi i64 [ 0, {before} ], [ %{name}.next, {inner_end} ]")
            at = self.word("at")
            self.emit(f"{at} = mul nuw nsw i64 {outer}, {width}")
            entries = [self._table_entry(number, at, k) for k in range(width)]
            self._loop(tree, leaves, entries[1:], stride, entries[0])
            self.emit(
                f"br label {inner_end}\n{inner_end[1:]}:\n%{name}.next = add nuw nsw i64 {outer}, 1\n"
                f"%{name}.more = icmp slt i64 %{name}.next, {len(own)}\n"
                f"br i1 %{name}.more, label %{name}, label %{name}.end\n{name}.end:"
            )

    def _gather(self, tree: object, leaves: list[_Leaf], table: np.ndarray) -> None:
        """A loop whose places are looked up, but for those that move evenly."""
        number, name = self.loops, f"loop{self.loops}"
        self.loops += 1
        before = self.word("before")
        self.emit(f"br label {before}\n{before[1:]}:\nbr label %{name}\n{name}:")
        self.emit(f"%{name}.i = phi i64 [ 0, {before} ], [ %{name}.next, %{name} ]")
        places = []
        for index in table:
            steps = np.diff(index)
            if np.all(steps == steps[0]):
                places.append(self._moved(str(int(index[0])), int(steps[0]), f"%{name}.i"))
            else:
                self.tables.append(index)
                places.append(self._table_entry(len(self.tables) - 1, f"%{name}.i", 0))
        words = [self.load(leaf.base, place, True) for leaf, place in zip(leaves[:-1], places)]
        self.store(leaves[-1].base, places[-1], self.value(tree, words), True)
        self._close(name, str(table.shape[1]), number)

    # -- words -------------------------------------------------------------------------------------------------

    def word(self, kind: str) -> str:
        """A new word."""
        self.words += 1
        return f"%{kind}{self.words}"

    def _moved(self, base: str, stride: int, i: str) -> str:
        if stride == 0:
            return base
        word = i
        if stride != 1:
            word = self.word("s")
            self.emit(f"{word} = mul nsw i64 {i}, {stride}")
        if base == "0":
            return word
        place = self.word("s")
        self.emit(f"{place} = add nsw i64 {word}, {base}")
        return place

    def _table_entry(self, table: int, at: str, offset: int) -> str:
        place = at
        if offset:
            place = self.word("t")
            self.emit(f"{place} = add nuw nsw i64 {at}, {offset}")
        pointer, short, word = self.word("t"), self.word("t"), self.word("t")
        self.emit(
            f"{pointer} = getelementptr inbounds i32, ptr @table{table}, i64 {place}\n"
            f"{short} = load i32, ptr {pointer}, align 4, !llvm.access.group !0\n{word} = sext i32 {short} to i64"
        )
        return word

    def load(self, base: str, place: str, parallel: bool = False) -> str:
        """The number at a place."""
        pointer, word = self.word("p"), self.word("v")
        group = ", !llvm.access.group !0" if parallel else ""
        self.emit(
            f"{pointer} = getelementptr inbounds double, ptr {base}, i64 {place}\n"
            f"{word} = load double, ptr {pointer}, align 8{group}"
        )
        return word

    def store(self, base: str, place: str, value: str, parallel: bool = False) -> None:
        """Put a number at a place."""
        pointer = self.word("p")
        group = ", !llvm.access.group !0" if parallel else ""
        self.emit(
            f"{pointer} = getelementptr inbounds double, ptr {base}, i64 {place}\n"
            f"store double {value}, ptr {pointer}, align 8{group}"
        )

    def value(self, tree: object, words: list[str]) -> str:
        """Writes a tree; the word of its value."""
        if isinstance(tree, int):
            return words[tree]
        if isinstance(tree, str):
            return tree
        assert isinstance(tree, tuple)
        operation, left, right = tree
        a = self.value(left, words)
        b = "" if right is None else self.value(right, words)
        self.written += 1
        word = self.word("v")
        if operation in POWERS and not self.style.strict and isinstance(right, str):
            lines = power(word, a, _number(right))
            if lines is not None:
                self.calls.add("llvm.sqrt.f64")
                self.emit(lines)
                return word
        written = self.operations[operation]
        self.calls.update(written.calls)
        lines = written.write(word, a, b)
        if self.style.fuse and not self.style.strict:
            # a·b + c may be rounded once.
            for name in ("fadd", "fsub", "fmul"):
                lines = lines.replace(f" = {name} double", f" = {name} contract double")
        self.emit(lines)
        return word


def _number(text: str) -> float:
    return float(np.array([int(text, 16)], np.uint64).view(float)[0])


def _runs(table: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where runs of constant strides begin, their lengths, and the strides, a column for each run."""
    steps = np.diff(table, axis=1)
    count = table.shape[1]
    # A step that differs from the one before ends a run, unless that run has just begun.
    changes = np.flatnonzero((np.diff(steps, axis=1) != 0).any(axis=0)) + 1
    starts, previous = [0], 0
    for change in changes.tolist():
        if change > previous:
            starts.append(change + 1)
            previous = change + 1
    begins = np.array([s for s in starts if s < count])
    lengths = np.diff(np.append(begins, count))
    strides = steps[:, np.minimum(begins, count - 2)]
    return begins, lengths, np.where(lengths == 1, 0, strides)
