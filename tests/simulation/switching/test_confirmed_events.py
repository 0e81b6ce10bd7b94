"""Events on algebraic variables: a crossing of the dense output counts only where the redone step confirms it."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def ripple(frequency, level):
    """z = cos(w t) as the derivative of what x is held to: index 2, so that z has a dense output of low order."""
    m = dd.Model("ripple")
    x, y, z = m.state("x"), m.state("y", start=1.0), m.algebraic("z")
    m.equation(m.der(x), z)
    m.equation(x, ca.sin(frequency * m.time) / frequency)
    m.equation(m.der(y), -0.01 * y)
    m.event("high", z - level, direction=1, reset={"y": 2 * y})
    return m


@pytest.mark.parametrize("frequency", [9.0, 14.0, 18.0])
def test_what_the_dense_output_alone_crosses_is_no_event(frequency):
    tr = dd.simulate(ripple(frequency, 1.0005), 10.0, method="radau9", rtol=1e-3)
    assert tr.success
    assert tr.events == []
    assert tr["y"][-1] == pytest.approx(np.exp(-0.1), rel=1e-3)


def test_what_the_redone_step_crosses_is_one():
    tr = dd.simulate(ripple(9.0, 0.5), 10.0, method="radau9", rtol=1e-6)
    first = (2 * np.pi - np.arccos(0.5)) / 9
    expected = first + 2 * np.pi / 9 * np.arange(14)
    assert [e.time for e in tr.events] == pytest.approx(expected, abs=1e-4)
    assert [float(e.before["z"]) for e in tr.events] == pytest.approx([0.5] * 14, abs=1e-4)


@pytest.mark.parametrize("method", ["radau5", "radau9"])
def test_behind_a_jump_in_time_z_has_its_later_value_from_the_first(method):
    """x follows a ramp that begins at t = 1: z, its slope, jumps there from 0 to 2."""
    m = dd.Model("ramp")
    x, z = m.state("x"), m.algebraic("z")
    m.equation(m.der(x), z)
    m.equation(x, ca.if_else(m.time < 1, 0, 2 * (m.time - 1)))
    tr = dd.simulate(m, 3.0, method=method, save_at=[0.5, 1.0, 1.001, 2.0])
    assert tr["z"] == pytest.approx([0.0, 2.0, 2.0, 2.0], abs=1e-7)
    whole = dd.simulate(m, 3.0, method=method)
    after = np.linspace(1.0, 3.0, 50)
    assert whole.at(after)["z"] == pytest.approx(np.full(50, 2.0), abs=1e-7)
    assert whole.at(np.linspace(0.0, 0.999, 20))["z"] == pytest.approx(np.zeros(20), abs=1e-7)


ADAPTIVE = ["rodas4", "rodas5p", "radau3", "radau5", "radau9", "bdf"]
FIXED = [("rodas4", 0.1), ("rodas5p", 0.1), ("radau5", 0.1), ("gauss2", 0.1), ("trapezoidal", 0.05)]


@pytest.mark.parametrize(
    ("method", "options"),
    [
        *((name, {"rtol": rtol}) for name in ADAPTIVE for rtol in (1e-4, 1e-6, 1e-9)),
        *((name, {"step": step}) for name, step in FIXED),
    ],
)
def test_an_event_on_an_algebraic_variable_happens_once(method, options):
    """Behind its reset z is solved for again, and may stand just before its guard once more."""
    m = dd.Model("counter")
    x, v, count, z = m.state("x"), m.state("v", start=1.0), m.state("count"), m.algebraic("z")
    m.equation(m.der(x), v)
    m.equation(m.der(v), -x)
    m.equation(m.der(count), 0)
    m.equation(z + z**3, x)
    m.event("up", z - 0.3, direction=1, reset={"count": count + 1})
    m.event("down", z - 0.3, direction=-1, reset={"count": count + 1})
    tr = dd.simulate(m, 13.0, method=method, start={"x": 0.0, "count": 0.0}, **options)
    first = np.arcsin(0.327)
    expected = [*np.add.outer([0, 2 * np.pi], [first, np.pi - first]).ravel(), first + 4 * np.pi]
    assert [e.name for e in tr.events] == ["up", "down", "up", "down", "up"]
    assert [e.time for e in tr.events] == pytest.approx(expected, abs=1e-3 if "rtol" in options else 2e-2)
    assert tr["count"][-1] == 5


def test_an_algebraic_variable_that_jumps_behind_its_event_keeps_its_later_events():
    """A valve opens where the pressure z reaches 1: z falls to a half at once, and rises to 1 again."""
    m = dd.Model("valve")
    x, stage, z = m.state("x", start=0.0), m.state("stage", start=1.0), m.algebraic("z")
    m.equation(m.der(x), 1)
    m.equation(m.der(stage), 0)
    m.equation(stage * (z + 0.01 * z**3), 1.01 * x)
    m.event("full", z - 1, direction=1, reset={"stage": 2 * stage})
    for method in ("rodas5p", "radau5", "bdf"):
        tr = dd.simulate(m, 9.0, method=method)
        assert [e.time for e in tr.events] == pytest.approx([1, 2, 4, 8], abs=1e-4)


def test_a_guard_that_has_no_value_for_a_while_has_no_event_there():
    m = dd.Model("gap")
    x, v, z = m.state("x", start=0.0), m.state("v", start=1.0), m.algebraic("z")
    m.equation(m.der(x), v)
    m.equation(m.der(v), -x)
    m.equation(z + z**3, x)
    m.event("edge", ca.sqrt(x - 0.5) - 0.1)
    crossings = [np.arcsin(0.51), np.pi - np.arcsin(0.51), 2 * np.pi + np.arcsin(0.51)]
    for method in ("radau3", "radau5", "radau9", "bdf", "rodas5p"):
        for event in dd.simulate(m, 7.0, method=method).events:
            assert min(abs(event.time - t) for t in crossings) < 1e-4


def test_the_event_that_ends_a_run_is_named_where_others_happen_with_it():
    for names in (("end", "other"), ("other", "end")):
        m = dd.Model("two")
        x, y = m.state("x", start=0.0), m.state("y", start=0.0)
        m.equation(m.der(x), 1)
        m.equation(m.der(y), 0)
        for name in names:
            m.event(name, x - 0.5, terminal=name == "end", reset={} if name == "end" else {"y": 1.0})
        tr = dd.simulate(m, 1.0)
        assert sorted(e.name for e in tr.events) == ["end", "other"]
        assert tr.stop_reason == "event 'end' ended the run at t = 0.5"


def waves_and_kicks(seed):
    """y' = 1 with resets of y at known times, a guard on cos(w y + a) in one direction or both, and when all happens.

    Both kinds of events write n: were two of them taken for one moment, that would be a conflict.
    """
    rng = np.random.default_rng(seed)
    speed, phase, direction = rng.uniform(2, 4), rng.uniform(0, 6), int(rng.integers(-1, 2))
    kicks, targets = np.sort(rng.uniform(0.3, 5.7, 3)), rng.uniform(0, 6, 3)
    m = dd.Model("waves")
    y, clock, n = m.state("y", start=0.0), m.state("clock", start=0.0), m.discrete("n", start=0.0)
    m.equation(m.der(y), 1.0)
    m.equation(m.der(clock), 1.0)
    m.event("wave", ca.cos(speed * y + phase), direction=direction, reset={"n": n + 1})
    for k in range(3):
        m.event(f"kick{k}", clock - kicks[k], reset={"y": targets[k], "n": n + 10})

    # Zeros of the cosine: the k-th at (pi / 2 + k pi - a) / w, rising where k is odd.
    zeros = [((np.pi / 2 + k * np.pi - phase) / speed, 1 if k % 2 else -1) for k in range(60)]
    wanted, begin, start = [], 0.0, 0.0
    for k, end in enumerate([*kicks, 6.0]):
        reached = start + end - begin
        wanted += [
            ("wave", begin + zero - start) for zero, way in zeros if start < zero < reached and direction in (0, way)
        ]
        if k == 3:
            return m, wanted
        wanted.append((f"kick{k}", end))
        before, behind = np.cos(speed * reached + phase), np.cos(speed * targets[k] + phase)
        if before * behind < 0 and direction in (0, np.sign(behind)):
            wanted.append(("wave", end))
        begin, start = end, targets[k]


@pytest.mark.parametrize(
    ("method", "options"),
    [
        *((name, {"rtol": 1e-4}) for name in ["tsit5", "dop853", "bs3", *ADAPTIVE]),
        *((name, {"step": step}) for name in ["rk4", "heun", "trapezoidal", "gauss2"] for step in (6.0, 0.7)),
    ],
)
def test_waves_between_resets_are_told_each_at_its_time(method, options):
    """Long steps hold many crossings: a reset in between must neither take a later one with it nor lose one."""
    for seed in range(12):
        m, wanted = waves_and_kicks(seed)
        tr = dd.simulate(m, 6.0, method=method, **options)
        assert tr.success, (seed, tr.stop_reason)
        assert [event.name for event in tr.events] == [name for name, _ in wanted], seed
        assert [event.time for event in tr.events] == pytest.approx([t for _, t in wanted], abs=1e-8)
