"""dd.closed_loop: a controller and a plant that is not its model, run together as they would be in the field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from daedalus.errors import InputError
from daedalus.model.model import Model
from daedalus.model.notebook import note_change
from daedalus.model.plain_numbers import without_unit
from daedalus.model.reopened import as_model
from daedalus.model.system.system import System
from daedalus.model.variables import make_variable
from daedalus.optimisation.receding.controller import Controller
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.simulate import simulate


def closed_loop(
    plant: Model | System,
    controller: Controller,
    span: float | tuple[float, float],
    noise: object = None,
    delay: float = 0.0,
    *,
    estimator: Any = None,
    start: Any = None,
    inputs: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
    seed: int = 0,
    **simulate_options: Any,
) -> Trajectory:
    """Simulate a plant under a controller. The plant only has to share names with the controller's model.

    At every sample the controller gets the measurements, and its inputs hold until the next sample.

    Parameters
    ----------
    plant: a model with the inputs that the controller chooses, and with its states (or the estimator's outputs) as
        states or outputs.
    noise: measurement noise: standard deviations as one number or by name, or a function (t, values) that returns what
        the controller sees.
    delay: the time from a measurement until the inputs take effect.
    estimator: a `dd.Estimator` (or any y, u -> x with `labels`); the controller then uses its estimates.
    start, inputs, parameters, simulate_options: of the plant, as in `dd.simulate`; inputs are those that the
        controller does not choose.
    seed: of the noise.

    Returns a Trajectory of the plant that includes the inputs. `controller.work` counts what the controller did.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("cart")
    >>> x, v, u, mass = m.state("x", start=1.0), m.state("v", start=0.0), m.input("u"), m.parameter("mass", 1.0)
    >>> m.equation([m.der(x), m.der(v)], [v, u / mass])
    >>> ocp = dd.OptimalControl(m, duration=2.0, intervals=20)
    >>> ocp.bound(u, -1.0, 1.0); ocp.minimise(running=x**2 + v**2 + 0.1 * u**2, final=10 * x**2 + 10 * v**2)
    >>> loop = dd.closed_loop(m, dd.Controller(ocp, every=0.1), 8.0, parameters={"mass": 1.2})
    >>> bool(abs(loop["x"][-1]) < 0.01), bool(abs(loop["u"]).max() <= 1.0)
    (True, True)
    """
    delay = without_unit(delay, "s", "delay")
    if not isinstance(delay, (int, float, np.number)) or isinstance(delay, bool) or not 0 <= delay < np.inf:
        raise InputError("delay must be zero or positive.", f"got {delay!r}", remedy="delay=0.01")
    names = controller.labels["u"]
    driven = _owners(controller)
    model = with_sampled_inputs(plant, driven)
    measured = tuple(estimator.labels["y"]) if estimator is not None else controller.reads
    _check_measured(model, measured)
    loop = _Loop(controller, measured, estimator, _read_noise(noise, measured, seed))
    every, waiting = controller.every, int(delay // controller.every)
    late = delay - waiting * every
    if waiting == 0 and late == 0:
        model.every(every, call=loop.sample, reads=measured, writes=names, name="controller")
    else:
        # What was decided waits in variables of its own until it takes hold.
        held = [model.discrete(f"decided_{k}") for k in range(len(names))]
        decided = [f"decided_{k}" for k in range(len(names))]
        loop.waiting = waiting
        model.every(every, call=loop.sample, reads=measured, writes=decided, name="controller")
        chain = {"after": "controller"} if late == 0 else {"offset": late}
        model.every(every, dict(zip(names, held)), name="actuators", **chain)
    return simulate(model, span, start=start, inputs=inputs, parameters=parameters, **simulate_options)


def _owners(controller: Controller) -> list[str]:
    """The input variables that a controller chooses; each of them whole."""
    system, chosen = controller._horizon.system, set(controller._horizon.description.chosen)
    owners = []
    for variable in system.of_kind("input"):
        own = {int(k) for k in system.places[variable.name].positions}
        if own & chosen and not own <= chosen:
            raise InputError(
                f"Some elements of {variable.name} are chosen and others are given.",
                because="a clock writes an input as a whole here.",
                remedy="two inputs in the model",
            )
        if own <= chosen and own:
            owners.append(variable.name)
    return owners


def _check_measured(model: Model, names: tuple[str, ...]) -> None:
    missing = [name for name in names if name not in model]
    if missing:
        raise InputError(
            f"The plant has no {', '.join(missing[:6])}{', …' if len(missing) > 6 else ''}.",
            because="a controller reads the states of its own model, by name.",
            remedy=f"m.output({missing[0]!r}, ...) in the plant, or estimator=dd.Estimator(...)",
        )


Noise = Callable[[float, np.ndarray], np.ndarray]


def _read_noise(noise: Any, names: tuple[str, ...], seed: int) -> Noise:
    if noise is None:
        return lambda t, values: values
    if callable(noise):
        return lambda t, values: np.asarray(noise(t, values), dtype=float).ravel()
    if isinstance(noise, Mapping):
        unknown = [name for name in noise if name not in names]
        if unknown:
            raise InputError(f"noise= has {unknown[0]}.", f"measured: {', '.join(names[:8])}")
        noise = [noise.get(name, 0.0) for name in names]
    deviation = np.broadcast_to(np.asarray(noise, dtype=float), (len(names),))
    random = np.random.default_rng(seed)
    return lambda t, values: values + deviation * random.standard_normal(len(values))


class _Loop:
    """The code on the clock: measurements, estimate, controller, and the queue of inputs that are under way."""

    def __init__(self, controller: Controller, measured: tuple[str, ...], estimator: Any, noise: Noise) -> None:
        self.controller, self.measured, self.estimator, self.noise = controller, measured, estimator, noise
        self.waiting = 0
        self._order = [estimator.labels["x"].index(name) for name in controller.reads] if estimator is not None else []

    def sample(self, t: float, values: tuple[Any, ...], memory: Any) -> tuple[tuple[float, ...], Any]:
        """One tick; the memory is the queue."""
        y = self.noise(t, np.concatenate([np.ravel(value) for value in values]))
        x = y if self.estimator is None else np.asarray(self.estimator(y))[self._order]
        began = None if memory is None else True
        u, _ = self.controller.sample(t, tuple(x), began)
        if self.estimator is not None:
            self.estimator.hold(self._inputs(u))
        queue = [*([u] * self.waiting if memory is None else memory), u]
        return queue[0], tuple(queue[1:])

    def _inputs(self, u: tuple[float, ...]) -> np.ndarray:
        own = dict(zip(self.controller.labels["u"], u))
        return np.array([own.get(label, 0.0) for label in self.estimator.labels["u"]])


def with_sampled_inputs(model: Model | System, names: Iterable[str]) -> Model:
    """A copy of a model in which some inputs are discrete variables that begin at zero.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("cart"); v, u = m.state("v", start=0.0), m.input("u")
    >>> m.equation(m.der(v), u)
    >>> n = with_sampled_inputs(m, ["u"])
    >>> n.every(0.1, {"u": 1 - v})
    >>> m.variables["u"].kind, n.variables["u"].kind
    ('input', 'discrete')
    """
    twin = as_model(model).flat().copy()
    for name in names:
        variable = twin.variables.get(name)
        if variable is None or variable.kind != "input":
            raise InputError(
                f"{name} is not an input of {twin.name!r}.",
                f"its inputs are {', '.join(twin.inputs) or 'none'}",
                because="what a controller writes has to drive the plant.",
                remedy=f"m.input({name!r}) in the plant",
            )
        note_change(twin)
        twin.written.variables[name] = make_variable(
            name, "discrete", variable.shape, start=[0.0] * variable.size if variable.shape else 0.0,
            unit=variable.unit, nominal=variable.nominal[0] if variable.nominal else 1.0,
        )  # fmt: skip
    return twin
