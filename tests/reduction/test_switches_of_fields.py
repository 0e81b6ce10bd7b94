"""Conditions in a few cells of a long field: the other equations stay as they are, and the answer is that of the
whole."""

import casadi as ca
import numpy as np

import daedalus as dd
from daedalus.model.system import instruction_list
from daedalus.reduction import switches
from daedalus.reduction.switches import switches_of


def heated(cells):
    m = dd.Model("heated rod")
    u = m.state("u", cells, start=np.zeros(cells))
    heat = ca.DM.zeros(cells)
    heat[2] = 1.0
    source = heat * ca.if_else(u[4] < 0.01, 1.0, 0.0) + ca.if_else(m.time > 0.5, 1.0, 0.0) * ca.DM(np.eye(cells)[3])
    m.equation(m.der(u), dd.laplacian(u, 0.1, "neumann") + source)
    return m


def test_equations_without_a_condition_are_the_same_objects(monkeypatch):
    whole = heated(12).freeze()
    monkeypatch.setattr(switches, "LONG", 1)
    monkeypatch.setattr(instruction_list, "LONG", 1)
    system = heated(12).freeze()
    short, long = switches_of(whole), switches_of(system)
    assert long.conditions == short.conditions == ("u[4] < 0.01",)
    assert long.on_time == short.on_time
    for row in range(12):
        same = ca.is_equal(long.system.residual[row], system.residual[row], 0)
        assert same == (row not in (2, 3))


def test_runs_agree(monkeypatch):
    one = dd.simulate(heated(12), 1.0, save_at=[0.2, 0.7, 1.0], rtol=1e-8)
    monkeypatch.setattr(switches, "LONG", 1)
    other = dd.simulate(heated(12), 1.0, save_at=[0.2, 0.7, 1.0], rtol=1e-8)
    np.testing.assert_array_equal(one["u"], other["u"])
    assert one.notes == other.notes


def test_a_field_without_conditions_has_no_switches(monkeypatch):
    monkeypatch.setattr(switches, "LONG", 1)
    m = dd.Model("rod")
    u = m.state("u", 8)
    m.equation(m.der(u), dd.laplacian(u, 1.0))
    assert switches_of(m.freeze()) is None
