"""How a run ended, in a sentence with the time and the variable."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.model.system.system import System

SUCCESS = ("finished", "event")
# Ends that are somebody's fault: they say what to try.
FAILED = (
    "step_limit", "time_limit", "memory_limit", "step_too_small", "not_finite", "newton_failed", "singular",
    "inconsistent", "chattering", "rounding",
)  # fmt: skip
TRY = "try "
# As in the core (step_control.hpp).
FEWEST_SPACINGS = 10


def stop_reason(
    run: Any, system: System, max_steps: int | None, time_limit: float | None, step: float | None = None
) -> str:
    """The sentence for a core run: what happened, when, in which variable, and what to try.

    `max_steps`, `time_limit` and `step` are the settings of the run; `step` is None where it was adaptive.
    """
    t = f"t = {run.stop_time:.6g}"
    sentences = {
        "finished": f"reached {t}",
        "interrupted": f"interrupted by the user at {t}",
        "cancelled": f"cancelled at {t}",
        "step_limit": f"took max_steps = {max_steps} steps and got to {t}",
        "time_limit": f"ran for time_limit = {time_limit} s and got to {t}",
        "memory_limit": f"the rows of {run.steps} steps fill the memory for a run, at {t}",
        "chattering": f"events follow each other without progress at {t}",
        "inconsistent": f"no consistent values were found after the jump at {t}",
    }
    if run.status == "chattering" and run.events:
        sentences["chattering"] += f", the last one {system.events[run.events[-1][0]].name!r}"
    if run.status == "event":
        # Others may have happened at the same time.
        last = next((k for k, *_ in reversed(run.events) if system.events[k].terminal), run.events[-1][0])
        return f"event {system.events[last].name!r} ended the run at {t}"
    sentence = sentences.get(run.status) or _failure(run, t, culprit_name(run, system), step)
    failures = [f"Newton failed {_times(run.newton_failures)}"] if run.newton_failures and run.status in FAILED else []
    advice = [TRY + _advice(run, system)] if run.status in FAILED and run.status != "not_finite" else []
    return "; ".join([sentence, *failures, *advice])


def _advice(run: Any, system: System) -> str:
    if run.status == "step_too_small" and run.steps == 0 and run.stop_time != 0:
        # Far from zero numbers are too far apart for the first steps of something fast.
        name = culprit_name(run, system)
        return f"a larger atol for {name}, or a time that begins at 0, where shorter steps can be told apart"
    return remedy(run.status)


def _failure(run: Any, t: str, name: str, step: float | None) -> str:
    if run.status == "singular" and run.jacobians == 0:
        return f"the matrix that gives the derivatives and algebraic variables is singular at {t}"
    if run.status == "not_projected":
        return f"no state near the one reached obeys the constraints at {t}"
    if run.status == "newton_failed":
        length = f"with the step {step:.3g}" if step else f"with steps down to {_smallest(run.stop_time):.2g}"
        return f"Newton's method does not converge at {t} {length}; largest correction in {name}"
    if run.status == "singular":
        return f"the matrix of the step is singular at {t}; the equations do not determine {name} there"
    if run.status == "rounding":
        return f"rounding errors of {name} exceed its tolerance at {t}, whatever the step"
    if run.status == "not_finite":
        return f"{name} is not finite at {t}"
    if run.status == "step_too_small":
        return f"step size fell below {_smallest(run.stop_time):.2g} at {t}; largest scaled error in {name}"
    return f"{run.status} at {t}"


def _smallest(t: float) -> float:
    """The shortest step at a time: fewer spacings between numbers do not count as one."""
    numbers = np.finfo(float)
    return float(FEWEST_SPACINGS * max(numbers.eps * abs(t), numbers.tiny))


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def without_advice(reason: str) -> str:
    """A stop reason without what to try, for an error that says that in its own line."""
    return reason.partition("; " + TRY)[0]


def advice_of(reason: str) -> str:
    """What a stop reason says to try; nothing where it says nothing."""
    return reason.partition("; " + TRY)[2]


def culprit_name(run: Any, system: System) -> str:
    """The variable (or derivative) that the core points at."""
    states = system.labels["x"]
    if run.culprit_stage == "derivative" and 0 <= run.culprit < len(states) and run.jacobians == 0:
        return system.labels["xdot"][run.culprit]
    # An implicit method has no derivatives of its own: an equation could not be evaluated.
    if run.culprit_stage == "derivative" and 0 <= run.culprit < len(system.equation_labels):
        return system.equation_labels[run.culprit]
    # Rows of implicit methods are (x, z, x').
    row = [*states, *system.labels["z"], *system.labels["xdot"]]
    return row[run.culprit] if 0 <= run.culprit < len(row) else "a variable"


def remedy(status: str) -> str:
    """What to try after such an end."""
    return {
        "step_limit": "a larger max_steps, a looser rtol, or a method for stiff systems",
        "time_limit": "a larger time_limit, or a looser rtol",
        "memory_limit": "runs one after the other, dd.simulate(m, (t, ...), start=tr.end), or a looser rtol",
        "step_too_small": "a shorter span if it blows up there, or an event where the equations jump",
        "not_finite": "other start values; a division by zero or a root of a negative number is likely",
        "newton_failed": "dd.analyse(m, at=...) at the last state, a looser rtol, or a smaller step where it is fixed",
        "singular": "dd.analyse(m, at=tr.at(tr.time[-1])), which names what is not determined",
        "rounding": "a looser rtol, or a looser atol for it: dd.simulate(..., atol={'name': value})",
        "inconsistent": "a reset that leaves the constraints as they are; dd.initialise shows what is in conflict",
        "not_projected": "a smaller rtol, or a reset that stays near the constraints",
        "chattering": "a reset that moves the guard away from zero, a terminal event, or a state that says what rests",
    }.get(status, "dd.simulate(..., on_stop='return') to keep what was computed")
