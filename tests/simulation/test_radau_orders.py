"""Orders of Radau IIA at fixed step on an ODE and on the pendulum at index 1, 2 and 3, component by component.

Theory is the lower bound (E. Hairer, C. Lubich, M. Roche, The Numerical Solution of Differential-Algebraic Systems by
Runge-Kutta Methods, 1989; s stages): index 1 all 2s - 1; index 2 positions and velocities 2s - 1, the force s; index 3
positions s + 1 (3 for s = 2), velocities s, the force s - 1. The reference is the pendulum in its angle.
"""

from functools import cache
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

G, ANGLE, SPEED, END = 9.81, np.arctan2(-0.8, 0.6), 1.0, 1.0
COUNTS = {"radau3": [80, 160, 320], "radau5": [40, 80, 160], "radau9": [10, 13, 16, 22, 32]}
# At order 9 rounding is reached early; lower orders of the same runs show at the short steps only.
HIGH, LOW = slice(0, 3), slice(2, 5)
STAGES = {"radau3": 2, "radau5": 3, "radau9": 5}
INDEX = (1, 2, 3)
# What is lost to the terms behind the leading one at these steps.
SLACK = 0.25


@cache
def pendulum(index):
    """The rod written as positions (3), velocities (2) or accelerations (1)."""
    m = dd.Model("pendulum")
    q = m.state("q", 2, start=[0.6, -0.8])
    v = m.state("v", 2, start=[0.8, 0.6])
    force = m.algebraic("force")
    m.equation(m.der(q), v)
    m.equation(m.der(v), ca.vertcat(0, -G) - force * q)
    rods = {3: ca.sumsqr(q) - 1, 2: ca.dot(q, v), 1: ca.sumsqr(v) - force * ca.sumsqr(q) - G * q[1]}
    m.equation(rods[index], name="rod")
    return m


@cache
def exact():
    found = dd.solve_ivp(
        lambda t, y: [y[1], -G * np.cos(y[0])], (0, END), [ANGLE, SPEED], "DOP853", rtol=1e-13, atol=1e-14
    )
    angle, speed = found.y[:, -1]
    along, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    return {"q": along, "v": speed * across, "force": speed**2 - G * np.sin(angle)}


def measured(model, method, ends):
    """The fitted order of each variable over the steps of the method."""
    errors = {name: [] for name in ends}
    for count in COUNTS[method]:
        tr = dd.simulate(model, END, method=method, step=END / count)
        assert tr.success, tr.stop_reason
        for name, end in ends.items():
            errors[name].append(np.max(np.abs(tr[name][-1] - end)))
    steps = END / np.array(COUNTS[method])
    found = {}
    for name, values in errors.items():
        used = slice(None) if method != "radau9" else HIGH if values[-1] < 1e-11 else LOW
        found[name] = np.polyfit(np.log(steps[used]), np.log(values[used]), 1)[0]
    return found


def theory(method, index):
    s = STAGES[method]
    full = 2 * s - 1
    return {
        1: {"q": full, "v": full, "force": full},
        2: {"q": full, "v": full, "force": s},
        3: {"q": s + 1, "v": s, "force": s - 1},
    }[index]


def documented():
    """The rows of docs/orders.md: theory and measurement by method and index."""
    rows = {}
    for line in (Path(__file__).parents[2] / "docs" / "orders.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] in COUNTS:
            numbers = [float(cell) for cell in cells[2:]]
            rows[cells[0], int(cells[1])] = dict(zip(("q", "v", "force"), zip(numbers[::2], numbers[1::2])))
    return rows


@pytest.mark.parametrize("method", COUNTS)
@pytest.mark.parametrize("index", INDEX)
def test_pendulum(method, index):
    found = measured(pendulum(index), method, exact())
    for name, (order, value) in documented()[method, index].items():
        assert order == theory(method, index)[name]
        # Errors of order 9 are near rounding, which differs from one processor to the next.
        assert value == pytest.approx(found[name], abs=0.3), "docs/orders.md is out of date"
    for name, order in theory(method, index).items():
        assert found[name] > order - SLACK, (name, found)
    # Where theory is sharp the order is met, not passed: the test would notice a wrong reference too.
    if index > 1:
        assert found["force"] < theory(method, index)["force"] + 0.6, found


@pytest.mark.parametrize("method", COUNTS)
def test_ode(method):
    m = dd.Model("angle")
    a = m.state("a", start=ANGLE)
    w = m.state("w", start=SPEED)
    m.equation(m.der(a), w)
    m.equation(m.der(w), -G * ca.cos(a))
    q = exact()["q"]
    found = measured(m, method, {"a": np.arctan2(q[1], q[0])})
    assert found["a"] > 2 * STAGES[method] - 1 - SLACK


def test_the_list_of_methods_says_the_same():
    for name in COUNTS:
        method, s = dd.methods()[name], STAGES[name]
        assert method.index_1 == f"{2 * s - 1} z {2 * s - 1}"
        assert method.index_2 == f"{2 * s - 1} z {s}"
        assert method.index_3 == f"q {s + 1} v {s} z {s - 1}"


def test_the_constraints_hold_at_the_steps():
    tr = dd.simulate(pendulum(3), 5.0, method="radau5", step=0.02)
    assert np.max(np.abs(np.sum(tr["q"] ** 2, axis=1) - 1)) < 1e-12
