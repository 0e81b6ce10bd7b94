"""Many invariants that share variables: kept to rounding by a sparse solve, by the same way as the formula takes."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.model.expressions import concatenate
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.linear_plant import LinearPlant
from daedalus.simulation.plant.plant import invariant_projection
from daedalus.simulation.plant.plants import plant_of
from daedalus.simulation.plant.projection import projected_state


def turning_ring(points, coupled=False):
    """A polygon that turns as it stands: every side keeps its length. `coupled`: its rates have no formula."""
    m = dd.Model("ring")
    angle = 2 * np.pi * np.arange(points) / points
    radius = 1 + 0.1 * np.cos(3 * angle)
    x = m.state("x", points, start=radius * np.cos(angle))
    y = m.state("y", points, start=radius * np.sin(angle))
    m.state("rest", start=3.0)
    m.equation(m.der(m["rest"]), 0 * m["rest"])
    rate = ca.vertcat(m.der(x) + (1 + ca.sin(m.time)) * y, m.der(y) - (1 + ca.sin(m.time)) * x)
    if coupled:
        shifted = [ca.vertcat(rate[k:], rate[:k]) for k in (1, 7, 18, 31, 45)]
        rate = rate + sum(0.1 * ca.cos((k + 1) * ca.vertcat(x, y)) * shifted[k] for k in range(5))
    m.equation(rate)
    sides = (x - ca.vertcat(x[1:], x[0])) ** 2 + (y - ca.vertcat(y[1:], y[0])) ** 2
    lengths = np.array(ca.evalf(ca.substitute(sides, ca.vertcat(x, y), np.concatenate(
        [radius * np.cos(angle), radius * np.sin(angle)]))))  # fmt: skip
    m._keep("sides", (sides - ca.DM(lengths)) * points**2)
    return m


@pytest.mark.parametrize("method", ["tsit5", "dop853"])
@pytest.mark.parametrize(("coupled", "kind"), [(False, ExplicitPlant), (True, LinearPlant)])
def test_forty_sides_keep_their_length(coupled, kind, method):
    m = turning_ring(40, coupled)
    tr = dd.simulate(m, 2.0, rtol=1e-5, method=method)
    assert isinstance(tr._plant, kind)
    assert tr.success
    assert max(tr.drift().values()) < 1e-13
    times = np.linspace(0, 2, 33)
    sides = np.hypot(*(np.diff(tr.at(times, project=True)[name], axis=1) for name in ("x", "y")))
    assert np.ptp(sides, axis=0).max() < 1e-14
    assert np.all(tr["rest"] == 3.0)
    free = turning_ring(40, coupled)
    del free.written.invariants["sides"]
    end = dd.simulate(free, 2.0, rtol=1e-5, method=method)._x[-1]
    assert np.abs(tr._plant.invariants(np.array(2.0), end, np.zeros(0), np.zeros(0))[0]).max() > 1e-9


def test_the_solve_goes_the_way_of_the_formula():
    """Up to second order in the distance: the formula corrects twice, the solve with a kept matrix to the end."""
    m = turning_ring(8)
    system = m.freeze()
    kept = concatenate(system.invariants.values())
    x = system.default_start + 1e-5 * np.random.default_rng(2).standard_normal(17)
    formula = ca.Function("formula", [system.symbol("x")], [projected_state(system, kept)])(x).full().ravel()
    (solved,) = invariant_projection(system, kept).core.evaluate_many(np.zeros((1, 1)), x[None, :], [], [])
    np.testing.assert_allclose(solved[0], formula, atol=1e-8)
    assert np.abs(solved[0] - x).max() > 1e-6


def test_a_ring_of_eight_is_still_a_formula():
    plant = plant_of(turning_ring(8).freeze())
    assert not hasattr(plant.projection, "functions")
