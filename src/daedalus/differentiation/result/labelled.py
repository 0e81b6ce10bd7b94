"""Sensitivities as xarray: every axis carries the names of what stands along it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daedalus.differentiation.result.differentiated_run import DifferentiatedRun
from daedalus.differentiation.result.sensitivity_samples import SensitivitySamples

if TYPE_CHECKING:
    import xarray

FIRST = {"M": "x", "N": "u", "by_parameters": "p"}
SECOND = {"O": ("x", "x"), "P": ("x", "u"), "Q": ("u", "u")}
AXES = {"x": ("start",), "u": ("u",), "p": ("p",)}


def to_dataset(sens: DifferentiatedRun, samples: SensitivitySamples) -> xarray.Dataset:
    """All arrays that the run has, over `time`."""
    import xarray

    system, d = sens.system, sens._directions
    varied = {letter for letter in ("x", "u", "p") if getattr(d, letter)}
    variables: dict[str, Any] = {"value": (["time", "x"], samples.value)}
    for name, letter in FIRST.items():
        if letter in varied:
            variables[name] = (["time", "x", *_axes(d.intervals, letter)], getattr(samples, name))
    for name, (one, other) in SECOND.items():
        if sens.order == 2 and {one, other} <= varied:
            second = [f"{axis}_2" if one == other else axis for axis in _axes(d.intervals, other)]
            axes = ["time", "x", *_axes(d.intervals, one), *second]
            variables[name] = (axes, getattr(samples, name))
    names = {
        "x": [system.labels["x"][k] for k in sens._own],
        "start": [system.labels["x"][k] for k in d.x if k in sens._own],
        "u": [system.labels["u"][k] for k in d.u],
        "p": [system.labels["p"][k] for k in d.p],
    }
    used = {axis for axes, _ in variables.values() for axis in axes}
    coordinates: dict[str, Any] = {"time": samples._times}
    for axis in used - {"time", "interval", "interval_2"}:
        coordinates[axis] = names[axis.removesuffix("_2")]
    attributes = {"title": system.name, "order": sens.order, "how": sens.how, "method": sens._case.settings.method}
    return xarray.Dataset(variables, coords=coordinates, attrs=attributes)


def _axes(intervals: int, letter: str) -> list[str]:
    return ["interval", "u"] if letter == "u" and intervals else list(AXES[letter])
