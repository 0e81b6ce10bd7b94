"""Start values of discrete variables: they live among the parameters, and are given like those of states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from daedalus.model.names import split_index
from daedalus.model.system.system import System
from daedalus.model.values import flat_values
from daedalus.simulation.result.samples import Samples


def with_discrete_start(system: System, p: np.ndarray, start: Any) -> tuple[np.ndarray, Any]:
    """p with the discrete variables of a start, and the start without them.

    Example
    -------
    >>> import numpy as np, daedalus as dd
    >>> m = dd.Model("switch"); x = m.state("x", start=1.0); mode = m.discrete("mode", start=2)
    >>> m.equation(m.der(x), -mode * x)
    >>> with_discrete_start(m.freeze(), np.array([2.0]), {"mode": 1, "x": 3.0})
    (array([1.]), {'x': 3.0})
    """
    names = {v.name for v in system.of_kind("discrete")}
    if isinstance(start, Samples):
        found = {name: start[name] for name in names if name in start}
        rest: Any = start
    elif isinstance(start, Mapping):
        found = {name: value for name, value in start.items() if split_index(str(name))[0] in names}
        rest = {name: value for name, value in start.items() if name not in found}
    else:
        return p, start
    if not found:
        return p, start
    p = p.copy()
    for name, value in found.items():
        place = system.place(name)
        p[place.positions] = flat_values(place, value, "start value")
    return p, rest
