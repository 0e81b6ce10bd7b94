"""Plans of several phases that were found together, as one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from daedalus.initialisation.wording import number
from daedalus.model.names import counted
from daedalus.optimisation.description.packed_description import packed_description
from daedalus.optimisation.program.program_outcome import ProgramEnding
from daedalus.optimisation.result.conditions_checked import BrokenCondition
from daedalus.optimisation.result.explanation import Explanation, explained
from daedalus.optimisation.result.plan import Plan
from daedalus.optimisation.result.replayed import Replay
from daedalus.optimisation.result.saved_plan import save_phases


class PhasedPlan:
    """The result of `dd.phases(...).solve()`: one plan per phase. Their costs and durations add up.

    phases: the plans; success, status, iterations: of the search; objective: the sum of all costs; duration: of all.
    notes: what was done on the way, of all phases.

    Example
    -------
    >>> import daedalus as dd, os, tempfile
    >>> m = dd.catalogue.load("double_integrator").model
    >>> out, back = (dd.OptimalControl(m, duration=1.0, intervals=10) for _ in range(2))
    >>> out.start(); out.finish(position=1.0); back.finish(position=0.0, velocity=0.0)
    >>> for part in (out, back): part.minimise(running=m["force"] ** 2)
    >>> plan = dd.phases(out, back).solve()
    >>> plan.save(os.path.join(tempfile.gettempdir(), "out_and_back.nc"))
    >>> again = dd.load(os.path.join(tempfile.gettempdir(), "out_and_back.nc"))
    >>> again.success, again.duration, bool((again["position"] == plan["position"]).all())
    (True, 2.0, True)
    """

    def __init__(self, phases: list[Plan], made: tuple[Any, ...] = ()) -> None:
        self.phases = tuple(phases)
        self._made = made  # the problems, their descriptions, meshes and settings
        self._notes: tuple[str, ...] = ()
        self.outcome = phases[0].outcome
        self.objective, self.iterations = self.outcome.objective, self.outcome.iterations

    def __reduce__(self) -> tuple[Any, ...]:
        problems, described, meshes, settings = self._made
        packed = [packed_description(description) for description in described]
        return _plan_again, (problems, packed, meshes, settings, self.outcome)

    @property
    def success(self) -> bool:
        """Whether all phases are solutions, and keep all that was asked for."""
        return all(plan.success for plan in self.phases)

    @property
    def broken(self) -> tuple[BrokenCondition, ...]:
        """Conditions that do not hold on the plans of the phases, or on their replays."""
        return tuple(part for plan in self.phases for part in plan.broken)

    @property
    def ending(self) -> ProgramEnding:
        """How the search ended, or that its plan breaks a condition."""
        return next((plan.ending for plan in self.phases if not plan.success), self.outcome.ending)

    @property
    def status(self) -> str:
        """How the search ended, with the first condition that is broken."""
        return next((plan.status for plan in self.phases if not plan.success), self.phases[0].status)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done on the way, of all phases."""
        return tuple(dict.fromkeys([*(note for plan in self.phases for note in plan.notes), *self._notes]))

    def add_note(self, note: str) -> None:
        """Add to the notes."""
        self._notes = (*self._notes, note)

    @property
    def duration(self) -> float:
        """How long all phases take together."""
        return float(sum(plan.duration for plan in self.phases))

    @property
    def time(self) -> np.ndarray:
        """The times of all nodes; where phases join, both have one."""
        begin, parts = 0.0, []
        for plan in self.phases:
            parts.append(plan.time - plan.time[0] + begin)
            begin += plan.duration
        times: np.ndarray = np.concatenate(parts) + self.phases[0].time[0]
        return times

    def __getitem__(self, name: str) -> np.ndarray:
        """A name that all phases have, over `time`."""
        return np.concatenate([plan[name] for plan in self.phases])

    @property
    def mesh_error(self) -> np.ndarray:
        """Per interval of all phases, how far the plan is from a motion of the models."""
        return np.concatenate([plan.mesh_error for plan in self.phases])

    def explain(self) -> Explanation:
        """What cannot hold together in all phases, or which bounds hold the plan; times count from the first start."""
        if not self.success:
            return next(plan for plan in self.phases if not plan.success).explain()
        return explained([plan.transcription for plan in self.phases], self.outcome, self.outcome.w)

    def replay(self, **options: Any) -> tuple[Replay, ...]:
        """Every phase run from where it begins in the plan; `options` go to `dd.simulate`."""
        return tuple(plan.replay(**options) for plan in self.phases)

    def save(self, path: str | Path) -> None:
        """Write all phases to one NetCDF file as plain data; `dd.load` reads it back."""
        save_phases(self, Path(path))

    def __str__(self) -> str:
        head = f"Plan of {counted(len(self.phases), 'phase')}: {self.status} ({counted(self.iterations, 'iteration')})"
        rows = [f"  objective {number(self.objective, 8)}, duration {number(self.duration)}"]
        rows += [f"  {plan.system.name}: {number(plan.duration)}, {plan.mesh}" for plan in self.phases]
        return "\n".join([head, *rows, *(f"  {note}" for note in self.notes)])

    __repr__ = __str__


def _plan_again(problems: Any, *made: Any) -> PhasedPlan:
    """A plan of its pickle, by the problems that it belongs to."""
    plan: PhasedPlan = problems.plan_again(*made)
    return plan
