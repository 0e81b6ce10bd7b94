"""The row that a run begins with: start values read, completed where they were left open, refused where they clash."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import rank_of
from daedalus.errors import InconsistentStartError, InputError, SingularModelError
from daedalus.initialisation.start import Start as ConsistentStart
from daedalus.initialisation.start_in_form import by_states, states_in
from daedalus.initialisation.written_states import has_other_states, with_given_elsewhere
from daedalus.model.mechanics.joint_sides import check_joint_sides, joint_sides
from daedalus.model.system.conservation import check_kept, has_declared
from daedalus.model.system.system import System
from daedalus.model.values import given_start
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.held_levels import system_with_levels
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.run.request import Start
from daedalus.simulation.run.road import Road
from daedalus.simulation.run.settings import Settings
from daedalus.simulation.start.consistent_start import check_on_invariants, completed_start, consistent_start, is_off
from daedalus.simulation.start.implicit_start import first_row
from daedalus.simulation.start.start_tolerance import start_tolerance
from daedalus.simulation.start.vanishing_divisor import vanishing_divisor

# At how many times of the span inputs are read to see whether what was declared is kept.
INPUTS_LOOKED_AT = 4


def start_row(road: Road, t0: float, p: np.ndarray, start: Start | None) -> tuple[np.ndarray, Drive]:
    """The first row, and the drive with what is to be told of the start; joints sit as they are meant to."""
    row, drive = _row(road, t0, p, start)
    written = road.request.system
    if joint_sides(written) is not None:
        states = dict(zip(road.settings.plant.system.labels["x"], row.tolist()))
        check_joint_sides(written, t0, states, drive.at_time(t0), p)
    _check_declared(road, t0, row, drive, p)
    return row, drive


def _check_declared(road: Road, t0: float, row: np.ndarray, drive: Drive, p: np.ndarray) -> None:
    """Refuse invariants that somebody declared and that the equations do not keep under these inputs."""
    plant = road.settings.plant
    if not has_declared(plant.system):
        return
    looked_at = plant.system
    if isinstance(plant, ImplicitPlant):
        looked_at = system_with_levels(plant.system, plant.index) or plant.system
    times = np.linspace(t0, road.request.t1, INPUTS_LOOKED_AT).tolist()
    check_kept(looked_at, times, row[plant.row_parts["x"]], [drive.at_time(t) for t in times], p)


def _row(road: Road, t0: float, p: np.ndarray, start: Start | None) -> tuple[np.ndarray, Drive]:
    """The row on the equations, and the drive with what was done for that."""
    request, settings, drive = road.request, road.settings, road.drive
    plant, system = settings.plant, settings.plant.system
    if plant.is_implicit:
        return _implicit_row(road, t0, p, start), drive
    mapping = start_mapping(system, start)
    given = given_start(system, mapping)
    if np.isnan(given["x"]).any() and (len(given) > 1 or has_other_states(system)):
        # Open states follow from what is given for others, for derivatives and for algebraic variables.
        row, done = completed_start(request, road.inputs, system, t0, p, mapping)
    else:
        row, done = _states(road, given, t0, p, mapping), ()
    if system.constrains_start:
        known = start if isinstance(start, (Samples, ConsistentStart)) else mapping
        row, more = consistent_start(request, road.inputs, plant, drive, t0, row, p, known or None)
        done = (*done, *more)
    return row, drive._replace(notes=(*drive.notes, *done)) if done else drive


def _implicit_row(road: Road, t0: float, p: np.ndarray, start: Start | None) -> np.ndarray:
    """(x, z, x') on the equations and on what the model keeps: open values follow from it, given ones never move."""
    plant, drive, rtol = road.settings.plant, road.drive, road.request.rtol
    assert isinstance(plant, ImplicitPlant)
    switched = road.settings.core_plant, road.settings.switches
    behind = road.settings.behind_start(p, (t0, road.request.t1))
    allowed = start_tolerance(rtol)
    row = first_row(
        road.request.model, plant, drive, start, road.inputs, t0, p, allowed=allowed, switched=switched, behind=behind
    )  # fmt: skip
    if not plant.system.constrains_start or not is_off(plant, drive, t0, row, p, rtol):
        return row
    if np.isnan(given_start(plant.system, _plain(plant.system, start))["x"]).any():
        whole = first_row(
            road.request.model, plant, drive, start, road.request.inputs or {}, t0, p, at_once=False, behind=behind
        )
        if not is_off(plant, drive, t0, whole, p, rtol):
            return whole
    check_on_invariants(plant, drive, t0, row, p, rtol)
    return row


def _plain(system: System, start: Start | None) -> Mapping[str, Any] | None:
    return None if start is None or isinstance(start, Samples) else start_mapping(system, start)


def _states(
    road: Road, given: Mapping[str, np.ndarray], t0: float, p: np.ndarray, mapping: Mapping[str, Any]
) -> np.ndarray:
    """x at the start; given derivatives and algebraic values must agree with the equations."""
    x0 = given["x"]
    if not math.isfinite(x0.dot(x0)):
        x0 = np.where(np.isnan(x0), road.settings.plant.system.default_start, x0)
    if len(given) > 1:
        error = _contradiction(road.settings, road.drive, given, t0, x0, p)
        if error is not None:
            _check_with_equations(road, t0, x0, p, mapping, error)
    return x0


def _check_with_equations(
    road: Road, t0: float, x0: np.ndarray, p: np.ndarray, mapping: Mapping[str, Any], error: InconsistentStartError
) -> None:
    """Refuse given values that differ from what formulas give, unless the equations as written take them.

    Where an equation loses its unknown the formulas give one value of many, or none.
    """
    request, plant = road.request, road.settings.plant
    try:
        completed_start(request, road.inputs, plant.system, t0, p, mapping)
    except InconsistentStartError as found:
        if vanishing_divisor(request.model, plant, road.drive, t0, x0, p) is not None:
            raise found from None
        raise error from None


def settles(road: Road, t0: float, row: np.ndarray, p: np.ndarray, start: Start | None, name: str) -> bool:
    """Whether a value that equations leave open at the start is given, or follows from other values that are."""
    system = road.settings.plant.system
    if isinstance(start, Samples) or start is None:
        return False
    given = _given_unknowns(system, start)
    unknowns = (*system.labels["xdot"], *system.labels["z"])
    known = ~np.isnan(given)
    if name in unknowns and known[unknowns.index(name)]:
        return True
    if not known.any():
        return False
    symbols = [system.symbol(letter) for letter in ("t", "xdot", "x", "z", "u", "p")]
    slopes = ca.Function("slopes", symbols, [ca.jacobian(system.residual, ca.vertcat(symbols[1], symbols[3]))])
    values, n = np.nan_to_num(given), system.sizes["xdot"]
    x = row[: system.sizes["x"]]
    left = slopes(t0, values[:n], x, values[n:], road.drive.at_time(t0), p).full()[:, ~known]
    return bool(np.isfinite(left).all()) and rank_of(left, "∂F/∂(x', z)").rank == left.shape[1]


def passed_over(
    road: Road, t0: float, row: np.ndarray, p: np.ndarray, start: Start | None
) -> SingularModelError | None:
    """The refusal of a start whose given derivatives the equations take and the formulas of x' and z do not."""
    system = road.settings.plant.system
    if isinstance(start, Samples) or start is None:
        return None
    unknowns, n = _given_unknowns(system, start), system.sizes["xdot"]
    if np.isnan(unknowns).all():
        return None
    given = {"x": row, "xdot": unknowns[:n], "z": unknowns[n:]}
    error = _contradiction(road.settings, road.drive, given, t0, row, p)
    if error is None:
        return None
    name = error.what.removeprefix("The given ").split()[0]
    return SingularModelError(
        f"The equations leave {name} open at the start, and its formula does not.",
        error.facts[0].replace("the equations give", "the formula gives"),
        because="a factor that is zero there was divided by.",
        remedy=f'method="radau5", which takes the given value, or leave {name} out of start=',
    )


def _given_unknowns(system: System, start: Start) -> np.ndarray:
    """x' and z as far as they are given, not a number elsewhere."""
    labels = (*system.labels["xdot"], *system.labels["z"])
    if isinstance(start, ConsistentStart):
        given = (label in start.origin and start.origin[label] == "given" for label in labels)
        return np.array([float(start[label]) if own else np.nan for label, own in zip(labels, given)])
    found = given_start(system, start_mapping(system, start))
    parts = (found.get(letter, np.full(system.sizes[letter], np.nan)) for letter in ("xdot", "z"))
    return np.concatenate(list(parts))


def start_mapping(system: System, start: Start | None) -> Mapping[str, Any]:
    """Start values by name; what `dd.initialise` found, or a moment of a run, gives those states that this form has.

    What was written for states that this form has not is given too, unless another value is.
    """
    if not isinstance(start, (Samples, ConsistentStart)):
        return with_given_elsewhere(system, by_states(system, start))
    if isinstance(start, Samples) and start._times.size != 1:
        raise InputError(
            "A start is a single time of a run.", f"got {start._times.size} times", remedy="start=tr.at(t) with one t"
        )
    single = states_in(system, start)
    if not single and system.sizes["x"]:
        names = [name for name, place in system.places.items() if place.letter == "x"]
        raise InputError("The start has no state of this model.", f"the model has {', '.join(names[:8])}")
    return single


def _contradiction(
    settings: Settings, drive: Drive, given: Mapping[str, np.ndarray], t0: float, x0: np.ndarray, p: np.ndarray
) -> InconsistentStartError | None:
    """The first given derivative or algebraic value that differs from what the formulas give."""
    plant = settings.plant
    for letter in ("xdot", "z"):
        asked = np.flatnonzero(~np.isnan(given[letter])) if letter in given else ()
        if not len(asked):
            continue
        sample = Samples(plant, drive, p, np.array([t0]), x0[None, :])
        actual = sample._vector(letter)[0]
        for k in asked:
            wanted, name = given[letter][k], plant.system.labels[letter][k]
            gap = abs(actual[k] - wanted)
            floor = settings.call["atol"][k] if letter == "xdot" else 1e-9
            if not gap <= 10 * (settings.rtol * abs(wanted) + floor):
                return InconsistentStartError(
                    f"The given {name} contradicts the equations.",
                    f"given {wanted:g}, the equations give {actual[k]:g}: a distance of {gap:.3g}",
                    because=f"{name} follows from the states at the start.",
                    remedy=f"leave {name} out of start=, or change the states",
                )
    return None
