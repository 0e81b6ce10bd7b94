"""z and x' of index 2 and 3 along a run, as its states give them in the mode that the run was in.

Conditions in the equations are modes: between two switches the equations of a mode are smooth, and the reduced ones
give z and x' from the states. Which mode holds when is in the record of the run; what time decides follows from time.
Where a mode or an input changes, a row may belong to either side; of the values on both sides those nearest to its own
count.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

import numpy as np

from daedalus.compilation import compile_function
from daedalus.model.switching.schedule import same_instant
from daedalus.reduction.switches import Switches, switches_of
from daedalus.simulation.between.reduced_rates import ReducedRates, reduced_rates
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.plant.plants import switched_plant
from daedalus.simulation.result.held_values import HeldModes, HeldValues

Side = Literal["left", "right"]


class ParametersAlong(Protocol):
    """Parameters along a run, without modes."""

    def __call__(self, times: np.ndarray, side: Side = "right") -> np.ndarray:
        """At times, (times, np); discrete variables as they are just before or just after each."""


class DeepValues(NamedTuple):
    """What gives z and x' of a higher index along a run."""

    reduced: ReducedRates
    algebraic: slice  # the columns of z
    drive: Drive
    parameters: ParametersAlong
    switches: Switches | None = None
    modes: HeldValues | None = None
    beside: float = 0.0  # how far from a time its sides are looked at; zero where nothing jumps

    def arguments(self, times: np.ndarray, side: Side = "right") -> tuple[np.ndarray, np.ndarray]:
        """u and p at times, with conditions on time and modes behind them, just before or behind each."""
        beside = times + (self.beside if side == "right" else -self.beside)
        u, p = self.drive.at(beside), self.parameters(times, side)
        if self.switches is not None and self.switches.clock is not None:
            clock = compile_function(self.switches.clock)
            u = np.hstack([u, clock.core.evaluate_many(beside[:, None], p)[0]])
        if self.modes is not None:
            p = np.hstack([p, self.modes.beside(times, side)])
        return u, p

    def rates(self, times: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """x' of the states of the reduced equations, at times inside steps."""
        return self.reduced.rates(times, rows, *self.arguments(times))

    def renewed(self, times: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Rows with z and x' of a higher index as the states give them; one without such values stays as it is.

        Of two rows at one time the first is that before a jump; another row has the side that its own z is next to.
        """
        found = self._on(times, rows, self.arguments(times))
        if not self.beside or not len(times):
            return found
        before, behind = self.arguments(times, "left"), self.arguments(times)
        other = np.flatnonzero(np.any([(a != b).any(axis=1) for a, b in zip(before, behind)], axis=0))
        if len(other):
            left = self._on(times[other], rows[other], (before[0][other], before[1][other]))
            z = self.algebraic
            off = [np.abs(side[:, z] - rows[other, z]).sum(axis=1) for side in (left, found[other])]
            again = np.append(times[1:] == times[:-1], False)
            is_second = np.append(False, again[:-1])[other]
            is_left = ~is_second & (again[other] | (off[0] < off[1]))
            found[other] = np.where(is_left[:, None], left, found[other])
        return found

    def _on(self, times: np.ndarray, rows: np.ndarray, given: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        if not len(times):
            return rows
        found = self.reduced.renewed(times, np.ascontiguousarray(rows), *given)
        return np.where(np.isfinite(found).all(axis=1, keepdims=True), found, rows)


def deep_values(
    plant: Plant,
    drive: Drive,
    parameters: ParametersAlong,
    modes: HeldModes | None,
    ends: tuple[float, float],
) -> DeepValues | None:
    """What gives z and x' of a higher index along a run of a plant; None where the steps alone know them.

    modes: those of the conditions in the equations along the run, where it has any. ends: its first and last time.

    Example
    -------
    >>> import daedalus as dd, numpy as np
    >>> from daedalus import catalogue
    >>> known = catalogue.load("wheelset")
    >>> tr = dd.simulate(known.model, 0.01, start=known.start, method="radau5")
    >>> data = tr.run_data
    >>> def parameters(times, side="right"): return np.zeros((len(times), 0))
    >>> deep = deep_values(data.plant, data.drive, parameters, data.held_modes, (0.0, 0.01))
    >>> rows = deep.renewed(tr.time, data.rows)
    >>> sorted(tr.system.labels["z"][k - 11] for k in np.flatnonzero((rows != data.rows).any(axis=0)) if k < 17)
    ['force[0]', 'force[1]']
    """
    switches, beside = switches_of(plant.system) if plant.is_implicit else None, 2 * same_instant(*ends)
    if switches is None:
        found = reduced_rates(plant)
        may_jump = bool(drive.tables) or drive.delayed is not None or plant.system.discrete_count > 0
        if found is None:
            return None
        return DeepValues(found, plant.row_parts["z"], drive, parameters, beside=beside if may_jump else 0.0)
    twin, known, _ = switched_plant(plant)
    if known is None or (switches.count and (modes is None or modes.conditions != switches.conditions)):
        return None
    found = reduced_rates(twin)
    held = modes.held if modes is not None and switches.count else None
    return None if found is None else DeepValues(found, plant.row_parts["z"], drive, parameters, switches, held, beside)
