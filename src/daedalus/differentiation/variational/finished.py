"""Refuse to differentiate a run that did not get to its end."""

from __future__ import annotations

from typing import Any

from daedalus.differentiation.case import Case
from daedalus.errors import SolverError
from daedalus.simulation.result.ending import ENDINGS, Ending
from daedalus.simulation.run.stop_reason import stop_of


class DerivativesStoppedError(SolverError):
    """A run of the variational equations that stopped before its end.

    no_step: its steps could not be solved, however short; another method may solve them. ending: what stopped it.
    """

    no_step = False
    ending = Ending.NOT_FINITE


def check_finished(case: Case, run: Any, entry: int | None = None, width: int = 0) -> None:
    """Raise a SolverError where the run did not get to its end.

    entry: where what stopped a run with derivatives stands in y, whose first `width` entries are the states.
    """
    if ENDINGS[run.status].success:
        return
    limits, sensitive = case.settings, entry is not None and entry >= width
    stop = stop_of(run, case.system, limits.max_steps, limits.time_limit, culprit=-1 if sensitive else entry)
    facts = [stop.sentence]
    if sensitive:
        facts.append("it is a sensitivity that stopped the run; the states alone may go on")
    what = f"The run of {case.system.name!r} with its derivatives stopped early."
    stopped = DerivativesStoppedError(what, facts, remedy=stop.advice)
    stopped.ending = ENDINGS[run.status]
    stopped.no_step = run.status in (Ending.NOT_FINITE, Ending.STEP_TOO_SMALL)
    raise stopped
