"""Mechanisms of textbooks beside neighbour_models.py, each with the equations of motion that are printed for it.

Every function gives the model and the left sides of its equations, all terms on one side. The forms are those of
Goldstein, Poole, Safko (Classical Mechanics), Spong, Hutchinson, Vidyasagar (Robot Modeling and Control), and Bloch
(Nonholonomic Mechanics and Control), or follow from Newton's law in a line or two.
"""

import casadi as ca
from tests.support.neighbour_models import coordinate, parameters

import daedalus as dd

sin, cos = ca.sin, ca.cos


def double_atwood():
    """A pulley with two masses hangs from a pulley."""
    m = dd.Model("double Atwood")
    (x, xd, xdd), (y, yd, ydd) = coordinate(m, "x"), coordinate(m, "y")
    m1, m2, m3, g = parameters(m, "m_1 m_2 m_3 g")
    m.kinetic_energy(m1 * xd**2 / 2 + m2 * (-xd + yd) ** 2 / 2 + m3 * (-xd - yd) ** 2 / 2)
    m.potential_energy(-m1 * g * x - m2 * g * (-x + y) - m3 * g * (-x - y))
    return m, [
        (m1 + m2 + m3) * xdd + (m3 - m2) * ydd - (m1 - m2 - m3) * g,
        (m3 - m2) * xdd + (m2 + m3) * ydd - (m2 - m3) * g,
    ]


def swinging_atwood():
    """One of the two masses swings."""
    m = dd.Model("swinging Atwood")
    (r, rd, rdd), (t, td, tdd) = coordinate(m, "r", 1.0), coordinate(m, "theta")
    M, m_, g = parameters(m, "M m g")
    m.kinetic_energy((M + m_) * rd**2 / 2 + m_ * r**2 * td**2 / 2)
    m.potential_energy(g * r * (M - m_ * cos(t)))
    return m, [
        (M + m_) * rdd - m_ * r * td**2 + g * (M - m_ * cos(t)),
        m_ * r**2 * tdd + 2 * m_ * r * rd * td + m_ * g * r * sin(t),
    ]


def elastic_pendulum():
    """A pendulum whose rod is a spring."""
    m = dd.Model("elastic pendulum")
    (r, rd, rdd), (t, td, tdd) = coordinate(m, "r", 1.0), coordinate(m, "theta")
    m_, k, l0, g = parameters(m, "m k l_0 g")
    pos = r * ca.vertcat(sin(t), -cos(t))
    m.kinetic_energy(m_ * ca.sumsqr(m.der(pos)) / 2)
    m.potential_energy(m_ * g * pos[1] + k * (r - l0) ** 2 / 2)
    return m, [
        m_ * rdd - m_ * r * td**2 - m_ * g * cos(t) + k * (r - l0),
        m_ * r**2 * tdd + 2 * m_ * r * rd * td + m_ * g * r * sin(t),
    ]


def spring_in_the_plane():
    """The same in Cartesian coordinates: the length is a root."""
    m = dd.Model("spring pendulum")
    p = m.coordinate("p", 2, start=[0.3, -1.0], rate=[0, 0])
    m_, k, l0, g = parameters(m, "m k l_0 g")
    l = ca.norm_2(p)
    m.kinetic_energy(m_ * ca.sumsqr(m.rate(p)) / 2)
    m.potential_energy(m_ * g * p[1] + k * (l - l0) ** 2 / 2)
    pdd = m.der(m.rate(p))
    return m, [m_ * pdd[0] + k * p[0] * (1 - l0 / l), m_ * pdd[1] + k * p[1] * (1 - l0 / l) + m_ * g]


def bead_on_a_parabola():
    """A bead on a wire that is bent to a parabola and turns."""
    m = dd.Model("bead on a rotating parabola")
    x, xd, xdd = coordinate(m, "x")
    m_, a, w, g = parameters(m, "m a omega g")
    m.kinetic_energy(m_ * (xd**2 + (2 * a * x * xd) ** 2 + w**2 * x**2) / 2)
    m.potential_energy(m_ * g * a * x**2)
    return m, [m_ * (1 + 4 * a**2 * x**2) * xdd + 4 * m_ * a**2 * x * xd**2 + m_ * (2 * g * a - w**2) * x]


def block_on_a_wedge():
    """A block slides down a wedge that slides itself."""
    m = dd.Model("block on wedge")
    (x, xd, xdd), (s, _sd, sdd) = coordinate(m, "x"), coordinate(m, "s")
    M, m_, a, g = parameters(m, "M m alpha g")
    pos = ca.vertcat(x + s * cos(a), -s * sin(a))
    m.kinetic_energy(M * xd**2 / 2 + m_ * ca.sumsqr(m.der(pos)) / 2)
    m.potential_energy(m_ * g * pos[1])
    return m, [(M + m_) * xdd + m_ * sdd * cos(a), m_ * xdd * cos(a) + m_ * sdd - m_ * g * sin(a)]


def cylinder_in_cylinder():
    """A cylinder rolls in a hollow one."""
    m = dd.Model("cylinder in a cylinder")
    t, td, tdd = coordinate(m, "theta")
    m_, R, r, g = parameters(m, "m R r g")
    spin = (R - r) / r * td
    m.kinetic_energy(m_ * (R - r) ** 2 * td**2 / 2 + m_ * r**2 / 2 * spin**2 / 2)
    m.potential_energy(-m_ * g * (R - r) * cos(t))
    return m, [1.5 * m_ * (R - r) ** 2 * tdd + m_ * g * (R - r) * sin(t)]


def foucault():
    """Foucault's pendulum in small motion, in the turning frame."""
    m = dd.Model("Foucault")
    (x, xd, xdd), (y, yd, ydd) = coordinate(m, "x"), coordinate(m, "y")
    m_, W, L, g = parameters(m, "m Omega l g")
    m.kinetic_energy(m_ * ((xd - W * y) ** 2 + (yd + W * x) ** 2) / 2)
    m.potential_energy(m_ * g * (x**2 + y**2) / (2 * L))
    return m, [
        m_ * xdd - 2 * m_ * W * yd + (m_ * g / L - m_ * W**2) * x,
        m_ * ydd + 2 * m_ * W * xd + (m_ * g / L - m_ * W**2) * y,
    ]


def kepler():
    """A planet in polar coordinates."""
    m = dd.Model("Kepler")
    (r, rd, rdd), (_t, td, tdd) = coordinate(m, "r", 1.0), coordinate(m, "phi")
    m_, k = parameters(m, "m k")
    m.kinetic_energy(m_ * (rd**2 + r**2 * td**2) / 2)
    m.potential_energy(-k / r)
    return m, [m_ * rdd - m_ * r * td**2 + k / r**2, m_ * r**2 * tdd + 2 * m_ * r * rd * td]


def damped_cart():
    """A cart on a spring, with friction, carries a pendulum."""
    m = dd.Model("cart on a spring with a damped pendulum")
    (x, xd, xdd), (t, td, tdd) = coordinate(m, "x"), coordinate(m, "theta")
    M, m_, l, k, c, d, g = parameters(m, "M m l k c d g")
    F = m.input("F")
    pos = ca.vertcat(x + l * sin(t), -l * cos(t))
    m.kinetic_energy(M * xd**2 / 2 + m_ * ca.sumsqr(m.der(pos)) / 2)
    m.potential_energy(m_ * g * pos[1] + k * x**2 / 2)
    m.dissipation(c * xd**2 / 2 + d * td**2 / 2)
    m.generalised_force(x, F)
    return m, [
        (M + m_) * xdd + m_ * l * tdd * cos(t) - m_ * l * td**2 * sin(t) + c * xd + k * x - F,
        m_ * l * xdd * cos(t) + m_ * l**2 * tdd + d * td + m_ * g * l * sin(t),
    ]


def half_car():
    """Half a car over an uneven road: forces of springs and dampers in brackets."""
    m = dd.Model("half car")
    (z, zd, zdd), (t, td, tdd) = coordinate(m, "z"), coordinate(m, "theta")
    M, J, a, b, kf, kr, cf, cr = parameters(m, "M J a b k_f k_r c_f c_r")
    wf, wr = m.input("w_f"), m.input("w_r")
    m.kinetic_energy(M * zd**2 / 2 + J * td**2 / 2)
    m.potential_energy(kf * (z - a * t - wf) ** 2 / 2 + kr * (z + b * t - wr) ** 2 / 2)
    m.dissipation(cf * (zd - a * td) ** 2 / 2 + cr * (zd + b * td) ** 2 / 2)
    return m, [
        M * zdd + cf * (zd - a * td) + cr * (zd + b * td) + kf * (z - a * t - wf) + kr * (z + b * t - wr),
        J * tdd
        - a * cf * (zd - a * td)
        + b * cr * (zd + b * td)
        - a * kf * (z - a * t - wf)
        + b * kr * (z + b * t - wr),
    ]


def triple_pendulum():
    """Three equal pendulums, one below the other."""
    m = dd.Model("triple pendulum")
    qs = [coordinate(m, f"theta_{i}") for i in (1, 2, 3)]
    m_, l, g = parameters(m, "m l g")
    pos = ca.SX.zeros(2)
    for q, _, _ in qs:
        pos = pos + l * ca.vertcat(sin(q), -cos(q))
        m.kinetic_energy(m_ * ca.sumsqr(m.der(pos)) / 2)
        m.potential_energy(m_ * g * pos[1])
    (a, ad, add), (b, bd, bdd), (c, cd, cdd) = qs
    return m, [
        3 * m_ * l**2 * add
        + 2 * m_ * l**2 * (bdd * cos(a - b) + bd**2 * sin(a - b))
        + m_ * l**2 * (cdd * cos(a - c) + cd**2 * sin(a - c))
        + 3 * m_ * g * l * sin(a),
        2 * m_ * l**2 * bdd
        + 2 * m_ * l**2 * (add * cos(a - b) - ad**2 * sin(a - b))
        + m_ * l**2 * (cdd * cos(b - c) + cd**2 * sin(b - c))
        + 2 * m_ * g * l * sin(b),
        m_ * l**2 * cdd
        + m_ * l**2 * (add * cos(a - c) - ad**2 * sin(a - c))
        + m_ * l**2 * (bdd * cos(b - c) - bd**2 * sin(b - c))
        + m_ * g * l * sin(c),
    ]


def rolling_disk():
    """A disk rolls down an incline: the constraint gives the friction."""
    m = dd.Model("disk rolling down an incline")
    (x, xd, xdd), (p, pd, pdd) = coordinate(m, "x"), coordinate(m, "phi")
    m_, R, a, g = parameters(m, "m R alpha g")
    m.kinetic_energy(m_ * xd**2 / 2 + m_ * R**2 / 2 * pd**2 / 2)
    m.potential_energy(-m_ * g * x * sin(a))
    l = m.constraint("F", x - R * p)
    return m, [m_ * xdd - m_ * g * sin(a) - l, m_ * R**2 * pdd / 2 + R * l]


def rolling_coin():
    """A disk that rolls upright on a plane (Bloch, 1.4): its rates obey two constraints."""
    m = dd.Model("upright rolling disk")
    (_x, xd, xdd), (_y, yd, ydd), (t, td, tdd), (p, pd, pdd) = (
        coordinate(m, "x"),
        coordinate(m, "y"),
        coordinate(m, "theta"),
        coordinate(m, "phi"),
    )
    m_, I, J, R = parameters(m, "m I J R")
    t1, t2 = m.input("tau_theta"), m.input("tau_phi")
    m.kinetic_energy(m_ * (xd**2 + yd**2) / 2 + I * pd**2 / 2 + J * td**2 / 2)
    l1 = m.velocity_constraint("a", xd - R * pd * cos(t))
    l2 = m.velocity_constraint("b", yd - R * pd * sin(t))
    m.generalised_force(t, t1)
    m.generalised_force(p, t2)
    return m, [m_ * xdd - l1, m_ * ydd - l2, J * tdd - t1, I * pdd + R * (l1 * cos(t) + l2 * sin(t)) - t2]


def governor():
    """A governor with flyballs and a sleeve."""
    m = dd.Model("governor")
    (t, td, tdd), (p, pd, pdd) = coordinate(m, "theta"), coordinate(m, "phi")
    m_, M, l, g, I = parameters(m, "m M l g I")
    T = m.input("T")
    m.kinetic_energy(
        m_ * l**2 * td**2 + m_ * l**2 * sin(t) ** 2 * pd**2 + 2 * M * l**2 * sin(t) ** 2 * td**2 + I * pd**2 / 2
    )
    m.potential_energy(-2 * (m_ + M) * g * l * cos(t))
    m.generalised_force(p, T)
    return m, [
        2 * l**2 * (m_ + 2 * M * sin(t) ** 2) * tdd
        + 4 * M * l**2 * td**2 * sin(t) * cos(t)
        - 2 * m_ * l**2 * pd**2 * sin(t) * cos(t)
        + 2 * (m_ + M) * g * l * sin(t),
        (I + 2 * m_ * l**2 * sin(t) ** 2) * pdd + 4 * m_ * l**2 * sin(t) * cos(t) * td * pd - T,
    ]


def dumbbell():
    """Two masses on a rod, in the coordinates of one of them."""
    m = dd.Model("dumbbell")
    (x, _xd, xdd), (y, _yd, ydd), (t, td, tdd) = coordinate(m, "x"), coordinate(m, "y"), coordinate(m, "theta")
    m1, m2, l, g = parameters(m, "m_1 m_2 l g")
    a = ca.vertcat(x, y)
    b = a + l * ca.vertcat(cos(t), sin(t))
    m.kinetic_energy(m1 * ca.sumsqr(m.der(a)) / 2 + m2 * ca.sumsqr(m.der(b)) / 2)
    m.potential_energy(m1 * g * a[1] + m2 * g * b[1])
    return m, [
        (m1 + m2) * xdd - m2 * l * (tdd * sin(t) + td**2 * cos(t)),
        (m1 + m2) * ydd + m2 * l * (tdd * cos(t) - td**2 * sin(t)) + (m1 + m2) * g,
        m2 * l**2 * tdd - m2 * l * xdd * sin(t) + m2 * l * ydd * cos(t) + m2 * g * l * cos(t),
    ]


def driven_pendulum():
    """A pendulum whose support moves to and fro."""
    m = dd.Model("pendulum with a driven support")
    t, _td, tdd = coordinate(m, "theta")
    m_, l, a, w, g = parameters(m, "m l a omega g")
    pos = ca.vertcat(a * cos(w * m.time) + l * sin(t), -l * cos(t))
    m.kinetic_energy(m_ * ca.sumsqr(m.der(pos)) / 2)
    m.potential_energy(m_ * g * pos[1])
    return m, [m_ * l**2 * tdd - m_ * l * a * w**2 * cos(w * m.time) * cos(t) + m_ * g * l * sin(t)]


def pulled_pendulum():
    """A mass on a rod, pulled by a force."""
    m = dd.Model("point pulled")
    p = m.coordinate("p", 2, start=[1.0, 0.0], rate=[0, 0])
    m_, l, g = parameters(m, "m l g")
    F = m.input("F", 2)
    m.kinetic_energy(m_ * ca.sumsqr(m.rate(p)) / 2)
    m.potential_energy(m_ * g * p[1])
    m.force(F, at=p)
    lam = m.constraint("rod", (ca.sumsqr(p) - l**2) / 2)
    pdd = m.der(m.rate(p))
    return m, [m_ * pdd[0] - lam * p[0] - F[0], m_ * pdd[1] + m_ * g - lam * p[1] - F[1]]


def extending_arm():
    """An arm that turns and extends (Spong)."""
    m = dd.Model("RP arm")
    (t, td, tdd), (r, rd, rdd) = coordinate(m, "theta"), coordinate(m, "r", 1.0)
    m1, m2, l1, I1, I2, g = parameters(m, "m_1 m_2 l_1 I_1 I_2 g")
    T, F = m.input("tau"), m.input("F")
    m.kinetic_energy(m1 * l1**2 * td**2 / 2 + I1 * td**2 / 2 + I2 * td**2 / 2 + m2 * (rd**2 + r**2 * td**2) / 2)
    m.potential_energy((m1 * l1 + m2 * r) * g * sin(t))
    m.generalised_force(t, T)
    m.generalised_force(r, F)
    return m, [
        (m1 * l1**2 + I1 + I2 + m2 * r**2) * tdd + 2 * m2 * r * rd * td + (m1 * l1 + m2 * r) * g * cos(t) - T,
        m2 * rdd - m2 * r * td**2 + m2 * g * sin(t) - F,
    ]


def flexible_joint():
    """A link behind a flexible joint (Spong)."""
    m = dd.Model("flexible joint")
    (q, qd, qdd), (t, td, tdd) = coordinate(m, "q"), coordinate(m, "theta")
    I, J, M, l, k, g = parameters(m, "I J M l k g")
    u = m.input("u")
    m.kinetic_energy(I * qd**2 / 2 + J * td**2 / 2)
    m.potential_energy(-M * g * l * cos(q) + k * (q - t) ** 2 / 2)
    m.generalised_force(t, u)
    return m, [I * qdd + M * g * l * sin(q) + k * (q - t), J * tdd - k * (q - t) - u]


def tora():
    """An oscillator with a rotating mass: the benchmark TORA."""
    m = dd.Model("TORA")
    (x, xd, xdd), (t, td, tdd) = coordinate(m, "x"), coordinate(m, "theta")
    M, m_, e, I, k = parameters(m, "M m e I k")
    u = m.input("tau")
    pos = ca.vertcat(x + e * sin(t), -e * cos(t))
    m.kinetic_energy(M * xd**2 / 2 + m_ * ca.sumsqr(m.der(pos)) / 2 + I * td**2 / 2)
    m.potential_energy(k * x**2 / 2)
    m.generalised_force(t, u)
    return m, [
        (M + m_) * xdd + m_ * e * (tdd * cos(t) - td**2 * sin(t)) + k * x,
        (I + m_ * e**2) * tdd + m_ * e * xdd * cos(t) - u,
    ]


def vtol():
    """An aircraft that takes off vertically, with coupled forces."""
    m = dd.Model("VTOL")
    (x, xd, xdd), (y, yd, ydd), (t, td, tdd) = coordinate(m, "x"), coordinate(m, "y"), coordinate(m, "theta")
    m_, J, g, e = parameters(m, "m J g epsilon")
    u1, u2 = m.input("u_1"), m.input("u_2")
    m.kinetic_energy(m_ * (xd**2 + yd**2) / 2 + J * td**2 / 2)
    m.potential_energy(m_ * g * y)
    m.force(ca.vertcat(-u1 * sin(t) + e * u2 * cos(t), u1 * cos(t) + e * u2 * sin(t)), at=ca.vertcat(x, y))
    m.generalised_force(t, u2)
    return m, [
        m_ * xdd + u1 * sin(t) - e * u2 * cos(t),
        m_ * ydd - u1 * cos(t) - e * u2 * sin(t) + m_ * g,
        J * tdd - u2,
    ]


ALL = (
    double_atwood,
    swinging_atwood,
    elastic_pendulum,
    spring_in_the_plane,
    bead_on_a_parabola,
    block_on_a_wedge,
    cylinder_in_cylinder,
    foucault,
    kepler,
    damped_cart,
    half_car,
    triple_pendulum,
    rolling_disk,
    rolling_coin,
    governor,
    dumbbell,
    driven_pendulum,
    pulled_pendulum,
    extending_arm,
    flexible_joint,
    tora,
    vtol,
)
