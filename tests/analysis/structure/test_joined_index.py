"""The index of a model of parts: that of the equations as joined is the one by hand, whatever was eliminated."""

import numpy as np
import pytest
from random_networks import network
from tests.support.rings import examples

import daedalus as dd
from daedalus.model.assembly.joined_model import joined_model


def on_a_source(part, source):
    """A part of two poles on a source."""
    C, m = dd.components.electrical, dd.Model("on a source")
    s, p, ground = m.add(source), m.add(part), m.add(C.Ground("ground"))
    m.connect(s.plus, p.plus)
    m.connect(s.minus, p.minus, ground.pin)
    return m


def gear(sources):
    C, m = dd.components.rotational, dd.Model("gear")
    a, b, g = (
        m.add(C.Inertia("a", inertia=1.0)),
        m.add(C.Inertia("b", inertia=2.0)),
        m.add(C.Gear("g", speed_ratio=3.0)),
    )
    torques = [m.add(C.TorqueSource(f"t{k}", torque=1.0)).shaft for k in range(sources)]
    m.connect(a.shaft, g.shaft_a)
    m.connect(b.shaft, g.shaft_b, *torques)
    return m


def by_hand_capacitor():
    m = dd.Model("capacitor by hand")
    voltage, current = m.state("voltage"), m.algebraic("current")
    m.equation(2.0 * m.der(voltage), current)
    m.equation(voltage, 5.0)
    return m


def by_hand_gear():
    m = dd.Model("gear by hand")
    a, b, torque = m.state("a"), m.state("b"), m.algebraic("torque")
    m.equation(m.der(m.der(a)), -3.0 * torque)
    m.equation(2.0 * m.der(m.der(b)), torque)
    m.equation(b, 3.0 * a)
    return m


def test_what_joining_eliminates_does_not_change_the_index_as_joined():
    C = dd.components.electrical
    capacitor = on_a_source(C.Capacitor("c", capacitance=2.0), C.VoltageSource("s", voltage=5.0))
    inductor = on_a_source(C.Inductor("l", inductance=2.0), C.CurrentSource("s", current=5.0))
    resistor = on_a_source(C.Resistor("r", resistance=2.0), C.VoltageSource("s", voltage=5.0))
    by_hand = dd.analyse(by_hand_capacitor()).index
    assert [dd.analyse(m).joined_index for m in (capacitor, inductor, resistor)] == [by_hand, by_hand, 1] == [2, 2, 1]
    found = [dd.analyse(gear(k)) for k in (0, 1)]
    assert [r.joined_index for r in found] == [dd.analyse(by_hand_gear()).index] * 2 == [3, 3]
    assert [r.index for r in found] == [2, 3]


def test_the_report_states_both_with_names():
    C = dd.components.electrical
    text = " ".join(
        str(dd.analyse(on_a_source(C.Capacitor("c", capacitance=2.0), C.VoltageSource("s", voltage=5.0)))).split()
    )
    assert "as joined: 13 equations of index 2, s.voltage, c.voltage, ground.zero, equal at s.plus, c.plus, …" in text
    assert "index 1 is left, in c.current" in text
    assert dd.analyse(by_hand_gear()).joined is None


@pytest.mark.parametrize("seed", range(5))
def test_random_networks_against_ranks(seed):
    """The pencil of all equations as joined, by numbers, has the index that their structure tells."""
    m = network(seed)
    lin = dd.linearise(joined_model(m))
    assert dd.pencil(lin.E, lin.A).index == dd.analyse(m).joined_index


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5, 60))
def test_more_random_networks_against_ranks(seed):
    m = network(seed)
    lin = dd.linearise(joined_model(m))
    found = dd.pencil(lin.E, lin.A)
    assert np.isfinite(found.finite).all()
    assert found.index == dd.analyse(m).joined_index


# -- against tables of equations written by hand ----------------------------------------------------------------


class Table:
    """E x' = A x of unknowns by name, and the index of its pencil from the ranks of powers of (c E - A)⁻¹ E."""

    def __init__(self):
        self.names, self.rows = [], []

    def row(self, rates, values):
        self.rows.append((rates, values))
        self.names += [name for name in {**rates, **values} if name not in self.names]

    def index(self):
        E, A = (np.zeros((len(self.rows), len(self.names))) for _ in range(2))
        for k, (rates, values) in enumerate(self.rows):
            for matrix, entries in ((E, rates), (A, values)):
                for name, entry in entries.items():
                    matrix[k, self.names.index(name)] += entry
        assert E.shape[0] == E.shape[1]
        assert np.linalg.cond(-0.37 * E - A) < 1e8
        whole, power, ranks = np.linalg.solve(-0.37 * E - A, E), np.eye(len(E)), [len(E)]
        for _ in range(5):
            power = power @ whole
            ranks.append(np.linalg.matrix_rank(power, 1e-9 * np.linalg.norm(power, 2)))
        return next(k for k in range(5) if ranks[k] == ranks[k + 1])


def electrical(seed):
    """Resistors, capacitors, inductors and a source between a few nodes, and their table."""
    draw, C = np.random.default_rng(seed), dd.components.electrical
    count, m, table = int(draw.integers(2, 5)), dd.Model("network"), Table()
    kinds = [(str(draw.choice(list("RCL"))), k, int(draw.integers(0, k))) for k in range(1, count + 1)]
    for _ in range(int(draw.integers(1, 4))):
        kinds.append((str(draw.choice(list("RCL"))), *(int(k) for k in draw.choice(count + 1, 2, replace=False))))
    kinds += [("R", k, 0) for k in range(1, count + 1)] + [
        (str(draw.choice(list("VI"))), int(draw.integers(1, count + 1)), 0)
    ]
    pins, balances = {k: [] for k in range(count + 1)}, {k: {} for k in range(1, count + 1)}
    make = {
        "R": lambda name, v: C.Resistor(name, resistance=v), "C": lambda name, v: C.Capacitor(name, capacitance=v),
        "L": lambda name, v: C.Inductor(name, inductance=v), "V": lambda name, v: C.VoltageSource(name, voltage=v),
        "I": lambda name, v: C.CurrentSource(name, current=v),
    }  # fmt: skip
    for i, (kind, a, b) in enumerate(kinds):
        value, current, voltage = float(draw.uniform(0.5, 2)), ("i", i), ("v", i)
        part = m.add(make[kind](f"p{i}", value))
        pins[a].append(part.plus)
        pins[b].append(part.minus)
        table.row({}, {voltage: -1.0, **{("n", node): sign for node, sign in ((a, 1.0), (b, -1.0)) if node}})
        table.row(*{
            "R": ({}, {voltage: 1.0, current: -value}), "C": ({voltage: value}, {current: 1.0}),
            "L": ({current: value}, {voltage: 1.0}), "V": ({}, {voltage: 1.0}), "I": ({}, {current: 1.0}),
        }[kind])  # fmt: skip
        for node, sign in ((a, 1.0), (b, -1.0)):
            if node:
                balances[node][current] = sign
    pins[0].append(m.add(C.Ground("ground")).pin)
    for own in pins.values():
        m.connect(*own)
    for own in balances.values():
        table.row({}, own)
    return m, table


def shafts(seed):
    """Inertias on a few shafts with springs, dampers and gears between them and a source, and their table."""
    draw, R = np.random.default_rng(seed), dd.components.rotational
    count, m, table = int(draw.integers(2, 5)), dd.Model("shafts"), Table()
    ports, balances = {k: [] for k in range(count)}, {k: {} for k in range(count)}
    kinds = [(str(draw.choice(["spring", "damper", "gear"])), k, int(draw.integers(0, k))) for k in range(1, count)]
    kinds += [("inertia", k, 0) for k in range(count) for _ in range(int(draw.integers(0, 3)))]
    kinds.append((str(draw.choice(["torque", "speed"])), int(draw.integers(count)), 0))
    for i, (kind, a, b) in enumerate(kinds):
        value, angle, torque = float(draw.uniform(0.5, 2)), ("angle", i), ("torque", i)
        one, other = ("shaft", a), ("shaft", b)
        if kind in ("spring", "damper", "gear"):
            part = m.add({
                "spring": lambda name, v: R.Spring(name, stiffness=v),
                "damper": lambda name, v: R.Damper(name, damping=v),
                "gear": lambda name, v: R.Gear(name, speed_ratio=v),
            }[kind](f"p{i}", value))  # fmt: skip
            ports[a].append(part.shaft_a)
            ports[b].append(part.shaft_b)
            if kind == "gear":
                table.row({}, {other: 1.0, one: -value})
                balances[a][torque], balances[b][torque] = -value, 1.0
                continue
            table.row({one: 1.0, other: -1.0}, {("speed", i): 1.0})
            law = {one: value, other: -value} if kind == "spring" else {("speed", i): value}
            table.row({}, {torque: -1.0, **law})
            balances[a][torque], balances[b][torque] = 1.0, -1.0
            continue
        made = {
            "inertia": (R.Inertia, "inertia"),
            "torque": (R.TorqueSource, "torque"),
            "speed": (R.SpeedSource, "speed"),
        }
        part, word = made[kind]
        ports[a].append(m.add(part(f"p{i}", **{word: value})).shaft)
        balances[a][torque] = 1.0
        if kind == "torque":
            table.row({}, {torque: 1.0})
            continue
        table.row({}, {angle: 1.0, one: -1.0})
        if kind == "speed":
            table.row({angle: 1.0}, {})
        else:
            table.row({angle: 1.0}, {("rate", i): 1.0})
            table.row({("rate", i): value}, {torque: 1.0})
    for own in ports.values():
        if len(own) > 1:
            m.connect(*own)
    for own in balances.values():
        table.row({}, own)
    return m, table


@pytest.mark.parametrize("write", [electrical, shafts])
@pytest.mark.parametrize("seed", range(examples(12)))
def test_random_parts_against_a_table_of_their_equations(write, seed):
    m, table = write(seed)
    assert dd.analyse(m).joined_index == table.index()


def test_structure_alone_would_count_too_many():
    """A damper that turns freely on an inertia: its rate stands in one equation, and is no constraint."""
    R, m = dd.components.rotational, dd.Model("free damper")
    inertia, damper = m.add(R.Inertia("inertia", inertia=1.0)), m.add(R.Damper("damper", damping=2.0))
    torque = m.add(R.TorqueSource("torque", torque=1.0))
    m.connect(inertia.shaft, damper.shaft_a, torque.shaft)
    assert dd.analyse(m).joined_index == 1
