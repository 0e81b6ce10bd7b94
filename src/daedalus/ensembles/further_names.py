"""Further names of what a sweep keeps: variables of parts that are equal to others, as text that files hold too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from daedalus.model.names import split_index
from daedalus.model.system.system import System

# Under which attribute a Dataset has them.
FURTHER_NAMES, ON_REQUEST = "further_names", "on_request"


def further_names(system: System) -> dict[str, str]:
    """The attribute with the further names of a system; nothing where it has none.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay"); x = m.state("x", start=1.0); m.equation(m.der(x), -x)
    >>> further_names(m.freeze())
    {}
    """
    told = {FURTHER_NAMES: json.dumps(system.aliases)} if system.aliases else {}
    return {**told, ON_REQUEST: json.dumps(system.on_request)} if system.on_request else told


def is_on_request(attributes: Mapping[Any, Any], name: str) -> bool:
    """Whether a name is a charge, momentum or the like of a part, which a sweep keeps where it is asked for.

    Example
    -------
    >>> is_on_request({"on_request": '["c.charge"]'}, "c.charge"), is_on_request({}, "c.charge")
    (True, False)
    """
    return name in json.loads(attributes.get(ON_REQUEST, "[]"))


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
