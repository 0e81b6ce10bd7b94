"""The structure of a system: found once, and what its definition says entry by entry."""

import casadi as ca
import numpy as np
import pytest

import daedalus.catalogue as catalogue
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.system_jacobian import system_jacobian
from daedalus.analysis.structure.system_structure import structure_of

LETTERS = ("t", "xdot", "x", "z", "u", "p")


@pytest.mark.parametrize("name", ["pendulum_3d", "car_axis", "transistor_amplifier"])
def test_the_system_jacobian_is_its_definition(name):
    system = catalogue.load(name).model.freeze()
    structure = structure_of(system)
    s, n = structure.signature, system.sizes["x"]
    by_unknowns = ca.jacobian(system.residual, ca.vertcat(system.symbol("x"), system.symbol("z")))
    by_rates = ca.jacobian(system.residual, system.symbol("xdot"))
    symbols = [system.symbol(letter) for letter in LETTERS]
    function = ca.Function("all", symbols, [by_unknowns, by_rates, structure.jacobian])
    draw = np.random.default_rng(7)
    zero, one, found = (m.full() for m in function(*(draw.uniform(0.5, 1.5, v.numel()) for v in symbols)))
    one = np.hstack([one, np.zeros((len(one), structure.size - n))])
    wanted = np.zeros((s.count, s.size))
    for row, column, order in zip(s.rows, s.columns, s.orders):
        if s.d[column] - s.c[row] == order:
            wanted[row, column] = (one if order else zero)[row, column]
    assert np.array_equal(found, wanted)
    blocks = [(b.equations.tolist(), b.unknowns.tolist()) for b in structure.blocks]
    assert sorted(k for rows, _ in blocks for k in rows) == list(range(s.count))
    assert sorted(k for _, columns in blocks for k in columns) == list(range(s.size))


def test_all_stages_read_one_structure():
    system = catalogue.load("pendulum_3d").model.freeze()
    structure, array = structure_of(system), DerivativeArray(system)
    assert structure_of(system) is structure
    assert array.written is structure
    assert structure.slopes("xdot", "z") is structure.slopes("xdot", "z")
    assert system_jacobian(array, array.level(0), structure.signature) is structure.jacobian
    assert structure.labels == (*system.labels["x"], *system.labels["z"])
    assert structure.rows_with("xdot") == set(structure.slopes("xdot").sparsity().row())
    # Equations that were rewritten have a structure of their own.
    array.rewrite(array.level(0)[::-1], array.rows[::-1])
    assert array.written is None
