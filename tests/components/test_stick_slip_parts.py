"""Parts that stick and slide, and a sampled controller."""

from __future__ import annotations

import numpy as np
import pytest

import daedalus as dd

C = dd.components
R, T, S = C.rotational, C.translational, C.signals


def test_a_clutch_holds_exactly_once_it_has_brought_both_together() -> None:
    m = dd.Model("clutch")
    u = m.input("u")
    a, b = m.add(R.Inertia("a", inertia=1.0)), m.add(R.Inertia("b", inertia=3.0))
    clutch = m.add(R.Clutch("c", capacity=2.0))
    m.connect(a.shaft, clutch.shaft_a)
    m.connect(clutch.shaft_b, b.shaft)
    m.connect(u, clutch.engaged)
    engaged = dd.signal([0.0, 1.0], [0.0, 1.0], kind="hold")
    tr = dd.simulate(m, 4.0, start={"a.speed": 4.0}, inputs={"u": engaged})
    assert abs(tr.at(0.9)["a.speed"] - 4.0) < 1e-9
    assert abs(tr.events[-1].time - 2.5) < 1e-9  # 4 = (1 + 1/3) 2 t
    assert tr["a.speed"][-1] == pytest.approx(1.0, abs=1e-9)
    assert tr["b.speed"][-1] == pytest.approx(1.0, abs=1e-9)
    assert tr["c.friction.mode"][-1] == 0
    assert abs(tr.energy_balance().error) < 1e-8


def test_a_brake_holds_a_load_and_lets_go() -> None:
    m = dd.Model("hoist")
    u = m.input("u")
    drum, load = m.add(R.Inertia("drum", inertia=0.5)), m.add(R.TorqueSource("load", torque=-3.0))
    brake = m.add(R.Brake("brake", capacity=5.0))
    m.connect(drum.shaft, load.shaft, brake.shaft)
    m.connect(u, brake.pressed)
    pressed = dd.signal([0.0, 1.0, 2.0], [1.0, 0.0, 1.0], kind="hold")
    tr = dd.simulate(m, 6.0, inputs={"u": pressed})
    assert tr.at(0.9)["drum.angle"] == 0.0
    assert abs(tr.at(2.0)["drum.speed"] + 6.0) < 1e-8
    assert abs(tr["drum.speed"][-1]) < 1e-12  # from -6 by (5 - 3) / 0.5 a second
    assert abs(tr["drum.angle"][-1] + 3.0 + 4.5) < 1e-7


def test_friction_with_a_width_creeps_as_before() -> None:
    def at_rest(**more: float) -> float:
        m = dd.Model("block")
        body, wall = m.add(T.Mass("body", mass=1.0)), m.add(T.Ground("wall"))
        friction = m.add(T.Friction("friction", kinetic=2.0, static=3.0, **more))
        push = m.add(T.ForceSource("push", force=1.0))
        m.connect(body.flange, friction.flange_a, push.flange)
        m.connect(friction.flange_b, wall.flange)
        return float(dd.simulate(m, 2.0)["body.position"][-1])

    assert at_rest() == 0.0
    assert 0 < at_rest(width=1e-4) < 1e-3


def sampled_loop(tracking: float) -> dd.Trajectory:
    m = dd.Model("loop")
    goal = m.parameter("goal", 1.0)
    x, v = m.state("x", start=0.0), m.state("v", start=0.0)
    gains = {"proportional": 20.0, "integral": 40.0, "derivative": 4.0, "filter": 0.05}
    pid = m.add(S.PID("pid", **gains, lower=-3.0, upper=3.0, tracking=tracking, period=0.01))
    m.connect(goal, pid.setpoint)
    m.connect(x, pid.measurement)
    m.equation(m.der(x), v)
    m.equation(m.der(v), m["pid.output"] - 0.5 * v - x)
    return dd.simulate(m, 10.0)


def test_a_sampled_pid_keeps_its_bounds_and_does_not_wind_up() -> None:
    kept, wound_up = sampled_loop(0.2), sampled_loop(1e6)
    for tr in (kept, wound_up):
        assert tr.success
        assert np.abs(tr["pid.output"]).max() <= 3.0
    assert abs(kept["x"][-1] - 1.0) < 1e-3
    assert kept["x"].max() < 1.12 < 1.2 < wound_up["x"].max()
