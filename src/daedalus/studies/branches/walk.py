"""Walk along one branch of equilibria and gather what happens on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.analysis.points.complete_point import Entry
from daedalus.analysis.points.operating_point import OperatingPoint
from daedalus.analysis.points.steady_state_search import bounds
from daedalus.errors import InputError, SolverError
from daedalus.model.names import counted
from daedalus.model.system.system import System
from daedalus.studies.branches.curve import LARGEST_TURN, CurvePoint, ImplicitCurve, next_length
from daedalus.studies.branches.equilibrium_branch import Branch, SpecialPoint, unstable_count
from daedalus.studies.branches.followed_points import FollowedPoints, follow_fold, follow_hopf
from daedalus.studies.branches.normal_forms import crossing_form, fold_coefficient, hopf_form
from daedalus.studies.branches.rest_equations import RestEquations
from daedalus.studies.branches.special_points import locate_crossing, locate_fold, locate_hopf

# In lengths of the curve, where the whole range of the parameter is one: first, largest and smallest step.
FIRST, LARGEST, SMALLEST = 1e-3, 0.025, 1e-9
# A point found by its own equations lies within so many steps of where it was seen.
NEAR = 3.0
# A branch is closed when it comes back to its first point within this share of the sizes, in the same direction.
CLOSED = 0.02


class Walk:
    """Follow one branch and gather what happens on it."""

    def __init__(self, rest: RestEquations, name: str, ends: tuple[float, float], most: int) -> None:
        self.rest, self.name, self.ends, self.most = rest, name, ends, most
        self.width = ends[1] - ends[0]
        self.curve = ImplicitCurve(lambda Y: rest.branch(Y, *rest.constants), self.sizes)
        entries = [("x", k) for k in range(rest.nx)] + [("z", k) for k in range(rest.n - rest.nx)]
        self.lower, self.upper = bounds(rest.system, entries)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "curve"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Walk.__init__(self, state["rest"], state["name"], state["ends"], state["most"])
        vars(self).update(state)

    def sizes(self, Y: np.ndarray) -> np.ndarray:
        """The lengths that unknowns are measured in; the range of the parameter is one."""
        return np.append(np.maximum(self.rest.nominal, np.abs(Y[:-1])), self.width)

    def eigenvalues(self, Y: np.ndarray) -> np.ndarray:
        """Those of the linearisation at a point."""
        return self.rest.eigenvalues(Y[:-1], Y[-1:])

    def along(self, Y: np.ndarray, direction: np.ndarray, notes: tuple[str, ...]) -> Branch:
        """The branch from a point in a direction."""
        point = self.curve.through(Y, direction)
        values = self.eigenvalues(Y)
        scale = np.abs(values).max(initial=0.0)
        self.neutral = int(np.sum(np.abs(values) <= 1e-7 * scale)) if self.rest.free.shape[1] else 0
        rows, spectra, seen = [Y], [values], []
        length, ended = FIRST, ""
        while not ended:
            if len(rows) >= self.most:
                ended = f"The branch was ended after {counted(self.most, 'point')}, most_points."
                break
            advanced = self.advance(point, spectra[-1], length)
            if isinstance(advanced, str):
                ended = advanced
                break
            after, spectrum, found, length = advanced
            edge = self.edge(after)
            if edge is not None:
                last = self.onto(point, after, *edge[:2])
                if last is not None:
                    found = [f for f in found if self._between(f[1], point.unknowns, last)]
                    after, spectrum = (
                        CurvePoint(last, after.tangent, after.orientation, after.matrix),
                        self.eigenvalues(last),
                    )
                ended = edge[2]
            elif len(rows) > 10 and self._closed(after, rows):
                ended = f"The branch came back to where it began, {self.name} = {rows[0][-1]:.6g}: it is closed."
            seen += found
            rows.append(after.unknowns)
            spectra.append(spectrum)
            point = after
        done = Branch(self.rest, self.name, np.array(rows), spectra, ended, notes, self.neutral)
        done.points = tuple(self.special(*found) for found in seen)
        return done

    # -- one step ----------------------------------------------------------------------------------------------

    def advance(
        self, point: CurvePoint, spectrum: np.ndarray, length: float
    ) -> tuple[CurvePoint, np.ndarray, list[tuple[str, np.ndarray, Any]], float] | str:
        """The next point with what lies between, or why there is none."""
        while length >= SMALLEST:
            after = self.curve.step(point, length)
            if after is None or after.turn < LARGEST_TURN:
                length /= 2
                continue
            values = self.eigenvalues(after.unknowns)
            found = self.between(point, after, spectrum, values, length)
            if found is None and length > 1e-4:
                length /= 4
                continue
            return after, values, found or [], next_length(after, length, LARGEST)
        return (
            f"The branch could not be followed beyond {self.name} = {point.unknowns[-1]:.6g}: "
            "Newton's method did not converge for the shortest step."
        )

    def between(
        self, before: CurvePoint, after: CurvePoint, old: np.ndarray, new: np.ndarray, length: float
    ) -> list[tuple[str, np.ndarray, Any]] | None:
        """What happens between two points; None where a shorter step has to tell it apart."""
        found: list[tuple[str, np.ndarray, Any]] = []
        explained = 0
        crosses = before.orientation * after.orientation < 0
        turns = before.tangent[-1] * after.tangent[-1] < 0
        middle = 0.5 * (before.unknowns + after.unknowns)
        if crosses:
            Y = self._near(locate_crossing(self.rest, middle), middle, length)
            if Y is None:
                return None
            found.append(("branch point", Y, before.tangent))
            explained = 1
        elif turns:
            Y = self._near(locate_fold(self.rest, middle), middle, length)
            if Y is None:
                return None
            found.append(("fold", Y, None))
            explained = 1
        change = unstable_count(new, self.neutral) - unstable_count(old, self.neutral)
        left = abs(change) - explained
        if left >= 2 or (left == 1 and explained == 1 and abs(change) == 2):
            pair = _critical_pair(old, new, self.neutral)
            if pair is not None:
                hopf = locate_hopf(self.rest, middle, pair)
                Y = None if hopf is None else self._near(hopf[0], middle, length)
                if hopf is not None and Y is not None:
                    found.append(("hopf", Y, hopf[1]))
                    left -= 2
                else:
                    return None
        if left > 0:
            return None
        return sorted(found, key=lambda f: float(np.sum((f[1] - before.unknowns) * before.tangent)))

    def _near(self, Y: np.ndarray | None, middle: np.ndarray, length: float) -> np.ndarray | None:
        if Y is None:
            return None
        gap = float(np.sqrt(np.sum(((Y - middle) / self.sizes(middle)) ** 2) / np.sqrt(len(Y))))
        return Y if gap <= NEAR * max(length, 1e-6) else None

    # -- ends --------------------------------------------------------------------------------------------------

    def edge(self, point: CurvePoint) -> tuple[int, float, str] | None:
        """What limit a point has passed: the position and value of the limit, and a sentence."""
        value = point.unknowns[-1]
        low, high = self.ends
        slack = 1e-9 * self.width
        n = self.rest.n
        if value <= low + slack and point.tangent[-1] < 0:
            return n, low, f"The branch leaves the range at {self.name} = {low:.6g}."
        if value >= high - slack and point.tangent[-1] > 0:
            return n, high, f"The branch leaves the range at {self.name} = {high:.6g}."
        y = point.unknowns[:n]
        slack_y = 1e-9 * np.maximum(self.rest.nominal, np.abs(y))
        labels = (*self.rest.system.labels["x"], *self.rest.system.labels["z"])
        for k in np.flatnonzero((y < self.lower - slack_y) | (y > self.upper + slack_y)):
            limit = float(self.lower[k] if y[k] < self.lower[k] else self.upper[k])
            return int(k), limit, f"{labels[k]} reaches its bound {limit:.6g} there."
        return None

    def onto(self, before: CurvePoint, after: CurvePoint, k: int, value: float) -> np.ndarray | None:
        """The point of the curve where an unknown has a value."""
        gap = after.unknowns[k] - before.unknowns[k]
        share = (value - before.unknowns[k]) / gap if gap else 1.0
        guess = before.unknowns + share * (after.unknowns - before.unknowns)
        guess[k] = value
        normal = np.zeros(len(guess))
        normal[k] = 1.0
        end = self.curve.corrected(guess, normal / self.sizes(guess)[k], after.tangent)
        return None if end is None else end.unknowns

    def _between(self, Y: np.ndarray, first: np.ndarray, last: np.ndarray) -> bool:
        gap = (last - first) / self.sizes(first)
        share = float(np.sum((Y - first) / self.sizes(first) * gap) / max(np.sum(gap**2), 1e-300))
        return -1e-6 <= share <= 1 + 1e-6

    def _closed(self, point: CurvePoint, rows: list[np.ndarray]) -> bool:
        size = self.sizes(rows[0])
        forward = float(np.sum((rows[1] - rows[0]) * point.tangent / size**2)) > 0
        return forward and float(np.max(np.abs(point.unknowns - rows[0]) / size)) < CLOSED * min(1.0, len(rows) / 50)

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
                "a stable orbit is born (supercritical)"
                if coefficient < 0
                else "an unstable orbit is born (subcritical)"
            )
            text = (
                f"Hopf point {where}: a pair of eigenvalues ±{frequency:.6g}j crosses the imaginary axis; first "
                f"Lyapunov coefficient {coefficient:.6g}, so {birth}."
            )
        else:
            crossing = crossing_form(rest, Y, extra)
            coefficient, directions = crossing.coefficient, crossing.directions
            text = f"Branch point {where}: another branch of equilibria crosses ({crossing.kind})."
        return SpecialPoint(
            kind, self.name, float(a[0]), rest.point(y, a), rest.eigenvalues(y, a), coefficient, text, frequency, self,
            tuple(directions),
        )  # fmt: skip

    def switched(self, point: SpecialPoint) -> Branch:
        """The other branch through a branch point, from its end on one side to that on the other."""
        Y = np.concatenate([point.state.vectors["x"], point.state.vectors["z"], [point.parameter]])
        size, other = self.sizes(Y), point._directions[1]
        along = other / np.sqrt(np.sum((other / size) ** 2) / np.sqrt(len(Y)))
        halves = []
        for sign in (-1.0, 1.0):
            begun = self._off_the_crossing(Y, sign * along)
            if begun is not None:
                halves.append(self.along(begun, sign * along, ()))
        if not halves:
            raise SolverError(
                f"The other branch at {self.name} = {point.parameter:.6g} could not be entered.",
                because="Newton's method falls back onto the first one from every distance tried.",
                remedy="dd.branch(m, ..., start={...}) with values on the other branch",
            )
        rows, spectra = [Y], [np.array(point.eigenvalues)]
        found: tuple[SpecialPoint, ...] = ()
        if len(halves) == 2:
            rows, spectra = [*halves[0]._rows[::-1], Y], [*halves[0].eigenvalues[::-1], *spectra]
            found = halves[0].points[::-1]
        rows, spectra = [*rows, *halves[-1]._rows], [*spectra, *halves[-1].eigenvalues]
        ended = " ".join(dict.fromkeys(half.ended for half in halves))
        joined = Branch(self.rest, self.name, np.array(rows), spectra, ended, (), self.neutral)
        joined.points = (*found, *halves[-1].points)
        return joined

    def _off_the_crossing(self, Y: np.ndarray, along: np.ndarray) -> np.ndarray | None:
        """A point of the other branch a short way from the crossing."""
        size = self.sizes(Y)
        for length in (1e-3, 1e-2, 1e-4, 3e-2):
            found = self.curve.corrected(Y + length * along, along / size**2, along)
            if found is None:
                continue
            gap = (found.unknowns - Y) / size
            share = float(np.sum(gap * along / size) / np.sqrt(np.sum(gap**2) * np.sum((along / size) ** 2)))
            if share > 0.7:
                return found.unknowns
        return None

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


def _critical_pair(old: np.ndarray, new: np.ndarray, neutral: int) -> complex | None:
    """The complex eigenvalue nearest to the imaginary axis on either side of a change."""
    scale = max(np.abs(old).max(initial=0.0), np.abs(new).max(initial=0.0))
    candidates = [value for value in (*old, *new) if value.imag > 1e-9 * scale]
    return complex(min(candidates, key=lambda value: abs(value.real))) if candidates else None


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
        first, last = (float(value) for value in span)  # type: ignore[attr-defined]
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
