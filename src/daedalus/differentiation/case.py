"""One run to be differentiated: the model made solvable, its numbers read and checked as `dd.simulate` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from daedalus import _core
from daedalus.errors import InputError, SolverError
from daedalus.model.model import Model
from daedalus.model.names import did_you_mean
from daedalus.model.system import System
from daedalus.model.values import parameter_values
from daedalus.simulation.consistent_start import check_on_invariants
from daedalus.simulation.inputs import Drive, read_inputs
from daedalus.simulation.methods import choose_method, is_implicit
from daedalus.simulation.plant import ExplicitPlant, plant_of
from daedalus.simulation.settings import Settings, settings_of
from daedalus.simulation.simulate import read_span
from daedalus.simulation.solvable import solvable_system
from daedalus.simulation.start_row import read_start

LIMITS = ("step", "max_step", "first_step", "max_steps", "time_limit")
OPTIONS = ("start", "inputs", "parameters", "method", "rtol", "atol", *LIMITS)


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

    @property
    def plant(self) -> ExplicitPlant:
        """The compiled functions of the system."""
        plant = plant_of(self.system)
        if not isinstance(plant, ExplicitPlant):
            raise SolverError(
                f"Sensitivities of {self.system.name!r} are not available.",
                "its equations are solved for x' and z at each evaluation, since they have no short formulas",
                because="derivatives are taken of formulas x' = f(t, x, u, p).",
                remedy="a smaller mechanism, or differences of dd.simulate runs",
            )
        return plant

    @property
    def u0(self) -> np.ndarray:
        """The inputs at the start."""
        return self.drive.at(np.array([self.t0]))[0]

    @property
    def intervals(self) -> int:
        """How many intervals the grid has; 0 without a grid."""
        return 0 if self.grid is None else len(self.grid) - 1

    def changed(self, x0: np.ndarray, du: np.ndarray, p: np.ndarray) -> Case:
        """The same run with another start, inputs moved by du, (nu,) or (intervals, nu), and other parameters."""
        du = np.asarray(du, dtype=float)
        tables = list(self.drive.tables)
        constants = self.drive.constants + (du if du.ndim == 1 else 0.0)
        moved = [(replace(s, values=s.values + du[..., list(slots)]), slots) for s, slots in tables if du.ndim == 1]
        if du.ndim == 2:
            moved, constants = _on_grid(self.drive, self.grid, du)  # type: ignore[arg-type]
        return replace(self, x0=x0, p=p, drive=self.drive._replace(constants=constants, tables=tuple(moved)))


def read_case(model: Model | System, span: Any, options: Mapping[str, Any], grid: Any = None) -> Case:
    """Read and check the arguments of a run; an unknown option is refused."""
    for name in options:
        if name not in OPTIONS:
            raise InputError(
                f"{name}= is no option of a run with derivatives.",
                f"known: {', '.join(OPTIONS)}",
                because="the options are those of dd.simulate that decide what is computed.",
                remedy=did_you_mean(name, OPTIONS) or "sens.at(times) for values at other times",
            )
    system = solvable_system(model)
    t0, t1 = read_span(span)
    p = parameter_values(system, options.get("parameters"))
    system, drive = read_inputs(system, options.get("inputs") or {}, (t0, t1))
    if drive.callbacks:
        raise InputError(
            "A run with derivatives takes no Python functions.",
            list(drive.notes),
            because="the function cannot be differentiated.",
            remedy="an expression in m.time, or dd.signal(times, values)",
        )
    rtol, method = options.get("rtol", 1e-6), options.get("method", "auto")
    limits = {name: options.get(name) for name in LIMITS}
    settings = _settings(system, method, rtol, options.get("atol", 1e-9), limits)
    x0 = np.array(system.default_start)
    if options.get("start") is not None:
        x0 = np.array(read_start(settings.plant, drive, options["start"], t0, p, settings))
    if system.invariants:
        check_on_invariants(settings.plant, drive, t0, x0, p, rtol)
    return Case(model, system, drive, np.array(p), t0, t1, x0, settings, method, read_grid(grid, t0, t1), limits)


def _settings(system: System, method: Any, rtol: float, atol: object, limits: Mapping[str, Any]) -> Settings:
    """The settings of the run; those of an implicit method are made for the variational equations, later."""
    if not is_implicit(method):
        return settings_of(system, method, rtol, atol, *limits.values())
    choice = choose_method(method, rtol, limits["step"])
    plain = settings_of(system, "auto", rtol, atol, *({**limits, "step": None}.values()))
    return replace(plain, method=choice.name, reason=choice.reason)


def refuse_implicit(case: Case, what: str) -> None:
    """Raise where something takes the steps of the run one by one, and they are implicit."""
    if not is_implicit(case.method):
        return
    raise InputError(
        f"{what} needs an explicit method.",
        f"the run was asked for with {case.settings.method}",
        because="it differentiates the steps themselves, and those of implicit methods need Newton's equations.",
        remedy='method="auto", or by="variational" for sensitivities with this method',
    )


def read_grid(grid: int | Sequence[float] | np.ndarray | None, t0: float, t1: float) -> np.ndarray | None:
    """The ends of the intervals: k equal ones for a number k, else times from t0 to t1."""
    if grid is None:
        return None
    if isinstance(grid, (int, np.integer)) and not isinstance(grid, bool) and grid > 0:
        return np.linspace(t0, t1, int(grid) + 1)
    times = np.asarray(grid, dtype=float)
    ordered = times.ndim == 1 and len(times) > 1 and np.all(np.diff(times) * np.sign(t1 - t0) > 0)
    if not ordered or times[0] != t0 or times[-1] != t1:
        raise InputError(
            "The grid does not cover the span.",
            f"the run goes from {t0:g} to {t1:g}, the grid is {np.array2string(times, threshold=6)}",
            because="its times are the ends of the intervals, in order, from the first to the last.",
            remedy=f"grid=10, or grid=np.linspace({t0:g}, {t1:g}, 11)",
        )
    return times


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
        if table.kind == "linear":
            raise InputError(
                "Differences on a grid do not go with a linear table.",
                f"{len(table.times)} points of a signal that is linear between them",
                because="what is added on an interval makes the signal jump.",
                remedy='dd.signal(..., kind="hold"), or no grid',
            )
    times = np.unique(np.concatenate([forward[:-1], *(s.times for s, _ in drive.tables)]))
    interval = np.clip(np.searchsorted(forward, times, side="right") - 1, 0, len(moves) - 1)
    values = drive.at(times) + moves[interval]
    slots = tuple(range(values.shape[1]))
    return [(Signal(times, values, "hold", (values.shape[1],)), slots)], np.zeros_like(drive.constants)
