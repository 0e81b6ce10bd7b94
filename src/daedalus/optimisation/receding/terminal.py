"""What a plan leaves behind its end: cost and region of the linear regulator at the target.

Near a target (x̄, ū) at rest the model is δx' = A δx + B δu, and the running cost ½ vᵀ W v with v = (δx, δu). Sampled
with the intervals of the problem, Riccati's equation gives the gain K and the cost ½ δxᵀ P δx of going on for ever with
δu = -K δx; the region is the largest level of that cost on which this obeys all bounds. Where the model keeps
quantities (constraints, the length of a quaternion) this happens in coordinates along them, δξ = Zᵀ δx.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import scipy.linalg

from daedalus.algebra.manifold import Manifold
from daedalus.algebra.rank_decision import leading_rows
from daedalus.errors import InputError, SolverError
from daedalus.model.expressions import concatenate, symbol_key
from daedalus.model.values import check_mapping
from daedalus.optimisation.description.description import Description
from daedalus.optimisation.program.gauss_newton import cost_curvature
from daedalus.optimisation.transcription.boundary.reference_ends import first_guess, fixed_states
from daedalus.optimisation.transcription.inputs_at_points import given_values
from daedalus.optimisation.transcription.invariants import kept_quantities


@dataclass(frozen=True, eq=False)
class Terminal:
    """The regulator at a target: states and inputs there, gain, cost matrix, and the level of its region.

    tangent: Z, (n, independent states); gain: K, of δξ; cost: P; level: the region is ½ δξᵀ P δξ <= level.
    """

    states: np.ndarray
    inputs: np.ndarray
    tangent: np.ndarray
    gain: np.ndarray
    cost: np.ndarray
    level: float

    def expression(self, x: ca.SX) -> ca.SX:
        """½ δxᵀ Z P Zᵀ δx, as a sum of squares."""
        root = scipy.linalg.sqrtm(self.cost).real @ self.tangent.T
        return 0.5 * ca.sumsqr(ca.DM(root) @ (x - ca.DM(self.states)))


def lqr_terminal(description: Description, at: Mapping[str, object] | None) -> Terminal:
    """The regulator at the target of a problem."""
    x, z, u = _target(description, at)
    A, B, W = _linearised(description, x, z, u)
    kept = kept_quantities(description)
    slopes = kept.slopes(x, kept.pinned(dict(enumerate(x)), len(x)))
    tangent = scipy.linalg.null_space(slopes) if len(slopes) else np.eye(len(x))
    n, m = tangent.shape[1], len(description.chosen)
    wide = scipy.linalg.block_diag(tangent, np.eye(m))
    A, B, W = tangent.T @ A @ tangent, tangent.T @ B, wide.T @ W @ wide
    step, cost = sampled(A, B, W, description.expected_duration / description.intervals)
    try:
        P = scipy.linalg.solve_discrete_are(
            step[:, :n], step[:, n:], cost[:n, :n], cost[n:, n:] + 1e-12 * np.eye(m), s=cost[:n, n:]
        )
    except (np.linalg.LinAlgError, ValueError) as error:
        raise SolverError(
            "There is no linear regulator at the target.",
            f"of {n} independent states not all can be steered, or some cost nothing: {error}",
            because="Riccati's equation has a solution only where every unstable motion can be steered and is seen by "
            "the running cost.",
            remedy="a running cost of all states and inputs, and a target at which the inputs act",
        ) from None
    by_u = cost[n:, n:] + step[:, n:].T @ P @ step[:, n:]
    gain = np.linalg.solve(by_u, step[:, n:].T @ P @ step[:, :n] + cost[:n, n:].T)
    return Terminal(x, u, tangent, gain, P, _level(description, x, u, tangent, gain, P))


def sampled(A: np.ndarray, B: np.ndarray, W: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """[A_d, B_d] and the cost ∫ vᵀ W v over one interval with inputs held, by Gauss-Legendre quadrature.

    Example
    -------
    >>> import numpy as np
    >>> step, cost = sampled(np.zeros((1, 1)), np.ones((1, 1)), np.eye(2), 0.5)
    >>> step.round(6).tolist(), cost.round(6).tolist()
    ([[1.0, 0.5]], [[0.5, 0.125], [0.125, 0.541667]])
    """
    n, m = B.shape
    whole = np.zeros((n + m, n + m))
    whole[:n, :n], whole[:n, n:] = A, B
    nodes, weights = np.polynomial.legendre.leggauss(6)
    cost = np.zeros_like(W)
    for node, weight in zip(nodes, weights):
        moved = scipy.linalg.expm(whole * h * (node + 1) / 2)
        cost += 0.5 * h * weight * moved.T @ W @ moved
    return scipy.linalg.expm(whole * h)[:n], cost


def _target(description: Description, at: Mapping[str, object] | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A state of rest with its algebraic unknowns and inputs: the given values, or the cheapest one."""
    system, form = description.system, description.form
    x, z, u = system.symbol("x"), form.unknowns, system.symbol("u")[description.chosen]
    fixed = dict(fixed_states(description.ends))
    for name, value in check_mapping(at, "at").items():
        place = system.place(name)
        numbers = np.broadcast_to(np.asarray(value, dtype=float).ravel(order="F"), (len(place.positions),))
        if set(place.letters) != {"x"}:
            raise InputError(f"{name} is not a state.", remedy="at={...} with states by name")
        fixed.update({int(k): float(number) for k, number in zip(place.positions, numbers)})
    kept, guess = kept_quantities(description), first_guess(description)
    conserved = kept.conserved - ca.DM(kept.values(guess, kept.conserved).reshape(-1, 1))
    still = _at_rest(description, ca.vertcat(form.rates, form.equations, kept.held, conserved))
    cost = _at_rest(description, form.applied(description.running))
    lower, upper = np.full(len(guess), -np.inf), np.full(len(guess), np.inf)
    for k, value in fixed.items():
        guess[k] = lower[k] = upper[k] = value
    more = z.numel() + u.numel()
    still, guess = _independent(still, ca.vertcat(x, z, u), np.concatenate([guess, np.zeros(more)]), lower == upper)
    quiet: dict[str, Any] = {
        "print_time": False,
        "ipopt.print_level": 0,
        "ipopt.sb": "yes",
        "ipopt.fixed_variable_treatment": "make_constraint",
    }
    solver = ca.nlpsol("target", "ipopt", {"x": ca.vertcat(x, z, u), "f": cost, "g": still}, quiet)
    wide = np.full(more, np.inf)
    found = solver(
        x0=guess, lbx=np.concatenate([lower, -wide]), ubx=np.concatenate([upper, wide]),
        lbg=0, ubg=0,
    )  # fmt: skip
    if not solver.stats()["success"]:
        raise SolverError(
            "No equilibrium was found for the target.",
            str(solver.stats()["return_status"]),
            because="a regulator can only hold an equilibrium.",
            remedy='ocp.terminal("lqr", at={...}) with the states of the target',
        )
    numbers, n = found["x"].full().ravel(), x.numel()
    return numbers[:n], numbers[n : n + z.numel()], numbers[n + z.numel() :]


def _independent(rows: ca.SX, v: ca.SX, at: np.ndarray, fixed: np.ndarray) -> tuple[ca.SX, np.ndarray]:
    """Rows without those that follow from the others at rest, as a constraint's derivatives do there; a point at rest.

    The point is found by steps of least length from a guess, some leading entries of which stay.
    """
    function = ca.Function("rows", [v], [rows, ca.jacobian(rows, v)])
    free = np.ones(len(at), dtype=bool)
    free[: len(fixed)] = ~fixed

    def kept(point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        left, slopes = (np.array(part.full()) for part in function(point))
        return left.ravel(), slopes

    at = Manifold(kept, np.ones(len(at))).nearest(at, np.flatnonzero(free)).values
    _, slopes = kept(at)
    return rows[sorted(leading_rows(slopes, "equations of rest")[0])], at


def _at_rest(description: Description, expression: ca.SX) -> ca.SX:
    """An expression of x, z and chosen u alone: parameters, time, given inputs and the damping are numbers."""
    system, form = description.system, description.form
    positions = tuple(sorted(description.given))
    values = given_values(description, positions, np.array([description.begin]))[0] if positions else np.zeros(0)
    given = concatenate(system.symbol("u")[k] for k in positions)
    old = [system.symbol("p"), system.symbol("t"), form.damping, given]
    new = [np.asarray(description.parameters), np.array([description.begin]), np.zeros(1), values]
    return ca.substitute([expression], old, [ca.SX(ca.DM(part.reshape(-1, 1))) for part in new])[0]


def _linearised(
    description: Description, x: np.ndarray, z: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, B and W at a point, with the algebraic unknowns solved for."""
    form, system = description.form, description.system
    symbols = [system.symbol("x"), form.unknowns, system.symbol("u")[description.chosen]]
    rates, equations, running = (
        _at_rest(description, part) for part in (form.rates, form.equations, form.applied(description.running))
    )
    v = ca.vertcat(*symbols)
    weights = cost_curvature(running, v)
    parts = [ca.jacobian(rates, v), ca.jacobian(equations, v), weights]
    f, g, W = (np.array(p.full()) for p in ca.Function("linear", symbols, parts)(x, z, u))
    n, nz = len(x), len(z)
    inner = np.zeros((n + nz + len(u), n + len(u)))
    inner[:n, :n], inner[n + nz :, n:] = np.eye(n), np.eye(len(u))
    if nz:
        inner[n : n + nz] = -np.linalg.solve(g[:, n : n + nz], np.hstack([g[:, :n], g[:, n + nz :]]))
    both = f @ inner
    values, vectors = np.linalg.eigh(inner.T @ W @ inner)
    return both[:, :n], both[:, n:], (vectors * np.maximum(values, 0.0)) @ vectors.T


def _level(
    description: Description, x: np.ndarray, u: np.ndarray, tangent: np.ndarray, gain: np.ndarray, P: np.ndarray
) -> float:
    """The largest ½ δξᵀ P δξ at which no bound on states and inputs is reached under the regulator."""
    system, inverse = description.system, np.linalg.inv(P)
    level = np.inf
    letters = [("x", k, tangent[k], x[k]) for k in range(len(x))]
    letters += [("u", k, -gain[i], u[i]) for i, k in enumerate(description.chosen)]
    for letter, k, row, middle in letters:
        low, high = description.bounds.get(symbol_key(system.symbol(letter)[k]), (-np.inf, np.inf))
        room = min(high - middle, middle - low)
        reach = float(row @ inverse @ row)
        if room < np.inf and reach > 0:
            level = min(level, 0.5 * max(room, 0.0) ** 2 / reach)
    return float(level)
