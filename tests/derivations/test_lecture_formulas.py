"""Derivations against the formulas that the lectures print: the same, and as short."""

import re
from pathlib import Path

import casadi as ca
import pytest
from tests.support import lecture_models as lectures

import daedalus as dd
from daedalus import catalogue
from daedalus.derivations.formula.agreement import largest_difference
from daedalus.derivations.formula.formula_length import operations
from daedalus.derivations.formula.notation import Juxtaposed, Matrix

LONGER = 1.3


def compare(found, printed):
    """Each found side is the printed one, and no more than 1.3 times as long in all."""
    assert largest_difference(ca.vertcat(*found), ca.vertcat(*printed)) < 1e-12
    assert operations(ca.vertcat(*found)) <= LONGER * operations(ca.vertcat(*printed))


def rates(m, name):
    q = m[name]
    return q, m.rate(q), m.der(m.rate(q))


@pytest.mark.document("003", "pendulum on a cart: T, V, ∂L/∂q', d/dt and ∂L/∂q", 'dd.derive(m, "lagrange")')
def test_cart_pendulum_energies_momenta_and_rates():
    m = lectures.cart_pendulum()
    (_, xd, xdd), (th, thd, thdd) = rates(m, "x"), rates(m, "theta")
    mass, M, L, g = (m[n] for n in "mMLg")
    steps = {step.kind: step for step in dd.derive(m, "lagrange")}
    printed = 0.5 * (mass + M) * xd**2 + 0.5 * M * L**2 * thd**2 + L * M * thd * xd * ca.cos(th)
    compare([steps["kinetic energy"].after[0].right], [printed])
    compare([steps["potential energy"].after[0].right], [M * g * L * ca.cos(th)])
    momenta = [(M + mass) * xd + M * L * thd * ca.cos(th), M * L**2 * thd + M * L * xd * ca.cos(th)]
    compare([line.right for line in steps["momenta"].after], momenta)
    slopes = [ca.SX(0), M * g * L * ca.sin(th) - M * L * thd * xd * ca.sin(th)]
    compare([line.right for line in steps["slopes"].after], slopes)
    along = [
        -M * L * ca.sin(th) * thd**2 + xdd * (M + mass) + M * L * thdd * ca.cos(th),
        M * L * xdd * ca.cos(th) + M * L**2 * thdd - M * L * thd * xd * ca.sin(th),
    ]
    compare([line.right for line in steps["rates of momenta"].after], along)


@pytest.mark.document(
    "003", "pendulum on a cart: M(q) q'' = forces, one line per coordinate", 'dd.derive(m, "lagrange")'
)
def test_cart_pendulum_has_one_line_in_the_end():
    m = lectures.cart_pendulum()
    (_, _, xdd), (th, thd, thdd) = rates(m, "x"), rates(m, "theta")
    mass, M, L, g = (m[n] for n in "mMLg")
    d = dd.derive(m, "lagrange")
    equations = next(step for step in d if step.kind == "equations of motion").after
    printed = [
        (M + mass) * xdd + M * L * ca.cos(th) * thdd - M * L * thd**2 * ca.sin(th),
        M * L * ca.cos(th) * xdd + M * L**2 * thdd - M * g * L * ca.sin(th),
    ]
    compare([line.residual for line in equations], printed)
    # The slide's matrix form: nothing of θ' x' is left on either side.
    line = d[-1].after[0]
    assert isinstance(line.left, Juxtaposed)
    assert isinstance(line.left.pieces[0], Matrix)
    mass_matrix = line.left.pieces[0].entries
    compare([ca.vec(mass_matrix)], [ca.vertcat(M + mass, M * L * ca.cos(th), M * L * ca.cos(th), M * L**2)])
    compare([line.right.pieces[0].entries], [ca.vertcat(M * L * thd**2 * ca.sin(th), M * g * L * ca.sin(th))])
    assert "x_dot" not in str(line)


@pytest.mark.document("003", "3D pendulum: m p'' + m g e3 + z p = u with c = ½ (pᵀp − L²)", 'dd.derive(m, "lagrange")')
def test_pendulum_in_space():
    m = lectures.pendulum_3d()
    p, pd, pdd = rates(m, "p")
    mass, g, L, z, u = (m[n] for n in ("m", "g", "L", "z", "u"))
    steps = {step.kind: step for step in dd.derive(m, "lagrange")}
    # λ = −z of the slide, so that + G'λ is the force of the constraint.
    printed = [mass * pdd[k] + (mass * g if k == 2 else 0) - z * p[k] - u[k] for k in range(3)]
    printed.append(0.5 * (ca.sumsqr(p) - L**2))
    compare([line.residual for line in steps["equations of motion"].after], printed)
    reduced = dd.derive(m, "reduce")
    levels = [step.after for step in reduced if step.kind.startswith("differentiated")]
    compare([levels[0][0].left], [ca.dot(p, pd)])
    compare([levels[1][0].left], [ca.dot(p, pdd) + ca.sumsqr(pd)])


@pytest.mark.document("003", "delta robot: energies, arm tips and constraints", 'dd.derive(m, "lagrange")')
def test_delta_robot():
    m = lectures.delta_robot()
    p, pd, pdd = rates(m, "p")
    a, ad, add = rates(m, "alpha")
    mass, arm, J, L, l, d, g, z = (m[n] for n in ("m", "M", "J", "L", "l", "d", "g", "z"))
    derivation = dd.derive(m, "lagrange")
    steps = {step.kind: step for step in derivation}
    energy = 0.5 * mass * ca.sumsqr(pd) + 0.5 * J * ca.sumsqr(ad)
    compare([steps["kinetic energy"].after[0].right], [energy])
    height = mass * g * p[2] - 0.5 * arm * g * l * ca.sum1(ca.sin(a))
    compare([steps["potential energy"].after[0].right], [height])
    cosine, sine = [1.0, -0.5, -0.5], [0.0, 3**0.5 / 2, -(3**0.5) / 2]
    gaps, forces = [], [mass * pdd[0], mass * pdd[1], mass * pdd[2] + mass * g]
    turns = []
    for k in range(3):
        out = d + l * ca.cos(a[k])
        tip = [cosine[k] * out, sine[k] * out if k else ca.SX(0), -l * ca.sin(a[k])]
        gaps.append(sum((p[j] - tip[j]) ** 2 for j in range(3)) - L**2)
        for j in range(3):
            forces[j] = forces[j] - 2 * z[k] * (p[j] - tip[j])
        slope = [-cosine[k] * l * ca.sin(a[k]), -sine[k] * l * ca.sin(a[k]) if k else ca.SX(0), -l * ca.cos(a[k])]
        pull = -2 * z[k] * sum((p[j] - tip[j]) * slope[j] for j in range(3))
        turns.append(J * add[k] - 0.5 * arm * g * l * ca.cos(a[k]) - pull)
    compare([line.residual for line in steps["equations of motion"].after], [*forces, *turns, *gaps])
    assert derivation.check < 1e-9


def test_double_pendulum():
    m = lectures.double_pendulum()
    q, qd, qdd = rates(m, "q")
    m1, m2, l1, l2, g = (m[n] for n in ("m_1", "m_2", "l_1", "l_2", "g"))
    steps = {step.kind: step for step in dd.derive(m, "lagrange")}
    turn = q[0] - q[1]
    energy = 0.5 * (m1 + m2) * l1**2 * qd[0] ** 2 + 0.5 * m2 * l2**2 * qd[1] ** 2
    energy += m2 * l1 * l2 * qd[0] * qd[1] * ca.cos(turn)
    compare([steps["kinetic energy"].after[0].right], [energy])
    # Goldstein, Classical Mechanics, 3rd edition, chapter 1: the double pendulum by Lagrange.
    printed = [
        (m1 + m2) * l1**2 * qdd[0] + m2 * l1 * l2 * qdd[1] * ca.cos(turn)
        + m2 * l1 * l2 * qd[1] ** 2 * ca.sin(turn) + (m1 + m2) * g * l1 * ca.sin(q[0]),
        m2 * l2**2 * qdd[1] + m2 * l1 * l2 * qdd[0] * ca.cos(turn)
        - m2 * l1 * l2 * qd[0] ** 2 * ca.sin(turn) + m2 * g * l2 * ca.sin(q[1]),
    ]  # fmt: skip
    compare([line.residual for line in steps["equations of motion"].after], printed)


def test_quadrotor_by_newton_and_euler():
    m = lectures.quadrotor()
    steps = dd.derive(m, "bodies")
    q, w, f = m["b.quaternion"], m["b.angular_velocity"], m["f"]
    mass, jx, jy, jz, arm, g, drag = (m[n] for n in ("m", "J_x", "J_y", "J_z", "l", "g", "k"))
    newton = next(step for step in steps if step.kind == "Newton")
    push = [
        2 * (q[0] * q[2] + q[1] * q[3]) * ca.sum1(f), 2 * (q[2] * q[3] - q[0] * q[1]) * ca.sum1(f),
        (q[0] ** 2 - q[1] ** 2 - q[2] ** 2 + q[3] ** 2) * ca.sum1(f) - mass * g,
    ]  # fmt: skip
    own = [line.right for line in newton.after]
    assert operations(ca.vertcat(*own)) <= LONGER * operations(ca.vertcat(*push)) + 2
    euler = next(step for step in steps if step.kind == "Euler")
    wd = m.der(w)
    printed = [
        jx * wd[0] + (jz - jy) * w[1] * w[2] - arm * (f[1] - f[3]),
        jy * wd[1] + (jx - jz) * w[0] * w[2] - arm * (f[2] - f[0]),
        jz * wd[2] + (jy - jx) * w[0] * w[1] - drag * (f[0] - f[1] + f[2] - f[3]),
    ]
    compare([line.residual for line in euler.after], printed)
    assert steps.check < 1e-9


def test_series_circuit():
    m = lectures.series_rlc()
    d = dd.derive(m)
    final = {str(line.left.parts[0].parts[0]): line.right for line in d.equations}
    i, v, u = m["l.current"], m["c.voltage"], m["u"]
    R, L, C = m["r.resistance"], m["l.inductance"], m["c.capacitance"]
    compare([final["l.current"], final["c.voltage"]], [(u - R * i - v) / L, i / C])
    assert d.check < 1e-9


@pytest.mark.document("002", "DC motor: L i' + R i + K ω = u, J ω' = K i − d ω", "dd.derive(m)")
def test_motor():
    m = lectures.dc_motor()
    d = dd.derive(m)
    final = {str(line.left.parts[0].parts[0]): line.right for line in d.equations}
    i, w, u = m["motor.current"], m.der(m["motor.angle"]), m["u"]
    R, L, k = m["motor.resistance"], m["motor.inductance"], m["motor.constant"]
    J, damping = m["motor.inertia"] + m["load.inertia"], m["motor.damping"]
    compare([final["motor.current"], final["motor.angle_dot"]], [(u - R * i - k * w) / L, (k * i - damping * w) / J])
    assert d.check < 1e-9


@pytest.mark.parametrize(
    "make", [lectures.cart_pendulum, lectures.pendulum_3d, lectures.double_pendulum, lectures.quadrotor]
)
def test_every_step_of_the_whole_derivation_is_checked(make):
    d = dd.derive(make())
    assert len(d) > 3
    assert all(step.check < 1e-9 for step in d), [(step.kind, step.check) for step in d]
    assert all(step.text.endswith((".", ":")) for step in d)


def test_linearisations_with_outputs_of_derivatives_are_checked():
    d = dd.derive(catalogue.load("motor_lift").model, "linearise")
    assert d.check < 1e-9


@pytest.mark.parametrize("name", ["cart-pendulum", "double pendulum", "delta robot"])
def test_the_page_counts_the_operations_of_the_steps(name):
    page = (Path(__file__).parents[2] / "docs" / "derivations.md").read_text(encoding="utf-8")
    told = int(re.search(rf"\| {name} \| \d+ \| (\d+) in", page)[1])
    m = getattr(lectures, re.sub("[ -]", "_", name))()
    step = next(step for step in dd.derive(m, "lagrange") if step.kind == "equations of motion")
    moving = step.after if name != "delta robot" else step.after[:6]  # without the constraints
    assert sum(line.operations for line in moving) == told
    assert not step.where


def test_wrong_parts_and_options_are_told():
    m = lectures.cart_pendulum()
    with pytest.raises(dd.InputError, match="There is no part 'lagrang'"):
        dd.derive(m, "lagrang")
    with pytest.raises(dd.InputError, match="takes no alpha"):
        dd.derive(m, "first_order", alpha=1.0)
    with pytest.raises(dd.ModelError, match="has no bodies"):
        dd.derive(m, "bodies")
