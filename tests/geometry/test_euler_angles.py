"""Roll-pitch-yaw and z-y-z angles: against SciPy, there and back, gimbal lock, derivatives, and rates."""

import warnings

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rotation_samples import SPECIAL, angles, differences, from_symbols, rotation_vectors, slope
from scipy.spatial.transform import Rotation

from daedalus.errors import InputError
from daedalus.geometry.axis_angle import rotation_exp
from daedalus.geometry.euler_angles import (
    GimbalLockWarning,
    rotation_from_rpy,
    rotation_from_zyz,
    rpy_from_rotation,
    rpy_rate,
    rpy_rate_matrix,
    zyz_from_rotation,
    zyz_rate_matrix,
)
from daedalus.geometry.rotations import rot_y, skew

triples = st.tuples(angles, angles, angles).map(np.array)
# Each convention: from angles, to angles, SciPy's name for it, its middle angles at lock, the angle set to zero there.
RPY = (rotation_from_rpy, rpy_from_rotation, "xyz", (np.pi / 2, -np.pi / 2), 2)
ZYZ = (rotation_from_zyz, zyz_from_rotation, "ZYZ", (0.0, np.pi), 2)
CONVENTIONS = pytest.mark.parametrize("convention", [RPY, ZYZ], ids=["rpy", "zyz"])


def quietly(function, *values):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GimbalLockWarning)
        return function(*values)


@pytest.mark.document("002", "roll, pitch, yaw and z-y-z angles", "`dd.rotation_from_rpy`, `dd.rotation_from_zyz`")
@CONVENTIONS
@given(triples)
def test_rotation_from_angles_agrees_with_scipy(convention, values):
    build, _, name, *_ = convention
    assert np.allclose(build(values), Rotation.from_euler(name, values).as_matrix(), rtol=0, atol=2e-15)


@CONVENTIONS
@given(st.one_of(triples, rotation_vectors()))
def test_rotation_there_and_back_also_near_gimbal_lock(convention, values):
    build, read, *_ = convention
    for rotation in (build(values), rotation_exp(values)):
        # Inside the zone of the lock, 1e-10 wide, one angle is set to zero; the rotation moves by twice that at most.
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            found = read(rotation)
        assert np.all(np.abs(found) <= np.pi)
        assert np.allclose(build(found), rotation, rtol=0, atol=4e-10 if seen else 2e-15)


@CONVENTIONS
@given(triples)
def test_angles_there_and_back_away_from_gimbal_lock(convention, values):
    build, read, _, locks, _ = convention
    low, high = min(locks), max(locks)
    values = np.array([values[0], low + (high - low) * (0.01 + 0.98 * abs(values[1]) / 3.2), values[2]])
    turns = (read(build(values)) - values) / (2 * np.pi)
    assert np.allclose(turns, np.round(turns), rtol=0, atol=1e-13)


@CONVENTIONS
@given(rotation_vectors())
def test_angles_agree_with_scipy(convention, v):
    _, read, name, locks, _ = convention
    rotation = rotation_exp(v)
    found = quietly(read, rotation)
    if min(abs(found[1] - lock) for lock in locks) > 1e-3:
        turns = (found - Rotation.from_matrix(rotation).as_euler(name)) / (2 * np.pi)
        assert np.allclose(turns, np.round(turns), rtol=0, atol=1e-12)


@CONVENTIONS
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("outer", [(0.3, 0.5), (0.0, 0.0), (-3.0, 2.0), (np.pi, 0.1)])
def test_gimbal_lock_has_a_defined_answer_and_a_warning(convention, side, outer):
    build, read, _, locks, zeroed = convention
    rotation = build([outer[0], locks[side], outer[1]])
    with pytest.warns(GimbalLockWarning):
        found = read(rotation)
    assert found[zeroed] == pytest.approx(0, abs=1e-15)
    assert found[1] == pytest.approx(locks[side], abs=1e-15)
    assert np.allclose(build(found), rotation, rtol=0, atol=2e-15)
    # SciPy sets the same angle to zero.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        turns = (found - Rotation.from_matrix(rotation).as_euler(convention[2])) / (2 * np.pi)
    assert np.allclose(turns, np.round(turns), rtol=0, atol=1e-7)


def test_the_warnings_say_what_happened_and_point_at_the_caller():
    with pytest.warns(GimbalLockWarning) as seen:
        rpy_from_rotation(np.stack([np.eye(3), rot_y(np.pi / 2), rot_y(-np.pi / 2)]))
    assert str(seen[0].message) == (
        "Gimbal lock in 2 of 3 rotations: pitch is ±π/2, so roll and yaw turn about the same line; yaw was set to 0."
    )
    assert seen[0].filename == __file__
    with pytest.warns(
        GimbalLockWarning, match=r"^Gimbal lock: θ is 0 or π, so ψ and φ turn about the same line; φ was set"
    ):
        zyz_from_rotation(np.eye(3))


def test_no_warning_away_from_lock():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rpy_from_rotation(rot_y(np.pi / 2 - 1e-8))
        zyz_from_rotation(rot_y(1e-8))


@CONVENTIONS
@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
@pytest.mark.parametrize("middle", [0.3, 1.2, 1.5707])
def test_slope_there_and_back_is_one(convention, middle, kind):
    build, read, _, locks, _ = convention
    values = [0.4, middle, -2.5]
    # The slope is a quotient by the distance from lock, so rounding grows with its square.
    distance = min(abs(middle - lock) for lock in locks)
    assert np.allclose(
        slope(lambda a: read(build(a)), values, kind), np.eye(3), rtol=0, atol=1e-15 / distance**2 + 1e-12
    )


@CONVENTIONS
@pytest.mark.parametrize("distance", [0.0, 1e-15, 1e-11, 1e-9, 1e-6])
@pytest.mark.parametrize("side", [0, 1])
def test_symbols_stay_finite_at_gimbal_lock(convention, side, distance):
    build, read, _, locks, _ = convention
    inward = 1 if locks[side] == min(locks) else -1
    values = np.array([0.3, locks[side] + inward * distance, 0.5])
    answer = from_symbols(lambda a: read(build(a)), values)[0][:, 0]
    assert np.allclose(answer, quietly(read, build(values)), rtol=0, atol=1e-5)
    assert np.allclose(build(answer), build(values), rtol=0, atol=4e-10)
    assert np.isfinite(slope(lambda a: read(build(a)), values)).all()


@pytest.mark.document("002", "rates of Euler angles and angular velocity", "`dd.rpy_rate_matrix`")
def test_the_rate_matrix_as_printed_in_document_002():
    roll_rate, pitch_rate, yaw_rate = rates = np.array([0.3, -0.7, 1.1])
    _, pitch, yaw = rpy = np.array([0.4, -0.2, 0.9])
    printed = [
        -np.sin(yaw) * pitch_rate + np.cos(yaw) * np.cos(pitch) * roll_rate,
        np.cos(yaw) * pitch_rate + np.sin(yaw) * np.cos(pitch) * roll_rate,
        yaw_rate - np.sin(pitch) * roll_rate,
    ]
    assert np.allclose(rpy_rate_matrix(rpy, frame="world") @ rates, printed, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("build", "rate_matrix"), [(rotation_from_rpy, rpy_rate_matrix), (rotation_from_zyz, zyz_rate_matrix)]
)
@given(triples, triples)
def test_rate_matrices_turn_the_rotation(build, rate_matrix, values, rates):
    rotation = build(values)
    turning = (slope(build, values) @ rates).reshape(3, 3, order="F")
    assert np.allclose(rotation @ skew(rate_matrix(values) @ rates), turning, rtol=0, atol=1e-13)
    assert np.allclose(skew(rate_matrix(values, frame="world") @ rates) @ rotation, turning, rtol=0, atol=1e-13)


@given(triples, triples)
@pytest.mark.parametrize("frame", ["body", "world"])
def test_rates_and_angular_velocity_there_and_back(frame, values, spin):
    values[1] = np.clip(values[1], -1.5, 1.5)
    rates = rpy_rate(values, spin, frame=frame)
    assert np.allclose(rpy_rate_matrix(values, frame=frame) @ rates, spin, rtol=0, atol=1e-12)


@pytest.mark.parametrize("frame", ["body", "world"])
@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2])
def test_rates_at_gimbal_lock_leave_out_what_no_rates_can_give(frame, pitch):
    values, possible = np.array([0.4, pitch, 0.9]), np.array([0.3, -0.7, 0.0])
    spin = rpy_rate_matrix(values, frame=frame) @ possible
    with pytest.warns(GimbalLockWarning, match="yaw' was set to 0"):
        assert np.allclose(rpy_rate(values, spin, frame=frame), possible, rtol=0, atol=1e-15)
    # Dividing by the rounding of cos(π/2) would make rates of 1e16.
    rates = quietly(lambda: rpy_rate(values, [1.0, 2.0, 3.0], frame=frame))
    assert rates[2] == 0
    assert np.abs(rates).max() < 10
    symbolic = lambda a: rpy_rate(a, ca.DM(spin), frame=frame)  # noqa: E731
    assert np.abs(slope(symbolic, values)).max() < 10


def test_no_branch_divides_by_zero_at_gimbal_lock():
    rotations = (np.eye(3), np.diag([-1.0, 1.0, -1.0]), np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]]))
    with np.errstate(divide="raise", invalid="raise"):
        for rotation in rotations:
            for build, read, *_ in (RPY, ZYZ):
                assert np.allclose(build(quietly(read, rotation)), rotation, rtol=0, atol=1e-15)


def test_slope_of_rates_agrees_with_differences():
    spin = np.array([0.3, -0.7, 1.1])
    for frame in ("body", "world"):
        function = lambda a, frame=frame: rpy_rate(a, spin, frame=frame)  # noqa: E731
        assert np.allclose(
            slope(function, [0.4, 1.2, -0.3]), differences(function, [0.4, 1.2, -0.3]), rtol=0, atol=1e-7
        )


def test_not_a_rotation_is_refused():
    for read in (rpy_from_rotation, zyz_from_rotation):
        with pytest.raises(InputError, match="is not a rotation matrix"):
            read(np.ones((3, 3)))


def test_the_special_angles_are_really_tried():
    assert {0.0, np.pi / 2, np.pi} <= set(SPECIAL)
