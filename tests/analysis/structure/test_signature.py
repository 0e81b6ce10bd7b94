"""Offsets of the signature method: published ones, optimal assignments another way, parts and blocks."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples
from scipy.optimize import linear_sum_assignment

import daedalus as dd
from daedalus.analysis.structure.block_form import blocks_in_order, coarse_parts
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.signature import signature


def of(model):
    array = DerivativeArray(model.freeze())
    return signature(array.level(0), array.y[:2])


def test_the_pendulum_has_the_published_offsets():
    """Pryce 2001, example 1: c = (0, 0, 2), d = (2, 2, 0)."""
    x, y, force = (ca.SX.sym(name, 3) for name in "xyf")
    jet = [ca.vertcat(x[k], y[k], force[k]) for k in range(3)]
    s = signature(ca.vertcat(x[2] + x[0] * force[0], y[2] + y[0] * force[0] - 9.81, x[0] ** 2 + y[0] ** 2 - 1), jet)
    assert (s.c.tolist(), s.d.tolist()) == ([0, 0, 2], [2, 2, 0])
    assert (s.index, s.degrees_of_freedom) == (3, 2)


def test_an_ode_has_index_0_and_all_start_values_free():
    m = dd.Model("ode")
    x = m.state("x", 3, start=[1, 2, 3])
    m.equation(m.der(x), [x[1], x[2], -x[0]])
    assert (of(m).index, of(m).degrees_of_freedom) == (0, 3)


@st.composite
def patterns(draw):
    n = draw(st.integers(1, 6))
    sigma = np.array(draw(st.lists(st.lists(st.integers(-1, 2), min_size=n, max_size=n), min_size=n, max_size=n)))
    return sigma


@given(patterns())
@settings(max_examples=examples(80), deadline=None)
def test_offsets_solve_the_dual_of_an_optimal_assignment(sigma):
    n = len(sigma)
    jet = [ca.SX.sym(f"y{k}", n) for k in range(3)]
    rows = [sum((jet[sigma[i, j]][j] for j in range(n) if sigma[i, j] >= 0), ca.SX(0)) for i in range(n)]
    s = signature(ca.vertcat(*rows), jet)
    cost = np.where(sigma >= 0, -sigma.astype(float), 1e3)
    assigned = linear_sum_assignment(cost)
    possible = cost[assigned].max() < 1e3
    assert s.regular == possible
    if possible:
        present = sigma >= 0
        slack = s.d[None, :] - s.c[:, None] - sigma
        assert np.all(slack[present] >= 0)
        assert np.all(slack[np.arange(n), s.partner] == 0)
        assert np.all(s.c >= 0)
        assert s.c.min() == 0
        # Equal values of the primal and the dual problem: the assignment is optimal.
        assert s.d.sum() - s.c.sum() == -cost[assigned].sum()
    else:
        assert s.index is None


def test_a_singular_structure_names_both_parts():
    y = ca.SX.sym("y", 4)
    s = signature(ca.vertcat(y[0] - 1, y[0] ** 2 - 1, y[1] + y[2] + y[3], y[3] - y[0]), [y])
    parts = coarse_parts(s)
    assert parts.too_many_equations.tolist() == [0, 1]
    assert parts.undetermined_unknowns.tolist() == [1, 2]
    regular = coarse_parts(signature(ca.vertcat(y[0], y[1], y[2], y[3]), [y]))
    assert not any(len(part) for part in vars(regular).values())


def test_blocks_need_only_earlier_blocks():
    draw = np.random.default_rng(5)
    n = 30
    y = ca.SX.sym("y", n)
    rows = [y[i] + sum((y[int(j)] for j in draw.integers(0, n, 1)), ca.SX(0)) for i in range(n)]
    s = signature(ca.vertcat(*rows), [y])
    blocks = blocks_in_order(s)
    place = {int(j): k for k, block in enumerate(blocks) for j in block.unknowns}
    row_place = {int(i): k for k, block in enumerate(blocks) for i in block.equations}
    assert sorted(place) == sorted(row_place) == list(range(n))
    assert all(place[int(j)] <= row_place[int(i)] for i, j in zip(s.rows, s.columns))


@pytest.mark.parametrize("rods", [2, 3300])
def test_a_long_chain_of_rods_has_index_3(rods):
    """10 000 equations in one pass: nothing dense, nothing quadratic."""
    n = rods
    jet = [ca.SX.sym(f"y{k}", 3 * n) for k in range(3)]
    x, z, force = (slice(k * n, (k + 1) * n) for k in range(3))
    left = [ca.vertcat(0, jet[0][part][: n - 1]) for part in (x, z)]
    stretch = [jet[0][part] - other for part, other in zip((x, z), left)]
    pull = [s * jet[0][force] for s in stretch]
    motion = [jet[2][part] + p - ca.vertcat(p[1:], 0) for part, p in zip((x, z), pull)]
    s = signature(ca.vertcat(*motion, stretch[0] ** 2 + stretch[1] ** 2 - 1), jet)
    assert (s.index, s.degrees_of_freedom) == (3, 2 * n)
    assert len(blocks_in_order(s)) == 1
