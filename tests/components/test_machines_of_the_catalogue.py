"""The machines of the catalogue: the energy balance of every run closes, and every diagram can be drawn."""

import xml.etree.ElementTree as ElementTree

import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.catalogue.loading import FIELDS

MACHINES = [name for name, field in FIELDS.items() if field == "machines"]


@pytest.mark.parametrize("name", MACHINES)
def test_the_energy_balance_closes(name):
    known = catalogue.load(name)
    rtol = 1e-6
    tr = dd.simulate(known.model, known.span, start=known.start, inputs=known.inputs, rtol=rtol)
    assert tr.success, tr.stop_reason
    balance = tr.energy_balance()
    turned_over = abs(balance.components[["supplied", "stored", "lost"]]).max("component").to_array().max()
    assert abs(balance.error) <= 10 * rtol * float(turned_over)


@pytest.mark.parametrize("name", MACHINES)
def test_powers_add_up_at_every_moment(name):
    known = catalogue.load(name)
    tr = dd.simulate(known.model, known.span, start=known.start, inputs=known.inputs)
    power = tr.power()
    total, largest = power.sum("component"), float(abs(power.to_array()).max())
    assert float(abs(total["received"]).max()) <= 1e-6 * largest
    assert float(abs(total["supplied"] - total["stored"] - total["lost"]).max()) <= 1e-4 * largest


@pytest.mark.parametrize("name", MACHINES)
def test_the_diagram_shows_every_part(name, tmp_path):
    known = catalogue.load(name)
    text = known.model.diagram(tmp_path / "machine.svg")
    words = {element.text for element in ElementTree.fromstring(text).iter() if element.text}
    parts = [path for path in known.model.written.assembly.parts if "." not in path]
    assert set(parts) <= words
    assert (tmp_path / "machine.svg").read_text(encoding="utf-8") == text


def test_the_amplifier_of_parts_has_the_published_end():
    known = catalogue.load("amplifier_of_parts")
    tr = dd.simulate(known.model, known.span, start=known.start, rtol=1e-9)
    assert known.reference.error("y", tr["y"][-1]) < 1e-8


def test_an_emptying_tank_follows_torricelli():
    known = catalogue.load("emptying_tank")
    tr = dd.simulate(known.model, known.span, start=known.start, rtol=1e-10)
    rate = 0.6 * 0.01 * (2 * 9.80665) ** 0.5 / 2
    exact = (2.0**0.5 - rate * tr.time) ** 2
    assert float(abs(tr["tank.level"] - exact).max()) < 1e-8
