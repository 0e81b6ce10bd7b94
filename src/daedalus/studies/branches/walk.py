"""Walk along one branch of equilibria and gather what happens on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.analysis.points.complete_point import Entry
from daedalus.analysis.points.operating_point import OperatingPoint
from daedalus.analysis.points.steady_state_search import bounds
from daedalus.errors import InputError, SolverError
from daedalus.model.system.system import System
from daedalus.studies.branches.curve import CurvePoint, ImplicitCurve
from daedalus.studies.branches.curve_walk import LARGEST, CurveWalk
from daedalus.studies.branches.equilibrium_branch import Branch, SpecialPoint, Spectra, unstable_count
from daedalus.studies.branches.followed_points import FollowedPoints, follow_fold, follow_hopf
from daedalus.studies.branches.normal_forms import crossing_form, fold_coefficient, hopf_form
from daedalus.studies.branches.rest_equations import RestEquations
from daedalus.studies.branches.special_points import locate_crossing, locate_fold, locate_hopf

# A point found by its own equations lies within so many steps of where it was seen.
NEAR = 3.0
# A branch is closed when it comes back to its first point within this share of the sizes, in the same direction.
CLOSED = 0.02
# It goes to infinity where an unknown is so many times its size, and the parameter moves by this share of its range
# while the unknown doubles.
ENDLESS, STAYS = 1e6, 1e-9
# Eigenvalues of up to this many states take less time than a step. Of more, they are found again when one of them would
# cross the imaginary axis within so many times the way since they were seen, and after so many steps.
FEW_STATES, AHEAD, MOST_UNSEEN = 40, 1.5, 8
# Two Hopf points between two points of a branch are one where their frequencies agree to this share.
SAME = 1e-6
# A change between two points that were passed already is searched for in halves, so many times.
MOST_HALVES = 8

# The kind of a special point, its unknowns, and what else is known of it.
Seen = tuple[str, np.ndarray, Any]


@dataclass(eq=False)
class RestStep:
    """A point of the branch, with the eigenvalues of the linearisation there when somebody asks for them."""

    point: CurvePoint
    rest: RestEquations
    known: np.ndarray | None = None

    @property
    def eigenvalues(self) -> np.ndarray:
        """Those of the linearisation."""
        if self.known is None:
            Y = self.point.unknowns
            self.known = self.rest.eigenvalues(Y[:-1], Y[-1:])
        return self.known


class Walk(CurveWalk[RestStep, Seen]):
    """Follow one branch and gather what happens on it."""

    def __init__(
        self, rest: RestEquations, name: str, ends: tuple[float, float], most: int, longest: float | None = None
    ) -> None:
        super().__init__(name, ends, most)
        self.rest, self.longest = rest, longest
        self.curve = ImplicitCurve(lambda Y: rest.branch(Y, *rest.constants), self.sizes)
        entries = [("x", k) for k in range(rest.nx)] + [("z", k) for k in range(rest.n - rest.nx)]
        self.lower, self.upper = bounds(rest.system, entries)
        self.bounded = bool(np.isfinite(self.lower).any() or np.isfinite(self.upper).any())
        self.least = np.append(rest.nominal, 0.0)  # sizes of unknowns that are zero
        # In the length of a step, unknowns that move together count as the fourth root of their number.
        self.largest = (LARGEST if longest is None else longest) * max(1.0, (rest.n / 2) ** 0.25)
        self.passed: list[RestStep] = []  # since eigenvalues were seen, that step first
        self.way = 0.0  # along these
        self.rates: np.ndarray | None = None  # of real parts, in lengths of the curve
        self.settled: set[int] = set()  # what was found on steps before the last one

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "curve"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Walk.__init__(self, state["rest"], state["name"], state["ends"], state["most"], state["longest"])
        vars(self).update(state)

    def sizes(self, Y: np.ndarray) -> np.ndarray:
        """The lengths that unknowns are measured in; the range of the parameter is one."""
        lengths: np.ndarray = np.maximum(self.least, np.abs(Y))
        lengths[-1] = self.width
        return lengths

    def along(self, Y: np.ndarray, direction: np.ndarray, notes: tuple[str, ...]) -> Branch:
        """The branch from a point in a direction."""
        first = RestStep(self.curve.through(Y, direction), self.rest)
        values = first.eigenvalues
        scale = np.abs(values).max(initial=0.0)
        self.neutral = int(np.sum(np.abs(values) <= 1e-7 * scale)) if self.rest.free.shape[1] else 0
        self.passed, self.way, self.rates = [first], 0.0, None
        steps, seen, ended = self.gathered(first)
        seen += self._seen_since(steps)
        rows = np.array([step.point.unknowns for step in steps])
        spectra = Spectra(self.rest, rows, [step.known for step in steps])
        done = Branch(self.rest, self.name, rows, spectra, ended, (*notes, *self.missed), self.neutral)
        done.points = tuple(self.special(*one) for one in seen)
        return done

    # -- one step ----------------------------------------------------------------------------------------------

    def stepped(self, step: RestStep, length: float) -> RestStep | None:
        """The point at a distance along the curve."""
        after = self.curve.step(step.point, length)
        return None if after is None else RestStep(after, self.rest)

    def lost(self, step: RestStep) -> str:
        """Where the branch was when no step was short enough."""
        return (
            f"The branch could not be followed beyond {self.name} = {step.point.unknowns[-1]:.6g}: "
            "Newton's method did not converge for the shortest step."
        )

    def between(self, first: RestStep, last: RestStep, length: float) -> list[Seen] | None:
        """What happens between two points; None where a shorter step has to tell it apart."""
        if self.rest.nx <= FEW_STATES:
            return self._between(first, last, length)
        if first is not self.passed[-1]:
            self.way += self._gap(self.passed[-1], first)
            self.passed.append(first)
        before, after = first.point, last.point
        turns = before.orientation * after.orientation < 0 or before.tangent[-1] * after.tangent[-1] < 0
        way = self.way + self._gap(first, last)
        if not turns and not self._is_near(way):
            return []
        if not turns and self._unstable(self.passed[0]) == self._unstable(last):
            self._remember(last, way)
            return []
        earlier = self._told_in(self.passed)
        self.settled = {id(one[1]) for one in earlier}
        own = self._between(first, last, length)
        if own is None:
            return None
        self._remember(last, way)
        return [*earlier, *own]

    def _is_near(self, way: float) -> bool:
        """Whether eigenvalues may have crossed the imaginary axis on the way since they were seen."""
        if self.rates is None or len(self.passed) > MOST_UNSEEN:
            return True
        seen = np.sort(self.passed[0].eigenvalues.real)
        return bool(np.any(seen * (seen + AHEAD * way * self.rates) <= 0))

    def _remember(self, last: RestStep, way: float) -> None:
        """How fast real parts moved since eigenvalues were seen; they are seen now."""
        one, other = np.sort(self.passed[0].eigenvalues.real), np.sort(last.eigenvalues.real)
        self.rates = (other - one) / max(way, NOT_ZERO) if len(one) == len(other) else None
        self.passed, self.way = [last], 0.0

    def _gap(self, one: RestStep, other: RestStep) -> float:
        step = (other.point.unknowns - one.point.unknowns) / self.sizes(one.point.unknowns)
        return float(np.sqrt(np.sum(step**2) / np.sqrt(len(step))))

    def _told_in(self, steps: Sequence[RestStep]) -> list[Seen]:
        """What happened on steps that were passed, found by halves where the number of eigenvalues has changed."""
        if len(steps) < 2 or self._unstable(steps[0]) == self._unstable(steps[-1]):
            return []
        if len(steps) == 2:
            return self._halved(steps[0], steps[1], MOST_HALVES)
        middle = len(steps) // 2
        return [*self._told_in(steps[: middle + 1]), *self._told_in(steps[middle:])]

    def _halved(self, first: RestStep, last: RestStep, most: int) -> list[Seen]:
        """What happens between two points that were passed, by shorter steps where these have to tell it apart."""
        length = self._gap(first, last)
        found = self._between(first, last, length)
        if found is not None:
            return found
        middle = self.stepped(first, length / 2) if most else None
        if middle is None:
            return self.not_located(first, last)
        return [*self._halved(first, middle, most - 1), *self._halved(middle, last, most - 1)]

    def _seen_since(self, steps: Sequence[RestStep]) -> list[Seen]:
        """What happened on the last steps of a branch, where eigenvalues were not seen."""
        last = steps[-1]
        open_steps = [step for step in self.passed if any(step is one for one in steps)]
        if self.rest.nx <= FEW_STATES or not open_steps:
            return []
        if last is not open_steps[-1]:
            open_steps.append(last)
        return self._told_in(open_steps)

    def _unstable(self, step: RestStep) -> int:
        return unstable_count(step.eigenvalues, self.neutral)

    def _between(self, first: RestStep, last: RestStep, length: float) -> list[Seen] | None:
        found, unexplained = self._located(first, last, length)
        return None if unexplained else found

    def not_located(self, before: RestStep, after: RestStep) -> list[Seen]:
        """Note a change that no step was short enough to tell apart, with what lies there of what was located."""
        found, count = self._located(before, after, self.telling)
        many = "an eigenvalue passes" if count == 1 else f"{count} eigenvalues pass"
        grain = 2 * self.telling * self.width
        middle = grain * round(0.5 * float(before.point.unknowns[-1] + after.point.unknowns[-1]) / grain)
        self.missed.append(
            f"{many} through the imaginary axis near {self.name} = {middle:.6g}, and nothing that was located there "
            f"explains it"
        )
        return found

    def _located(self, first: RestStep, last: RestStep, length: float) -> tuple[list[Seen], int]:
        """What happens between two points, in its order, and how many eigenvalues cross that this does not explain.

        A fold or a crossing that is there and was not located counts as one of them.
        """
        before, after, old, new = first.point, last.point, first.eigenvalues, last.eigenvalues
        found: list[Seen] = []
        crosses = before.orientation * after.orientation < 0
        turns = before.tangent[-1] * after.tangent[-1] < 0
        if crosses:
            real = [values.real[np.argmin(np.abs(values))] for values in (old, new)]
            middle = self.curve.between(before, after, _share_to_zero(*real))
            Y = self._near(locate_crossing(self.rest, middle), middle, length)
            found += [] if Y is None else [("branch point", Y, before.tangent)]
        elif turns:
            middle = self.curve.between(before, after, _share_to_zero(before.tangent[-1], after.tangent[-1]))
            Y = self._near(locate_fold(self.rest, middle), middle, length)
            found += [] if Y is None else [("fold", Y, None)]
        missing = int((crosses or turns) and not found)
        change = abs(unstable_count(new, self.neutral) - unstable_count(old, self.neutral))
        # A pair may cross beside a fold or a crossing, to the same side or to the other one.
        pairs = _crossing_pairs(old, new) if change >= 2 or found else []
        if change >= 2 and not pairs:
            pairs = _nearest_pair(old, new)
        for pair in pairs:
            share = _share_to_zero(pair[0].real, pair[1].real)
            middle = self.curve.between(before, after, share)
            hopf = locate_hopf(self.rest, middle, (1 - share) * pair[0] + share * pair[1])
            Y = None if hopf is None else self._near(hopf[0], middle, length)
            if hopf is None or Y is None or not self._is_inside(Y, first, last):
                continue
            if not any(kind == "hopf" and np.isclose(extra, hopf[1], rtol=SAME) for kind, _, extra in found):
                found.append(("hopf", Y, hopf[1]))
        ordered = sorted(found, key=lambda f: float(np.sum((f[1] - before.unknowns) * before.tangent)))
        crossed = sum(2 if kind == "hopf" else 1 for kind, *_ in found)
        odd = int(change > 0 and (crossed - change) % 2 != 0)
        return ordered, max(change - crossed, odd, missing)

    def _near(self, Y: np.ndarray | None, middle: np.ndarray, length: float) -> np.ndarray | None:
        if Y is None:
            return None
        gap = float(np.sqrt(np.sum(((Y - middle) / self.sizes(middle)) ** 2) / np.sqrt(len(Y))))
        return Y if gap <= NEAR * max(length, 1e-6) else None

    # -- ends --------------------------------------------------------------------------------------------------

    def edge(self, point: CurvePoint) -> tuple[int, float, str] | None:
        """What limit a point has passed: an end of the range, or a bound of an unknown."""
        passed = super().edge(point)
        if passed is not None:
            return passed
        if not self.bounded:
            return None
        n = self.rest.n
        y = point.unknowns[:n]
        slack_y = 1e-9 * np.maximum(self.rest.nominal, np.abs(y))
        labels = (*self.rest.system.labels["x"], *self.rest.system.labels["z"])
        for k in np.flatnonzero((y < self.lower - slack_y) | (y > self.upper + slack_y)):
            limit = float(self.lower[k] if y[k] < self.lower[k] else self.upper[k])
            return int(k), limit, f"{labels[k]} reaches its bound {limit:.6g} there."
        return None

    def corrected(self, before: RestStep, guess: np.ndarray, k: int, along: np.ndarray) -> RestStep | None:
        """The point of the curve near a guess whose unknown k is as in the guess."""
        normal = np.zeros(len(guess))
        normal[k] = 1 / self.sizes(guess)[k]
        end = self.curve.corrected(guess, normal, along)
        return None if end is None else RestStep(end, self.rest)

    def is_before(self, special: Seen, first: RestStep, last: RestStep) -> bool:
        """Whether something happens before the last point."""
        return id(special[1]) in self.settled or self._is_inside(special[1], first, last, 1e-6)

    def _is_inside(self, Y: np.ndarray, first: RestStep, last: RestStep, slack: float = 0.1) -> bool:
        """Whether a point lies between two others, in the direction from one to the other."""
        begin = first.point.unknowns
        gap = (last.point.unknowns - begin) / self.sizes(begin)
        share = float(np.sum((Y - begin) / self.sizes(begin) * gap) / max(np.sum(gap**2), NOT_ZERO))
        return -slack <= share <= 1 + slack

    def ending(self, steps: Sequence[RestStep], after: RestStep) -> str:
        """Why the branch ends where it does: it is closed, or goes to infinity."""
        if len(steps) <= 10:
            return ""
        endless = self._endless(after.point)
        if endless:
            return endless
        first, second, here = steps[0].point.unknowns, steps[1].point.unknowns, after.point
        size = self.sizes(first)
        forward = float(np.sum((second - first) * here.tangent / size**2)) > 0
        near = float(np.max(np.abs(here.unknowns - first) / size)) < CLOSED * min(1.0, len(steps) / 50)
        closed = f"The branch came back to where it began, {self.name} = {first[-1]:.6g}: it is closed."
        return closed if forward and near else ""

    def _endless(self, here: CurvePoint) -> str:
        """Whether an unknown grows without bounds while the parameter stays, in words."""
        moves = here.tangent / self.sizes(here.unknowns)
        if abs(moves[-1]) > STAYS:
            return ""
        k = int(np.argmax(np.abs(moves[:-1])))
        grown = abs(here.unknowns[k]) > ENDLESS * self.least[k] and here.tangent[k] * here.unknowns[k] > 0
        labels = (*self.rest.system.labels["x"], *self.rest.system.labels["z"])
        where = f"{self.name} = {here.unknowns[-1]:.6g}"
        return f"The branch goes to infinity at {where}: {labels[k]} grows without bounds there." if grown else ""

    # -- special points ----------------------------------------------------------------------------------------

    def special(self, kind: str, Y: np.ndarray, extra: Any) -> SpecialPoint:
        """A special point with its normal form, told in words."""
        rest, n = self.rest, self.rest.n
        y, a = Y[:n], Y[n:]
        # Rounding of a zero is not told.
        a = np.where(np.abs(a) <= 1e-14 * self.width, 0.0, a)
        where = f"at {self.name} = {a[0]:.10g}"
        frequency: float | None = None
        directions: tuple[np.ndarray, ...] = ()
        if kind == "fold":
            coefficient = fold_coefficient(rest, y, a)
            text = f"Fold {where}: the branch turns back, and an eigenvalue passes through zero."
        elif kind == "hopf":
            frequency = float(extra)
            form = hopf_form(rest, y, a, frequency)
            coefficient = form.coefficient
            birth = (
                f"first Lyapunov coefficient {coefficient:.6g}, so a stable orbit is born (supercritical)"
                if coefficient < 0
                else f"first Lyapunov coefficient {coefficient:.6g}, so an unstable orbit is born (subcritical)"
                if np.isfinite(coefficient)
                else "another eigenvalue resonates with it, so there is no first Lyapunov coefficient"
            )
            text = f"Hopf point {where}: a pair of eigenvalues ±{frequency:.6g}j crosses the imaginary axis; {birth}."
        else:
            crossing = crossing_form(rest, Y, extra)
            coefficient, directions = crossing.coefficient, crossing.directions
            text = f"Branch point {where}: another branch of equilibria crosses ({crossing.kind})."
        return SpecialPoint(
            kind, self.name, float(a[0]), rest.point(y, a), coefficient, text, frequency, self, tuple(directions)
        )

    def eigenvalues_at(self, point: SpecialPoint) -> np.ndarray:
        """The eigenvalues of the linearisation at a special point."""
        Y = self._unknowns(point)
        return self.rest.eigenvalues(Y[:-1], Y[-1:])

    @staticmethod
    def _unknowns(point: SpecialPoint) -> np.ndarray:
        return np.concatenate([point.state.vectors["x"], point.state.vectors["z"], [point.parameter]])

    def switched(self, point: SpecialPoint) -> Branch:
        """The other branch through a branch point, from its end on one side to that on the other."""
        Y, halves = self._unknowns(point), []
        for sign in (-1.0, 1.0):
            begun = self.entered(self.curve, Y, sign * point._directions[1], self.sizes(Y))
            if begun is not None:
                halves.append(self.along(begun.unknowns, begun.tangent, ()))
        if not halves:
            raise SolverError(
                f"The other branch at {self.name} = {point.parameter:.6g} could not be entered.",
                because="Newton's method falls back onto the first one from every distance tried.",
                remedy="dd.branch(m, ..., start={...}) with values on the other branch",
            )
        middle = [Y], [np.array(point.eigenvalues)]
        return self._joined(halves[0] if len(halves) == 2 else None, middle, halves[-1], ())

    def both_ways(self, Y: np.ndarray, direction: np.ndarray, notes: tuple[str, ...]) -> Branch:
        """The branch through a point, from its end against a direction to that along it."""
        back, forth = (self.along(Y, sign * direction, ()) for sign in (-1.0, 1.0))
        return self._joined(back, ([], []), forth, notes, twice=1)

    def _joined(
        self, back: Branch | None, middle: Any, forth: Branch, notes: tuple[str, ...], twice: int = 0
    ) -> Branch:
        """One branch of two halves from the middle, the first one backwards; twice: rows that both begin with."""
        rows, spectra = middle
        points: tuple[SpecialPoint, ...] = ()
        notes = tuple(dict.fromkeys([*notes, *(back.notes if back is not None else ()), *forth.notes]))
        if back is not None:
            rows = [*back._rows[twice:][::-1], *rows]
            spectra = [*list(back.eigenvalues)[twice:][::-1], *spectra]
            points = back.points[::-1]
        rows, spectra = np.array([*rows, *forth._rows]), [*spectra, *forth.eigenvalues.known]
        ended = " ".join(dict.fromkeys(half.ended for half in (back, forth) if half is not None))
        joined = Branch(self.rest, self.name, rows, Spectra(self.rest, rows, spectra), ended, notes, self.neutral)
        joined.points = (*points, *forth.points)
        return joined

    def followed(self, point: SpecialPoint, name: str, span: object) -> FollowedPoints:
        """The curve of folds or Hopf points through one of them, in a second parameter."""
        if point.kind == "branch point":
            raise InputError(
                "A branch point does not persist when a second parameter moves.",
                f"{self.name} = {point.parameter:.6g}",
                because="branches that cross come apart under a general change of the equations.",
                remedy="p.follow(...) of a fold or of a Hopf point",
            )
        rest = self.rest
        second = moved_entry(rest.system, name)
        if second == rest.active[0]:
            raise InputError(f"{name} moves along the branch already.", remedy="another parameter")
        value = float(point.state.vectors[second[0]][second[1]])
        reach = 10 * abs(value) if value else 1.0
        ends = (value - reach, value + reach) if span is None else read_range(name, span)
        here = OperatingPoint(rest.system, point.state.vectors)
        wide = RestEquations(rest.system, here, [*rest.active, second], like=rest)
        if point.kind == "fold":
            return follow_fold(wide, (self.name, name), [self.ends, ends])
        return follow_hopf(wide, (self.name, name), [self.ends, ends], float(point.frequency or 0.0))


def _share_to_zero(first: float, last: float) -> float:
    """Where a value that changes its sign is zero, as a share of the way; the middle where it does not."""
    return float(first / (first - last)) if first * last < 0 else 0.5


def _crossing_pairs(old: np.ndarray, new: np.ndarray) -> list[tuple[complex, complex]]:
    """The complex eigenvalues, before and after a change, that cross the imaginary axis, the nearest first."""
    from scipy.optimize import linear_sum_assignment

    before, after = _complex(old, new)
    rows, columns = linear_sum_assignment(np.abs(before[:, None] - after[None, :]))
    crossing = [(before[r], after[c]) for r, c in zip(rows, columns) if before[r].real * after[c].real <= 0]
    return sorted(crossing, key=lambda pair: min(abs(value.real) for value in pair))


def _nearest_pair(old: np.ndarray, new: np.ndarray) -> list[tuple[complex, complex]]:
    """The complex eigenvalue on either side that is nearest to the axis: one that becomes complex has no partner."""
    both = np.concatenate(_complex(old, new))
    return [(value, value) for value in both[np.argsort(np.abs(both.real))][:1]]


def _complex(old: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scale = max(np.abs(old).max(initial=0.0), np.abs(new).max(initial=0.0))
    return old[old.imag > 1e-9 * scale], new[new.imag > 1e-9 * scale]


# -- what was given -------------------------------------------------------------------------------------------


def moved_entry(system: System, name: str) -> Entry:
    """Where a parameter or an input of one number lives."""
    place = system.place(name)
    if place.letter not in ("u", "p") or len(place.positions) != 1:
        kind = "several numbers" if len(place.positions) > 1 else "a state or algebraic variable"
        raise InputError(
            f"{name} cannot be moved: it is {kind}.",
            because="a branch follows equilibria over one parameter or one input.",
            remedy=f"one element, as in {name + '[0]'!r}" if len(place.positions) > 1 else "the name of a parameter",
        )
    return str(place.letter), int(place.positions[0])


def read_range(name: str, span: object) -> tuple[float, float]:
    """The smaller and the larger end of a range."""
    try:
        first, last = (float(value) for value in (() if isinstance(span, str) else span))  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        first = last = float("nan")
    if not (np.isfinite(first) and np.isfinite(last) and first != last):
        raise InputError(
            f"The range of {name} is not a pair of different numbers.",
            f"got {span!r}"[:120],
            because="the branch begins at the first value and goes towards the second.",
            remedy=f"dd.branch(m, {name!r}, (0.0, 2.0))",
        )
    return min(first, last), max(first, last)
