"""Whether a plan costs what it says: its cost as it was written, on the motion that its inputs give.

A search sums the running cost over the points of its mesh, along polynomials that obey the equations there. Here it is
integrated along the replay by the adaptive integrator.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from daedalus.initialisation.wording import number
from daedalus.optimisation.description.conditions import Condition
from daedalus.optimisation.description.description import StandIn
from daedalus.optimisation.result.conditions_checked import BrokenCondition, ConditionsChecked, States

# A replay that costs this much more or less than the plan says is told, and one beyond the second share of it fails.
TOLD, FAILS = 0.01, 0.1
# Costs near zero are the rest of large ones: what they differ by counts beside what the cost could be, in the same way.
TOLD_OF_SIZE, FAILS_OF_SIZE = 1e-5, 1e-3
COST = "cost"


@dataclass(frozen=True)
class CostChecked:
    """A cost that is not what the plan says: a note, or a broken condition."""

    notes: tuple[str, ...] = ()
    broken: tuple[BrokenCondition, ...] = ()


def cost_checked(plan: Any, states: States) -> CostChecked:
    """The cost of a plan on a motion with its inputs."""
    made, told = plan.transcription, plan.objective
    if (made.description.running + made.description.integrated + made.description.final).is_zero():
        return CostChecked()
    if made.layout.soft or plan.is_phase:  # the objective is that of more than this
        told = _with_cost_alone(plan, 0.0).missed()[0].value
    if not np.isfinite(told):
        return CostChecked()
    (missed,) = (checked := _with_cost_alone(plan, told)).missed(states)
    off = abs(missed.value - told) / max(abs(told), abs(missed.value), np.finfo(float).tiny)
    if off > FAILS and missed.share > FAILS_OF_SIZE:
        return CostChecked((), checked.broken([missed], "the replay", 0.0))
    if off > TOLD and missed.share > TOLD_OF_SIZE:
        return CostChecked((f"the plan says that it costs {number(told)}; on the replay it is {number(missed.value)}",))
    return CostChecked()


def _with_cost_alone(plan: Any, told: float) -> ConditionsChecked:
    """The problem of a plan with one condition: that the cost is `told`."""
    made, described = plan.transcription, plan.transcription.description
    total = ca.SX.sym("running cost")
    running = StandIn(total, "integral", described.running + described.integrated)
    condition = Condition(COST, described.final + total, np.array([told]), np.array([told]), "end")
    alone = replace(
        described, stand_ins=[*described.stand_ins, running], conditions=[condition], starts=None, ends=[], periodic=[],
        bounds={},
    )  # fmt: skip
    return ConditionsChecked(replace(made, stage=replace(made.stage, description=alone)), plan.interpolant)
