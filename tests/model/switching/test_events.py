"""Outputs and events: what a guard and a reset may be, and what they become in the frozen system."""

import math

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def text_of(call) -> str:
    with pytest.raises(dd.ModelError) as caught:
        call()
    return str(caught.value)


@pytest.fixture
def ball():
    """A model with variables of every kind and shape, and all its equations."""
    m = dd.Model("ball")
    h = m.state("h", start=1.0)
    v = m.state("v", 2, start=0.0)
    R = m.state("R", (2, 2), start=0.0)
    z = m.algebraic("z")
    u = m.input("u")
    m.parameter("k", 2.0)
    m.equation(m.der(h), v[0])
    m.equation(m.der(v), [-9.81, u])
    m.equation(m.der(R), R)
    m.equation(z, h)
    return m


def guard_of(m, name="e"):
    """The frozen guard at h = 3 and everything else 1, with the direction."""
    s = m.freeze()
    row = [e.name for e in s.events].index(name)
    f = ca.Function("g", [s.symbol(letter) for letter in ("t", "xdot", "x", "z", "u", "p")], [s.guards[row]])
    x = np.ones(s.sizes["x"])
    x[s.place("h").positions] = 3.0
    return float(f(1, 1, x, 1, 1, 1)), s.events[row].direction


# -- guards ----------------------------------------------------------------------------------------------------


def test_a_guard_is_kept_as_written(ball):
    ball.event("e", ball["h"] - 1, direction=-1, terminal=True)
    assert guard_of(ball) == (2.0, -1)
    event = ball.freeze().events[0]
    assert (event.name, event.direction, event.terminal, event.resets) == ("e", -1, True, ())


@pytest.mark.parametrize(
    ("guard", "value", "direction"),
    [
        (lambda m: m["h"] <= 1, 2.0, -1),
        (lambda m: m["h"] < 1, 2.0, -1),
        (lambda m: m["h"] >= 1, 2.0, 1),
        (lambda m: m["h"] > 1, 2.0, 1),
        (lambda m: np.float64(1) >= m["h"], 2.0, -1),
        (lambda m: m["h"] <= 0, 3.0, -1),
        (lambda m: m["h"] >= 0, 3.0, 1),
        (lambda m: m["h"] <= m["z"], 2.0, -1),
        (lambda m: m["h"] >= m["z"], -2.0, -1),
        (lambda m: m["h"] == 1, 2.0, 0),
        (lambda m: m.time - 2, -1.0, 0),
        (lambda m: [m["h"]], 3.0, 0),
        (lambda m: np.array([m["h"]]), 3.0, 0),
    ],
)
def test_an_inequality_is_an_event_when_it_becomes_true(ball, guard, value, direction):
    ball.event("e", guard(ball))
    assert guard_of(ball) == (value, direction)


def test_an_inequality_may_say_its_own_direction(ball):
    ball.event("e", ball["h"] <= 1, direction=-1)
    ball.event("f", ball["h"] >= 5, direction=1)
    assert guard_of(ball, "e") == (2.0, -1)
    assert guard_of(ball, "f") == (-2.0, 1)


@pytest.mark.parametrize(
    ("guard", "direction"),
    [
        (lambda m: m["h"] <= 1, 1),
        (lambda m: m["h"] >= 1, -1),
        (lambda m: m["h"] <= m["z"], -1),
        (lambda m: m["h"] >= m["z"], 1),
    ],
)
def test_an_inequality_with_another_direction_is_refused(ball, guard, direction):
    assert text_of(lambda: ball.event("e", guard(ball), direction=direction)) == (
        "The guard of event 'e' is an inequality with a direction.\n"
        f"  direction={direction}\n"
        "  Because an inequality acts as it becomes true, which already is a direction.\n"
        "  Try: the inequality without direction=, or a - b with it"
    )


@pytest.mark.parametrize(
    "guard",
    [
        lambda m: ca.logic_and(m["h"] <= 0, m["z"] <= 0),
        lambda m: np.logical_or(m["h"] <= 0, m["z"] <= 0),
        lambda m: ca.logic_not(m["h"] <= 0),
        lambda m: m["h"] != 0,
    ],
)
def test_a_condition_becomes_true(ball, guard):
    """Its guard jumps from -1 to 1, where a run finds it."""
    ball.event("e", guard(ball))
    assert ball.written.events["e"].direction == 1
    assert ball.written.events["e"].manner.side == 1
    assert text_of(lambda: ball.event("f", guard(ball), direction=-1)).startswith(
        "The guard of event 'f' is an inequality with a direction.\n"
    )


def test_the_advice_for_logic_works(ball):
    h, z = ball["h"], ball["z"]
    ball.event("e", ca.fmax(h - 4, z - 2), direction=-1)
    assert guard_of(ball) == (-1.0, -1)


def test_python_values_are_no_guard(ball):
    assert text_of(lambda: ball.event("e", True)) == (
        "The guard of event 'e' is the Python value True, not an expression.\n"
        "  Because comparing a symbol with a Python list gives a plain True or False.\n"
        "  Try: a quantity that passes zero, such as h - 1"
    )
    assert text_of(lambda: ball.event("e", "h")) == (
        "The guard of event 'e' is not an expression.\n"
        "  got str: 'h'\n"
        "  Because only symbols and numbers can be computed with.\n"
        "  Try: an expression in the model's symbols, a number, or a list of these"
    )


@pytest.mark.parametrize(
    ("guard", "fact"),
    [
        (lambda m: 3, "it is the constant 3"),
        (lambda m: ca.sqrt(m["h"]) >= 0, "it is the constant 1"),
        (lambda m: m["h"] == m["h"], "it is the constant 1"),
        (lambda m: m["k"] - 1, "it contains only parameters"),
        (lambda m: m["k"] >= 1, "it contains only parameters"),
    ],
)
def test_guards_that_never_pass_zero(ball, guard, fact):
    assert text_of(lambda: ball.event("e", guard(ball))) == (
        "The guard of event 'e' never passes zero.\n"
        f"  {fact}\n"
        "  Because an event happens where a quantity changes its sign during a run.\n"
        "  Try: a quantity that passes zero, such as h - 1"
    )


def test_a_guard_is_scalar(ball):
    assert text_of(lambda: ball.event("e", ball["v"])) == (
        "The guard of event 'e' is not a scalar.\n"
        "  it is 2 numbers\n"
        "  Because an event happens where one quantity passes zero.\n"
        "  Try: one event for each component"
    )


@pytest.mark.parametrize(
    ("direction", "shown"),
    [(2, "int: 2"), (None, "NoneType: None"), ("falling", "str: 'falling'"), (True, "bool: True"), (0.5, "float: 0.5")],
)
def test_directions(ball, direction, shown):
    assert text_of(lambda: ball.event("e", ball["h"], direction=direction)) == (
        "The direction of event 'e' is not -1, 0 or 1.\n"
        f"  got {shown}\n"
        "  Because a guard passes zero falling, rising, or either way.\n"
        "  Try: -1 falling, 1 rising, 0 both"
    )
    assert "got SX\n" in text_of(lambda: ball.event("e", ball["h"], direction=ball["v"]))


def test_directions_of_other_number_types(ball):
    ball.event("e", ball["h"], direction=np.int64(-1))
    ball.event("f", ball["h"], direction=1.0)
    assert [e.direction for e in ball.freeze().events] == [-1, 1]


def test_terminal_is_true_or_false(ball):
    assert text_of(lambda: ball.event("e", ball["h"], terminal="no")) == (
        "terminal of event 'e' is str, not True or False.\n"
        "  Because it decides whether the run ends at the event.\n"
        "  Try: terminal=True"
    )
    ball.event("e", ball["h"], terminal=np.True_)
    assert ball.freeze().events[0].terminal is True


def test_nan_in_guards_resets_and_outputs(ball):
    h = ball["h"]
    cause = (
        "contains the constant NaN.\n"
        "  Because math.sin(x), float(x) and writing a symbol into a float array turn symbols into NaN.\n"
        "  Try: np.sin or casadi.sin, and lists instead of np.zeros"
    )
    assert text_of(lambda: ball.event("e", h * math.sin(h))) == f"The guard of event 'e' {cause}"
    assert text_of(lambda: ball.event("e", h, reset={"h": h + math.sin(h)})) == f"The reset of h in event 'e' {cause}"
    assert text_of(lambda: ball.output("o", h + float(h))) == f"Output 'o' {cause}"
    # fmax and a closed branch hide a NaN from anyone who looks at values only.
    assert text_of(lambda: ball.output("o", ca.fmax(h, math.sin(h)))) == f"Output 'o' {cause}"
    assert text_of(lambda: ball.output("o", ca.if_else(h > 100, math.sin(h), 0))) == f"Output 'o' {cause}"


# -- resets ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reset", "after"),
    [
        ({}, {}),
        ({"h": 5}, {"h": 5}),
        ({"v": [6, 7]}, {"v[0]": 6, "v[1]": 7}),
        ({"v": 6}, {"v[0]": 6, "v[1]": 6}),
        ({"v[1]": 7}, {"v[1]": 7}),
        ({"R[0,1]": 8}, {"R[0,1]": 8}),
        ({"R": [[1, 2], [3, 4]]}, {"R[0,0]": 1, "R[0,1]": 2, "R[1,0]": 3, "R[1,1]": 4}),
        ({"h": 5, "v[0]": 6, "R[1,1]": 7}, {"h": 5, "v[0]": 6, "R[1,1]": 7}),
    ],
)
def test_resets_set_what_they_name_and_nothing_else(ball, reset, after):
    ball.event("e", ball["h"], reset=reset)
    s = ball.freeze()
    f = ca.Function("r", [s.symbol("x")], [s.resets])
    before = np.arange(100.0, 107.0)
    expected = before.copy()
    for name, value in after.items():
        expected[s.place(name).positions] = value
    assert np.array_equal(f(before).full().ravel(), expected)
    assert s.events[0].resets == tuple(reset)


def test_resets_read_the_values_before(ball):
    v = ball["v"]
    ball.event("swap", ball["h"], reset={"v[0]": v[1], "v[1]": v[0]})
    s = ball.freeze()
    f = ca.Function("r", [s.symbol("x")], [s.resets])
    assert f(np.arange(7.0)).full().ravel().tolist() == [0, 2, 1, 3, 4, 5, 6]


def test_a_rate_is_reset_where_it_is_a_state():
    m = dd.Model()
    y = m.state("y", start=1.0, rate=0.0)
    m.equation(m.der(m.der(y)), -9.81)
    m.event("bounce", y, direction=-1, reset={"y_dot": -0.8 * m.der(y)})
    s = m.freeze()
    assert ca.Function("r", [s.symbol("x")], [s.resets])([0.0, -5.0]).full().tolist() == [[0.0, 4.0]]


def test_a_rate_that_follows_from_the_equations_is_not_reset(ball):
    ball.event("e", ball["h"], reset={"v_dot": 0})
    assert text_of(ball.freeze) == (
        "Event 'e' resets v_dot, which is not a state of this model.\n"
        "  v_dot[0] follows from the equations\n"
        "  Because the equations contain no higher derivative of it.\n"
        "  Try: reset a state, or write the equations in second order"
    )


@pytest.mark.parametrize("target", ["z", "u", "k", "t"])
def test_only_states_are_reset(ball, target):
    assert text_of(lambda: ball.event("e", ball["h"], reset={target: 0})) == (
        f"The reset of {target} in event 'e' is not possible.\n"
        f"  {target} is not a state\n"
        "  Because only states and discrete variables keep the value that an event gives them.\n"
        "  Try: one of 'h', 'v', 'R'"
    )


def test_resets_go_by_name(ball):
    h = ball["h"]
    assert text_of(lambda: ball.event("e", h, reset={"q": 0})).startswith("The model 'ball' has no variable 'q'.\n")
    assert text_of(lambda: ball.event("e", h, reset={"v[2]": 0})).startswith("v[2] does not exist.\n  v is 2 numbers\n")
    assert "h is not a name\n" in text_of(lambda: ball.event("e", h, reset={h: 0}))
    assert text_of(lambda: ball.event("e", h, reset=[("h", 0)])) == (
        "The reset of event 'e' takes values by name.\n"
        "  got list\n"
        "  Because each new value belongs to a state.\n"
        '  Try: reset={"v": -0.8 * v}'
    )


def test_an_element_is_reset_once(ball):
    assert text_of(lambda: ball.event("e", ball["h"], reset={"v": [0, 0], "v[1]": 1})) == (
        "Event 'e' resets v[1] twice.\n"
        "  once by 'v', once by 'v[1]'\n"
        "  Because all resets of an event are assigned together.\n"
        "  Try: one of the two"
    )


def test_wrong_reset_values(ball):
    h = ball["h"]
    assert text_of(lambda: ball.event("e", h, reset={"v": [1, 2, 3]})) == (
        "The reset of v in event 'e' has the wrong shape.\n"
        "  2 numbers expected, 3 numbers given\n"
        "  Because every element takes one new value.\n"
        "  Try: an expression of that shape, or one for all elements"
    )
    assert text_of(lambda: ball.event("e", h, reset={"h": None})).startswith(
        "The reset of h in event 'e' is not an expression."
    )
    assert text_of(lambda: ball.event("e", h, reset={"h": float("nan")})).startswith(
        "The reset of h in event 'e' contains NaN or infinity.\n  got nan\n"
    )
    assert "a symbol that no model declared" in text_of(lambda: ball.event("e", h, reset={"h": ca.SX.sym("a")}))


def test_a_refused_event_is_not_kept(ball):
    with pytest.raises(dd.ModelError):
        ball.event("e", ball["h"], reset={"q": 0})
    ball.event("e", ball["h"])
    assert [e.name for e in ball.freeze().events] == ["e"]


def test_names_of_events(ball):
    assert text_of(lambda: ball.event("big bang", ball["h"])).startswith("'big bang' cannot name an event.\n")
    assert text_of(lambda: ball.event(1, ball["h"])).startswith("An event needs a name.\n")


# -- outputs ---------------------------------------------------------------------------------------------------


def test_outputs_of_every_shape(ball):
    h, v, R = ball["h"], ball["v"], ball["R"]
    ball.output("scalar", h**2)
    ball.output("column", [h, v[0], 3])
    ball.output("matrix", R @ R)
    ball.output("row", v.T)
    ball.output("rate", ball.der(v))
    ball.output("constant", 3)
    assert {n: e.shape for n, e in ball.outputs.items()} == {
        "scalar": (1, 1), "column": (3, 1), "matrix": (2, 2), "row": (1, 2), "rate": (2, 1), "constant": (1, 1),
    }  # fmt: skip
    assert ca.is_equal(ball["column[1]"], v[0])
    assert ca.is_equal(ball["row[0,1]"], v[1])
    assert ca.is_equal(ball["matrix[1,0]"], (R @ R)[1, 0], 5)
    assert list(ball.freeze().outputs) == list(ball.outputs)


def test_outputs_can_be_differentiated(ball):
    ball.output("energy", ball["h"] ** 2)
    f = ca.Function("f", [ball["h"], ball["h_dot"]], [ball.der(ball["energy"])])
    assert float(f(3, 5)) == 30.0


@pytest.mark.parametrize(
    ("write", "where"),
    [
        (lambda m: m.output("o", m["h_ddot"]), "Output 'o'"),
        (lambda m: m.event("e", m["h_ddot"]), "The guard of event 'e'"),
        (lambda m: m.event("e", m["h"], reset={"h": m["h_ddot"]}), "The reset of h in event 'e'"),
    ],
)
def test_derivatives_that_the_equations_do_not_determine(ball, write, where):
    write(ball)
    assert text_of(ball.freeze) == (
        f"{where} contains h_ddot, which nothing determines.\n"
        "  the highest derivative in the equations is h_dot\n"
        "  Because outputs and events read what the equations determine.\n"
        "  Try: m.der of the expression that the equations give for h_dot"
    )


def test_wrong_outputs(ball):
    assert text_of(lambda: ball.output("o", [])) == (
        "Output 'o' is empty.\n"
        "  got []\n"
        "  Because it has no entries.\n"
        "  Try: an expression in the model's symbols, a number, or a list of these"
    )
    assert text_of(lambda: ball.output("o", None)).startswith(
        "Output 'o' is not an expression.\n  got NoneType: None\n"
    )
    assert text_of(lambda: ball.output("o", ball["h"] == [ball["v"]])).startswith(
        "Output 'o' is the Python value False"
    )
    assert text_of(lambda: ball.output("o p", 1)).startswith("'o p' cannot name an output.\n")
    assert list(ball.outputs) == []


def assigned(write, size: int = 1) -> float:
    """The integral over 2 s of a discrete variable that is 1, or (1, 0), until what is written assigns it."""
    m = dd.Model("assigned")
    x = m.state("x", start=0.0)
    on = m.discrete("on", size, start=[1, 0][:size]) if size > 1 else m.discrete("on", start=True)
    m.equation(m.der(x), on[0])
    write(m, x)
    return float(dd.simulate(m, 2.0).end["x"])


@pytest.mark.parametrize("no", [False, np.bool_(False)])
def test_truth_values_are_assigned_to_discrete_variables(no: object) -> None:
    assert abs(assigned(lambda m, x: m.when(x > 0.5, {"on": no})) - 0.5) < 1e-9
    assert abs(assigned(lambda m, x: m.schedule([0.5], {"on": no})) - 0.5) < 1e-9
    assert abs(assigned(lambda m, x: m.every(3.0, {"on": no}, offset=0.5)) - 0.5) < 1e-9
    assert abs(assigned(lambda m, x: m.event("half", x - 0.5, reset={"on": no})) - 0.5) < 1e-9
    for pair in ([no, True], (no, 1), np.array([False, True])):
        assert abs(assigned(lambda m, x, pair=pair: m.schedule([0.5], {"on": pair}), 2) - 0.5) < 1e-9
    with pytest.raises(dd.ModelError, match="Python value False"):
        assigned(lambda m, x: m.event("half", x - 0.5, reset={"x": no}))
