"""Many runs of one compiled model, side by side in threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from daedalus.ensembles.cases import Cases, read_cases
from daedalus.ensembles.cluster import OnCluster, is_cluster
from daedalus.ensembles.collected import CaseResults, KeptCases, SummarisedCases, Variables, case_variables
from daedalus.ensembles.columns import Column
from daedalus.ensembles.ensemble import Ensemble
from daedalus.ensembles.further_names import further_names
from daedalus.ensembles.gpu.cuda_driver import why_no_gpu
from daedalus.ensembles.sample import Sample
from daedalus.ensembles.seeded_noise import seeded
from daedalus.ensembles.statistics import Statistic, read_summary
from daedalus.ensembles.sweep_plan import OpenSweep, SweepPlan
from daedalus.ensembles.ways import OnGpu, WayOfCases, find_way
from daedalus.errors import InputError
from daedalus.model.guesses import GuessedStart
from daedalus.model.model import Model, as_system
from daedalus.model.system.system import System
from daedalus.model.time_limit import time_limited
from daedalus.simulation.noise.ito_drift import events_of_noise
from daedalus.simulation.noise.limited_formulas import limited_formulas
from daedalus.simulation.noise.noisy_run import read_seed
from daedalus.simulation.result.ending import time_text
from daedalus.simulation.result.records_of_methods import seen_late
from daedalus.simulation.run.progress import bar_maker, wants_progress
from daedalus.simulation.run.request import check_on_stop, read_request, read_span

# Times kept when save_at is not given: enough for a smooth plot.
DEFAULT_SAMPLES = 201
Collected = KeptCases | SummarisedCases
# Where cases can be run.
PLACES = ("auto", "cpu", "gpu")


def sweep(
    model: Model | System,
    span: float | tuple[float, float],
    over: Mapping[str, Sequence[float] | np.ndarray] | Sample | Any = None,
    combine: str = "product",
    outputs: Sequence[str] | None = None,
    summary: Sequence[str | float] | None = None,
    on: str | Any = "auto",
    workers: int | None = None,
    progress: bool | None = None,
    wrt: Sequence[str] | None = None,
    keep: str = "here",
    strict: bool = False,
    seeds: int | Sequence[int] | None = None,
    **options: Any,
) -> Ensemble:
    """Run a model with many values on all cores; the result is one labelled array per variable.

    Parameters
    ----------
    over: values by name of parameters, start values or constant inputs (`"L"`, `"x[0]"`, `"u"`); cases drawn by
        `dd.sample`; or a data frame or Dataset whose rows are cases.
    combine: "product" runs every combination, with one dimension per name. "zip" combines the values element by element
        into cases; for vectors pass arrays (cases, elements).
    outputs: the names to keep; by default all states, algebraic variables, inputs and outputs. `save=` is the same, as
        in `dd.simulate`.
    summary: statistics over the cases instead of the cases: "mean", "std" (divided by the count, as in NumPy), "min",
        "max", and numbers between 0 and 1 for quantiles. They are computed while the cases run, so memory does not grow
        with their number. Ranks of quantiles are accurate to 0.1 %. Failed cases are excluded and listed.
    on: where to run. "auto" runs few cases one by one and many on SIMD kernels, which process several cases at once
        with the vector instructions of the processor, if model and method allow it. From 100 000 cases on it uses an
        NVIDIA GPU, if there is one. "cpu" uses SIMD kernels for any number of cases. "gpu" runs the same kernels on an
        NVIDIA GPU; only its driver is needed. Models with events run on the processor, and those with clocks or
        contacts run one by one. A Dask client (`pip install "daedalus[cluster]"`) runs blocks of cases on its workers
        and repeats those of a worker that fails. `en.notes` tells you what was done.
    workers: the number of threads, by default one per core. Results do not depend on it.
    progress: show a bar; None shows it on a terminal.
    wrt: names of parameters, start values or constant inputs; `en.d("x", "k")` is then the derivative for every case,
        integrated in the same kernel. Where no kernel applies (events, implicit methods), derivatives come from
        `dd.sensitivities`. Start values of a constrained model move along its constraints.
    keep: "there" leaves the results where the cases ran. On a GPU, `en.device("x")` can be read by CuPy, JAX and
        PyTorch without a copy and passed to the next sweep; `en.data` copies everything when first used. On a cluster,
        `en.data` holds Dask arrays, whose cases run when you ask for them (`en["x"].compute()`).
    strict: True evaluates every operation in kernels exactly as written: no divisions replaced by products, no powers
        replaced by products, no fused multiply-add. Kernels are then also used for few cases. Results differ from the
        default by rounding and take longer if a model has many divisions.
    seeds: for a model with `m.noise`: the number of paths, or their seeds. The result has a dimension "seed", and every
        path is the one that `dd.simulate(..., seed=k)` computes with the same step. Without it, all cases have the
        noise of `seed=0`.
    options: all options of `simulate`. `save_at` defaults to 201 equally spaced times; `save_at="end"` keeps only the
        last row. An event may end a run early: `en["end_time"]` is when each case ended.

    If a case fails, its missing values are NaN and `en.stop_reason` holds the reason; the others continue. Ctrl-C
    returns what was computed. Raises an InputError at once if the result would not fit into memory.

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
    _check_words(keep, strict)
    outputs = _asked_outputs(outputs, options)
    values = tuple(options.pop(name, None) for name in ("start", "inputs", "parameters"))
    t0, t1 = read_span(span)
    times, end_only = _asked_times(options.pop("save_at", None), t0, t1)
    names = (wrt,) if isinstance(wrt, str) else tuple(wrt or ())
    kept = (outputs, end_only, on_stop == "return", names, bool(strict))
    system, noise = as_system(model), None
    _refuse_guesses(system, values[0])
    seed = read_seed(options.pop("seed", 0))
    if system.noises or seeds is not None:
        start, inputs, parameters = values
        request = read_request(system, (t0, t1), start, inputs, parameters, times, options, "dd.sweep")
        system, over, inputs, noise = seeded(request, over, seeds, seed)
        values = (start, inputs, parameters)
        if options.get("method", "auto") == "auto":
            options.pop("step", None)  # the noise is held over it, methods choose theirs
    plan = SweepPlan(system, (t0, t1), values, times, options, *kept, noise=noise)
    cases, statistics = read_cases(plan.system, over, combine), read_summary(summary) if summary else None
    with time_limited(options.get("time_limit")):
        opened = plan.opened(cases)
        way = _way(plan, opened, cases, on)
    finished = f"reached {time_text(t1)}"
    if keep == "there" and statistics is None:
        if isinstance(way, OnGpu):
            return _left_there(way, opened, cases, finished)
        if isinstance(way, OnCluster):
            made = dask_variables(way.to_be(), cases, opened.reader.columns, len(opened.times), finished)
            return Ensemble(_dataset_to_be(opened, made, f"{way.note(cases.count, 0)}, when somebody asks"))
    collected = _collected(cases, opened, statistics)
    left, failed = _run(way, opened, cases.count, _workers(workers), wants_progress(progress), collected)
    note = way.note(cases.count, left)
    if noise is not None and events_of_noise(system):
        note += f"\n{seen_late(events_of_noise(system))}"
    if noise is not None and failed and limited_formulas(system)[0]:
        note += f"\n{failed} cases ended early: {'; try '.join(limited_formulas(system))}"
    return Ensemble(_dataset_to_be(opened, collected.variables(finished), note))


def _collected(cases: Cases, opened: OpenSweep, statistics: tuple[Statistic, ...] | None) -> Collected:
    """Where results go."""
    columns, times = opened.reader.columns, opened.times
    if statistics is None:
        return KeptCases(cases, columns, times)
    return SummarisedCases(cases, columns, times, statistics)


def _run(
    way: WayOfCases, opened: OpenSweep, count: int, workers: int, show: bool, collected: Collected
) -> tuple[int, int]:
    """Run all cases; how many of them lanes left to the scalar core, and how many failed. Ctrl-C keeps what is done."""
    left = failed = 0
    with _bar(count, show) as bar:
        try:
            for block, found in way.in_order(count, workers, opened.cancel):
                collected.take(block, found)
                left += found.left
                failed += int(np.count_nonzero(~found.success))
                bar.update(len(block))
        except KeyboardInterrupt:
            opened.cancel.set()
    return left, failed


def _left_there(way: OnGpu, opened: OpenSweep, cases: Cases, finished: str) -> Ensemble:
    """A result that stays on the GPU until it is looked at."""
    there, fetched = way.stay(cases.count)

    def data() -> Any:
        found, collected = fetched(), _collected(cases, opened, None)
        collected.take(range(cases.count), found)
        return _dataset_to_be(opened, collected.variables(finished), way.note(cases.count, found.left))()

    return Ensemble(data, there)


def _way(plan: SweepPlan, opened: OpenSweep, cases: Cases, on: object) -> WayOfCases:
    """Where the cases are run."""
    if not is_cluster(on):
        return find_way(opened.runs, opened.reader, on)
    # What is kept, and in which order, is decided here.
    kept = [column.name for column in opened.reader.columns if not column.of]
    return OnCluster(on, replace(plan, outputs=kept), cases, find_way(opened.runs, opened.reader, "auto"))


def _refuse_guesses(system: System, start: Any) -> None:
    """A guess would move to another value in every case: the model has to say that it may."""
    if not isinstance(start, Mapping):
        return
    for name in start:
        if isinstance(start[name], GuessedStart):
            kind = "state" if "x" in system.place(name).letters else "algebraic"
            raise InputError(
                f"start= of dd.sweep cannot guess {name}.",
                because="a guess moves to a consistent value, which differs from case to case.",
                remedy=f'm.{kind}("{name}", start=dd.guess(...)) in the model, which every case solves for itself',
            )


def _check_words(keep: object, strict: object) -> None:
    """Refuse what `keep=` and `strict=` cannot mean."""
    if keep not in ("here", "there"):
        raise InputError(f"keep={keep!r} is not valid.", remedy='keep="here", or keep="there" for a GPU or a cluster')
    if not isinstance(strict, (bool, np.bool_)):
        raise InputError("strict= is neither True nor False.", f"got {strict!r}", remedy="strict=True")


def _asked_outputs(outputs: Sequence[str] | None, options: dict[str, Any]) -> Sequence[str] | None:
    """The outputs, which `save=` means too."""
    if "save" not in options:
        return outputs
    if outputs is not None:
        raise InputError("outputs= and save= are both given.", because="they mean the same.", remedy="outputs alone")
    saved: Sequence[str] | None = options.pop("save")
    return saved


def _asked_times(save_at: Any, t0: float, t1: float) -> tuple[Any, bool]:
    """The times to save at, and whether it is the end alone."""
    end_only = isinstance(save_at, str) and save_at == "end"
    if end_only or (save_at is None and t0 == t1):
        return [t1], end_only
    return (np.linspace(t0, t1, DEFAULT_SAMPLES) if save_at is None else save_at), False


def _check_place(on: object) -> None:
    if not is_cluster(on) and on not in PLACES:
        raise InputError(
            f"on={on!r} is not valid."[:120],
            remedy=" or ".join(f'on="{place}"' for place in PLACES) + ", or a client of Dask",
        )
    if on == "gpu" and why_no_gpu():
        raise InputError(f"There is no GPU to run on: {why_no_gpu()}.", remedy='on="auto", which takes the processor')


def _workers(workers: int | None) -> int:
    if workers is None:
        return os.cpu_count() or 1
    if isinstance(workers, bool) or not isinstance(workers, (int, np.integer)) or workers < 1:
        raise InputError("workers= is not a number of threads.", f"got {workers!r}", remedy="workers=2, or None")
    return int(workers)


def _dataset_to_be(opened: OpenSweep, made: tuple[Any, Any], note: str) -> Callable[[], Any]:
    """The Dataset of a sweep, which takes as long as a hundred small runs: made when it is first looked at."""
    variables, coordinates = made
    told = {"title": opened.road.system.name, "notes": note, **further_names(opened.road.system)}
    return partial(_dataset, variables, {**coordinates, "time": ("time", opened.times, {"units": "s"})}, told)


def _dataset(variables: Any, coordinates: Any, told: dict[str, str]) -> Any:
    import xarray

    return xarray.Dataset(variables, coords=coordinates, attrs=told)


def _bar(total: int, show: bool) -> Any:
    return bar_maker()(total=total, desc="sweep", unit="case", disable=not show, leave=False)


# The results of a sweep as arrays of Dask: nothing is run before somebody asks, and that alone is brought here.


def dask_variables(
    blocks: Sequence[tuple[int, Any]],
    cases: Cases,
    columns: Sequence[Column],
    times: int,
    finished: str,
) -> tuple[Variables, Variables]:
    """The variables and the coordinates of a Dataset.

    blocks: (cases, their results to be) in the order of the cases. finished: how runs end that reach their end.
    """
    from dask import array, delayed

    def joined(parts: list[Any], shape: tuple[int, ...], kind: Any) -> Any:
        arrays = [array.from_delayed(part, (count, *shape), kind) for (count, _), part in zip(blocks, parts)]
        return array.concatenate(arrays).reshape(*cases.shape, *shape)

    results, reasons = [part for _, part in blocks], delayed(_reasons)
    rows = [joined([p.rows[k] for p in results], (times, *column.shape), float) for k, column in enumerate(columns)]
    success = joined([part.success for part in results], (), bool)
    texts = joined([reasons(part, finished) for part in results], (), object)
    ends = joined([part.ends for part in results], (), float)
    return case_variables(cases, columns, rows, success, texts, ends)


def _reasons(results: CaseResults, finished: str) -> np.ndarray:
    """How the cases of a block ended."""
    texts = np.full(len(results.success), finished, dtype=object)
    for k, reason in results.reasons.items():
        texts[k] = reason
    return texts
