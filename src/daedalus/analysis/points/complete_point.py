"""Solve the equations for the derivatives and algebraic values that a point lacks, and say what was done.

States without a value take that of the model's start, inputs without one are zero; x' and z without one are solved for
in F(t, x', x, z, u, p) = 0. Where the equations as they stand do not determine all of them (an index above 1), they are
differentiated as often as their structure asks for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from daedalus.algebra.agreement import SAME
from daedalus.algebra.damped_newton import Equations, Root, damped_newton
from daedalus.algebra.rank_decision import FULL_MATRIX
from daedalus.analysis.points.operating_point import OperatingPoint, sizes_of
from daedalus.analysis.points.partial_derivatives import partial_derivatives
from daedalus.analysis.structure.jets.differentiated_equations import is_determined, solve_differentiated
from daedalus.errors import SolverError
from daedalus.model.names import listed, times_text
from daedalus.model.system.system import System

# An entry of a vector: its letter and its position.
Entry = tuple[str, int]


def complete_point(
    system: System, given: Mapping[str, np.ndarray], guess: np.ndarray | None = None
) -> tuple[OperatingPoint, tuple[str, ...]]:
    """All values at a point from the given ones (NaN where there is none), and what was decided on the way.

    guess: where to begin the search for z, instead of the model's start.
    """
    vectors = {letter: np.array(values, dtype=float) for letter, values in given.items()}
    notes = fill_states_and_inputs(system, vectors)
    for k, state in linked_states(system):
        vectors["xdot"][k] = vectors["x"][state]
    unknowns = [(letter, int(k)) for letter in ("xdot", "z") for k in np.flatnonzero(np.isnan(vectors[letter]))]
    vectors["xdot"] = np.nan_to_num(vectors["xdot"])
    vectors["z"] = _filled(vectors["z"], system.start["z"] if guess is None else guess)
    if unknowns:
        scatter(vectors, unknowns, _solve(system, vectors, unknowns, notes))
    return OperatingPoint(system, vectors), tuple(notes)


def fill_states_and_inputs(system: System, vectors: dict[str, np.ndarray]) -> list[str]:
    """Put start values, guesses and zeros where states and inputs have no value; returns what was assumed."""
    notes = []
    from_start = _filled(vectors["x"], system.default_start)
    nowhere = np.isnan(vectors["x"]) & np.isnan(system.start["x"]) & np.isnan(system.guessed_start)
    for letter, missing in (("x", np.flatnonzero(nowhere)), ("u", np.flatnonzero(np.isnan(vectors["u"])))):
        if len(missing):
            names = [system.labels[letter][k] for k in missing]
            notes.append(f"{listed(names)} had no value and {'is' if len(names) == 1 else 'are'} taken as 0")
    vectors["x"], vectors["u"] = from_start, np.nan_to_num(vectors["u"])
    return notes


def linked_states(system: System) -> list[tuple[int, int]]:
    """(k, j) where the derivative of state k is state j, because the equations are of higher order."""
    position = {label: k for k, label in enumerate(system.labels["x"])}
    return [(k, position[label]) for k, label in enumerate(system.labels["xdot"]) if label in position]


def _filled(values: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.nan_to_num(np.where(np.isnan(values), other, values))


def _solve(system: System, vectors: Mapping[str, np.ndarray], unknowns: list[Entry], notes: list[str]) -> np.ndarray:
    if not is_determined(system):
        values = _from_differentiated(system, vectors, unknowns, notes)
        if values is not None:
            return values
    root = solve_for(system, vectors, unknowns)
    loose = [unknowns[k] for k in root.loose()]
    if loose:
        values = _at_rest(system, vectors, unknowns, loose, notes)
        if values is not None:
            return values
    if not root.converged:
        worst = int(np.argmax(np.abs(root.scaled)))
        raise SolverError(
            f"The equations of {system.name!r} could not be solved for the missing values at this point.",
            [
                f"solved for {listed(labels_of(system, unknowns))}",
                f"{root.iterations} iterations; largest scaled residual {abs(root.scaled[worst]):.3g} in "
                f"{system.equation_labels[worst]}",
            ],
            because="the equations have no solution there, or the guess is too far from it.",
            remedy="better values in at=, for instance of the algebraic variables",
        )
    return root.values


def _from_differentiated(
    system: System, vectors: Mapping[str, np.ndarray], unknowns: list[Entry], notes: list[str]
) -> np.ndarray | None:
    """Values from the equations and their time derivatives; None where these do not give all derivatives."""
    found = solve_differentiated(system, vectors, unknowns)
    if found is None or any(unknowns[k][0] == "xdot" for k in found[1]):
        return None
    values, loose, most = found
    times = times_text(most)
    notes.append(f"derivatives and algebraic variables follow from equations differentiated up to {times}")
    if len(loose):
        names = labels_of(system, [unknowns[k] for k in loose])
        notes.append(f"the equations do not determine {listed(names)}: the smallest values are taken")
    return values


def _at_rest(
    system: System, vectors: Mapping[str, np.ndarray], unknowns: list[Entry], loose: list[Entry], notes: list[str]
) -> np.ndarray | None:
    """Values of rest where the equations do not determine all derivatives and rest is one solution; else None."""
    held = {entry for entry in loose if entry[0] == "xdot"}
    moving = [entry for entry in unknowns if entry not in held]
    root = solve_for(system, vectors, moving)
    trial = {letter: np.array(values) for letter, values in vectors.items()}
    scatter(trial, moving, root.values)
    what = f"the equations do not determine {listed(labels_of(system, loose))}"
    if root.solved and np.all(np.abs(trial["xdot"]) <= SAME * system.nominal["x"]):
        notes.append(f"{what}: those of rest are taken")
        return np.array([trial[letter][k] for letter, k in unknowns])
    notes.append(f"{what}: values near the guess are taken; give them in at=, for instance with at=tr.at(t)")
    return None


def solve_for(system: System, vectors: Mapping[str, np.ndarray], unknowns: Sequence[Entry]) -> Root:
    """Newton's method on F for some entries of the vectors, from the values they have."""
    guess = np.array([vectors[letter][k] for letter, k in unknowns])
    return damped_newton(equations_in(system, vectors, unknowns), guess, usual_sizes(system, vectors, unknowns))


def usual_sizes(system: System, vectors: Mapping[str, np.ndarray], entries: Sequence[Entry]) -> np.ndarray:
    """The nominal values of entries; a derivative has that of its state, a parameter its own value."""
    nominal = {**system.nominal, "xdot": system.nominal["x"], "p": np.abs(vectors["p"])}
    sizes = np.array([nominal[letter][k] for letter, k in entries])
    return np.where(sizes > 0, sizes, 1.0)


def equations_in(system: System, vectors: Mapping[str, np.ndarray], unknowns: Sequence[Entry]) -> Equations:
    """F and its Jacobian as functions of some entries, all others held; the Jacobian of a large system is sparse."""
    derivatives = partial_derivatives(system)
    dense = len(unknowns) <= FULL_MATRIX
    letters = dict.fromkeys(letter for letter, _ in unknowns)
    positions = {letter: [k for own, k in unknowns if own == letter] for letter in letters}
    # Columns come letter by letter; the unknowns may be in another order.
    places = [place for letter in letters for place, (own, _) in enumerate(unknowns) if own == letter]
    back = np.argsort(np.array(places, dtype=int))

    def evaluate(values: np.ndarray) -> tuple[np.ndarray, Any, np.ndarray]:
        point = {letter: np.array(vector) for letter, vector in vectors.items()}
        scatter(point, unknowns, values)
        if dense:
            residual, full = derivatives.equations(point)
            columns = [full[letter][:, chosen] for letter, chosen in positions.items()]
            matrix = np.hstack([np.zeros((len(residual), 0)), *columns])[:, back]
            return residual, matrix, equation_sizes(system, point, full)
        from scipy.sparse import hstack

        residual, slopes = derivatives.sparse_equations(point)
        matrix = hstack([slopes[letter][:, chosen] for letter, chosen in positions.items()], "csc")[:, back]
        return residual, matrix, equation_sizes(system, point, slopes)

    return evaluate


def equation_sizes(system: System, vectors: Mapping[str, np.ndarray], slopes: Mapping[str, Any]) -> np.ndarray:
    """What each equation amounts to: its largest change when a variable changes by its own size."""
    sizes = sizes_of(system, vectors)
    scale = np.zeros(len(system.equation_labels))
    for letter in ("xdot", "x", "z", "u"):
        slope = slopes[letter]
        if isinstance(slope, np.ndarray):
            scale = np.maximum(scale, (np.abs(slope) * sizes[letter]).max(axis=1, initial=0.0))
        elif slope.shape[1]:
            scale = np.maximum(scale, abs(slope).multiply(sizes[letter]).tocsc().max(axis=1).toarray().ravel())
    return np.where(scale > 0, scale, 1.0)


def scatter(vectors: Mapping[str, np.ndarray], entries: Sequence[Entry], values: np.ndarray) -> None:
    """Write values into entries of the vectors."""
    for (letter, k), value in zip(entries, values):
        vectors[letter][k] = value


def labels_of(system: System, entries: Sequence[Entry]) -> list[str]:
    """The names of entries."""
    return [system.labels[letter][k] for letter, k in entries]
