"""Derivatives through the start: consistent values move along the constraints, by the smallest change."""

import numpy as np
import pytest
from differentiable_models import (
    ANGLE,
    LENGTH,
    SPEED,
    pendulum_by_angle,
    pendulum_by_position,
    position,
    velocity,
)

import daedalus as dd
from daedalus import catalogue

TIGHT = {"rtol": 1e-11, "atol": 1e-13}


@pytest.fixture(scope="module", params=["variational", "discrete"])
def both(request):
    angle = dd.sensitivities(pendulum_by_angle(), 2.0, order=2, **TIGHT)
    return angle, dd.sensitivities(pendulum_by_position(), 2.0, order=2, by=request.param, **TIGHT)


def tangents():
    """∂(q, v)/∂angle, ∂(q, v)/∂speed and their second derivatives."""
    q, v = position(ANGLE, LENGTH), velocity(ANGLE, SPEED, LENGTH)
    unit = velocity(ANGLE, 1.0, LENGTH)
    by_angle, by_speed = np.concatenate([unit, -SPEED * q]), np.concatenate([0 * q, unit])
    return by_angle, by_speed, np.concatenate([-q, -v]), np.concatenate([0 * q, -q])


def test_the_pendulum_by_angle_and_by_position_agree_to_1e_8(both):
    angle, place = both
    by_angle, by_speed, _, _ = tangents()
    np.testing.assert_allclose(place.M[:2] @ by_angle, angle.d("q", "angle"), atol=1e-10)
    np.testing.assert_allclose(place.M[:2] @ by_speed, angle.d("q", "speed"), atol=1e-10)
    np.testing.assert_allclose(place.d("q", "gravity"), angle.d("q", "gravity"), atol=1e-10)
    np.testing.assert_allclose(place.d("q", "mass"), 0.0, atol=1e-10)


def test_second_derivatives_agree_too(both):
    angle, place = both
    by_angle, by_speed, twice, mixed = tangents()
    second = np.einsum("ijk,j,k->i", place.O[:2], by_angle, by_angle) + place.M[:2] @ twice
    np.testing.assert_allclose(second, angle.d("q", "angle", "angle"), atol=1e-9)
    second = np.einsum("ijk,j,k->i", place.O[:2], by_angle, by_speed) + place.M[:2] @ mixed
    np.testing.assert_allclose(second, angle.d("q", "angle", "speed"), atol=1e-9)
    np.testing.assert_allclose(place.d("q", "gravity", "gravity"), angle.d("q", "gravity", "gravity"), atol=1e-9)
    cross = np.einsum("ij,j->i", place.d("q", "gravity", "start"), by_speed)
    np.testing.assert_allclose(cross, angle.d("q", "gravity", "speed"), atol=1e-9)


def test_a_longer_rod_carries_its_end_along(both):
    """The end goes straight out, and its velocity stays: the angular speed falls by speed / length."""
    angle, place = both
    expected = angle.d("q", "length") - SPEED / LENGTH * angle.d("q", "speed")
    np.testing.assert_allclose(place.d("q", "length"), expected, atol=1e-10)


def test_multipliers_follow(both):
    _, place = both
    q, v = place.value[:2], place.value[2:]
    # λ = -m (v² - g q_y) / length² for the constraint (q² - length²)/2.
    by_gravity = place.d("q", "gravity"), place.d("q_dot", "gravity")
    expected = -2.0 * (2 * v @ by_gravity[1] - q[1] - 9.81 * by_gravity[0][1]) / LENGTH**2
    np.testing.assert_allclose(place.d("rod", "gravity"), expected, atol=1e-9)


def test_the_projector_is_one_and_leads_along_the_constraints(both):
    _, place = both
    P = place.projector
    np.testing.assert_allclose(P @ P, P, atol=1e-14)
    np.testing.assert_allclose(place.M @ P, place.M, atol=1e-12)
    assert np.linalg.matrix_rank(P) == 2
    by_angle, by_speed, _, _ = tangents()
    for tangent in (by_angle, by_speed):
        np.testing.assert_allclose(P @ tangent, tangent, atol=1e-14)
    assert place.metric == "mass matrix"


def test_the_smallest_change_is_that_of_the_mass_matrix():
    """Two masses on a rod: the heavy one moves less, in the ratio of the masses."""
    m = dd.Model("dumbbell")
    length = m.parameter("length", 1.0)
    a, b = m.coordinate("a", start=0.0, rate=0.0), m.coordinate("b", start=1.0, rate=0.0)
    m.kinetic_energy(0.5 * 3.0 * m.rate(a) ** 2 + 0.5 * 1.0 * m.rate(b) ** 2)
    m.constraint("rod", b - a - length)
    sens = dd.sensitivities(m, 0.5, **TIGHT)
    np.testing.assert_allclose([sens.d("a", "length"), sens.d("b", "length")], [-0.25, 0.75], atol=1e-12)
    M = np.diag([3.0, 1.0])
    P = sens.projector[:2, :2]
    np.testing.assert_allclose(M @ P, (M @ P).T, atol=1e-14)  # orthogonal in the norm of M


def test_without_mechanics_nominal_values_measure():
    m = dd.Model("mixture")
    a, b, k = m.state("a", start=0.25, nominal=2.0), m.state("b", start=0.75, nominal=1.0), m.parameter("k", 1.0)
    flow = m.algebraic("flow")
    m.equation(m.der(a), flow - a)
    m.equation(m.der(b), a - b)
    m.equation(a + b, k, name="sum")
    sens = dd.sensitivities(m, 0.5, **TIGHT)
    assert sens.metric == "nominal values"
    np.testing.assert_allclose(sens.at(0.0).by_parameters[:, 0], [0.8, 0.2], atol=1e-12)


def test_the_start_agrees_with_initialise():
    """A start found by least change moves with a parameter as the tangent says."""
    known = catalogue.load("pendulum_3d")
    sens = dd.sensitivities(known.model, 0.1, start=known.start, inputs=known.inputs)
    length, step = known.parameters["length"], 1e-5
    names = ["position", "position_dot"]
    ends = [
        dd.initialise(known.model, known.start, free=names, parameters={"length": length + sign * step})
        for sign in (1, -1)
    ]
    moved = [(ends[0][name] - ends[1][name]) / (2 * step) for name in names]
    at_start = sens.at(0.0)
    np.testing.assert_allclose(at_start.d("position", "length"), moved[0], atol=1e-7)
    np.testing.assert_allclose(at_start.d("position_dot", "length"), moved[1], atol=1e-7)


def test_without_constraints_every_start_value_is_free():
    m = dd.Model("turn")
    x, y = m.state("x", start=0.0), m.state("y", start=0.0)
    m.equation(m.der(x), -y)
    m.equation(m.der(y), x)
    sens = dd.sensitivities(m, 0.5)
    assert sens.metric == "no constraints"
    np.testing.assert_array_equal(sens.projector, np.eye(2))


# -- the quadrotor of document 001 ------------------------------------------------------------------------------

QUATERNION = slice(6, 10)


@pytest.fixture(scope="module")
def flights():
    options = {"wrt": ("start", "inputs"), "order": 2, "rtol": 1e-10, "atol": 1e-13}
    runs = []
    for form in ("ode", "dae"):
        known = catalogue.load("quadrotor", form=form)
        runs.append(dd.sensitivities(known.model, known.span, inputs=known.inputs, **options))
    return runs


def largest(values):
    return np.abs(values).max()


def test_a_unit_quaternion_has_its_identities_in_the_ode(flights):
    sens = flights[0]
    q, M, O = sens.value[QUATERNION], sens.M[QUATERNION], sens.O[QUATERNION]
    expected = np.zeros(13)
    expected[QUATERNION] = [1, 0, 0, 0]
    np.testing.assert_allclose(q @ M, expected, atol=1e-9)
    np.testing.assert_allclose(q @ sens.N[QUATERNION], 0.0, atol=1e-9 * largest(sens.N))
    unit = np.zeros((13, 13))
    unit[QUATERNION, QUATERNION] = np.eye(4)
    np.testing.assert_allclose(M.T @ M + np.einsum("i,ijk->jk", q, O), unit, atol=1e-9 * largest(O))


def test_the_dae_with_the_quaternion_row_keeps_them_to_rounding(flights):
    sens = flights[1]
    q, M, O = sens.value[QUATERNION], sens.M[QUATERNION], sens.O[QUATERNION]
    np.testing.assert_allclose(q @ M, 0.0, atol=1e-14)
    np.testing.assert_allclose(q @ sens.N[QUATERNION], 0.0, atol=1e-15 * largest(sens.N))
    np.testing.assert_allclose(M.T @ M + np.einsum("i,ijk->jk", q, O), 0.0, atol=1e-14 * largest(O))
    np.testing.assert_allclose(sens.d("stretch", "thrust"), 0.0, atol=1e-12 * largest(sens.N))


def test_the_dae_gives_what_the_ode_gives_along_the_unit_quaternions(flights):
    ode, dae = flights
    P = dae.projector
    np.testing.assert_allclose(dae.M, ode.M @ P, atol=1e-9 * largest(ode.M))
    np.testing.assert_allclose(dae.N, ode.N, atol=1e-9 * largest(ode.N))
    # A start that goes along the tangent is put back along q: its second derivative is -q (P_j · P_k).
    start = np.zeros((13, 13, 13))
    start[6] = -P[QUATERNION].T @ P[QUATERNION]
    O = np.einsum("ilm,lj,mk->ijk", ode.O, P, P) + np.einsum("il,ljk->ijk", ode.M, start)
    np.testing.assert_allclose(dae.O, O, atol=1e-9 * largest(O))
    np.testing.assert_allclose(dae.P, np.einsum("ilk,lj->ijk", ode.P, P), atol=1e-9 * largest(ode.P))
    np.testing.assert_allclose(dae.Q, ode.Q, atol=1e-9 * largest(ode.Q))


def test_bodies_with_quaternions_start_along_them():
    m = dd.Model("spinner")
    m.body("top", mass=1.0, inertia=np.diag([1.0, 2.0, 3.0]), position=[0, 0, 0], angular_velocity=[1, 0.1, 0])
    sens = dd.sensitivities(m, 1.0, wrt="start", start=dd.initialise(m), rtol=1e-9)
    labels = list(sens.system.labels["x"])
    where = [k for k, label in enumerate(labels) if "quaternion" in label]
    q = sens.value[where]
    np.testing.assert_allclose(q @ sens.M[where], 0.0, atol=1e-14)
    assert len(q) == 4
    assert np.linalg.matrix_rank(sens.projector) == len(labels) - 1
