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


def test_zeros_of_a_field_take_no_memory(monkeypatch):
    """The entries that are looked at are counted: one a cell, where the whole matrix has 160 000."""
    m, looked_at, simplify = dd.Model("rod"), [], ca.simplify
    u = m.state("u", 400)
    m.equation(m.der(u), dd.laplacian(u, 1.0))
    monkeypatch.setattr(ca, "simplify", lambda entries: looked_at.append(entries.numel()) or simplify(entries))
    assert varying_mass(m.freeze()) == []
    assert max(looked_at) == 400
