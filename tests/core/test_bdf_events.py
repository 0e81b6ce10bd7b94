"""BDF where a run is interrupted: events with resets, inputs that jump, and reasons to stop."""

import bdf_problems as problems
import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import _core
from daedalus.compilation import compile_function


def function_of_row(build, size):
    """A function (t, y, u, p) -> build(y) for rows of a size, without inputs and parameters."""
    t, y, none = ca.SX.sym("t"), ca.SX.sym("y", size), ca.SX.sym("none", 0)
    return compile_function(ca.Function("f", [t, y, none, none], [ca.densify(build(y))]), wait=True)


def ball_run(rtol=1e-8, **options):
    guard = function_of_row(lambda y: y[2], 5)
    reset = function_of_row(lambda y: ca.vertcat(y[0], -0.8 * y[1], y[2:]), 5)
    options = {"directions": [-1], "actions": [1], "resets": reset.core} | options
    return problems.bouncing_ball().integrate(rtol=rtol, atol=rtol, guards=guard.core, **options)


def test_bouncing_ball_against_the_closed_form():
    run = ball_run()
    fall = np.sqrt(2 / 9.81)
    expected = np.concatenate([[fall], fall + 2 * fall * np.cumsum(0.8 ** np.arange(1, 9))])
    expected = expected[expected < 1.5]
    assert run.status == "finished"
    assert [time for _, time, *_ in run.events] == pytest.approx(expected, abs=1e-6)
    for number, (_, _, before, after) in enumerate(run.events):
        speed = 9.81 * fall * 0.8**number
        assert before[:3] == pytest.approx([0, -speed, 0], abs=1e-5)
        assert after[1] == pytest.approx(0.8 * speed, abs=1e-5)
    assert run.x[:, 0].min() > -1e-9


def test_the_order_begins_at_one_behind_an_event():
    run = ball_run()
    starts, _, coefficients = run.dense()
    degrees = np.array([max(j for j in range(6) if j == 0 or piece[j].any()) for piece in coefficients])
    times = [time for _, time, *_ in run.events]
    behind = [np.flatnonzero(starts == time)[-1] for time in times]
    assert (degrees[behind] == 1).all()
    assert degrees.max() > 1


def test_a_terminal_event_ends_at_the_crossing():
    run = ball_run(actions=[2], resets=None)
    assert run.status == "event"
    assert run.t[-1] == pytest.approx(np.sqrt(2 / 9.81), abs=1e-7)
    assert abs(run.x[-1, 0]) < 1e-9


def relaxation():
    m = dd.Model("relaxation")
    x, z, u = m.state("x"), m.algebraic("z"), m.input("u")
    m.equation(m.der(x), z)
    m.equation(z, u - x)
    return problems.Problem(m, [0, 1, 1], 3.0, inputs=(1.0,))


def test_inputs_that_jump_restart_the_order():
    table = _core.Table([0.0, 1.0, 2.0], [[1.0], [-1.0], [3.0]], [0])
    run = relaxation().integrate(rtol=1e-8, atol=1e-8, tables=[table])
    x = 1 - np.exp(-1)
    x = -1 + (x + 1) * np.exp(-1)
    x = 3 + (x - 3) * np.exp(-1)
    assert run.x[-1, 0] == pytest.approx(x, rel=1e-6)
    assert {1.0, 2.0} <= set(run.t)
    # z jumps with the input: the row at a breakpoint holds the values behind it.
    assert run.x[run.t == 1.0, 1] == pytest.approx([-1 - (1 - np.exp(-1))], rel=1e-6)


def stopped(model, start, end=3.0, **options):
    run = problems.Problem(model, start, end).integrate(rtol=1e-6, atol=1e-6, **options)
    return run.status, run.culprit, run.culprit_stage, run.stop_time


def test_a_pole_is_named():
    m = dd.Model("pole")
    y, x = m.state("y"), m.state("x")
    m.equation(m.der(y), -y)
    m.equation(m.der(x), x**2)
    status, culprit, _, time = stopped(m, [1, 1, -1, 1])
    assert status in {"step_too_small", "newton_failed", "not_finite"}
    assert (culprit, time) == (1, pytest.approx(1, abs=1e-4))


def test_the_edge_of_a_domain_is_named():
    m = dd.Model("edge")
    y, x = m.state("y"), m.state("x")
    m.equation(m.der(y), -y)
    m.equation(m.der(x), -1 - ca.sqrt(x))
    status, culprit, stage, time = stopped(m, [1, 1, -1, -2])
    assert (status, culprit, stage) == ("not_finite", 1, "derivative")
    assert time == pytest.approx(2 - 2 * np.log(2), abs=1e-5)


def test_a_branch_that_ends_is_named():
    m = dd.Model("fold")
    x, z = m.state("x"), m.algebraic("z")
    m.equation(m.der(x), -1.0)
    m.equation(z**2, x)
    status, culprit, _, time = stopped(m, [1, 1, -1])
    assert (status, culprit, time) == ("newton_failed", 1, pytest.approx(1, abs=1e-4))


def test_a_singular_matrix_is_named():
    m = dd.Model("singular")
    x, w, z = m.state("x"), m.state("w"), m.algebraic("z")
    m.equation(m.der(x), -x)
    m.equation(m.der(w), 0 * x)
    m.equation(w * z)
    assert stopped(m, [1, 0, 1, -1, 0]) == ("singular", 2, "", 0.0)


def test_a_limit_of_steps_stops():
    status, *_ = stopped(problems.hyperbola().model, [1, 1, -1], max_steps=7)
    assert status == "step_limit"
