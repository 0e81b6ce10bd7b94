"""From notebook to snapshot: equations counted, orders reduced to the first, a cache until the next writing call."""

from itertools import pairwise

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daedalus as dd
from daedalus.reduction.forms.explicit_form import explicit_form


def text_of(call) -> str:
    with pytest.raises(dd.ModelError) as caught:
        call()
    return str(caught.value)


def decay(name="decay"):
    m = dd.Model(name)
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    return m


def rates(system, t=0.0, x=(), u=(), p=()):
    """x' and z of a system at a point."""
    form = explicit_form(system)
    f = ca.Function("f", [system.symbol(letter) for letter in "txup"], [form.xdot, form.z])
    return [out.full().ravel() for out in f(t, x, u, p)]


# -- counting --------------------------------------------------------------------------------------------------


def test_an_empty_model():
    text = (
        "The model 'm' is empty.\n"
        "  no state and no algebraic variable is declared\n"
        "  Because there is nothing to solve for.\n"
        '  Try: x = m.state("x", start=1.0); m.equation(m.der(x), -x)'
    )
    m = dd.Model("m")
    assert text_of(m.freeze) == text
    m.parameter("k", 1.0)
    m.input("u")
    assert text_of(m.freeze) == text


def test_too_few_equations():
    m = dd.Model()
    x, z = m.state("x", 3), m.algebraic("force")
    m.equation(m.der(x), [x[1], x[2], x[0]])
    remedy = "  Try: m.equation(...) for each of them, or declare what comes from outside as m.input(...)"
    assert text_of(m.freeze) == (
        "The model has one equation too few.\n"
        "  4 unknowns, 3 equations; undetermined: force\n"
        f"  Because no equation contains force.\n{remedy}"
    )
    m.state("w", 2)
    assert text_of(m.freeze) == (
        "The model has 3 equations too few.\n"
        "  6 unknowns, 3 equations; undetermined: force, w[0], w[1]\n"
        f"  Because no equation contains force or w[0] or w[1].\n{remedy}"
    )
    m.equation(m.der(m["w[1]"]), z)
    assert text_of(m.freeze) == (
        "The model has two equations too few.\n"
        "  6 unknowns, 4 equations; undetermined: w[0], w[1]\n"
        f"  Because no equation contains w[0].\n{remedy}"
    )


def test_no_equation_at_all():
    m = dd.Model()
    m.state("x", 1)
    assert text_of(m.freeze).startswith(
        "The model has one equation too few.\n  1 unknown, 0 equations; undetermined: x[0]\n"
        "  Because no equation contains x[0].\n"
    )


def test_too_few_equations_for_unknowns_that_appear():
    m = dd.Model()
    x, y = m.state("x"), m.algebraic("y")
    m.equation(m.der(x), y)
    assert text_of(m.freeze).split("\n")[1:4] == [
        "  2 unknowns, 1 equation; undetermined: y",
        "  the motion is not determined: x, y stand in too few equations",
        "  Because the equations that contain them are used up by other unknowns.",
    ]


def test_too_many_equations():
    m = decay()
    y = m.state("y")
    m.equation(m.der(y), 1)
    m.equation(m["x"], 3, name="clamp")
    assert text_of(m.freeze) == (
        "The model has one equation too many.\n"
        "  2 unknowns, 3 equations: equation_1, clamp over-determine the model together\n"
        "  Because there are more equations than unknowns: some follow from the others, or contradict them.\n"
        "  Try: remove redundant equations (dd.analyse(m) lists them), or declare an input as m.algebraic(...)"
    )


def test_a_long_list_of_culprits_is_cut():
    m = dd.Model()
    m.state("x", 40)
    line = text_of(m.freeze).split("\n")[1]
    assert line.endswith("x[11], …")


def test_an_error_of_the_count_is_raised_each_time_until_it_is_mended():
    m = dd.Model()
    x = m.state("x")
    for _ in range(2):
        with pytest.raises(dd.ModelError):
            m.freeze()
    m.equation(m.der(x), 1)
    assert m.freeze().sizes["x"] == 1


# -- order reduction -------------------------------------------------------------------------------------------


def test_second_order_is_first_order_with_the_rate_as_a_state():
    m = dd.Model()
    q = m.state("q", 2, start=[1, None], rate=[None, 4], nominal=[2, 3])
    u, k = m.input("u"), m.parameter("k", 5.0)
    m.equation(m.der(m.der(q)), [-k * q[0] + m.der(q[1]), u], name="motion")
    s = m.freeze()
    assert s.labels["x"] == ("q[0]", "q[1]", "q_dot[0]", "q_dot[1]")
    assert s.labels["xdot"] == ("q_dot[0]", "q_dot[1]", "q_ddot[0]", "q_ddot[1]")
    assert s.equation_labels == (
        "motion[0]", "motion[1]",
        "q_dot[0] is the derivative of q[0]", "q_dot[1] is the derivative of q[1]",
    )  # fmt: skip
    assert np.array_equal(s.start["x"], [1, np.nan, np.nan, 4], equal_nan=True)
    assert s.nominal["x"].tolist() == [2, 3, 2, 3]
    assert rates(s, x=[1, 2, 3, 4], u=[7], p=[5])[0].tolist() == [3, 4, -1, 7]


def test_third_order():
    m = dd.Model()
    y = m.state("y", start=1, rate=2, nominal=7)
    m.equation(m.der(m.der(m.der(y))), -y - m.der(m.der(y)))
    s = m.freeze()
    assert (s.labels["x"], s.labels["xdot"]) == (("y", "y_dot", "y_ddot"), ("y_dot", "y_ddot", "y_dddot"))
    assert np.array_equal(s.start["x"], [1, 2, np.nan], equal_nan=True)
    assert s.nominal["x"].tolist() == [7, 7, 7]
    assert rates(s, x=[1, 2, 3])[0].tolist() == [2, 3, -4]
    assert s.place("y_ddot").letter == "x"
    assert s.place("y_dddot").letter == "xdot"


def test_orders_may_differ_within_a_vector():
    m = dd.Model()
    q = m.state("q", 3, start=[1, 2, 3], rate=[4, 5, 6], nominal=[10, 20, 30])
    m.equation(m.der(q[0]), q[2])
    m.equation(m.der(m.der(q[1])), q[0])
    m.equation(m.der(m.der(m.der(q[2]))), q[1])
    s = m.freeze()
    assert s.orders == {"q": (1, 2, 3)}
    assert s.labels["x"] == ("q[0]", "q[1]", "q[2]", "q_dot[1]", "q_dot[2]", "q_ddot[2]")
    assert s.labels["xdot"] == ("q_dot[0]", "q_dot[1]", "q_dot[2]", "q_ddot[1]", "q_ddot[2]", "q_dddot[2]")
    assert np.array_equal(s.start["x"], [1, 2, 3, 5, 6, np.nan], equal_nan=True)
    assert s.nominal["x"].tolist() == [10, 20, 30, 20, 30, 30]
    assert rates(s, x=[1, 2, 3, 5, 6, 7])[0].tolist() == [3, 5, 6, 1, 7, 2]
    # Every label finds its place, also of derivatives that not all elements have.
    for letter in ("x", "xdot"):
        for k, label in enumerate(s.labels[letter]):
            place = s.place(label)
            assert (place.letter, place.positions.tolist()) == (letter, [k]) or label in s.labels["x"]
    assert (s.place("q_dot").letters, s.place("q_dot").positions.tolist()) == (("xdot", "x", "x"), [0, 3, 4])
    with pytest.raises(dd.InputError) as caught:
        s.place("q_ddot")
    assert caught.value.facts == ["q has derivatives up to q_dot[0], q_ddot[1], q_dddot[2]"]
    with pytest.raises(dd.InputError):
        s.place("q_ddot[0]")


def test_matrices_of_second_order_are_column_major():
    m = dd.Model()
    R = m.state("R", (2, 3), start=[[1, 2, 3], [4, 5, 6]])
    m.equation(m.der(m.der(R)), -R)
    s = m.freeze()
    assert s.labels["x"][:6] == ("R[0,0]", "R[1,0]", "R[0,1]", "R[1,1]", "R[0,2]", "R[1,2]")
    assert s.labels["x"][6:] == tuple(f"R_dot{label[1:]}" for label in s.labels["x"][:6])
    assert s.start["x"][:6].tolist() == [1, 4, 2, 5, 3, 6]
    assert s.place("R_dot[1,2]").positions.tolist() == [11]


@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 10**6))
def test_reduction_equals_the_form_written_by_hand(n, order, seed):
    """q^(order) = nonlinear f(t, q, ..., q^(order-1), u, k): the model's own reduction and one by hand agree."""
    short, by_hand = dd.Model("short"), dd.Model("by hand")
    draw = np.random.default_rng(seed)
    coefficients = draw.uniform(-2, 2, 4)

    def force(t, chain, u, k):
        a, b, c, d = coefficients
        total = a * ca.sin(chain[0]) + b * u * t
        for level in chain[1:]:
            total += c * level * chain[0] + d * k
        return total

    q = short.state("q", n)
    chain = [q]
    for _ in range(order):
        chain.append(short.der(chain[-1]))
    short.equation(chain[-1], force(short.time, chain[:-1], short.input("u", n), short.parameter("k", 3.0)))
    levels = [by_hand.state(f"level{k}", n) for k in range(order)]
    for low, high in pairwise(levels):
        by_hand.equation(by_hand.der(low), high)
    by_hand.equation(
        by_hand.der(levels[-1]), force(by_hand.time, levels, by_hand.input("u", n), by_hand.parameter("k", 3.0))
    )
    x, u = draw.uniform(-1, 1, n * order), draw.uniform(-1, 1, n)
    assert np.allclose(rates(short.freeze(), 0.7, x, u, 3.0)[0], rates(by_hand.freeze(), 0.7, x, u, 3.0)[0], atol=1e-14)


def test_a_lower_derivative_alone_raises_no_order():
    m = decay()
    m.der(m.der(m["x"]))
    assert m["x_dddot"].shape == (1, 1)
    assert m.freeze().labels["x"] == ("x",)


def test_models_of_algebraic_unknowns_only():
    m = dd.Model()
    z, u = m.algebraic("z", 2, start=[1, None]), m.input("u", 2)
    m.equation(ca.DM([[2, 0], [1, 1]]) @ z, u)
    s = m.freeze()
    assert s.sizes == {"xdot": 0, "x": 0, "z": 2, "u": 2, "p": 0}
    assert np.array_equal(s.start["z"], [1, np.nan], equal_nan=True)
    assert rates(s, u=[2, 5])[1].tolist() == [1, 4]


# -- the cache -------------------------------------------------------------------------------------------------


def test_reading_keeps_the_snapshot():
    m = decay()
    m.output("o", m["x"])
    s = m.freeze()
    x = m["x"]
    m.der(x)
    m.der(m.der(ca.sin(x) * m.time))
    m["x_dddot"]
    assert "x_ddot" in m
    assert "nothing" not in m
    _ = m.variables, m.inputs, m.parameters, m.outputs, m.equations, m.time, repr(m), m.copy()
    dd.Model("other").include("part", m)
    for refused in (lambda: m.state("x"), lambda: m.equation(True), lambda: m.output("o", 1), lambda: m.event("e", 1)):
        with pytest.raises(dd.ModelError):
            refused()
    assert m.freeze() is s


@pytest.mark.parametrize(
    "write",
    [
        lambda m: m.equation(m.der(m.state("y")), 1),
        lambda m: m.equation(m.algebraic("z"), 1),
        lambda m: m.input("u"),
        lambda m: m.parameter("k", 1.0),
        lambda m: m.output("o", m["x"]),
        lambda m: m.event("e", m["x"]),
        lambda m: m.include("part", decay()),
    ],
)
def test_every_writing_call_makes_a_new_snapshot(write):
    m = decay()
    before = m.freeze()
    digest = before.digest
    write(m)
    after = m.freeze()
    assert after is not before
    assert after != before
    assert before.digest == digest
    assert m.freeze() is after


def test_an_equation_more_shows_at_the_next_verb():
    m = decay()
    m.freeze()
    m.equation(m["x"], 1)
    with pytest.raises(dd.ModelError, match="one equation too many"):
        m.freeze()


# -- laws ------------------------------------------------------------------------------------------------------


def random_model(names, seed):
    """A nonlinear model with states of first and second order, an algebraic variable, an input and a parameter."""
    m = dd.Model("m")
    a, b, z, u, k = names
    x, y = m.state(a, 2, start=1.0), m.state(b, start=2.0)
    force, signal, gain = m.algebraic(z, 2), m.input(u), m.parameter(k, 3.0)
    c = np.random.default_rng(seed).uniform(-1, 1, 6)
    m.equation(m.der(x), c[0] * ca.sin(x) + c[1] * force + m.time, name="one")
    m.equation(m.der(m.der(y)), c[2] * y * signal + c[3] * gain * m.der(y), name="two")
    m.equation(force * (2 + c[4] ** 2), x * c[5] - y, name="three")
    return m


NAME = st.from_regex(r"[a-zλ_][a-z0-9λ₁_]{0,6}(\.[a-z][a-z0-9]{0,3})?", fullmatch=True).filter(
    lambda name: not name.endswith("ot") and name not in ("t", "time")
)


@pytest.mark.wide
@given(st.lists(NAME, min_size=5, max_size=5, unique=True), st.integers(0, 10**6))
def test_renaming_changes_names_and_nothing_else(names, seed):
    plain = random_model(("x", "y", "z", "u", "k"), seed).freeze()
    renamed = random_model(names, seed).freeze()
    assert plain != renamed or tuple(names) == ("x", "y", "z", "u", "k")
    assert plain.sizes == renamed.sizes
    point = np.random.default_rng(seed)
    arguments = [point.uniform(-1, 1, n) for n in (1, *plain.sizes.values())]
    assert np.array_equal(plain.function(*arguments).full(), renamed.function(*arguments).full())
    translated = dict(zip(("x", "y", "z", "u", "k"), names))
    for letter, labels in plain.labels.items():
        for old, new in zip(labels, renamed.labels[letter]):
            assert new == translated[old[0]] + old[1:]


@pytest.mark.wide
def test_the_work_grows_with_the_equations_not_with_their_square(monkeypatch):
    """The entries that pass through CasADi while a model is written and frozen, for 60 and 240 equations."""

    def scalars(n):
        m = dd.Model()
        states = [m.state(f"x{k}") for k in range(n)]
        for k in range(n):
            m.equation(m.der(states[k]), states[k - 1] - 2 * states[k])
        m.freeze()

    def elements_of_a_vector(n):
        m = dd.Model()
        x = m.state("x", n)
        for k in range(n):
            m.equation(m.der(x[k] ** 2), m.der(m.der(x[k - 1])) * 0.5)
        m.freeze()

    def entries(result):
        if hasattr(result, "n_instructions"):
            return result.n_instructions()
        return len(result) if isinstance(result, list) else result.numel()

    def work(write, n):
        total = 0

        def counted(original):
            def call(*arguments, **options):
                nonlocal total
                result = original(*arguments, **options)
                total += entries(result)
                return result

            return call

        with monkeypatch.context() as patch:
            for name in ("symvar", "vertcat", "densify", "vec", "Function", "reshape", "jtimes", "substitute"):
                patch.setattr(ca, name, counted(getattr(ca, name)))
            write(n)
        return total

    for write in (scalars, elements_of_a_vector):
        assert work(write, 240) < 5 * work(write, 60)


@pytest.mark.wide
def test_five_thousand_scalar_equations():
    m = dd.Model()
    states = [m.state(f"x{k}", start=k) for k in range(5000)]
    m.equation([m.der(x) == before - 2 * x for x, before in zip(states, states[-1:] + states[:-1])])
    s = m.freeze()
    assert s.sizes["x"] == 5000
    x = np.arange(5000.0)
    assert np.array_equal(rates(s, x=x)[0], np.roll(x, 1) - 2 * x)


def test_surplus_equations_that_can_be_obeyed_are_invariants():
    """x² + y² = 1 follows from x' = -y, y' = x."""
    m = dd.Model()
    x, y = m.state("x", start=1.0), m.state("y", start=0.0)
    m.equation(m.der(x), -y)
    m.equation(m.der(y), x)
    m.equation(x**2 + y**2, 1, name="circle")
    assert list(m.freeze().invariants) == ["circle"]
    assert "circle: kept by the other equations, so that it is an invariant" in str(dd.analyse(m))
