"""Lead a run over a singular configuration: the motion until there, prolonged by a little, on the branch that it is on.

Near a dead centre the constraints become parallel and rounding errors count by one over the square of the distance, so
that no step should end there; the motion itself is smooth. A polynomial through its recent past goes over the place.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.result.ending import Ending, Stop, reached
from daedalus.simulation.result.recorded_run import Dense, Outcome, Work
from daedalus.simulation.result.records_on_the_way import DeadCentresPassed
from daedalus.simulation.result.trajectory import Trajectory

# How far behind the place the run goes on, in distances at which it stopped before it.
BEHIND = 3.0
# The polynomial and its window, in lengths of the passage.
DEGREE, WINDOW, SHORTEST = 6, 30.0, 8.0


def passage(done: Trajectory, t1: float, distance: Callable[[float], float]) -> Trajectory | None:
    """A piece that goes over the place where `done` stopped; None where its past does not show a way.

    `distance` measures at a time of `done` how far it is from being singular.
    """
    if isinstance(done._plant, ImplicitPlant):
        return None
    t, begin = float(done.end.time), float(done.dense_spans[0][0])
    length = _length(distance, t, begin)
    if length is None or abs(t - begin) < SHORTEST * abs(length):
        return None
    ends = abs(t1 - t) <= abs(length)
    length = t1 - t if ends else length
    window = min(WINDOW * abs(length), abs(t - begin)) / abs(length)
    # Nodes as those of Chebyshev, from the far end of the window to the place itself.
    nodes = -0.5 * window * (1 - np.cos(np.linspace(np.pi, 0.0, DEGREE + 3)))[::-1]
    rows = done.at(t + nodes * length)._x
    rows[np.argmax(nodes)] = done.end._x[0]
    fit = np.polynomial.Polynomial.fit
    coefficients = np.array([fit(nodes, column, DEGREE).convert().coef for column in rows.T]).T
    coefficients[0] = done.end._x[0]
    dense = Dense(np.array([t]), np.array([t1 if ends else t + length]), coefficients[None, :, :])
    told = DeadCentresPassed()
    stop = reached(t1) if ends else Stop(Ending.PASSED, t + length, str(told))
    outcome = Outcome(stop, done.method, Work(), (told,))
    arrays = (done._parameters, np.array([t]), done.end._x.copy())
    return Trajectory(done._plant, done._drive, *arrays, stop.ending, outcome, dense)


def _length(distance: Callable[[float], float], t: float, begin: float) -> float | None:
    """The time to as far behind the place as wished, from how fast it comes nearer; None where it does not."""
    here, back = distance(t), 1e-6 * (t - begin)
    while abs(back) < 0.2 * abs(t - begin):
        before = distance(t - back)
        if before > 3 * here:
            return (1 + BEHIND) * here * back / (before - here)
        back *= 2
    return None
