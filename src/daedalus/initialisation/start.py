"""A consistent start: values by name, each marked given, guessed or computed, with what is left of every equation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.analysis.points.operating_point import OperatingPoint, names_of
from daedalus.errors import InputError
from daedalus.initialisation.wording import number
from daedalus.model.lazy_values import cached_property
from daedalus.model.names import counted, derivative_name, listed, split_derivative, split_index
from daedalus.model.system.system import System

# Rows that are printed.
# Residuals below this are printed as zero: rounding of numbers near one makes them.
PRINTED_AS_ZERO = 1e-14
MOST_ROWS = 40
# Constraints that are off by less at the guess are not mentioned.
CLOSED = 1e-9


class Origin(Mapping[str, "str | np.ndarray"]):
    """Where the value of each name comes from: "given", "guessed" or "computed"; an array for names with elements."""

    def __init__(self, system: System, words: Mapping[str, Sequence[str]]) -> None:
        self._system, self._words = system, {letter: tuple(entries) for letter, entries in words.items()}
        self._names = [name for name, place in system.places.items() if place.letters[0] in words]

    def __getitem__(self, name: str) -> str | np.ndarray:
        place = self._system.place(name)
        if place.letters[0] not in self._words:
            raise InputError(f"{name} has no origin.", "it is an input or a parameter, which come from outside")
        flat = [self._words[letter][k] for letter, k in zip(place.letters, place.positions)]
        return flat[0] if place.shape == () else np.array(flat).reshape(place.shape, order="F")

    def __contains__(self, name: object) -> bool:
        # An output, an input or a parameter has none, whatever it is in another form of the model.
        try:
            return isinstance(name, str) and self[name] is not None
        except InputError:
            return False

    def of_entries(self, letter: str) -> tuple[str, ...]:
        """The word for each entry of x, z or x'; nothing for other vectors."""
        return self._words.get(letter, ())

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return repr({name: word if isinstance(word := self[name], str) else word.tolist() for name in self})


@dataclass(frozen=True)
class MovedOnto:
    """States of a run that lay on the constraints to its tolerance only, and the largest share they moved by."""

    names: tuple[str, ...]
    share: float

    def __str__(self) -> str:
        return f"{listed(list(self.names))} moved by up to {number(self.share, 2)} of their size onto the constraints"


class Start(OperatingPoint):
    """Consistent start values, as returned by `dd.initialise`.

    `s["x"]` and `s["x_dot"]` are values by name, and `s.der("x")` is a derivative. You can pass it as `start=` to
    `dd.simulate` and as `at=` to `dd.linearise`.

    residual: the residual of every equation and hidden constraint, by name. origin: "given", "guessed" or "computed".
    free: one dict per free direction, with the change of each name. undetermined: names that no equation
    determines although all states are known. iterations: Newton steps. notes: special steps that were taken.
    closure: how far each joint, constraint or invariant was from being satisfied at the guess: the norm of its
    residual, by name. moved: how far the states of a run were moved onto the constraints.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("tank")
    >>> h = m.state("h", start=4.0); q = m.algebraic("q")
    >>> m.equation(m.der(h), -q, name="balance"); m.equation(q**2, h, name="outlet")
    >>> s = dd.initialise(m, {"q": 1.5}, free=["q"])
    >>> s["q"], s.der("h"), s.origin["h"], s.origin["q"], s.residual
    (2.0, -2.0, 'given', 'computed', {'balance': 0.0, 'outlet': 0.0})
    >>> print(s)
    Start of 'tank' at t = 0: 1 value given, 2 computed
      name   value  derivative  origin
      h          4          -2  given
      q          2              computed
      largest residual 0 in balance
    """

    def __init__(
        self,
        system: System,
        vectors: Mapping[str, np.ndarray],
        origin: Mapping[str, Sequence[str]],
        residual: Mapping[str, float],
        free: Sequence[Mapping[str, float]] = (),
        undetermined: Sequence[str] = (),
        iterations: int = 0,
        notes: Sequence[str] = (),
        closure: Mapping[str, float] | None = None,
        moved: MovedOnto | None = None,
    ) -> None:
        super().__init__(system, vectors)
        self._names = tuple(names_of(system, "x"))
        self.origin = Origin(system, origin)
        self.residual = dict(residual)
        self.free = tuple(dict(direction) for direction in free)
        self.undetermined = tuple(undetermined)
        self.iterations = iterations
        self.notes = tuple(notes)
        self.closure = dict(closure or {})
        self.moved = moved
        self._frozen = True

    def __setattr__(self, name: str, value: object) -> None:
        if self.__dict__.get("_frozen"):
            raise AttributeError("a Start is frozen: dd.initialise makes another")
        super().__setattr__(name, value)

    def _repr_html_(self) -> str:
        from daedalus.display.cards.result_cards import start_card

        return start_card(self)

    def to_latex(self) -> str:
        """A table of all values and where they come from, in LaTeX."""
        from daedalus.display.formulas.object_latex import start_latex

        return start_latex(self)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.system.places)

    @cached_property
    def row(self) -> np.ndarray:
        """(x, z, x') as one vector, which implicit methods begin with."""
        row = np.concatenate([self.vectors[letter] for letter in ("x", "z", "xdot")])
        row.setflags(write=False)
        return row

    def der(self, name: str) -> float | np.ndarray:
        """The time derivative of a state, of an element of one, or of a derivative that is a state itself."""
        stem, _ = split_index(name)
        origin, order = split_derivative(stem)
        wanted = derivative_name(origin, order + 1) + name[len(stem) :]
        self.system.place(name)
        try:
            return self[wanted]
        except InputError:
            raise InputError(
                f"{name} has no derivative in this start.",
                "derivatives of states are determined, those of algebraic variables, inputs and parameters are not",
                remedy=f's["{name}"] for its value',
            ) from None

    @property
    def largest_residual(self) -> float:
        """The largest residual of all equations."""
        return max((abs(value) for value in self.residual.values()), default=0.0)

    def __repr__(self) -> str:
        return _printed(self)

    def __reduce__(self) -> tuple[Any, ...]:
        words = self.origin._words
        state = (self.residual, self.free, self.undetermined, self.iterations, self.notes, self.closure, self.moved)
        return type(self), (self.system, self.vectors, words, *state)

    def count(self, word: str) -> int:
        """How many values of states, algebraic variables and derivatives are "given", "guessed" or "computed".

        A derivative that is a state itself counts once.
        """
        labels: dict[str, str] = {}
        for letter in ("xdot", "z", "x"):
            labels.update(zip(self.system.labels[letter], self.origin._words[letter]))
        return sum(own == word for own in labels.values())

    def summary(self) -> str:
        """One line: how many values were given, guessed and computed."""
        parts = [(n, word) for word in ("given", "guessed", "computed") if (n := self.count(word))]
        told = [f"{n} {word}" for n, word in parts]
        if told:
            told[0] = f"{counted(parts[0][0], 'value')} {parts[0][1]}"
        return f"Start of {self.system.name!r} at t = {self.time:g}: {', '.join(told) or 'no values'}"


def _beside_rounding(residual: float) -> float:
    """A residual for print: zero where rounding alone made it."""
    return 0.0 if abs(residual) < PRINTED_AS_ZERO else residual


def _printed(start: Start) -> str:
    """Name, value, derivative and origin in columns, cut after so many rows, then what is special."""
    system, origin = start.system, start.origin._words
    lines = [("name", "value", "derivative", "origin")]
    for letter in ("x", "z"):
        for k, label in enumerate(system.labels[letter]):
            rate = number(start.vectors["xdot"][k]) if letter == "x" else ""
            lines.append((label, number(start.vectors[letter][k]), rate, origin[letter][k]))
    hidden = len(lines) - 1 - MOST_ROWS
    lines = lines[: MOST_ROWS + 1]
    widths = [max(len(line[k]) for line in lines) for k in range(3)]
    text = [start.summary()]
    for name, value, rate, word in lines:
        text.append(f"  {name:<{widths[0]}}  {value:>{widths[1]}}  {rate:>{widths[2]}}  {word}".rstrip())
    if hidden > 0:
        text.append(f"  … and {hidden} more")
    if start.residual:
        worst = max(start.residual, key=lambda name: abs(start.residual[name]))
        text.append(f"  largest residual {number(_beside_rounding(start.largest_residual), 3)} in {worst}")
    open_ = {name: gap for name, gap in start.closure.items() if gap > CLOSED}
    if open_:
        worst_first = sorted(open_, key=lambda name: -open_[name])
        gaps = [f"{name} {number(open_[name], 3)}" for name in worst_first]
        text.append(f"  the guess was off by: {listed(gaps)}")
    if start.free:
        many = len(start.free)
        names = list(dict.fromkeys(name for direction in start.free for name in _states_in(start, direction)))
        what = "one value" if many == 1 else f"{many} values"
        text.append(f"  {what} may be chosen among {listed(names)}")
    if start.undetermined:
        text.append(f"  not determined by the equations: {listed(start.undetermined)}")
    text += [f"  {note}" for note in start.notes]
    return "\n".join(text)


def _states_in(start: Start, direction: dict[str, float]) -> list[str]:
    """The states that move along a direction, or all that does where no state moves."""
    states = [name for name in direction if name in start.system.labels["x"]]
    return states or list(direction)
