"""Refuse to differentiate a run that did not get to its end."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.differentiation.case import Case
from daedalus.errors import SolverError
from daedalus.integrators.methods import is_implicit
from daedalus.simulation.result.ending import ENDINGS, Stop
from daedalus.simulation.run.stop_reason import refused_reset, stop_of


def check_finished(case: Case, run: Any, entry: int | None = None, width: int = 0) -> None:
    """Raise a SolverError where the run did not get to its end; a bad choice of redundant constraints ends a part only.

    entry: where what stopped a run with derivatives stands in y, whose first `width` entries are the states.
    """
    ending = ENDINGS[run.status]
    if ending.success or (case.redundancy is not None and ending.may_be_bad_constraints and len(run.t) > 1):
        return
    limits, sensitive = case.settings, entry is not None and entry >= width
    stop = _refused(case, run) or stop_of(
        run, case.system, limits.max_steps, limits.time_limit, culprit=-1 if sensitive else entry
    )
    facts = [stop.sentence]
    if sensitive:
        facts.append("it is a sensitivity that stopped the run; the states alone may go on")
    raise SolverError(f"The run of {case.system.name!r} with its derivatives stopped early.", facts, remedy=stop.advice)


def _refused(case: Case, run: Any) -> Stop | None:
    """The end of a nominal run at an event whose reset is refused."""
    if run.culprit_stage != "event":
        return None
    restart = (case.implicit_settings if is_implicit(case.method) else case.settings).restart
    t, event = float(run.stop_time), int(run.culprit)
    error = None if restart is None else restart.refusal(t, np.array(run.end), case.u_at(t), case.p, event)
    return None if error is None else refused_reset(t, case.system.events[event].name, error)
