"""Order of convergence of every method, at the steps and between them, and agreement with SciPy's own steps."""

import numpy as np
import pytest
import tableaux
from known_orbit import orbit_exact, orbit_start
from scipy import integrate as scipy_integrate

from daedalus import _core

# method: (order, eccentricity of the orbit, steps over the span: beyond the first digits, before rounding)
NAMED = {
    "bs3": (3, 0.3, [100, 200, 400]),
    "tsit5": (5, 0.3, [80, 160, 320]),
    "dopri5": (5, 0.3, [120, 240, 480]),
    "dop853": (8, 0.1, [28, 40, 56]),
}
GENERAL = {
    "euler": (1, 0.3, [4000, 8000, 16000]),
    "midpoint": (2, 0.3, [400, 800, 1600]),
    "heun3": (3, 0.3, [200, 400, 800]),
    "rk4": (4, 0.3, [100, 200, 400]),
    "dopri5": (5, 0.3, [120, 240, 480]),
    "butcher6": (6, 0.3, [40, 60, 90]),
    "dop8": (8, 0.1, [28, 40, 56]),
}
SPAN = 4.0


def slope(counts, errors):
    return -np.polyfit(np.log(counts), np.log(errors), 1)[0]


def errors_of(rhs, method, eccentricity, counts, sign):
    at_steps, between = [], []
    for count in counts:
        x0 = orbit_start(eccentricity)
        run = _core.integrate(
            rhs, method, 0.0, sign * SPAN, x0, np.zeros(0), np.zeros(0), atol=np.ones(5), step=SPAN / count
        )
        assert run.steps == count
        at_steps.append(np.abs(run.x - orbit_exact(run.t, eccentricity)).max())
        times = np.linspace(0, sign * SPAN, 7 * count + 3)
        between.append(np.abs(_core.evaluate_dense(*run.dense(), times) - orbit_exact(times, eccentricity)).max())
    return at_steps, between


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", NAMED)
def test_order_of_named_methods(native, name, sign):
    order, eccentricity, counts = NAMED[name]
    at_steps, between = errors_of(native("orbit", 5), name, eccentricity, counts, sign)
    assert slope(counts, at_steps) > order - 0.2
    assert slope(counts, between) > order - 0.2


@pytest.mark.parametrize("name", GENERAL)
def test_order_of_any_tableau(native, name):
    order, eccentricity, counts = GENERAL[name]
    at_steps, between = errors_of(native("orbit", 5), tableaux.make(name), eccentricity, counts, 1)
    assert slope(counts, at_steps) > order - 0.2
    assert slope(counts, between) > order - 0.2


@pytest.mark.parametrize("name", NAMED)
def test_adaptive_error_follows_the_tolerance(native, name):
    errors = []
    for rtol in (1e-4, 1e-6, 1e-8):
        run = _core.integrate(
            native("orbit", 5),
            name,
            0.0,
            6.0,
            orbit_start(),
            np.zeros(0),
            np.zeros(0),
            rtol=rtol,
            atol=np.full(5, rtol),
        )
        assert run.status == "finished"
        errors.append(np.abs(run.x[-1] - orbit_exact(6.0)).max())
        assert errors[-1] < 100 * rtol
    assert errors[0] > errors[1] > errors[2]


@pytest.mark.parametrize(
    ("name", "peer"),
    [("bs3", scipy_integrate.RK23), ("dopri5", scipy_integrate.RK45), ("dop853", scipy_integrate.DOP853)],
)
def test_one_step_equals_scipys(native, name, peer):
    """Step and dense output of one step, computed by two independent programs."""
    length, rhs, x0 = 0.2, native("orbit", 5), orbit_start()
    solver = peer(lambda t, x: rhs([t], x, [], [])[0], 0.0, x0, 1.0, first_step=length, rtol=1e-1, atol=1e-1)
    solver.step()
    assert solver.t == length
    run = _core.integrate(rhs, name, 0.0, length, x0, np.zeros(0), np.zeros(0), atol=np.ones(5), step=length)
    assert run.x[-1] == pytest.approx(solver.y, rel=1e-14, abs=1e-14)
    times = np.linspace(0, length, 11)
    ours = _core.evaluate_dense(*run.dense(), times)
    assert ours == pytest.approx(solver.dense_output()(times).T, rel=1e-13, abs=1e-13)


@pytest.mark.parametrize(
    ("name", "peer"), [("bs3", "RK23"), ("dopri5", "RK45"), ("tsit5", "RK45"), ("dop853", "DOP853")]
)
def test_adaptive_runs_agree_with_scipy(native, name, peer):
    rhs, x0 = native("orbit", 5), orbit_start(0.6)
    theirs = scipy_integrate.solve_ivp(
        lambda t, x: rhs([t], x, [], [])[0], (0, 8), x0, method=peer, rtol=1e-8, atol=1e-10
    )
    ours = _core.integrate(rhs, name, 0.0, 8.0, x0, np.zeros(0), np.zeros(0), rtol=1e-8, atol=np.full(5, 1e-10))
    assert ours.x[-1] == pytest.approx(theirs.y[:, -1], abs=1e-5)
    assert ours.steps < 1.3 * (len(theirs.t) - 1)


def test_compiled_and_general_form_of_a_pair_take_the_same_steps(native):
    rhs, x0 = native("orbit", 5), orbit_start(0.6)
    options = {"rtol": 1e-7, "atol": np.full(5, 1e-9)}
    named = _core.integrate(rhs, "dopri5", 0.0, 8.0, x0, np.zeros(0), np.zeros(0), **options)
    general = _core.integrate(rhs, tableaux.dopri5_pair(), 0.0, 8.0, x0, np.zeros(0), np.zeros(0), **options)
    assert (named.steps, named.rejected, named.rhs_calls) == (general.steps, general.rejected, general.rhs_calls)
    assert general.x[-1] == pytest.approx(named.x[-1], abs=1e-8)


def test_tsit5_satisfies_the_order_conditions(native):
    """One step of x' = (1, g(t)) integrates polynomials up to degree 4 exactly, as order 5 demands of quadratures."""
    rhs = _core.Function("powers", [1, 5, 0, 0], [5])
    rhs.set_python(lambda t, x, u, p: (np.arange(5) + 1) * t ** np.arange(5))
    run = _core.integrate(rhs, "tsit5", 0.0, 1.0, np.zeros(5), np.zeros(0), np.zeros(0), atol=np.ones(5), step=1.0)
    assert run.x[-1] == pytest.approx(np.ones(5), abs=2e-15)
