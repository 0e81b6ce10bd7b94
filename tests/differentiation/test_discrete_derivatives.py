"""The derivative of the discrete map: the very steps of simulate, differentiated to rounding."""

import numpy as np
import pytest
from differentiable_models import pendulum_by_position

import daedalus as dd
from daedalus import catalogue


@pytest.mark.parametrize("method", ["euler", "heun", "rk4", "bs3", "tsit5", "dop853"])
def test_fixed_steps_of_a_linear_system_are_powers_of_the_stability_function(method):
    m = dd.Model("decay")
    x, k = m.state("x", start=1.0), m.parameter("k", -0.8)
    m.equation(m.der(x), k * x)
    step, count = 0.25, 8
    sens = dd.sensitivities(m, step * count, by="discrete", order=2, method=method, step=step)
    R = dd.tableau(method).stability_function
    z = -0.8 * step
    np.testing.assert_allclose(sens.M[0, 0], complex(R(z)).real ** count, rtol=1e-13)
    h = 1e-5
    slope = (complex(R(z + h)).real ** count - complex(R(z - h)).real ** count) / (2 * h) * step
    np.testing.assert_allclose(sens.d("x", "k"), slope, rtol=1e-8)
    # With fixed steps the variational equations are the derivative of the map as well.
    flow = dd.sensitivities(m, step * count, method=method, step=step)
    np.testing.assert_allclose(flow.M, sens.M, rtol=1e-14)


def test_the_steps_are_those_of_simulate():
    known = catalogue.load("double_pendulum")
    plain = dd.simulate(known.model, 2.0, start=known.start, rtol=1e-5)
    sens = dd.sensitivities(known.model, 2.0, start=known.start, rtol=1e-5, by="discrete")
    np.testing.assert_array_equal(sens.steps, plain.time)
    np.testing.assert_array_equal(sens.value, plain._x[-1])


def test_a_loose_run_is_differentiated_as_it_is():
    """At a loose tolerance the map is far from the flow; the discrete derivative follows the map."""
    known = catalogue.load("double_pendulum")
    options = {"start": known.start, "rtol": 1e-2, "atol": 1e-3}
    discrete = dd.sensitivities(known.model, 3.0, by="discrete", **options)
    report = discrete.verify()
    assert report["differences"].error < 1e-6
    assert report["the adjoint"].error < 1e-12
    tight = dd.sensitivities(known.model, 3.0, start=known.start, rtol=1e-11, atol=1e-13)
    assert np.abs(tight.M - discrete.M).max() > 1e-3 * np.abs(tight.M).max()


def test_invariants_hold_to_rounding_with_the_projection_differentiated():
    sens = dd.sensitivities(pendulum_by_position(), 3.0, order=2, by="discrete", rtol=1e-4)
    q, v = sens.value[:2], sens.value[2:]
    Q, V = sens.M[:2], sens.M[2:]
    scale = np.abs(sens.M).max()
    np.testing.assert_allclose(q @ Q, 0.0, atol=1e-14 * scale)
    np.testing.assert_allclose(q @ V + v @ Q, 0.0, atol=1e-13 * scale)
    second = np.einsum("ij,ik->jk", Q, Q) + np.einsum("i,ijk->jk", q, sens.O[:2])
    np.testing.assert_allclose(second, 0.0, atol=1e-13 * np.abs(sens.O).max())
    # The length of the rod carries the end along: q · ∂q/∂length = length.
    np.testing.assert_allclose(q @ sens.d("q", "length"), 1.3, rtol=1e-14)
