"""What document 002 says of actuators, each checked; and its table of effort and flow in four domains."""

import math

import numpy as np
import pytest

import daedalus as dd

C = dd.components
R, E, T, H = C.rotational, C.electrical, C.translational, C.hydraulic


def test_motor_and_load_with_both_powers():
    """J ω' = T − T_L: the source gives T ω, the load takes T_L ω."""
    m = dd.Model("motor and load")
    push, brake = m.add(R.TorqueSource("push", torque=3.0)), m.add(R.TorqueSource("brake", torque=-1.0))
    rotor = m.add(R.Inertia("rotor", inertia=0.5))
    m.connect(push.shaft, rotor.shaft, brake.shaft)
    tr = dd.simulate(m, 2.0)
    assert tr["rotor.speed"][-1] == pytest.approx(2.0 * (3.0 - 1.0) / 0.5)
    power = tr.power()["supplied"].isel(time=-1)
    assert float(power.sel(component="push")) == pytest.approx(3.0 * tr["rotor.speed"][-1])
    assert float(power.sel(component="brake")) == pytest.approx(-1.0 * tr["rotor.speed"][-1])


@pytest.mark.parametrize("ratio", [{"speed_ratio": 0.25}, {"reduction": 4.0}])
def test_gear(ratio):
    """ω_out = n ω_in, T_out = T_in / n, equal powers, (J_m + n² J_L) ω' = T − n T_e."""
    n, motor_inertia, load_inertia = 0.25, 0.1, 2.0
    m = dd.Model("gear")
    push, brake = m.add(R.TorqueSource("push", torque=3.0)), m.add(R.TorqueSource("brake", torque=-2.0))
    rotor, load = m.add(R.Inertia("rotor", inertia=motor_inertia)), m.add(R.Inertia("load", inertia=load_inertia))
    gear = m.add(R.Gear("gear", **ratio))
    m.connect(push.shaft, rotor.shaft, gear.shaft_a)
    m.connect(gear.shaft_b, load.shaft, brake.shaft)
    tr = dd.simulate(m, 1.0)
    np.testing.assert_allclose(tr["load.speed"], n * tr["rotor.speed"], atol=1e-12)
    np.testing.assert_allclose(-tr["gear.shaft_b.torque"], tr["gear.shaft_a.torque"] / n, rtol=1e-9)
    assert tr["rotor.speed"][-1] == pytest.approx((3.0 - n * 2.0) / (motor_inertia + n**2 * load_inertia))
    received = tr.power()["received"].sel(component="gear")
    assert float(abs(received).max()) < 1e-9


def test_a_gear_with_losses_loses_on_the_driven_side():
    m = dd.Model("lossy")
    drive = m.add(R.SpeedSource("drive", speed=10.0))
    gear, brake = m.add(R.Gear("gear", reduction=2.0, efficiency=0.8)), m.add(R.Damper("brake", damping=1.0))
    ground = m.add(R.Ground("ground"))
    m.connect(drive.shaft, gear.shaft_a)
    m.connect(gear.shaft_b, brake.shaft_a)
    m.connect(brake.shaft_b, ground.shaft)
    balance = dd.simulate(m, 1.0).energy_balance()
    assert float(balance.components["lost"].sel(component="brake")) == pytest.approx(25.0, rel=1e-6)
    assert balance.supplied == pytest.approx(25.0 / 0.8, rel=1e-6)


def dc_motor(voltage, torque, **more):
    m = dd.Model("dc motor")
    words = {"resistance": 2.0, "inductance": 0.01, "constant": 0.5, "inertia": 0.02} | more
    motor, load = m.add(C.machines.DCMotor("motor", **words)), m.add(R.TorqueSource("load", torque=torque))
    source, ground = m.add(E.VoltageSource("source", voltage=voltage)), m.add(E.Ground("ground"))
    m.connect(source.plus, motor.plus)
    m.connect(source.minus, motor.minus, ground.pin)
    m.connect(motor.shaft, load.shaft)
    return m


@pytest.mark.document("002", "motor and load, gear, DC motor", "`dd.components.machines`")
def test_dc_motor_has_the_three_equations():
    """L i' = −R i − K_E ω + u, J ω' = K_T i − T_L, T = K_T i with K_E = K_T."""
    tr = dd.simulate(dc_motor(12.0, -1.0), 0.5, rtol=1e-9)
    i, w = tr["motor.current"], tr["motor.speed"]
    np.testing.assert_allclose(0.01 * tr["motor.current_dot"], 12.0 - 2.0 * i - 0.5 * w, atol=1e-8)
    np.testing.assert_allclose(0.02 * tr["motor.angle_ddot"], 0.5 * i - 1.0, atol=1e-8)
    np.testing.assert_allclose(tr["motor.torque"], 0.5 * i)
    # Equal constants: what the armature turns into mechanical power is what the rotor gets.
    assert abs(dd.simulate(dc_motor(12.0, -1.0), 0.5).energy_balance().error) < 1e-5


SIGNS = {1: (1, 1), 2: (-1, 1), 3: (-1, -1), 4: (1, -1)}


@pytest.mark.document("002", "four quadrants: a motor in 1 and 3, a generator or brake in 2 and 4", "`DCMotor`")
@pytest.mark.parametrize(
    ("voltage", "torque", "quadrant", "acts_as"),
    [
        (12.0, -1.0, 1, "motor"),
        (-12.0, -8.0, 2, "generator"),
        (12.0, -8.0, 2, "brake"),
        (-12.0, 1.0, 3, "motor"),
        (12.0, 8.0, 4, "generator"),
        (-12.0, 8.0, 4, "brake"),
    ],
)
def test_four_quadrants(voltage, torque, quadrant, acts_as):
    """T = K (u − K ω) / R. Motor: u i > 0 and T ω > 0; generator: both turn round; brake: both sides feed the heat."""
    resistance = 2.0
    tr = dd.simulate(dc_motor(voltage, torque, resistance=resistance), 20.0)
    speed, drive, current = (tr[f"motor.{name}"][-1] for name in ("speed", "torque", "current"))
    assert drive == pytest.approx(-torque, rel=1e-6)
    assert drive == pytest.approx(0.5 * (voltage - 0.5 * speed) / resistance, rel=1e-6)
    assert (np.sign(speed), np.sign(drive)) == SIGNS[quadrant]
    assert (np.sign(voltage * current), np.sign(drive * speed)) == POWERS[acts_as]
    assert voltage * current == pytest.approx(drive * speed + resistance * current**2, rel=1e-6)


# The signs of the electrical power that goes in and of the mechanical power that comes out.
POWERS = {"motor": (1, 1), "generator": (-1, -1), "brake": (1, -1)}


@pytest.mark.document("002", "four quadrants of a machine fed by its frequency", "`Model.equation`")
@pytest.mark.parametrize(
    ("direction", "torque", "quadrant", "acts_as"),
    [(1, -20.0, 1, "motor"), (-1, -20.0, 2, "generator"), (-1, 20.0, 3, "motor"), (1, 20.0, 4, "generator")],
)
def test_four_quadrants_of_an_induction_machine(direction, torque, quadrant, acts_as):
    """Five equations in the turning frame end at the torque of the equivalent circuit; above its field it generates."""
    tr = dd.simulate(induction_machine(direction, torque), 4.0, rtol=1e-8)
    speed, drive, power = (tr[name][-1] for name in ("speed", "drive", "power"))
    assert drive == pytest.approx(torque_of_equivalent_circuit(direction, speed), rel=1e-5)
    assert (np.sign(speed), np.sign(drive)) == SIGNS[quadrant]
    assert (np.sign(power), np.sign(drive * speed)) == POWERS[acts_as]
    assert (abs(speed) > FIELD) == (acts_as == "generator")


def test_an_induction_machine_with_two_phases_exchanged_is_a_brake():
    """The field turns against the rotor: source and rotor feed the heat until it stands."""
    tr = dd.simulate(induction_machine(-1, 0.0, speed=FIELD), 4.0, rtol=1e-8)
    turning = (tr["speed"] > 0.05 * FIELD) & (tr["speed"] < 0.9 * FIELD)
    assert turning.sum() > 10
    assert np.all(tr["drive"][turning] < 0)
    assert np.all(tr["power"][turning] > 0)
    assert tr["speed"][-1] == pytest.approx(-FIELD, rel=1e-3)


# 50 Hz, two pairs of poles; resistances in Ω and inductances in H of stator and rotor, and what links them.
PAIRS, FREQUENCY, VOLTAGE = 2, 100 * math.pi, 325.0
FIELD = FREQUENCY / PAIRS
STATOR, ROTOR, LEAK, LINK = 1.2, 1.0, 0.006, 0.16


def induction_machine(direction, torque, speed=0.0):
    """In a frame that turns with the field: flux linkages, and currents that follow from them (Krause, chapter 6)."""
    m = dd.Model("induction machine")
    stator, rotor = m.state("stator", 2, start=[0, 0], unit="Wb"), m.state("rotor", 2, start=[0, 0], unit="Wb")
    w = m.state("w", start=speed, unit="rad/s")
    own, turn = LEAK + LINK, np.array([[0.0, 1.0], [-1.0, 0.0]])
    across = 1 / (own**2 - LINK**2)
    current, induced = (own * stator - LINK * rotor) * across, (own * rotor - LINK * stator) * across
    voltage, field = np.array([VOLTAGE, 0.0]), direction * FREQUENCY
    m.equation(m.der(stator), voltage - STATOR * current + field * (turn @ stator))
    m.equation(m.der(rotor), -ROTOR * induced + (field - PAIRS * w) * (turn @ rotor))
    drive = 1.5 * PAIRS * (stator[0] * current[1] - stator[1] * current[0])
    m.equation(0.1 * m.der(w), drive + torque)
    m.output("drive", drive)
    m.output("speed", w)
    m.output("power", 1.5 * VOLTAGE * current[0])
    return m


def torque_of_equivalent_circuit(direction, speed):
    """Stator, then the magnetising branch beside the rotor, whose resistance is divided by the slip."""
    slip = (direction * FIELD - speed) / (direction * FIELD)
    rotor = ROTOR / slip + 1j * FREQUENCY * LEAK
    link = 1j * FREQUENCY * LINK
    beside = link * rotor / (link + rotor)
    current = VOLTAGE / (STATOR + 1j * FREQUENCY * LEAK + beside)
    through = current * beside / rotor
    return direction * 1.5 * abs(through) ** 2 * ROTOR / slip / FIELD


@pytest.mark.document("002", "elastic transmission", "`ElasticTransmission`")
def test_elastic_transmission_swings_in_closed_form():
    """θ_e = θ_m − θ_L swings with ω² = K / J_e about the middle; anti-resonance √(K / J_L) seen from the motor."""
    motor_inertia, load_inertia, stiffness = 0.02, 0.1, 50.0
    m = dd.Model("elastic")
    u = m.input("u")
    push = m.add(R.TorqueSource("push", torque=u))
    rotor, load = m.add(R.Inertia("rotor", inertia=motor_inertia)), m.add(R.Inertia("load", inertia=load_inertia))
    shaft = m.add(C.machines.ElasticTransmission("shaft", stiffness=stiffness))
    m.connect(push.shaft, rotor.shaft, shaft.shaft_a)
    m.connect(shaft.shaft_b, load.shaft)
    m.output("motor_speed", rotor.speed)
    common = motor_inertia * load_inertia / (motor_inertia + load_inertia)
    natural = math.sqrt(stiffness / common)
    poles = dd.linearise(m, at={"u": 0.0}).poles()
    assert max(abs(poles.imag)) == pytest.approx(natural, rel=1e-9)
    tr = dd.simulate(m, 0.5, start={"rotor.angle": 0.1}, inputs={"u": 0.0}, rtol=1e-10)
    np.testing.assert_allclose(tr["shaft.angle"], 0.1 * np.cos(natural * tr.time), atol=1e-8)
    # Driven at the anti-resonance, the motor can stand still while the load swings.
    anti = math.sqrt(stiffness / load_inertia)
    start = {"load.angle": -1.0 / stiffness}
    tr = dd.simulate(m, 1.0, start=start, inputs={"u": lambda t: np.cos(anti * t)}, rtol=1e-10)
    assert float(abs(tr["rotor.speed"]).max()) < 1e-6


@pytest.mark.parametrize("damping", [0.0, 0.4])
def test_elastic_transmission_in_the_coordinates_of_the_document(damping):
    """θ_e = θ_L − θ_m and θ_r = θ_m + J_L/J_m θ_L: θ_e'' + D/J_e θ_e' + K/J_e θ_e = −T/J_m, θ_r'' = T/J_m."""
    motor_inertia, load_inertia, stiffness, torque = 0.02, 0.1, 50.0, 0.5
    m = dd.Model("elastic")
    push = m.add(R.TorqueSource("push", torque=torque))
    rotor, load = m.add(R.Inertia("rotor", inertia=motor_inertia)), m.add(R.Inertia("load", inertia=load_inertia))
    shaft = m.add(C.machines.ElasticTransmission("shaft", stiffness=stiffness, damping=damping))
    m.connect(push.shaft, rotor.shaft, shaft.shaft_a)
    m.connect(shaft.shaft_b, load.shaft)
    tr = dd.simulate(m, 1.0, rtol=1e-10)
    common = motor_inertia * load_inertia / (motor_inertia + load_inertia)
    (bent, rate, change), (common_angle, _, common_change) = (
        [scale * tr[f"rotor.angle{dot}"] + other * tr[f"load.angle{dot}"] for dot in ("", "_dot", "_ddot")]
        for scale, other in ((-1.0, 1.0), (1.0, load_inertia / motor_inertia))
    )
    law = change + damping / common * rate + stiffness / common * bent
    np.testing.assert_allclose(law, -torque / motor_inertia, rtol=1e-9)
    np.testing.assert_allclose(common_change, torque / motor_inertia, rtol=1e-9)
    np.testing.assert_allclose(common_angle, 0.5 * torque / motor_inertia * tr.time**2, atol=1e-8)
    # T_L, which the shaft hands on to the load.
    np.testing.assert_allclose(tr["load.torque"], -stiffness * bent - damping * rate, atol=1e-9)


def orifice(drop, **more):
    m = dd.Model("orifice")
    part = m.add(H.Restriction("edge", area=1e-5, density=850.0, **more))
    high, low = m.add(H.PressureSource("high", pressure=drop)), m.add(H.PressureSource("low", pressure=0.0))
    tank = m.add(H.Volume("rest", volume=1e-3))
    m.connect(high.a, part.a, tank.a)
    m.connect(part.b, low.a)
    tr = dd.simulate(m, 1e-6)
    return float(tr["edge.flow"][-1]), float(tr["edge.reynolds"][-1])


@pytest.mark.document("002", "flow through a restriction, turbulent and laminar", "`hydraulic.Restriction`")
def test_orifice_turbulent_laminar_and_between():
    """q = C_d A √(2 Δp / ρ) above Re 1000, proportional to Δp below 10, both directions, finite slope at zero."""
    flow, reynolds = orifice(1e6)
    assert reynolds > 1000
    # Re = D q / (A ν) with the diameter of a round hole of that area and document 002's oil.
    assert reynolds == pytest.approx(math.sqrt(4 * 1e-5 / math.pi) * flow / (1e-5 * 30e-6), rel=1e-12)
    assert flow == pytest.approx(0.61 * 1e-5 * math.sqrt(2e6 / 850.0), rel=1e-3)
    assert orifice(1e6, edge="rounded")[0] == pytest.approx(flow * 0.85 / 0.61, rel=1e-3)
    assert orifice(-1e6)[0] == pytest.approx(-flow, rel=1e-12)
    small, low = orifice(100.0)
    assert low < 10
    assert small / 100.0 == pytest.approx(orifice(1.0)[0], rel=2e-2)
    assert orifice(0.0)[0] == 0.0
    # A finite slope at no drop: the flow goes with the drop, whatever its size.
    assert orifice(1e-6)[0] / 1e-6 == pytest.approx(orifice(1e-3)[0] / 1e-3, rel=1e-2)
    flows = [orifice(drop)[0] for drop in np.geomspace(1.0, 1e7, 25)]
    assert np.all(np.diff(flows) > 0)


# Document 002's table: effort, flow, inertance, momentum, displacement; the hydraulic inertance, blank there, is
# ρ ℓ / A.
# The same second-order system in four domains: inertance 0.4, damping 0.3, compliance 1/5, an effort of 2.
def electrical():
    m = dd.Model("electrical")
    source, ground = m.add(E.VoltageSource("source", voltage=2.0)), m.add(E.Ground("ground"))
    r, coil = m.add(E.Resistor("r", resistance=0.3)), m.add(E.Inductor("l", inductance=0.4))
    c = m.add(E.Capacitor("c", capacitance=0.2))
    m.connect(source.plus, r.plus)
    m.connect(r.minus, coil.plus)
    m.connect(coil.minus, c.plus)
    m.connect(source.minus, c.minus, ground.pin)
    return m, "l.current", lambda tr: 0.2 * tr["c.voltage"]


def mechanical(kind, inertia, port, push, flow, place):
    def build():
        m = dd.Model("mechanical")
        word = "torque" if kind is R else "force"
        drive = m.add(push("drive", **{word: 2.0}))
        body = m.add(inertia("body", **{"inertia" if kind is R else "mass": 0.4}))
        spring, damper = m.add(kind.Spring("spring", stiffness=5.0)), m.add(kind.Damper("damper", damping=0.3))
        ground = m.add(kind.Ground("ground"))
        ends = [getattr(part, f"{port}_a") for part in (spring, damper)]
        m.connect(getattr(drive, port), getattr(body, port), *ends)
        m.connect(getattr(ground, port), *(getattr(part, f"{port}_b") for part in (spring, damper)))
        return m, f"body.{flow}", lambda tr: tr[f"body.{place}"]

    return build


def hydraulic():
    m = dd.Model("hydraulic")
    source, line = (
        m.add(H.PressureSource("source", pressure=2.0)),
        m.add(
            H.Line("line", length=2.0, area=500.0, density=100.0, resistance=0.3)  # ρ ℓ / A = 0.4
        ),
    )
    tank = m.add(H.Volume("tank", volume=0.2, bulk_modulus=1.0))
    m.connect(source.a, line.a)
    m.connect(line.b, tank.a)
    return m, "line.flow", lambda tr: 0.2 * tr["tank.pressure"]


DOMAINS = {
    "electrical": electrical,
    "rotational": mechanical(R, R.Inertia, "shaft", R.TorqueSource, "speed", "angle"),
    "translational": mechanical(T, T.Mass, "flange", T.ForceSource, "velocity", "position"),
    "hydraulic": hydraulic,
}


@pytest.mark.document("002", "effort, flow, inertance, momentum, displacement in four domains", "`dd.components`")
@pytest.mark.parametrize("domain", list(DOMAINS))
def test_one_language_of_effort_and_flow(domain):
    m, flow, displacement = DOMAINS[domain]()
    rtol = 1e-8
    tr = dd.simulate(m, 3.0, rtol=rtol, save_at=np.linspace(0.0, 3.0, 31))
    decay, free = 0.3 / 0.8, math.sqrt(5 / 0.4 - (0.3 / 0.8) ** 2)
    t = tr.time
    exact = 2.0 / (0.4 * free) * np.exp(-decay * t) * np.sin(free * t)
    place = 0.4 * (1 - np.exp(-decay * t) * (np.cos(free * t) + decay / free * np.sin(free * t)))
    np.testing.assert_allclose(tr[flow], exact, atol=10 * rtol)
    np.testing.assert_allclose(displacement(tr), place, atol=10 * rtol)
    # Momentum = inertance · flow: what stores it holds momentum² / (2 inertance).
    part, momentum = flow.partition(".")[0], 0.4 * exact[-1]
    stored = tr.energy_balance().components["stored"].sel(component=part)
    assert float(stored) == pytest.approx(momentum**2 / (2 * 0.4), abs=10 * rtol)
    np.testing.assert_allclose(tr[f"{part}.momentum"], 0.4 * exact, atol=10 * rtol)
    assert abs(tr.energy_balance().error) < 10 * rtol


@pytest.mark.document("002", "units of pressure: Pa, bar, psi, and Pa m³/s is a power", "`dd.units.convert`")
def test_units_of_the_table():
    """A flow is a volume a second (the document prints kg/m³), and 1 psi is 6894.757 Pa (it prints 6897)."""
    m = dd.Model("units")
    m.add(H.FlowSource("source", flow=1.0))
    assert m.variables["source.flow"].unit == "m^3/s"
    assert dd.units.convert(1.0, "psi", "Pa") == pytest.approx(6894.757, abs=1e-3)
    assert dd.units.convert(1.0, "bar", "Pa") == pytest.approx(1e5)
    power = dd.units.convert(1.0, "Pa*m^3/s", "W")
    assert power == pytest.approx(1.0)
