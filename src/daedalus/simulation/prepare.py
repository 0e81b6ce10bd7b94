"""The same run again and again: everything but the numbers settled once, arrays in and arrays out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from daedalus.errors import InputError
from daedalus.integrators.methods import is_implicit, takes_momenta
from daedalus.model.model import Model, as_system
from daedalus.model.signals import Signal
from daedalus.model.system.system import System
from daedalus.model.values import parameter_values
from daedalus.reduction.selection.selected_states import without_choice
from daedalus.simulation.inputs.read_inputs import read_inputs
from daedalus.simulation.inputs.tables_in_constraints import check_tables
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.lobatto_step import attach_momentum_form
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.next_piece import Asked, next_piece
from daedalus.simulation.run.pieces import explain, go_on
from daedalus.simulation.run.settings import settings_of
from daedalus.simulation.run.system_to_run import system_to_run
from daedalus.simulation.simulate import raise_stopped, read_save_at, read_span
from daedalus.simulation.singular.branches import told_of_branches
from daedalus.simulation.start.implicit_start import first_row
from daedalus.simulation.start.start_row import read_start

LIMITS = ("step", "max_step", "first_step", "max_steps", "time_limit")


class PreparedRun:
    """A run with everything settled but its numbers; `dd.prepare` makes it.

    Called with flat arrays (all optional) it returns the states, (times, n), at `save_at` or at the steps. The entries
    are named by `labels["x"]`, `labels["u"]` and `labels["p"]`. It may be called from several threads at once.

    Example
    -------
    >>> import daedalus as dd, numpy as np
    >>> m = dd.Model("decay")
    >>> x = m.state("x", start=1.0); k = m.parameter("k", 1.0)
    >>> m.equation(m.der(x), -k * x)
    >>> run = dd.prepare(m, 1.0, save_at=[0.5, 1.0], rtol=1e-9)
    >>> run(p=np.array([2.0])).round(6).tolist()
    [[0.367879], [0.135335]]
    >>> run.labels["p"]
    ('k',)
    """

    def __init__(
        self,
        model: Model | System,
        span: float | tuple[float, float],
        start: Any,
        inputs: Mapping[str, object] | None,
        parameters: Mapping[str, object] | None,
        save_at: Any,
        options: dict[str, Any],
    ) -> None:
        limits = [options.pop(name, None) for name in LIMITS]
        method, rtol, atol = options.pop("method", "auto"), options.pop("rtol", 1e-6), options.pop("atol", 1e-9)
        locate = options.pop("locate_switches", True)
        if options:
            raise InputError(f"dd.prepare takes no {', '.join(options)}.", remedy="the options of dd.simulate")
        self._t0, self._t1 = read_span(span)
        span = self._t0, self._t1
        asked = method
        # The same steps whatever the numbers are: all states are integrated, none is selected.
        model = without_choice(as_system(model)) if as_system(model).choices else model
        system, left, method, self._why = system_to_run(model, inputs, span, method, rtol, atol)
        self._p = parameter_values(system, parameters)
        self.system, self._drive = read_inputs(system, left, span)
        if self._drive.callbacks:
            raise InputError(
                "A prepared run takes no Python functions.",
                list(self._drive.notes),
                because="each call would go back to Python thousands of times.",
                remedy="dd.signal(times, values), an expression, or dd.simulate",
            )
        if self._drive.tables and is_implicit(method):
            check_tables(self.system, self._drive, span)
        if takes_momenta(method):
            attach_momentum_form(model, self.system)
        self._settings = settings_of(self.system, method, rtol, atol, *limits, locate_switches=locate)
        plant = self._settings.plant
        self._x0 = self.system.default_start
        self._rows = partial(first_row, model, plant, self._drive) if isinstance(plant, ImplicitPlant) else None
        if self._rows is not None:
            self._x0 = self._rows(start, left, self._t0, self._p)
        elif start is not None:
            self._x0 = read_start(plant, self._drive, start, self._t0, self._p, self._settings)
        self._saves = read_save_at(save_at, self._t0, self._t1)
        self._tables = self._drive.core_tables() if self._drive.tables else None
        self._plan, self._states = self._settings.plan, plant.row_parts["x"]
        self._asked = Asked(model, self._t1, asked, inputs, parameters, rtol, atol, tuple(limits), locate)

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """The names of the entries of x, u and p."""
        return {letter: self.system.labels[letter] for letter in ("x", "u", "p")}

    def __call__(
        self, x0: np.ndarray | None = None, u: np.ndarray | None = None, p: np.ndarray | None = None
    ) -> np.ndarray:
        """The states (times, n) for a start x0, constant inputs u and parameters p; those not given as prepared.

        Raises a SolverError that carries the trajectory when the run stops early.
        """
        run = self._run(x0, u, p)
        finished = run.status == "finished"
        if finished and self._settings.plant.independence is None:
            return run.x[:, self._states]
        whole = self._trajectory(run, u, p)
        if not whole.success:
            raise_stopped(whole)
        if finished:
            return run.x[:, self._states]
        return np.stack([whole[label] for label in self.labels["x"]], axis=1)

    def trajectory(
        self, x0: np.ndarray | None = None, u: np.ndarray | None = None, p: np.ndarray | None = None
    ) -> Trajectory:
        """The same run with everything that `dd.simulate` returns."""
        return self._trajectory(self._run(x0, u, p), u, p)

    def _begin(self, x0: np.ndarray | None, p: np.ndarray | None) -> np.ndarray:
        """The first row: x0 itself, or what makes it consistent for an implicit method."""
        if self._rows is None or (x0 is None and p is None):
            return self._x0 if x0 is None else x0
        states = self._x0[: self.system.sizes["x"]] if x0 is None else np.asarray(x0, dtype=float)
        start = dict(zip(self.system.labels["x"], states.tolist()))
        return self._rows(start, {}, self._t0, self._p if p is None else np.array(p, dtype=float))

    def _run(self, x0: np.ndarray | None, u: np.ndarray | None, p: np.ndarray | None) -> Any:
        settings, span = self._settings, (self._t0, self._t1)
        parameters = self._p if p is None else p
        inputs, tables = settings.core_inputs(self._drive.constants if u is None else u, self._tables, parameters, span)
        core_p = settings.core_parameters(parameters)
        return self._plan.run(*span, self._begin(x0, p), inputs, core_p, self._saves, tables)

    def _trajectory(self, run: Any, u: np.ndarray | None, p: np.ndarray | None) -> Trajectory:
        drive = self._drive if u is None else self._drive._replace(constants=np.array(u, dtype=float))
        parameters = self._p if p is None else np.array(p, dtype=float)
        words = partial(explain, run, self._settings, drive, parameters, (self._t0, self._t1), self._why)
        first = Trajectory(self._settings.plant, drive, parameters, run.t, run.x, run.status, words, run)
        asked = self._asked
        if u is not None:
            # Constants by the element; tables and expressions stay as they are.
            tabled = {k for _, slots in drive.tables for k in slots}
            kept = {
                n: v for n, v in (asked.inputs or {}).items() if isinstance(v, Signal) or n not in self.system.places
            }
            labels = enumerate(self.labels["u"])
            asked = asked._replace(inputs={**kept, **{n: drive.constants[k] for k, n in labels if k not in tabled}})
        if p is not None:
            asked = asked._replace(parameters=dict(zip(self.labels["p"], parameters.tolist())))
        whole = go_on(first, partial(next_piece, asked), self._t1, self._saves)
        return told_of_branches(whole, asked.rtol, self._saves is None)


def prepare(
    model: Model | System,
    span: float | tuple[float, float],
    start: Any = None,
    inputs: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
    save_at: Any = None,
    **options: Any,
) -> PreparedRun:
    """Settle a run once, to repeat it in a loop with other numbers at a few microseconds a call.

    Arguments as in `dd.simulate`; `options` are method, rtol, atol and the limits. Values given here are what a call
    uses unless it brings its own arrays: x0 (n,), u (nu,), p (np,), in the order of `labels`.

    Example
    -------
    >>> import daedalus as dd, numpy as np
    >>> m = dd.Model("oscillator")
    >>> y = m.state("y", start=1.0)
    >>> m.equation(m.der(m.der(y)), -y)
    >>> run = dd.prepare(m, np.pi, save_at=[np.pi], rtol=1e-10)
    >>> run(np.array([2.0, 0.0])).round(6).tolist()
    [[-2.0, -0.0]]
    """
    return PreparedRun(model, span, start, inputs, parameters, save_at, options)
