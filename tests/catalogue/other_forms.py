"""The known systems once more, in other coordinates and derived in another way, as plain NumPy.

The references of the catalogue were computed from these, so that a slip in a model cannot hide in its own reference.
Numbers come in as arrays of any arithmetic: long double here, 40 digits when the references were made.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

cos, exp, log, sin, sqrt = np.cos, np.exp, np.log, np.sin, np.sqrt
arctan2 = np.arctan2


@dataclass
class Form:
    """y' = rhs(y) from `start`; `names(y)` gives the values in the names of the catalogue's model."""

    rhs: Callable[[np.ndarray], np.ndarray]
    start: np.ndarray
    names: Callable[[np.ndarray], dict]


def mass_spring(number: Callable) -> Form:
    """Circling in the plane of position and momentum."""
    mass, stiffness = number(0.5), number(8.0)
    start = np.array([number(0.1), number(0.0)])
    return Form(
        lambda y: np.array([y[1] / mass, -stiffness * y[0]]),
        start,
        lambda y: {"position": y[0], "position_dot": y[1] / mass},
    )


def cart_pendulum(number: Callable) -> Form:
    """Cart and bob in Cartesian coordinates: y = (X, x, z, X', x', z'); the rod pulls both along itself."""
    cart, bob, length, gravity, force = (number(v) for v in (1.0, 0.2, 0.5, 9.81, 0.5))
    zero, angle = number(0.0), number(0.5)

    def rhs(y: np.ndarray) -> np.ndarray:
        r, v = np.array([y[1] - y[0], y[2]]), np.array([y[4] - y[3], y[5]])
        # r·r'' + v·v = 0 with X'' = (force + s r_x)/M, bob'' = (-s r_x, -s r_z - m g)/m determines s.
        free = r[0] * (-force / cart) - r[1] * gravity + v[0] * v[0] + v[1] * v[1]
        s = free / (r[0] * r[0] * (1 / bob + 1 / cart) + r[1] * r[1] / bob)
        return np.array([y[3], y[4], y[5], (force + s * r[0]) / cart, -s * r[0] / bob, -s * r[1] / bob - gravity])

    def names(y: np.ndarray) -> dict:
        r, v = np.array([y[1] - y[0], y[2]]), np.array([y[4] - y[3], y[5]])
        rate = (v[0] * r[1] - v[1] * r[0]) / length**2
        return {"position": y[0], "position_dot": y[3], "angle": arctan2(r[0], r[1]), "angle_dot": rate}

    return Form(rhs, np.array([zero, length * sin(angle), length * cos(angle), zero, zero, zero]), names)


def double_pendulum(number: Callable) -> Form:
    """Both masses in Cartesian coordinates: y = (r1, r2, v1, v2); s1 r1 and s2 (r2 - r1) are the pulls of the rods."""
    m1, m2, l1, l2, gravity = (number(v) for v in (1.0, 0.5, 1.0, 0.8, 9.81))
    a, b = number(1.5), number(-0.5)
    weight = np.array([0 * gravity, -gravity])

    def rhs(y: np.ndarray) -> np.ndarray:
        r, d, v, w = y[0:2], y[2:4] - y[0:2], y[4:6], y[6:8] - y[4:6]
        # v1' = weight - (s1 r - s2 d)/m1, v2' = weight - s2 d/m2; r·v1' = -v·v and d·(v2' - v1') = -w·w.
        a11, a12 = dot(r, r) / m1, -dot(r, d) / m1
        a22 = dot(d, d) * (1 / m1 + 1 / m2)
        b1, b2 = dot(v, v) + dot(r, weight), dot(w, w)
        det = a11 * a22 - a12 * a12
        s1, s2 = (b1 * a22 - b2 * a12) / det, (a11 * b2 - a12 * b1) / det
        return np.concatenate([y[4:8], weight - (s1 * r - s2 * d) / m1, weight - s2 * d / m2])

    def names(y: np.ndarray) -> dict:
        r, d, v, w = y[0:2], y[2:4] - y[0:2], y[4:6], y[6:8] - y[4:6]
        angle = [arctan2(r[0], -r[1]), arctan2(d[0], -d[1])]
        return {"angle": angle, "angle_dot": [(r[0] * v[1] - r[1] * v[0]) / l1**2, (d[0] * w[1] - d[1] * w[0]) / l2**2]}

    elbow = [l1 * sin(a), -l1 * cos(a)]
    tip = [elbow[0] + l2 * sin(b), elbow[1] - l2 * cos(b)]
    return Form(rhs, np.array([*elbow, *tip, *[0 * a] * 4]), names)


def quadrotor(number: Callable) -> Form:
    """y = (position, velocity, rotation by rows, angular momentum L in the world): R' = ω × R, L' = R τ."""
    mass, arm, factor, gravity = (number(v) for v in (0.468, 0.225, 0.0245, 9.81))
    inertia = np.array([number(v) for v in (4.856e-3, 4.856e-3, 8.801e-3)])
    u = [number(v) for v in (1.20, 1.15, 1.205, 1.155)]
    zero, one = number(0.0), number(1.0)
    rotors = arm * np.array([[one, zero, zero], [zero, one, zero], [-one, zero, zero], [zero, -one, zero]])
    lift = [np.array([zero, zero, thrust]) for thrust in u]
    # Torque of each rotor: lever × lift, plus the drag of its propeller, of alternating sense.
    torque = sum(np.cross(r, f) + factor * sign * f for r, f, sign in zip(rotors, lift, (1, -1, 1, -1)))

    def rhs(y: np.ndarray) -> np.ndarray:
        rotation, momentum = y[6:15].reshape(3, 3), y[15:18]
        spin = rotation.dot(rotation.T.dot(momentum) / inertia)
        acceleration = rotation.dot(sum(lift)) / mass - np.array([zero, zero, gravity])
        turning = np.array([np.cross(spin, column) for column in rotation.T]).T
        return np.concatenate([y[3:6], acceleration, turning.reshape(9), rotation.dot(torque)])

    def names(y: np.ndarray) -> dict:
        rotation = y[6:15].reshape(3, 3)
        quaternion = quaternion_of(rotation)
        spin = rotation.T.dot(y[15:18]) / inertia
        return {"position": y[:3], "velocity": y[3:6], "quaternion": quaternion, "angular_velocity": spin}

    spin = np.array([number(v) for v in (0.2, -0.1, 0.1)])
    upright = np.array([one, zero, zero, zero, one, zero, zero, zero, one])
    return Form(rhs, np.concatenate([np.array([zero] * 6), upright, inertia * spin]), names)


def gyroscope(number: Callable) -> Form:
    """y = (rotation by rows, angular momentum L about the tip in the world): R' = ω × R, L' = l R e_3 × weight."""
    inertia = np.array([number(v) for v in (0.012, 0.012, 0.003)])
    load, zero = number(0.5) * number(0.1) * number(9.81), number(0.0)
    lean = 2 * arctan2(number(0.24740395925452293), number(0.96891242171064478))

    def rhs(y: np.ndarray) -> np.ndarray:
        rotation, momentum = y[:9].reshape(3, 3), y[9:12]
        spin = rotation.dot(rotation.T.dot(momentum) / inertia)
        turning = np.array([np.cross(spin, column) for column in rotation.T]).T
        axle = rotation[:, 2]
        return np.concatenate([turning.reshape(9), load * np.array([-axle[1], axle[0], zero])])

    def names(y: np.ndarray) -> dict:
        rotation = y[:9].reshape(3, 3)
        spin = rotation.T.dot(y[9:12]) / inertia
        return {"quaternion": quaternion_of(rotation), "angular_velocity": spin}

    tilt = np.array([[cos(lean), zero, sin(lean)], [zero, number(1.0), zero], [-sin(lean), zero, cos(lean)]])
    momentum = tilt.dot(inertia * np.array([zero, zero, number(150.0)]))
    return Form(rhs, np.concatenate([tilt.reshape(9), momentum]), names)


def rolling_disc(number: Callable) -> Form:
    """y = (x, y, θ, ψ, φ, ω): R = R_z(ψ) R_x(θ) R_z(φ), ω along the horizontal, the steepest line and the axle.

    With the force of the plane eliminated from m v' = F + m g and L' = −r e_2 × F in that turning frame.
    """
    mass, radius, gravity = (number(v) for v in (2.0, 0.3, 9.81))
    across, about, far = (number(v) * mass * radius * radius for v in (0.25, 0.5, 1.0))

    def rhs(y: np.ndarray) -> np.ndarray:
        (_, _, lean, heading, _), (a, b, c) = y[:5], y[5:8]
        turn = b / sin(lean)
        along = turn * cos(lean)
        forward, down = -radius * c, radius * a * sin(lean)
        return np.array(
            [
                forward * cos(heading) + down * sin(heading),
                forward * sin(heading) - down * cos(heading),
                a,
                turn,
                c - along,
                (across * along * b - (about + far) * b * c - mass * gravity * radius * cos(lean)) / (across + far),
                (about * c - across * along) * a / across,
                far * a * b / (about + far),
            ]
        )

    def names(y: np.ndarray) -> dict:
        lean, heading, roll = y[2:5]
        one, two = (heading + roll) / 2, (heading - roll) / 2
        c, s = cos(lean / 2), sin(lean / 2)
        body = np.array([[cos(roll), sin(roll), 0 * roll], [-sin(roll), cos(roll), 0 * roll], [0 * roll] * 2 + [1]])
        # Columns: horizontal, steepest line and axle in the world; the centre moves at (−r ω_3, 0, r ω_1) in them.
        axle = np.array([sin(heading) * sin(lean), -cos(heading) * sin(lean), cos(lean)])
        level = np.array([cos(heading), sin(heading), 0 * heading])
        return {
            "disc.position": np.array([y[0], y[1], radius * sin(lean)]),
            "disc.velocity": radius * (y[5] * axle - y[7] * level),
            "disc.quaternion": np.array([c * cos(one), s * cos(two), s * sin(two), c * sin(one)]),
            "disc.angular_velocity": body.dot(y[5:8]),
        }

    zero = number(0.0)
    lean = 2 * arctan2(number(0.7), number(1.0))
    return Form(rhs, np.array([zero, zero, lean, zero, zero, zero, zero, number(-8.0)]), names)


def quaternion_of(rotation: np.ndarray) -> np.ndarray:
    """q qᵀ, up to a factor 4, is linear in R: the row with the largest diagonal entry is q up to its sign."""
    (a, b, c), (d, e, f), (g, h, i) = rotation
    rows = [
        [1 + a + e + i, h - f, c - g, d - b],
        [h - f, 1 + a - e - i, b + d, c + g],
        [c - g, b + d, 1 - a + e - i, f + h],
        [d - b, c + g, f + h, 1 - a - e + i],
    ]
    best = max(range(4), key=lambda k: rows[k][k])
    return np.array(rows[best]) / (2 * sqrt(rows[best][best]))


def pleiades(number: Callable) -> Form:
    """Relative to the centre of mass: y = (positions of stars 1 to 6, their velocities); the seventh follows."""
    mass = np.array([number(k) for k in range(1, 8)])
    r = np.array([[number(v) for v in (3, 3, -1, -3, 2, -2, 2)], [number(v) for v in (3, -3, 2, 0, 0, -4, 4)]])
    v = np.array([[number(v) for v in (0, 0, 0, 0, 0, 1.75, -1.5)], [number(v) for v in (0, 0, 0, -1.25, 1, 0, 0)]])
    centre, drift = r.dot(mass) / sum(mass), v.dot(mass) / sum(mass)
    off = ~np.eye(7, dtype=bool)

    def seventh(part: np.ndarray) -> np.ndarray:
        return np.concatenate([part, -(part.dot(mass[:6]) / mass[6])[:, None]], axis=1)

    def rhs(y: np.ndarray) -> np.ndarray:
        r = seventh(y[:12].reshape(2, 6))
        gap = r[:, None, :] - r[:, :, None]
        square = np.where(off, gap[0] * gap[0] + gap[1] * gap[1], mass[0])
        pull = gap * np.where(off, mass[None, :], 0 * mass[0]) / (square * sqrt(square))
        return np.concatenate([y[12:], pull.sum(axis=2)[:, :6].reshape(12)])

    def names(y: np.ndarray) -> dict:
        r, v = seventh(y[:12].reshape(2, 6)), seventh(y[12:].reshape(2, 6))
        r, v = r + (centre + 3 * drift)[:, None], v + drift[:, None]
        return {"x": r[0], "y": r[1], "x_dot": v[0], "y_dot": v[1]}

    start = [(r - centre[:, None])[:, :6].reshape(12), (v - drift[:, None])[:, :6].reshape(12)]
    return Form(rhs, np.concatenate(start), names)


def van_der_pol(number: Callable) -> Form:
    """Liénard's plane for mu = 1: x' = x - x³/3 - y, y' = x."""
    x = number(2.0)
    return Form(
        lambda y: np.array([y[0] - y[0] ** 3 / 3 - y[1], y[0]]),
        np.array([x, x - x**3 / 3]),
        lambda y: {"x": y[0], "x_dot": y[0] - y[0] ** 3 / 3 - y[1]},
    )


def lotka_volterra(number: Callable) -> Form:
    """The logarithms of both populations."""
    birth, catch, death, growth = (number(v) for v in (1.5, 1.0, 3.0, 1.0))
    # The third entry is constant, so that the size of y, to which the tolerance is relative, never vanishes.
    return Form(
        lambda y: np.array([birth - catch * exp(y[1]), growth * exp(y[0]) - death, 0 * birth]),
        np.array([number(0.0), number(0.0), number(1.0)]),
        lambda y: {"prey": exp(y[0]), "predators": exp(y[1])},
    )


# Rate constant, what is used up, what comes of it; substances counted from 1 (Hairer, Wanner II, IV.10).
REACTIONS = [
    (1.71, [1], [2]),
    (0.43, [2], [1]),
    (8.32, [2], [4]),
    (8.32, [3], [1]),
    (1.71, [3], [4]),
    (0.43, [4], [3]),
    (0.69, [4], [6]),
    (0.035, [5], [3]),
    (1.71, [5], [6]),
    (0.43, [6], [5]),
    (280.0, [6, 8], [7]),
    (0.69, [7], [6, 8]),
    (0.43, [7], [5, 8]),
    (0.69, [7], [8]),
]


def hires(number: Callable) -> Form:
    """A list of reactions with mass action; substance 1 is supplied at a constant rate."""
    start = np.array([number(v) for v in (1, 0, 0, 0, 0, 0, 0, 0.0057)])
    reactions = [(number(rate), used, made) for rate, used, made in REACTIONS]

    def rhs(y: np.ndarray) -> np.ndarray:
        change = 0 * y
        change[0] = number(0.0007)
        for rate, used, made in reactions:
            speed = rate
            for k in used:
                speed = speed * y[k - 1]
            for k in used:
                change[k - 1] -= speed
            for k in made:
                change[k - 1] += speed
        return change

    return Form(rhs, start, lambda y: {"y": y})


def dot(a: np.ndarray, b: np.ndarray) -> float:
    """The scalar product of two vectors in the plane."""
    return a[0] * b[0] + a[1] * b[1]


FORMS = {
    form.__name__: form
    for form in (
        mass_spring,
        cart_pendulum,
        double_pendulum,
        quadrotor,
        gyroscope,
        rolling_disc,
        pleiades,
        van_der_pol,
        lotka_volterra,
        hires,
    )
}
