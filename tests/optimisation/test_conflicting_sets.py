"""Explanations name irreducible sets: judged by linear programs, which know whether a set can hold."""

import numpy as np
import pytest
from scipy.optimize import linprog

import daedalus as dd

INTERVALS = 8


class Pushed:
    """A cart on which forces are held over intervals: every condition is one row of a linear program or a few."""

    def __init__(self, random):
        self.duration, self.random = random.uniform(0.8, 2.0), random
        h = self.duration / INTERVALS
        self.v, self.x = np.zeros((INTERVALS + 1, INTERVALS)), np.zeros((INTERVALS + 1, INTERVALS))
        for k in range(INTERVALS):
            self.v[k + 1] = self.v[k]
            self.v[k + 1, k] += h
            self.x[k + 1] = self.x[k] + h * self.v[k]
            self.x[k + 1, k] += h**2 / 2
        self.parts = {}  # (name, side) -> rows, bound: rows @ u <= bound or >= bound

    def problem(self):
        """The problem, with conditions of which some contradict each other."""
        random = self.random
        m = dd.Model("cart")
        x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
        m.equation([m.der(x), m.der(v)], [v, u])
        ocp = dd.OptimalControl(m, self.duration, INTERVALS)
        ocp.start()
        ocp.minimise(running=u**2)
        low, high = -random.uniform(0.5, 2.0), random.uniform(0.5, 2.0)
        ocp.bound("u", low, high)
        self._keep("u", np.eye(INTERVALS), low, high)
        fastest = random.uniform(0.3, 3.0)
        ocp.subject_to(v <= fastest, at="nodes", name="speed limit")
        self._keep("speed limit", self.v[1:], -np.inf, fastest)
        far = 0.5 * high * self.duration**2 * random.uniform(1.05, 1.6)
        ends = {"x": far} if random.random() < 0.5 else {"x": far, "v": random.uniform(-0.2, 0.2)}
        ocp.finish(ends)
        self._keep("x", self.x[-1:], far, far)
        if "v" in ends:
            self._keep("v", self.v[-1:], ends["v"], ends["v"])
        half = random.uniform(-0.2, 0.1)
        ocp.subject_to(x <= half, at=0.5, name="half way")
        self._keep("half way", self.x[[INTERVALS // 2]], -np.inf, half)
        ocp.subject_to(x >= -50.0, at="nodes", name="far away")
        self._keep("far away", self.x[1:], -50.0, np.inf)
        return ocp

    def _keep(self, name, rows, low, high):
        if np.isfinite(low):
            self.parts[name, "lower"] = (-rows, -low)
        if np.isfinite(high):
            self.parts[name, "upper"] = (rows, high)

    def least(self, names, yielding=None):
        """The least by which one of the parts has to give way for all to hold; infinite where nothing helps."""
        A = np.vstack([np.hstack([self.parts[n][0], np.full((len(self.parts[n][0]), 1), -1.0 * (n == yielding))])
                       for n in names])  # fmt: skip
        b = np.concatenate([np.full(len(self.parts[n][0]), self.parts[n][1]) for n in names])
        bounds = [(None, None)] * INTERVALS + [(0, None)]
        found = linprog(np.append(np.zeros(INTERVALS), 1.0), A, b, bounds=bounds)
        return found.fun if found.status == 0 else np.inf


@pytest.mark.parametrize("seed", range(6))
def test_sets_of_random_contradictions_are_irreducible(seed):
    _judge(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 140))
def test_sets_of_many_random_contradictions_are_irreducible(seed):
    _judge(seed)


def _judge(seed):
    pushed = Pushed(np.random.default_rng(seed))
    plan = pushed.problem().solve(most_iterations=200)
    assert not plan.success
    told = plan.explain()
    named = [(part.name, part.side) for part in told.conflicts]
    assert len(named) == len(set(named)) >= 2
    assert pushed.least(named) == np.inf
    for part in told.conflicts:
        key = (part.name, part.side)
        assert pushed.least([name for name in named if name != key]) == 0.0
        assert part.short == pytest.approx(pushed.least(named, key), rel=1e-3, abs=1e-5)


def test_conflicts_of_phases_are_told_with_their_phase():
    m = dd.catalogue.load("double_integrator").model
    out, back = (dd.OptimalControl(m, duration=1.0, intervals=8) for _ in range(2))
    out.start()
    out.finish(position=0.4)
    back.finish(position=2.0)
    for part in (out, back):
        part.bound("force", -1.0, 1.0)
        part.minimise(running=m["force"] ** 2)
    told = dd.phases(out, back).solve(most_iterations=200).explain()
    named = {(part.name, part.side) for part in told.conflicts}
    assert ("position (phase 2)", "lower") in named
    assert ("force (phase 2)", "upper") in named
    # Whoever arrives at 0.4 at full force has 0.9 m/s and can be at 1.7 by the end.
    by_name = {(part.name, part.side): part for part in told.conflicts}
    assert by_name["position (phase 2)", "lower"].needed < 2.0
    assert str(told).splitlines()[0] == "These cannot hold together with the start and the durations of 1 s and 1 s:"


@pytest.mark.wide
def test_nonlinear_contradictions_can_be_mended_one_by_one():
    def problem(**without):
        m = dd.Model("pendulum")
        angle, torque = m.state("angle", start=0.0, rate=0.0), m.input("torque")
        m.equation(m.der(m.der(angle)), -9.81 * np.sin(angle) + torque)
        ocp = dd.OptimalControl(m, duration=0.5, intervals=15)
        ocp.start()
        if "torque" not in without:
            ocp.bound(torque, -4.0, 4.0)
        ocp.subject_to(m["angle_dot"] <= 9.0, name="speed")
        ocp.finish({"angle": without.get("angle", 1.5)})
        ocp.minimise(running=torque**2)
        return ocp.solve(most_iterations=300)

    plan = problem()
    assert not plan.success
    told = {(part.name, part.side): part for part in plan.explain().conflicts}
    assert set(told) == {("angle", "lower"), ("torque", "upper")}
    assert problem(torque=None).success
    reach = told["angle", "lower"].needed
    assert problem(angle=reach - 1e-3).success
    assert not problem(angle=reach + 1e-2).success


def test_a_state_that_cannot_come_back_is_told_as_a_change():
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    ocp = dd.OptimalControl(m, 1.0, 10)
    ocp.start()
    ocp.periodic("x")
    ocp.minimise(running=x**2)
    plan = ocp.solve()
    assert not plan.success
    (part,) = plan.explain().conflicts
    assert part.name == "the change of x over the period"
    assert part.needed == pytest.approx(np.exp(-1.0) - 1.0, abs=1e-6)


def test_a_set_that_can_hold_after_all_is_not_told():
    """A weak motor cannot swing a pendulum up; one that pushes hard to one side can, which a local search misses."""

    def problem(lower, upper, end):
        m = dd.Model("pendulum")
        angle, torque = m.state("angle", start=0.0, rate=0.0), m.input("torque")
        m.equation(m.der(m.der(angle)), -9.81 * np.sin(angle) + torque)
        ocp = dd.OptimalControl(m, duration=2.0, intervals=30)
        ocp.start()
        ocp.finish(end)
        ocp.bound(torque, lower, upper)
        ocp.minimise(running=torque**2)
        return ocp.solve(most_iterations=100)

    plan = problem(-2.0, 2.0, {"angle": np.pi, "angle_dot": 0.0})
    assert not plan.success
    told = {(part.name, part.side): part for part in plan.explain().conflicts}
    assert set(told) == {("torque", "lower"), ("torque", "upper"), ("angle", "lower")}
    assert all(part.short > 0.1 for part in told.values())
    assert problem(-2.0, told["torque", "upper"].needed + 0.01, {"angle": np.pi}).success


def moved(duration=1.0, **ends):
    m = dd.Model("cart")
    x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
    m.equation([m.der(x), m.der(v)], [v, u])
    ocp = dd.OptimalControl(m, duration, 20)
    ocp.start()
    if ends:
        ocp.finish(ends)
    ocp.minimise(running=u**2)
    return ocp, x, v, u


def told_by(ocp):
    plan = ocp.solve(most_iterations=200)
    assert not plan.success
    told = plan.explain()
    return {(part.name, part.side): part for part in told.conflicts}, str(told)


def test_conflicts_with_integrals_durations_and_instants():
    # A way of 1 in a second takes u = 6 - 12 t, whose square has the integral 12, a little more with held inputs.
    ocp, _, _, u = moved(x=1.0, v=0.0)
    ocp.subject_to(ocp.integral(u**2) <= 6, name="energy")
    told, _ = told_by(ocp)
    assert set(told) == {("energy", "upper"), ("x", "lower"), ("v", "upper")}
    assert told["energy", "upper"].needed == pytest.approx(12.0, rel=4e-3)
    # With full acceleration and braking it takes two seconds.
    ocp, *_, u = moved(dd.unknown(1.0, 0.1, 1.5), x=1.0, v=0.0)
    ocp.bound(u, -1.0, 1.0)
    told, _ = told_by(ocp)
    assert set(told) == {("u", "lower"), ("u", "upper"), ("x", "lower"), ("v", "upper"), ("the duration", "upper")}
    assert told["the duration", "upper"].needed == pytest.approx(2.0, abs=1e-5)
    assert told["x", "lower"].needed == pytest.approx(0.5625, abs=1e-5)
    # From 0.2 half way, the rest of 0.8 takes 1.6 on each side.
    ocp, x, _, u = moved(2.0, x=1.0, v=0.0)
    ocp.subject_to(x <= 0.2, at=0.5, name="gate")
    ocp.bound(u, -1.5, 1.5)
    told, _ = told_by(ocp)
    assert set(told) == {("gate", "upper"), ("x", "lower"), ("v", "upper"), ("u", "lower")}
    assert told["u", "lower"].needed == pytest.approx(-1.6, abs=1e-5)
    # What differs from zero by rounding is told as zero.
    ocp, x, *_ = moved()
    ocp.periodic()
    ocp.subject_to(ocp.at_end(x) - ocp.at_start(x) >= 1, name="way")
    told, text = told_by(ocp)
    assert "way >= 1 at 1 s: 1 short, would have to be 0\n" in text
