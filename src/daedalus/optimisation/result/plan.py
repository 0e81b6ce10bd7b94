"""A plan: what to do, what then happens, what it costs, and how well it is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.initialisation.wording import number
from daedalus.model.expressions import plain_shape
from daedalus.model.lazy_values import cached_property
from daedalus.model.model import Model
from daedalus.model.names import counted, did_you_mean, split_index
from daedalus.model.signals import Signal
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS
from daedalus.optimisation.program.program_outcome import ProgramEnding, ProgramOutcome
from daedalus.optimisation.result.conditions_checked import BrokenCondition, unkept
from daedalus.optimisation.result.explanation import Explanation, explained
from daedalus.optimisation.result.interpolant import Interpolant
from daedalus.optimisation.result.plan_checked import PlanChecked, checked
from daedalus.optimisation.result.plan_sensitivity import PlanSensitivity, plan_sensitivity
from daedalus.optimisation.result.replayed import Replay
from daedalus.optimisation.result.saved_plan import save_plan
from daedalus.optimisation.search.consistent_states import projected
from daedalus.optimisation.transcription.collocated import Transcription
from daedalus.optimisation.transcription.invariants import kept_quantities
from daedalus.simulation.plant.plant import by_shape
from daedalus.simulation.result.trajectory import Trajectory


class Plan:
    """The result of `OptimalControl.solve`.

    success: whether it is a solution: the search converged, and the plan and its replay satisfy every condition as you
    wrote it. broken: the violated conditions. status: how the search ended, in words. objective: the cost.
    duration: how long it takes. iterations, solver, seconds: the work of the search. time: its nodes. notes: what was
    done during the search. ends: which given end values are independent of what the model conserves, with singular
    values.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("cart")
    >>> x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
    >>> m.equation([m.der(x), m.der(v)], [v, u])
    >>> ocp = dd.OptimalControl(m, duration=1.0, intervals=20)
    >>> ocp.start(); ocp.finish({"x": 1.0, "v": 0.0}); ocp.minimise(running=u**2)
    >>> plan = ocp.solve()
    >>> plan.success, plan["x"].shape, round(float(plan.at(0.5)["x"]), 6)
    (True, (21,), 0.5)
    """

    def __init__(
        self,
        model: Model | System,
        transcription: Transcription,
        outcome: ProgramOutcome,
        parameters: np.ndarray,
        begin: np.ndarray,
        again: Callable[..., Transcription],
        beside: Sequence[Transcription] = (),
    ) -> None:
        self._begin, self._again = begin, again
        self._beside = beside  # all phases that were solved together
        self.model, self.transcription, self.outcome = model, transcription, outcome
        self._values = parameters
        self.objective = outcome.objective
        self.iterations, self.solver, self.seconds = outcome.iterations, outcome.solver, outcome.seconds
        self.ends = tuple(transcription.independence)
        self._notes = tuple(dict.fromkeys([*transcription.description.notes, *transcription.notes]))

    def __reduce__(self) -> tuple[Any, ...]:
        # The program is written again where the plan is read; what was found is kept.
        solving = getattr(self._again, "__self__", None)
        if solving is None:
            raise InputError(
                "One phase of several cannot be pickled alone.",
                because="it was found together with the others.",
                remedy="pickle the whole plan: pickle.dumps(plan)",
            )
        return _plan_again, (solving, self.outcome, self._values, self._begin, self._notes)

    @property
    def phases(self) -> tuple[Plan]:
        """The plan itself: it has one phase."""
        return (self,)

    @property
    def is_phase(self) -> bool:
        """Whether it was found together with other phases, whose costs the objective holds too."""
        return bool(self._beside)

    @cached_property
    def _checked(self) -> PlanChecked:
        return checked(self) if self.outcome.success else PlanChecked()

    @property
    def success(self) -> bool:
        """Whether the plan is a solution and satisfies all conditions."""
        return self.ending in (ProgramEnding.SOLVED, ProgramEnding.ACCEPTABLE)

    @property
    def broken(self) -> tuple[BrokenCondition, ...]:
        """Conditions that the plan or its replay violates, the worst first."""
        return self._checked.broken

    @property
    def ending(self) -> ProgramEnding:
        """How the search ended, or that its plan breaks a condition."""
        return ProgramEnding.BROKEN if self._checked.failed else self.outcome.ending

    @property
    def status(self) -> str:
        """How the search ended, with the condition that is broken."""
        return ": ".join([self.ending.value, *map(str, self.broken[:1])])

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done, and what the replay showed."""
        return (*self._notes, *self._checked.notes)

    def add_note(self, note: str) -> None:
        """Add to the notes."""
        self._notes = (*self._notes, note)

    @property
    def system(self) -> System:
        """The system of the plan; for a model of higher index, its reduced form."""
        return self.transcription.description.system

    @cached_property
    def interpolant(self) -> Interpolant:
        """The plan between its nodes."""
        made, layout, w = self.transcription, self.transcription.layout, self.outcome.w
        if made.between is not None:
            layout, w = made.between(made.stage, layout, w, self._values)
        return Interpolant(made.stage, layout, w, self._values)

    @property
    def duration(self) -> float:
        """The duration of the plan."""
        return self.interpolant.length

    @cached_property
    def time(self) -> np.ndarray:
        """The times of the nodes."""
        return self.transcription.description.begin + self.duration * self.transcription.layout.shares

    @cached_property
    def _at_nodes(self) -> Moment:
        return Moment(self.system, self.interpolant.vectors(self.transcription.layout.shares), False)

    def __getitem__(self, name: str) -> np.ndarray:
        """A variable, derivative, input, parameter or output at the nodes: (nodes,), (nodes, n) or (nodes, r, c)."""
        return self._at_nodes[name]

    def at(self, t: object) -> Moment:
        """The values of the plan at any time or array of times."""
        times = np.asarray(t, dtype=float)
        begin = self.transcription.description.begin
        shares = np.clip((times.reshape(-1) - begin) / self.duration, 0.0, 1.0)
        return Moment(self.system, self.interpolant.vectors(shares), times.ndim == 0)

    @cached_property
    def inputs(self) -> dict[str, Signal]:
        """The chosen inputs, and those that were given, as `dd.simulate(inputs=...)` takes them."""
        stage, description = self.transcription.stage, self.transcription.description
        found: dict[str, Any] = {}
        u = self._at_nodes.vectors["u"]
        for variable in self.system.of_kind("input"):
            positions = self.system.places[variable.name].positions
            shape = variable.shape
            if any(int(k) in description.given for k in positions):
                continue
            linear = [int(k) in stage.linear for k in positions]
            if all(linear):
                found[variable.name] = Signal(self.time, u[:, positions], "linear", shape)
            elif not any(linear):
                found[variable.name] = Signal(self.time[:-1], u[:-1, positions], "hold", shape)
            else:
                for k, is_linear in zip(positions, linear):
                    rows = slice(None) if is_linear else slice(None, -1)
                    kind = "linear" if is_linear else "hold"
                    found[self.system.labels["u"][k]] = Signal(self.time[rows], u[rows, [k]][:, None], kind, ())
        for own, value in description.given_names:
            found[description.input_name(own)] = value
        return found

    @cached_property
    def parameters(self) -> dict[str, float | np.ndarray]:
        """All parameters by name, those that were free as they were found."""
        p = self.interpolant.parameters
        found: dict[str, float | np.ndarray] = {}
        for variable in self.system.of_kind("parameter"):
            own = p[self.system.places[variable.name].positions]
            found[variable.name] = float(own[0]) if variable.shape == () else own.reshape(variable.shape, order="F")
        return found

    @cached_property
    def multipliers(self) -> Multipliers:
        """The multipliers of conditions and bounds, by name: the change of the objective per unit of the bound."""
        return Multipliers(self.transcription, self.outcome)

    @cached_property
    def mesh_error(self) -> np.ndarray:
        """Per interval, how far the plan is from a motion of the model, as a share of the size of its states."""
        return self.interpolant.mesh_error()

    @cached_property
    def defects(self) -> dict[str, np.ndarray]:
        """The residual of each state's equations at every point, in its unit.

        Example
        -------
        >>> from daedalus import catalogue
        >>> plan = catalogue.load("double_integrator").problem.solve()
        >>> left = plan.defects["position"]  # three points on each of 60 intervals
        >>> left.shape, bool(abs(left).max() < 1e-8)
        ((180,), True)
        """
        made = self.transcription
        stage, rows = made.stage, made.program.values(self.outcome.w)[1]
        own = [group.rows for group in made.layout.groups if group.kind == "dynamics"]
        return {
            label: np.concatenate([rows[table[:, k]] for table in own]) * stage.states.nominal[k]
            for k, label in enumerate(stage.states.labels[: stage.model_states])
        }

    @property
    def mesh(self) -> str:
        """The mesh in words: the number of intervals and the largest mesh error."""
        return f"{counted(self.transcription.layout.intervals, 'interval')}, mesh error {number(self._mesh, 2)}"

    @property
    def _mesh(self) -> float:
        return float(self.mesh_error.max(initial=0.0))

    @cached_property
    def start(self) -> dict[str, float]:
        """The states at the start, by element."""
        return dict(zip(self.system.labels["x"], map(float, self._at_nodes.vectors["x"][0])))

    def replay(self, **options: Any) -> Replay:
        """Simulate the model with the inputs of the plan and the adaptive integrator; `options` go to `dd.simulate`.

        Example
        -------
        >>> from daedalus import catalogue
        >>> run = catalogue.load("double_integrator").problem.solve().replay()
        >>> run.largest < 1e-6, round(float(run["position"][-1]), 6)
        (True, 1.0)
        """
        if not options:
            return self._replayed
        return self._run_again(options)

    @cached_property
    def _replayed(self) -> Replay:
        return self._run_again({})

    def run_between(self, begin: float, end: float, states: np.ndarray, **options: Any) -> Trajectory:
        """The motion of the model with the plan's inputs over a part of its time, from states (n,).

        States inside a plan satisfy constraints only to the accuracy of its mesh, so they are projected onto them
        first.
        """
        from daedalus.simulation.simulate import simulate

        description = replace(self.transcription.description, parameters=self.interpolant.parameters)
        (nearest,) = projected(description, kept_quantities(description), states[None], begin)
        start = dict(zip(self.system.labels["x"], map(float, nearest)))

        chosen: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-10, "progress": False, **options}
        span = (float(begin), float(end))
        return simulate(self.model, span, start=start, inputs=self.inputs, parameters=self.parameters, **chosen)

    def _run_again(self, options: dict[str, Any]) -> Replay:
        run = self.run_between(self.time[0], self.time[-1], self._at_nodes.vectors["x"][0], **options)
        inside = self.time[self.time <= run.time[-1] + 1e-12]
        found = run.at(inside)
        own = self._at_nodes.vectors["x"][: len(inside)]
        labels = self.system.labels["x"]
        difference = {
            label: float(np.abs(np.asarray(found[label]) - own[:, k]).max()) for k, label in enumerate(labels)
        }
        size = dict(zip(labels, map(float, self.interpolant.state_sizes)))
        return Replay(run, difference, self._mesh, size)

    def explain(self) -> Explanation:
        """Explain which conditions contradict each other, with the smallest relaxation; for a solution, which bounds
        are active.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("cart")
        >>> x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u", unit="N")
        >>> m.equation([m.der(x), m.der(v)], [v, u])
        >>> ocp = dd.OptimalControl(m, duration=1.0, intervals=10)
        >>> ocp.start(); ocp.finish({"x": 1.0, "v": 0.0}); ocp.bound(u, -3.0, 3.0); ocp.minimise(running=u**2)
        >>> print(ocp.solve().explain())
        These cannot hold together with the start and the duration of 1 s:
          u >= -3 N between 0.5 s and 0.9 s: 3.17 N short, would have to be -6.167 N
          u <= 3 N between 0 s and 0.4 s: 3.17 N short, would have to be 6.167 N
          v <= 0 at 1 s: 0.556 short, would have to be 0.5556
          x >= 1 at 1 s: 0.25 short, would have to be 0.75
        """
        if self._checked.failed:
            return unkept(self.status, self.broken, self._checked.remedy)
        alone = self.success or not self._beside
        return explained([self.transcription] if alone else self._beside, self.outcome, self._begin)

    def sensitivity(self, name: str) -> PlanSensitivity:
        """How the cost and the plan change with a parameter, per unit of it.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("cart")
        >>> x, v, u, mass = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u"), m.parameter("mass", 2.0)
        >>> m.equation([m.der(x), m.der(v)], [v, u / mass])
        >>> ocp = dd.OptimalControl(m, duration=1.0, intervals=10)
        >>> ocp.start(); ocp.finish({"x": 1.0, "v": 0.0}); ocp.minimise(running=u**2)
        >>> plan = ocp.solve()
        >>> s = plan.sensitivity("mass")
        >>> round(s.objective / plan.objective, 6), s["u"].shape
        (1.0, (11,))
        """
        return plan_sensitivity(self.transcription, self.outcome, name, self._again)

    def plot(self, names: str | Sequence[str] | None = None, ax: Any = None) -> Any:
        """Draw states and inputs over time, with their bounds, and mark where these are active."""
        from daedalus.display.plan_plot import plot_plan

        return plot_plan(self, names, ax)

    def __array__(self, *_: object, **__: object) -> Any:
        raise InputError(
            "A plan is not an array.",
            because="it holds many variables, each of its own shape.",
            remedy='plan["x"] for one variable',
        )

    def _repr_html_(self) -> str:
        from daedalus.display.cards.result_cards import plan_card

        return plan_card(self)

    def save(self, path: str | Path) -> None:
        """Write the plan to a NetCDF file as plain data; `dd.load` reads it back."""
        save_plan(self, Path(path))

    def __str__(self) -> str:
        head = f"Plan for {self.system.name!r}: {self.status} ({self.solver}, {counted(self.iterations, 'iteration')})"
        rows = [f"  objective {number(self.objective, 8)}, duration {number(self.duration)}, {self.mesh}"]
        rows += [f"  {line}" for line in (*self.broken[1:], *self.notes)]
        return "\n".join([head, *rows])

    __repr__ = __str__


# The values of a plan at one time or at several, by name.


class Moment(Mapping[str, "np.ndarray"]):
    """Values by name: `plan.at(t)["x"]`; names are those of the model, derivatives as "x_dot", and its outputs."""

    def __init__(self, system: System, vectors: Mapping[str, np.ndarray], scalar: bool) -> None:
        self.system, self.vectors, self._scalar = system, dict(vectors), scalar

    @property
    def time(self) -> np.ndarray:
        """The times."""
        times = self.vectors["t"][:, 0]
        return times[0] if self._scalar else times

    def __getitem__(self, name: str) -> np.ndarray:
        outputs = self.system.outputs
        if name in outputs:
            return self._shaped(self._output(outputs[name]), plain_shape(outputs[name]))
        place = self.system.place(name)
        flat = np.stack([self.vectors[letter][:, k] for letter, k in zip(place.letters, place.positions)], axis=1)
        return self._shaped(flat, place.shape)

    def _output(self, expression: ca.SX) -> np.ndarray:
        function = ca.Function("output", self.system.symbols(), [ca.vec(ca.densify(expression))])
        return np.asarray(function(*(self.vectors[k].T for k in ARGUMENTS)).full().T)

    def _shaped(self, flat: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        rows = by_shape(flat, shape)
        return rows[0] if self._scalar else rows

    def __iter__(self) -> Iterator[str]:
        return iter([*self.system.places, *self.system.output_names])

    def __len__(self) -> int:
        return len(self.system.places) + len(self.system.output_names)


# Multipliers of a plan by name: what one unit of a bound or condition is worth.


class Pressure(NamedTuple):
    """Multipliers at shares of the duration: (places,) each; positive where the upper bound presses."""

    shares: np.ndarray
    values: np.ndarray


class Multipliers(Mapping[str, np.ndarray]):
    """By name of a condition, or of a variable for its bounds, the multipliers over time.

    `multipliers["speed limit"]` has one value a collocation point (or node), positive where the upper bound presses and
    negative where the lower one does: raising the bound there by one changes the objective by minus that. Those of the
    equations stand under "dynamics of x". `shares(name)` tells where the values belong, as shares of the duration.
    """

    def __init__(self, transcription: Transcription, outcome: ProgramOutcome) -> None:
        layout, stage = transcription.layout, transcription.stage
        self._found: dict[str, Pressure] = {}
        for group in layout.groups:
            for k, name in enumerate(group.names):
                key = {"dynamics": f"dynamics of {name}", "equation": f"equation {name}"}.get(group.kind, name)
                self._add(key, group.shares, outcome.multipliers[group.rows[:, k]])
        held = [
            (stage.inputs.labels, layout.shares[:-1], layout.inputs),
            (stage.unknowns.labels, layout.mesh.point_shares, layout.unknowns),
            (stage.states.labels[: stage.model_states + len(stage.linear)], layout.shares, layout.nodes),
        ]
        for labels, shares, variables in held:
            for name, own in zip(labels, variables.T):
                self._add(name, shares, outcome.bound_multipliers[own])

    def _add(self, name: str, shares: np.ndarray, values: np.ndarray) -> None:
        if name in self._found:
            before = self._found[name]
            shares, values = np.concatenate([before.shares, shares]), np.concatenate([before.values, values])
            order = np.argsort(shares, kind="stable")
            shares, values = shares[order], values[order]
        self._found[name] = Pressure(shares, values)

    def __getitem__(self, name: str) -> np.ndarray:
        if name in self._found:
            return self._found[name].values
        parts = [key for key in self._found if split_index(key)[0] == name]
        if parts:
            return np.stack([self._found[key].values for key in parts], axis=1)
        raise InputError(
            f"The plan has no multipliers of {name!r}.",
            f"available: {', '.join(list(self._found)[:8])}",
            remedy=did_you_mean(name, self._found),
        )

    def shares(self, name: str) -> np.ndarray:
        """Where the multipliers of a name belong, as shares of the duration."""
        key = name if name in self._found else next((k for k in self._found if split_index(k)[0] == name), name)
        self[name]
        return self._found[key].shares

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def _plan_again(
    solving: Any, outcome: ProgramOutcome, parameters: np.ndarray, begin: np.ndarray, notes: tuple[str, ...]
) -> Plan:
    """A plan on the program of its problem, which was written again."""
    plan = Plan(solving.model, solving.transcription, outcome, parameters, begin, solving.again)
    plan._notes = notes
    return plan
