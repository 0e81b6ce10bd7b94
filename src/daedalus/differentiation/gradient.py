"""The gradient of one number of a trajectory by many parameters: one run forward, one pull back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from daedalus.differentiation.across_changes import first_part
from daedalus.differentiation.case import Case, read_case
from daedalus.differentiation.directions import WORDS, Directions, read_directions
from daedalus.differentiation.events.grazing import check_event_inputs
from daedalus.differentiation.steps.adjoint_in_parts import ForwardPart, backward_in_parts, forward_in_parts
from daedalus.differentiation.steps.segments import Segment
from daedalus.differentiation.steps.stepwise import stepwise
from daedalus.differentiation.variational.chain_rule import check_symbols
from daedalus.differentiation.variational.implicit_slopes import ImplicitSlopes, consistent_row
from daedalus.differentiation.variational.tangent_start import start_pulled_back
from daedalus.errors import InputError, SolverError
from daedalus.model.model import Model, as_system
from daedalus.model.names import element_label
from daedalus.model.reopened import as_model
from daedalus.model.system.equal_expressions import EqualExpressions
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.model.time_limit import time_limited
from daedalus.simulation.noise.without_noise import refuse_noise
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.plants import implicit_plant_of
from daedalus.simulation.run.method_choice import implicit_choice

# The scalar of the last state among expressions by name.
FINAL = "final"
# The state that carries the integral of the running term, and how many models with one are kept.
INTEGRAL = "running_integral"
MOST_KEPT = 8


class Gradient(Mapping[str, "float | np.ndarray"]):
    """The result of `dd.gradient`: `g.value`, and `g["L"]` by name with the shape of the name.

    start (n,), inputs (nu,) or (k, nu) with a grid, parameters (np,): the same as flat arrays of what was varied.
    steps: the number of steps. checkpoints: the number of states that steps can be taken again from. stored_bytes: what
    checkpoints and stored steps take. method: the method of the run; `reason` explains the choice.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("straight")
    >>> x = m.state("x", start=0.0); v = m.parameter("v", 2.0)
    >>> m.equation(m.der(x), v)
    >>> g = dd.gradient(m, 3.0, final=x**2)
    >>> round(g.value, 9), {name: round(g[name], 9) for name in g}
    (36.0, {'v': 36.0})
    """

    def __init__(
        self, case: Case, directions: Directions, value: float, columns: np.ndarray, segments: list[Segment]
    ) -> None:
        self._case, self._directions, self._columns = case, directions, columns
        self.value = value
        self.steps = sum(len(segment.times) - 1 for segment in segments)
        self.checkpoints = len(segments)
        self.stored_bytes = sum(segment.size for segment in segments)
        self.method, self.reason = case.settings.method, str(case.settings.reason)

    @property
    def system(self) -> System:
        """The system that was run."""
        return self._case.system

    def _flat(self, letter: str) -> np.ndarray:
        return self._columns[self._directions.columns(letter)].copy()

    @property
    def start(self) -> np.ndarray:
        """The gradient by the start values, along the constraints. Those of discrete variables are available by name
        only."""
        own = [k for k, place in enumerate(self._directions.x) if place not in self._case.rests]
        return self._flat("x")[own]

    @property
    def inputs(self) -> np.ndarray:
        """The gradient by a constant added to the inputs, over the span or each interval of the grid."""
        flat, k = self._flat("u"), self._directions.intervals
        return flat.reshape(k, -1) if k else flat

    @property
    def parameters(self) -> np.ndarray:
        """The gradient by the parameters, including their effect on a consistent start."""
        return self._flat("p")

    def __getitem__(self, name: str) -> float | np.ndarray:
        """The derivative by a state's start value, an input or a parameter."""
        d, place = self._directions, self.system.place(name)
        letter = place.letter or "z"
        members = getattr(d, letter) if letter in WORDS else ()
        if not members or not np.isin(place.positions, members).all():
            raise InputError(
                f"{name} was not varied.",
                f"the gradient is by {', '.join(d.labels(self.system)[:8])}",
                remedy=f'wrt=(..., "{name}")',
            )
        first, among = d.columns(letter).start, np.searchsorted(members, place.positions)
        rows = [self._columns[first + i * len(d.u) + among] for i in range(max(d.intervals, 1) if letter == "u" else 1)]
        shaped = [row.reshape(place.shape, order="F") for row in rows]
        if letter == "u" and d.intervals:
            return np.stack(shaped)
        return float(shaped[0]) if place.shape == () else shaped[0]

    def __iter__(self) -> Iterator[str]:
        d, system = self._directions, self.system
        for letter in ("x", "u", "p"):
            members = set(getattr(d, letter))
            for name, place in system.places.items():
                if place.letter == letter and members >= {int(k) for k in place.positions}:
                    yield name

    def __len__(self) -> int:
        return len(list(iter(self)))

    def _repr_html_(self) -> str:
        from daedalus.display.cards.study_cards import gradient_card

        return gradient_card(self)

    def __repr__(self) -> str:
        entries = list(zip(self._directions.labels(self.system), self._columns))
        shown = ", ".join(f"{name}: {value:.6g}" for name, value in entries[:6])
        return f"Gradient({self.value:.6g}; {shown}{', …' if len(entries) > 6 else ''})"


def gradient(
    model: Model | System,
    span: float | tuple[float, float],
    final: object = None,
    running: object = None,
    wrt: str | Sequence[str] = ("parameters",),
    grid: int | Sequence[float] | np.ndarray | None = None,
    **simulate_options: Any,
) -> Gradient:
    """Compute the gradient of J = final(t₁) + ∫ running dt by parameters, start and inputs, with the discrete adjoint.

    It is the exact derivative of the computed J, with the step sizes held fixed; for implicit steps of 5000 and more
    unknowns to the accuracy to which the run solved them, which is below rtol. The cost does not grow with the number
    of parameters. Steps are stored in up to 256 MB; memory beyond that grows with the square root of their number.

    Parameters
    ----------
    model, span, simulate_options: as for `dd.sensitivities`.
    final, running: scalar expressions in the model's symbols (or the name of a scalar); one of them is optional.
    wrt: "start", "inputs", "parameters", or names.
    grid: inputs piecewise constant, as for `dd.sensitivities`.

    Raises a SolverError if the run stops early or ends at a terminal event, because its end time would change.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay")
    >>> x = m.state("x", start=1.0); k = m.parameter("k", 2.0)
    >>> m.equation(m.der(x), -k * x)
    >>> g = dd.gradient(m, 1.0, final=x, running=x, wrt=("start", "parameters"), rtol=1e-10)
    >>> round(g.value, 6), round(g["k"], 6), round(g["x"], 6)
    (0.567668, -0.283834, 0.567668)
    """
    if final is None and running is None:
        raise InputError(
            "There is nothing to differentiate.", "neither final= nor running= is given", remedy='final=m["x"]'
        )
    refuse_noise(as_system(model), "dd.gradient", simulate_options.get("inputs"))
    with time_limited(simulate_options.get("time_limit")):
        return _gradient(model, span, final, running, wrt, grid, simulate_options)


def _gradient(
    model: Model | System, span: Any, final: Any, running: Any, wrt: Any, grid: Any, simulate_options: dict[str, Any]
) -> Gradient:
    whole = model if running is None else _with_integral(model, running)
    case = stepwise(read_case(whole, span, simulate_options, grid, corners=True), "dd.gradient")
    directions = read_directions(case.system, wrt, case.intervals)
    case = case.without_idle_grid(directions)
    if running is not None:
        directions = _without_integral(case, directions)
    original, case = case, first_part(case, corners=True)
    check_event_inputs(case)
    scalar = _expression(case.system, 0.0 if final is None else final, "final")
    if running is not None:
        scalar = scalar + case.system.symbol("x")[_integral_place(case)]
    return pulled_back(*_forward(original), directions, scalar)


def _forward(case: Case) -> tuple[list[ForwardPart], np.ndarray]:
    """The nominal run in parts, by an implicit method where "auto" finds that explicit steps are held back."""
    found = forward_in_parts(first_part(case, corners=True))
    if found is None:
        name, why = implicit_choice(case.system, "the system is stiff", case.settings.rtol)
        found = forward_in_parts(first_part(stepwise(case.with_method(name, why), "dd.gradient"), corners=True))
    assert found is not None
    return found


def pulled_back(runs: list[ForwardPart], last: np.ndarray, directions: Directions, scalar: ca.SX) -> Gradient:
    """The gradient of a scalar of the last state over known segments."""
    first, case = runs[0].case, runs[-1].case
    end = float(runs[-1].segments[-1].times[-1])
    if end != case.asked_time:
        raise SolverError(
            "The run ended at a terminal event.",
            f"at t = {end:.6g}, before t = {case.asked_time:g}",
            because="the end time would change, too, so a gradient at a fixed time is misleading.",
            remedy=f"a span that ends before t = {end:.6g}",
        )
    system = case.system
    n, nu = system.sizes["x"], system.sizes["u"]
    value, slope = _end_slopes(case, scalar, end, last)
    weights, by_inputs, by_parameters = backward_in_parts(runs, np.ascontiguousarray(slope[:n]))
    by_inputs[-1] += slope[n : n + nu]
    by_parameters = by_parameters + slope[n + nu :]
    # The start moves along the constraints, and with parameters and inputs.
    columns = start_pulled_back(first, directions, weights)
    columns[directions.columns("u")] += by_inputs[: max(directions.intervals, 1), list(directions.u)].ravel()
    columns[directions.columns("p")] += by_parameters[list(directions.p)]
    return Gradient(first, directions, value, columns, [segment for run in runs for segment in run.segments])


def _end_slopes(case: Case, scalar: ca.SX, end: float, last: np.ndarray) -> tuple[float, np.ndarray]:
    """A scalar at the end and its derivative by (x, u, p), through x' and z."""
    system, u, final = case.system, case.u_at(end), EqualExpressions({FINAL: scalar})
    if not case.has_formulas:
        # Rosenbrock methods leave an error of the step in z.
        found = consistent_row(implicit_plant_of(system), end, last, u, case.p)
        last = last if found is None else found
        return once(system, _implicit_slopes, final, most=MOST_KEPT).pulled_back(end, last, u, case.p)
    plant = case.plant
    assert isinstance(plant, ExplicitPlant)
    function = once(system, _slopes_by_formulas, plant, final, most=MOST_KEPT)
    found, slopes = (part.full().ravel() for part in function(end, last[: system.sizes["x"]], u, case.p))
    return float(found[0]), slopes


def _implicit_slopes(system: System, final: EqualExpressions) -> ImplicitSlopes:
    return ImplicitSlopes(system, final.by_name[FINAL])


def _slopes_by_formulas(system: System, plant: ExplicitPlant, final: EqualExpressions) -> ca.Function:
    arguments = system.symbols(("t", "x", "u", "p"))
    flat = plant.form.applied(system, final.by_name[FINAL])
    return ca.Function("final", arguments, [flat, ca.densify(ca.jacobian(flat, ca.vertcat(*arguments[1:])))])


def _expression(system: System, wanted: object, argument: str) -> ca.SX:
    """A scalar expression in the system's symbols, of an expression, a name or a number."""
    if isinstance(wanted, str) and wanted in system.output_names:
        expression = system.output(wanted)
    elif isinstance(wanted, str):
        place = system.place(wanted)
        expression = ca.vertcat(*(system.symbol(letter)[int(k)] for letter, k in zip(place.letters, place.positions)))
    elif isinstance(wanted, ca.SX):
        expression = system.translated("expression", ca.SX(wanted))
        check_symbols(system, expression)
    elif isinstance(wanted, (int, float)):
        expression = ca.SX(float(wanted))
    else:
        raise InputError(f"{argument}= is an expression or a name.", f"got {type(wanted).__name__}")
    if expression.numel() != 1:
        raise InputError(
            f"{argument}= is one number.", f"it has shape {expression.shape}", remedy="an element, or a norm of it"
        )
    return ca.densify(expression)


# -- the running term -------------------------------------------------------------------------------------------


def _with_integral(model: Model | System, running: object) -> Model:
    """The model with a state for the integral of the running term; kept, so that a second call compiles nothing."""
    system = as_system(model)
    wanted = _expression(system, running, "running")
    return once(system, _integrated, EqualExpressions({INTEGRAL: wanted}), most=MOST_KEPT)


def _integrated(system: System, running: EqualExpressions) -> Model:
    whole = as_model(system).copy()
    whole.equation(whole.der(whole.state(INTEGRAL, start=0.0)), running.by_name[INTEGRAL], name=INTEGRAL)
    return whole


def _integral_place(case: Case) -> int:
    return int(case.system.place(element_label(INTEGRAL, (), 0)).positions[0])


def _without_integral(case: Case, directions: Directions) -> Directions:
    """The start of the integral is not a start value of the model."""
    place = _integral_place(case)
    return Directions(tuple(k for k in directions.x if k != place), directions.u, directions.p, directions.intervals)
