"""Many runs of one compiled model, side by side in threads."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from daedalus import _core
from daedalus.ensembles.ensemble import Ensemble
from daedalus.errors import DaedalusError, InputError
from daedalus.model.model import Model, as_system
from daedalus.model.system.system import System
from daedalus.simulation.result.labelled_samples import recorded_names, unit_of
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.progress import wants_progress
from daedalus.simulation.run.request import Request, check_on_stop, check_step, read_request, read_span
from daedalus.simulation.run.road import Road, find_road
from daedalus.simulation.simulate import travel

# Times kept when save_at is not given: enough for a smooth plot.
DEFAULT_SAMPLES = 201


def sweep(
    model: Model | System,
    span: float | tuple[float, float],
    over: Mapping[str, Sequence[float] | np.ndarray],
    combine: str = "product",
    workers: int | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Ensemble:
    """Run a model for many values: one compiled model, all cores, one labelled result.

    Parameters
    ----------
    over: values by name of parameters, start values or constant inputs (`"L"`, `"x[0]"`, `"u"`).
    combine: "product" runs every combination (one dimension a name); "zip" runs the values side by side, as cases.
    workers: threads; default one a core. Results do not depend on it.
    progress: a bar over cases; None shows it on a terminal.
    options: everything `simulate` takes; `save_at` defaults to 201 equal steps of the span.

    A case that fails is NaN where it has no data, with its reason in `en.stop_reason`; the others go on. Ctrl-C returns
    what was computed.

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
    """
    on_stop = options.pop("on_stop", "return")
    check_on_stop(on_stop)
    start, inputs, parameters = (options.pop(name, None) for name in ("start", "inputs", "parameters"))
    t0, t1 = read_span(span)
    save_at = options.pop("save_at", None)
    save_at = np.linspace(t0, t1, DEFAULT_SAMPLES) if save_at is None else save_at
    request = read_request(model, (t0, t1), start, inputs, parameters, save_at, options, "dd.sweep")
    axes = _read_axes(as_system(model), over, combine)
    grid = _case_grid(axes, combine)
    road = find_road(_of_case(request, grid[0]))
    check_step(road.request)
    cancel = _core.Cancel()

    def run(case: dict[str, float]) -> Trajectory | str:
        try:
            whole = travel(_road_of_case(road, request, case), cancel=cancel)
            return whole if whole.success or on_stop == "return" else whole.stop_reason
        except DaedalusError as error:
            if isinstance(error, InputError):
                raise
            return str(error).replace("\n", " ")

    results = _run_all(run, grid, workers or os.cpu_count() or 1, wants_progress(progress), cancel)
    assert request.save_at is not None
    return Ensemble(_collect(road.system, axes, combine, request.save_at, results))


def _read_axes(system: System, over: Mapping[str, Sequence[float] | np.ndarray], combine: str) -> dict[str, np.ndarray]:
    if combine not in ("product", "zip"):
        raise InputError(f"combine={combine!r} means nothing.", remedy='combine="product" or combine="zip"')
    if not isinstance(over, Mapping) or not over:
        raise InputError("over= takes lists of values by name.", f"got {over!r}"[:120], remedy='over={"L": [1.0, 2.0]}')
    axes = {}
    for name, values in over.items():
        place = system.place(name)
        if place.letter not in ("p", "x", "u"):
            raise InputError(f"{name} cannot be swept.", "only parameters, start values and inputs can")
        array = np.asarray(values, dtype=float)
        if array.ndim != 1 or array.size == 0 or len(place.positions) != 1:
            raise InputError(
                f"The values of {name} are not a list of numbers.",
                f"{name} has {len(place.positions)} elements, the values have shape {array.shape}",
                remedy=f'over={{"{place.element(0).name}": [1.0, 2.0]}}, one element at a time',
            )
        axes[name] = array
    lengths = {name: len(values) for name, values in axes.items()}
    if combine == "zip" and len(set(lengths.values())) > 1:
        raise InputError('combine="zip" needs lists of one length.', f"got {lengths}")
    return axes


def _case_grid(axes: dict[str, np.ndarray], combine: str) -> list[dict[str, float]]:
    lists = (values.tolist() for values in axes.values())
    rows = zip(*lists) if combine == "zip" else itertools.product(*lists)
    return [dict(zip(axes, row)) for row in rows]


def _of_case(request: Request, case: dict[str, float]) -> Request:
    """The request of one case: its values written over those given for all."""
    argument = {"p": "parameters", "x": "start", "u": "inputs"}
    changed: dict[str, Any] = {}
    for name, value in case.items():
        key = argument[str(request.system.place(name).letter)]
        given = changed.get(key, getattr(request, key))
        changed[key] = {**(given or {}), name: value}
    return request._replace(**changed)


def _road_of_case(road: Road, request: Request, case: dict[str, float]) -> Road:
    """The road of all cases with the numbers of one."""
    own = _of_case(request, case)
    if own.inputs is request.inputs:
        return road._replace(request=own._replace(inputs=road.request.inputs))
    return find_road(own)


def _run_all(
    run: Callable[[dict[str, float]], Trajectory | str],
    grid: list[dict[str, float]],
    workers: int,
    show: bool,
    cancel: Any,
) -> list[Trajectory | str]:
    """Run all cases in threads; results in the order of the grid. The first case alone, so that all compile once."""
    results: list[Trajectory | str] = ["not run: interrupted by the user"] * len(grid)
    with _bar(len(grid), show) as bar:
        try:
            results[0] = run(grid[0])
            bar.update()
            if len(grid) > 1:
                for k, result in _threads(run, grid, workers, cancel):
                    results[k] = result
                    bar.update()
        except KeyboardInterrupt:
            cancel.set()
    return results


def _threads(
    run: Callable[[dict[str, float]], Trajectory | str], grid: list[dict[str, float]], workers: int, cancel: Any
) -> Iterator[tuple[int, Trajectory | str]]:
    """All cases but the first, in blocks: few enough to hand out cheaply, many enough to keep every thread busy."""
    size = max(1, min(64, len(grid) // (8 * workers)))
    blocks = [range(k, min(k + size, len(grid))) for k in range(1, len(grid), size)]
    with ThreadPoolExecutor(min(workers, len(blocks)), thread_name_prefix="sweep") as pool:
        waiting = {pool.submit(lambda block: [(k, run(grid[k])) for k in block], block) for block in blocks}
        try:
            while waiting:
                # A short wait lets Ctrl-C through while the core is at work.
                done, waiting = wait(waiting, timeout=0.1, return_when=FIRST_COMPLETED)
                for future in done:
                    yield from future.result()
        except BaseException:
            cancel.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _bar(total: int, show: bool) -> Any:
    from tqdm import tqdm

    return tqdm(total=total, desc="sweep", unit="case", disable=not show, leave=False)


def _collect(
    system: System, axes: dict[str, np.ndarray], combine: str, times: np.ndarray, results: list[Trajectory | str]
) -> Any:
    """All cases in one Dataset; NaN where a case has no data."""
    import xarray

    # A swept start value x gets the dimension x_start, since x itself is a variable of the result.
    states = {v.name for v in system.of_kind("state")}
    dims = {name: f"{name}_start" if name in states else name for name in axes}
    shape = tuple(len(v) for v in axes.values()) if combine == "product" else (len(results),)
    case_dims = list(dims.values()) if combine == "product" else ["case"]
    coords: dict[str, Any] = {dims[n]: ([dims[n]] if combine == "product" else ["case"], v) for n, v in axes.items()}
    variables: dict[str, Any] = {}
    example = next((r for r in results if isinstance(r, Trajectory)), None)
    for name in recorded_names(example) if example is not None else []:
        if name in dims.values():
            continue
        inner = example[name].shape[1:]  # type: ignore[index]
        block = np.full((len(results), len(times), *inner), np.nan)
        for k, result in enumerate(results):
            if isinstance(result, Trajectory):
                values = result[name]
                block[k, : len(values)] = values[: len(times)]
        extra = [f"{name}_index", f"{name}_column"][: len(inner)]
        unit = unit_of(system, name)
        attributes = {"units": unit} if unit else {}
        variables[name] = ([*case_dims, "time", *extra], block.reshape(*shape, len(times), *inner), attributes)
    success = np.array([isinstance(r, Trajectory) and r.success for r in results])
    reasons = np.array([r.stop_reason if isinstance(r, Trajectory) else r for r in results], dtype=object)
    variables["success"] = (case_dims, success.reshape(shape))
    variables["stop_reason"] = (case_dims, reasons.astype(str).reshape(shape))
    return xarray.Dataset(variables, coords={**coords, "time": ("time", times)}, attrs={"title": system.name})
