"""Linkages and parallel robots: one motion in body and in joint coordinates, and the places that they can reach."""

import numpy as np
import pytest
from tests.support.mechanisms import MECHANISMS, built, sarrus, stewart_platform, three_rpr, three_rrs

import daedalus as dd

QUICK = ("gimbal", "bennett")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.wide) for name in MECHANISMS]
)
def test_mechanisms_move_as_in_body_coordinates(name):
    mechanism = MECHANISMS[name]()
    ends = {}
    for coordinates in ("joint", "body"):
        tr = dd.simulate(built(mechanism, coordinates), 0.3, rtol=1e-8, atol=1e-10)
        assert tr.success
        ends[coordinates] = np.array([np.asarray(tr[f"{body}.position"])[-1] for body, _, _ in mechanism[0]])
    assert np.abs(ends["joint"] - np.array([place for _, place, _ in mechanism[0]])).max() > 5e-3
    assert ends["joint"] == pytest.approx(ends["body"], abs=1e-9)


@pytest.mark.parametrize("height", [0.01, 0.1, 0.15, -0.1])
def test_a_plate_that_only_three_motions_are_left_to_goes_straight_up(height):
    """Its two sideways motions follow from its turns: the slopes of the target are dependent where it stands."""
    found = dd.inverse_kinematics(built(three_rrs(), "joint"), {"top.position": [0.0, 0.0, 0.8 + height]})
    assert found.reached, found


@pytest.mark.parametrize(("mechanism", "target"), [
    (three_rpr, [0.8, 0.0, 2.4]), (three_rpr, [0.5, 0.0, 5.4]), (stewart_platform, [0.02, -0.01, 6.0]),
    (stewart_platform, [4.0, 1.0, 1.0]),
])  # fmt: skip
def test_legs_that_change_their_length_reach_far(mechanism, target):
    assert dd.inverse_kinematics(built(mechanism(), "joint"), {"top.position": target}).reached


# Two links of one leg, and how far its end stands from its foot when both are stretched.
FOLDED = 2 * np.hypot(0.4, 0.5)
STRETCHED = np.sqrt((np.hypot(0.2, 0.4) + np.hypot(0.4, 0.4)) ** 2 - 0.2**2)


@pytest.mark.parametrize(("mechanism", "highest"), [(sarrus, FOLDED), (three_rrs, STRETCHED)])
def test_what_is_missing_above_the_highest_place(mechanism, highest):
    found = dd.inverse_kinematics(built(mechanism(), "joint"), {"top.position": [0.0, 0.0, 6.0]})
    assert not found.reached
    assert found.distance == pytest.approx(6.0 - highest, abs=1e-6)


@pytest.mark.wide
@pytest.mark.parametrize("name", ["spherical_four_bar", "bennett", "sarrus", "rssr", "three_rpr", "three_rrs"])
def test_places_that_a_motion_passes_are_reached(name):
    mechanism = MECHANISMS[name]()
    m, body = built(mechanism, "joint"), mechanism[0][0][0]
    tr = dd.simulate(m, 0.3, save_at=np.linspace(0.0, 0.3, 6), rtol=1e-10, atol=1e-12)
    for place in np.asarray(tr[f"{body}.position"]):
        assert dd.inverse_kinematics(m, {f"{body}.position": place.tolist()}).reached
