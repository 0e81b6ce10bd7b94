"""Jacobians from instruction lists: CasADi's pattern and values over all operations, and what is left to CasADi."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import ALL_OPERATIONS
from rings import examples

from daedalus.compilation import compile_loops
from daedalus.compilation.instruction_slopes import instruction_slopes
from daedalus.model.system.instruction_list import UnknownOperationError, read_instructions

CELLS = 24


def interpreted(rows, values):
    """The outputs of an instruction list, row by row, without any of the code that is tested, and whether all of its
    rows are finite."""
    results, outputs = [], [np.zeros(size) for size in rows.size_out]
    for operation, first, second, slot in zip(rows.operation, rows.first, rows.second, rows.slot):
        value = None
        if operation == ca.OP_INPUT:
            value = ca.DM(values[first][second])
        elif operation == ca.OP_CONST:
            value = ca.DM(rows.constants[first])
        elif operation == ca.OP_OUTPUT:
            outputs[second][slot] = float(results[first])
        elif second >= 0:
            value = ca.DM.binary(operation, results[first], results[second])
        else:
            value = ca.DM.unary(operation, results[first])
        results.append(value)
    return outputs, all(np.isfinite(float(value)) for value in results if value is not None)


def check(f, values, groups):
    found = instruction_slopes(read_instructions(f), groups)
    arguments = [f.sx_in(k) for k in range(f.n_in())]
    mine, finite = interpreted(found.rows, values)
    for k, group in enumerate(groups):
        slopes = ca.jacobian(f(*arguments), ca.vertcat(*(arguments[i] for i in group)))
        assert found.sparsity(k) == slopes.sparsity()
        if not finite:
            continue  # 0 · ∞ on one way need not be on the other
        there = np.array(ca.Function("J", arguments, [slopes])(*values).nonzeros()).ravel()
        np.testing.assert_allclose(mine[k], there, rtol=1e-9, atol=1e-12 * np.max(np.abs(there), initial=1.0))


@settings(max_examples=examples(25), deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(ALL_OPERATIONS), st.integers(0, 30), st.integers(0, 30), st.integers(0, 5)),
        min_size=2,
        max_size=9,
    ),
    seed=st.integers(0, 100),
)
def test_patterns_and_values_are_casadis(steps, seed):
    x, z, p = ca.SX.sym("x", CELLS), ca.SX.sym("z", 3), ca.SX.sym("p", 2)
    values = [x, p[0] * x, ca.repmat(z[1], CELLS, 1), ca.SX(np.linspace(0.4, 0.9, CELLS))]
    for operation, i, j, by in steps:
        a, b = values[i % len(values)], values[j % len(values)]
        b = ca.vertcat(b[by:], b[:by])
        values.append(ca.vertcat(*(ca.SX.binary(operation, a[k], b[k]) for k in range(CELLS))))
    f = ca.Function("f", [x, z, p], [ca.densify(values[-1] + values[-2] - x)])
    rng = np.random.default_rng(seed)
    try:
        read_instructions(f)
    except UnknownOperationError:
        return
    check(f, [rng.uniform(0.3, 0.9, size) for size in (CELLS, 3, 2)], [(0,), (1, 2)])


def test_a_field_reacts_and_diffuses():
    u, v, a = ca.SX.sym("u", 6, 5), ca.SX.sym("v", 6, 5), ca.SX.sym("a")
    around = sum(np.roll(u, by, axis) for by in (1, -1) for axis in (0, 1)) - 4 * u
    right = ca.vec(a * around + u**2 * v - ca.exp(u) / (1 + v**2))
    f = ca.Function("f", [ca.vec(v), ca.vec(u), a], [right])
    rng = np.random.default_rng(1)
    check(f, [rng.uniform(size=30), rng.uniform(size=30), np.array([0.3])], [(0,), (1, 2)])


def test_loops_of_slopes_are_compiled_without_a_graph():
    x = ca.SX.sym("x", 2000)
    f = ca.Function("f", [x], [ca.sin(x) * np.roll(x, 1) + x**3])
    found = instruction_slopes(read_instructions(f), [(0,)])
    compiled = compile_loops("slopes", found.rows, lambda: pytest.fail("the CasADi function is not needed"))
    point = np.linspace(0.0, 1.0, 2000)
    entries = compiled(point)[0]
    there = ca.Function("J", [x], [ca.jacobian(f(x), x)])(point)
    assert found.sparsity(0) == there.sparsity()
    np.testing.assert_allclose(entries, np.array(there.nonzeros()), rtol=1e-12, atol=1e-15)


def test_deep_recursions_and_wide_sums_are_left_to_casadi():
    x = ca.SX.sym("x", 300)
    deep = [x[0]]
    for k in range(1, 300):
        deep.append(ca.sin(deep[-1]) + x[k])
    assert instruction_slopes(read_instructions(ca.Function("f", [x], [ca.vertcat(*deep)])), [(0,)]) is None
    wide = [sum((x[(i * k) % 300] * k for k in range(1, 80)), ca.SX(0)) for i in range(1, 50)]
    rows = read_instructions(ca.Function("f", [x], [ca.vertcat(*wide)]))
    assert instruction_slopes(rows, [(0,)]) is not None
    total = ca.sumsqr(x)
    several = ca.Function("f", [x], [ca.vertcat(*(total * x[k] for k in range(300)))])
    assert instruction_slopes(read_instructions(several), [(0,)]) is None
