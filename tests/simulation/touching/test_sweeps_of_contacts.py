"""Sweeps of bodies that touch: each case is the run that simulate gives, and bad values end their case alone."""

import numpy as np
import pytest

import daedalus as dd

G = 9.81


def sliding_block():
    m = dd.Model("sliding block")
    m.gravity([0, -G])
    mu, mass = m.parameter("mu", 0.3), m.parameter("mass", 2.0)
    b = m.body("b", mass=mass, inertia=0.1, orientation="planar", position=[0, 0.1], velocity=[3, 0], rotation=0.0,
               angular_velocity=0.0)  # fmt: skip
    b.shape("box", size=[0.4, 0.2])
    m.contact(b, dd.ground, friction=mu)
    return m


def test_stopping_distances_by_friction_and_speed():
    m, frictions, speeds = sliding_block(), np.array([0.2, 0.4]), np.array([1.0, 3.0])
    en = dd.sweep(m, 2.0, over={"mu": frictions, "b.velocity[0]": speeds}, save_at="end")
    found = np.asarray(en["b.position"])[:, :, -1, 0]
    np.testing.assert_allclose(found, speeds**2 / (2 * G * frictions[:, None]), rtol=1e-6)
    one = dd.simulate(m, 2.0, parameters={"mu": 0.4}, save_at=[0.0, 2.0])["b.position"][-1]
    np.testing.assert_array_equal(np.asarray(en["b.position"])[1, 1, -1], one)


def test_a_case_with_a_negative_law_fails_alone():
    en = dd.sweep(sliding_block(), 0.1, over={"mu": [0.2, -0.3]}, outputs=["b.position", "b_ground.force"])
    ((values, reason),) = en.failed
    assert values == {"mu": -0.3}
    assert "The friction of b_ground is -0.3" in reason
    np.testing.assert_allclose(np.asarray(en["b_ground.force"])[0, 1], [-0.2 * 2 * G, 2 * G], rtol=1e-9)


@pytest.mark.parametrize(("name", "text"), [("mu", "friction of b_ground is -1"), ("mass", "mass of b is -1")])
def test_parameters_that_no_contact_has_are_refused(name, text):
    with pytest.raises(dd.ModelError, match=text):
        dd.simulate(sliding_block(), 0.1, parameters={name: -1.0})


@pytest.mark.wide
def test_derivatives_of_cases_are_those_of_their_runs():
    m, frictions = sliding_block(), np.array([0.2, 0.4])
    times = np.array([0.3, 0.5])
    en = dd.sweep(m, 0.5, over={"mu": frictions}, wrt=["mu", "b.velocity[0]"], save_at=times)
    # x = v t - μ g t² / 2 while the block slides.
    np.testing.assert_allclose(en.d("b.position", "mu")[..., 0], [-G * times**2 / 2] * 2, rtol=1e-5)
    np.testing.assert_allclose(en.d("b.position", "b.velocity[0]")[..., 0], [times] * 2, rtol=1e-5)
    ends = dd.sweep(m, 2.0, over={"mu": frictions}, wrt=["mu"], save_at="end")
    np.testing.assert_allclose(ends.d("b.position", "mu")[:, -1, 0], -(3.0**2) / (2 * frictions**2 * G), rtol=1e-4)
    with pytest.raises(dd.InputError, match=r"b_ground.force by mu"):
        ends.d("b_ground.force", "mu")


def test_a_case_without_derivatives_says_why():
    m = dd.Model("fall")
    m.gravity([0, -G])
    b = m.body("b", mass=2.0, inertia=0.1, orientation="planar", position=[0, 0.5], velocity=[0, 0], rotation=0.0,
               angular_velocity=0.0)  # fmt: skip
    b.shape("box", size=[0.4, 0.2])
    m.contact(b, dd.ground)
    en = dd.sweep(m, 0.5, over={"b.position[1]": [0.5, 5.0]}, wrt=["b.angle"], save_at="end")
    assert "without derivatives: The run has no derivative through what happens" in str(en.stop_reason.values[0])
    slopes = np.asarray(en.d("b.angle", "b.angle"))[:, -1]
    assert np.isnan(slopes[0])
    assert slopes[1] == pytest.approx(1.0)
