"""States on the constraints, as near as possible to a guess, with some of them given: Gauss and Newton on c(x) = 0."""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.algebra.manifold import Manifold, rows_onto
from daedalus.algebra.rank_decision import KNOWN
from daedalus.errors import InconsistentStartError
from daedalus.initialisation.wording import number, values_in_words
from daedalus.model.expressions import elements
from daedalus.optimisation.description.description import Description
from daedalus.optimisation.transcription.along_rows import AlongRows
from daedalus.optimisation.transcription.boundary.reference_ends import ReferenceEnds, first_guess, fixed_states
from daedalus.optimisation.transcription.invariants import KeptQuantities

# What may be left of the constraints, and how far beside a guess others are tried, in sizes of the states.
OFF = 1e-6
BESIDE = (0.1, 0.3, 1.0, 1.0, 3.0)


def consistent_states(
    description: Description, kept: KeptQuantities, given: dict[int, float], guess: np.ndarray, where: str
) -> np.ndarray:
    """The guess with the given states put in, moved onto what the model holds at zero.

    Raises an InconsistentStartError where the given states do not lie on it.
    """
    x = np.array(guess, dtype=float)
    x[list(given)] = list(given.values())
    if not kept.held.numel():
        return x
    free = np.array([k for k in range(len(x)) if k not in given], dtype=int)
    both = _Held(description, kept.held)
    size = np.maximum(description.system.nominal["x"], 1e-12)
    best, best_left = _moved(both, x, free, size)
    random = np.random.default_rng(2)
    # Where slopes vanish, as at the centre of a circle, steps lead nowhere: others begin beside it.
    for reach in BESIDE if len(free) else ():
        if best_left <= OFF:
            break
        beside = x.copy()
        beside[free] += reach * size[free] * random.uniform(-1.0, 1.0, len(free))
        found, left = _moved(both, beside, free, size)
        best, best_left = (found, left) if left < best_left else (best, best_left)
    if best_left > OFF:
        raise _off(description, kept, given, both(best[None])[0][0], where)
    return best


def _moved(both: _Held, x: np.ndarray, free: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, float]:
    """Where steps of the free states lead, and what is left of the constraints there."""

    def kept(point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        (left,), (slopes,) = both(point[None])
        return left, slopes

    found = Manifold(kept, size).nearest(x, free).values if len(free) else x
    return found, float(np.abs(kept(found)[0]).max())


def projected(
    description: Description, kept: KeptQuantities, rows: np.ndarray, time: float | None = None, iterations: int = 8
) -> np.ndarray:
    """Rows of states (K, n) moved onto what the model holds at zero; rows that do not get there stay where they are.

    time: at which they count, by default that of the start.
    """
    if not kept.held.numel() or not len(rows):
        return rows
    both = _Held(description, kept.held, time)
    size = np.maximum(description.system.nominal["x"], 1e-12)
    found = rows_onto(both, rows, size, KNOWN, iterations)
    left, _ = both(found)
    there = np.isfinite(found).all(axis=1) & (np.abs(left).max(axis=1) < 1e-3)
    return np.where(there[:, None], found, rows)


class _Held:
    """(rows of states) -> what is held there, (K, c), and its slopes, (K, c, n)."""

    def __init__(self, description: Description, held: ca.SX, time: float | None = None) -> None:
        x, t, p = description.system.symbols(("x", "t", "p"))
        self._both = AlongRows([x, t, p], [held, ca.jacobian(held, x)])
        begin = description.begin if time is None else time
        self._rest = np.concatenate([[begin], np.ravel(description.parameters)])

    def __call__(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, flat = self._both(rows, np.tile(self._rest, (len(rows), 1)))
        return value, flat.reshape(len(rows), rows.shape[1], value.shape[1]).transpose(0, 2, 1)


def _off(
    description: Description, kept: KeptQuantities, given: dict[int, float], left: np.ndarray, where: str
) -> InconsistentStartError:
    worst = int(np.argmax(np.abs(left)))
    labels = description.system.labels["x"]
    involved = {labels[k]: given[k] for k in given if _depends(description, kept.held[worst], k)}
    name = kept.held_names[worst]
    values = values_in_words(description.system, involved)
    return InconsistentStartError(
        f"{name} and the {where} values {values} disagree by {number(abs(left[worst]), 3)}.",
        f"{name} is zero along every motion of {description.system.name!r}",
        because="a plan can only start and end at possible states of the model.",
        remedy=f"fewer {where} values, so that the rest can be found, or values from dd.initialise",
    )


def _depends(description: Description, expression: ca.SX, k: int) -> bool:
    return bool(ca.depends_on(expression, elements(description.system.symbol("x"))[k]))


def reference_ends(description: Description, kept: KeptQuantities, guess: ReferenceEnds | None = None) -> ReferenceEnds:
    """Consistent states at both ends; guess: of what is not given there."""
    starts, ends = fixed_states(description.starts), fixed_states(description.ends)
    near = first_guess(description) if guess is None else guess.start
    begin = consistent_states(description, kept, starts, near, "start")
    near = begin if guess is None else guess.end
    try:
        return ReferenceEnds(begin, consistent_states(kept.at_end.description, kept, ends, near, "end"))
    except InconsistentStartError:
        if not kept.end_moves:
            raise
    # Where the constraints are at the end is not known before the search.
    end = near.copy()
    end[list(ends)] = list(ends.values())
    return ReferenceEnds(begin, end)
