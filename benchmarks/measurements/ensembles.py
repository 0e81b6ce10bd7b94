"""Sweeps of quadrotors, pendulums, reactions, thermostats, few cases: CPU seconds of later calls, of prepared runs."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.timing import best_cpu_time


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One record; option part: "rk4", "tsit5", "pendulum", "reaction", "thermostat" or "few"; seconds, count: cases."""
    parts = {
        "rk4": rk4, "tsit5": tsit5, "pendulum": pendulum, "reaction": reaction, "thermostat": thermostat, "few": few,
    }  # fmt: skip
    yield parts[options["part"]](options)


def rk4(options: dict[str, Any]) -> dict[str, Any]:
    """A trajectory-step of quadrotors at fixed step, by both."""
    found = _quadrotors(options, {"method": "rk4", "step": 1e-3})
    return {name: seconds / 1000 for name, seconds in found.items()}


def tsit5(options: dict[str, Any]) -> dict[str, Any]:
    """A trajectory of quadrotors over a second, by both."""
    return _quadrotors(options, {"method": "tsit5", "rtol": 1e-6})


def _quadrotors(options: dict[str, Any], way: dict[str, Any]) -> dict[str, Any]:
    """Seconds a trajectory of `dd.sweep` on one thread, and of `dd.prepare` in a loop."""
    import daedalus as dd
    from daedalus import catalogue

    k, count = catalogue.load("quadrotor"), options["count"]
    hover = np.asarray(k.inputs["thrust"], dtype=float)
    thrusts = hover * (1 + 0.02 * np.random.default_rng(0).normal(size=(count, len(hover))))

    def many() -> Any:
        return dd.sweep(
            k.model, 1.0, over={"thrust": thrusts}, combine="zip", start=k.start, save_at="end", workers=1, on="cpu",
            **way,
        )  # fmt: skip

    many()
    run = dd.prepare(k.model, 1.0, start=k.start, inputs=k.inputs, save_at=[1.0], **way)
    alone = best_cpu_time(lambda: run(u=thrusts[0]), options["seconds"])
    return {"ours": best_cpu_time(many, options["seconds"]) / count, "prepared": alone}


def pendulum(options: dict[str, Any]) -> dict[str, Any]:
    """A 3D pendulum as index 3 over 10 s, by both."""
    import daedalus as dd
    from daedalus import catalogue

    k, count = catalogue.load("pendulum_3d"), options["count"]
    masses = np.linspace(0.9, 1.1, count)
    given = {"start": k.start, "inputs": k.inputs}

    def many() -> Any:
        return dd.sweep(k.model, 10.0, over={"mass": masses}, save_at="end", workers=1, on="cpu", **given)

    many()
    run = dd.prepare(k.model, 10.0, save_at=[10.0], **given)
    alone = best_cpu_time(lambda: run(), options["seconds"])
    return {"ours": best_cpu_time(many, options["seconds"]) / count, "prepared": alone}


def reaction(options: dict[str, Any]) -> dict[str, Any]:
    """Chemical Akzo Nobel, a DAE of index 1, by rodas5p at rtol = 1e-6, by both."""
    import daedalus as dd
    from daedalus import catalogue

    k, count = catalogue.load("chemical_akzo"), options["count"]
    transfers = np.linspace(3.0, 3.6, count)
    way = {"start": k.start, "method": "rodas5p", "rtol": 1e-6}

    def many() -> Any:
        return dd.sweep(k.model, 180.0, over={"klA": transfers}, save_at="end", workers=1, on="cpu", **way)

    many()
    run = dd.prepare(k.model, 180.0, save_at=[180.0], **way)
    alone = best_cpu_time(lambda: run(), options["seconds"])
    return {"ours": best_cpu_time(many, options["seconds"]) / count, "prepared": alone}


def thermostat(options: dict[str, Any]) -> dict[str, Any]:
    """A room and its wall over a day with a heater that events switch, 36 times at the usual loss, by both."""
    import daedalus as dd

    m = dd.Model("thermostat")
    room, wall, k = m.state("room", start=18.0), m.state("wall", start=16.0), m.parameter("k", 0.3)
    on = m.discrete("on", start=1.0)
    m.equation(m.der(room), -k * (room - 5) - 0.5 * (room - wall) + 9.0 * on)
    m.equation(m.der(wall), 0.2 * (room - wall) - 0.05 * (wall - 5))
    m.event("hot", room - 21, direction=1, reset={"on": 0.0})
    m.event("cold", room - 19, direction=-1, reset={"on": 1.0})
    losses, count = np.linspace(0.2, 0.5, options["count"]), options["count"]

    def many() -> Any:
        return dd.sweep(m, 24.0, over={"k": losses}, save_at="end", workers=1, on="cpu")

    many()
    run = dd.prepare(m, 24.0, save_at=[24.0])
    alone = best_cpu_time(lambda: run(), options["seconds"])
    return {"ours": best_cpu_time(many, options["seconds"]) / count, "prepared": alone}


def few(options: dict[str, Any]) -> dict[str, Any]:
    """A sweep of 100 oscillators, everything included."""
    import daedalus as dd

    m = dd.Model("oscillator")
    x, v, k = m.state("x", start=1.0), m.state("v", start=0.0), m.parameter("k", 1.0)
    m.equation([m.der(x), m.der(v)], [v, -k * x])
    values = np.linspace(1.0, 4.0, 100)

    def sweep() -> Any:
        return dd.sweep(m, 1.0, over={"k": values}, save_at="end", workers=1)

    sweep()
    return {"ours": best_cpu_time(sweep, options["seconds"])}
