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
_FUNCTIONS = {name: getattr(math, name) for name in ("sqrt", "exp", "log", "log10", "sin", "cos", "tan")}


@dataclass(frozen=True)
class Card:
    """One card: its line in the text, and its words in lower case, with =, ( and ) as spaces between them."""

    line: int
    text: str
    words: tuple[str, ...]

    def refuse(self, what: str, because: str, remedy: str) -> ModelError:
        """The error for this card."""
        return ModelError(f"Line {self.line} of the netlist {what}.", self.text.strip(), because=because, remedy=remedy)

    def needs(self, count: int, example: str) -> None:
        """Refuse the card where it has fewer words."""
        if len(self.words) < count:
            raise self.refuse(
                "has a card that is not complete", f"{self.words[0]} needs more words than these.", example
            )


def read_cards(text: str, folder: Path | None) -> tuple[str, list[Card]]:
    """The title and the cards of a netlist, includes put in; the first line is the title, as in SPICE."""
    title, _, rest = text.partition("\n")
    return title.strip(), _cards(rest, folder, 2, 0)


def _cards(text: str, folder: Path | None, first: int, depth: int) -> list[Card]:
    joined: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), first):
        bare = re.split(r"[;$]", line, maxsplit=1)[0].rstrip()
        if not bare.strip() or bare.lstrip().startswith("*"):
            continue
        if bare.lstrip().startswith("+") and joined:
            joined[-1] = (joined[-1][0], joined[-1][1] + " " + bare.lstrip()[1:])
        else:
            joined.append((number, bare))
    found: list[Card] = []
    for number, line in joined:
        card = Card(number, line, tuple(_words(line)))
        if card.words[0] in (".include", ".inc"):
            found += _included(card, folder, depth)
        elif card.words[0] == ".end":
            break
        else:
            found.append(card)
    return found


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


def _included(card: Card, folder: Path | None, depth: int) -> list[Card]:
    if folder is None:
        raise card.refuse(
            "includes a file, and no folder is given", "files are read from one folder only, which you name.",
            "from_spice(text, folder=...)",
        )  # fmt: skip
    if depth > DEEPEST:
        raise card.refuse(
            "includes files that include each other", f"more than {DEEPEST} lie inside each other.", "each file once"
        )
    card.needs(2, ".include file.cir")
    name = card.text.split(None, 1)[1].strip().strip("\"'")
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        raise card.refuse(
            "includes a file that is not there", f"only files inside {folder.name!r} are read.", "a file in the folder"
        )
    return _cards(path.read_text(encoding="utf-8", errors="replace"), folder, 1, depth + 1)


def number(word: str, card: Card, parameters: Mapping[str, float]) -> float:
    """A number with a suffix, a parameter, or a formula in braces or quotes."""
    if word[0] in "{'":
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
    except (SyntaxError, KeyError, RecursionError):
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
