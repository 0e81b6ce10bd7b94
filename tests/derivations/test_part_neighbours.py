"""Hydraulic, electrical, thermal and electromechanical systems, derived and compared with what textbooks print."""

import casadi as ca
import pytest
from tests.support import part_neighbours as neighbours

import daedalus as dd
from daedalus.derivations.formula.agreement import largest_difference
from daedalus.derivations.formula.formula_length import operations

LONGER = 1.3


@pytest.mark.parametrize("make", neighbours.ALL, ids=lambda make: make.__name__)
def test_first_order_forms_are_those_of_the_textbook_and_as_short(make):
    m, printed = make()
    d = dd.derive(m)
    assert d.check < 1e-9, [(step.kind, step.check) for step in d]
    lines = {str(line).split(" = ")[0]: line for line in d.equations}
    found = [lines[f"d/dt {name}"].right for name in printed]
    assert largest_difference(ca.vertcat(*found), ca.vertcat(*printed.values())) < 1e-12
    assert operations(ca.vertcat(*found)) <= LONGER * operations(ca.vertcat(*printed.values()))


def left(m):
    return [str(line) for line in dd.derive(m, "parts")[-1].after]


def test_rates_come_first_and_constants_below_them_go_to_the_other_terms():
    """(u − L i1' − M i2')/R − i1 = 0 is L i1' + M i2' + R i1 = u; what falls is written as what rises."""
    lines = left(neighbours.coupled_coils()[0])
    assert lines[0].startswith("t.primary_inductance*t.primary_current_dot + ")
    assert lines[0].endswith(" + r1.resistance*t.primary_current = u")
    assert left(neighbours.room()[0])[1].startswith("wall.capacity*wall.temperature_dot + ")
    assert left(neighbours.elastic_drive()[0])[1].startswith("motor.inertia*motor.angle_ddot + ")


def test_terms_keep_their_own_denominators_and_roots_their_numbers():
    """One fraction over the roots of four edges would be a page; √(2/ρ) has no digits of √2."""
    text = str(dd.derive(neighbours.servo_cylinder()[0], "parts"))
    assert "1.414" not in text
    assert "sqrt(2/valve.density)" in text
    assert " … (" not in text


def test_laws_of_parts_stand_as_they_were_written():
    laws = [str(line) for line in dd.derive(neighbours.servo_cylinder()[0], "parts")[0].after]
    assert "valve.supply.flow = valve.supply_to_a + valve.supply_to_b" in laws
    assert "valve.a.flow = valve.a_to_tank - valve.supply_to_a" in laws


def test_what_was_eliminated_by_what_in_a_hydraulic_circuit():
    steps = {step.kind: step for step in dd.derive(neighbours.two_tanks()[0], "parts")}
    shared = [str(line) for line in steps["eliminated by shared quantities"].after]
    assert "pipe.b.pressure = b.density*b.gravity*b.level" in shared
    assert "at pump.a, a.outlet, pipe.a" in steps["eliminated by balances"].text
    assert (
        "12 unknowns follow from laws of parts (pump.flow; air.fixed; a.pressure; " in steps["eliminated by laws"].text
    )
    gone = [str(line.left) for step in steps.values() if step.kind.startswith("eliminated") for line in step.after]
    assert len(gone) == len(set(gone)) == 20


def test_roots_and_pi_are_written_as_such():
    m = dd.Model("numbers")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), ca.sqrt(3) / 2 * x + ca.pi * ca.sin(x) - 0.866)
    text = str(dd.derive(m, "first_order").equations[0])
    assert text == "d/dt x = sqrt(3)*x/2 + pi*sin(x) - 0.866"


def test_roots_of_numbers_are_under_the_root_of_what_follows():
    """Torricelli: a √(2 g h), not √2 a √(g h)."""
    m = dd.Model("cascade")
    h = [m.state(f"h_{k}", start=1.0) for k in (1, 2)]
    A, a, g = (m.parameter(name, 1.0) for name in "Aag")
    flow = [m.algebraic(f"q_{k}") for k in (1, 2)]
    for level, own in zip(h, flow):
        m.equation(own, a * ca.sqrt(2 * g * level))
    m.equation(A * m.der(h[0]), m.input("q") - flow[0])
    m.equation(A * m.der(h[1]), flow[0] - flow[1])
    assert [str(line) for line in dd.derive(m, "first_order").equations] == [
        "d/dt h_1 = (q - a*sqrt(2*g*h_1))/A",
        "d/dt h_2 = a*(sqrt(2*g*h_1) - sqrt(2*g*h_2))/A",
        "q_1 = a*sqrt(2*g*h_1)",
        "q_2 = a*sqrt(2*g*h_2)",
    ]
