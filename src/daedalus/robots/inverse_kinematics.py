"""`dd.inverse_kinematics(m, targets)`: joint positions that bring frames to given places and orientations.

Levenberg's and Marquardt's method, with limits kept by an active set: min |r(q)|² over the limits, where r holds the
missing way of every position and the missing turn of every rotation, a rotation vector times the size of the robot.
What the targets leave open is settled by the posture nearest to a preferred one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus.algebra.newton_steps import full_newton, largest_entry
from daedalus.algebra.rank_decision import SINGULAR
from daedalus.algebra.shortened_steps import Descent, levenberg_marquardt
from daedalus.compilation import Compiled, compile_function
from daedalus.errors import InputError, ModelError
from daedalus.geometry.array_or_symbol import is_symbol
from daedalus.geometry.axis_angle import rotation_log
from daedalus.model.drawing.drawing_part import Drawing
from daedalus.model.model import Model
from daedalus.model.names import counted, did_you_mean, listed
from daedalus.model.plain_numbers import plain_array
from daedalus.model.system.system import System
from daedalus.robots.robot import Robot
from daedalus.robots.robot_arguments import read_turn

# A target is reached where what is missing is below this share of the robot's size: a micrometre on a metre is far more
# than rounding and far less than what a drive can resolve.
REACHED = 1e-8
MOST_ITERATIONS = 200
# Postures tried at most where the first ends in a local minimum; drawn from one seed, so that answers repeat.
RESTARTS = 60
# A descent that goes on to a solution is near it after so many steps; the best one is finished.
MOST_OF_A_RESTART = 40
# Two minima are one where what is missing differs by less than this share.
SAME_MINIMUM = 1e-4
# What loops are off by counts this many times as much as what targets miss.
LOOPS = 1e3
# Steps that close loops which are nearly closed.
MOST_CLOSING = 10


@dataclass(frozen=True)
class Posture:
    """Joint positions, and how far they are from the targets.

    q: positions in the order of `labels`. reached: whether all targets are reached. distance: the largest remaining
    distance of a position, m; angle: the largest remaining angle of a rotation, rad. values: positions by variable,
    ready as `start=`. at_limits: coordinates at their limits.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("slide")
    >>> cart = m.body("cart", mass=1.0, inertia=[0.1, 0.1, 0.1])
    >>> rail = m.joint("rail", "prismatic", dd.ground, cart, axis_a=[1, 0, 0], coordinates="joint")
    >>> found = dd.inverse_kinematics(m, {"cart.position": [0.5, 0.2, 0.0]})
    >>> round(found.values["rail.displacement"], 6), round(found.distance, 6)
    (0.5, 0.2)
    """

    q: np.ndarray
    reached: bool
    distance: float
    angle: float
    labels: tuple[str, ...]
    values: dict[str, Any]
    at_limits: tuple[str, ...]
    sentence: str

    def __repr__(self) -> str:
        return self.sentence


class _FrameTarget(NamedTuple):
    frame: str
    what: str  # position or rotation
    value: np.ndarray


def inverse_kinematics(
    model: Model | System, targets: Mapping[str, Any], start: Mapping[str, Any] | None = None, limits: bool = True
) -> Posture:
    """Find joint positions that bring frames or bodies to target positions and rotations.

    Parameters
    ----------
    targets: by name, "tool.position": three numbers, m; "tool.rotation": a matrix or a quaternion.
    start: the preferred posture by name of the coordinates. The search begins there, and motions that the targets leave
        open stay near it. The default is the start values of the model, or zero.
    limits: whether the limits of the joints hold (`lower` and `upper` of their coordinates).

    A target out of reach is not an error: `reached` is False, and `distance` is the remaining distance.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("arm of two links")
    >>> a, b = (m.body(name, mass=1.0, inertia=[0.1, 0.1, 0.1]) for name in "ab")
    >>> options = {"at_b": [-0.5, 0, 0], "axis_a": [0, 0, 1], "coordinates": "joint"}
    >>> shoulder = m.joint("shoulder", "revolute", dd.ground, a, **options)
    >>> elbow = m.joint("elbow", "revolute", a, b, at_a=[0.5, 0, 0], **options)
    >>> m.frame("tool", b, at=[0.5, 0, 0])
    >>> found = dd.inverse_kinematics(m, {"tool.position": [1.0, 1.0, 0.0]}, start={"elbow.angle": 1.0})
    >>> found.reached, found.q.round(6).tolist()
    (True, [-0.0, 1.570796])
    >>> dd.inverse_kinematics(m, {"tool.position": [3.0, 0.0, 0.0]})
    tool.position is out of reach: 1 m are missing.
    """
    if isinstance(model, System):
        drawing = model.part(Drawing)
        model = model if drawing is None or drawing.book is None else drawing.book
    if not isinstance(model, Model):
        raise ModelError(
            "inverse_kinematics takes a Model.",
            f"got {type(model).__name__}",
            because="frames and limits belong to the model.",
            remedy="dd.inverse_kinematics(m, ...) with m = dd.read_urdf(...)",
        )
    if not isinstance(limits, (bool, np.bool_)):
        raise InputError(
            "limits is neither True nor False.",
            f"got {limits!r}"[:120],
            because="it says whether the limits of the joints hold.",
            remedy="limits=False",
        )
    robot = model.robot()
    search = _PostureSearch(model, robot, _read(robot, targets), limits)
    preferred = search.preferred({} if start is None else start)
    return search.answer(preferred)


class _PostureSearch:
    """The search for one set of targets."""

    def __init__(self, model: Model, robot: Robot, targets: list[_FrameTarget], limits: bool) -> None:
        self.model, self.robot, self.targets = model, robot, targets
        names = [element.split("[")[0] for element in robot.labels["q"]]
        self.names = list(dict.fromkeys(names))
        self.quaternions = [k for k, element in enumerate(robot.labels["q"]) if element.endswith("quaternion[0]")]
        self.lower = np.array([self._bound(element, "lower", -np.inf) for element in robot.labels["q"]])
        self.upper = np.array([self._bound(element, "upper", np.inf) for element in robot.labels["q"]])
        if not limits:
            self.lower, self.upper = np.full_like(self.lower, -np.inf), np.full_like(self.upper, np.inf)
        # Positions that a velocity moves alone: all but those of quaternions.
        self.column = self._columns()
        self.reach = self._reach()
        # Loops and joints that follow others stay as they are where a target is out of reach.
        self.closes, self.weight = list(model.written.mechanics.constraints), LOOPS * self.reach

    def _bound(self, element: str, which: str, default: float) -> float:
        name, _, rest = element.partition("[")
        values = getattr(self.model.written.variables[name], which)
        return float(values[int(rest[:-1]) if rest else 0]) if values else default

    def _columns(self) -> dict[int, int]:
        found, k, column = {}, 0, 0
        labels = self.robot.labels["q"]
        while k < len(labels):
            if k in self.quaternions:
                k, column = k + 4, column + 3
                continue
            found[k] = column
            k, column = k + 1, column + 1
        return found

    def _reach(self) -> float:
        """The size of the robot: how far targets and frames are from each other, at least a millimetre."""
        q = self._normalised(np.zeros(len(self.lower)))
        places = [self.robot.pose(frame, q)[:3, 3] for frame in self.robot.frames[:50]]
        places += [target.value for target in self.targets if target.what == "position"]
        return max(1e-3, float(np.ptp(np.array(places), axis=0).max()))

    def preferred(self, start: Mapping[str, Any]) -> np.ndarray:
        """The posture that the user prefers."""
        q = np.zeros(len(self.lower))
        labels = self.robot.labels["q"]
        for k, element in enumerate(labels):
            name, _, rest = element.partition("[")
            variable, entry = self.model.written.variables[name], int(rest[:-1]) if rest else 0
            guess = variable.guess[entry] if variable.guess else 0.0
            q[k] = float(guess if variable.start[entry] is None else variable.start[entry])  # type: ignore[arg-type]
        if not isinstance(start, Mapping):
            raise InputError(
                "The start of inverse_kinematics has no names.",
                [f"got {start!r}"[:120], f"coordinates: {listed(self.names, 12)}"],
                because="coordinates that are not named keep their start values.",
                remedy=f"start={{{self.names[0]!r}: 0.0}}",
            )
        for name, value in start.items():
            places = [k for k, element in enumerate(labels) if element == name or element.split("[")[0] == name]
            if not places:
                raise InputError(
                    f"The robot has no coordinate {name!r}.",
                    f"coordinates: {listed(self.names, 12)}",
                    because="a posture is given by joint coordinates.",
                    remedy=did_you_mean(name, self.names),
                )
            numbers = _finite(value, len(places))
            if numbers is None:
                raise InputError(
                    f"The start of {name!r} is not {counted(len(places), 'number')}.",
                    f"got {value!r}"[:120],
                    because="a posture has one finite number for each coordinate.",
                    remedy=f"start={{{name!r}: {0.0 if len(places) == 1 else [0.0] * len(places)}}}",
                )
            q[places] = numbers
        return np.clip(self._normalised(q), self.lower, self.upper)

    def answer(self, preferred: np.ndarray) -> Posture:
        """The nearest posture that reaches the targets, or the one that comes closest."""
        best = self._descend(preferred)
        rng, minima = np.random.default_rng(0), [best.size]
        for tried in range(1, RESTARTS + 1):
            if best.size <= REACHED * self.reach or _no_more_expected(tried, len(minima)):
                break
            other = self._descend(self._random(rng), MOST_OF_A_RESTART)
            if other.size < best.size * (1 - 1e-9):
                best = other
            if all(abs(other.size - known) > SAME_MINIMUM * known for known in minima):
                minima.append(other.size)
        if best.size > REACHED * self.reach:
            best = self._descend(best.values)
        if best.size <= REACHED * self.reach:
            best = self._nearer(best, preferred)
        elif self.closes:
            best = self._at(self._closed(best.values), self.weight)
        return self._told(best)

    def _closed(self, q: np.ndarray) -> np.ndarray:
        """The nearest posture whose loops close, as far as limits allow; Gauss–Newton from one that is close."""

        def correction(q: np.ndarray) -> np.ndarray:
            kept, by_v = self.robot._call("constraints", q)
            by_v = np.reshape(by_v, (len(np.ravel(kept)), -1))
            return np.asarray(-np.linalg.pinv(by_v, rcond=SINGULAR) @ np.ravel(kept))

        return full_newton(correction, q, largest_entry, most=MOST_CLOSING, tolerance=1e-14, moved=self._moved).values

    def _descend(self, q: np.ndarray, most: int = MOST_ITERATIONS) -> Descent:
        """Levenberg–Marquardt with limits from one posture.

        Loops that count much leave a narrow valley, through which steps are short: they count as targets do first.
        """
        if self.closes:
            q = self._descend_with(self.reach, q, most).values
        return self._descend_with(self.weight, q, most)

    def _descend_with(self, weight: float, q: np.ndarray, most: int) -> Descent:
        """The same with one weight of the loops."""
        return levenberg_marquardt(
            lambda here: self._at(here, weight), q, self._moved, enough=0.01 * REACHED * self.reach, most=most,
            free=lambda here, slope: self._free(here.values, slope), least_scale=1e-6 * self.reach**2, progress=1e-13,
        )  # fmt: skip

    def _nearer(self, tried: Descent, preferred: np.ndarray) -> Descent:
        """Move in what the targets leave open towards the preferred posture, and back onto the targets.

        Each posture on the way solves the targets by `levenberg_marquardt`; the way itself has no equations to solve.
        """
        for _ in range(30):
            wish = np.zeros(tried.slopes.shape[1])
            for k, column in self.column.items():
                wish[column] = preferred[k] - tried.values[k]
            free = self._free(tried.values, -wish)
            jacobian = np.where(free, tried.slopes, 0.0)
            step = np.where(free, wish, 0.0)
            step = step - np.linalg.pinv(jacobian, rcond=SINGULAR) @ (jacobian @ step)
            if np.abs(step).max(initial=0.0) < 1e-9:
                break
            share = 1.0
            while share > 1e-3:
                other = self._descend(self._moved(tried.values, share * step))
                if other.size <= REACHED * self.reach and self._far(other.values, preferred) < self._far(
                    tried.values, preferred
                ):
                    tried = other
                    break
                share /= 2
            else:
                break
        return tried

    def _far(self, q: np.ndarray, preferred: np.ndarray) -> float:
        return float(np.linalg.norm([q[k] - preferred[k] for k in self.column]))

    def _at(self, q: np.ndarray, weight: float) -> Descent:
        rows, slopes = [], []
        for frame, what, value in self.targets:
            pose, jacobian = self.robot.pose(frame, q), self.robot.jacobian(frame, q)
            if what == "position":
                rows.append(pose[:3, 3] - value)
                slopes.append(jacobian[:3])
            else:
                (turn,) = _rotation_vector()(pose[:3, :3] @ value.T)
                rows.append(self.reach * turn)
                slopes.append(self.reach * jacobian[3:])
        if self.closes:
            kept, by_v = self.robot._call("constraints", q)
            rows.append(weight * np.ravel(kept))
            slopes.append(weight * np.reshape(by_v, (-1, slopes[0].shape[1])))
        return Descent(q, np.concatenate(rows), np.concatenate(slopes))

    def _free(self, q: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """Velocities that no limit stops: descent −slope does not push against one."""
        free = np.ones(len(slope), dtype=bool)
        for k, column in self.column.items():
            at_lower, at_upper = q[k] <= self.lower[k], q[k] >= self.upper[k]
            free[column] = not ((at_lower and slope[column] > 0) or (at_upper and slope[column] < 0))
        return free

    def _moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """The posture after a step of velocities, inside the limits."""
        rate = self.robot._call("rate", q, step)[0]
        return np.clip(self._normalised(q + rate), self.lower, self.upper)

    def _normalised(self, q: np.ndarray) -> np.ndarray:
        q = q.copy()
        for k in self.quaternions:
            length = np.linalg.norm(q[k : k + 4])
            q[k : k + 4] = q[k : k + 4] / length if length > 0 else (1.0, 0.0, 0.0, 0.0)
        return q

    def _random(self, rng: np.random.Generator) -> np.ndarray:
        low = np.where(np.isfinite(self.lower), self.lower, -np.pi)
        high = np.where(np.isfinite(self.upper), self.upper, np.pi)
        return self._normalised(rng.uniform(np.minimum(low, high), high))

    def _told(self, tried: Descent) -> Posture:
        distance = angle = 0.0
        lost = []
        for k, (frame, what, _) in enumerate(self.targets):
            part = float(np.linalg.norm(tried.left[3 * k : 3 * k + 3]))
            if what == "position":
                distance = max(distance, part)
            else:
                part /= self.reach
                angle = max(angle, part)
            if part * (1 if what == "position" else self.reach) > REACHED * self.reach:
                unit = "m are" if what == "position" else "rad are"
                lost.append(f"{frame}.{what} is out of reach: {part:.4g} {unit} missing")
        open_by = float(np.linalg.norm(tried.left[3 * len(self.targets) :])) / self.weight
        if self.closes and open_by > REACHED:
            lost.append(f"{listed(self.closes, 6)} cannot hold there: off by {open_by:.4g}")
        labels = self.robot.labels["q"]
        held = tuple(labels[k] for k in self.column if tried.values[k] in (self.lower[k], self.upper[k]))
        if lost and held:
            lost.append(f"limits hold {listed(list(held), 6)}")
        values: dict[str, Any] = {}
        for k, element in enumerate(labels):
            values.setdefault(element.split("[")[0], []).append(float(tried.values[k]))
        plain = {n: np.array(v) if self.model.written.variables[n].shape else v[0] for n, v in values.items()}
        sentence = "; ".join(lost) + "." if lost else "All targets are reached."
        return Posture(tried.values, not lost, distance, angle, labels, plain, held, sentence)


@cache
def _rotation_vector() -> Compiled:
    """The rotation vector of a matrix, as machine code."""
    matrix = ca.SX.sym("R", 3, 3)
    return compile_function(ca.Function("rotation_log", [matrix], [ca.densify(rotation_log(matrix))]))


def _no_more_expected(tried: int, found: int) -> bool:
    """Whether so many descents that ended in so many minima leave no further one to expect.

    Of descents from random postures the expected number of minima is w (n − 1) / (n − w − 2) (C. G. E. Boender,
    A. H. G. Rinnooy Kan, Mathematical Programming 37, 1987).

    Example
    -------
    >>> _no_more_expected(8, 1), _no_more_expected(8, 2)
    (True, False)
    """
    return tried > found + 2 and found * (tried - 1) / (tried - found - 2) < found + 0.5


def _read(robot: Robot, targets: Mapping[str, Any]) -> list[_FrameTarget]:
    if not isinstance(targets, Mapping) or not targets:
        raise InputError(
            "There is no target." if isinstance(targets, Mapping) else "The targets have no names.",
            [f"got {targets!r}"[:120], f"frames and bodies: {listed(robot.frames, 12)}"],
            because="the search takes positions and rotations of frames by name.",
            remedy=f'{{"{robot.frames[0]}.position": [0.0, 0.0, 1.0]}}',
        )
    found = []
    for name, value in targets.items():
        frame, _, what = str(name).rpartition(".")
        if what not in ("position", "rotation") or frame not in robot.frames:
            known = [f"{frame}.{what}" for frame in robot.frames for what in ("position", "rotation")]
            raise InputError(
                f"{name!r} is not a target.",
                f"frames and bodies: {listed(robot.frames, 12)}",
                because='a target is the "position" or the "rotation" of a frame.',
                remedy=did_you_mean(str(name), known, listed=False),
            )
        if what == "rotation":
            found.append(_FrameTarget(frame, what, read_turn(value, f"The target {name!r}")))
            continue
        place = _finite(value, 3)
        if place is None:
            raise InputError(
                f"The target {name!r} is not a position.",
                f"got {value!r}"[:120],
                because="a position has three finite numbers.",
                remedy="[0.5, 0.0, 0.3]",
            )
        found.append(_FrameTarget(frame, what, place))
    return found


def _finite(value: Any, count: int) -> np.ndarray | None:
    """So many finite numbers in a row; None where a value is something else."""
    try:
        numbers = np.array([]) if is_symbol(value) else plain_array(value, "The numbers").ravel()
    except InputError:
        return None
    return numbers if len(numbers) == count and np.all(np.isfinite(numbers)) else None
