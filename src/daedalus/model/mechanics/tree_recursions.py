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
            rotations.append(rotations[link.parent] @ link.turn)
            origins.append(origins[link.parent] + rotations[link.parent] @ link.shift)
    return rotations, origins


def velocities(links: Sequence[Link], v: ca.SX) -> list[Pair]:
    """Angular velocity and velocity of the origin of every link, in its own axes."""
    moving: list[Pair] = []
    for link in links:
        own = _own(link, v)
        if link.parent < 0:
            moving.append(own)
        else:
            moving.append(_plus(_into(link, moving[link.parent]), own))
    return moving


def accelerations(links: Sequence[Link], v: ca.SX, a: ca.SX, moving: Sequence[Pair], lift: ca.SX) -> list[Pair]:
    """Spatial accelerations of every link; `lift` is the acceleration of the world, −g."""
    rising: list[Pair] = []
    for link, motion in zip(links, moving):
        base = (ca.SX.zeros(3), lift) if link.parent < 0 else rising[link.parent]
        rising.append(_plus(_into(link, base), _plus(_own(link, a), _bias(link, v, motion))))
    return rising


def joint_forces(
    links: Sequence[Link], v: ca.SX, a: ca.SX, gravity: ca.SX, external: Sequence[Pair | None] | None = None
) -> tuple[ca.SX, list[Pair]]:
    """Inverse dynamics: τ = M a + h − Jᵀ F, and the whole force that every joint passes to its link."""
    moving = velocities(links, v)
    rising = accelerations(links, v, a, moving, -gravity)
    passed: list[Pair] = []
    for k, link in enumerate(links):
        force = _inertia_force(link, moving[k], rising[k])
        pushed = None if external is None else external[k]
        passed.append(force if pushed is None else (force[0] - pushed[0], force[1] - pushed[1]))
    return _collected(links, passed, v.numel()), passed


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
        moment = whole[k].angular @ link.angular + whole[k].coupling @ link.linear
        force = whole[k].coupling.T @ link.angular + whole[k].linear @ link.linear
        i = k
        while i >= 0 and link.columns:
            carrier = links[i]
            if carrier.columns:
                block = carrier.angular.T @ moment + carrier.linear.T @ force
                for row, r in enumerate(carrier.columns):
                    for column, c in enumerate(link.columns):
                        matrix[r, c] = matrix[c, r] = block[row, column]
            force = carrier.turn @ force
            moment = carrier.turn @ moment + _crossed(carrier.shift, force)
            i = carrier.parent
        if link.parent >= 0:
            whole[link.parent] = whole[link.parent].plus(_carried(link, whole[k]))
    return matrix


def forward_dynamics(links: Sequence[Link], v: ca.SX, tau: ca.SX, gravity: ca.SX, armature: ca.SX) -> ca.SX:
    """v' = M⁻¹ (τ − h) by articulated bodies, without a matrix of the whole tree; `armature` adds to the diagonal."""
    moving = velocities(links, v)
    whole = [_rigid(link) for link in links]
    push = [_force_cross(motion, inertia.times(motion)) for motion, inertia in zip(moving, whole)]
    bias = [_bias(link, v, motion) for link, motion in zip(links, moving)]
    solved: list[tuple[ca.SX, ca.SX, ca.SX, ca.SX]] = []
    for k in range(len(links) - 1, -1, -1):
        link, inertia = links[k], whole[k]
        moment = inertia.angular @ link.angular + inertia.coupling @ link.linear
        force = inertia.coupling.T @ link.angular + inertia.linear @ link.linear
        own = list(link.columns)
        block = link.angular.T @ moment + link.linear.T @ force + ca.diag(armature[own])
        rest = tau[own] - link.angular.T @ push[k][0] - link.linear.T @ push[k][1]
        inverse = _inverse(block)
        solved.append((moment, force, inverse, rest))
        if link.parent < 0:
            continue
        left = inertia
        if own:
            gain_moment, gain_force = moment @ inverse, force @ inverse
            left = _SpatialInertia(
                _mirrored(inertia.angular - gain_moment @ moment.T),
                inertia.coupling - gain_moment @ force.T,
                _mirrored(inertia.linear - gain_force @ force.T),
            )
        pushed = left.times(bias[k])
        total = (push[k][0] + pushed[0], push[k][1] + pushed[1])
        if own:
            share = inverse @ rest
            total = (total[0] + moment @ share, total[1] + force @ share)
        whole[link.parent] = whole[link.parent].plus(_carried(link, left))
        outward = _outward(link, total)
        push[link.parent] = _plus(push[link.parent], outward)
    solved.reverse()
    result = ca.SX.zeros(v.numel())
    rising: list[Pair] = []
    for k, link in enumerate(links):
        base = (ca.SX.zeros(3), -gravity) if link.parent < 0 else rising[link.parent]
        here = _plus(_into(link, base), bias[k])
        moment, force, inverse, rest = solved[k]
        if link.columns:
            found = inverse @ (rest - moment.T @ here[0] - force.T @ here[1])
            result[list(link.columns)] = found
            here = (here[0] + link.angular @ found, here[1] + link.linear @ found)
        rising.append(here)
    return result


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
    across = ca.skew(link.centre)
    return _SpatialInertia(
        _mirrored(link.inertia - link.mass * across @ across), link.mass * across, link.mass * ca.SX.eye(3)
    )


def _carried(link: Link, inertia: _SpatialInertia) -> _SpatialInertia:
    """The inertia of a link as its parent feels it through a rigid joint."""
    turn, across = link.turn, ca.skew(link.shift)
    linear = _mirrored(turn @ inertia.linear @ turn.T)
    coupling = turn @ inertia.coupling @ turn.T
    angular = turn @ inertia.angular @ turn.T
    shifted = coupling + across @ linear
    return _SpatialInertia(_mirrored(angular - coupling @ across + across @ shifted.T), shifted, linear)


def _inertia_force(link: Link, motion: Pair, rising: Pair) -> Pair:
    """I A + V ×* I V of one link, by its momentum."""
    mass, centre = link.mass, link.centre
    spin, speed = motion
    momentum = mass * (speed + _crossed(spin, centre))
    turning = link.inertia @ spin
    push = mass * (rising[1] + _crossed(rising[0], centre)) + _crossed(spin, momentum)
    moment = link.inertia @ rising[0] + _crossed(spin, turning) + _crossed(centre, push)
    return moment, push


def _own(link: Link, v: ca.SX) -> Pair:
    """S v: what the joint of a link adds."""
    own = v[list(link.columns)]
    return link.angular @ own, link.linear @ own


def _bias(link: Link, v: ca.SX, motion: Pair) -> Pair:
    """c + V × S v."""
    turning, sliding = _own(link, v)
    return (
        _crossed(motion[0], turning),
        _crossed(motion[0], sliding) + _crossed(motion[1], turning) + link.drift,
    )


def _into(link: Link, motion: Pair) -> Pair:
    """A motion of the parent's frame in the frame of a link."""
    spin, speed = motion
    return link.turn.T @ spin, link.turn.T @ (speed + _crossed(spin, link.shift))


def _outward(link: Link, force: Pair) -> Pair:
    """A force on a link about the origin and in the axes of its parent."""
    pushed = link.turn @ force[1]
    return link.turn @ force[0] + _crossed(link.shift, pushed), pushed


def _collected(links: Sequence[Link], forces: list[Pair], count: int) -> ca.SX:
    """Forces of links summed from the tips inwards and projected on the joints; `forces` ends as those sums."""
    result = ca.SX.zeros(count)
    for k in range(len(links) - 1, -1, -1):
        link = links[k]
        if link.columns:
            result[list(link.columns)] = link.angular.T @ forces[k][0] + link.linear.T @ forces[k][1]
        if link.parent >= 0:
            forces[link.parent] = _plus(forces[link.parent], _outward(link, forces[k]))
    return result


def _force_cross(motion: Pair, force: Pair) -> Pair:
    """V ×* F."""
    spin, speed = motion
    return _crossed(spin, force[0]) + _crossed(speed, force[1]), _crossed(spin, force[1])


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
