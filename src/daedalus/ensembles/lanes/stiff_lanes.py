"""Models for Rosenbrock methods on lanes: of index 1 as written, or x' = f where stability holds steps back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import casadi as ca
import numpy as np

from daedalus.compilation.lanes.lane_formulas import MOST_INSTRUCTIONS
from daedalus.ensembles.lanes.implicit_lane_model import ImplicitLaneModel, implicit_model
from daedalus.ensembles.lanes.kernel_frame import SURE_DIGITS
from daedalus.ensembles.lanes.tabled_intervals import tabled_inputs
from daedalus.integrators.methods import METHODS
from daedalus.model.system.instruction_list import UnknownOperationError
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.model.values import given_start, parameter_values
from daedalus.simulation.plant.constant_mass import varying_mass
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.plants import plant_of
from daedalus.simulation.run.method_choice import TINY
from daedalus.simulation.run.road import Road

ON_LANES = "rodas5p"


def method_on_lanes(road: Road) -> str | None:
    """The Rosenbrock method that runs an implicit road on lanes, None where another method has to."""
    name = road.settings.method
    if name in METHODS and METHODS[name].family == "rosenbrock":
        return name
    plant = road.settings.plant
    if road.request.method != "auto" or not isinstance(plant, ImplicitPlant) or plant.index.largest > 1:
        return None
    return None if road.request.rtol < SURE_DIGITS or varying_mass(plant.system) else ON_LANES


def why_not_implicit(road: Road) -> str | None:
    """What of an implicit road no lane can do, None where there is nothing."""
    settings, system = road.settings, road.system
    if method_on_lanes(road) is None or road.request.step is not None:
        return f"{settings.method} solves equations in every step"
    if system.choices:
        return "parameters choose its states"
    if "projection" in settings.call:
        return "constraints are kept by a solve after each step"
    if np.min(settings.call["atol"], initial=1.0) < TINY:
        return "tolerances below rounding ask for refined solves"
    if road.drive.callbacks:
        return "its inputs are functions of Python"
    return None


def written_vectors(road: Road) -> dict[str, np.ndarray] | None:
    """The first row as far as it is given, inputs and parameters; None where more than states is given."""
    system, start = road.system, road.request.start
    if start is not None and type(start) is not dict:
        return None
    given = given_start(system, start)
    if len(given) > 1:
        return None
    row = [given["x"], np.nan_to_num(system.start["z"], nan=0.0), np.zeros(system.sizes["x"])]
    p = parameter_values(system, road.request.parameters)
    return {"x": np.concatenate(row), "u": road.drive.constants, "p": p}


def written_model(road: Road, row: np.ndarray) -> ImplicitLaneModel | str:
    """The model of an implicit road, whose first row is NaN where nothing is given, or why there is none."""
    system = road.system
    found = once(system, _as_written, road.request.t1 - road.request.t0)
    if isinstance(found, str):
        return found
    with_rate = {column for _, column in found.pattern.rates}
    free = [k not in with_rate and not np.isnan(row[k]) for k in range(system.sizes["x"])]
    held = tuple(float(nominal) if given else 0.0 for nominal, given in zip(system.nominal["x"], free))
    nominal = np.concatenate([system.nominal["x"], system.nominal["z"]])
    for k in with_rate:
        nominal[k] = 1.0
    return replace(found, tabled=tabled_inputs(road.drive), held=held, nominal=tuple(nominal.tolist()))


def stiff_model(road: Road) -> ImplicitLaneModel | str:
    """x' = f of a road of an explicit method as a model of a Rosenbrock method, or why there is none."""
    found, n = once(road.system, _by_formulas, road.request.t1 - road.request.t0), road.system.sizes["x"]
    if isinstance(found, str):
        return found
    tabled = tabled_inputs(road.drive)
    return replace(found, tabled=tabled, written_out=n, held=(0.0,) * n, nominal=(1.0,) * n)


def _as_written(system: System, span: float) -> ImplicitLaneModel | str:
    symbols = {letter: system.symbol(letter) for letter in ("t", "xdot", "x", "z", "u", "p")}
    return _read(system, system.residual, symbols, span)


def _by_formulas(system: System, span: float) -> ImplicitLaneModel | str:
    plant = plant_of(system)
    if not isinstance(plant, ExplicitPlant):
        return "a linear system is solved at each evaluation"
    function = plant.rhs.function
    symbols = {letter: ca.SX.sym(letter, function.size1_in(k)) for k, letter in enumerate("txup")}
    symbols |= {"xdot": ca.SX.sym("xdot", function.size1_in(1)), "z": ca.SX(0, 1)}
    return _read(system, symbols["xdot"] - function(*(symbols[letter] for letter in "txup")), symbols, span)


def _read(system: System, residual: ca.SX, symbols: dict[str, ca.SX], span: float) -> ImplicitLaneModel | str:
    try:
        return implicit_model(residual, symbols, _usual(system, symbols), span, MOST_INSTRUCTIONS)
    except UnknownOperationError as unknown:
        return str(unknown)


def _usual(system: System, symbols: dict[str, ca.SX]) -> Callable[[str, int], np.ndarray]:
    """Values near those of the model itself, and others of its nominal size, by which pivots are chosen."""

    def sample(letter: str, k: int) -> np.ndarray:
        count = symbols[letter].numel()
        waves = np.sin(1.0 + np.arange(count))
        nominal = np.asarray(system.nominal[letter], dtype=float) if letter in system.nominal else np.ones(count)
        nominal = nominal if len(nominal) == count else np.ones(count)
        other: np.ndarray = nominal * (1.0 + 0.1 * waves)
        if letter not in system.start or len(system.start[letter]) != count:
            return other
        own = np.asarray(system.start[letter], dtype=float)
        if letter == "p":
            return np.where(np.isnan(own), other, own)
        return other if k else np.where(np.isnan(own), other, own + 0.01 * nominal * waves)

    return sample
