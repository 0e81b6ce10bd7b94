"""The motion of two states with all others held: a planar field (x', y') = g(x, y), compiled, with its derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.compilation import Compiled, compile_function
from daedalus.errors import InputError
from daedalus.model.lazy_values import cached_property
from daedalus.model.model import Model, as_system
from daedalus.model.names import listed
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.model.values import given_start, parameter_values
from daedalus.reduction.forms.explicit_form import explicit_form
from daedalus.simulation.inputs.read_inputs import Drive, read_inputs


@dataclass(frozen=True, eq=False)
class PlaneCode:
    """The functions of one pair of states, of (ignored time, pair, held values, parameters); kept with the system."""

    field: Compiled
    jacobian: Compiled
    outside: Compiled
    depends_on_time: bool
    # The Jacobian as an expression, and what it depends on.
    slopes: ca.SX
    arguments: tuple[ca.SX, ca.SX, ca.SX]

    @cached_property
    def derivatives(self) -> ca.Function:
        """Second and third derivatives of the field, which only centres ask for."""
        point = self.arguments[0]
        second = ca.densify(ca.jacobian(ca.vec(self.slopes), point))
        third = ca.densify(ca.jacobian(ca.vec(second), point))
        return ca.Function("derivatives", list(self.arguments), [ca.vec(second), ca.vec(third)])


@dataclass(frozen=True, eq=False)
class PlanarField:
    """g(x, y) of a system on a box, with everything else held: the other states, the time, inputs and parameters.

    Parameters
    ----------
    system: the system, loops of feedback inputs closed.
    names: the two states.
    centre, reach: the box as its midpoint and half widths, (2,) each.
    held: t, the other states, the inputs, then centre and reach, as the compiled functions take them.
    parameters: values of p.
    notes: what was held at which value, and what the picture does not show.
    """

    system: System
    names: tuple[str, str]
    centre: np.ndarray
    reach: np.ndarray
    held: np.ndarray
    parameters: np.ndarray
    code: PlaneCode
    notes: tuple[str, ...]

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """g at points (N, 2), as (N, 2)."""
        return self.code.field.core.evaluate_many(np.zeros(1), points, self.held, self.parameters)[0]

    def jacobian(self, points: np.ndarray) -> np.ndarray:
        """The matrices ∂g/∂(x, y) at points (N, 2), as (N, 2, 2)."""
        flat = self.code.jacobian.core.evaluate_many(np.zeros(1), points, self.held, self.parameters)[0]
        return flat.reshape(-1, 2, 2).transpose(0, 2, 1)

    def tensors(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Second derivatives g_i,jk (2, 2, 2) and third derivatives g_i,jkl (2, 2, 2, 2) at one point."""
        second, third = self.code.derivatives(point, self.held, self.parameters)
        return np.array(second).reshape((2, 2, 2), order="F"), np.array(third).reshape((2, 2, 2, 2), order="F")

    def grid(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Evenly spaced coordinates over the box, (count,) each."""
        low, high = self.centre - self.reach, self.centre + self.reach
        return np.linspace(low[0], high[0], count), np.linspace(low[1], high[1], count)

    def path(self, start: np.ndarray, duration: float, points: int) -> np.ndarray:
        """The way from a start for some time, or until it is well outside the box, (points, 2)."""
        from daedalus import _core

        run = _core.integrate(
            self.code.field.core, "tsit5", 0.0, duration, np.asarray(start, dtype=float), self.held, self.parameters,
            rtol=1e-6, atol=1e-9 * self.reach, max_steps=20_000,
            guards=self.code.outside.core, directions=[1], actions=[2], occurrences=[1],
        )  # fmt: skip
        if run.steps == 0:
            return np.asarray(start, dtype=float)[None, :]
        starts, ends, coefficients = run.dense()
        return _core.evaluate_dense(starts, ends, coefficients, np.linspace(0.0, ends[-1], points))


def planar_field(
    model: Model | System,
    names: tuple[str, str],
    box: np.ndarray,
    start: Mapping[str, object] | None,
    inputs: Mapping[str, object] | None,
    parameters: Mapping[str, object] | None,
    time: float,
) -> PlanarField:
    """The field of two states over a box ((left, right), (bottom, top)).

    Example
    -------
    >>> import daedalus as dd, numpy as np
    >>> from daedalus.display.planar_field import planar_field
    >>> m = dd.Model("oscillator")
    >>> x = m.state("x", start=1.0); v = m.state("v", start=0.0)
    >>> m.equation(m.der(x), v); m.equation(m.der(v), -4 * x)
    >>> g = planar_field(m, ("x", "v"), np.array([[-1, 1], [-1, 1]]), None, None, None, 0.0)
    >>> g(np.array([[0.5, 0.25]])).tolist(), g.jacobian(np.array([[0.5, 0.25]])).tolist()
    ([[0.25, -2.0]], [[[0.0, 1.0], [-4.0, 0.0]]])
    """
    system = as_system(model)
    p = parameter_values(system, parameters)
    system, drive = read_inputs(system, inputs or {}, (time, time))
    pair = _positions(system, names)
    x = given_start(system, start)["x"]
    x = np.where(np.isnan(x), 0.0, x)
    others = [k for k in range(len(x)) if k not in pair]
    centre, reach = box.mean(axis=1), 0.5 * (box[:, 1] - box[:, 0])
    held = np.concatenate([[time], x[others], drive.at_time(time), centre, reach])
    code = once(system, _compiled, pair)
    notes = _notes(system, others, x, drive, code, time)
    return PlanarField(system, names, centre, reach, held, p, code, notes)


def _positions(system: System, names: tuple[str, str]) -> tuple[int, int]:
    """Where the two names stand in x."""
    positions = []
    states = system.labels["x"]
    for name in names:
        place = system.place(name)
        if place.letter != "x" or len(place.positions) != 1:
            raise InputError(
                f"{name} cannot be an axis of a phase portrait.",
                f"it is {'not a state' if place.letter != 'x' else f'a state of {len(place.positions)} elements'}; "
                f"the states are {listed(states, 10)}",
                because="a phase portrait shows how two scalar states move each other.",
                remedy=f"x={states[0]!r}" + (f", y={states[1]!r}" if len(states) > 1 else ""),
            )
        positions.append(int(place.positions[0]))
    if positions[0] == positions[1]:
        raise InputError(
            "Both axes of the phase portrait are the same state.",
            f"x = {names[0]!r}, y = {names[1]!r}",
            because="a phase portrait shows how two states move each other.",
            remedy=f"two of {', '.join(states[:10])}",
        )
    return positions[0], positions[1]


def _compiled(system: System, pair: tuple[int, int]) -> PlaneCode:
    t, x, u, p = system.symbols(("t", "x", "u", "p"))
    xdot = explicit_form(system).xdot
    others = [k for k in range(x.numel()) if k not in pair]
    ignored, box = ca.SX.sym("ignored"), ca.SX.sym("box", 4)
    point = ca.vertcat(x[pair[0]], x[pair[1]])
    held = ca.vertcat(t, *(x[k] for k in others), u, box)
    field = ca.densify(ca.vertcat(xdot[pair[0]], xdot[pair[1]]))
    jacobian = ca.densify(ca.jacobian(field, point))
    away = ca.fabs(point - box[:2]) / box[2:]

    def compiled(name: str, expression: ca.SX) -> Compiled:
        return compile_function(ca.Function(name, [ignored, point, held, p], [expression]))

    return PlaneCode(
        field=compiled("field", field),
        jacobian=compiled("jacobian", ca.vec(jacobian)),
        # Positive half a box outside.
        outside=compiled("outside", ca.fmax(away[0], away[1]) - 2.0),
        depends_on_time=bool(ca.depends_on(field, t)),
        slopes=jacobian,
        arguments=(point, held, p),
    )


def _notes(
    system: System, others: list[int], x: np.ndarray, drive: Drive, code: PlaneCode, time: float
) -> tuple[str, ...]:
    notes = []
    if others:
        values = [f"{system.labels['x'][k]} = {x[k]:g}" for k in others]
        notes.append(f"held, whatever the model does: {listed(values, 8)}")
    if code.depends_on_time or drive.tables or drive.callbacks:
        notes.append(f"the field changes with time; this is t = {time:g}")
    if system.events:
        notes.append("events are not shown")
    return tuple(notes)
