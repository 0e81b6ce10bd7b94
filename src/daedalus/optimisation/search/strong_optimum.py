"""Inputs far from those of a plan that would lower its Hamiltonian: a plan that has them is no strong optimum.

A search compares a plan with its neighbours. Along the best plan no other value of an input, near or far, gives a lower
Hamiltonian (L. S. Pontryagin et al., The Mathematical Theory of Optimal Processes, 1962), here with states and
multipliers of the plan held:

    H(x, λ, u) <= H(x, λ, v)      for every v that the bounds allow

On an interval that is the change of the Lagrangian f + λᵀg by its input alone. Where inputs enter the equations in a
straight line and the cost bends upwards, the first search has compared all of them, and there is nothing to look for.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.model.expressions import concatenate, elements
from daedalus.optimisation.program.program_outcome import ProgramOutcome
from daedalus.optimisation.search.refinement import JUMP
from daedalus.optimisation.transcription.collocated import Transcription

# How many values of an input are looked at between its bounds, and how many evaluations of a program are worth it.
VALUES, MOST_EVALUATIONS = 9, 4000
# The Lagrangian has to fall by this part of the cost, and rows of conditions may be missed by this much.
FALLS, MISSED = 1e-5, 1e-7
# Jumps are moved, so many of each input; on fine meshes a jump moves
# by itself, through values between the two.
MOST_JUMPS, MOST_INTERVALS = 3, 20


def lower_hamiltonian(made: Transcription, outcome: ProgramOutcome) -> np.ndarray | None:
    """The variables of a plan with inputs of lower Hamiltonian where there are any; None where it is lowest."""
    program, layout = made.program, made.layout
    chosen = [k for k in _bent_inputs(made) if _is_bounded(made, layout.inputs[:, k])]
    if len(chosen) * layout.intervals * VALUES > MOST_EVALUATIONS:
        return None
    said = [own.rows.ravel() for own in layout.groups if own.kind not in ("dynamics", "equation")]
    held = np.concatenate([np.zeros(0, dtype=int), *said])

    def lagrangian(w: np.ndarray) -> float:
        cost, rows = program.values(w)
        off = np.maximum(program.row_lower - rows, rows - program.row_upper)[held]
        allowed = bool(np.all(off <= MISSED * (1.0 + np.abs(rows[held]))))
        return cost + float(outcome.multipliers @ rows) if allowed else np.inf

    least = lagrangian(outcome.w) - FALLS * abs(outcome.objective)
    found = outcome.w.copy()
    for variable in layout.inputs[:, chosen].ravel():
        values = np.linspace(program.lower[variable], program.upper[variable], VALUES)
        tried = np.tile(outcome.w, (VALUES, 1))
        tried[:, variable] = values
        costs = np.nan_to_num([lagrangian(w) for w in tried], nan=np.inf)
        if costs.min() < least:
            found[variable] = values[np.argmin(costs)]
    return None if np.array_equal(found, outcome.w) else found


def moved_jumps(made: Transcription, outcome: ProgramOutcome) -> list[np.ndarray]:
    """The variables of a plan with one jump of an input an interval earlier or later; where it may lie elsewhere.

    An input that is held takes one of two values on an interval, nothing between them: where its jump lies is then
    a question of whole intervals, which slopes do not answer.
    """
    program, layout, found = made.program, made.layout, list[np.ndarray]()
    for k in _bent_inputs(made) if layout.intervals <= MOST_INTERVALS else ():
        own = layout.inputs[:, k]
        values = outcome.w[own]
        if not _is_bounded(made, own):
            continue
        jumps = np.flatnonzero(np.abs(np.diff(values)) > JUMP * (program.upper[own] - program.lower[own])[1:])
        for last in jumps[:MOST_JUMPS]:
            for changed, like in ((last, last + 1), (last + 1, last)):
                found.append(outcome.w.copy())
                found[-1][own[changed]] = values[like]
    return found


def _bent_inputs(made: Transcription) -> list[int]:
    """The held inputs whose Hamiltonian may have several minima: they do not enter in a straight line, bent upwards."""
    stage = made.stage
    own, rates = elements(stage.rates), stage.carried
    # Of shooting the running cost is the last of the rates.
    running = concatenate([stage.expression(stage.description.running), *own[len(rates) :]])
    straight = concatenate(own[k] for k in rates)
    found = []
    for k, u in enumerate(elements(stage.inputs.symbols)[: len(stage.constant)]):
        slopes, bend = ca.jacobian(straight, u), ca.hessian(ca.sum1(running), u)[0]
        convex = bend.is_constant() and float(bend) >= 0
        # Algebraic variables would follow another input: what they do then is not known here.
        if not ca.depends_on(stage.equations, u) and (ca.depends_on(slopes, u) or not convex):
            found.append(k)
    return found


def _is_bounded(made: Transcription, variables: np.ndarray) -> bool:
    program = made.program
    return bool(np.all(np.isfinite(program.lower[variables]) & np.isfinite(program.upper[variables])))
