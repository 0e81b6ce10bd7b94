"""A discrete variable changes the forces of a constraint: rows on both sides of it, and events on the multiplier."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import daedalus as dd

G, END = 9.81, 1.5


def pushed_pendulum(force, push_at, level, how):
    """A pendulum of length 1 (index 3) let go at its side; a push acts from a time on, or from a height on."""
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[1.0, 0.0], rate=[0.0, 0.0])
    n, on = m.state("n", start=0.0), m.discrete("on", start=0.0)
    m.equation(m.der(n), 0.0)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(G * q[1])
    m.constraint("rod", (ca.sumsqr(q) - 1) / 2)
    m.force(ca.vertcat(*force) * on, at=q)
    if how == "clock":
        m.schedule([push_at], {"on": 1})
    elif how == "code":
        m.every(push_at, call=lambda t, values, memory: ((float(t > 0),), memory), reads=[], writes=["on"])
    else:
        m.event("push", m.time - push_at if how == "time" else -q[1] - 0.2, direction=1, reset={"on": 1})
    m.event("pull", m["rod"] + level, direction=-1, reset={"n": n + 1})
    return m


def pulls_by_angle(force, push_at, level, how):
    """When the pull passes the level, by the angle alone; a push that carries it across counts at once."""
    height = lambda _, state: np.sin(state[0]) + 0.2  # noqa: E731
    height.terminal = True
    found, below = [], None
    t, state, pushed = 0.0, [0.0, 0.0], 0.0
    for pushed, end in ((0.0, push_at if how != "height" else END), (1.0, END)):

        def slopes(_, y, pushed=pushed):
            along = -np.sin(y[0]) * force[0] + np.cos(y[0]) * force[1]
            return [y[1], -G * np.cos(y[0]) + pushed * along]

        stop = height if how == "height" and not pushed else None
        sol = solve_ivp(slopes, (t, end), state, "DOP853", events=stop, dense_output=True, rtol=1e-12, atol=1e-12,
                        max_step=0.01)  # fmt: skip
        times = np.linspace(t, sol.t[-1], 20001)
        angle, rate = sol.sol(times)
        pull = rate**2 - G * np.sin(angle) + pushed * (np.cos(angle) * force[0] + np.sin(angle) * force[1])
        left = level - pull
        if below is False and left[0] < 0:
            found.append(t)
        crossed = np.flatnonzero((left[:-1] > 0) & (left[1:] <= 0))
        found += list(times[crossed] + (times[1] - times[0]) * left[crossed] / (left[crossed] - left[crossed + 1]))
        t, state, below = sol.t[-1], sol.y[:, -1], bool(left[-1] < 0)
    return found


def member(seed):
    rng = np.random.default_rng(seed)
    force, push_at, level = rng.uniform(-10, 10, 2), rng.uniform(0.76, 0.9), rng.uniform(5, 25)
    return force, push_at, level, rng.choice(["time", "height", "clock", "code"])


@pytest.mark.parametrize("method", ["radau5", "radau9", pytest.param("auto", marks=pytest.mark.wide)])
@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(k, marks=pytest.mark.wide) for k in range(3, 24))])
def test_forces_follow_a_change_at_once(seed, method):
    """The first step behind it found the multiplier: events were a step late, the row before had the later value."""
    force, push_at, level, how = member(seed)
    for rtol in (1e-3, 1e-5):
        tr = dd.simulate(pushed_pendulum(force, push_at, level, how), END, method=method, rtol=rtol)
        expected = pulls_by_angle(force, push_at, level, how)
        assert [e.time for e in tr.events if e.name == "pull"] == pytest.approx(expected, abs=20 * rtol**0.75)
        q, rate = tr["q"], tr["q_dot"]
        by_states = G * q[:, 1] - (rate**2).sum(axis=1) - tr["on"] * (q @ force)
        np.testing.assert_allclose(tr["rod"], by_states, atol=20 * rtol * np.abs(by_states).max())


def test_a_reset_keeps_what_the_force_is_by_the_states():
    """A discrete variable takes the pull where it is greatest: the step's own pull has an error of its own."""
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[1.0, 0.0], rate=[0.0, 0.0])
    m.discrete("largest", start=0.0)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(G * q[1])
    m.constraint("rod", (ca.sumsqr(q) - 1) / 2)
    m.event("bottom", q[0], direction=-1, reset={"largest": -m["rod"]})
    for method in ("radau5", "radau9"):
        tr = dd.simulate(m, 1.0, method=method, rtol=1e-4)
        assert tr["largest"][-1] == pytest.approx(3 * G, rel=1e-3)
