"""Measure the order of a method on one's own model: run it with several steps and see how fast the error falls.

With a method of order o the error at a fixed time is c·h^o + O(h^(o+1)), a straight line of slope o in log-log axes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import EPSILON
from daedalus.analysis.structure.written_structure import variable_index
from daedalus.errors import InputError, SolverError
from daedalus.integrators.methods import is_implicit
from daedalus.integrators.multistep.multistep import Multistep
from daedalus.integrators.tableaux.tableau import Tableau
from daedalus.model.frozen_mapping import FrozenMapping
from daedalus.model.mechanics.mechanics_part import refuse_touching
from daedalus.model.model import Model, as_system
from daedalus.model.names import element_label
from daedalus.model.plain_numbers import without_unit
from daedalus.model.system.system import System
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.request import read_span
from daedalus.simulation.simulate import simulate
from daedalus.studies.expected_order import ASKED_RTOL, expected_order
from daedalus.studies.measured_order import (
    FAILED,
    ROUNDING,
    TOO_LARGE,
    USED,
    Convergence,
    below_expected,
    fitted_order,
    judged,
    left_out_notes,
)

# Without a span the run takes this many of the largest steps.
STEPS_OF_DEFAULT_SPAN = 10
# The reference, and the run that tells how far to trust it: ten times looser, so ten times further off.
LOOSER = 1e-12
# The tolerance of the stages of an implicit method at index 2 and 3, below the errors that are measured.
STAGES = 1e-9
# Steps are typed with some six digits at least.
DIVIDES = 1e-6
# Rounding errors of n steps add up like a random walk, sqrt(n) eps; ten times that is no news about the method.
ROUNDING_FACTOR = 10.0 * EPSILON


def convergence(
    model: Model | System,
    method: str | Tableau | Multistep,
    steps: Sequence[float] | np.ndarray,
    span: float | tuple[float, float] | None = None,
    start: Mapping[str, object] | Samples | None = None,
    inputs: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
    reference: Mapping[str, object] | Trajectory | None = None,
    locate_switches: bool = True,
) -> Convergence:
    """Measure the order of a method: run a model with several step sizes and fit the order of the error at the end.

    Parameters
    ----------
    model: what to run.
    method: a name of `dd.methods()`, a `dd.Tableau` or a multistep method such as `dd.bdf(3)`. Methods with error
        control run with fixed steps here.
    steps: at least two step sizes that divide the span.
    span: the end time (from 0), or (begin, end); by default ten of the largest steps.
    start, inputs, parameters: as in `dd.simulate`.
    reference: the exact values at the end by name (such as a `reference` of the catalogue), or a finer trajectory. By
        default the model is run with "dop853" at rtol = 1e-13, or with "radau9" if x' and z have no formulas.
    locate_switches: as in `dd.simulate`; with False, conditions in the equations reduce the order. The default
        reference always locates them.

    The fits exclude errors that may come from rounding or from the reference, errors as large as the variable itself,
    and runs that ended early; `notes` lists them. The slopes from step to step show whether the steps are small enough.
    An error that happens to cross zero at the end bends the line of that variable. Steps are shortened at the times of
    a table (`dd.signal`), at events and where a condition in the equations changes.

    Raises an InputError for too few steps or steps that do not divide the span, and a SolverError if the reference
    fails, at a terminal event, or if fewer than two points are usable.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("oscillator")
    >>> x = m.state("x", start=1.0); v = m.state("v", start=0.0)
    >>> m.equation(m.der(x), v); m.equation(m.der(v), -x)
    >>> dd.convergence(m, "rk4", [0.2, 0.1, 0.05], span=1.0)
    rk4 on 'oscillator', t = 0 to 1: order 4.02 measured, 4 expected
            step      error  slope
             0.2   1.03e-05
             0.1   6.33e-07   4.02
            0.05   3.93e-08   4.01
    by variable: x 3.93, v 4.11
    """
    system = as_system(model)
    refuse_touching(system, "dd.convergence")
    sizes, (t0, t1) = _read_steps(steps, span)
    expected = expected_order(system, method, sizes[0])
    run = partial(simulate, model, (t0, t1), start, inputs, parameters, progress=False)
    answer = _answer(system, run, reference, t1)
    rtol = STAGES if is_implicit(method) and variable_index(system).largest > 1 else 1e-6
    runs = [run(method=method, step=step, rtol=rtol, locate_switches=locate_switches) for step in sizes]
    failures = _failures(runs, sizes, system.name)
    return _measured(system, runs, answer, sizes, expected, (t0, t1), failures)


# -- reading the arguments -------------------------------------------------------------------------------------


def _read_steps(steps: Any, span: Any) -> tuple[np.ndarray, tuple[float, float]]:
    """Step sizes as exact parts of the span, without repetition, largest first; and the span."""
    try:
        sizes = np.asarray(without_unit(steps, "s", "steps"), dtype=float)
    except (TypeError, ValueError):
        sizes = np.array(math.nan)
    if sizes.ndim != 1 or not np.all(np.isfinite(sizes)) or np.any(sizes <= 0):
        raise InputError(
            "The steps cannot be used.",
            f"got {steps!r}",
            because="steps= is a list of step sizes, positive numbers in the model's time.",
            remedy="steps=[0.1, 0.05, 0.025]",
        )
    largest = float(sizes.max(initial=0.0)) or 0.1
    t0, t1 = (0.0, STEPS_OF_DEFAULT_SPAN * largest) if span is None else read_span(span)
    if t0 == t1:
        raise InputError(
            "The span has zero length.",
            f"from t = {t0:g} to {t1:g}",
            because="the error is that at the end of a run.",
            remedy="span=1.0",
        )
    sizes = np.unique(_whole_parts(sizes, abs(t1 - t0)))[::-1]
    if len(sizes) < 2:
        raise InputError(
            "Too few steps to measure an order.",
            f"different step sizes: {f'{sizes[0]:g}' if len(sizes) else 'none'}",
            because="the order is the slope between errors, so two step sizes are needed at least.",
            remedy=f"steps=[{largest:g}, {largest / 2:g}, {largest / 4:g}]",
        )
    return sizes, (t0, t1)


def _whole_parts(sizes: np.ndarray, length: float) -> np.ndarray:
    """The steps as exact parts of the span, or the error that names those which are not."""
    counts = np.maximum(np.rint(length / sizes), 1.0)
    wrong = [f"{size:g}" for size, count in zip(sizes, counts) if abs(length / size - count) > DIVIDES * count]
    if not wrong:
        return length / counts
    # Whole numbers beyond the span are most likely meant as numbers of steps.
    meant = sizes if np.all(sizes > length) and np.all(sizes == np.rint(sizes)) else counts
    numbers = ", ".join(f"{count:.0f}" for count in dict.fromkeys(meant.tolist()))
    raise InputError(
        "The steps do not divide the span.",
        f"the span is {length:g} long; it is not a multiple of {', '.join(wrong[:8])}",
        because="a shortened last step would count as a whole one; steps= holds step sizes, not numbers of steps.",
        remedy=f"steps={length:g} / np.array([{numbers}])",
    )


# -- the answer to compare with --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Answer:
    """The values at the end by scalar name, how uncertain each is, and the run that gave them, if one did."""

    values: dict[str, float]
    uncertainty: dict[str, float]
    source: Trajectory | None = None


def _answer(system: System, run: Any, reference: Any, t1: float) -> _Answer:
    if reference is None:
        return _computed(system, run)
    if isinstance(reference, Samples):
        return _from_trajectory(system, reference, t1)
    if not isinstance(reference, Mapping) or not reference:
        raise InputError(
            "The reference cannot be used.",
            f"got {type(reference).__name__}",
            because="it holds the right values at the end of the span, by name.",
            remedy='reference={"x": 0.5}, or a trajectory',
        )
    _check_time(getattr(reference, "time", t1), t1)
    # Known systems say how many digits to trust, other values count to the last one; half a unit of it is open.
    trusted = 0.5 * 10.0 ** (1 - getattr(reference, "digits", 16))
    values, uncertainty = {}, {}
    for name, value in reference.items():
        array = _numbers(name, value)
        for k, entry in enumerate(array.ravel(order="F")):
            label = element_label(name, array.shape, k)
            values[label], uncertainty[label] = float(entry), trusted * float(np.max(np.abs(array)))
    return _Answer(values, uncertainty)


def _numbers(name: str, value: object) -> np.ndarray:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        array = np.array(math.nan)
    if not np.all(np.isfinite(array)):
        raise InputError(
            f"The reference of {name} is not a number.",
            f"got {value!r}",
            because="it is the value that the run must reach.",
            remedy=f'reference={{"{name}": 0.5}}',
        )
    return array


def _computed(system: System, run: Any) -> _Answer:
    """A tight run, and a looser one to tell how far to trust it."""

    def of(method: str, *tolerances: float) -> list[Trajectory]:
        return [run(method=method, rtol=rtol, atol=1e-3 * rtol) for rtol in tolerances]

    try:
        tight, looser = of("dop853", ASKED_RTOL, LOOSER)
    except SolverError:  # x' and z have no formulas
        tight, looser = of("radau9", LOOSER, 10 * LOOSER)
    for trajectory in (tight, looser):
        if trajectory.status is not Ending.FINISHED:
            raise SolverError(
                f"The reference run of {system.name!r} did not reach the end.",
                trajectory.stop_reason,
                because="the errors are those at the end of the span, against a run with dop853 at rtol = 1e-13.",
                remedy="a span that ends earlier, or the right values at its end as reference=",
            )
    labels = [*system.labels["x"], *system.labels["z"]]
    values = {label: float(tight[label][-1]) for label in labels}
    uncertainty = {label: abs(float(looser[label][-1]) - values[label]) for label in labels}
    return _Answer(values, uncertainty, tight)


def _from_trajectory(system: System, reference: Samples, t1: float) -> _Answer:
    if isinstance(reference, Trajectory):
        times = reference.time
        inside = times.min() <= t1 <= times.max()
        _check_time(t1 if inside else float(times[-1]), t1)
        reference = reference.at(t1)
    if np.size(reference.time) != 1:
        raise InputError(
            "The reference has more than one time.",
            f"it has {np.size(reference.time)} times",
            because="the errors are those at the end of the span.",
            remedy="reference=tr, or tr.at(t) with one t",
        )
    _check_time(float(np.ravel(reference.time)[0]), t1)
    labels = [label for label in (*system.labels["x"], *system.labels["z"]) if label in reference]
    if not labels:
        raise InputError(
            "The reference has no variable of this model.",
            f"the model has {', '.join(system.labels['x'][:8])}",
            because="values are compared by name.",
            remedy="a trajectory of the same model",
        )
    return _Answer({label: float(reference[label]) for label in labels}, dict.fromkeys(labels, 0.0))


def _check_time(time: float, t1: float) -> None:
    if abs(time - t1) > 1e-12 * max(abs(time), abs(t1)):
        raise InputError(
            "The reference belongs to another time.",
            f"it holds at t = {time:g}, the span ends at {t1:g}",
            because="the errors are those at the end of the span.",
            remedy=f"span={time:g}",
        )


# -- errors and slopes -----------------------------------------------------------------------------------------


def _failures(runs: list[Trajectory], sizes: np.ndarray, name: str) -> list[str]:
    """Sentences on runs that ended early; too many of them, or an end that smaller steps cannot mend, is an error."""
    failed = [(step, run) for step, run in zip(sizes, runs) if run.status is not Ending.FINISHED]
    final = [(step, run) for step, run in failed if run.status is not Ending.NOT_FINITE]
    if final or len(runs) - len(failed) < 2:
        status = (final or failed)[-1][1].status
        raise SolverError(
            f"The runs of {name!r} do not reach the end of the span.",
            [f"step {step:g}: {run.stop_reason}" for step, run in (final or failed)[:6]],
            because="the errors are compared at one time, the end of the span.",
            remedy="a span that ends before the event" if status is Ending.EVENT else _mend(status),
        )
    return [f"left out for every variable: step {step:g} ({run.stop_reason})" for step, run in failed]


def _mend(status: Ending) -> str:
    longer = "smaller steps, or a method with a larger region of stability"
    return longer if status is Ending.NOT_FINITE else status.remedy


def _measured(
    system: System,
    runs: list[Trajectory],
    answer: _Answer,
    sizes: np.ndarray,
    expected: int,
    span: tuple[float, float],
    failures: list[str],
) -> Convergence:
    fine = answer.source or [run for run in runs if run.status is Ending.FINISHED][-1]
    walk = ROUNDING_FACTOR * np.sqrt(abs(span[1] - span[0]) / sizes)
    errors, verdicts, relative, floors = {}, {}, [], []
    for label, right in answer.values.items():
        ends = [float(run[label][-1]) if run.status is Ending.FINISHED else math.nan for run in runs]
        size = float(np.max(np.abs(fine[label]))) or 1.0
        floor = np.maximum(answer.uncertainty[label], walk * size)
        errors[label] = _read_only(np.abs(np.array(ends) - right))
        verdicts[label] = judged(errors[label], floor, size)
        if label in system.labels["x"] or not set(system.labels["x"]) & answer.values.keys():
            relative.append(errors[label] / size)
            floors.append(floor / size)
    error, overall_floor = (np.sqrt(np.mean(np.square(part), axis=0)) for part in (relative, floors))
    overall = judged(error, overall_floor, 1.0)
    order = fitted_order(sizes, error, overall == USED)
    if math.isnan(order):
        raise _nothing_to_fit(sizes, error, overall)
    used = {label: _read_only(verdict == USED) for label, verdict in verdicts.items()}
    orders = {label: fitted_order(sizes, errors[label], used[label]) for label in errors}
    ranges = {
        label: (float(sizes[mask].min()), float(sizes[mask].max())) if mask.sum() > 1 else None
        for label, mask in used.items()
    }
    notes = (*failures, *left_out_notes(sizes, verdicts), *below_expected(order, expected))
    return Convergence(
        system.name, runs[0].method, span, _read_only(sizes), expected, order,
        FrozenMapping(orders), _read_only(error), FrozenMapping(errors), FrozenMapping(used),
        _read_only(overall == USED), FrozenMapping(ranges), notes,
    )  # fmt: skip


def _nothing_to_fit(sizes: np.ndarray, error: np.ndarray, verdicts: np.ndarray) -> SolverError:
    words = {
        USED: "",
        ROUNDING: ", below what rounding lets one tell",
        TOO_LARGE: ", as large as the solution",
        FAILED: ", failed",
    }
    small = np.count_nonzero(verdicts == ROUNDING) > np.count_nonzero(np.isin(verdicts, (TOO_LARGE, FAILED)))
    return SolverError(
        "The order cannot be measured from these errors.",
        [f"step {h:g}: relative error {e:.2g}{words[v]}" for h, e, v in list(zip(sizes, error, verdicts.tolist()))[:8]],
        because="two steps are needed whose errors are above rounding and below the size of the solution.",
        remedy="larger steps, or a longer span" if small else "smaller steps, or a shorter span",
    )


def _read_only(values: Any) -> np.ndarray:
    array = np.array(values)
    array.setflags(write=False)
    return array
