"""The matrix of a correction without what vanishes on the invariants: what is left, and how corrections converge."""

import casadi as ca
import numpy as np
import pytest

from daedalus import catalogue
from daedalus.simulation.plant.plants import plant_of
from daedalus.simulation.plant.projection import corrected, corrected_with_length, normal_on_constraints
from daedalus.simulation.plant.solvable import solvable


def normal_of(kept, x):
    jacobian = ca.jacobian(kept, x)
    return ca.mtimes(jacobian, jacobian.T)


def test_a_unit_quaternion_has_four():
    q = ca.SX.sym("q", 4)
    kept = ca.sumsqr(q) - 1
    assert float(normal_on_constraints(normal_of(kept, q), kept, q, [])) == 4.0


def test_a_rod_has_four_squares_of_its_length_and_its_velocity_stands_apart():
    r, v, length = ca.SX.sym("r", 3), ca.SX.sym("v", 3), ca.SX.sym("L")
    x, kept = ca.vertcat(r, v), ca.vertcat(ca.sumsqr(r) - length**2, ca.dot(r, v))
    found = normal_on_constraints(normal_of(kept, x), kept, x, [length])
    assert found.sparsity().nnz() == 2
    assert not ca.depends_on(found[0, 0], x)
    assert float(ca.Function("at", [length], [found[0, 0]])(3.0)) == 36.0
    at = np.arange(1.0, 7.0)
    of_velocity = ca.Function("at", [x], [found[1, 1]])
    assert float(of_velocity(at)) == pytest.approx(np.sum(at**2))


def test_what_is_no_combination_stays():
    x, a = ca.SX.sym("x", 2), ca.SX.sym("a")
    kept = ca.sin(x[0]) + a * x[1] ** 3
    normal = normal_of(kept, x)
    found = normal_on_constraints(normal, kept, x, [a])
    values = [ca.Function("n", [x, a], [matrix])([0.3, 0.7], 1.3) for matrix in (normal, found)]
    assert float(values[0]) == float(values[1])


def test_what_has_no_value_at_usual_states_stays():
    x = ca.SX.sym("x", 2)
    kept = ca.sqrt(x[0]) + x[1] ** 2 - 2
    normal = normal_of(kept, x)
    assert ca.depends_on(normal_on_constraints(normal, kept, x, []), x)


@pytest.mark.parametrize("name", ["quadrotor", "pendulum_3d"])
def test_corrections_converge_quadratically(name):
    """From a distance d of the constraints both corrections go to within a small multiple of d²."""
    known = catalogue.load(name)
    plant = plant_of(solvable(known.model))
    system = plant.system
    arguments = [system.symbol(letter) for letter in ("t", "x", "u", "p")]
    cheap, length = corrected_with_length(system, plant.form)
    invariants = plant.form.applied(system, ca.vertcat(*system.invariants.values()))
    function = ca.Function("all", arguments, [corrected(system, plant.form), cheap, length, invariants])
    p = np.linspace(0.5, 1.5, system.sizes["p"])
    random = np.random.default_rng(3)
    u, x = np.zeros(system.sizes["u"]), random.normal(size=system.sizes["x"])
    for _ in range(30):
        x = np.asarray(function(0.0, x, u, p)[0]).ravel()
    for distance in (1e-3, 1e-5):
        far = x + distance * random.normal(size=len(x))
        full, found, squared, before = (np.asarray(part).ravel() for part in function(0.0, far, u, p))
        size = np.abs(before).max()
        left = [np.abs(np.asarray(function(0.0, at, u, p)[3])).max() for at in (full, found)]
        assert max(left) <= 50 * size**2
        assert float(squared[0]) == pytest.approx(np.sum((found - far) ** 2), rel=0.1)
