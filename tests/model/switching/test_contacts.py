"""Contacts: what may be written, and the texts of what may not."""

from __future__ import annotations

import casadi as ca
import pytest

import daedalus as dd


def text_of(call) -> str:
    with pytest.raises(dd.ModelError) as caught:
        call()
    return str(caught.value)


@pytest.fixture
def m() -> dd.Model:
    m = dd.Model("cart")
    x, v = m.state("x", start=0.0), m.state("v", start=0.0)
    m.input("u")
    m.algebraic("z")
    m.parameter("k", 1.0)
    m.equation(m.der(x), v)
    return m


def test_what_a_contact_adds(m: dd.Model) -> None:
    m.friction("brake", m["v"], kinetic=2.0, static=3.0)
    assert m.variables["brake"].kind == "algebraic"
    assert m.variables["brake.mode"].kind == "discrete"
    assert m.equations["brake.law"] == ["(1 - brake.mode^2)*v_dot + brake.mode^2*brake + 2*brake.mode = 0"]
    assert {"brake.velocity", "brake.limit"} <= set(m.outputs)


def test_inside_another_model_names_get_the_prefix(m: dd.Model) -> None:
    push = m.friction("brake", m["v"], kinetic=2.0)
    m.equation(m.der(m["v"]), push - m["u"])
    m.equation(m["z"], 0)
    whole = dd.Model("two")
    whole.include("left", m, inputs={"u": 3.0})
    whole.include("right", m, inputs={"u": 1.0})
    tr = dd.simulate(whole, 1.0)
    assert abs(tr["left.v"][-1] + 1.0) < 1e-9
    assert tr["right.v"][-1] == 0.0
    assert tr["left.brake.mode"][-1] == -1
    assert tr["right.brake.mode"][-1] == 0


def test_levels_of_friction(m: dd.Model) -> None:
    assert text_of(lambda: m.friction("brake", m["v"], kinetic=2.0, static=1.0)) == (
        "The friction 'brake' sticks at less than it slides at.\n  static 1, kinetic 2\n"
        "  Because it would start and stop sliding endlessly.\n  Try: static=2, or more"
    )
    assert text_of(lambda: m.friction("brake", m["v"], kinetic=-2.0)) == (
        "The kinetic level of 'brake' is -2.\n  Because friction opposes motion, and an impact reduces the speed.\n"
        "  Try: kinetic=2"
    )


def test_speeds_of_friction(m: dd.Model) -> None:
    assert text_of(lambda: m.friction("brake", m["z"], kinetic=1.0)) == (
        "The speed of 'brake' contains z.\n  z is an algebraic variable\n"
        "  Because a contact that holds keeps the derivative at zero, and it has none.\n"
        "  Try: an expression of states, coordinates, inputs, parameters and time"
    )
    assert text_of(lambda: m.friction("brake", m["k"], kinetic=1.0)) == (
        "The speed of 'brake' contains no state.\n  Because nothing that moves would be held.\n"
        "  Try: an expression of states or coordinates"
    )
    two = ca.vertcat(m["v"], m["x"])
    assert text_of(lambda: m.friction("brake", two, kinetic=1.0)).startswith("The speed of 'brake' is not a scalar.")
    m.friction("brake", m["v"], kinetic=1.0)
    assert text_of(lambda: m.friction("brake", m["v"], kinetic=1.0)).startswith("The name 'brake' is taken.")


def test_unilateral_constraints(m: dd.Model) -> None:
    assert text_of(lambda: m.unilateral("wall", m["x"], restitution=1.5)) == (
        "The restitution of 'wall' is 1.5.\n"
        "  Because an impact keeps a share of the speed of approach, from none to all of it.\n  Try: restitution=0.5"
    )
    q = m.coordinate("q")
    assert text_of(lambda: m.unilateral("wall", m.rate(q))).startswith("Unilateral constraint 'wall' contains q_dot.")
    assert text_of(lambda: m.unilateral("wall", m["u"])).startswith("Unilateral constraint 'wall' contains no state.")


def test_a_multiplier_that_nothing_feels_is_told(m: dd.Model) -> None:
    m.unilateral("wall", m["x"])
    m.equation(m.der(m["v"]), -1)
    m.equation(m["z"], 0)
    tr = dd.simulate(m, 3.0, start={"x": 1.0}, inputs={"u": 0.0})
    assert not tr.success
    assert tr.stop_reason == (
        "an impulse at 'wall' moves nothing at t = 1.41421; its multiplier wall does not enter the equations of what "
        "approaches, or pulls where it should push; try the force of wall in the equations of motion, +Gᵀ wall with "
        "G = ∂c/∂q"
    )


def test_a_friction_has_the_units_of_its_level_and_its_speed():
    m = dd.Model("block")
    v = m.state("v", start=1.0, unit="m/s")
    level = m.parameter("level", 0.5, unit="N")
    force = m.friction("floor", v, kinetic=level)
    m.equation(m.der(v), force)
    assert m.variables["floor"].unit == "N"
    assert dict(m.freeze().output_units) == {"floor.velocity": "m/s", "floor.limit": "N"}
    assert m.friction("wall", 2 * v, kinetic=1.0) is not None
    assert m.variables["wall"].unit == ""
