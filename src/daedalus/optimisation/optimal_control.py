"""dd.OptimalControl: a problem is described piece by piece, then solved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from daedalus.differentiation.differentiable_system import flowing_system
from daedalus.errors import InputError
from daedalus.integrators.tableaux.tableau import Tableau
from daedalus.model.expressions import as_expression, column, symbol_key
from daedalus.model.model import Model, as_system
from daedalus.model.plain_numbers import plain_number, without_unit
from daedalus.model.signals import in_unit
from daedalus.model.system.system import System
from daedalus.model.values import check_mapping, parameter_values
from daedalus.optimisation.description.conditions import Condition, depends_only_on, read_condition
from daedalus.optimisation.description.description import Description, InputKind, StandIn
from daedalus.optimisation.description.named_elements import (
    Element,
    check_symbols,
    elements_of,
    fixed_values,
    given_start,
    unit_of_target,
)
from daedalus.optimisation.description.packed_description import packed_description, unpacked_description
from daedalus.optimisation.description.solve_settings import (
    SolveSettings,
    check_intervals,
    check_model_for_plans,
    read_duration,
)
from daedalus.optimisation.description.unknown import Unknown, unknown
from daedalus.optimisation.result.plan import Plan
from daedalus.optimisation.search.initial_guess import read_guesses
from daedalus.optimisation.solve import Solving
from daedalus.optimisation.stage_form import stage_form

if TYPE_CHECKING:
    from daedalus.optimisation.receding.terminal import Terminal


class OptimalControl:
    """An optimal control problem: which inputs take the model from its start to its end at the least cost?

    It minimises final + ∫ running dt over the inputs (and other unknowns), subject to the model's equations, bounds and
    conditions. A DAE of higher index is reduced first, and end conditions that repeat its constraints or unit
    quaternions are removed.

    Parameters
    ----------
    model: an ODE, or a DAE of any index. Every input is optimised, unless it is `given`.
    duration: a number, or `dd.unknown(guess, lower, upper)`.
    intervals: the number of intervals; an input is constant (or linear) on each. By default 50, and more where these
        do not resolve the plan: `plan.notes` then says how many, and what that changed.
    begin: the start time. parameters: values by name that override those of the model.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("cart")
    >>> x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
    >>> m.equation([m.der(x), m.der(v)], [v, u])
    >>> ocp = dd.OptimalControl(m, duration=dd.unknown(2.0, 0.1, 10.0), intervals=20)
    >>> ocp.start(); ocp.finish({"x": 1.0, "v": 0.0})
    >>> ocp.bound(u, -1.0, 1.0); ocp.minimise(final=ocp.duration)
    >>> plan = ocp.solve()
    >>> round(plan.duration, 6)
    2.0
    """

    def __init__(
        self, model: Model | System, duration: float | Unknown, intervals: int | None = None, *, begin: float = 0.0,
        parameters: Mapping[str, object] | None = None,
    ) -> None:  # fmt: skip
        self.model = model
        written = as_system(model)
        check_model_for_plans(written)
        system = flowing_system(model)
        self._description = Description(
            written, system, stage_form(system), float(begin), read_duration(duration), check_intervals(intervals),
            ca.SX.sym("duration"), parameters=np.array(parameter_values(system, parameters)),
            open_mesh=intervals is None,
        )  # fmt: skip
        self._declared_bounds()
        self._solving: Solving | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self.model, "description": packed_description(self._description)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.model = state["model"]
        self._description = unpacked_description(self.model, state["description"])
        self._solving = None

    def __copy__(self) -> OptimalControl:
        """The problem as it is now: what is added to the original later is not added to it."""
        found = object.__new__(type(self))
        found.model, found._solving, found._description = self.model, None, copy(self._description)
        for name, value in vars(self._description).items():
            if isinstance(value, list | dict):
                setattr(found._description, name, copy(value))
        return found

    def __repr__(self) -> str:
        d = self._description
        free = " (free)" if d.expected_duration != d.duration else ""
        return f"OptimalControl of {d.system.name!r}: {d.intervals} intervals over {d.expected_duration:g} s{free}"

    def _repr_html_(self) -> str:
        from daedalus.display.cards.tool_cards import words_card

        system = self._description.system
        labels = {"states": tuple(system.labels["x"]), "inputs": tuple(system.labels["u"])}
        return words_card(f"{system.name}: optimal control", repr(self), labels)

    # -- the ends ----------------------------------------------------------------------------------------------

    def start(self, values: Mapping[str, object] | None = None, **by_name: object) -> None:
        """Fix the start: at the model's given start values, or at these instead (by name; `None` leaves one free)."""
        system, given = self._description.system, {**check_mapping(values, "start"), **by_name}
        if not given:
            given = given_start(system)
            if not given:
                self._description.notes.append("the model has no written start values: its start is free")
        known, self._description = self._solving, copy(self._description)
        self._description.starts = fixed_values(system, given, "start")
        # Other values at the start change no formula: the program stays, and its last plan is a good guess.
        self._solving = None if known is None else known.moved(self._description)

    def finish(self, values: Mapping[str, object] | None = None, **by_name: object) -> None:
        """Fix the end: states, algebraic variables or outputs by name; only given values are fixed."""
        given = {**check_mapping(values, "finish"), **by_name}
        if not given:
            raise InputError(
                "finish() was given nothing.", because="only given values are fixed.", remedy='ocp.finish({"x": 0.0})'
            )
        self._description.ends = fixed_values(self._description.system, given, "end")
        self._changed()

    def periodic(self, *names: str) -> None:
        """Require equal values at the start and at the end, by default of every state."""
        system = self._description.system
        chosen = names or tuple(system.labels["x"])
        for name in chosen:
            for element in elements_of(system, name, "periodic"):
                if element.letter != "x":
                    raise InputError(
                        f"{element.label} is not a state, and cannot be periodic.",
                        because="algebraic variables, inputs and outputs follow from the states.",
                        remedy=f"ocp.subject_to(ocp.at_end(m[{name!r}]) == ocp.at_start(m[{name!r}]), at='end')",
                    )
                self._description.periodic.append(element.position)
        self._changed()

    # -- the cost ----------------------------------------------------------------------------------------------

    def minimise(self, running: object = None, final: object = None) -> None:
        """Add to the cost: the integral of `running` over the duration, and `final` at the end."""
        if running is None and final is None:
            raise InputError("minimise() was given nothing.", remedy="ocp.minimise(running=u**2, final=ocp.duration)")
        if running is not None:
            self._description.running += self._scalar(running, "The running cost")
        if final is not None:
            self._description.final += self._scalar(final, "The final cost")
        self._changed()

    def terminal(
        self, kind: str = "lqr", at: Mapping[str, object] | None = None, soft: float | None = 100.0
    ) -> Terminal:
        """Add a terminal cost and region from the linear regulator at the target, for stable closed loops.

        The terminal cost is the cost of holding the target forever, for the model linearised at the target and sampled
        with the intervals. If bounds are near, the plan must end in the region where the regulator satisfies them. Call
        it after you have written costs and bounds.

        Parameters
        ----------
        kind: "lqr".
        at: states of the target by name; by default those of `finish`, and for the rest the equilibrium of least cost.
        soft: the cost of missing the region, by the distance relative to its size; None makes it a hard condition.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.catalogue.load("double_integrator").model
        >>> ocp = dd.OptimalControl(m, duration=1.0, intervals=10)
        >>> ocp.bound("force", -1.0, 1.0)
        >>> ocp.minimise(running=m["position"] ** 2 + m["velocity"] ** 2 + m["force"] ** 2)
        >>> regulator = ocp.terminal("lqr")
        >>> regulator.gain.round(2), round(regulator.level, 3)
        (array([[0.92, 1.64]]), 0.647)
        """
        if kind != "lqr":
            raise InputError(f"terminal={kind!r} is not known.", remedy='ocp.terminal("lqr")')
        # SciPy's linear algebra is imported where it is asked for.
        from daedalus.optimisation.receding.terminal import lqr_terminal

        found = lqr_terminal(self._description, at)
        cost = found.expression(self._description.system.symbol("x"))
        self._description.final += cost
        if np.isfinite(found.level):
            # As a distance, 1 on its edge: its slope is the same near and far.
            distance = ca.sqrt(cost / found.level + 1e-12)
            limits = np.array([-np.inf]), np.array([1.0])
            self._description.conditions.append(Condition("terminal region", distance, *limits, "end", soft))
        self._changed()
        return found

    def integral(self, expression: object) -> ca.SX:
        """A symbol for the integral of an expression over the duration, to be used in the cost and in conditions."""
        return self._stand_in(expression, "integral", "An integral")

    @property
    def duration(self) -> ca.SX:
        """A symbol for the duration, to be used in the cost and in conditions."""
        return ca.SX(self._description.length)

    def at_start(self, expression: object) -> ca.SX:
        """A symbol for the value of an expression at the start."""
        return self._stand_in(expression, "start", "A value at the start")

    def at_end(self, expression: object) -> ca.SX:
        """A symbol for the value of an expression at the end."""
        return self._stand_in(expression, "end", "A value at the end")

    # -- bounds and conditions ---------------------------------------------------------------------------------

    def bound(self, target: object, lower: object = None, upper: object = None) -> None:
        """Keep a variable (by name or symbol), an output or an expression between two values at all times."""
        found = elements_of(self._description.system, target, "A bound")
        unit = unit_of_target(self._description.system, target)
        low, high = (without_unit(value, unit, _told(target, "bound")) for value in (lower, upper))
        lows, highs = (_spread(value, len(found), default) for value, default in ((low, -np.inf), (high, np.inf)))
        for element, low, high in zip(found, lows, highs):
            if not low <= high:
                raise InputError(
                    f"The bounds of {element.label} are crossed.", f"lower {low:g}, upper {high:g}",
                    remedy="lower <= upper",
                )  # fmt: skip
            self._bound_element(element, low, high)
        self._changed()

    def _bound_element(self, element: Element, low: float, high: float) -> None:
        description = self._description
        if element.letter == "p":
            k = element.position
            if k not in description.free:
                raise InputError(
                    f"{element.label} is a parameter with a fixed value.",
                    because="only variables that a plan can choose have bounds.",
                    remedy=f"ocp.free({element.label!r}, guess, lower, upper)",
                )
            wanted = description.free[k]
            description.free[k] = Unknown(float(np.clip(wanted.guess, low, high)), low, high)
        elif element.letter in ("x", "z") or (element.letter == "u" and element.position not in description.given):
            description.bounds[symbol_key(element.expression)] = (low, high)
        else:
            limits = np.array([low]), np.array([high])
            description.conditions.append(Condition(element.label, element.expression, *limits, "all"))

    def subject_to(
        self, condition: object, at: str | float = "all", name: str | None = None, soft: float | None = None, *,
        lower: object = None, upper: object = None,
    ) -> None:  # fmt: skip
        """Add a condition: a comparison with <=, >= or ==.

        Parameters
        ----------
        condition: a comparison, or an expression with `lower` and `upper`. For columns it holds for every element.
        at: "all" (every collocation point), "nodes", "start", "end", or a fraction of the duration between 0 and 1.
            A condition on integrals, values at the ends, the duration or parameters alone is imposed once.
        name: its name in multipliers and explanations.
        soft: makes the condition soft; a violation then costs this much per unit (and per unit of time).
        """
        called = name or f"condition {len(self._description.conditions) + 1}"
        found = read_condition(condition, at, called, soft, lower, upper)
        found = replace(found, expression=self._checked(found.expression, f"The condition {called!r}"))
        if found.at in ("all", "nodes") and self._belongs_to_no_instant(found.expression):
            found = replace(found, at="end")
        self._description.conditions.append(found)
        self._changed()

    # -- inputs and parameters ---------------------------------------------------------------------------------

    def given(self, name: str, value: object) -> None:
        """Fix an input instead of optimising it: a number, `dd.signal(...)`, a function or an expression of time.

        The mesh gets a node at every jump. `plan.notes` says where that is not possible: if the duration is unknown,
        because its nodes move, and for tables with more jumps than intervals.
        """
        system = self._description.system
        own = elements_of(system, name, "A given input")
        if any(element.letter != "u" for element in own):
            raise InputError(f"{name} is not an input.", remedy="the name of an input")
        value = in_unit(value, system.place(name).unit, name)
        for element in own:
            self._description.given[element.position] = value
        positions = tuple(element.position for element in own)
        kept = [(p, v) for p, v in self._description.given_names if p != positions]
        self._description.given_names = [*kept, (positions, value)]
        self._changed()

    def input(self, name: object, kind: str = "constant", rate: tuple[float, float] | None = None) -> None:
        """Set the shape of an input: "constant" on each interval or "linear" between nodes; `rate` bounds its rate of
        change."""
        if kind not in ("constant", "linear"):
            raise InputError(f"kind={kind!r} is not known.", remedy='kind="constant" or kind="linear"')
        slowest, fastest = -np.inf, np.inf
        if rate is not None:
            unit, told = unit_of_target(self._description.system, name), _told(name, "rate")
            slowest, fastest = (plain_number(v, told, f"({unit})/s" if unit else "1/s") for v in rate)
        for element in elements_of(self._description.system, name, "An input"):
            if element.letter != "u":
                raise InputError(f"{element.label} is not an input.", remedy="the name of an input")
            self._description.kinds[element.position] = InputKind(kind, slowest, fastest)
        self._changed()

    def free(self, name: str, guess: object = None, lower: object = None, upper: object = None) -> None:
        """Optimise a parameter together with the plan."""
        system = self._description.system
        own = elements_of(system, name, "A free parameter")
        if any(element.letter != "p" for element in own):
            raise InputError(f"{name} is not a parameter.", remedy="ocp.start({...: None}) leaves a start value free")
        unit = system.place(name).unit
        guess, lower, upper = (without_unit(value, unit, name) for value in (guess, lower, upper))
        guesses = _spread(guess, len(own), np.nan)
        lows, highs = _spread(lower, len(own), -np.inf), _spread(upper, len(own), np.inf)
        for element, value, low, high in zip(own, guesses, lows, highs):
            begin = self._description.parameters[element.position] if np.isnan(value) else value
            self._description.free[element.position] = unknown(float(begin), low, high)
        self._changed()

    def guess(self, values: Mapping[str, object] | None = None, trajectory: object = None) -> None:
        """Set the initial guess: values by name (numbers, arrays over the duration, signals), a run or a plan."""
        self._description.guesses.update(read_guesses(self._description, check_mapping(values, "guess")))
        if trajectory is not None:
            self._description.trajectory = trajectory
        self._changed()

    # -- solving -----------------------------------------------------------------------------------------------

    def to_latex(self) -> str:
        """The problem in LaTeX: the cost, the unknowns and the conditions.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("cart"); x = m.state("x", start=0.0); v = m.state("v", start=0.0); u = m.input("u")
        >>> m.equation([m.der(x), m.der(v)], [v, u])
        >>> ocp = dd.OptimalControl(m, duration=1.0, intervals=10)
        >>> ocp.start(); ocp.finish({"x": 1.0, "v": 0.0}); ocp.minimise(running=u**2); ocp.bound(u, -10, 10)
        >>> print(ocp.to_latex().splitlines()[1])
        \\min_{u} \\quad &\\int_{0}^{1} u^{2} \\, \\mathrm{d} t \\\\
        """
        from daedalus.display.formulas.problem_latex import problem_latex

        words = {"start": "start value", "end": "end value", "integral": "integral"}
        named = {symbol_key(own.symbol): words.get(own.where, own.where) for own in self._description.stand_ins}
        return problem_latex(self._description, named)

    def solve(
        self,
        method: str = "collocation",
        solver: str = "auto",
        degree: int = 3,
        hessian: str = "exact",
        tolerance: float | None = None,
        time_limit: float | None = None,
        progress: bool | Callable[..., object] | None = None,
        *,
        points: str = "radau",
        most_iterations: int = 3000,
        mesh_tolerance: float | None = None,
        step_method: str | Tableau = "rk4",
        steps: int = 2,
        starts: int | None = None,
        seed: int = 0,
        options: Mapping[str, Any] | None = None,
    ) -> Plan:
        """Solve the problem; returns a `Plan`.

        Parameters
        ----------
        method: "collocation", polynomials that obey the equations at `degree` points of every interval, or "shooting",
            where `steps` steps of `step_method` (a name of `dd.flow`) take each node to the next; conditions that hold
            everywhere are then asked for at the nodes.
        solver: "ipopt", or "fatrop", which exploits the sequence of intervals and hands over to IPOPT if it fails or if
            conditions couple distant times. "auto" uses fatrop for shooting, IPOPT for collocation, and Newton steps
            ("newton" in the plan) if only the start has changed since the last plan.
        degree: of the polynomials; points: "radau", whose last point is the next node, or "legendre".
        hessian: "exact", or "gauss_newton", which ignores the curvature of conditions and of squared costs.
        tolerance: the tolerance of the optimality conditions, 1e-8 by default.
        time_limit: in seconds; after it, or after Ctrl-C, the best iterate so far is returned.
        progress: True to show the iterations, or a function (iteration, objective, violation).
        mesh_tolerance: divide intervals or raise their degree, and solve again, until the mesh error is below this
            everywhere and jumps of inputs lie between short intervals.
        starts: search from this many guesses, random ones (`seed`) beside the first, and keep the cheapest plan; the
            notes list the costs found. By default a few are tried on a coarse mesh if the duration is unknown and
            you gave no guess. A plan of a problem that is not convex is a local optimum; the notes say so.
        options: passed on to the solver.

        A plan is always returned: `plan.success` tells you whether it is a solution, and `plan.explain()` what is
        wrong.
        """
        settings = SolveSettings(
            method, solver, degree, points, hessian, tolerance, time_limit, progress, most_iterations, mesh_tolerance,
            step_method, steps, dict(options or {}), starts, seed,
        )  # fmt: skip
        if self._solving is None or self._solving.settings.structure != settings.structure:
            self._solving = Solving(self.model, self._description, settings)
        return self._solving.plan(settings)

    # -- reading -----------------------------------------------------------------------------------------------

    def _changed(self) -> None:
        self._solving = None

    def _declared_bounds(self) -> None:
        """Bounds that variables were declared with hold here too."""
        system = self._description.system
        for variable in system.variables:
            if variable.kind == "parameter" or variable.name not in system.places:
                continue
            place = system.places[variable.name]
            for k, (letter, position) in enumerate(zip(place.letters, place.positions)):
                low = variable.lower[k] if variable.lower else -np.inf
                high = variable.upper[k] if variable.upper else np.inf
                if np.isfinite(low) or np.isfinite(high):
                    self._description.bounds[symbol_key(system.symbol(letter)[int(position)])] = (low, high)

    def _checked(self, expression: ca.SX, where: str) -> ca.SX:
        description = self._description
        stand_ins = (description.length, *(s.symbol for s in description.stand_ins))
        return check_symbols(description.system, expression, where, stand_ins)

    def _belongs_to_no_instant(self, expression: ca.SX) -> bool:
        """Whether an expression holds nothing but integrals, values at the ends, the duration and parameters."""
        description = self._description
        known = [description.length, description.system.symbol("p"), *(s.symbol for s in description.stand_ins)]
        return depends_only_on(expression, known)

    def _scalar(self, written: object, where: str) -> ca.SX:
        expression = self._checked(as_expression(written, where), where)
        if expression.numel() != 1:
            raise InputError(
                f"{where} is not a single number.", f"its shape is {expression.shape}",
                because="a cost is one number.", remedy="casadi.sumsqr(expression), or a sum of its elements",
            )  # fmt: skip
        return expression

    def _stand_in(self, written: object, where: str, what: str) -> ca.SX:
        expression = column(self._checked(as_expression(written, what), what))
        symbol = ca.SX.sym(where, expression.numel())
        self._description.stand_ins.append(StandIn(symbol, where, expression))
        self._changed()
        return ca.SX(symbol)


def _told(target: object, what: str) -> str:
    """What a bound is called in a message."""
    return f"The {what} of {target if isinstance(target, str) else 'an expression'}"


def _spread(value: object, size: int, default: float) -> list[float]:
    """One number for all elements, or one each; `None` is the default."""
    if value is None:
        return [default] * size
    entries = np.atleast_1d(np.asarray(value, dtype=object)).ravel(order="F").tolist()
    if len(entries) not in (1, size):
        raise InputError(
            "The number of values does not match the number of elements.", f"{size} elements, {len(entries)} values"
        )
    try:
        numbers = [default if entry is None else float(entry) for entry in entries]
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError("A bound is a number, or None for none.", f"got {value!r}"[:120]) from error
    return numbers * size if len(numbers) == 1 else numbers
