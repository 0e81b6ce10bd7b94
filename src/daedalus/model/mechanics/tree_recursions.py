"""Recursions over a tree of rigid links: motion, inverse and forward dynamics, mass matrix, each in O(n).

Every link has a frame at its joint with axes that turn with the link. Motions are pairs (angular, linear), forces pairs
(moment, force), both about the link's origin in its own axes. With the motion S(q) v that a joint allows,

    V = X V_parent + S v,      A = X A_parent + S v' + c + V × S v,      F = I A + V ×* I V − F_external,    τ = Sᵀ F,

where X takes motions from the parent's frame to the link's own (R. Featherstone, Rigid Body Dynamics Algorithms, 2008,
chapters 5 to 7). The world accelerates by −g in place of a weight on every link.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca

from daedalus.geometry.traced_formula import traced

Pair = tuple[ca.SX, ca.SX]  # angular and linear, or moment and force


@dataclass(frozen=True)
class Link:
    """One rigid link and the joint that holds it; `turn` and `shift` contain the joint's coordinates.

    turn: the link's axes seen from the parent (3×3); shift: its origin in the parent's frame.
    angular, linear: S, how the link moves for unit velocities of the joint, in link axes, 3 × k.
    drift: c, what S' v adds to the linear acceleration, in link axes.
    """

    parent: int  # −1 for the world
    turn: ca.SX
    shift: ca.SX
    angular: ca.SX
    linear: ca.SX
    drift: ca.SX
    columns: tuple[int, ...]  # which velocities of the tree are its own
    mass: ca.SX
    centre: ca.SX  # centre of mass, in the link's frame
    inertia: ca.SX  # about the centre of mass, in link axes


def poses(links: Sequence[Link]) -> tuple[list[ca.SX], list[ca.SX]]:
    """World rotation and origin of every link."""
    rotations: list[ca.SX] = []
    origins: list[ca.SX] = []
    for link in links:
        if link.parent < 0:
            rotations.append(link.turn)
            origins.append(link.shift)
        else:
            turn, place = _placed(rotations[link.parent], origins[link.parent], link.turn, link.shift)
            rotations.append(turn)
            origins.append(place)
    return rotations, origins


def velocities(links: Sequence[Link], v: ca.SX) -> list[Pair]:
    """Angular velocity and velocity of the origin of every link, in its own axes."""
    moving: list[Pair] = []
    each = ca.vertsplit(v) if v.numel() else []
    still = (ca.SX(3, 1), ca.SX(3, 1))
    for link in links:
        before = still if link.parent < 0 else moving[link.parent]
        spin, speed = _moved(link.turn, link.shift, link.angular, link.linear, _picked(link, each), *before)
        moving.append((spin, speed))
    return moving


def accelerations(links: Sequence[Link], v: ca.SX, a: ca.SX, moving: Sequence[Pair], lift: ca.SX) -> list[Pair]:
    """Spatial accelerations of every link; `lift` is the acceleration of the world, −g."""
    rising: list[Pair] = []
    speeds, rises = (ca.vertsplit(x) if x.numel() else [] for x in (v, a))
    for link, motion in zip(links, moving):
        base = (ca.SX.zeros(3), lift) if link.parent < 0 else rising[link.parent]
        own = _moved(link.turn, link.shift, link.angular, link.linear, _picked(link, rises), *base)
        rising.append(_plus((own[0], own[1]), _bias(link, _picked(link, speeds), motion)))
    return rising


def joint_forces(
    links: Sequence[Link], v: ca.SX, a: ca.SX, gravity: ca.SX, external: Sequence[Pair | None] | None = None
) -> tuple[ca.SX, list[Pair]]:
    """Inverse dynamics: τ = M a + h − Jᵀ F, and the whole force that every joint passes to its link."""
    return passed_inwards(links, inertia_forces(links, v, a, gravity, velocities(links, v)), v.numel(), external)


def inertia_forces(links: Sequence[Link], v: ca.SX, a: ca.SX, gravity: ca.SX, moving: Sequence[Pair]) -> list[Pair]:
    """What every link by itself needs to move as it does, less its weight; `moving` are its velocities."""
    rising = accelerations(links, v, a, moving, -gravity)
    found: list[Pair] = []
    for link, motion, rise in zip(links, moving, rising):
        moment, push = _inertia_force(link.mass, link.centre, link.inertia, *motion, *rise)
        found.append((moment, push))
    return found


def passed_inwards(
    links: Sequence[Link], needed: Sequence[Pair], count: int, external: Sequence[Pair | None] | None = None
) -> tuple[ca.SX, list[Pair]]:
    """The forces of the joints for what the links need, less what acts on these; and what every joint passes on."""
    passed = list(needed)
    for k, pushed in enumerate(external or ()):
        if pushed is not None:
            passed[k] = (passed[k][0] - pushed[0], passed[k][1] - pushed[1])
    return _collected(links, passed, count), passed


def pulled_back(links: Sequence[Link], external: Sequence[Pair | None], count: int) -> ca.SX:
    """Jᵀ F: forces on links as forces on the joints."""
    nothing = (ca.SX.zeros(3), ca.SX.zeros(3))
    return _collected(links, [nothing if force is None else force for force in external], count)


def mass_matrix(links: Sequence[Link], count: int) -> ca.SX:
    """M(q) by composite bodies; zero where neither of two joints carries the other."""
    whole = [_rigid(link) for link in links]
    matrix = ca.SX(count, count)
    for k in range(len(links) - 1, -1, -1):
        link = links[k]
        moment, force = _pushed(*whole[k], link.angular, link.linear)
        i = k
        while i >= 0 and link.columns:
            carrier = links[i]
            if carrier.columns:
                (block,) = _felt(carrier.angular, carrier.linear, moment, force)
                for row, r in enumerate(carrier.columns):
                    for column, c in enumerate(link.columns):
                        matrix[r, c] = matrix[c, r] = block[row, column]
            moment, force = _outward(carrier.turn, carrier.shift, moment, force)
            i = carrier.parent
        if link.parent >= 0:
            whole[link.parent] = whole[link.parent].plus(_carried(link, whole[k]))
    return matrix


def forward_dynamics(links: Sequence[Link], v: ca.SX, tau: ca.SX, gravity: ca.SX, armature: ca.SX) -> ca.SX:
    """v' = M⁻¹ (τ − h) by articulated bodies, without a matrix of the whole tree; `armature` adds to the diagonal."""
    moving = velocities(links, v)
    whole = [_rigid(link) for link in links]
    speeds, torques, rotors = (ca.vertsplit(x) if x.numel() else [] for x in (v, tau, armature))
    push: list[Pair] = []
    bias: list[Pair] = []
    for link, motion, inertia in zip(links, moving, whole):
        moment, force = _gyroscopic(*inertia, *motion)
        push.append((moment, force))
        bias.append(_bias(link, _picked(link, speeds), motion))
    solved: list[tuple[ca.SX, ...]] = []
    for k in range(len(links) - 1, -1, -1):
        link = links[k]
        acting = _picked(link, torques), _picked(link, rotors)
        *kept, angular, coupling, linear, moment, force = _articulated(
            *whole[k], *push[k], *bias[k], link.angular, link.linear, *acting
        )
        solved.append(tuple(kept))
        if link.parent < 0:
            continue
        left = _SpatialInertia(angular, coupling, linear)
        whole[link.parent] = whole[link.parent].plus(_carried(link, left))
        outward = _outward(link.turn, link.shift, moment, force)
        push[link.parent] = _plus(push[link.parent], (outward[0], outward[1]))
    solved.reverse()
    found: list[ca.SX] = [ca.SX(0)] * v.numel()
    rising: list[Pair] = []
    for k, link in enumerate(links):
        base = (ca.SX.zeros(3), -gravity) if link.parent < 0 else rising[link.parent]
        own, spin, speed = _accelerated(link.turn, link.shift, link.angular, link.linear, *base, *bias[k], *solved[k])
        if link.columns:
            for c, value in zip(link.columns, ca.vertsplit(own)):
                found[c] = value
        rising.append((spin, speed))
    return ca.vertcat(*found) if found else ca.SX(0, 1)


# -- spatial algebra, written out ------------------------------------------------------------------------------


class _SpatialInertia(NamedTuple):
    """(moment, force) of unit accelerations: [[angular, coupling], [couplingᵀ, linear]]."""

    angular: ca.SX
    coupling: ca.SX
    linear: ca.SX

    def times(self, motion: Pair) -> Pair:
        return (
            self.angular @ motion[0] + self.coupling @ motion[1],
            self.coupling.T @ motion[0] + self.linear @ motion[1],
        )

    def plus(self, other: _SpatialInertia) -> _SpatialInertia:
        return _SpatialInertia(*(one + two for one, two in zip(self, other)))


def _rigid(link: Link) -> _SpatialInertia:
    """A rigid body's inertia about the origin of its link."""
    return _SpatialInertia(*_rigid_inertia(link.mass, link.centre, link.inertia))


@traced
def _rigid_inertia(mass: ca.SX, centre: ca.SX, inertia: ca.SX) -> tuple[ca.SX, ...]:
    across = ca.skew(centre)
    return _mirrored(inertia - mass * across @ across), mass * across, mass * ca.SX.eye(3)


def _carried(link: Link, inertia: _SpatialInertia) -> _SpatialInertia:
    """The inertia of a link as its parent feels it through a rigid joint."""
    return _SpatialInertia(*_carried_inertia(link.turn, link.shift, *inertia))


@traced
def _carried_inertia(turn: ca.SX, shift: ca.SX, angular: ca.SX, coupling: ca.SX, linear: ca.SX) -> tuple[ca.SX, ...]:
    across = ca.skew(shift)
    linear = _mirrored(turn @ linear @ turn.T)
    coupling = turn @ coupling @ turn.T
    angular = turn @ angular @ turn.T
    shifted = coupling + across @ linear
    return _mirrored(angular - coupling @ across + across @ shifted.T), shifted, linear


# -- steps from one link to the next ----------------------------------------------------------------------------


@traced
def _placed(rotation: ca.SX, origin: ca.SX, turn: ca.SX, shift: ca.SX) -> tuple[ca.SX, ...]:
    """Axes and origin of a link in the world."""
    return rotation @ turn, origin + rotation @ shift


@traced
def _moved(
    turn: ca.SX, shift: ca.SX, angular: ca.SX, linear: ca.SX, own: ca.SX, spin: ca.SX, speed: ca.SX
) -> tuple[ca.SX, ...]:
    """X V + S v: a motion of the parent's frame in the frame of a link, and what the joint adds."""
    return turn.T @ spin + angular @ own, turn.T @ (speed + _crossed(spin, shift)) + linear @ own


@traced
def _inertia_force(
    mass: ca.SX, centre: ca.SX, inertia: ca.SX, spin: ca.SX, speed: ca.SX, turned: ca.SX, risen: ca.SX
) -> tuple[ca.SX, ...]:
    """I A + V ×* I V of one link, by its momentum."""
    momentum = mass * (speed + _crossed(spin, centre))
    turning = inertia @ spin
    push = mass * (risen + _crossed(turned, centre)) + _crossed(spin, momentum)
    return inertia @ turned + _crossed(spin, turning) + _crossed(centre, push), push


@traced
def _gyroscopic(angular: ca.SX, coupling: ca.SX, linear: ca.SX, spin: ca.SX, speed: ca.SX) -> tuple[ca.SX, ...]:
    """V ×* I V."""
    moment, force = _SpatialInertia(angular, coupling, linear).times((spin, speed))
    return _crossed(spin, moment) + _crossed(speed, force), _crossed(spin, force)


@traced
def _pushed(angular: ca.SX, coupling: ca.SX, linear: ca.SX, about: ca.SX, along: ca.SX) -> tuple[ca.SX, ...]:
    """I S."""
    return _SpatialInertia(angular, coupling, linear).times((about, along))


@traced
def _felt(about: ca.SX, along: ca.SX, moment: ca.SX, force: ca.SX) -> tuple[ca.SX, ...]:
    """Sᵀ F."""
    return (about.T @ moment + along.T @ force,)


@traced
def _articulated(
    angular: ca.SX, coupling: ca.SX, linear: ca.SX, push_moment: ca.SX, push_force: ca.SX,
    bias_spin: ca.SX, bias_speed: ca.SX, about: ca.SX, along: ca.SX, tau: ca.SX, rotor: ca.SX,
) -> tuple[ca.SX, ...]:  # fmt: skip
    """I S, (Sᵀ I S)⁻¹ and τ − Sᵀ p of a link; then the inertia and force that are left for its parent."""
    inertia = _SpatialInertia(angular, coupling, linear)
    moment, force = inertia.times((about, along))
    rest = tau - about.T @ push_moment - along.T @ push_force
    inverse = _inverse(about.T @ moment + along.T @ force + ca.diag(rotor))
    left = inertia
    if tau.numel():
        gain_moment, gain_force = moment @ inverse, force @ inverse
        left = _SpatialInertia(
            _mirrored(angular - gain_moment @ moment.T),
            coupling - gain_moment @ force.T,
            _mirrored(linear - gain_force @ force.T),
        )
    pushed = left.times((bias_spin, bias_speed))
    total = (push_moment + pushed[0], push_force + pushed[1])
    if tau.numel():
        share = inverse @ rest
        total = (total[0] + moment @ share, total[1] + force @ share)
    return moment, force, inverse, rest, *left, *total


@traced
def _accelerated(
    turn: ca.SX, shift: ca.SX, about: ca.SX, along: ca.SX, spin: ca.SX, speed: ca.SX,
    bias_spin: ca.SX, bias_speed: ca.SX, moment: ca.SX, force: ca.SX, inverse: ca.SX, rest: ca.SX,
) -> tuple[ca.SX, ...]:  # fmt: skip
    """The acceleration of a joint, then that of its link."""
    turned = turn.T @ spin + bias_spin
    risen = turn.T @ (speed + _crossed(spin, shift)) + bias_speed
    own = inverse @ (rest - moment.T @ turned - force.T @ risen)
    return own, turned + about @ own, risen + along @ own


@traced
def _outward(turn: ca.SX, shift: ca.SX, moment: ca.SX, force: ca.SX) -> tuple[ca.SX, ...]:
    """A force on a link about the origin and in the axes of its parent."""
    pushed = turn @ force
    return turn @ moment + _crossed(shift, pushed), pushed


@traced
def _bias_of(about: ca.SX, along: ca.SX, own: ca.SX, drift: ca.SX, spin: ca.SX, speed: ca.SX) -> tuple[ca.SX, ...]:
    turning, sliding = about @ own, along @ own
    return _crossed(spin, turning), _crossed(spin, sliding) + _crossed(speed, turning) + drift


def _bias(link: Link, own: ca.SX, motion: Pair) -> Pair:
    """c + V × S v."""
    turned, risen = _bias_of(link.angular, link.linear, own, link.drift, *motion)
    return turned, risen


def _picked(link: Link, each: Sequence[ca.SX]) -> ca.SX:
    """The entries of a vector that belong to the joint of a link."""
    return ca.vertcat(*(each[k] for k in link.columns)) if link.columns else ca.SX(0, 1)


def _collected(links: Sequence[Link], forces: list[Pair], count: int) -> ca.SX:
    """Forces of links summed from the tips inwards and projected on the joints; `forces` ends as those sums."""
    result: list[ca.SX] = [ca.SX(0)] * count
    for k in range(len(links) - 1, -1, -1):
        link = links[k]
        if link.columns:
            (own,) = _felt(link.angular, link.linear, *forces[k])
            for c, value in zip(link.columns, ca.vertsplit(own)):
                result[c] = value
        if link.parent >= 0:
            moment, force = _outward(link.turn, link.shift, *forces[k])
            forces[link.parent] = _plus(forces[link.parent], (moment, force))
    return ca.vertcat(*result) if result else ca.SX(0, 1)


def _plus(one: Pair, two: Pair) -> Pair:
    return one[0] + two[0], one[1] + two[1]


def _crossed(one: ca.SX, two: ca.SX) -> ca.SX:
    return ca.cross(one, two) if two.size2() == 1 else ca.skew(one) @ two


def _mirrored(matrix: ca.SX) -> ca.SX:
    """A symmetric matrix whose lower entries are its upper ones: half the work, and symmetric to the last bit."""
    return ca.triu2symm(ca.triu(ca.densify(matrix)))


def _inverse(block: ca.SX) -> ca.SX:
    """The inverse of a symmetric positive definite matrix of at most six rows, by LDLᵀ without pivots."""
    size = block.size1()
    if size == 0:
        return ca.SX(0, 0)
    if size == 1:
        return 1 / block
    lower = ca.SX.eye(size)
    diagonal: list[ca.SX] = []
    for j in range(size):
        d = block[j, j] - sum((lower[j, k] ** 2 * diagonal[k] for k in range(j)), ca.SX(0))
        diagonal.append(d)
        for i in range(j + 1, size):
            lower[i, j] = (block[i, j] - sum((lower[i, k] * lower[j, k] * diagonal[k] for k in range(j)), ca.SX(0))) / d
    unit = _unit_lower_inverse(lower)
    scaled = ca.diag(ca.vertcat(*(1 / d for d in diagonal))) @ unit
    return _mirrored(unit.T @ scaled)


def _unit_lower_inverse(lower: ca.SX) -> ca.SX:
    """The inverse of a lower triangular matrix with a unit diagonal, by forward substitution."""
    size = lower.size1()
    inverse = ca.SX.eye(size)
    for j in range(size):
        for i in range(j + 1, size):
            inverse[i, j] = -sum((lower[i, k] * inverse[k, j] for k in range(j, i)), ca.SX(0))
    return inverse
