"""Names as users write them: `part.sub.name[i]`, which ones are allowed, and what a mistyped one probably meant."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress

from daedalus.errors import InputError, ModelError

_DERIVATIVE = re.compile(r"_(d+)ot$")
_INDEXED = re.compile(r"^(?P<name>[^\[\]]+)\[(?P<index>\s*\d+\s*(?:,\s*\d+\s*){0,2})\]$")

Shape = tuple[int, ...]


def check_name(name: object, what: str) -> str:
    """Return `name` if it may name a `what`, else raise a ModelError that says why not."""
    kind = with_article(what)
    if not isinstance(name, str):
        raise ModelError(
            f"{kind[0].upper()}{kind[1:]} needs a name.",
            f"got {name!r} where a text was expected",
            because="values, results and errors use names.",
            remedy='m.include("name", other)' if what == "part" else f'm.{what}("name", ...)',
        )
    if not all(_is_word(part) for part in name.split(".")):
        raise ModelError(
            f"{name!r} cannot name {kind}.",
            because="a name is made of letters, digits and underscores, with dots between the parts.",
            remedy=f"{suggest_name(name)!r}",
        )
    if _DERIVATIVE.search(name):
        raise ModelError(
            f"The name {name!r} is reserved.",
            because="names that end in _dot, _ddot, ... mean the time derivatives of another variable.",
            remedy=f"m.der({_DERIVATIVE.sub('', name)}), or another name such as {_DERIVATIVE.sub('_rate', name)!r}",
        )
    return name


def _is_word(part: str) -> bool:
    """Letters, digits and underscores, no digit first; in any script, `λ` and `q₁` too."""
    starts_well = part[:1].isalpha() or part.startswith("_")
    return part.isidentifier() or (starts_well and re.fullmatch(r"\w+", part) is not None)


def suggest_name(name: str) -> str:
    """The nearest allowed name: `"motor speed"` becomes `"motor_speed"`."""
    parts = [re.sub(r"\W", "_", part) or "x" for part in name.split(".")]
    return ".".join(part if _is_word(part) else f"_{part}" for part in parts)


def with_article(kind: str) -> str:
    """A kind of thing in a sentence: `a state`, `an input`, `an algebraic variable`."""
    noun = "algebraic variable" if kind == "algebraic" else kind
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def split_index(name: str) -> tuple[str, tuple[int, ...] | None]:
    """Split `"q[1]"` into `("q", (1,))`; a name without brackets gives `(name, None)`."""
    if not isinstance(name, str):
        raise InputError(
            "Variables are read by name.", f"got {type(name).__name__} {name!r}"[:80], remedy='["x"], or ["x[0]"]'
        )
    match = _INDEXED.match(name)
    if match is None:
        return name, None
    return match["name"], tuple(int(k) for k in match["index"].split(","))


def split_derivative(name: str) -> tuple[str, int]:
    """Split `"q_ddot"` into `("q", 2)`."""
    match = _DERIVATIVE.search(name)
    return (name, 0) if match is None else (name[: match.start()], len(match[1]))


def is_inside(name: str, owner: str) -> bool:
    """Whether a name belongs to a part or joint.

    >>> is_inside("pin.angle_dot", "pin"), is_inside("pinion.angle", "pin")
    (True, False)
    """
    return name.split(".")[: owner.count(".") + 1] == owner.split(".") and name != owner


def derivative_name(name: str, order: int) -> str:
    """The name of a derivative: `("q", 2)` gives `"q_ddot"`."""
    return name if order == 0 else f"{name}_{'d' * order}ot"


def flat_index(shape: Shape, index: tuple[int, ...]) -> int | None:
    """The column-major position of an element, or None when the index lies outside the shape."""
    if shape == ():
        return 0 if index == (0,) else None
    whole = (*shape, 1) if len(shape) == 1 and len(index) == 2 else shape
    if len(index) != len(whole) or any(k >= size for k, size in zip(index, whole)):
        return None
    position = 0
    for k, size in zip(reversed(index), reversed(whole)):
        position = position * size + k
    return position


def element_label(name: str, shape: Shape, k: int) -> str:
    """The name of element k (column-major): `q`, `q[1]` or `R[0,2]`."""
    if shape == ():
        return name
    places = []
    for size in shape[:-1]:
        k, place = divmod(k, size)
        places.append(place)
    return f"{name}[{','.join(map(str, (*places, k)))}]"


def element_labels(name: str, shape: Shape) -> list[str]:
    """The names of all elements, column-major.

    Example
    -------
    >>> element_labels("q", (2,)), element_labels("R", (1, 2)), element_labels("x", ())
    (['q[0]', 'q[1]'], ['R[0,0]', 'R[0,1]'], ['x'])
    """
    if shape == ():
        return [name]
    if len(shape) == 1:
        return [f"{name}[{k}]" for k in range(shape[0])]
    behind = [""]
    for size in reversed(shape[1:]):
        behind = [f",{k}{rest}" for rest in behind for k in range(size)]
    return [f"{name}[{k}{rest}]" for rest in behind for k in range(shape[0])]


def matrix_of_shape(shape: Shape) -> tuple[int, int]:
    """Rows and columns of the symbol of a variable: later axes follow each other in the columns."""
    return (shape[0] if shape else 1), math.prod(shape[1:])


def shape_text(shape: Shape) -> str:
    """A shape in words: `a scalar`, `3 numbers`, `a 3 × 3 matrix`."""
    if shape == ():
        return "a scalar"
    if len(shape) == 1:
        return counted(shape[0], "number")
    return f"a {' × '.join(map(str, shape))} {'matrix' if len(shape) == 2 else 'field'}"


def seconds_text(seconds: float) -> str:
    """A time that something took, in a unit that suits it.

    Example
    -------
    >>> [seconds_text(t) for t in (3.2e-5, 0.0042, 0.25, 31.4, 400.0)]
    ['32 µs', '4.2 ms', '250 ms', '31.4 s', '6.67 min']
    """
    for limit, factor, unit in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms"), (120.0, 1.0, "s"), (7200.0, 1 / 60, "min")):
        if seconds < limit:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds / 3600:.3g} h"


def counted(count: int, noun: str) -> str:
    """A count in a sentence: `1 equation`, `2 equations`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(names: Iterable[object], most: int = 8) -> str:
    """Names in a sentence, the first few of many.

    >>> listed(["x", "y", "z"], 2)
    'x, y, …'
    """
    every = [str(name) for name in names]
    return ", ".join(every[:most]) + (", …" if len(every) > most else "")


def read_names(names: object, argument: str) -> list[str]:
    """A list of names from one name or several; what is no name is refused.

    Example
    -------
    >>> read_names("x", "outputs"), read_names(("x", "z[1]"), "outputs")
    (['x'], ['x', 'z[1]'])
    """
    if isinstance(names, str):
        return [names]
    every: list[str] | None = None
    if not isinstance(names, (bytes, Mapping)):
        with suppress(TypeError):  # one thing, or a symbol
            every = list(names)  # type: ignore[call-overload]
    if every is not None and all(isinstance(name, str) for name in every):
        return every
    raise InputError(f"{argument}= is a list of names.", f"got {names!r}"[:120], remedy=f'{argument}=["x", "z[1]"]')


def times_text(times: int) -> str:
    """How often, in words: `once`, `twice`, `3 times`; nothing for never."""
    return {0: "", 1: "once", 2: "twice"}.get(times, f"{times} times")


def did_you_mean(name: str, known: Iterable[str], listed: bool = True) -> str:
    """A remedy line for an unknown name: the closest known ones, or the choice among all.

    listed: whether the facts of the error list the known names already.
    """
    names = list(known)
    folded = {n.casefold(): n for n in names}
    close = difflib.get_close_matches(str(name).casefold(), folded, n=3, cutoff=0.6)
    if close:
        return " or ".join(repr(folded[n]) for n in close)
    if len(names) < 2:
        return repr(names[0]) if names else "declare it first"
    if listed:
        return "one of the names above"
    return "one of " + ", ".join(repr(n) for n in names[:8]) + (", …" if len(names) > 8 else "")
