"""A ready part: its keywords with units, and the model that it writes, made once and used for all parts of its kind."""

from __future__ import annotations

import inspect
import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from daedalus.errors import ModelError
from daedalus.model.names import did_you_mean
from daedalus.model.plain_numbers import without_unit


class _Required:
    def __repr__(self) -> str:
        return "..."


REQUIRED: Any = _Required()


@dataclass(frozen=True)
class Keyword:
    """A parameter of a ready part: unit, default, and which values make sense.

    needs: which numbers make sense, a key of `_CHECKS`. nominal: the usual size, which counts where the value is zero.
    option: what it is where it shapes the equations instead of being a number that may change between runs: "a switch"
    (True or False), "a word" of `words`, "a number", "numbers" (a list or a matrix), "a unit" of a signal.
    """

    unit: str = ""
    default: Any = REQUIRED
    needs: str = "any"
    option: str = ""
    words: tuple[str, ...] = ()
    nominal: float = 1.0
    symbol: str = ""  # what the parameter is called in the part, where that is not the keyword


_CHECKS: dict[str, Callable[[float], bool]] = {
    "any": lambda value: True,
    "positive": lambda value: value > 0,
    "not negative": lambda value: value >= 0,
    "not zero": lambda value: value != 0,
    "a share": lambda value: 0 < value <= 1,
    "between 0 and 1": lambda value: 0 <= value <= 1,
    "between -1 and 1, and not zero,": lambda value: 0 < abs(value) <= 1,
}


class Component(ABC):
    """A component, made with a name and keywords; connect it after `m.add`.

    A kind of component is a subclass with `keywords` and `_write(m, q)`, which writes the equations into the model `m`
    with the symbols `q.resistance`, ... of its parameters. A keyword takes a number, which stays a parameter of the
    component, or an expression in symbols of the model that the component is added to.
    """

    keywords: ClassVar[dict[str, Keyword]] = {}
    domain: ClassVar[str] = ""
    ideal: ClassVar[bool] = False  # fixes a quantity whatever is joined to it: sources and grounds
    _templates: ClassVar[dict[Any, Any]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        parameters = [inspect.Parameter("name", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
        for word, keyword in cls.keywords.items():
            default = inspect.Parameter.empty if keyword.default is REQUIRED else keyword.default
            parameters.append(inspect.Parameter(word, inspect.Parameter.KEYWORD_ONLY, default=default))
        cls.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        cls._templates = {}

    def __init__(self, name: str = "", *further: Any, **values: Any) -> None:
        if further or not isinstance(name, str) or not name:
            raise self._misused(name, *further)
        self.name = name
        for word in values:
            if word not in self.keywords:
                raise ModelError(
                    f"{type(self).__name__} {name!r} takes no {word!r}.",
                    f"it takes {', '.join(self.keywords) or 'a name only'}",
                    because="each kind of part has its own keywords, in SI units.",
                    remedy=did_you_mean(word, self.keywords),
                )
        self.options: dict[str, Any] = {}
        self.values: dict[str, Any] = {}
        for word, keyword in self.keywords.items():
            value = values.get(word)
            value = keyword.default if value is None else value
            if value is REQUIRED:
                self._refuse_missing(word)
            if keyword.option:
                self.options[word] = None if value is None else self._checked_option(word, value)
            else:
                self.values[word] = value
        self._check()
        self._check_values()

    def _check(self) -> None:
        """Refuse or complete combinations of keywords; nothing by default."""
        return

    @staticmethod
    @abstractmethod
    def _write(m: Any, q: Any) -> None:
        """Write ports and equations into the model `m` in the symbols of `q`."""

    @classmethod
    def title(cls) -> str:
        """What the part is, with its domain: `electrical.Resistor`."""
        return f"{cls.domain}.{cls.__name__}" if cls.domain else cls.__name__

    @classmethod
    def symbol(cls, word: str) -> str:
        """What the parameter of a keyword is called in the part."""
        return cls.keywords[word].symbol or word

    def unit(self, word: str) -> str:
        """The unit of a keyword."""
        return self.keywords[word].unit

    def _check_values(self) -> None:
        for word, value in self.values.items():
            if isinstance(value, (bool, np.bool_)):
                raise self._wrong_value(word, str(value), "a number")
            if isinstance(value, numbers.Real):
                self.check_number(word, float(value))

    def _checked_option(self, word: str, value: Any) -> Any:
        """What shapes the equations, refused where it is of another kind than the keyword."""
        keyword = self.keywords[word]
        if keyword.option == "a switch" and not isinstance(value, (bool, np.bool_)):
            raise self._wrong_value(word, repr(value), "True or False")
        if keyword.option == "a word" and not (isinstance(value, str) and value in keyword.words):
            raise self._wrong_value(word, repr(value), f"one of {', '.join(keyword.words)}")
        if keyword.option == "a unit" and not isinstance(value, str):
            raise self._wrong_value(word, repr(value), "a unit such as 'K'")
        if keyword.option in ("a number", "numbers"):
            found = _numbers(without_unit(value, keyword.unit, f"{self.name}.{word}"))
            if found is None or (keyword.option == "a number" and found.ndim):
                raise self._wrong_value(word, repr(value), "a number" if keyword.option == "a number" else "numbers")
            if keyword.option == "numbers":
                return found
            self.check_number(word, float(found))
            return float(found)
        return value

    def check_number(self, word: str, value: float) -> None:
        """Refuse a number that makes no sense for a keyword."""
        finite, needs = math.isfinite(value), self.keywords[word].needs
        if not finite or not _CHECKS[needs](value):
            raise self._wrong_value(word, f"{value:g}", needs if finite else "finite")

    def _wrong_value(self, word: str, value: str, needs: str) -> ModelError:
        return ModelError(
            f"The {word.replace('_', ' ')} of {self.name} is {value}.",
            f"{self.title()}({self.name!r}, {word}={value})",
            because=f"it is {needs} in every such part.",
            remedy=f"{word}={self._example(word)}",
        )

    def _example(self, word: str) -> str:
        """A value that a keyword takes, in Python."""
        keyword = self.keywords[word]
        return {
            "a switch": "True",
            "a word": repr((*keyword.words, "")[0]),
            "a unit": "'K'",
            "numbers": "[1.0, 2.0]",
        }.get(keyword.option, "1.0")

    @classmethod
    def _misused(cls, *given: object) -> ModelError:
        words = ", ".join(f"{word}=..." for word, own in cls.keywords.items() if own.default is REQUIRED)
        shown = f"{cls.__name__}({', '.join(map(repr, given))})" if given != ("",) else f"{cls.__name__}()"
        return ModelError(
            f"{cls.__name__} takes a name, and everything else by keyword.",
            f"got {shown}",
            because="values, results and errors use names.",
            remedy=f'{cls.title()}("part"{", " + words if words else ""})',
        )

    def _refuse_missing(self, word: str) -> None:
        unit = self.unit(word)
        raise ModelError(
            f"{type(self).__name__} {self.name!r} has no {word.replace('_', ' ')}.",
            f"{self.title()}({self.name!r}, {', '.join(f'{k}=...' for k in self.keywords)})",
            because=f"{word}= has no default.",
            remedy=f"{word}=1.0" + (f" in {unit}" if unit else ""),
        )

    def template(self, blank: Callable[[str], Any]) -> Any:
        """The model of this kind of part with these options, made on first use; parameters have no values in it."""
        given = tuple(word for word, value in self.values.items() if value is not None)
        key = (given, tuple((word, _hashable(value)) for word, value in self.options.items()))
        made = self._templates.get(key)
        if made is None:
            made = blank(type(self).__name__)
            symbols: dict[str, Any] = dict.fromkeys(self.values)
            for word in given:
                symbols[word] = made.parameter(
                    self.symbol(word), unit=self.unit(word), nominal=self.keywords[word].nominal
                )
            self._write(made, SimpleNamespace(**symbols, **self.options))
            self._templates[key] = made
        return made

    def __repr__(self) -> str:
        words = {**self.values, **self.options}
        shown = ", ".join(f"{word}={_shown(value)}" for word, value in words.items() if value is not None)
        return f"{type(self).__name__}({self.name!r}{', ' + shown if shown else ''})"


def _numbers(value: Any) -> np.ndarray | None:
    """An array of finite numbers; None where it is none."""
    try:
        found = np.asarray(value)
    except (TypeError, ValueError):  # lists of different lengths, and what refuses to be an array
        return None
    return found.astype(float) if found.dtype.kind in "iuf" and np.isfinite(found).all() else None


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value) if isinstance(value, ca.SX) else repr(value)


def _hashable(value: Any) -> Any:
    """A keyword in a form that dictionaries take: arrays by their bytes."""
    if isinstance(value, (list, tuple)):
        return tuple(_hashable(entry) for entry in value)
    if hasattr(value, "tobytes"):
        return value.shape, value.tobytes()
    return value
