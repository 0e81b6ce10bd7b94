"""What the matrix in front of x' depends on."""

import casadi as ca

import daedalus as dd
from daedalus.simulation.plant.constant_mass import varying_mass


def build(left):
    m = dd.Model("plant")
    x, y, z = m.state("x", start=1.0), m.state("y", start=1.0), m.algebraic("z")
    u, k = m.input("u"), m.parameter("k", 2.0)
    m.equation(left(m, x, y, z, u, k), -x * y + ca.sin(m.time))
    m.equation(m.der(y), u)
    m.equation(z - x * y)
    return m.freeze()


def test_parameters_and_numbers_are_constant():
    assert varying_mass(build(lambda m, x, y, z, u, k: k * m.der(x) + 3 * m.der(y))) == []


def test_everything_else_is_named():
    assert varying_mass(build(lambda m, x, y, z, u, k: x * z * m.der(x) + u * m.der(y))) == ["x", "z", "u"]
    assert varying_mass(build(lambda m, x, y, z, u, k: ca.exp(m.time) * m.der(x))) == ["t"]
    assert varying_mass(build(lambda m, x, y, z, u, k: m.der(x) ** 2 + m.der(x))) == ["x_dot"]
