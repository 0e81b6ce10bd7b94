"""What a GPU takes for a million trajectories: python -m benchmarks.gpu [--count 1000000] [--json FILE]

Quadrotors over 1000 steps of RK4 and by tsit5, constrained pendulums, oscillators under noise, and stiff systems by
rodas5p where there are kernels for it. "there" has values and results on the GPU, so that it is the kernel and what
Python costs around it, and "kernel" is that from the launch to the end of the last case;
"here" begins with arrays of this machine and ends with labelled states in it, "all outputs" with all that can be read
of a run. Best of several calls after the first.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

REPEATED = 5
# What is varied of stiff systems, and its published value.
STIFF = {"robertson": ("rate[0]", 0.04), "chemical_akzo": ("K", 34.4)}


def best(call: Callable[[], Any]) -> float:
    """The shortest of several calls in seconds, after a first one that compiles; results are dropped in between."""
    call()
    found = []
    for _ in range(REPEATED):
        gc.collect()
        began = time.perf_counter()
        result = call()
        found.append(time.perf_counter() - began)
        del result
    return min(found)


class Watch:
    """The shortest time from a launch to its end, of the launches while it is open."""

    def __enter__(self) -> Watch:
        from daedalus.ensembles.gpu.gpu_runs import GpuRuns

        self.shortest, self._owner, self._start = float("inf"), GpuRuns, GpuRuns.start

        def start(runs: Any, *arguments: Any, **options: Any) -> Any:
            began = time.perf_counter()
            launched = self._start(runs, *arguments, **options)
            launched.wait()
            self.shortest = min(self.shortest, time.perf_counter() - began)
            return launched

        GpuRuns.start = start  # type: ignore[method-assign, assignment]
        return self

    def __exit__(self, *_: object) -> None:
        self._owner.start = self._start  # type: ignore[method-assign]


def quadrotors(count: int) -> tuple[Any, Any, dict[str, np.ndarray], dict[str, Any]]:
    """Model, span, values and options of quadrotors with thrusts around hovering."""
    from daedalus import catalogue

    k = catalogue.load("quadrotor")
    hover = np.asarray(k.inputs["thrust"], dtype=float)
    thrusts = hover * (1 + 0.02 * np.random.default_rng(0).normal(size=(count, len(hover))))
    return k.model, 1.0, {"thrust": thrusts}, {"start": k.start, "method": "rk4", "step": 1e-3}


def adaptive_quadrotors(count: int) -> tuple[Any, Any, dict[str, np.ndarray], dict[str, Any]]:
    """The same by tsit5."""
    model, span, over, options = quadrotors(count)
    return model, span, over, {"start": options["start"], "method": "tsit5", "rtol": 1e-6}


def pendulums(count: int) -> tuple[Any, Any, dict[str, np.ndarray], dict[str, Any]]:
    """3D pendulums as index 3 over 10 s."""
    from daedalus import catalogue

    k = catalogue.load("pendulum_3d")
    over = {"mass": np.linspace(0.9, 1.1, count)}
    return k.model, 10.0, over, {"start": k.start, "inputs": k.inputs}


def noisy(count: int) -> tuple[Any, Any, dict[str, np.ndarray], dict[str, Any]]:
    """Damped oscillators that noise pushes, each by a path of its own, over 1000 steps of RK4."""
    import daedalus as dd

    m = dd.Model("pushed oscillator")
    x, v, w = m.state("x", start=0.0), m.state("v", start=0.0), m.noise("w", intensity=0.5)
    m.equation([m.der(x), m.der(v)], [v, -x - 0.2 * v + w])
    return m, 10.0, {"seed": np.arange(count)}, {"step": 0.01, "method": "rk4"}


def stiff(name: str, count: int) -> tuple[Any, Any, dict[str, np.ndarray], dict[str, Any]]:
    """A stiff system of the catalogue over its span, one parameter within ten per cent."""
    from daedalus import catalogue

    k = catalogue.load(name)
    parameter, value = STIFF[name]
    over = {parameter: value * np.linspace(0.9, 1.1, count)}
    return k.model, k.span, over, {"start": k.start, "inputs": k.inputs, "method": "rodas5p", "rtol": 1e-6}


WORK: dict[str, Callable[[int], tuple[Any, Any, dict[str, np.ndarray], dict[str, Any]]]] = {
    "quadrotors, RK4, 1000 steps": quadrotors,
    "quadrotors, tsit5, rtol 1e-6": adaptive_quadrotors,
    "3D pendulums, index 3, 10 s": pendulums,
    "oscillators under noise, RK4, 1000 steps": noisy,
    "Robertson, rodas5p, rtol 1e-6": lambda count: stiff("robertson", count),
    "Chemical Akzo Nobel, rodas5p, rtol 1e-6": lambda count: stiff("chemical_akzo", count),
}


def measured(make: Callable[[int], Any], count: int) -> dict[str, Any]:
    """Milliseconds with everything there, and with values and results here; whether bits are those of lanes."""
    import daedalus as dd
    from daedalus.ensembles.gpu.cuda_driver import device
    from daedalus.ensembles.gpu.device_array import uploaded

    model, span, over, options = make(count)
    shared = {"combine": "zip", "save_at": "end", **options}
    few = {name: values[:4096] for name, values in over.items()}
    probe = dd.sweep(model, span, over={n: v[:16] for n, v in over.items()}, on="gpu", keep="there", **shared)
    try:
        probe.device(next(iter(model.freeze().of_kind("state"))).name)
    except dd.InputError:
        return {"note": probe.notes[0]}
    there = dd.sweep(model, span, over=few, on="gpu", **shared)
    equal = bool(there.data.equals(dd.sweep(model, span, over=few, on="cpu", **shared).data))
    resident = {name: values if name == "seed" else uploaded(device(), values) for name, values in over.items()}
    stays = best(lambda: dd.sweep(model, span, over=resident, on="gpu", keep="there", **shared))
    with Watch() as kernel:
        best(lambda: dd.sweep(model, span, over=resident, on="gpu", keep="there", **shared))
    states = [variable.name for variable in model.freeze().of_kind("state")]
    comes = best(lambda: dd.sweep(model, span, over=over, on="gpu", outputs=states, **shared))
    read = best(lambda: dd.sweep(model, span, over=over, on="gpu", **shared))
    times = {
        "kernel_ms": 1e3 * kernel.shortest,
        "there_ms": 1e3 * stays,
        "here_ms": 1e3 * comes,
        "all_outputs_ms": 1e3 * read,
    }
    return {**times, "equal_bits": equal, "note": there.notes[0]}


def main() -> None:
    """Measure and print."""
    from daedalus.ensembles.gpu.cuda_driver import device, why_no_gpu

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if why_no_gpu():
        raise SystemExit(f"There is no GPU: {why_no_gpu()}.")
    print(f"{device().name}, {given.count} trajectories each")
    found = {}
    for words, make in WORK.items():
        if given.only not in words:
            continue
        try:
            record = measured(make, given.count)
        except Exception as error:  # the others are measured all the same
            record = {"note": f"{type(error).__name__}: {error}"}
        found[words] = record
        print(words, json.dumps(record), flush=True)
    if given.json:
        given.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
