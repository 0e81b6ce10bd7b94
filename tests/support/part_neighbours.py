"""Machines of hydraulic, electrical, thermal and mechanical parts, each with the equations that a textbook prints.

Every function gives the model and, by the name of a state, the formula of its derivative of first or second order.
"""

import casadi as ca

import daedalus as dd

E, H, T = dd.components.electrical, dd.components.hydraulic, dd.components.thermal
R, L, M = dd.components.rotational, dd.components.translational, dd.components.machines


def two_tanks():
    """Tanks in a row: A h1' = q − (p1 − p2)/R (Ogata, System Dynamics, liquid-level systems)."""
    m = dd.Model("two tanks")
    pump, air = m.add(H.FlowSource("pump", flow=m.input("q"))), m.add(H.PressureSource("air", pressure=0.0))
    a, b = m.add(H.Tank("a", area=1.0)), m.add(H.Tank("b", area=2.0))
    pipe, out = m.add(H.Resistance("pipe", resistance=1e4)), m.add(H.Resistance("out", resistance=2e4))
    m.connect(pump.a, a.outlet, pipe.a)
    m.connect(pipe.b, b.outlet, out.a)
    m.connect(out.b, air.a)
    high, low = (m[f"{t}.density"] * m[f"{t}.gravity"] * m[f"{t}.level"] for t in "ab")
    through, away = (high - low) / m["pipe.resistance"], (low - m["air.pressure"]) / m["out.resistance"]
    return m, {"a.level": (m["q"] - through) / m["a.area"], "b.level": (through - away) / m["b.area"]}


def line_and_volume():
    """Inertance and capacity of a fluid: I q' = p − p_v − R q, V/β p_v' = q − p_v/R_l."""
    m = dd.Model("line and volume")
    supply = m.add(H.PressureSource("supply", pressure=m.input("p")))
    line = m.add(H.Line("line", length=10.0, area=1e-3, resistance=1e7))
    volume, leak = m.add(H.Volume("volume", volume=1e-3)), m.add(H.Resistance("leak", resistance=1e9))
    air = m.add(H.PressureSource("air", pressure=0.0))
    m.connect(supply.a, line.a)
    m.connect(line.b, volume.a, leak.a)
    m.connect(leak.b, air.a)
    p, q = m["volume.pressure"], m["line.flow"]
    inertance = m["line.density"] * m["line.length"] / m["line.area"]
    out = (p - m["air.pressure"]) / m["leak.resistance"]
    return m, {
        "volume.pressure": m["volume.bulk_modulus"] / m["volume.volume"] * (q - out),
        "line.flow": (m["p"] - p - m["line.resistance"] * q) / inertance,
    }


def servo_cylinder():
    """A valve moves a piston (Merritt, Hydraulic Control Systems, chapter 6): V/β p' = q − A x' − leakage."""
    m = dd.Model("servo cylinder")
    valve, cylinder = m.add(H.ServoValve("valve", area=1e-5)), m.add(H.Cylinder("c", area_a=1e-3, stroke=1.0))
    supply, tank = m.add(H.PressureSource("supply", pressure=1e7)), m.add(H.PressureSource("tank", pressure=0.0))
    load = m.add(L.Mass("load", mass=100.0))
    m.connect(supply.a, valve.supply)
    m.connect(tank.a, valve.tank)
    m.connect(valve.a, cylinder.a)
    m.connect(valve.b, cylinder.b)
    m.connect(cylinder.flange, load.flange)
    m.connect(m.input("u"), valve.opening)
    x, v = m["c.flange.position"], m.der(m["c.flange.position"])
    a, b, u, bulk = m["c.pressure_a"], m["c.pressure_b"], m["u"], m["c.bulk_modulus"]
    size = m["valve.discharge"] * m["valve.area"] * ca.sqrt(2 / m["valve.density"])

    def edge(high, low):
        return size * (high - low) / ((high - low) ** 2 + 1) ** 0.25

    out, back = ca.fmax(u, 0), ca.fmax(-u, 0)
    into_a = out * edge(m["supply.pressure"], a) - back * edge(a, m["tank.pressure"])
    into_b = back * edge(m["supply.pressure"], b) - out * edge(b, m["tank.pressure"])
    leak = m["c.leakage"] * (a - b)
    volume_a = m["c.dead_volume"] + m["c.area_a"] * x
    volume_b = m["c.dead_volume"] + m["c.area_b"] * (m["c.stroke"] - x)
    push = m["c.area_a"] * a - m["c.area_b"] * b - m["c.damping"] * v
    return m, {
        "c.pressure_a": bulk / volume_a * (into_a - m["c.area_a"] * v - leak),
        "c.pressure_b": bulk / volume_b * (into_b + m["c.area_b"] * v + leak),
        "c.flange.position_dot": push / m["load.mass"],
    }


def pump_drive():
    """J ω' = τ − D Δp − d ω, V/β p' = D ω − leakage Δp − Δp/R (Merritt, chapter 4)."""
    m = dd.Model("pump drive")
    torque, wheel = m.add(R.TorqueSource("t", torque=m.input("tau"))), m.add(R.Inertia("j", inertia=0.1))
    pump = m.add(H.Pump("pump", displacement=1e-6, leakage=1e-12))
    tank, volume = m.add(H.PressureSource("tank", pressure=0.0)), m.add(H.Volume("v", volume=1e-3))
    load = m.add(H.Resistance("load", resistance=1e10))
    m.connect(torque.shaft, wheel.shaft, pump.shaft)
    m.connect(pump.a, tank.a, load.b)
    m.connect(pump.b, volume.a, load.a)
    angle = "t.shaft.angle"
    speed, rise = m.der(m[angle]), m["v.pressure"] - m["tank.pressure"]
    share = m["pump.leakage"] + 1 / m["load.resistance"]
    torque_left = m["tau"] - m["pump.displacement"] * rise - m["pump.damping"] * speed
    return m, {
        f"{angle}_dot": torque_left / m["j.inertia"],
        "v.pressure": m["v.bulk_modulus"] / m["v.volume"] * (m["pump.displacement"] * speed - share * rise),
    }


def _windings(m, **keywords):
    source, ground = m.add(E.VoltageSource("s", voltage=m.input("u"))), m.add(E.Ground("g"))
    one, two = m.add(E.Resistor("r1", resistance=1.0)), m.add(E.Resistor("r2", resistance=10.0))
    t = m.add(E.Transformer("t", **keywords))
    m.connect(source.plus, one.plus)
    m.connect(one.minus, t.primary_plus)
    m.connect(t.secondary_plus, two.plus)
    m.connect(source.minus, t.primary_minus, t.secondary_minus, two.minus, ground.pin)
    return t


def coupled_coils():
    """L1 i1' + M i2' = u − R1 i1, M i1' + L2 i2' = −R2 i2, solved by Cramer's rule."""
    m = dd.Model("coupled coils")
    _windings(m, primary_inductance=1.0, secondary_inductance=0.1, coupling=0.9)
    l1, l2, k = m["t.primary_inductance"], m["t.secondary_inductance"], m["t.coupling"]
    one = m["u"] - m["r1.resistance"] * m["t.primary_current"]
    two = -m["r2.resistance"] * m["t.secondary_current"]
    mutual, below = k * ca.sqrt(l1 * l2), l1 * l2 * (1 - k**2)
    return m, {
        "t.primary_current": (l2 * one - mutual * two) / below,
        "t.secondary_current": (l1 * two - mutual * one) / below,
    }


def ideal_transformer():
    """A magnetising inductance before an ideal transformer: the load is seen as R2/n² (Chapman, chapter 2)."""
    m = dd.Model("ideal transformer")
    t = _windings(m, ratio=0.1)
    coil = m.add(E.Inductor("l", inductance=0.1))
    m.connect(coil.plus, t.primary_plus)
    m.connect(coil.minus, t.primary_minus)
    one, two, n, i = m["r1.resistance"], m["r2.resistance"], m["t.ratio"], m["l.current"]
    return m, {"l.current": two * (m["u"] - one * i) / (m["l.inductance"] * (one * n**2 + two))}


def room():
    """C1 T1' = P − h A (T1 − T2), C2 T2' = h A (T1 − T2) − G (T2 − T_out)."""
    m = dd.Model("room")
    air, wall = m.add(T.Node("air", capacity=1e5)), m.add(T.Node("wall", capacity=1e6))
    out, heater = m.add(T.TemperatureSource("out", temperature=273.0)), m.add(T.HeatSource("heater", heat=m.input("P")))
    inside, through = m.add(T.Convection("i", coefficient=8.0, area=20.0)), m.add(T.Conduction("c", conductance=50.0))
    m.connect(heater.heat, air.heat, inside.heat_a)
    m.connect(inside.heat_b, wall.heat, through.heat_a)
    m.connect(through.heat_b, out.heat)
    flow = m["i.coefficient"] * m["i.area"] * (m["air.temperature"] - m["wall.temperature"])
    loss = m["c.conductance"] * (m["wall.temperature"] - m["out.temperature"])
    return m, {
        "air.temperature": (m["P"] - flow) / m["air.capacity"],
        "wall.temperature": (flow - loss) / m["wall.capacity"],
    }


def elastic_drive():
    """L i' = u − R i − K ω, J ω' = K i − d ω − torque of the shaft, J_L ω_L' = torque of the shaft."""
    m = dd.Model("elastic drive")
    source, ground = m.add(E.VoltageSource("s", voltage=m.input("u"))), m.add(E.Ground("g"))
    motor = m.add(M.DCMotor("motor", resistance=1.0, inductance=1e-3, constant=0.05, inertia=1e-4))
    shaft, load = m.add(M.ElasticTransmission("k", stiffness=10.0, damping=0.01)), m.add(R.Inertia("load", inertia=0.1))
    m.connect(source.plus, motor.plus)
    m.connect(source.minus, motor.minus, ground.pin)
    m.connect(motor.shaft, shaft.shaft_a)
    m.connect(shaft.shaft_b, load.shaft)
    near, far, i = m["motor.angle"], m["k.shaft_b.angle"], m["motor.current"]
    w, v = m.der(near), m.der(far)
    twist = m["k.stiffness"] * (near - far) + m["k.damping"] * (w - v)
    return m, {
        "motor.current": (m["u"] - m["motor.resistance"] * i - m["motor.constant"] * w) / m["motor.inductance"],
        "motor.angle_dot": (m["motor.constant"] * i - m["motor.damping"] * w - twist) / m["motor.inertia"],
        "k.shaft_b.angle_dot": twist / m["load.inertia"],
    }


def loudspeaker():
    """L i' = u − R i − Bl x', m x'' = Bl i − k x − d x' (Beranek, Acoustics, chapter 7)."""
    m = dd.Model("loudspeaker")
    x, i, u = m.coordinate("x"), m.state("i", start=0.0), m.input("u")
    mass, k, d, force, r, inductance = (m.parameter(name, 1.0) for name in ["m", "k", "d", "Bl", "R", "L"])
    v = m.rate(x)
    m.kinetic_energy(mass * v**2 / 2)
    m.potential_energy(k * x**2 / 2)
    m.dissipation(d * v**2 / 2)
    m.generalised_force(x, force * i)
    m.equation(inductance * m.der(i) + r * i + force * v, u, name="coil")
    return m, {"i": (u - r * i - force * v) / inductance, "x_dot": (force * i - k * x - d * v) / mass}


def solenoid():
    """Charge and position by Lagrange with the inductance L/(1 + x/d): L(x) q'' + L'(x) x' q' + R q' = u."""
    m = dd.Model("solenoid")
    q, x, u = m.coordinate("q"), m.coordinate("x"), m.input("u")
    mass, k, gap, r, inductance = (m.parameter(name, 1.0) for name in ["m", "k", "d", "R", "L_0"])
    i, v = m.rate(q), m.rate(x)
    m.kinetic_energy(mass * v**2 / 2 + inductance / (1 + x / gap) * i**2 / 2)
    m.potential_energy(k * x**2 / 2)
    m.dissipation(r * i**2 / 2)
    m.generalised_force(q, u)
    own = inductance * gap / (gap + x)
    slope = -inductance * gap / (gap + x) ** 2
    return m, {"q_dot": (u - r * i - slope * v * i) / own, "x_dot": (slope * i**2 / 2 - k * x) / mass}


ALL = (
    two_tanks, line_and_volume, servo_cylinder, pump_drive, coupled_coils, ideal_transformer, room, elastic_drive,
    loudspeaker, solenoid,
)  # fmt: skip
