"""Rows of an implicit run put on everything its model asks for: constraints, and the hidden ones that follow from them.

Between its steps a run obeys them to its tolerance only. Positions move first, then velocities, both by the shortest
way in the mass metric for mechanics, and z and x' follow: what `dd.initialise` does with every state free.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from daedalus.analysis.structure.jets.jet_equations import JetEquations
from daedalus.initialisation.given_and_guessed import LETTERS
from daedalus.initialisation.mass_metric import search_from
from daedalus.initialisation.start_equations import start_equations
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_of_methods import MethodAsked, StartedUp

# Tighter than any run asks for.
RTOL, ATOL = 1e-13, 1e-15
# Of the tolerance of a loose run.
FINER_BY = 1e-6


def at_fixed_steps(plant: ImplicitPlant, records: Iterable[Record]) -> bool:
    """Whether z is solved for wherever a run is read between its steps: at index 1 and fixed steps.

    No error control sees polynomials of z there, which have a low order: straight lines by the trapezoidal rule.
    """
    if plant.index.largest != 1:
        return False
    return any(isinstance(r, StartedUp) or (isinstance(r, MethodAsked) and r.has_step) for r in records)


def consistent_rows(
    plant: ImplicitPlant, drive: Drive, p: np.ndarray, times: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """The rows nearest to those of a run that obey its equations; one that no search leads to stays as it is.

    p: parameters of each row, (times, np), with the discrete variables as they are there.
    Where a constraint differentiates an input that is a table or a Python function, whose slopes are not known, the
    rows stay too.

    Example
    -------
    >>> import daedalus as dd, casadi as ca
    >>> m = dd.Model("pendulum")
    >>> q = m.coordinate("q", 2, start=[1.0, 0.0]); m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    >>> m.potential_energy(9.81 * q[1]); _ = m.constraint("rod", ca.sumsqr(q) - 1)
    >>> at = dd.simulate(m, 1.0, method="radau5").at(0.4321, project=True)
    >>> bool(abs(at["q"] @ at["q"] - 1) < 1e-15), bool(abs(at["q"] @ at["q_dot"]) < 1e-14)
    (True, True)
    """
    if plant.system.choices:
        return rows
    inputs = drive.at(times)
    if plant.index.largest == 1:
        return solved_rows(plant, p, times, rows, inputs)
    found = np.array(rows)
    for k, t in enumerate(times):
        if k == 0 or not np.array_equal(p[k], p[k - 1]):
            equations = start_equations(plant.system, p[k])
        if equations.input_order > 0 and drive.moves:
            continue
        found[k] = _nearest(plant, equations, float(t), rows[k], inputs[k], p[k])
    return found


def moved_by(core: Any, times: np.ndarray, rows: np.ndarray, inputs: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The rows as a projection moves them; p is of each row, (times, np), and it takes one p a call."""
    if not len(times):
        return rows
    parts = _parts_of_one_p(p)
    return np.concatenate([core.evaluate_many(times[k, None], rows[k], inputs[k], p[k.start])[0] for k in parts])


def _parts_of_one_p(p: np.ndarray) -> list[slice]:
    """Rows that follow each other and have the same p, (times, np)."""
    bounds = [0, *(1 + np.flatnonzero((p[1:] != p[:-1]).any(axis=1))), len(p)]
    return [slice(a, b) for a, b in pairwise(bounds)]


def solved_rows(
    plant: ImplicitPlant,
    p: np.ndarray,
    times: np.ndarray,
    rows: np.ndarray,
    inputs: np.ndarray,
    step: float = 0.0,
    rtol: float = 0.0,
) -> np.ndarray:
    """The rows with z and x' from x, where these follow at once; p is of each row, (times, np).

    step: how long steps of the run are. A rate is as exact as its state needs it over such a step; zero: over a second.
    rtol: the tolerance of the run, of which states have errors; z and x' are solved for much more exactly than that.
    """
    if not len(times):
        return rows
    nominal = plant.system.nominal
    exact = max(RTOL, FINER_BY * rtol)
    scale = ATOL / RTOL * exact * np.concatenate([nominal["x"], nominal["z"], np.ones(plant.system.sizes["x"])])
    solve = plant.model.consistent_rows
    parts = _parts_of_one_p(p)
    return np.concatenate([solve(times[k], rows[k], inputs[k], p[k.start], exact, scale, step) for k in parts])


def _nearest(
    plant: ImplicitPlant, equations: JetEquations, t: float, row: np.ndarray, u: np.ndarray, p: np.ndarray
) -> np.ndarray:
    """One row on the constraints and hidden constraints."""
    parts = plant.row_parts
    slopes = np.zeros((equations.input_order + 1, len(u)))
    slopes[0] = u
    guess = equations.along_jet({letter: row[parts[letter]] for letter in LETTERS})
    outcome = search_from(equations, t, p, slopes, guess).run(np.zeros(len(guess), dtype=bool))
    if not outcome.solved:
        return row
    found = np.array(row)
    for letter, values in equations.by_letter(outcome.values).items():
        found[parts[letter]] = values
    return found
