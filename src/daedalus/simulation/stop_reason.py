"""How a run ended, in a sentence with the time and the variable."""

from __future__ import annotations

from typing import Any

from daedalus.model.system import System

SUCCESS = ("finished", "event")


def stop_reason(run: Any, system: System, max_steps: int | None, time_limit: float | None) -> str:
    """The sentence for a core run."""
    t = f"t = {run.stop_time:.6g}"
    sentences = {
        "finished": f"reached {t}",
        "interrupted": f"interrupted by the user at {t}",
        "cancelled": f"cancelled at {t}",
        "step_limit": f"took max_steps = {max_steps} steps and got to {t}",
        "time_limit": f"ran for time_limit = {time_limit} s and got to {t}",
        "chattering": f"events follow each other without progress at {t}",
    }
    if run.status in sentences:
        return sentences[run.status]
    if run.status == "event":
        return f"event {system.events[run.events[-1][0]].name!r} ended the run at {t}"
    name = culprit_name(run, system)
    if run.status == "newton_failed":
        where = f"Newton's method does not converge at {t} with steps of {abs(run.last_step):.2g}"
        return f"{where}; {run.newton_failures} failures, largest correction in {name}"
    if run.status == "singular":
        return f"the matrix of the step is singular at {t}: the equations do not determine {name} there"
    if run.status == "inconsistent":
        return f"no consistent values were found after the jump at {t}"
    if run.status == "not_finite":
        return f"{name} is not finite at {t}"
    if run.status == "step_too_small":
        smallest = f"the step fell below {abs(run.last_step):.2g} at {t}"
        return f"{smallest}; largest scaled error in {name}, which grows without bound or jumps there"
    return f"{run.status} at {t}"


def culprit_name(run: Any, system: System) -> str:
    """The variable (or derivative) that the core points at."""
    states = system.labels["x"]
    if run.culprit_stage == "derivative" and 0 <= run.culprit < len(states):
        return system.labels["xdot"][run.culprit]
    # Rows of implicit methods are (x, z, x').
    row = [*states, *system.labels["z"], *system.labels["xdot"]]
    return row[run.culprit] if 0 <= run.culprit < len(row) else "a variable"


def remedy(status: str) -> str:
    """What to try after such an end."""
    return {
        "step_limit": "a larger max_steps, a looser rtol, or a method for stiff systems",
        "time_limit": "a larger time_limit, or a looser rtol",
        "step_too_small": "a shorter span if the solution blows up; an event where the right-hand side jumps",
        "not_finite": "other start values; a division by zero or a root of a negative number is likely",
        "newton_failed": "a smaller step, a looser rtol, or dd.analyse(m) at the last state",
        "singular": "dd.analyse(m, at=tr.at(tr.time[-1])), which names what is not determined",
        "inconsistent": "a reset that leaves the constraints as they are; dd.initialise shows what is in conflict",
        "chattering": "a reset that moves the guard away from zero, a terminal event, or a state that says what rests",
    }.get(status, "dd.simulate(..., on_stop='return') to keep what was computed")
