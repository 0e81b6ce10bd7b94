"""Problems without `intervals`: the mesh is refined where it does not resolve the plan, and the plan says so."""

from copy import copy
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from tests.support.optima import ode

import daedalus as dd
from daedalus.optimisation.description.solve_settings import SolveSettings
from daedalus.optimisation.result.plan_checked import PlanChecked
from daedalus.optimisation.search import mesh_rounds
from daedalus.optimisation.search.mesh_rounds import last_that_holds, on_finer_meshes
from daedalus.optimisation.transcription.mesh import halved


def layers(duration: float, intervals: int | None = None) -> dd.OptimalControl:
    """x' = -x³ + u from 1.5 to 1: layers of about a second at both ends (A. V. Rao, K. D. Mease, Automatica 35, 1999).

    With H = 0 along the rest, u = x³ ∓ x √(x⁴ + 1): each layer costs an integral over x that does not know of time.
    """
    m, (x,), (u,) = ode("x", "u", lambda x, u: [-(x**3) + u], [1.5])
    ocp = dd.OptimalControl(m, duration) if intervals is None else dd.OptimalControl(m, duration, intervals)
    ocp.start()
    ocp.finish({"x": 1.0})
    ocp.minimise(running=0.5 * (x**2 + u**2))
    return ocp


def layers_cost() -> float:
    """∫ p dx with the costate p of x'² = (x³)² + x², into rest at x = 0 and out of it."""
    at, weights = np.polynomial.legendre.leggauss(40)

    def along(end: float, sign: float) -> float:
        x = 0.5 * end * (at + 1)
        return float(0.5 * end * weights @ (np.sqrt(x**6 + x**2) + sign * x**3))

    return along(1.5, -1.0) + along(1.0, 1.0)


@pytest.mark.parametrize("duration", [40.0, 1000.0, pytest.param(10_000.0, marks=pytest.mark.wide)])
def test_layers_of_a_long_motion_are_resolved(duration):
    plan = layers(duration).solve()
    assert plan.success, plan
    assert plan.objective == pytest.approx(layers_cost(), rel=5e-3)
    assert plan.mesh_error.max() <= 1e-3
    assert any("the mesh was refined from 50 to" in note for note in plan.notes)


def test_given_intervals_are_kept_and_their_price_is_told():
    plan = layers(40.0, 60).solve()
    assert len(plan.time) == 61
    told = [note for note in plan.notes if "inputs that are constant on each interval cost about" in note]
    assert len(told) == 1
    share, saved = float(told[0].split("cost about")[1].split("%")[0]) / 100, 1 - layers_cost() / plan.objective
    assert 0.9 * saved < share < 1.2 * saved


@pytest.mark.wide
def test_what_held_inputs_cost_is_measured():
    told = []
    for seed in range(8):
        random = np.random.default_rng(seed)
        m = dd.Model("wavy ground")
        x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
        m.equation([m.der(x), m.der(v)], [v, u - random.uniform(0, 2) * ca.sin(3 * x)])
        plans = []
        for intervals in (int(random.integers(3, 7)), 200):
            ocp = dd.OptimalControl(m, 2.0, intervals)
            ocp.start()
            ocp.finish({"x": 1.0, "v": 0.0})
            ocp.minimise(running=u**2 + 3 * (x - 0.5) ** 2)
            plans.append(ocp.solve())
        notes = [note for note in plans[0].notes if "inputs that are constant" in note]
        if notes:
            share = float(notes[0].split("cost about")[1].split("%")[0]) / 100
            told.append((share, 1 - plans[1].objective / plans[0].objective))
    assert len(told) >= 4
    assert all(0.95 * saved < share < 1.1 * saved for share, saved in told), told


def test_a_mesh_that_resolves_its_plan_stays():
    m, _, (u,) = ode("x v", "u", lambda x, v, u: [v, u], [0.0, 0.0])
    ocp = dd.OptimalControl(m, 1.0)
    ocp.start()
    ocp.finish({"x": 1.0, "v": 0.0})
    ocp.minimise(running=u**2)
    plan = ocp.solve()
    assert len(plan.time) == 51
    assert not any("mesh" in note for note in plan.notes)


def test_phases_without_intervals_are_resolved_too():
    """Leave 1, stay at 0 for long, go to 1.5: by Hamilton and Jacobi ½V'² ± x³ V' = ½x² along both layers."""

    def half(length: float) -> dd.OptimalControl:
        m = dd.Model("half")
        x, u = m.state("x", start=1.0), m.input("u")
        m.equation(m.der(x), -(x**3) + u)
        ocp = dd.OptimalControl(m, length)
        ocp.minimise(running=(x**2 + u**2) / 2)
        return ocp

    first, second = half(3000.0), half(5000.0)
    first.start()
    second.finish(x=1.5)
    plan = dd.phases(first, second).solve()
    leave = quad(lambda x: -(x**3) + np.hypot(x**3, x), 0.0, 1.0)[0]
    arrive = quad(lambda x: x**3 + np.hypot(x**3, x), 0.0, 1.5)[0]
    assert plan.success, plan
    assert plan.objective == pytest.approx(leave + arrive, rel=0.01)
    assert sum("the mesh was refined from 100 to" in note for note in plan.notes) == 1


def test_phases_keep_the_intervals_that_were_given():
    m = dd.Model("half")
    x, u = m.state("x", start=1.0), m.input("u")
    m.equation(m.der(x), -(x**3) + u)
    first, second = dd.OptimalControl(m, 100.0), dd.OptimalControl(m, 100.0, 20)
    first.start()
    second.finish(x=1.5)
    for part in (first, second):
        part.minimise(running=(x**2 + u**2) / 2)
    plan = dd.phases(first, second).solve()
    assert len(plan.phases[0].mesh_error) > 50
    assert len(plan.phases[1].mesh_error) == 20
    assert any("inputs that are constant on each interval cost about" in note for note in plan.notes)


def test_an_angle_that_goes_on_a_turn_further_is_resolved():
    """Dido's largest area beside a shore, of a rope that is bent beyond the half circle; its angle has no bounds."""
    m = dd.Model("rope")
    x, y, area, angle = (*(m.state(name, start=0.0) for name in ("x", "y", "area")), m.input("angle"))
    m.equation([m.der(x), m.der(y), m.der(area)], [ca.cos(angle), ca.sin(angle), y * ca.cos(angle)])
    ocp = dd.OptimalControl(m, 2.0)
    ocp.start()
    ocp.finish(x=1.0, y=0.0)
    ocp.minimise(final=-area)
    plan = ocp.solve()
    bend = brentq(lambda bend: 4 / bend * np.sin(bend / 2) - 1, 1e-3, 2 * np.pi - 1e-3)
    assert plan.success, plan
    assert plan.objective == pytest.approx(-((2 / bend) ** 2) * (bend - np.sin(bend)) / 2, rel=1e-3)
    assert not any("inputs that are constant" in note for note in plan.notes)


def test_a_refinement_that_is_stopped_leaves_the_plan_before():
    ocp = layers(4.0, 20)
    first, begun = ocp.solve(starts=1), []

    def stops_on_the_second_mesh(iteration: int, objective: float, violation: float) -> bool:
        begun.extend([iteration] if iteration == 0 else [])
        return len(begun) < 2 or iteration < 2

    ocp = copy(ocp)
    plan = ocp.solve(starts=1, mesh_tolerance=1e-9, progress=stops_on_the_second_mesh)
    assert len(begun) == 2
    assert plan.success
    assert plan.objective == pytest.approx(first.objective, rel=1e-7)
    assert any("the mesh tolerance is not met" in note and "stopped" in note for note in plan.notes), plan.notes


def test_a_mesh_that_breaks_conditions_leaves_the_plan_before():
    @dataclass
    class Found:
        success: bool
        intervals: int
        status: str = "the search ended, but its plan does not keep what was asked for"
        notes: list = field(default_factory=list)

        @property
        def mesh_error(self) -> np.ndarray:
            return np.zeros(self.intervals)

        def add_note(self, note: str) -> None:
            self.notes.append(note)

    plans = [Found(True, 10), Found(True, 20), Found(False, 40)]
    assert last_that_holds(plans) is plans[1]
    assert "20 intervals; with 40 intervals: the search ended, but" in plans[1].notes[0]
    assert last_that_holds(plans[2:]) is plans[2]
    assert last_that_holds(plans[:2]) is plans[1]
    assert not plans[2].notes
    assert len(plans[1].notes) == 1


def test_an_earlier_mesh_says_that_the_tolerance_is_not_met(monkeypatch):
    found = layers(4.0, 20).solve(starts=1)
    worst = found.mesh_error.max()

    def breaks_a_condition(meshes, before, settings):
        other = copy(found)
        other._checked = PlanChecked(failed=True)
        return other

    meshes = iter([halved(found.transcription.layout.mesh), None])
    monkeypatch.setattr(mesh_rounds, "refined_mesh", lambda *_: next(meshes))
    settings = SolveSettings(mesh_tolerance=0.1 * worst)
    plan = on_finer_meshes(lambda: found, breaks_a_condition, settings)
    assert plan is found
    assert [note.split(", with ")[0] for note in plan.notes[-2:]] == [
        "this is the plan of an earlier mesh",
        f"the mesh tolerance is not met; intervals are off by up to {worst:.2g}",
    ]
