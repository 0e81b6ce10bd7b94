"""What a run with hard contacts is asked: by which method, in which direction, beside which other laws."""

from __future__ import annotations

import numpy as np

from daedalus.errors import InputError
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.result.ending import Ending, Stop, time_text
from daedalus.simulation.run.request import NO_LIMITS, Request, check_step, checked_numbers
from daedalus.simulation.run.road import Road
from daedalus.simulation.touching.touching_bodies import TouchingBodies

# The method's name, and the two ways to run it.
MOREAU, EVENT_DRIVEN, TIME_STEPPING = "moreau", "event_driven", "time_stepping"
# Up to so many bodies contacts are located where nothing else is asked; by judgement.
FEW = 12


def way_between_contacts(request: Request) -> Request:
    """The request of the motion alone, whose contact forces are numbers from outside."""
    return request.with_options(method="dop853", limits=NO_LIMITS, stepped=True)


def is_located(request: Request, bodies: TouchingBodies, x: np.ndarray, reach: float) -> tuple[bool, str]:
    """Whether the contacts of some bodies are located, and why; reach: gaps at the start that one step may close."""
    if request.method in (EVENT_DRIVEN, TIME_STEPPING):
        return request.method == EVENT_DRIVEN, f"method={request.method!r}"
    if request.step is not None:
        return False, "step= is given"
    count = bodies.count
    if count > FEW and are_in_a_row(bodies, x, reach):
        return True, f"{count} bodies touch in a row, and impacts pass from one to the next"
    few = count <= FEW
    touch = "body touches" if count == 1 else "bodies touch"
    return few, f"{'only ' if few else ''}{count} {touch}"


def are_in_a_row(bodies: TouchingBodies, x: np.ndarray, reach: float) -> bool:
    """Whether bodies nearer than `reach` form rows without loops, at one bouncing point a pair: Newton's cradle.

    An impact travels along such a row pair by pair; solved together, all pairs would throw the first ball back.
    """
    if not bodies.world.place(bodies.rows.poses(x), reach, 0.0):
        return False
    info = bodies.world.contacts()
    info = info[np.all(info[:, 4:6] >= 0, axis=1)]
    pairs, points = np.unique(np.sort(info[:, 4:6].astype(int), axis=1), axis=0, return_counts=True)
    neighbours = np.bincount(pairs.ravel(), minlength=1)
    if np.any(points > 1) or neighbours.max(initial=0) != 2 or np.any(bodies.laws[info[:, 1].astype(int), 1] == 0):
        return False
    # Rows without loops: as many are left as there are bodies less pairs.
    row = np.arange(len(neighbours))
    for one, two in pairs:
        if row[one] == row[two]:
            return False
        row[row == row[one]] = row[two]
    return True


def check_touching(request: Request) -> None:
    """Refuse what a run with hard contacts does not do."""
    checked_numbers(request.rtol, request.options.limits)
    check_step(request)
    if request.method not in ("auto", MOREAU, EVENT_DRIVEN, TIME_STEPPING):
        raise InputError(
            f"The method {request.method!r} does not solve hard contacts between bodies.",
            "velocities jump where they touch",
            because="contact forces follow from a cone problem in every step.",
            remedy='method="auto", "event_driven", "time_stepping", or stiffness= in m.contact for compliant contacts',
        )
    if request.method == EVENT_DRIVEN and request.step is not None:
        raise InputError(
            "An event-driven run with hard contacts takes no step=.",
            f"step={request.step:g}",
            because="its steps follow the tolerance and end where contacts change.",
            remedy='rtol= or max_step=, or method="time_stepping"',
        )
    if request.t1 < request.t0:
        raise InputError(
            "A run with hard contacts must go forward in time.",
            f"the span is ({request.t0:g}, {request.t1:g})",
            because="impacts and friction lose energy, so the past cannot be computed from the present.",
            remedy="a span that ends after its start",
        )


def stops_in_time(request: Request, road: Road, drive: Drive, p: np.ndarray) -> list[float]:
    """The times that no step goes across, in order: of inputs, of formulas that jump by time alone, and the end."""
    jumps = road.settings.values_in_time(p, (request.t0, request.t1), request.t1)
    times = [*(table.times for table, _ in drive.tables), *([] if jumps is None else [jumps[0]])]
    inner = {float(s) for own in times for s in own if request.t0 < s < request.t1}
    return [*sorted(inner), request.t1]


def limit_reached(request: Request, steps: int, seconds: float, t: float) -> Stop | None:
    """The end of a run that has taken as many steps, or as long, as it may."""
    _, _, _, max_steps, time_limit = request.limits
    if max_steps is not None and steps >= max_steps:
        return Stop(Ending.STEP_LIMIT, t, f"took max_steps = {max_steps} steps and got to {time_text(t)}")
    if time_limit is not None and seconds > time_limit:
        return Stop(Ending.TIME_LIMIT, t, f"ran for time_limit = {time_limit:g} s and got to {time_text(t)}")
    return None
