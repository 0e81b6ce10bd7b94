"""Large systems: CPU seconds and memory of a process from the first line of a model to its first run, and of a repeated
run."""

import resource
import sys
from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np

# What getrusage counts in: kilobytes, on macOS bytes.
BYTES = 1 if sys.platform == "darwin" else 1024


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One record: seconds of the first call with all imports, gigabytes, seconds of a repeated call where it is asked
    for. Options: part "brusselator" (side, steps, linear), "heat", "ladder" or "explicit" (cells); repeated. For part
    "gradient" (field, side, method): how many runs a gradient takes; for part "rhs" (cells): nanoseconds an unknown."""
    begin = process_time()
    parts = {"brusselator": brusselator, "heat": heat, "ladder": ladder, "explicit": explicit}
    if options["part"] == "gradient":
        yield gradient(options)
        return
    if options["part"] == "rhs":
        yield right_hand_side(options["cells"])
        return
    run = parts[options["part"]](options)
    first = process_time() - begin
    record = {"first": first, "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * BYTES / 1e9}
    if options.get("repeated"):
        begin = process_time()
        run()
        record["repeated"] = process_time() - begin
    yield record


def brusselator(options: dict[str, Any]) -> Any:
    """The 2D Brusselator on a torus by bdf, to the end or for some steps; `linear` as in `dd.simulate`."""
    import daedalus as dd
    from daedalus import catalogue

    known = catalogue.load("brusselator_2d", side=options["side"])

    def run() -> Any:
        limit = {"max_steps": options["steps"]} if "steps" in options else {}
        # The row at the end alone, as CVODE keeps it.
        kept: dict[str, Any] = {"save_at": [11.5], "save": ["u", "v"], "linear": options.get("linear", "auto")}
        way = {"method": "bdf", "rtol": 1e-5, "atol": 1e-7, **kept}
        done = dd.simulate(known.model, known.span, **way, **limit)
        if not done.success and not limit:
            raise RuntimeError(done.stop_reason)
        return done

    run()
    return run


def heat(options: dict[str, Any]) -> Any:
    """A rod by bdf, with the error against its closed form."""
    import daedalus as dd
    from daedalus import catalogue

    known = catalogue.load("heat_rod", cells=options["cells"])

    def run() -> Any:
        kept: dict[str, Any] = {"save_at": [known.span[1]], "save": ["u"]}
        done = dd.simulate(known.model, known.span, method="bdf", rtol=1e-6, atol=1e-9, **kept)
        assert known.reference is not None
        if not done.success or known.reference.error("u", done["u"][-1]) > 1e-4:
            raise RuntimeError(f"{done.stop_reason}, or the error is too large")
        return done

    run()
    return run


def ladder(options: dict[str, Any]) -> Any:
    """A step of voltage into a ladder of parts, for a millisecond."""
    import daedalus as dd
    from daedalus import catalogue

    known = catalogue.load("rlc_ladder", cells=options["cells"])

    def run() -> Any:
        return dd.simulate(known.model, 1e-3, start=known.start, rtol=1e-6, atol=1e-9, save_at=[1e-3])

    run()
    # Long functions are compiled in the background.
    from daedalus.compilation import background

    background.finish()
    return run


def explicit(options: dict[str, Any]) -> Any:
    """250 steps of rk4, a thousand evaluations, on a field of transport and reaction."""
    import daedalus as dd

    n = options["cells"]
    m = dd.Model("transport")
    u = m.state("u", n, start=np.sin(2 * np.pi * np.arange(n) / n))
    m.equation(m.der(u), 0.1 * (np.roll(u, 1) - u) - u**3)

    def run() -> Any:
        return dd.simulate(m, 0.25, method="rk4", step=1e-3, save_at=[0.25])

    run()
    return run


def right_hand_side(cells: int) -> dict[str, Any]:
    """CPU time of an evaluation of the field of `explicit`, called from a loop in the core."""
    import casadi as ca

    from daedalus.compilation import compile_function

    u = ca.SX.sym("u", cells)
    rates = 0.1 * (ca.vertcat(u[-1], u[:-1]) - u) - u**3
    core = compile_function(ca.Function("f", [u], [rates]), wait=True).core
    start = np.sin(2 * np.pi * np.arange(cells) / cells)
    seconds, repetitions = [], 20
    for _ in range(10):
        begin = process_time()
        core.time_per_call(start, repetitions=repetitions)
        seconds.append((process_time() - begin) / repetitions)
    return {"nanoseconds": 1e9 * min(seconds) / cells}


def gradient(options: dict[str, Any]) -> dict[str, Any]:
    """CPU seconds of a gradient by a coefficient in every cell as multiples of those of the run, both repeated."""
    import casadi as ca

    import daedalus as dd

    model = {"diffusion": diffusion, "reaction": reaction}[options["field"]](options["side"])
    way = {"method": options["method"], "rtol": 1e-5}
    calls = {
        "run": lambda: dd.simulate(model, 1.0, save_at=[1.0], **way),
        "gradient": lambda: dd.gradient(model, 1.0, final=ca.sumsqr(model["u"]), **way),
    }
    seconds: dict[str, float] = {}
    for name, call in calls.items():
        for _ in range(3):
            begin = process_time()
            call()
            seconds[name] = process_time() - begin
    return {**seconds, "runs": seconds["gradient"] / seconds["run"]}


def diffusion(side: int) -> Any:
    """A plate of side² cells with a coefficient of its own in each, whose factors cost less than iterations."""
    import daedalus as dd

    m, places = dd.Model("plate"), np.arange(side) / side
    X, Y = np.meshgrid(places, places, indexing="ij")
    u = m.state("u", (side, side), start=np.exp(-30 * ((X - 0.5) ** 2 + (Y - 0.5) ** 2)))
    k = m.parameter("k", 0.01 + 0.005 * np.sin(6 * X) * np.cos(5 * Y))
    total = -(u**3)
    for axis in (0, 1):
        flux = (np.roll(u, -1, axis) - u) * (np.roll(k, -1, axis) + k) * (0.5 * side**2)
        total = total + flux - np.roll(flux, 1, axis)
    m.equation(m.der(u), total)
    return m


def reaction(side: int) -> Any:
    """The 2D Brusselator on a torus with a diffusion coefficient in every cell, for which runs iterate."""
    import daedalus as dd

    m, places = dd.Model("torus"), np.arange(side) / side
    X, Y = np.meshgrid(places, places, indexing="ij")
    u = m.state("u", (side, side), start=22 * Y * (1 - Y) ** 1.5)
    v = m.state("v", (side, side), start=27 * X * (1 - X) ** 1.5)
    k = m.parameter("k", np.ones((side, side)))
    m.equation(m.der(u), 1 + u * u * v - 4.4 * u + 0.1 * k * dd.laplacian(u, 1 / side, boundary="periodic"))
    m.equation(m.der(v), 3.4 * u - u * u * v + 0.1 * dd.laplacian(v, 1 / side, boundary="periodic"))
    return m
