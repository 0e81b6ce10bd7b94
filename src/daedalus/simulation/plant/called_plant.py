"""The plant of equations that are code of somebody else: the core calls them, and nothing looks inside.

A system keeps them as a part. Its expressions name them, so that it has variables, tolerances and a structure like any
other; what is computed from expressions alone (conditions, ranks along the motion, divisors) is not known of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from daedalus.model.lazy_values import cached_property
from daedalus.model.system.system import System
from daedalus.simulation.plant.plant import Plant


@dataclass(frozen=True, eq=False)
class CalledEquations:
    """A part of a system: its equations as the core takes them.

    core: x' = f(t, x, u, p) as a function, or 0 = F(t, x', x, u, p) as an implicit model. node: what expressions of the
    system call, kept alive.
    """

    core: Any
    is_implicit: bool
    node: Any = None


class CalledPlant(Plant):
    """What a run needs of a system whose equations are called."""

    def __init__(self, system: System, called: CalledEquations) -> None:
        super().__init__(system)
        self.is_implicit = called.is_implicit
        self._core = called.core
        n = system.sizes["x"]
        if called.is_implicit:
            self.row_parts = {"x": slice(0, n), "z": slice(n, n), "xdot": slice(n, 2 * n)}

    @property
    def row_width(self) -> int:
        """How many columns a row of a run has: x, and x' of an implicit model."""
        return self.system.sizes["x"] * (2 if self.is_implicit else 1)

    @cached_property
    def rhs(self) -> Any:
        """The right-hand side or residual, called by the core for every evaluation."""
        return SimpleNamespace(core=self._core)
