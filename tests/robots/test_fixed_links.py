"""Links that are fixed to the ground or to each other, frames on bodies, and joints that follow each other."""

import numpy as np
import pytest

import daedalus as dd

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
FIXED = f"""<robot name="stand"><link name="foot"/><link name="top">{INERTIAL}</link>
    <joint name="weld" type="fixed"><parent link="foot"/><child link="top"/></joint></robot>"""
NOTHING_MOVES = """Nothing in the model 'stand' moves.
  fixed to the ground: foot, top
  Because all its joints are fixed ones, and no body is free.
  Try: a joint that moves, or base="free" where it is read from a file"""


@pytest.mark.parametrize("verb", [
    lambda m: dd.simulate(m, 1.0), lambda m: m.robot(), dd.analyse, dd.initialise,
    lambda m: dd.inverse_kinematics(m, {"top.position": [0, 0, 1]}),
])  # fmt: skip
def test_fixed_links_alone_do_not_move(verb):
    m = dd.read_urdf(FIXED)
    with pytest.raises(dd.ModelError) as told:
        verb(m)
    assert str(told.value) == NOTHING_MOVES


def test_on_a_free_base_they_fall_together():
    tr = dd.simulate(dd.read_urdf(FIXED, base="free"), 1.0)
    assert tr["top.position"][-1, 2] == pytest.approx(-9.81 / 2)


@pytest.mark.parametrize("coordinates", ["body", "joint"])
def test_frames_are_read_on_bodies_of_any_kind(coordinates):
    m = dd.Model("frames")
    free, arm = (m.body(name, mass=1.0, inertia=[1.0, 2.0, 3.0]) for name in ("free", "arm"))
    m.joint("hinge", "revolute", dd.ground, arm, at_b=[0, 0, 0.5], axis_a=[0, 1, 0], coordinates=coordinates)
    for name, body in (("nose", free), ("hand", arm), ("mark", dd.ground)):
        m.frame(name, body, at=[0.1, 0.2, 0.3])
    tr = dd.simulate(m, 0.3, start={"free.angular_velocity": [0, 0, 2.0], "arm.angular_velocity": [0, 1.0, 0]})
    c, s, tilt = np.cos(0.6), np.sin(0.6), 0.3
    np.testing.assert_allclose(tr["nose.position"][-1], [0.1 * c - 0.2 * s, 0.1 * s + 0.2 * c, 0.3], atol=1e-6)
    np.testing.assert_allclose(tr["mark.position"][-1], [0.1, 0.2, 0.3])
    turn = np.array([[np.cos(tilt), 0, np.sin(tilt)], [0, 1, 0], [-np.sin(tilt), 0, np.cos(tilt)]])
    np.testing.assert_allclose(tr["hand.position"][-1], turn @ [0.1, 0.2, -0.2], atol=1e-6)


def followers(**others):
    """A chain of joints, some of which mimic others."""
    names = ("one", "two", "three")
    parts, carrier = ['<link name="foot"/>'], "foot"
    for name in names:
        mimic = f'<mimic joint="{others[name]}" multiplier="2"/>' if name in others else ""
        parts.append(
            f'<link name="{name}_link">{INERTIAL}</link><joint name="{name}" type="continuous">'
            f'<parent link="{carrier}"/><child link="{name}_link"/><axis xyz="0 1 0"/>{mimic}</joint>'
        )
        carrier = f"{name}_link"
    return f'<robot name="arm">{"".join(parts)}</robot>'


def test_a_joint_that_follows_itself_is_refused():
    with pytest.raises(dd.InputError) as told:
        dd.read_urdf(followers(two="two"))
    assert str(told.value) == (
        "Joint 'two' mimics itself.\n  Because a joint that mimics another is a multiple of it.\n"
        "  Try: <mimic> with the name of another joint, or none"
    )


def test_followers_of_followers_move():
    tr = dd.simulate(dd.read_urdf(followers(three="two", two="one")), 0.2, start={"one.angle": 0.1})
    assert tr["three.angle"][-1] == pytest.approx(4 * tr["one.angle"][-1], rel=1e-9)
