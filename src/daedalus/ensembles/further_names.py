"""Further names of what a sweep keeps: variables of parts that are equal to others, as text that files hold too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from daedalus.model.names import split_index
from daedalus.model.system.system import System

# Under which attribute a Dataset has them.
FURTHER_NAMES = "further_names"


def further_names(system: System) -> dict[str, str]:
    """The attribute with the further names of a system; nothing where it has none.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay"); x = m.state("x", start=1.0); m.equation(m.der(x), -x)
    >>> further_names(m.freeze())
    {}
    """
    return {FURTHER_NAMES: json.dumps(system.aliases)} if system.aliases else {}


def name_behind(attributes: Mapping[Any, Any], name: str) -> str:
    """The name that a further one stands for, or that of its derivative; itself where it is none.

    Example
    -------
    >>> told = {"further_names": '{"spring.shaft.angle": "load.angle"}'}
    >>> name_behind(told, "spring.shaft.angle"), name_behind(told, "spring.shaft.angle_dot")
    ('load.angle', 'load.angle_dot')
    """
    split_index(name)  # refuses what is no name
    known = json.loads(attributes.get(FURTHER_NAMES, "{}"))
    for suffix in ("", "_dot", "_ddot"):
        if name.endswith(suffix) and (stem := name.removesuffix(suffix)) in known:
            return f"{known[stem]}{suffix}"
    return name
