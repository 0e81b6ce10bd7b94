"""A run of arrays inside the core, with its transposed derivative: for explicit steps of a model without events.

Steps end at the times of the rows. The derivative is that of the steps that were taken (the discrete adjoint), with
their projections onto constraints, so it belongs to the computed numbers to rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.compilation import compile_function
from daedalus.differentiation.case import Case, read_case
from daedalus.differentiation.directions import Directions
from daedalus.differentiation.steps.adjoint import pullbacks_of, tableau_of
from daedalus.differentiation.steps.stepwise import family_of
from daedalus.differentiation.variational.tangent_start import StartMoves
from daedalus.errors import DaedalusError
from daedalus.exchange.batch_on_lanes import BatchOnLanes
from daedalus.exchange.device_run import DeviceRun
from daedalus.model.expressions import concatenate
from daedalus.model.lazy_values import cached_property
from daedalus.model.signals import signal
from daedalus.model.system.system import System
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.plant import named_expressions
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.singular.rank_watch import rank_watch_of
from daedalus.simulation.start.start_tolerance import start_tolerance


class SteppedRun:
    """y (cases, nt, ny) of x0 (cases, n), u (cases, nt - 1, nu) and p (cases, np), and what weights of y lead to."""

    def __init__(self, case: Case, times: np.ndarray, names: Sequence[str]) -> None:
        plant = case.plant
        assert isinstance(plant, ExplicitPlant)
        pulled, tableau = pullbacks_of(plant), tableau_of(case)
        projects = case.settings.call.get("projection") is not None
        outputs = None if tuple(names) == case.system.labels["x"] else _outputs(case, names)
        kept = _kept(case)
        self._case, self._times = case, times
        self._outputs = None if outputs is None else outputs[0]
        plain = not projects and kept is None
        self._moves_start = case.system.has_invariants
        watch = rank_watch_of(plant)
        self._lanes = BatchOnLanes(case, times, outputs) if plain and watch is None else None
        self.core = _core.ArrayRun(
            _core.Plan(case.settings.rhs, case.settings.core_method, **case.settings.call),
            pulled.rhs.core,
            pulled.projection.core if projects and pulled.projection is not None else None,
            None if outputs is None else compile_function(outputs[0]).core,
            None if outputs is None else compile_function(outputs[1]).core,
            None if kept is None else kept.core,
            start_tolerance(case.settings.rtol),
            None if watch is None else watch.logarithm.core,
            self._moves_start,
            tableau.A,
            tableau.b,
            tableau.c,
            times,
        )

    def value(self, x0: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray | None:
        """y of all cases; None where one of them does not begin or get to the end, or comes near to a branching.

        p has a row for each case, or one that all share.
        """
        y = None if self._lanes is None else self._lanes.value(x0, u, p)
        if y is not None:
            return y
        done, y = self.core.value(x0, u, _a_row_each(p, len(x0)))
        return y if done else None

    def pull(
        self, x0: np.ndarray, u: np.ndarray, p: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Weights of y (cases, nt, ny) as those of x0, u and p, summed where the cases share p; None as for values."""
        found = None if self._lanes is None else self._lanes.pull(x0, u, p, weights)
        if found is not None:
            return found
        shared, p = len(p) < len(x0), _a_row_each(p, len(x0))
        done, of_x, of_u, of_p = self.core.pull(x0, u, p, weights)
        if not done:
            return None
        if self._moves_start:
            for k in range(len(of_x)):
                of_x[k], of_first, of_given = self._along_constraints(x0[k], u[k, 0], p[k], of_x[k])
                of_u[k, 0] += of_first
                of_p[k] += of_given
        return of_x, of_u, of_p.sum(axis=0)[None] if shared else of_p

    def _along_constraints(
        self, x0: np.ndarray, u0: np.ndarray, p: np.ndarray, weights: np.ndarray
    ) -> list[np.ndarray]:
        """Weights of a consistent start as those of what was given, of the inputs there and of the parameters."""
        of_state, of_input, of_parameter = (tuple(range(part.size)) for part in (x0, u0, p))
        directions = Directions(of_state, of_input, of_parameter, 0)
        pulled = weights @ self._start_moves.at((self._case.t0, x0, u0, p), directions).S
        return np.split(pulled, [x0.size, x0.size + u0.size])

    @cached_property
    def on_devices(self) -> DeviceRun | None:
        """The same in JAX's own operations, for GPUs; None where states are constrained."""
        if self._lanes is None:
            return None
        found = DeviceRun(self._case, self._times, self._outputs)
        return found if found.is_adaptive else None

    @cached_property
    def _start_moves(self) -> StartMoves:
        case = self._case
        return StartMoves(case.model, case.system, case.form, case.given)


def _a_row_each(p: np.ndarray, cases: int) -> np.ndarray:
    return np.repeat(p, cases, axis=0) if len(p) < cases else p


def stepped_run(
    system: System, times: np.ndarray, names: Sequence[str], defaults: Mapping[str, np.ndarray], options: dict[str, Any]
) -> SteppedRun | None:
    """The run inside the core; None where its steps are implicit, or where something happens on the way."""
    case = _plain_case(system, times, defaults, options)
    if case is None or case.system.labels["x"] != system.labels["x"] or _is_stiff(case):
        return None
    return SteppedRun(case, times, names)


def _plain_case(
    system: System, times: np.ndarray, defaults: Mapping[str, np.ndarray], options: dict[str, Any]
) -> Case | None:
    """The run with the model's own numbers, if it is nothing but explicit steps."""
    if system.events or system.discrete_count or system.choices or any(np.isnan(a).any() for a in defaults.values()):
        return None
    given = {
        "start": dict(zip(system.labels["x"], defaults["start"].tolist())),
        "inputs": {v.name: signal(times[:-1], np.zeros((len(times) - 1, *v.shape))) for v in system.of_kind("input")},
    }
    try:
        case = read_case(system, (times[0], times[-1]), {**options, **given})
    except DaedalusError:
        return None  # other numbers may do
    own, plant = case.settings, case.plant
    explicit = family_of(case) == "explicit" and isinstance(plant, ExplicitPlant)
    functions = [own.rhs, *([] if own.call.get("projection") is None else [own.call["projection"]])]
    compiled = all(isinstance(f, _core.Function) and f.kind != "python" for f in functions)
    plain = own.switches is None and own.stops is None and own.contacts is None and own.core_plant is own.plant
    if not explicit or not plain or not compiled or case.foreseen is not None:
        return None
    assert isinstance(plant, ExplicitPlant)
    return None if plant.form.divisors or plant.form.coupled else case


def _kept(case: Case) -> Any:
    """What is zero at a start, as a function of (t, x, u, p); None where every state is a start."""
    system = case.system
    if not system.constrains_start:
        return None
    flat = case.form.applied(system, concatenate([*system.invariants.values(), *system.watched.values()]))
    return compile_function(ca.Function("kept", system.symbols(("t", "x", "u", "p")), [flat]))


def _is_stiff(case: Case) -> bool:
    """Whether "auto" finds explicit steps held back with the model's own numbers."""
    call = dict(case.settings.call)
    start = (case.t0, case.t1, case.x0, case.drive.constants, case.p)
    run = _core.integrate(case.settings.rhs, case.settings.core_method, *start, tables=case.drive.core_tables(), **call)
    return bool(run.status == Ending.STIFF)


def _outputs(case: Case, names: Sequence[str]) -> tuple[ca.Function, ca.Function]:
    """What is asked for as a function of (t, x, u, p), and its transposed derivative."""
    system = case.system
    flat = case.form.applied(system, concatenate(named_expressions(system, names)))
    point = system.symbols(("t", "x", "u", "p"))
    weights = ca.SX.sym("weights", flat.numel())
    sizes = [part.numel() for part in point[1:]]
    pulled = ca.densify(ca.jtimes(flat, ca.vertcat(*point[1:]), weights, True))
    parts = ca.vertsplit(pulled, np.cumsum([0, *sizes]).tolist())
    return ca.Function("outputs", point, [flat]), ca.Function("outputs_pulled", [*point, weights], parts)
