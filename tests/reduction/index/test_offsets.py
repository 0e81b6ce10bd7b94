"""Offsets of the signature method: the smallest ones, raised ones, and equations that are put in instead."""

import casadi as ca
import numpy as np

import daedalus as dd
from daedalus.reduction.index.offsets import raised_offsets, signature_of, solved_equations, unknowns_of


def test_offsets_reach_their_floors():
    """x' = z, x = sin t: c = (0, 1), d = (1, 0); with z' wanted as well both rise by one."""
    m = dd.Model("offsets")
    x, z = m.state("x"), m.state("z")
    residual = ca.vertcat(m.der(x) - z, x - ca.sin(m.time))
    s = signature_of(m, residual, unknowns_of(m), ["one", "two"])
    assert (s.c.tolist(), s.d.tolist()) == ([0, 1], [1, 0])
    raised = raised_offsets(s, unknowns_of(m), np.array([0, 1]))
    assert (raised.c.tolist(), raised.d.tolist()) == ([1, 2], [2, 1])


def test_elements_of_one_variable_rise_together():
    m = dd.Model("offsets")
    x = m.state("x", 2)
    residual = ca.vertcat(m.der(x[0]) - x[1], x[0] - ca.sin(m.time))
    s = raised_offsets(
        signature_of(m, residual, unknowns_of(m), ["one", "two"]), unknowns_of(m), np.zeros(2, dtype=int)
    )
    assert s.d.tolist() == [2, 1]


def test_of_two_equations_that_contain_each_other_one_is_put_in():
    m = dd.Model("circle")
    x, y, w = (m.state(name) for name in "xyw")
    residual = ca.vertcat(m.der(x) - y - m.der(y), m.der(y) + 2 * m.der(x) - w, x - ca.sin(m.time))
    s = signature_of(m, residual, unknowns_of(m), list("abc"))
    s = raised_offsets(s, unknowns_of(m), np.array([2, 2, 1]))
    flow = solved_equations(m, residual, s, unknowns_of(m), np.zeros(3, dtype=int))
    assert len(flow.row) == 1


def test_which_equations_are_put_in():
    """q' = v is, also with a parameter as factor; x q' = v is not, since x may vanish."""
    for factor, count in ((1.0, 1), ("k", 1), ("q", 0)):
        m = dd.Model("rates")
        q, v, f = m.state("q"), m.state("v"), m.state("f")
        m.parameter("k", 2.0)
        scale = m[factor] if isinstance(factor, str) else factor
        residual = ca.vertcat(scale * m.der(q) - v, m.der(v) - f, q - ca.sin(m.time))
        s = signature_of(m, residual, unknowns_of(m), list("abc"))
        flow = solved_equations(m, residual, s, unknowns_of(m), np.zeros(3, dtype=int))
        assert len(flow.row) == count
