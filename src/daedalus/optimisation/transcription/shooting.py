"""Multiple shooting: over every interval a flow of fixed steps takes one node to the next, x_{k+1} = φ(x_k, u_k, p).

The flow is that of `dd.flow`, explicit or implicit, with exact first and contracted second derivatives; algebraic
unknowns are solved for inside its stages. Time runs from 0 to 1 on every interval, so that its length T Δσ_k is a
parameter of the flow, and a free duration needs nothing else. Costs along the way are a state of the flow that begins
at zero on every interval, and what it reaches is part of the objective. (Carried from node to node, the cost would be
the value of one variable, which a search may lower as far as it likes while the steps do not fit together.) What a
reduced model keeps is not projected onto here: the damping of its constraints brings a search back to it.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import partial

import casadi as ca
import numpy as np

from daedalus.differentiation.flow.flow import flow
from daedalus.integrators.tableaux.tableau import Tableau
from daedalus.model.expressions import concatenate
from daedalus.model.system.equation_row import rows_of
from daedalus.model.system.system import System
from daedalus.model.system.system_content import SystemContent
from daedalus.model.variables import Variable
from daedalus.optimisation.description.description import Description, StandIn
from daedalus.optimisation.program.draft import OBJECTIVE
from daedalus.optimisation.transcription.boundary.ends import add_ends
from daedalus.optimisation.transcription.collocation_points import CollocationPoints, collocation_points
from daedalus.optimisation.transcription.cost_along_the_way import cost_along_the_way
from daedalus.optimisation.transcription.flow_functions import flow_functions
from daedalus.optimisation.transcription.interval_curvature import interval_curvature, over_interval
from daedalus.optimisation.transcription.mesh import Mesh
from daedalus.optimisation.transcription.node_conditions import add_node_conditions
from daedalus.optimisation.transcription.problem_draft import ProblemDraft, add_carried
from daedalus.optimisation.transcription.problem_stage import ProblemStage, stage_of
from daedalus.optimisation.transcription.program_layout import ProgramLayout, values_of
from daedalus.optimisation.transcription.sides_of_jumps import seen_from_inside
from daedalus.optimisation.transcription.stage_functions import StageFunctions

# Plans are drawn between nodes as polynomials of this degree, through values integrated from each node.
DEGREE_BETWEEN = 4
STEPS_BETWEEN = 8


def for_shooting(description: Description) -> Description:
    """The same problem with its running cost as the last of its integrals, over one interval at a time."""
    found = copy(description)
    if not description.running.is_zero():
        total = StandIn(ca.SX.sym("running"), "integral", description.running)
        found.stand_ins = [*description.stand_ins, total]
        found.running, found.integrated = ca.SX(0), description.running
    return found


def nodes_only(shares: np.ndarray) -> Mesh:
    """A mesh without points between the nodes."""
    none = np.zeros(0)
    return Mesh(shares, (CollocationPoints("nodes", none, none, np.zeros((1, 0)), np.ones(1)),) * (len(shares) - 1))


def interval_system(stage: ProblemStage) -> System:
    """The stage over an interval of unit length; its parameters: those of the model, given inputs, T, Δσ and σ."""
    time, width, p, (rates, equations) = over_interval(stage, (stage.rates, stage.equations))
    n, nz, nu = stage.states.size, stage.unknowns.size, stage.inputs.size
    slopes = ca.SX.sym("slopes", n)
    variables = [
        _variable("states", "state", n, stage.states.nominal),
        _variable("unknowns", "algebraic", nz, stage.unknowns.nominal),
        _variable("inputs", "input", nu, stage.inputs.nominal),
        _variable("parameters", "parameter", p.numel(), np.ones(p.numel())),
    ]
    residual = concatenate([slopes - stage.length * width * rates, equations])
    labels = [f"step of {k}" for k in range(n)]
    rows = [*rows_of("steps", labels), *rows_of("equations", [f"equation {k}" for k in range(nz)])]
    system = stage.description.system
    symbols = {"t": time, "xdot": slopes, "x": stage.states.symbols, "z": stage.unknowns.symbols,
               "u": stage.inputs.symbols, "p": p}  # fmt: skip
    name, own = f"{system.name} over one interval", [v for v in variables if v.size]
    orders = {"states": (1,) * n}
    return System(SystemContent(name, own, orders, symbols, residual, rows, guards=ca.SX(0, 1), resets=ca.SX(0, n)))


def _variable(name: str, kind: str, size: int, nominal: np.ndarray) -> Variable:
    wide = (np.inf,) * size
    numbers = tuple(float(v) for v in nominal)
    return Variable(
        name, kind, (size,), start=(0.0,) * size, nominal=numbers, lower=tuple(-v for v in wide), upper=wide
    )


def add_shooting(made: ProblemDraft, method: str | Tableau, steps: int) -> None:
    """Add everything a problem says to a draft."""
    add_node_conditions(made)
    add_ends(made)
    unknowns = made.stage.unknowns
    if np.isfinite(unknowns.lower).any() or np.isfinite(unknowns.upper).any():
        for node in range(made.layout.intervals):
            made.has_unknowns(node)
        # Behind the last node no input holds; stages that stand alone have none there.
        if not made.stagewise:
            made.has_unknowns(-1)
    _add_steps(made, method, steps)


def _add_steps(made: ProblemDraft, method: str | Tableau, steps: int) -> None:
    stage, layout, draft = made.stage, made.layout, made.draft
    n, size = layout.intervals, stage.states.size
    stepped = flow(interval_system(stage), 1.0 / steps, method, steps, 0.0)
    middle = layout.shares[:-1] + 0.5 * layout.widths
    sources = np.concatenate(
        [
            layout.nodes[:-1],
            layout.inputs,
            layout.parameters[:-1],
            made.given_at(middle),
            layout.length[:-1, None],
            draft.add_parameters(layout.widths)[:, None],
            made.share_at(layout.shares[:-1])[:, None],
        ],
        axis=1,
    )
    varied = bool((sources[:, stage.states.size + stage.inputs.size :] >= 0).any())
    cost = interval_curvature(stage) if draft.gauss_newton else None
    functions = flow_functions(stepped, varied, not draft.gauss_newton, cost)
    own, nominal = stage.carried, stage.states.nominal[stage.carried]
    rows = made.add_rows("dynamics", [stage.states.labels[k] for k in own], layout.shares[1:])
    layout.steps.append(rows)
    weights, results = np.ones((n, size)), np.full((n, size), OBJECTIVE)
    weights[:, own], results[:, own] = -1.0 / nominal, rows
    draft.add_functions(functions, sources, results, weights)
    draft.add_linear(rows, layout.nodes[1:, own], 1.0 / nominal)
    add_carried(made)


def with_points(
    stage: ProblemStage, layout: ProgramLayout, w: np.ndarray, parameters: np.ndarray
) -> tuple[ProgramLayout, np.ndarray]:
    """A layout with points between the nodes, and their values: integrated from each node in small steps.

    Points are numbered behind the variables of the program.
    """
    functions, values = StageFunctions(stage), partial(values_of, w=w, parameters=parameters)
    scheme = collocation_points("radau", DEGREE_BETWEEN)
    x, u, n = values(layout.nodes)[:-1], values(layout.inputs), layout.intervals
    length, p = values(layout.length[:1])[0], values(layout.parameters[0])
    z = np.zeros((n, stage.unknowns.size))
    points, unknowns = [], []

    def slope(tau: float, at: np.ndarray, guess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        shares = seen_from_inside(layout.shares[:-1], layout.widths, tau, stage.description.rounding)
        rest = functions.surroundings(length, p, shares)
        found = functions.solved_unknowns(at, guess, u, *rest)
        return functions.rates(at, found, u, *rest) * (length * layout.widths)[:, None], found

    tau = 0.0
    for target in scheme.tau:
        h = (target - tau) / STEPS_BETWEEN
        for _ in range(STEPS_BETWEEN):
            one, z = slope(tau, x, z)
            two, _ = slope(tau + h / 2, x + h / 2 * one, z)
            three, _ = slope(tau + h / 2, x + h / 2 * two, z)
            four, _ = slope(tau + h, x + h * three, z)
            x, tau = x + h / 6 * (one + 2 * two + 2 * three + four), tau + h
        _, z = slope(target, x, z)
        points.append(x)
        unknowns.append(z)
    found = np.stack(points, axis=1), np.stack(unknowns, axis=1)
    first, count = len(w), n * scheme.degree
    numbers = first + np.arange(found[0].size).reshape(count, -1)
    behind = first + found[0].size + np.arange(found[1].size).reshape(count, -1)
    mesh = Mesh(layout.shares, (scheme,) * n)
    wider = replace(layout, mesh=mesh, points=numbers, unknowns=behind)
    return wider, np.concatenate([w, found[0].ravel(), found[1].ravel()])


def shooting_stage(description: Description, formulas: bool = True) -> ProblemStage:
    """The stage of a problem for shooting; `formulas`: given inputs are formulas of time, else held on intervals."""
    return stage_of(for_shooting(cost_along_the_way(description)), formulas)
