"""Functions over lanes behind CasADi's signature: straight and in loops, equal to the function case by case."""

from itertools import pairwise

import casadi as ca
import numpy as np
import pytest

from daedalus.compilation.lanes.lane_function import MOST_STRAIGHT, lane_function
from daedalus.compilation.lanes.machine import lane_width
from daedalus.model.system.instruction_list import UnknownOperationError

LANES = 4
pytestmark = pytest.mark.skipif(lane_width() == 0, reason="this processor has no lanes")


def network(widths):
    """Layers of a network and a weighted sum of its slopes: sums, products, tanh, and outputs of two sizes."""
    x, p = ca.SX.sym("x", widths[0]), ca.SX.sym("p", sum((a + 1) * b for a, b in pairwise(widths)))
    value, at = x, 0
    for a, b in pairwise(widths):
        value = ca.tanh(ca.mtimes(ca.reshape(p[at : at + a * b], a, b).T, value) + p[at + a * b : at + (a + 1) * b])
        at += (a + 1) * b
    weights = ca.SX.sym("w", widths[-1])
    slopes = [ca.densify(ca.jtimes(value, v, weights, True)) for v in (x, p)]
    return ca.Function("layers", [ca.SX.sym("t"), x, p, weights], [value - 0.5 * x[0], *slopes])


@pytest.mark.parametrize("widths", [(2, 3), (5, 32, 32, 5)])
@pytest.mark.parametrize("shared", [False, True])
def test_every_lane_computes_its_case(widths, shared):
    f = network(widths)
    assert (f.n_instructions() > MOST_STRAIGHT) == (len(widths) > 2)
    draw = np.random.default_rng(0)
    t, x, p, w = (draw.normal(size=(LANES, f.numel_in(k))) for k in range(4))
    if shared:
        t[:], p[:] = t[0], p[0]
    once = {0: t[0], 2: p[0]} if shared else {}
    wide = lane_function(f, LANES, shared=tuple(once), summed=(2,) if shared else ())
    given = [once.get(k, a.T.ravel()) for k, a in enumerate((t, x, p, w))]
    found = [np.ravel(part) for part in wide.evaluate_many(*given)]
    wanted = [np.array([np.ravel(f(*case)[k]) for case in zip(t, x, p, w)]) for k in range(3)]
    for k, (own, right) in enumerate(zip(found, wanted)):
        own = own if shared and k == 2 else own.reshape(-1, LANES).T
        right = right.sum(axis=0) if shared and k == 2 else right
        np.testing.assert_allclose(own, right, rtol=1e-12, atol=1e-12)


def test_long_formulas_that_do_not_repeat_are_refused():
    x = ca.SX.sym("x", 3)
    value = x[0]
    for k in range(MOST_STRAIGHT):
        value = ca.sin(value * (k + 1.5)) + x[k % 3] / (1 + value**2)
    with pytest.raises(UnknownOperationError, match="do not repeat"):
        lane_function(ca.Function("long", [x], [value]), LANES)
