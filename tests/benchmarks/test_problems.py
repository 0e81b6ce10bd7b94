"""The problems' equations and end values, held against the catalogue, published numbers and an independent method."""

import numpy as np
import pytest
from benchmarks import problems
from benchmarks.diffsl import diffsl
from benchmarks.measurements.flight_sensitivities import text_with_start
from benchmarks.problem import casadi_expressions, trace
from benchmarks.reference import reference

from daedalus import catalogue


@pytest.mark.parametrize("name", ["quadrotor", "lotka_volterra", "van_der_pol"])
def test_the_stored_end_values_come_out_of_extrapolation_again(name):
    problem = problems.load(name)
    assert problem.error(reference(problem, 1e-14)) < 1e-11


@pytest.mark.parametrize("name", ["quadrotor", "lotka_volterra", "pleiades"])
def test_the_stored_end_values_are_those_of_the_catalogue(name):
    known, problem = catalogue.load(name), problems.load(name)
    assert known.span == (0.0, problem.end)
    values = np.concatenate([np.ravel(value) for value in known.reference.values()])
    assert problem.error(values) < 1e-13


def test_every_language_gets_the_same_equations():
    import casadi

    for name in problems.names():
        problem = problems.load(name)
        x = np.array(problem.reference) + 0.01 * np.arange(problem.size)
        plain = trace(problem, np, 0.0, x, problem.inputs, problem.parameters)
        s = casadi_expressions(problem)
        symbolic = casadi.Function("f", [s.t, s.x, s.u, s.p], [s.f])(0.0, x, problem.inputs, problem.parameters)
        assert symbolic.full().ravel() == pytest.approx(plain, rel=1e-13, abs=1e-15)


def test_diffsl_takes_start_values_as_parameters():
    lines = text_with_start(problems.load("quadrotor")).splitlines()
    assert lines[0].startswith("in_i { s0s = 0.0, ")
    assert lines[1].startswith("u_i { x0x = s0s, ")
    noted = [f"v{k}v {{ " for k in range(len(lines) - 3)]
    assert [line[: len(name)] for line, name in zip(lines[2:-1], noted)] == noted


def test_diffsl_writes_one_line_an_operation():
    text = diffsl(problems.load("van_der_pol"))
    assert text.startswith("in_i { p0p = 5.0 }\nu_i { x0x = 2.0, x1x = 0.0 }\n")
    assert text.endswith("F_i { x1x, v4v }")
    assert "M_i" in diffsl(problems.load("robertson"))


def test_the_error_is_relative_above_the_scale_and_absolute_below():
    problem = problems.load("quadrotor")
    moved = np.array(problem.reference)
    moved[0] *= 1 + 1e-6
    assert problem.error(moved) == pytest.approx(1e-6)
    moved = np.array(problem.reference)
    moved[6] += 1e-3
    assert problem.error(moved) == pytest.approx(1e-3)
