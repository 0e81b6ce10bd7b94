"""Ready parts, one by one: every kind is written, its units are known, and its law holds."""

import math

import numpy as np
import pytest

import daedalus as dd

C = dd.components
E, R, T, S = C.electrical, C.rotational, C.translational, C.signals
DOMAINS = ("electrical", "rotational", "translational", "hydraulic", "thermal", "signals", "machines")
KINDS = [getattr(getattr(C, domain), name) for domain in DOMAINS for name in getattr(C, domain).__all__]
VALUES = {"x": [0.0, 1.0], "values": [0.0, 1.0], "numerator": [1.0], "denominator": [1.0, 1.0], "A": [[1.0]]}
MORE = {
    "Gear": {"reduction": 2.0},
    "GearedMotor": {"reduction": 2.0},
    "Diode": {"saturation_current": 1e-12},
    "Transformer": {"ratio": 2.0},
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.title())
def test_every_part_is_written_and_its_units_are_known(kind):
    needed = {word: VALUES.get(word, 0.5) for word, keyword in kind.keywords.items() if repr(keyword.default) == "..."}
    m = dd.Model("m")
    part = kind("part", **needed, **MORE.get(kind.__name__, {}))
    m.add(part)
    assert kind.__doc__
    units = {variable.unit for variable in m.variables.values()} | {part.unit(word) for word in kind.keywords}
    assert [unit for unit in units if unit and not dd.units.is_known(unit)] == []


def joined(*nodes):
    """Connect ports of parts of one model, node by node."""
    for node in nodes:
        node[0]._book.connect(*node)


def test_an_ideal_transformer():
    m = dd.Model("transformer")
    source, r, ground = (
        m.add(E.VoltageSource("s", voltage=10.0)),
        m.add(E.Resistor("r", resistance=2.0)),
        m.add(E.Ground("g")),
    )
    t = m.add(E.Transformer("t", ratio=0.5))
    joined(
        (source.plus, t.primary_plus),
        (t.secondary_plus, r.plus),
        (source.minus, t.primary_minus, t.secondary_minus, r.minus, ground.pin),
    )
    tr = dd.simulate(m, 1.0)
    assert tr["r.current"][-1] == pytest.approx(2.5)
    assert tr["s.current"][-1] == pytest.approx(-1.25)


@pytest.mark.parametrize(("gain", "bandwidth", "near"), [(None, None, 1e-12), (1e6, None, 1e-4), (1e6, 1e6, 1e-4)])
def test_an_inverting_amplifier(gain, bandwidth, near):
    m = dd.Model("inverting")
    source, amplifier = m.add(E.VoltageSource("s", voltage=1.0)), m.add(E.OpAmp("o", gain=gain, bandwidth=bandwidth))
    a, b, load = (m.add(E.Resistor(n, resistance=r)) for n, r in (("a", 1e3), ("b", 1e4), ("l", 1e3)))
    ground = m.add(E.Ground("g"))
    joined(
        (source.plus, a.plus),
        (a.minus, b.plus, amplifier.minus),
        (b.minus, amplifier.output, load.plus),
        (amplifier.plus, source.minus, load.minus, ground.pin),
    )
    assert dd.simulate(m, 1.0)["l.voltage"][-1] == pytest.approx(-10.0, rel=near)


def test_a_clutch_brings_two_shafts_together():
    m = dd.Model("clutch")
    u = m.input("u")
    a, b = m.add(R.Inertia("a", inertia=1.0)), m.add(R.Inertia("b", inertia=1.0))
    clutch = m.add(R.Clutch("c", capacity=2.0))
    joined((a.shaft, clutch.shaft_a), (clutch.shaft_b, b.shaft))
    m.connect(u, clutch.engaged)
    tr = dd.simulate(m, 3.0, start={"a.speed": 4.0}, inputs={"u": dd.signal([0.0, 1.0], [0.0, 1.0])})
    assert tr["a.speed"][-1] == pytest.approx(2.0, abs=1e-6)
    assert tr["b.speed"][-1] == pytest.approx(2.0, abs=1e-6)
    balance = tr.energy_balance()
    assert balance.lost == pytest.approx(4.0, rel=1e-4)
    assert abs(balance.error) < 1e-5


def test_a_speed_source_turns_an_inertia():
    m = dd.Model("turned")
    u = m.input("u")
    source, wheel = m.add(R.SpeedSource("s", speed=u)), m.add(R.Inertia("i", inertia=2.0))
    m.connect(source.shaft, wheel.shaft)
    tr = dd.simulate(m, 1.0, inputs={"u": lambda t: np.sin(t)})
    np.testing.assert_allclose(tr["i.torque"], 2.0 * np.cos(tr.time), atol=1e-6)
    assert tr["i.angle"][-1] == pytest.approx(1 - math.cos(1.0), abs=1e-6)


def test_a_node_without_inertia_between_two_springs():
    m = dd.Model("springs")
    one, two = (m.add(R.Spring(name, stiffness=1.0)) for name in ("one", "two"))
    body, ground = m.add(R.Inertia("body", inertia=1.0)), m.add(R.Ground("ground"))
    joined((ground.shaft, one.shaft_a), (one.shaft_b, two.shaft_a), (two.shaft_b, body.shaft))
    tr = dd.simulate(m, 1.0, start={"body.angle": 1.0}, rtol=1e-9)
    assert tr["body.angle"][-1] == pytest.approx(math.cos(math.sqrt(0.5)), abs=1e-8)


def test_friction_brakes_and_holds():
    m = dd.Model("sliding")
    body, wall = m.add(T.Mass("body", mass=1.0)), m.add(T.Ground("wall"))
    friction = m.add(T.Friction("friction", kinetic=2.0))
    joined((body.flange, friction.flange_a), (friction.flange_b, wall.flange))
    tr = dd.simulate(m, 2.0, start={"body.velocity": 2.0})
    assert tr["body.position"][-1] == pytest.approx(1.0, rel=1e-3)
    assert abs(tr["body.velocity"][-1]) < 1e-4


def test_backlash_carries_nothing_inside_its_gap():
    m = dd.Model("play")
    a, b = m.add(R.Inertia("a", inertia=1.0)), m.add(R.Inertia("b", inertia=1.0))
    play = m.add(R.Backlash("play", gap=0.2, stiffness=1e4))
    joined((a.shaft, play.shaft_a), (play.shaft_b, b.shaft))
    tr = dd.simulate(m, 0.2, start={"a.speed": 1.0})
    early = tr.time < 0.09
    assert np.all(tr["play.torque"][early] == 0)
    # An elastic impact of equal inertias hands the speed on.
    assert tr["b.speed"][-1] == pytest.approx(1.0, abs=1e-3)
    assert abs(tr.energy_balance().error) < 1e-5


def test_blocks():
    m = dd.Model("blocks")
    one, far = m.parameter("one", 1.0), m.parameter("far", 1.5)
    lag2 = m.add(S.TransferFunction("f", numerator=[1.0], denominator=[1.0, 2.0, 1.0]))
    space = m.add(S.StateSpace("space", A=[[0.0, 1.0], [-1.0, -2.0]], B=[0.0, 1.0], C=[1.0, 0.0]))
    curve = m.add(S.Lookup("curve", x=[0.0, 1.0, 2.0], values=[0.0, 1.0, 4.0]))
    face = m.add(S.Lookup("face", x=[0.0, 1.0], y=[0.0, 2.0], values=[[0.0, 2.0], [1.0, 5.0]]))
    total = m.add(S.Sum("total", signs="+-+"))
    limit, slow = m.add(S.Limiter("limit", lower=-1.0, upper=1.0)), m.add(S.RateLimiter("slow", rate=0.5))
    gain, lag, integral = (
        m.add(S.Gain("gain", gain=3.0)),
        m.add(S.Lag("lag", time_constant=1.0)),
        m.add(S.Integrator("i")),
    )
    m.connect(one, lag2.input, space.input, total.input_1, lag.input, integral.input, slow.input, face.input_2)
    m.connect(far, curve.input, total.input_2, limit.input, gain.input)
    m.connect(0.5 * one, face.input_1)
    m.connect(curve.output, total.input_3)
    tr = dd.simulate(m, 1.0, rtol=1e-9)
    exact = {
        "f": 1 - 2 * math.exp(-1), "space": 1 - 2 * math.exp(-1), "curve": 2.5, "face": 2.0, "total": 2.0,
        "limit": 1.0, "gain": 4.5, "lag": 1 - math.exp(-1), "i": 1.0, "slow": 0.5,
    }  # fmt: skip
    for name, value in exact.items():
        assert tr[f"{name}.output"][-1] == pytest.approx(value, abs=1e-6), name


def test_a_pid_controller_does_not_wind_up():
    m = dd.Model("loop")
    pid = m.add(S.PID("pid", proportional=2.0, integral=2.0, derivative=0.1, lower=-1.0, upper=1.0, tracking=0.2))
    plant = m.add(S.Lag("plant", time_constant=1.0, gain=1.0))
    m.connect(m.parameter("wanted", 0.9), pid.setpoint)
    m.connect(plant.output, pid.measurement)
    m.connect(pid.output, plant.input)
    tr = dd.simulate(m, 20.0)
    assert tr["plant.output"][-1] == pytest.approx(0.9, abs=1e-3)
    assert float(tr["plant.output"].max()) < 0.95


@pytest.mark.parametrize("period", [None, 0.01])
def test_units_of_signals_give_those_of_gains_and_bounds(period):
    """A loop whose labels are wrong would not pass the check of its equations."""
    m = dd.Model("loop")
    units = {"input_unit": "rad/s", "output_unit": "V"}
    gains = {"proportional": 2.0, "integral": 2.0, "derivative": 0.1, "lower": -1.0, "upper": 1.0, "tracking": 0.2}
    pid = m.add(S.PID("pid", **gains, **units, period=period))
    motor = m.add(S.Lag("motor", time_constant=1.0, gain=3.0, input_unit="V", output_unit="rad/s"))
    angle = m.add(S.Integrator("angle", input_unit="rad/s", output_unit="rad"))
    m.connect(m.parameter("wanted", 0.9, unit="rad/s"), pid.setpoint)
    m.connect(motor.output, pid.measurement, angle.input)
    m.connect(pid.output, motor.input)
    known = {v.name: v.unit for v in m.freeze().variables}
    assert {name: known[f"pid.{name}"] for name in ("proportional", "integral", "derivative", "lower")} == {
        "proportional": "V*s/rad", "integral": "V/rad", "derivative": "V*s*s/rad", "lower": "V",
    }  # fmt: skip
    assert (known["motor.gain"], known["angle.gain"]) == ("rad/s/V", "")
    assert dd.check_units(m) == []
    assert dd.simulate(m, 1.0).success
