"""A run with delayed signals begins with what they were: given, of another run, or constant at their start values."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.algebra.agreement import agree
from daedalus.algebra.rank_decision import ROUNDING, SINGULAR
from daedalus.deadline import poll
from daedalus.errors import InputError
from daedalus.integrators.methods import METHODS, is_implicit
from daedalus.simulation.inputs.delayed_inputs import before_start, check_signals, compiled_signals
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.run.road import Road
from daedalus.simulation.start.start_row import start_row

# Signals that depend on each other through the algebraic variables of the start are settled by this many rounds.
MOST_ROUNDS = 50
MOST_KEPT = 8  # points that the next one is found from


def with_history(road: Road, t0: float, p: np.ndarray, start: Any) -> Road:
    """The road with what its delayed signals were before t0."""
    system = road.system
    _check(road, t0)
    known = start._drive.delayed if isinstance(start, Samples) else None
    count = sum(v.size for v in system.delayed)
    values = np.zeros(count)
    points, misses = list[np.ndarray](), list[np.ndarray]()
    for _ in range(MOST_ROUNDS):
        poll("a consistent start")
        delayed = before_start(system, p, t0, values, known)
        road = road._replace(drive=road.drive._replace(delayed=delayed))
        _check_step(road, delayed.delays)
        row, _ = start_row(road, t0, p, start)
        found = _signals(road, t0, row, p)
        sizes = np.abs([found, values, *points]).max(axis=0)
        if known is not None or agree(found, values, ROUNDING, np.where(sizes > 0, sizes, 1.0)):
            return road
        points.append(values)
        misses.append(found - values)
        values = _next(points, misses)
    raise InputError(
        "The start values of delayed signals depend on each other.",
        f"they are {', '.join(v.name for v in system.delayed[:6])}",
        because="without a history, a delayed signal keeps its start value before the start.",
        remedy="m.delay(..., history=0.0)",
    )


def _next(points: list[np.ndarray], misses: list[np.ndarray]) -> np.ndarray:
    """Where what a signal was may be equal to what it is, by the misses at points before.

    The point plus its miss alone converges slowly where signals come back nearly whole, as on a line that is open at
    its end. The combination of points whose misses cancel best is exact for linear equations after one point more than
    there are signals (D. G. Anderson, J. ACM 12, 1965).
    """
    points, misses = points[-MOST_KEPT:], misses[-MOST_KEPT:]
    if len(points) < 2:
        corrected: np.ndarray = points[-1] + misses[-1]
        return corrected
    moves = np.array([misses[-1] - miss for miss in misses[:-1]]).T
    steps = np.array([points[-1] - point for point in points[:-1]]).T
    parts = np.linalg.lstsq(moves, misses[-1], rcond=SINGULAR)[0]
    return np.asarray(points[-1] + misses[-1] - (steps + moves) @ parts)


def _signals(road: Road, t0: float, row: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The signals at the start."""
    plant = road.settings.plant
    function = compiled_signals(plant, plant.system)
    found = function.core.evaluate_many(np.array([[t0]]), row[None, :], road.drive.at_time(t0)[None, :], p)[0]
    return np.ravel(found)


def _check(road: Road, t0: float) -> None:
    request, method = road.request, road.method
    check_signals(request.system)
    if request.t1 < t0:
        raise InputError(
            "A run with delayed signals must go forward in time.",
            f"asked for from t = {t0:g} to {request.t1:g}",
            because="backwards in time, a delayed signal would be in the future.",
            remedy="a span that goes forward",
        )
    family = METHODS[method].family if isinstance(method, str) and method in METHODS else "tableau"
    if is_implicit(method) and family != "radau":
        raise InputError(
            f"The method {method if isinstance(method, str) else method.name!r} does not support delayed signals.",
            because="only explicit methods and Radau store the history of signals.",
            remedy='method="auto", or method="radau5"',
        )


def _check_step(road: Road, delays: tuple[float, ...]) -> None:
    step = road.request.step
    if step is not None and step > min(delays) * (1 + 1e-9):
        raise InputError(
            "step is longer than a delay.",
            f"step = {step:g}, the shortest delay is {min(delays):g}",
            because="a step can only look back to values before it.",
            remedy=f"step={min(delays):g} or less",
        )
