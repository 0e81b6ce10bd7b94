"""`dd.poincare(m, guard, count)`: the points where a motion crosses a surface."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.errors import InputError, SolverError
from daedalus.model.model import Model
from daedalus.model.names import counted
from daedalus.model.reopened import as_model
from daedalus.model.system.system import System
from daedalus.model.time_limit import limits_time
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.request import check_options
from daedalus.simulation.simulate import simulate

NAME = "crossing_of_the_section"
# The run is made twice as long until there are enough crossings, at most so often without a further one.
FIRST_SPAN, MOST_IN_VAIN, MOST_DOUBLINGS = 1.0, 8, 60
# A motion that crosses nothing in so many steps is not followed further: one that is driven would go on for hours.
MOST_STEPS = 100_000


@limits_time
def poincare(
    model: Model | System,
    guard: object,
    count: int = 100,
    start: object = None,
    direction: int = 1,
    **simulate_options: Any,
) -> Trajectory:
    """Compute a Poincaré section: a trajectory whose rows are the first `count` crossings of a surface.

    The crossings are located like events; they do not change the run.

    Parameters
    ----------
    model: the model; it is not changed.
    guard: an expression that is zero on the surface, such as `x[2] - 27`, or the name of a variable. For one crossing
        per period T of a driven model, use `ca.sin(2 * ca.pi * m.time / T)`.
    count: the number of crossings.
    start: as in `dd.simulate`. direction: +1 if the guard rises, -1 if it falls, 0 for both.
    simulate_options: inputs, parameters, rtol and others of `dd.simulate`.

    Raises a SolverError if the motion ends or does not return.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("oscillator"); q = m.state("q", start=1.0, rate=0.0)
    >>> m.equation(m.der(m.der(q)), -q)
    >>> section = dd.poincare(m, q, 3, rtol=1e-10)
    >>> (section.time / 3.141592653589793).round(6).tolist(), section["q_dot"].round(6).tolist()
    ([1.5, 3.5, 5.5], [1.0, 1.0, 1.0])
    """
    if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or count < 1:
        raise InputError(f"{count!r} is not a valid number of crossings.", remedy="count=100")
    check_options(simulate_options, "dd.poincare", ("inputs", "parameters", "seed", "progress", "cancel"))
    book = as_model(model)
    watched = book.copy()
    watched.event(NAME, book[guard] if isinstance(guard, str) else guard, direction=direction)
    options = {"start": start, "progress": False, "rtol": 1e-8, "atol": 1e-10, **simulate_options}
    span, before, in_vain = FIRST_SPAN, 0, 0
    for _ in range(MOST_DOUBLINGS):
        run = simulate(watched, span, **options)
        times = np.array([event.time for event in run.events if event.name == NAME])
        if len(times) >= count:
            # The same steps once more, with rows at the crossings alone.
            return simulate(watched, span, save_at=times[:count], **options)
        if not run.success or run.time[-1] < span * (1 - 1e-9):
            raise _too_few(model, len(times), count, float(run.time[-1]), "the run ended there.")
        in_vain = in_vain + 1 if len(times) == before and before else 0
        if in_vain >= MOST_IN_VAIN or (not len(times) and (span > 2.0**20 or run.work.steps > MOST_STEPS)):
            break
        # As long as needed at the rate of crossings so far, at most eight times as long.
        ahead = 1.1 * span * count / len(times) if len(times) else 2 * span
        span, before = min(max(ahead, 1.2 * span), 8 * span), len(times)
    raise _too_few(model, len(times), count, span, "the motion does not come back.")


def _too_few(model: Model | System, found: int, count: int, until: float, why: str) -> SolverError:
    return SolverError(
        f"{model.name!r} crosses the surface {counted(found, 'time')} instead of {count}.",
        f"followed until t = {until:.6g}",
        because=why,
        remedy="another guard, another start=, direction=0, or a smaller count",
    )
