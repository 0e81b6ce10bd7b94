"""What a clock assigns at the start moves what stuck or rested there, as the same value given at the start does."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import pytest

import daedalus as dd

# A force of 1 is assigned, from rest: ẍ is 1 - 0.05 on a friction, (2 - 0.1) / 2 with another mass that sticks on the
# first one, and 1.05 off a floor.
MOVED = {"friction": 0.475, "two frictions": 0.475, "floor": 0.525, "sign": 0.475}
ASSIGNED: dict[str, Callable[[dd.Model], object]] = {
    "clock": lambda m: m.every(100.0, {"u": 1.0}),
    "schedule": lambda m: m.schedule([0.0], {"u": 1.0}),
    "condition": lambda m: m.when(m.time >= 0, {"u": 1.0}, at_start=True),
    "code": lambda m: m.every(100.0, call=lambda t, read, memory: ((1.0,), memory), reads=["x"], writes=["u"]),
}


def at_rest(kind: str) -> dd.Model:
    m = dd.Model("at rest")
    x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.discrete("u", start=0.0)
    m.equation(m.der(x), v)
    if kind == "friction":
        m.equation(m.der(v), u + m.friction("brake", v, kinetic=0.05))
    elif kind == "sign":
        m.equation(m.der(v), u - 0.05 * ca.sign(v))
    elif kind == "floor":
        m.equation(m.der(v), 2.05 * u - 1 + m.unilateral("floor", x))
    else:
        w = m.state("w", start=0.0)
        between = m.friction("between", v - w, kinetic=10.0)
        m.equation(m.der(v), 2 * u + between)
        m.equation(m.der(w), m.friction("ground", w, kinetic=0.1) - between)
    return m


@pytest.mark.parametrize("method", ["auto", "radau5"])
@pytest.mark.parametrize("assigned", ASSIGNED)
@pytest.mark.parametrize("kind", MOVED)
def test_a_first_tick_moves_what_rests(kind: str, assigned: str, method: str) -> None:
    m = at_rest(kind)
    ASSIGNED[assigned](m)
    assert float(dd.simulate(m, 1.0, method=method)["x"][-1]) == pytest.approx(MOVED[kind], abs=1e-6)


def test_a_controller_moves_what_sticks() -> None:
    """x' = v, v' = u with a friction of 0.05 that the controller does not know of; the loop stayed where it began."""
    m = dd.Model("plan")
    x, v, u = m.state("x", start=1.0), m.state("v", start=0.0), m.input("u")
    m.equation([m.der(x), m.der(v)], [v, u])
    ocp = dd.OptimalControl(m, 2.0, 20)
    ocp.start()
    ocp.bound(u, -1.0, 1.0)
    ocp.minimise(running=x**2 + 0.1 * v**2 + 0.1 * u**2)
    plant = dd.Model("plant")
    x, v, u = plant.state("x", start=1.0), plant.state("v", start=0.0), plant.input("u")
    plant.equation([plant.der(x), plant.der(v)], [v, u + plant.friction("brake", v, kinetic=0.05)])
    loop = dd.closed_loop(plant, dd.Controller(ocp, every=0.1), 3.0)
    assert abs(float(loop["x"][-1])) < 0.1
