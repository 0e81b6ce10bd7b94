"""Reading robot files as data: XML without entities, numbers with their element, files below one folder."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple

import numpy as np

from daedalus.errors import InputError

# A file of more elements is refused: a robot of a thousand links has some twenty thousand.
MOST_ELEMENTS = 200_000
MOST_BYTES = 50_000_000
# Larger numbers are refused, so that a density times powers of a length stays finite. Programs write limits of
# joints that have none as the largest number there is: these are read.
LARGEST = 1e50

Element = ElementTree.Element
# The root element of a file of each kind, and what reads it.
ROOTS = {"URDF": ("robot", "dd.read_urdf(...)"), "MJCF": ("mujoco", "dd.read_mjcf(...)")}


class RobotFile(NamedTuple):
    """The root element of a file, the folder that it may include from (None for text), and how it is called."""

    root: Element
    folder: Path | None
    name: str


def read_robot_file(path_or_text: str | Path, kind: str) -> RobotFile:
    """The elements of a file, or of the text of one."""
    text, folder, name = _text_of(path_or_text, kind)
    root, (wanted, _) = parsed(text, name, kind), ROOTS[kind]
    if root.tag != wanted:
        raise InputError(
            f"{name} is not a file of the kind {kind}.",
            f"its root element is <{root.tag}>",
            because=f"such a file begins with <{wanted}>.",
            remedy=next((reader for tag, reader in ROOTS.values() if tag == root.tag), f"<{wanted}>"),
        )
    return RobotFile(root, folder, name)


def _text_of(given: str | Path, kind: str) -> tuple[str, Path | None, str]:
    if isinstance(given, str) and given.lstrip()[:1] == "<":
        return given, None, f"the {kind} text"
    if not isinstance(given, (str, Path)):
        raise InputError(
            f"A {kind} robot is a path or the text of a file.",
            f"got {type(given).__name__}",
            because="it is read as XML.",
            remedy=f'"robot.{kind.lower()}"',
        )
    if isinstance(given, str) and not given.strip():
        raise InputError(
            f"The text of the {kind} robot is empty.",
            f"got {given!r}"[:120],
            because="it is the path or the text of a file.",
            remedy=f"dd.read_{kind.lower()}(path)",
        )
    path = Path(given)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise _too_large(str(path), f"{path.stat().st_size} bytes")
        return path.read_text(encoding="utf-8"), path.resolve().parent, path.name
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"The file {path} cannot be read.",
            str(error),
            because=f"a {kind} file is text in UTF-8.",
            remedy="the path of an existing file, or its text",
        ) from None


def parsed(text: str, name: str, kind: str) -> Element:
    """The root element of a text; entities and document types are refused, they can expand endlessly."""
    if re.search(r"<!\s*(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise InputError(
            f"{name} declares a document type or entities.",
            because="entities can expand endlessly or read other files, and robot files do not need them.",
            remedy="the file without <!DOCTYPE ...>",
        )
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise InputError(
            f"{name} is not valid XML.",
            str(error),
            because=f"a {kind} file is a tree of elements.",
            remedy="correct the element at that line",
        ) from None
    count = sum(1 for _ in root.iter())
    if count > MOST_ELEMENTS:
        raise _too_large(name, f"{count} elements, at most {MOST_ELEMENTS} are read")
    return root


def _too_large(name: str, fact: str) -> InputError:
    return InputError(
        f"{name} is too large.",
        fact,
        because="a robot of a thousand links has some twenty thousand elements.",
        remedy="several files, each a robot",
    )


def numbers(
    element: Element, attribute: str, count: int, default: object, where: str, most: float = LARGEST
) -> np.ndarray:
    """The numbers of an attribute, checked: as many as asked for, and none larger than `most`."""
    text = element.get(attribute)
    if text is None:
        return np.array(default, dtype=float)
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        values = np.zeros(0)
    if values.shape == (count,) and np.all(np.isfinite(values)) and np.any(np.abs(values) > most):
        raise InputError(
            f"{attribute} of {where} is too large.",
            f"got {text!r}, and at most {most:g} is read",
            because="products of masses and lengths have to stay finite.",
            remedy="metres, kilograms and seconds",
        )
    if values.shape != (count,) or not np.all(np.isfinite(values)):
        raise InputError(
            f"{attribute} of {where} is not {count} number{'s' if count > 1 else ''}.",
            f"got {text!r}",
            because="positions, axes and inertias are numbers.",
            remedy=f'{attribute}="{" ".join(["0"] * count)}"',
        )
    return values


def required(element: Element, attribute: str, where: str) -> str:
    """An attribute that must be there."""
    text = element.get(attribute)
    if not text:
        raise InputError(
            f"{where} has no {attribute}.",
            f"<{element.tag} {' '.join(f'{k}={v!r}' for k, v in list(element.attrib.items())[:4])}>",
            because="it is identified by it.",
            remedy=f'{attribute}="..."',
        )
    return text


def plain_name(name: str, taken: set[str]) -> str:
    """A name that variables may have: letters, digits and underscores; unique among those taken."""
    word = re.sub(r"\W", "_", name)
    if not word or not (word[0].isalpha() or word[0] == "_"):
        word = f"_{word}"
    if re.search(r"_d+ot$", word):
        word += "_"
    result, k = word, 2
    while result in taken:
        result, k = f"{word}_{k}", k + 1
    taken.add(result)
    return result
