"""What it costs that inputs are held on every interval or linear, beside inputs that move freely within their bounds.

Let every point of the mesh have an input v of its own, with states and multipliers of the plan held. The Lagrangian
changes by what its slope and its curvature by the input of that point say, and what it can fall by is the gap between
the Hamiltonian of the plan and the lowest one:

    Σ_j max_v  −(g_j (v − u) + ½ w_j (v − u)²)       lower <= v <= upper

Where the input is curved into the cost, this is what a better input saves: W Δu² / 24 for one that moves by Δu along an
interval. Where it is not, and inputs jump from bound to bound, an interval with a jump inside costs |σ'| h² R / 4, with
the slope of the switching function σ and half the range R. Of problems that are linear in the inputs and convex in the
states nothing saves more than the gap (M. Frank, P. Wolfe, Naval Research Logistics Quarterly 3, 1956); what is really
saved may be less, as the states then move too.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.model.expressions import concatenate, elements
from daedalus.optimisation.description.conditions import depends_only_on
from daedalus.optimisation.program.program_outcome import ProgramOutcome
from daedalus.optimisation.transcription.along_rows import AlongRows
from daedalus.optimisation.transcription.collocated import Transcription
from daedalus.optimisation.transcription.inputs_at_points import given_values
from daedalus.optimisation.transcription.program_layout import values_of


def lost_by_held_inputs(made: Transcription, outcome: ProgramOutcome) -> np.ndarray:
    """What it costs that inputs are held on every interval, beside inputs that move along it, (intervals,)."""
    layout, program = made.layout, made.program
    found, points = np.zeros(layout.intervals), layout.mesh.point_interval
    if layout.intervals < 3 or not len(points):
        return found
    weights = layout.mesh.point_weights / layout.widths[points]
    diagonal = program.hessian_row == program.hessian_column
    bend = np.zeros(len(outcome.w))
    bend[program.hessian_row[diagonal]] = np.nan_to_num(program.second(outcome.w, outcome.multipliers))[diagonal]
    running, first = _slopes_of_running_cost(made, outcome), program.first(outcome.w)
    for k in _moving_inputs(made):
        own = layout.inputs[:, k]
        slope = _slopes_at_points(made, outcome.multipliers, own, first, running[:, k])
        curve = weights * np.maximum(bend[own], 0.0)[points]
        lower, upper = (bound[own][points] - outcome.w[own][points] for bound in (program.lower, program.upper))
        found += np.bincount(points, _falls(slope, curve, lower, upper), layout.intervals)
    return found


def lost_by_linear_inputs(made: Transcription, outcome: ProgramOutcome) -> float:
    """What it costs at most that inputs are linear between nodes, beside inputs that jump and bend anywhere."""
    layout, program, stage = made.layout, made.program, made.stage
    kinds, mesh = made.description.kinds, layout.mesh
    if layout.intervals < 3 or not len(mesh.point_interval):
        return 0.0
    held, n = len(stage.constant), stage.model_states
    running, (_, nonzeros) = _slopes_of_running_cost(made, outcome), program.first(outcome.w)
    pulls = np.nan_to_num(nonzeros * outcome.multipliers[program.jacobian_row])
    diagonal = program.hessian_row == program.hessian_column
    bend = np.zeros(len(outcome.w))
    bend[program.hessian_row[diagonal]] = np.nan_to_num(program.second(outcome.w, outcome.multipliers))[diagonal]
    found = 0.0
    for place, k in enumerate(stage.linear):
        if kinds[k].has_rate:
            continue
        # What leads from one value of the input to the next would not be there.
        led = np.zeros(program.shape[1], dtype=bool)
        for group in layout.groups:
            if group.kind == "dynamics":
                led[group.rows[:, n + place]] = True
        variables = layout.points[:, n + place]
        others = np.bincount(program.jacobian_column, np.where(led[program.jacobian_row], 0.0, pulls), program.shape[0])
        slope = others[variables] + running[:, held + place]
        lower, upper = (bound[variables] - outcome.w[variables] for bound in (program.lower, program.upper))
        found += float(_falls(slope, np.maximum(bend[variables], 0.0), lower, upper).sum())
    return found


def _moving_inputs(made: Transcription) -> list[int]:
    """Held inputs that could move: neither with a rate nor within kinks, which have bounds of their own."""
    stage, kinds = made.stage, made.description.kinds
    return [place for place, k in enumerate(stage.constant) if k not in kinds or not kinds[k].has_rate]


def _slopes_of_running_cost(made: Transcription, outcome: ProgramOutcome) -> np.ndarray:
    """The slopes of the running cost of every point by held and linear inputs, with its weight, (points, inputs)."""
    stage, layout = made.stage, made.layout
    held, n, mesh = len(stage.constant), stage.model_states, layout.mesh
    running, inputs = stage.expression(stage.description.running), stage.inputs.symbols
    symbols = [
        stage.states.symbols, stage.unknowns.symbols, inputs, stage.given, stage.parameters, stage.length, stage.share,
    ]  # fmt: skip
    linear = elements(stage.states.symbols)[n : n + len(stage.linear)]
    chosen = concatenate([*elements(inputs)[:held], *linear])
    slopes = ca.jacobian(stage.length * running, chosen)
    if not depends_only_on(slopes, symbols):
        return np.zeros((len(mesh.point_shares), held + len(linear)))  # values at the ends stand in it
    w, parameters = outcome.w, made.program.parameters
    shares = mesh.inside(mesh.point_interval, mesh.point_shares, stage.description.rounding)
    length = values_of(layout.length[mesh.point_interval], w, parameters)
    given = given_values(stage.description, stage.given_positions, stage.description.begin + length * shares)
    tables = (layout.points, layout.unknowns, layout.inputs[mesh.point_interval])
    x, z, u = (values_of(table, w, parameters) for table in tables)
    p = values_of(layout.parameters[mesh.point_interval], w, parameters)
    (found,) = AlongRows(symbols, [slopes])(x, z, u, given, p, length[:, None], shares[:, None])
    return np.asarray(np.nan_to_num(found * mesh.point_weights[:, None]))


def _slopes_at_points(
    made: Transcription, multipliers: np.ndarray, own: np.ndarray, first: tuple[np.ndarray, np.ndarray],
    running: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """The slope of the Lagrangian by an input of every point, (points,), for an input with the variables `own`.

    What is said of a whole interval belongs to its points in proportion to their weights. So do conditions: of those
    that hold at every point of a held input some press in the place of all.
    """
    layout, program, mesh = made.layout, made.program, made.layout.mesh
    gradient, nonzeros = first
    here = np.isin(program.jacobian_column, own)
    rows, columns = program.jacobian_row[here], program.jacobian_column[here]
    pulls = np.nan_to_num(nonzeros[here] * multipliers[rows])
    point_of = np.full(program.shape[1], -1)
    for group in layout.groups:
        at_points = len(group.shares) == len(mesh.point_shares) and np.array_equal(group.shares, mesh.point_shares)
        if at_points and group.kind in ("dynamics", "equation"):
            point_of[group.rows] = np.arange(len(group.rows))[:, None]
    at = point_of[rows]
    found = running + np.bincount(at[at >= 0], pulls[at >= 0], len(mesh.point_shares))
    interval_of = np.full(program.shape[0], -1)
    interval_of[own] = np.arange(layout.intervals)
    whole = gradient[own] + np.bincount(interval_of[columns], pulls, layout.intervals)
    rest = whole - np.bincount(mesh.point_interval, found, layout.intervals)
    # What is left of the sum of all rests is rounding and what the search left.
    weights = mesh.point_weights / layout.widths[mesh.point_interval]
    return np.asarray(found + rest[mesh.point_interval] * weights)


def _falls(slope: np.ndarray, curve: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """By how much slope · d + ½ curve · d² is below zero at most for lower <= d <= upper, which hold zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.where(slope == 0, 0.0, np.clip(-slope / curve, np.minimum(lower, 0.0), np.maximum(upper, 0.0)))
        falls = -(slope * best + 0.5 * curve * best**2)
    return np.where(np.isfinite(falls), falls, 0.0)  # without a bound and curvature nothing is known
