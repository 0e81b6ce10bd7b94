"""URDF and MJCF files: there and back, what is not supported is listed, and bad files are refused in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.random_urdf import random_urdf

import daedalus as dd

LINK = (
    '<link name="{name}"><inertial><mass value="1"/>'
    '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)


def pendulum(joint: str = "", link: str = LINK.format(name="rod"), more: str = "") -> str:
    return (
        f'<robot name="p"><link name="base"/>{link}<joint name="hinge" type="revolute"><parent link="base"/>'
        f'<child link="rod"/><axis xyz="0 1 0"/>{joint}</joint>{more}</robot>'
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_there_and_back(seed: int, base: str) -> None:
    one = dd.read_urdf(random_urdf(seed), base=base)
    two = dd.read_urdf(one.to_urdf(), base=base)
    a, b = one.robot(), two.robot()
    assert set(a.labels["q"]) == set(b.labels["q"])
    rng = np.random.default_rng(seed)
    q, v, tau = rng.normal(size=len(a.labels["q"])), *(rng.normal(size=len(a.labels["v"])) for _ in range(2))
    if base == "free":
        q[3:7] /= np.linalg.norm(q[3:7])
    order_q = [a.labels["q"].index(label) for label in b.labels["q"]]
    order_v = [a.labels["v"].index(label) for label in b.labels["v"]]
    wanted = a.forward_dynamics(q, v, tau)[order_v]
    np.testing.assert_allclose(b.forward_dynamics(q[order_q], v[order_v], tau[order_v]), wanted, rtol=1e-9, atol=1e-9)
    for name in ("link0", "link6"):
        np.testing.assert_allclose(b.pose(name, q[order_q]), a.pose(name, q), atol=1e-12)


def test_what_a_file_has_and_the_model_has_not_is_listed() -> None:
    m = dd.read_urdf(
        pendulum(
            '<limit lower="-1" upper="1" effort="5" velocity="2"/><dynamics damping="0.3" friction="0"/>'
            '<safety_controller k_velocity="1"/>',
            more='<transmission name="drive"/><gazebo/>',
        )
    )
    assert m.unsupported == [
        "effort limit of joint 'hinge'",
        "velocity limit of joint 'hinge'",
        "<safety_controller> of joint 'hinge'",
        "<transmission> 'drive'",
        "<gazebo>",
    ]
    assert (m.variables["hinge.angle"].lower, m.variables["hinge.angle"].upper) == ((-1.0,), (1.0,))
    tr = dd.simulate(m, 1.0, start={"hinge.angle": 0.0, "hinge.angle_dot": 1.0})
    assert tr["hinge.angle_dot"][-1] == pytest.approx(np.exp(-3.0), rel=1e-5)  # J q'' = −0.3 q', J = 0.1


def test_a_joint_that_mimics_another_follows_it() -> None:
    text = pendulum(
        more=LINK.format(name="tip")
        + '<joint name="finger" type="continuous"><parent link="rod"/><child link="tip"/><origin xyz="0 0 -1"/>'
        '<axis xyz="0 1 0"/><mimic joint="hinge" multiplier="-2" offset="0.1"/></joint>'
    )
    m = dd.read_urdf(text)
    tr = dd.simulate(m, 0.5, start={"hinge.angle": 0.4, "hinge.angle_dot": 0.0})
    np.testing.assert_allclose(tr["finger.angle"], -2 * tr["hinge.angle"] + 0.1, atol=1e-9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<robot", "the URDF text is not valid XML."),
        ('<!DOCTYPE r [<!ENTITY a "b">]><robot name="r"/>', "the URDF text declares a document type or entities."),
        ('<mujoco model="m"/>', "the URDF text is not a file of the kind URDF."),
        ('<robot name="r"/>', "The robot has no links."),
        (pendulum(link='<link name="rod"/>'), "The link 'rod' has no inertia."),
        (
            pendulum(link='<link name="rod"><inertial><mass value="-1"/></inertial></link>'),
            "The mass of link 'rod' is negative.",
        ),
        (pendulum('<origin xyz="0 0"/>'), "xyz of joint 'hinge' is not 3 numbers."),
        (pendulum('<limit lower="2" upper="1"/>'), "The limits of joint 'hinge' contradict each other."),
        (pendulum(more='<joint name="hinge" type="fixed"/>'), "Two joints are called 'hinge'."),
        (
            pendulum(more='<joint name="j" type="fixed"><parent link="rod"/><child link="bse"/></joint>'),
            "The child link of joint 'j' is unknown.",
        ),
        (
            pendulum(more='<joint name="j" type="fixed"><parent link="base"/><child link="rod"/></joint>'),
            "The link 'rod' has two parents.",
        ),
        (
            pendulum(more='<joint name="j" type="fixed"><parent link="rod"/><child link="base"/></joint>'),
            "The links of the file form a loop.",
        ),
        (pendulum().replace("revolute", "helical"), "Joint 'hinge' has the type 'helical'."),
    ],
)
def test_bad_files_are_refused_in_words(text: str, message: str) -> None:
    with pytest.raises(dd.InputError) as caught:
        dd.read_urdf(text)
    assert str(caught.value).splitlines()[0] == message


def test_a_file_of_a_million_joints_is_refused_before_anything_is_built() -> None:
    text = '<robot name="r">' + '<link name="a"/>' * 200_001 + "</robot>"
    with pytest.raises(dd.InputError, match=r"the URDF text is too large.\n  200002 elements"):
        dd.read_urdf(text)


def test_includes_stay_below_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "robot"
    folder.mkdir()
    body = '<body name="rod"><joint name="hinge"/><geom type="sphere" pos="0.5 0 0" size="0.1"/></body>'
    (folder / "arm.xml").write_text(f"<mujocoinclude>{body}</mujocoinclude>")
    (folder / "robot.xml").write_text('<mujoco><worldbody><include file="arm.xml"/></worldbody></mujoco>')
    assert list(dd.read_mjcf(folder / "robot.xml").bodies) == ["rod"]
    (tmp_path / "secret.xml").write_text("<mujocoinclude/>")
    (folder / "robot.xml").write_text('<mujoco><include file="../secret.xml"/></mujoco>')
    with pytest.raises(dd.InputError, match="is outside the folder of the robot"):
        dd.read_mjcf(folder / "robot.xml")
    (folder / "robot.xml").write_text('<mujoco><include file="robot.xml"/></mujoco>')
    with pytest.raises(dd.InputError, match="includes itself"):
        dd.read_mjcf(folder / "robot.xml")
    with pytest.raises(dd.InputError, match="The text includes the file"):
        dd.read_mjcf('<mujoco><include file="robot.xml"/></mujoco>')
