"""Runs of index 3 are checked by finer steps: what is too coarse is told, and what is right passes."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.carts_and_poles import CartAndPole

import daedalus as dd
from daedalus.scipy_calls import dae_check, dae_repeated, solve_dae
from daedalus.scipy_calls.ivp_task import Ask, Task

ONE = CartAndPole(cart=1e-3, pole=1.0, length=1.0, gravity=9.81, span=2.0, angle=np.pi / 2)


def coarse_steps(monkeypatch, factor):
    """Whole runs take tolerances that are coarser by this factor than those they are asked for; checks do not."""
    run = Task.run

    def coarser(task, ask, guards, fired):
        settings = ask.settings
        if (ask.t0, ask.t1) == (0, ONE.span):
            settings = replace(settings, rtol=factor * settings.rtol, atol=factor * settings.atol)
        return run(task, Ask(ask.t0, ask.t1, settings, ask.save_at), guards, fired)

    monkeypatch.setattr(Task, "run", coarser)


def solved(rtol, **more):
    return dd.solve_dae(ONE.equations(), (0, ONE.span), ONE.start, rtol=rtol, atol=rtol * ONE.sizes, **more)


@pytest.mark.parametrize("kept", [None, np.linspace(0, ONE.span, 5)])
def test_a_run_of_coarse_steps_is_no_success(monkeypatch, kept):
    coarse_steps(monkeypatch, 3e5)
    found = solved(1e-8, t_eval=kept)
    assert not found.success
    assert found.status == -1
    assert found.message.startswith("The run is less accurate than asked for: steps at t = ")
    assert "in y[" in found.message


def test_finer_steps_mend_a_run(monkeypatch):
    """Both runs are coarser than asked for, but the second is fine enough, and the reason tells of it."""
    coarse_steps(monkeypatch, 3e3)
    monkeypatch.setattr(dae_repeated, "SECOND", 1e-4)
    found = solved(1e-6)
    assert found.success
    assert "solved with rtol = 1e-13: The run is less accurate" in found.reason
    assert ONE.error(found.y[:, -1], ONE.end()) < 1e-4


def test_functions_that_are_called_are_compared_with_a_coarser_run(monkeypatch):
    """Nothing is known of them but their values, so no step begins anew; whole runs can be compared."""

    seen = []

    def hidden(t, y, yp):
        seen.append(float(t))
        return np.array(ONE.equations()(t, y, yp), dtype=float)

    solve = lambda: dd.solve_dae(hidden, (0, 0.2), ONE.start, rtol=1e-4, atol=1e-4 * ONE.sizes)  # noqa: E731
    found = solve()
    assert not found.traced
    assert found.success
    assert "certain to" not in found.reason
    monkeypatch.setattr(dae_repeated, "MOST", 1e-6)
    doubtful = solve()
    assert doubtful.success
    assert "is certain to" in doubtful.reason
    assert "solved with rtol = 1.1e-07: errors of steps add up" in doubtful.reason


WIDE = [pytest.param(*case, marks=pytest.mark.wide) for case in [(26, "radau9"), (122, "radau5"), (130, "radau9")]]


@pytest.mark.parametrize(("seed", "method"), [(178, "radau5"), *WIDE])
def test_errors_that_add_up_are_mended(seed, method):
    """Each step was right and 100 to 1000 tolerances were missing at the end, with success."""
    one = CartAndPole.random(np.random.default_rng(seed), decades=6.0)
    found = dd.solve_dae(one.equations(), (0, one.span), one.start, method=method, rtol=1e-6, atol=1e-6 * one.sizes)
    assert found.success
    assert "errors of steps add up to more than the tolerance" in found.reason
    end = one.end()
    assert np.max(np.abs(found.y[:6, -1] - end) / (one.sizes[:6] + np.abs(end))) < 1e-4


@pytest.mark.wide
def test_what_no_finer_run_mends_is_told():
    """Rounding at index 3 and a motion that enlarges errors by 9000 leave three digits of the cart's speed."""
    one = CartAndPole.random(np.random.default_rng(163), decades=6.0)
    found = dd.solve_dae(one.equations(), (0, one.span), one.start, method="radau9", rtol=1e-6, atol=1e-6 * one.sizes)
    assert "y[3] at t = " in found.reason
    told = float(found.reason.split(" is certain to ")[1].split()[0])
    assert abs(found.y[3, -1] - one.end()[3]) < told


def test_a_right_run_passes_at_less_than_three_times_its_cost(monkeypatch):
    found = solved(1e-6)
    monkeypatch.setattr(solve_dae, "DEEP", 9)
    plain = solved(1e-6)
    assert found.success
    assert "less accurate" not in found.reason
    np.testing.assert_array_equal(found.y, plain.y)
    assert plain.nfev < found.nfev < 3 * plain.nfev


def test_steps_are_looked_at_between_quiet_rows():
    lengths = np.array([1.0, 1.0, 0.5, 1e-3, 1e-4, 1e-3, 0.5, 1.0, 1.0, 1.0])
    assert (2, 6) in dae_check._fastest(lengths)
    assert dae_check._fastest(np.ones(2)) == [(0, 1)]
