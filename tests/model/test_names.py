"""Names: which ones a model takes, what it says of the others, and how elements and derivatives are spelt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rings import any_text

import daedalus as dd
from daedalus.model.names import (
    check_name,
    derivative_name,
    did_you_mean,
    element_label,
    flat_index,
    shape_text,
    split_derivative,
    split_index,
    suggest_name,
)

LETTERS = "abcdefghijklmnopqrstuvwxyz_"
SHAPES = st.one_of(st.just(()), st.tuples(st.integers(1, 5)), st.tuples(st.integers(1, 4), st.integers(1, 4)))


def text_of(call) -> str:
    with pytest.raises(dd.ModelError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    "name", ["x", "_x", "x1", "left.arm.q", "λ", "q₁", "q₁.θ", "x̂", "class", "xdot", "dot", "x" * 60]
)
def test_names_that_a_model_takes(name):
    m = dd.Model()
    x = m.state(name, 2)
    m.equation(m.der(x), -x)
    assert list(m.variables) == [name]
    assert m.equations == {"equation_1": [f"{name}_dot[{k}] + {name}[{k}] = 0" for k in (0, 1)]}
    assert m.freeze().labels["x"] == (f"{name}[0]", f"{name}[1]")


@pytest.mark.parametrize(
    ("name", "better"),
    [
        ("motor speed", "motor_speed"),
        ("a-b", "a_b"),
        ("1x", "_1x"),
        ("₁x", "_₁x"),
        ("x[0]", "x_0_"),
        ("", "x"),
        ("left..x", "left.x.x"),
        ("left.", "left.x"),
        ("a b.c d", "a_b.c_d"),
    ],
)
def test_other_names_are_refused_with_a_better_one(name, better):
    assert text_of(lambda: dd.Model().state(name)) == (
        f"{name!r} cannot name a state.\n"
        "  Because a name is made of letters, digits and underscores, with dots between the parts.\n"
        f"  Try: {better!r}"
    )
    assert check_name(better, "state") == better


@pytest.mark.parametrize(
    ("verb", "kind"),
    [
        ("state", "a state"),
        ("algebraic", "an algebraic variable"),
        ("input", "an input"),
        ("parameter", "a parameter"),
    ],
)
def test_every_kind_needs_a_name(verb, kind):
    assert text_of(lambda: getattr(dd.Model(), verb)(3)) == (
        f"{kind.capitalize()} needs a name.\n"
        "  got 3 where a text was expected\n"
        "  Because values, results and errors use names.\n"
        f'  Try: m.{verb}("name", ...)'
    )
    assert text_of(lambda: getattr(dd.Model(), verb)("a b")).startswith(f"'a b' cannot name {kind}.\n")


@pytest.mark.parametrize("name", ["x_dot", "x_ddot", "left.x_dddot"])
def test_derivative_names_are_reserved(name):
    stem = name.rsplit("_", 1)[0]
    assert text_of(lambda: dd.Model().state(name)) == (
        f"The name {name!r} is reserved.\n"
        "  Because names that end in _dot, _ddot, ... mean the time derivatives of another variable.\n"
        f"  Try: m.der({stem}), or another name such as '{stem}_rate'"
    )


@pytest.mark.parametrize(
    ("first", "second", "taken"),
    [
        ("state", "state", "a state"),
        ("algebraic", "input", "an algebraic variable"),
        ("input", "parameter", "an input"),
        ("parameter", "algebraic", "a parameter"),
    ],
)
def test_a_name_is_taken_once(first, second, taken):
    m = dd.Model("arm")
    getattr(m, first)("q")
    assert text_of(lambda: getattr(m, second)("q")) == (
        "The name 'q' is taken.\n"
        f"  it is already {taken} of the model 'arm'\n"
        "  Because every name in a model is unique.\n"
        f"  Try: another name for the {second}"
    )


def test_outputs_and_events_share_the_names_of_variables():
    m = dd.Model("arm")
    x = m.state("x")
    m.output("height", x)
    m.event("touch", x)
    assert "it is already an output of the model 'arm'" in text_of(lambda: m.state("height"))
    assert "it is already an event of the model 'arm'" in text_of(lambda: m.output("touch", x))
    assert "it is already a state of the model 'arm'" in text_of(lambda: m.event("x", x))
    assert "it is already an output of the model 'arm'" in text_of(lambda: m.output("height", x))


@pytest.mark.parametrize("name", ["t", "time"])
def test_time_has_its_name(name):
    assert text_of(lambda: dd.Model().parameter(name, 1.0)) == (
        f"The name {name!r} is taken.\n"
        "  it is the time of every model\n"
        "  Because every name in a model is unique.\n"
        "  Try: m.time, or another name"
    )
    assert dd.Model().state(f"part.{name}").shape == (1, 1)


def test_an_unknown_name_brings_the_nearest_ones():
    m = dd.Model("arm")
    m.state("angle")
    m.state("torque")
    assert text_of(lambda: m["angel"]) == (
        "The model 'arm' has no variable 'angel'.\n"
        "  it has angle, torque\n"
        "  Because only declared variables have names.\n"
        "  Try: 'angle'"
    )
    assert "Try: 'torque'" in text_of(lambda: m["Torque"])
    assert "Try: one of the names above" in text_of(lambda: m["zzz"])
    assert "it has no variables yet\n" in text_of(lambda: dd.Model("new")["x"])
    assert "Try: declare it first" in text_of(lambda: dd.Model("new")["x"])
    many = dd.Model("many")
    for k in range(10):
        many.state(f"s{k}")
    assert "it has s0, s1, s2, s3, s4, s5, s6, s7, …" in text_of(lambda: many["zzz"])


def test_what_has_no_derivative_is_said():
    m = dd.Model("arm")
    m.algebraic("force")
    m.input("u")
    assert "force is an algebraic variable and has no derivative" in text_of(lambda: m["force_dot"])
    assert "u is an input and has no derivative" in text_of(lambda: m["u_ddot"])


@pytest.mark.parametrize(
    ("name", "is_what", "first"),
    [
        ("x[2]", "x is 2 numbers", "x[0]"),
        ("x[0,1]", "x is 2 numbers", "x[0]"),
        ("y[1]", "y is a scalar", "y"),
        ("R[1]", "R is a 2 × 3 matrix", "R[0,0]"),
        ("R[2,0]", "R is a 2 × 3 matrix", "R[0,0]"),
        ("R_dot[0,3]", "R_dot is a 2 × 3 matrix", "R_dot[0,0]"),
        ("one[1]", "one is 1 number", "one[0]"),
    ],
)
def test_elements_that_do_not_exist(name, is_what, first):
    m = dd.Model()
    m.state("x", 2)
    m.state("y")
    m.state("R", (2, 3))
    m.state("one", 1)
    assert text_of(lambda: m[name]) == (
        f"{name} does not exist.\n  {is_what}\n  Because elements count from 0, rows before columns.\n  Try: {first}"
    )


@pytest.mark.parametrize("name", ["x[-1]", "x[]", "x[a]", "x[0", "x[0][0]", "x [0]", "", "x_dotdot", 3, None])
def test_spellings_that_mean_nothing(name):
    m = dd.Model("arm")
    m.state("x", 2)
    assert text_of(lambda: m[name]).startswith(f"The model 'arm' has no variable {str(name)!r}.\n")
    assert name not in m


def test_membership():
    m = dd.Model()
    m.state("x", 2)
    m.algebraic("z")
    for name in ("x", "x[1]", "x_dot", "x_ddot[0]", "z", "t", "time", "x[ 0 ]"):
        assert name in m
    for name in ("y", "x[2]", "z_dot", 3):
        assert name not in m


@given(SHAPES, st.data())
def test_labels_and_positions_are_inverse(shape, data):
    size = 1
    for length in shape:
        size *= length
    k = data.draw(st.integers(0, size - 1))
    stem, index = split_index(element_label("part.q", shape, k))
    assert stem == "part.q"
    assert (flat_index(shape, index) if index is not None else 0) == k


@given(st.sampled_from(LETTERS), st.text(LETTERS + "0123456789", max_size=8), st.integers(0, 5))
def test_derivative_names_are_split_again(first, rest, order):
    name = first + rest
    if split_derivative(name)[1] == 0:
        assert split_derivative(derivative_name(name, order)) == (name, order)


@given(any_text(12))
def test_every_text_is_taken_or_its_better_name_is(name):
    try:
        assert check_name(name, "state") == name
    except dd.ModelError as error:
        if "reserved" not in error.what:
            better = suggest_name(name)
            if split_derivative(better)[1] == 0:
                assert check_name(better, "state") == better


def test_shapes_in_words():
    assert [shape_text(s) for s in ((), (1,), (3,), (2, 3))] == ["a scalar", "1 number", "3 numbers", "a 2 × 3 matrix"]


def test_suggestions():
    assert did_you_mean("Speed", ["speed", "spread"]).startswith("'speed'")
    assert did_you_mean("zzz", ["x"]) == "'x'"
    assert did_you_mean("zzz", list("abcdefghij")) == "one of the names above"
    assert did_you_mean("zzz", list("abcdefghij"), listed=False).endswith("'h', …")
