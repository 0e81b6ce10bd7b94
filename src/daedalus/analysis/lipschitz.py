"""How fast neighbouring solutions can move apart: bounds of the Lipschitz constant of x' = f(t, x, u) on a box.

L = max ‖∂f/∂x‖ over the box in the Euclidean norm. Below it lies every sampled norm; above it a rigorous bound by
interval arithmetic, with the box cut where that bound is largest. A finite L on a convex box is what the theorem of
Picard and Lindelöf needs: through every point inside there is one solution and only one, until it leaves the box. Where
L holds for all x no solution can leave, and it exists for all t.

Ends of the box may be infinite. Where there is no bound, points along which the slope grows without end are looked for:
towards infinity, and towards places where interval arithmetic finds none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import EPSILON, NOT_ZERO, SAME_FORMULA
from daedalus.analysis.interval_arithmetic import range_over
from daedalus.analysis.structure.symbolic_solve import solved_for
from daedalus.errors import InputError, SolverError
from daedalus.model.expressions import elements, symbol_key
from daedalus.model.model import Model, as_system
from daedalus.model.names import listed
from daedalus.model.plain_numbers import without_unit
from daedalus.model.system.named_vectors import Place
from daedalus.model.system.system import System
from daedalus.model.values import check_mapping, flat_values, parameter_values

# Points drawn in a region, and steps uphill from the best one, by judgement: what is found is a lower bound anyway.
SAMPLES, CLIMBS = 400, 60
# The box is cut into at most this many; the bound is good enough when it is this close to the sampled one.
MOST_BOXES, CLOSE = 2000, 1.02
# An infinite side is sampled and cut as if it were so long; its halves double.
REACH = 1024.0
# Points of a sequence, powers of ten, and what each increase is of the one before at least: one that shrinks is
# that of a slope with a limit.
COUNT, SHRINKING = 8, 0.9
POWERS = (3, 5, 7)
ROOT_SAMPLES = 5


@dataclass(frozen=True, eq=False)
class LipschitzBounds:
    """The result of `dd.lipschitz`: bounds of the Lipschitz constant on a box. `print` explains what they mean.

    lower: the largest norm of ∂f/∂x that was found, at the values `where`. upper: a rigorous bound, infinite where none
    was found. time: from the middle of the box a solution exists at least this long (0 where f is not bounded).
    steep: (derivative, state) pairs whose slope has no bound. jumps: whether f may jump inside the box. witness: where
    there is no constant, points with norms of ∂f/∂x that grow without end. everywhere: whether the box holds all x.
    """

    lower: float
    upper: float
    where: dict[str, float]
    time: float
    steep: list[tuple[str, str]]
    jumps: bool
    witness: tuple[tuple[dict[str, float], float], ...] = ()
    everywhere: bool = False

    @property
    def holds(self) -> bool | None:
        """Whether there is a constant: True with `upper`, False with `witness` or a jump, None where that is open."""
        if np.isfinite(self.upper):
            return True
        return False if self.witness or self.jumps else None

    def __str__(self) -> str:
        if np.isfinite(self.upper) and self.everywhere:
            return "\n".join(
                [
                    f"Lipschitz constant for all x: {self.lower:.6g} <= L <= {self.upper:.6g} (Euclidean norm)",
                    "  Through every start there is one solution and only one, and it exists for all t.",
                    "  Two solutions move apart by the factor exp(L t) at most.",
                ]
            )
        if np.isfinite(self.upper):
            return "\n".join(
                [
                    f"Lipschitz constant on the box: {self.lower:.6g} <= L <= {self.upper:.6g} (Euclidean norm)",
                    "  Through every start inside the box there is one solution and only one, until it leaves the box.",
                    f"  From the middle of the box it exists for t = {self.time:.3g} at least.",
                    "  Two solutions move apart by the factor exp(L t) at most.",
                ]
            )
        lines = [f"No Lipschitz constant was found on the box; it is {self.lower:.6g} at least."]
        if self.witness:
            place = [", ".join(f"{name} = {value:.3g}" for name, value in at.items()) for at, _ in self.witness[-3:]]
            sizes = ", ".join(f"{size:.3g}" for _, size in self.witness[-3:])
            lines.append(f"  There is none: the slope is {sizes} at {'; '.join(place)}, and grows without end.")
        if self.jumps:
            lines.append("  The right-hand side may jump inside the box.")
        if self.steep:
            pairs = [f"{rate} in {state}" for rate, state in self.steep[:4]]
            lines.append(f"  No bound for the slope of {', '.join(pairs)}.")
        lines.append("  Existence and uniqueness are not guaranteed there; a smaller box may be better.")
        return "\n".join(lines)

    __repr__ = __str__


def lipschitz(model: Model | System, box: Mapping[str, object]) -> LipschitzBounds:
    """Bound the Lipschitz constant of an explicit right-hand side on a box.

    Parameters
    ----------
    model: an ODE, or a DAE of index 1 that is linear in its algebraic variables.
    box: name -> (low, high) for every state that occurs; inputs, parameters and "t" can have intervals, too. For a
        vector, pass one number for all elements or one each; ends may be infinite. Parameters without an interval keep
        their value.

    Raises an InputError for a name without an interval, and a SolverError if there is no explicit right-hand side.

    Example
    -------
    >>> import casadi as ca, numpy as np
    >>> import daedalus as dd
    >>> m = dd.Model("logistic"); x = m.state("x", start=0.5)
    >>> m.equation(m.der(x), x * (1 - x))
    >>> print(dd.lipschitz(m, box={"x": (0, 2)}))
    Lipschitz constant on the box: 3 <= L <= 3 (Euclidean norm)
      Through every start inside the box there is one solution and only one, until it leaves the box.
      From the middle of the box it exists for t = 0.5 at least.
      Two solutions move apart by the factor exp(L t) at most.
    >>> m = dd.Model("draining"); x = m.state("x", start=1.0)
    >>> m.equation(m.der(x), -x**0.5)
    >>> dd.lipschitz(m, box={"x": (0, 1)}).holds
    False
    >>> m = dd.Model("pendulum"); a = m.state("a", start=1.0); w = m.state("w", start=0.0)
    >>> m.equation(m.der(a), w); m.equation(m.der(w), -ca.sin(a))
    >>> print(dd.lipschitz(m, box={"a": (-np.inf, np.inf), "w": (-np.inf, np.inf)}))
    Lipschitz constant for all x: 1 <= L <= 1 (Euclidean norm)
      Through every start there is one solution and only one, and it exists for all t.
      Two solutions move apart by the factor exp(L t) at most.
    """
    system = as_system(model)
    right_side = explicit_right_side(system)
    x = system.symbol("x")
    low, high = _read_box(system, right_side, check_mapping(box, "box"))
    arguments = ca.vertcat(system.symbol("t"), x, system.symbol("u"), system.symbol("p"))
    slopes = ca.densify(ca.jacobian(right_side, x))
    norm_function = ca.Function("slopes", [arguments], [slopes])
    value = ca.Function("f", [arguments], [ca.densify(right_side)])
    n = system.sizes["x"]
    lower, where = _sampled(norm_function, low, high)
    upper, steep, lost = _bounded(norm_function, low, high, n, lower)
    whole = range_over(value, [low[None, :]], [high[None, :]])
    jumps = bool(whole.jumps[0])
    names = ["t", *system.labels["x"], *system.labels["u"], *system.labels["p"]]
    upper = float("inf") if jumps else upper
    everywhere = bool(np.all(np.isneginf(low[1 : n + 1])) and np.all(np.isposinf(high[1 : n + 1])))
    time = _existence_time(whole.low[0][0], whole.high[0][0], low[1 : n + 1], high[1 : n + 1])
    found = () if np.isfinite(upper) else growing_slopes(partial(_norm, norm_function), low, high, where, lost)

    def told(point: np.ndarray) -> dict[str, float]:
        return {name: float(v) for name, v, wide in zip(names, point, high > low) if wide}

    return LipschitzBounds(
        lower=max([lower, *(size for _, size in found)]),
        upper=upper,
        where=told(where),
        time=float("inf") if everywhere and np.isfinite(upper) else time,
        steep=[(system.labels["xdot"][i], system.labels["x"][j]) for i, j in steep],
        jumps=jumps,
        witness=tuple((told(point), size) for point, size in found),
        everywhere=everywhere,
    )


def explicit_right_side(system: System) -> ca.SX:
    """x' as an expression of (t, x, u, p); a SolverError where linear algebra does not solve the equations for it."""
    symbols = [*elements(system.symbol("xdot")), *elements(system.symbol("z"))]
    solved = solved_for(elements(system.residual), symbols, lambda matrix: False)
    found = {symbol_key(symbol): value for symbol, value in solved}
    if len(found) < len(symbols) == 1 and (root := odd_root(system.residual, symbols[0])) is not None:
        found[symbol_key(symbols[0])] = root
    names = [*system.labels["xdot"], *system.labels["z"]]
    missing = [name for name, symbol in zip(names, symbols) if symbol_key(symbol) not in found]
    if missing:
        raise SolverError(
            "This model has no explicit right-hand side x' = f(t, x, u, p).",
            f"not solved for: {listed(missing, 6)}",
            because="the equations are nonlinear in them, too many are coupled, or the index is above 1.",
            remedy="dd.analyse(m), which says what kind of system it is",
        )
    return ca.vertcat(*(found[symbol_key(symbol)] for symbol in elements(system.symbol("xdot"))))


def _read_box(system: System, right_side: ca.SX, box: Mapping[str, object]) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper ends of t, x, u, p."""
    letters = ("t", "x", "u", "p")
    start = dict(zip(letters, np.cumsum([0, 1, system.sizes["x"], system.sizes["u"]])))
    size = 1 + sum(system.sizes[letter] for letter in letters[1:])
    ends = np.full((2, size), np.nan)
    # A parameter with an interval needs no value of its own.
    own = {
        name: np.zeros(system.places[name].shape)
        for name in box
        if getattr(system.places.get(name), "letter", "") == "p"
    }
    ends[:, start["p"] :] = np.array(parameter_values(system, own))
    for name, value in box.items():
        place = Place("t", (), ("t",), np.zeros(1, int)) if name in ("t", "time") else system.place(name)
        if place.letter not in letters:
            raise InputError(
                f"box= takes states, inputs, parameters and the time, not {name}.",
                because="the right-hand side is a function of these.",
                remedy=f"an interval for {system.labels['x'][0]}" if system.labels["x"] else "",
            )
        ends[:, start[place.letter] + place.positions] = _interval(place, name, value)
    used = {symbol_key(s) for s in ca.symvar(right_side)}
    entries = [("t", system.symbol("t")), *((letter, system.symbol(letter)) for letter in letters[1:])]
    flat = [(letter, k, s) for letter, symbols in entries for k, s in enumerate(elements(symbols))]
    for position, (letter, k, symbol) in enumerate(flat):
        if np.isnan(ends[0, position]):
            if letter == "x" or symbol_key(symbol) in used:
                name = "t" if letter == "t" else system.labels[letter][k]
                raise InputError(
                    f"The box has no interval for {name}.",
                    f"it has {', '.join(box) or 'none at all'}",
                    because="a bound holds on a box only.",
                    remedy=f"box={{..., {name!r}: (low, high)}}",
                )
            ends[:, position] = 0.0
    return ends[0], ends[1]


def _interval(place: Place, name: str, value: object) -> np.ndarray:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise InputError(f"The interval of {name} is not a pair.", f"got {value!r}", remedy=f"{name!r}: (low, high)")
    value = [without_unit(side, place.unit, name) for side in value]
    count = len(place.positions)
    sides = [
        np.full(count, float(side)) if np.ndim(side) == 0 else np.array(flat_values(place, side, "end"), dtype=float)
        for side in value
    ]
    if np.any(np.isnan(sides)) or np.any(sides[0] > sides[1]) or np.any(np.isposinf(sides[0]) | np.isneginf(sides[1])):
        raise InputError(
            f"The interval of {name} is empty or not finite.", f"got {value!r}", remedy=f"{name!r}: (low, high)"
        )
    return np.array(sides)


def _norm(function: ca.Function, point: np.ndarray) -> float:
    """The norm of the slopes at a point; -1 where they have no value."""
    matrix = function(point).full()
    return float(np.linalg.norm(matrix, 2)) if np.all(np.isfinite(matrix)) else -1.0


def _sampled(function: ca.Function, low: np.ndarray, high: np.ndarray) -> tuple[float, np.ndarray]:
    """The largest norm among random points and corners, then uphill from the best by a shrinking random search."""
    draw = np.random.default_rng(1894)
    norm = partial(_norm, function)
    low, high = within_reach(low, high)
    points = [low, high, (low + high) / 2]
    points += [draw.uniform(low, high) for _ in range(SAMPLES)]
    points += [np.where(draw.random(len(low)) < 0.5, low, high) for _ in range(SAMPLES // 4)]
    values = [norm(point) for point in points]
    best = int(np.argmax(values))
    where, value, reach = points[best], values[best], 0.3
    for _ in range(CLIMBS):
        trial = np.clip(where + reach * (high - low) * draw.standard_normal(len(low)), low, high)
        found = norm(trial)
        if found > value:
            where, value = trial, found
        else:
            reach *= 0.9
    return max(value, 0.0), where


def _bounded(
    function: ca.Function, low: np.ndarray, high: np.ndarray, n: int, lower: float
) -> tuple[float, list[tuple[int, int]], np.ndarray]:
    """A rigorous bound of the norm: the box is cut where the bound is largest, until it is close to the sampled one.

    Beside it the entries without a bound, and the ends of the boxes without one, (boxes, 2, sides).
    """
    lows, highs = low[None, :], high[None, :]
    bounds, entries = _norm_bounds(function, lows, highs, n)
    usual = np.subtract(*within_reach(low, high)[::-1])
    while len(bounds) < MOST_BOXES and bounds.max() > CLOSE * lower + NOT_ZERO:
        # Cut the worse half of the boxes across their relatively widest side.
        count = max(1, min(len(bounds) // 2, MOST_BOXES - len(bounds)))
        worst = np.argsort(bounds)[-count:]
        near = within_reach(lows[worst], highs[worst])
        width = (near[1] - near[0]) / np.where(high > low, usual, 1.0)
        side = width.argmax(axis=1)
        if not np.any(width > 0):
            break
        middle = 0.5 * (near[0] + near[1])[np.arange(count), side]
        left_high, right_low = highs[worst].copy(), lows[worst].copy()
        left_high[np.arange(count), side], right_low[np.arange(count), side] = middle, middle
        new_lows, new_highs = np.vstack([lows[worst], right_low]), np.vstack([left_high, highs[worst]])
        new_bounds, new_entries = _norm_bounds(function, new_lows, new_highs, n)
        keep = np.setdiff1d(np.arange(len(bounds)), worst)
        lows, highs = np.vstack([lows[keep], new_lows]), np.vstack([highs[keep], new_highs])
        bounds, entries = np.concatenate([bounds[keep], new_bounds]), np.concatenate([entries[keep], new_entries])
    unbounded = [(int(i), int(j)) for i, j in np.argwhere(~np.isfinite(entries).all(axis=0))]
    lost = ~np.isfinite(bounds)
    # Never below what was found: rounding of the sampled norm.
    return max(float(bounds.max()), lower), unbounded, np.stack([lows[lost], highs[lost]], axis=1)


def _norm_bounds(function: ca.Function, lows: np.ndarray, highs: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """‖A‖₂ ≤ min(√(‖A‖₁ ‖A‖_∞), ‖A‖_F) with the largest absolute entries on each box."""
    ranges = range_over(function, [lows], [highs])
    sizes = np.maximum(np.abs(ranges.low[0]), np.abs(ranges.high[0])).reshape(-1, n, n).transpose(0, 2, 1)
    with np.errstate(over="ignore", invalid="ignore"):
        mixed = np.sqrt(sizes.sum(axis=1).max(axis=1) * sizes.sum(axis=2).max(axis=1))
        full = np.sqrt((sizes**2).sum(axis=(1, 2)))
    # The sums themselves are rounded: n² additions at most.
    bound = np.minimum(mixed, full) * (1 + 4 * n * n * EPSILON)
    return np.where(np.isnan(bound), np.inf, bound), sizes


def _existence_time(low: np.ndarray, high: np.ndarray, box_low: np.ndarray, box_high: np.ndarray) -> float:
    """How long a solution from the middle surely stays inside: half the width over the largest speed."""
    speed = np.maximum(np.abs(low), np.abs(high))
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.where(np.isinf(speed), 0.0, 0.5 * (box_high - box_low) / speed)
    return float(np.nan_to_num(times, nan=np.inf, posinf=np.inf).min(initial=np.inf))


def within_reach(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Finite ends of a box: an infinite side reaches beyond the finite end by its size, or to both sides of zero."""
    size_low = np.maximum(REACH, 3 * np.abs(np.where(np.isinf(low), 0.0, low)))
    size_high = np.maximum(REACH, 3 * np.abs(np.where(np.isinf(high), 0.0, high)))
    near_low = np.where(np.isinf(low), np.where(np.isinf(high), -REACH, high - size_high), low)
    near_high = np.where(np.isinf(high), np.where(np.isinf(low), REACH, low + size_low), high)
    return near_low, near_high


def growing_slopes(
    norm: Callable[[np.ndarray], float], low: np.ndarray, high: np.ndarray, where: np.ndarray, lost: np.ndarray
) -> list[tuple[np.ndarray, float]]:
    """The sequence with the largest slope at its end, each point with its slope; empty where none was found.

    norm: of the slopes at a point, negative where they have no value. where: the steepest point sampled. lost: ends of
    boxes without a bound, (boxes, 2, sides).
    """
    best: list[tuple[np.ndarray, float]] = []
    for points in _sequences(low, high, where, lost):
        sizes = np.array([norm(point) for point in points])
        steps = np.diff(sizes)
        grows = np.all(sizes >= 0) and np.all(steps > 0) and np.all(steps[1:] >= SHRINKING * steps[:-1])
        if grows and (not best or sizes[-1] > best[-1][1]):
            best = list(zip(points, sizes.tolist()))
    return best


def _sequences(low: np.ndarray, high: np.ndarray, where: np.ndarray, lost: np.ndarray) -> Iterator[list[np.ndarray]]:
    """Towards infinity along each open side and along all of them, and towards the narrowest boxes without a bound."""
    powers = 10.0 ** np.arange(1, COUNT + 1)
    near = within_reach(low, high)
    middle = np.clip(where, *near)
    for sign, open_sides in ((1.0, np.isposinf(high)), (-1.0, np.isneginf(low))):
        directions = [np.eye(len(low))[k] for k in np.flatnonzero(open_sides)]
        if len(directions) > 1:
            directions.append(open_sides.astype(float))
        for direction in directions:
            for base in (middle, np.where(open_sides, 0.0, middle)):
                for steps in (powers, 2.0 ** np.arange(1, COUNT + 1)):  # an exponential leaves the numbers early
                    yield [np.clip(base + sign * step * direction, low, high) for step in steps]
    widths = np.where(np.isinf(lost).any(axis=1), np.inf, lost[:, 1] - lost[:, 0]).max(axis=1)
    for k in np.argsort(widths, kind="stable")[:4]:
        if not np.isfinite(widths[k]):
            continue
        for target in (*lost[k], 0.5 * (lost[k, 0] + lost[k, 1])):
            target = np.where((target != 0) & (np.abs(target) < 1e-3 * (near[1] - near[0])), 0.0, target)
            target = np.clip(target, low, high)
            for far in near:
                yield [target + (far - target) / power for power in powers]


def odd_root(residual: ca.SX, unknown: ca.SX) -> ca.SX | None:
    """The real root of a scalar equation that is an odd power of its unknown but for a factor and a summand, or None.

    Example
    -------
    >>> v, x = ca.SX.sym("v"), ca.SX.sym("x")
    >>> root = ca.Function("root", [x], [odd_root(v**3 + x, v)])
    >>> float(root(8.0)), odd_root(v**3 + v + x, v) is None
    (-2.0, True)
    """
    summand = ca.substitute(residual, unknown, 0)
    factor = ca.substitute(residual, unknown, 1) - summand
    symbols = ca.symvar(residual)
    draw = np.random.default_rng(4)
    for power in POWERS:
        left = residual - (factor * unknown**power + summand)
        look = ca.Function("left", symbols, [left, ca.fabs(residual) + ca.fabs(summand) + 1])
        values = [look.call([ca.DM(v) for v in draw.uniform(0.2, 1.8, len(symbols))]) for _ in range(ROOT_SAMPLES)]
        if all(abs(float(gap)) <= SAME_FORMULA * float(size) for gap, size in values):
            share = summand / factor
            return -ca.sign(share) * ca.fabs(share) ** (1.0 / power)
    return None
