"""Explanations with fuel, rates and open durations: irreducible, with right numbers, judged by linear programs."""

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import linprog

import daedalus as dd

INTERVALS, SHORTEST, LONGEST = 10, 0.3, 40.0


class Fuelled:
    """A cart by held thrusts, with conditions of which some contradict each other: (name, side) -> bound."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.is_open, self.duration = bool(random.random() < 0.5), random.uniform(0.8, 2.0)
        m = dd.Model("cart")
        x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
        m.equation([m.der(x), m.der(v)], [v, u])
        length = dd.unknown(0.9 * self.duration, SHORTEST, self.duration) if self.is_open else self.duration
        self.problem = ocp = dd.OptimalControl(m, length, INTERVALS)
        ocp.start()
        ocp.minimise(running=u**2)
        low, high = -random.uniform(0.5, 2.0), random.uniform(0.5, 2.0)
        ocp.bound(u, low, high)
        far = 0.25 * high * self.duration**2 * random.uniform(0.9, 1.6)
        self.bounds = {("u", "lower"): low, ("u", "upper"): high, ("x", "lower"): far, ("x", "upper"): far}
        ocp.finish({"x": far, "v": 0.0})
        self.bounds |= {("v", "lower"): 0.0, ("v", "upper"): 0.0}
        if random.random() < 0.6:
            self.bounds["fuel", "upper"] = fuel = random.uniform(1.0, 4.0) * far / self.duration
            ocp.subject_to(ocp.integral(ca.fabs(u)) <= fuel, name="fuel")
        if random.random() < 0.5:
            self.bounds["half", "upper"] = half = random.uniform(-0.1, 0.6) * far
            ocp.subject_to(x <= half, at=0.5, name="half")
        if random.random() < 0.4:
            rate = random.uniform(1.0, 20.0)
            self.bounds |= {("rate of u", "lower"): -rate, ("rate of u", "upper"): rate}
            ocp.input("u", rate=(-rate, rate))
        if self.is_open:
            self.bounds["the duration", "upper"] = self.duration

    def can_hold(self, bounds: dict, slack: float = 0.0) -> bool:
        """Whether some bounds can hold together, each with a little more room, for some duration."""
        longest = bounds.get(("the duration", "upper"), LONGEST)
        times = np.linspace(SHORTEST, longest, 60) if self.is_open else [self.duration]
        rest = {key: bound for key, bound in bounds.items() if key[0] != "the duration"}
        return any(_can_hold_within(time, rest, slack) for time in times)


def _can_hold_within(duration: float, bounds: dict, slack: float) -> bool:
    """A linear program in thrusts forwards and backwards."""
    h, thrust = duration / INTERVALS, np.eye(INTERVALS)
    behind = h * (INTERVALS - np.arange(INTERVALS) - 0.5)
    to_half = np.maximum(h * (INTERVALS // 2 - np.arange(INTERVALS) - 0.5), 0.0)
    rows = {
        "u": thrust, "x": h * behind[None], "v": np.full((1, INTERVALS), h), "half": h * to_half[None],
        "rate of u": np.diff(thrust, axis=0) / h,
    }  # fmt: skip
    matrix, limits = [np.zeros((1, 2 * INTERVALS))], [np.zeros(1)]
    for (name, side), bound in bounds.items():
        sign = 1.0 if side == "upper" else -1.0
        own = np.full((1, 2 * INTERVALS), h) if name == "fuel" else np.hstack([rows[name], -rows[name]])
        matrix.append(sign * own)
        limits.append(np.full(len(own), sign * bound + slack))
    found = linprog(np.zeros(2 * INTERVALS), np.vstack(matrix), np.concatenate(limits), bounds=(0, None))
    return bool(found.status == 0)


def _judge(seed: int) -> None:
    case = Fuelled(seed)
    plan = case.problem.solve()
    if case.can_hold(case.bounds, 1e-3):
        assert plan.success or not case.can_hold(case.bounds, -1e-3), plan
        return
    assert not plan.success
    told = {(part.name, part.side): part for part in plan.explain().conflicts}
    assert told
    bounds = {key: case.bounds[key] for key in told}
    assert not case.can_hold(bounds, -1e-3)
    for key, part in told.items():
        assert case.can_hold({other: bound for other, bound in bounds.items() if other != key}, 1e-3), key
        if part.short:
            assert case.can_hold({**bounds, key: part.needed}, 2e-3 * max(1.0, abs(part.needed))), part
            nearly = part.bound + 0.9 * (part.needed - part.bound)
            assert not case.can_hold({**bounds, key: nearly}, -1e-3), part


@pytest.mark.parametrize("seed", [1, 8, *(pytest.param(seed, marks=pytest.mark.wide) for seed in range(20, 40))])
def test_sets_with_fuel_rates_and_open_durations(seed):
    _judge(seed)
