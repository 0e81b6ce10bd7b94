"""One run to be differentiated: the model made solvable, its numbers read and checked as `dd.simulate` does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from daedalus import _core
from daedalus.differentiation.differentiable_system import (
    differentiable_system,
    has_instants,
    refuse_code,
    whole_start,
    with_first_modes,
)
from daedalus.differentiation.directions import Directions, interval_of, read_grid
from daedalus.differentiation.events.jumping_conditions import FixedModes, jumping_conditions
from daedalus.differentiation.instants.foreseen import (
    Foreseen,
    Instant,
    NominalRun,
    foreseen,
)
from daedalus.differentiation.variational.implicit_slopes import consistent_row
from daedalus.errors import InputError, SolverError
from daedalus.initialisation.written_states import written_states
from daedalus.integrators.methods import check_known, choose_method, is_implicit, takes_momenta
from daedalus.model.lazy_values import cached_property
from daedalus.model.mechanics.mechanics_part import refuse_touching
from daedalus.model.model import Model
from daedalus.model.names import did_you_mean
from daedalus.model.switching.delays import refuse_delays
from daedalus.model.switching.held_states import HeldStates, with_held_states, without_instants
from daedalus.model.system.closed_loop import ClosedLoop
from daedalus.model.system.system import System
from daedalus.model.values import given_start, parameter_values
from daedalus.reduction.forms.explicit_form import ExplicitForm
from daedalus.reduction.forms.no_form import NoForm
from daedalus.reduction.reduction_record import FormOf, Reduction
from daedalus.reduction.redundancy.independent_constraints import Redundancy
from daedalus.simulation.inputs.read_inputs import Drive, read_inputs
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.plants import implicit_plant_of, plant_of
from daedalus.simulation.plant.solvable import solvable
from daedalus.simulation.result.records import sentences
from daedalus.simulation.result.records_of_methods import MethodChoice
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.run.method_choice import implicit_choice
from daedalus.simulation.run.request import LIMITS, Options, Request, check_step, read_request
from daedalus.simulation.run.road import Road, with_whole_inputs
from daedalus.simulation.run.settings import Settings, reason_of, settings_for, settings_of
from daedalus.simulation.start.start_row import start_row
from daedalus.simulation.start.vanishing_divisor import vanishing_divisor

OPTIONS = ("start", "inputs", "parameters", "method", "rtol", "atol", *LIMITS, "on_stop")


@dataclass(frozen=True, eq=False)
class Case:
    """A system, its numbers and the settings of the run."""

    model: Model | System
    system: System
    drive: Drive
    p: np.ndarray
    t0: float
    t1: float
    x0: np.ndarray
    settings: Settings
    method: Any  # as it was asked for
    grid: np.ndarray | None = None  # (k + 1,) the ends of the intervals of piecewise constant inputs
    limits: Mapping[str, Any] = field(default_factory=dict)  # step, max_step, ... as they were asked for
    atol: object = 1e-9  # as it was asked for
    guess: np.ndarray | None = None  # (x, z, x') near the start of a model without formulas for x' and z
    request: Request | None = None  # as it was asked for
    nominal: NominalRun | None = None  # how a model is run in which something is assigned at instants
    foreseen: Foreseen | None = None  # what happens in it when
    passed: int = 0  # how many instants lie behind the start
    save_at: np.ndarray | None = None  # the times at which a run without events is recorded; its steps if None

    @cached_property
    def given(self) -> np.ndarray:
        """Which states were given at the start, (n,) bool; the others were guesses, or solved for."""
        return given_states(self.system, None if self.request is None else self.request.start)

    def __reduce__(self) -> tuple[Any, ...]:
        numbers = (self.drive, self.p, self.t0, self.t1, self.x0, self.grid, self.guess, self.foreseen, self.passed)
        way = (self.method, self.settings.rtol, self.atol, dict(self.limits), self.settings.method)
        held = None if self.system.part(FixedModes) is not None else self.system.part(HeldStates)
        return _kept_case, (self.system if held is None else held.instants, numbers, way, self.settings.reason)

    @property
    def first_time(self) -> float:
        """Where the whole run begins; a case between instants is a part of it."""
        return self.t0 if self.foreseen is None else self.foreseen.begin

    @property
    def last_time(self) -> float:
        """Where the whole run ends."""
        return self.t1 if self.foreseen is None else self.foreseen.end

    @property
    def asked_time(self) -> float:
        """Where the whole run was asked to end; a terminal event may end it before."""
        return self.t1 if self.foreseen is None else self.foreseen.asked

    @property
    def next_instant(self) -> Instant | None:
        """The instant that the case ends with."""
        known = self.foreseen
        return None if known is None or self.passed == len(known.instants) else known.instants[self.passed]

    @property
    def rests(self) -> np.ndarray:
        """Positions of the states that are discrete variables."""
        return np.array([] if self.foreseen is None else self.foreseen.rests, dtype=int)

    @property
    def has_formulas(self) -> bool:
        """Whether x' and z are formulas of (t, x, u, p)."""
        return self.guess is None

    @property
    def plant(self) -> ExplicitPlant | ImplicitPlant:
        """The compiled functions of the system: of (t, x, u, p), or of rows (x, z, x') without formulas."""
        if not self.has_formulas:
            return implicit_plant_of(self.system)
        plant = plant_of(self.system)
        assert isinstance(plant, ExplicitPlant)
        return plant

    @property
    def form(self) -> ExplicitForm:
        """x' and z as expressions; they stand for themselves where they have no formulas."""
        if isinstance(self.plant, ExplicitPlant):
            return self.plant.form
        return ExplicitForm(self.system.symbol("xdot"), self.system.symbol("z"))

    @cached_property
    def implicit_settings(self) -> Settings:
        """How `dd.simulate` runs the system with the implicit method of this case."""
        if not self.has_formulas:
            return self.settings
        rtol, atol = self.settings.rtol, self.atol
        return settings_of(self.system, self.method, rtol, atol, *self.limits.values())

    @cached_property
    def row0(self) -> np.ndarray:
        """(x, z, x') at the start."""
        return self.row_at(self.t0, self.x0)

    def row_at(self, t: float, x: np.ndarray) -> np.ndarray:
        """(x, z, x') at a state."""
        plant = self.plant
        if isinstance(plant, ExplicitPlant):
            point = (np.array([t]), x, self.u_at(t), self.p)
            z = plant.readout.core(*point)[0][: self.system.sizes["z"]]
            return np.concatenate([x, z, plant.rhs.core(*point)[0]])
        assert self.guess is not None
        row = consistent_row(plant, t, np.concatenate([x, self.guess[len(x) :]]), self.u_at(t), self.p)
        if row is None:
            raise SolverError(
                f"The equations of {self.system.name!r} have no solution for x' and z at t = {t:.6g}.",
                because="Newton's method does not converge from the start values of the algebraic variables.",
                remedy="start=dd.initialise(m, {...}), or better start values of the algebraic variables",
            )
        return row

    @property
    def u0(self) -> np.ndarray:
        """The inputs at the start."""
        return self.u_at(self.t0)

    def u_at(self, t: float) -> np.ndarray:
        """The inputs at a time."""
        return self.drive.at_time(t)

    @property
    def intervals(self) -> int:
        """How many intervals the grid has; 0 without a grid."""
        return 0 if self.grid is None else len(self.grid) - 1

    def without_idle_grid(self, directions: Directions) -> Case:
        """The same case without a grid where no input is varied, which is what a grid divides."""
        return self if directions.intervals else replace(self, grid=None)

    def interval_at(self, t: float) -> int:
        """The interval of the grid that holds t, 0 without a grid; the later one at a common end."""
        return 0 if self.grid is None else interval_of(self.grid, t)

    def given_slopes(self, directions: Directions, t: float) -> np.ndarray:
        """∂(u, p)/∂θ at a time, (nu + np, m)."""
        d, nu = directions, self.system.sizes["u"]
        slopes = np.zeros((nu + len(self.p), d.count))
        interval = self.interval_at(t) if d.intervals else 0
        for k in d.u:
            slopes[k, d.column_of("u", k, interval)] = 1.0
        for k in d.p:
            slopes[nu + k, d.column_of("p", k)] = 1.0
        return slopes

    def with_method(self, name: str, why: MethodChoice) -> Case:
        """The same case by an implicit method."""
        rtol = self.settings.rtol
        if not self.has_formulas:
            settings = settings_of(self.system, name, rtol, self.atol, *self.limits.values())
            return replace(self, method=name, settings=replace(settings, reason=why))
        choice = choose_method(name, rtol, self.limits.get("step"))
        return replace(self, method=name, settings=replace(self.settings, method=choice.name, reason=why))

    def going_on(self, system: System, t: float, x: np.ndarray, guess: np.ndarray | None = None) -> Case:
        """The same run from a moment on, with other equations for the same states, inputs and parameters."""
        rtol = self.settings.rtol
        settings = _settings(system, self.method, rtol, self.atol, self.limits, self.has_formulas)
        settings = replace(settings, method=self.settings.method, reason=self.settings.reason)
        guess = None if self.has_formulas else self.guess if guess is None else guess
        return replace(self, system=system, settings=settings, t0=t, x0=np.array(x), guess=guess, save_at=None)

    def behind_change(self) -> Case:
        """The same run behind its next instant, which changes its equations alone."""
        assert self.foreseen is not None
        return replace(self, passed=self.passed + 1, t1=self.foreseen.until(self.passed + 1))

    def behind_instant(self, t: float, row: np.ndarray) -> Case:
        """The same run behind its next instant, at a row (x, z, x'), with the same equations."""
        assert self.foreseen is not None
        passed, n = self.passed + 1, len(self.x0)
        guess = None if self.has_formulas else row
        end = self.foreseen.until(passed)
        behind = replace(self, t0=t, t1=end, x0=np.array(row[:n]), guess=guess, passed=passed)
        behind.__dict__["row0"] = row  # is known
        return behind

    def with_foresight(self, tolerances: Mapping[str, Any] | None = None) -> Case | None:
        """The same with what happens when in it; None where it is stiff. tolerances: of the run that tells."""
        assert self.nominal is not None
        asked = self.asked_time
        run = self.nominal.run(self.drive, self.p, (self.t0, asked), self.row0, dict(tolerances or {}))
        known = foreseen(self.nominal, run, (self.t0, asked), self.system)
        return None if known is None else replace(self, foreseen=known, passed=0, t1=known.until(0))

    def changed(self, x0: np.ndarray, du: np.ndarray, p: np.ndarray) -> Case:
        """The same run with another start, inputs moved by du, (nu,) or (intervals, nu), and other parameters."""
        du = np.asarray(du, dtype=float)
        tables = list(self.drive.tables)
        constants = self.drive.constants + (du if du.ndim == 1 else 0.0)
        moved = [(replace(s, values=s.values + du[..., list(slots)]), slots) for s, slots in tables if du.ndim == 1]
        if du.ndim == 2:
            moved, constants = _on_grid(self.drive, self.grid, du)  # type: ignore[arg-type]
        return replace(self, x0=x0, p=p, drive=self.drive._replace(constants=constants, tables=tuple(moved)))


def given_states(system: System, start: Any) -> np.ndarray:
    """Which states a start gives, (n,) bool; the others are guesses, or solved for."""
    if isinstance(start, Samples):
        return written_states(system)
    return ~np.isnan(given_start(system, start)["x"])


def _kept_case(system: System, numbers: tuple[Any, ...], way: tuple[Any, ...], reason: Any) -> Case:
    """A case as pickles hold it: of the system that was run, with its settings made anew."""
    drive, p, t0, t1, x0, grid, guess, known, passed = numbers
    method, rtol, atol, limits, name = way
    if known is not None:
        system = without_instants(system, known.names(system))
    settings = _settings(system, method, rtol, atol, limits, guess is None)
    settings = replace(settings, method=name, reason=reason)
    own = (system, system, drive, p, t0, t1, x0, settings, method, grid, limits, atol, guess)
    return Case(*own, foreseen=known, passed=passed)


def nominal_again(case: Case) -> NominalRun:
    """How the model of a case that was read from a pickle is run; a SolverError where that is not known any more."""
    held = case.system.part(HeldStates)
    if held is None or held.names or case.system.part(FixedModes) is not None:
        raise SolverError(f"How {case.system.name!r} was run is not stored in files.")
    system, limits = held.instants, tuple(case.limits.values())
    options = Options(case.method, case.settings.rtol, case.atol, limits, locate_switches=True)
    request = Request(system, case.first_time, case.asked_time, None, None, None, None, options)
    settings = settings_for(request, system, case.method)
    road = Road(request, system, system, case.method, settings, case.drive, {})
    return NominalRun(road, np.arange(len(case.x0)), np.zeros(0, dtype=int))


def read_case(
    model: Model | System, span: Any, options: Mapping[str, Any], grid: Any = None, corners: bool = False
) -> Case:
    """Read and check the arguments of a run; an unknown option is refused.

    corners: whether its parts are to end where equations bend, as steps that are differentiated do.
    """
    for name in options:
        if name not in OPTIONS:
            raise InputError(
                f"{name}= is not an option of a run with derivatives.",
                f"known: {', '.join(OPTIONS)}",
                because="the options are those of dd.simulate that decide what is computed.",
                remedy=did_you_mean(name, OPTIONS) or "sens.at(times) for values at other times",
            )
    if options.get("on_stop", "raise") != "raise":
        raise InputError(
            f"on_stop={options['on_stop']!r} cannot be used with derivatives.",
            because="a run that stops early ends at another time.",
            remedy="leave on_stop out, or a span that the run completes",
        )
    request = read_case_request(model, span, options)
    if has_instants(request.system):
        refuse_code(request.system)
        return hybrid_case(request, grid)
    road, formulas = _road(request)
    # What a run does where its equations jump, or where its constraints do not suffice, is for dd.simulate to say.
    if road.solved.part(Redundancy) is not None or jumping_conditions(road.system, corners):
        return hybrid_case(request, grid)
    return _case(road, formulas, request, grid)


def _case(road: Road, formulas: bool, request: Request, grid: Any) -> Case:
    """The case of a road; request: as it was asked for."""
    own, plant = road.request, road.settings.plant
    p = np.array(parameter_values(road.system, own.parameters))
    row, drive = start_row(road, own.t0, p, own.start)
    lost = vanishing_divisor(own.model, plant, drive, own.t0, row, p)
    if lost is not None:
        raise lost.error
    return Case(
        model=request.model, system=road.system, drive=drive, p=p, t0=own.t0, t1=own.t1,
        x0=row[plant.row_parts["x"]].copy(), settings=road.settings, method=road.method,
        grid=read_grid(grid, *own.span), limits=dict(zip(LIMITS, own.limits)), atol=own.atol,
        guess=None if formulas else row, request=request,
    )  # fmt: skip


def hybrid_case(request: Request, grid: Any) -> Case:
    """The case of a model in which something happens on the way: its run tells of it, and is differentiated."""
    behind = request.start.begins(request.t0) if isinstance(request.start, Samples) else None
    request = request if behind is None else request._replace(start=behind)
    names = tuple(v.name for v in request.system.of_kind("discrete"))
    start = with_first_modes(request, whole_start(request.system, request.start))
    held = request._replace(model=with_held_states(request.system), start=start)
    case = _case(*_road(held, names), request, grid)
    driven = _driven(request)
    system, labels = driven[1], list(case.system.labels["x"])
    rests = system.labels["p"][system.sizes["p"] - system.discrete_count :]
    own, still = (np.array([labels.index(n) for n in names], dtype=int) for names in (system.labels["x"], rests))
    fired: frozenset[str] = frozenset() if behind is None else behind.run_data.fired
    while True:
        nominal = NominalRun(_run_road(request, case.method, *driven), own, still, fired)
        known = replace(case, nominal=nominal).with_foresight()
        if known is not None:
            return known
        case = case.with_method(*implicit_choice(case.system, "the system is stiff", case.settings.rtol))


def _run_road(
    request: Request, method: Any, solved: System, system: System, drive: Drive, left: Mapping[str, Any]
) -> Road:
    """The road of the run that tells what happens, by the method of the derivatives where that fits."""
    asked = request.with_options(method=method, locate_switches=True)
    try:
        settings = settings_for(asked, system, method)
    except InputError:  # the formulas of x' fit the method, and the equations as they stand do not
        asked = asked.with_options(method=implicit_choice(system, "", request.rtol)[0])
        settings = settings_for(asked, system, asked.method)
    return Road(asked, solved, system, asked.method, settings.with_moving_inputs(left), drive, left)


def read_case_request(model: Model | System, span: Any, options: Mapping[str, Any]) -> Request:
    """The request of a run with derivatives, which meets conditions in steps of its own."""
    way = {name: value for name, value in options.items() if name not in ("start", "inputs", "parameters", "on_stop")}
    start, inputs, parameters = (options.get(name) for name in ("start", "inputs", "parameters"))
    way["locate_switches"] = False
    request = read_request(model, span, start, inputs, parameters, None, way, "dd.sensitivities")
    check_known(request.method)
    refuse_delays(request.system, "A derivative of a run")
    refuse_touching(request.system, "A derivative of a run")
    if takes_momenta(request.method):
        raise _no_momenta(request.method)
    check_step(request)
    return with_whole_inputs(request)


def _driven(request: Request) -> tuple[System, System, Drive, Mapping[str, Any]]:
    """The system for a request, the same with inputs put in, what drives it, and the inputs that it takes."""
    solved, left = differentiable_system(request.model, request.inputs, request.span)
    system, drive = read_inputs(solved, left, request.span, with_addition=True)
    if drive.callbacks:
        raise InputError(
            "A run with derivatives does not accept Python functions.",
            sentences(drive.notes),
            because="the function cannot be differentiated.",
            remedy="an expression in m.time, or dd.signal(times, values)",
        )
    return solved, system, drive, left


def _road(request: Request, rests: tuple[str, ...] | None = None) -> tuple[Road, bool]:
    """The road of a run with derivatives, and whether x' and z have formulas on it.

    rests: states that only instants change; then the system is that between instants.
    """
    solved, system, drive, left = _driven(request)
    if rests is not None:
        system = without_instants(system, rests, Reduction, FormOf, ClosedLoop)
    method, formulas, why = _method_for(system, request.method, request.rtol)
    limits = dict(zip(LIMITS, request.limits))
    settings = _settings(system, method, request.rtol, request.atol, limits, formulas)
    settings = replace(settings, reason=why) if why else settings
    return Road(request, solved, system, method, settings, drive, left, why), formulas


def _method_for(system: System, method: Any, rtol: float) -> tuple[Any, bool, MethodChoice | None]:
    """The method of the run, whether x' and z have formulas, and why an implicit method was chosen without them."""
    solved = solvable(system)
    if isinstance(solved, NoForm):
        if not isinstance(solved.found, SolverError):
            raise solved.error
        why = solved.reason
    elif isinstance(plant_of(system), ExplicitPlant):
        return method, True, None
    else:
        why = "x' and z follow from a large linear solve"
    if method == "auto":
        name, reason = implicit_choice(system, why, rtol)
        return name, False, reason
    if is_implicit(method):
        return method, False, None
    raise InputError(
        f"Sensitivities of {system.name!r} need an implicit method.",
        [why, f"the run was asked for with {method if isinstance(method, str) else method.name}"],
        because="the variational equations are solved together with the model, which has no formulas for x' and z.",
        remedy='method="auto", or method="radau5"',
    )


def _no_momenta(method: object) -> InputError:
    return InputError(
        f"The method {method!r} has no derivatives.",
        because="its steps compute positions and momenta, not the states that sensitivities refer to.",
        remedy='method="auto", or method="gauss3" with a step, which is symplectic for mechanics without constraints',
    )


def _settings(
    system: System, method: Any, rtol: float, atol: object, limits: Mapping[str, Any], formulas: bool
) -> Settings:
    """The settings of the run; those of an implicit method on formulas belong to the variational equations."""
    if not is_implicit(method) or not formulas:
        return settings_of(system, method, rtol, atol, *limits.values())
    choice = choose_method(method, rtol, limits["step"])
    plain = settings_of(system, "dop853", rtol, atol, *({**limits, "step": None}.values()))
    return replace(plain, method=choice.name, reason=reason_of(method, choice.name, rtol, limits["step"]))


def core_inputs(case: Case) -> tuple[np.ndarray, list[Any]]:
    """u with the weights of the grid's intervals behind it, and the tables that drive them."""
    tables, constants = case.drive.core_tables(), case.drive.constants
    if case.grid is None:
        return constants, tables
    k = case.intervals
    begins, weights = case.grid[:-1], np.eye(k)
    if case.t1 < case.t0:  # tables run forward in time
        begins, weights = case.grid[:0:-1], weights[::-1]
    slots = list(range(len(constants), len(constants) + k))
    tables.append(_core.Table(np.ascontiguousarray(begins), np.ascontiguousarray(weights), slots, False))
    return np.concatenate([constants, np.zeros(k)]), tables


def _on_grid(drive: Drive, grid: np.ndarray, du: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """Inputs moved by du[i] on interval i: a held table over the grid and the times of the tables there were."""
    from daedalus.model.signals import Signal

    forward = grid if grid[0] < grid[-1] else grid[::-1]
    moves = du if grid[0] < grid[-1] else du[::-1]
    for table, _ in drive.tables:
        if table.order:
            raise InputError(
                f"Differences on a grid cannot be used with a {table.kind} table.",
                f"{len(table.times)} points of a signal that moves between them",
                because="a constant added on one interval makes the signal jump.",
                remedy='dd.signal(..., kind="hold"), or no grid',
            )
    times = np.unique(np.concatenate([forward[:-1], *(s.times for s, _ in drive.tables)]))
    interval = np.clip(np.searchsorted(forward, times, side="right") - 1, 0, len(moves) - 1)
    values = drive.at(times) + moves[interval]
    slots = tuple(range(values.shape[1]))
    return [(Signal(times, values, "hold", (values.shape[1],)), slots)], np.zeros_like(drive.constants)
