"""Two joined runs equal one: a start carries the instant it belongs to, before or after what happens there."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from support.state_machines import instants, machine, told

import daedalus as dd
from daedalus.simulation.result.joined_trajectory import joined

SPAN = 2.0
EXACT = {"rtol": 1e-9, "atol": 1e-11}


def around(t: float) -> list[float]:
    """A time, its neighbours among numbers, and times just before and after it."""
    beside = [float(np.nextafter(t, 0)), float(np.nextafter(t, 2 * t)), t - 3 * float(np.spacing(t))]
    return [t, *beside, t - 1e-9, t + 1e-9]


def joined_differ(seed: int, count: int, method: str = "auto") -> list[tuple[float, str]]:
    """Of a random machine the joins that do not end as one run does."""
    m, rng = machine(seed), np.random.default_rng(seed)
    one = dd.simulate(m, SPAN, method=method, **EXACT)
    assert one.success, one.stop_reason
    known = [t for t in instants(one) if 0 < t < SPAN]
    found = []
    for t in rng.choice(known, min(count, len(known)), replace=False).tolist():
        for s in around(t):
            starts = {"at": one.at(s), "end": dd.simulate(m, s, method=method, **EXACT).end}
            for way, start in starts.items():
                two = dd.simulate(m, (s, SPAN), start=start, method=method, **EXACT)
                if np.abs(told(two) - told(one)).max() > 1e-5:
                    found.append((s, way))
    return found


@pytest.mark.parametrize("seed", [2, 3, 14, 18])
def test_random_machines_joined_at_their_instants(seed: int) -> None:
    assert joined_differ(seed, 2) == []


@pytest.mark.long
@pytest.mark.parametrize("method", ["auto", "radau5", "bdf"])
@pytest.mark.parametrize("seed", range(40, 52))
def test_more_random_machines(seed: int, method: str) -> None:
    assert joined_differ(seed, 4, method) == []


@pytest.mark.parametrize("period", [0.15, 0.1, 0.07, 1 / 3])
def test_clocks_at_products_of_their_period(period: float) -> None:
    m = dd.Model("clock")
    x, n = m.state("x", start=0.0), m.discrete("n", start=0)
    m.equation(m.der(x), n)
    m.every(period, {"n": n + 1})
    one = dd.simulate(m, 1.0)
    for k in range(1, int(1 / period)):
        for s in around(k * period):
            two = dd.simulate(m, (s, 1.0), start=one.at(s))
            assert two.end["n"] == one.end["n"], (k, s)
            assert two.end["x"] == pytest.approx(float(one.end["x"]), abs=1e-12)


def test_values_just_before_an_instant_are_those_before_it() -> None:
    m = dd.Model("clock")
    x, n = m.state("x", start=0.0), m.discrete("n", start=0)
    m.equation(m.der(x), 1.0)
    m.every(0.5, {"n": n + 1})
    tr = dd.simulate(m, 1.2)
    assert [float(tr.at(s)["n"]) for s in (np.nextafter(0.5, 0), 0.5, np.nextafter(0.5, 1))] == [1.0, 2.0, 2.0]


def test_a_condition_that_counts_at_the_start_does_not_count_where_a_run_goes_on() -> None:
    m = dd.Model("counted once")
    x, n = m.state("x", start=1.0), m.discrete("n", start=0)
    m.equation(m.der(x), -x)
    m.when(x > 0.5, {"n": n + 1}, at_start=True)
    one = dd.simulate(m, 0.3)
    assert float(one.end["n"]) == 1
    assert float(dd.simulate(m, (0.3, 0.6), start=one.end)["n"][-1]) == 1
    # Elsewhere in time it is a start like any other.
    assert float(dd.simulate(m, (0.0, 0.3), start=one.end)["n"][-1]) == 2


@pytest.mark.parametrize("delay", [0.15, 0.31])
def test_delays_go_on(delay: float) -> None:
    m = dd.Model("seen late")
    x, on = m.state("x", start=0.0), m.discrete("on", start=1)
    late = m.delay(x, delay, name="late")
    m.equation(m.der(x), ca.if_else(on > 0.5, 1.0, -1.0) - 0.2 * late)
    m.when(late > 0.4, {"on": 0})
    m.when(late < 0.1, {"on": 1})
    m.every(0.15, {"x": x + 0.01})
    one = dd.simulate(m, 3.0, **EXACT)
    known = [event.time for event in one.events] + [0.45, 0.45 + delay]
    for t in known[:6]:
        for s in around(t):
            two = dd.simulate(m, (s, 3.0), start=one.at(s), **EXACT)
            assert two.end["x"] == pytest.approx(float(one.end["x"]), abs=1e-6), s
            assert two.end["on"] == one.end["on"]


def test_bounces_go_on() -> None:
    m = dd.Model("ball")
    h, v, n = m.state("h", start=1.0), m.state("v", start=0.0), m.discrete("n", start=0)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81)
    m.event("bounce", h, direction=-1, reset={"v": -0.8 * v, "n": n + 1})
    one = dd.simulate(m, 2.5, **EXACT)
    for event in one.events:
        for s in around(event.time):
            for start in (one.at(s), dd.simulate(m, s, **EXACT).end):
                two = dd.simulate(m, (s, 2.5), start=start, **EXACT)
                assert two.end["n"] == one.end["n"], s
                assert two.end["h"] == pytest.approx(float(one.end["h"]), abs=1e-6)


def written_down(seed: int) -> dd.Model:
    """An oscillation that a random combination of two conditions counts, and a clock."""
    rng = np.random.default_rng(seed)
    m, w = dd.Model("counted"), float(rng.uniform(2.0, 5.0))
    x, v = m.state("x", start=1.0), m.state("v", start=0.0)
    n, ticks = m.discrete("n", start=0), m.discrete("ticks", start=0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -w * w * x)
    first, second = x > float(rng.uniform(-0.5, 0.5)), v > float(rng.uniform(-0.5, 0.5))
    kinds = (dd.all_of(first, second), dd.negate(dd.any_of(first, second)), dd.all_of(first, dd.negate(second)))
    m.when(kinds[seed % 3], {"n": n + 1}, name="counted")
    m.every(0.3, {"ticks": ticks + n})
    return m


@pytest.mark.parametrize("seed", range(3))
def test_runs_go_on_from_files_pickles_and_copies(seed: int, tmp_path: Path) -> None:
    """Discrete variables, what fired, modes of conditions: an instant has them wherever it is kept."""
    m = written_down(seed)
    one = dd.simulate(m, 4.0, method=np.str_("radau5"))
    one.save(tmp_path / "run.nc")
    kept = {"file": dd.load(tmp_path / "run.nc"), "pickle": pickle.loads(pickle.dumps(one))}
    for t in [event.time for event in one.events if event.name == "counted"] + [0.3 * 4]:
        moments = {name: run.at(t) for name, run in kept.items()}
        moments |= {"pickled": pickle.loads(pickle.dumps(one.at(t))), "copied": copy.deepcopy(one.at(t))}
        for way, moment in moments.items():
            assert moment["n"] == one.at(t)["n"], way
            two = dd.simulate(m, (t, 4.0), start=moment, method="radau5")
            assert [float(two.end[name]) for name in ("n", "ticks")] == [float(one.end[n]) for n in ("n", "ticks")], way


# Conditions that time decides alone or beside others, of t, a ramp x = t, a counter n and a driving signal u.
DECIDED_BY_TIME = {
    "beside a state": lambda t, x, n, u: dd.all_of(x > 1, t > 1.2),
    "with the instant": lambda t, x, n, u: dd.all_of(x >= 1, t >= 1.2),
    "no longer": lambda t, x, n, u: dd.negate(t <= 1.2),
    "within": lambda t, x, n, u: dd.all_of(t > 0.6, t < 0.9),
    "not outside": lambda t, x, n, u: dd.negate(dd.any_of(t <= 0.6, t > 0.9)),
    "not both": lambda t, x, n, u: dd.negate(dd.all_of(t <= 1.2, x < 5)),
    "beside a counter": lambda t, x, n, u: dd.any_of(t > 1.2, n > 5),
    "again and again": lambda t, x, n, u: dd.all_of(ca.fmod(t, 0.3) >= 0.15, x > 0.5),
    "stairs": lambda t, x, n, u: dd.all_of(ca.floor(t / 0.3) > n, x >= 0),
    "a wave": lambda t, x, n, u: dd.all_of(ca.sin(10 * t) > 0.5, x > 0.3),
    "a signal": lambda t, x, n, u: u > 0.5,
    "a signal beside a state": lambda t, x, n, u: dd.all_of(u > 0.5, x > 0.1),
    "a sum": lambda t, x, n, u: x + u > 1.6,
}


@pytest.mark.parametrize("kind", ["hold", "linear"])
@pytest.mark.parametrize("condition", DECIDED_BY_TIME)
def test_what_time_decides_at_the_end_of_a_run_has_happened_there(condition: str, kind: str) -> None:
    """A run that ended at its instant lost the event, or counted it again when another went on from there."""
    m = dd.Model("counted")
    x, n, u = m.state("x", start=0.0), m.discrete("n", start=0), m.input("u")
    m.equation(m.der(x), 1.0)
    m.when(DECIDED_BY_TIME[condition](m.time, x, n, u), {"n": n + 1})
    given = {"u": dd.signal([0, 0.5, 1.0, 1.2, 1.5, 2.0], [0, 1, 0, 1, 0, 0], kind=kind)}
    one = dd.simulate(m, 2.0, inputs=given)
    for s in sorted({0.5, 0.6, 1.2, *(event.time for event in one.events[:3])}):
        for start in (dd.simulate(m, s, inputs=given).end, one.at(s)):
            two = dd.simulate(m, (s, 2.0), inputs=given, start=start)
            assert float(two.end["n"]) == float(one.end["n"]) > 0, (s, one.events, two.events)


def test_a_delayed_jump_at_the_end_of_a_run_has_happened_there() -> None:
    m = dd.Model("seen late")
    x, n, u = m.state("x", start=0.0), m.discrete("n", start=0), m.input("u")
    late = m.delay(u, 0.25, name="late")
    m.equation(m.der(x), late)
    m.when(late > 0.5, {"n": n + 1})
    given = {"u": dd.signal([0, 0.5, 1.0], [0, 1, 0], kind="hold")}
    first = dd.simulate(m, 0.75, inputs=given)
    assert float(first.end["n"]) == 1
    assert float(dd.simulate(m, (0.75, 2.0), inputs=given, start=first.end).end["n"]) == 1


def test_moments_of_several_pieces_are_kept() -> None:
    """Their parts belong to pieces of different methods."""
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    first = dd.simulate(m, 1.0, method="tsit5")
    run = joined([first, dd.simulate(m, (1.0, 2.0), start=first.end, method="radau5")])
    kept = pickle.loads(pickle.dumps(run.at([0.5, 1.5, 0.7])))
    np.testing.assert_array_equal(kept["x"], run.at([0.5, 1.5, 0.7])["x"])
