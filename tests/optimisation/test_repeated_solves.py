"""A plan from another start: a few Newton steps from the last one reach what a search from nothing finds."""

import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.catalogue.mechanics.delta_robot import nacelle
from daedalus.optimisation.program.solvers import optimality_error
from daedalus.optimisation.transcription.chain_positions import chain_positions


def agree(again: dd.Plan, cold: dd.Plan, names: list[str]) -> None:
    """Two plans of one problem: cost, motion and multipliers."""
    assert cold.success
    assert again.objective == pytest.approx(cold.objective, rel=1e-7)
    for name in names:
        size = np.abs(cold[name]).max() + 1e-3
        assert again[name] == pytest.approx(cold[name], abs=1e-5 * size)
        if name in cold.multipliers:
            worth = cold.multipliers[name]
            assert again.multipliers[name] == pytest.approx(worth, abs=1e-4 * (np.abs(worth).max() + 1e-3))


def moved(values: dict[str, float], name: str, by: float) -> dict[str, float]:
    return {**values, name: values[name] + by}


@pytest.mark.parametrize(("system", "state", "by"), [("cart_pendulum", 0, 0.01), ("quadrotor", 0, 0.01)])
def test_a_start_beside_the_last_takes_a_few_steps(system, state, by):
    problem = catalogue.load(system).problem
    first = problem.solve()
    name = list(first.start)[state]
    problem.start(moved(first.start, name, by))
    again = problem.solve()
    assert (again.success, again.solver) == (True, "newton")
    assert again.iterations <= 5
    assert again.outcome.w[again.transcription.layout.nodes[0, state]] == pytest.approx(first.start[name] + by)
    cold = catalogue.load(system).problem
    cold.start(moved(first.start, name, by))
    agree(again, cold.solve(), [name, *again.inputs])


@pytest.mark.wide
def test_the_delta_robot_from_other_poses_takes_a_few_steps():
    def pose(angles: np.ndarray) -> dict[str, np.ndarray]:
        return {"position": nacelle(angles), "angle": angles, "position_dot": np.zeros(3), "angle_dot": np.zeros(3)}

    pick = np.array([0.3, 0.5, 0.4])
    problem, cold = (catalogue.load("delta_robot").problem for _ in range(2))
    problem.solve()
    for step in (0.01, 0.03, 0.06):
        elsewhere = pose(pick + np.array([step, 0.0, -step]))
        problem.start(elsewhere)
        again = problem.solve()
        assert (again.success, again.solver) == (True, "newton")
        assert again.iterations <= 5
    cold.start(elsewhere)
    # A torque that is just at its limit is that near to it only with a small barrier.
    agree(again, cold.solve(tolerance=1e-10), ["angle", "torque"])


def cart(duration: object, intervals: int = 20) -> tuple[dd.Model, dd.OptimalControl]:
    m = dd.Model("cart")
    x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
    m.equation([m.der(x), m.der(v)], [v, u - 0.1 * v**3])
    return m, dd.OptimalControl(m, duration, intervals)


def bounded(ocp: dd.OptimalControl, m: dd.Model) -> None:
    ocp.bound("u", -4.5, 4.5)
    ocp.minimise(running=m["u"] ** 2)


def held_below(ocp: dd.OptimalControl, m: dd.Model) -> None:
    ocp.subject_to(m["v"] + 0.1 * m["x"] <= 1.3, name="speed")
    ocp.minimise(running=m["u"] ** 2)


def soft(ocp: dd.OptimalControl, m: dd.Model) -> None:
    ocp.subject_to(m["v"] <= 1.3, soft=5.0, name="speed")
    ocp.minimise(running=m["u"] ** 2)


def slow_inputs(ocp: dd.OptimalControl, m: dd.Model) -> None:
    ocp.input("u", rate=(-13.0, 13.0))
    ocp.minimise(running=m["u"] ** 2)


def measured_from_the_start(ocp: dd.OptimalControl, m: dd.Model) -> None:
    ocp.minimise(running=m["u"] ** 2, final=(ocp.at_end(m["v"]) - ocp.at_start(m["x"])) ** 2)


def with_an_integral(ocp: dd.OptimalControl, m: dd.Model) -> None:
    ocp.subject_to(ocp.integral(m["u"] ** 2) <= 14.0, at="end", name="energy")
    ocp.minimise(running=(m["x"] - 1.0) ** 2 + 0.01 * m["u"] ** 2)


WRITTEN = [bounded, held_below, soft, slow_inputs, measured_from_the_start, with_an_integral]


@pytest.mark.parametrize("points", ["radau", "legendre"])
@pytest.mark.parametrize("write", WRITTEN)
def test_all_kinds_of_conditions_form_a_chain(write, points):
    def problem() -> dd.OptimalControl:
        m, ocp = cart(1.0)
        ocp.start()
        ocp.finish(x=1.0, v=0.0)
        write(ocp, m)
        return ocp

    ocp = problem()
    first = ocp.solve(points=points)
    assert first.success
    assert chain_positions(first.transcription.program, first.transcription.layout) is not None
    ocp.start(x=0.02, v=0.01)
    again = ocp.solve(points=points)
    # Conditions at more points than an interval has inputs may hold against each other: IPOPT goes on then.
    expected = {"newton", "ipopt"} if write in (held_below, soft) else {"newton"}
    assert again.success
    assert again.solver in expected
    cold = problem()
    cold.start(x=0.02, v=0.01)
    agree(again, cold.solve(points=points), ["x", "v", "u"])


def test_the_least_time_from_another_start_is_the_closed_form():
    m = dd.Model("cart")
    x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
    m.equation([m.der(x), m.der(v)], [v, u])
    ocp = dd.OptimalControl(m, dd.unknown(2.0, 0.1, 10.0), 20)
    ocp.start()
    ocp.finish(x=1.0, v=0.0)
    ocp.bound(u, -1.0, 1.0)
    ocp.minimise(final=ocp.duration)
    ocp.solve()
    # From x = 0.02 the way is 0.98 and takes 2 √0.98; the mesh moves with it.
    ocp.start(x=0.02, v=0.0)
    again = ocp.solve()
    assert again.duration == pytest.approx(2 * np.sqrt(0.98), rel=1e-7)


def test_a_start_far_away_is_searched_for_as_ever():
    problem = catalogue.load("cart_pendulum").problem
    first = problem.solve()
    name = next(iter(first.start))
    problem.start(moved(first.start, name, 3.0))
    again = problem.solve()
    assert again.success
    assert again[name][0] == pytest.approx(first.start[name] + 3.0)
    assert optimality_error(again.transcription.program, again.outcome) <= 1e-7


def test_a_solver_that_is_asked_for_is_taken():
    m, ocp = cart(1.0)
    ocp.start()
    ocp.finish(x=1.0, v=0.0)
    bounded(ocp, m)
    ocp.solve(solver="ipopt")
    ocp.start(x=0.02, v=0.0)
    assert ocp.solve(solver="ipopt").solver == "ipopt"
