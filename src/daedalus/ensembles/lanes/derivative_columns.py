"""Derivatives of cases in the same kernels: states, then selected columns of the sensitivities, as one larger model.

With S = ∂x/∂θ for parameters, inputs or start values θ the variational equation S' = ∂f/∂x S + ∂f/∂θ is integrated
beside x' = f; steps follow the errors of x alone. Columns of start values begin as those of the identity, others at 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca
import numpy as np

from daedalus.compilation.lanes.lane_formulas import MOST_INSTRUCTIONS, check_known
from daedalus.ensembles.lanes.lane_runs import LaneRuns, NoLanes
from daedalus.model.system.instruction_list import UnknownOperationError, read_instructions
from daedalus.model.system.system import Place, System
from daedalus.simulation.plant.plants import plant_of


def with_derivatives(lanes: LaneRuns, system: System, wrt: Sequence[Place]) -> LaneRuns | NoLanes:
    """The same cases with derivatives by some names, or why there are none."""
    if lanes.numbers is None or lanes.model.kept is not None or lanes.starts is not None:
        return NoLanes("derivatives on lanes are those of models without constraints")
    function = plant_of(system).rhs.function
    t, x, u, p = (ca.SX.sym(letter, function.size1_in(k)) for k, letter in enumerate("txup"))
    f = function(t, x, u, p)
    by = {"x": x, "u": u, "p": p}
    columns = [(str(place.letter), int(k)) for place in wrt for k in place.positions]
    S = ca.SX.sym("S", x.numel(), len(columns))
    right = ca.mtimes(ca.jacobian(f, x), S)
    for j, (letter, k) in enumerate(columns):
        if letter != "x":
            right[:, j] += ca.jacobian(f, by[letter][k])
    y = ca.vertcat(x, ca.vec(S))
    whole = ca.Function("with_derivatives", [t, y, u, p], [ca.densify(ca.vertcat(f, ca.vec(right)))], {"cse": True})
    if whole.n_instructions() > MOST_INSTRUCTIONS:
        return NoLanes("the formulas of derivatives are too long for a kernel")
    try:
        rows = read_instructions(whole)
        check_known(rows)
    except UnknownOperationError as unknown:
        return NoLanes(str(unknown))
    start = np.zeros((len(columns), x.numel()))
    for j, (letter, k) in enumerate(columns):
        if letter == "x":
            start[j, k] = 1.0
    n = lanes.model.states
    shared = np.concatenate([lanes.shared[:n], start.ravel(), lanes.shared[n:]])
    model = replace(lanes.model, states=n * (1 + len(columns)), slopes=rows, judged=n)
    return replace(lanes, model=model, shared=shared, stiff=None)
