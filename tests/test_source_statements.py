"""Statements of the source documents that no other test is about, each shown by numbers."""

from itertools import pairwise

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import quad_vec
from scipy.linalg import expm

import daedalus as dd
from daedalus import catalogue


def small(name):
    return catalogue.load("small_dae", example=name)


# -- document 002 ------------------------------------------------------------------------------------------------


@pytest.mark.document("002", "the solution of x' = A x + B u: matrix exponential and convolution", "`dd.LTI.respond`")
def test_the_response_is_the_matrix_exponential_and_the_convolution():
    A, B, C, D = (
        np.array([[0.0, 1.0], [-2.0, -0.3]]),
        np.array([[0.0], [1.5]]),
        np.array([[1.0, 0.4]]),
        np.array([[0.2]]),
    )
    times, start = np.linspace(0.0, 3.0, 61), np.array([0.7, -1.1])
    u = np.interp(times, [0.0, 1.0, 3.0], [0.0, 2.0, -1.0])  # linear between the samples, as `respond` takes it
    found = dd.LTI(A, B, C, D).respond(times, u, start).outputs[-1, 0]
    free = expm(A * 3.0) @ start
    forced = sum(
        quad_vec(lambda s: expm(A * (3.0 - s)) @ B[:, 0] * np.interp(s, times, u), a, b, epsrel=1e-12)[0]
        for a, b in ((0.0, 1.0), (1.0, 3.0))
    )
    assert found == pytest.approx((C @ (free + forced) + D[0] * u[-1]).item(), rel=1e-9)


@pytest.mark.document("002", "SO(3): RᵀR = I and det R = 1; a reflection is not a rotation", "`dd.is_rotation`")
def test_rotations_are_orthogonal_with_determinant_one():
    for R in (dd.rot_x(0.3), dd.rot_y(-2.0), dd.rot_z(1.1) @ dd.rot_x(0.4), dd.rotation_exp([0.1, -0.7, 0.4])):
        assert np.allclose(np.asarray(R).T @ R, np.eye(3), atol=1e-15)
        assert np.linalg.det(R) == pytest.approx(1.0)
        assert dd.is_rotation(R)
    assert not dd.is_rotation(np.diag([1.0, 1.0, -1.0]))
    assert not dd.is_rotation(1.001 * np.eye(3))


@pytest.mark.document(
    "002", "torque constant and speed constant of a motor are equal, so no power is lost between them", "`DCMotor`"
)
def test_one_constant_for_torque_and_voltage():
    C = dd.components
    m = dd.Model("motor on a battery")
    motor = m.add(C.machines.DCMotor("motor", resistance=2.0, inductance=0.01, constant=0.5, inertia=0.02))
    battery, ground = m.add(C.electrical.VoltageSource("battery", voltage=12.0)), m.add(C.electrical.Ground("ground"))
    m.connect(battery.plus, motor.plus)
    m.connect(battery.minus, motor.minus, ground.pin)
    tr = dd.simulate(m, 0.2, rtol=1e-9)
    i, w = tr["motor.current"], tr["motor.speed"]
    induced = 12.0 - 2.0 * i - 0.01 * tr["motor.current_dot"]  # K ω by Kirchhoff
    np.testing.assert_allclose(induced * i, tr["motor.torque"] * w, atol=1e-7)


@pytest.mark.document("002", "virtual work: a force F at r(q) acts on q as (∂r/∂q)ᵀ F", "`m.force(F, at=r)`")
def test_forces_act_by_virtual_work():
    m = dd.Model("arm")
    q, F = m.coordinate("q", 2, start=[0.3, 0.8], rate=[0.0, 0.0]), m.input("F", 2)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    tip = ca.vertcat(ca.cos(q[0]) + ca.cos(q[0] + q[1]), ca.sin(q[0]) + ca.sin(q[0] + q[1]))
    m.force(F, at=tip)
    place = ca.Function("tip", [q], [tip])
    at, push, nudge = np.array([0.3, 0.8]), np.array([2.0, -1.0]), 1e-6
    work = [push @ (place(at + nudge * e).full() - place(at - nudge * e).full())[:, 0] / (2 * nudge) for e in np.eye(2)]
    start = dd.initialise(m, inputs={"F": push})
    np.testing.assert_allclose(start["q_ddot"], work, rtol=1e-8)


@pytest.mark.document("002", "linearisation along a trajectory: A(t), B(t)", "`dd.linearise(m, along=tr)`")
def test_small_deviations_follow_the_linear_system_along_a_run():
    known = catalogue.load("cart_pendulum")
    tr = dd.simulate(known.model, 1.0, inputs=known.inputs, rtol=1e-10)
    ltv = dd.linearise(known.model, along=tr)
    names = list(tr.system.labels["x"])
    moved, size = dict.fromkeys(names, 0.0), 1e-5
    moved["angle"] = size
    nudged = {**{n: float(tr[n][0]) for n in names}, "angle": float(tr["angle"][0]) + size}
    other = dd.simulate(known.model, 1.0, start=nudged, inputs=known.inputs, rtol=1e-10)
    response = ltv.respond(np.linspace(0.0, 1.0, 41), start=moved)
    for name in ("position", "angle"):
        apart = float(other[name][-1] - tr[name][-1])
        assert response[name][-1] == pytest.approx(apart, rel=1e-3)


@pytest.mark.document(
    "002", "adaptive steps: the next from the error of an embedded pair, h (tol / e)^(1 / (p + 1))", "`rtol`"
)
def test_steps_follow_the_error_of_the_embedded_pair():
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    # Steps of a method of order 5 shrink by 10^(1/5) where the tolerance falls by ten.
    counts = [dd.simulate(m, 10.0, method="dopri5", rtol=r, atol=r * 1e-3).work.steps for r in (1e-6, 1e-7, 1e-8, 1e-9)]
    ratios = np.array(counts[1:]) / np.array(counts[:-1])
    assert ratios == pytest.approx(10 ** (1 / 5), rel=0.15)


# -- document 003 ------------------------------------------------------------------------------------------------


@pytest.mark.document("003", "mass on a spring: m x'' = −k x", '`catalogue.load("mass_spring")`')
def test_the_mass_on_a_spring_swings_in_closed_form():
    known = catalogue.load("mass_spring")
    tr = dd.simulate(known.model, 3.0, rtol=1e-10)
    np.testing.assert_allclose(tr["position"], 0.1 * np.cos(4.0 * tr.time), atol=1e-9)
    assert np.ptp(tr["energy"]) < 1e-10


@pytest.mark.document("003", "(x1 − x2) x2' + x1 − x2 = 0: an ODE or a DAE depending on the start", "`dd.analyse`")
def test_the_start_decides_between_ode_and_dae():
    m = small("start_switched").model
    apart, equal = (dd.analyse(m, at={"x1": 2.0, "x2": x2, "u": 0.5}) for x2 in (1.0, 2.0))
    assert (apart.is_dae, apart.index) == (False, 0)
    assert equal.is_dae
    assert any("not unique" in warning for warning in equal.warnings)


@pytest.mark.document(
    "003", "the error of implicit Euler where E is singular: (E − h A)⁻¹ E h²/2 x''", '`"implicit_euler"`'
)
def test_the_first_error_of_implicit_euler_on_a_dae():
    """x1' = −x1 + x2, 0 = x1 − 2 x2: a step of x2 errs by what its equation makes of the error of x1."""
    E, A, h = np.diag([1.0, 0.0]), np.array([[-1.0, 1.0], [1.0, -2.0]]), 0.01
    m = dd.Model("descriptor")
    x1, x2 = m.state("x1", start=1.0), m.algebraic("x2")
    m.equation(m.der(x1), -x1 + x2)
    m.equation(x1 - 2 * x2)
    run = dd.simulate(m, h, method="implicit_euler", step=h)
    exact = np.array([1.0, 0.5]) * np.exp(-h / 2)
    error = exact - np.array([run["x1"][-1], run["x2"][-1]])
    second = exact / 4
    np.testing.assert_allclose(error, -np.linalg.solve(E - h * A, E @ second) * h**2 / 2, rtol=0.01)


@pytest.mark.document(
    "003", "optimal control with DAEs: collocation and multiple shooting find one plan", "`ocp.solve`"
)
def test_collocation_and_shooting_find_the_plan_in_closed_form():
    """x'' = u from rest at 0 to rest at 1 in one second with the least ∫ u²: u = 6 − 12 t, cost 12.

    As a DAE of index 1: an algebraic force stands between, and another is z + z³ = x + x³, which is x.
    """
    m = dd.Model("double integrator")
    x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
    force, twin = m.algebraic("force"), m.algebraic("twin")
    m.equation([m.der(x), m.der(v)], [v, force + twin - x])
    m.equation(2 * force, u + force)
    m.equation(twin + twin**3, x + x**3)
    assert dd.analyse(m).index == 1
    costs = {}
    for method in ("collocation", "shooting"):
        ocp = dd.OptimalControl(m, duration=1.0, intervals=40)
        ocp.start()
        ocp.finish(x=1.0, v=0.0)
        ocp.minimise(running=u**2)
        plan = ocp.solve(method=method, progress=False)
        assert plan.success
        costs[method] = plan.objective
    # With 40 held values the least cost is 12 / (1 − 1/40²).
    assert costs["collocation"] == pytest.approx(costs["shooting"], rel=1e-6)
    assert costs["shooting"] == pytest.approx(12.0 / (1 - 1 / 1600), rel=1e-5)


@pytest.mark.document("001", "multiple shooting needs M = ∂x/∂x0 and N = ∂x/∂u of every interval", "`sens.M`, `sens.N`")
def test_newtons_method_on_shooting_takes_the_sensitivities_of_every_interval():
    """A pendulum is to stand at an angle after two intervals: corrections by M and N converge quadratically."""
    m = dd.Model("pendulum")
    angle, rate, u = m.state("angle", start=0.0), m.state("rate", start=0.0), m.input("u")
    m.equation([m.der(angle), m.der(rate)], [rate, u - 4 * ca.sin(angle)])
    goal, middle, push = np.array([1.0, 0.0]), np.zeros(2), np.zeros(2)
    gaps = []
    for _ in range(7):
        starts = (np.zeros(2), middle)
        pieces = [
            dd.sensitivities(m, 0.5, start={"angle": s[0], "rate": s[1]}, inputs={"u": float(p)}, rtol=1e-10)
            for s, p in zip(starts, push)
        ]
        gap = np.concatenate([pieces[0].value - middle, pieces[1].value - goal])
        gaps.append(np.abs(gap).max())
        slopes = np.block([[-np.eye(2), pieces[0].N, np.zeros((2, 1))], [pieces[1].M, np.zeros((2, 1)), pieces[1].N]])
        change = np.linalg.solve(slopes, gap)
        middle, push = middle - change[:2], push - change[2:]
    assert gaps[-1] < 1e-8
    assert gaps[3] < 10 * gaps[2] ** 2 + 1e-8
    run = dd.simulate(m, 1.0, inputs={"u": lambda t: push[int(t >= 0.5)]}, rtol=1e-9, max_step=0.05)
    assert [run["angle"][-1], run["rate"][-1]] == pytest.approx(goal, abs=1e-5)


# -- document 004 ------------------------------------------------------------------------------------------------


@pytest.mark.document("004", "(3) x' + sin(x + 1) = sin 2t and its normal form (5) are one equation", "`dd.same`")
def test_the_general_and_the_normal_form_are_one():
    general, normal = small("savin_3").model, small("savin_5").model
    one, other = (dd.simulate(m, 3.0, rtol=1e-10, save_at=[3.0])["x"][-1] for m in (general, normal))
    assert one == pytest.approx(other, rel=1e-9)
    assert dd.analyse(normal).kind == "explicit ODE"


@pytest.mark.document("004", "(6) x'' = −5 x' − 2 x in the normal form of first order", "`dd.to_first_order`")
def test_the_second_order_equation_decays_in_closed_form():
    tr = dd.simulate(small("savin_6").model, 2.0, rtol=1e-10, save_at=[2.0])
    fast, slow = np.roots([1.0, 5.0, 2.0])
    closed = (slow * np.exp(2 * fast) - fast * np.exp(2 * slow)) / (slow - fast)
    assert tr["x"][-1] == pytest.approx(closed, rel=1e-8)


@pytest.mark.document(
    "004", "(16) to (19): x' = f + J λ, g(x) = 0, solved by (G J)⁻¹; λ excluded", "`dd.reduce`, `dd.eliminate`"
)
def test_the_block_solution_of_a_dae_linear_in_its_multipliers():
    rng = np.random.default_rng(4)
    J, G, A = rng.normal(size=(3, 2)), rng.normal(size=(2, 3)), rng.normal(size=(3, 3))
    inside = np.linalg.svd(G)[2][-1]  # obeys G x = 0
    m = dd.Model("linear in λ")
    x, force = m.state("x", 3, start=inside), m.algebraic("force", 2)
    m.equation(m.der(x), ca.mtimes(ca.DM(A), x) + ca.mtimes(ca.DM(J), force))
    m.equation(ca.mtimes(ca.DM(G), x))
    f = A @ inside
    start = dd.initialise(m)
    told = -np.linalg.solve(G @ J, G @ f)
    np.testing.assert_allclose(start["force"], told, rtol=1e-8)
    np.testing.assert_allclose(start.der("x"), f + J @ told, rtol=1e-8, atol=1e-10)
    without = dd.eliminate(dd.reduce(m), "force")
    assert "force" not in [v.name for v in without.freeze().of_kind("algebraic")]


@pytest.mark.document("004", "(20) the same with an inertia matrix M", "`m.mechanics().accelerations`")
def test_the_block_solution_with_an_inertia_matrix():
    """[M −J; G 0] (x', λ) = (f, 0), by blocks: λ = −(G M⁻¹ J)⁻¹ G M⁻¹ f; random matrices, and the delta robot's own."""
    rng = np.random.default_rng(5)
    J, G, A = rng.normal(size=(3, 2)), rng.normal(size=(2, 3)), rng.normal(size=(3, 3))
    M, inside = 3 * np.eye(3) + rng.normal(size=(3, 3)), np.linalg.svd(G)[2][-1]
    m = dd.Model("inertia and multipliers")
    x, force = m.state("x", 3, start=inside), m.algebraic("force", 2)
    m.equation(ca.mtimes(ca.DM(M), m.der(x)), ca.mtimes(ca.DM(A), x) + ca.mtimes(ca.DM(J), force))
    m.equation(ca.mtimes(ca.DM(G), x))
    free, reach = np.linalg.solve(M, A @ inside), np.linalg.solve(M, J)
    told = -np.linalg.solve(G @ reach, G @ free)
    start = dd.initialise(m)
    np.testing.assert_allclose(start["force"], told, rtol=1e-8)
    np.testing.assert_allclose(start.der("x"), free + reach @ told, rtol=1e-8, atol=1e-10)
    known = catalogue.load("delta_robot")
    start = dd.initialise(known.model, known.start, inputs=known.inputs)
    found = known.model.mechanics().accelerations(start, inputs=known.inputs)
    for name in ("position_ddot", "angle_ddot"):
        np.testing.assert_allclose(found[name], start[name], rtol=1e-8, atol=1e-9)


@pytest.mark.document("004", "(21) has one multiplier, one constraint, and one solution", "`dd.simulate`")
def test_example_21_grows_in_closed_form():
    """x2 = 2 x1 leaves x1' = 11 x1 / 3."""
    tr = dd.simulate(small("savin_21").model, 1.0, rtol=1e-10)
    assert tr["x1"][-1] == pytest.approx(tr["x1"][0] * np.exp(11 / 3), rel=1e-8)
    np.testing.assert_allclose(tr["x2"], 2 * tr["x1"], rtol=1e-10)


@pytest.mark.document("004", "(22) G J is not square: λ and the motion are undetermined", "`dd.analyse`")
def test_example_22_is_refused_by_name():
    m = small("savin_22").model
    assert set(dd.analyse(m).undetermined) >= {"x1", "x2"}
    with pytest.raises(dd.DaedalusError, match="force"):
        dd.simulate(m, 1.0)


@pytest.mark.document("002", "F(x', x, z, u) = 0 is a DAE where ∂F/∂x' is rank deficient", "`dd.analyse`")
@pytest.mark.parametrize("factor", [0.0, 1.0])
def test_rank_deficient_slopes_make_a_dae(factor):
    """x' + y' = −x, x' + (1 + factor) y' = −y: ∂F/∂x' has the determinant `factor`."""
    m = dd.Model("two")
    x, y = m.state("x", start=1.0), m.state("y", start=1.0)
    m.equation(m.der(x) + m.der(y), -x)
    m.equation(m.der(x) + (1 + factor) * m.der(y), -y)
    assert dd.analyse(m).is_dae == (factor == 0)


@pytest.mark.document("002", "solvable for x' and z where [∂F/∂x' ∂F/∂z] has full rank", "`dd.analyse`")
@pytest.mark.parametrize("slope", [0.0, 1.0])
def test_full_rank_by_derivatives_and_algebraic_variables_is_solvable(slope):
    """x' + z = 0, x' + (1 + slope) z = x: the matrix has the determinant `slope`."""
    m = dd.Model("pair")
    x, z = m.state("x", start=1.0), m.algebraic("z")
    m.equation(m.der(x) + z, 0)
    m.equation(m.der(x) + (1 + slope) * z, x)
    assert dd.analyse(m).directly_solvable == bool(slope)


@pytest.mark.document("002", "the differential index counts differentiations down to an ODE", "`report.index`")
@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_the_index_of_a_chain_is_its_length(length):
    """x1' = x0, x2' = x1, …, and the last is given: one differentiation for every rate."""
    m = dd.Model("chain")
    x = [m.state(f"x{k}") for k in range(length)]
    for below, above in pairwise(x):
        m.equation(m.der(above), below)
    m.equation(x[-1], m.time**5)
    assert dd.analyse(m).index == length
