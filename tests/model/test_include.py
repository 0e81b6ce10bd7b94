"""A model inside a model, and copies: names, bindings, events and outputs, shared and fresh symbols."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.reduction.forms.explicit_form import explicit_form


def text_of(call) -> str:
    with pytest.raises(dd.ModelError) as caught:
        call()
    return str(caught.value)


@pytest.fixture
def tank():
    m = dd.Model("tank")
    h = m.state("h", 2, start=[1, 0], unit="m", nominal=2.0, lower=0)
    q, area = m.input("q"), m.parameter("A", 2.0, unit="m^2")
    m.equation(m.der(h), [q - h[0] / area, h[0] - h[1] + m.time], name="mass")
    m.output("level", h[0] + h[1])
    m.event("empty", h[0], direction=-1, reset={"h[0]": 0.5, "h[1]": h[0]}, terminal=True)
    return m


def test_everything_gets_the_prefix(tank):
    m = dd.Model("plant")
    m.include("left", tank)
    assert list(m.variables) == ["left.h", "left.q", "left.A"]
    v = m.variables["left.h"]
    assert (v.kind, v.start, v.unit, v.nominal, v.lower) == ("state", (1.0, 0.0), "m", (2.0, 2.0), (0.0, 0.0))
    assert m.equations == {
        "left.mass": [
            "left.h_dot[0] - (left.q - left.h[0]/left.A) = 0",
            "left.h_dot[1] - (left.h[0] - left.h[1] + t) = 0",
        ]
    }
    assert list(m.outputs) == ["left.level"]
    s = m.freeze()
    assert s.labels["x"] == ("left.h[0]", "left.h[1]")
    assert s.equation_labels == ("left.mass[0]", "left.mass[1]")
    event = s.events[0]
    assert (event.name, event.direction, event.terminal) == ("left.empty", -1, True)
    assert event.resets == ("left.h[0]", "left.h[1]")
    assert str(m["left.h[1]"]) == "left.h[1]"
    assert m["left.h_dot"].shape == (2, 1)


def test_twice_with_symbols_of_their_own(tank):
    m = dd.Model("plant")
    m.include("upper", tank, inputs={"q": 0.0})
    m.include("lower", tank, inputs={"q": m["upper.h"][1]}, parameters={"A": 4})
    assert list(m.variables) == ["upper.h", "upper.A", "lower.h"]
    s = m.freeze()
    f = ca.Function("f", [s.symbol(c) for c in "txup"], [explicit_form(s).xdot])
    assert f(1, [1, 2, 3, 4], [], [2]).full().ravel().tolist() == [-0.5, 0, 2 - 3 / 4, 0]
    resets = ca.Function("r", [s.symbol("x")], [s.resets])([1, 2, 3, 4]).full()
    assert resets.tolist() == [[0.5, 1, 3, 4], [1, 2, 0.5, 3]]
    assert m["upper.level"].shape == (1, 1)


def test_the_part_is_not_changed_and_later_changes_do_not_follow(tank):
    before = tank.freeze()
    m = dd.Model("plant")
    m.include("left", tank)
    assert tank.freeze() is before
    tank.state("more")
    assert "left.more" not in m
    m.equation(m.der(m["left.h"][0]), 0)
    assert list(tank.equations) == ["mass"]


def test_nested(tank):
    cell, plant = dd.Model("cell"), dd.Model("plant")
    cell.include("tank", tank)
    plant.include("a", cell, inputs={"tank.q": plant.time})
    plant.include("b", cell, inputs={"tank.q": plant["a.tank.h[1]"]})
    assert list(plant.variables) == ["a.tank.h", "a.tank.A", "b.tank.h", "b.tank.A"]
    assert plant.equations["a.tank.mass"][0] == "a.tank.h_dot[0] - (t - a.tank.h[0]/a.tank.A) = 0"
    assert plant.equations["b.tank.mass"][0] == "b.tank.h_dot[0] - (a.tank.h[1] - b.tank.h[0]/b.tank.A) = 0"
    assert [e.resets[0] for e in plant.freeze().events] == ["a.tank.h[0]", "b.tank.h[0]"]


def test_second_order_parts_and_derivatives_as_inputs():
    mass = dd.Model("mass")
    s, force = mass.state("s", start=1, rate=2), mass.input("force")
    mass.equation(mass.der(mass.der(s)), force * mass.time)
    m = dd.Model("two")
    m.include("one", mass, inputs={"force": 0})
    m.include("two", mass, inputs={"force": m.der(m["one.s"])})
    system = m.freeze()
    assert system.labels["x"] == ("one.s", "two.s", "one.s_dot", "two.s_dot")
    assert system.start["x"].tolist() == [1, 1, 2, 2]
    assert m.equations["two.equation_1"] == ["two.s_ddot - one.s_dot*t = 0"]


def test_bindings_of_vectors():
    part = dd.Model("part")
    x, v, M = part.state("x", 2), part.input("v", 2), part.parameter("M", np.eye(2))
    part.equation(part.der(x), M @ v)
    m = dd.Model()
    u = m.input("u", 2)
    m.include("a", part, inputs={"v": [u[1], 0]}, parameters={"M": [[1, 2], [3, 4]]})
    m.include("b", part, inputs={"v": 5}, parameters={"M": np.ones((2, 2))})
    assert m.equations["a.equation_1"] == ["a.x_dot[0] - u[1] = 0", "a.x_dot[1] - 3*u[1] = 0"]
    assert m.equations["b.equation_1"] == ["b.x_dot[0] - 10 = 0", "b.x_dot[1] - 10 = 0"]


def test_a_model_into_itself(tank):
    tank.include("copy", tank, inputs={"q": 0})
    assert list(tank.variables) == ["h", "q", "A", "copy.h", "copy.A"]
    assert tank.freeze().sizes["x"] == 4


def test_an_empty_part():
    m = dd.Model("m")
    m.include("nothing", dd.Model())
    assert repr(m) == "Model('m': empty)"


# -- refusals --------------------------------------------------------------------------------------------------


def test_wrong_prefixes(tank):
    m = dd.Model()
    assert text_of(lambda: m.include("a b", tank)).startswith("'a b' cannot name a part.\n")
    assert text_of(lambda: m.include("a_dot", tank)).startswith("The name 'a_dot' is reserved.\n")
    assert text_of(lambda: m.include(None, tank)) == (
        "A part needs a name.\n"
        "  got None where a text was expected\n"
        "  Because values, results and errors use names.\n"
        '  Try: m.include("name", other)'
    )
    assert text_of(lambda: m.include("a", "tank")) == (
        "include takes a Model.\n"
        "  got str\n"
        "  Because only a model has names and equations.\n"
        '  Try: m.include("part", model)'
    )


def test_names_that_are_taken(tank):
    m = dd.Model("plant")
    m.state("x")
    assert "it is already a state" in text_of(lambda: m.include("x", tank))
    m.include("a", tank)
    assert text_of(lambda: m.include("a", tank)) == (
        "The name 'a' is taken.\n"
        "  it is already a part of the model 'plant', tank\n"
        "  Because every name in a model is unique.\n"
        "  Try: another name, such as 'a_2'"
    )
    m.equation(m.der(m["x"]), 1, name="b.mass")
    assert text_of(lambda: m.include("b", tank)) == (
        "The equation name 'b.mass' is taken.\n"
        "  the model 'plant' has an equation of that name\n"
        "  Because errors and results use the name of an equation.\n"
        "  Try: another name for the part"
    )
    m.output("c.level", 1)
    assert "it is already an output" in text_of(lambda: m.include("c", tank))
    assert list(m.variables) == ["x", "a.h", "a.q", "a.A"]


@pytest.mark.parametrize(
    ("options", "kind", "name", "known"),
    [
        ({"inputs": {"p": 1}}, "input", "p", "q"),
        ({"inputs": {"A": 1}}, "input", "A", "q"),
        ({"parameters": {"q": 1}}, "parameter", "q", "A"),
        ({"parameters": {"h": 1}}, "parameter", "h", "A"),
    ],
)
def test_bindings_of_what_the_part_does_not_have(tank, options, kind, name, known):
    assert text_of(lambda: dd.Model().include("a", tank, **options)) == (
        f"The model 'tank' has no {kind} {name!r}.\n"
        f"  it has {known}\n"
        f"  Because {kind}s= binds the {kind}s of the part.\n"
        f"  Try: {known!r}"
    )


def test_wrong_bindings(tank):
    m = dd.Model("plant")
    assert text_of(lambda: m.include("a", tank, inputs={"q": [1, 2]})) == (
        "The input 'q' of 'tank' has the wrong shape.\n"
        "  a scalar expected, 2 numbers given\n"
        "  Because every element takes one value.\n"
        "  Try: an expression of that shape, or one number"
    )
    assert text_of(lambda: m.include("a", tank, inputs={"q": tank["h"][0]})) == (
        "The input 'q' of 'tank' contains a symbol of another model.\n"
        "  h[0] belongs to the model 'tank', not to 'plant'\n"
        "  Because each model has its own symbols.\n"
        '  Try: m.include("part", other) and then m["part.h[0]"]'
    )
    assert text_of(lambda: m.include("a", tank, inputs={"q": float("nan")})).startswith(
        "The input 'q' of 'tank' contains NaN"
    )
    assert text_of(lambda: m.include("a", tank, inputs={"q": None})).startswith(
        "The input 'q' of 'tank' is not an expression."
    )
    assert (
        text_of(lambda: dd.Model().include("a", dd.Model("e"), inputs={"q": 1})).split("\n")[1] == "  it has no inputs"
    )


def test_a_binding_that_empties_an_equation_leaves_no_trace():
    part = dd.Model("part")
    x, z, k = part.state("x"), part.algebraic("z"), part.parameter("k", 1.0)
    part.equation(part.der(x), z, name="move")
    part.equation(k * (z - x), 0, name="hold")
    m = dd.Model()
    assert text_of(lambda: m.include("a", part, parameters={"k": 0})).startswith(
        "Equation 'a.hold' simplified to the constant 0.\n"
    )
    assert (m.variables, m.equations) == ({}, {})
    m.include("a", part)
    assert list(m.variables) == ["a.x", "a.z", "a.k"]
    assert m.freeze().sizes["z"] == 1


# -- copies ----------------------------------------------------------------------------------------------------


def test_a_copy_shares_symbols_and_nothing_else(tank):
    twin = tank.copy("twin")
    assert (twin.name, tank.copy().name) == ("twin", "tank")
    assert twin.equations == tank.equations
    for name in ("h", "h_dot", "h_ddot", "q", "A", "t", "level"):
        assert ca.is_equal(twin[name], tank[name])
    assert [e.name for e in twin.freeze().events] == ["empty"]
    twin.equation(twin.der(twin.state("extra")), tank["h"][0])
    twin.output("o", tank["q"])
    twin.event("e", tank["h"][1])
    assert "extra" not in tank
    assert (list(tank.equations), list(tank.outputs), list(tank.freeze().outputs)) == (["mass"], ["level"], ["level"])


def test_derivatives_made_after_the_copy_are_shared_too():
    m = dd.Model("a")
    x = m.state("x", 2)
    twin = m.copy("b")
    rate, acceleration = m.der(x), m.der(m.der(x))
    twin.equation(acceleration, -x - rate)
    assert ca.is_equal(twin.der(x), rate)
    m.equation(twin.der(x), -x)
    assert twin.freeze().orders == {"x": (2, 2)}
    assert m.freeze().orders == {"x": (1, 1)}
    third = twin.copy("c")
    assert ca.is_equal(third.der(third.der(x)), acceleration)


def test_variables_declared_after_the_copy_are_not_shared():
    m = dd.Model("a")
    twin = m.copy("b")
    one, two = m.state("y"), twin.state("y")
    assert not ca.is_equal(one, two)
    assert not ca.is_equal(m.der(one), twin.der(two))
    assert "y belongs to the model 'a', not to 'b'" in text_of(lambda: twin.output("o", one))
