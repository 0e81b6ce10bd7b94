"""Numbers and names in sentences about a start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from daedalus.model.names import split_index
from daedalus.model.system.system import System


def number(value: float, digits: int = 6) -> str:
    """A number without a needless sign or tail: `0.1`, `-3`, `2.2e-16`.

    Example
    -------
    >>> number(-0.0), number(0.43588989435), number(1e-20)
    ('0', '0.43589', '1e-20')
    """
    return f"{value + 0.0:.{digits}g}"


def joined(parts: Sequence[str]) -> str:
    """Parts of a sentence: `a`, `a and b`, `a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def values_in_words(system: System, values: Mapping[str, float]) -> str:
    """Values of elements in a sentence, whole names where all their elements are there: `p = (0.9, 0), v[1] = 2`."""
    stems = dict.fromkeys(split_index(label)[0] for label in values)
    parts = []
    for stem in stems:
        own = {label: value for label, value in values.items() if split_index(label)[0] == stem}
        size = len(system.places[stem].positions) if stem in system.places else -1
        if stem in own:
            parts.append(f"{stem} = {number(own[stem])}")
        elif size == len(own):
            parts.append(f"{stem} = ({', '.join(number(v) for v in own.values())})")
        else:
            parts += [f"{label} = {number(value)}" for label, value in own.items()]
    return ", ".join(parts)


def distances_in_words(changes: Mapping[str, float]) -> str:
    """How far values are off, name by name: `0.1`, or `0.1 in p and 0.5 in v`."""
    by_name: dict[str, float] = {}
    for label, change in changes.items():
        stem = split_index(label)[0]
        by_name[stem] = float(np.hypot(by_name.get(stem, 0.0), change))
    if len(by_name) == 1:
        return number(next(iter(by_name.values())), 4)
    return joined([f"{number(value, 4)} in {name}" for name, value in by_name.items()])
