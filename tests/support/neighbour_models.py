"""Mechanisms beside those of the lectures, each with the equations of motion that a textbook prints.

Every function gives the model and the left sides of its equations, all terms on one side, accelerations collected.
"""

import casadi as ca

import daedalus as dd

sin, cos = ca.sin, ca.cos


def parameters(m, names):
    return [m.parameter(name, 1.0) for name in names.split()]


def coordinate(m, name, start=0.3):
    q = m.coordinate(name, start=start, rate=0.1)
    return q, m.rate(q), m.der(m.rate(q))


def furuta_pendulum():
    """A pendulum on an arm that turns about the vertical (Furuta and others, 1992)."""
    m = dd.Model("Furuta pendulum")
    (a, ad, add), (b, bd, bdd) = coordinate(m, "alpha"), coordinate(m, "beta")
    J, mass, L, l, g = parameters(m, "J m L l g")
    tau = m.input("tau")
    bob = ca.vertcat(L * cos(a) - l * sin(b) * sin(a), L * sin(a) + l * sin(b) * cos(a), l * cos(b))
    m.kinetic_energy(J * ad**2 / 2 + mass * ca.sumsqr(m.der(bob)) / 2)
    m.potential_energy(mass * g * l * cos(b))
    m.generalised_force(a, tau)
    twist = 2 * mass * l**2 * sin(b) * cos(b) * ad * bd - mass * L * l * sin(b) * bd**2
    return m, [
        (J + mass * L**2 + mass * l**2 * sin(b) ** 2) * add + mass * L * l * cos(b) * bdd + twist - tau,
        mass * L * l * cos(b) * add + mass * l**2 * bdd - mass * l**2 * sin(b) * cos(b) * ad**2
        - mass * g * l * sin(b),
    ]  # fmt: skip


def acrobot():
    """Two links with a motor at the elbow (Spong, 1995)."""
    m = dd.Model("acrobot")
    (a, ad, add), (b, bd, bdd) = coordinate(m, "q_1"), coordinate(m, "q_2")
    m1, m2, l1, c1, c2, I1, I2, g = parameters(m, "m_1 m_2 l_1 l_c1 l_c2 I_1 I_2 g")
    tau = m.input("tau")
    one = c1 * ca.vertcat(sin(a), -cos(a))
    two = l1 * ca.vertcat(sin(a), -cos(a)) + c2 * ca.vertcat(sin(a + b), -cos(a + b))
    m.kinetic_energy(m1 * ca.sumsqr(m.der(one)) / 2 + m2 * ca.sumsqr(m.der(two)) / 2)
    m.kinetic_energy(I1 * ad**2 / 2 + I2 * (ad + bd) ** 2 / 2)
    m.potential_energy(m1 * g * one[1] + m2 * g * two[1])
    m.generalised_force(b, tau)
    d11 = m1 * c1**2 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * cos(b)) + I1 + I2
    d12, d22, h = m2 * (c2**2 + l1 * c2 * cos(b)) + I2, m2 * c2**2 + I2, m2 * l1 * c2 * sin(b)
    weight = m2 * c2 * g * sin(a + b)
    return m, [
        d11 * add + d12 * bdd - h * bd**2 - 2 * h * ad * bd + (m1 * c1 + m2 * l1) * g * sin(a) + weight,
        d12 * add + d22 * bdd + h * ad**2 + weight - tau,
    ]


def ball_on_beam():
    """Hauser, Sastry, Kokotović (1992)."""
    m = dd.Model("ball on beam")
    (r, rd, rdd), (th, td, tdd) = coordinate(m, "r"), coordinate(m, "theta")
    J, Jb, M, R, g = parameters(m, "J J_b M R g")
    tau = m.input("tau")
    m.kinetic_energy((Jb / R**2 + M) * rd**2 / 2 + (J + M * r**2) * td**2 / 2)
    m.potential_energy(M * g * r * sin(th))
    m.generalised_force(th, tau)
    return m, [
        (Jb / R**2 + M) * rdd + M * g * sin(th) - M * r * td**2,
        (M * r**2 + J) * tdd + 2 * M * r * rd * td + M * g * r * cos(th) - tau,
    ]


def heavy_top():
    """A symmetric top in Euler angles (Goldstein, chapter 5)."""
    m = dd.Model("heavy top")
    (_, pd, pdd), (th, td, tdd), (_, sd, sdd) = (coordinate(m, name) for name in ("phi", "theta", "psi"))
    A, C, mass, g, l = parameters(m, "A C m g l")
    m.kinetic_energy(A / 2 * (td**2 + pd**2 * sin(th) ** 2) + C / 2 * (sd + pd * cos(th)) ** 2)
    m.potential_energy(mass * g * l * cos(th))
    return m, [
        (A * sin(th) ** 2 + C * cos(th) ** 2) * pdd + C * cos(th) * sdd + 2 * (A - C) * sin(th) * cos(th) * pd * td
        - C * sin(th) * td * sd,
        A * tdd - (A - C) * sin(th) * cos(th) * pd**2 + C * sin(th) * pd * sd - mass * g * l * sin(th),
        C * (sdd + cos(th) * pdd - sin(th) * pd * td),
    ]  # fmt: skip


def planar_quadrotor():
    m = dd.Model("planar quadrotor")
    (x, xd, xdd), (z, zd, zdd), (th, td, tdd) = (coordinate(m, name) for name in ("x", "z", "theta"))
    mass, J, l, g = parameters(m, "m J l g")
    f1, f2 = m.input("f_1"), m.input("f_2")
    m.kinetic_energy(mass * (xd**2 + zd**2) / 2 + J * td**2 / 2)
    m.potential_energy(mass * g * z)
    for q, force in ((x, -(f1 + f2) * sin(th)), (z, (f1 + f2) * cos(th)), (th, l * (f1 - f2))):
        m.generalised_force(q, force)
    return m, [mass * xdd + (f1 + f2) * sin(th), mass * zdd - (f1 + f2) * cos(th) + mass * g, J * tdd - l * (f1 - f2)]


def spherical_pendulum():
    m = dd.Model("spherical pendulum")
    (th, td, tdd), (ph, pd, pdd) = coordinate(m, "theta"), coordinate(m, "phi")
    mass, l, g = parameters(m, "m l g")
    bob = l * ca.vertcat(sin(th) * cos(ph), sin(th) * sin(ph), -cos(th))
    m.kinetic_energy(mass * ca.sumsqr(m.der(bob)) / 2)
    m.potential_energy(mass * g * bob[2])
    return m, [
        mass * l**2 * tdd - mass * l**2 * sin(th) * cos(th) * pd**2 + mass * g * l * sin(th),
        mass * l**2 * sin(th) ** 2 * pdd + 2 * mass * l**2 * sin(th) * cos(th) * td * pd,
    ]


def bead_on_a_hoop():
    """A hoop that turns at a given speed: the energy contains the time."""
    m = dd.Model("bead on a hoop")
    th, _, tdd = coordinate(m, "theta")
    mass, R, w, g = parameters(m, "m R omega g")
    bead = R * ca.vertcat(sin(th) * cos(w * m.time), sin(th) * sin(w * m.time), -cos(th))
    m.kinetic_energy(mass * ca.sumsqr(m.der(bead)) / 2)
    m.potential_energy(mass * g * bead[2])
    return m, [mass * R**2 * tdd - mass * R**2 * w**2 * sin(th) * cos(th) + mass * g * R * sin(th)]


def two_link_arm():
    """Craig, Introduction to Robotics, chapter 6."""
    m = dd.Model("two-link arm")
    (a, ad, add), (b, bd, bdd) = coordinate(m, "q_1"), coordinate(m, "q_2")
    m1, m2, l1, l2, g = parameters(m, "m_1 m_2 l_1 l_2 g")
    t1, t2 = m.input("tau_1"), m.input("tau_2")
    one = l1 * ca.vertcat(cos(a), sin(a))
    two = one + l2 * ca.vertcat(cos(a + b), sin(a + b))
    m.kinetic_energy(m1 * ca.sumsqr(m.der(one)) / 2 + m2 * ca.sumsqr(m.der(two)) / 2)
    m.potential_energy(g * (m1 * one[1] + m2 * two[1]))
    m.generalised_force(a, t1)
    m.generalised_force(b, t2)
    inner = m2 * (l1 * l2 * cos(b) + l2**2)
    return m, [
        (m1 * l1**2 + m2 * (l1**2 + 2 * l1 * l2 * cos(b) + l2**2)) * add + inner * bdd
        - m2 * l1 * l2 * sin(b) * (2 * ad * bd + bd**2) + (m1 + m2) * l1 * g * cos(a) + m2 * g * l2 * cos(a + b) - t1,
        inner * add + m2 * l2**2 * bdd + m2 * l1 * l2 * ad**2 * sin(b) + m2 * g * l2 * cos(a + b) - t2,
    ]  # fmt: skip


def two_masses():
    m = dd.Model("two masses")
    (x, xd, xdd), (y, yd, ydd) = coordinate(m, "x_1"), coordinate(m, "x_2")
    m1, m2, k, d = parameters(m, "m_1 m_2 k d")
    force = m.input("F")
    m.kinetic_energy(m1 * xd**2 / 2 + m2 * yd**2 / 2)
    m.potential_energy(k * (x - y) ** 2 / 2)
    m.dissipation(d * (xd - yd) ** 2 / 2)
    m.generalised_force(x, force)
    return m, [m1 * xdd + k * (x - y) + d * (xd - yd) - force, m2 * ydd - k * (x - y) - d * (xd - yd)]


def slider_crank():
    m = dd.Model("slider crank")
    (th, td, tdd), (ph, pd, pdd), (x, xd, xdd) = (coordinate(m, name) for name in ("theta", "phi", "x"))
    J, mass, M, r, l, g, Jr = parameters(m, "J m M r l g J_r")
    tau = m.input("tau")
    middle = ca.vertcat(r * cos(th) + l / 2 * cos(ph), r * sin(th) - l / 2 * sin(ph))
    m.kinetic_energy(J * td**2 / 2 + mass * ca.sumsqr(m.der(middle)) / 2 + Jr * pd**2 / 2 + M * xd**2 / 2)
    m.potential_energy(mass * g * middle[1])
    gaps = [r * cos(th) + l * cos(ph) - x, r * sin(th) - l * sin(ph)]
    m.constraint("z", ca.vertcat(*gaps))
    m.generalised_force(th, tau)
    z, h = m["z"], mass * r * l / 2
    return m, [
        (J + mass * r**2) * tdd - h * cos(th + ph) * pdd + h * sin(th + ph) * pd**2 + mass * g * r * cos(th)
        + z[0] * r * sin(th) - z[1] * r * cos(th) - tau,
        -h * cos(th + ph) * tdd + (Jr + mass * l**2 / 4) * pdd + h * sin(th + ph) * td**2 - mass * g * l / 2 * cos(ph)
        + z[0] * l * sin(ph) + z[1] * l * cos(ph),
        M * xdd + z[0],
        *gaps,
    ]  # fmt: skip


def sleigh():
    """Chaplygin's sleigh: a blade that does not slip sideways, a constraint on velocities."""
    m = dd.Model("sleigh")
    (_, xd, xdd), (_, yd, ydd), (th, td, tdd) = (coordinate(m, name) for name in ("x", "y", "theta"))
    mass, J, a = parameters(m, "m J a")
    m.kinetic_energy(mass * ((xd - a * td * sin(th)) ** 2 + (yd + a * td * cos(th)) ** 2) / 2 + J * td**2 / 2)
    slip = -sin(th) * xd + cos(th) * yd
    m.velocity_constraint("z", slip)
    z = m["z"]
    return m, [
        mass * xdd - mass * a * (tdd * sin(th) + td**2 * cos(th)) + z * sin(th),
        mass * ydd + mass * a * (tdd * cos(th) - td**2 * sin(th)) - z * cos(th),
        (J + mass * a**2) * tdd + mass * a * (ydd * cos(th) - xdd * sin(th)),
        slip,
    ]


def cart_with_two_pendulums():
    m = dd.Model("cart with a double pendulum")
    (x, xd, xdd), (a, ad, add), (b, bd, bdd) = (coordinate(m, name) for name in ("x", "theta_1", "theta_2"))
    M, m1, m2, l1, l2, g = parameters(m, "M m_1 m_2 l_1 l_2 g")
    force = m.input("F")
    one = ca.vertcat(x + l1 * sin(a), l1 * cos(a))
    two = one + l2 * ca.vertcat(sin(b), cos(b))
    m.kinetic_energy(M * xd**2 / 2 + m1 * ca.sumsqr(m.der(one)) / 2 + m2 * ca.sumsqr(m.der(two)) / 2)
    m.potential_energy(g * (m1 * one[1] + m2 * two[1]))
    m.generalised_force(x, force)
    both, turn = m1 + m2, a - b
    return m, [
        (M + both) * xdd + both * l1 * cos(a) * add + m2 * l2 * cos(b) * bdd - both * l1 * sin(a) * ad**2
        - m2 * l2 * sin(b) * bd**2 - force,
        both * l1 * cos(a) * xdd + both * l1**2 * add + m2 * l1 * l2 * cos(turn) * bdd
        + m2 * l1 * l2 * sin(turn) * bd**2 - both * g * l1 * sin(a),
        m2 * l2 * cos(b) * xdd + m2 * l1 * l2 * cos(turn) * add + m2 * l2**2 * bdd
        - m2 * l1 * l2 * sin(turn) * ad**2 - m2 * g * l2 * sin(b),
    ]  # fmt: skip


def kapitza_pendulum():
    """A pendulum whose pivot shakes up and down (Landau and Lifshitz, Mechanics, section 30)."""
    m = dd.Model("Kapitza's pendulum")
    ph, _, pdd = coordinate(m, "phi")
    mass, l, g, a, w = parameters(m, "m l g a omega")
    bob = ca.vertcat(l * sin(ph), -l * cos(ph) + a * cos(w * m.time))
    m.kinetic_energy(mass * ca.sumsqr(m.der(bob)) / 2)
    m.potential_energy(mass * g * bob[1])
    return m, [mass * l**2 * pdd + mass * l * g * sin(ph) - mass * l * a * w**2 * sin(ph) * cos(w * m.time)]


def segway():
    """A body on two driven wheels that roll."""
    m = dd.Model("Segway")
    (x, xd, xdd), (th, td, tdd) = coordinate(m, "x"), coordinate(m, "theta")
    M, mass, J, I, l, r, g = parameters(m, "M m J I l r g")
    tau = m.input("tau")
    body = ca.vertcat(x + l * sin(th), l * cos(th))
    m.kinetic_energy(M * xd**2 / 2 + J * (xd / r) ** 2 / 2 + mass * ca.sumsqr(m.der(body)) / 2 + I * td**2 / 2)
    m.potential_energy(mass * g * body[1])
    m.generalised_force(x, tau / r)
    m.generalised_force(th, -tau)
    return m, [
        (M + mass + J / r**2) * xdd + mass * l * cos(th) * tdd - mass * l * sin(th) * td**2 - tau / r,
        mass * l * cos(th) * xdd + (mass * l**2 + I) * tdd - mass * l * g * sin(th) + tau,
    ]


def reaction_wheel_pendulum():
    """Spong, Corke, Lozano (2001)."""
    m = dd.Model("reaction wheel pendulum")
    (th, td, tdd), (_, pd, pdd) = coordinate(m, "theta"), coordinate(m, "phi")
    m1, m2, l1, l2, I1, I2, g = parameters(m, "m_1 m_2 l_1 l_2 I_1 I_2 g")
    tau = m.input("tau")
    m.kinetic_energy((m1 * l1**2 + m2 * l2**2 + I1) * td**2 / 2 + I2 * (td + pd) ** 2 / 2)
    m.potential_energy((m1 * l1 + m2 * l2) * g * cos(th))
    m.generalised_force(m["phi"], tau)
    return m, [
        (m1 * l1**2 + m2 * l2**2 + I1 + I2) * tdd + I2 * pdd - (m1 * l1 + m2 * l2) * g * sin(th),
        I2 * tdd + I2 * pdd - tau,
    ]


def quadrotor_with_load():
    """A planar quadrotor that carries a mass on a rod (Sreenath, Lee, Kumar, 2013)."""
    m = dd.Model("quadrotor with load")
    (x, xd, xdd), (z, zd, zdd), (th, td, tdd), (al, ad, add) = (
        coordinate(m, name) for name in ("x", "z", "theta", "alpha")
    )
    M, J, mass, L, g = parameters(m, "M J m L g")
    f, tau = m.input("f"), m.input("tau")
    load = ca.vertcat(x + L * sin(al), z - L * cos(al))
    m.kinetic_energy(M * (xd**2 + zd**2) / 2 + J * td**2 / 2 + mass * ca.sumsqr(m.der(load)) / 2)
    m.potential_energy(M * g * z + mass * g * load[1])
    for q, force in ((x, -f * sin(th)), (z, f * cos(th)), (th, tau)):
        m.generalised_force(q, force)
    h = mass * L
    return m, [
        (M + mass) * xdd + h * cos(al) * add - h * sin(al) * ad**2 + f * sin(th),
        (M + mass) * zdd + h * sin(al) * add + h * cos(al) * ad**2 + (M + mass) * g - f * cos(th),
        J * tdd - tau,
        h * cos(al) * xdd + h * sin(al) * zdd + h * L * add + h * g * sin(al),
    ]


def gantry_crane():
    """A cart with a load on a rope that a drum winds (Sakawa and Shindo, 1982)."""
    m = dd.Model("gantry crane")
    (x, xd, xdd), (l, ld, ldd), (a, ad, add) = coordinate(m, "x"), coordinate(m, "l", 2.0), coordinate(m, "theta")
    M, mass, J, r, g = parameters(m, "M m J r g")
    F, tau = m.input("F"), m.input("tau")
    load = ca.vertcat(x + l * sin(a), -l * cos(a))
    m.kinetic_energy(M * xd**2 / 2 + mass * ca.sumsqr(m.der(load)) / 2 + J * (ld / r) ** 2 / 2)
    m.potential_energy(mass * g * load[1])
    m.generalised_force(x, F)
    m.generalised_force(l, tau / r)
    return m, [
        (M + mass) * xdd + mass * sin(a) * ldd + mass * l * cos(a) * add + 2 * mass * ld * ad * cos(a)
        - mass * l * ad**2 * sin(a) - F,
        mass * sin(a) * xdd + (mass + J / r**2) * ldd - mass * l * ad**2 - mass * g * cos(a) - tau / r,
        mass * l * cos(a) * xdd + mass * l**2 * add + 2 * mass * l * ld * ad + mass * g * l * sin(a),
    ]  # fmt: skip


def gimballed_gyroscope():
    """A rotor in two frames, the inner one with a weight (Goldstein, chapter 5)."""
    m = dd.Model("gyroscope in gimbals")
    (_, ad, add), (b, bd, bdd), (_, cd, cdd) = coordinate(m, "psi"), coordinate(m, "theta", 0.8), coordinate(m, "phi")
    A, C, B, J, k = parameters(m, "A C B J k")
    tau = m.input("tau")
    m.kinetic_energy(A * (bd**2 + (ad * sin(b)) ** 2) / 2 + C * (ad * cos(b) + cd) ** 2 / 2)
    m.kinetic_energy(B * bd**2 / 2 + J * ad**2 / 2)
    m.potential_energy(k * cos(b))
    m.generalised_force(m["psi"], tau)
    return m, [
        (J + A * sin(b) ** 2 + C * cos(b) ** 2) * add + C * cos(b) * cdd + 2 * (A - C) * ad * bd * sin(b) * cos(b)
        - C * bd * cd * sin(b) - tau,
        (A + B) * bdd - (A - C) * ad**2 * sin(b) * cos(b) + C * ad * cd * sin(b) - k * sin(b),
        C * (cdd + cos(b) * add - ad * bd * sin(b)),
    ]  # fmt: skip


def three_link_arm():
    """Three links in a plane without weight, angles against the link before (Craig, chapter 6)."""
    m = dd.Model("three-link arm")
    (a, ad, add), (b, bd, bdd), (c, cd, cdd) = (coordinate(m, f"q_{k}", 0.2 * k) for k in (1, 2, 3))
    l1, l2, l3, m1, m2, m3, J1, J2, J3 = parameters(m, "l_1 l_2 l_3 m_1 m_2 m_3 J_1 J_2 J_3")
    torques = [m.input(f"tau_{k}") for k in (1, 2, 3)]
    out = [ca.vertcat(cos(angle), sin(angle)) for angle in (a, a + b, a + b + c)]
    one, two = l1 / 2 * out[0], l1 * out[0] + l2 / 2 * out[1]
    three = l1 * out[0] + l2 * out[1] + l3 / 2 * out[2]
    for mass, place in ((m1, one), (m2, two), (m3, three)):
        m.kinetic_energy(mass * ca.sumsqr(m.der(place)) / 2)
    m.kinetic_energy(J1 * ad**2 / 2 + J2 * (ad + bd) ** 2 / 2 + J3 * (ad + bd + cd) ** 2 / 2)
    for q, torque in zip((a, b, c), torques):
        m.generalised_force(q, torque)
    i3, i2, i1 = J3 + m3 * l3**2 / 4, J2 + (m2 / 4 + m3) * l2**2, J1 + (m1 / 4 + m2 + m3) * l1**2
    h2, h3, h23 = (m2 / 2 + m3) * l1 * l2, m3 * l2 * l3 / 2, m3 * l1 * l3 / 2
    m23, m13 = i3 + h3 * cos(c), i3 + h3 * cos(c) + h23 * cos(b + c)
    m22 = i2 + i3 + 2 * h3 * cos(c)
    m12 = m22 + h2 * cos(b) + h23 * cos(b + c)
    m11 = i1 + i2 + i3 + 2 * (h2 * cos(b) + h3 * cos(c) + h23 * cos(b + c))
    turn2, turn3, both = 2 * ad * bd + bd**2, 2 * ad * cd + 2 * bd * cd + cd**2, bd + cd
    return m, [
        m11 * add + m12 * bdd + m13 * cdd - h2 * sin(b) * turn2 - h3 * sin(c) * turn3
        - h23 * sin(b + c) * (2 * ad * both + both**2) - torques[0],
        m12 * add + m22 * bdd + m23 * cdd + h2 * sin(b) * ad**2 + h23 * sin(b + c) * ad**2 - h3 * sin(c) * turn3
        - torques[1],
        m13 * add + m23 * bdd + i3 * cdd + h3 * sin(c) * (ad + bd) ** 2 + h23 * sin(b + c) * ad**2 - torques[2],
    ]  # fmt: skip


def four_bar():
    """Three bars in a loop, angles against the ground (Haug, chapter 6)."""
    m = dd.Model("four-bar")
    (a, ad, add), (b, bd, bdd), (c, cd, cdd) = (coordinate(m, name) for name in ("alpha", "beta", "gamma"))
    l1, l2, l3, d, m1, m2, m3, J1, J2, J3, g = parameters(m, "l_1 l_2 l_3 d m_1 m_2 m_3 J_1 J_2 J_3 g")
    tau = m.input("tau")
    along = [ca.vertcat(cos(angle), sin(angle)) for angle in (a, b, c)]
    foot = ca.vertcat(d, 0)
    places = l1 / 2 * along[0], l1 * along[0] + l2 / 2 * along[1], foot + l3 / 2 * along[2]
    for mass, J, place, speed in zip((m1, m2, m3), (J1, J2, J3), places, (ad, bd, cd)):
        m.kinetic_energy(mass * ca.sumsqr(m.der(place)) / 2 + J * speed**2 / 2)
        m.potential_energy(mass * g * place[1])
    z = m.constraint("z", l1 * along[0] + l2 * along[1] - foot - l3 * along[2])
    m.generalised_force(a, tau)
    h = m2 * l1 * l2 / 2
    return m, [
        (J1 + (m1 / 4 + m2) * l1**2) * add + h * cos(a - b) * bdd + h * sin(a - b) * bd**2
        + (m1 / 2 + m2) * g * l1 * cos(a) - tau - l1 * (z[1] * cos(a) - z[0] * sin(a)),
        (J2 + m2 * l2**2 / 4) * bdd + h * cos(a - b) * add - h * sin(a - b) * ad**2 + m2 * g * l2 * cos(b) / 2
        - l2 * (z[1] * cos(b) - z[0] * sin(b)),
        (J3 + m3 * l3**2 / 4) * cdd + m3 * g * l3 * cos(c) / 2 + l3 * (z[1] * cos(c) - z[0] * sin(c)),
        l1 * cos(a) + l2 * cos(b) - d - l3 * cos(c),
        l1 * sin(a) + l2 * sin(b) - l3 * sin(c),
    ]  # fmt: skip


def geared_drive():
    """A motor and a load behind a gear and an elastic shaft."""
    m = dd.Model("geared drive")
    (a, ad, add), (b, bd, bdd) = coordinate(m, "phi_1"), coordinate(m, "phi_2")
    J1, J2, k, d, n = parameters(m, "J_1 J_2 k d n")
    T = m.input("T")
    m.kinetic_energy(J1 * ad**2 / 2 + J2 * bd**2 / 2)
    m.potential_energy(k * (a / n - b) ** 2 / 2)
    m.dissipation(d * (ad / n - bd) ** 2 / 2)
    m.generalised_force(a, T)
    twist = k * (a / n - b) + d * (ad / n - bd)
    return m, [J1 * add + twist / n - T, J2 * bdd - twist]


ALL = (
    furuta_pendulum, acrobot, ball_on_beam, heavy_top, planar_quadrotor, spherical_pendulum, bead_on_a_hoop,
    two_link_arm, two_masses, slider_crank, sleigh, cart_with_two_pendulums, kapitza_pendulum, segway,
    reaction_wheel_pendulum, quadrotor_with_load, gantry_crane, gimballed_gyroscope, three_link_arm, four_bar,
    geared_drive,
)  # fmt: skip
