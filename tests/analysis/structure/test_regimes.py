"""Where systems change their nature, and that well-behaved ones get no warning."""

import casadi as ca
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.analysis.structure.regimes import split_product


def test_factors_come_out_of_products_quotients_powers_and_signs():
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    assert [str(f) for f in split_product(-x * (y - 1) ** 2 / (1 + x**2))] == ["x", "(y-1)"]
    assert split_product(ca.SX(3)) == []
    assert split_product(ca.exp(x)) == []
    assert [str(f) for f in split_product(x**2 + 2 * x * x)] == ["x"]
    assert len(split_product(ca.sin(x) + 1)) == 1


def warnings_of(write, at=None):
    m = dd.Model("m")
    write(m)
    return dd.analyse(m, at=at).warnings


@pytest.mark.document("003", "u x' + x = 0: an ODE or a DAE depending on the input", "`dd.analyse`")
def test_a_factor_that_is_an_input():
    def write(m):
        x, u = m.state("x", start=1.0), m.input("u")
        m.equation((u - 3) * m.der(x) + x)

    assert warnings_of(write) == ["an ODE for u != 3, a DAE at u = 3, an algebraic equation"]


def test_a_factor_that_no_solution_meets():
    def write(m):
        x = m.state("x", start=1.0)
        m.equation(x * m.der(x), 1)

    assert warnings_of(write) == ["no solution was found on x = 0: x_dot cannot be determined there"]


def test_a_constraint_that_becomes_singular():
    def write(m):
        x, z = m.state("x", start=1.0), m.algebraic("z", start=1.0)
        m.equation(m.der(x), z)
        m.equation(z**2, x)

    assert warnings_of(write) == ["a DAE of index 1 for z != 0, singular in z at z = 0"]


@pytest.mark.parametrize(
    "equation",
    [
        lambda x, r: (1 + x**2) * r + x,
        lambda x, r: ca.exp(x) * r - 1,
        lambda x, r: (2 + ca.cos(x)) * r - x,
        lambda x, r: r / x - 1,
    ],
)
def test_factors_that_never_vanish_are_silent(equation):
    def write(m):
        x = m.state("x", start=1.0)
        m.equation(equation(x, m.der(x)))

    assert warnings_of(write) == []


def test_parameters_are_no_regimes():
    m = dd.Model("m")
    x, mass = m.state("x", start=1.0), m.parameter("mass", 2.0)
    m.equation(mass * m.der(x) + x)
    assert dd.analyse(m).warnings == []


@pytest.mark.parametrize("name", ["cart_pendulum", "double_pendulum", "pleiades", "lotka_volterra"])
def test_well_behaved_systems_get_no_warning(name):
    known = catalogue.load(name)
    assert dd.analyse(known.model, inputs=known.inputs).warnings == []


def test_small_determinants_are_not_zero():
    """Capacitances of some picofarads make determinants of 1e-24, which never vanish."""

    def write(m):
        v = m.state("v", 2, start=[1.0, 0.0])
        c = 1e-12 * (1 + v**2)
        m.equation(c[0] * m.der(v)[0] - 0.5e-12 * m.der(v)[1] + 1e-12 * v[0])
        m.equation(c[1] * m.der(v)[1] - 0.5e-12 * m.der(v)[0] + 1e-12 * v[1])

    assert warnings_of(write) == []


@pytest.mark.parametrize("leak", [0.0, 1e-9])
def test_the_slope_of_a_diode_is_never_zero(leak):
    """It is 1e17 times smaller at -1 V than at 0 V, and 1e17 times larger at 1 V; and the network is determined."""

    def write(m):
        v, w = m.state("v", start=0.0), m.algebraic("w")
        current = 1e-12 * (ca.exp((v - w) / 0.026) - 1) + leak * (v - w)
        m.equation(m.der(v), 1 - 1e3 * current)
        m.equation(current, 1e-12 * (ca.exp(w / 0.026) - 1) + 1e-12 * (ca.exp(w / 0.05) - 1))

    assert warnings_of(write) == []


def test_a_zero_beside_steep_slopes_is_found():
    def write(m):
        v, w = m.state("v", start=0.0), m.algebraic("w", start=0.5)
        m.equation(m.der(v), w - v)
        m.equation(1e-9 * ca.exp(w / 0.1) - 1e-6 * w, 1e-3 * v)

    (warning,) = warnings_of(write)
    assert warning.startswith("a DAE of index 1 for ")
    assert "singular in w" in warning


def test_a_long_expression_is_told_by_the_names_in_it():
    def write(m):
        x = m.state("x", 3, start=[1.0, 2.0, 3.0])
        first = ca.horzcat(x[0] + 0.3 * ca.sin(x[1]), x[1], 1)
        second = ca.horzcat(x[1], ca.cos(x[2]) + x[0] ** 2, 0.3)
        m.equation(ca.vertcat(first, second, ca.horzcat(0.5, x[2], x[0])) @ m.der(x) + x)

    (warning,) = warnings_of(write)
    assert warning.startswith(
        "the derivatives x_dot[0], x_dot[1], x_dot[2] are not determined at some values of x[0], x[1], x[2]: "
    )
    assert len(warning) < 200
