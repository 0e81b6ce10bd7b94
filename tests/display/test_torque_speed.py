"""Torque–speed diagrams: crossings, their stability as the drive itself shows it, and the four quadrants."""

import math
from itertools import pairwise

import casadi as ca
import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import daedalus as dd
from daedalus.display.operating_points import TorqueSpeedPoint
from daedalus.display.torque_speed import torque_speed

SYNCHRONOUS, PULL_OUT_SLIP, PULL_OUT_TORQUE = 157.0, 0.2, 40.0


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def induction_motor(w):
    """Kloss' curve: T = 2 T_k / (s/s_k + s_k/s)."""
    slip = 1 - w / SYNCHRONOUS
    return 2 * PULL_OUT_TORQUE / (slip / PULL_OUT_SLIP + PULL_OUT_SLIP / slip)


def settled_speed(motor, load, start):
    """Where a drive of inertia 1 ends that begins at a speed."""
    m = dd.Model("drive")
    w = m.state("w", start=start)
    m.equation(m.der(w), motor(w) - load(w))
    return float(dd.simulate(m, 2000.0, rtol=1e-10)["w"][-1])


def test_an_induction_motor_under_constant_load_has_an_unstable_and_a_stable_point():
    found = torque_speed(induction_motor, 25.0, (0, 156)).points
    # s/s_k + s_k/s = 2 T_k/T is a quadratic equation for s/s_k.
    ratio = 2 * PULL_OUT_TORQUE / 25.0
    slips = PULL_OUT_SLIP * (ratio + np.array([1, -1]) * np.sqrt(ratio**2 - 4)) / 2
    np.testing.assert_allclose([p.speed for p in found], SYNCHRONOUS * (1 - slips), rtol=1e-12)
    np.testing.assert_allclose([p.torque for p in found], 25.0)
    assert [p.stable for p in found] == [False, True]
    assert found[0].slope_difference > 0 > found[1].slope_difference


@pytest.mark.parametrize(("push", "end"), [(-2.0, "falls"), (2.0, "rises")])
def test_the_drive_leaves_the_unstable_point_and_returns_to_the_stable_one(push, end):
    unstable, stable = torque_speed(induction_motor, 25.0, (0, 156)).points

    def load(w):
        return 25.0 + 0 * w

    assert settled_speed(induction_motor, load, stable.speed + push) == pytest.approx(stable.speed, abs=1e-6)
    away = settled_speed(induction_motor, load, unstable.speed + push)
    assert away == pytest.approx(stable.speed, abs=1e-6) if end == "rises" else away < 0


@pytest.mark.document("002", "motor and load: stable where the net torque falls with the speed", "`dd.torque_speed`")
def test_the_slope_difference_is_that_of_document_002():
    w = ca.SX.sym("w")
    (point,) = torque_speed(10 - w, 0.09 * w**2, (0, 12)).points
    speed = (-1 + math.sqrt(1 + 4 * 0.09 * 10)) / (2 * 0.09)
    assert point.speed == pytest.approx(speed, rel=1e-13)
    assert point.slope_difference == pytest.approx(-1 - 2 * 0.09 * speed, rel=1e-13)
    # Differences instead of derivatives, for functions.
    (again,) = torque_speed(lambda w: 10 - w, lambda w: 0.09 * w**2, (0, 12)).points
    assert again.slope_difference == pytest.approx(point.slope_difference, rel=1e-8)


def test_functions_of_single_numbers_work_too():
    (point,) = torque_speed(lambda w: math.sqrt(w), lambda w: 1.0 if w < 2 else 0.0, (-1, 4)).points
    assert (point.speed, point.torque, point.stable) == (pytest.approx(1.0), pytest.approx(1.0), False)


@given(st.lists(st.floats(-9.5, 9.5), min_size=1, max_size=6))
@example([-1.25, -1.234375])
@example([-1.265625, -1.25])
def test_all_crossings_of_a_polynomial_are_found_and_alternate(roots):
    roots = sorted(roots)
    assume(all(b - a > 1e-2 for a, b in pairwise(roots)))
    found = torque_speed(lambda w: -np.prod([w - r for r in roots], axis=0), 0.0, (-10, 10)).points
    plt.close("all")
    np.testing.assert_allclose([p.speed for p in found], roots, atol=1e-9)
    # Beyond the last crossing the drive is braked; before, the sign of T changes at each.
    assert [p.stable for p in found] == [k % 2 == 0 for k in range(len(roots))][::-1]


def test_two_crossings_between_neighbouring_speeds():
    found = torque_speed(lambda w: (w - 1.0001) * (w - 1.0003), 0.0, (0, 3)).points
    np.testing.assert_allclose([p.speed for p in found], [1.0001, 1.0003], rtol=1e-12)
    assert [p.stable for p in found] == [True, False]


def test_curves_that_touch_are_not_stable():
    (point,) = torque_speed(lambda w: (w - 1.23456) ** 2, 0.0, (0, 3)).points
    assert point.speed == pytest.approx(1.23456, abs=1e-6)
    assert not point.stable


def test_where_the_slopes_are_equal_the_signs_decide():
    # Document 002 asks for k <= 0, which these two both satisfy.
    (falls,) = torque_speed(lambda w: -((w - 1.0001) ** 3), 0.0, (0, 3)).points
    (rises,) = torque_speed(lambda w: (w - 1.0001) ** 3, 0.0, (0, 3)).points
    assert abs(falls.slope_difference) < 1e-6
    assert (falls.stable, rises.stable) == (True, False)


def test_dry_friction_holds_a_weak_motor_and_lets_a_strong_one_go():
    (stuck,) = torque_speed(lambda w: 2.0 - 0.5 * w, lambda w: 3.0 * np.sign(w), (-10, 10)).points
    assert stuck == TorqueSpeedPoint(0.0, 2.0, True, -math.inf)
    (running,) = torque_speed(lambda w: 2.0 - 0.5 * w, lambda w: 1.0 * np.sign(w), (-10, 10)).points
    assert (running.speed, running.stable) == (pytest.approx(2.0), True)


def test_a_pole_is_no_crossing():
    found = torque_speed(lambda w: 1 / (w - 1.00012), 0.0, (0, 3))
    assert found.points == ()
    assert found.notes == ("the torques grow without bound near speed 1.00012",)


def test_curves_that_are_the_same():
    everywhere = torque_speed(lambda w: w, lambda w: w, (0, 3))
    assert everywhere.notes == ("the curves are the same from 0 to 3: every speed is an operating point",)
    partly = torque_speed(lambda w: np.maximum(w - 1, 0), 0.0, (0, 3))
    assert partly.points == ()
    assert partly.notes == ("the curves are the same from 0 to 0.9975: every speed there is an operating point",)


def test_points_at_the_ends_of_the_range():
    assert [p.stable for p in torque_speed(lambda w: 1 - w, 0.0, (0, 1)).points] == [True]
    assert [p.stable for p in torque_speed(lambda w: w, 0.0, (0, 1)).points] == [False]
    assert repr(torque_speed(2.0, 1.0, (0, 1))) == "Torque–speed diagram\n  the curves do not cross"


def test_quadrants_and_power():
    points = [TorqueSpeedPoint(w, T, True, -1.0) for w, T in ((2, 3), (-2, 3), (-2, -3), (2, -3), (0, 3), (2, 0))]
    assert [p.quadrant for p in points] == [1, 2, 3, 4, 0, 0]
    assert [p.power for p in points] == [6, -6, 6, -6, 0, 0]


def test_the_picture():
    diagram = torque_speed(induction_motor, lambda w: 5 + 8e-4 * w**2, (-150, 300), quadrants=True)
    (ax,) = diagram.figure.axes
    lines = {line.get_label(): line for line in ax.lines}
    assert {"motor", "load", "stable", "unstable"} <= set(lines)
    assert lines["stable"].get_markerfacecolor() == "black"
    assert lines["unstable"].get_markerfacecolor() == "white"
    assert lines["stable"].get_xdata()[0] == diagram.points[1].speed
    assert [text.get_text() for text in ax.texts] == [
        "1: drives forwards", "2: brakes backwards", "3: drives backwards", "4: brakes forwards",
    ]  # fmt: skip
    # Where the motor drives has one colour, where it brakes another.
    colours = [tuple(area.get_facecolor()[0]) for area in ax.collections]
    assert colours[0] == colours[2] != colours[1] == colours[3]


def test_only_visible_quadrants_are_shaded_into_given_axes():
    figure, ax = plt.subplots()
    assert torque_speed(lambda w: 10 - w, 2.0, (0, 9), quadrants=True, ax=ax).figure is figure
    assert [text.get_text() for text in ax.texts] == ["1: drives forwards"]


def message(*arguments):
    with pytest.raises(dd.InputError) as caught:
        torque_speed(*arguments)
    return str(caught.value)


def test_curves_that_cannot_be_used():
    w, v = ca.SX.sym("w"), ca.SX.sym("v")
    assert message(w * v, 1.0, (0, 1)) == (
        "The motor is not a curve over the speed.\n"
        "  the expression has shape (1, 1) and the symbols w, v\n"
        "  Because a torque at a speed is one number, and the speed the only unknown.\n"
        "  Try: ca.substitute(torque, parameter, value) for everything but the speed"
    )
    assert "shape (2, 1)" in message(1.0, ca.vertcat(w, w), (0, 1))
    assert "Motor and load are expressions of different symbols." in message(w, 2 - v, (0, 1))
    assert "The motor cannot be used as a curve." in message("25", 1.0, (0, 1))
    assert "The load cannot be evaluated.\n  at speed 0: TypeError" in message(1.0, lambda w: None, (0, 1))
    assert "The curves have no value in the range." in message(lambda w: math.sqrt(w), 1.0, (-2, -1))


@pytest.mark.parametrize("speeds", [3.0, (1, 1), (0, math.inf), None, "fast", []])
def test_speeds_that_are_no_range(speeds):
    assert message(1.0, 2.0, speeds).startswith("The speeds cannot be used.\n  speeds = ")


@pytest.mark.parametrize(
    ("motor", "stable"),
    [
        (lambda w: 2 - (w - 1) ** 3, True),
        (lambda w: 2 + (w - 1) ** 3, False),
        (lambda w: 2 - (w - 1) ** 5, True),
        (lambda w: 2 - (w - 1) ** 2, False),
    ],
)
def test_signs_on_both_sides_decide_where_the_slope_is_zero(motor, stable):
    (point,) = dd.torque_speed(motor, 2.0, (0.0, 3.0)).points
    assert point.speed == pytest.approx(1.0, abs=1e-3)
    assert point.stable is stable
