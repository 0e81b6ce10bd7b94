"""Derivatives of all states of a sweep by selected values: what was asked for, and how they are named in its result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from daedalus.ensembles.cases import Cases
from daedalus.ensembles.ensemble import derivative_name
from daedalus.ensembles.lanes.derivative_columns import with_derivatives
from daedalus.ensembles.lanes.lane_runs import LaneRuns, NoLanes
from daedalus.errors import InputError
from daedalus.model.system.system import Place, System
from daedalus.simulation.plant.plant import Plant, by_shape


def read_names(system: System, wrt: Sequence[str] | str | None) -> tuple[Place, ...]:
    """The places of the values that are asked for: parameters, start values, constant inputs."""
    names = (wrt,) if isinstance(wrt, str) else tuple(wrt or ())
    places = tuple(system.place(name) for name in names)
    for place in places:
        if place.letter not in ("x", "u", "p"):
            known = "only parameters, start values and inputs have one"
            raise InputError(f"There is no derivative by {place.name}.", known)
    return places


def lanes_with_derivatives(lanes: LaneRuns | NoLanes, system: System, places: Sequence[Place]) -> LaneRuns:
    """The lanes of a sweep with derivatives by some values; refused where there are none."""
    found = lanes if isinstance(lanes, NoLanes) else with_derivatives(lanes, system, places)
    if isinstance(found, NoLanes):
        raise InputError(
            "Derivatives of many cases come from kernels on lanes.",
            found.reason,
            remedy="dd.sensitivities for one case after the other",
        )
    return found


def derivative_variables(
    columns: Sequence[np.ndarray], plant: Plant, places: Sequence[Place], cases: Cases
) -> dict[str, tuple[Any, ...]]:
    """The variables of a Dataset: each state by each element of the values, over cases and time."""
    elements = [place.element(k).name for place in places for k in range(len(place.positions))]
    found = {}
    for by, column in zip(elements, columns):
        for state in plant.system.of_kind("state"):
            place, shape = plant.columns[state.name]
            flat = column[:, :, place].reshape(-1, place.stop - place.start)
            values = by_shape(flat, shape).reshape(*cases.shape, column.shape[1], *shape)
            own = [f"{state.name}_index", f"{state.name}_column"][: len(shape)]
            found[derivative_name(state.name, by)] = ([*cases.dims, "time", *own], values)
    return found
