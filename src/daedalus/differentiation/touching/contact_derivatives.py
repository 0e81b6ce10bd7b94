"""How a run with hard contacts changes: its steps differentiated one after the other, and carried over its transitions.

Between two transitions a step is a smooth map x⁺ = Φ(x, p), and S⁺ = Φ_x S + Φ_p. At a transition, whose moment τ obeys
g(x(τ)) = 0 with a gap or a speed of slip g,

    δτ = -(g_x S + g_p) / g',        S⁺ = R_x (S + f⁻ δτ) + R_p - f⁺ δτ,

where R is the impact, or leaves x as it is where a contact comes to rest (M. A. Aizerman, F. R. Gantmacher, Q. J. Mech.
Appl. Math. 11, 1958). Where a contact opens or begins to slip, f does not jump, and S goes on. All slopes are central
differences along the columns of S, which keep what touches in touch. Frictions and stops beside the contacts have the
same transitions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from daedalus.algebra.agreement import BESIDE
from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES
from daedalus.differentiation.directions import Directions
from daedalus.differentiation.events.saltation import carried_along
from daedalus.errors import SolverError
from daedalus.model.names import listed
from daedalus.simulation.run.request import Request
from daedalus.simulation.touching.contact_modes import Pair
from daedalus.simulation.touching.contact_step import ContactStepper
from daedalus.simulation.touching.single_laws import is_law
from daedalus.simulation.touching.steps_of_a_run import StepTaken, Struck, Stuck
from daedalus.simulation.touching.time_stepping import ContactMarch, march_of

# Of one-sided differences over time, as a share of a step: they are of second order.
SHORT = 1e-3
# Shares of a step that ends where a contact comes to rest: neighbours may rest before, so S there is extrapolated.
SHARES = np.array([0.25, 0.5, 0.75])


# What is read of a row, in a run with parameters of its own.
Reading = Callable[[ContactStepper, np.ndarray], np.ndarray]


class Varied(NamedTuple):
    """A run in which one quantity is larger, one in which it is smaller, and by how much."""

    more: ContactStepper
    less: ContactStepper
    by: float | None  # None where a start is varied, which every step scales anew


class ContactDerivatives:
    """The sensitivities S of a run with hard contacts at its steps."""

    def __init__(self, request: Request, march: ContactMarch, directions: Directions) -> None:
        self.march, self.stepper, self.directions = march, march.stepper, directions
        self.start = np.array(march.x)
        self.ways, self.first = self._ways(request)
        self.times, self.slopes = list[float](), list[np.ndarray]()
        self.steps = list[StepTaken]()

    def _ways(self, request: Request) -> tuple[list[Varied], np.ndarray]:
        """Each varied quantity as a pair of steppers, and how the start changes with it."""
        system, p = self.march.road.system, self.march.p
        kept = self._kept_directions()
        ways = [Varied(self.stepper, self.stepper, None) for _ in self.directions.x]
        first = [kept[:, k] for k in self.directions.x]
        for k in self.directions.p:
            name, value = system.labels["p"][k], float(p[k])
            by = BESIDE * (abs(value) or float(system.nominal["p"][k]))
            pair = [
                march_of(request._replace(parameters={**(request.parameters or {}), name: value + sign * by}))
                for sign in (1, -1)
            ]
            ways.append(Varied(pair[0].stepper, pair[1].stepper, by))
            first.append(kept @ ((pair[0].x - pair[1].x) / (2 * by)))
        return ways, np.array(first).T.reshape(len(self.start), -1)

    def _kept_directions(self) -> np.ndarray:
        """P, (n, n): changes of the start that keep contacts closed that press there, and quaternions at one."""
        x, n = self.start, len(self.start)
        modes = self.march.pressing()
        rows = [self._held(x + step, modes) - self._held(x - step, modes) for step in BESIDE * np.eye(n)]
        slopes = np.array(rows).T.reshape(-1, n) / (2 * BESIDE)
        return np.eye(n) - np.linalg.pinv(slopes, rcond=KNOWN_BY_DIFFERENCES) @ slopes

    def _held(self, x: np.ndarray, modes: Mapping[Pair, bool]) -> np.ndarray:
        """Gaps and normal speeds of pairs that press, velocities of those that hold, and lengths of quaternions."""
        held = [self.march.bodies.rows.lengths(x)]
        for pair, slides in modes.items():
            if is_law(pair):
                here = _law(self.stepper, self.march.t, x, pair)
                # A friction that sticks holds its rate, a stop that presses its gap, too.
                friction = self.march.beside is not None and self.march.beside.is_friction[pair[1]]
                held.append(np.array([here.rate] if friction else [here.gap, here.rate])[int(friction and slides) :])
                continue
            gaps, speeds, normals = self._points(self.stepper, x, {pair})
            near = self._points(self.stepper, self.start, {pair})[0] <= self.stepper.lengths.touch
            held += [gaps[near], (np.sum(speeds * normals, axis=1) if slides else speeds)[near].ravel()]
        return np.concatenate(held)

    # -- along the run -----------------------------------------------------------------------------------------

    def run(self) -> np.ndarray:
        """S at the end, (n, m)."""
        walk, S = self.march.walk, self.first
        for own in {id(way): way for pair in self.ways for way in (pair.more, pair.less)}.values():
            own.shares = False  # motion alone is differentiated
        for k, piece in enumerate(walk):
            following = walk[k + 1] if k + 1 < len(walk) else None
            if isinstance(piece, StepTaken):
                self.times.append(piece.t)
                self.slopes.append(S)
                self.steps.append(piece)
                S = self.behind_step(piece, S, piece.h, isinstance(following, Stuck))
                continue
            before = next((w for w in reversed(walk[:k]) if isinstance(w, StepTaken)), None)
            after = next((w for w in walk[k + 1 :] if isinstance(w, StepTaken)), None)
            if before is None or after is None:
                continue  # what happens at the start or at the end moves with the start, or comes after the run
            S = self._behind_impact(piece, S, before, after) if isinstance(piece, Struck) else (
                self._behind_rest(piece, S, before, after)
            )  # fmt: skip
        return S

    def behind_step(self, piece: StepTaken, S: np.ndarray, h: float, rests: bool = False) -> np.ndarray:
        """S behind a part h of a step."""
        if rests:
            found = [self.behind_step(piece, S, float(s * h)) for s in SHARES]
            weights = [np.prod([(1 - b) / (a - b) for b in SHARES if b != a]) for a in SHARES]
            return np.asarray(sum(w * f for w, f in zip(weights, found)))
        return self._mapped(S, piece.x, lambda own, x: piece.again(own, x, h))

    def _mapped(
        self, S: np.ndarray, x: np.ndarray, image: Callable[[ContactStepper, np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """The slopes of a map of steppers and rows along the columns of S."""
        columns = []
        for way, s in zip(self.ways, S.T):
            by = way.by if way.by is not None else BESIDE / max(float(np.abs(s).max(initial=0.0)), 1e-300)
            if way.by is None and not s.any():
                columns.append(np.zeros(np.shape(image(self.stepper, x))))
                continue
            more, less = (image(own, x + sign * by * s) for own, sign in ((way.more, 1), (way.less, -1)))
            columns.append((more - less) / (2 * by))
        return np.array(columns).T

    # -- over a transition -------------------------------------------------------------------------------------

    def _behind_impact(self, hit: Struck, S: np.ndarray, before: StepTaken, after: StepTaken) -> np.ndarray:
        slopes, falling = self._slopes(before), list[tuple[Pair, int, float]]()
        for pair in sorted(hit.pairs):
            if is_law(pair):
                falling.append((pair, 0, _law(self.stepper, hit.t, hit.x, pair).rate))
                continue
            rates = _rate(before, self._gaps_of(pair), self.stepper)
            touching = self._points(self.stepper, hit.x, {pair})[0] <= 2 * self.stepper.lengths.touch
            falling += [
                (pair, int(k), float(rates[k])) for k in np.flatnonzero(touching & (rates < -self.stepper.lengths.slow))
            ]
        if not falling:
            return S
        moments = []
        for pair, k, rate in falling:
            change = self._mapped(S, hit.x, self._gaps_of(pair, hit.t))[k]
            moments.append(-change / rate)
        self._check_one_moment(moments, [pair for pair, _, _ in falling], hit.t)

        def impact(moved: np.ndarray) -> np.ndarray:
            return self._mapped(moved, hit.x, hit.again)

        return carried_along(S, slopes, _first_slope(after, self.stepper), moments[0], impact)

    def _behind_rest(self, rest: Stuck, S: np.ndarray, before: StepTaken, after: StepTaken) -> np.ndarray:
        moments = []
        for pair in rest.pairs:
            if is_law(pair):
                change = self._mapped(S, rest.x, self._rate_of_law(pair, rest.t))
                moments.append(-change / self._bend(before, pair))
                continue
            way = self._slip(self.stepper, before.again(self.stepper, before.x, 0.5 * before.h), pair)
            way = way / np.linalg.norm(way)
            rate = _rate(before, self._slip_along(pair, way), self.stepper)
            change = self._mapped(S, rest.x, self._slip_along(pair, way))
            moments.append(-change / rate)
        self._check_one_moment(moments, list(rest.pairs), rest.t)
        return carried_along(S, self._slopes(before), _first_slope(after, self.stepper), moments[0])

    def _bend(self, before: StepTaken, pair: Pair) -> float:
        """How fast the rate of a friction changes at the end of a step."""
        e, end = SHORT * before.h, before.t + before.h
        one, two, three = (
            _law(self.stepper, end - k * e, before.again(self.stepper, before.x, before.h - k * e), pair).rate
            for k in range(3)
        )
        return (3 * one - 4 * two + three) / (2 * e)

    def _slopes(self, before: StepTaken) -> np.ndarray:
        return _rate(before, lambda _, x: x, self.stepper)

    def _check_one_moment(self, moments: Sequence[np.ndarray], pairs: Sequence[Pair], t: float) -> None:
        """Refuse what happens together here and one after the other beside this run."""
        size = max(float(np.abs(m).max(initial=0.0)) for m in moments)
        apart = max(float(np.abs(m - moments[0]).max(initial=0.0)) for m in moments)
        if apart > 1e-3 * size:
            names = list(dict.fromkeys(self.march.modes.name(pair) for pair in pairs))
            raise SolverError(
                f"The run has no derivative through what happens at t = {t:.6g}.",
                f"several points of {listed(names)} touch or come to rest together",
                because="after a small change they touch one after the other, in either order.",
                remedy="wrt= of what keeps them together, a start from which they touch one by one, or an earlier end",
            )

    def _points(
        self, stepper: ContactStepper, x: np.ndarray, pairs: set[Pair]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Gaps of all points of some pairs, their relative velocities in the world, and their normals."""
        rows, world = stepper.bodies.rows, stepper.bodies.world
        world.place(rows.poses(x), stepper.reach, 0.0)
        info = world.contacts()
        own = [k for k, row in enumerate(info) if (int(row[1]), int(row[2]), int(row[3])) in pairs]
        speeds = world.velocities_in_world(rows.twists(x))
        return info[own, 0], speeds[own], world.places()[own, 3:]

    def _gaps_of(self, pair: Pair, t: float = 0.0) -> Reading:
        if is_law(pair):
            return lambda stepper, x: np.array([_law(stepper, t, x, pair).gap])
        return lambda stepper, x: self._points(stepper, x, {pair})[0]

    def _rate_of_law(self, pair: Pair, t: float) -> Reading:
        return lambda stepper, x: np.array(_law(stepper, t, x, pair).rate)

    def _slip_along(self, pair: Pair, way: np.ndarray) -> Reading:
        return lambda stepper, x: np.asarray(self._slip(stepper, x, pair) @ way)

    def _slip(self, stepper: ContactStepper, x: np.ndarray, pair: Pair) -> np.ndarray:
        """The mean speed of slip of the points of a pair that touch."""
        gaps, speeds, normals = self._points(stepper, x, {pair})
        along = speeds - np.sum(speeds * normals, axis=1)[:, None] * normals
        near = gaps <= gaps.min() + stepper.lengths.touch
        found: np.ndarray = along[near].mean(axis=0)
        return found

    def at(self, t: float) -> np.ndarray:
        """S at a time of the run, (n, m)."""
        k = int(np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, len(self.times) - 1))
        piece = self.steps[k]
        h = min(t - piece.t, piece.h)
        return self.behind_step(piece, self.slopes[k], h) if h > 0 else self.slopes[k]


class LawNow(NamedTuple):
    """The gap and the rate of a friction or stop at a row, in metres."""

    gap: float
    rate: float


def _law(stepper: ContactStepper, t: float, x: np.ndarray, pair: Pair) -> LawNow:
    assert stepper.beside is not None
    here = stepper.beside.at(t, x, stepper.inputs(t), stepper.parameters, stepper.bodies.rows.seen_from(x))
    return LawNow(float(here.gap[pair[1]]), float(here.rate[pair[1]]))


def _rate(before: StepTaken, of: Reading, stepper: ContactStepper) -> np.ndarray:
    """The rate of a function of the row at the end of a step."""
    e = SHORT * before.h
    ends = [of(stepper, before.again(stepper, before.x, before.h - k * e)) for k in range(3)]
    return np.asarray((3 * ends[0] - 4 * ends[1] + ends[2]) / (2 * e))


def _first_slope(after: StepTaken, stepper: ContactStepper) -> np.ndarray:
    """The slope of the row where a step begins, from rows behind that: a step stops what is left of a speed of slip."""
    e = SHORT * after.h
    one, two, three = (after.again(stepper, after.x, k * e) for k in (1, 2, 3))
    return np.asarray((-5 * one + 8 * two - 3 * three) / (2 * e))
