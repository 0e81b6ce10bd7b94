"""Centre of mass, moments about points, and couples."""

import casadi as ca
import numpy as np
import pytest

from daedalus.errors import InputError
from daedalus.geometry.moments import centre_of_mass, couple, moment

FORCES = np.array([[1.0, 2.0, -1.0], [0.5, -3.0, 0.2], [-2.0, 0.1, 4.0]])
POINTS = np.array([[0.0, 1.0, 2.0], [-1.0, 0.5, 0.0], [3.0, -2.0, 1.0]])


@pytest.mark.document("002", "centre of mass", "`dd.centre_of_mass`")
def test_centre_of_mass():
    masses = np.array([1.0, 2.0, 5.0])
    assert np.allclose(centre_of_mass(masses, POINTS), masses @ POINTS / 8.0)
    with pytest.raises(InputError, match=r"The masses have no centre\.\n  total mass 0"):
        centre_of_mass([1.0, -1.0], POINTS[:2])


def test_the_moment_is_the_sum_of_cross_products():
    about = np.array([0.3, 0.2, 0.1])
    assert np.allclose(moment(FORCES, POINTS, about=about), sum(np.cross(r - about, f) for f, r in zip(FORCES, POINTS)))


def test_any_point_of_the_line_of_action_will_do():
    moved = POINTS + np.array([[2.0], [-1.5], [0.7]]) * FORCES
    assert np.allclose(moment(FORCES, POINTS), moment(FORCES, moved))


def test_the_moment_about_another_point_differs_by_the_resultant():
    a, b = np.array([1.0, 0, 2.0]), np.array([-1.0, 3.0, 0.5])
    assert np.allclose(moment(FORCES, POINTS, a), moment(FORCES, POINTS, b) + np.cross(b - a, FORCES.sum(axis=0)))


@pytest.mark.document("002", "moments of forces, couples", "`dd.moment`, `dd.couple`")
def test_a_couple_has_one_torque_about_every_point():
    forces = [*FORCES, -FORCES.sum(axis=0)]
    points = [*POINTS, np.zeros(3)]
    torque = couple(forces, points)
    assert np.allclose(torque, sum(np.cross(r, f) for f, r in zip(forces, points)))
    for about in np.eye(3):
        assert np.allclose(torque, moment(forces, points, about=about))


def test_forces_with_a_resultant_are_no_couple():
    with pytest.raises(InputError) as caught:
        couple(FORCES, POINTS)
    assert str(caught.value) == (
        "The forces are not a couple.\n"
        "  their resultant is [-0.5, -0.9, 3.2] N, wanted zero\n"
        "  Because the moment of forces with a resultant depends on the point it is taken about.\n"
        "  Try: dd.moment(forces, points, about=...)."
    )


def test_lists_must_match():
    with pytest.raises(InputError, match=r"as many forces as points, at least one\.\n  3 forces, 2 points"):
        moment(FORCES, POINTS[:2])
    with pytest.raises(InputError, match=r"The positions are one symbol"):
        centre_of_mass([1.0, 2.0], ca.SX.sym("r", 3, 2))
