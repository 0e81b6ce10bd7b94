"""States that oscillate for long without anything that leads them: told, since errors of steps add up in their phase.

Tolerances hold the error of one step. Where neighbouring motions come together again, that is about the error of the
run; the phase of an oscillation that nothing outside leads stays where errors have put it, and N steps make N of them.
A driven motion is led where it forgets its past: errors of the last steps count, as many as it remembers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.compilation import Compiled, compile_function
from daedalus.model.expressions import concatenate
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System
from daedalus.simulation.result.records_of_methods import LongOscillation
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.run.road import Piece

# So many periods are a long oscillation: at the fewest rows a period that steps of any method have, a thousand steps.
LONG = 100
# Errors of BDF have one sign: four tolerances a period at rtol = 1e-6, so that a hundred are reached sooner.
LONG_OF = {"bdf": 25}
# So many are one at all.
OSCILLATES = 5
# A motion whose size in the last quarter of the run is below this share of its largest has come to rest.
LASTS = 0.1
# Changes from row to row below this share of the motion are no turns.
TURNS = 1e-3


def long_oscillations(piece: Piece, run: Any) -> tuple[LongOscillation, ...]:
    """The record of states that oscillate for long in a core run, as far back as errors last."""
    settings, drive = piece.settings, piece.drive
    long = LONG_OF.get(settings.method, LONG)
    if settings.call.get("step") is not None or run.steps < LONG:
        return ()
    plant = settings.plant
    x, system = run.x[:, plant.row_parts["x"]], plant.system
    periods = lasting_periods(x)
    if not (periods >= long).any():
        return ()
    lasting = np.ones(len(periods))
    if drive.moves or ca.depends_on(system.residual, system.symbol("t")):
        rows = np.unique(np.linspace(0, len(run.t) - 1, LOOKS).astype(int))
        sizes = np.maximum(x.max(axis=0) - x.min(axis=0), NOT_ZERO)
        moments = Samples(plant, drive, piece.parameters, np.asarray(run.t)[rows], np.asarray(run.x)[rows])
        lasting = lasting_share(moments, abs(float(run.t[-1] - run.t[0])), sizes)
    if not (periods * lasting >= long).any():
        return ()
    # Slower states beside it have the errors of as many steps.
    told = np.flatnonzero((periods >= OSCILLATES) & (periods.max() * lasting >= long))
    steps = int(np.ceil(run.steps * lasting[told].max()))
    names = tuple(system.labels["x"][k] for k in told)
    return (LongOscillation(names, int(periods[told].max()), steps, float(settings.rtol)),)


def lasting_periods(x: np.ndarray) -> np.ndarray:
    """How often each column of rows turns to and fro, half of it; 0 where that has come to rest in the end."""
    periods = np.zeros(x.shape[1], dtype=int)
    if len(x) < 2 * LONG:
        return periods
    last = x[-len(x) // 4 :]
    size = last.max(axis=0) - last.min(axis=0)
    for k in np.flatnonzero(size > LASTS * (x.max(axis=0) - x.min(axis=0))):
        steps = np.diff(x[:, k])
        turning = steps[np.abs(steps) > TURNS * size[k]] > 0
        periods[k] = np.count_nonzero(turning[1:] != turning[:-1]) // 2
    return periods


# How long errors last in a driven motion.
#
# A signal from outside leads a motion that forgets its past. With E = ∂F/∂x' and A = −∂F/∂(x, z) at some rows, a state
# forgets as fast as the slowest mode that it takes part in, e^(μ t) with the largest Re μ of E v μ = A v. Rows are put
# back onto invariants, so that of a model with some only directions along them count.

# Modes are looked at in so many rows of the run, of models of at most so many unknowns.
LOOKS, LARGEST = 9, 120
# A state takes part in a mode from this share of the state with the largest part on, each in units of its own motion.
TAKES_PART = 1e-3
# Modes of E and A that are faster than this, times the length of the run, belong to algebraic equations.
INFINITE = 1e12


def lasting_share(rows: Samples, span: float, sizes: np.ndarray) -> np.ndarray:
    """The share of the run that an error in each state lasts, 1 where it stays; 1 where the modes are not known."""
    system = rows._plant.system
    count = system.sizes["x"]
    if count + system.sizes["z"] > LARGEST:
        return np.ones(count)
    slowest = []
    for mass, stiffness, kept in linearised_at(rows):
        found = _slowest(mass, stiffness, kept, sizes, INFINITE / span)
        if found is not None:
            slowest.append(found)
    if not slowest:
        return np.ones(count)
    decay = -np.mean(slowest, axis=0)
    return np.where(decay * span > 1.0, 1.0 / np.maximum(decay * span, 1.0), 1.0)


def _slowest(
    mass: np.ndarray, stiffness: np.ndarray, kept: np.ndarray, sizes: np.ndarray, fastest: float
) -> np.ndarray | None:
    """The largest growth of the modes that each state takes part in; None where a row has no modes."""
    found = modes_of(mass, stiffness, kept, fastest)
    if found is None:
        return None
    growth = np.full(mass.shape[1], -fastest)
    for value, mode in zip(found[0], found[1].T):
        parts = np.abs(mode) / sizes
        takes_part = parts >= TAKES_PART * parts.max()
        growth[takes_part] = np.maximum(growth[takes_part], value.real)
    return growth


def modes_of(
    mass: np.ndarray, stiffness: np.ndarray, kept: np.ndarray, fastest: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """The finite μ of E v μ = A v below `fastest`, and the states of each v as columns; None where there are none."""
    from scipy.linalg import eig, null_space

    count = mass.shape[1]
    if not (np.isfinite(mass).all() and np.isfinite(stiffness).all() and np.isfinite(kept).all()):
        return None
    try:
        if len(kept):
            along = null_space(kept)
            slopes = np.linalg.solve(np.hstack([mass, stiffness[:, count:]]), -stiffness[:, :count])[:count]
            values, own = np.linalg.eig(along.T @ slopes @ along)
            modes = along @ own
        else:
            padded = np.hstack([mass, np.zeros((len(mass), len(stiffness) - count))])
            (alpha, beta), modes = eig(-stiffness, padded, homogeneous_eigvals=True)
            finite = np.abs(alpha) < fastest * np.abs(beta)
            values, modes = alpha[finite] / beta[finite], modes[:count, finite]
    except (np.linalg.LinAlgError, ValueError):  # singular there
        return None
    return values, modes


def linearised_at(rows: Samples) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """∂F/∂x', ∂F/∂(x, z) and the slopes of the invariants at each of some rows."""
    system = rows._plant.system
    count = system.sizes["x"]
    vectors = [rows._vector(letter) for letter in ("xdot", "x", "z", "u", "p")]
    for k, t in enumerate(rows._times):
        flat = _linearised(system)(np.array([t]), *(np.asarray(v[k], dtype=float) for v in vectors))
        widths = (count, count + system.sizes["z"], count)
        mass, stiffness, kept = (np.reshape(e, (-1, width), order="F") for e, width in zip(flat, widths))
        yield mass, stiffness, kept


@remembered
def _linearised(system: System) -> Compiled:
    """∂F/∂x', ∂F/∂(x, z) and the slopes of the invariants at a row."""
    structure = structure_of(system)
    kept = ca.jacobian(concatenate(system.invariants.values()), system.symbol("x"))
    outputs = [ca.densify(e) for e in (structure.slopes("xdot"), structure.slopes("x", "z"), kept)]
    return compile_function(ca.Function("linearised", system.symbols(), outputs))
