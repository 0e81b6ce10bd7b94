"""C code that leaves: it compiles without a warning; its functions and steps equal those of the package to 1e-12."""

import shutil
import subprocess

import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue

COMPILER = shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None or shutil.which("make") is None, reason="needs make and cc")


def run_test(folder):
    """Compile strictly and run what was written."""
    flags = "CFLAGS=-O0 -std=c99 -Wall -Wextra -Werror -pedantic -Wno-unused-parameter"
    return subprocess.run(["make", "-s", "test", flags], cwd=folder, capture_output=True, text=True, timeout=300)


def arm():
    """A matrix parameter, two outputs, an input, time and an algebraic variable."""
    m = dd.Model("arm 2")
    x, z, u = m.state("x", 2, start=[0.3, -0.1]), m.algebraic("z"), m.input("u")
    K = m.parameter("K", [[1.0, 0.2], [0.1, 2.0]])
    m.equation(m.der(x), [x[1] + m.time, z - u * np.sin(x[0])])
    m.equation(z, -(K @ x)[0] * 3.0)
    m.output("both", K @ x)
    m.output("energy", 0.5 * x[1] ** 2 + z)
    return m


@needs_compiler
@pytest.mark.parametrize("method", ["rk4", "radau5"])
def test_functions_and_steps_are_those_of_the_package(method, tmp_path):
    written = dd.exchange.c(arm(), tmp_path, method=method, step=0.05)
    assert written.files == ("arm_2.h", "arm_2.c", "test_arm_2.c", "Makefile")
    assert written.labels["y"] == ("both[0]", "both[1]", "energy")
    assert written.notes == ()
    done = run_test(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {line.split(":")[0].split()[0] for line in done.stdout.splitlines()} == set(written.functions)


@needs_compiler
@pytest.mark.parametrize(("name", "method"), [("pendulum_3d", "rk4"), ("robertson", "radau5")])
def test_known_systems(name, method, tmp_path):
    dd.exchange.c(catalogue.load(name).model, tmp_path, method=method, step=1e-4)
    done = run_test(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.wide
@needs_compiler
@pytest.mark.parametrize("name", [n for n in catalogue.names() if n not in ("beam", "rod_chain")])
def test_every_known_system(name, tmp_path):
    dd.exchange.c(catalogue.load(name).model, tmp_path, method="radau5", step=1e-4)
    done = run_test(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_compiler
def test_the_test_can_fail(tmp_path):
    dd.exchange.c(arm(), tmp_path)
    source = tmp_path / "test_arm_2.c"
    text = source.read_text()
    assert "expected_y[] = {" in text
    source.write_text(text.replace("expected_y[] = {", "expected_y[] = {1e3 + ", 1))
    assert run_test(tmp_path).returncode != 0


@needs_compiler
def test_a_model_with_events_has_guards_and_resets_but_no_step(tmp_path):
    m = dd.Model("ball")
    h, v = m.state("h", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81)
    m.event("bounce", h, direction=-1, reset={"v": -0.8 * v})
    written = dd.exchange.c(m, tmp_path)
    assert "ball_step" not in written.functions
    assert {"ball_guards", "ball_resets"} <= set(written.functions)
    assert written.notes == ("no step: fixed steps would miss the events bounce; find them by the guards",)
    assert run_test(tmp_path).returncode == 0


@needs_compiler
def test_nonlinear_algebraic_equations_have_a_residual_and_implicit_steps(tmp_path):
    m = dd.Model("loop")
    x, z = m.state("x", start=1.0), m.algebraic("z", start=1.0)
    m.equation(m.der(x), -z)
    m.equation(z + np.sinh(z), 2 * x)
    written = dd.exchange.c(m, tmp_path, method="radau5", step=0.01)
    assert "loop_rates" not in written.functions
    assert "loop_step" in written.functions
    done = run_test(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_c_cannot_carry_is_refused(tmp_path):
    m = dd.Model("sampled")
    x, u = m.state("x", start=1.0), m.discrete("u", start=0.0)
    m.equation(m.der(x), u - x)
    m.every(0.1, {"u": -x})
    with pytest.raises(dd.InputError):
        dd.exchange.c(m, tmp_path)
    with pytest.raises(dd.InputError):
        dd.exchange.c(arm(), tmp_path, method="nonsense")
