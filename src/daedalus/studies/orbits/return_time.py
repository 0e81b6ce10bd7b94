"""How long a motion takes until it is back where it was, seen in a run, and how often an orbit repeats itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.agreement import SAME
from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.errors import InputError, SolverError
from daedalus.model.model import Model, as_system
from daedalus.model.names import listed
from daedalus.model.system.system import System
from daedalus.model.values import parameter_values
from daedalus.simulation.simulate import simulate
from daedalus.studies.orbits.periodic_orbit import PeriodicOrbit

# A motion has come back when it passes its start in the same direction within this share of how far it was away.
# Within the second one, across its way, it has passed the very start of a run, whose rtol is smaller.
BACK, BACK_AT_START, MOST_DOUBLINGS = 0.25, 1e-6, 14
# A sampled motion is watched for so many beats of its clocks, and is back within this share of its range.
MOST_BEATS, SAME_BEAT = 1024, 0.02


def depends_on_time(system: System, inputs: Mapping[str, Any] | None) -> bool:
    """Whether the equations, a clock or an input know what time it is."""
    return _follows_time(system, inputs) or any(event.is_clock for event in system.events)


def _follows_time(system: System, inputs: Mapping[str, Any] | None) -> bool:
    """Whether the equations or an input know what time it is."""
    expressions = ca.veccat(system.residual, system.guards, system.resets)
    varying = any(callable(value) or np.ndim(value) > 1 for value in (inputs or {}).values())
    return varying or bool(ca.depends_on(expressions, system.symbol("t")))


def check_states(system: System) -> None:
    """Refuse models in which nothing moves."""
    if not system.sizes["x"]:
        raise InputError(
            f"{system.name!r} has no states.",
            because="a periodic orbit is a motion of states.",
            remedy="dd.branch, which follows solutions of algebraic equations over a parameter",
        )


def unrepeated(
    system: System, inputs: Mapping[str, Any] | None, parameters: Mapping[str, Any] | None, begin: float, period: float
) -> tuple[str, ...]:
    """A note of functions for inputs, and of equations, that are others a period later; none where all repeat."""
    found, times = [], begin + period * COMPARED
    for name, value in (inputs or {}).items():
        if callable(value) and not _alike(value, times, period):
            found.append(name)
    if ca.depends_on(system.residual, system.symbol("t")):
        draw, rows = np.random.default_rng(0), ca.Function("rows", system.symbols(), [system.residual])
        point = [draw.uniform(0.3, 1.3, symbol.shape) for symbol in system.symbols()[1:-1]]
        point.append(parameter_values(system, parameters))
        if not _alike(lambda t: rows(t, *point).full(), times, period):
            found.append("the equations")
    told = f"{listed(found)} would change in the next period: the values of the first one are repeated"
    return (told,) if found else ()


def _alike(function: Callable[[float], Any], times: np.ndarray, period: float) -> bool:
    """Whether a function of time has the same values a period later, as far as a period that was typed tells."""
    first, second = (np.array([np.ravel(function(float(t))) for t in moved]) for moved in (times, times + period))
    return bool(np.all(np.abs(first - second) <= TYPED * (np.ptp(first, axis=0) + np.abs(first)) + NOT_ZERO))


def beat_of(system: System, inputs: Mapping[str, Any] | None) -> float | None:
    """The time after which all clocks tick together; None where something else depends on time."""
    if _follows_time(system, inputs):
        return None
    periods = [e.manner.schedule.period for e in system.events if e.manner.schedule is not None]
    if None in periods:
        return None
    parts = [Fraction(repr(float(period))) for period in periods if period is not None]
    return float(Fraction(lcm(*(f.numerator for f in parts)), gcd(*(f.denominator for f in parts))))


# An orbit is looked at in so many places to see whether it repeats itself within its period, up to so many times: where
# all states agree within this share of their ranges, it may.
WATCHED, MOST_TURNS, SAME_MOTION = 37, 32, 1e-6
# Where a period is compared with the next one, in shares of it that no signal jumps at.
COMPARED = np.array([0.0314, 0.1592, 0.2718, 0.4142, 0.5772, 0.7321, 0.9160])
# Periods are written with four digits and more.
TYPED = 1e-3


def return_time(
    model: Model | System, start: Any, begin: float, options: dict[str, Any]
) -> tuple[float, dict[str, float]]:
    """How long a motion takes until it passes a point again in the same direction, and that point."""
    span = 1.0
    system = as_system(model)
    for _ in range(MOST_DOUBLINGS):
        run = simulate(model, (begin, begin + span), start=start, **{**options, "progress": False, "rtol": 1e-9})
        times = np.linspace(begin, begin + span, 2001)
        if not run.success:
            break
        seen = run.at(times)
        x = np.array([np.asarray(seen[label]).ravel() for label in system.labels["x"]]).T
        if np.all(np.ptp(x, axis=0) <= SAME * np.maximum(np.abs(x).max(axis=0), system.nominal["x"])):
            raise SolverError(
                f"{system.name!r} is at rest at the start.",
                f"nothing moves until t = {begin + span:.6g}",
                because="an equilibrium repeats itself with any period, also where it is unstable.",
                remedy="start= with values beside the equilibrium",
            )
        # A motion that passes its start again has its period; others settle in the first half of a run, and where they
        # are then is where they are watched from.
        for origin in (0, len(times) // 2):
            size = np.maximum(np.ptp(x[origin:], axis=0), 1e-12)
            offset = (x - x[origin]) / size
            height, away = offset @ offset[origin + 1], np.linalg.norm(offset, axis=1)
            farthest = np.maximum.accumulate(away[origin:])
            for k in range(origin + 2, len(times) - 1):
                if not (height[k] < 0 <= height[k + 1] and away[k] < BACK * farthest[k - origin]):
                    continue
                t = times[k] - height[k] / (height[k + 1] - height[k]) * (times[1] - times[0])
                passed = run.at(float(t))
                miss = [float(passed[label]) for label in system.labels["x"]] - x[origin]
                if origin == 0 and _across(miss / size, offset[1]) > BACK_AT_START * farthest[k]:
                    continue
                point = {label: float(value) for label, value in zip(system.labels["x"], x[origin])}
                return float(t - times[origin]), point
        span *= 2
    raise SolverError(
        f"No period of {system.name!r} was found.",
        f"followed until t = {begin + span:.6g}",
        because="the motion does not come back to where it was.",
        remedy="period= with a guess, and start= near the orbit",
    )


def _across(miss: np.ndarray, way: np.ndarray) -> float:
    """The length of a vector across a direction."""
    along = way / max(float(np.linalg.norm(way)), NOT_ZERO)
    return float(np.linalg.norm(miss - (miss @ along) * along))


def return_beats(
    model: Model | System, start: Any, begin: float, options: dict[str, Any], beat: float
) -> tuple[float, dict[str, float]]:
    """After how many beats of its clocks a motion is back where it was, as a time, and the values there."""
    system = as_system(model)
    labels = [*system.labels["x"], *(v.name for v in system.of_kind("discrete") if not v.shape)]
    for count in (MOST_BEATS // 4, MOST_BEATS):
        run = simulate(model, (begin, begin + count * beat), start=start, **{**options, "progress": False})
        if not run.success:
            break
        # Before the ticks, where a run begins too.
        times = np.nextafter(begin + beat * np.arange(1, count + 1), begin)
        seen = run.at(times)
        x = np.array([np.asarray(seen[label], dtype=float).ravel() for label in labels]).T
        size = np.maximum(np.ptp(x[count // 2 :], axis=0), 1e-9 * np.abs(x).max(axis=0, initial=NOT_ZERO) + NOT_ZERO)
        for k in range(1, count // 4 + 1):
            later, before = x[-2 * k :], x[-3 * k : -k]
            if np.all(np.abs(later - before) <= SAME_BEAT * size):
                return k * beat, dict(zip(labels, x[-1].tolist()))
    raise SolverError(
        f"No period of {system.name!r} was found.",
        f"its clocks tick together every {beat:g} s; followed until t = {begin + count * beat:.6g}",
        because="the motion does not come back to where it was.",
        remedy=f"period= with a multiple of {beat:g}, and start= near the orbit",
    )


def turns_of(orbit: PeriodicOrbit) -> list[int]:
    """How often an orbit may repeat itself within its period, most first."""
    begin, labels = float(orbit.trajectory.time[0]), orbit.trajectory.system.labels["x"]
    phases = begin + orbit.period * (np.arange(WATCHED) + 0.5) / WATCHED

    def states(times: np.ndarray) -> np.ndarray:
        seen = orbit.at(times)
        return np.array([np.asarray(seen[label], dtype=float).ravel() for label in labels])

    here = states(phases)
    sizes = np.maximum(np.ptp(here, axis=1), SAME_MOTION * np.abs(here).max(axis=1) + NOT_ZERO)[:, None]
    return [
        turns
        for turns in range(MOST_TURNS, 1, -1)
        if np.all(np.abs(states(phases + orbit.period / turns) - here) <= SAME_MOTION * sizes)
    ]
