"""Singular configurations and impasses on the way of a DAE whose formula is known, in the words of its result."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.result.recorded_run import Outcome, Work
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.stop_reason import without_advice
from daedalus.simulation.singular.branches import told_of_branches
from daedalus.simulation.singular.impasse import impasse_end
from daedalus.simulation.singular.independence import independence_of
from daedalus.simulation.singular.singular_configuration import SUSPECT, singular_end


def on_its_branch(
    plant: ImplicitPlant, run: Any, p: np.ndarray, rtol: float, has_steps: bool, failed: str
) -> tuple[Any, str, str]:
    """The run up to where it left its branch, why it stopped there or where it did, and what else is to be told.

    `has_steps`: the samples are all steps. `failed` says why the core stopped; it stays where nothing else is known.
    """
    if independence_of(plant) is None and run.status not in SUSPECT:
        return run, failed, ""
    outcome = Outcome(without_place(failed), "", Work(), (), tuple(run.events))
    whole = Trajectory(plant, Drive(np.zeros(0)), p, run.t, run.x, run.status, outcome, run)
    told = told_of_branches(whole, rtol, has_steps)
    note = "; ".join(told.notes)
    if told.status != run.status:
        return _until(told, run), sentence(told.stop_reason), note
    if run.status in SUSPECT and run.steps:
        end = singular_end(whole) or impasse_end(whole)
        return run, failed if end is None else sentence(end.reason), note
    return run, failed, note


def _until(told: Trajectory, run: Any) -> SimpleNamespace:
    """What is left of a run, as the core would report it."""
    dense = told.dense
    return SimpleNamespace(
        t=told._times, x=told._x, status=told.status, events=list(told.outcome.events), steps=run.steps,
        dense=lambda: (dense.starts, dense.ends, dense.coefficients), rhs_calls=run.rhs_calls,
        jacobians=run.jacobians, factorisations=run.factorisations,
    )  # fmt: skip


def without_place(message: str) -> str:
    """What happened, of a message that says first when."""
    message = message.removesuffix(".")
    return message.partition(": ")[2] or message


def sentence(reason: str) -> str:
    """A stop reason as the sentence of a result."""
    return f"{without_advice(reason)[:1].upper()}{without_advice(reason)[1:]}."
