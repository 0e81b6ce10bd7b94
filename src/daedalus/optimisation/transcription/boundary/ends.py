"""The start and the end of a problem, so that what the model keeps anyway is not asked for twice.

A model with constraints or a unit quaternion keeps c(x) = 0 along every solution. Of end values that lie on c = 0 some
conditions then repeat what the dynamics bring, and after discretisation contradict it by the drift. With C = ∂c/∂x at
the end, E the rows of the given values and N a basis of C's null space, only W E (x_N − x_f) = 0 is asked for, where
the rows of W are a basis of the range of E N (`independent_ends.py`); for all values given that is Zᵀ (x_N − x_f) = 0
with Z tangent to c = 0. What is left out is checked on the plan that is found (`result/plan_checked.py`).
Tangent conditions alone would also be met on the other side of a sphere: the branch is kept by linear bounds across.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.model.expressions import elements
from daedalus.model.names import listed
from daedalus.optimisation.description.conditions import Condition
from daedalus.optimisation.description.description import FixedValue
from daedalus.optimisation.program.draft import Draft
from daedalus.optimisation.transcription.boundary.independent_ends import IndependentEnd, independent_values
from daedalus.optimisation.transcription.boundary.reference_ends import fixed_states
from daedalus.optimisation.transcription.invariants import KeptQuantities
from daedalus.optimisation.transcription.node_conditions import add_condition
from daedalus.optimisation.transcription.problem_draft import ProblemDraft

# Searches and runs keep bounds to this share of a size: a plan may begin where another one has ended.
KEPT = 1e-7


def add_ends(made: ProblemDraft) -> None:
    """Fix what is given at the start and at the end."""
    kept = made.kept
    _check_inside(made, "start", fixed_states(made.description.starts))
    _check_inside(made, "end", fixed_states(made.description.ends))
    _add_start(made, kept)
    _add_end(made, kept)
    _fix_integrals(made)


def _check_inside(made: ProblemDraft, where: str, given: dict[int, float]) -> None:
    """Refuse values at the ends that lie outside the bounds of their states."""
    states = made.stage.states
    for k, value in given.items():
        low, high = states.lower[k], states.upper[k]
        rounding = KEPT * (abs(value) + states.nominal[k])
        if not low - rounding <= value <= high + rounding:
            raise InputError(
                f"The {where} of {states.labels[k]} is outside its bounds.",
                f"{states.labels[k]} = {value:g}, bounds {low:g} and {high:g}",
                because="a fixed value cannot be changed.",
                remedy=f"another {where}, or wider bounds",
            )


def _fix_integrals(made: ProblemDraft) -> None:
    """Integrals begin at zero."""
    stage = made.stage
    for place in stage.carried[stage.model_states + len(stage.linear) :]:
        fix_variable(made.draft, made.layout.nodes[0, place], 0.0)


def fix_variable(draft: Draft, variable: int, value: float) -> None:
    """Set both bounds of a variable."""
    for store in (draft.lower, draft.upper):
        position = int(variable)
        for part in store:
            if position < len(part):
                part[position] = value
                break
            position -= len(part)


def _others(made: ProblemDraft, values: list[FixedValue], at: str) -> None:
    """Names other than states are fixed by conditions."""
    for value in values:
        if value.state is None:
            number = np.array([value.value])
            add_condition(made, Condition(value.label, value.expression, number, number, at))


def _add_start(made: ProblemDraft, kept: KeptQuantities) -> None:
    description, layout, stage = made.description, made.layout, made.stage
    given = fixed_states(description.starts)
    _others(made, description.starts or [], "start")
    if len(given) == stage.model_states or not kept.held.numel() or description.linked:
        for state, value in given.items():
            fix_variable(made.draft, layout.nodes[0, state], value)
        _note_free_start(made, given)
        return
    # The kept quantities hold at the start, and of the given values what these leave open.
    rows = made.add_rows("start", kept.held_names, np.zeros(1))
    bindings = [(stage.states.symbols, layout.nodes[:1]), *made.common_bindings(np.zeros(1), np.array([0]))]
    made.draft.add_block(stage.expression(kept.held), bindings, rows)
    if given:
        wanted = np.zeros(kept.held.numel())
        _add_values(made, 0, given, independent_values(kept, "start", given, made.ends.start, kept.held, wanted))
    _note_free_start(made, given)


def _note_free_start(made: ProblemDraft, given: dict[int, float]) -> None:
    stage = made.stage
    open_ = [
        stage.states.labels[k]
        for k in range(stage.model_states)
        if k not in given and np.isinf(stage.states.lower[k]) and np.isinf(stage.states.upper[k])
    ]
    if open_ and not made.description.periodic and not made.description.linked:
        shown = listed(open_, 6)
        made.notes.append(f"the start of {shown} is free and unbounded")


def _add_end(made: ProblemDraft, kept: KeptQuantities) -> None:
    description = made.description
    given = fixed_states(description.ends)
    _others(made, description.ends, "end")
    if not given:
        return
    pinned = kept.pinned(fixed_states(description.starts), made.stage.model_states)
    kept = kept.at_end
    _check_conserved(made, kept, pinned, given)
    wanted = kept.values(made.ends.start, pinned) if pinned.numel() else np.zeros(0)
    wanted[: kept.held.numel()] = 0.0
    found = independent_values(kept, "end", given, made.ends.end, pinned, wanted)
    _add_values(made, -1, given, found)
    if found.combinations is not None and found.point is not None and len(found.combinations) < len(found.states):
        _keep_branch(made, kept, found.point, pinned, kept.slopes(found.point, pinned))


def _check_conserved(made: ProblemDraft, kept: KeptQuantities, pinned: ca.SX, given: dict[int, float]) -> None:
    """Refuse an end at which a conserved quantity would have another value than at the start."""
    x = elements(made.description.system.symbol("x"))
    open_ = [x[k] for k in range(made.stage.model_states) if k not in given]
    for quantity in elements(pinned)[kept.held.numel() :]:
        if any(ca.depends_on(quantity, state) for state in open_):
            continue
        (start,), (end,) = (kept.values(at, quantity) for at in (made.ends.start, made.ends.end))
        if abs(end - start) > 1e-6 * max(1.0, abs(start)):
            raise InputError(
                f"The end cannot be reached: {kept.names_of(quantity)} keeps a quantity that would have to change.",
                f"it is {start:g} at the start and would be {end:g} at the end, whatever the inputs do",
                because="no input changes it, like the norm of a unit quaternion.",
                remedy="an end with the same value",
            )


def _add_values(made: ProblemDraft, node: int, given: dict[int, float], found: IndependentEnd) -> None:
    """Ask for the given values, or for the combinations of them that are independent of what the model keeps."""
    draft, layout, stage = made.draft, made.layout, made.stage
    if found.combinations is None or found.point is None:
        for state, value in given.items():
            fix_variable(draft, layout.nodes[node, state], value)
        return
    made.independence.append(found)
    states, rows_of = list(found.states), found.combinations
    wanted = rows_of @ found.point[states]
    labels = [f"{found.end} of {', '.join(stage.states.labels[k] for k in _largest(row, states))}" for row in rows_of]
    rows = made.add_rows(found.end, labels, np.array([0.0 if node == 0 else 1.0]), wanted, wanted)
    draft.add_linear(rows[0][:, None], layout.nodes[node, states][None, :], rows_of)
    if found.independent < found.given:
        made.notes.append(str(found))


def _largest(row: np.ndarray, states: list[int]) -> list[int]:
    """The states that a combination is mostly made of."""
    return [states[k] for k in np.argsort(-np.abs(row))[:2] if abs(row[k]) > 0.1 * np.abs(row).max()]


def _keep_branch(
    made: ProblemDraft, kept: KeptQuantities, reference: np.ndarray, pinned: ca.SX, slopes: np.ndarray
) -> None:
    """Stay on the side of the end values: across c = 0 no further than half way to the other branch."""
    across = np.linalg.pinv(slopes)  # moving by across[:, i] changes c_i by one
    curvature = np.array(
        [across[:, i] @ kept.curvature(reference, pinned[i]) @ across[:, i] for i in range(len(slopes))]
    )
    bent = np.abs(curvature) > 1e-9
    if not bent.any():
        return
    middle = slopes[bent] @ reference
    reach = -1.0 / curvature[bent]
    lower = np.where(reach < 0, middle + reach, -np.inf)
    upper = np.where(reach > 0, middle + reach, np.inf)
    rows = made.add_rows("end", ["branch"] * len(reach), np.ones(1), lower, upper)
    states = made.layout.nodes[-1, : made.stage.model_states]
    made.draft.add_linear(rows[0][:, None], states[None, :], slopes[bent])
