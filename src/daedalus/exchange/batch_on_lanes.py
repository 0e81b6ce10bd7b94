"""Batches of explicit runs on the lanes of the processor: cases side by side, as one run of all their states.

The cases of a group share their steps, each of which keeps every case within the tolerance. What all cases have in
common, as the weights of a network, is loaded once, and its derivative is summed over them as it is computed.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.compilation.lanes.lane_function import lane_function
from daedalus.compilation.lanes.machine import lane_width
from daedalus.differentiation.case import Case
from daedalus.differentiation.steps.adjoint import pullbacks_of, tableau_of
from daedalus.model.system.instruction_list import UnknownOperationError
from daedalus.simulation.plant.explicit_plant import ExplicitPlant

# So many registers side by side hide how long an operation takes, where parameters are not loaded for each case.
SIDE_BY_SIDE = 4


class BatchOnLanes:
    """Values and pulled weights of batches; None where lanes do not pay or a group does not get through."""

    def __init__(self, case: Case, times: np.ndarray, outputs: tuple[ca.Function, ca.Function] | None) -> None:
        self._case, self._times, self._outputs = case, times, outputs
        self._runs: dict[tuple[int, bool], _core.ArrayRun | None] = {}

    def value(self, x0: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray | None:
        """y (cases, nt, ny); p has one row for all cases, or one for each."""
        run, lanes = self._run_for(len(x0), len(p) == 1)
        if run is None:
            return None
        done, y = run.value(_grouped(x0, lanes), _grouped(u, lanes), _parameters(p, len(x0), lanes))
        return _spread(y, lanes, (y.shape[-1] // lanes,), len(x0)) if done else None

    def pull(
        self, x0: np.ndarray, u: np.ndarray, p: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Weights of y as those of x0, u and p; summed over the cases for a p that they share."""
        run, lanes = self._run_for(len(x0), len(p) == 1)
        if run is None:
            return None
        count = len(x0)
        # Cases that only fill up a group count nothing.
        filled = np.zeros((-(-count // lanes) * lanes, *weights.shape[1:]))
        filled[:count] = weights
        given = _grouped(x0, lanes), _grouped(u, lanes), _parameters(p, count, lanes)
        done, of_x, of_u, of_p = run.pull(*given, _grouped(filled, lanes))
        if not done:
            return None
        whole_p = of_p.sum(axis=0)[None] if len(p) == 1 else _spread(of_p, lanes, p.shape[1:], count)
        return _spread(of_x, lanes, x0.shape[1:], count), _spread(of_u, lanes, u.shape[2:], count), whole_p

    def _run_for(self, cases: int, shared: bool) -> tuple[Any, int]:
        """The run of a group, and how many cases it has."""
        width = lane_width()
        lanes = SIDE_BY_SIDE * width if shared and cases > width * SIDE_BY_SIDE // 2 else width
        if width == 0 or cases < width:
            return None, 0
        key = lanes, shared
        if key not in self._runs:
            try:
                self._runs[key] = self._made(lanes, shared)
            except (UnknownOperationError, RuntimeError, ImportError, OSError):
                self._runs[key] = None
        return self._runs[key], lanes

    def _made(self, lanes: int, shared: bool) -> _core.ArrayRun:
        case, own = self._case, self._case.settings
        plant = case.plant
        assert isinstance(plant, ExplicitPlant)
        once = (0, 3) if shared else (0,)
        point = case.system.symbols(("t", "x", "u", "p"))
        pulled, tableau = pullbacks_of(plant), tableau_of(case)

        def wide(function: ca.Function, pulls: bool = False) -> Any:
            return lane_function(function, lanes, once, (2,) if pulls and shared else ())

        rhs = wide(ca.Function("rates", point, [ca.densify(plant.form.xdot)]))
        atol = np.broadcast_to(np.asarray(own.call.get("atol", 1e-9), dtype=float), case.x0.shape)
        return _core.ArrayRun(
            _core.Plan(rhs, own.core_method, **{**own.call, "atol": np.repeat(atol, lanes), "cases": lanes}),
            wide(pulled.rhs.function, True),
            None,
            None if self._outputs is None else wide(self._outputs[0]),
            None if self._outputs is None else wide(self._outputs[1], True),
            None,
            0.0,
            None,
            False,
            tableau.A,
            tableau.b,
            tableau.c,
            self._times,
        )


def _grouped(arrays: np.ndarray, lanes: int) -> np.ndarray:
    """(cases, ...) as (groups, ..., lanes), filled up with the last case."""
    missing = -len(arrays) % lanes
    if missing:
        arrays = np.concatenate([arrays, np.broadcast_to(arrays[-1:], (missing, *arrays.shape[1:]))])
    groups = arrays.reshape(len(arrays) // lanes, lanes, *arrays.shape[1:])
    return np.ascontiguousarray(np.moveaxis(groups, 1, -1))


def _spread(arrays: np.ndarray, lanes: int, last: tuple[int, ...], cases: int) -> np.ndarray:
    """The way back: (groups, ..., numbers · lanes) as (cases, ..., numbers)."""
    groups = arrays.reshape(*arrays.shape[:-1], *last, lanes)
    found = np.moveaxis(groups, -1, 1)
    return np.ascontiguousarray(found.reshape(len(found) * lanes, *found.shape[2:])[:cases])


def _parameters(p: np.ndarray, cases: int, lanes: int) -> np.ndarray:
    return np.repeat(p, -(-cases // lanes), axis=0) if len(p) == 1 else _grouped(p, lanes)
