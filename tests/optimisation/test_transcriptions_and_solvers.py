"""Collocation and shooting, IPOPT and fatrop, exact and Gauss-Newton Hessians lead to the same plans."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue

WAYS = [
    {"solver": "ipopt"},
    {"solver": "fatrop"},
    {"points": "legendre", "solver": "fatrop"},
    {"method": "shooting", "solver": "ipopt"},
    {"method": "shooting", "solver": "fatrop"},
    {"method": "shooting", "solver": "ipopt", "step_method": "radau5", "steps": 1},
]


# The swing of the source; other starts lead to a cheaper one.
NEAR_THE_GUESS = {"cart_pendulum": 59.03152}


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("name", ["cart_pendulum", "double_integrator"])
def test_all_ways_find_the_same_optimum(name, way):
    known = catalogue.load(name)
    plan = known.problem.solve(starts=1, **way)
    assert plan.success
    assert plan.objective == pytest.approx(NEAR_THE_GUESS.get(name, known.optimum), rel=1e-5)
    assert plan.solver == way["solver"]


@pytest.mark.parametrize("name", ["pendulum_3d", "quadrotor"])
def test_shooting_on_mechanisms(name):
    known = catalogue.load(name)
    plan = known.problem.solve(method="shooting")
    assert plan.success
    assert plan.objective == pytest.approx(known.optimum, rel=1e-5)
    assert plan.iterations <= 15


@pytest.mark.parametrize("solver", ["ipopt", "fatrop"])
@pytest.mark.parametrize("intervals", [15, 30])
def test_shooting_does_not_hang_on_its_guess(intervals, solver):
    m = catalogue.load("pendulum_3d").model
    counts = []
    for noise in (0.0, 1e-9, 1e-2):
        ocp = dd.OptimalControl(m, duration=2.0, intervals=intervals)
        ocp.start(position=[0.6, 0.0, -0.8], position_dot=[0.0, 0.0, 0.0])
        ocp.finish(position=[0.0, 0.6, -0.8], position_dot=[0.0, 0.0, 0.0])
        ocp.minimise(running=ca.sumsqr(m["force"]))
        if noise:
            ocp.guess({"force": noise * np.random.default_rng(3).normal(size=(intervals, 3))})
        plan = ocp.solve("shooting", solver)
        assert (plan.success, plan.solver) == (True, solver)
        counts.append(plan.iterations)
    assert max(counts) <= 15


def test_a_cost_along_the_way_is_no_variable_of_shooting():
    # Of squares that are added up no iterate has less than nothing, however far its steps are from fitting together.
    told = []
    known = catalogue.load("van_der_pol")
    plan = known.problem.solve("shooting", "ipopt", progress=lambda *news: told.append(news[1]) or True)
    assert plan.success
    assert min(told) >= 0.0
    assert plan.objective == pytest.approx(known.optimum, rel=1e-6)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_integrals_in_the_cost_are_costs_along_the_way(way, tmp_path):
    m = catalogue.load("van_der_pol").model
    plans = []
    for written in ("running", "final", "final of two", "with a condition"):
        ocp = dd.OptimalControl(m, duration=5.0, intervals=20)
        ocp.start()
        x, u = m.freeze().symbol("x"), m.freeze().symbol("u")
        cost = ca.sumsqr(x) + ca.sumsqr(u)
        if written == "running":
            ocp.minimise(running=3 * cost, final=x[0])
        elif written == "final":
            ocp.minimise(final=3 * ocp.integral(cost) + x[0])
        else:
            parts = ocp.integral(ca.vertcat(ca.sumsqr(x), ca.sumsqr(u)))
            ocp.minimise(final=x[0] + 3 * parts[0] + 3 * parts[1])
            if written == "with a condition":
                ocp.subject_to(parts[1] <= 100.0, at="end")
        plans.append(ocp.solve(**way))
    assert all(plan.success for plan in plans)
    costs = [plan.objective for plan in plans]
    assert costs == pytest.approx([costs[0]] * 4, rel=1e-7)
    assert len({plan.iterations for plan in plans[:3]}) == 1
    assert [plan.transcription.stage.states.size - ("method" in way) for plan in plans] == [2, 2, 2, 4]
    plans[1].save(tmp_path / "plan.nc")
    assert str(dd.load(tmp_path / "plan.nc").explain()) == str(plans[1].explain())


@pytest.mark.parametrize("name", ["pendulum_3d", "quadrotor"])
def test_fatrop_on_mechanisms(name):
    known = catalogue.load(name)
    plan = known.problem.solve(solver="fatrop")
    assert plan.objective == pytest.approx(known.optimum, rel=1e-5)


def test_gauss_newton_finds_the_same_plan():
    m = dd.Model("pendulum")
    angle, torque = m.state("angle", start=0.3, rate=0.0), m.input("torque")
    m.equation(m.der(m.der(angle)), -np.sin(angle) + torque)
    plans = []
    for way in ({}, {"hessian": "gauss_newton"}, {"hessian": "gauss_newton", "method": "shooting"}):
        ocp = dd.OptimalControl(m, duration=3.0, intervals=20)
        ocp.start()
        ocp.finish({"angle": 0.0, "angle_dot": 0.0})
        ocp.minimise(running=3 * torque**2 + (m.der(angle)) ** 2)
        plans.append(ocp.solve(**way))
    assert all(plan.success for plan in plans)
    assert plans[1].objective == pytest.approx(plans[0].objective, rel=1e-7)
    assert plans[2].objective == pytest.approx(plans[0].objective, rel=1e-5)


def test_gauss_newton_along_an_interval_is_nearly_exact_for_linear_models():
    m = dd.Model("cart")
    x, v, u = m.state("x", start=1.0), m.state("v", start=0.0), m.input("u")
    m.equation([m.der(x), m.der(v)], [v, u - 0.2 * x])
    hessians = []
    for hessian in ("exact", "gauss_newton"):
        ocp = dd.OptimalControl(m, duration=1.0, intervals=10)
        ocp.start()
        ocp.minimise(running=x**2 + x * v + v**2 + u**2)
        plan = ocp.solve(method="shooting", hessian=hessian)
        program, layout = plan.transcription.program, plan.transcription.layout
        multipliers = np.zeros(program.shape[1])
        multipliers[layout.steps[0][:, -1]] = -1.0  # of the cost along the way
        w, matrix = np.zeros(program.shape[0]), np.zeros((program.shape[0],) * 2)
        np.add.at(matrix, (program.hessian_row, program.hessian_column), program.second(w, multipliers))
        own = [*layout.nodes[3, :2], *layout.inputs[3]]
        hessians.append((matrix + matrix.T)[np.ix_(own, own)])
    assert hessians[1] == pytest.approx(hessians[0], abs=2e-3 * np.abs(hessians[0]).max())
    assert np.linalg.eigvalsh(hessians[1])[0] > 0


def test_gauss_newton_leaves_out_the_curvature_of_conditions():
    known = catalogue.load("cart_pendulum")
    ocp = known.problem
    ocp.solve(hessian="gauss_newton", most_iterations=1)
    program = ocp._solving.transcription.program
    inputs = set(ocp._solving.transcription.layout.inputs.ravel().tolist())
    assert set(program.hessian_row.tolist()) <= inputs


def test_fatrop_hands_over_where_instants_are_joined():
    m = dd.Model("driven")
    x, u = m.state("x", start=0.0), m.input("u")
    m.equation(m.der(x), -x + u)
    ocp = dd.OptimalControl(m, duration=1.0, intervals=10)
    ocp.periodic("x")
    ocp.minimise(running=(u - 1) ** 2)
    plan = ocp.solve(solver="fatrop")
    assert plan.success
    assert plan.solver == "ipopt"
    joined = "ipopt took over from fatrop: some condition joins instants that do not follow each other"
    assert joined in plan.notes


def test_fatrop_takes_free_durations_and_parameters_along():
    m = dd.Model("spring")
    x, k = m.state("x", start=1.0, rate=0.0), m.parameter("k", 1.0)
    u = m.input("u")
    m.equation(m.der(m.der(x)), -k * x + u)
    found = []
    for solver in ("ipopt", "fatrop"):
        ocp = dd.OptimalControl(m, duration=dd.unknown(1.0, 0.5, 3.0), intervals=20)
        ocp.start()
        ocp.free("k", 1.0, 0.5, 4.0)
        ocp.finish({"x": 0.0, "x_dot": 0.0})
        ocp.subject_to(ca.fabs(u) <= 3.0, name="push", soft=50.0)
        ocp.bound(u, -5.0, 5.0)
        ocp.minimise(running=u**2, final=ocp.duration + k**2)
        plan = ocp.solve(solver=solver)
        assert plan.success
        assert plan.solver == solver
        found.append(plan)
    assert found[1].objective == pytest.approx(found[0].objective, rel=1e-5)
    assert found[1].duration == pytest.approx(found[0].duration, rel=1e-3)


def test_shooting_follows_time_and_given_inputs():
    m = dd.Model("boat")
    x, u, w = m.state("x", start=0.0), m.input("u"), m.input("wind")
    m.equation(m.der(x), u + w + 0.3 * np.cos(m.time))
    plans = []
    for method in ("collocation", "shooting"):
        ocp = dd.OptimalControl(m, duration=2.0, intervals=20)
        ocp.given("wind", lambda t: np.sin(3 * t))
        ocp.start()
        ocp.finish({"x": 1.0})
        ocp.minimise(running=u**2)
        plans.append(ocp.solve(method=method))
    assert plans[1].objective == pytest.approx(plans[0].objective, rel=1e-6)
    assert plans[1].at(0.77)["x"] == pytest.approx(plans[0].at(0.77)["x"], abs=1e-5)
    assert plans[1].replay().largest < 1e-5


def test_a_plan_by_shooting_can_be_saved_and_explained(tmp_path):
    plan = catalogue.load("cart_pendulum").problem.solve(method="shooting")
    plan.save(tmp_path / "plan.nc")
    again = dd.load(tmp_path / "plan.nc")
    assert again["angle"] == pytest.approx(plan["angle"])
    assert again.at(0.51)["position"] == pytest.approx(plan.at(0.51)["position"])
    assert str(again.explain()) == str(plan.explain())
    assert plan.sensitivity("gravity").objective != 0
