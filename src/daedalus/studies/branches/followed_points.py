"""Curves of folds and Hopf points in two parameters, and what lies on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from daedalus.analysis.points.operating_point import OperatingPoint
from daedalus.errors import SolverError
from daedalus.model.names import counted
from daedalus.studies.branches.curve import LARGEST_TURN, CurvePoint, ImplicitCurve, next_length
from daedalus.studies.branches.curve_walk import FIRST, LARGEST
from daedalus.studies.branches.normal_forms import hopf_form, null_vectors
from daedalus.studies.branches.rest_equations import RestEquations
from daedalus.studies.branches.special_points import locate_double_zero

SMALLEST = 1e-8  # step, in lengths of the curve
# Of one curve, by judgement.
MOST_POINTS = 1000
# A point on the curve is located to this share of the ranges of the parameters.
LOCATED = 1e-11
# Where a test function is zero it is this share of what it was beside, and not at a pole or a jump.
VANISHED = 1e-3

WORDS = {
    "cusp": "Cusp: two folds meet and vanish",
    "bogdanov-takens": "Bogdanov-Takens point: the zero eigenvalue is double",
    "generalised hopf": "Generalised Hopf point: the first Lyapunov coefficient changes its sign",
    "fold-hopf": "Fold-Hopf point: an eigenvalue is zero, beside a pair on the imaginary axis",
    "double hopf": "Double Hopf point: two pairs of eigenvalues are on the imaginary axis",
}


@dataclass(frozen=True, eq=False, repr=False)
class TwoParameterPoint:
    """A special point on a curve of folds or Hopf points: its kind, both parameters, and all values by name."""

    kind: str
    parameters: Mapping[str, float]
    state: OperatingPoint
    sentence: str

    def __repr__(self) -> str:
        values = ", ".join(f"{name} = {value:.10g}" for name, value in self.parameters.items())
        return f"TwoParameterPoint({self.kind} at {values})"

    def __str__(self) -> str:
        return self.sentence


class FollowedPoints(Mapping[str, np.ndarray]):
    """The result of `point.follow("nu")`: folds or Hopf points over two parameters. `curve["mu"]` is an array.

    kind: "fold" or "hopf". parameters: the two names. points: cusps, Bogdanov-Takens, generalised Hopf, fold-Hopf and
    double Hopf points.
    frequency: (k,) of Hopf points. ended: why the curve ends, at both ends.
    """

    def __init__(
        self, kind: str, names: tuple[str, str], rest: RestEquations, rows: np.ndarray, frequency: np.ndarray | None,
        points: tuple[TwoParameterPoint, ...], ended: str,
    ) -> None:  # fmt: skip
        self.kind, self.parameters, self.points, self.ended, self.frequency = kind, names, points, ended, frequency
        self._rest, self._rows = rest, rows

    def __getitem__(self, name: str) -> np.ndarray:
        if name in self.parameters:
            return np.array(self._rows[:, self._rest.n + self.parameters.index(name)])
        n = self._rest.n
        return np.array([self._rest.point(row[:n], row[n:])[name] for row in self._rows])

    def __iter__(self) -> Iterator[str]:
        return iter(
            (*self.parameters, *OperatingPoint(self._rest.system, self._rest.vectors(self._rest.y, self._rest.a)))
        )

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __str__(self) -> str:
        first, second = self.parameters
        what = "folds" if self.kind == "fold" else "Hopf points"
        count = counted(len(self._rows), "point")
        lines = [f"Curve of {what} of {self._rest.system.name!r} over {first} and {second}, {count}"]
        return "\n".join([*lines, *(f"  {point.sentence}" for point in self.points), f"  {self.ended}"])

    def plot(self, ax: Any = None) -> Any:
        """The curve in the plane of the two parameters, with its special points; returns the figure."""
        from daedalus.display.branches.branch_plot import plot_followed

        return plot_followed(self, ax)


def follow_fold(rest: RestEquations, names: tuple[str, str], ranges: list[tuple[float, float]]) -> FollowedPoints:
    """The folds through a point, to both sides."""
    n = rest.n
    slopes = rest.branch(np.append(rest.y, rest.a), *rest.constants)[1]
    slopes = slopes if isinstance(slopes, np.ndarray) else slopes.toarray()
    _, q = null_vectors(slopes[:, :n], rest.square_scales(rest.y, rest.a))
    size = np.maximum(rest.nominal, np.abs(rest.y))
    q = q / np.linalg.norm(q / size)
    direction = q / size**2
    start = np.concatenate([rest.y, q, rest.a])
    before: list[np.ndarray] = []

    def equations(Y: np.ndarray) -> tuple[np.ndarray, Any]:
        return rest.forms.fold(Y, *rest.constants, direction)

    def tests(Y: np.ndarray) -> dict[str, float]:
        y, a = Y[:n], Y[2 * n :]
        E, _ = rest.pencil(y, a)
        matrix = rest.branch(np.append(y, a), *rest.constants)[1]
        matrix = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        p, _ = null_vectors(matrix[:, :n], rest.square_scales(y, a))
        left, mode = rest.all_rows(p), Y[n : 2 * n]
        # The sign of a null vector is free: the left one keeps the side of the one before.
        if before and before[0] @ left < 0:
            left = -left
        before[:] = [left]
        form = rest.second(y, a, rest.direction(mode), rest.direction(mode)).real
        pairs = _signed(_others(rest, y, a, [0.0]), real=False)
        return {"cusp": float(left @ form), "bogdanov-takens": float(left @ E @ mode), "fold-hopf": pairs}

    def plain(Y: np.ndarray) -> np.ndarray:
        return np.concatenate([Y[:n], Y[2 * n :]])

    sizes = np.concatenate([size, size])
    return _followed("fold", rest, names, ranges, start, sizes, equations, tests, plain, None)


def follow_hopf(
    rest: RestEquations, names: tuple[str, str], ranges: list[tuple[float, float]], frequency: float
) -> FollowedPoints:
    """The Hopf points through a point, to both sides; the curve ends where the frequency goes to zero."""
    n = rest.n
    E, A = rest.pencil(rest.y, rest.a)
    rows = len(rest.system.equation_labels)
    _, q = null_vectors(-A[:rows] + 1j * frequency * E[:rows], rest.scales(rest.y, rest.a))
    size = np.maximum(rest.nominal, np.abs(rest.y))
    q = q / np.linalg.norm(q / size)
    d = q / size**2
    direction = np.concatenate([d.real, d.imag])
    start = np.concatenate([rest.y, q.real, q.imag, [frequency], rest.a])

    def equations(Y: np.ndarray) -> tuple[np.ndarray, Any]:
        return rest.forms.hopf(Y, *rest.constants, direction)

    def tests(Y: np.ndarray) -> dict[str, float]:
        omega = float(Y[3 * n])
        if abs(omega) < 1e-3 * frequency:
            return {"bogdanov-takens": omega}
        y, a = Y[:n], Y[3 * n + 1 :]
        form, others = hopf_form(rest, y, a, abs(omega)), _others(rest, y, a, [1j * omega, -1j * omega])
        return {
            "bogdanov-takens": omega, "generalised hopf": form.coefficient, "fold-hopf": _signed(others, real=True),
            "double hopf": _signed(others, real=False),
        }  # fmt: skip

    def plain(Y: np.ndarray) -> np.ndarray:
        return np.concatenate([Y[:n], Y[3 * n + 1 :]])

    sizes = np.concatenate([size, size, size, [frequency]])
    return _followed("hopf", rest, names, ranges, start, sizes, equations, tests, plain, 3 * n)


def _others(rest: RestEquations, y: np.ndarray, a: np.ndarray, critical: list[complex]) -> np.ndarray:
    """The eigenvalues beside the critical ones, and beside the zeros of what is free to be anywhere."""
    values = rest.eigenvalues(y, a)
    for known in [*critical, *[0.0] * rest.free.shape[1]]:
        values = np.delete(values, np.argmin(np.abs(values - known))) if len(values) else values
    return values


def _signed(values: np.ndarray, real: bool) -> float:
    """How far the real or complex eigenvalues are from the imaginary axis, with another sign after each that passes."""
    near = np.abs(values.imag) <= 1e-9 * np.abs(values).max(initial=0.0)
    parts = values[near].real if real else values[~near & (values.imag > 0)].real
    return float((-1.0) ** np.sum(parts > 0) * np.abs(parts).min()) if len(parts) else 1.0


def _followed(
    kind: str, rest: RestEquations, names: tuple[str, str], ranges: list[tuple[float, float]], start: np.ndarray,
    sizes: np.ndarray, equations: Callable[[np.ndarray], tuple[np.ndarray, Any]],
    tests: Callable[[np.ndarray], dict[str, float]], plain: Callable[[np.ndarray], np.ndarray], frequency: int | None,
) -> FollowedPoints:  # fmt: skip
    widths = np.array([high - low for low, high in ranges])
    curve = ImplicitCurve(equations, lambda Y: np.append(np.maximum(sizes, np.abs(Y[:-2])), widths))
    rows: list[np.ndarray] = []
    found: list[tuple[str, np.ndarray]] = []
    endings: list[str] = []
    for sign in (-1.0, 1.0):
        along = np.zeros(len(start))
        along[-1] = sign * widths[1]
        point = curve.through(start, along)
        part, special, ended = _one_way(curve, point, ranges, names, tests, frequency)
        endings.append(ended)
        found += special[::-1] if sign < 0 else special
        rows = part[::-1] if sign < 0 else [*rows, start, *part]
    if len(rows) < 2:
        raise SolverError(
            f"The curve of {kind} points could not be followed from this point.",
            " ".join(dict.fromkeys(endings)),
            because="the first step fails to both sides, or leaves the ranges at once.",
            remedy="a wider span= for the second parameter",
        )
    table = np.array([plain(Y) for Y in rows])
    values = None if frequency is None else np.array([abs(Y[frequency]) for Y in rows])
    points = tuple(_told(rest, names, what, plain(Y)) for what, Y in found)
    return FollowedPoints(kind, names, rest, table, values, points, " ".join(dict.fromkeys(endings)))


def _one_way(
    curve: ImplicitCurve, point: CurvePoint, ranges: list[tuple[float, float]], names: tuple[str, str],
    tests: Callable[[np.ndarray], dict[str, float]], frequency: int | None,
) -> tuple[list[np.ndarray], list[tuple[str, np.ndarray]], str]:  # fmt: skip
    rows: list[np.ndarray] = []
    found: list[tuple[str, np.ndarray]] = []
    length, before = FIRST, tests(point.unknowns)
    while len(rows) < MOST_POINTS:
        after = curve.step(point, length)
        if after is None or after.turn < LARGEST_TURN:
            length /= 2
            if length < SMALLEST:
                return rows, found, "The curve could not be followed further: Newton's method did not converge."
            continue
        for (low, high), value, name in zip(ranges, after.unknowns[-2:], names):
            if not low <= value <= high:
                return rows, found, f"The curve leaves the range of {name}."
        now = tests(after.unknowns)
        ends = ""
        for kind in now:
            if kind in before and before[kind] * now[kind] < 0:
                if kind == "bogdanov-takens" and frequency is not None:
                    # Beyond it the same points come back with the other sign of the frequency.
                    found.append((kind, point.unknowns))
                    ends = "The curve ends where the frequency goes to zero."
                    continue
                ends_of_step = (0.0, before[kind]), (length, now[kind])
                located, value = _located(curve, point, ends_of_step, partial(_test, tests, kind))
                if kind == "bogdanov-takens" or value <= VANISHED * max(abs(before[kind]), abs(now[kind])):
                    found.append((kind, after.unknowns if located is None else located))
        if ends:
            return rows, found, ends
        rows.append(after.unknowns)
        point, before, length = after, now, next_length(after, length, LARGEST)
    return rows, found, f"The curve was ended after {counted(MOST_POINTS, 'point')}."


def _test(tests: Callable[[np.ndarray], dict[str, float]], kind: str, Y: np.ndarray) -> float:
    return tests(Y).get(kind, 0.0)


def _located(
    curve: ImplicitCurve, first: CurvePoint, ends: tuple[tuple[float, float], tuple[float, float]],
    test: Callable[[np.ndarray], float],
) -> tuple[np.ndarray | None, float]:  # fmt: skip
    """Where a test function is zero between two lengths of a step, by bisection and secants, and its size there."""
    (low, at_low), (high, at_high) = ends
    whole, best, middle = high, None, np.inf
    for k in range(60):
        length = low - at_low * (high - low) / (at_high - at_low) if k % 3 else 0.5 * (low + high)
        point = curve.step(first, length)
        if point is None:
            return best, abs(middle)
        best, middle = point.unknowns, test(point.unknowns)
        if middle == 0 or high - low < LOCATED * whole:
            return best, abs(middle)
        if middle * at_low > 0:
            low, at_low = length, middle
        else:
            high, at_high = length, middle
    return best, abs(middle)


def _told(rest: RestEquations, names: tuple[str, str], kind: str, row: np.ndarray) -> TwoParameterPoint:
    if kind == "bogdanov-takens":
        # The curve's own equations are singular there, or nearly so.
        refined = locate_double_zero(rest, row)
        row = row if refined is None else refined
    y, a = row[: rest.n], row[rest.n :]
    values = dict(zip(names, (float(value) for value in a)))
    where = ", ".join(f"{name} = {value:.10g}" for name, value in values.items())
    return TwoParameterPoint(kind, values, rest.point(y, a), f"{WORDS[kind]}, at {where}.")
