"""Walk along a branch of periodic orbits and gather what happens on it.

Steps are those of any curve (see `branches.curve`); the mesh follows the orbit from step to step. Folds of cycles are
where the parameter turns back, period doublings, tori and branch points where multipliers pass the unit circle; each is
located on the curve itself (Yu. A. Kuznetsov, Elements of Applied Bifurcation Theory, 2004, chapters 5 and 10).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import KNOWN, KNOWN_BY_DIFFERENCES, NOT_ZERO
from daedalus.errors import SolverError
from daedalus.studies.branches.curve import CurvePoint, ImplicitCurve
from daedalus.studies.branches.curve_walk import CurveWalk
from daedalus.studies.collocation import MeshValues
from daedalus.studies.orbits.orbit_branch import OrbitBranch, SpecialOrbit
from daedalus.studies.orbits.orbit_equations import OrbitEquations, OrbitProblem, OrbitValues, on_mesh
from daedalus.studies.orbits.orbit_search import FINE, balanced
from daedalus.studies.orbits.periodic_orbit import ON_CIRCLE

# The mesh is made anew when it is this much larger than it has to be.
TOO_LARGE = 1.6
# Special orbits are located to this share of a step.
LOCATED = 1e-9
# A special orbit that was located has a multiplier within this distance of 1 or -1.
NEAR_SIDE = 1e-3
# A multiplier that is this far from 1 at a turn, or before and after it on the same side, has not passed through it.
APART = 0.5
# An orbit has shrunk to a point of rest when it moves by this share of what it moved at most.
SHRUNK = 0.02
# A branch is closed when an orbit is the first one to this share of the sizes.
CLOSED = 0.01
# An orbit tends to one that joins points of rest where its slowest point is this slow beside its fastest one, and the
# parameter moved by at most such a share of its range while the period grew by a tenth.
NEAR_REST, STAYS, GROWN = 1e-7, 1e-8, 1.1


@dataclass(frozen=True, eq=False)
class OrbitStep:
    """An orbit of the branch with its equations, its place on the curve and its multipliers."""

    equations: OrbitEquations
    orbit: OrbitValues
    point: CurvePoint
    multipliers: np.ndarray


class OrbitWalk(CurveWalk[OrbitStep, SpecialOrbit]):
    """Follow one branch of orbits over a parameter."""

    called, smallest, telling = "orbit", 1e-8, 1e-5

    def __init__(self, problem: OrbitProblem, name: str, ends: tuple[float, float], most: int, again: Any) -> None:
        super().__init__(name, ends, most)
        self.problem, self.again = problem, again

    def curve(self, equations: OrbitEquations) -> ImplicitCurve:
        """The curve of orbits on one mesh."""
        return ImplicitCurve(equations, lambda Y: equations.sizes(Y, self.width))

    # -- the walk ----------------------------------------------------------------------------------------------

    def along(self, orbit: OrbitValues, direction: float, notes: tuple[str, ...] = ()) -> OrbitBranch:
        """The branch from an orbit that is solved, towards larger or smaller values of the parameter."""
        equations = OrbitEquations(self.problem, orbit)
        Y = equations.joined(orbit)
        along = np.zeros(len(Y))
        along[-1] = direction
        point = self.curve(equations).through(Y, along)
        return self.walk(OrbitStep(equations, orbit, point, equations.multipliers(orbit)), notes)

    def walk(self, step: OrbitStep, notes: tuple[str, ...]) -> OrbitBranch:
        """The branch from a first step."""
        steps, special, ended = self.gathered(step)
        return OrbitBranch(self, self.name, steps, tuple(special), ended, (*notes, *self.missed))

    def reach(self, orbit: OrbitValues) -> float:
        """How far the states move on an orbit, in their sizes."""
        return float(np.linalg.norm(np.ptp(orbit.values.x, axis=0) / self.problem.nominal))

    def prepared(self, step: OrbitStep) -> OrbitStep | str:
        """The same orbit with its own phase as the reference, on a mesh that resolves it."""
        orbit, equations = step.orbit, step.equations
        misses = equations.misses(orbit, FINE)
        better = balanced(orbit.mesh, misses) if np.all(np.isfinite(misses)) else None
        if better is None:
            return (
                f"The branch ends at {self.name} = {orbit.parameter:.6g}, period {orbit.period:.6g}: the orbit needs "
                "too fine a mesh; it may come near to a point of rest, where the period grows without bounds."
            )
        keeps = np.max(misses) <= 1 and len(orbit.mesh) <= TOO_LARGE * len(better)
        mesh = orbit.mesh if keeps else better
        tangent = equations.split(step.point.tangent)
        moved, turned = orbit, tangent
        if not keeps:
            moved = on_mesh(self.problem, orbit, mesh)
            turned = self.moved_tangent(orbit, tangent, mesh)
        fresh = OrbitEquations(self.problem, moved)
        curve, along = self.curve(fresh), fresh.joined(turned)
        Y = fresh.joined(moved)
        point: CurvePoint | None = curve.through(Y, along)
        if not keeps:
            point = curve.corrected(Y, along / fresh.sizes(Y, self.width) ** 2, along)
        if point is None:
            return f"The branch could not be followed beyond {self.name} = {orbit.parameter:.6g} on a finer mesh."
        solved = fresh.split(point.unknowns)
        return OrbitStep(fresh, solved, point, step.multipliers)

    def moved_tangent(self, orbit: OrbitValues, tangent: OrbitValues, mesh: np.ndarray) -> OrbitValues:
        """A change of the orbit on another mesh; what it changes in x' follows the change of the period, too."""
        # x_{i+1} - x_i of a change is h Σ b x' with the change of the period in h: this part is put into x'.
        share = tangent.period / orbit.period
        rates = tangent.values.rates + share * orbit.values.rates
        changed = OrbitValues(
            orbit.mesh, MeshValues(tangent.values.x, rates, tangent.values.z), orbit.period, tangent.closing, 0.0
        )
        moved = on_mesh(self.problem, changed, mesh)
        base = on_mesh(self.problem, orbit, mesh)
        values = MeshValues(moved.values.x, moved.values.rates - share * base.values.rates, moved.values.z)
        return OrbitValues(mesh, values, tangent.period, tangent.closing, tangent.parameter)

    def stepped(self, step: OrbitStep, length: float) -> OrbitStep | None:
        """The orbit at a distance along the curve."""
        after = self.curve(step.equations).step(step.point, length)
        if after is None:
            return None
        orbit = step.equations.split(after.unknowns)
        if orbit.period <= 0:
            return None
        try:
            multipliers = step.equations.multipliers(orbit)
        except np.linalg.LinAlgError:
            return None
        return OrbitStep(step.equations, orbit, after, multipliers)

    def not_located(self, before: OrbitStep, after: OrbitStep) -> list[SpecialOrbit]:
        """Note a change between two orbits that no step was short enough to locate."""
        self.missed.append(f"stability changes near {self.name} = {after.orbit.parameter:.6g}, not located")
        return []

    def lost(self, step: OrbitStep) -> str:
        """Where the branch was when no step was short enough."""
        return (
            f"The branch could not be followed beyond {self.name} = {step.orbit.parameter:.6g}, period "
            f"{step.orbit.period:.6g}: Newton's method did not converge for the shortest step."
        )

    # -- ends --------------------------------------------------------------------------------------------------

    def corrected(self, before: OrbitStep, guess: np.ndarray, k: int, along: np.ndarray) -> OrbitStep | None:
        """The orbit near a guess whose unknown k is as in the guess."""
        normal = np.zeros(len(guess))
        normal[k] = 1 / before.equations.sizes(guess, self.width)[k]
        point = self.curve(before.equations).corrected(guess, normal, along)
        if point is None:
            return None
        orbit = before.equations.split(point.unknowns)
        return OrbitStep(before.equations, orbit, point, before.equations.multipliers(orbit))

    def is_before(self, special: SpecialOrbit, first: OrbitStep, last: OrbitStep) -> bool:
        """Whether something happens before the last orbit."""
        limit = last.orbit.parameter
        return (special.parameter - limit) * (first.orbit.parameter - limit) >= 0

    def ending(self, steps: Sequence[OrbitStep], after: OrbitStep) -> str:
        """Why the branch ends at an orbit inside its range: it shrinks to a point, or is closed."""
        reaches = [self.reach(step.orbit) for step in steps]
        reach = self.reach(after.orbit)
        if reach < SHRUNK * max(reaches) and reach < reaches[-1]:
            return self.shrunk(steps[-1], after)
        if len(steps) > 10 and self.closed(steps, after):
            return f"The branch came back to its first orbit, {self.name} = {steps[0].orbit.parameter:.6g}."
        if self.endless(steps, after.orbit):
            return (
                f"The branch ends at {self.name} = {after.orbit.parameter:.10g}, period {after.orbit.period:.6g}: the "
                f"period grows without bounds while {self.name} stays, as the orbit comes near to a point of rest."
            )
        return ""

    def endless(self, steps: Sequence[OrbitStep], last: OrbitValues) -> bool:
        """Whether an orbit tends to one that joins points of rest: its multipliers have no digits then."""
        shorter = next((step for step in reversed(steps) if step.orbit.period * GROWN <= last.period), None)
        if shorter is None or abs(last.parameter - shorter.orbit.parameter) > STAYS * self.width:
            return False
        moved = np.maximum(np.ptp(last.values.x, axis=0), NOT_ZERO)
        speeds = np.linalg.norm(last.values.rates / moved, axis=-1)
        return bool(speeds.min() <= NEAR_REST * speeds.max())

    def shrunk(self, before: OrbitStep, after: OrbitStep) -> str:
        """Where the square of the amplitude goes to zero."""
        large, small = self.reach(before.orbit) ** 2, self.reach(after.orbit) ** 2
        value = after.orbit.parameter + (after.orbit.parameter - before.orbit.parameter) * small / (large - small)
        return (
            f"The orbit shrinks to a point of rest near {self.name} = {value:.6g}, a Hopf point; its period there is "
            f"{after.orbit.period:.6g}."
        )

    def closed(self, rows: Sequence[OrbitStep], after: OrbitStep) -> bool:
        """Whether an orbit is the first one again, passed in the same direction."""
        first = rows[0]
        if (rows[1].orbit.parameter - first.orbit.parameter) * after.point.tangent[-1] <= 0:
            return False
        if abs(after.orbit.parameter - first.orbit.parameter) > CLOSED * self.width:
            return False
        size = after.equations.size_x
        extents = [
            np.array([o.values.x.min(axis=0), o.values.x.max(axis=0)]) / size for o in (first.orbit, after.orbit)
        ]
        period = abs(after.orbit.period - first.orbit.period) / first.orbit.period
        return bool(np.max(np.abs(extents[0] - extents[1])) < CLOSED and period < CLOSED)

    # -- special orbits ----------------------------------------------------------------------------------------

    def nontrivial(self, multipliers: np.ndarray) -> np.ndarray:
        """All multipliers but the one that an autonomous orbit always has."""
        if self.problem.driven or not len(multipliers):
            return multipliers
        return np.delete(multipliers, int(np.argmin(np.abs(multipliers - 1))))

    def unstable(self, multipliers: np.ndarray) -> int:
        """How many multipliers are outside of the unit circle."""
        return int(np.sum(np.abs(self.nontrivial(multipliers)) > 1 + ON_CIRCLE))

    def between(self, before: OrbitStep, after: OrbitStep, length: float) -> list[SpecialOrbit] | None:
        """What happens between two orbits; None where a shorter step has to tell it apart."""
        old, new = self.nontrivial(before.multipliers), self.nontrivial(after.multipliers)
        found: list[tuple[float, str, OrbitStep]] = []
        explained = 0
        tests: list[tuple[str, Callable[[OrbitStep], float]]] = []
        turns = before.point.tangent[-1] * after.point.tangent[-1] < 0
        if turns and not _stays(old, new):
            tests.append(("fold of cycles", lambda step: float(step.point.tangent[-1])))
        if _beyond(old, -1) * _beyond(new, -1) < 0:
            tests.append(("period doubling", lambda step: _beyond(self.nontrivial(step.multipliers), -1)))
        if not turns and _beyond(old, 1) * _beyond(new, 1) < 0:
            # Where branches cross, the orientation of the curve changes. Of a fold rounding may hide where it turns.
            crosses = before.point.orientation * after.point.orientation <= 0
            kind = "branch point" if crosses else "fold of cycles"
            tests.append((kind, lambda step: _beyond(self.nontrivial(step.multipliers), 1)))
        # Pairs that are on the circle before and after, as where nothing is lost, pass it by rounding alone.
        leaves = max(abs(_pair_next_to_circle(side)) for side in (old, new)) > ON_CIRCLE
        if leaves and _pairs_outside(old) != _pairs_outside(new):
            tests.append(("torus", lambda step: _pair_next_to_circle(self.nontrivial(step.multipliers))))
        change = _certain_change(old, new)
        for kind, test in tests:
            located = self.located(before, after, length, test)
            if located is None and kind == "torus":
                continue  # a pair that became two real ones outside of the circle has not crossed it
            if located is not None and kind == "fold of cycles" and self.turns_by_rounding(before, located[1], after):
                continue
            if located is None or not _fits(kind, self.nontrivial(located[1].multipliers)):
                return None
            found.append((located[0], kind, located[1]))
            explained += 2 if kind == "torus" else 1
        if change > explained:
            return None
        return [self.special(kind, step) for _, kind, step in sorted(found, key=lambda one: one[0])]

    def turns_by_rounding(self, before: OrbitStep, turn: OrbitStep, after: OrbitStep) -> bool:
        """Whether the parameter stays where it seems to turn, or no multiplier passes through 1 there."""
        if np.ptp([step.orbit.parameter for step in (before, turn, after)]) <= KNOWN * self.width:
            return True
        return bool(np.abs(self.nontrivial(turn.multipliers) - 1).min(initial=np.inf) > APART)

    def located(
        self, before: OrbitStep, after: OrbitStep, length: float, test: Callable[[OrbitStep], float]
    ) -> tuple[float, OrbitStep] | None:
        """Where a test function is zero between two orbits, by the method of Illinois (M. Dowell, P. Jarratt)."""
        far, near, at_far, at_near = 0.0, length, test(before), test(after)
        if not at_far * at_near < 0:
            return None
        for _ in range(60):
            trial = near - at_near * (near - far) / (at_near - at_far)
            step = self.stepped(before, trial)
            value = float("nan") if step is None else test(step)
            if step is None or not np.isfinite(value):
                # Where branches cross, Newton's method does not converge: the curve is known on both sides.
                return self.interpolated(before, after, length, test)
            moved = abs(trial - near)
            if value * at_near < 0:
                far, at_far = near, at_near
            else:
                at_far *= 0.5
            near, at_near = trial, value
            if moved <= LOCATED * length or abs(value) <= 1e-13:
                return near, step
        return None

    def interpolated(
        self, before: OrbitStep, after: OrbitStep, length: float, test: Callable[[OrbitStep], float]
    ) -> tuple[float, OrbitStep] | None:
        """The same by a polynomial through orbits on both sides, where that between them cannot be had."""
        tried = [(share, self.stepped(before, share * length)) for share in np.linspace(0.125, 0.875, 7)]
        steps = [(0.0, before), *((share, step) for share, step in tried if step is not None), (1.0, after)]
        if len(steps) < 6:
            return None
        shares, values = np.array([share for share, _ in steps]), np.array([test(step) for _, step in steps])
        fitted = np.polynomial.Polynomial.fit(shares, values, len(steps) - 1)
        roots = [
            float(root.real)
            for root in np.asarray(fitted.roots(), dtype=complex)
            if abs(root.imag) < 1e-9 and 0 <= root.real <= 1
        ]
        if len(roots) != 1:
            return None
        weights = np.array([np.prod((roots[0] - np.delete(shares, k)) / (shares[k] - np.delete(shares, k)))
                            for k in range(len(shares))])  # fmt: skip
        Y = weights @ np.array([step.point.unknowns for _, step in steps])
        nearest = steps[int(np.argmin(np.abs(shares - roots[0])))][1]
        point = CurvePoint(Y, nearest.point.tangent, nearest.point.orientation)
        orbit = before.equations.split(Y)
        return roots[0] * length, OrbitStep(before.equations, orbit, point, before.equations.multipliers(orbit))

    def special(self, kind: str, step: OrbitStep) -> SpecialOrbit:
        """A special orbit, told in words."""
        orbit = step.orbit
        where = f"at {self.name} = {orbit.parameter:.10g}, period {orbit.period:.8g}"
        sentences = {
            "fold of cycles": f"Fold of cycles {where}: the branch turns back, and a multiplier passes through 1.",
            "period doubling": f"Period doubling {where}: a multiplier passes through -1.",
            "branch point": f"Branch point of cycles {where}: a multiplier passes through 1; another branch crosses.",
            "torus": f"Torus point {where}: a pair of multipliers passes the unit circle.",
        }
        return SpecialOrbit(
            kind, self.name, orbit.parameter, orbit.period, step.multipliers, sentences[kind], self, step
        )

    def switched(self, special: SpecialOrbit) -> OrbitBranch:
        """The branch that crosses at a special orbit: twice the period, or the same period."""
        step: OrbitStep = special._step
        doubling = special.kind == "period doubling"
        direction = step.equations.direction_of(step.orbit, -1.0 if doubling else 1.0)
        orbit, values, mesh = step.orbit, step.orbit.values, step.orbit.mesh
        if doubling:
            mesh = np.concatenate([0.5 * mesh, 0.5 + 0.5 * mesh[1:]])
            values = MeshValues(
                np.vstack([values.x, values.x[1:]]), np.concatenate([values.rates] * 2), np.concatenate([values.z] * 2)
            )
            direction = MeshValues(
                np.vstack([direction.x, -direction.x[1:]]), np.concatenate([direction.rates, -direction.rates]),
                np.concatenate([direction.z, -direction.z]),
            )  # fmt: skip
        period = orbit.period * (2 if doubling else 1)
        base = OrbitValues(mesh, values, period, np.zeros(0), orbit.parameter)
        begun = self.left(base, direction)
        if begun is None:
            raise SolverError(
                f"The branch that crosses at {self.name} = {special.parameter:.6g} could not be entered.",
                because="Newton's method falls back onto the first one from every distance tried.",
                remedy="dd.branch of an orbit on it: dd.periodic(m, start=..., period=...)",
            )
        return self.walk(begun, (f"begins at {special.sentence[0].lower()}{special.sentence[1:]}",))

    def left(self, base: OrbitValues, direction: MeshValues, born: bool = False) -> OrbitStep | None:
        """A first orbit a short way from a base along a direction, where Newton's method does not fall back.

        born: the base is a point of rest, and the phase is held by the motion along the direction.
        """
        equations = OrbitEquations(self.problem, base, direction.rates if born else None)
        Y = equations.joined(base)
        zero = np.zeros(len(equations.kept))
        along = equations.joined(OrbitValues(base.mesh, direction, 0.0, zero, 0.0))
        point = self.entered(self.curve(equations), Y, along, equations.sizes(Y, self.width))
        if point is None:
            return None
        orbit = equations.split(point.unknowns)
        return OrbitStep(equations, orbit, point, equations.multipliers(orbit))


def _certain_change(old: np.ndarray, new: np.ndarray) -> int:
    """How many multipliers at least pass the unit circle; those on it, as of an orbit that is just born, may be either.

    Example
    -------
    >>> inside, on, outside = np.array([0.5]), np.array([1.0]), np.array([2.0])
    >>> _certain_change(inside, outside), _certain_change(on, outside), _certain_change(outside, on)
    (1, 0, 0)
    """
    fewest = [int(np.sum(np.abs(side) > 1 + ON_CIRCLE)) for side in (old, new)]
    most = [int(np.sum(np.abs(side) >= 1 - ON_CIRCLE)) for side in (old, new)]
    return max(fewest[1] - most[0], fewest[0] - most[1], 0)


def _beyond(multipliers: np.ndarray, side: int) -> float:
    """A continuous number that is zero where a real multiplier is 1 or -1, and changes its sign there.

    It is det(M - side I) with its factors cut to one; pairs that meet on the real axis do not change its sign.
    """
    return float(np.prod((multipliers - side) / (1 + np.abs(multipliers))).real)


def _stays(old: np.ndarray, new: np.ndarray) -> bool:
    """Whether no multiplier comes near to 1, so that a parameter that turns back does so by rounding."""
    near = min((float(np.abs(side - 1).min(initial=np.inf)) for side in (old, new)), default=np.inf)
    return near > APART and _beyond(old, 1) * _beyond(new, 1) > 0


def _fits(kind: str, multipliers: np.ndarray) -> bool:
    """Whether a multiplier is where the kind of a special orbit wants it."""
    side = {"period doubling": -1, "branch point": 1}.get(kind)
    if side is None:
        return True
    known = max(NEAR_SIDE, KNOWN_BY_DIFFERENCES * float(np.max(np.abs(multipliers))))
    return float(np.min(np.abs(multipliers - side))) <= known


def _pairs_outside(multipliers: np.ndarray) -> int:
    pairs = multipliers[multipliers.imag > 1e-9 * np.maximum(np.abs(multipliers), NOT_ZERO)]
    return int(np.sum(np.abs(pairs) > 1))


def _pair_next_to_circle(multipliers: np.ndarray) -> float:
    pairs = multipliers[multipliers.imag > 1e-9 * np.maximum(np.abs(multipliers), NOT_ZERO)]
    if not len(pairs):
        return float("nan")
    return float(np.abs(pairs[int(np.argmin(np.abs(np.abs(pairs) - 1)))]) - 1)
