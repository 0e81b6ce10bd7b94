"""Values by name at a set of times: what a trajectory and its dense output read alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from daedalus.compilation import Compiled
from daedalus.errors import InputError
from daedalus.model.lazy_values import cached_property
from daedalus.model.names import split_index
from daedalus.model.switching.schedule import same_instant
from daedalus.model.system.system import System
from daedalus.simulation.between.reduced_rates import reduced_rates
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.plant import Plant, by_shape, labels_of
from daedalus.simulation.result.beside_jumps import BesideJumps
from daedalus.simulation.result.held_values import ConditionModes
from daedalus.simulation.result.run_data import MomentData


class Samples:
    """States x at times t, and everything that follows from them: derivatives, algebraic variables, outputs, inputs.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay")
    >>> x = m.state("x", start=1.0)
    >>> m.equation(m.der(x), -x)
    >>> snapshot = dd.simulate(m, 1.0).at(0.5)
    >>> float(snapshot["x_dot"]) == -float(snapshot["x"])
    True
    """

    saved: tuple[str, ...] | None = None  # the names that `save=` chose; None where everything is there

    def __init__(
        self,
        plant: Plant,
        drive: Drive,
        parameters: np.ndarray,
        times: np.ndarray,
        x: np.ndarray,
        scalar: bool = False,
        held: np.ndarray | None = None,
        fired: frozenset[str] = frozenset(),
        later: Callable[[], Samples] | None = None,
    ) -> None:
        self._plant = plant
        self._drive = drive
        self._parameters = parameters
        self._scalar = scalar  # one time asked for: values without the time axis
        self._times = times
        self._x = x  # rows of the run: x, or (x, z, x') of an implicit method
        self._held = held  # discrete variables at each time, (nt, entries)
        self._fired = fired  # what happened at the one time asked for
        self._modes: ConditionModes | None = None  # of conditions at the one time asked for
        self._later = later  # where something happens at the very time, to rounding: the moment behind it

    def __reduce__(self) -> tuple[Any, ...]:
        drive, renews = self._drive.sampled(self._times), self._plant.is_implicit and self._renews
        rows = (self._times, self._x, self._scalar, renews)
        # What makes it the moment that it is: before or after what happens there.
        later = None if self._later is None else self._later()
        moment = (self._held, self._fired, self._modes, later, self._beside_jumps)
        return _kept_samples, (self._plant.system, drive, self._parameters, *rows, *moment)

    @property
    def run_data(self) -> MomentData:
        """The numbers behind the values: plant, drive, parameters, times, rows.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay")
        >>> x = m.state("x", start=1.0)
        >>> m.equation(m.der(x), -x)
        >>> dd.simulate(m, 1.0).at([0.0, 0.5]).run_data.rows.shape
        (2, 1)
        """
        return MomentData(self)

    def begins(self, t: float) -> Samples | None:
        """The state from which a run that starts at t continues, after all events at t; None for another time.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay")
        >>> x = m.state("x", start=1.0)
        >>> m.equation(m.der(x), -x)
        >>> tr = dd.simulate(m, 1.0)
        >>> bool(tr.at(0.5).begins(0.5)["x"] == tr.at(0.5)["x"]), tr.at(0.5).begins(0.6)
        (True, None)
        """
        own = float(self._times[0]) if self._times.size == 1 else np.nan
        if not abs(own - t) <= same_instant(own, t):
            return None
        return self if self._later is None else self._later()

    @property
    def time(self) -> np.ndarray:
        """The times, (nt,)."""
        return self._times[0] if self._scalar else self._times

    @property
    def system(self) -> System:
        """The system that was run."""
        return self._plant.system

    def keys(self) -> list[str]:
        """All names: states, derivatives, algebraic variables, inputs, outputs, parameters."""
        return [*self._plant.system.places, *self._plant.system.aliases, *self._plant.output_slices]

    def _ipython_key_completions_(self) -> list[str]:
        return self.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, name: object) -> bool:
        try:
            self[str(name)]
        except InputError:
            return False
        return True

    def __getitem__(self, name: str) -> np.ndarray:
        """The values of a name, (nt, ...) in its shape; without the time axis for a single time."""
        values = self._values(name)
        return values[0] if self._scalar else values

    def _values(self, name: str) -> np.ndarray:
        try:
            known = self._plant.columns.get(name)
        except TypeError:
            raise InputError("A result is asked for one name.", f"got {name!r}"[:120], remedy='tr["x"]') from None
        if known is not None:
            rows = (
                self._renewed
                if self._plant.is_implicit and known[0].start >= self._plant.row_parts["z"].start
                else self._x
            )
            return by_shape(rows[:, known[0]].copy(), known[1])
        if name in ("t", "time"):
            return self._times
        if name in self._plant.output_slices or split_index(name)[0] in self._plant.output_slices:
            position, shape = self._plant.output_place(name)
            return by_shape(self._readout(position), shape)
        place = self._plant.system.place(name)
        if place.letter is not None:
            return by_shape(self._vector(place.letter)[:, place.span].copy(), place.shape)
        # A derivative that is a state in some elements only.
        columns = [self._vector(letter)[:, k] for letter, k in zip(place.letters, place.positions)]
        return by_shape(np.stack(columns, axis=1), place.shape)

    def _vector(self, letter: str) -> np.ndarray:
        part = self._plant.row_parts.get(letter)
        if part is not None:
            return (self._x if letter == "x" else self._renewed)[:, part]
        if letter == "u":
            return self._inputs
        if letter == "p":
            return np.broadcast_to(self._held_parameters, (len(self._times), len(self._parameters)))
        if letter == "z":
            return self._readout(slice(0, self._plant.system.sizes["z"]))
        return self._derivatives

    @cached_property
    def _held_parameters(self) -> np.ndarray:
        """p, the same for all times, (np,), or (nt, np) where discrete variables change."""
        held = self._discrete_rows()
        if held is None:
            return self._parameters
        rows = np.repeat(self._parameters[None, :], len(self._times), axis=0)
        rows[:, rows.shape[1] - held.shape[1] :] = held
        return rows

    def _discrete_rows(self) -> np.ndarray | None:
        """The discrete variables at each time; None where they are those of the parameters."""
        return self._held

    def _some(self, rows: np.ndarray | slice) -> Samples:
        """Some rows, each exactly as it is here."""
        held = self._discrete_rows()
        base = (
            self._plant,
            self._drive,
            self._parameters,
            self._times[rows],
            np.ascontiguousarray(self._own_rows[rows]),
        )
        found = Samples(*base, held=None if held is None else held[rows]).renewing(lambda: self._renews)
        chosen = np.arange(len(self._times))[rows]
        found._look_beside = lambda: None if self._beside_jumps is None else self._beside_jumps.of_rows(chosen)
        return found

    @property
    def _own_rows(self) -> np.ndarray:
        """The rows as parts of these samples have them."""
        return self._x

    _renewing: Callable[[], bool] | None = None  # whether forces of constraints are those that the states give

    @property
    def _renews(self) -> bool:
        return self._renewing is not None and self._renewing()

    def renewing(self, asked: Callable[[], bool]) -> Samples:
        """These samples, with forces of constraints as the states give them where `asked` says so.

        Those of fixed steps are what the method makes of them.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay")
        >>> x = m.state("x", start=1.0)
        >>> m.equation(m.der(x), -x)
        >>> moment = dd.simulate(m, 1.0).at(0.5)
        >>> moment.renewing(lambda: True) is moment
        True
        """
        self._renewing = asked
        return self

    _look_beside: Callable[[], BesideJumps | None] | None = None  # how rows at jumps are read

    @cached_property
    def _beside_jumps(self) -> BesideJumps | None:
        return None if self._look_beside is None else self._look_beside()

    def _from_own_side(self, values: np.ndarray, read: Callable[[Samples], np.ndarray]) -> np.ndarray:
        """Values that follow from rows by formulas, with those at jumps from their own side."""
        return values if self._beside_jumps is None else self._beside_jumps.limits(values, read)

    @cached_property
    def _inputs(self) -> np.ndarray:
        return self._from_own_side(self._drive.at(self._times), lambda points: points._inputs)

    def _arguments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self._times[:, None], self._x, self._inputs, self._held_parameters

    @cached_property
    def _renewed(self) -> np.ndarray:
        """The rows with forces of constraints as the states give them."""
        if not (self._plant.is_implicit and self._plant.deep_columns.any() and self._renews):
            return self._x
        return renewed_rows(self._plant, self._times, self._x, self._inputs, self._held_parameters)

    @cached_property
    def _all_readout(self) -> np.ndarray:
        """z and the outputs at the rows themselves."""
        t, _, u, p = self._arguments()
        found: np.ndarray = self._plant.readout.core.evaluate_many(t, self._renewed, u, p)[0]
        return found

    def _readout(self, columns: slice) -> np.ndarray:
        """Some of z and the outputs: large models have thousands, and few are asked for."""
        return self._from_own_side(self._all_readout[:, columns], lambda points: points._readout(columns))

    @cached_property
    def _derivatives(self) -> np.ndarray:
        found = self._plant.rhs.core.evaluate_many(*self._arguments())[0]
        return self._from_own_side(found, lambda points: points._derivatives)

    def violations(self) -> dict[str, float]:
        """The largest violation of each equation without derivatives, invariant or watched constraint."""
        return {name: float(values.max(initial=0.0)) for name, values in self.violation_series().items()}

    def violation_series(self) -> dict[str, np.ndarray]:
        """The violation of each of them in every row."""
        plant = self._plant
        found: dict[str, np.ndarray] = {}
        if plant.constraint_rows:
            labels = [plant.system.equation_labels[r] for r in plant.constraint_rows]
            found.update(zip(labels, self._sizes(plant.constraints)))
        if plant.system.invariants:
            found.update(zip(plant.invariant_labels, self._sizes(plant.invariants)))
        if plant.system.watched:
            found.update(zip(labels_of(plant.system.watched), self._sizes(plant.watched)))
        return found

    def _sizes(self, function: Compiled) -> np.ndarray:
        """Absolute values, one row for each component."""
        return np.abs(function.core.evaluate_many(*self._arguments())[0]).T

    def __repr__(self) -> str:
        span = f"t = {self._times[0]:g}" if self._scalar else f"{len(self._times)} times"
        return f"Samples({self._plant.system.name!r} at {span}: {', '.join(self.keys()[:8])})"


def _kept_samples(
    system: System, drive: Drive, parameters: np.ndarray, times: np.ndarray, x: np.ndarray, scalar: bool, renews: bool,
    held: np.ndarray | None = None, fired: frozenset[str] = frozenset(), modes: ConditionModes | None = None,
    later: Samples | None = None, beside: BesideJumps | None = None,
) -> Samples:  # fmt: skip
    """Samples as pickles hold them."""
    from daedalus.simulation.plant.plants import plant_for_rows

    then = None if later is None else lambda: later
    found = Samples(plant_for_rows(system, x), drive, parameters, times, x, scalar, held, fired, then)
    found._modes, found._look_beside = modes, lambda: beside
    return found.renewing(lambda: renews)


# Forces of constraints in the rows of implicit runs: solved for anew from the states, which are far more exact.
#
# At index 3 three stages of Radau give positions to order 4, velocities to order 3 and multipliers to order 2, between
# the steps less, and error control counts an error of these h² times (E. Hairer, C. Lubich, M. Roche, The Numerical
# Solution of Differential-Algebraic Systems by Runge-Kutta Methods, 1989). The reduced equations give them as a
# function of the states. Measured on the mechanisms of the catalogue, radau5 at rtol = 1e-6: 60 to 60 000 tolerances as
# they come out of the steps, 0.01 to 30 as solved for.


def renewed_rows(
    plant: Plant, times: np.ndarray, rows: np.ndarray, inputs: np.ndarray, p: np.ndarray
) -> np.ndarray:  # fmt: skip
    """Rows with z and x' of a higher index as the states give them; one that has no such values stays as it is.

    Example
    -------
    >>> import daedalus as dd
    >>> from daedalus import catalogue
    >>> known = catalogue.load("pendulum_3d")
    >>> coarse = dd.simulate(known.model, 1.0, start=known.start, inputs=known.inputs, method="radau5", rtol=1e-4)
    >>> exact = dd.simulate(known.model, 1.0, start=known.start, inputs=known.inputs, rtol=1e-11)
    >>> bool(abs(coarse["cable"] / exact.at(coarse.time)["cable"] - 1).max() < 1e-4)
    True
    """
    reduced = reduced_rates(plant) if plant.deep_columns.any() and len(rows) else None
    if reduced is None:
        return rows
    renewed = reduced.renewed(times, rows, inputs, np.broadcast_to(p, (len(times), np.shape(p)[-1])))
    return np.where(np.isfinite(renewed).all(axis=1, keepdims=True), renewed, rows)
