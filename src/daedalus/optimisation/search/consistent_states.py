"""States on the constraints, as near as possible to a guess, with some of them given: Gauss and Newton on c(x) = 0."""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.errors import InconsistentStartError
from daedalus.initialisation.wording import number, values_in_words
from daedalus.model.expressions import elements
from daedalus.optimisation.description.description import Description
from daedalus.optimisation.transcription.invariants import KeptQuantities

ITERATIONS = 50
TOLERANCE = 1e-10


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
    value, slopes = _functions(description, kept.held)
    size = np.maximum(description.system.nominal["x"], 1e-12)
    best, best_left = x, np.inf
    for _ in range(ITERATIONS):
        left = value(x)
        if np.abs(left).max() < best_left:
            best, best_left = x.copy(), float(np.abs(left).max())
        if best_left <= TOLERANCE or not len(free):
            break
        matrix = slopes(x)[:, free] * size[free]
        step = np.linalg.lstsq(matrix, -left, rcond=1e-10)[0] * size[free]
        if not np.isfinite(step).all():
            break
        x = x.copy()
        x[free] += step
    if best_left > 1e-6:
        raise _off(description, kept, given, value(best), where)
    return best


def projected(description: Description, kept: KeptQuantities, rows: np.ndarray, iterations: int = 8) -> np.ndarray:
    """Rows of states (K, n) moved onto what the model holds at zero; rows that do not get there stay where they are."""
    if not kept.held.numel():
        return rows
    value, slopes = _functions(description, kept.held)
    size = np.maximum(description.system.nominal["x"], 1e-12)
    found = rows.copy()
    for k, row in enumerate(rows):
        x = row.copy()
        for _ in range(iterations):
            left = value(x)
            if np.abs(left).max() <= TOLERANCE:
                break
            x = x + np.linalg.lstsq(slopes(x) * size, -left, rcond=1e-10)[0] * size
        if np.isfinite(x).all() and np.abs(value(x)).max() < 1e-3:
            found[k] = x
    return found


def _functions(description: Description, held: ca.SX) -> tuple:  # type: ignore[type-arg]
    system = description.system
    x = system.symbol("x")
    arguments = [system.symbol("t"), x, system.symbol("p")]
    value = ca.Function("held", arguments, [held])
    slopes = ca.Function("slopes", arguments, [ca.jacobian(held, x)])
    t, p = description.begin, description.parameters
    return (lambda x: value(t, x, p).full().ravel()), (lambda x: slopes(t, x, p).full())


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
        because="a plan can only begin and end where the model can be.",
        remedy=f"fewer {where} values, so that the rest can be found, or values from dd.initialise",
    )


def _depends(description: Description, expression: ca.SX, k: int) -> bool:
    return bool(ca.depends_on(expression, elements(description.system.symbol("x"))[k]))
