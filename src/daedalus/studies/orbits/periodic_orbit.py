"""A periodic motion as `dd.periodic` returns it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES
from daedalus.model.model import Model
from daedalus.model.names import counted
from daedalus.model.plain_numbers import plain_times
from daedalus.model.system.system import System
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.trajectory import Trajectory

# Multipliers within these distances of the unit circle count as on it: what derivatives of a run are known to, and, for
# a double multiplier 1, about the root of what they are known to at rtol 1e-10.
ON_CIRCLE, TWICE_ONE = KNOWN_BY_DIFFERENCES, 3e-4


@dataclass(frozen=True, eq=False)
class OrbitQuestion:
    """What `dd.periodic` was asked: the model, its inputs and parameters, the start time, options of `dd.simulate`."""

    model: Model | System
    inputs: Mapping[str, Any] | None
    parameters: Mapping[str, Any] | None
    begin: float
    options: Mapping[str, Any]


class PeriodicOrbit:
    """The result of `dd.periodic`: a periodic motion. `orbit["x"]` holds a variable over one period.

    Attributes
    ----------
    period: its length in time. multipliers: (k,) complex, Floquet's, largest first; of an autonomous model the trivial
    1 is among them. stable: whether all others are inside the unit circle. neutral: whether none is outside but some
    are on it, as for the orbits of a pendulum without friction. start: values by name at the beginning.
    trajectory: the run over one period. residual: how far it is from closing, relative to the size of the states.
    iterations: steps of Newton's method. notes: what was done. question: the model and the values it was computed for;
    `dd.branch(orbit, "mu", (0, 2))` follows it over a parameter.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("van der Pol"); x = m.state("x", start=2.0); y = m.state("y", start=0.0)
    >>> m.equation([m.der(x), m.der(y)], [y, (1 - x**2) * y - x])
    >>> orbit = dd.periodic(m)
    >>> round(orbit.period, 8), orbit.stable, round(float(abs(orbit.multipliers[0])), 6)
    (6.66328686, True, 1.0)
    """

    def __init__(self, trajectory: Trajectory, multipliers: np.ndarray, driven: bool, residual: float, iterations: int,
                 notes: tuple[str, ...], question: OrbitQuestion, begun: Mapping[str, Any]) -> None:  # fmt: skip
        self.trajectory, self.notes, self.question, self.begun = trajectory, notes, question, begun
        self.residual, self.iterations, self.driven = residual, iterations, driven
        self.multipliers = multipliers[np.argsort(-np.abs(multipliers), kind="stable")]
        self.multipliers.setflags(write=False)
        self.period = float(trajectory.time[-1] - trajectory.time[0])

    @property
    def start(self) -> Samples:
        """The values at the start, after the ticks of clocks; `begun` holds those before them, for `start=`."""
        return self.trajectory.at(float(self.trajectory.time[0]))

    @property
    def time(self) -> np.ndarray:
        """The times of the rows."""
        return np.asarray(self.trajectory.time)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.trajectory[name]

    @property
    def stable(self) -> bool:
        """Whether the orbit is stable: all multipliers except the trivial one are inside the unit circle."""
        return bool(np.all(self._sides() < 0))

    @property
    def neutral(self) -> bool:
        """Whether multipliers beside the trivial one are on the unit circle, and none is outside."""
        sides = self._sides()
        return bool(np.all(sides <= 0) and np.any(sides == 0))

    def _sides(self) -> np.ndarray:
        """-1, 0 or 1 for each multiplier beside the trivial one: inside, on or outside the unit circle.

        A double multiplier 1 is known to the root of what the derivative is known to.
        """
        values = self.multipliers
        if not self.driven and len(values):
            values = np.delete(values, int(np.argmin(np.abs(values - 1))))
        twice = np.abs(values - 1) <= (0.0 if self.driven else TWICE_ONE)
        width = np.where(twice, TWICE_ONE, ON_CIRCLE)
        beyond = np.abs(values) - 1
        sides: np.ndarray = np.where(np.abs(beyond) <= width, 0, np.sign(beyond))
        return sides

    @property
    def kind(self) -> str:
        """ "stable", "unstable" or "neutral", in words."""
        if self.neutral:
            return "neutral" if self.driven else "neutral, one of a family"
        return "stable" if self.stable else "unstable"

    def at(self, t: object) -> Samples:
        """Values at any time; the motion is continued periodically."""
        begin = float(self.trajectory.time[0])
        times = begin + np.mod(plain_times(t, "The times of at()") - begin, self.period)
        return self.trajectory.at(float(times) if times.ndim == 0 else times)

    def plot(self, names: Any = None, ax: Any = None) -> Any:
        """Draw the variables over one period; returns the figure."""
        return self.trajectory.plot(names, ax=ax)

    def _repr_html_(self) -> str:
        from daedalus.display.cards.study_cards import orbit_card

        return orbit_card(self)

    def __repr__(self) -> str:
        return f"PeriodicOrbit({self.trajectory.system.name!r}: period {self.period:.10g}, {self.kind})"

    def __str__(self) -> str:
        largest = ", ".join(f"{abs(value):.4g}" for value in self.multipliers[:6])
        lines = [
            f"Periodic orbit of {self.trajectory.system.name!r}: period {self.period:.10g}, {self.kind}",
            f"  moduli of the Floquet multipliers: {largest}{', …' if len(self.multipliers) > 6 else ''}",
            f"  closes within {self.residual:.2g} of the sizes of its states, {counted(self.iterations, 'iteration')}",
        ]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])
