"""Controllers with a receding horizon as C: the same inputs as the package's, whose quadratic programs HPIPM solves."""

import casadi as ca
import numpy as np
import pytest
from tests.exchange.test_c_code import needs_compiler, run_test

import daedalus as dd


def cart_pendulum():
    m = dd.Model("cart pendulum")
    x, angle, v, w = (m.state(name, start=s) for name, s in (("x", 0.0), ("angle", 0.4), ("v", 0.0), ("w", 0.0)))
    force, mass, length = m.input("force"), m.parameter("mass", 1.0), m.parameter("length", 0.5)
    s, c = ca.sin(angle), ca.cos(angle)
    a = (force + 0.2 * s * (length * w**2 - 9.81 * c)) / (mass + 0.2 * s**2)
    m.equation([m.der(x), m.der(angle), m.der(v), m.der(w)], [v, w, a, (9.81 * s - a * c) / length])
    return m, (x, angle, v, w), force


def pendulum_problem(limit=20.0, duration=1.5, intervals=25):
    m, (x, angle, v, w), force = cart_pendulum()
    ocp = dd.OptimalControl(m, duration=duration, intervals=intervals)
    ocp.bound(force, -limit, limit)
    ocp.minimise(running=x**2 + 10 * angle**2 + 0.1 * v**2 + 0.1 * w**2 + 0.01 * force**2)
    return ocp, (x, angle, v, w), force


def final_cost():
    ocp, (x, angle, v, w), force = pendulum_problem()
    running = x**2 + 10 * angle**2 + 0.1 * v**2 + 0.1 * w**2 + 0.01 * force**2
    ocp.minimise(running=running, final=20 * x**2 + 100 * angle**2 + 5 * v**2 + 5 * w**2 + 3 * x * v)
    return dd.Controller(ocp, every=0.05)


def bounded_states():
    """Steps are shortened, and bounds on states leave the Riccati recursion few digits."""
    ocp, (x, _, v, _), _ = pendulum_problem(limit=8.0)
    ocp.bound(x, -0.3, 0.3)
    ocp.bound(v, -1.0, 1.0)
    return dd.Controller(ocp, every=0.05)


def fixed_end():
    ocp, _, force = pendulum_problem(duration=2.0, intervals=30)
    ocp.finish({"x": 0, "angle": 0, "v": 0, "w": 0})
    ocp.minimise(running=force**2)
    return dd.Controller(ocp, every=0.02)


def soft_condition():
    ocp, (x, angle, _, _), _ = pendulum_problem()
    ocp.subject_to(x + 0.5 * ca.sin(angle) <= 0.1, soft=100.0)
    return dd.Controller(ocp, every=0.06)


def full_mode():
    return dd.Controller(pendulum_problem()[0], every=0.06, mode="full")


def linear_input(**limits):
    ocp, _, _ = pendulum_problem()
    ocp.input("force", kind="linear", **limits)
    return dd.Controller(ocp, every=0.06)


def given_reference():
    m = dd.Model("tracked")
    x, v, u, r = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u"), m.input("r")
    m.equation([m.der(x), m.der(v)], [v, u - 0.1 * v * ca.fabs(v)])
    ocp = dd.OptimalControl(m, duration=2.0, intervals=20)
    ocp.given("r", np.sin)
    ocp.bound(u, -2, 2)
    ocp.minimise(running=(x - r) ** 2 + 1e-2 * u**2)
    return dd.Controller(ocp, every=0.1)


def driven_by_time():
    m = dd.Model("timed")
    x, u = m.state("x", start=0.0), m.input("u")
    m.equation(m.der(x), -x + u + 0.5 * ca.sin(3 * m.time))
    ocp = dd.OptimalControl(m, duration=2.0, intervals=20)
    ocp.bound(u, -2, 2)
    ocp.minimise(running=(x - 1) ** 2 + 1e-2 * u**2)
    return dd.Controller(ocp, every=0.1)


def bent_downwards():
    m = dd.Model("double well")
    x, u = m.state("x", start=2.0), m.input("u")
    m.equation(m.der(x), x - x**3 + u)
    ocp = dd.OptimalControl(m, duration=2.0, intervals=20)
    ocp.bound(u, -2, 2)
    ocp.minimise(running=ca.cos(2 * x) + 0.1 * u**2, final=ca.exp(x))
    return dd.Controller(ocp, every=0.1)


def algebraic_variable():
    m = dd.Model("dae")
    x, z, u = m.state("x", start=1.0), m.algebraic("z"), m.input("u")
    m.equation(m.der(x), z + u)
    m.equation(0, z + 2 * x + 0.1 * u)
    ocp = dd.OptimalControl(m, duration=2.0, intervals=20)
    ocp.bound(u, -0.5, 0.5)
    ocp.minimise(running=(x - 0.2) ** 2 + 1e-2 * u**2 + 0.1 * z**2)
    return dd.Controller(ocp, every=0.1)


def tanks():
    m = dd.Model("tanks")
    h, q = m.state("h", 3, start=[0.3, 0.5, 0.2]), m.input("q", 2)
    one, two, three = (ca.sqrt(h[k] + 0.01) for k in range(3))
    m.equation(m.der(h), ca.vertcat(q[0] - one, q[1] + one - two, two - three))
    ocp = dd.OptimalControl(m, duration=3.0, intervals=15)
    ocp.bound(q, 0, 1)
    ocp.bound(h, 0, 1.2)
    ocp.minimise(running=ca.sumsqr(h - 0.6) + 0.01 * ca.sumsqr(q))
    return dd.Controller(ocp, every=0.2)


DEFAULT = (bounded_states, fixed_end, given_reference)
WIDE = (
    final_cost, soft_condition, full_mode, linear_input, driven_by_time, bent_downwards, algebraic_variable, tanks,
)  # fmt: skip


@needs_compiler
@pytest.mark.parametrize("made", [*DEFAULT, *(pytest.param(each, marks=pytest.mark.wide) for each in WIDE)])
def test_calls_are_those_of_the_package(made, tmp_path):
    written = made().to_c(tmp_path, "loop")
    assert written.files == ("loop_controller.h", "loop_controller.c", "test_loop_controller.c", "Makefile")
    done = run_test(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    if made is given_reference:  # the comparison can fail
        source = tmp_path / "loop_controller.c"
        source.write_text(source.read_text().replace("-= w->first[e]", "-= 1.00001 * w->first[e]"))
        assert run_test(tmp_path).returncode != 0


def test_steps_without_formulas_are_refused(tmp_path):
    m = dd.Model("stiff")
    x, u = m.state("x", start=1.0), m.input("u")
    m.equation(m.der(x), -50 * x + u)
    ocp = dd.OptimalControl(m, duration=2.0, intervals=20)
    ocp.minimise(running=x**2 + u**2)
    with pytest.raises(dd.InputError, match=r'steps are those of radau5[\s\S]*step_method="rk4"'):
        dd.Controller(ocp, every=0.1, step_method="radau5").to_c(tmp_path)
    assert not list(tmp_path.iterdir())


def test_limited_rates_are_refused(tmp_path):
    """The package limits the first rate of a call by what was applied last, which the code does not know."""
    with pytest.raises(dd.InputError, match=r"limits the rate of an input by what was applied last"):
        linear_input(rate=(-100.0, 100.0)).to_c(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_start_without_a_plan_is_told(tmp_path):
    m = dd.Model("far")
    x, u = m.state("x", start=10.0), m.input("u")
    m.equation(m.der(x), u)
    ocp = dd.OptimalControl(m, duration=1.0, intervals=10)
    ocp.bound(u, -1, 1)
    ocp.finish({"x": 0.0})
    ocp.minimise(running=u**2)
    with pytest.raises(dd.InputError, match=r"no plan was found from the model's start"):
        dd.Controller(ocp, every=0.1).to_c(tmp_path)
    assert not list(tmp_path.iterdir())
