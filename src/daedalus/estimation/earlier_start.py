"""Whether a run that starts before the first sample explains the data: start values of a model are often those of 0 s.

A run of a fit starts at the first time of the data unless `begin=` says otherwise. Where the first sample is a little
later than zero, start values of zero are used too late, and rates come out wrong (k = 1.2 for 1.0 in data from 0.2 s).
Only where residuals are not noise is it looked at once more from zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from daedalus.errors import DaedalusError
from daedalus.estimation.experiments import Experiment
from daedalus.estimation.fit_result import Fit
from daedalus.estimation.least_squares_search import LeastSquaresSearch
from daedalus.initialisation.wording import number

# χ² has to fall to this part of itself: a wrong start leaves far more.
CLEARLY = 0.25


def note_of_an_earlier_start(fit: Fit, search: LeastSquaresSearch, theta: np.ndarray) -> tuple[str, ...]:
    """A note where residuals are not noise and a run from 0 s leaves far less; theta: where the search begins."""
    experiments = fit.problem.experiments
    late = [one for one in experiments if _begins_a_little_later(one)]
    if len(late) < len(experiments) or not any(tests.doubts for tests in fit.residual_tests.values()):
        return ()
    try:
        problem = replace(fit.problem, experiments=[replace(one, begin=0.0) for one in experiments])
        earlier = replace(search, problem=problem)
        found, _ = earlier.from_here(theta)
        left = float(np.sum(earlier.problem.value(found) ** 2))
    except DaedalusError:
        return ()
    if not left < CLEARLY * fit.chi_squared:
        return ()
    costs = f"{number(fit.chi_squared)} to {number(left)}"
    return (
        f"the run starts {_first_times(experiments)}, and from 0 s χ² falls from {costs}: "
        "if the start values of the model are those of 0 s, use dd.fit(..., begin=0.0)",
    )


def _begins_a_little_later(one: Experiment) -> bool:
    first, last = float(one.times[0]), float(one.times[-1])
    return one.begin is None and 0 < first <= last - first


def _first_times(experiments: Sequence[Experiment]) -> str:
    if len(experiments) > 1:
        return "at the first time of each experiment"
    return f"at {number(float(experiments[0].times[0]))} s, the first time of the data"
