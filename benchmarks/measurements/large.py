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
    for. Options: part "brusselator" (side, steps, linear), "heat", "ladder" or "explicit" (cells); repeated."""
    begin = process_time()
    parts = {"brusselator": brusselator, "heat": heat, "ladder": ladder, "explicit": explicit}
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
