"""LLVM text on lanes: words for values of several cases at once, `<W x double>` on a processor and `double` on a GPU.

A word names a value (a register or a constant). Nothing but +, −, ·, /, √, fma, comparisons, choices and whole-number
operations is written, none with a licence to reorder, so that every processor and every GPU rounds alike.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps

from daedalus.compilation.operations import literal

Word = str

# Adding and taking away this number rounds to a whole number, whose bits lie at the end of the sum's.
ROUNDER = 1.5 * 2.0**52
FRACTION = 52
# A function is put in where it is called, unless all its copies together would have more lines than this.
MOST_COPIED = 4000
KERNEL = "kernel"
# What is done rarely is taken to happen once in so many times: a case has some hundreds of steps.
SELDOM = 1000


def bits_of(value: float) -> int:
    """The bits of a double as a whole number."""
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


class LaneModule:
    """The functions of a kernel over lanes of one width, each written once and when it is first called.

    strict: every operation of a model is done as it is written and rounded on its own; else divisors are inverted,
    small constant powers are products, and products that feed one sum are fused with it.

    Example
    -------
    >>> module = LaneModule(2)
    >>> module.real, module.truth
    ('<2 x double>', '<2 x i1>')
    """

    def __init__(self, lanes: int = 1, most_copied: int = MOST_COPIED, strict: bool = False) -> None:
        self.lanes, self._most_copied, self.strict = lanes, most_copied, strict
        self.real, self.whole, self.truth = (self._wide(t) for t in ("double", "i64", "i1"))
        self.declared: set[str] = set()
        self.constants: dict[str, str] = {}
        self._functions: dict[str, list[str]] = {}
        self._calls: dict[str, dict[str, int]] = {}  # how often a function is called, by caller

    def _wide(self, kind: str) -> str:
        return kind if self.lanes == 1 else f"<{self.lanes} x {kind}>"

    @property
    def suffix(self) -> str:
        """How LLVM's own functions over these lanes end."""
        return "f64" if self.lanes == 1 else f"v{self.lanes}f64"

    def define(
        self,
        name: str,
        caller: str,
        operands: int,
        results: int,
        write: Callable[[LaneText, list[Word]], Sequence[Word]],
    ) -> str:
        """The name of a function of so many operands and results, written by `write` where it is not known yet.

        caller: the function that it may be put into; empty where it is only called.
        """
        kind = self.struct(results)

        def written(body: LaneText) -> Word:
            found = write(body, [f"%a{k}" for k in range(operands)])
            return body.packed(found) if results > 1 else found[0]

        return self.routine(name, caller, ", ".join(f"{self.real} %a{k}" for k in range(operands)), written, kind)

    def routine(self, name: str, caller: str, parameters: str, write: Callable[[LaneText], Word], kind: str) -> str:
        """The name of a function whose parameters and whose result have types of their own; caller as above."""
        calls = self._calls.setdefault(name, {})
        if caller:
            calls[caller] = calls.get(caller, 0) + 1
        if name not in self._functions:
            body = LaneText(self, name)
            found = write(body)
            head = f"define internal {kind} @{name}({parameters}) #0 {{"
            self._functions[name] = [head, *body.whole_text(), f"ret {kind} {found}", "}"]
        return name

    def _copies(self, name: str) -> int:
        """How many copies of a function there are, with those of its callers."""
        if name == KERNEL:
            return 1
        return sum(n * (self._copies(c) if self._is_put_in(c) else 1) for c, n in self._calls[name].items())

    def _is_put_in(self, name: str) -> bool:
        return name == KERNEL or len(self._functions[name]) * self._copies(name) <= self._most_copied

    def struct(self, count: int) -> str:
        """The type of so many results together."""
        return self.real if count == 1 else f"{{ {', '.join([self.real] * count)} }}"

    def text(self, kernel: Sequence[str]) -> str:
        """The whole module: constants, functions, and the kernel itself."""
        functions = []
        for name, (head, *lines) in self._functions.items():
            functions += [head.replace("#0", "#1") if self._is_put_in(name) else head, *lines]
        constants = [f"@{name} = internal constant {value}" for name, value in self.constants.items()]
        attributes = ["attributes #0 = { nounwind noinline }", "attributes #1 = { nounwind alwaysinline }"]
        attributes += ["attributes #2 = { noinline }", f'!0 = !{{!"branch_weights", i32 1, i32 {SELDOM}}}']
        return "\n".join([*constants, *functions, *kernel, *sorted(self.declared), *attributes, ""])


class Cell:
    """A place whose word changes as a kernel runs."""

    def __init__(self, body: LaneText, name: str, kind: str) -> None:
        self._body, self.name, self.kind = body, name, kind

    @property
    def now(self) -> Word:
        """The present word."""
        return self._body.line(f"load {self.kind}, ptr {self.name}")

    def set(self, word: Word) -> None:
        """Put another word there."""
        self._body.raw(f"store {self.kind} {word}, ptr {self.name}")

    def set_where(self, mask: Word, word: Word) -> None:
        """Put another word into the lanes of a mask."""
        now = self.now
        self.set(self._body.line(f"select {self._body.module.truth} {mask}, {self.kind} {word}, {self.kind} {now}"))


class LaneText:
    """The text of one function; an operation that was written before in the same block is not written again."""

    def __init__(self, module: LaneModule, name: str = KERNEL) -> None:
        self.module, self.name = module, name
        self.real, self.whole, self.truth = module.real, module.whole, module.truth
        self._cells: list[str] = []
        self._lines: list[str] = []
        self._known: dict[str, Word] = {}
        self._count = 0

    def whole_text(self) -> list[str]:
        """All lines, the places of cells first."""
        return [*self._cells, *self._lines]

    # -- lines, cells, blocks ----------------------------------------------------------------------------------------

    def raw(self, line: str) -> None:
        """A line that leaves no value."""
        self._lines.append(line)

    def _new(self, kind: str = "v") -> str:
        self._count += 1
        return f"%{kind}{self._count}"

    def line(self, text: str) -> Word:
        """The value of a line that reads what may have changed."""
        word = self._new()
        self._lines.append(f"{word} = {text}")
        return word

    def put(self, text: str) -> Word:
        """The value of a line that always gives the same."""
        if text not in self._known:
            self._known[text] = self.line(text)
        return self._known[text]

    def cell(self, kind: str | None = None) -> Cell:
        """A new cell, for a real word over all lanes unless told."""
        name, kind = self._new("cell"), kind or self.real
        self._cells.append(f"{name} = alloca {kind}")
        return Cell(self, name, kind)

    def memory(self, words: int) -> Word:
        """The address of room for so many words over all lanes."""
        name = self._new("memory")
        self._cells.append(f"{name} = alloca [{words} x {self.real}]")
        return name

    def label(self, name: str) -> None:
        """Begin a block; what was written before need not have been passed."""
        self._known = {}
        self._lines.append(f"{name}:")

    @contextmanager
    def when(self, condition: Word, rarely: bool = False) -> Iterator[None]:
        """What follows is done where a single condition holds; rarely: so that registers are kept for the rest."""
        name = self._new("when")[1:]
        mark = ", !prof !0" if rarely else ""
        self.raw(f"br i1 {condition}, label %{name}, label %{name}.end{mark}")
        self.label(name)
        yield
        self.raw(f"br label %{name}.end")
        self.label(f"{name}.end")

    @contextmanager
    def repeat(self, condition: Callable[[], Word]) -> Iterator[None]:
        """What follows is repeated as long as a single condition holds."""
        name = self._new("loop")[1:]
        self.raw(f"br label %{name}")
        self.label(name)
        self.raw(f"br i1 {condition()}, label %{name}.body, label %{name}.end")
        self.label(f"{name}.body")
        yield
        self.raw(f"br label %{name}")
        self.label(f"{name}.end")

    # -- constants -----------------------------------------------------------------------------------------------

    def num(self, value: float) -> Word:
        """A real constant in all lanes."""
        word = literal(value)
        return word if self.module.lanes == 1 else f"splat (double {word})"

    def whole_num(self, value: int) -> Word:
        """A whole constant in all lanes."""
        return str(value) if self.module.lanes == 1 else f"splat (i64 {value})"

    def spread(self, word: Word, kind: str = "double") -> Word:
        """A single value in all lanes."""
        if self.module.lanes == 1:
            return word
        wide = f"<{self.module.lanes} x {kind}>"
        one = self.put(f"insertelement {wide} poison, {kind} {word}, i32 0")
        places = f"<{self.module.lanes} x i32> zeroinitializer"
        return self.put(f"shufflevector {wide} {one}, {wide} poison, {places}")

    # -- arithmetic ----------------------------------------------------------------------------------------------

    def add(self, a: Word, b: Word) -> Word:
        """a + b."""
        return self.put(f"fadd {self.real} {a}, {b}")

    def sub(self, a: Word, b: Word) -> Word:
        """a − b."""
        return self.put(f"fsub {self.real} {a}, {b}")

    def mul(self, a: Word, b: Word) -> Word:
        """a · b."""
        return self.put(f"fmul {self.real} {a}, {b}")

    def div(self, a: Word, b: Word) -> Word:
        """a / b."""
        return self.put(f"fdiv {self.real} {a}, {b}")

    def neg(self, a: Word) -> Word:
        """−a."""
        return self.put(f"fneg {self.real} {a}")

    def own(self, name: str, *operands: Word) -> Word:
        """One of LLVM's own functions."""
        kinds = ", ".join([self.real] * len(operands))
        self.module.declared.add(f"declare {self.real} @llvm.{name}.{self.module.suffix}({kinds})")
        given = ", ".join(f"{self.real} {a}" for a in operands)
        return self.put(f"call {self.real} @llvm.{name}.{self.module.suffix}({given})")

    def fma(self, a: Word, b: Word, c: Word) -> Word:
        """a · b + c in one rounding."""
        return self.own("fma", a, b, c)

    def sqrt(self, a: Word) -> Word:
        """√a."""
        return self.own("sqrt", a)

    def abs(self, a: Word) -> Word:
        """|a|."""
        return self.own("fabs", a)

    def floor(self, a: Word) -> Word:
        """The largest whole number up to a."""
        return self.own("floor", a)

    def copysign(self, a: Word, b: Word) -> Word:
        """|a| with the sign of b."""
        return self.own("copysign", a, b)

    def polynomial(self, x: Word, coefficients: Sequence[float]) -> Word:
        """Σ c_k x^k."""
        y = self.num(coefficients[-1])
        for c in coefficients[-2::-1]:
            y = self.fma(y, x, self.num(c))
        return y

    # -- choices ---------------------------------------------------------------------------------------------------

    def compare(self, how: str, a: Word, b: Word) -> Word:
        """A mask of the lanes where a comparison holds: olt, ole, ogt, oge, oeq, une, uno."""
        return self.put(f"fcmp {how} {self.real} {a}, {b}")

    def both(self, a: Word, b: Word) -> Word:
        """Where two masks hold."""
        return self.put(f"and {self.truth} {a}, {b}")

    def either(self, a: Word, b: Word) -> Word:
        """Where one of two masks holds."""
        return self.put(f"or {self.truth} {a}, {b}")

    def unless(self, a: Word) -> Word:
        """Where a mask does not hold."""
        return self.put(f"xor {self.truth} {a}, {self.everywhere()}")

    def everywhere(self) -> Word:
        """A mask of all lanes."""
        return "true" if self.module.lanes == 1 else "splat (i1 true)"

    def choose(self, mask: Word, a: Word, b: Word) -> Word:
        """a where a mask holds, else b."""
        return a if a == b else self.put(f"select {self.truth} {mask}, {self.real} {a}, {self.real} {b}")

    def choose_whole(self, mask: Word, a: Word, b: Word) -> Word:
        """The same of whole numbers."""
        return self.put(f"select {self.truth} {mask}, {self.whole} {a}, {self.whole} {b}")

    def larger(self, a: Word, b: Word) -> Word:
        """The larger one; b where they cannot be compared."""
        return self.choose(self.compare("ogt", a, b), a, b)

    def smaller(self, a: Word, b: Word) -> Word:
        """The smaller one; b where they cannot be compared."""
        return self.choose(self.compare("olt", a, b), a, b)

    def any(self, mask: Word) -> Word:
        """Whether a mask holds in any lane, as one truth."""
        lanes = self.module.lanes
        if lanes == 1:
            return mask
        self.module.declared.add(f"declare i1 @llvm.vector.reduce.or.v{lanes}i1({self.truth})")
        return self.put(f"call i1 @llvm.vector.reduce.or.v{lanes}i1({self.truth} {mask})")

    # -- whole numbers -----------------------------------------------------------------------------------------------

    def integer(self, operation: str, a: Word, b: Word) -> Word:
        """add, sub, and, or, xor, shl, ashr, lshr of whole numbers."""
        return self.put(f"{operation} {self.whole} {a}, {b}")

    def whole_compare(self, how: str, a: Word, b: Word) -> Word:
        """A mask by whole numbers: eq, ne, slt."""
        return self.put(f"icmp {how} {self.whole} {a}, {b}")

    def as_int(self, a: Word) -> Word:
        """The bits of a real."""
        return self.put(f"bitcast {self.real} {a} to {self.whole}")

    def as_real(self, a: Word) -> Word:
        """The real of given bits."""
        return self.put(f"bitcast {self.whole} {a} to {self.real}")

    def nearest(self, x: Word, factor: float) -> tuple[Word, Word]:
        """x · factor rounded, as a real and as a whole number; below 2^51."""
        moved = self.fma(x, self.num(factor), self.num(ROUNDER))
        number = self.integer("sub", self.as_int(moved), self.whole_num(bits_of(ROUNDER)))
        return self.sub(moved, self.num(ROUNDER)), number

    # -- sums and products with their rounding errors ------------------------------------------------------------------

    def two_sum(self, a: Word, b: Word) -> tuple[Word, Word]:
        """a + b and what was rounded away (Knuth)."""
        s = self.add(a, b)
        back = self.sub(s, a)
        return s, self.add(self.sub(a, self.sub(s, back)), self.sub(b, back))

    def two_product(self, a: Word, b: Word) -> tuple[Word, Word]:
        """a · b and what was rounded away."""
        p = self.mul(a, b)
        return p, self.fma(a, b, self.neg(p))

    # -- memory ------------------------------------------------------------------------------------------------------

    def gather(self, base: Word, places: Word) -> Word:
        """The reals at places (whole words) behind an address."""
        lanes, real = self.module.lanes, self.real
        at = self.put(f"getelementptr double, ptr {base}, {self.whole} {places}")
        if lanes == 1:
            return self.line(f"load double, ptr {at}, align 8")
        pointers, name = f"<{lanes} x ptr>", f"llvm.masked.gather.v{lanes}f64.v{lanes}p0"
        self.module.declared.add(f"declare {real} @{name}({pointers}, i32, {self.truth}, {real})")
        return self.line(f"call {real} @{name}({pointers} {at}, i32 8, {self.truth} splat (i1 true), {real} poison)")

    def scatter(self, base: Word, places: Word, value: Word) -> None:
        """Put reals at places behind an address."""
        lanes = self.module.lanes
        at = self.put(f"getelementptr double, ptr {base}, {self.whole} {places}")
        if lanes == 1:
            return self.raw(f"store double {value}, ptr {at}, align 8")
        pointers, name = f"<{lanes} x ptr>", f"llvm.masked.scatter.v{lanes}f64.v{lanes}p0"
        self.module.declared.add(f"declare void @{name}({self.real}, {pointers}, i32, {self.truth})")
        return self.raw(f"call void @{name}({self.real} {value}, {pointers} {at}, i32 8, {self.truth} splat (i1 true))")

    # -- functions of the module ---------------------------------------------------------------------------------------

    def packed(self, words: Sequence[Word]) -> Word:
        """Several results as one value."""
        kind, whole = self.module.struct(len(words)), "poison"
        for k, word in enumerate(words):
            whole = self.put(f"insertvalue {kind} {whole}, {self.real} {word}, {k}")
        return whole

    def call(
        self,
        name: str,
        operands: Sequence[Word],
        results: int,
        write: Callable[[LaneText, list[Word]], Sequence[Word]],
        rare: bool = False,
    ) -> list[Word]:
        """The results of a function of the module, which `write` writes where it is not known yet.

        rare: it is never put in here, since this place is seldom reached.
        """
        known = self.module.define(name, "" if rare else self.name, len(operands), results, write)
        kind, mark = self.module.struct(results), " #2" if rare else ""
        whole = self.put(f"call {kind} @{known}({', '.join(f'{self.real} {a}' for a in operands)}){mark}")
        return [whole] if results == 1 else [self.put(f"extractvalue {kind} {whole}, {k}") for k in range(results)]


def called(name: str) -> Callable[[Callable[..., Word]], Callable[..., Word]]:
    """Lets what writes a word be a function of the module, under a name: its text stands there once."""

    def of_module(write: Callable[..., Word]) -> Callable[..., Word]:
        @wraps(write)
        def call(w: LaneText, *operands: Word) -> Word:
            return w.call(name, operands, 1, lambda body, given: [write(body, *given)])[0]

        return call

    return of_module
