"""A netlist as cards, each with its file and line, without comments and continuations; includes put in."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path

from daedalus.errors import ModelError

_SUFFIX = {"t": 1e12, "g": 1e9, "meg": 1e6, "k": 1e3, "mil": 25.4e-6, "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12,
           "f": 1e-15}  # fmt: skip
_NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)(t|g|meg|k|mil|m|u|n|p|f)?[a-z]*", re.IGNORECASE)
# Values as they are printed on parts: the suffix stands for the point, as in 4k7 and 2r2 (IEC 60062).
_PRINTED = re.compile(r"([-+]?\d+)(t|g|meg|k|m|u|n|p|f|r|l)(\d+)[a-z]*", re.IGNORECASE)
_MICRO = str.maketrans("\u00b5\u03bc", "uu")  # the sign and the Greek letter
DEEPEST = 8  # so many files inside each other are read
MOST_FILES, MOST_CARDS, MOST_CHARACTERS = 200, 50_000, 16_000_000
# ic=0.6,5 of a device with several voltages.
_STARTS = re.compile(r"\bic\s*=\s*[^\s=,(){}']+(?:\s*,\s*[^\s=,(){}']+)+")
# Characters of each part of an error that come from the netlist.
LONGEST = 200


class SpiceWarning(UserWarning):
    """A part of a netlist or of a model card that is read but not modelled."""


@dataclass(frozen=True)
class Card:
    """One card: its file and line, and its words in lower case, with =, ( and ) as spaces between them."""

    line: int
    text: str
    words: tuple[str, ...]
    file: str = ""

    @property
    def where(self) -> str:
        """The line, and the file where it is an included one."""
        return f"Line {self.line} of {self.file or 'the netlist'}"

    def refuse(self, what: str, because: str, remedy: str) -> ModelError:
        """The error for this card."""
        what, text, because = (_cut(part) for part in (f"{self.where} {what}.", self.text.strip(), because))
        return ModelError(what, text, because=because, remedy=remedy)

    def tell(self, what: str) -> None:
        """Warn of something that this card says."""
        warnings.warn(f"{self.where}: {what}", SpiceWarning, stacklevel=3)

    def needs(self, count: int, example: str) -> None:
        """Refuse the card where it has fewer words."""
        if len(self.words) < count:
            raise self.refuse(
                "has a card that is not complete", f"{self.words[0]} needs more words than these.", example
            )

    def behind(self, word: str, is_pattern: bool = False) -> str | None:
        """The text behind `word=` or `word`, in lower case; None where the word is not there."""
        sought = word if is_pattern else re.escape(word)
        match = re.search(rf"(?<![\w.]){sought}\s*=?\s*(.+)$", self.text.lower())
        return None if match is None else match[1].strip()


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def read_cards(text: str, folder: Path | None) -> tuple[str, list[Card]]:
    """The title and the cards of a netlist, includes put in; the first line is the title, as in SPICE."""
    title, _, rest = text.partition("\n")
    reader = _Reader(folder)
    if len(text) > MOST_CHARACTERS:
        raise Card(1, title, ()).refuse("begins a text that is too long", _too_much("text"), "a part of it")
    reader.read(rest, "", 2, 0)
    return title.strip(), reader.cards


def cards_of(text: str) -> list[Card]:
    """Cards without a title and without includes, as of one .model."""
    reader = _Reader(None)
    reader.read(text, "", 1, 0)
    return reader.cards


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
            if words[0] in (".include", ".inc") or (words[0] == ".lib" and len(words) >= 2):
                self._include(card, depth)
            elif words[0] == ".end":
                return
            elif len(self.cards) >= MOST_CARDS:
                raise card.refuse("is too much", _too_much("a netlist"), "a part of the circuit")
            else:
                self.cards.append(card)

    def _include(self, card: Card, depth: int) -> None:
        path, name, section = self._path(card, depth)
        size = path.stat().st_size
        self._files, self._characters = self._files + 1, self._characters + size
        if self._files > MOST_FILES or self._characters > MOST_CHARACTERS:
            raise card.refuse("includes too much", _too_much("a netlist and its files"), "each file once")
        text, first = path.read_text(encoding="utf-8", errors="replace"), 1
        if section:
            text, first = _section(card, text, section)
        self.read(text, name, first, depth + 1)

    def _path(self, card: Card, depth: int) -> tuple[Path, str, str]:
        """The file that a card names, its name, and the section of a library that it asks for."""
        if self.folder is None:
            raise card.refuse(
                "includes a file, and no folder is given", "files are read from one folder only, which you name.",
                "from_spice(text, include=...)",
            )  # fmt: skip
        if depth > DEEPEST:
            raise card.refuse(
                "includes files that include each other",
                f"more than {DEEPEST} lie inside each other.",
                "each file once",
            )
        card.needs(2, ".include file.cir")
        name, section = card.text.split(None, 1)[1].strip(), ""
        if card.words[0] == ".lib":
            match = re.fullmatch(r"(\"[^\"]*\"|'[^']*'|\S+)(?:\s+(\S+))?", name)
            name, section = (match[1], (match[2] or "").lower()) if match is not None else (name, "")
        name = name.strip("\"'")
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
        return path, name, section


def _section(card: Card, text: str, name: str) -> tuple[str, int]:
    """The lines between `.lib name` and `.endl`, and the number of the first one."""
    lines = text.splitlines()
    for k, line in enumerate(lines):
        words = line.lower().split()
        if words[:1] == [".lib"] and words[1:2] == [name]:
            end = next((j for j in range(k + 1, len(lines)) if lines[j].lower().startswith(".endl")), len(lines))
            return "\n".join(lines[k + 1 : end]), k + 2
    raise card.refuse("asks for a section that is not there", f"the file has no .lib {name}.", ".lib file.lib typical")


def _joined(text: str, first: int) -> list[tuple[int, str]]:
    """Lines without comments, each with its number and what continues it."""
    joined: list[tuple[int, list[str]]] = []
    for number, line in enumerate(text.splitlines(), first):
        bare = re.split(r";|//|\$(?=\s|$)", line, maxsplit=1)[0].rstrip()
        if not bare.strip() or bare.lstrip().startswith("*"):
            continue
        if bare.lstrip().startswith("+") and joined:
            joined[-1][1].append(bare.lstrip()[1:])
        else:
            joined.append((number, [bare]))
    return [(number, " ".join(parts)) for number, parts in joined]


def _words(line: str) -> list[str]:
    """Words in lower case; formulas in braces or quotes stay whole, and ic=0.6,5 is the word ic=0.6;5."""
    line = _STARTS.sub(lambda match: re.sub(r"\s*,\s*", ";", match[0]), line.lower())
    parts = re.findall(r"\{[^}]*\}|'[^']*'|\"[^\"]*\"|[^\s=(),]+|=", line)
    return [part for part in parts if part != "="] if "=" not in parts else _pairs(parts)


def _pairs(parts: list[str]) -> list[str]:
    """`name = value` as the word `name=value`."""
    found: list[str] = []
    k = 0
    while k < len(parts):
        if k + 2 < len(parts) and parts[k + 1] == "=":
            found.append(f"{parts[k]}={parts[k + 2]}")
            k += 3
        elif parts[k] == "=":
            k += 1
        else:
            found.append(parts[k])
            k += 1
    return found


def is_pair(word: str) -> bool:
    """Whether a word is `name=value`; a formula in quotes or braces may compare by = and is none."""
    return "=" in word and word[0] not in "'{\""


def plain_number(word: str) -> float | None:
    """A number with a suffix; None where it is none.

    Example
    -------
    >>> plain_number("2.2k"), plain_number("4k7"), plain_number("2µF"), plain_number("out")
    (2200.0, 4700.0, 2e-06, None)
    """
    word = word.translate(_MICRO)
    match = _NUMBER.fullmatch(word)
    if match is None:
        printed = _PRINTED.fullmatch(word)
        if printed is None:
            return None
        return float(f"{printed[1]}.{printed[3]}") * _SUFFIX.get(printed[2].lower(), 1.0)
    return float(match[1]) * (_SUFFIX[match[2].lower()] if match[2] else 1.0)
