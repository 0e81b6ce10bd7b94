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


def test_derivatives_of_cases_are_refused():
    with pytest.raises(dd.InputError, match="derivative of a run does not take hard contacts"):
        dd.sweep(sliding_block(), 0.1, over={"mu": [0.2, 0.3]}, wrt=["mu"])
