"""A number that records how it was computed, so that a Python function leaves a formula behind.

A `TracedNumber` wraps one CasADi SX scalar. Arithmetic, comparisons and elementary functions give new traced numbers.
What would need the value itself (`float(x)`, `x` as an index) ends the trace with a reason; nothing ever turns into
NaN in silence. The truth of a comparison is a fork: the function runs once for each way through its branches, and the
ways are joined by selections, so `if x > 0:` becomes part of the formula (see `follow_all_paths`).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

import casadi as ca
import numpy as np

# Beyond these a trace costs more than it saves: runs of the function, forks on one way, operations in all.
MOST_PATHS = 64
MOST_FORKS = 24
MOST_OPERATIONS = 50_000

_NUMBERS = (float, int, np.floating, np.integer, np.bool_)
_thread = threading.local()


class UntraceableError(Exception):
    """Raised inside the traced function where a formula cannot follow it; its text is the reason."""


class Path:
    """One way through the branches of a function: the answers given and the questions asked so far."""

    def __init__(self, answers: list[bool]) -> None:
        self.answers = list(answers)
        self.questions: list[ca.SX] = []
        self.operations = 0
        self.refusal = ""

    def answer(self, question: ca.SX) -> bool:
        """The truth of a symbolic condition on this path; a new question is answered yes first."""
        if question.is_constant():
            return bool(float(question))
        for known, truth in zip(self.questions, self.answers):
            if ca.is_equal(known, question, 20):
                return truth
        if len(self.questions) == MOST_FORKS:
            refuse(f"more than {MOST_FORKS} branches depend on the state (a loop that ends by a condition?)")
        self.questions.append(question)
        if len(self.questions) > len(self.answers):
            self.answers.append(True)
        return self.answers[len(self.questions) - 1]


def refuse(reason: str) -> NoReturn:
    """End the trace of the running function; the reason stays on record even if the function catches the error."""
    path = getattr(_thread, "path", None)
    if path is not None and not path.refusal:
        path.refusal = reason
    raise UntraceableError(reason)


def follow_all_paths(run: Callable[[], list[ca.SX]]) -> list[ca.SX]:
    """The formulas of `run()`, which may ask for the truth of conditions; every way is taken once and joined.

    With the questions q1, q2, … of one run the value is q1 ? (q2 ? a : b) : c, each of a, b, c from a run of its own.
    """
    runs = 0
    operations = 0

    def follow(answers: list[bool]) -> list[ca.SX]:
        nonlocal runs, operations
        runs += 1
        if runs > MOST_PATHS:
            raise UntraceableError(f"more than {MOST_PATHS} ways lead through its branches")
        path = Path(answers)
        path.operations = operations
        before = getattr(_thread, "path", None)
        _thread.path = path
        try:
            values = run()
        finally:
            _thread.path = before
        operations = path.operations
        if path.refusal:
            raise UntraceableError(path.refusal)
        for i in reversed(range(len(answers), len(path.questions))):
            others = follow([*path.answers[:i], False])
            if len(others) != len(values):
                raise UntraceableError("its branches return different numbers of values")
            values = [_select(path.questions[i], yes, no) for yes, no in zip(values, others)]
        return values

    return follow([])


def _select(condition: ca.SX, yes: ca.SX, no: ca.SX) -> ca.SX:
    """Yes where the condition holds, else no; the branch not taken may hold NaN without harm."""
    if ca.is_equal(yes, no, 20):
        return yes
    first = ca.SX.binary(ca.OP_IF_ELSE_ZERO, condition, yes)
    second = ca.SX.binary(ca.OP_IF_ELSE_ZERO, ca.SX.unary(ca.OP_NOT, condition), no)
    return ca.SX.binary(ca.OP_ADD, first, second)


def symbolic(value: Any) -> ca.SX:
    """The SX scalar behind a traced number, a plain number or an array with one element."""
    if isinstance(value, TracedNumber):
        return value.sx
    if isinstance(value, _NUMBERS):
        return ca.SX(float(value))
    if isinstance(value, np.ndarray) and value.size == 1:
        return symbolic(value.item())
    if isinstance(value, ca.SX) and value.numel() == 1:
        return ca.densify(value)
    if isinstance(value, ca.DM) and value.numel() == 1:
        return ca.SX(float(value))
    refuse(f"a value of type {type(value).__name__} is not a real number")


def is_symbolic(value: Any) -> bool:
    """Whether a value depends on a symbol (a traced number or an SX)."""
    return isinstance(value, (TracedNumber, ca.SX))


def _unary(operation: int) -> Callable[[Any], TracedNumber]:
    return lambda a: TracedNumber(ca.SX.unary(operation, symbolic(a)))


def _binary(operation: int, condition: bool = False) -> Callable[[Any, Any], TracedNumber]:
    return lambda a, b: TracedNumber(ca.SX.binary(operation, symbolic(a), symbolic(b)), condition)


def _swapped(function: Callable[[Any, Any], TracedNumber]) -> Callable[[Any, Any], TracedNumber]:
    return lambda a, b: function(b, a)


def _operator(function: Callable[[Any, Any], TracedNumber]) -> Callable[[Any, Any], Any]:
    """A Python operator: plain numbers and traced numbers; arrays and everything else get their own turn."""

    def operate(self: TracedNumber, other: Any) -> Any:
        if isinstance(other, (TracedNumber, *_NUMBERS, ca.SX)):
            return function(self, other)
        return NotImplemented

    return operate


def _method(name: str) -> Callable[..., Any]:
    """A method that NumPy's object loops look for, such as x.sin()."""
    return lambda self, *others: FUNCTIONS[name](self, *others)


add = _binary(ca.OP_ADD)
subtract = _binary(ca.OP_SUB)
multiply = _binary(ca.OP_MUL)
divide = _binary(ca.OP_DIV)
power = _binary(ca.OP_POW)
less = _binary(ca.OP_LT, condition=True)
less_equal = _binary(ca.OP_LE, condition=True)
both = _binary(ca.OP_AND, condition=True)
either = _binary(ca.OP_OR, condition=True)


def equal(a: Any, b: Any) -> TracedNumber:
    """a == b; CasADi takes x == x for true, which is how code looks for NaN: refused."""
    left, right = symbolic(a), symbolic(b)
    if not left.is_constant() and ca.is_equal(left, right, 20):
        refuse("it compares a number with itself, to look for NaN")
    return TracedNumber(ca.SX.binary(ca.OP_EQ, left, right), condition=True)


def not_equal(a: Any, b: Any) -> TracedNumber:
    """a != b, with the same exception."""
    return opposite(equal(a, b))


def opposite(a: Any) -> TracedNumber:
    """True where the condition is false."""
    return TracedNumber(ca.SX.unary(ca.OP_NOT, symbolic(a)), condition=True)


def select(condition: Any, yes: Any, no: Any) -> Any:
    """`yes` where the condition holds, else `no`, for one element."""
    if not is_symbolic(condition):
        return yes if condition else no
    return TracedNumber(_select(symbolic(condition), symbolic(yes), symbolic(no)))


def maximum(a: Any, b: Any) -> Any:
    """NumPy's maximum: NaN if either is NaN (CasADi's fmax would drop it)."""
    return select(less_equal(b, a), a, select(less(a, b), b, add(a, b)))


def minimum(a: Any, b: Any) -> Any:
    """NumPy's minimum: NaN if either is NaN."""
    return select(less_equal(a, b), a, select(less(b, a), b, add(a, b)))


def remainder(a: Any, b: Any) -> Any:
    """Python's a % b, with the sign of b, from C's fmod exactly as NumPy does it."""
    rest = _binary(ca.OP_FMOD)(a, b)
    wrong_sign = both(not_equal(rest, 0.0), not_equal(less(rest, 0.0), less(b, 0.0)))
    return select(wrong_sign, add(rest, b), rest)


def floor_divide(a: Any, b: Any) -> Any:
    """Python's a // b: the quotient that belongs to `remainder`, rounded to the nearest whole number."""
    quotient = FUNCTIONS["floor"](add(divide(subtract(a, remainder(a, b)), b), 0.5))
    return select(equal(b, 0.0), divide(a, b), quotient)


def _round_to_even(a: Any) -> Any:
    """The nearest whole number, halves to the even one: a minus its IEEE remainder by 1."""
    return subtract(a, _binary(ca.OP_REMAINDER)(a, 1.0))


def _truncate(a: Any) -> Any:
    return multiply(FUNCTIONS["sign"](a), FUNCTIONS["floor"](FUNCTIONS["absolute"](a)))


def _heaviside(a: Any, at_zero: Any) -> Any:
    return select(equal(a, 0.0), at_zero, select(less(0.0, a), 1.0, 0.0))


# NumPy's names of elementwise functions, each for one element.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: _unary(getattr(ca, f"OP_{operation}"))
        for name, operation in {
            "sin": "SIN", "cos": "COS", "tan": "TAN", "arcsin": "ASIN", "arccos": "ACOS", "arctan": "ATAN",
            "sinh": "SINH", "cosh": "COSH", "tanh": "TANH", "arcsinh": "ASINH", "arccosh": "ACOSH", "arctanh": "ATANH",
            "exp": "EXP", "expm1": "EXPM1", "log": "LOG", "log1p": "LOG1P", "sqrt": "SQRT", "square": "SQ",
            "negative": "NEG", "absolute": "FABS", "fabs": "FABS", "sign": "SIGN", "floor": "FLOOR", "ceil": "CEIL",
            "erf": "ERF",
        }.items()
    },
    "add": add,
    "subtract": subtract,
    "multiply": multiply,
    "divide": divide,
    "power": power,
    "float_power": power,
    "positive": lambda a: a,
    "conjugate": lambda a: a,
    "arctan2": _binary(ca.OP_ATAN2),
    "hypot": _binary(ca.OP_HYPOT),
    "copysign": _binary(ca.OP_COPYSIGN),
    "fmod": _binary(ca.OP_FMOD),
    "fmax": _binary(ca.OP_FMAX),
    "fmin": _binary(ca.OP_FMIN),
    "maximum": maximum,
    "minimum": minimum,
    "clip": lambda a, low, high: minimum(maximum(a, low), high),
    "remainder": remainder,
    "floor_divide": floor_divide,
    "reciprocal": lambda a: divide(1.0, a),
    "log2": lambda a: divide(FUNCTIONS["log"](a), math.log(2.0)),
    "log10": lambda a: divide(FUNCTIONS["log"](a), math.log(10.0)),
    "exp2": lambda a: power(2.0, a),
    "cbrt": lambda a: multiply(FUNCTIONS["sign"](a), power(FUNCTIONS["absolute"](a), 1.0 / 3.0)),
    "deg2rad": lambda a: multiply(a, math.pi / 180.0),
    "radians": lambda a: multiply(a, math.pi / 180.0),
    "rad2deg": lambda a: multiply(a, 180.0 / math.pi),
    "degrees": lambda a: multiply(a, 180.0 / math.pi),
    "rint": _round_to_even,
    "trunc": _truncate,
    "heaviside": _heaviside,
    "expit": lambda a: divide(1.0, add(1.0, FUNCTIONS["exp"](FUNCTIONS["negative"](a)))),
    "greater": _swapped(less),
    "greater_equal": _swapped(less_equal),
    "less": less,
    "less_equal": less_equal,
    "equal": equal,
    "not_equal": not_equal,
    "logical_and": both,
    "logical_or": either,
    "logical_not": opposite,
    "logical_xor": lambda a, b: not_equal(opposite(a), opposite(b)),
    "bitwise_and": lambda a, b: _of_conditions(both, a, b),
    "bitwise_or": lambda a, b: _of_conditions(either, a, b),
    "invert": lambda a: _of_conditions(opposite, a),
}  # fmt: skip


def _of_conditions(function: Callable[..., Any], *values: Any) -> Any:
    for value in values:
        if not isinstance(value, (bool, np.bool_)) and not (isinstance(value, TracedNumber) and value.condition):
            refuse("a bitwise operation needs whole numbers")
    return function(*values)


class TracedNumber:
    """One real number known only as a formula; behaves like a NumPy float in arithmetic."""

    __slots__ = ("condition", "sx")
    __hash__ = None  # type: ignore[assignment]
    # What NumPy's functions give where they meet a number: the traced arrays know, and answer for it.
    answer_ufunc: ClassVar[Callable[[np.ufunc, str, tuple[Any, ...], dict[str, Any]], Any]]
    answer_function: ClassVar[Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]]

    def __init__(self, sx: ca.SX, condition: bool = False) -> None:
        self.sx = sx
        self.condition = condition
        path = getattr(_thread, "path", None)
        if path is not None:
            path.operations += 1
            if path.operations > MOST_OPERATIONS:
                refuse(f"it takes more than {MOST_OPERATIONS} scalar operations; NumPy's own arrays serve it better")

    __add__ = _operator(add)
    __radd__ = _operator(_swapped(add))
    __sub__ = _operator(subtract)
    __rsub__ = _operator(_swapped(subtract))
    __mul__ = _operator(multiply)
    __rmul__ = _operator(_swapped(multiply))
    __truediv__ = _operator(divide)
    __rtruediv__ = _operator(_swapped(divide))
    __pow__ = _operator(power)
    __rpow__ = _operator(_swapped(power))
    __mod__ = _operator(remainder)
    __rmod__ = _operator(_swapped(remainder))
    __floordiv__ = _operator(floor_divide)
    __rfloordiv__ = _operator(_swapped(floor_divide))
    __divmod__ = _operator(lambda a, b: (floor_divide(a, b), remainder(a, b)))  # type: ignore[arg-type,return-value]
    __lt__ = _operator(less)
    __le__ = _operator(less_equal)
    __gt__ = _operator(_swapped(less))
    __ge__ = _operator(_swapped(less_equal))
    __eq__ = _operator(equal)
    __ne__ = _operator(not_equal)
    __and__ = __rand__ = _operator(FUNCTIONS["bitwise_and"])
    __or__ = __ror__ = _operator(FUNCTIONS["bitwise_or"])
    __neg__ = _method("negative")
    __pos__ = _method("positive")
    __abs__ = _method("absolute")
    __invert__ = _method("invert")
    __floor__ = _method("floor")
    __ceil__ = _method("ceil")
    __trunc__ = _method("trunc")

    def __bool__(self) -> bool:
        path = getattr(_thread, "path", None)
        if path is None:
            refuse("the truth of a formula was asked for after its trace had ended")
        return path.answer(self.sx)

    def __float__(self) -> float:
        if self.sx.is_constant():
            return float(self.sx)
        refuse("it asks for the value of a number, by float(), math or an array of floats")

    def __int__(self) -> NoReturn:
        refuse("it turns a number into a whole one")

    def __index__(self) -> NoReturn:
        refuse("it uses a number as an index or a count")

    def __round__(self, digits: int | None = None) -> NoReturn:
        refuse("it rounds a number by round()")

    def __complex__(self) -> NoReturn:
        refuse("it computes with complex numbers")

    def __format__(self, specification: str) -> NoReturn:
        refuse("it writes numbers as text")

    def __str__(self) -> NoReturn:
        refuse("it writes numbers as text")

    def __repr__(self) -> str:
        return "TracedNumber"

    def __SX__(self) -> ca.SX:
        """CasADi's own functions take a traced number through this door."""
        return self.sx

    @property
    def real(self) -> TracedNumber:
        """The number itself."""
        return self

    @property
    def imag(self) -> float:
        """Zero: traced numbers are real."""
        return 0.0

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return TracedNumber.answer_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, options: Any) -> Any:
        return TracedNumber.answer_function(function, args, options)


# NumPy's loops over object arrays call x.sin() and the like.
for _name in FUNCTIONS:
    if not hasattr(TracedNumber, _name):
        setattr(TracedNumber, _name, _method(_name))
