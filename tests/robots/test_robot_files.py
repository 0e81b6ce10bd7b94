"""URDF and MJCF files: there and back, what is not supported is listed, and bad files are refused in words."""

from __future__ import annotations

import warnings
from pathlib import Path

import casadi as ca
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
def test_urdf_there_and_back(seed: int, base: str) -> None:
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
        (
            pendulum(more='<xacro:leg side="left"/>').replace(
                "<robot", '<robot xmlns:xacro="http://ros.org/wiki/xacro"'
            ),
            "This text is a xacro file.",
        ),
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


def test_planar_joints_are_two_slides_and_a_hinge() -> None:
    whole = pendulum().replace('type="revolute"', 'type="planar"')
    steps = (
        f'<robot name="p"><link name="base"/><link name="s0"/><link name="s1"/>{LINK.format(name="rod")}'
        '<joint name="x" type="prismatic"><parent link="base"/><child link="s0"/><axis xyz="1 0 0"/></joint>'
        '<joint name="y" type="prismatic"><parent link="s0"/><child link="s1"/><axis xyz="0 0 1"/></joint>'
        '<joint name="z" type="revolute"><parent link="s1"/><child link="rod"/><axis xyz="0 1 0"/></joint></robot>'
    )
    planar, chain = dd.read_urdf(whole).robot(), dd.read_urdf(steps).robot()
    assert planar.labels["q"] == ("hinge.pose[0]", "hinge.pose[1]", "hinge.pose[2]")
    q, v, tau = np.array([0.3, -0.2, 0.7]), np.array([0.4, 0.1, -0.6]), np.array([1.0, 2.0, 0.5])
    # Which directions of the plane are the first and the second is the joint's choice: found from the Jacobian.
    ways = planar.jacobian("rod", np.zeros(3))[:3, :2][[0, 2]]
    one = planar.forward_dynamics(q, v, tau)
    turned = chain.forward_dynamics(*(np.concatenate([ways @ x[:2], x[2:]]) for x in (q, v, tau)))
    np.testing.assert_allclose(np.concatenate([ways @ one[:2], one[2:]]), turned, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("turn", ["0 0 0", "0 0.4 0", "0.3 0.2 0.7"])
def test_a_planar_joint_slides_along_x_and_y_of_its_frame(turn: str) -> None:
    text = pendulum().replace('type="revolute"', 'type="planar"').replace('xyz="0 1 0"', 'xyz="0 0 1"')
    robot = dd.read_urdf(text.replace("<axis", f'<origin xyz="1 2 3" rpy="{turn}"/><axis')).robot()
    frame = np.eye(4)
    frame[:3, :3], frame[:3, 3] = dd.rotation_from_rpy([float(x) for x in turn.split()]), [1, 2, 3]
    moved = np.eye(4)
    moved[:3, :3], moved[:2, 3] = dd.rot_z(0.7), [0.3, -0.2]
    np.testing.assert_allclose(robot.pose("rod", [0.3, -0.2, 0.7]), frame @ moved, atol=1e-14)


def test_limits_of_files_can_be_stops() -> None:
    m = dd.read_urdf(pendulum('<limit lower="-0.2" upper="0.5" effort="1" velocity="1"/>'), stops=0.0)
    tr = dd.simulate(m, 0.5, start={"hinge.angle": 0.3, "hinge.angle_dot": -2.0})
    assert (tr["hinge.angle"].min(), tr["hinge.angle"][-1]) == pytest.approx((-0.2, -0.2), abs=1e-9)
    hinge = '<joint name="hinge" axis="0 1 0" range="-20 40" limited="true"/>'
    body = f'<body name="rod">{hinge}<geom type="capsule" fromto="0 0 0 0 0 -1" size="0.05" mass="2"/></body>'
    m = dd.read_mjcf(f"<mujoco><worldbody>{body}</worldbody></mujoco>", stops=1.0)
    assert {"hinge.lower_stop", "hinge.upper_stop"} <= set(m.variables)


@pytest.mark.parametrize("element", ["default", "body"])
def test_elements_that_are_nested_too_deeply_are_refused(element):
    inner = f"<{element}>" * 3000 + f"</{element}>" * 3000
    text = f"<mujoco>{inner}</mujoco>" if element == "default" else f"<mujoco><worldbody>{inner}</worldbody></mujoco>"
    with pytest.raises(dd.InputError, match=r"The elements of the MJCF text are nested too deeply\."):
        dd.read_mjcf(text)


def hinges(damping: str = 'damping="0.3" friction="0.2"') -> str:
    """Two hinges and a slide, of which the second hinge follows the first."""
    links = "".join(LINK.format(name=name) for name in "abc")
    joint = (
        '<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/>'
        '<origin xyz="0 0 1" rpy="0.1 0.2 0.3"/>{}</joint>'
    )
    first = f'<axis xyz="0 1 0"/><limit lower="-1" upper="2" effort="1" velocity="1"/><dynamics {damping}/>'
    second = '<axis xyz="1 1 0"/><dynamics damping="0.1"/><mimic joint="j1" multiplier="-2" offset="0.1"/>'
    third = '<axis xyz="1 0 1"/><dynamics friction="0.4"/>'
    joints = (
        joint.format("j1", "revolute", "base", "a", first),
        joint.format("j2", "continuous", "a", "b", second),
        joint.format("j3", "prismatic", "b", "c", third),
    )
    return f'<robot name="r"><link name="base"/>{links}{"".join(joints)}</robot>'


def test_laws_of_single_joints_go_there_and_back() -> None:
    one = dd.read_urdf(hinges())
    text = one.to_urdf()
    two = dd.read_urdf(text)
    assert one.to_urdf() == text  # writing changes nothing in the model
    values = {"j1.angle": 0.3, "j1.angle_dot": 1.0, "j3.displacement": 0.1, "j3.displacement_dot": 0.5}
    runs = [dd.simulate(m, 0.5, start=dd.initialise(m, values)) for m in (one, two)]
    for name in ("j1.angle", "j2.angle", "j3.displacement"):
        assert runs[0][name][-1] == pytest.approx(runs[1][name][-1], abs=1e-9)
    # Without its dampers and friction it moves otherwise.
    bare = dd.read_urdf(hinges('damping="0"'))
    assert (
        abs(dd.simulate(bare, 0.5, start=dd.initialise(bare, values))["j1.angle"][-1] - runs[0]["j1.angle"][-1]) > 1e-2
    )


def test_shapes_and_limits_go_there_and_back() -> None:
    seen = (
        '<visual><origin xyz="0.1 0.2 0.3" rpy="0.1 0.2 0.3"/>'
        '<geometry><cylinder radius="0.05" length="0.4"/></geometry></visual>'
    )
    link = LINK.format(name="rod").replace("</link>", f"{seen}</link>")
    one = dd.read_urdf(pendulum('<limit lower="-1" upper="2"/>', link=link))
    two = dd.read_urdf(one.to_urdf())
    variable = two.variables["hinge.angle"]
    assert (variable.lower, variable.upper) == ((-1.0,), (2.0,))
    (a,), (b,) = (m.written.sketch.shapes.values() for m in (one, two))
    assert a.kind == b.kind == "cylinder"
    drawn = []
    for m, shape in ((one, a), (two, b)):
        m.output("seen", ca.vertcat(*(ca.vec(shape.fields[role]) for role in ("at", "rotation", "length", "radius"))))
        drawn.append(dd.simulate(m, 0.01, start={"hinge.angle": 0.4, "hinge.angle_dot": 0.0})["seen"][0])
    np.testing.assert_allclose(*drawn, atol=1e-12)


def test_limits_that_are_the_largest_number_there_is_limit_nothing() -> None:
    """Converters write them for joints without limits; a joint that stands on its head is written without a warning."""
    m = dd.read_urdf("""<robot name="r"><link name="base"/>
      <link name="arm"><inertial><origin xyz="0 0 -1"/><mass value="2"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><origin rpy="0 1.5707963267948966 0.3"/>
        <axis xyz="0 1 0"/><limit lower="-1.79769e+308" upper="1.79769e+308"/></joint></robot>""")
    goal = m.robot().pose("arm", [0.7])
    found = dd.inverse_kinematics(m, {"arm.position": goal[:3, 3], "arm.rotation": goal[:3, :3]})
    assert found.reached
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = dd.read_urdf(m.to_urdf())
    np.testing.assert_allclose(again.robot().pose("arm", [0.7]), goal, atol=1e-9)


def test_what_urdf_has_no_words_for_is_told() -> None:
    m = dd.Model("arm")
    m.gravity([0.0, -9.81, 0.0])
    link = m.body("link", mass=1.0, inertia=[0.1, 0.1, 0.1])
    m.joint("hinge", "revolute", dd.ground, link, at_b=[0, 0, 0.5], axis_a=[0, 1, 0], coordinates="joint")
    q = m["hinge.angle"]
    m.potential_energy(3.0 * q**2)
    m.dissipation(0.1 * m.rate(q) ** 4)
    m.kinetic_energy(0.5 * 0.02 * m.rate(q) ** 2)
    m.generalised_force(q, m.input("drive"))
    m.draw("arrow", link, vector=[0, 0, 1])
    with pytest.warns(UserWarning, match="The URDF text has no words") as caught:
        text = m.to_urdf()
    told = str(caught[0].message)
    for what in (
        "forces on hinge.angle",
        "dissipation other than dampers in single joints",
        "potential energies, as of springs",
        "kinetic energies added to those of bodies, as of rotors",
        "gravity [0.0, -9.81, 0.0], which readers take as [0.0, 0.0, -9.81]",
        "shape link",
    ):
        assert what in told
        assert what in text
    assert dd.read_urdf(text).robot().mass_matrix([0.0])[0, 0] == pytest.approx(0.35)


def test_constraints_that_no_joint_has_are_refused() -> None:
    m = dd.read_urdf(hinges())
    m.constraint("bent", m["j1.angle"] - m["j3.displacement"] ** 2)
    with pytest.raises(dd.ModelError) as caught:
        m.to_urdf()
    assert str(caught.value).splitlines()[:2] == ["URDF cannot describe this model.", "  constraints: bent"]


def test_floating_links_start_where_the_file_draws_them() -> None:
    slide = '<joint name="hinge" type="prismatic"><parent link="base"/><child link="rod"/><origin xyz="1 2 3"/></joint>'
    loose = '<joint name="f" type="floating"><parent link="rod"/><child link="tip"/><origin xyz="0 0 5"/></joint>'
    links = '<link name="base"/>' + LINK.format(name="rod") + LINK.format(name="tip")
    m = dd.read_urdf(f'<robot name="r">{links}{slide}{loose}</robot>')
    assert m.written.variables["tip.position"].guess == (1.0, 2.0, 8.0)


def test_a_site_between_two_points_looks_from_the_second_to_the_first() -> None:
    """MuJoCo 4.0 gives it the quaternion (0.31481445, 0.84894846, -0.42447423, 0)."""
    robot = dd.read_mjcf(
        '<mujoco><worldbody><body name="a"><joint name="j"/><geom size=".1"/>'
        '<site name="s" type="capsule" size=".1" fromto="0 0 0 .1 .2 .3"/></body></worldbody></mujoco>'
    ).robot()
    pose = robot.pose("s", [0.0])
    np.testing.assert_allclose(pose[:3, 3], [0.05, 0.1, 0.15], atol=1e-15)
    wanted = dd.rotation_from_quaternion(np.array([0.31481445, 0.84894846, -0.42447423, 0.0]))
    np.testing.assert_allclose(pose[:3, :3], wanted, atol=1e-7)


def test_replicas_in_replicas_number_the_inner_ones_first() -> None:
    inner = '<body name="r"><joint name="j" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body>'
    m = dd.read_mjcf(
        '<mujoco><worldbody><replicate count="2" offset="0 1 0"><replicate count="3" offset=".5 0 0" sep="_">'
        f"{inner}</replicate></replicate></worldbody></mujoco>"
    )
    assert m.robot().labels["q"] == tuple(f"j_{k}{n}.angle" for n in "01" for k in "012")
    np.testing.assert_allclose(m.robot().pose("r_21", np.zeros(6))[:3, 3], [1.0, 1.0, 0.0], atol=1e-15)


def test_defaults_of_equalities_count_for_every_kind() -> None:
    text = (
        '<mujoco><default><equality active="false"/></default>'
        '<worldbody><body name="a"><joint name="j"/><geom size=".1"/><body name="b"><joint name="k"/>'
        '<geom size=".1"/></body></body></worldbody><equality>'
        '<joint name="off" joint1="j" joint2="k"/><joint name="on" joint1="k" active="true"/></equality></mujoco>'
    )
    assert list(dd.read_mjcf(text).written.mechanics.constraints) == ["on"]
