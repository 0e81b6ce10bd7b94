"""Functions of time with jumps or kinks in equations that a reduction of the index differentiates.

The derivative of a pulse is zero but for impulses, which no formula shows: a reduced model would never see the pulse.
Implicit methods take the equations as they are written. With D the jump of an equation at a time τ, its derivative of
order c has no impulse there if D and its derivatives below order c vanish at τ, as for max(t - 1, 0)³ and c = 3.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import SAME_FORMULA
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.errors import SolverError
from daedalus.model.expressions import elements
from daedalus.model.names import times_text
from daedalus.model.system.once import KEPT_BY_VALUES, once
from daedalus.model.system.system import System
from daedalus.reduction.switches import Switches, switches_of
from daedalus.simulation.switching.condition_times import condition_times

# So many draws of all other values must agree.
DRAWS = 2
# Times at which conditions change that are looked at; a periodic one repeats itself.
MOST_TIMES = 200


def jumps_differentiated(system: System, span: tuple[float, float]) -> str | None:
    """What would be lost by differentiating in a run over a span, in words; None where nothing would be.

    Example
    -------
    >>> import casadi as ca, daedalus as dd
    >>> def driven(path):
    ...     m = dd.Model("driven point")
    ...     x = m.state("x", start=0.0); force = m.algebraic("force")
    ...     m.equation(m.der(x), force); m.equation(x, path(m.time), name="path")
    ...     return m.freeze()
    >>> jumps_differentiated(driven(lambda t: t > 1), (0, 2))
    'path is differentiated once, and 1 < t changes there'
    >>> jumps_differentiated(driven(lambda t: ca.fmax(t - 1, 0)), (0, 2)) is None
    True
    """
    return once(system, _found, span, most=KEPT_BY_VALUES)


def _found(system: System, span: tuple[float, float]) -> str | None:
    switches = switches_of(system)
    if switches is None or switches.clock is None:
        return None
    hidden = elements(switches.system.symbol("u"))[-switches.clock.numel_out(0) :]
    rows, columns = ca.jacobian_sparsity(switches.system.residual, ca.vertcat(*hidden)).get_triplet()
    times = structure_of(system).signature.c
    places = [(row, column) for row, column in zip(rows, columns) if times[row]]
    jumps = _Jumps(system, switches, span) if places else None
    for row, column in places:
        if jumps is not None and not jumps.vanish(row, column, int(times[row])):
            often = times_text(int(times[row]))
            return (
                f"{system.equation_labels[row]} is differentiated {often}, and {switches.on_time[column]} changes there"
            )
    return None


class _Jumps:
    """The jumps of equations where conditions on time change, with the parameters as written and with others."""

    def __init__(self, system: System, switches: Switches, span: tuple[float, float]) -> None:
        self._array = DerivativeArray(switches.system)
        self._draw = np.random.default_rng(1979)
        self._count = system.sizes["p"]
        self._changes: list[tuple[np.ndarray, np.ndarray, np.ndarray]] | None = []
        clock = switches.clock
        assert clock is not None
        written = system.start["p"]
        # What is smooth for these values of the parameters alone does not count as smooth.
        for p in (written, written * self._draw.uniform(0.9, 1.1, self._count)):
            try:
                found = condition_times(system, clock, p, span) if np.all(np.isfinite(p)) else None
            except SolverError:  # too many times
                found = None
            if found is None or self._changes is None:
                self._changes = None
                return
            self._changes.append((p, *found))

    def vanish(self, row: int, column: int, often: int) -> bool:
        """Whether a condition changes without a jump of an equation and its derivatives below an order."""
        if self._changes is None:
            return False
        levels = [ca.SX(self._array.level(0)[row])]
        levels += [self._array.differentiated(levels[0], k) for k in range(1, often)]
        stack = ca.vertcat(*levels)
        for p, times, values in self._changes:
            places = 1 + np.flatnonzero(values[1:, column] != values[:-1, column])
            for k in places[:MOST_TIMES]:
                for _ in range(DRAWS):
                    before, after = self._points(times[k], p, values[k - 1], values[k], often)
                    own = self._array.values(stack, [before, after])
                    if not np.all(np.abs(own[1] - own[0]) <= SAME_FORMULA * np.maximum(1.0, np.abs(own).max(axis=0))):
                        return False
        return True

    def _points(self, t: float, p: np.ndarray, before: np.ndarray, after: np.ndarray, often: int) -> list[list[Any]]:
        """A time with random values of everything else, on both sides of a change."""
        sizes = self._array.system.sizes
        modes = self._draw.integers(0, 2, sizes["p"] - len(p)).astype(float)
        y = self._draw.uniform(0.4, 1.6, (often + 2) * self._array.size)
        u = self._draw.uniform(0.4, 1.6, (often + 1, sizes["u"]))
        # Conditions hold still between their changes.
        u[1:, sizes["u"] - len(before) :] = 0.0
        found = []
        for side in (before, after):
            u[0, sizes["u"] - len(side) :] = side
            found.append([t, np.concatenate([p, modes]), u.ravel().copy(), y])
        return found
