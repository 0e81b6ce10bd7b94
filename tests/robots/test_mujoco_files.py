"""MJCF files as people write them, against MuJoCo 4.0: accelerations with and without loops, poses, drives.

The files: a quadruped with classes, frames in each other, balls with rules for masses, two free bodies, hollow shapes,
nested includes with repeated sections, equalities (also redundant ones), replicas, and actuators. `mujoco_files.json`
holds MuJoCo's numbers, made by `tests/support/mujoco_side.py`; where MuJoCo is installed they are made anew.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.support.mujoco_side import FILES, case_of

import daedalus as dd

STORED = json.loads((Path(__file__).parent / "mujoco_files.json").read_text())
CASES = {case["file"]: case for case in STORED["cases"]}


def posture(robot, case):
    """The numbers of a case in the robot's order: q, and the matrix that takes MuJoCo's velocities to ours."""
    q, basis = np.zeros(len(robot.labels["q"])), np.zeros((len(robot.labels["v"]), len(case["v"])))
    for name, kind, at, column in zip(case["names"], case["types"], case["qadr"], case["vadr"]):
        own, moving = (
            [k for k, label in enumerate(robot.labels[letter]) if label.startswith(f"{name}.")] for letter in "qv"
        )
        assert (len(own), len(moving)) == {0: (7, 6), 1: (4, 3), 2: (1, 1), 3: (1, 1)}[kind]
        q[own] = case["q"][at : at + len(own)]
        basis[moving, range(column, column + len(moving))] = 1.0
    assert basis.shape[0] == basis.shape[1]
    return q, basis


@pytest.mark.parametrize("name", CASES)
def test_accelerations_and_poses_are_mujocos(name):
    case = CASES[name]
    robot = dd.read_mjcf(FILES / name).robot()
    q, basis = posture(robot, case)
    found = robot.forward_dynamics(q, basis @ case["v"], basis @ case["tau"])
    wanted = basis @ case["a"]
    # Rates of MuJoCo's constraint rows are central differences.
    rounding = 1e-9 if case["closes"] else 1e-10 * np.linalg.cond(robot.mass_matrix(q))
    assert np.abs(found - wanted).max() <= rounding * np.abs(wanted).max()
    for body, place in case["xpos"].items():
        pose = robot.pose(body, q)
        np.testing.assert_allclose(pose[:3, 3], place, atol=1e-12)
        np.testing.assert_allclose(pose[:3, :3].ravel(), case["xmat"][body], atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_stored_numbers_are_those_of_mujoco(name):
    pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")
    fresh = case_of(name)
    for word in ("q", "v", "a"):
        np.testing.assert_allclose(fresh[word], CASES[name][word], rtol=1e-6, atol=1e-8)


def test_drives_springs_dampers_and_carried_weights_act():
    """The whole model: MuJoCo's accelerations with all that acts; the one actuator with a state is left out there."""
    case, m = STORED["drives"], dd.read_mjcf(FILES / "drives.xml")
    assert m.unsupported == ["contacts of geoms", "<intvelocity> 'i'"]
    start = dict(zip(case["names"], case["q"]))
    start |= {f"{name}_dot": value for name, value in zip(case["names"], case["v"])}
    tr = dd.simulate(m, 1e-3, start=start, inputs=case["inputs"])
    found = [tr[f"{name}_ddot"][0] for name in case["names"]]
    np.testing.assert_allclose(found, case["a"], rtol=1e-10, atol=1e-9)


def test_fixed_tendons_and_their_drives_act():
    """Springs with and without slack, dampers and three drives on sums of coordinates; numbers of MuJoCo 4.0."""
    m = dd.read_mjcf(FILES / "tendons.xml")
    assert m.unsupported == ["contacts of geoms", "<tendon>: <spatial> 'rope'"]
    names, inputs = ("j1.angle", "j2.angle", "j3.displacement"), {"pull": 0.4, "grip": -0.2, "wind": 0.7}
    start = dict(zip(names, (0.6, -0.4, 0.15))) | dict(zip((f"{n}_dot" for n in names), (0.5, -0.3, 0.2)))
    tr = dd.simulate(m, 1e-3, start=start, inputs=inputs)
    wanted = [-35.42908240666162, 132.73713094710186, 5.11376535409099]
    np.testing.assert_allclose([tr[f"{name}_ddot"][0] for name in names], wanted, rtol=1e-11)


def test_a_run_keeps_the_equalities_of_a_file():
    m = dd.read_mjcf(FILES / "equalities.xml")
    tr = dd.simulate(m, 0.2, start={"j1.angle": 0.0, "j1.angle_dot": 0.5, "r1.displacement": 0.0,
                                    "r1.displacement_dot": 0.1})  # fmt: skip
    assert tr.success
    lead = tr["j3.angle"] - np.deg2rad(10)
    np.testing.assert_allclose(tr["j4.angle"], 0.1 + 2 * lead + 0.3 * lead**2, atol=1e-9)
    np.testing.assert_allclose(tr["r2.angle"], 0.2, atol=1e-9)


BODY = "<body name='a'><joint name='j'/>{}<geom size='0.1'/></body>"


def text(inside="", before="", after="", body=BODY):
    return f"<mujoco>{before}<worldbody>{body.format(inside)}</worldbody>{after}</mujoco>"


@pytest.mark.parametrize(("bad", "message"), [
    (text(before="<compiler eulerseq='abc'/>"), "eulerseq of the compiler is 'abc'."),
    (text("<body quat='0 0 0 0'/>"), "quat of body 'body2' has no direction."),
    (text("<body quat='1 0 0 0' euler='1 2 3'/>"), "Body 'body2' has two orientations."),
    (text("<geom size='x'/>"), "size of a geom of body 'a' (sphere) is not 1 number."),
    (text("<geom type='box' size='1 1'/>"), "A box of body 'a' has no size."),
    (text("<geom size='1e200'/>"), "size of a geom of body 'a' (sphere) is too large."),
    (text("<geom type='capsule' size='1e-320 1' shellinertia='true'/>"), "A capsule of body 'a' has no size."),
    (text("<geom size='1' mass='-2'/>"), "A geom of body 'a' has a negative mass."),
    (text("<geom size='1' class='big'/>"), "The default class 'big' is not in the file."),
    (text(before="<default><default class='a'/><default class='a'/></default>"),
     "The default class 'a' is there twice."),
    (text("<joint name='k' range='2 1'/>"), "The limits of joint 'k' contradict each other."),
    (text("<joint name='k' axis='0 0 0'/>"), "The axis of joint 'k' has no direction."),
    (text("<body><freejoint/></body>"), "The free joint 'body2_joint' is not on a body of the world."),
    (text("<replicate count='-1'/>"), "A <replicate> asks for -1 copies."),
    (text(after="<actuator><motor joint='j' gear='x'/></actuator>"), "gear of motor 'motor_0' is not 1 number."),
    (text(after="<tendon><fixed name='t'><joint joint='k' coef='1'/></fixed></tendon>"),
     "The joint 'k' of tendon 't' is not in the file."),
    (text(after="<tendon><fixed name='t'><joint joint='j'/></fixed></tendon>"),
     "The joint 'j' of tendon 't' has no coef."),
    (text(after="<tendon><fixed name='t'/></tendon>"), "Tendon 't' has no joints."),
    (text(after="<tendon><fixed name='t'><joint joint='j' coef='1'/></fixed><fixed name='t'/></tendon>"),
     "Two tendons are called 't'."),
    (text("<body><joint name='k' type='ball'/><geom size='1'/></body>",
          after="<tendon><fixed name='t'><joint joint='k' coef='1'/></fixed></tendon>"),
     "Tendon 't' pulls at 'k', which has no single coordinate."),
    (text(after="<equality><connect body1='b' anchor='0 0 0'/></equality>"),
     "The body 'b' of connect 'connect_0' is not in the file."),
    (text(after="<equality><joint joint1='k'/></equality>"),
     "The joint 'k' of joint equality 'joint_0' is not in the file."),
    (text("<body name='b'/>", after="<equality><weld body1='a' body2='b'/></equality>"),
     "'weld_0' joins 'a' with 'b'."),
    (text("<inertial pos='0 0 0' mass='-1' diaginertia='1 1 1'/>"), "The mass of body 'a' is negative."),
    (text(body="<body name='a'><joint name='j'/></body>"), "The link 'a' has no inertia."),
])  # fmt: skip
def test_bad_mjcf_is_refused_in_words(bad, message):
    with pytest.raises(dd.InputError) as caught:
        dd.read_mjcf(bad)
    assert str(caught.value).splitlines()[0] == message


def test_words_without_effect_are_listed():
    m = dd.read_mjcf(text(
        "<site name='s'/><geom size='1' fluidshape='ellipsoid'/>", "<option wind='1 0 0'/><compiler alignfree='true'/>",
        "<tendon><spatial name='rope'><site site='s'/></spatial></tendon><sensor><gyro site='s'/></sensor>"
        "<actuator><motor joint='j' forcerange='-1 1'/></actuator>",
        "<body name='a' mocap='false'><joint name='j' actuatorgravcomp='true'/>{}</body>",
    ))  # fmt: skip
    assert m.unsupported == [
        "compiler alignfree", "option wind", "mocap of body 'a'", "fluidshape of a geom of body 'a'",
        "contacts of geoms", "actuatorgravcomp of joint 'j'", "<tendon>: <spatial> 'rope'",
        "forcerange of motor 'motor_0'",
        "<sensor>: <gyro>",
    ]  # fmt: skip
