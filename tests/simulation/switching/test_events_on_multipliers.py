"""An event on a force of constraint happens once, whatever its reset makes the run solve for anew."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import daedalus as dd

G = 9.81


def pendulum(level, kick=1.0):
    """A pendulum of length 1 let go at its side (index 3): counts where its pull passes a level, and kicks it."""
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[1.0, 0.0], rate=[0.0, 0.0])
    n = m.state("n", start=0.0)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(G * q[1])
    m.constraint("rod", (ca.sumsqr(q) - 1) / 2)
    m.equation(m.der(n), 0.0)
    reset = {"n": n + 1} if kick == 1.0 else {"n": n + 1, "q_dot": kick * m.rate(q)}
    m.event("pull", m["rod"] + level, direction=-1, reset=reset)
    return m


def times_by_angle(level, end, kick=1.0):
    """The pull is v^2 + g sin(angle) below the side, by the angle alone."""

    def short_of(_, state):
        return level - (state[1] ** 2 + G * np.sin(state[0]))

    short_of.direction, short_of.terminal = -1, True

    def run(begin, until, state, events=None):
        return solve_ivp(lambda _, y: [y[1], G * np.cos(y[0])], (begin, until), state, "DOP853", events=events,
                         rtol=1e-12, atol=1e-12, max_step=0.01)  # fmt: skip

    state, t, found = [0.0, 0.0], 0.0, []
    while True:
        away = run(t, t + 1e-6, state)  # from the level, where an event would be seen again
        sol = run(t + 1e-6, end, away.y[:, -1], short_of)
        t, state = sol.t[-1], sol.y[:, -1] * [1.0, kick]
        if sol.status == 0:
            return found
        found.append(t)


@pytest.mark.parametrize(
    ("method", "rtol"),
    [("radau5", 1e-4), ("radau9", 1e-4), ("radau5", 1e-6)]
    + [
        pytest.param(method, rtol, marks=pytest.mark.wide)
        for method in ("radau5", "radau9")
        for rtol in (1e-5, 1e-7, 1e-8)
    ]
    + [pytest.param("radau5", 1e-3, marks=pytest.mark.wide)],
)
def test_what_counts_on_a_pull_counts_once(method, rtol):
    """The multiplier solved for anew lay before zero again, by its error in the step: the event happened twice."""
    for level in np.random.default_rng(7).uniform(19.8, 20.0, 3):
        tr = dd.simulate(pendulum(level), 3.0, method=method, rtol=rtol)
        expected = times_by_angle(level, 3.0)
        assert [e.time for e in tr.events] == pytest.approx(expected, abs=max(20 * rtol**0.75, 1e-6))
        assert tr["n"][-1] == len(expected) == 3


@pytest.mark.wide
@pytest.mark.parametrize("method", ["radau5", "radau9", "auto"])
@pytest.mark.parametrize("seed", [3, 20, 34, 40, 41, 42])
def test_random_pulls(method, seed):
    """Resets that change the motion too, until those that slow it down follow too closely."""
    rng = np.random.default_rng(seed)
    level, kick = rng.uniform(8, 25), rng.choice([0.6, 0.7, 1.03, 1.1])
    for rtol in (1e-3, 1e-4, 1e-6):
        tr = dd.simulate(pendulum(level, kick), 1.0, method=method, rtol=rtol)
        expected = times_by_angle(level, 1.0, kick)
        assert [e.time for e in tr.events] == pytest.approx(expected, abs=20 * rtol**0.75)
