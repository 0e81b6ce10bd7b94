"""From instruction columns to LLVM's text: one straight function, or many short ones that hand values on.

The text computes what CasADi's generated C would: int evaluate(const double** arg, double** res, long long* iw,
double* w, int mem), where a null pointer in arg means zeros and one in res means that nobody wants that output.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import casadi as ca

from daedalus.compilation.instructions import crossing_rows, needed_rows, use_counts
from daedalus.compilation.inverse_error_function import inverse_error_function
from daedalus.compilation.operations import COPIES, ZERO, literal, operand_count, operations, power
from daedalus.compilation.prologue import COMPARISON, EarlyPlaces, early_call, early_places, prologue
from daedalus.model.system.instruction_list import Instructions, UnknownOperationError

ENTRY = "evaluate"
ENTRY_PARAMETERS = "ptr noalias readonly %arg, ptr noalias readonly %res, ptr %iw, ptr noalias %w, i32 %mem"
_CHUNK_PARAMETERS = "ptr noalias readonly %arg, ptr noalias readonly %res, ptr noalias %w"
_INPUT, _OUTPUT, _CONST = ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST
_ADD, _SUB, _MUL, _SQ = ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_SQ
POWERS = (ca.OP_POW, ca.OP_CONSTPOW)

# An instruction that does nothing but keep loads and stores on their sides. LLVM compares each access with all that it
# may pass, in time that grows with the square of their number: 1400 plain copies took 1 s without and 0.1 s with this.
_FENCE = 'call void asm sideeffect "", ""()'
_ACCESSES_BETWEEN_FENCES = 24
_FILL = "llvm.memset.p0.i64"


class Style(NamedTuple):
    """How to write: strict or fast, with fused multiply-add or without, rows per chunk.

    seldom: inputs that seldom change; what follows from them is kept in the working memory from `base` on.
    """

    strict: bool
    fuse: bool
    chunk: int
    seldom: tuple[int, ...] = ()
    base: int = 0


class CodePlan:
    """What all chunks of a function share: which rows are needed, which are fused, which cross to a later chunk."""

    def __init__(self, rows: Instructions, style: Style) -> None:
        self.rows, self.strict = rows, style.strict
        self.operations = operations(style.strict)
        unknown = set(rows.operation) - self.operations.keys() - COPIES - {_INPUT, _OUTPUT, _CONST}
        if unknown:
            raise UnknownOperationError.named(unknown)
        self.needed = needed_rows(rows)
        self.crossing = crossing_rows(rows, self.needed, style.chunk) if len(rows) > style.chunk else set()
        # A sum -> the product that it swallows, and the swallowed products.
        self.swallows: dict[int, int] = {}
        if style.fuse and not style.strict:
            self._fuse(style.chunk)
        self.swallowed = set(self.swallows.values())
        self.early: frozenset[int] = frozenset()
        self.places: EarlyPlaces | None = None
        if style.seldom:
            self._hoist(style)

    def _hoist(self, style: Style) -> None:
        """Rows that are computed early; a product is rounded with its sum, wherever that is."""
        early = prologue(self.rows, style.seldom)
        early = early.without([b for a, b in self.swallows.items() if b in early.rows and a not in early.rows])
        if early.rows:
            self.early, self.places = early.rows, early_places(self.rows, early, style.chunk, style.base)

    def kept_at(self, row: int) -> int | None:
        """Where in the working memory an early value is kept."""
        return None if self.places is None else self.places.values.get(row)

    def chosen(self, start: int, stop: int, early: bool = False) -> Iterator[int]:
        """The rows of a chunk, computed early or at every call."""
        return (row for row in range(start, stop) if self.needed[row] and (row in self.early) == early)

    def _fuse(self, chunk: int) -> None:
        """Pair a·b ± c where nothing else reads the product and both rows lie in one chunk."""
        operation, first, second = self.rows.operation, self.rows.first, self.rows.second
        uses = use_counts(self.rows, self.needed)
        for row in range(len(self.rows)):
            if operation[row] in (_ADD, _SUB) and self.needed[row]:
                for product in (first[row], second[row]):
                    if operation[product] in (_MUL, _SQ) and uses[product] == 1 and product // chunk == row // chunk:
                        self.swallows[row] = product
                        break


class Chunk:
    """The lines of one chunk of rows, written in one pass, and what they refer to."""

    def __init__(self, plan: CodePlan, chosen: Iterable[int]) -> None:
        self.plan, self.rows = plan, plan.rows
        self.lines: list[str] = []
        self.calls: set[str] = set()
        self.inputs: set[int] = set()
        self.outputs: set[int] = set()
        # Row -> the word that stands for its value in this chunk: a register, or a number.
        self._words: dict[int, str] = {}
        # A swallowed product -> the words of its factors.
        self._factors: dict[int, tuple[str, str]] = {}
        # What has been computed -> its word: the same operation on the same words is not done twice.
        self._known: dict[tuple[int | str, ...], str] = {}
        # Outputs that are zero: which output, and which of its nonzeros.
        self._zeros: list[tuple[int, int]] = []
        self._accesses = 0
        for row in chosen:
            self._write(row)
        self._fill_zeros()

    def _write(self, row: int) -> None:
        rows, plan = self.rows, self.plan
        op = rows.operation[row]
        if op in (_INPUT, _CONST):
            return
        if op == _OUTPUT:
            self.outputs.add(rows.second[row])
            word = self.word(rows.first[row])
            if word == ZERO:
                self._zeros.append((rows.second[row], rows.slot[row]))
            else:
                self.store(row, f"%out{rows.second[row]}", rows.slot[row], word)
            return
        if row in plan.swallowed:
            a = self.word(rows.first[row])
            self._factors[row] = (a, self.word(rows.second[row]) if op == _MUL else a)
            return
        if op in COPIES:
            word = self.word(rows.first[row])
        elif row in plan.swallows:
            word = self._fused(row, op)
        else:
            word = self._plain(row, op)
        self._words[row] = word
        if (place := plan.kept_at(row)) is not None:
            self.store(row, "%w", place, word)
        elif row in plan.crossing and row not in plan.early:
            self.store(row, "%w", rows.slot[row], word)

    def _plain(self, row: int, op: int) -> str:
        """Write an operation on its own; the word of its value."""
        rows, second = self.rows, self.rows.second[row]
        a = self.word(rows.first[row])
        b = self.word(second) if second >= 0 else ""
        word = self._known.setdefault((op, a, b), f"%v{row}")
        if word != f"%v{row}":
            return word
        lines = None
        if op in POWERS and not self.plan.strict and rows.operation[second] == _CONST:
            lines = power(word, a, rows.constants[rows.first[second]])
        if lines is None:
            operation = self.plan.operations[op]
            self.calls.update(operation.calls)
            lines = operation.write(word, a, b)
        else:
            self.calls.add("llvm.sqrt.f64")
        self.lines.append(lines)
        return word

    def _fused(self, row: int, op: int) -> str:
        """Write a·b + c, a·b − c or c − a·b with one rounding; the word of its value."""
        product, first = self.plan.swallows[row], self.rows.first[row]
        a, b = self._factors[product]
        c = self.word(self.rows.second[row] if first == product else first)
        word = self._known.setdefault((op, a, b, c, "first" if first == product else "second"), f"%v{row}")
        if word != f"%v{row}":
            return word
        self.calls.add("llvm.fma.f64")
        call = f"{word} = call double @llvm.fma.f64(double "
        if op == _ADD:
            lines = f"{call}{a}, double {b}, double {c})"
        elif first == product:
            lines = f"{word}.n = fneg double {c}\n{call}{a}, double {b}, double {word}.n)"
        else:
            lines = f"{word}.n = fneg double {a}\n{call}{word}.n, double {b}, double {c})"
        self.lines.append(lines)
        return word

    def word(self, row: int) -> str:
        """The word for a value; loads it where this chunk meets it for the first time."""
        word = self._words.get(row)
        if word is None:
            rows = self.rows
            op = rows.operation[row]
            if op == _CONST:
                word = literal(rows.constants[rows.first[row]])
            elif op == _INPUT:
                self.inputs.add(rows.first[row])
                word = self._load(row, f"%in{rows.first[row]}", rows.second[row])
            else:
                place = self.plan.kept_at(row)
                word = self._load(row, "%w", rows.slot[row] if place is None else place)
            self._words[row] = word
        return word

    def _load(self, row: int, base: str, offset: int) -> str:
        self._access(
            f"%p{row} = getelementptr inbounds double, ptr {base}, i64 {offset}\n"
            f"%v{row} = load double, ptr %p{row}, align 8"
        )
        return f"%v{row}"

    def store(self, row: int | str, base: str, offset: int, word: str) -> None:
        """Put a word at a place; `row` names the address."""
        self._access(
            f"%q{row} = getelementptr inbounds double, ptr {base}, i64 {offset}\n"
            f"store double {word}, ptr %q{row}, align 8"
        )

    def _access(self, lines: str) -> None:
        self.lines.append(lines)
        self._accesses += 1
        if self._accesses % _ACCESSES_BETWEEN_FENCES == 0:
            self.lines.append(_FENCE)

    def _fill_zeros(self) -> None:
        """Write zeros, of which dense Jacobians are full, run by run."""
        self._zeros.sort()
        start = 0
        for end in range(1, len(self._zeros) + 1):
            output, nonzero = self._zeros[end - 1]
            if end < len(self._zeros) and self._zeros[end] == (output, nonzero + 1):
                continue
            first = self._zeros[start][1]
            self.calls.add(_FILL)
            self._access(
                f"%z{start} = getelementptr inbounds double, ptr %out{output}, i64 {first}\n"
                f"call void @{_FILL}(ptr align 8 %z{start}, i8 0, i64 {8 * (end - start)}, i1 false)"
            )
            start = end


def pointers(array: str, word: str, indices: Iterable[int], instead_of_null: str = "") -> list[str]:
    """Lines that take pointers out of arg or res; a null pointer becomes `instead_of_null` where that is given."""
    lines = []
    for i in sorted(indices):
        name = f"{word}{i}.given" if instead_of_null else f"{word}{i}"
        lines.append(f"{word}{i}.at = getelementptr inbounds ptr, ptr {array}, i64 {i}")
        lines.append(f"{name} = load ptr, ptr {word}{i}.at, align 8")
        if instead_of_null:
            lines.append(f"{word}{i}.null = icmp eq ptr {name}, null")
            lines.append(f"{word}{i} = select i1 {word}{i}.null, ptr {instead_of_null}, ptr {name}")
    return lines


def stand_ins(rows: Instructions) -> list[str]:
    """Memory behind null pointers: zeros to read from, and a place for results that nobody wants."""
    return [
        f"@zeros = global [{max(rows.size_in, default=0) + 1} x double] zeroinitializer",
        f"@unwanted = global [{max(rows.size_out, default=0) + 1} x double] zeroinitializer",
    ]


def declarations(calls: set[str], strict: bool) -> list[str]:
    """Lines that declare the functions that a module calls."""
    lines = []
    for symbol in sorted(calls):
        if symbol == "erfinv":
            lines.append(inverse_error_function(strict))
        elif symbol == _FILL:
            lines.append(f"declare void @{_FILL}(ptr, i8, i64, i1)")
        else:
            types = ", ".join(["double"] * operand_count(symbol))
            lines.append(f"declare double @{symbol}({types}) nounwind willreturn memory(none)")
    return lines


def _one_module(plan: CodePlan) -> str:
    chunk = Chunk(plan, plan.chosen(0, len(plan.rows)))
    calls, before, inputs = chunk.calls, list[str](), chunk.inputs
    lines = stand_ins(plan.rows)
    if plan.places is not None:
        early = Chunk(plan, plan.chosen(0, len(plan.rows), early=True))
        lines += function_of_chunk("early0", early, "@zeros")
        calls, inputs = calls | early.calls, inputs | {number for number, *_ in plan.places.inputs}
        before = early_call(plan.places, ["call void @early0(ptr %arg, ptr %res, ptr %w)"])
        lines.append(COMPARISON)
    lines += [
        f"define i32 @{ENTRY}({ENTRY_PARAMETERS}) nounwind {{",
        *pointers("%arg", "%in", inputs, "@zeros"),
        *pointers("%res", "%out", chunk.outputs, "@unwanted"),
        *before,
        *chunk.lines,
        "ret i32 0\n}",
        *declarations(calls, plan.strict),
    ]
    return "\n".join(lines)


def function_of_chunk(name: str, chunk: Chunk, instead_of_null: str = "") -> list[str]:
    """A chunk as a function of its own."""
    return [
        f"define void @{name}({_CHUNK_PARAMETERS}) nounwind noinline {{",
        *pointers("%arg", "%in", chunk.inputs, instead_of_null),
        *pointers("%res", "%out", chunk.outputs),
        *chunk.lines,
        "ret void\n}",
    ]


def entry_module(plan: CodePlan, early: Sequence[str], functions: Sequence[str]) -> str:
    """The function that replaces null pointers and calls others one after another, early ones where needed."""
    rows = plan.rows
    lines = [*stand_ins(rows), *([COMPARISON] if early else ()), f"define i32 @{ENTRY}({ENTRY_PARAMETERS}) nounwind {{"]
    for array, word, stand_in, count in (
        ("%arg", "%in", "@zeros", len(rows.size_in)),
        ("%res", "%out", "@unwanted", len(rows.size_out)),
    ):
        lines.append(f"{array}.safe = alloca ptr, i64 {count + 1}")
        lines += pointers(array, word, range(count), stand_in)
        for i in range(count):
            lines.append(f"{word}{i}.to = getelementptr inbounds ptr, ptr {array}.safe, i64 {i}")
            lines.append(f"store ptr {word}{i}, ptr {word}{i}.to, align 8")
    early_calls, calls = ([f"call void @{name}(ptr %arg.safe, ptr %res.safe, ptr %w)" for name in names]
                          for names in (early, functions))  # fmt: skip
    if plan.places is not None:
        lines += early_call(plan.places, early_calls)
    lines += [*calls, "ret i32 0\n}"]
    lines += [f"declare void @{name}(ptr, ptr, ptr)" for name in (*early, *functions)]
    return "\n".join(lines)


def _chunk_modules(plan: CodePlan, style: Style) -> Iterator[str]:
    """A module for each chunk; values that cross chunks travel in the work vector."""
    rows = plan.rows
    starts = range(0, len(rows), style.chunk)
    names: dict[bool, list[str]] = {True: [], False: []}
    for is_early in (True, False) if plan.early else (False,):
        for number, start in enumerate(starts):
            chunk = Chunk(plan, plan.chosen(start, min(len(rows), start + style.chunk), is_early))
            name = f"early{number}" if is_early else f"chunk{number}"
            names[is_early].append(name)
            yield "\n".join([*function_of_chunk(name, chunk), *declarations(chunk.calls, plan.strict)])
    yield entry_module(plan, names[True], names[False])


def modules(rows: Instructions, style: Style) -> Iterator[str]:
    """LLVM modules, one after another, that together define @evaluate.

    Raises UnknownOperationError, at once, when a row holds an operation that has no translation.

    Example
    -------
    >>> import casadi as ca
    >>> from daedalus.model.system.instruction_list import read_instructions
    >>> x = ca.SX.sym("x")
    >>> rows = read_instructions(ca.Function("f", [x], [ca.sin(x)]))
    >>> style = Style(strict=False, fuse=True, chunk=1000)
    >>> (text,) = modules(rows, style)
    >>> print("\\n".join(line for line in text.splitlines() if "llvm.sin" in line))
    %v1 = call double @llvm.sin.f64(double %v0)
    declare double @llvm.sin.f64(double) nounwind willreturn memory(none)
    """
    plan = CodePlan(rows, style)
    if len(rows) <= style.chunk:
        return iter((_one_module(plan),))
    return _chunk_modules(plan, style)
