"""Formulas or a sparse solve: counted operations against those that are written, their growth, and equal motions."""

from itertools import pairwise

import casadi as ca
import numpy as np

import daedalus as dd
from daedalus.reduction.forms.condensed_form import condensed_form
from daedalus.reduction.forms.cost_of_forms import costs_of_forms, solve_costs_less
from daedalus.reduction.forms.explicit_form import explicit_form


def chain(count):
    """Bodies in space on hinges in a row."""
    m, before = dd.Model("chain"), dd.ground
    m.gravity([0.0, 0.0, -9.81])
    for k in range(count):
        link = m.body(f"b{k}", mass=1.0, inertia=[0.02, 0.03, 0.01], position=[0.1 + 0.2 * k, 0.0, 0.0])
        at = [0.1 if k else 0.0, 0.0, 0.0]
        m.joint(f"j{k}", "revolute", before, link, at_a=at, at_b=[-0.1, 0, 0], axis_a=[0, 1, 0], axis_b=[0, 1, 0])
        before = link
    return m


def reduced(model):
    return dd.reduce(model).freeze()


def test_counts_are_those_of_the_formulas_that_are_written():
    """Without the operations of matrix and right side, which both forms have; torn matrices have some zeros."""
    for count in (1, 2):
        system = reduced(chain(count))
        form, linear = explicit_form(system), condensed_form(system)
        arguments = system.symbols(("t", "x", "u", "p"))
        whole = ca.Function("whole", arguments, [form.xdot, form.z]).n_instructions()
        given = ca.Function("given", arguments, [linear.matrix, linear.right, linear.values]).n_instructions()
        assert 1.0 <= costs_of_forms(system).formulas / (whole - given) < 1.4


def test_solves_grow_with_the_bodies_and_formulas_faster():
    costs = [costs_of_forms(reduced(chain(count))) for count in (2, 4, 8)]
    for few, twice in pairwise(costs):
        assert twice.solve < 3 * few.solve
        assert twice.formulas > 6 * few.formulas


def test_one_body_has_formulas_and_two_are_solved():
    assert not solve_costs_less(reduced(chain(1)))
    assert solve_costs_less(reduced(chain(2)))


def test_few_coupled_unknowns_are_not_counted():
    m = dd.Model("oscillator")
    x = m.state("x", 2, start=[1.0, 0.0])
    m.equation(m.der(x) + ca.vertcat(0, m.der(x[0])), ca.vertcat(x[1], -x[0]))
    assert costs_of_forms(m.freeze()) is None
    assert not solve_costs_less(m.freeze())


def test_both_forms_give_one_motion(monkeypatch):
    m = chain(2)
    by_solves = dd.simulate(m, 0.5, rtol=1e-10, atol=1e-10)
    assert any("solved for x' and z" in str(note) for note in by_solves.notes)
    monkeypatch.setattr("daedalus.simulation.plant.explicit_plant.solve_costs_less", lambda system: False)
    by_formulas = dd.simulate(chain(2), 0.5, rtol=1e-10, atol=1e-10)
    assert not any("solved for x' and z" in str(note) for note in by_formulas.notes)
    assert by_solves.work.rhs == by_formulas.work.rhs
    for name in ("b1.position", "j1"):
        np.testing.assert_allclose(by_solves[name][-1], by_formulas[name][-1], rtol=1e-10, atol=1e-10)
