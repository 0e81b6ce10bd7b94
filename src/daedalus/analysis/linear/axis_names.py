"""Names along the axes of linear systems: which element is where, and what a selection of names picks out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daedalus.errors import InputError
from daedalus.model.names import did_you_mean, listed, split_index, with_article

Names = tuple[str, ...]
Selection = str | Sequence[str] | None


def default_names(letter: str, size: int) -> Names:
    """The names of an axis nobody named: `x` for one element, `x[0]`, `x[1]`, ... for several."""
    return (letter,) if size == 1 else tuple(f"{letter}[{k}]" for k in range(size))


def check_names(names: str | Sequence[str] | None, size: int, kind: str) -> Names:
    """Names for the `size` elements of an axis; kind is "state", "input" or "output" and gives the default letter.

    Example
    -------
    >>> check_names("v", 2, "state")
    ('v[0]', 'v[1]')
    """
    if names is None:
        return default_names({"state": "x", "input": "u", "output": "y"}[kind], size)
    if isinstance(names, str):
        return default_names(names, size)
    given = tuple(names)
    if not all(isinstance(name, str) and name for name in given):
        raise InputError(f"The names of {kind}s are texts.", f"got {list(given)!r}"[:120])
    if len(given) != size:
        raise InputError(
            f"The number of {kind} names is wrong.",
            f"{len(given)} names for {size} {kind}s: {', '.join(given[:8])}",
            remedy=f"one name for each {kind}, in the order of the matrices",
        )
    twice = sorted({name for name in given if given.count(name) > 1})
    if twice:
        raise InputError(f"Two {kind}s share a name.", f"twice: {', '.join(twice[:6])}", remedy="names that differ")
    return given


def positions(names: Names, selection: Selection, kind: str) -> list[int]:
    """Where the selected names are; `"q"` means all of `q[0]`, `q[1]`, ..., None means all.

    Example
    -------
    >>> positions(("q[0]", "q[1]", "v"), ["v", "q"], "state")
    [2, 0, 1]
    """
    if selection is None:
        return list(range(len(names)))
    wanted = [selection] if isinstance(selection, str) else list(selection)
    found: list[int] = []
    for name in wanted:
        here = matches(names, name)
        if not here:
            raise InputError(
                f"The system has no {kind} {name!r}.",
                f"its {kind}s are {listed(names, 12)}" if names else f"it has no {kind}s",
                remedy=did_you_mean(str(name), names) if names else f"a system with {with_article(kind)}",
            )
        found += here
    if len(set(found)) < len(found):
        raise InputError(f"A {kind} is selected twice.", f"selection: {', '.join(map(str, wanted))}")
    return found


def matches(names: Names, name: str) -> list[int]:
    """The positions of one name: its own, or those of all its elements; empty when it is unknown."""
    if name in names:
        return [names.index(name)]
    return [k for k, full in enumerate(names) if split_index(full)[0] == name]


def check_shared_names(states: Names, inputs: Names, outputs: Names, C: np.ndarray, D: np.ndarray) -> None:
    """Refuse one name for two things; an output may carry the name of the state or input it equals."""
    both = sorted(set(states) & set(inputs))
    if both:
        raise InputError(
            "A state and an input share a name.", f"both: {', '.join(both[:6])}", remedy="names that differ"
        )
    columns = (*states, *inputs)
    for row, name in zip(np.hstack([C, D]), outputs):
        if name in columns and not np.array_equal(row, np.arange(len(columns)) == columns.index(name)):
            raise InputError(
                f"The output {name!r} has the name of another variable and is not equal to it.",
                because=f"results use names, and {name!r} would mean two things.",
                remedy=f"outputs=[{name + '_out'!r}, ...]",
            )


def read_out(
    states: Names, outputs: Names, C: np.ndarray, D: np.ndarray, selection: Selection
) -> tuple[np.ndarray, np.ndarray, Names]:
    """The rows of C and D of the selected outputs, and their names; a state may be selected as an output too."""
    if selection is None:
        return C, D, outputs
    extra = [k for k, name in enumerate(states) if name not in outputs]
    names = (*outputs, *(states[k] for k in extra))
    rows = positions(names, selection, "output")
    wide_C = np.vstack([C, np.eye(len(states))[extra]])
    wide_D = np.vstack([D, np.zeros((len(extra), D.shape[1]))])
    return wide_C[rows], wide_D[rows], tuple(names[k] for k in rows)
