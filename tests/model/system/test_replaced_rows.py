"""Instruction lists with replaced entries compute what the changed function does, and hold nothing unread."""

import casadi as ca
import numpy as np
import pytest

from daedalus.compilation import compile_loops
from daedalus.model.system.instruction_list import read_instructions, with_replaced_entries


@pytest.mark.parametrize("seed", range(4))
def test_replaced_entries_of_fields(seed):
    """Fields with shared parts: other formulas, with an input more, at some cells."""
    rng, n = np.random.default_rng(seed), 900
    x, p, q = ca.SX.sym("x", n), ca.SX.sym("p"), ca.SX.sym("p", 2)
    shared = ca.sin(x) * p
    whole = shared[rng.permutation(n).tolist()] + shared**2 - 3.5 * ca.fabs(x)
    places = np.sort(rng.choice(n, 60, replace=False))
    changed = (x * q[1] + ca.exp(shared) * q[0] + 3.5)[places.tolist()]
    rows = read_instructions(ca.Function("whole", [x, p], [whole]))
    changed = ca.substitute(changed, p, q[0])
    parts = read_instructions(ca.Function("parts", [x, q], [changed]))
    found = with_replaced_entries(rows, places, parts)
    full = ca.SX(ca.substitute(whole, p, q[0]))
    full[places.tolist()] = changed
    f = ca.Function("full", [x, q], [full])
    compiled = compile_loops("full", found, lambda: f)
    value, numbers = rng.normal(size=n), rng.normal(size=2)
    np.testing.assert_array_equal(compiled(value, numbers)[0], f(value, numbers).full().ravel())
    operations = found.columns()[0]
    assert (operations == ca.OP_FABS).sum() == n - 60
    assert found.size_in == (n, 2)
