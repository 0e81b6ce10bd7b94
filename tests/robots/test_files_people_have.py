"""What robot files of other people contain: fingers that follow each other, feet without mass, moments of no real body.

Of the 69 URDF files of example-robot-data 6.0.0 (panda, baxter, talos, tiago_pro, pr2, icub, ...), 63 were compared
with Pinocchio 4.1: accelerations differ by at most 1e-12 times the condition of the mass matrix. Where joints follow
others, the accelerations were solved for from its mass matrix and bias. The small files here have what was met there.
"""

import numpy as np
import pytest

import daedalus as dd


def inertial(mass=1.0, moments=(0.02, 0.03, 0.04), at="0.1 0.02 0"):
    x, y, z = moments
    return (
        f'<inertial><origin xyz="{at}"/><mass value="{mass}"/>'
        f'<inertia ixx="{x}" iyy="{y}" izz="{z}" ixy="0" ixz="0" iyz="0"/></inertial>'
    )


def joint(name, kind, parent, child, axis="0 1 0", at="0.3 0 0", more=""):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/><origin xyz="{at}"/>'
        f'<axis xyz="{axis}"/><limit lower="-3" upper="3" effort="1" velocity="1"/>{more}</joint>'
    )


def gripper(mimic='<mimic joint="left" multiplier="-2" offset="0.1"/>', kind="prismatic"):
    links = "".join(f'<link name="{name}">{inertial()}</link>' for name in ("arm", "one", "two"))
    joints = [
        joint("shoulder", "revolute", "base", "arm"),
        joint("left", "prismatic", "arm", "one", "0 1 0"),
        joint("right", kind, "arm", "two", "0 1 0.5", more=mimic),
    ]
    return f'<robot name="gripper"><link name="base"/>{links}{"".join(joints)}</robot>'


def test_fingers_that_follow_each_other():
    robot, free = dd.read_urdf(gripper()).robot(), dd.read_urdf(gripper("")).robot()
    assert robot.labels == free.labels
    rows = np.array([[0.0, 2.0, 1.0]])  # right + 2 left = 0.1
    rng = np.random.default_rng(0)
    for _ in range(5):
        q, v, tau = rng.uniform(-1, 1, (3, 3))
        matrix = np.block([[free.mass_matrix(q), rows.T], [rows, np.zeros((1, 1))]])
        wanted = np.linalg.solve(matrix, np.append(tau - free.bias(q, v), 0.0))[:3]
        np.testing.assert_allclose(robot.forward_dynamics(q, v, tau), wanted, rtol=1e-12, atol=1e-12)
        by_q, by_v, by_tau = robot.derivatives.forward_dynamics(q, v, tau)
        for given, slopes in ((q, by_q), (v, by_v), (tau, by_tau)):
            for k in range(3):
                shifted = [[g + sign * 1e-6 * np.eye(3)[k] * (g is given) for g in (q, v, tau)] for sign in (1, -1)]
                change = robot.forward_dynamics(*shifted[0]) - robot.forward_dynamics(*shifted[1])
                np.testing.assert_allclose(slopes[:, k], change / 2e-6, atol=1e-7 * max(1, np.abs(slopes).max()))


def test_a_run_has_the_accelerations_of_the_function():
    m = dd.read_urdf(gripper())
    start = {"shoulder.angle": 0.4, "left.displacement": 0.1, "right.displacement": -0.1}
    rest = {f"{name}_dot": 0.0 for name in start}
    tr = dd.simulate(m, 0.1, start={**start, **rest})
    q = np.array([start[name] for name in m.robot().labels["q"]])
    found = m.robot().forward_dynamics(q, np.zeros(3), np.zeros(3))
    at_start = [float(tr[f"{name}_ddot"][0]) for name in m.robot().labels["q"]]
    np.testing.assert_allclose(found, at_start, rtol=1e-9, atol=1e-12)


def test_inverse_kinematics_keeps_fingers_together():
    m = dd.read_urdf(gripper())
    at = m.robot().labels["q"].index
    near = dd.inverse_kinematics(m, {"two.position": [0.2, 0.3, 0.15]}, start={"shoulder.angle": 0.1})
    far = dd.inverse_kinematics(m, {"two.position": [9.0, 0.0, 0.0]})
    assert not far.reached
    for found in (near, far):
        follows = found.q[at("right.displacement")] + 2 * found.q[at("left.displacement")]
        assert follows == pytest.approx(0.1, abs=1e-9)
    assert "two.position is out of reach" in far.sentence
    assert "cannot hold" not in far.sentence


def test_a_fixed_joint_follows_nothing():
    m = dd.read_urdf(gripper(kind="fixed"))
    assert "<mimic> of the fixed joint 'right'" in m.unsupported
    assert len(m.robot().labels["q"]) == 2


def test_a_joint_that_follows_a_fixed_one_stays():
    text = gripper().replace('name="left" type="prismatic"', 'name="left" type="fixed"')
    robot = dd.read_urdf(text).robot()
    accelerations = robot.forward_dynamics(np.array([0.2, 0.1]), np.zeros(2), np.ones(2))
    assert accelerations[robot.labels["q"].index("right.displacement")] == pytest.approx(0.0, abs=1e-12)


def leg(foot):
    links = f'<link name="shank">{inertial()}</link><link name="foot">{foot}</link>'
    joints = joint("knee", "revolute", "base", "shank") + joint("ankle", "fixed", "shank", "foot")
    return dd.read_urdf(f'<robot name="leg"><link name="base"/>{links}{joints}</robot>')


def test_moments_of_a_link_without_mass_count():
    bare, shod = leg("").robot(), leg(inertial(0.0, (0.1, 0.2, 0.25))).robot()
    more = shod.mass_matrix(np.zeros(1)) - bare.mass_matrix(np.zeros(1))
    assert more[0, 0] == pytest.approx(0.2, rel=1e-12)


def test_moments_of_no_real_body_are_told_and_used():
    lone = gripper("").replace(inertial(), inertial(1.0, (0.01, 0.02, 0.9)), 1)
    m = dd.read_urdf(lone)
    (told,) = [line for line in m.unsupported if "real body" in line]
    assert told == "the inertia of 'arm': 0.9 kg m² is more than 0.01 + 0.02, as of no real body; it is used as it is"
    assert m.robot().mass_matrix(np.zeros(3)).shape == (3, 3)


def test_moments_that_are_rounding_are_zero():
    m = leg(inertial(0.5, (-5e-20, -5e-20, 0.0)))
    assert np.isfinite(m.robot().forward_dynamics(np.zeros(1), np.zeros(1), np.ones(1))).all()
    lone = gripper("").replace(inertial(), inertial(0.5, (-5e-20, -5e-20, 0.0)), 1)
    assert np.isfinite(dd.read_urdf(lone).robot().forward_dynamics(np.zeros(3), np.zeros(3), np.ones(3))).all()


def test_negative_moments_are_refused():
    with pytest.raises(dd.InputError, match="The inertia of arm is not positive definite"):
        dd.read_urdf(gripper("").replace(inertial(), inertial(1.0, (-0.01, 0.02, 0.02)), 1))


def mjcf(compiler="", option="", mass=2.0):
    return (
        f"<mujoco>{compiler}{option}<worldbody><body name='rod'><joint name='hinge' axis='0 1 0'/>"
        f"<geom type='capsule' fromto='0 0 0 0 0 -1' size='0.05' mass='{mass}'/><body name='tip' pos='0 0 -1'>"
        "<joint name='wrist' axis='0 1 0'/><joint name='roll' axis='0 0 1'/>"
        "<geom type='box' size='0.1 0.2 0.3' mass='1'/></body></body></worldbody></mujoco>"
    )


def test_the_compiler_of_a_file_scales_masses():
    """As in the cheetahs of dm_control 1.0 and Gymnasium 1.3: all masses and moments times 12 / 3."""
    plain, scaled = (dd.read_mjcf(mjcf(text)).robot() for text in ("", "<compiler settotalmass='12'/>"))
    q = np.array([0.2, 0.3, 0.4])
    np.testing.assert_allclose(scaled.mass_matrix(q), 4 * plain.mass_matrix(q), rtol=1e-12)
    np.testing.assert_allclose(scaled.gravity(q), 4 * plain.gravity(q), rtol=1e-12)


def test_least_masses_and_moments_of_a_file():
    m = dd.read_mjcf(mjcf("<compiler boundmass='1.5' boundinertia='0.5'/>"))
    same = mjcf().replace("mass='1'", "mass='1.5'")
    # Lifting the tip costs its new weight; turning it about its own axis the least moment.
    difference = m.robot().gravity(np.array([0.0, 0.5, 0.0])) - dd.read_mjcf(same).robot().gravity([0.0, 0.5, 0.0])
    np.testing.assert_allclose(difference, 0.0, atol=1e-12)
    assert m.robot().mass_matrix(np.zeros(3))[-1, -1] == pytest.approx(0.5, rel=1e-12)


def test_moments_of_no_real_body_become_their_mean_where_the_file_asks():
    """MuJoCo: a body whose moments break a + b >= c turns with their mean about every axis."""
    body = "<body name='a'><joint name='j' axis='{}'/><inertial pos='0 0 0' mass='1' diaginertia='0.1 0.2 0.6'/></body>"
    for axis in ("1 0 0", "0 0 1"):
        text = f"<mujoco><compiler balanceinertia='true'/><worldbody>{body.format(axis)}</worldbody></mujoco>"
        m = dd.read_mjcf(text)
        assert (m.robot().mass_matrix(np.zeros(1))[0, 0], m.unsupported) == (pytest.approx(0.3), [])


def follow(*rules):
    """Three hinges in a row, of which each follows the next, the last one the first."""
    links = "".join(f'<link name="{name}">{inertial()}</link>' for name in "abc")
    mimics = [f'<mimic joint="{other}" multiplier="{factor}" offset="{offset}"/>' for other, factor, offset in rules]
    mimics += [""] * (3 - len(mimics))
    joints = [joint(n.upper(), "revolute", p, n, more=m) for n, p, m in zip("abc", ("base", "a", "b"), mimics)]
    return dd.read_urdf(f'<robot name="ring"><link name="base"/>{links}{"".join(joints)}</robot>')


def test_joints_that_follow_each_other_in_a_ring():
    """A = 2 B, B = 3 C, C = A / 6: one of the three follows from the others."""
    ring, free = follow(("B", 2, 0), ("C", 3, 0), ("A", 1 / 6, 0)).robot(), follow().robot()
    q, v, tau = np.array([0.6, 0.3, 0.1]), np.array([1.2, 0.6, 0.2]), np.array([1.0, 2.0, -0.5])
    way = np.array([6.0, 3.0, 1.0])
    wanted = way * (way @ (tau - free.bias(q, v))) / (way @ free.mass_matrix(q) @ way)
    np.testing.assert_allclose(ring.forward_dynamics(q, v, tau), wanted, rtol=1e-11)


def test_joints_that_contradict_each_other_are_named():
    with pytest.raises(dd.ModelError, match=r"No posture of 'ring' keeps all constraints.\n  constraints: A.mimic, B"):
        follow(("B", 2, 0), ("C", 3, 0), ("A", 1 / 6, 1)).robot().forward_dynamics(
            np.zeros(3), np.zeros(3), np.zeros(3)
        )


def test_weight_that_a_file_switches_off():
    """As in the finger of dm_control 1.0."""
    m = dd.read_mjcf(mjcf(option="<option><flag gravity='disable' contact='disable'/></option>"))
    assert m.robot().gravity(np.array([0.4, 0.1, 0.0])) == pytest.approx(0.0, abs=1e-15)
    assert "option flag contact" in m.unsupported
    assert "option flag gravity" not in m.unsupported
