"""States that have the same value at the start and at the end, where the model keeps some of them anyway.

A constraint c(x) = 0 holds at both ends along every motion, so that some of x_N - x_0 = 0 repeat the dynamics, and
after discretisation contradict them by the drift. Asked for is x_N - x_0 = C(x_0)ᵀ s with C = ∂c/∂x and a few numbers
s that may move by no more than a drift does: across the constraints the states agree as well as the mesh lets them.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.model.expressions import concatenate, elements
from daedalus.optimisation.transcription.problem_draft import ProblemDraft

# How far states may differ across what is kept, as a share of their size.
DRIFT = 1e-3
# Slopes of which less than this share is new repeat others.
NEW = 1e-8


def add_periodic(made: ProblemDraft) -> None:
    """Rows for the states that are periodic."""
    states = sorted(set(made.description.periodic))
    if not states:
        return
    layout, draft, stage = made.layout, made.draft, made.stage
    rows = made.add_rows("periodic", [stage.states.labels[k] for k in states], np.ones(1))
    draft.add_linear(rows, layout.nodes[-1:, states], 1.0)
    draft.add_linear(rows, layout.nodes[:1, states], -1.0)
    kept, slopes = _kept_by_themselves(made, states)
    if not kept.numel():
        return
    reach = DRIFT / np.abs(slopes / made.stage.states.nominal[states]).max(axis=1)
    numbers = draft.add_variables((1, kept.numel()), lower=-reach, upper=reach, scale=reach)
    across = ca.SX.sym("across", kept.numel())
    by = ca.jacobian(stage.expression(kept), concatenate(elements(stage.states.symbols)[k] for k in states))
    bindings = [(across, numbers), (stage.states.symbols, layout.nodes[:1])]
    bindings += made.common_bindings(np.zeros(1), np.array([0]))
    draft.add_block(ca.densify(-ca.mtimes(by.T, across)), bindings, rows)


def _kept_by_themselves(made: ProblemDraft, states: list[int]) -> tuple[ca.SX, np.ndarray]:
    """Quantities that the model keeps, of periodic states alone and independent of each other, with their slopes."""
    kept, system = made.kept, made.description.system
    x = elements(system.symbol("x"))
    others = concatenate([system.symbol("t"), *(x[k] for k in range(len(x)) if k not in states)])
    found, slopes = [], np.zeros((0, len(states)))
    for quantity in (*elements(kept.held), *elements(kept.conserved)):
        if ca.depends_on(quantity, others):
            continue
        slope = kept.slopes(made.ends.start, quantity)[:, states]
        left = slope - slope @ np.linalg.pinv(slopes) @ slopes if len(slopes) else slope
        if np.linalg.norm(left) > NEW * max(float(np.linalg.norm(slope)), 1e-300):
            found.append(quantity)
            slopes = np.concatenate([slopes, slope])
    return concatenate(found), slopes
