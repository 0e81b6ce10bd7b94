"""der: of states, products, matrices and time, once and often, and what has no derivative."""

import math

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daedalus as dd

NAN_CAUSE = (
    "  Because math.sin(x), float(x) and writing a symbol into a float array turn symbols into NaN.\n"
    "  Try: np.sin or casadi.sin, and lists instead of np.zeros"
)


def text_of(call) -> str:
    with pytest.raises(dd.ModelError) as caught:
        call()
    return str(caught.value)


def test_der_of_states_and_their_elements(d):
    assert d.texts(d.der(d.y)) == ["y_dot"]
    assert d.texts(d.der(d.x)) == ["x_dot[0]", "x_dot[1]"]
    assert d.texts(d.der(d.x[1])) == ["x_dot[1]"]
    assert d.texts(d.der(d.R)) == ["R_dot[0,0]", "R_dot[1,0]", "R_dot[0,1]", "R_dot[1,1]"]
    assert d.texts(d.der(d.R.T)) == ["R_dot[0,0]", "R_dot[0,1]", "R_dot[1,0]", "R_dot[1,1]"]
    assert d.texts(d.der([d.x, d.y])) == ["x_dot[0]", "x_dot[1]", "y_dot"]
    for e in (d.x, d.y, d.R, d.R.T, d.row, d.R[0, :], d.R @ d.x, d.x.T, d.R @ d.R):
        assert d.der(e).shape == e.shape


def test_der_many_times(d):
    assert d.texts(d.der(d.der(d.y))) == ["y_ddot"]
    assert d.texts(d.der(d.der(d.der(d.y)))) == ["y_dddot"]
    assert d.texts(d.der(d.m["x_dot"])) == ["x_ddot[0]", "x_ddot[1]"]
    assert ca.is_equal(d.der(d.der(d.R)), d.m["R_ddot"])


def test_der_of_what_does_not_move(d):
    assert d.texts(d.der(d.k)) == ["0"]
    assert d.texts(d.der(3)) == ["0"]
    assert d.texts(d.der(d.m.time)) == ["1"]
    assert d.texts(d.der([d.y, d.m.time, d.k, 5])) == ["y_dot", "1", "0", "0"]
    assert d.der(d.k * d.m.time).shape == (1, 1)


def test_der_is_the_derivative_along_a_motion(d):
    """x(t), y(t), R(t) put in: der of an expression equals the derivative of its value, once and twice."""
    m, t = d.m, ca.SX.sym("t")
    motion = {
        "x": ca.vertcat(ca.sin(t), t**2),
        "y": ca.exp(t / 2),
        "R": ca.vertcat(ca.horzcat(t, 1), ca.horzcat(t**3, 2)),
    }
    product = d.k * d.y * (d.R @ d.x) + m.time**2 * ca.sin(d.x) + d.x * ca.DM([1, 2])
    once, twice = m.der(product), m.der(m.der(product))

    def along(expression):
        symbols, values = [m.time, d.k], [t, 2.0]
        for name, path in motion.items():
            for suffix in ("", "_dot", "_ddot"):
                symbols.append(m[name + suffix])
                values.append(path)
                path = ca.reshape(ca.jacobian(ca.vec(path), t), *path.shape)
        return ca.densify(ca.Function("f", symbols, [expression]).call(values)[0])

    path = along(product)
    for expression in (once, twice):
        path = ca.jacobian(path, t)
        difference = ca.Function("f", [t], [path - along(expression)])
        assert all(np.abs(difference(at).full()).max() < 1e-12 for at in (0.3, 0.9, 1.7))


@given(st.lists(st.sampled_from("+*sc/"), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_der_obeys_the_product_rule(operations, random):
    m = dd.Model()
    pool = [m.state("a"), m.state("b"), m.time, m.parameter("k", 1.0), ca.SX(2)]
    for operation in operations:
        one, two = random.choice(pool), random.choice(pool)
        pool.append(
            {"+": one + two, "*": one * two, "s": ca.sin(one), "c": ca.cos(one * two), "/": one / (2 + two**2)}[
                operation
            ]
        )
    f, g = random.choice(pool), random.choice(pool)
    defect = m.der(f * g) - (m.der(f) * g + f * m.der(g))
    symbols = ca.vertcat(*ca.symvar(ca.vertcat(defect, m.der(f * g), m.time)))
    values = 0.3 + 0.1 * np.arange(symbols.numel())
    gap, size = (float(ca.Function("f", [symbols], [e])(values)) for e in (defect, m.der(f * g)))
    assert abs(gap) <= 1e-9 * (1 + abs(size))


@pytest.mark.parametrize(
    ("name", "label", "kind"),
    [("z", "z", "an algebraic variable"), ("w", "w[0]", "an algebraic variable")],
)
def test_der_of_what_has_no_derivative(d, name, label, kind):
    text = (
        f"{label} has no derivative in this model.\n"
        f"  {label} is {kind}\n"
        "  Because only states and inputs have derivatives that the equations may use.\n"
        f'  Try: m.state("{name}", ...) if its derivative is part of the equations'
    )
    assert text_of(lambda: d.der(d.m[name])) == text
    assert text_of(lambda: d.der(ca.sin(d.y) * ca.sum1(d.m[name][0]))) == text


def test_der_of_things_that_are_no_expressions(d):
    where = "The argument of der"
    assert text_of(lambda: d.der("y")).startswith(f"{where} is not an expression.\n  got str: 'y'\n")
    assert text_of(lambda: d.der(None)).startswith(f"{where} is not an expression.\n")
    assert text_of(lambda: d.der([])).startswith(f"{where} is empty.\n")
    assert text_of(lambda: d.der(ca.MX.sym("y"))).startswith(f"{where} is an MX expression.\n")
    assert text_of(lambda: d.der(math.sin(d.y))).startswith(f"{where} contains NaN or infinity.\n")
    assert text_of(lambda: d.der(d.y + math.sin(d.y))) == f"{where} contains the constant NaN.\n{NAN_CAUSE}"
    assert text_of(lambda: d.der(ca.SX.sym("q"))).startswith(f"{where} contains a symbol that no model declared.\n")
