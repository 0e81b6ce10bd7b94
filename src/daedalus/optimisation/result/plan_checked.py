"""What a plan breaks of that which was asked for: on the plan itself, and on its replay.

A replay that leaves the plan is judged once more from node to node. Where the steps from node to node stay on the plan,
and the replay as a whole is off by far more than their sum, the model is unstable along the motion: rounding errors
grow, and no open loop follows such a plan. Where it is off by about their sum, the mesh is too coarse. A plan that a
single step leaves by a large part of its states' size is no motion of the model, whatever was asked for: equations that
hold at a few points of an interval have solutions of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.errors import DaedalusError
from daedalus.initialisation.wording import number
from daedalus.optimisation.result.conditions_checked import BrokenCondition, ConditionsChecked, States
from daedalus.optimisation.result.cost_checked import cost_checked

# What a condition may be missed by, as a share of its size: on a plan beside what the search left, and on its replay.
ON_PLAN = 1e-5
ON_REPLAY = 1e-3
# A step from node to node that ends this far from the plan, as a share of the size of its states, shows no motion.
FAR = 0.1
# A plan whose equations are off by this much in one interval, as a share of the size of a state, is not resolved.
COARSE = 1e-2
# A replay that is off by more than so many times the sum of all steps is off because of the model, not of the mesh.
GROWN = 10.0
FINER = "Try: a finer mesh, ocp.solve(mesh_tolerance=1e-6), or more intervals."


@dataclass(frozen=True)
class PlanChecked:
    """What is broken, the worst first, what the replay showed, whether the plan fails, and what helps."""

    broken: tuple[BrokenCondition, ...] = ()
    notes: tuple[str, ...] = ()
    failed: bool = False
    remedy: str = ""


def checked(plan: Any) -> PlanChecked:
    """All written conditions and the cost of a plan on its replay; and whether its mesh resolves it."""
    found = _conditions_kept(plan)
    coarse = () if found.failed else _coarse(plan)
    return PlanChecked(coarse, found.notes, failed=True, remedy=FINER) if coarse else found


def _conditions_kept(plan: Any) -> PlanChecked:
    conditions = ConditionsChecked(plan.transcription, plan.interpolant)
    if not conditions.any:
        return PlanChecked()
    broken = conditions.broken(conditions.missed(), "the plan", ON_PLAN + 10.0 * _left_over(plan), ON_REPLAY)
    if broken:
        return PlanChecked(broken, failed=True)
    sizes = conditions.size["x"]
    try:
        whole, drift = _whole(plan, sizes)
        missed = conditions.missed(whole)
        broken = conditions.broken(missed, "the replay", ON_REPLAY)
        if not broken:
            notes = conditions.slightly_missed(missed, ON_REPLAY)
            found = _with_cost(plan, whole, notes) if drift <= FAR else _as_a_motion(plan, sizes)
            if not found.failed or drift > FAR:
                return found
            broken = found.broken
    except DaedalusError:
        drift = np.inf
    try:
        pieces, off = _in_pieces(plan, sizes)
    except DaedalusError as error:
        return PlanChecked(broken, (f"the plan cannot be replayed: {error.what}",), failed=True)
    in_pieces = conditions.broken(conditions.missed(pieces), "the replay", ON_REPLAY)
    if in_pieces or off.max(initial=0.0) > ON_REPLAY or drift <= GROWN * off.sum():
        return PlanChecked(broken or in_pieces, failed=True, remedy=FINER)
    told = f"from node to node it is off by at most {number(off.max(initial=0.0), 2)} of a state's size"
    return _with_cost(plan, pieces, (f"the motion is unstable, and a replay from the start leaves the plan; {told}",))


def _with_cost(plan: Any, states: States, notes: tuple[str, ...]) -> PlanChecked:
    """What the cost of a plan that keeps its conditions is on a motion with its inputs."""
    found = cost_checked(plan, states)
    return PlanChecked(found.broken, (*notes, *found.notes), bool(found.broken), FINER if found.broken else "")


def _coarse(plan: Any) -> tuple[BrokenCondition, ...]:
    """A mesh whose polynomials leave the equations by too much: what is best on it need not be best for the model."""
    off = plan.mesh_error
    worst = int(np.argmax(off)) if len(off) else 0
    if not len(off) or off[worst] <= COARSE:
        return ()
    when = 0.5 * float(plan.time[worst] + plan.time[worst + 1])
    return (BrokenCondition("mesh error", -np.inf, COARSE, float(off[worst]), when, "the plan"),)


def _as_a_motion(plan: Any, sizes: np.ndarray) -> PlanChecked:
    """Whether a plan that its replay leaves is a motion of the model from node to node."""
    labels, nodes = plan.system.labels["x"], plan.time
    try:
        states, off = _in_pieces(plan, sizes)
    except DaedalusError as error:
        return PlanChecked((), (f"the plan cannot be replayed: {error.what}",), failed=True)
    worst = int(np.argmax(off))
    if not off[worst] > FAR:
        return _with_cost(plan, states, ())
    found, end = states(nodes[[worst + 1]])[0], [float(plan[label][worst + 1]) for label in labels]
    k = int(np.argmax(np.abs(found - end) / sizes))
    value = float(found[k])
    part = BrokenCondition(
        f"{labels[k]} as the model moves it", value, value, end[k], float(nodes[worst + 1]), "the plan"
    )
    return PlanChecked((part,), failed=True, remedy=FINER)


def _left_over(plan: Any) -> float:
    """How far the rows of the program are from their bounds at most."""
    program = plan.transcription.program
    rows = program.values(plan.outcome.w)[1]
    return float(np.maximum(program.row_lower - rows, rows - program.row_upper).max(initial=0.0))


def _whole(plan: Any, sizes: np.ndarray) -> tuple[States, float]:
    """The states of a replay from the start, and how far it is from the plan at the nodes, as a share of their size."""
    run, labels = plan.replay().trajectory, plan.system.labels["x"]
    end = float(run.time[-1])

    def states(times: np.ndarray) -> np.ndarray:
        at = run.at(np.minimum(times, end))
        found = np.stack([np.asarray(at[label], dtype=float) for label in labels], axis=1)
        found[times > end + 1e-9 * plan.duration] = np.nan
        return found

    own = np.stack([plan[label] for label in labels], axis=1)
    return states, float(np.nan_to_num(np.abs(states(plan.time) - own) / sizes, nan=np.inf).max(initial=0.0))


def _in_pieces(plan: Any, sizes: np.ndarray) -> tuple[States, np.ndarray]:
    """The states of replays from every node to the next, and how far each ends from it, as a share of their size."""
    labels, nodes = plan.system.labels["x"], plan.time
    own = np.stack([plan[label] for label in labels], axis=1)
    runs = [plan.run_between(nodes[k], nodes[k + 1], own[k]) for k in range(len(nodes) - 1)]
    ends = np.stack([[float(run[label][-1]) for label in labels] for run in runs])
    off = (np.abs(ends - own[1:]) / sizes).max(axis=1)

    def states(times: np.ndarray) -> np.ndarray:
        which = np.clip(np.searchsorted(nodes, times, side="left") - 1, 0, len(runs) - 1)
        found = np.zeros((len(times), len(labels)))
        for k in np.unique(which):
            at = runs[k].at(np.clip(times[which == k], runs[k].time[0], runs[k].time[-1]))
            found[which == k] = np.stack([np.asarray(at[label], dtype=float) for label in labels], axis=1)
        return found

    return states, np.nan_to_num(off, nan=np.inf)
