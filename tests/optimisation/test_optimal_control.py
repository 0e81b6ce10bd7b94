"""Problems with known answers, one feature of the description each."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def cart() -> dd.Model:
    m = dd.Model("cart")
    x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
    m.equation([m.der(x), m.der(v)], [v, u])
    return m


def moved(m: dd.Model, duration: object = 1.0, intervals: int = 20) -> dd.OptimalControl:
    ocp = dd.OptimalControl(m, duration=duration, intervals=intervals)
    ocp.start()
    ocp.finish({"x": 1.0, "v": 0.0})
    return ocp


@pytest.mark.parametrize("points", ["radau", "legendre"])
@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_least_effort_with_held_inputs_is_the_sampled_one(points, degree):
    ocp = moved(cart())
    ocp.minimise(running=ocp._description.system.symbol("u") ** 2)
    plan = ocp.solve(points=points, degree=degree)
    # Held over intervals of width h the least effort is 12 / (1 - h²); degree 1 has an error of its own.
    exact = 12 / (1 - (1 / 20) ** 2)
    assert plan.success
    assert plan.objective == pytest.approx(exact, rel=1e-9 if degree > 1 or points == "legendre" else 1e-1)


def test_a_linear_input_reaches_the_true_optimum():
    m = cart()
    ocp = moved(m)
    ocp.input("u", kind="linear")
    ocp.minimise(running=m["u"] ** 2)
    plan = ocp.solve()
    assert plan.objective == pytest.approx(12.0, rel=1e-8)
    assert plan["u"] == pytest.approx(6 - 12 * plan.time, abs=1e-6)
    assert plan.inputs["u"].kind == "linear"


def test_least_time_switches_once():
    m = cart()
    ocp = moved(m, dd.unknown(3.0, 0.1, 10.0))
    ocp.bound(m["u"], -1, 1)
    ocp.minimise(final=ocp.duration)
    plan = ocp.solve()
    assert plan.duration == pytest.approx(2.0, abs=1e-6)
    assert plan["u"][0] == pytest.approx(1.0, abs=1e-6)
    assert plan["u"][-1] == pytest.approx(-1.0, abs=1e-6)


def test_replay_is_within_the_mesh_error():
    m = dd.Model("pendulum")
    angle, torque = m.state("angle", start=0.0, rate=0.0), m.input("torque")
    m.equation(m.der(m.der(angle)), -9.81 * np.sin(angle) + torque)
    ocp = dd.OptimalControl(m, duration=1.5, intervals=30)
    ocp.start()
    ocp.finish({"angle": np.pi, "angle_dot": 0.0})
    ocp.minimise(running=torque**2)
    plan = ocp.solve()
    replay = plan.replay()
    assert plan.success
    assert plan.mesh_error.shape == (30,)
    assert replay.largest < 30 * plan.mesh_error.max() + 1e-7
    assert replay["angle"][-1] == pytest.approx(np.pi, abs=1e-3)


def test_conditions_everywhere_and_their_multipliers():
    m = cart()
    ocp = moved(m)
    ocp.minimise(running=m["u"] ** 2)
    ocp.subject_to(m["v"] <= 1.2, name="speed limit")
    plan = ocp.solve()
    assert plan["v"].max() == pytest.approx(1.2, abs=1e-5)
    assert plan.multipliers["speed limit"].min() > -1e-6
    assert plan.multipliers["speed limit"].max() > 1e-3


def test_a_bound_on_a_state_does_the_same_as_the_condition():
    plans = []
    for bounded in (True, False):
        m = cart()
        ocp = moved(m)
        ocp.minimise(running=m["u"] ** 2)
        if bounded:
            ocp.bound("v", upper=1.2)
        else:
            ocp.subject_to(m["v"] <= 1.2)
        plans.append(ocp.solve())
    assert plans[0].objective == pytest.approx(plans[1].objective, rel=1e-7)


def test_integrals_may_be_bounded():
    m = cart()
    ocp = dd.OptimalControl(m, duration=1.0, intervals=20)
    ocp.start()
    effort = ocp.integral(m["u"] ** 2)
    ocp.subject_to(effort <= 3.0, at="end", name="effort")
    ocp.minimise(final=-m["x"])
    ocp.finish({"v": 0.0})
    plan = ocp.solve()
    # The distance grows with the root of the effort: 12 for one metre.
    assert plan["x"][-1] == pytest.approx(np.sqrt(3 / (12 / (1 - 1 / 400))), rel=1e-6)


def test_parameters_may_be_free():
    m = dd.Model("spring")
    x, k = m.state("x", start=1.0, rate=0.0), m.parameter("k", 1.0)
    m.equation(m.der(m.der(x)), -k * x)
    ocp = dd.OptimalControl(m, duration=1.0, intervals=20)
    ocp.start()
    ocp.free("k", 1.0, 0.1, 20.0)
    ocp.finish({"x": 0.0})
    ocp.minimise(final=k)
    plan = ocp.solve()
    assert plan.parameters["k"] == pytest.approx((np.pi / 2) ** 2, rel=1e-6)


def test_periodic_motion():
    m = dd.Model("driven")
    x, u, push = m.state("x", start=0.0), m.input("u"), m.input("push")
    m.equation(m.der(x), -x + push + u)
    ocp = dd.OptimalControl(m, duration=2 * np.pi, intervals=40)
    ocp.given("push", lambda t: np.sin(t))
    ocp.periodic("x")
    ocp.minimise(running=u**2)
    plan = ocp.solve()
    # The steady answer to sin t is (sin t - cos t) / 2.
    assert plan["x"] == pytest.approx((np.sin(plan.time) - np.cos(plan.time)) / 2, abs=1e-5)
    assert abs(plan["u"]).max() < 1e-6


@pytest.mark.parametrize("duration", [1.0, dd.unknown(1.0, 1.0, 1.0)])
@pytest.mark.parametrize(
    "wind", [0.5, lambda t: 0.5 * np.cos(3 * t), dd.signal([0.0, 0.4, 1.0], [0.0, 1.0, -1.0], "linear")]
)
def test_given_inputs_are_followed(duration, wind):
    m = dd.Model("boat")
    x, u, w = m.state("x", start=0.0), m.input("u"), m.input("wind")
    m.equation(m.der(x), u + w)
    ocp = dd.OptimalControl(m, duration=duration, intervals=20)
    ocp.given("wind", wind)
    ocp.start()
    ocp.finish({"x": 1.0})
    ocp.minimise(running=u**2)
    plan = ocp.solve()
    assert plan.success
    assert plan.replay(rtol=1e-10).largest < 1e-5


def test_conditions_at_a_share_of_the_duration():
    m = cart()
    ocp = moved(m, intervals=20)
    ocp.minimise(running=m["u"] ** 2)
    ocp.subject_to(m["x"] == 0.8, at=0.33)
    plan = ocp.solve()
    assert plan.at(0.33)["x"] == pytest.approx(0.8, abs=1e-8)


def test_rates_of_inputs_are_bounded():
    m = cart()
    for kind in ("constant", "linear"):
        ocp = moved(m, duration=1.0, intervals=20)
        ocp.minimise(running=m["u"] ** 2)
        ocp.input("u", kind=kind, rate=(-15.0, 15.0))
        ocp.start({"x": 0.0, "v": 0.0})
        plan = ocp.solve()
        u = plan["u"][:-1] if kind == "constant" else plan["u"]
        assert plan.success
        assert np.abs(np.diff(u)).max() <= 15.0 / 20 + 1e-6


def test_values_at_the_ends_in_costs_and_conditions():
    m = cart()
    ocp = dd.OptimalControl(m, duration=1.0, intervals=10)
    ocp.start({"v": 0.0})
    ocp.subject_to(ocp.at_end(m["x"]) - ocp.at_start(m["x"]) == 1.0, at="end")
    ocp.minimise(running=m["u"] ** 2, final=(ocp.at_start(m["x"]) - 3.0) ** 2)
    ocp.finish(v=0.0)
    plan = ocp.solve()
    assert plan["x"][0] == pytest.approx(3.0, abs=1e-6)
    assert plan["x"][-1] == pytest.approx(4.0, abs=1e-6)
    assert any("free" in note for note in plan.notes)


def test_soft_conditions_give_way_at_their_price():
    m = dd.Model("tank")
    level, u = m.state("level", start=1.0), m.input("u")
    m.equation(m.der(level), u)
    for weight, reached in ((0.1, 1.0), (100.0, 3.0)):
        ocp = dd.OptimalControl(m, duration=1.0, intervals=10)
        ocp.start()
        ocp.subject_to(level >= 3.0, at="end", soft=weight)
        ocp.minimise(running=u**2)
        end = ocp.solve()["level"][-1]
        assert end == pytest.approx(1.0 + 0.05 if weight == 0.1 else reached, abs=1e-4)


@pytest.mark.parametrize("options", [{}, {"method": "shooting", "step_method": "radau5"}])
def test_index_two_as_it_is_written(options):
    # v = 2 w is kept by a force that no equation gives: v' = 0.8 force, and the double integrator's 12 is 12 / 0.64.
    m = dd.Model("tied speeds")
    x, v, w = (m.state(name, start=0.0) for name in ("x", "v", "w"))
    push, force = m.algebraic("push"), m.input("force")
    m.equation(m.der(x), v)
    m.equation(m.der(v), force - push)
    m.equation(m.der(w), 2 * push)
    m.equation(v, 2 * w, name="tie")
    assert dd.analyse(m).index == 2
    ocp = dd.OptimalControl(m, duration=1.0, intervals=10)
    ocp.start()
    ocp.finish({"x": 1.0, "v": 0.0, "w": 0.0})
    ocp.input("force", kind="linear")
    ocp.minimise(running=force**2)
    plan = ocp.solve(**options)
    assert plan.objective == pytest.approx(18.75, rel=1e-8)
    assert "of 3 end values 2 are independent: the rest is kept by tie" in plan.notes
    np.testing.assert_allclose(plan["push"], 0.2 * plan["force"], atol=1e-7)


def test_index_three_as_it_is_written():
    m = dd.Model("crane")
    p = m.coordinate("p", 2, start=[0.6, -0.8], rate=[0.0, 0.0])
    force = m.input("force", 2)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(p)))
    m.potential_energy(9.81 * p[1])
    m.constraint("rod", 0.5 * (ca.sumsqr(p) - 1))
    m.generalised_force(p, force)
    ocp = dd.OptimalControl(m, duration=1.0, intervals=25)
    ocp.start()
    ocp.finish({"p": [-0.6, -0.8], "p_dot": [0.0, 0.0]})
    ocp.minimise(running=ca.sumsqr(force))
    plan = ocp.solve()
    assert plan.success
    assert plan.iterations <= 15
    assert plan["p"][-1] == pytest.approx([-0.6, -0.8], abs=1e-6)
    assert plan["rod"].shape == (26,)
    assert "of 4 end values 2 are independent" in " ".join(plan.notes)
    assert plan.replay().largest < 1e-4


def hung_crane(intervals: int) -> dd.OptimalControl:
    m = dd.Model("crane")
    p = m.coordinate("p", 2, start=[0.6, -0.8], rate=[0.0, 0.0])
    force, length = m.input("force", 2), m.parameter("length", 1.0)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(p)))
    m.potential_energy(9.81 * p[1])
    m.constraint("rod", 0.5 * (ca.sumsqr(p) - length**2))
    m.generalised_force(p, force)
    ocp = dd.OptimalControl(m, duration=dd.unknown(1.0, 0.5, 2.0), intervals=intervals)
    ocp.free("length", 1.0, 0.9, 1.1)
    ocp.subject_to(ca.sumsqr(force) * p[0] <= 50.0, soft=3.0)
    bent = ocp.integral(ca.sumsqr(p)) ** 2 + 2 * ocp.integral(p[0])
    ocp.minimise(running=ca.sumsqr(force) + m["rod"] ** 2, final=ocp.duration * p[0] ** 2 + bent)
    return ocp


@pytest.mark.parametrize(
    "way", [{"degree": 2}, {"method": "shooting"}, {"method": "shooting", "step_method": "radau5"}]
)
@pytest.mark.parametrize("phases", [1, 2])
def test_first_and_second_derivatives_agree_with_differences(phases, way):
    parts = [hung_crane(3) for _ in range(phases)]
    parts[0].start()
    parts[-1].finish({"p": [-0.6, -0.8], "p_dot": [0.0, 0.0]})
    problem = parts[0] if phases == 1 else dd.phases(*parts)
    program = problem.solve(most_iterations=1, **way).phases[0].transcription.program
    random = np.random.default_rng(1)
    n, rows = program.shape
    w, direction, weight = random.uniform(0.5, 1.0, n), random.normal(size=n), random.normal(size=rows)
    step = 1e-6

    gradient, jacobian = program.first(w)
    ahead, behind = program.values(w + step * direction), program.values(w - step * direction)
    along = np.bincount(program.jacobian_row, jacobian * direction[program.jacobian_column], minlength=rows)
    assert along == pytest.approx((ahead[1] - behind[1]) / (2 * step), rel=1e-5, abs=1e-6)
    assert gradient @ direction == pytest.approx((ahead[0] - behind[0]) / (2 * step), rel=1e-6)

    def pull(at: np.ndarray) -> np.ndarray:
        gradient, jacobian = program.first(at)
        return 0.7 * gradient + np.bincount(
            program.jacobian_column, jacobian * weight[program.jacobian_row], minlength=n
        )

    hessian = program.second(w, weight, 0.7)
    row, column = program.hessian_row, program.hessian_column
    below = row != column
    product = np.bincount(row, hessian * direction[column], minlength=n)
    product += np.bincount(column[below], (hessian * direction[row])[below], minlength=n)
    differences = (pull(w + step * direction) - pull(w - step * direction)) / (2 * step)
    assert product == pytest.approx(differences, rel=1e-5, abs=1e-5)
