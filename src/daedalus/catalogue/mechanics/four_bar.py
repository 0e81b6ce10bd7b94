"""A four-bar linkage: crank, coupler and rocker as planar bodies with four hinges; index 3.

The crank turns about the origin, the rocker about (GROUND, 0), gravity acts along −y. The crank is the shortest bar and
shortest plus longest are shorter than the other two together, so it can turn round (Grashof). Eight constraints on nine
coordinates leave one degree of freedom; the energy is conserved.

Reference: the angle of the crank as the only coordinate, with the other two angles in closed form.
"""

from __future__ import annotations

import numpy as np

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.doors.joint_kinds import ground
from daedalus.model.model import Model

CRANK, COUPLER, ROCKER, GROUND = 0.2, 0.5, 0.4, 0.45  # lengths, m
MASSES = (0.4, 1.0, 0.8)
ANGLE, RATE = 0.9, 10.0  # of the crank at the start, rad and rad/s


def build() -> KnownSystem:
    """The crank turns round at about ten radians a second and the rocker swings.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("four_bar")
    >>> list(k.model.bodies), k.model.freeze().sizes["z"]
    (['crank', 'coupler', 'rocker'], 8)
    """
    m = Model("four_bar")
    gravity = m.parameter("gravity", 9.81, unit="m/s^2")
    m.gravity([0.0, -gravity])
    bars = (CRANK, COUPLER, ROCKER)
    angles, rates = closed(ANGLE, RATE)
    halves = [0.5 * bar * np.array([np.cos(a), np.sin(a)]) for bar, a in zip(bars, angles)]
    speeds = [rate * np.array([-half[1], half[0]]) for rate, half in zip(rates, halves)]
    places = [halves[0], 2 * halves[0] + halves[1], np.array([GROUND, 0.0]) + halves[2]]
    velocities = [speeds[0], 2 * speeds[0] + speeds[1], speeds[2]]
    crank, coupler, rocker = (
        m.body(
            name, mass, mass * bar**2 / 12, "planar",
            position=place, velocity=velocity, rotation=angle, angular_velocity=rate,
        )
        for name, mass, bar, place, velocity, angle, rate in zip(
            ("crank", "coupler", "rocker"), MASSES, bars, places, velocities, angles, rates
        )
    )  # fmt: skip
    m.joint("crank_bearing", "revolute", ground, crank, at_b=[-CRANK / 2, 0.0])
    m.joint("crank_pin", "revolute", crank, coupler, at_a=[CRANK / 2, 0.0], at_b=[-COUPLER / 2, 0.0])
    m.joint("rocker_pin", "revolute", coupler, rocker, at_a=[COUPLER / 2, 0.0], at_b=[ROCKER / 2, 0.0])
    m.joint("rocker_bearing", "revolute", ground, rocker, at_a=[GROUND, 0.0], at_b=[-ROCKER / 2, 0.0])
    m.output("energy", sum(b.kinetic_energy + gravity * b.mass * b.position[1] for b in (crank, coupler, rocker)))
    return KnownSystem(
        m,
        span=(0.0, 1.0),
        index=3,
        conserved=("energy",),
        reference=Reference(1.0, REFERENCE, 11, "crank angle alone, order 8 at a tolerance of 1e-13"),
        source="the classical mechanism (Grashof 1883); numbers chosen here",
    )


def closed(angle: float, rate: float) -> tuple[list[float], list[float]]:
    """Angles and rates of crank, coupler and rocker: the loop closes with the coupler above the diagonal."""
    gap = np.array([GROUND, 0.0]) - CRANK * np.array([np.cos(angle), np.sin(angle)])
    span = np.linalg.norm(gap)
    # The triangle of coupler, rocker and diagonal.
    inside = np.arccos((COUPLER**2 + span**2 - ROCKER**2) / (2 * COUPLER * span))
    coupler = np.arctan2(gap[1], gap[0]) + inside
    back = COUPLER * np.array([np.cos(coupler), np.sin(coupler)]) - gap
    rocker = np.arctan2(back[1], back[0])
    columns = np.array(
        [
            [-COUPLER * np.sin(coupler), ROCKER * np.sin(rocker)],
            [COUPLER * np.cos(coupler), -ROCKER * np.cos(rocker)],
        ]
    )
    others = np.linalg.solve(columns, -CRANK * rate * np.array([-np.sin(angle), np.cos(angle)]))
    return [angle, float(coupler), float(rocker)], [rate, *(float(r) for r in others)]


REFERENCE: dict[str, object] = {
    "crank.position": [0.08698106538423828, -0.049338567719613285],
    "crank.angle": 12.050392709133671,
    "coupler.position": [0.24793327065187604, 0.14012879092013023],
    "coupler.angle": 1.2704149173330244,
    "rocker.position": [0.3859522052676378, 0.1894673586397435],
    "rocker.angle": 1.8967780617355996,
}
