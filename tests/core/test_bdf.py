"""BDF on implicit models: orders, published end values, index 2, the work it does, and its dense output."""

import bdf_problems as problems
import numpy as np
import pytest

from daedalus import _core
from daedalus.integrators.tableaux.collocation_transform import core_collocation


def end_error(run, exact):
    assert run.status == "finished"
    return np.max(np.abs(run.x[-1, : len(exact)] - exact) / np.maximum(np.abs(exact), 1e-300))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_order_of_convergence_with_equal_steps(order):
    # Tolerances that nothing exceeds: only max_step limits the steps, and only max_order the order. (Orders 4 and 5
    # would look at differences below what Newton's method leaves at such tolerances.)
    problem = problems.attracted()
    lengths, errors = [0.08, 0.04, 0.02], []
    for length in lengths:
        run = problem.integrate(_core.Bdf(order), rtol=1e-2, atol=1e-2, max_step=length)
        errors.append(end_error(run, problem.exact))
    slopes = np.diff(np.log(errors)) / np.diff(np.log(lengths))
    assert slopes == pytest.approx(order, abs=0.1)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_error_falls_with_the_number_of_steps_to_the_order(order):
    problem = problems.hyperbola()
    tolerances = np.logspace(-3, -7 if order < 3 else -9, 9)
    runs = [problem.integrate(_core.Bdf(order), rtol=tol, atol=tol) for tol in tolerances]
    errors = [end_error(run, problem.exact[:2]) for run in runs]
    slope = np.polyfit(np.log([run.steps for run in runs]), np.log(errors), 1)[0]
    assert -slope > order - 0.4
    # Steps as long as tol^(1 / (k + 1)) leave an error of their k-th power.
    assert max(errors / tolerances ** (order / (order + 1))) < 4


@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8])
def test_chemical_akzo_nobel(rtol):
    problem = problems.published("chemical_akzo")
    run = problem.integrate(rtol=rtol, atol=1e-3 * rtol)
    assert run.x[-1, 0] == pytest.approx(0.1150794920661702, rel=20 * rtol)
    assert end_error(run, problem.exact) < 100 * rtol


@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8])
def test_robertson_to_the_end(rtol):
    problem = problems.published("robertson")
    atol = rtol * np.array([1e-8, 1e-12, 1e-6, 1, 1, 1])
    assert end_error(problem.integrate(rtol=rtol, atol=atol), problem.exact) < 100 * rtol
    # At 4e10 by two methods that share no formula.
    other = problem.integrate(core_collocation(5), 4e10, rtol=1e-10, atol=1e-10 * atol / rtol)
    assert end_error(problem.integrate(end=4e10, rtol=rtol, atol=atol), other.x[-1, :3]) < 100 * rtol


@pytest.mark.parametrize("rtol", [1e-5, 1e-7])
def test_hires_and_the_stiff_van_der_pol_oscillator(rtol):
    hires = problems.published("hires")
    assert end_error(hires.integrate(rtol=rtol, atol=1e-4 * rtol), hires.exact) < 100 * rtol
    oscillator = problems.van_der_pol()
    assert end_error(oscillator.integrate(rtol=rtol, atol=rtol), oscillator.exact) < 100 * rtol


@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8])
def test_index_two_with_the_algebraic_variable_out_of_the_error_test(rtol):
    problem = problems.index_two()
    run = problem.integrate(_core.Bdf(algebraic_in_error_test=False), rtol=rtol, atol=rtol)
    assert end_error(run, problem.exact[:2]) < 200 * rtol
    assert end_error(run, problem.exact) < 1000 * rtol
    assert run.newton_failures == 0


def test_pendulum_of_index_two_keeps_its_constraint():
    problem = problems.pendulum()
    run = problem.integrate(_core.Bdf(algebraic_in_error_test=False), rtol=1e-8, atol=1e-8)
    assert run.status == "finished"
    x, y, vx, vy, force = run.x[:, :5].T
    assert np.abs(x * vx + y * vy).max() < 1e-7
    assert np.abs(np.hypot(x, y) - 1).max() < 1e-5
    assert np.abs(0.5 * (vx**2 + vy**2) + 9.81 * y).max() < 1e-4
    # The multiplier against its closed form: v² / l - g y / l.
    deviation = np.abs(force - (vx**2 + vy**2 - 9.81 * y))[10:]
    assert np.median(deviation) < 1e-5
    assert deviation.max() < 1e-2


def test_cstr_of_index_two():
    known = problems.catalogue.load("cstr")
    reference = known.reference
    #  V, CA, CB, CC, R1, R2; the derivatives follow from CA = CB / Keq.
    flow, both = 0.25, 1.5
    rate = (flow * (3.0 - both * 1.0) - 0.4) / both
    first = flow * (3.0 - 0.5) - rate / 2
    start = [2.0, 0.5, 1.0, 0.0, first, 0.4, 0.0, rate / 2, rate, 0.4]
    problem = problems.Problem(
        known.model, start, known.span[1], index=(1, 1, 1, 1, 2, 1), level=(1, 1, 1, 1, 0, 0), inputs=(0.5, 0.5)
    )
    run = problem.integrate(_core.Bdf(algebraic_in_error_test=False), rtol=1e-8, atol=1e-8)
    exact = np.array([reference[name] for name in ("V", "CA", "CB", "CC")])
    assert end_error(run, exact) < 1e-6


def test_backward_and_forward_meet():
    problem = problems.hyperbola()
    there = problem.integrate(rtol=1e-9, atol=1e-9)
    back = problem.integrate(begin=problem.end, end=0.0, start=there.x[-1], rtol=1e-9, atol=1e-9)
    assert back.t[-1] == 0.0
    assert (np.diff(back.t) < 0).all()
    assert end_error(back, np.array([1.0, 1.0])) < 1e-6


def test_few_factorisations_in_a_long_smooth_run():
    problem = problems.heat(60)
    run = problem.integrate(rtol=1e-6, atol=1e-6)
    assert end_error(run, problem.exact) < 1e-4
    # Every step costs little more than one residual and one solve.
    assert run.factorisations < run.steps / 3
    assert run.newton < 1.6 * (run.steps + run.rejected)


def test_work_is_pinned():
    # Counts change only with the method: look at the figures of problems before changing them.
    problem = problems.hyperbola()
    run = problem.integrate(rtol=1e-6, atol=1e-6)
    counts = run.steps, run.rejected, run.rhs_calls, run.jacobians, run.factorisations, run.newton_failures
    assert counts == (87, 0, 105, 14, 14, 0)
    assert run.newton == run.rhs_calls


def test_dense_output_joins_and_has_the_accuracy_of_the_steps():
    problem = problems.hyperbola()
    run = problem.integrate(rtol=1e-7, atol=1e-7)
    starts, ends, coefficients = run.dense()
    assert coefficients.shape == (run.steps, 6, 3)
    assert (starts == run.t[:-1]).all()
    assert (ends == run.t[1:]).all()
    assert (coefficients[:, 0, :2] == run.x[:-1, :2]).all()
    assert coefficients.sum(axis=1)[:, :2] == pytest.approx(run.x[1:, :2], rel=1e-13)
    times = np.linspace(0, problem.end, 1001)
    x, z, slope = _core.evaluate_dense(starts, ends, coefficients, times).T
    assert x == pytest.approx(1 / (1 + times), rel=3e-6)
    assert z == pytest.approx((1 + times) ** -2, rel=1e-5)
    assert slope == pytest.approx(-((1 + times) ** -2), rel=1e-2)
    # The rows hold the derivative of the formula, which satisfies the equations.
    assert run.x[:, 2] == pytest.approx(-run.x[:, 1], rel=1e-5)


def test_samples_between_steps():
    problem = problems.hyperbola()
    times = np.linspace(0, 4, 37)
    run = problem.integrate(rtol=1e-8, atol=1e-8, save_at=times, keep_steps=False)
    assert (run.t == times).all()
    assert run.x[:, 0] == pytest.approx(1 / (1 + times), rel=1e-6)


def test_what_cannot_be_asked_for():
    problem = problems.hyperbola()
    with pytest.raises(ValueError, match="BDF chooses its steps itself: step must be None; limit them with max_step"):
        problem.integrate(step=0.1)
    for order in (0, 6):
        with pytest.raises(ValueError, match="max_order must be 1 to 5"):
            _core.Bdf(order)
    assert (_core.Bdf(3).max_order, _core.Bdf().algebraic_in_error_test) == (3, True)
