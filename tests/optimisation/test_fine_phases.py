"""Plans in phases on meshes that are refined phase by phase, by collocation and by shooting, against known optima."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue

WAYS = {
    "radau": {},
    "legendre": {"points": "legendre"},
    "rk4": {"method": "shooting"},
    "implicit": {"method": "shooting", "step_method": "radau5", "steps": 1},
}


def _carts(masses, places, intervals=6):
    """From rest at 0 to rest at the last place with forces of at most 1, in least time; the mass changes on the way."""
    parts = []
    for k, (mass, place) in enumerate(zip(masses, places)):
        m = dd.Model(f"cart of {mass:g}")
        x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
        m.equation([m.der(x), m.der(v)], [v, u / mass])
        part = dd.OptimalControl(m, duration=dd.unknown(1.0, 0.05, 10.0), intervals=intervals)
        if k == 0:
            part.start()
        part.finish({"x": place, **({"v": 0.0} if k == len(masses) - 1 else {})})
        part.bound(u, -1.0, 1.0)
        part.minimise(final=part.duration)
        parts.append(part)
    return dd.phases(*parts)


@pytest.mark.parametrize("way", WAYS)
def test_a_force_that_turns_inside_a_phase(way):
    # Full force until half way at time 1, full brake to time 2; the phases meet at a quarter.
    problem = _carts([1.0, 1.0], [0.25, 1.0])
    coarse, fine = (problem.solve(**WAYS[way], mesh_tolerance=tolerance) for tolerance in (None, 1e-6))
    assert coarse.duration - 2.0 > 1e-4
    assert fine.duration == pytest.approx(2.0, abs=1e-6)
    assert fine.mesh_error.max() <= 1e-6
    # The first phase has nothing to refine: it stays as it was asked for.
    assert len(fine.phases[0].time) == 7
    turn = fine.phases[1]
    at = turn.time[np.argmax(turn["u"] < 0)] - turn.time[0] + fine.phases[0].duration
    assert at == pytest.approx(1.0, abs=2e-3)
    assert all(run.largest < 1e-6 for run in fine.replay())


@pytest.mark.parametrize("way", ["radau", "rk4"])
def test_a_load_that_is_dropped_on_the_way(way):
    # Mass 2 to x = ½, where v² = ½; then mass 1 to rest at 1: it turns at v² = ¾.
    plan = _carts([2.0, 1.0], [0.5, 1.0]).solve(**WAYS[way], mesh_tolerance=1e-6)
    assert plan.duration == pytest.approx(np.sqrt(2.0) + 2 * np.sqrt(0.75) - np.sqrt(0.5), abs=1e-6)


@pytest.mark.parametrize("way", ["radau", "rk4"])
def test_a_rocket_in_three_phases(way):
    # Full thrust, the singular arc, free flight: the structure of the optimum, with the thrust searched for on the arc.
    m = catalogue.load("goddard_rocket").model
    parts = []
    for length, height, speed, mass in (
        ((0.02, 0.005, 0.1), [1.0, 1.002], [0.0, 0.1], [1.0, 0.85]),
        ((0.05, 0.005, 0.2), [1.002, 1.007], [0.1, 0.1], [0.85, 0.6]),
        ((0.1, 0.01, 0.5), [1.007, 1.012], [0.1, 0.0], [0.6, 0.6]),
    ):
        part = dd.OptimalControl(m, duration=dd.unknown(*length), intervals=6)
        part.bound("height", 1.0, None)
        part.bound("speed", 0.0, None)
        part.guess({"height": height, "speed": speed, "mass": mass})
        parts.append(part)
    parts[0].start()
    parts[0].given("thrust", 3.5)
    parts[1].input("thrust", "linear")
    parts[1].bound("thrust", 0.0, 3.5)
    parts[2].given("thrust", 0.0)
    parts[1].finish(mass=0.6)
    parts[2].minimise(final=-m["height"])
    plan = dd.phases(*parts).solve(**WAYS[way], mesh_tolerance=1e-6)
    assert plan.success
    assert plan.mesh_error.max() <= 1e-6
    assert plan.objective == pytest.approx(-1.01283, abs=1e-5)
    # The thrust of a singular arc is rough on every mesh: the mesh is refined for the states, not for its roughness.
    assert sum(len(phase.time) - 1 for phase in plan.phases) < 60
    # One phase that has to find the arc itself comes close, and not above it.
    alone = catalogue.load("goddard_rocket").problem.solve(mesh_tolerance=1e-5)
    assert plan.objective <= alone.objective + 1e-7
    assert plan.objective == pytest.approx(alone.objective, abs=1e-6)


def _bounces(intervals, linear):
    """Thrown onto the floor and caught: the second model moves up with 0.8 of the speed at which the first falls."""
    falls, rises = dd.Model("falls"), dd.Model("rises")
    parts = []
    for m, direction in ((falls, 1.0), (rises, -0.8)):
        h, s, push = m.state("h", start=1.0), m.state("s", start=0.0), m.input("push")
        m.equation([m.der(h), m.der(s)], [direction * s, (push - 1.0) / direction])
        part = dd.OptimalControl(m, duration=1.0, intervals=intervals)
        if linear:
            part.input("push", "linear")
        part.minimise(running=push**2)
        parts.append(part)
    parts[0].start()
    parts[0].finish(h=0.0)
    parts[1].finish(h=1.0, s=0.0)
    return dd.phases(*parts)


def _least_push():
    """min ∫ push²: before the floor one condition, behind it two, joined by the speed s at the floor (convex in s)."""
    gramian = np.array([[1.0, 0.5], [0.5, 1.0 / 3.0]])

    def cost(s):
        # h(1) = 1 - ½ + ∫ (1 - t) p = 0 and s = -1 + ∫ p before; behind: ∫ p = 1 + 0.8 s, ∫ (1 - t) p = 1 + ½ + 0.8 s.
        before, behind = np.array([s + 1.0, -0.5]), np.array([1.0 + 0.8 * s, 1.5 + 0.8 * s])
        return before @ np.linalg.solve(gramian, before) + behind @ np.linalg.solve(gramian, behind)

    a, b, c = (cost(s) for s in (-1.0, 0.0, 1.0))
    bend, slope = a + c - 2 * b, 0.5 * (c - a)
    return b - 0.5 * slope**2 / bend


@pytest.mark.parametrize("way", WAYS)
def test_a_bounce_between_two_models(way):
    plan = _bounces(5, True).solve(**WAYS[way])
    assert plan.objective == pytest.approx(_least_push(), rel=1e-7)
    assert plan.phases[1]["s"][0] == pytest.approx(plan.phases[0]["s"][-1], abs=1e-9)


@pytest.mark.parametrize("way", ["radau", "rk4"])
def test_held_inputs_come_near_on_finer_meshes_only(way):
    # Held inputs are steps: the mesh error is that of the states, and costs more than linear ones by their steps.
    assert _bounces(5, False).solve(**WAYS[way]).objective > _least_push() * (1 + 1e-3)


def test_shooting_of_a_mechanism_in_phases():
    m = catalogue.load("pendulum_3d").model
    parts = [dd.OptimalControl(m, duration=1.0, intervals=15) for _ in range(2)]
    parts[0].start(position=[0.6, 0.0, -0.8], position_dot=[0.0, 0.0, 0.0])
    parts[1].finish(position=[0.0, 0.6, -0.8], position_dot=[0.0, 0.0, 0.0])
    for part in parts:
        part.minimise(running=ca.sumsqr(m["force"]))
    found = [dd.phases(*parts).solve(method) for method in ("collocation", "shooting")]
    assert all(plan.success for plan in found)
    assert max(plan.iterations for plan in found) <= 15
    flat = dd.phases(*parts).solve("shooting", hessian="gauss_newton")
    assert flat.objective == pytest.approx(found[1].objective, rel=1e-8)
    assert found[1].objective == pytest.approx(found[0].objective, rel=1e-5)
    assert found[1]["position"] == pytest.approx(found[0]["position"], abs=1e-4)
    # The same as one phase: the link asks for nothing that the cable keeps anyway.
    whole = dd.OptimalControl(m, duration=2.0, intervals=30)
    whole.start(position=[0.6, 0.0, -0.8], position_dot=[0.0, 0.0, 0.0])
    whole.finish(position=[0.0, 0.6, -0.8], position_dot=[0.0, 0.0, 0.0])
    whole.minimise(running=ca.sumsqr(m["force"]))
    assert found[0].objective == pytest.approx(whole.solve().objective, rel=1e-7)


def test_a_tolerance_that_is_not_met_is_told(monkeypatch):
    from daedalus.optimisation import phases

    search, left = phases.searched, iter([3000, 1])

    def impatient(program, begin, settings, name):
        return search(program, begin, replace(settings, most_iterations=next(left)), name)

    monkeypatch.setattr(phases, "searched", impatient)
    plan = _carts([1.0, 1.0], [0.25, 1.0]).solve(mesh_tolerance=1e-6)
    assert plan.success
    assert [len(phase.time) - 1 for phase in plan.phases] == [6, 6]
    (note,) = [own for own in plan.notes if not own.startswith("a local optimum")]
    told = "the mesh tolerance is not met, the search with 15 intervals ended: "
    assert note == told + "the largest number of iterations was reached"


def _springs(names, free):
    """Half a second on every spring, from 1 at rest to 0; with the right stiffness it needs no force."""
    parts = []
    for k, name in enumerate(names):
        m = dd.Model(f"spring {k}")
        x, v, u = m.state(name, start=1.0), m.state("v", start=0.0), m.input("u")
        m.equation([m.der(x), m.der(v)], [v, u - m.parameter("stiffness", 1.0) * x])
        part = dd.OptimalControl(m, duration=0.5, intervals=5)
        if free:
            part.free("stiffness", 2.0 + k, 0.1, 20.0)
        part.minimise(running=u**2)
        parts.append(part)
    parts[0].start()
    parts[-1].finish({names[-1]: 0.0})
    return parts


@pytest.mark.parametrize("method", ["collocation", "shooting"])
def test_free_parameters_are_the_same_in_all_phases(method):
    # cos(ω t) = 0 at 1.5: ω = π / 3.
    plan = dd.phases(*_springs("xxx", True)).solve(method)
    assert plan.duration == pytest.approx(1.5)
    found = [phase.parameters["stiffness"] for phase in plan.phases]
    assert found == pytest.approx([found[0]] * 3, rel=1e-8)
    assert plan.objective == pytest.approx(0.0, abs=1e-8)
    assert found[0] == pytest.approx((np.pi / 3) ** 2, rel=1e-4)
    apart = dd.phases(*_springs("xx", True), link={"stiffness": None}).solve(method)
    assert apart.phases[0].parameters["stiffness"] != pytest.approx(apart.phases[1].parameters["stiffness"], rel=1e-2)


def test_links_count_where_their_names_are():
    # x goes on as x, then as y: the link speaks of the second pair alone.
    plan = dd.phases(*_springs("xxy", False), link={"x": "y"}).solve()
    assert plan.success
    assert plan.phases[1]["x"][0] == pytest.approx(plan.phases[0]["x"][-1], abs=1e-9)
    assert plan.phases[2]["y"][0] == pytest.approx(plan.phases[1]["x"][-1], abs=1e-9)
    with pytest.raises(dd.InputError) as told:
        dd.phases(*_springs("xy", False), link={"x": "z"}).solve()
    assert str(told.value) == (
        "No two phases are linked by 'x': 'z'.\n"
        "  'spring 0' has x, v; 'spring 1' has y, v\n"
        "  Because a link leads from a name of one phase to a name of the next.\n"
        '  Try: link={"name in the first": "name in the second"}'
    )


def test_settings_of_phases_are_checked_like_those_of_one():
    problem = _carts([1.0, 1.0], [0.25, 1.0])
    with pytest.raises(dd.InputError) as told:
        problem.solve(mesh_tolerance=-1.0)
    assert str(told.value) == "mesh_tolerance must be a positive number.\n  got -1.0\n  Try: mesh_tolerance=None"
    with pytest.raises(dd.InputError, match="method='shoot' is not known"):
        problem.solve("shoot")


def test_phases_by_shooting_are_saved(tmp_path):
    plan = _bounces(5, True).solve("shooting")
    plan.save(tmp_path / "bounce.nc")
    again = dd.load(tmp_path / "bounce.nc")
    for one, two in zip(again.phases, plan.phases):
        times = np.linspace(one.time[0], one.time[-1], 7)
        assert one.at(times)["s"] == pytest.approx(two.at(times)["s"], abs=1e-12)
        assert one.multipliers["dynamics of h"] == pytest.approx(two.multipliers["dynamics of h"])
