"""dd.Controller: a problem of optimal control solved again at every sample, from what is measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from daedalus.errors import InputError
from daedalus.integrators.tableaux.tableau import Tableau
from daedalus.model.plain_numbers import without_unit
from daedalus.optimisation.optimal_control import OptimalControl
from daedalus.optimisation.program.program_outcome import ProgramOutcome
from daedalus.optimisation.program.solvers import Listener
from daedalus.optimisation.receding.costs_by_slope import costs_by_slope
from daedalus.optimisation.receding.horizon import Horizon
from daedalus.optimisation.receding.measured_states import measured_states

MODES = ("real_time", "full")
# What a controller remembers from call to call, beside its plan.
_MEMORY = ("work", "status", "_time", "_plan_age", "_numbers", "_extra", "_applied_last")
# In full mode quadratic programs are solved until their step is shorter than this, in scaled variables.
SETTLED = 1e-7
MOST_ROUNDS = 25
SOLVED, NEAR, FAILED = 0, 1, 2


class Controller:
    """A model predictive controller: `u = controller(x, t)` at every sample.

    It uses real-time iterations: between calls, the last plan is shifted and the problem is linearised along it. A call
    solves one quadratic program with HPIPM, and its step is shortened until it improves cost and conditions together.
    `mode="full"` repeats this until the plan no longer changes, and uses the general solver if it does not converge.
    The first call solves the whole problem and takes longer.

    Parameters
    ----------
    ocp: the problem over the horizon. Its start is the measured state, and its duration must be fixed. Given inputs
        (`ocp.given`) are references and disturbances with preview; conditions may be soft.
    every: the sampling interval, in the unit of the model's time.
    mode: "real_time" or "full".
    time_limit: the largest time of a call in seconds, except for the first; after that it returns a fallback.
    fallback: the inputs if no solve has succeeded for a whole horizon: numbers in the order of `labels["u"]`, values by
        name, or a function (x, t); by default the last inputs of the last plan. Before that, a failed call returns the
        inputs of the last plan at the current time.
    step_method, steps: how the model is stepped over one interval, as in `ocp.solve(method="shooting")`.

    `labels["x"]` and `labels["u"]` name the entries of x and u, `work` counts calls and times, and `prediction` is the
    last plan. Quadratic programs use the convex part of the curvature of costs; `notes` names the terms of which only
    the slope is used.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("cart")
    >>> x, v, u = m.state("x", start=1.0), m.state("v", start=0.0), m.input("u")
    >>> m.equation([m.der(x), m.der(v)], [v, u])
    >>> ocp = dd.OptimalControl(m, duration=2.0, intervals=20)
    >>> ocp.bound(u, -1.0, 1.0); ocp.minimise(running=x**2 + 0.1 * v**2 + 0.01 * u**2, final=10 * x**2 + v**2)
    >>> controller = dd.Controller(ocp, every=0.1)
    >>> controller([1.0, 0.0]).round(3), controller({"x": 0.995, "v": -0.1}, t=0.1).round(3)
    (array([-1.]), array([-1.]))
    >>> controller.labels["u"], controller.work.solved
    (('u',), 2)
    """

    def __init__(
        self,
        ocp: OptimalControl,
        every: float = 0.05,
        mode: str = "real_time",
        time_limit: float | None = None,
        *,
        fallback: object = None,
        step_method: str | Tableau = "rk4",
        steps: int = 2,
    ) -> None:
        every, time_limit = without_unit(every, "s", "every"), without_unit(time_limit, "s", "time_limit")
        _check(ocp, every, mode, time_limit)
        self.every, self.mode, self.time_limit = float(every), mode, time_limit
        self._made = (copy(ocp), self.every, mode, time_limit)
        self._stepping: dict[str, Any] = {"fallback": fallback, "step_method": step_method, "steps": steps}
        self._horizon = Horizon(ocp, step_method, steps)
        structure = self._horizon.structure()
        if structure is None:
            raise InputError(
                "A condition couples times of the horizon that are not neighbours.",
                because="a controller solves the horizon stage by stage.",
                remedy="conditions at one time each; a total as a state of the model with a bound at the end",
            )
        self._receding = self._horizon.receding(structure)
        system = self._horizon.system
        chosen = tuple(system.labels["u"][k] for k in self._horizon.description.chosen)
        self.labels = {"x": tuple(system.labels["x"]), "u": chosen}
        self.notes = costs_by_slope(self._horizon.stage)
        self._fallback = _read_fallback(fallback, self.labels["u"])
        self._listener: Listener | None = None
        self.reset()

    def __reduce__(self) -> tuple[Any, ...]:
        memory = {name: vars(self)[name] for name in _MEMORY}
        point = None if self._time is None else self._receding.point()
        return _controller_again, (self._made, self._stepping, memory, point)

    def reset(self) -> None:
        """Forget the last plan and all counts; the next call is a first call."""
        self.work = ControllerWork()
        self.status = "not called yet"
        self._time: float | None = None
        self._plan_age, self._prepared_for, self._numbers = 0.0, np.nan, self._horizon.program.parameters
        self._extra: tuple[Mapping[str, object], Mapping[str, object]] = ({}, {})
        self._applied_last: tuple[float, np.ndarray] | None = None  # when, and which inputs
        self._bounds: tuple[np.ndarray, np.ndarray] | None = None  # with limited rates those behind the last inputs

    # -- calling -----------------------------------------------------------------------------------------------

    def __call__(
        self,
        x: object,
        t: float = 0.0,
        given: Mapping[str, object] | None = None,
        parameters: Mapping[str, object] | None = None,
    ) -> np.ndarray:
        """The inputs to apply from now on, a vector in the order of `labels["u"]`.

        x: the measured states: a vector in the order of `labels["x"]`, values by name, a `Start` or `tr.at(t)`.
        t: the time; where it does not move on from call to call, one sampling interval is taken to have passed.
            A time before that of the last call begins anew.
        given: other given inputs than those of the problem, by name, as `ocp.given` takes them.
        parameters: other values of the model's parameters.
        """
        begin = time.perf_counter()
        states = measured_states(self._horizon.system, x)
        self.work.calls += 1
        if self._time is None or t < self._time - 1e-9 * max(1.0, abs(t)):
            found = self._first(states, float(t), given or {}, parameters or {})
        else:
            found = self._next(states, float(t), given or {}, parameters or {}, begin)
        self.work.took(time.perf_counter() - begin)
        self._applied_last = (float(self._time), found) if self._time is not None else None
        return found

    def prepare(self) -> None:
        """Shift the plan and linearise along it, for a call one sampling interval after the last one.

        A call does this itself if you did not. If you do it between calls, the call only solves the quadratic program.
        """
        if self._time is None:
            return
        began = time.perf_counter()
        self._move_to(self._time + self.every, *self._extra)
        self.work.preparation += time.perf_counter() - began

    def _first(
        self, states: np.ndarray, t: float, given: Mapping[str, object], values: Mapping[str, object]
    ) -> np.ndarray:
        """The whole problem, without a time limit."""
        self._set_numbers(t, given, values, True)
        self._bounds = None
        guesses = [self._horizon.solving.begin, self._horizon.at_rest(states) * self._horizon.program.scale]
        whole = self._search(guesses, self._start(states), lambda: None)
        self._receding.set_point(whole.w / self._horizon.program.scale)
        self._time, self._prepared_for, self._plan_age = t, np.nan, 0.0
        if whole.success:
            return self._applied("solved")
        return self._without_plan(states, t, f"the first search: {whole.ending.value}", whole=False)

    def _next(
        self, states: np.ndarray, t: float, given: Mapping[str, object], values: Mapping[str, object], begin: float
    ) -> np.ndarray:
        work, extra = self.work, (given, values)
        began = time.perf_counter()
        if not (abs(self._prepared_for - t) <= 1e-9 * max(1.0, abs(t)) and extra == self._extra):
            prepared = self._move_to(t, given, values)
        else:
            prepared = True
        self._time = t
        ready = time.perf_counter()
        work.preparation += ready - began
        if self._plan_age > self._horizon.duration:
            self._receding.set_point(self._horizon.at_rest(states))
            prepared = self._receding.prepare()
        left = np.inf if self.time_limit is None else self.time_limit - (ready - begin)
        self._prepared_for = np.nan
        if not prepared:
            return self._without_plan(states, t, "functions of the problem have no finite value")
        if left <= 0:
            work.late += 1
            return self._without_plan(states, t, "no time was left")
        ended = self._solved(states, begin)
        work.feedback += time.perf_counter() - ready
        return self._applied("solved") if ended is None else self._without_plan(states, t, ended)

    def _solved(self, states: np.ndarray, begin: float) -> str | None:
        """One quadratic program, or as many as the mode asks for; what went wrong, or None."""
        start, moved_on = self._start(states), self._receding.point()
        for _ in range(1 if self.mode == "real_time" else MOST_ROUNDS):
            ending, iterations, step = self._receding.feed_back(start, self._time_left(begin))
            self.work.iterations += iterations
            length = 0.0 if ending == FAILED else self._receding.length()
            self.work.shortened += 0.0 < length < 1.0
            if length == 0.0:
                break
            if self.mode == "real_time" or step < SETTLED:
                return None
            if self._time_left(begin) <= 0:
                self.work.late += 1
                return "no time was left"
            if not self._receding.prepare():
                break
        if self.mode == "real_time" and (ending == FAILED or self.time_limit is not None):
            return "the quadratic program has no solution" if ending == FAILED else "no step makes the plan better"
        return self._searched([self._receding.point(), moved_on, self._horizon.at_rest(states)], start, begin)

    def _searched(self, guesses: list[np.ndarray], start: np.ndarray, begin: float) -> str | None:
        """The whole problem by the general solver, from the plan at hand, or from others where that leads nowhere."""
        scale = self._horizon.program.scale

        def limit() -> float | None:
            return None if self.time_limit is None else self._time_left(begin)

        whole = self._search([guess * scale for guess in guesses], start, limit)
        if whole.success:
            self._receding.set_point(whole.w / scale)
            return None
        if self._time_left(begin) <= 0:
            self.work.late += 1
        return whole.ending.value

    def _search(
        self, guesses: list[np.ndarray], start: np.ndarray, limit: Callable[[], float | None]
    ) -> ProgramOutcome:
        """What the first search finds that succeeds, or the last one that there was time for."""
        for k, guess in enumerate(guesses):
            left = limit()
            if k and left is not None and left <= 0:
                break
            seconds = None if left is None else max(left, 1e-4)
            found = self._horizon.search(guess, start, self._numbers, self._bounds, seconds, self._listener)
            self.work.searches += 1
            self.work.iterations += found.iterations
            if found.success:
                break
        return found

    # -- the plan moving on ------------------------------------------------------------------------------------

    def _move_to(self, t: float, given: Mapping[str, object], values: Mapping[str, object]) -> bool:
        assert self._time is not None
        passed = t - self._time if t > self._time else self.every
        if np.isfinite(self._prepared_for):
            passed = t - self._prepared_for  # the plan was moved on already, to another time
        self._set_numbers(t, given, values, False)
        share = max(passed, 0.0) / self._horizon.width
        self._receding.shift(min(share, float(self._horizon.layout.intervals)))
        self._plan_age += max(passed, 0.0)
        self._prepared_for = t
        self._limit_rates(t)
        return self._receding.prepare()

    def _limit_rates(self, t: float) -> None:
        """Keep inputs with a limited rate within what that allows since they were applied last."""
        if self._applied_last is None or not len(self._horizon.rates[0]):
            return
        last, inputs = self._applied_last
        self._bounds = self._horizon.bounds_behind(inputs, t - last if t > last else self.every)
        scale, program = self._horizon.program.scale, self._horizon.program
        lower, upper = (bound / scale for bound in self._bounds)
        self._receding.set_bounds((lower, upper, program.row_lower, program.row_upper))

    def _set_numbers(self, t: float, given: Mapping[str, object], values: Mapping[str, object], first: bool) -> None:
        """Tell the program of time, given inputs and parameters, where anything has changed."""
        if first or self._horizon.moves_in_time or given or values or any(self._extra):
            self._numbers = self._horizon.parameters(t, given, values)
            self._receding.set_parameters(self._numbers)
            self._extra = (given, values)

    def _start(self, states: np.ndarray) -> np.ndarray:
        """The measured variables of the program: the states, and integrals, which begin at zero."""
        more = len(self._horizon.measured) - len(states)
        return np.concatenate([states, np.zeros(more)]) if more else states

    def _time_left(self, begin: float) -> float:
        return np.inf if self.time_limit is None else self.time_limit - (time.perf_counter() - begin)

    def _applied(self, status: str) -> np.ndarray:
        self.status, self._plan_age = status, 0.0
        self.work.solved += 1
        return self._horizon.within_bounds(self._receding.applied(), self._bounds)

    def _without_plan(self, states: np.ndarray, t: float, reason: str, whole: bool = True) -> np.ndarray:
        """The answer where no new plan was found: the last one moved on, and after its end the user's."""
        work = self.work
        work.reasons[reason] = work.reasons.get(reason, 0) + 1
        inputs = self._receding.applied()
        lasting = whole and self._plan_age < self._horizon.duration and bool(np.isfinite(inputs).all())
        if lasting or self._fallback is None:
            work.shifted += 1
            self.status = f"the last plan, moved on: {reason}"
            return self._horizon.within_bounds(np.nan_to_num(inputs), self._bounds)
        work.fallbacks += 1
        self.status = f"the fallback: {reason}"
        return self._fallback(states, t)

    def to_c(self, folder: str | Path, name: str | None = None) -> Any:
        """Write the controller as self-contained C99: no heap, fixed sizes, a Makefile and a test.

        `NAME_controller_call(&controller, t, x, u)` is a call of this controller: one real-time iteration with an
        interior-point method of its own, or several with mode="full". `make test` compares calls with those of the
        package, whose quadratic programs HPIPM solves, to 1e-6. Returns what `dd.exchange.c` returns; its `notes` say
        what the code leaves out.

        name: the prefix in C; by default the name of the model.

        Raises an InputError for implicit steps, limited rates of inputs, and models whose algebraic variables have no
        formulas.

        Example
        -------
        >>> import daedalus as dd, tempfile
        >>> m = dd.Model("cart")
        >>> x, v, u = m.state("x", start=1.0), m.state("v", start=0.0), m.input("u")
        >>> m.equation([m.der(x), m.der(v)], [v, u])
        >>> ocp = dd.OptimalControl(m, duration=2.0, intervals=20)
        >>> ocp.bound(u, -1.0, 1.0); ocp.minimise(running=x**2 + 0.1 * v**2 + 0.01 * u**2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = dd.Controller(ocp, every=0.1).to_c(folder)
        >>> written.functions
        ('cart_controller_begin', 'cart_controller_call', 'cart_controller_prepare')
        """
        from daedalus.exchange.c_code.export_controller import export_controller

        return export_controller(self, folder, name)

    @property
    def horizon(self) -> Horizon:
        """The quadratic program that every call solves."""
        return self._horizon

    def again(self) -> Controller:
        """A new controller for the same problem, without a previous plan."""
        return Controller(*self._made, **self._stepping)

    def plan_point(self) -> np.ndarray:
        """The variables of the last plan, scaled."""
        return np.asarray(self._receding.point()).copy()

    # -- on a clock --------------------------------------------------------------------------------------------

    @property
    def reads(self) -> tuple[str, ...]:
        """The names that a clock passes to the controller: all states."""
        return self.labels["x"]

    @property
    def writes(self) -> tuple[str, ...]:
        """The names that a clock assigns: all chosen inputs, discrete variables of the model with the clock."""
        return self.labels["u"]

    def sample(self, t: float, values: tuple[Any, ...], memory: Any) -> tuple[tuple[float, ...], bool]:
        """The code of a clock: `m.every(0.05, call=controller)`; every run resets it."""
        if memory is None:
            self._time = None
        return tuple(self(np.array(values, dtype=float).ravel(), t).tolist()), True

    # -- looking -----------------------------------------------------------------------------------------------

    @property
    def prediction(self) -> dict[str, np.ndarray]:
        """The last plan: "time" of its nodes, every state at them by name, every chosen input on each interval."""
        horizon, layout = self._horizon, self._horizon.layout
        w = self._receding.point() * horizon.program.scale
        now = self._time if self._time is not None else horizon.description.begin
        found = {"time": now + horizon.duration * layout.shares}
        found.update({label: w[layout.nodes[:, k]] for k, label in enumerate(self.labels["x"])})
        stage = horizon.stage
        for place, k in enumerate(stage.constant):
            found[horizon.system.labels["u"][k]] = w[layout.inputs[:, place]]
        for place, k in enumerate(stage.linear):
            found[horizon.system.labels["u"][k]] = w[layout.nodes[:-1, stage.model_states + place]]
        return found

    def _repr_html_(self) -> str:
        from daedalus.display.cards.tool_cards import words_card

        return words_card(f"{self._horizon.system.name}: controller", repr(self), dict(self.labels))

    def __repr__(self) -> str:
        name, count = self._horizon.system.name, self._horizon.layout.intervals
        return (
            f"Controller of {name!r}, {self.mode}, {count} intervals of {self._horizon.width:g}, every {self.every:g}"
        )


def _controller_again(made: tuple[Any, ...], stepping: Mapping[str, Any], memory: Mapping[str, Any], point: Any) -> Any:
    """A controller as it was: made of its problem again, with the plan that it had."""
    controller = Controller(*made, **stepping)
    vars(controller).update(memory)
    if point is not None:
        controller._receding.set_parameters(controller._numbers)
        controller._receding.set_point(point)
    return controller


def _check(ocp: object, every: object, mode: str, time_limit: object) -> None:
    if not isinstance(ocp, OptimalControl):
        raise InputError(
            "dd.Controller takes a dd.OptimalControl.", f"got {type(ocp).__name__}",
            remedy="dd.Controller(dd.OptimalControl(m, duration=1.0, intervals=20), every=0.05)",
        )  # fmt: skip
    if mode not in MODES:
        raise InputError(f"mode={mode!r} is not known.", remedy='mode="real_time" or mode="full"')
    for name, value in (("every", every), ("time_limit", time_limit)):
        number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        if not (name == "time_limit" and value is None) and not (number and 0 < value < np.inf):  # type: ignore[operator]
            raise InputError(f"{name} must be a positive number.", f"got {value!r}", remedy=f"{name}=0.05")


def _read_fallback(fallback: Any, labels: tuple[str, ...]) -> Callable[[np.ndarray, float], np.ndarray] | None:
    if fallback is None:
        return None
    if callable(fallback):
        return lambda x, t: np.broadcast_to(np.asarray(fallback(x, t), dtype=float).ravel(), (len(labels),)).copy()
    if isinstance(fallback, Mapping):
        missing = [label for label in labels if label not in fallback]
        if missing:
            raise InputError(f"The fallback has no value for {', '.join(missing)}.", remedy="a value for every input")
        fallback = [fallback[label] for label in labels]
    numbers = np.broadcast_to(np.asarray(fallback, dtype=float).ravel(), (len(labels),)).copy()
    return lambda x, t: numbers.copy()


# What a controller did so far: counts and times.


@dataclass
class ControllerWork:
    """Counts and seconds over all calls.

    calls: all of them. solved: those that ended with a new plan. iterations: of the solvers inside. searches: whole
    problems solved by the general solver, as at the first call. shortened: steps that were not taken in full. late:
    calls whose time ran out; shifted: calls that were answered with the last plan, moved on; fallbacks: with the user's
    own answer. preparation, feedback: seconds before and after the measured states are needed; longest: the longest
    call but the first; first: that one.
    """

    calls: int = 0
    solved: int = 0
    iterations: int = 0
    searches: int = 0
    shortened: int = 0
    late: int = 0
    shifted: int = 0
    fallbacks: int = 0
    preparation: float = 0.0
    feedback: float = 0.0
    first: float = 0.0
    last: float = 0.0
    longest: float = 0.0
    reasons: dict[str, int] = field(default_factory=dict)

    def took(self, seconds: float) -> None:
        """A call has ended."""
        self.last = seconds
        if self.calls == 1:
            self.first = seconds
        else:
            self.longest = max(self.longest, seconds)

    def __str__(self) -> str:
        mean = (self.preparation + self.feedback) / max(1, self.calls - 1)
        other = ", ".join(f"{n} {word}" for word, n in self.reasons.items())
        return (
            f"{self.calls} calls: {self.solved} solved, {self.shifted} with the last plan, {self.fallbacks} with the "
            f"fallback; {1e3 * mean:.3g} ms a call, {1e3 * self.longest:.3g} ms the longest"
            + (f" ({other})" if other else "")
        )
