"""FMUs without a compiler: CPU seconds and size of an export of the delta robot; a step of co-simulation inside."""

import ctypes
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.timing import best_cpu_time

# Steps of one communication step, so that the call of Python is shared by many.
STEPS, LENGTH = 1000, 1e-3


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One record: export, size in bytes and number of platforms; a step of a ball and of a pendulum in space."""
    import daedalus as dd
    from daedalus import catalogue
    from daedalus.exchange.fmu.model_description import PLATFORMS
    from daedalus.exchange.fmu.prebuilt_model import runtimes

    platforms = "all" if set(runtimes()) >= set(PLATFORMS) else "this"
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "delta.fmu"

        def export() -> Any:
            return dd.exchange.fmu(catalogue.load("delta_robot").model, path, platforms=platforms, compiler=False)

        written = export()
        record = {"export": best_cpu_time(export, options["seconds"]), "size": path.stat().st_size}
        record["platforms"] = len(written.platforms)
        for name, m in (("ball", ball(dd)), ("pendulum", catalogue.load("pendulum_3d").model)):
            record[name] = seconds_of_a_step(dd, m, Path(place) / name, options["seconds"])
    yield record


def ball(dd: Any) -> Any:
    m = dd.Model("ball")
    h, v = m.state("h", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81)
    m.event("bounce", h, direction=-1, reset={"v": -0.8 * v})
    return m


def seconds_of_a_step(dd: Any, m: Any, place: Path, seconds: float) -> float:
    """CPU seconds of one step of dopri5 inside the library, with its projection."""
    place.mkdir()
    options = {"kind": "co_simulation", "version": 2, "method": "dopri5", "step": LENGTH, "compiler": False}
    dd.exchange.fmu(m, place / "it.fmu", **options)
    with zipfile.ZipFile(place / "it.fmu") as archive:
        archive.extractall(place)
        text = archive.read("modelDescription.xml").decode()
    library = ctypes.CDLL(str(next((place / "binaries").rglob("*.*"))))
    library.fmi2Instantiate.restype = ctypes.c_void_p
    token, folder = text.split('guid="')[1].split('"')[0].encode(), str(place / "resources").encode()
    unit, real = ctypes.c_void_p(library.fmi2Instantiate(b"it", 1, token, folder, None, 0, 0)), ctypes.c_double
    library.fmi2SetupExperiment(unit, 0, real(0), real(0), 0, real(0))
    library.fmi2ExitInitializationMode(unit)
    time = [0.0]

    def step() -> None:
        if library.fmi2DoStep(unit, real(time[0]), real(STEPS * LENGTH), 1) != 0:
            raise ArithmeticError("the step failed")
        time[0] += STEPS * LENGTH

    return best_cpu_time(step, seconds) / STEPS
