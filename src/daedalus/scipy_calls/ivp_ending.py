"""How runs of `solve_ivp` and `solve_dae` end: SciPy's codes and messages for the endings of a run."""

from __future__ import annotations

from typing import Any

from daedalus.simulation.result.ending import ENDINGS, Ending, Stop, time_text

SUCCESS = {
    Ending.FINISHED: (0, "The solver successfully reached the end of the integration interval."),
    Ending.EVENT: (1, "A termination event occurred."),
}
# SciPy's status of a failed step.
FAILED = -1
# What happened and further facts, with names as SciPy's users write them.
SENTENCES: dict[Ending, tuple[str, ...]] = {
    Ending.NOT_FINITE: ("{quantity} is not finite there",),
    Ending.STEP_TOO_SMALL: ("Required step size is less than spacing between numbers",),
    Ending.NEWTON_FAILED: (
        "Newton's method does not converge with steps of {step:.2g}",
        "{failures} failures, largest correction in {name}",
    ),
    Ending.ROUNDING: ("rounding errors of {name} exceed its tolerance, whatever the step",),
    Ending.SINGULAR: ("the matrix of the step is singular, nothing determines {name} there",),
}


def stop_of(run: Any, size: int, rates: bool = False) -> Stop:
    """How a core run ended, with names as SciPy's users write them; `size` components, `rates`: of a DAE."""
    ending, entry = ENDINGS[run.status], run.culprit
    name = "y" if entry < 0 else f"y[{entry}]" if entry < size else f"yp[{entry - size}]"
    quantity, equation = name, ""
    if ending is Ending.NOT_FINITE and run.culprit_stage == "derivative":
        # An implicit method meets equations, and those of y' = f are numbered as y is.
        equation = f"F[{entry}]" if rates else ""
        quantity = equation or f"the derivative of {name}"
    places = {"name": name, "quantity": quantity, "step": abs(run.last_step), "failures": run.newton_failures}
    what, *facts = (text.format(**places) for text in SENTENCES.get(ending, (ending.replace("_", " "),)))
    own = () if equation or entry < 0 else (name,)
    return Stop(ending, float(run.stop_time), what, tuple(facts), variables=own, equations=(equation,) * bool(equation))


def message_of(stop: Stop) -> str:
    """The end of a run in a sentence, in SciPy's words where it has some."""
    if stop.ending in SUCCESS:
        return SUCCESS[stop.ending][1]
    if stop.obstacle is not None:
        return f"{stop.sentence[:1].upper()}{stop.sentence[1:]}."
    where = f"The run stopped at {time_text(stop.time)}"
    if stop.ending is Ending.STEP_TOO_SMALL:
        # In SciPy's words also where the run was one of `dd.simulate`, which has its own.
        return f"{SENTENCES[stop.ending][0]}. {where}, because of {', '.join(stop.variables) or 'y'}."
    return f"{where}: {stop.sentence}."


def code_of(stop: Stop) -> int:
    """SciPy's number for the end of a run: 0 reached the end, 1 an event ended it, -1 failed."""
    return SUCCESS[stop.ending][0] if stop.ending in SUCCESS else FAILED
