"""Names of a netlist as names of a model, each its own: `1` is n1, or n1_2 where another node is called n1."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from daedalus.model.names import suggest_name


def node_words(names: Iterable[str], prefix: str = "", taken: Collection[str] = ()) -> dict[str, str]:
    """A word for each name; a name that is one already keeps it, and no prefixed word is among those taken.

    Example
    -------
    >>> node_words(["1", "n1", "a-b", "a_b", "out"], taken=["out"])
    {'n1': 'n1', 'a_b': 'a_b', '1': 'n1_2', 'a-b': 'a_b_2', 'out': 'out_2'}
    """
    every = list(dict.fromkeys(names))
    used, words = set(taken), dict[str, str]()
    for name in sorted(every, key=lambda own: _plain(own) != own or prefix + own in used):
        word, k = _plain(name), 1
        while prefix + (word if k == 1 else f"{word}_{k}") in used:
            k += 1
        words[name] = word if k == 1 else f"{word}_{k}"
        used.add(prefix + words[name])
    return words


def _plain(name: str) -> str:
    return suggest_name((f"n{name}" if name[0].isdigit() else name).replace(".", "_"))
