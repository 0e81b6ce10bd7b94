"""A netlist as cards, each with its line, without comments and continuations; numbers with suffixes, formulas."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daedalus.errors import ModelError

_SUFFIX = {"t": 1e12, "g": 1e9, "meg": 1e6, "k": 1e3, "mil": 25.4e-6, "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12,
           "f": 1e-15}  # fmt: skip
_NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)(t|g|meg|k|mil|m|u|n|p|f)?[a-z]*", re.IGNORECASE)
_OPERATIONS: dict[type, Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, ast.USub: operator.neg, ast.UAdd: operator.pos,
}  # fmt: skip
DEEPEST = 8  # so many files inside each other are read
MOST_FILES, MOST_CARDS, MOST_CHARACTERS = 200, 50_000, 16_000_000
_FUNCTIONS = {name: getattr(math, name) for name in ("sqrt", "exp", "log", "log10", "sin", "cos", "tan")}


@dataclass(frozen=True)
class Card:
    """One card: its line in its file, and its words in lower case, with =, ( and ) as spaces between them."""

    line: int
    text: str
    words: tuple[str, ...]
    file: str = ""  # that was included; empty for the netlist itself

    def refuse(self, what: str, because: str, remedy: str) -> ModelError:
        """The error for this card."""
        place = f"Line {self.line} of {self.file or 'the netlist'}"
        return ModelError(f"{place} {what}.", self.text.strip()[:200], because=because, remedy=remedy)

    def needs(self, count: int, example: str) -> None:
        """Refuse the card where it has fewer words."""
        if len(self.words) < count:
            raise self.refuse(
                "has a card that is not complete", f"{self.words[0]} needs more words than these.", example
            )


def read_cards(text: str, folder: Path | None) -> tuple[str, list[Card]]:
    """The title and the cards of a netlist, includes put in; the first line is the title, as in SPICE."""
    title, _, rest = text.partition("\n")
    reader = _Reader(folder)
    if len(text) > MOST_CHARACTERS:
        raise Card(1, title, ()).refuse("begins too long a text", _too_much("text"), "a part of it")
    reader.read(rest, "", 2, 0)
    return title.strip(), reader.cards


def _too_much(what: str) -> str:
    return f"of {what} at most {MOST_CARDS} cards in {MOST_FILES} files and {MOST_CHARACTERS:.0e} characters are read."


class _Reader:
    """Reads a netlist and the files that it includes, up to a size in all."""

    def __init__(self, folder: Path | None) -> None:
        self.folder, self.cards = folder, list[Card]()
        self._files = self._characters = 0

    def read(self, text: str, file: str, first: int, depth: int) -> None:
        """Add the cards of a text."""
        for number, line in _joined(text, first):
            words = tuple(_words(line))
            if not words:
                raise Card(number, line, (), file).refuse("has no words", "a card begins with a name.", "R1 in out 1k")
            card = Card(number, line, words, file)
            if words[0] in (".include", ".inc"):
                self._include(card, depth)
            elif words[0] == ".end":
                return
            elif len(self.cards) >= MOST_CARDS:
                raise card.refuse("is too much", _too_much("a netlist"), "a part of the circuit")
            else:
                self.cards.append(card)

    def _include(self, card: Card, depth: int) -> None:
        path, name = self._path(card, depth)
        size = path.stat().st_size
        self._files, self._characters = self._files + 1, self._characters + size
        if self._files > MOST_FILES or self._characters > MOST_CHARACTERS:
            raise card.refuse("includes too much", _too_much("a netlist and its files"), "each file once")
        self.read(path.read_text(encoding="utf-8", errors="replace"), name, 1, depth + 1)

    def _path(self, card: Card, depth: int) -> tuple[Path, str]:
        if self.folder is None:
            raise card.refuse(
                "includes a file, and no folder is given", "files are read from one folder only, which you name.",
                "from_spice(text, folder=...)",
            )  # fmt: skip
        if depth > DEEPEST:
            raise card.refuse(
                "includes files that include each other",
                f"more than {DEEPEST} lie inside each other.",
                "each file once",
            )
        card.needs(2, ".include file.cir")
        name = card.text.split(None, 1)[1].strip().strip("\"'")
        try:
            path = (self.folder / name).resolve()
            there = path.is_relative_to(self.folder.resolve()) and path.is_file()
        except (OSError, ValueError, RuntimeError):  # a name that no file can have
            there = False
        if not there:
            raise card.refuse(
                "includes a file that is not there", f"only files inside {self.folder.name!r} are read.",
                "a file in the folder",
            )  # fmt: skip
        return path, name


def _joined(text: str, first: int) -> list[tuple[int, str]]:
    """Lines without comments, each with its number and what continues it."""
    joined: list[tuple[int, list[str]]] = []
    for number, line in enumerate(text.splitlines(), first):
        bare = re.split(r"[;$]", line, maxsplit=1)[0].rstrip()
        if not bare.strip() or bare.lstrip().startswith("*"):
            continue
        if bare.lstrip().startswith("+") and joined:
            joined[-1][1].append(bare.lstrip()[1:])
        else:
            joined.append((number, [bare]))
    return [(number, " ".join(parts)) for number, parts in joined]


def _words(line: str) -> list[str]:
    """Words in lower case; formulas in braces or quotes stay whole."""
    parts = re.findall(r"\{[^}]*\}|'[^']*'|[^\s=(),]+|=", line.lower())
    return [part for part in parts if part != "="] if "=" not in parts else _pairs(parts)


def _pairs(parts: list[str]) -> list[str]:
    """`name = value` as the word `name=value`."""
    found: list[str] = []
    k = 0
    while k < len(parts):
        if k + 2 < len(parts) and parts[k + 1] == "=":
            found.append(f"{parts[k]}={parts[k + 2]}")
            k += 3
        else:
            found.append(parts[k])
            k += 1
    return found


def number(word: str, card: Card, parameters: Mapping[str, float]) -> float:
    """A number with a suffix, a parameter, or a formula in braces or quotes."""
    if word[:1] in ("{", "'"):
        return formula(word[1:-1], card, parameters)
    match = _NUMBER.fullmatch(word)
    if match is None:
        if word in parameters:
            return parameters[word]
        raise card.refuse(
            f"has {word!r} where a number is expected", "it is no number and no .param.", "1k, 2.2u, {r*2}"
        )
    return float(match[1]) * (_SUFFIX[match[2].lower()] if match[2] else 1.0)


def formula(text: str, card: Card, parameters: Mapping[str, float]) -> float:
    """The value of a formula of numbers with suffixes and parameters."""
    plain = re.sub(
        r"(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?(?:meg|mil|[tgkmunpf])?[a-z]*(?!\w)",
        lambda match: repr(number(match[0], card, {})), text.replace("^", "**").replace("{", "(").replace("}", ")"),
    )  # fmt: skip
    try:
        return float(_value(ast.parse(plain.strip(), mode="eval").body, parameters))
    except (ArithmeticError, TypeError, ValueError):
        because = "it has no real value."
    except (SyntaxError, KeyError, RecursionError, MemoryError):
        because = f"formulas are of numbers, names of .param, + - * / ** and {', '.join(_FUNCTIONS)}."
    raise card.refuse(f"has a formula that cannot be read: {text}", because, "numbers, + - * / **, .param")


def _value(node: ast.expr, parameters: Mapping[str, float]) -> float:
    """Arithmetic only: nothing that is read can run code."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.Name):
        return {"pi": math.pi, **parameters}[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return float(_OPERATIONS[type(node.op)](_value(node.left, parameters), _value(node.right, parameters)))
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATIONS:
        return float(_OPERATIONS[type(node.op)](_value(node.operand, parameters)))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
        return float(_FUNCTIONS[node.func.id](*(_value(argument, parameters) for argument in node.args)))
    raise KeyError(ast.dump(node)[:40])
