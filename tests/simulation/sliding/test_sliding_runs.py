"""Runs that slide along conditions, or rest on them, against closed forms."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from tests.support.records_of import records_of

import daedalus as dd
from daedalus.simulation.result.ending import Obstacle
from daedalus.simulation.result.records_on_the_way import SlidesAlong

METHODS = ("auto", "tsit5", "radau5", "radau9", "bdf", "rodas5p")


def by(m: dd.Model, span: float, method: str, **more: object) -> dd.Trajectory:
    tr = dd.simulate(m, span, method=method, rtol=1e-8, **more)
    assert tr.success, tr.stop_reason
    return tr


@pytest.mark.parametrize("method", METHODS)
def test_a_plain_sign_of_the_speed_sticks_in_the_dead_zone(method: str) -> None:
    m = dd.Model("oscillator")
    x, v = m.state("x", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -x - 0.3 * ca.sign(v))
    m.output("friction", -0.3 * ca.sign(v))
    tr = by(m, 20.0, method)
    assert abs(tr["x"][-1] + 0.2) < 1e-5
    assert abs(tr["v"][-1]) < 1e-9
    assert abs(tr["friction"][-1] + 0.2) < 1e-5
    (slides,) = [record for record in tr.records if isinstance(record, SlidesAlong)]
    assert slides.condition in ("v > 0", "v < 0")
    assert not slides.rests


@pytest.mark.parametrize("method", METHODS)
def test_it_leaves_where_the_push_exceeds_the_jump(method: str) -> None:
    m = dd.Model("relay")
    x = m.state("x", start=0.5)
    m.equation(m.der(x), 0.5 * m.time - ca.if_else(x > 0, 1.0, -1.0))
    tr = by(m, 4.0, method)
    inside = (tr.time > 2 - np.sqrt(2) + 1e-6) & (tr.time < 2)
    assert np.all(np.abs(tr["x"][inside]) < 1e-9)
    assert abs(tr["x"][-1] - 1.0) < 1e-6
    assert abs(tr.at(1.0)["x"]) < 1e-9


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_sliding_mode_control_follows_its_line(method: str) -> None:
    m = dd.Model("sliding mode")
    x, y, k = m.state("x", start=1.0), m.state("y", start=0.0), m.parameter("k", 2.0)
    m.equation(m.der(x), y)
    m.equation(m.der(y), -k * ca.sign(x + y) + 0.5 * ca.sin(m.time))
    tr = by(m, 8.0, method)
    begin = next(piece.time[0] for piece in tr.pieces if piece.time[0] > 0)
    expected = float(tr.at(begin)["x"]) * np.exp(-(8.0 - begin))
    assert abs(tr["x"][-1] - expected) < 1e-7
    assert np.allclose((tr["x"] + tr["y"])[tr.time > begin], 0.0, atol=1e-9)


def test_a_speed_that_is_an_algebraic_variable() -> None:
    m = dd.Model("two blocks")
    v, w, between = m.state("v", start=2.0), m.state("w", start=0.0), m.algebraic("between")
    m.equation(between, v - w)
    rubbing = 0.5 * ca.sign(between)
    m.equation(m.der(v), -rubbing)
    m.equation(m.der(w), rubbing)
    tr = by(m, 4.0, "auto")
    assert np.allclose([tr["v"][-1], tr["w"][-1]], 1.0, atol=1e-9)


def test_an_on_off_pump_holds_its_level() -> None:
    m = dd.Model("two tanks")
    a, b = m.state("a", start=0.2), m.state("b", start=0.0)
    m.equation(m.der(a), ca.if_else(a < 0.5, 0.6, 0.0) - 0.5 * a)
    m.equation(m.der(b), 0.5 * a - 0.5 * b)
    tr = by(m, 20.0, "auto")
    assert abs(tr["a"][-1] - 0.5) < 1e-9
    full = -2 * np.log((1.2 - 0.5) / (1.2 - 0.2))
    assert abs(next(piece.time[0] for piece in tr.pieces[1:]) - full) < 1e-7


def test_two_conditions_at_once_are_blended() -> None:
    m = dd.Model("two relays")
    x, y = m.state("x", start=0.4), m.state("y", start=-0.7)
    one, two = ca.sign(x), ca.sign(y)
    m.equation(m.der(x), 0.3 - one + 0.2 * one * two)
    m.equation(m.der(y), -0.2 - 1.1 * two + 0.1 * one)
    for method in ("auto", "radau5", "bdf"):
        tr = by(m, 5.0, method)
        assert abs(tr["x"][-1]) < 1e-8
        assert abs(tr["y"][-1]) < 1e-8


@pytest.mark.parametrize("method", ["auto", "radau5", "bdf"])
def test_more_than_two_whose_terms_are_added_slide_together(method: str) -> None:
    m = dd.Model("three relays")
    x = m.state("x", 3, start=[0.3, -0.2, 0.4])
    m.equation(m.der(x), -ca.sign(x) + 0.2 * ca.vertcat(ca.sign(x[1]), ca.sign(x[2]), ca.sign(x[0])))
    tr = by(m, 1.5, method)
    assert np.allclose(tr["x"][-1], 0.0, atol=1e-8)


def test_more_than_two_whose_terms_are_multiplied_are_named_and_stopped() -> None:
    m = dd.Model("three relays")
    x = m.state("x", 3, start=[0.3, -0.2, 0.4])
    signs = ca.sign(x)
    m.equation(m.der(x), -signs * (1 + 0.1 * signs[0] * signs[1] * signs[2]))
    tr = dd.simulate(m, 1.0)
    assert not tr.success
    assert tr.stop.obstacle is Obstacle.SLIDING
    assert tr.stop.condition.startswith("x[")
    assert tr.stop_reason == (
        f"several conditions switch to and fro together at t = {tr.end.time:g}, {tr.stop.condition} among them; how it "
        "goes on from there is not determined by their branches; try m.friction for what sticks, or a smooth law in "
        "the place of one of them"
    )


@pytest.mark.parametrize("method", METHODS)
def test_a_tank_that_runs_empty_stays_empty(method: str) -> None:
    m = dd.Model("tank")
    h = m.state("h", start=1.0)
    m.equation(m.der(h), -ca.sign(h) * ca.sqrt(ca.fabs(h)))
    tr = by(m, 100.0, method)
    assert tr["h"][-1] == 0.0
    inside = tr.time < 2
    assert np.allclose(tr["h"][inside], (1 - tr.time[inside] / 2) ** 2, atol=1e-6)
    assert tr.work.steps < 5000


@pytest.mark.parametrize("method", ["auto", "tsit5", "radau5", "radau9", "bdf", "rodas5p"])
@pytest.mark.parametrize("law", [lambda h: ca.sqrt(ca.fmax(h, 0.0)), lambda h: ca.if_else(h > 0, ca.sqrt(h), 0.0)])
def test_an_empty_tank_stays_empty_where_nothing_flows_below(law: Any, method: str) -> None:
    """One side leads to the bottom with an infinite slope, the other one stands: no implicit step is solved there."""
    m = dd.Model("tank")
    h, k = m.state("h", start=1.3), m.parameter("k", 0.9)
    m.equation(m.der(h), -k * law(h))
    tr = dd.simulate(m, 4.0, method=method, rtol=1e-8, atol=1e-10)
    assert tr.success, tr.stop_reason
    wanted = np.maximum(np.sqrt(1.3) - 0.45 * tr.time, 0.0) ** 2
    assert np.allclose(tr["h"], wanted, rtol=0, atol=1e-7)


@pytest.mark.parametrize("method", ["auto", "tsit5", "radau5", "radau9", "bdf", "rodas5p"])
def test_the_bottom_of_a_tank_may_lie_anywhere(method: str) -> None:
    """Where its level is not a zero, an implicit step may meet the bottom exactly, where its matrix is infinite."""
    rng = np.random.default_rng(3)
    for bottom in (-7.3, 1.0, 1e3, 1e6, *10 * rng.normal(size=4)):
        width, level, rtol = rng.uniform(0.5, 2), rng.uniform(0.5, 3), 10.0 ** -rng.integers(5, 9)
        m = dd.Model("tank")
        h = m.state("h", start=bottom + level)
        m.equation(m.der(h), -width * ca.sign(h - bottom) * ca.sqrt(ca.fabs(h - bottom)))
        tr = dd.simulate(m, 8.0, method=method, rtol=rtol)
        assert tr.success, (bottom, rtol, tr.stop_reason)
        times = np.linspace(0.0, 8.0, 60)
        wanted = np.maximum(np.sqrt(level) - width * times / 2, 0.0) ** 2
        assert np.allclose(tr.at(times)["h"] - bottom, wanted, rtol=0, atol=100 * rtol * max(1.0, abs(bottom)))


def test_it_fills_again_when_something_flows_in() -> None:
    m = dd.Model("tank")
    h, u = m.state("h", start=1.0), m.input("u")
    m.equation(m.der(h), u - ca.sign(h) * ca.sqrt(ca.fabs(h)))
    inflow = dd.signal([0.0, 5.0], [0.0, 0.5], kind="hold")
    for method in ("auto", "radau5"):
        tr = by(m, 40.0, method, inputs={"u": inflow})
        assert abs(tr["h"][-1] - 0.25) < 1e-5
        assert abs(tr.at(4.0)["h"]) < 1e-12


def test_two_levels_that_become_equal_stay_so() -> None:
    m = dd.Model("communicating tanks")
    a, b = m.state("a", start=1.0), m.state("b", start=0.0)
    flow = ca.sign(a - b) * ca.sqrt(ca.fabs(a - b))
    m.equation(m.der(a), -flow)
    m.equation(m.der(b), flow)
    for method in ("auto", "radau5", "bdf"):
        tr = by(m, 10.0, method)
        assert abs(tr["a"][-1] - 0.5) < 1e-6
        assert abs(tr["a"][-1] - tr["b"][-1]) < 1e-9


def test_a_reset_carries_it_off_the_surface() -> None:
    m = dd.Model("kicked relay")
    x = m.state("x", start=0.5)
    m.equation(m.der(x), 0.3 - ca.sign(x))
    m.schedule([2.0], {"x": 0.7})
    tr = by(m, 4.0, "auto")
    assert abs(tr.at(2.5)["x"] - 0.35) < 1e-7
    assert abs(tr["x"][-1]) < 1e-9


def test_prepared_runs_slide_too() -> None:
    m = dd.Model("relay")
    x = m.state("x", start=0.5)
    m.equation(m.der(x), 0.3 - ca.sign(x))
    run = dd.prepare(m, 3.0, save_at=[0.5, 3.0])
    assert np.allclose(run()[:, 0], [0.15, 0.0], atol=1e-7)
    ends = dd.sweep(m, 3.0, over={"x": [0.5, -0.2, 5.0]}, save_at="end")["x"]
    assert np.allclose(np.ravel(ends), [0.0, 0.0, 2.9], atol=1e-7)


def test_files_keep_the_whole_run(tmp_path) -> None:
    m = dd.Model("relay")
    x = m.state("x", start=0.5)
    m.equation(m.der(x), 0.3 - ca.sign(x))
    tr = dd.simulate(m, 3.0)
    tr.save(tmp_path / "run.nc")
    again = dd.load(tmp_path / "run.nc")
    assert np.array_equal(again["x"], tr["x"])
    assert again.at(2.0)["x"] == tr.at(2.0)["x"]


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_relay_feedback_has_the_limit_cycle_of_the_exact_solution(method: str) -> None:
    """1 / (s + 1)³ behind an ideal relay crosses its condition and never slides."""
    A, b = np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0], [0.0, 0.0, -1.0]]), np.array([0.0, 0.0, 1.0])
    m = dd.Model("relay feedback")
    x = m.state("x", 3, start=[0.5, 0.2, 0.0])
    m.equation(m.der(x), ca.DM(A) @ x - ca.DM(b) * ca.sign(x[0]))
    tr = by(m, 60.0, method)

    def behind(half: float) -> np.ndarray:
        # Half a period with the relay at -1 takes x into -x.
        from scipy.linalg import expm

        step = expm(A * half)
        push = np.linalg.solve(A, (step - np.eye(3)) @ -b)
        return np.linalg.solve(-np.eye(3) - step, push)

    from scipy.optimize import brentq

    half = brentq(lambda h: behind(h)[0], 1.0, 3.0)
    late = tr.time > 40
    t, y = tr.time[late], tr["x"][late, 0]
    signs = np.flatnonzero(np.sign(y[1:]) * np.sign(y[:-1]) < 0)
    crossings = [brentq(lambda s: float(tr.at(s)["x"][0]), t[k], t[k + 1]) for k in signs]
    assert np.allclose(np.diff(crossings), half, atol=1e-6)


# -- conditions of unknowns that no formula gives ---------------------------------------------------------------


def relay_behind_a_law(jumps=0.0):
    """x'' = -3 sign(z) + 1/2 where z + sin(z)/5 = x + v: on z = 0 the motion is x' = -x."""
    m = dd.Model("relay behind a law")
    x, v, z = m.state("x", start=1.0), m.state("v", start=0.0), m.algebraic("z", start=0.9)
    m.equation(z + 0.2 * ca.sin(z) + jumps * ca.sign(z), x + v, name="law")
    m.equation(m.der(x), v)
    m.equation(m.der(v), -3 * ca.sign(z) + 0.5)
    return m


@pytest.mark.parametrize("method", ["auto", "radau9", "bdf", "rodas5p"])
def test_a_condition_of_an_unknown_without_a_formula_slides(method):
    tr = dd.simulate(relay_behind_a_law(), 3.0, method=method, rtol=1e-7)
    assert tr.success, tr.stop_reason
    # Before: x = 1 - 5/4 t², v = -5/2 t, which meet at x + v = 0.
    meets = np.sqrt(1 + 0.8) - 1
    assert float(tr.end["x"]) == pytest.approx((1 - 1.25 * meets**2) * np.exp(meets - 3.0), rel=100 * 1e-7)
    assert abs(float(tr.end["z"])) < 1e-6
    (told,) = records_of(tr, SlidesAlong)
    assert told.time == pytest.approx(meets, abs=1e-6)


def test_an_unknown_that_jumps_on_the_surface_ends_the_run_with_its_name():
    tr = dd.simulate(relay_behind_a_law(jumps=0.1), 3.0)
    assert (tr.status, tr.stop.obstacle) == ("chattering", Obstacle.SLIDING)
    assert tr.stop.condition in ("z > 0", "z < 0")


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_two_surfaces_of_unknowns_without_a_formula(method):
    """x' = 0.4 - 1.3 sign(z) and y' = -1.5 sign(w), where z + sin(z)/3 = x and w + sin(w)/5 = y + 0.3 x."""
    m = dd.Model("two laws")
    x, y = m.state("x", start=0.3), m.state("y", start=0.5)
    z, w = m.algebraic("z", start=0.3), m.algebraic("w", start=0.5)
    m.equation(z + ca.sin(z) / 3, x)
    m.equation(w + 0.2 * ca.sin(w), y + 0.3 * x)
    m.equation(m.der(x), 0.4 - 1.3 * ca.sign(z))
    m.equation(m.der(y), -1.5 * ca.sign(w))
    tr = by(m, 2.0, method)
    assert len(records_of(tr, SlidesAlong)) == 2
    assert np.allclose([tr.end["x"], tr.end["y"]], 0.0, atol=1e-9)


def test_a_spiral_between_two_conditions_ends_in_its_middle():
    """Filippov's example turns around the origin in ever shorter time, gets there, and stays."""
    m = dd.Model("spiral")
    x, y = m.state("x", start=0.3), m.state("y", start=0.5)
    m.equation(m.der(x), -ca.sign(x) + 2 * ca.sign(y))
    m.equation(m.der(y), -2 * ca.sign(x) - ca.sign(y))
    tr = dd.simulate(m, 1.0)
    assert tr.success, tr.stop_reason
    assert [float(tr.end[name]) for name in ("x", "y")] == pytest.approx([0.0, 0.0], abs=1e-6)


@pytest.mark.parametrize("method", ["auto", "tsit5", "radau5", "bdf"])
def test_a_run_that_slides_from_its_start_has_one_row_there_with_the_slope_of_sliding(method):
    m = dd.Model("relay")
    x, y = m.state("x", start=0.0), m.state("y", start=0.0)
    m.equation(m.der(x), 1 - 2 * ca.sign(x))
    m.equation(m.der(y), ca.sign(x))
    tr = dd.simulate(m, 1.0, method=method)
    assert (tr.time == 0.0).sum() == 1
    assert tr["x_dot"][0] == pytest.approx(0.0, abs=1e-12)
    assert tr["y_dot"][0] == pytest.approx(0.5, abs=1e-9)


def test_what_fires_at_the_start_leaves_one_row_of_a_run_that_slides():
    m = dd.Model("relay")
    x, on = m.state("x", start=0.0), m.discrete("on", start=0.0)
    m.equation(m.der(x), on - 2 * ca.sign(x))
    m.when(m.time >= 0, {"on": on + 0.5}, at_start=True)
    tr = dd.simulate(m, 1.0)
    assert (tr.time == 0.0).sum() == 1
    assert (tr["on"][0], tr["x_dot"][0]) == (0.5, pytest.approx(0.0, abs=1e-12))
