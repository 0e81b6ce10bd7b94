"""Singular configurations and impasses on the way of a DAE whose formula is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.result.ending import Stop
from daedalus.simulation.result.recorded_run import Outcome, Work
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.singular.branches import told_of_branches
from daedalus.simulation.singular.impasse import impasse_end
from daedalus.simulation.singular.independence import independence_of
from daedalus.simulation.singular.singular_configuration import singular_end


def on_its_branch(
    plant: ImplicitPlant, run: Any, p: np.ndarray, method: str, rtol: float, has_steps: bool, stop: Stop
) -> Trajectory:
    """The run up to where it left its branch, with what it passed on record and what it stopped for.

    `has_steps`: the samples are all steps. `stop` says how the core ended; it stays where nothing else is known.
    """
    work = Work(run.steps, run.rejected, run.rhs_calls, run.jacobians, run.factorisations, run.newton, run.seconds)
    outcome = Outcome(stop, method, work, (), tuple(run.events))
    whole = Trajectory.of_run(plant, Drive(np.zeros(0)), p, run, outcome)
    if independence_of(plant) is None and not stop.ending.may_be_singular:
        return whole
    told = told_of_branches(whole, rtol, has_steps)
    if told.status is not whole.status or not (stop.ending.may_be_singular and run.steps):
        return told
    found = singular_end(whole) or impasse_end(whole)
    if found is None:
        return told
    arrays = (told._parameters, told._times, told._x)
    outcome = replace(told.outcome, stop=found)
    return Trajectory(plant, told._drive, *arrays, found.ending, outcome, told._source)
