"""Derivatives of all states of a sweep by selected values: what was asked for, and how they are named in its result."""

from __future__ import annotations

from collections.abc import Sequence

from daedalus.ensembles.columns import Column
from daedalus.ensembles.ensemble import derivative_name
from daedalus.ensembles.lanes.derivative_columns import with_derivatives
from daedalus.ensembles.lanes.lane_runs import LaneRuns, NoLanes
from daedalus.errors import InputError
from daedalus.model.system.system import Place, System
from daedalus.simulation.plant.plant import Plant


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


def derivative_columns(plant: Plant, places: Sequence[Place], outputs: Sequence[str] | None) -> list[Column]:
    """What is kept of derivatives: by every element of the values, those of all states, or of those asked for."""
    states = [state.name for state in plant.system.of_kind("state")]
    asked = [name for name in states if name in (outputs or ())] or states
    return [
        Column(derivative_name(state, by), plant.columns[state][1], "", state)
        for by in element_names(places)
        for state in asked
    ]


def element_names(places: Sequence[Place]) -> list[str]:
    """The names of all elements of some values."""
    return [place.element(k).name for place in places for k in range(len(place.positions))]
