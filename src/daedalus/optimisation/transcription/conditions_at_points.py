"""Conditions that hold everywhere: rows at every collocation point, with what is left over of soft ones."""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.model.expressions import concatenate
from daedalus.optimisation.description.conditions import Condition, depends_only_on
from daedalus.optimisation.program.draft import OBJECTIVE
from daedalus.optimisation.transcription.problem_draft import ProblemDraft
from daedalus.optimisation.transcription.program_layout import SoftGroup
from daedalus.optimisation.transcription.smooth_parts import signs_of


def conditions_at_points(made: ProblemDraft) -> tuple[ca.SX, np.ndarray, list[float]]:
    """The expressions of all conditions that hold everywhere, their rows, (points, elements), and signs of bounds."""
    mesh = made.layout.mesh
    conditions = [c for c in made.description.conditions if c.at == "all" and not equates_held_inputs(made, c)]
    rows = [condition_rows(made, condition, mesh.point_shares, mesh.point_weights) for condition in conditions]
    none = np.zeros((len(mesh.point_shares), 0), dtype=int)
    expressions = concatenate(made.stage.expression(c.expression) for c in conditions)
    signs = [sign for c in conditions for sign in signs_of(c.lower, c.upper)]
    return expressions, np.concatenate([none, *rows], axis=1), signs


def equates_held_inputs(made: ProblemDraft, condition: Condition) -> bool:
    """Whether a condition is an equation of inputs that are constant in each interval: then once an interval is enough,
    and at every point it would be written several times."""
    stage = made.stage
    held = [stage.inputs.symbols[: len(stage.constant)], stage.parameters, stage.length]
    is_equation = condition.soft is None and bool(np.all(condition.lower == condition.upper))
    return is_equation and depends_only_on(stage.expression(condition.expression), held)


def condition_rows(made: ProblemDraft, condition: Condition, shares: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Rows of a condition at some shares; a soft one may be missed at a price, times a weight at every share."""
    draft, layout = made.draft, made.layout
    names = condition.element_names
    rows = made.add_rows("condition", names, shares, condition.lower, condition.upper)
    if condition.soft is not None:
        # One variable for what is missing below, one for what is too much above; both cost their size.
        left = draft.add_variables((*rows.shape, 2), lower=0.0)
        draft.add_linear(rows[..., None], left, np.array([1.0, -1.0]))
        price = np.broadcast_to(weights[:, None, None] * condition.soft, left.shape)
        draft.add_linear(np.full(left.shape, OBJECTIVE), left, price)
        layout.soft.append(SoftGroup(names, left, shares))
    return rows
