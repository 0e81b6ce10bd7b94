"""Multiple shooting: over every interval a flow of fixed steps takes one node to the next, x_{k+1} = φ(x_k, u_k, p).

The flow is that of `dd.flow`, explicit or implicit, with exact first and contracted second derivatives; algebraic
unknowns are solved for inside its stages. Time runs from 0 to 1 on every interval, so that its length T Δσ_k is a
parameter of the flow, and a free duration needs nothing else. Costs along the way are a state of the flow that begins
at zero on every interval, and what it reaches is part of the objective. (Carried from node to node, the cost would be
the value of one variable, which a search may lower as far as it likes while the steps do not fit together.) What a
reduced model keeps is not projected onto here: the damping of its constraints brings a search back to it.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.compilation import compile_function
from daedalus.differentiation.flow.flow import Flow, flow
from daedalus.integrators.tableaux.tableau import Tableau
from daedalus.model.expressions import concatenate
from daedalus.model.system.equation_row import rows_of
from daedalus.model.system.system import System
from daedalus.model.system.system_content import SystemContent
from daedalus.model.variables import Variable
from daedalus.optimisation.description.description import Description, StandIn
from daedalus.optimisation.program.draft import OBJECTIVE
from daedalus.optimisation.program.gauss_newton import cost_curvature
from daedalus.optimisation.program.mapped_functions import MappedFunctions, RunningCost
from daedalus.optimisation.program.program import joined, table
from daedalus.optimisation.transcription.boundary.ends import add_ends
from daedalus.optimisation.transcription.collocation_points import CollocationPoints, collocation_points
from daedalus.optimisation.transcription.cost_along_the_way import cost_along_the_way
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
    _add_sides(made)


def _add_sides(made: ProblemDraft) -> None:
    """Bounds in the place of kinks are at least as large as their sides, once an interval."""
    stage, layout, draft = made.stage, made.layout, made.draft
    if stage.sides.numel():
        rows = draft.add_rows((layout.intervals, stage.sides.numel()), lower=-np.inf)
        bindings = [(stage.inputs.symbols, layout.inputs), (stage.parameters, layout.parameters[:-1])]
        draft.add_block(stage.sides, bindings, rows)


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
    return stage_of(for_shooting(cost_along_the_way(description)), formulas, held_kinks=formulas)


# The step of a flow as functions that a program maps: value, Jacobian and contracted Hessian, called in the core.

LETTERS = ("x", "u", "p")


@functools.cache
def _exported() -> Any:
    return ctypes.CDLL(_core.__file__)


def _part(flow: Flow, prefix: str, sizes_in: list[int], sizes_out: list[int]) -> _core.Function:
    """One function of a flow behind its exported symbol."""
    name = prefix + flow.name()
    address = ctypes.cast(getattr(_exported(), name), ctypes.c_void_p).value or 0
    core = _core.Function(name, sizes_in, sizes_out, len(sizes_in), len(sizes_out), 0, 0)
    core.set_machine_code(address, flow)
    return core


def flow_functions(
    flow: Flow, of_parameters: bool = True, exact: bool = True, running: RunningCost | None = None
) -> MappedFunctions:
    """x⁺ = φ(x, u, p) with its derivatives by v = (x, u, p), or by (x, u) alone where no parameter is free.

    exact: with its second derivative; else Gauss and Newton's of a cost along the way, where there is one.
    """
    shapes = flow.core.shapes()
    value_in = [pattern.nnz() for pattern in shapes[0][0]]
    offsets = dict(zip(LETTERS, np.concatenate([[0], np.cumsum(value_in)[:-1]]).astype(int)))
    first_rows, first_columns = [], []
    letters = LETTERS if of_parameters else LETTERS[:2]
    wanted = tuple(int(k % 5 < len(letters) and k // 5 < len(letters)) for k in range(15))
    for letter, pattern in zip(letters, shapes[1][1]):
        rows, columns = np.array(pattern.get_triplet())
        first_rows.append(rows)
        first_columns.append(columns + offsets[letter])
    second_rows, second_columns = [], []
    for k, pattern in enumerate(shapes[3][1]):
        if wanted[k] and exact:
            rows, columns = np.array(pattern.get_triplet())
            second_rows.append(rows + offsets[LETTERS[k // 5]])
            second_columns.append(columns + offsets[LETTERS[k % 5]])
    value, first, second = (
        _part(flow, prefix, [p.nnz() for p in shapes[k][0]], [p.nnz() for p in shapes[k][1]])
        for prefix, k in (("", 0), ("jac_", 1), ("jac_adj1_", 3))
    )
    if running is not None:
        lower = np.tril_indices(running.states + running.inputs)
        second_rows, second_columns = [lower[0]], [lower[1]]
    return MappedFunctions(
        value,
        first,
        second if exact else None,
        table(joined(first_rows)),
        table(joined(first_columns)),
        table(joined(second_rows)),
        table(joined(second_columns)),
        first_wanted=(1, 1, int(of_parameters)),
        second_wanted=wanted,
        multiplier_input=4,
        running=running,
        flow=flow,
    )


# Gauss and Newton's view of a running cost: its curvature at points of an interval, to be carried through the flow.

# Unknowns in a cost are solved for by formulas where there are at most so many.
MOST_UNKNOWNS = 8


def over_interval(stage: ProblemStage, parts: Sequence[ca.SX]) -> tuple[ca.SX, ca.SX, ca.SX, list[ca.SX]]:
    """Time on an interval of unit length, Δσ, the parameters of the interval, and expressions in terms of these."""
    width, begin, time = ca.SX.sym("width"), ca.SX.sym("begin"), ca.SX.sym("t")
    share = seen_from_inside(begin, width, time, stage.description.rounding)
    found = [ca.substitute([part], [stage.share], [share])[0] for part in parts]
    return time, width, concatenate([stage.parameters, stage.given, stage.length, width, begin]), found


def interval_curvature(stage: ProblemStage) -> RunningCost | None:
    """The curvature of T Δσ l at a point of an interval, as a function of (x, u, p, τ); None where there is none.

    With it the derivative of the rates T Δσ f by (x, u), or zero where algebraic unknowns stand in them.
    """
    written = stage.description.integrated
    if written.is_zero():
        return None
    cost = _without_unknowns(stage, stage.expression(written))
    time, width, p, (running, rates) = over_interval(stage, [cost, stage.rates])
    x, u = stage.states.symbols, stage.inputs.symbols
    v = ca.vertcat(x, u)
    matrix = ca.sparsify(stage.length * width * cost_curvature(running, v))
    if not matrix.nnz():
        return None
    slopes = ca.densify(stage.length * width * ca.jacobian(rates, v))
    if ca.depends_on(stage.rates, stage.unknowns.symbols):
        slopes = ca.SX.zeros(slopes.shape)
    rows, columns = (np.array(part, dtype=np.int32) for part in matrix.sparsity().get_triplet())
    formula = ca.Function("running_curvature", [x, u, p, time], [matrix, slopes])
    return RunningCost(compile_function(formula).core, formula, rows, columns, x.numel(), u.numel())


def _without_unknowns(stage: ProblemStage, cost: ca.SX) -> ca.SX:
    """A cost with algebraic unknowns solved for, where the equations are linear in them; else without their share."""
    z = stage.unknowns.symbols
    if not stage.unknowns.size or not ca.depends_on(cost, z):
        return cost
    slope = ca.jacobian(stage.equations, z)
    if stage.unknowns.size > MOST_UNKNOWNS or ca.depends_on(slope, z):
        return ca.substitute([cost], [z], [ca.SX.zeros(z.numel(), 1)])[0]
    rest = ca.substitute([stage.equations], [z], [ca.SX.zeros(z.numel(), 1)])[0]
    return ca.substitute([cost], [z], [-ca.solve(ca.densify(slope), rest)])[0]
