"""What is known of a variable beside its symbol: kind, shape, unit, size, bounds and start value."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import ModelError
from daedalus.model.event_purpose import EventPurpose
from daedalus.model.guesses import GuessedStart, value_of
from daedalus.model.names import Shape, counted, element_label, shape_text
from daedalus.model.plain_numbers import without_unit
from daedalus.model.switching.schedule import Schedule
from daedalus.model.system.plain_record import PlainRecord
from daedalus.model.unit_labels import checked_unit, rate_unit

KINDS = ("state", "algebraic", "input", "parameter", "discrete")
CONTACTS = ("friction", "unilateral")
CALCULI = ("ito", "stratonovich")


@dataclass(frozen=True)
class NoiseLaw:
    """How an input is drawn: white noise by its spectral densities, sampled noise by its variances and its period."""

    spread: tuple[float, ...]  # one entry an element
    every: float = 0.0  # the time between two values; 0 for white noise
    calculus: str = "ito"  # one of CALCULI

    @property
    def is_white(self) -> bool:
        """Whether it is white noise, and not sampled."""
        return self.every == 0.0

    def to_record(self) -> dict[str, Any]:
        """The law as plain data, for files."""
        return {"spread": list(self.spread), "every": self.every, "calculus": self.calculus}

    @staticmethod
    def from_record(record: PlainRecord, size: int) -> NoiseLaw:
        """The inverse of `to_record`, with every entry checked."""
        record.only(NoiseLaw.__dataclass_fields__)
        spread: Any = record.numbers("spread", (size,))
        every = record.number("every")
        if any(value < 0 for value in spread) or not 0 <= every < math.inf:
            raise record.misfit("spread", "variances, and a period that is not negative", (spread, every))
        return NoiseLaw(spread, every, record.word("calculus", CALCULI))


@dataclass(frozen=True)
class Variable:
    """The description of one variable; `model.variables["x"]` gives it.

    `start`, `nominal`, `lower`, `upper` are column-major tuples with one entry an element; a `None` in `start` means
    that nothing was written. `rate` is the start value of the first derivative where it is a state of its own. `guess`
    is where a search for an unwritten start begins, zero where it is empty.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("tank")
    >>> h = m.state("level", start=0.5, unit="m")
    >>> m.variables["level"].unit, m.variables["level"].start
    ('m', (0.5,))
    """

    name: str
    kind: str  # one of KINDS
    shape: Shape = ()
    unit: str = ""
    start: tuple[float | None, ...] = ()
    rate: tuple[float | None, ...] = ()
    nominal: tuple[float, ...] = ()
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    guess: tuple[float, ...] = ()
    delayed: bool = False  # an input that a run writes itself, see `m.delay`
    noise: NoiseLaw | None = None  # of an input that is drawn, see `m.noise`

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def label(self, k: int) -> str:
        """The name of element k, as users write it."""
        return element_label(self.name, self.shape, k)

    def renamed(self, name: str) -> Variable:
        """The same description under another name; nothing is left to check, so that nothing is made anew."""
        own = object.__new__(Variable)
        own.__dict__.update(self.__dict__, name=name)
        return own

    def to_record(self) -> dict[str, Any]:
        """The description as plain data, for files."""
        record = {key: getattr(self, key) for key in self.__dataclass_fields__ if key not in ("delayed", "noise")}
        plain = {key: list(value) if isinstance(value, tuple) else value for key, value in record.items()}
        more: dict[str, Any] = {"delayed": True} if self.delayed else {}
        return plain | more | ({} if self.noise is None else {"noise": self.noise.to_record()})

    @staticmethod
    def from_record(record: PlainRecord) -> Variable:
        """The inverse of `to_record`, with every entry checked."""
        record.only(Variable.__dataclass_fields__)
        shape = tuple(record.integers("shape", lowest=1).tolist())
        if len(shape) > 3:
            raise record.misfit("shape", "at most three axes", shape)
        counts = (0, math.prod(shape))
        gaps: dict[str, Any] = {name: record.numbers(name, counts, gaps=True) for name in ("start", "rate")}
        whole: dict[str, Any] = {name: record.numbers(name, counts) for name in ("nominal", "lower", "upper", "guess")}
        delayed = "delayed" in record and record.flag("delayed")
        missing = record.word("kind", KINDS) == "state" and len(whole["nominal"]) < counts[1]
        if missing or not all(0 < size < math.inf for size in whole["nominal"]):
            raise record.misfit("nominal", "a positive size for every element", whole["nominal"])
        name, kind, unit = record.text("name"), record.word("kind", KINDS), record.text("unit")
        noise = NoiseLaw.from_record(record.part("noise"), counts[1]) if "noise" in record else None
        return Variable(name, kind, shape, unit, **gaps, **whole, delayed=delayed, noise=noise)


@dataclass(frozen=True)
class Code:
    """Python code of a clock: f(t, (values of reads), memory) -> ((values of writes), memory)."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    memory: object = field(default=None, compare=False)
    call: Callable[..., Any] | None = field(default=None, compare=False)  # None where it came from a file


@dataclass(frozen=True)
class Contact:
    """A contact whose mode an event changes: the kind of its law, and the name of its force.

    `name.mode` is its mode and `name.law` its equation. Outputs are `name.velocity` and `name.limit` of a friction,
    `name.gap`, `name.rate` and `name.restitution` of a unilateral constraint.
    """

    kind: str  # one of CONTACTS
    name: str
    weighed: bool = False  # its guard has the margin of its force

    @property
    def is_friction(self) -> bool:
        """Whether it is dry friction, and no unilateral constraint."""
        return self.kind == "friction"

    @property
    def happenings(self) -> tuple[str, str]:
        """The names of what may happen to it: it begins to hold, it lets go."""
        return (f"{self.name}.sticks", f"{self.name}.slips") if self.is_friction else (
            f"{self.name}.closes", f"{self.name}.opens")  # fmt: skip

    def happening(self, before: float, after: float) -> str:
        """What happened by its modes before and after: an impact closes a gap, also where it opens it again at once."""
        holds, lets_go = self.happenings
        return holds if (after == 0 if self.is_friction else after == 1 or before == 0) else lets_go


@dataclass(frozen=True)
class Manner:
    """What makes an event happen, beside its guard: which side of zero counts, the start, a schedule, Python code."""

    side: int = 0  # of a condition: 1 where it holds when its sides are equal, 2 where it does not; 0 for other guards
    at_start: bool = False  # a condition that holds at the start counts as becoming true
    schedule: Schedule | None = None  # instead of a guard
    after: tuple[str, ...] = ()  # clocks whose new values it reads
    code: Code | None = None
    contact: Contact | None = None  # whose modes and impulses are decided there

    def to_record(self) -> dict[str, Any]:
        """The manner as plain data; the code itself stays behind."""
        record: dict[str, Any] = {"side": self.side, "at_start": self.at_start, "after": list(self.after)}
        if self.schedule is not None:
            record["schedule"] = self.schedule.to_record()
        if self.code is not None:
            record["reads"], record["writes"] = list(self.code.reads), list(self.code.writes)
        if self.contact is not None:
            record["contact"], record["force"] = self.contact.kind, self.contact.name
        return record

    @staticmethod
    def from_record(record: PlainRecord) -> Manner:
        """The inverse of `to_record`, with every entry checked."""
        record.only(("side", "at_start", "after", "schedule", "reads", "writes", "contact", "force"))
        schedule = Schedule.from_record(record.part("schedule")) if "schedule" in record else None
        code = Code(tuple(record.texts("reads")), tuple(record.texts("writes"))) if "reads" in record else None
        contact = None
        if "contact" in record:
            contact = Contact(record.word("contact", CONTACTS), record.text("force"), weighed=True)
        side = record.integer("side", 0, 3)
        return Manner(side, record.flag("at_start"), schedule, tuple(record.texts("after")), code, contact)

    def prefixed(self, prefix: str) -> Manner:
        """The same inside another model, where names have a prefix."""
        code = self.code
        if code is not None and prefix:
            reads, writes = (tuple(prefix + name for name in names) for names in (code.reads, code.writes))
            code = replace(code, reads=reads, writes=writes)
        contact = None if self.contact is None else replace(self.contact, name=prefix + self.contact.name)
        return replace(self, after=tuple(prefix + name for name in self.after), code=code, contact=contact)


PLAIN = Manner()


@dataclass(frozen=True)
class Event:
    """The description of one event of a frozen system; the expressions live in the system."""

    name: str
    direction: int = 0
    terminal: bool = False
    resets: tuple[str, ...] = field(default=())  # names of what the event sets
    purpose: EventPurpose = EventPurpose.MODEL
    manner: Manner = PLAIN

    @property
    def is_clock(self) -> bool:
        """Whether a schedule makes it happen, and no guard."""
        return self.manner.schedule is not None


def check_shape(shape: object, name: str, most: int = 2) -> Shape:
    """Turn `()`, `3` or `(2, 2)` into a tuple; refuse everything else, and more than so many axes."""
    entries: list[Any] = [shape]
    if isinstance(shape, (tuple, list)) or (isinstance(shape, np.ndarray) and shape.ndim):
        entries = list(shape)
    try:
        result = tuple(operator.index(k) for k in entries)
    except TypeError:
        result = (0,)
    numbers = all(k > 0 for k in result) and not any(isinstance(k, bool) for k in entries)
    if len(result) > most and numbers:
        raise ModelError(
            f"{name} has {len(result)} axes.",
            f"its shape is {result}",
            because="states, algebraic variables and parameters have three axes at most, all others two.",
            remedy=f"a column of {math.prod(result)} cells, coupled by a SciPy matrix: dd.matrix_product(A, {name})",
        )
    if not numbers:
        raise ModelError(
            f"{shape!r} is not a valid shape for {name}.",
            because="a shape is () for a scalar, a whole number for a column, or (rows, columns).",
            remedy="3 for a column of three numbers, (2, 2) for a matrix",
        )
    return result


def shape_of_values(values: object, name: str) -> Shape:
    """The shape that numbers come in; a CasADi column counts as a column, not as a matrix."""
    entries = _as_array(values, name, "value")
    if isinstance(values, ca.DM) and entries.shape[1] == 1:
        return () if entries.shape[0] == 1 else entries.shape[:1]
    return check_shape(entries.shape, name, 3)


def flatten_values(
    values: object, shape: Shape, name: str, what: str, *, allow_none: bool = False, allow_infinite: bool = False,
    unit: str = "",
) -> tuple[float | None, ...]:  # fmt: skip
    """Numbers for a variable of this shape, column-major; one number fills every element, quantities are in `unit`.

    Raises a ModelError that names the variable on a wrong shape, on NaN, and on things that are no numbers.
    """
    size = math.prod(shape)
    if values is None:
        return (None,) * size
    quick = np.asarray(values, dtype=float) if type(values) is float else values
    if type(quick) is np.ndarray and quick.dtype == float and np.isfinite(quick).all():
        if quick.ndim == 0:
            return (float(quick),) * size
        if quick.shape == shape:
            return tuple(quick.flatten(order="F").tolist())
    entries = _as_array(without_unit(values, unit, name), name, what)
    if entries.ndim == 0:
        flat = [entries.item()] * size
    else:
        # A list and a single column are the same thing, and so are a scalar and a list of one.
        given = entries.shape[:1] if entries.ndim == 2 and entries.shape[1] == 1 else entries.shape
        wanted = shape[:1] if len(shape) == 2 and shape[1] == 1 else shape or (1,)
        if given != wanted:
            raise ModelError(
                f"The {what} of {name} has the wrong shape.",
                f"{name} is {shape_text(shape)}; the {what} given has shape {entries.shape}",
                because="every element takes one number.",
                remedy=_shape_remedy(shape),
            )
        flat = list(entries.flatten(order="F"))
    return tuple(
        _as_number(value, element_label(name, shape, k), what, allow_none, allow_infinite)
        for k, value in enumerate(flat)
    )


def _as_array(values: object, name: str, what: str) -> np.ndarray:
    """An object array of the entries, whatever container they came in."""
    if isinstance(values, ca.DM):
        values = values.full()
    array = np.empty(0, dtype=object)
    symbolic, ragged = type(values).__module__.startswith("casadi"), False
    try:
        array = array if symbolic else np.array(values, dtype=object)
        ragged = any(isinstance(entry, (list, tuple)) or getattr(entry, "ndim", 0) for entry in array.flat)
    except ValueError:
        ragged = True
    except TypeError:
        symbolic = True  # a vector of symbols inside a list
    if symbolic:
        raise ModelError(
            f"The {what} of {name} is an expression.",
            f"got {type(values).__name__} where numbers were expected",
            because="it must be known before anything is computed.",
            remedy="numbers; expressions go into m.equation",
        )
    if ragged:
        raise ModelError(
            f"The {what} of {name} has rows of different length.",
            f"got {values!r}"[:200],
            because="every element takes one number.",
            remedy="a rectangular array",
        )
    return array


def _as_number(value: object, label: str, what: str, allow_none: bool, allow_infinite: bool) -> float | None:
    if value is None and allow_none:
        return None
    number: float | None = None
    if isinstance(value, ca.DM) or not type(value).__module__.startswith("casadi"):
        try:
            number = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError, RuntimeError):
            number = None
        except OverflowError:
            number = np.inf
    if number is None or isinstance(value, (str, bytes)):
        text = type(value).__name__ if type(value).__module__.startswith("casadi") else f"{value!r}"[:80]
        raise ModelError(
            f"The {what} of {label} is not a number.",
            f"got {text}",
            because="a guess has a meaning in start values of runs only."
            if isinstance(value, GuessedStart)
            else "text and expressions are not numbers.",
            remedy=repr(value.value) if isinstance(value, GuessedStart) else "a finite number",
        )
    if np.isnan(number) or (np.isinf(number) and not allow_infinite):
        consequence = "a run cannot begin from" if what == "start value" else "nothing can be computed from"
        raise ModelError(
            f"The {what} of {label} is {number}.",
            because=f"{consequence} a value that is not finite.",
            remedy="a finite number",
        )
    return number


def _shape_remedy(shape: Shape) -> str:
    if shape == ():
        return "one number"
    if len(shape) == 1:
        return f"a list of {counted(shape[0], 'number')}, or one number for all"
    if len(shape) == 3:
        return f"an array of shape {shape}, or one number for all"
    return f"a list of {counted(shape[0], 'row')} with {counted(shape[1], 'number')} each, or one number for all"


def make_variable(
    name: str,
    kind: str,
    shape: Shape,
    *,
    start: object = None,
    rate: object = None,
    unit: str = "",
    nominal: object = 1.0,
    lower: object = None,
    upper: object = None,
) -> Variable:
    """Check all that was said of a variable and put it on record."""
    what = "value" if kind == "parameter" else "start value"
    label = checked_unit(unit, name)
    starts = flatten_values(value_of(start), shape, name, what, allow_none=True, unit=label)
    guessed = _filled(starts, 0.0) if isinstance(start, GuessedStart) else ()
    if guessed:
        starts = (None,) * len(starts)
    rates = flatten_values(rate, shape, name, "rate", allow_none=True, unit=rate_unit(label, 1))
    sizes = _filled(flatten_values(nominal, shape, name, "nominal value", unit=label), 1.0)
    bounds = {"allow_none": True, "allow_infinite": True, "unit": label}
    low = _filled(flatten_values(lower, shape, name, "lower bound", **bounds), -np.inf)  # type: ignore[arg-type]
    high = _filled(flatten_values(upper, shape, name, "upper bound", **bounds), np.inf)  # type: ignore[arg-type]
    if lower is None and upper is None and min(sizes, default=1.0) > 0:
        return Variable(name, kind, shape, label, starts, rates, sizes, low, high, guessed)
    for k, value in enumerate(starts):
        element = element_label(name, shape, k)
        if sizes[k] <= 0:
            raise ModelError(
                f"The nominal value of {element} is {sizes[k]:g}.",
                because="it is the usual size of the variable and scales its error, so it is positive.",
                remedy="nominal=1.0",
            )
        if low[k] > high[k]:
            raise ModelError(
                f"The bounds of {element} are crossed.",
                f"lower {low[k]:g}, upper {high[k]:g}",
                because="no value is between them.",
                remedy=f"lower={high[k]:g}, upper={low[k]:g}",
            )
        if value is not None and not low[k] <= value <= high[k]:
            raise ModelError(
                f"The {what} of {element} is outside its bounds.",
                f"{value:g} is not between {low[k]:g} and {high[k]:g}",
                because="the bounds hold from the start.",
                remedy="change the value or the bounds",
            )
    return Variable(name, kind, shape, label, starts, rates, sizes, low, high, guessed)


def _filled(values: Sequence[float | None], default: float) -> tuple[float, ...]:
    unset = values.count(None)
    if unset == len(values):
        return (default,) * len(values)
    return tuple(default if value is None else float(value) for value in values) if unset else tuple(values)  # type: ignore[arg-type]
