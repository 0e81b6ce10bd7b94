"""Collocation: on every interval the states are a polynomial that obeys the equations at a few points.

    Σ_l D_lj x_kl − T Δσ_k f(x_kj, z_kj, u_k) = 0,      0 = g(x_kj, z_kj, u_k),      j = 1 … d

with D the slopes of Lagrange's polynomials. What is compiled is one point: f, g, conditions and the running cost with
their derivatives; the program maps it over all points of all intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from daedalus.model.expressions import concatenate, elements
from daedalus.optimisation.description.description import Description
from daedalus.optimisation.program.draft import OBJECTIVE, Draft
from daedalus.optimisation.program.program import Program
from daedalus.optimisation.transcription.boundary.ends import add_ends
from daedalus.optimisation.transcription.boundary.independent_ends import IndependentEnd
from daedalus.optimisation.transcription.conditions_at_points import conditions_at_points
from daedalus.optimisation.transcription.cost_along_the_way import cost_along_the_way
from daedalus.optimisation.transcription.kink_variables import without_kinks
from daedalus.optimisation.transcription.node_conditions import add_node_conditions
from daedalus.optimisation.transcription.problem_draft import ProblemDraft, add_carried
from daedalus.optimisation.transcription.problem_stage import ProblemStage, stage_of
from daedalus.optimisation.transcription.program_layout import ProgramLayout
from daedalus.optimisation.transcription.smooth_parts import signs_of_integrals


def collocation_stage(description: Description) -> ProblemStage:
    """The stage of a problem for collocation."""
    return stage_of(cost_along_the_way(description))


@dataclass(eq=False)
class Transcription:
    """A problem as a program: what was built, where everything stands, and what there is to say about it."""

    stage: ProblemStage
    layout: ProgramLayout
    program: Program
    draft: Draft
    notes: list[str] = field(default_factory=list)
    # (stage, layout, variables, parameters) -> the same with points between the nodes, where the program has none.
    between: Callable[..., tuple[ProgramLayout, np.ndarray]] | None = None
    # Ends whose given values repeat what the model keeps.
    independence: list[IndependentEnd] = field(default_factory=list)

    @property
    def description(self) -> Description:
        """The problem."""
        return self.stage.description


def add_collocation(made: ProblemDraft) -> None:
    """Add everything a problem says to a draft."""
    add_node_conditions(made)
    add_ends(made)
    _add_dynamics(made)
    _add_continuity(made)


def _add_dynamics(made: ProblemDraft) -> None:
    """Defects, equations, conditions everywhere and the running cost: one block over all points."""
    stage, layout, draft, description = made.stage, made.layout, made.draft, made.description
    mesh, count = layout.mesh, len(layout.points)
    defects = made.add_rows("dynamics", stage.states.labels, mesh.point_shares)
    equations = made.add_rows("equation", description.form.equation_labels, mesh.point_shares)
    expression, conditions, signs = conditions_at_points(made)
    running = stage.expression(description.running)
    # Integrals, conditions and the running cost that want to be small are written without kinks.
    integrals, rates = signs_of_integrals(description), elements(stage.rates)
    # Rates of the model are, where that is tried.
    relaxed = description.relaxed or ()
    pressed = [*relaxed, *[0.0] * (len(rates) - len(relaxed) - len(integrals)), *integrals]
    parts, wanted = [*rates, *elements(expression), running], [*pressed, *signs, 0.0 if running.is_zero() else 1.0]
    bindings = made.point_bindings()
    smooth, bounds, sides = without_kinks(made, parts, wanted, mesh.point_shares, bindings, len(relaxed))
    moved, expression = concatenate(smooth.parts[: len(rates)]), concatenate(smooth.parts[len(rates) : -1])
    results = [stage.length * moved / stage.states.nominal, stage.equations, expression, smooth.sides]
    rows = [defects, equations, conditions, sides]
    widths = mesh.widths[mesh.point_interval][:, None]
    weights = [np.broadcast_to(-widths, defects.shape), *(np.ones(part.shape) for part in rows[1:])]
    if not running.is_zero():
        results.append(stage.length * smooth.parts[-1])
        rows.append(np.full((count, 1), OBJECTIVE))
        weights.append(mesh.point_weights[:, None])
    bindings.append((smooth.bounds, bounds))
    draft.add_block(ca.vertcat(*results), bindings, np.concatenate(rows, axis=1), np.concatenate(weights, axis=1))
    # The slopes of the polynomials are linear in the states.
    for scheme, own, points in mesh.by_degree():
        columns = np.concatenate([layout.nodes[own, None], layout.points[points]], axis=1)  # (intervals, d + 1, states)
        slopes = scheme.slopes[None, :, :, None] / stage.states.nominal
        draft.add_linear(defects[points][:, None], columns[:, :, None, :], slopes)


def _add_continuity(made: ProblemDraft) -> None:
    """Where no point lies on the next node, its state is the polynomial's end."""
    stage, layout, draft = made.stage, made.layout, made.draft
    if layout.mesh.ends_on_node and not made.stagewise:
        return
    rows = made.add_rows("dynamics", stage.states.labels, layout.shares[1:])
    layout.steps.append(rows)
    nominal = stage.states.nominal
    for scheme, own, points in layout.mesh.by_degree():
        columns = np.concatenate([layout.nodes[own, None], layout.points[points]], axis=1)
        use = np.flatnonzero(np.abs(scheme.end) > 1e-14)
        draft.add_linear(rows[own][:, None], columns[:, use], -scheme.end[None, use, None] / nominal)
    draft.add_linear(rows, layout.nodes[1:], 1.0 / nominal)
    add_carried(made)
