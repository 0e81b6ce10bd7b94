"""What is wrong with the arguments of a robot's functions: every mistake has a text of four parts that names it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


@cache
def arm() -> dd.Model:
    m = dd.Model("arm")
    m.gravity([0, 0, -9.81])
    a, b = (m.body(name, mass=1.0, inertia=[0.1, 0.1, 0.1]) for name in "ab")
    options = {"at_b": [-0.5, 0, 0], "axis_a": [0, 0, 1], "coordinates": "joint"}
    m.joint("shoulder", "revolute", dd.ground, a, **options)
    m.joint("elbow", "revolute", a, b, at_a=[0.5, 0, 0], **options)
    m.frame("tool", b, at=[0.5, 0, 0])
    return m


def text(call: Callable[[], object]) -> str:
    with pytest.raises(dd.DaedalusError) as caught:
        call()
    error = caught.value
    assert all([error.what, error.facts, error.because, error.remedy]), str(error)
    return str(error)


Q = [0.1, 0.2]
WRONG_VECTORS = {
    "text": "a",
    "list of texts": ["a", "b"],
    "None": None,
    "dict": {"elbow.angle": 1.0},
    "NaN": [np.nan, 1.0],
    "infinity": np.array([np.inf, 1.0]),
    "row with NaN": [[0.0, 0.0], [np.nan, 0.0]],
    "short": [1.0],
    "one number": 1.0,
    "ragged": [[1.0, 2.0], [3.0]],
    "three axes": np.zeros((2, 2, 2)),
    "complex": [1j, 2.0],
    "symbol": ca.SX.sym("q", 2),
    "column": np.zeros((2, 1)),
    "entry of None": np.array([None, 1], dtype=object),
}
CALLS: dict[str, Callable[[dd.Robot, object], object]] = {
    "q of mass_matrix": lambda r, x: r.mass_matrix(x),
    "v of bias": lambda r, x: r.bias(Q, x),
    "tau of forward_dynamics": lambda r, x: r.forward_dynamics(Q, Q, x),
    "a of inverse_dynamics": lambda r, x: r.inverse_dynamics(Q, Q, x),
    "a of inverse_dynamics_derivatives": lambda r, x: r.derivatives.inverse_dynamics(Q, Q, x),
    "q of pose tool": lambda r, x: r.pose("tool", x),
    "v of jacobian_rate tool": lambda r, x: r.jacobian_rate("tool", Q, x),
    "v of momentum": lambda r, x: r.momentum(Q, x),
    "goal of difference": lambda r, x: r.difference(Q, x),
    "v of gravity_pd": lambda r, x: r.control.gravity_pd(Q, x, Q),
    "q of operational_position tool": lambda r, x: r.control.operational_space("tool", x, Q, [1.0, 0.0, 0.0]),
}


@pytest.mark.parametrize("name", CALLS)
def test_vectors_that_are_none_are_refused_by_name(name: str) -> None:
    robot = arm().robot()
    for wrong, value in WRONG_VECTORS.items():
        if wrong != "symbol" or ("gravity_pd" not in name and "operational" not in name):
            assert text(lambda value=value: CALLS[name](robot, value)).startswith(f"{name} "), wrong


def test_the_whole_texts() -> None:
    robot = arm().robot()
    assert text(lambda: robot.mass_matrix("a")) == (
        "q of mass_matrix is not an array of numbers.\n  got 'a'\n  Because it has 2 numbers.\n  Try: np.zeros(2)"
    )
    assert text(lambda: robot.bias(Q, [0.0, np.nan])) == (
        "v of bias contains NaN or infinity.\n  v[1] is nan: elbow.angle_dot\n"
        "  Because the result would not be finite either.\n  Try: finite numbers, for example np.nan_to_num(...)"
    )
    assert text(lambda: robot.gravity(robot.q)).endswith(
        "Because machine code is called with numbers.\n"
        '  Try: robot.functions["gravity"], a CasADi function of expressions'
    )
    assert text(lambda: robot.control.operational_space("tool", Q, Q, [1, 2, 3], rotation=[1, 2, 3])) == (
        "The rotation of operational_space is not a rotation.\n  got [1, 2, 3]\n"
        "  Because a rotation is a 3×3 matrix, or a quaternion of four numbers, scalar first, that are not all zero.\n"
        "  Try: np.eye(3), or [1.0, 0.0, 0.0, 0.0], for no rotation"
    )
    assert text(lambda: dd.inverse_kinematics(arm(), "tool")) == (
        "The targets have no names.\n  got 'tool'\n  frames and bodies: tool, a, b\n"
        "  Because the search takes positions and rotations of frames by name.\n"
        '  Try: {"tool.position": [0.0, 0.0, 1.0]}'
    )


OTHERS: dict[str, Callable[[dd.Model, dd.Robot], object]] = {
    "a frame that is not there": lambda m, r: r.pose("tol", Q),
    "arguments in another order": lambda m, r: r.pose(Q, "tool"),
    "a function by number": lambda m, r: r.functions[3],
    "a law without its frame": lambda m, r: r.functions["operational_space"],
    "a robot of nothing": lambda m, r: dd.Robot(3),
    "a goal that is a text": lambda m, r: r.control.gravity_pd(Q, Q, "goal"),
    "a goal with NaN in an expression": lambda m, r: r.control.gravity_pd(r.q, r.v, [1.0, np.nan]),
    "gains of None": lambda m, r: r.control.gravity_pd(Q, Q, Q, stiffness=None),
    "gains that are a text": lambda m, r: r.control.computed_torque(Q, Q, Q, damping="a"),
    "a rate of another size": lambda m, r: r.control.computed_torque(Q, Q, Q, rate=[1.0, 2.0, 3.0]),
    "a position of one number": lambda m, r: r.control.operational_space("tool", Q, Q, 1.0),
    "a scaled rotation": lambda m, r: r.control.operational_space("tool", Q, Q, [1, 0, 0], rotation=2 * np.eye(3)),
    "a short posture": lambda m, r: r.control.operational_space("tool", Q, Q, [1, 0, 0], posture=[1.0]),
    "forces with NaN": lambda m, r: r.actuate([np.nan, 1.0]),
    "targets in a list": lambda m, r: dd.inverse_kinematics(m, [1, 2]),
    "no targets": lambda m, r: dd.inverse_kinematics(m, {}),
    "a position that is a text": lambda m, r: dd.inverse_kinematics(m, {"tool.position": "a"}),
    "a position with NaN": lambda m, r: dd.inverse_kinematics(m, {"tool.position": [1, 2, np.nan]}),
    "a position of symbols": lambda m, r: dd.inverse_kinematics(m, {"tool.position": [m.time, 0, 0]}),
    "a rotation that is a text": lambda m, r: dd.inverse_kinematics(m, {"tool.rotation": "a"}),
    "a quaternion of zeros": lambda m, r: dd.inverse_kinematics(m, {"tool.rotation": [0, 0, 0, 0]}),
    "a rotation of two numbers": lambda m, r: dd.inverse_kinematics(m, {"tool.rotation": [1, 2]}),
    "a start that is a list": lambda m, r: dd.inverse_kinematics(m, {"tool.position": [1, 0, 0]}, start=[0, 1]),
    "a start that is a text": lambda m, r: dd.inverse_kinematics(m, {"b.position": [1, 0, 0]}, {"elbow.angle": "a"}),
    "limits that are a word": lambda m, r: dd.inverse_kinematics(m, {"tool.position": [1, 0, 0]}, limits="no"),
    "an empty file": lambda m, r: dd.read_urdf(""),
    "a number for a file": lambda m, r: dd.read_mjcf(3),
}


@pytest.mark.parametrize("mistake", OTHERS)
def test_other_mistakes_have_four_parts(mistake: str) -> None:
    text(lambda: OTHERS[mistake](arm(), arm().robot()))


def test_rotations_are_matrices_quaternions_or_rows_of_matrices() -> None:
    control, half = arm().robot().control, np.sqrt(0.5)
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    found = [
        control.operational_space("tool", Q, Q, [1.0, 0.0, 0.0], rotation=rotation, softness=0.1)
        for rotation in (turn, [half, 0.0, 0.0, half], np.array([np.eye(3), turn]))
    ]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)
    np.testing.assert_array_equal(found[2][1], found[0])


def test_a_target_that_is_no_rotation_is_named_once():
    with pytest.raises(
        dd.InputError, match=r"^The target 'tool.rotation' is not a rotation matrix\.\n  distance from SO"
    ):
        dd.inverse_kinematics(arm(), {"tool.rotation": 2 * np.eye(3)})
