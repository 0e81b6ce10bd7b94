"""What a plan says that it costs: beside the cost of its replay, and beside that of inputs that are not held."""

import casadi as ca
import numpy as np
import pytest
from tests.support.optima import ode

import daedalus as dd
from daedalus.optimisation.search.cost_of_held_inputs import lost_by_held_inputs


def told_share(plan) -> float:
    """What held inputs cost by the notes, as a share; 0 where nothing is said."""
    told = [note for note in plan.notes if note.startswith("inputs that are ")]
    return float(told[0].split("cost about")[1].split("%")[0]) / 100 if told else 0.0


def two_oscillators(intervals: int) -> dd.OptimalControl:
    # R. Luus, Iterative Dynamic Programming (2000), Nishida's problem: five switches, 0.010035 of the start's 400.
    m, x, _ = ode(
        "a b c d", "u",
        lambda a, b, c, d, u: [-0.5 * a + 5 * b, -5 * a - 0.5 * b + u, -0.6 * c + 10 * d, -10 * c - 0.6 * d + u],
        [10.0] * 4,
    )  # fmt: skip
    ocp = dd.OptimalControl(m, 4.2, intervals)
    ocp.start()
    ocp.bound("u", -1.0, 1.0)
    ocp.minimise(final=sum(s**2 for s in x))
    return ocp


@pytest.mark.parametrize("intervals", [40, 60, 70])
def test_switches_within_intervals_are_told(intervals):
    plan = two_oscillators(intervals).solve()
    lost = 1 - 1.003473 / plan.objective  # with a mesh tolerance of 1e-5 and of 1e-7
    assert plan.success
    assert 0.7 * lost < told_share(plan) < 1.3 * lost


@pytest.mark.parametrize("intervals", [40, pytest.param(60, marks=pytest.mark.wide)])
def test_switches_of_linear_inputs_are_told(intervals):
    ocp = two_oscillators(intervals)
    ocp.input("u", kind="linear")
    plan = ocp.solve()
    lost = 1 - 1.003473 / plan.objective  # 10 % and 3 %
    assert plan.success
    assert 0.7 * lost < told_share(plan) < 1.3 * lost


def test_a_mesh_with_its_own_cost_is_no_success():
    plan = two_oscillators(20).solve()  # 1.20 on its polynomials, 1.47 on the motion
    assert not plan.success
    assert plan.broken[0].name == "cost"
    assert plan.broken[0].value == pytest.approx(sum(float(plan.replay()[s][-1]) ** 2 for s in "abcd"), rel=1e-6)
    assert plan.explain().headline.endswith("Try: a finer mesh, ocp.solve(mesh_tolerance=1e-6), or more intervals.")


def test_another_cost_on_the_replay_is_told():
    plan = two_oscillators(30).solve()
    replayed = sum(float(plan.replay()[s][-1]) ** 2 for s in "abcd")
    assert f"the plan says that it costs {plan.objective:.6g}; on the replay it is {replayed:.6g}" in plan.notes


def test_a_running_cost_is_integrated_along_the_replay():
    # Two points an interval sum sin²(40 t) to anything.
    m, _, (u,) = ode("x", "u", lambda x, u: [u], [0.0])
    ocp = dd.OptimalControl(m, 10.0, 32)
    ocp.start()
    ocp.minimise(running=u**2 + ca.sin(10 * np.pi * 0.32 * m.time) ** 2)
    plan = ocp.solve(degree=1)
    assert not plan.success
    assert plan.broken[0].name == "cost"
    assert plan.broken[0].value == pytest.approx(5.0, rel=0.02)


def test_what_held_inputs_lose_is_that_of_closed_forms():
    """Beside the ramp a t a held input loses a² h² T / 12; one that switches within an interval |σ'| h² R / 4."""
    m, _, (u,) = ode("x", "u", lambda x, u: [u], [0.0])
    ocp = dd.OptimalControl(m, 2.0, 20)
    ocp.start()
    ocp.minimise(running=(u - 3 * m.time) ** 2)
    plan = ocp.solve()
    assert lost_by_held_inputs(plan.transcription, plan.outcome).sum() == pytest.approx(9 * 0.01 * 2 / 12, rel=1e-6)
    m, _, (u,) = ode("x", "u", lambda x, u: [u], [0.0])
    ocp = dd.OptimalControl(m, 2.1, 21)
    ocp.start()
    ocp.bound(u, -1.0, 1.0)
    ocp.minimise(running=(m.time - 1.05) * u)
    plan = ocp.solve()
    lost = lost_by_held_inputs(plan.transcription, plan.outcome)
    assert np.flatnonzero(lost > 1e-8).tolist() == [10]
    assert lost[10] == pytest.approx(0.01 / 4, rel=0.2)  # by three points of a corner


def test_conditions_of_held_inputs_count_once_an_interval():
    """A push of at most one in a turning direction: its condition holds at three points of every interval."""
    m = dd.Model("push")
    x, u = m.state("x", 2, start=[0.0, 0.0]), m.input("u", 2)
    m.equation(m.der(x), u)
    ocp = dd.OptimalControl(m, 2.0, 20)
    ocp.start()
    ocp.subject_to(ca.sumsqr(u) <= 1)
    ocp.minimise(running=-(u[0] * ca.cos(3 * m.time) + u[1] * ca.sin(3 * m.time)))
    plan = ocp.solve()
    # The mean of a direction that turns by 0.3 is shorter by sin(0.15) / 0.15.
    lost = 2.0 * (1 - np.sin(0.15) / 0.15)
    assert plan.objective == pytest.approx(lost - 2.0, rel=1e-6)
    assert lost_by_held_inputs(plan.transcription, plan.outcome).sum() == pytest.approx(lost, rel=0.01)


def soaring() -> dd.OptimalControl:
    # Y. J. Zhao, Optimal Control Applications and Methods 25 (2004): the weakest wind in which a glider stays aloft.
    m = dd.Model("glider")
    names = {"x": 0.0, "y": 0.0, "h": 0.0, "v": 100.0, "climb": 0.0, "heading": 0.0}
    x, y, h, v, climb, heading = (m.state(name, start=value) for name, value in names.items())
    lift, bank, wind = m.input("lift"), m.input("bank"), m.parameter("wind", 0.08)
    mass, weight, push = 5.6, 5.6 * 32.2, 0.5 * 0.002378 * 45.09703 * v**2
    drag, gust = push * (0.00873 + 0.045 * lift**2), mass * wind * v * ca.sin(climb)
    up, side = push * lift * ca.cos(bank), push * lift * ca.sin(bank)
    m.equation(
        [m.der(s) for s in (x, y, h, v, climb, heading)],
        [
            v * ca.cos(climb) * ca.sin(heading) + wind * h, v * ca.cos(climb) * ca.cos(heading), v * ca.sin(climb),
            -(drag + weight * ca.sin(climb) + gust * ca.cos(climb) * ca.sin(heading)) / mass,
            (up - weight * ca.cos(climb) + gust * ca.sin(climb) * ca.sin(heading)) / (mass * v),
            (side - gust * ca.cos(heading)) / (mass * v * ca.cos(climb)),
        ],
    )  # fmt: skip
    ocp = dd.OptimalControl(m, dd.unknown(22.0, 10.0, 30.0))
    ocp.start({**dict.fromkeys("xyh", 0.0), "v": None, "climb": None, "heading": None})
    ocp.finish(x=0.0, y=0.0, h=0.0)
    ocp.free("wind", 0.08, 0.005, 0.15)
    limits = {"h": (0, 1000), "v": (10, 350), "climb": (-1.3, 1.3), "heading": (-8, 2), "lift": (-0.5, 1.5)}
    for name, (low, high) in {**limits, "bank": (-1.3, 1.3)}.items():
        ocp.bound(name, low, high)
    ocp.subject_to(push * lift / weight, lower=-2, upper=5)
    for s in (v, climb):
        ocp.subject_to(ocp.at_end(s) == ocp.at_start(s))
    ocp.subject_to(ocp.at_end(heading) + 2 * np.pi == ocp.at_start(heading))
    turn = 2 * np.pi * np.linspace(0, 1, 41)
    ocp.guess({"x": 400 * np.sin(turn), "y": -200 * (1 - np.cos(turn)), "h": 250 * (1 - np.cos(turn))})
    ocp.guess(
        {"v": 150 + 80 * np.cos(turn), "climb": 0.8 * np.sin(turn), "heading": -1 - turn, "lift": 0.5, "bank": -0.7}
    )
    ocp.minimise(final=wind)
    return ocp


@pytest.mark.wide
def test_a_glider_in_the_weakest_wind():
    """0.063584 by multiple shooting (RK4, 200 steps, from guesses that turn either way), in CasADi alone."""
    plan = soaring().solve()
    assert plan.success
    assert plan.objective == pytest.approx(0.063584, rel=4e-3)
    assert len(plan.time) == 51
    assert told_share(plan) == 0


def random_reach(seed: int, intervals: int | None = None) -> dd.OptimalControl:
    """A random linear system brought near zero by a bounded input, of a cost that is linear in it or nearly so."""
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 5))
    A = random.normal(size=(n, n))
    A -= (np.linalg.eigvals(A).real.max() - 0.1) * np.eye(n) * random.uniform(0.5, 1.5)
    m = dd.Model("reach")
    x, u = m.state("x", n, start=2 * random.normal(size=n)), m.input("u")
    m.equation(m.der(x), A @ x + random.normal(size=n) * u)
    ocp = dd.OptimalControl(m, random.uniform(1.5, 4.0), intervals or int(random.integers(8, 40)))
    ocp.start()
    ocp.bound(u, -1.0, 1.0)
    ocp.minimise(final=ca.sumsqr(x), running=(seed % 2) * 0.01 * u**2)
    return ocp


@pytest.mark.wide
@pytest.mark.parametrize("seed", range(24))
def test_random_plans_tell_what_held_inputs_cost(seed):
    plan, best = random_reach(seed).solve(), random_reach(seed, 100).solve(mesh_tolerance=1e-6)
    assert best.success
    if plan.success and best.objective > 1e-9:
        lost = 1 - best.objective / plan.objective
        assert lost < 0.015 or 0.5 * lost < told_share(plan) < 2 * lost
