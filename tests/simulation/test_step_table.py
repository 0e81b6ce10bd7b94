"""Every step of a run with what it took: sizes, refused attempts, Newton's iterations, orders."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue


def run(name, method, span, **options):
    known = catalogue.load(name)
    return dd.simulate(known.model, span, start=known.start, inputs=known.inputs, method=method, **options)


@pytest.mark.parametrize("method", ["tsit5", "dop853", "radau5", "radau9", "bdf", "rodas5p"])
def test_counts_of_the_steps_add_up_to_those_of_the_run(method):
    tr = run("van_der_pol", method, 20.0)
    steps = tr.steps
    assert len(steps) == tr.work.steps
    assert steps.rejected.sum() == tr.work.rejected > 0
    assert steps.newton.sum() == tr.work.newton
    assert np.all(steps.rejected >= 0)
    assert np.all(steps.newton >= 0)
    assert steps.size.sum() == pytest.approx(20.0, rel=1e-12)
    assert np.allclose(steps.time[1:], steps.time[:-1] + steps.size[:-1], rtol=1e-12)


@pytest.mark.parametrize("method", ["dopri5", "tsit5", "fehlberg", "cash_karp", "bs3", "dop853"])
def test_steps_with_several_polynomials_are_one_step(method, tmp_path):
    """Where a step has several polynomials for the values between, their lengths were told as those of steps."""
    m = dd.Model("elastic pendulum")
    r, theta = m.coordinate("r", start=0.3, rate=0.1), m.coordinate("theta", start=0.3, rate=0.1)
    m.kinetic_energy((m.rate(r) ** 2 + r**2 * m.rate(theta) ** 2) / 2)
    m.potential_energy((r - 1) ** 2 / 2 - r * ca.cos(theta))
    tr = dd.simulate(m, 1.0, method=method)
    assert len(tr.steps) == tr.work.steps
    np.testing.assert_allclose(tr.steps.time, tr.time[:-1], rtol=1e-15)
    np.testing.assert_allclose(tr.steps.size, np.diff(tr.time), rtol=1e-12)
    tr.save(tmp_path / "run.nc")
    again = dd.load(tmp_path / "run.nc").steps
    assert np.array_equal(again.size, tr.steps.size)
    few = dd.simulate(m, 1.0, method=method, save_at=[0.0, 1.0])
    assert np.array_equal(few.steps.size, tr.steps.size)


def test_orders_of_bdf_rise_from_one_and_fixed_orders_stay():
    orders = run("van_der_pol", "bdf", 20.0).steps.order
    assert orders[0] == 1
    assert set(orders) == {1, 2, 3, 4, 5}
    assert np.all(np.abs(np.diff(orders)) <= 4)
    assert set(run("van_der_pol", "radau5", 2.0).steps.order) == {5}


def test_refused_attempts_stand_where_the_motion_turns():
    steps = run("van_der_pol", "radau5", 20.0).steps
    behind = np.flatnonzero(steps.rejected)
    # A refused attempt makes the step after it shorter than the one before.
    shorter = [k for k in behind if k and steps.size[k] < steps.size[k - 1]]
    assert len(shorter) > 0.8 * len(behind)


def test_events_pieces_and_fixed_steps_have_theirs():
    m = dd.Model("ball")
    h = m.state("h", start=1.0)
    v = m.state("v", start=0.0)
    m.equation([m.der(h), m.der(v)], [v, -9.81])
    m.event("bounce", h, direction=-1, reset={"v": -0.8 * v, "h": 0.0})
    tr = dd.simulate(m, 1.5, method="radau5")
    assert len(tr.steps) == tr.work.steps
    assert tr.steps.newton.sum() <= tr.work.newton
    fixed = run("double_pendulum", "gauss2", 0.5, step=0.05)
    assert len(fixed.steps) == 10
    assert np.all(fixed.steps.newton >= 2)
    several = dd.simulate(catalogue.load("robertson").model, 1e4, method="auto")
    assert len(several.steps) == several.work.steps
    multistep = run("van_der_pol", dd.bdf(3), 0.5, step=0.01)
    assert len(multistep.steps) == multistep.work.steps
    assert multistep.steps.newton.sum() == multistep.work.newton
    assert set(multistep.steps.order) == {0, 3}


def test_files_keep_them_and_rows_asked_for_do_not_matter(tmp_path):
    tr = run("van_der_pol", "bdf", 5.0)
    tr.save(tmp_path / "run.nc")
    again = dd.load(tmp_path / "run.nc").steps
    assert np.array_equal(again.newton, tr.steps.newton)
    assert np.array_equal(again.order, tr.steps.order)
    few = run("van_der_pol", "bdf", 5.0, save_at=[0.0, 5.0])
    assert len(few.steps) == few.work.steps == tr.work.steps


def test_the_picture_has_a_panel_for_each_count():
    figure = run("van_der_pol", "bdf", 20.0).plot_steps()
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "step size [s]",
        "iterations",
        "rejected",
        "order",
    ]
    sizes, newton = figure.axes[0].lines[0], figure.axes[1].lines[0]
    assert len(sizes.get_xdata()) + 1 == len(newton.get_xdata())
    explicit = run("mass_spring", "tsit5", 1.0).plot_steps()
    assert [axes.get_ylabel() for axes in explicit.axes] in (["step size [s]"], ["step size [s]", "rejected"])
