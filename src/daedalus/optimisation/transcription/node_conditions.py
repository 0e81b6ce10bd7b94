"""Conditions at single instants, the final cost and bounded changes of held inputs."""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import independent_rows
from daedalus.model.expressions import concatenate, elements
from daedalus.optimisation.description.conditions import Condition, depends_only_on
from daedalus.optimisation.program.draft import OBJECTIVE, Binding
from daedalus.optimisation.transcription.conditions_at_points import condition_rows, equates_held_inputs
from daedalus.optimisation.transcription.kink_variables import without_kinks
from daedalus.optimisation.transcription.problem_draft import ProblemDraft
from daedalus.optimisation.transcription.smooth_parts import signs_of

# How far states may differ across what is kept, as a share of their size.
DRIFT = 1e-3


def add_node_conditions(made: ProblemDraft) -> None:
    """Everything that is said about single instants."""
    for condition in made.description.conditions:
        add_condition(made, condition)
    _add_final_cost(made)
    add_periodic(made)
    _add_held_rates(made)


def add_condition(made: ProblemDraft, condition: Condition) -> None:
    """Rows for a condition at the nodes that it speaks of."""
    stage, layout = made.stage, made.layout
    expression = stage.expression(condition.expression)
    if condition.at == "all" and equates_held_inputs(made, condition):
        intervals = [layout.interval_of(k) for k in range(layout.intervals + 1)]
        _at_nodes(made, condition, expression, [intervals.index(k) for k in range(layout.intervals)])
        return
    if condition.at == "all":
        # Nodes are no collocation points: what depends on states alone holds there too.
        known = [stage.states.symbols, stage.parameters, stage.length, stage.share]
        known += [] if layout.mesh.firsts[-1] else [stage.given]
        if depends_only_on(expression, known):
            nodes = [0] if layout.mesh.ends_on_node else list(range(layout.intervals + 1))
            _at_nodes(made, condition, expression, [k for k in nodes if k or not _start_is_fixed(made)])
        elif not layout.mesh.firsts[-1]:
            _at_nodes(made, condition, expression, list(range(layout.intervals + (not made.stagewise))))
        return
    named = {"nodes": list(range(layout.intervals + 1)), "start": [0], "end": [layout.intervals]}
    if isinstance(condition.at, str):
        nodes = named[condition.at]
    else:
        nodes = [int(np.argmin(np.abs(layout.shares - condition.at)))]
    _at_nodes(made, condition, expression, nodes)


def _start_is_fixed(made: ProblemDraft) -> bool:
    starts = made.description.starts or []
    return len({s.state for s in starts if s.state is not None}) == made.stage.model_states


def _at_nodes(made: ProblemDraft, condition: Condition, expression: ca.SX, nodes: list[int]) -> None:
    if not nodes:
        return
    shares = made.layout.shares[nodes]
    weights = np.ones(len(nodes)) if condition.at in ("start", "end") else np.full(len(nodes), 1.0 / len(nodes))
    rows = condition_rows(made, condition, shares, weights)
    signs = signs_of(condition.lower, condition.upper)
    bindings = node_bindings(made, expression, nodes)
    smooth, bounds, sides = without_kinks(made, elements(expression), signs, shares, bindings)
    rows = np.concatenate([rows, sides], axis=1)
    made.draft.add_block(ca.vertcat(*smooth.parts, smooth.sides), [*bindings, (smooth.bounds, bounds)], rows)


def node_bindings(made: ProblemDraft, expression: ca.SX, nodes: list[int]) -> list[Binding]:
    """Symbols at nodes: inputs and unknowns of the interval that the layout counts them to."""
    stage, layout = made.stage, made.layout
    intervals = np.array([layout.interval_of(k) for k in nodes])
    needs_unknowns = bool(stage.unknowns.size) and ca.depends_on(expression, stage.unknowns.symbols)
    for copies, node in ((stage.start, 0), (stage.end, -1)):
        if stage.unknowns.size and ca.depends_on(expression, copies.unknowns):
            made.has_unknowns(node)
    unknowns = (
        np.array([made.has_unknowns(-1 if k == layout.intervals else k) for k in nodes])
        if needs_unknowns
        else np.zeros((len(nodes), stage.unknowns.size), dtype=int)
    )
    return made.bindings(layout.nodes[nodes], unknowns, layout.shares[nodes], intervals)


def _add_final_cost(made: ProblemDraft) -> None:
    final = made.stage.expression(made.description.final)
    if not final.is_zero():
        # Solvers of shooting take the stages as they are.
        signs = [1.0 if made.layout.mesh.firsts[-1] else 0.0]
        bindings = node_bindings(made, final, [made.layout.intervals])
        smooth, bounds, sides = without_kinks(made, [final], signs, np.ones(1), bindings)
        rows = np.concatenate([np.full((1, 1), OBJECTIVE), sides], axis=1)
        made.draft.add_block(ca.vertcat(*smooth.parts, smooth.sides), [*bindings, (smooth.bounds, bounds)], rows)


def _add_held_rates(made: ProblemDraft) -> None:
    """(u_{k+1} - u_k) / (time between the middles of two intervals) within bounds, for inputs held on each."""
    stage, layout, draft = made.stage, made.layout, made.draft
    kinds = made.description.kinds
    limited = [(place, kinds[k]) for place, k in enumerate(stage.constant) if k in kinds and kinds[k].has_rate]
    if layout.intervals < 2:
        return
    between = 0.5 * (layout.widths[1:] + layout.widths[:-1])
    before, after, width = ca.SX.sym("before"), ca.SX.sym("after"), ca.SX.sym("width")
    for place, kind in limited:
        change = (after - before) / (width * stage.length)
        name, limits = f"rate of {stage.inputs.labels[place]}", {"lower": kind.slowest, "upper": kind.fastest}
        rows = made.add_rows("rate", [name], layout.shares[1:-1], **limits)
        bindings = [
            (before, layout.inputs[:-1, [place]]),
            (after, layout.inputs[1:, [place]]),
            (width, draft.add_parameters(between)[:, None]),
            (stage.length, layout.length[1:-1, None]),
        ]
        draft.add_block(change, bindings, rows)


# States that have the same value at the start and at the end, where the model keeps some of them anyway.
#
# A constraint c(x) = 0 holds at both ends along every motion, so that some of x_N - x_0 = 0 repeat the dynamics, and
# after discretisation contradict them by the drift. Asked for is x_N - x_0 = C(x_0)ᵀ s with C = ∂c/∂x and a few numbers
# s that may move by no more than a drift does: across the constraints the states agree as well as the mesh lets them.


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
    quantities = [q for q in (*elements(kept.held), *elements(kept.conserved)) if not ca.depends_on(q, others)]
    if not quantities:
        return ca.SX(0, 1), np.zeros((0, len(states)))
    slopes = np.concatenate([kept.slopes(made.ends.start, quantity)[:, states] for quantity in quantities])
    independent = independent_rows(slopes)
    return concatenate(quantities[k] for k in independent), slopes[independent]
