"""Whatever can be read of a part has the unit of its quantity: ports, further names, outputs and keywords."""

import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.model.values import unit_of

# The last word of a name says what it is.
UNITS = {
    "voltage": "V", "current": "A", "angle": "rad", "torque": "N*m", "position": "m", "force": "N", "pressure": "Pa",
    "temperature": "K", "resistance": "ohm", "inductance": "H", "velocity": "m/s", "speed": "rad/s",
}  # fmt: skip
MACHINES = ("motor_lift", "motor_speed_loop", "heated_house", "elastic_transmission")


@pytest.mark.parametrize("name", [*MACHINES, pytest.param("bridge_rectifier", marks=pytest.mark.wide)])
def test_every_name_of_a_part_has_its_unit(name):
    k = catalogue.load(name)
    tr = dd.simulate(k.model, k.span, start=k.start, inputs=k.inputs)
    known = {n: unit_of(tr.system, n) for n in tr}
    told = {n: UNITS[n.rpartition(".")[2]] for n in tr if n.rpartition(".")[2] in UNITS}
    assert len(told) > 5
    wrong = {n: (known[n], unit) for n, unit in told.items() if known[n] not in (unit, "m^2*K/W", "K/W")}
    assert wrong == {}


def test_sensors_have_the_unit_of_what_they_measure():
    R = dd.components.rotational
    m = dd.Model("wheel")
    wheel, gauge = m.add(R.Inertia("wheel", inertia=1.0)), m.add(R.SpeedSensor("gauge"))
    m.connect(wheel.shaft, gauge.shaft)
    system = m.freeze()
    assert unit_of(system, "gauge.output") == "rad/s"
    assert unit_of(system, "wheel.speed_dot") == "rad/s/s"
