"""A wheelset that hunts on a straight track: two cones on round rails, creep forces in the contacts; index 2.

    M v' = f(p, v, β, λ) + G(p, q)ᵀ λ,    p' = v,    G(p, q) v = 0,    c(p, q) = 0

p holds the place of the centre and the angles of yaw and roll, β the spin beyond that of rolling; ψ and ξ say where on
its cone each wheel touches its rail. The axes of the frame point to the left (x), up (y) and against the run (z).

Reference: radau5 and radau9 at 1e-12, which agree with each other to ten digits and bdf to nine. The published end
values, by DASSL at 1e-9, agree with them to 2e-6 of the velocity and to 3e-7 or better of everything else.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.model import Model

MASS, GRAVITY, SPIN_INERTIA, YAW_INERTIA = 16.08, 9.81, 0.0605, 0.366
SPEED, RADIUS, HALF_GAUGE, CONE, RAIL = 30.0, 0.1, 0.1506, 0.0262, 0.06
# Springs to the frame of the vehicle, and where they act.
SPRING, ARM = 6400.0, 0.19
# Friction; Hertz's constants of the contact ellipse; shear modulus; Kalker's creep coefficients.
FRICTION, ELLIPSE, AXES, POISSON, SHEAR = 0.12, 1.3537956, 0.7115218, 0.28, 7.92e10
ALONG, ACROSS, TURNING = 4.72772197, 4.27526987, 1.97203505
PI = 3.1415926  # as in the published program
LEFT, RIGHT = 1, -1


def build() -> KnownSystem:
    """The published run over 10 s at 30 m/s.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("wheelset")
    >>> k.index, k.span, round(float(k.reference["place"][0]), 6)
    (2, (0.0, 10.0), 0.008636)
    """
    m = Model("wheelset")
    place = m.state("place", 3, start=[0.14941e-2, 0.40089e-6, 0.11241e-5], unit="m", nominal=1e-2)
    angle = m.state("angle", 2, start=[-0.28573e-3, 0.26459e-3], unit="rad", nominal=1e-2)
    velocity = m.state("velocity", 3, start=[0.0, 0.0, 0.0], unit="m/s", nominal=0.1)
    angle_rate = m.state("angle_rate", 2, start=[0.0, 0.0], unit="rad/s", nominal=0.1)
    spin = m.state("spin", start=0.0, unit="rad/s", nominal=0.1)
    turn = m.algebraic("turn", 2, start=[0.0, 0.0], unit="rad", nominal=1e-3)
    offset = m.algebraic("offset", 2, start=[0.149, -0.152], unit="m", nominal=0.1)
    force = m.algebraic("force", 2, start=[-83.6, -74.1], unit="N", nominal=100.0)
    speed = ca.vertcat(velocity, angle_rate)
    sides = [_WheelSide(side, place, angle, turn[k], offset[k]) for k, side in enumerate((LEFT, RIGHT))]
    directions = ca.vertcat(*(side.direction for side in sides))
    loads = _normal_forces(sides, directions[:, :2].T @ force)
    creep = [side.creep(load, angle[0], speed, spin) for side, load in zip(sides, loads)]
    # Moments about the axes of the wheelset, which follow its yaw and roll but not its spin.
    moment = sum((ca.cross(side.arm, side.axes.T @ pull) for side, pull in zip(sides, creep)), ca.SX(3, 1))
    yaw_spring, held = -2 * ARM**2 * SPRING * angle[0], directions.T @ force
    outer = ca.vertcat(-2 * SPRING * place[0], -MASS * GRAVITY, -2 * SPRING * place[2])
    rate, roll_rate, total = angle_rate[0], angle_rate[1], SPEED / RADIUS + spin
    cosine, sine, gyro = ca.cos(angle[1]), ca.sin(angle[1]), SPIN_INERTIA - YAW_INERTIA
    m.equation(m.der(ca.vertcat(place, angle)), speed, name="kinematics")
    m.equation(MASS * m.der(velocity), outer + held[:3] + creep[0] + creep[1], name="newton")
    m.equation(
        YAW_INERTIA * (cosine * m.der(angle_rate[0]) - rate * roll_rate * sine),
        -(SPIN_INERTIA * total + gyro * rate * sine) * roll_rate + moment[1] + cosine * yaw_spring + held[3],
        name="yaw",
    )
    m.equation(
        YAW_INERTIA * m.der(angle_rate[1]),
        (SPIN_INERTIA * total + gyro * rate * sine) * rate * cosine + moment[2] + held[4],
        name="roll",
    )
    m.equation(
        SPIN_INERTIA * (m.der(spin) + sine * m.der(angle_rate[0]) + rate * roll_rate * cosine),
        moment[0] + sine * yaw_spring,
        name="spinning",
    )
    m.equation(directions @ speed, name="contact")
    m.equation(ca.vertcat(*(side.touching for side in sides)), name="touching")
    return KnownSystem(
        m,
        span=(0.0, 10.0),
        index=2,
        stiff=True,
        reference=Reference(
            10.0, REFERENCE, 10, "radau5 and radau9 at 1e-12; to 2e-6 as published in the Test Set for IVP"
        ),
        source="B. Simeon, C. Führer, P. Rentrop, DAEs in vehicle system dynamics, Surv. Math. Ind. 1 (1991)",
    )


def _axes(yaw: ca.SX, roll: ca.SX) -> ca.SX:
    """The axes of the wheelset as columns: along the axle, up, and against the run."""
    along = ca.vertcat(ca.cos(yaw) * ca.cos(roll), ca.sin(roll), -ca.sin(yaw) * ca.cos(roll))
    up = ca.vertcat(-ca.cos(yaw) * ca.sin(roll), ca.cos(roll), ca.sin(yaw) * ca.sin(roll))
    return ca.horzcat(along, up, ca.vertcat(ca.sin(yaw), 0, ca.cos(yaw)))


class _WheelSide:
    """One wheel on its rail: where they touch, in which direction they press, and how they pull."""

    def __init__(self, side: int, place: ca.SX, angle: ca.SX, turn: ca.SX, offset: ca.SX) -> None:
        self.side, self.roll, self.turn, self.offset = side, angle[1], turn, offset
        yaw, roll = angle[0], angle[1]
        self.radius = RADIUS + np.tan(CONE) * (HALF_GAUGE - side * offset)
        self.taper = -side * np.tan(CONE)
        self.axes = _axes(yaw, roll)
        self.arm = ca.vertcat(offset, -self.radius * ca.cos(turn), -self.radius * ca.sin(turn))
        point = self.axes @ self.arm
        # The rail: a circle whose top is where the cone touches it with the wheelset in the middle.
        beside = side * (place[0] + point[0]) - HALF_GAUGE - RAIL * np.sin(CONE)
        height = ca.sqrt(RAIL**2 - beside**2)
        self.slope, self.bend = -side * beside / height, RAIL**2 / height**3
        gap = height - RADIUS - RAIL * np.cos(CONE) - place[1] - point[1]
        self.direction = ca.jacobian(gap, ca.vertcat(place, angle))
        # The normals of wheel and rail are parallel.
        normal = self.axes @ ca.vertcat(self.taper, ca.cos(turn), ca.sin(turn))
        self.touching = ca.vertcat(self.slope * normal[1] + normal[0], -normal[2])
        self.tilt = ca.atan(-side * normal[0] / normal[1])

    def creep(self, load: ca.SX, yaw: ca.SX, speed: ca.SX, spin: ca.SX) -> ca.SX:
        """The tangential force on the wheel by Kalker's linear theory, saturated by tanh (A. Jaschinski, 1990)."""
        total, cosine, sine = SPEED / RADIUS + spin, ca.cos(self.tilt), self.side * ca.sin(self.tilt)
        slanted, roll, turn = ca.SX.sym("yaw"), ca.SX.sym("roll"), ca.SX.sym("turn")
        arm = ca.vertcat(self.offset, -self.radius * ca.cos(turn), -self.radius * ca.sin(turn))
        motion = ca.jacobian(_axes(slanted, roll) @ arm, ca.vertcat(slanted, roll, turn))
        places = [yaw / cosine, self.roll, self.turn]
        turned = ca.substitute(motion, ca.vertcat(slanted, roll, turn), ca.vertcat(*places))
        own = turned @ ca.vertcat(speed[3:], total)
        forward = ca.vertcat(speed[:3]) + ca.vertcat(0, 0, SPEED)
        sliding, rolling = own + forward, ca.norm_2(own - forward) / 2
        lengthwise = ca.vertcat(ca.sin(places[0]), 0, ca.cos(places[0]))
        sideways = ca.vertcat(ca.cos(places[0]) * cosine, sine, -ca.sin(places[0]) * cosine)
        size, limit = self._ellipse(load), FRICTION * load
        along = SHEAR * size**2 * ALONG * ca.dot(lengthwise, sliding) / rolling
        across = SHEAR * size**2 * ACROSS * ca.dot(sideways, sliding) / rolling
        across += SHEAR * size**3 * TURNING * (cosine * speed[3] - sine * total) / rolling
        along, across = -limit * ca.tanh(along / limit), -limit * ca.tanh(across / limit)
        whole = along**2 + across**2
        within = ca.if_else(whole > limit**2, ca.fabs(limit) / ca.sqrt(whole), 1.0)
        return within * (along * lengthwise + across * sideways)

    def _ellipse(self, load: ca.SX) -> ca.SX:
        """The mean radius of the contact ellipse by Hertz."""
        curvature = 1 / (self.radius * np.sqrt(1 + self.taper**2)) + self.bend / (1 + self.slope**2) ** 1.5
        pressed = 3 * ca.fabs(load) * (1 - POISSON) * ELLIPSE
        return (pressed / (PI * curvature * SHEAR * np.sqrt(AXES))) ** (1 / 3)


def _normal_forces(sides: list[_WheelSide], held: ca.SX) -> list[ca.SX]:
    """The pressures in both contacts that together push sideways and up as the constraints do."""
    left, right = (side.tilt for side in sides)
    share = -ca.sin(left + right)
    return [
        (ca.cos(right) * held[0] - ca.sin(right) * held[1]) / share,
        (-ca.cos(left) * held[0] - ca.sin(left) * held[1]) / share,
    ]


# Wheels in the order left, right.
REFERENCE: dict[str, object] = {
    "place": [8.635538250536e-3, 1.30383411332e-5, -9.3635811325e-5],
    "angle": [-1.364229598360e-2, 1.529289421337e-3],
    "velocity": [-7.698524156900e-2, -2.51510639070e-4, 2.054114899030e-3],
    "angle_rate": [-2.390484020470e-1, -1.363344497530e-2],
    "spin": -2.442137061297e-1,
    "turn": [3.78396036838e-4, -3.36667426480e-4],
    "offset": [1.417321500979e-1, -1.594942563735e-1],
}
