"""`dd.sensitivities` of a model whose bodies touch: the derivatives of its run at the end and on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES
from daedalus.differentiation.directions import Directions, read_directions
from daedalus.differentiation.touching.contact_derivatives import ContactDerivatives
from daedalus.errors import InputError, SolverError
from daedalus.model.model import Model
from daedalus.model.names import did_you_mean, listed
from daedalus.model.system.system import System
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.judge import raise_stopped
from daedalus.simulation.run.request import read_request
from daedalus.simulation.touching.steps_of_a_run import StepTaken, Struck
from daedalus.simulation.touching.time_stepping import ContactMarch, march_of


@dataclass(frozen=True, eq=False)
class ContactSensitivities:
    """How a run with hard contacts changes with its start and its parameters.

    `M`, `by_parameters` and `value` are those at the end of the span, `sens.d("b.position", "mu")` one of them by name,
    `sens.at(t)` the same at any time; `states` is the trajectory, `labels` the columns. The steps of the run are
    differentiated, with the modes of contacts that it had, and carried over the located moments at which these change.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("block"); m.gravity([0, -9.81]); mu = m.parameter("mu", 0.3)
    >>> b = m.body("b", mass=2.0, inertia=0.1, orientation="planar", position=[0, 0.1], velocity=[3, 0],
    ...            rotation=0.0, angular_velocity=0.0)
    >>> b.shape("box", size=[0.4, 0.2])
    >>> m.contact(b, dd.ground, friction=mu)
    >>> sens = dd.sensitivities(m, 2.0, wrt=["b.velocity[0]", "mu"])
    >>> round(float(sens.d("b.position[0]", "mu")), 3), round(-(3.0**2) / (2 * 0.3**2 * 9.81), 3)
    (-5.097, -5.097)
    """

    states: Trajectory
    time: float | np.ndarray
    S: np.ndarray
    system: System
    directions: Directions
    derivatives: ContactDerivatives
    asked: tuple[Any, ...]
    how: str = "discrete"

    def __reduce__(self) -> tuple[Any, ...]:
        # Formulas of steps stay in the process: another one computes the run again, to the same bits.
        return _again, (self.asked, self.time)

    @property
    def labels(self) -> list[str]:
        """The names of the columns: start values, then parameters."""
        return self.directions.labels(self.system)

    @property
    def value(self) -> np.ndarray:
        """x, (n,), in order of declaration."""
        names = self.system.labels["x"]
        at = self.states.at(self.time) if np.any(self.time != self.states.time[-1]) else self.states.end
        return np.stack([np.asarray(at[name], dtype=float) for name in names], axis=-1)

    @property
    def M(self) -> np.ndarray:
        """∂x/∂x₀, (n, columns of the start): for starts that keep closed contacts closed."""
        return self.S[..., self.directions.columns("x")]

    @property
    def by_parameters(self) -> np.ndarray:
        """∂x/∂p, (n, columns of parameters)."""
        return self.S[..., self.directions.columns("p")]

    def at(self, time: float | np.ndarray | Sequence[float]) -> ContactSensitivities:
        """The same at another time of the run; at several, arrays have an axis of times first."""
        first, last = float(self.states.time[0]), float(self.states.time[-1])
        times = np.asarray(time, dtype=float)
        outside = times[(times < first) | (times > last)]
        if outside.size:
            raise InputError(
                f"t = {outside.flat[0]:g} is outside the run.",
                f"it goes from {first:g} to {last:g}",
                because="derivatives are known where the run was computed.",
                remedy=f"sens.at({last:g})",
            )
        if not times.ndim:
            return replace(self, time=float(times), S=self.derivatives.at(float(times)))
        return replace(self, time=times, S=np.array([self.derivatives.at(float(t)) for t in times]))

    def d(self, of: str, wrt: str) -> np.ndarray:
        """The derivative of a state by a start value or a parameter, in their shapes."""
        place = self.system.place(of)
        if place.letter != "x":
            raise InputError(
                f"{of} is not a state of {self.system.name!r}.",
                f"states: {listed(list(dict.fromkeys(self.system.labels['x'])), 8)}",
                because="the steps of a run with hard contacts have derivatives of states alone.",
                remedy=did_you_mean(of, self.system.labels["x"]),
            )
        labels, by = self.labels, self.system.place(wrt)
        varied: tuple[int, ...] = {"x": self.directions.x, "p": self.directions.p}.get(by.letter or "", ())
        columns = [self.directions.column_of(by.letter or "", k) for k in by.positions.tolist() if k in varied]
        if not columns:
            raise InputError(
                f"{wrt} was not varied.",
                f"varied: {listed(labels, 8)}",
                because="derivatives are by what wrt= names.",
                remedy=f"wrt=[{wrt!r}, ...]",
            )
        shape = place.shape if len(place.shape) < 2 else (place.positions.size,)
        rows = self.S[..., np.ravel(place.positions), :][..., columns]
        found = rows.reshape((*self.S.shape[:-2], *shape, len(columns)))
        return np.asarray(found[..., 0] if by.shape == () else found)

    def __repr__(self) -> str:
        n, m = self.S.shape[-2:]
        when = f"t = {self.states.time[0]:.6g} to {self.time:.6g}" if np.ndim(self.time) == 0 else (
            f"at {len(self.S)} times"
        )  # fmt: skip
        return f"ContactSensitivities({self.system.name!r}: {n} states by {m} quantities, {when})"


def contact_sensitivities(
    model: Model | System, span: Any, order: int, wrt: str | Sequence[str], grid: Any, options: dict[str, Any]
) -> ContactSensitivities:
    """The run of a model with hard contacts, and how it changes."""
    _check(order, grid)
    asked = (model, span, order, wrt, grid, dict(options))
    start, inputs, parameters = (options.pop(name, None) for name in ("start", "inputs", "parameters"))
    request = read_request(model, span, start, inputs, parameters, None, options, "dd.sensitivities")
    march = march_of(request)
    system = march.road.system
    others = [event.name for event in system.events if event.manner.contact is None]
    if others:
        raise InputError(
            "A run with hard contacts between bodies and events of its own has no derivatives.",
            f"the model has {listed(others, 6)}",
            because="derivatives are carried over the changes of contacts, dry frictions and stops alone.",
            remedy="differences of dd.sweep, or a model without these events",
        )
    if not march.located:
        raise InputError(
            "Derivatives with hard contacts need variable steps.",
            f"{march.bodies.count} bodies may touch, step={request.step}",
            because="a changed value moves contact changes from one step to another.",
            remedy="fewer bodies with shapes, and no step=",
        )
    directions = _directions(system, wrt)
    derivatives = ContactDerivatives(request, march, directions)
    trajectory = march.trajectory(march.go(), 0.0)
    if not trajectory.success:
        raise_stopped(trajectory)
    _check_slips(march, trajectory)
    if not (march.located and march.modes.located):
        raise SolverError(
            f"The contacts of {system.name!r} change too often for derivatives.",
            because="each change is handled separately.",
            remedy="a span that ends before, or differences of dd.sweep",
        )
    return ContactSensitivities(trajectory, request.t1, derivatives.run(), system, directions, derivatives, asked)


def _check_slips(march: ContactMarch, trajectory: Trajectory) -> None:
    """Refuse a friction that falls from its static level to a lower one, unless an impact makes it slip."""
    if march.beside is None:
        return
    struck = [hit.t for hit in march.walk if isinstance(hit, Struck)]
    steps = {step.t: step for step in march.walk if isinstance(step, StepTaken)}
    for k, name in enumerate(march.beside.laws.names):
        for event in trajectory.events:
            if event.name != f"{name}.slips" or event.time in struck or event.time not in steps:
                continue
            x, own = steps[event.time].x, march.stepper
            there = march.beside.at(event.time, x, own.inputs(event.time), own.parameters, own.bodies.rows.seen_from(x))
            share = there.kinetic[k] / max(there.static[k], 1e-300)
            if share < 1 - KNOWN_BY_DIFFERENCES:
                raise SolverError(
                    f"The run has no derivative through the moment at which {name} begins to slip.",
                    f"at t = {event.time:.6g} its force falls to {share:.3g} of its static level",
                    because="the moment depends on a force, whose own derivative is not followed.",
                    remedy=f"m.friction without static= for {name}, or an earlier end",
                )


def _again(asked: tuple[Any, ...], time: float | np.ndarray) -> ContactSensitivities:
    model, span, order, wrt, grid, options = asked
    found = contact_sensitivities(model, span, order, wrt, grid, dict(options))
    return found if np.ndim(time) == 0 and time == found.time else found.at(time)


def _check(order: int, grid: Any) -> None:
    if order != 1 or grid is not None:
        raise InputError(
            f"{'order=2' if order != 1 else 'grid='} is not supported for hard contacts between bodies.",
            because="their steps are differentiated once, by starts and parameters.",
            remedy="order=1" if order != 1 else "parameters for the values of an input",
        )


def _directions(system: System, wrt: str | Sequence[str]) -> Directions:
    """What is varied; contact forces, which are discrete variables, are not."""
    asked = [wrt] if isinstance(wrt, str) else list(wrt)
    if system.sizes["u"] and "inputs" not in asked and read_directions(system, asked, 0).u:
        raise InputError(
            "Inputs cannot be varied in models with hard contacts.",
            f"wrt={wrt!r}",
            because="the steps of contacts are differentiated by starts and parameters.",
            remedy="a parameter in the place of a constant input",
        )
    free = system.sizes["p"] - system.discrete_count
    found = read_directions(system, [word for word in asked if word != "inputs"] or asked, 0)
    return Directions(found.x, (), tuple(k for k in found.p if k < free))
