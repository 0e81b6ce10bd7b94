"""Random masses with one to four frictions against two references that share nothing with the package."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import cumulative_simpson
from support.friction_chains import FORMS, METHODS, friction_case, friction_model, places_of
from support.friction_references import friction_system, moved_by_time_stepping, moved_from_mode_to_mode

import daedalus as dd
from daedalus.simulation.result.records_on_the_way import BrokenBetweenSteps

# How far positions and speeds may be off at the default tolerance, and where time stepping has converged.
NEAR, STEPPED = 2e-4, 2e-3
SHARES = np.linspace(0.0, 1.0, 41)


def assert_moves_as_from_mode_to_mode(seed: int) -> None:
    """A random system, written and run in a random way, at times all over the run."""
    case = friction_case(seed)
    times = SHARES * case.system.span
    tr = dd.simulate(case.model, case.system.span, method=case.method, time_limit=600)
    assert tr.success, (seed, case.form, case.method, tr.stop_reason)
    expected = moved_from_mode_to_mode(case.system, times)
    found = places_of(tr, case.system, times)
    told = f"seed {seed}: {case.form}, {case.method}, stiff: {case.stiff}"
    np.testing.assert_allclose(found, expected, rtol=0, atol=NEAR, err_msg=told)


@pytest.mark.parametrize("seed", [2, 5, 11, 14, 17, 19, 20, 24])
def test_frictions_move_as_from_mode_to_mode(seed: int) -> None:
    """Of the campaign below those that take a tenth of a second."""
    assert_moves_as_from_mode_to_mode(seed)


@pytest.mark.wide
@pytest.mark.parametrize("first", range(25, 65, 10))
def test_more_frictions_move_as_from_mode_to_mode(first: int) -> None:
    for seed in range(first, first + 10):
        assert_moves_as_from_mode_to_mode(seed)


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 2000, 50))
def test_two_thousand_frictions(first: int) -> None:
    for seed in range(first, first + 50):
        assert_moves_as_from_mode_to_mode(seed)


@pytest.mark.parametrize("count", [4, pytest.param(400, marks=pytest.mark.long)])
def test_the_references_agree(count: int) -> None:
    """Time stepping converges to the motion from mode to mode as its steps are halved."""
    systems = [friction_system(seed) for seed in range(count)]
    exact = [moved_from_mode_to_mode(system, SHARES * system.span, static=False) for system in systems]
    steps = (300, 600) if count < 10 else (2000, 4000, 8000)
    errors = [
        [np.abs(found - right).max() for found, right in zip(moved_by_time_stepping(systems, SHARES, n), exact)]
        for n in steps
    ]
    assert np.max(errors[-1]) < (2e-2 if count < 10 else STEPPED)
    means = np.mean(errors, axis=1)
    assert np.all(means[1:] < 0.7 * means[:-1])


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_frictions_move_as_by_time_stepping(form: str) -> None:
    """The second reference knows neither modes nor events."""
    systems = [friction_system(seed) for seed in range(5000, 5060)]
    for k, (system, expected) in enumerate(zip(systems, moved_by_time_stepping(systems, SHARES, 8000))):
        if np.any(system.static > system.levels):
            continue  # it has one level
        method = METHODS[k % len(METHODS)]
        tr = dd.simulate(friction_model(system, form), system.span, method=method, time_limit=600)
        found = places_of(tr, system, SHARES * system.span)
        np.testing.assert_allclose(found, expected, rtol=0, atol=STEPPED, err_msg=f"seed {5000 + k}, {method}")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("form", ["friction", "sign"])
@pytest.mark.parametrize("width", [0.3, 0.02])
def test_a_short_push_is_not_stepped_over(form: str, width: float, method: str) -> None:
    """What sticks does not move, steps are long: the force is followed between them, by the equations."""
    m = dd.Model("brake")
    x, v = m.state("x", start=0.0), m.state("v", start=0.0)
    f = m.friction("f", v, kinetic=1.0) if form == "friction" else -ca.sign(v)
    m.equation(m.der(x), v)
    m.equation(m.der(v), 0.5 + ca.exp(-(((m.time - 6.1) / width) ** 2)) + f)
    tr = dd.simulate(m, 12.0, method=method)
    # It moves while exp(-s²) > 1/2, and then until the speed is used up.
    s = np.linspace(-np.sqrt(np.log(2)), 3.0, 20001)
    speed = cumulative_simpson(np.exp(-(s**2)) - 0.5, x=s, initial=0)
    way = cumulative_simpson(np.where(np.cumsum(speed < 0) > 0, 0.0, speed), x=s, initial=0)[-1]
    assert float(tr["x"][-1]) == pytest.approx(way * width**2, rel=1e-3)


def test_what_stays_broken_between_steps_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    m = dd.Model("brake")
    v = m.state("v", start=0.0)
    m.equation(m.der(v), 0.5 + ca.exp(-(((m.time - 6.1) / 0.3) ** 2)) + m.friction("f", v, kinetic=1.0))
    assert not [r for r in dd.simulate(m, 12.0, method="radau5").records if isinstance(r, BrokenBetweenSteps)]
    monkeypatch.setattr("daedalus.simulation.run.pieces.MOST_REPEATED", 0)
    (told,) = [r for r in dd.simulate(m, 12.0, method="radau5").records if isinstance(r, BrokenBetweenSteps)]
    assert told.time == pytest.approx(6.1 - 0.3 * np.sqrt(np.log(2)), abs=0.05)


def test_prepared_runs_follow_short_pushes_too() -> None:
    m = dd.Model("brake")
    x, v, level = m.state("x", start=0.0), m.state("v", start=0.0), m.parameter("level", 1.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), 0.5 + ca.exp(-(((m.time - 6.1) / 0.05) ** 2)) + m.friction("f", v, kinetic=level))
    run = dd.prepare(m, 12.0, save_at=[12.0], method="radau5")
    assert run(np.zeros(2))[-1, 0] == pytest.approx(0.886431 * 0.05**2, rel=1e-3)
    assert run(np.zeros(2), p=np.array([1.6]))[-1, 0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("method", ["auto", "radau5", "bdf", "rodas5p"])
def test_several_frictions_under_short_pushes(method: str) -> None:
    """Three surfaces at once, each pushed for a moment at its own time."""
    m = dd.Model("brakes")
    for k in range(3):
        x, v = m.state(f"x{k}", start=0.0), m.state(f"v{k}", start=0.0)
        m.equation(m.der(x), v)
        push = 0.5 + ca.exp(-(((m.time - 2.9 - 3 * k) / 0.05) ** 2))
        m.equation(m.der(v), push - ca.sign(v))
    tr = dd.simulate(m, 12.0, method=method)
    ways = [float(tr[f"x{k}"][-1]) for k in range(3)]
    np.testing.assert_allclose(ways, 0.886431 * 0.05**2, rtol=1e-3)


@pytest.mark.parametrize("method", ["auto", "radau5", "rodas5p"])
def test_a_short_pull_lifts_what_lies_on_the_ground(method: str) -> None:
    m = dd.Model("magnet")
    h, v = m.state("h", start=0.0), m.state("v", start=0.0)
    push = m.unilateral("ground", h)
    m.equation(m.der(h), v)
    m.equation(m.der(v), push - 1.0 + 3.0 * ca.exp(-(((m.time - 6.1) / 0.03) ** 2)))
    tr = dd.simulate(m, 12.0, method=method)
    assert [event.name for event in tr.events][:2] == ["ground.opens", "ground.closes"]
    assert float(tr["h"].max()) > 1e-3


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_a_mass_below_others_is_not_moved_by_less_than_its_friction(method: str) -> None:
    """Frictions of 0.77 and 0.86 N between three masses and 1.14 N below the last: 0.86 N cannot move that one."""
    m = dd.Model("stack")
    x = [m.state(f"x{k}", start=0.14 * (k == 2)) for k in range(3)]
    v = [m.state(f"v{k}", start=0.0) for k in range(3)]
    upper, middle = 0.77 * ca.sign(v[0] - v[1]), 0.86 * ca.sign(v[1] - v[2])
    ground = 1.14 * ca.sign(v[2])
    pushes = (3 * ca.sin(2 * m.time) - upper, upper - middle, middle - ground)
    for k in range(3):
        m.equation(m.der(x[k]), v[k])
        m.equation(m.der(v[k]), pushes[k])
    tr = dd.simulate(m, 6.0, method=method, time_limit=600)
    assert tr.success, tr.stop_reason
    assert float(tr["x2"][-1]) == pytest.approx(0.14, abs=1e-9)
    assert abs(float(tr["x0"][-1])) > 0.1


@pytest.mark.parametrize("method", ["radau5", "radau9", "radau3", "sdirk4", "trbdf2", "bdf", "rodas4", "rodas5p"])
def test_a_force_that_sticks_is_followed_inside_long_steps(method: str) -> None:
    """Nothing moves while it sticks, so that steps could be as long as the push has periods."""
    m = dd.Model("brake")
    v = m.state("v", start=0.0)
    f = m.friction("f", v, kinetic=1.0)
    m.equation(m.der(v), (0.5 + 0.075 * m.time) * ca.sin(5 * m.time) + f)
    tr = dd.simulate(m, 12.0, method=method)
    # The push first exceeds 1 where (0.5 + 0.075 t) |sin 5 t| does.
    t = np.linspace(0, 12, 1_200_001)
    slips = t[np.argmax((0.5 + 0.075 * t) * np.abs(np.sin(5 * t)) > 1)]
    assert tr.events[0].time == pytest.approx(slips, abs=2e-4)


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.wide) for k in range(1, 6))])
@pytest.mark.parametrize("method", ["sdirk4", pytest.param("radau5", marks=pytest.mark.wide), "trbdf2"])
def test_the_step_that_leaves_a_surface_sees_where_it_goes(seed: int, method: str) -> None:
    """A first step over the whole push had the speed at zero where it left it: the run stuck again, and for good."""
    rng = np.random.default_rng(seed)
    width, rtol = 10 ** rng.uniform(-2.0, -1.0), rng.choice([1e-5, 1e-6, 1e-7])
    m = dd.Model("brake")
    x, v = m.state("x", start=0.0), m.state("v", start=0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), 0.5 + ca.exp(-(((m.time - 6.1) / width) ** 2)) - ca.sign(v))
    tr = dd.simulate(m, 12.0, method=method, rtol=rtol)
    s = np.linspace(-np.sqrt(np.log(2)), 3.0, 20001)
    speed = cumulative_simpson(np.exp(-(s**2)) - 0.5, x=s, initial=0)
    way = cumulative_simpson(np.where(np.cumsum(speed < 0) > 0, 0.0, speed), x=s, initial=0)[-1]
    assert float(tr["x"][-1]) == pytest.approx(way * width**2, rel=1e-3)
