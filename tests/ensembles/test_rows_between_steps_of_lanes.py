"""Rows that lanes save between the ends of their steps: as accurate as the steps, which stay what they were."""

import casadi as ca
import numpy as np
import pytest
from tests.simulation.test_values_between_steps import Driven

import daedalus as dd
from daedalus.ensembles.lanes.judged_between import between_nodes
from daedalus.integrators.methods import METHODS

# Tolerances, of the largest value that a variable has: measured are at most 2.4 over 12 seeds.
MOST = 5.0
ROSENBROCK = [name for name, method in METHODS.items() if method.family == "rosenbrock"]


def model_of(driven, algebraic):
    m = driven.model(algebraic)
    m.parameter("idle", 0.0)
    return m


def on_lanes_alone(en):
    """Whether no case was left to the scalar core."""
    (told,) = en.notes
    return "lanes" in told and "left" not in told


def check(driven, m, method, rtol, algebraic):
    """Three equal cases on lanes, each at random times, against the closed form."""
    times = np.sort(np.random.default_rng(5).uniform(0, 5, 101))
    options = {"method": method, "rtol": rtol, "atol": 1e-2 * rtol}
    en = dd.sweep(m, 5.0, over={"idle": [0.0, 1.0, 2.0]}, save_at=times, on="cpu", **options)
    assert on_lanes_alone(en)
    exact = {"x": driven.x(times).reshape(101, -1), "z": driven.z(times)[:, None]}
    for name in ("x", "z") if algebraic else ("x",):
        rows = np.asarray(en[name])[1].reshape(101, -1)
        size = np.abs(exact[name]).max(axis=0)
        off = np.abs(rows - exact[name]) / (rtol * size + 1e-2 * rtol)
        assert off.max() < MOST, (name, driven.rates)


@pytest.mark.parametrize("seed", [1, 7, pytest.param(11, marks=pytest.mark.wide)])
@pytest.mark.parametrize("method", ROSENBROCK)
def test_stiff_and_algebraic_components(method, seed):
    """Interpolation alone was off by up to 600 tolerances (rodas4 at 1e-8)."""
    driven, algebraic = Driven(seed), seed == 7
    m = model_of(driven, algebraic)
    for rtol in (1e-4, 1e-6, 1e-8):
        check(driven, m, method, rtol, algebraic)


@pytest.mark.parametrize("rates", [[30.0, 400.0], pytest.param([0.2, 40.0, 3.0], marks=pytest.mark.wide)])
@pytest.mark.parametrize(
    "method", ["dop853", *(pytest.param(name, marks=pytest.mark.wide) for name in ("tsit5", "dopri5", "auto"))]
)
def test_long_explicit_steps_and_those_at_the_edge_of_stability(method, rates):
    """The interpolant of dop853 alone was off by 45 tolerances."""
    driven = Driven(8, rates)
    m = model_of(driven, algebraic=False)
    for rtol in (1e-4, 1e-6):
        check(driven, m, method, rtol, algebraic=False)


def test_rows_change_no_explicit_step():
    """The end is that of a run without rows, to the last digit."""
    m = dd.Model("pendulum")
    angle, speed, length = m.state("angle", start=1.0), m.state("speed", start=0.0), m.parameter("length", 1.0)
    m.equation(m.der(angle), speed)
    m.equation(m.der(speed), -9.81 / length * ca.sin(angle))
    over = {"length": [0.5, 1.0, 2.0]}
    few, many = (
        dd.sweep(m, 3.0, over=over, save_at=times, method="dop853", on="cpu")
        for times in ("end", np.linspace(0, 3, 77))
    )
    assert np.array_equal(few["angle"].values[:, -1], many["angle"].values[:, -1])


def test_looks_are_where_they_tell_most():
    for degree in (3, 4):
        nodes = between_nodes(degree)
        known = [0.0, 1.0, *nodes.looks]
        for k, powers in enumerate(nodes.basis):
            values = np.polynomial.polynomial.polyval(np.array(known), powers)
            np.testing.assert_allclose(values, np.eye(len(known))[2 + k], atol=1e-13)
        assert not set(nodes.checks) & set(known)
