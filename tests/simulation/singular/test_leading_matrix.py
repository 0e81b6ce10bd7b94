"""Implicit methods tell where the equations that they solve do not determine a derivative or an algebraic variable."""

import casadi as ca
import numpy as np
import pytest
from tests.support.records_of import records_of

import daedalus as dd
from daedalus import catalogue
from daedalus.simulation.result.records_on_the_way import NotDetermined

IMPLICIT = ["radau3", "radau5", "radau9", "bdf", "trbdf2", dd.gauss_legendre(2), dd.radau_iia(2)]


def step_of(method):
    return {} if isinstance(method, str) else {"step": 0.013}


@pytest.mark.parametrize("method", IMPLICIT, ids=str)
def test_an_input_that_takes_the_derivative_out_of_its_equation(method):
    m = catalogue.load("small_dae", example="input_switched").model
    tr = dd.simulate(m, 2.0, inputs={"u": ca.cos(np.pi * m.time / 2)}, method=method, **step_of(method))
    (told,) = records_of(tr, NotDetermined)
    assert (told.equations, told.unknowns) == (("equation_1",), ("x_dot",))
    assert told.begin == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("method", IMPLICIT, ids=str)
def test_a_start_at_which_any_derivative_would_do(method):
    m = catalogue.load("small_dae", example="start_switched").model
    at = {"start": {"x1": 2.0, "x2": 2.0}, "inputs": {"u": 1.0}}
    tr = dd.simulate(m, 2.0, method=method, **at, **step_of(method))
    (told,) = records_of(tr, NotDetermined)
    assert (told.equations, told.unknowns, told.begin) == (("equation_2",), ("x2_dot",), 0.0)
    assert str(told) in tr.notes
    # Beside it everything is determined, and nothing is told.
    fine = dd.simulate(m, 0.5, method=method, start={"x1": 2.0, "x2": 1.0}, inputs={"u": 1.0}, **step_of(method))
    assert not records_of(fine, NotDetermined)


def test_solve_dae_says_so_too():
    found = dd.solve_dae(lambda t, y, yp: [(1 - t) * yp[0] + y[0]], (0, 2), [1.0], method="BDF")
    assert found.reason.startswith("traced; F does not determine yp[0] near t = 1: the matrix before it is singular")


def test_a_fold_of_algebraic_equations_that_is_passed():
    """z follows z³ - 3z = 3 cos t on one branch, which ends at z = 1."""
    m = dd.Model("fold")
    x, z = m.state("x", start=3.0), m.algebraic("z", start=2.1038)
    m.equation(m.der(x), -3 * ca.sin(m.time), name="drive")
    m.equation(z**3 - 3 * z, x, name="fold")
    tr = dd.simulate(m, 4.0, method="radau5", step=0.3)
    told = records_of(tr, NotDetermined)
    assert tr.success is False or [record.unknowns for record in told] == [("z",)]


def test_two_equations_that_lose_their_unknowns_together():
    m = dd.Model("pair")
    x, y = m.state("x", start=1.0), m.state("y", start=0.5)
    m.equation(m.der(x) + m.time * m.der(y), -x, name="first")
    m.equation(m.time * m.der(x) + m.der(y), -y, name="second")
    tr = dd.simulate(m, 2.0, method="bdf")
    (told,) = records_of(tr, NotDetermined)
    assert set(told.equations) == {"first", "second"}
    assert set(told.unknowns) == {"x_dot", "y_dot"}
    assert told.begin == pytest.approx(1.0, abs=1e-3)
    assert str(told).startswith("first, second do not determine x_dot, y_dot near t = 1: the matrix before them is")


def test_a_coefficient_that_jumps_over_zero_is_none():
    m = dd.Model("reversed")
    x, u = m.state("x", start=1.0), m.input("u")
    m.equation(u * m.der(x), 1 - x)
    tr = dd.simulate(m, 2.0, inputs={"u": dd.signal([0.0, 1.0, 2.0], [1.0, -1.0, -1.0])}, method="radau5")
    assert tr.success
    assert not records_of(tr, NotDetermined)


def test_matrices_that_are_singular_everywhere_are_another_matter():
    """Derivatives in one combination: the index is 2 whatever the values are, and nothing is passed."""
    m = dd.Model("combined")
    x, y = m.state("x", start=1.0), m.state("y", start=1.0)
    m.equation((1 + m.time) * (m.der(x) + m.der(y)), -x, name="first")
    m.equation((2 + m.time) * (m.der(x) + m.der(y)), -y * (2 + m.time) / (1 + m.time), name="second")
    tr = dd.simulate(m, 1.0, method="radau5")
    assert not records_of(tr, NotDetermined)
