"""The frozen system: identity, places of names, written values, and that nothing can change it."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daedalus as dd
from daedalus.model.model import as_system
from daedalus.model.system.system import System
from daedalus.model.system.system_record import LETTERS


def tank(
    name="tank", state="h", unit="m", start=1.0, gain=2.0, output="level", factor=1.0, direction=0, equation="mass"
):
    m = dd.Model(name)
    h, q, k = m.state(state, 2, start=start, unit=unit), m.input("q"), m.parameter("k", gain)
    m.equation(m.der(h), [q - factor * k * h[0], h[0]], name=equation)
    m.output(output, h[1])
    m.event("empty", h[0], direction=direction)
    return m


# -- identity --------------------------------------------------------------------------------------------------


def test_the_same_model_written_twice_is_the_same_system():
    one, two = tank().freeze(), tank().freeze()
    assert one is not two
    assert one == two
    assert hash(one) == hash(two)
    assert len({one, two}) == 1
    assert one.digest == two.digest


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"}, {"state": "level_of_water"}, {"unit": "mm"}, {"start": 2.0}, {"start": [1.0, None]},
        {"gain": 3.0}, {"output": "depth"}, {"factor": 1.5}, {"direction": 1}, {"equation": "balance"},
    ],
)  # fmt: skip
def test_whatever_is_written_otherwise_is_another_system(change):
    assert tank(**change).freeze() != tank().freeze()
    assert tank(**change).freeze() == tank(**change).freeze()


def test_a_system_equals_no_other_thing():
    s = tank().freeze()
    assert s != "tank"
    assert s != tank()
    assert s == s


def test_as_system():
    m = tank()
    assert as_system(m) is m.freeze()
    assert as_system(m.freeze()) is m.freeze()
    with pytest.raises(dd.ModelError) as caught:
        as_system("tank")
    assert str(caught.value) == (
        "A model is expected here.\n"
        "  got str\n"
        "  Because every function works on a Model or on the System that m.freeze() returns.\n"
        "  Try: dd.simulate(m, ...) with m = dd.Model(...)"
    )


def test_nothing_can_be_written_into_a_system():
    s = tank().freeze()
    digest = s.digest
    for name in ("name", "variables", "residual", "labels", "anything"):
        with pytest.raises(AttributeError):
            setattr(s, name, None)
    for values in (*s.start.values(), *s.nominal.values()):
        with pytest.raises(ValueError, match="read-only"):
            values[...] = 0
    for expression in (s.residual, s.guards, s.resets, s.symbol("x"), s.outputs["level"]):
        expression[0] = 0
    s.outputs.clear()
    assert s.digest == digest
    assert tank().freeze() == s
    assert not s.residual[0].is_constant()
    assert list(s.outputs) == ["level"]


# -- names and places ------------------------------------------------------------------------------------------


@pytest.fixture
def system():
    m = dd.Model("arm")
    R, q = m.state("R", (2, 3)), m.state("q", 2)
    z, w = m.algebraic("z", 2), m.algebraic("w")
    m.input("u", 2)
    m.input("v")
    m.parameter("K", [[1.0, 2.0], [3.0, 4.0]])
    m.parameter("m")
    m.equation(m.der(R), R)
    m.equation(m.der(m.der(q)), -q)
    m.equation(z, q)
    m.equation(w, 1)
    m.output("o", 2 * q)
    return m.freeze()


def test_vectors_in_order_of_declaration(system):
    assert system.sizes == {"xdot": 10, "x": 10, "z": 3, "u": 3, "p": 5}
    assert system.labels["x"][5:] == ("R[1,2]", "q[0]", "q[1]", "q_dot[0]", "q_dot[1]")
    assert system.labels["z"] == ("z[0]", "z[1]", "w")
    assert system.labels["u"] == ("u[0]", "u[1]", "v")
    assert system.labels["p"] == ("K[0,0]", "K[1,0]", "K[0,1]", "K[1,1]", "m")
    assert np.array_equal(system.start["p"], [1, 3, 2, 4, np.nan], equal_nan=True)


@pytest.mark.parametrize(
    ("name", "letter", "positions", "shape"),
    [
        ("R", "x", [0, 1, 2, 3, 4, 5], (2, 3)),
        ("R[1,2]", "x", [5], ()),
        ("q", "x", [6, 7], (2,)),
        ("q[1]", "x", [7], ()),
        ("q_dot", "x", [8, 9], (2,)),
        ("q_ddot[0]", "xdot", [8], ()),
        ("R_dot[0,1]", "xdot", [2], ()),
        ("w", "z", [2], ()),
        ("w[0]", "z", [2], ()),
        ("v", "u", [2], ()),
        ("K[0,1]", "p", [2], ()),
        ("m", "p", [4], ()),
    ],
)
def test_places(system, name, letter, positions, shape):
    place = system.place(name)
    assert (place.letter, place.positions.tolist(), place.shape) == (letter, positions, shape)


def test_every_label_is_a_name_and_symbols_carry_it(system):
    for letter in LETTERS:
        for k, label in enumerate(system.labels[letter]):
            place = system.place(label)
            assert place.positions.tolist() == [k] or letter == "xdot"
            if letter != "xdot":
                assert str(system.symbol(letter)[k]) == label


@pytest.mark.parametrize(
    ("name", "fact", "remedy"),
    [
        ("Q", "it has z, w, u, v, K, m, R, R_dot, q, q_dot, …", "'q'"),
        ("q_dddot", "q has derivatives up to q_ddot", "'q_ddot' or 'q_dot' or 'R_dot'"),
        ("w_dot", "w has no derivative", "'R_dot' or 'q_dot' or 'q_ddot'"),
        ("zz", "it has z, w, u, v, K, m, R, R_dot, q, q_dot, …", "'z'"),
    ],
)
def test_unknown_names(system, name, fact, remedy):
    with pytest.raises(dd.InputError) as caught:
        system.place(name)
    assert str(caught.value) == (
        f"The model 'arm' has no variable {name!r}.\n"
        f"  {fact}\n"
        "  Because only declared variables have names.\n"
        f"  Try: {remedy}"
    )


@pytest.mark.parametrize(
    ("name", "words", "first"), [("q[2]", "q is 2 numbers", "q[0]"), ("R[2,0]", "R is a 2 × 3 matrix", "R[0,0]")]
)
def test_elements_that_do_not_exist(system, name, words, first):
    with pytest.raises(dd.InputError) as caught:
        system.place(name)
    assert str(caught.value) == (
        f"{name} does not exist.\n  {words}\n  Because elements count from 0, rows before columns.\n  Try: {first}"
    )


@given(
    st.lists(
        st.tuples(st.sampled_from(["state", "algebraic", "input", "parameter"]), st.integers(1, 3), st.integers(1, 2)),
        min_size=1,
        max_size=6,
    )
)
def test_places_cover_every_vector_once(declared):
    m = dd.Model()
    m.equation(m.der(m.state("first")), 1)
    for k, (kind, rows, columns) in enumerate(declared):
        shape = (rows, columns) if columns > 1 else rows
        symbol = m.parameter(f"v{k}", shape=shape) if kind == "parameter" else getattr(m, kind)(f"v{k}", shape)
        if kind == "state":
            m.equation(m.der(symbol), symbol)
        elif kind == "algebraic":
            m.equation(symbol, 1)
    s = m.freeze()
    for letter in ("x", "z", "u", "p"):
        covered = [int(k) for v in s.variables for k in s.place(v.name).positions if s.place(v.name).letter == letter]
        assert covered == list(range(s.sizes[letter]))
        values = np.arange(100.0, 100 + s.sizes[letter])
        for v in s.variables:
            if s.place(v.name).letter == letter:
                symbol = ca.Function("f", [s.symbol(letter)], [ca.vec(m[v.name])])
                assert symbol(values).full().ravel().tolist() == values[s.place(v.name).positions].tolist()


# -- written values --------------------------------------------------------------------------------------------


def test_written_values():
    m = dd.Model()
    x = m.state("x", 3, start=[1, None, 3], nominal=[1, 2, 3])
    z = m.algebraic("z", start=4, nominal=5)
    m.input("u", 2, nominal=6)
    m.parameter("k", 7)
    m.equation(m.der(x), 0)
    m.equation(z, 0)
    s = m.freeze()
    for written, expected in (
        (s.start, {"x": [1, np.nan, 3], "z": [4], "p": [7]}),
        (s.nominal, {"x": [1, 2, 3], "z": [5], "u": [6, 6], "p": [1]}),
    ):
        assert written.keys() == expected.keys()
        for letter, values in expected.items():
            assert np.array_equal(written[letter], values, equal_nan=True)


def test_a_model_without_parameters_and_inputs():
    m = dd.Model()
    m.equation(m.der(m.state("x", start=2.0)), 1)
    s = m.freeze()
    assert [s.start[letter].tolist() for letter in ("x", "z", "p")] == [[2.0], [], []]
    assert s.symbol("p").shape == (0, 1)
    assert s.guards.shape == (0, 1)
    assert s.resets.shape == (0, 1)
    assert s.function(0, 1, 2, [], [], []).full().tolist() == [[0.0]]


def test_names_of_outputs_are_read_without_copies_of_all_expressions(monkeypatch):
    """Rows of a hundred chosen outputs: each expression is copied a few times, and not once for every name."""
    m, read = dd.Model("many"), []
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    for k in range(100):
        m.output(f"y{k}", (k + 1) * x)
    whole = System.outputs.fget
    monkeypatch.setattr(System, "outputs", property(lambda self: read.append(1) or whole(self)))
    tr = dd.simulate(m, 1.0, save=[f"y{k}" for k in range(100)], save_at=[0.0, 1.0])
    assert float(tr["y99"][0]) == 100.0
    assert len(read) < 20
