"""Which terms of a cost bend downwards, and count by their slope only where a controller's steps are computed."""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.algebra.agreement import SAME
from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.model.expressions import concatenate, elements, symbol_key
from daedalus.optimisation.program.gauss_newton import cost_curvature, summands
from daedalus.optimisation.transcription.problem_stage import ProblemStage

# Curvatures are looked at at so many places, within so many sizes of what varies.
PLACES = 24
REACH = 2.0
# Longer terms are cut.
LONGEST = 60


def costs_by_slope(stage: ProblemStage) -> tuple[str, ...]:
    """A sentence for every term of the cost whose curvature is not that of a convex function, or is not seen."""
    description = stage.description
    notes: list[str] = []
    for where, written in (("running", description.integrated), ("final", description.final)):
        if written.is_zero():
            continue
        cost = stage.expression(written)
        copies = (stage.start, stage.end)
        varying = [stage.states, stage.unknowns, stage.inputs]
        v = concatenate([*(q.symbols for q in varying), *(s for c in copies for s in (c.states, c.unknowns, c.inputs))])
        sizes = [q.nominal for q in varying]
        size = np.concatenate([*sizes, *sizes, *sizes])
        notes += [f"{term} of the {where} cost {why}" for term, why in _by_slope(stage, cost, v, size)]
    return tuple(notes)


def _by_slope(stage: ProblemStage, cost: ca.SX, v: ca.SX, size: np.ndarray) -> list[tuple[str, str]]:
    """Terms with what is to be said of them; those of second degree count together."""
    quadratic, found = ca.SX(0), []
    terms = summands(cost, v)
    for factor, term in terms:
        if not ca.depends_on(ca.jacobian(ca.jacobian(term, v), v), v) and not _kinked(term, v):
            quadratic += factor * term
    together = _bending(stage, quadratic, v, size)
    for factor, term in terms:
        own = factor * term
        of_second_degree = not ca.depends_on(ca.jacobian(ca.jacobian(term, v), v), v) and not _kinked(term, v)
        if of_second_degree:
            if together < 0 and _bending(stage, own, v, size) < 0 and not _mixed(term, v):
                found.append((_text(own), "counts by its slope only: it bends downwards"))
        elif _kinked(term, v):
            found.append((_text(own), "counts by its slope only: it is bent at kinks alone"))
        elif _bending(stage, own, v, size) < 0:
            found.append((_text(own), "counts by its slope only wherever it bends downwards"))
    if together < 0 and not found:
        found.append(("the quadratic part", "counts by its slope only in directions in which it bends downwards"))
    return found


def _mixed(term: ca.SX, v: ca.SX) -> bool:
    """Whether a term of second degree is a product of different variables: alone it bends both ways."""
    return len(ca.symvar(term)) > 1 and bool(ca.diag(ca.hessian(term, v)[0]).is_zero())


def _kinked(term: ca.SX, v: ca.SX) -> bool:
    """Whether a term is not linear and yet has no curvature, as a size or the larger of two has."""
    slope = ca.jacobian(term, v)
    return bool(ca.depends_on(slope, v)) and not ca.sparsify(ca.jacobian(slope, v)).nnz()


def _bending(stage: ProblemStage, cost: ca.SX, v: ca.SX, size: np.ndarray) -> int:
    """-1 where the curvature has a negative eigenvalue at some place, else 0."""
    matrix = ca.densify(cost_curvature(cost, v))
    rest = [s for s in ca.symvar(matrix) if symbol_key(s) not in {symbol_key(e) for e in elements(v)}]
    numbers = _numbers(stage)
    values = np.array([numbers.get(symbol_key(s), 1.0) for s in rest])
    function = ca.Function("bending", [v, concatenate(rest)], [matrix])
    random = np.random.default_rng(11)
    for place in random.uniform(-REACH, REACH, (PLACES, v.numel())) * size:
        curvature = function(place, values).full() * size[:, None] * size
        if not np.isfinite(curvature).all():
            continue
        eigenvalues = np.linalg.eigvalsh(curvature)
        if eigenvalues[0] < -SAME * max(eigenvalues[-1], -eigenvalues[0], NOT_ZERO):
            return -1
    return 0


def _numbers(stage: ProblemStage) -> dict[int, float]:
    """What is known of symbols that do not vary: parameters and the duration."""
    description = stage.description
    known = dict(zip(map(symbol_key, elements(stage.parameters)), map(float, description.parameters)))
    known[symbol_key(description.length)] = description.expected_duration
    known[symbol_key(stage.share)] = 0.5
    return known


def _text(term: ca.SX) -> str:
    text = str(term)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
