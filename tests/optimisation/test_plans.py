"""What can be asked of a plan: explanations, sensitivities, files, pictures, finer meshes, phases."""

import casadi as ca
import numpy as np
import pytest
import xarray
from scipy.integrate import quad

import daedalus as dd
from daedalus import catalogue
from daedalus.optimisation.result.phased_plan import PhasedPlan


def cart(limit: float | None = None, duration: object = 1.0, intervals: int = 20, mass: float = 1.0):
    m = dd.Model("cart")
    x = m.state("x", start=0.0, unit="m")
    v, u = m.state("v", start=0.0), m.input("u", unit="N")
    weight = m.parameter("mass", mass, unit="kg")
    m.equation([m.der(x), m.der(v)], [v, u / weight])
    ocp = dd.OptimalControl(m, duration=duration, intervals=intervals)
    ocp.start()
    ocp.finish({"x": 1.0, "v": 0.0})
    if limit is not None:
        ocp.bound(u, -limit, limit)
    ocp.minimise(running=u**2)
    return m, ocp


def test_bounds_that_press_are_told_with_their_times():
    _, ocp = cart(limit=5.0)
    found = ocp.solve().explain()
    assert found.success
    assert str(found).startswith("Solved. These bounds and conditions limit the cost:\n  u <= 5 N between 0 s and ")
    assert {part.side for part in found.tight} == {"upper", "lower"}


def test_a_plan_without_active_bounds_says_so():
    _, ocp = cart(limit=50.0)
    assert str(ocp.solve().explain()) == "Solved. No bound or condition limits it."


def test_sensitivity_agrees_with_differences():
    plans = {mass: cart(limit=10.0, mass=mass)[1].solve(tolerance=1e-10) for mass in (2.0 - 1e-4, 2.0, 2.0 + 1e-4)}
    low, middle, high = plans.values()
    s = middle.sensitivity("mass")
    assert s.objective == pytest.approx((high.objective - low.objective) / 2e-4, rel=1e-4)
    assert s["x"] == pytest.approx((high["x"] - low["x"]) / 2e-4, abs=1e-3)
    assert s["u"] == pytest.approx((high["u"] - low["u"]) / 2e-4, abs=1e-2)


def test_sensitivity_of_a_constrained_mechanism():
    known = catalogue.load("pendulum_3d")
    s = known.problem.solve().sensitivity("gravity")
    costs = []
    for gravity in (9.81 - 1e-4, 9.81 + 1e-4):
        ocp = dd.OptimalControl(known.model, duration=2.0, intervals=60, parameters={"gravity": gravity})
        ocp.start(position=[0.6, 0.0, -0.8], position_dot=[0.0, 0.0, 0.0])
        ocp.finish(position=[0.0, 0.6, -0.8], position_dot=[0.0, 0.0, 0.0])
        ocp.minimise(running=ca.sumsqr(known.model["force"]))
        costs.append(ocp.solve(tolerance=1e-10).objective)
    assert s.objective == pytest.approx((costs[1] - costs[0]) / 2e-4, rel=1e-4)


def test_a_saved_plan_comes_back(tmp_path):
    _, ocp = cart(limit=5.0)
    ocp.input("u", kind="linear")
    plan = ocp.solve()
    plan.save(tmp_path / "plan.nc")
    again = dd.load(tmp_path / "plan.nc")
    assert isinstance(again, dd.Plan)
    assert (again.success, again.objective, again.iterations) == (plan.success, plan.objective, plan.iterations)
    for name in ("x", "v", "u", "x_dot"):
        assert again[name] == pytest.approx(plan[name], abs=1e-14)
    assert again.at(0.37)["x"] == pytest.approx(plan.at(0.37)["x"])
    assert again.multipliers["u"] == pytest.approx(plan.multipliers["u"])
    assert again.replay().largest < 1e-6
    assert str(again.explain()) == str(plan.explain())
    with pytest.raises(dd.InputError, match="A plan loaded from a file does not contain its problem"):
        again.sensitivity("mass")


def test_a_saved_plan_of_a_mechanism_with_given_inputs(tmp_path):
    m = dd.Model("boat")
    x, u, w = m.state("x", start=0.0), m.input("u"), m.input("wind")
    m.equation(m.der(x), u + w)
    ocp = dd.OptimalControl(m, duration=1.0, intervals=5)
    ocp.given("wind", lambda t: np.sin(t))
    total = ocp.integral(u**2)
    ocp.start()
    ocp.finish({"x": 1.0})
    ocp.minimise(final=total)
    plan = ocp.solve()
    plan.save(tmp_path / "plan.nc")
    assert dd.load(tmp_path / "plan.nc")["x"] == pytest.approx(plan["x"])


def test_a_picture_marks_active_bounds():
    import matplotlib as mpl

    mpl.use("Agg")
    _, ocp = cart(limit=5.0)
    figure = ocp.solve().plot()
    assert len(figure.axes) == 3
    assert any(line.get_linestyle() == "--" for line in figure.axes[2].lines)


def test_finer_meshes_find_the_switch():
    _, ocp = cart(limit=1.0, duration=dd.unknown(3.0, 0.5, 10.0), intervals=7)
    ocp._description.running = ca.SX(0)
    ocp.minimise(final=ocp.duration)
    coarse, fine = ocp.solve(), ocp.solve(mesh_tolerance=1e-6)
    assert abs(fine.duration - 2.0) < 1e-5 < abs(coarse.duration - 2.0)
    assert np.diff(fine.transcription.layout.shares).min() < 1e-3


def test_finer_meshes_reach_a_tolerance():
    known = catalogue.load("cart_pendulum")
    plan = known.problem.solve(mesh_tolerance=1e-7)
    assert plan.mesh_error.max() <= 1e-7
    assert plan.replay().largest < 1e-5


def test_smooth_motions_are_met_by_a_higher_degree():
    m = dd.Model("pendulum")
    angle, torque = m.state("angle", start=0.3, rate=0.0), m.input("torque")
    m.equation(m.der(m.der(angle)), -np.sin(angle) + torque)
    ocp = dd.OptimalControl(m, duration=2.0, intervals=10)
    ocp.start()
    ocp.finish({"angle": 0.0, "angle_dot": 0.0})
    ocp.minimise(running=torque**2)
    plan = ocp.solve(mesh_tolerance=1e-9)
    assert plan.mesh_error.max() <= 1e-9
    assert plan.transcription.layout.mesh.degrees.min() > 3
    assert plan.transcription.layout.intervals == 10


def test_only_intervals_that_need_it_get_more_points():
    # x' = -x³ + u over a long time: both ends are left and reached steeply, and nothing happens in between.
    m = dd.Model("hypersensitive")
    x, u = m.state("x", start=1.5), m.input("u")
    m.equation(m.der(x), -(x**3) + u)
    ocp = dd.OptimalControl(m, duration=40.0, intervals=40)
    ocp.start()
    ocp.finish(x=1.0)
    ocp.input("u", kind="linear")
    ocp.minimise(running=0.5 * (x**2 + u**2))
    plan = ocp.solve(mesh_tolerance=1e-8)
    mesh = plan.transcription.layout.mesh
    assert plan.mesh_error.max() <= 1e-8
    middle = (mesh.shares[:-1] > 0.4) & (mesh.shares[1:] < 0.6)
    assert (mesh.degrees[middle] == 3).all()
    assert mesh.widths[middle] == pytest.approx(1 / 40)
    # Both ends have shorter intervals, or more points on each.
    points = mesh.point_shares
    assert min((points < 0.1).sum(), (points > 0.9).sum()) > 3 * ((points > 0.4) & (points < 0.5)).sum()
    assert plan.replay().largest < 1e-6


def test_bends_of_linear_inputs_are_resolved():
    # The same problem from 1 to 1.5 over a long time: its cost is that of Hamilton, Jacobi and Bellman's two ways.
    m = dd.Model("hypersensitive")
    x, u = m.state("x", start=1.0), m.input("u")
    m.equation(m.der(x), -(x**3) + u)
    ocp = dd.OptimalControl(m, duration=40.0, intervals=20)
    ocp.start()
    ocp.finish(x=1.5)
    ocp.input("u", kind="linear")
    ocp.minimise(running=x**2 + u**2)
    exact = sum(quad(lambda s, way=way: 2 * (np.sqrt(s**6 + s**2) + way * s**3), 0.0, end)[0]
                for way, end in ((-1, 1.0), (1, 1.5)))  # fmt: skip
    errors = [abs(ocp.solve(mesh_tolerance=tolerance).objective / exact - 1) for tolerance in (1e-4, 1e-6)]
    assert errors[0] < 1e-3
    assert errors[1] < 1e-5


def test_a_finer_mesh_without_a_plan_leaves_the_last_one():
    ocp = catalogue.load("cart_pendulum").problem
    first = ocp.solve()
    plan = ocp.solve(mesh_tolerance=1e-12, time_limit=1e-3)
    assert plan.success
    assert plan.objective == pytest.approx(first.objective)
    assert any(note.startswith("the mesh tolerance is not met") for note in plan.notes)


def test_shooting_meshes_are_refined_by_shorter_steps():
    m = dd.Model("pendulum")
    angle, torque = m.state("angle", start=0.3, rate=0.0), m.input("torque")
    m.equation(m.der(m.der(angle)), -4 * np.sin(angle) + torque)
    ocp = dd.OptimalControl(m, duration=3.0, intervals=5)
    ocp.start()
    ocp.finish({"angle": 0.0, "angle_dot": 0.0})
    ocp.minimise(running=torque**2)
    plan = ocp.solve(method="shooting", steps=1, mesh_tolerance=1e-4)
    assert plan.mesh_error.max() <= 1e-4
    assert plan.transcription.layout.intervals > 5


def test_ctrl_c_brings_back_the_best_iterate():
    import os
    import signal

    told = []

    def at_the_third(iteration, *news):
        told.append(news[1])
        if len(told) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return True

    plan = catalogue.load("cart_pendulum").problem.solve(progress=at_the_third)
    assert not plan.success
    assert plan.status == "stopped from outside"
    assert len(told) <= 5
    # Of the iterates until then the one that misses the conditions least.
    program, outcome = plan.transcription.program, plan.outcome
    _, rows = program.values(outcome.w)
    off = np.maximum(program.row_lower - rows, rows - program.row_upper).max()
    assert off <= min(told) * (1 + 1e-6) + 1e-9


def test_a_problem_from_another_start_keeps_its_program():
    m, ocp = cart(limit=10.0, intervals=12)
    first = ocp.solve()
    program = first.transcription.program.core
    assert ocp.solve().iterations == 0  # it is seen that the plan is one
    ocp.start(x=0.1, v=0.0)
    again = ocp.solve()
    assert again.transcription.program.core is program
    assert again.success
    assert again["x"][0] == pytest.approx(0.1)
    assert again.iterations < first.iterations
    assert first["x"][0] == pytest.approx(0.0)
    fresh = dd.OptimalControl(m, duration=1.0, intervals=12)
    fresh._description.__dict__.update({**ocp._description.__dict__})
    assert again.objective == pytest.approx(fresh.solve().objective, rel=1e-8)
    # Without a value for every state the program is another one.
    ocp.start(x=0.1)
    assert ocp.solve().transcription.program.core is not program


def flight_and_glide(wind: object) -> PhasedPlan:
    """Pushed up for one second, then gliding to the top: two models, two names of the height, an unknown duration."""
    flight, glide = dd.Model("flight"), dd.Model("glide")
    h, s, push = flight.state("h", start=0.0), flight.state("s", start=0.0), flight.input("push")
    flight.equation([flight.der(h), flight.der(s)], [s, push - 1.0 + flight.input("wind")])
    height, speed = glide.state("height"), glide.state("s")
    glide.equation([glide.der(height), glide.der(speed)], [speed, -1.0])
    one = dd.OptimalControl(flight, duration=1.0, intervals=10)
    one.start()
    one.bound(push, 0.0, 3.0)
    one.given("wind", wind)
    two = dd.OptimalControl(glide, duration=dd.unknown(1.0, 0.1, 10.0), intervals=8)
    two.minimise(final=-height)
    two.finish({"s": 0.0})
    return dd.phases(one, two, link={"h": "height"}).solve()


def test_phases_of_different_models():
    plan = flight_and_glide(0.0)
    # Two units of acceleration for one of time, then free flight to the top.
    assert plan.success
    assert plan.objective == pytest.approx(-3.0, abs=1e-6)
    assert plan.duration == pytest.approx(3.0, abs=1e-6)
    assert plan["s"].shape == (20,)


def test_a_saved_plan_in_phases_comes_back(tmp_path):
    plan = flight_and_glide(dd.signal([0.0, 1.0], [0.1, -0.1], kind="linear"))
    assert plan.success
    plan.save(tmp_path / "plan.nc")
    again = dd.load(tmp_path / "plan.nc")
    for name in ("success", "status", "objective", "duration", "iterations", "notes"):
        assert getattr(again, name) == getattr(plan, name)
    assert again.time == pytest.approx(plan.time, abs=0)
    assert again["s"] == pytest.approx(plan["s"], abs=0)
    assert again.mesh_error == pytest.approx(plan.mesh_error, abs=1e-12)
    assert str(again) == str(plan)
    assert str(again.explain()) == str(plan.explain())
    for one, two in zip(again.phases, plan.phases):
        middle = 0.3 * one.time[0] + 0.7 * one.time[-1]
        assert one.at(middle)["s"] == two.at(middle)["s"]
        assert list(one.multipliers) == list(two.multipliers)
    for run, before in zip(again.replay(), plan.replay()):
        assert run.largest < 1e-6
        assert run["s"][-1] == pytest.approx(before["s"][-1], abs=1e-9)
    with xarray.open_dataset(tmp_path / "plan.nc") as table:
        assert table["phase_1_h"].dims == ("phase_1_time",)
        assert table["phase_2_height"].values == pytest.approx(plan.phases[1]["height"])


def test_a_file_of_phases_that_failed_says_so(tmp_path):
    m = catalogue.load("double_integrator").model
    one, two = (dd.OptimalControl(m, duration=0.5, intervals=5) for _ in range(2))
    one.start()
    two.finish(position=1.0, velocity=0.0)
    for part in (one, two):
        part.bound("force", -1.0, 1.0)
    plan = dd.phases(one, two).solve()
    plan.save(tmp_path / "plan.nc")
    again = dd.load(tmp_path / "plan.nc")
    assert (again.success, again.status) == (False, plan.status)
    with pytest.raises(dd.InputError, match="A plan loaded from a file does not contain its problem"):
        again.explain()
    with pytest.raises(dd.InputError, match="A plan loaded from a file does not contain its problem"):
        again.phases[1].explain()


def test_iterations_are_told_and_may_be_stopped():
    told = []
    known = catalogue.load("cart_pendulum")
    plan = known.problem.solve(progress=lambda *news: told.append(news) or len(told) < 4)
    assert len(told) == 4
    assert not plan.success
    assert plan.status == "stopped from outside"
    assert np.isfinite(plan["angle"]).all()


def test_a_time_limit_brings_back_the_best_iterate():
    plan = catalogue.load("cart_pendulum").problem.solve(time_limit=1e-3)
    assert plan.status == "the time limit was reached"
    assert plan["angle"].shape == (61,)


@pytest.mark.parametrize("method", ["collocation", "shooting"])
def test_phases_explain_themselves_together(method):
    def half(**ends: float) -> dd.OptimalControl:
        m = dd.Model("cart")
        x, v, u = m.state("x", start=0.0, unit="m"), m.state("v", start=0.0), m.input("u")
        m.equation([m.der(x), m.der(v)], [v, u])
        ocp = dd.OptimalControl(m, duration=0.5, intervals=10)
        ocp.bound(u, -3.0, 3.0)
        ocp.minimise(running=u**2)
        if ends:
            ocp.finish(ends)
        return ocp

    one, two = half(), half(x=1.0, v=0.0)
    one.start()
    plan = dd.phases(one, two).solve(method)
    assert not plan.success
    told = "These cannot hold together with the start and the durations of 0.5 s and 0.5 s:\n"
    # Full push for half a second and full brake for another lead 0.75 m far, as in one piece.
    told += "  u (phase 2) >= -3 between 0.5 s and 0.95 s: 2.22 short, would have to be -5.222\n"
    told += "  u (phase 1) <= 3 between 0 s and 0.45 s: 2.22 short, would have to be 5.222\n"
    told += "  v (phase 2) <= 0 at 1 s: 0.526 short, would have to be 0.5263\n"
    told += "  x (phase 2) >= 1 m at 1 s: 0.25 m short, would have to be 0.75 m"
    assert str(plan.explain()) == told
    assert str(plan.phases[0].explain()) == told
    # Within reach: what holds it, when, and in which phase.
    two.finish({"x": 0.74, "v": 0.0})
    plan = dd.phases(one, two).solve(method)
    assert plan.success
    tight = plan.explain().tight
    assert {(part.name, part.side) for part in tight} == {("u (phase 1)", "upper"), ("u (phase 2)", "lower")}
    assert all(0.0 <= part.begin <= 0.5 if "1" in part.name else 0.5 <= part.begin <= 1.0 for part in tight)
    assert max(run.largest for run in plan.replay()) < 1e-6
    assert plan.mesh_error.shape == (20,)


def test_defects_are_what_the_search_left_over(tmp_path):
    ocp = catalogue.load("cart_pendulum").problem
    rough, fine = ocp.solve(most_iterations=1), ocp.solve()
    assert set(fine.defects) == set(fine.system.labels["x"])
    assert max(np.abs(part).max() for part in fine.defects.values()) < 1e-8
    assert max(np.abs(part).max() for part in rough.defects.values()) > 1e-4
    # At Radau's points: the slope of the polynomial, times the interval, less that of the model.
    layout, name = rough.transcription.layout, "position"
    at = rough.interpolant.instants(layout.mesh.point_interval, np.tile(layout.mesh.schemes[0].tau, layout.intervals))
    k, width = rough.system.labels["x"].index(name), rough.duration * layout.widths[0]
    slope = rough.interpolant.slopes(layout.mesh.point_interval, np.tile(layout.mesh.schemes[0].tau, layout.intervals))
    own = width * (slope[:, k] - rough.interpolant.functions.rates(*at)[:, k])
    assert rough.defects[name] == pytest.approx(own, abs=1e-9)
    fine.save(tmp_path / "plan.nc")
    assert dd.load(tmp_path / "plan.nc").defects[name] == pytest.approx(fine.defects[name], abs=0)


def test_plans_saved_with_one_degree_for_all_intervals_are_read(tmp_path, monkeypatch):
    from daedalus.optimisation.result import saved_plan

    described = saved_plan._described

    def as_it_was(plan):
        record, arrays = described(plan)
        degree = record.pop("degrees")[0]
        for name in ("layout/points", "layout/unknowns"):
            arrays[name] = arrays[name].reshape(-1, degree, arrays[name].shape[-1])
        del arrays["defects"]
        return {**record, "degree": degree}, arrays

    plan = catalogue.load("pendulum_3d").problem.solve()
    monkeypatch.setattr(saved_plan, "_described", as_it_was)
    plan.save(tmp_path / "plan.nc")
    again = dd.load(tmp_path / "plan.nc")
    assert again["position"] == pytest.approx(plan["position"], abs=1e-14)
    assert again.at(0.37)["cable"] == pytest.approx(plan.at(0.37)["cable"])
    assert again.mesh_error == pytest.approx(plan.mesh_error)
    with pytest.raises(dd.InputError) as error:
        assert again.defects
    assert str(error.value) == (
        "The file does not contain the defects of this plan.\n"
        "  Because it was written by a version that did not keep them.\n"
        "  Try: plan.mesh_error, or solve the problem again"
    )
