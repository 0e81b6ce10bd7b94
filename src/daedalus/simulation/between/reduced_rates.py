"""x' and z of index 2 and 3 as functions of the states: by the reduced equations, in formulas or by Newton's method.

Where z of index 1 stands beside them without a formula, as the place where a wheel touches its rail, the reduction
makes a state of it. Rows of the run have it among their algebraic variables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from daedalus.analysis.structure.written_structure import VariableIndex
from daedalus.errors import DaedalusError
from daedalus.model.system.once import By, once
from daedalus.model.system.system import System
from daedalus.simulation.between.consistent_rows import solved_rows
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.plant.plants import implicit_plant_of
from daedalus.simulation.plant.solvable import of_index_1
from daedalus.simulation.plant.solved_plant import solved_plant


class ReducedRates(ABC):
    """The reduced equations of a plant, read at rows of its runs; p is of each row, (times, np).

    states: the columns of a row that hold the states of the reduced equations.
    """

    states: np.ndarray

    @abstractmethod
    def rates(self, times: np.ndarray, rows: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The derivatives of the states, (times, states)."""

    @abstractmethod
    def renewed(self, times: np.ndarray, rows: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The rows with z and x' of a higher index as the states give them."""


def reduced_rates(plant: Plant) -> ReducedRates | None:
    """The reduced equations of an implicit plant, found once; None where index 2 has none that can be solved.

    Example
    -------
    >>> from daedalus import catalogue
    >>> from daedalus.simulation.plant.plants import implicit_plant_of
    >>> names = ("pendulum_3d", "wheelset", "robertson")
    >>> plants = [implicit_plant_of(catalogue.load(name).model.freeze()) for name in names]
    >>> [type(reduced_rates(plant)).__name__ for plant in plants]
    ['RatesByFormulas', 'RatesByNewton', 'NoneType']
    """
    if not isinstance(plant, ImplicitPlant) or plant.index.largest < 2 or plant.system.choices:
        return None
    return once(plant.system, _found, By(plant.index), By(plant))


def _found(system: System, index: By[VariableIndex], owner: By[ImplicitPlant]) -> ReducedRates | None:
    plant = owner.value
    try:
        solved = solved_plant(plant)
        if solved is not None:
            return RatesByFormulas(plant, solved)
        reduced = of_index_1(system)
    except DaedalusError:  # there is no reduction
        return None
    own = (*system.labels["x"], *system.labels["z"])
    same = all(reduced.labels[letter] == system.labels[letter] for letter in ("u", "p"))
    if not same or reduced.choices or not {*reduced.labels["x"], *reduced.labels["z"]} <= set(own):
        return None
    found = implicit_plant_of(reduced)
    return RatesByNewton(plant, found) if found.index.largest <= 1 else None


class RatesByFormulas(ReducedRates):
    """The reduced equations where x' and z have formulas or follow from linear solves."""

    def __init__(self, plant: ImplicitPlant, solved: Plant) -> None:
        self._solved = solved
        self.states = np.arange(plant.system.sizes["x"])
        self._parts = []
        for letter in ("z", "xdot"):
            start, labels = plant.row_parts[letter].start, solved.system.labels[letter]
            wanted = np.flatnonzero(plant.deep_by_index[plant.row_parts[letter]])
            names = [plant.system.labels[letter][k] for k in wanted]
            # Redundant constraints: the solved equations may do without some of the forces.
            self._all_there = getattr(self, "_all_there", True) and set(names) <= set(labels)
            if self._all_there and names:
                self._parts.append((letter, start + wanted, [labels.index(name) for name in names]))

    def rates(self, times: np.ndarray, rows: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The derivatives of the states, (times, states)."""
        states = np.ascontiguousarray(rows[:, self.states])
        found: np.ndarray = self._solved.rhs.core.evaluate_many(times[:, None], states, u, p)[0]
        return found

    def renewed(self, times: np.ndarray, rows: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The rows with z and x' of a higher index as the states give them."""
        if not self._all_there:
            return rows
        given = (times[:, None], np.ascontiguousarray(rows[:, self.states]), u, p)
        found = np.array(rows)
        for letter, columns, places in self._parts:
            function = self._solved.readout if letter == "z" else self._solved.rhs
            found[:, columns] = function.core.evaluate_many(*given)[0][:, places]
        return found


class RatesByNewton(ReducedRates):
    """The reduced equations of index 1, solved for z and x' from those that a row has."""

    def __init__(self, plant: ImplicitPlant, reduced: ImplicitPlant) -> None:
        self._reduced = reduced
        own, states = plant.system.labels, reduced.system.labels["x"]
        place = {label: k for k, label in enumerate((*own["x"], *own["z"]))}
        rates = {label: plant.row_parts["xdot"].start + k for k, label in enumerate(own["x"])}
        self.states = np.array([place[label] for label in states])
        self._algebraic = np.array([place[label] for label in reduced.system.labels["z"]], dtype=int)
        # Those of states that the reduction made have no column.
        self._rated = np.array([label in rates for label in states])
        self._rates = np.array([rates[label] for label in states if label in rates], dtype=int)
        deep = plant.deep_by_index
        self._wanted = deep[self._algebraic], deep[self._rates]

    def rates(self, times: np.ndarray, rows: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The derivatives of the states, (times, states)."""
        return self._solve(times, rows, u, p)[:, self._reduced.row_parts["xdot"]]

    def renewed(self, times: np.ndarray, rows: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The rows with z and x' of a higher index as the states give them."""
        solved, parts, found = self._solve(times, rows, u, p), self._reduced.row_parts, np.array(rows)
        algebraic, rated = self._wanted
        found[:, self._algebraic[algebraic]] = solved[:, parts["z"]][:, algebraic]
        found[:, self._rates[rated]] = solved[:, parts["xdot"]][:, self._rated][:, rated]
        return found

    def _solve(self, times: np.ndarray, rows: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Rows of the reduced equations, from the values in rows of the run."""
        begin = np.zeros((len(rows), self._reduced.width))
        parts = self._reduced.row_parts
        begin[:, parts["x"]], begin[:, parts["z"]] = rows[:, self.states], rows[:, self._algebraic]
        begin[:, parts["xdot"].start + np.flatnonzero(self._rated)] = rows[:, self._rates]
        return solved_rows(self._reduced, p, times, begin, u)
