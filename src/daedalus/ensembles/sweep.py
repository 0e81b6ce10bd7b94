"""Many runs of one compiled model, side by side in threads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from daedalus import _core
from daedalus.ensembles.blocks import in_blocks
from daedalus.ensembles.case_runs import CaseRuns, of_case
from daedalus.ensembles.cases import read_cases
from daedalus.ensembles.collected import Collected, KeptCases, SummarisedCases
from daedalus.ensembles.columns import columns_of
from daedalus.ensembles.ensemble import Ensemble
from daedalus.ensembles.reader import Reader
from daedalus.ensembles.sample import Sample
from daedalus.ensembles.statistics import read_summary
from daedalus.ensembles.ways import find_way
from daedalus.errors import InputError
from daedalus.model.model import Model, as_system
from daedalus.model.system.system import System
from daedalus.simulation.result.ending import time_text
from daedalus.simulation.run.progress import wants_progress
from daedalus.simulation.run.request import check_on_stop, check_step, read_request, read_span
from daedalus.simulation.run.road import find_road

# Times kept when save_at is not given: enough for a smooth plot.
DEFAULT_SAMPLES = 201
# Where cases can be run.
PLACES = ("auto", "cpu")


def sweep(
    model: Model | System,
    span: float | tuple[float, float],
    over: Mapping[str, Sequence[float] | np.ndarray] | Sample | Any,
    combine: str = "product",
    outputs: Sequence[str] | None = None,
    summary: Sequence[str | float] | None = None,
    on: str = "auto",
    workers: int | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Ensemble:
    """Run a model for many values: one compiled model, all cores, one labelled result.

    Parameters
    ----------
    over: values by name of parameters, start values or constant inputs (`"L"`, `"x[0]"`, `"u"`); cases drawn by
        `dd.sample`; or a data frame or Dataset whose rows are cases.
    combine: "product" runs every combination (one dimension a name); "zip" runs the values side by side, as cases, and
        takes arrays (cases, elements) for vectors.
    outputs: the names to keep; all states, algebraic variables, inputs and outputs where it is not given.
    summary: statistics over the cases instead of the cases: "mean", "std" (over the count, as in NumPy), "min", "max",
        and numbers between 0 and 1 for quantiles. They are computed as cases come in, so that memory does not grow with
        their number; ranks of quantiles are off by at most 0.1 % of it. Failed cases are left out and listed.
    on: "auto" runs many cases on lanes, several at once by the processor's vector instructions, where the model and
        the method allow it, and few ones one by one; "cpu" takes lanes for few ones too. `en.notes` says what was done.
    workers: threads; default one a core. Results do not depend on it.
    progress: a bar over cases; None shows it on a terminal.
    options: everything `simulate` takes; `save_at` defaults to 201 equal steps of the span, and `save_at="end"` keeps
        the last row only (an event may end a run early: `en["end_time"]`).

    A case that fails is NaN where it has no data, with its reason in `en.stop_reason`; the others go on. Ctrl-C returns
    what was computed. A result that cannot be held in memory is refused at once.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("oscillator")
    >>> x = m.state("x", start=1.0); v = m.state("v", start=0.0); k = m.parameter("k", 1.0)
    >>> m.equation(m.der(x), v); m.equation(m.der(v), -k * x)
    >>> en = dd.sweep(m, 1.0, over={"k": [1.0, 4.0, 9.0], "x": [1.0, 2.0]})
    >>> en
    Ensemble(3 k × 2 x_start: 6 of 6 cases reached the end)
    >>> en["x"].dims
    ('k', 'x_start', 'time')
    >>> drawn = dd.sample({"k": dd.normal(1.0, 0.1)}, 100, kind="sobol")
    >>> bands = dd.sweep(m, 1.0, over=drawn, summary=("mean", 0.05, 0.95), save_at="end")
    >>> round(float(bands["x"].sel(summary="mean", time=1.0)), 3)
    0.541
    """
    on_stop = options.pop("on_stop", "return")
    check_on_stop(on_stop)
    _check_place(on)
    start, inputs, parameters = (options.pop(name, None) for name in ("start", "inputs", "parameters"))
    t0, t1 = read_span(span)
    times = options.pop("save_at", None)
    end_only = isinstance(times, str) and times == "end"
    times = [t1] if end_only else np.linspace(t0, t1, DEFAULT_SAMPLES) if times is None else times
    request = read_request(model, (t0, t1), start, inputs, parameters, times, options, "dd.sweep")
    assert request.save_at is not None
    cases, statistics = read_cases(as_system(model), over, combine), read_summary(summary) if summary else None
    road = find_road(of_case(request, cases, 0))
    check_step(road.request)
    columns = columns_of(road, outputs, cases.names)
    reader = Reader(road, columns, end_only, keep_stopped=on_stop == "return")
    cancel = _core.Cancel()
    runs = CaseRuns(road, request, cases, cancel, plain=reader.reads_plain_runs)
    collected: Collected = (
        KeptCases(cases, columns, request.save_at, end_only)
        if statistics is None
        else SummarisedCases(cases, columns, request.save_at, statistics)
    )

    way, left = find_way(runs, reader, on), 0
    with _bar(cases.count, wants_progress(progress)) as bar:
        try:
            for block, found in in_blocks(way.run, cases.count, _workers(workers), cancel, way.first, way.most):
                collected.take(block, found)
                left += found.left
                bar.update(len(block))
        except KeyboardInterrupt:
            cancel.set()
    variables, coordinates = collected.variables(f"reached {time_text(t1)}")
    told = {"title": road.system.name, "notes": way.note(cases.count, left)}
    return Ensemble(_dataset(told, variables, coordinates, request.save_at))


def _check_place(on: object) -> None:
    if on not in PLACES:
        raise InputError(f"on={on!r} means nothing here.", remedy=" or ".join(f'on="{place}"' for place in PLACES))


def _workers(workers: int | None) -> int:
    if workers is None:
        return os.cpu_count() or 1
    if isinstance(workers, bool) or not isinstance(workers, (int, np.integer)) or workers < 1:
        raise InputError("workers= is not a number of threads.", f"got {workers!r}", remedy="workers=2, or None")
    return int(workers)


def _dataset(told: dict[str, str], variables: Any, coordinates: Any, times: np.ndarray) -> Any:
    import xarray

    return xarray.Dataset(variables, coords={**coordinates, "time": ("time", times)}, attrs=told)


def _bar(total: int, show: bool) -> Any:
    from tqdm import tqdm

    return tqdm(total=total, desc="sweep", unit="case", disable=not show, leave=False)
