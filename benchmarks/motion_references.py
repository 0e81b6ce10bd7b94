"""Equations of motion by Kane's method, numbers at random points: the reference for derivations by Lagrange.

Bodies, forces and torques are put together in SymPy (KanesMethod: Newton and Euler projected on the speeds), which
knows nothing of kinetic energies. Run it with SymPy 1.14:

    python -m benchmarks.motion_references > tests/support/neighbour_motions.json

Every system gives values by name, and the left sides of its equations of motion, all terms on one side.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

import sympy as sp
from sympy.physics.mechanics import (
    KanesMethod,
    Particle,
    Point,
    ReferenceFrame,
    RigidBody,
    dynamicsymbols,
    inertia,
)

POINTS = 3
sin, cos = sp.sin, sp.cos
System = tuple[list[str], list[Any], list[tuple[Any, Any]]]


class World:
    """A fixed frame, coordinates by name, and the bodies and loads that were put into it."""

    def __init__(self, names: str) -> None:
        self.N, self.O = ReferenceFrame("N"), Point("O")
        self.O.set_vel(self.N, 0)
        self.names = names.split()
        self.q = [dynamicsymbols(name) for name in self.names]
        self.u = [dynamicsymbols(f"{name}_speed") for name in self.names]
        self.bodies: list[Any] = []
        self.loads: list[Any] = []

    def point(self, x: Any, y: Any = 0, z: Any = 0) -> Point:
        """A point at a place in the world, with its velocity in speeds."""
        found = self.O.locatenew(f"P{random.random()}", x * self.N.x + y * self.N.y + z * self.N.z)
        rates = {q.diff(): u for q, u in zip(self.q, self.u)}
        found.set_vel(self.N, found.pos_from(self.O).dt(self.N).subs(rates))
        return found

    def particle(self, mass: Any, *place: Any) -> Point:
        """A point with a mass."""
        point = self.point(*place)
        self.bodies.append(Particle(f"p{len(self.bodies)}", point, mass))
        return point

    def turning(self, angle_rate: Any, moment: Any, point: Point | None = None, mass: Any = 0) -> ReferenceFrame:
        """A body that turns about N.z, at rest in the origin where no point is given."""
        frame = ReferenceFrame(f"F{len(self.bodies)}")
        angle = sp.Function(f"angle{len(self.bodies)}")(dynamicsymbols._t)
        frame.orient_axis(self.N, angle, self.N.z)
        frame.set_ang_vel(self.N, angle_rate * self.N.z)
        own = inertia(frame, 0, 0, moment)
        self.bodies.append(RigidBody(f"b{len(self.bodies)}", point or self.O, frame, mass, (own, point or self.O)))
        return frame

    def residuals(self, values: dict[str, sp.Rational]) -> list[float]:
        """The left sides of the equations of motion at values of coordinates, rates, accelerations and letters."""
        kinematic = [q.diff() - u for q, u in zip(self.q, self.u)]
        kane = KanesMethod(self.N, q_ind=self.q, u_ind=self.u, kd_eqs=kinematic)
        active, inertial = kane.kanes_equations(self.bodies, self.loads)
        total = -(active + inertial)
        put: dict[Any, Any] = {}
        for name, q, u in zip(self.names, self.q, self.u):
            put |= {u.diff(): values[f"{name}_ddot"], q.diff(): values[f"{name}_dot"], u: values[f"{name}_dot"]}
            put |= {q: values[name]}
        put |= {sp.Symbol(name): value for name, value in values.items()}
        put |= {dynamicsymbols._t: values.get("t", 0)}
        # From the highest derivatives down, so that no rate is taken of a number.
        for kind in (lambda e: isinstance(e, sp.Derivative), lambda e: not isinstance(e, sp.Derivative)):
            total = total.subs({old: new for old, new in put.items() if kind(old)})
        return [float(sp.N(entry, 30)) for entry in total]


def letters(names: str) -> list[Any]:
    """Symbols of parameters, inputs and multipliers."""
    return [sp.Symbol(name) for name in names.split()]


def furuta_pendulum(w: World) -> None:
    a, b = w.q
    J, m, L, l, g, tau = letters("J m L l g tau")
    arm = w.turning(w.u[0], J)
    bob = w.particle(m, L * cos(a) - l * sin(b) * sin(a), L * sin(a) + l * sin(b) * cos(a), l * cos(b))
    w.loads += [(bob, -m * g * w.N.z), (arm, tau * w.N.z)]


def acrobot(w: World) -> None:
    a, b = w.q
    m1, m2, l1, c1, c2, I1, I2, g, tau = letters("m_1 m_2 l_1 l_c1 l_c2 I_1 I_2 g tau")
    one = w.point(c1 * sin(a), -c1 * cos(a))
    two = w.point(l1 * sin(a) + c2 * sin(a + b), -l1 * cos(a) - c2 * cos(a + b))
    upper, lower = w.turning(w.u[0], I1, one, m1), w.turning(w.u[0] + w.u[1], I2, two, m2)
    w.loads += [(one, -m1 * g * w.N.y), (two, -m2 * g * w.N.y), (upper, -tau * w.N.z), (lower, tau * w.N.z)]


def ball_on_beam(w: World) -> None:
    r, th = w.q
    J, Jb, M, R, g, tau = letters("J J_b M R g tau")
    beam = w.turning(w.u[1], J)
    w.turning(w.u[0] / R, Jb)  # the ball's spin, which the model counts against the beam alone
    ball = w.particle(M, r * cos(th), r * sin(th))
    w.loads += [(ball, -M * g * w.N.y), (beam, tau * w.N.z)]


def heavy_top(w: World) -> None:
    A, C, m, g, l = letters("A C m g l")
    phi, theta, psi = w.q
    body = ReferenceFrame("B")
    body.orient_body_fixed(w.N, (phi, theta, psi), "zxz")
    rates = {q.diff(): u for q, u in zip(w.q, w.u)}
    body.set_ang_vel(w.N, body.ang_vel_in(w.N).subs(rates))
    centre = w.O.locatenew("C", l * body.z)
    centre.set_vel(w.N, body.ang_vel_in(w.N).cross(l * body.z))
    own = inertia(body, A - m * l**2, A - m * l**2, C)
    w.bodies.append(RigidBody("top", centre, body, m, (own, centre)))
    w.loads.append((centre, -m * g * w.N.z))


def planar_quadrotor(w: World) -> None:
    x, z, th = w.q
    m, J, l, g, f1, f2 = letters("m J l g f_1 f_2")
    centre = w.point(x, z)
    w.turning(w.u[2], J, centre, m)
    thrust = -sin(th) * w.N.x + cos(th) * w.N.y
    right, left = (w.point(x + s * l * cos(th), z + s * l * sin(th)) for s in (1, -1))
    w.loads += [(centre, -m * g * w.N.y), (right, f1 * thrust), (left, f2 * thrust)]


def spherical_pendulum(w: World) -> None:
    th, ph = w.q
    m, l, g = letters("m l g")
    bob = w.particle(m, l * sin(th) * cos(ph), l * sin(th) * sin(ph), -l * cos(th))
    w.loads.append((bob, -m * g * w.N.z))


def bead_on_a_hoop(w: World) -> None:
    (th,) = w.q
    m, R, omega, g = letters("m R omega g")
    t = dynamicsymbols._t
    bead = w.particle(m, R * sin(th) * cos(omega * t), R * sin(th) * sin(omega * t), -R * cos(th))
    w.loads.append((bead, -m * g * w.N.z))


def two_link_arm(w: World) -> None:
    a, b = w.q
    m1, m2, l1, l2, g, t1, t2 = letters("m_1 m_2 l_1 l_2 g tau_1 tau_2")
    one = w.particle(m1, l1 * cos(a), l1 * sin(a))
    two = w.particle(m2, l1 * cos(a) + l2 * cos(a + b), l1 * sin(a) + l2 * sin(a + b))
    upper, lower = w.turning(w.u[0], 0), w.turning(w.u[0] + w.u[1], 0)
    w.loads += [(one, -m1 * g * w.N.y), (two, -m2 * g * w.N.y)]
    w.loads += [(upper, (t1 - t2) * w.N.z), (lower, t2 * w.N.z)]


def two_masses(w: World) -> None:
    m1, m2, k, d, F = letters("m_1 m_2 k d F")
    one, two = w.particle(m1, w.q[0]), w.particle(m2, w.q[1])
    pull = k * (w.q[0] - w.q[1]) + d * (w.u[0] - w.u[1])
    w.loads += [(one, (F - pull) * w.N.x), (two, pull * w.N.x)]


def slider_crank(w: World) -> None:
    th, ph, x = w.q
    J, m, M, r, l, g, Jr, tau, z0, z1 = letters("J m M r l g J_r tau z[0] z[1]")
    crank = w.turning(w.u[0], J)
    middle = w.point(r * cos(th) + l / 2 * cos(ph), r * sin(th) - l / 2 * sin(ph))
    w.turning(-w.u[1], Jr, middle, m)
    end = w.point(r * cos(th) + l * cos(ph), r * sin(th) - l * sin(ph))
    slider = w.particle(M, x)
    w.loads += [(crank, tau * w.N.z), (middle, -m * g * w.N.y)]
    w.loads += [(end, z0 * w.N.x + z1 * w.N.y), (slider, -z0 * w.N.x)]


def sleigh(w: World) -> None:
    x, y, th = w.q
    m, J, a, z = letters("m J a z")
    centre = w.point(x + a * cos(th), y + a * sin(th))
    w.turning(w.u[2], J, centre, m)
    w.loads.append((w.point(x, y), z * (-sin(th) * w.N.x + cos(th) * w.N.y)))


def cart_with_two_pendulums(w: World) -> None:
    x, a, b = w.q
    M, m1, m2, l1, l2, g, F = letters("M m_1 m_2 l_1 l_2 g F")
    cart = w.particle(M, x)
    one = w.particle(m1, x + l1 * sin(a), l1 * cos(a))
    two = w.particle(m2, x + l1 * sin(a) + l2 * sin(b), l1 * cos(a) + l2 * cos(b))
    w.loads += [(cart, F * w.N.x), (one, -m1 * g * w.N.y), (two, -m2 * g * w.N.y)]


def kapitza_pendulum(w: World) -> None:
    (ph,) = w.q
    m, l, g, a, omega = letters("m l g a omega")
    bob = w.particle(m, l * sin(ph), -l * cos(ph) + a * cos(omega * dynamicsymbols._t))
    w.loads.append((bob, -m * g * w.N.y))


def segway(w: World) -> None:
    x, th = w.q
    M, m, J, I, l, r, g, tau = letters("M m J I l r g tau")
    w.particle(M, x)
    wheel = w.turning(-w.u[0] / r, J)  # rolls forward: clockwise
    centre = w.point(x + l * sin(th), l * cos(th))
    body = w.turning(-w.u[1], I, centre, m)
    # The motor turns the wheel forward and the body back.
    w.loads += [(centre, -m * g * w.N.y), (wheel, -tau * w.N.z), (body, tau * w.N.z)]


def reaction_wheel_pendulum(w: World) -> None:
    th, _ = w.q
    m1, m2, l1, l2, I1, I2, g, tau = letters("m_1 m_2 l_1 l_2 I_1 I_2 g tau")
    one, two = (w.point(l * sin(th), l * cos(th)) for l in (l1, l2))
    rod, wheel = w.turning(-w.u[0], I1, one, m1), w.turning(-w.u[0] - w.u[1], I2, two, m2)
    w.loads += [(one, -m1 * g * w.N.y), (two, -m2 * g * w.N.y), (rod, tau * w.N.z), (wheel, -tau * w.N.z)]


def quadrotor_with_load(w: World) -> None:
    x, z, th, al = w.q
    M, J, m, L, g, f, tau = letters("M J m L g f tau")
    centre = w.point(x, z)
    frame = w.turning(w.u[2], J, centre, M)
    load = w.particle(m, x + L * sin(al), z - L * cos(al))
    thrust = f * (-sin(th) * w.N.x + cos(th) * w.N.y)
    w.loads += [(centre, thrust - M * g * w.N.y), (load, -m * g * w.N.y), (frame, tau * w.N.z)]


def gantry_crane(w: World) -> None:
    x, l, th = w.q
    M, m, J, r, g, F, tau = letters("M m J r g F tau")
    cart = w.particle(M, x)
    drum = w.turning(w.u[1] / r, J)
    load = w.particle(m, x + l * sin(th), -l * cos(th))
    w.loads += [(cart, F * w.N.x), (load, -m * g * w.N.y), (drum, tau * w.N.z)]


def gimballed_gyroscope(w: World) -> None:
    A, C, B, J, k, tau = letters("A C B J k tau")
    psi, theta, phi = w.q
    rates = {q.diff(): u for q, u in zip(w.q, w.u)}
    frames = [w.N]
    for name, angle, axis in (("outer", psi, "z"), ("inner", theta, "x"), ("rotor", phi, "z")):
        frame = ReferenceFrame(name)
        frame.orient_axis(frames[-1], angle, getattr(frames[-1], axis))
        frame.set_ang_vel(w.N, frame.ang_vel_in(w.N).subs(rates))
        frames.append(frame)
    moments = {1: (0, 0, J), 2: (B, 0, 0), 3: (A, A, C)}
    for place, own in moments.items():
        frame = frames[place]
        w.bodies.append(RigidBody(f"g{place}", w.O, frame, 0, (inertia(frame, *own), w.O)))
    # The weight of the inner frame turns it about its axle: the slope of −k cos θ.
    w.loads += [(frames[1], tau * w.N.z), (frames[2], k * sin(theta) * frames[1].x)]


def three_link_arm(w: World) -> None:
    l1, l2, l3, m1, m2, m3, J1, J2, J3, t1, t2, t3 = letters("l_1 l_2 l_3 m_1 m_2 m_3 J_1 J_2 J_3 tau_1 tau_2 tau_3")
    a, b, c = w.q[0], w.q[0] + w.q[1], w.q[0] + w.q[1] + w.q[2]
    speeds = w.u[0], w.u[0] + w.u[1], w.u[0] + w.u[1] + w.u[2]
    places = [(l1 / 2 * cos(a), l1 / 2 * sin(a))]
    places += [(l1 * cos(a) + l2 / 2 * cos(b), l1 * sin(a) + l2 / 2 * sin(b))]
    places += [(l1 * cos(a) + l2 * cos(b) + l3 / 2 * cos(c), l1 * sin(a) + l2 * sin(b) + l3 / 2 * sin(c))]
    links = [w.turning(v, J, w.point(*p), m) for v, J, p, m in zip(speeds, (J1, J2, J3), places, (m1, m2, m3))]
    for link, torque in zip(links, (t1 - t2, t2 - t3, t3)):
        w.loads.append((link, torque * w.N.z))


def four_bar(w: World) -> None:
    a, b, c = w.q
    l1, l2, l3, d, m1, m2, m3, J1, J2, J3, g, tau, z0, z1 = letters(
        "l_1 l_2 l_3 d m_1 m_2 m_3 J_1 J_2 J_3 g tau z[0] z[1]"
    )
    one = w.point(l1 / 2 * cos(a), l1 / 2 * sin(a))
    two = w.point(l1 * cos(a) + l2 / 2 * cos(b), l1 * sin(a) + l2 / 2 * sin(b))
    three = w.point(d + l3 / 2 * cos(c), l3 / 2 * sin(c))
    crank, _, _ = (w.turning(*bar) for bar in ((w.u[0], J1, one, m1), (w.u[1], J2, two, m2), (w.u[2], J3, three, m3)))
    end = w.point(l1 * cos(a) + l2 * cos(b), l1 * sin(a) + l2 * sin(b))
    other = w.point(d + l3 * cos(c), l3 * sin(c))
    w.loads += [(point, -m * g * w.N.y) for point, m in ((one, m1), (two, m2), (three, m3))]
    pull = z0 * w.N.x + z1 * w.N.y
    w.loads += [(crank, tau * w.N.z), (end, pull), (other, -pull)]


def geared_drive(w: World) -> None:
    J1, J2, k, d, n, T = letters("J_1 J_2 k d n T")
    motor, load = w.turning(w.u[0], J1), w.turning(w.u[1], J2)
    twist = k * (w.q[0] / n - w.q[1]) + d * (w.u[0] / n - w.u[1])
    w.loads += [(motor, (T - twist / n) * w.N.z), (load, twist * w.N.z)]


SYSTEMS: dict[Callable[[World], None], tuple[str, str]] = {
    furuta_pendulum: ("alpha beta", "J m L l g tau"),
    acrobot: ("q_1 q_2", "m_1 m_2 l_1 l_c1 l_c2 I_1 I_2 g tau"),
    ball_on_beam: ("r theta", "J J_b M R g tau"),
    heavy_top: ("phi theta psi", "A C m g l"),
    planar_quadrotor: ("x z theta", "m J l g f_1 f_2"),
    spherical_pendulum: ("theta phi", "m l g"),
    bead_on_a_hoop: ("theta", "m R omega g t"),
    two_link_arm: ("q_1 q_2", "m_1 m_2 l_1 l_2 g tau_1 tau_2"),
    two_masses: ("x_1 x_2", "m_1 m_2 k d F"),
    slider_crank: ("theta phi x", "J m M r l g J_r tau z[0] z[1]"),
    sleigh: ("x y theta", "m J a z"),
    cart_with_two_pendulums: ("x theta_1 theta_2", "M m_1 m_2 l_1 l_2 g F"),
    kapitza_pendulum: ("phi", "m l g a omega t"),
    segway: ("x theta", "M m J I l r g tau"),
    reaction_wheel_pendulum: ("theta phi", "m_1 m_2 l_1 l_2 I_1 I_2 g tau"),
    quadrotor_with_load: ("x z theta alpha", "M J m L g f tau"),
    gantry_crane: ("x l theta", "M m J r g F tau"),
    gimballed_gyroscope: ("psi theta phi", "A C B J k tau"),
    three_link_arm: ("q_1 q_2 q_3", "l_1 l_2 l_3 m_1 m_2 m_3 J_1 J_2 J_3 tau_1 tau_2 tau_3"),
    four_bar: ("alpha beta gamma", "l_1 l_2 l_3 d m_1 m_2 m_3 J_1 J_2 J_3 g tau z[0] z[1]"),
    geared_drive: ("phi_1 phi_2", "J_1 J_2 k d n T"),
}


def drawn(names: Sequence[str]) -> dict[str, sp.Rational]:
    """A positive number of two digits for every name."""
    return {name: sp.Rational(random.randint(20, 160), 100) for name in names}


def main() -> None:
    """Write the numbers of all systems."""
    random.seed(1788)
    found: dict[str, list[dict[str, Any]]] = {}
    for write, (coordinates, others) in SYSTEMS.items():
        chains = [f"{name}{end}" for name in coordinates.split() for end in ("", "_dot", "_ddot")]
        for _ in range(POINTS):
            values = drawn([*chains, *others.split()])
            world = World(coordinates)
            write(world)
            point = {"values": {n: float(v) for n, v in values.items()}, "left": world.residuals(values)}
            found.setdefault(write.__name__, []).append(point)
    print(
        json.dumps(
            {"source": "SymPy 1.14 KanesMethod, python -m benchmarks.motion_references", "systems": found}, indent=1
        )
    )


if __name__ == "__main__":
    main()
