"""Sensitivities of models of index 1, 2 and 3 whose equations are mixed by a random rotation, against closed forms."""

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm

import daedalus as dd


def disguised(seed: int, index: int) -> tuple[dd.Model, np.ndarray]:
    """x' = p A x beside what follows from x: z, or w = g(x) with its derivatives; all equations mixed."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(2, 2)) * 0.7
    m = dd.Model("disguised")
    x, p = m.state("x", 2, start=[1.0, -0.5]), m.parameter("p", 0.8)
    z = m.algebraic("z")
    rows = [m.der(x) - p * ca.SX(A) @ x]
    if index == 1:
        rows += [z - ca.sin(p * x[0]) - x[1]]
    elif index == 2:
        w = m.state("w")
        rows += [m.der(w) - z, w - p * x[0] * x[1]]
    else:
        w, v = m.state("w"), m.state("v")
        rows += [m.der(w) - v, m.der(v) - z, w - ca.sin(p * x[0])]
    raw = ca.vertcat(*rows)
    mixed = np.linalg.qr(rng.normal(size=(raw.numel(), raw.numel())))[0]
    m.equation(ca.SX(mixed) @ raw, 0)
    return m, A


# At 23, 38, 68 and 107 formulas of x' divide by what vanishes on the way.
@pytest.mark.parametrize(
    "seed", [0, 1, 23, *(pytest.param(k, marks=pytest.mark.wide) for k in (*range(2, 22), 38, 68, 107))]
)
def test_sensitivities_go_where_the_run_goes(seed):
    m, A = disguised(seed, 1 + seed % 3)
    slopes = dd.sensitivities(m, 1.0, wrt="p", rtol=1e-8, atol=1e-11)
    known = A @ expm(0.8 * A) @ [1.0, -0.5]
    assert np.asarray(slopes.d("x", "p")).ravel() == pytest.approx(known, rel=1e-5, abs=1e-7)


def test_another_method_is_told():
    m, _ = disguised(23, 3)
    told = " ".join(map(str, dd.sensitivities(m, 1.0, wrt="p", rtol=1e-8, atol=1e-11).notes))
    assert "auto: radau5, implicit, because dop853 found no step on the way" in told
