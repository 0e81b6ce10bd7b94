import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.analysis.linear.linearise import linearise
from daedalus.analysis.structure.jets.differentiated_equations import is_determined, solve_differentiated


def nilpotent() -> dd.Model:
    """x1' = x2 + t, x2' = z, x1 = sin t: index 3, x2 = cos t - t, z = -sin t - 1."""
    m = dd.Model("nilpotent")
    x = m.state("x", 2, start=[0.0, 1.0])
    z = m.algebraic("z")
    m.equation(m.der(x), [x[1] + m.time, z])
    m.equation(x[0], ca.sin(m.time))
    return m


def vectors_at(model: dd.Model, t: float, x: list[float]) -> dict[str, np.ndarray]:
    system = model.freeze()
    zeros = {letter: np.zeros(system.sizes[letter]) for letter in ("xdot", "z", "u")}
    return {**zeros, "t": np.array([t]), "x": np.array(x), "p": np.array(system.start["p"])}


@pytest.mark.parametrize("t", [0.0, 0.8])
def test_time_dependent_constraint_is_differentiated_with_the_time(t):
    m = nilpotent()
    unknowns = [("xdot", 0), ("xdot", 1), ("z", 0)]
    values, loose, most = solve_differentiated(m.freeze(), vectors_at(m, t, [np.sin(t), np.cos(t) - t]), unknowns)
    np.testing.assert_allclose(values, [np.cos(t), -np.sin(t) - 1, -np.sin(t) - 1], atol=1e-12)
    assert most == 2
    assert len(loose) == 0


def test_structure_tells_whether_to_differentiate():
    assert not is_determined(nilpotent().freeze())
    m = dd.Model("index one")
    x, z = m.state("x", start=1.0), m.algebraic("z")
    m.equation(m.der(x), -z)
    m.equation(z**3, x)
    assert is_determined(m.freeze())
    assert solve_differentiated(m.freeze(), vectors_at(m, 0.0, [1.0]), [("z", 0)]) is None


def test_doubled_constraint_leaves_the_share_of_the_multipliers_open():
    m = dd.Model("two rods")
    q, v = m.state("q", 2, start=[0.6, -0.8]), m.state("v", 2, start=[1.6, 1.2])
    pull = m.algebraic("pull", 2)
    m.equation(m.der(q), v)
    m.equation(m.der(v), ca.vertcat(0, -9.81) - (pull[0] + pull[1]) * q)
    m.equation(q.T @ q, 1.0)
    m.equation(2 * q.T @ q, 2.0)
    lin = linearise(m)
    # The sum is determined, the shares are the smallest.
    np.testing.assert_allclose(lin.point["pull"], (4.0 + 9.81 * 0.8) / 2, rtol=1e-10)
    assert lin.notes[-1] == "the equations do not determine pull[0], pull[1]: the smallest values are taken"
    assert np.abs(lin.residual).max() < 1e-12


def test_given_multiplier_is_kept():
    m = dd.Model("rod")
    q, v = m.state("q", 2, start=[0.0, -1.0]), m.state("v", 2, start=[2.0, 0.0])
    pull = m.algebraic("pull")
    m.equation(m.der(q), v)
    m.equation(m.der(v), ca.vertcat(0, -9.81) - pull * q)
    m.equation(q.T @ q, 1.0)
    lin = linearise(m, at={"pull": 13.81})
    np.testing.assert_allclose(lin.point["v_dot"], [0.0, 4.0], atol=1e-12)
    assert np.abs(lin.residual).max() < 1e-12
