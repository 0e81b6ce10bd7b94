"""Which conditions cannot hold together: an irreducible set of them, by problems in which conditions give way.

Every condition, bound or end may give way by one number, and the least sum of these numbers is looked for, as shares of
the sizes of what gives way. Where it is not zero the conditions that press there contradict each other. Of these one
after the other is taken away: where the rest still cannot hold, it was not needed. What remains is irreducible
(J. W. Chinneck, Feasibility and Infeasibility in Optimization, 2008, section 6.2: the deletion filter).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.optimisation.program.draft import OBJECTIVE, Draft, PlacedBlock
from daedalus.optimisation.program.program import Program, assembled, joined
from daedalus.optimisation.program.program_outcome import ProgramOutcome
from daedalus.optimisation.program.solvers import solve_with_ipopt
from daedalus.optimisation.transcription.collocated import Transcription
from daedalus.optimisation.transcription.program_layout import values_of

RELAXED = ("condition", "end", "periodic", "rate")
# Conditions that give way by less than this share of their size hold.
HOLDS = 1e-5
# Conditions with forces below this share of the largest take no part in a contradiction; the rest are tried in turn.
TAKES_PART_FROM = 1e-6
# Weights of the mean square of the distance from the last point, in nominal values. Of all motions that keep to a set
# of conditions a search then looks for the nearest and does not wander; costs this small hardly change what gives way
# (R. T. Rockafellar, Monotone operators and the proximal point algorithm, SIAM J. Control Optim. 14, 1976).
NEARNESS = (1e-2, 1e-3, 1e-4)
# What gives way is known where two weights lead to the same sum, to this part of it.
SETTLED = 1e-3
# Searches are local: a set that they take for a contradiction may turn out to hold, and is then looked for once more.
MOST_ROUNDS = 5
# A duration without its upper bound may be so many times as long.
LONGEST = 100.0


@dataclass(frozen=True, eq=False)
class Relaxed:
    """One side of something that may give way: its name, where it is asked for, and the number by which it does.

    shares: of the duration; those of what belongs to no instant are not numbers.
    """

    phase: int
    name: str
    side: str  # "lower" or "upper"
    shares: np.ndarray
    bounds: np.ndarray
    rows: np.ndarray
    variable: int


@dataclass(frozen=True, eq=False)
class ConflictPart:
    """A part of an irreducible set: by how much it alone would have to give way, and the shares at which it presses."""

    part: Relaxed
    short: float
    shares: np.ndarray


@dataclass(frozen=True, eq=False)
class Contradiction:
    """What cannot hold together; none where all can. found: whether that is known. durations: of the phases."""

    found: bool
    conflicts: tuple[ConflictPart, ...]
    durations: tuple[float, ...]


def contradiction(transcriptions: Sequence[Transcription], begin: np.ndarray) -> Contradiction:
    """An irreducible set of conditions that cannot hold together."""
    problem = _Elastic(transcriptions, begin)
    first = problem.solved(problem.parts)
    if not first.success:
        return Contradiction(False, (), problem.durations(first))
    if first.objective <= HOLDS:
        return Contradiction(True, (), problem.durations(first))
    problem.begin_at(first)
    candidates = problem.pressing(first)
    for _ in range(MOST_ROUNDS):
        kept = _irreducible(problem, candidates)
        conflicts = tuple(
            ConflictPart(part, problem.needed(part, kept), problem.shares_of_pressure(part, kept)) for part in kept
        )
        if kept and not problem.holds_somewhere(kept):
            return Contradiction(True, conflicts, problem.durations(first))
        # A search found what earlier ones had not: the set can hold after all.
        candidates, problem.in_doubt = list(problem.parts), True
    return Contradiction(False, (), problem.durations(first))


def _irreducible(problem: _Elastic, candidates: list[Relaxed]) -> list[Relaxed]:
    """What is left of conditions that cannot hold together when those that are not needed for that are taken away."""
    kept = candidates if problem.cannot_hold(candidates) else list(problem.parts)
    for part in list(kept):
        rest = [other for other in kept if other is not part]
        if problem.cannot_hold(rest):
            kept = rest
    return kept


class _Elastic:
    """A problem without its cost, whose conditions may give way."""

    def __init__(self, transcriptions: Sequence[Transcription], begin: np.ndarray) -> None:
        self._transcriptions = transcriptions
        draft = _without_costs(transcriptions[0].draft)
        self.parts = [part for k, made in enumerate(transcriptions) for part in _relaxed(draft, made, k)]
        self._centre, self._nearness = _nearness(draft, len(begin))
        self._program = assembled(draft)
        beside = np.full(self._program.shape[0] - len(begin), 1e-2)
        self._begin = np.concatenate([begin, beside])
        self._nearest = self._begin
        self._solved: dict[tuple[int, ...], ProgramOutcome] = {}
        self._points: list[tuple[np.ndarray, np.ndarray]] = []  # that were found, and by how much parts are missed
        self.in_doubt = False  # whether some search took for a contradiction what is none

    def begin_at(self, outcome: ProgramOutcome) -> None:
        """Look from here for the least by which other sets give way: what is left of this one is near.

        For a crane with weak motors 14 searches took 1749 iterations from the guess, two of them in vain, and 753 so.
        """
        self._nearest = outcome.w

    def solved(self, asked: Sequence[Relaxed], yielding: Sequence[Relaxed] | None = None) -> ProgramOutcome:
        """The least by which what is asked for gives way; `yielding`: the parts that may, others hold as written."""
        yielding = asked if yielding is None else yielding
        key = (*sorted(part.variable for part in asked), -1, *sorted(part.variable for part in yielding))
        if key not in self._solved:
            own = self._asking(asked, yielding)
            begin = self._nearest if yielding is asked else self._begin
            self._solved[key] = self._ended(own, np.clip(begin, own.lower, own.upper))
        return self._solved[key]

    def _asking(self, asked: Sequence[Relaxed], yielding: Sequence[Relaxed]) -> Program:
        """The program without the conditions that are not asked for."""
        program = self._program
        low, high, upper = program.row_lower.copy(), program.row_upper.copy(), program.upper.copy()
        for part in self.parts:
            if not any(part is other for other in asked):
                low[part.rows], high[part.rows] = -np.inf, np.inf
        upper[[part.variable for part in self.parts if not any(part is other for other in yielding)]] = 0.0
        return replace(program, row_lower=low, row_upper=high, upper=upper)

    def cannot_hold(self, asked: Sequence[Relaxed]) -> bool:
        """Whether the least by which these give way is known, and is not zero."""
        if self.holds_somewhere(asked):
            return False
        starts = [self._nearest]
        if self.in_doubt:
            starts += [min(self._nearest_points(asked), key=lambda pair: pair[0])[1], self._begin]
        gives = [self._least(asked, begin) for begin in starts]
        return min(gives) > HOLDS if any(np.isfinite(gives)) else False

    def _least(self, asked: Sequence[Relaxed], begin: np.ndarray) -> float:
        """The least by which these give way near a point; infinite where it is not known."""
        own, last, before = self._asking(asked, asked), None, np.inf
        begin = np.clip(begin, own.lower, own.upper)
        for nearness in NEARNESS:
            found = self._ended(own, begin, nearness, last)
            if found.success:
                gives = self._given(found)
                if gives <= HOLDS or abs(gives - before) <= SETTLED * gives:
                    return gives
                begin, last, before = found.w, found, gives
        found = self.solved(asked)
        return found.objective if found.success else np.inf

    def _ended(
        self, program: Program, begin: np.ndarray, nearness: float = 0.0, warm: ProgramOutcome | None = None
    ) -> ProgramOutcome:
        """What is found from a point, with the distance from it in the cost as well; `warm`: what was found there."""
        parameters = program.parameters.copy()
        parameters[self._centre], parameters[self._nearness] = begin[: len(self._centre)], nearness
        # Multipliers take IPOPT's usual step: for a crane with weak motors 1470 iterations instead of 2400.
        found = solve_with_ipopt(
            program, begin, tolerance=1e-7, parameters=parameters, most_iterations=500, warm=warm,
            options={"alpha_for_y": "primal"},
        )  # fmt: skip
        if found.success:
            self._points.append((found.w, self._missed_at(found.w)))
        return found

    def _missed_at(self, w: np.ndarray) -> np.ndarray:
        """By how much every part is missed at a point, as shares of their sizes."""
        program = self._program
        rows, missed = program.values(w)[1], []
        for part in self.parts:
            sign, given = (1.0, program.row_lower) if part.side == "lower" else (-1.0, program.row_upper)
            short = sign * (given[part.rows] - rows[part.rows]) + w[part.variable]
            missed.append(max(float(short.max()), 0.0) / program.scale[part.variable])
        return np.array(missed)

    def holds_somewhere(self, asked: Sequence[Relaxed]) -> bool:
        """Whether these hold at a point that some search has found."""
        return min((missed for missed, _ in self._nearest_points(asked)), default=np.inf) <= HOLDS

    def _nearest_points(self, asked: Sequence[Relaxed]) -> list[tuple[float, np.ndarray]]:
        """By how much these are missed at every point that was found, and the points."""
        own = [k for k, part in enumerate(self.parts) if any(part is other for other in asked)]
        return [(float(missed[own].sum()), w) for w, missed in self._points]

    def _given(self, outcome: ProgramOutcome) -> float:
        """By how much all parts together give way, as shares of their sizes."""
        slack = [part.variable for part in self.parts]
        return float((outcome.w[slack] / self._program.scale[slack]).sum())

    def pressing(self, outcome: ProgramOutcome) -> list[Relaxed]:
        """The parts that press, those that press least first."""
        forces = [float(np.abs(outcome.multipliers[part.rows]).sum()) for part in self.parts]
        order = np.argsort(forces, kind="stable")
        return [self.parts[k] for k in order if forces[k] > TAKES_PART_FROM * max(forces)]

    def needed(self, part: Relaxed, kept: Sequence[Relaxed]) -> float:
        """By how much a part would have to give way for the others of its set to hold."""
        found = self.solved(kept, [part])
        if not found.success:
            found = self._nearby(kept, [part]) or self.solved(kept)
        return float(found.w[part.variable])

    def _nearby(self, asked: Sequence[Relaxed], yielding: Sequence[Relaxed]) -> ProgramOutcome | None:
        """What is found by searches that stay near the last point, the last of them the freest."""
        own = self._asking(asked, yielding)
        begin, found = np.clip(self._nearest, own.lower, own.upper), None
        for nearness in NEARNESS:
            ended = self._ended(own, begin, nearness)
            if ended.success:
                begin, found = ended.w, ended
        return found

    def shares_of_pressure(self, part: Relaxed, kept: Sequence[Relaxed]) -> np.ndarray:
        """Where a part presses when all of its set give way."""
        forces = np.abs(self.solved(kept).multipliers[part.rows])
        pressed: np.ndarray = part.shares[forces > 1e-3 * max(float(forces.max(initial=0.0)), NOT_ZERO)]
        return pressed

    def durations(self, outcome: ProgramOutcome) -> tuple[float, ...]:
        """How long the phases take."""
        lengths = (made.layout.length[:1] for made in self._transcriptions)
        return tuple(float(values_of(own, outcome.w, self._program.parameters)[0]) for own in lengths)


def _without_costs(source: Draft) -> Draft:
    """A copy of a draft without its cost, whose bounds can be changed."""
    return replace(
        source,
        lower=[joined(source.lower)], upper=[joined(source.upper)], scale=list(source.scale),
        row_lower=[joined(source.row_lower)], row_upper=[joined(source.row_upper)],
        parameters=list(source.parameters), blocks=[_without_cost(block) for block in source.blocks],
        linear=[_rows_only(part) for part in source.linear],
    )  # fmt: skip


def _without_cost(block: PlacedBlock) -> PlacedBlock:
    return replace(block, weights=np.where(block.rows == OBJECTIVE, 0.0, block.weights))


def _nearness(draft: Draft, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Add r · mean ((v - c) / size)² over the variables to the cost; the numbers of the parameters c and r."""
    centre, weight = draft.add_parameters(np.zeros(count)), draft.add_parameters(np.zeros(1))
    size = draft.add_parameters(joined(draft.scale)[:count])
    v, c, s, r = (ca.SX.sym(name) for name in "vcsr")
    bindings = [(v, np.arange(count)[:, None]), (c, centre[:, None]), (s, size[:, None]), (r, weight)]
    draft.add_block(r * ((v - c) / s) ** 2, bindings, np.full((count, 1), OBJECTIVE), 1.0 / count)
    return -1 - centre, -1 - weight


def _rows_only(part: tuple[np.ndarray, np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    use = part[0] != OBJECTIVE
    return part[0][use], part[1][use], part[2][use]


def _relaxed(draft: Draft, made: Transcription, phase: int) -> list[Relaxed]:
    """Everything of a problem that may give way, side by side."""
    found: list[Relaxed] = []
    for group in made.layout.groups:
        if group.kind in RELAXED:
            for k, label in enumerate(group.names):
                name = f"the change of {label} over the period" if group.kind == "periodic" else label
                variables, low, high = _as_variables(draft, group.rows[:, k])
                size = max(1.0, float(np.abs(np.concatenate([low, high])[np.isfinite([*low, *high])]).max(initial=0.0)))
                found += _sides(draft, phase, name, variables, group.shares, low, high, size)
    for name, variables, shares, size in _bounded(made):
        low, high = draft.lower[0][variables].copy(), draft.upper[0][variables].copy()
        draft.lower[0][variables], draft.upper[0][variables] = -np.inf, np.inf
        found += _sides(draft, phase, name, variables, shares, low, high, size)
    if made.layout.length[0] >= 0:
        # A duration stays positive, and no search is to lose itself in very long ones.
        length, size = made.layout.length[:1], made.description.expected_duration
        low, high = draft.lower[0][length].copy(), draft.upper[0][length].copy()
        draft.upper[0][length] = LONGEST * np.where(np.isfinite(high), high, size)
        found += _sides(draft, phase, "the duration", length, np.full(1, np.nan), np.full(1, -np.inf), high, size)
    return found


def _as_variables(draft: Draft, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Variables that stand for rows, and the bounds that the rows had."""
    low, high = draft.row_lower[0][rows].copy(), draft.row_upper[0][rows].copy()
    draft.row_lower[0][rows] = draft.row_upper[0][rows] = 0.0
    variables = draft.add_variables((len(rows),))
    draft.add_linear(rows, variables, -1.0)
    # Bounds of variables stand in one array.
    draft.lower, draft.upper = [joined(draft.lower)], [joined(draft.upper)]
    return variables, low, high


def _bounded(made: Transcription) -> Iterator[tuple[str, np.ndarray, np.ndarray, float]]:
    """Variables with bounds by name: inputs, unknowns, states on the way and at the end, free parameters."""
    layout, stage = made.layout, made.stage
    at_points, count = layout.mesh.point_shares, stage.model_states + len(stage.linear)
    for quantity, table, shares in (
        (stage.inputs, layout.inputs, layout.shares[:-1]),
        (stage.unknowns, layout.unknowns, at_points),
    ):
        for k, name in enumerate(quantity.labels):
            yield name, table[:, k], shares, float(quantity.nominal[k])
    for k in range(count):
        name, size = stage.states.labels[k], float(stage.states.nominal[k])
        ends = layout.nodes[-1:, k]
        own = np.concatenate([layout.nodes[1:-1, k], layout.points[:, k] if len(layout.points) else ends[:0]])
        at = np.concatenate([layout.shares[1:-1], at_points if len(layout.points) else at_points[:0]])
        use = own != ends[0]
        unique = np.unique(own[use], return_index=True)[1]
        yield name, own[use][unique], at[use][unique], size
        yield name, ends, np.ones(1), size
    for k, wanted in made.description.free.items():
        label = made.description.system.labels["p"][k]
        yield label, layout.parameters[:1, k], np.full(1, np.nan), max(abs(wanted.guess), 1e-3)


def _sides(
    draft: Draft, phase: int, name: str, variables: np.ndarray, shares: np.ndarray, low: np.ndarray, high: np.ndarray,
    size: float,
) -> list[Relaxed]:  # fmt: skip
    """Rows v + s >= lower and v - s <= upper with one s each, whose size is the cost."""
    found = []
    for side, bounds, sign in (("lower", low, 1.0), ("upper", high, -1.0)):
        use = np.isfinite(bounds)
        if not use.any():
            continue
        own = bounds[use]
        limits = {"lower": own, "upper": np.inf} if side == "lower" else {"lower": -np.inf, "upper": own}
        rows = draft.add_rows((len(own),), **limits)
        draft.add_linear(rows, variables[use], 1.0)
        slack = int(draft.add_variables((1,), lower=0.0, scale=max(size, 1e-12))[0])
        draft.add_linear(rows, slack, sign)
        draft.add_linear(OBJECTIVE, slack, 1.0 / max(size, 1e-12))
        found.append(Relaxed(phase, name, side, shares[use], own, rows, slack))
    draft.lower, draft.upper = [joined(draft.lower)], [joined(draft.upper)]
    return found
