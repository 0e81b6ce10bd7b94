"""Two rows share the time of a jump, before and after: trapezoids over rows are exact for what is linear between."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

TIMES = (0.7, 2.2)


def jumping(seed: int) -> tuple[dd.Model, dict[str, float]]:
    """A model whose signals jump at clocks, given times, conditions and inputs, and their integrals over 4 s."""
    rng = np.random.default_rng(seed)
    place, first, second = rng.uniform(0.3, 3.7), *np.sort(rng.uniform(0.2, 3.8, 2))
    high, low, slope = rng.uniform(1, 3), rng.uniform(-2, 0), rng.uniform(0.5, 2)
    m = dd.Model("jumping")
    x, y, n = m.state("x", start=0.0), m.state("y", start=0.0), m.state("n", start=0.0)
    u, w = m.discrete("u", start=0), m.input("w")
    m.discrete("tick", start=0)
    m.equation(m.der(x), slope)
    m.equation(m.der(y), ca.if_else(x > slope * place, high, low))
    m.equation(m.der(n), w)
    m.schedule([float(first)], {"u": 2.0})
    m.when(x > slope * second, {"u": 0.5})
    m.every(0.5, {"tick": m.time}, offset=0.25)
    m.output("level", ca.if_else(x > slope * place, high, low) + u)
    area = 2.0 * (second - first) + 0.5 * (4 - second)
    step = place * low + (4 - place) * high
    ticks = 0.25 + 0.5 * np.arange(8)
    held = float(np.sum(ticks[:-1] * 0.5) + ticks[-1] * (4 - ticks[-1]))
    return m, {
        "u": area,
        "y_dot": step,
        "level": step + area,
        "tick": held,
        "w": 0.7 + 4.5 - 1.8,
        "n_dot": 0.7 + 4.5 - 1.8,
    }


def driven(m: dd.Model, **options: object) -> dd.Trajectory:
    wave = dd.signal([0.0, *TIMES], [1.0, 3.0, -1.0], kind="hold")
    return dd.simulate(m, 4.0, inputs={"w": wave}, **options)


@pytest.mark.parametrize("method", ["auto", "tsit5", "radau5", "bdf"])
@pytest.mark.parametrize("seed", range(3))
def test_trapezoids_over_rows_are_exact(seed: int, method: str, tmp_path: Path) -> None:
    m, exact = jumping(seed)
    tr = driven(m, method=method)
    tr.save(tmp_path / "run.nc")
    frame, data, loaded = tr.to_dataframe(), tr.to_xarray(), dd.load(tmp_path / "run.nc")
    for name, area in exact.items():
        for values in (tr[name], loaded[name]):
            assert np.trapezoid(values, tr.time) == pytest.approx(area, abs=1e-8), name
    for name in ("u", "tick"):
        for values in (frame[name], data[name]):
            assert np.trapezoid(np.asarray(values), tr.time) == pytest.approx(exact[name], abs=1e-8)
    twice = tr.time[1:][np.diff(tr.time) == 0]
    assert len(np.unique(twice)) == len(twice)  # two rows, never three
    assert tr.time[1] > tr.time[0]  # row 0 stays one, behind the ticks of the start
    for t in TIMES:
        assert np.sum(np.abs(tr.time - t) < 1e-12) == 2


def test_given_times_have_one_row_each_with_the_later_value() -> None:
    m, _ = jumping(1)
    asked = np.array([0.0, 0.25, 0.7, 0.75, 2.2, 4.0])
    tr = driven(m, save_at=asked)
    assert tr.time.tolist() == asked.tolist()
    assert tr["tick"].tolist() == [0.0, 0.25, 0.25, 0.75, 1.75, 3.75]
    assert tr["w"].tolist() == [1.0, 1.0, 3.0, 3.0, -1.0, -1.0]


def test_what_bends_and_does_not_jump_has_one_row() -> None:
    m = dd.Model("driven")
    x, w = m.state("x", start=0.0), m.input("w")
    m.equation(m.der(x), w)
    tr = dd.simulate(m, 2.0, inputs={"w": dd.signal([0.0, 0.3, 1.1, 2.0], [0.0, 1.0, -2.0, 0.5], kind="linear")})
    assert np.all(np.diff(tr.time) > 0)


def test_a_run_that_begins_to_slide() -> None:
    m = dd.Model("relay")
    x = m.state("x", start=0.5)
    m.equation(m.der(x), -ca.if_else(x > 0, 1.0, -1.0))
    tr = dd.simulate(m, 2.0)
    assert np.trapezoid(tr["x_dot"], tr.time) == pytest.approx(-0.5, abs=1e-9)


def gated(seed: int) -> dd.Model:
    """Algebraic variables, outputs and variables of parts that jump at conditions on states, on time and on clocks."""
    rng = np.random.default_rng(seed)
    m = dd.Model("gated")
    place, gate, level = rng.uniform(0.4, 2.0), float(rng.uniform(0.3, 2.7)), float(rng.uniform(1.0, 3.0))
    x, v, z = m.state("x", start=0.0), m.state("v", start=0.5), m.algebraic("z")
    k = m.discrete("k", start=0)
    m.equation(m.der(x), 1 + 0.2 * ca.sin(m.time))
    m.equation(m.der(v), z - level * ca.sign(v))
    m.equation(z, ca.if_else(x > place, 0.3, -0.4) + ca.if_else(m.time >= gate, 0.2, 0.0))
    m.when(x > place, {"k": k + 1})
    m.every(0.7, {"k": k + 1}, offset=0.35)
    m.output("level", ca.if_else(x > place, 5.0, 1.0) + 10 * k + ca.if_else(m.time >= gate, 0.5, 0.0))
    m.output("sum", z + 2 * v + x**2)
    E = dd.components.electrical
    source = m.add(E.VoltageSource("source", voltage=ca.if_else(x > place, 2.0, 1.0)))
    lamp, coil, ground = m.add(E.Resistor("lamp", resistance=2.0)), m.add(E.Inductor("coil", inductance=0.5)), E.Ground
    m.connect(source.plus, lamp.plus)
    m.connect(lamp.minus, coil.plus)
    m.connect(coil.minus, source.minus, m.add(ground("ground")).pin)
    return m


@pytest.mark.parametrize("method", ["auto", "radau5", "tsit5", "bdf", "rodas5p", "radau9"])
@pytest.mark.parametrize("seed", range(3))
def test_a_moment_belongs_to_one_side_however_it_is_asked_for(seed: int, method: str, tmp_path: Path) -> None:
    """At the time of a jump it is the later one; the number before it belongs to the earlier one."""
    start = {"coil.current": 0.1}
    tr = dd.simulate(gated(seed), 3.0, method=method, start=start)
    assert tr.success
    first = np.flatnonzero(np.diff(tr.time) == 0)
    instants = tr.time[first]
    assert len(instants) >= 6
    rows = {name: np.asarray(tr[name]) for name in tr.keys()}  # noqa: SIM118
    assert {"level", "z", "v_dot", "coil.voltage", "source.current"} <= {*rows}
    at, before = tr.at(instants), tr.at(np.nextafter(instants, -1))
    asked = dd.simulate(gated(seed), 3.0, method=method, start=start, save_at=[0.0, *instants, 3.0])
    assert len(asked.time) == len(instants) + 2
    asked.save(tmp_path / "asked.nc")
    loaded, frame, data = dd.load(tmp_path / "asked.nc"), asked.to_dataframe(), asked.to_xarray()
    for name, values in rows.items():
        if values.ndim > 1:
            continue
        near = {"rtol": 1e-4, "atol": 1e-4, "err_msg": name}
        np.testing.assert_allclose(at[name], values[first + 1], **near)
        np.testing.assert_allclose(before[name], values[first], **near)
        for one in (asked, loaded, frame, data):
            if name in one:
                np.testing.assert_allclose(np.asarray(one[name])[1:-1], values[first + 1], **near)
        for t, j in zip(instants.tolist(), first):
            np.testing.assert_allclose(tr.at(t)[name], values[j + 1], **near)


@pytest.mark.parametrize("method", ["auto", "radau5", "bdf"])
def test_values_before_and_after_an_event_are_of_one_side(method: str) -> None:
    """The output changes with the condition of the event itself, which rounding decides there."""
    for place in np.random.default_rng(7).uniform(0.3, 2.0, 5).tolist():
        m = dd.Model("passing")
        x, k = m.state("x", start=0.0), m.discrete("k", start=0)
        m.equation(m.der(x), 1 + 0.3 * ca.sin(m.time))
        m.when(x > place, {"k": k + 1})
        m.event("passes", x - place)
        m.output("level", ca.if_else(x > place, 5.0, 1.0) + 10 * k)
        tr = dd.simulate(m, 3.0, method=method)
        assert len(tr.events) == 2
        for event in tr.events:
            assert (float(event.before["level"]), float(event.after["level"])) == (1.0, 15.0)


@pytest.mark.parametrize("method", ["auto", "radau5", "bdf"])
def test_conditions_of_outputs_alone_have_two_rows(method: str, tmp_path: Path) -> None:
    """No step ends where they change, and the steps are those of the same run without outputs."""
    rng = np.random.default_rng(12)
    for place, gate in zip(rng.uniform(0.3, 2.7, 3).tolist(), rng.uniform(0.3, 2.7, 3).tolist()):
        m = dd.Model("watched")
        x, k = m.state("x", start=0.0), m.discrete("k", start=0)
        m.equation(m.der(x), 1.0)
        m.every(0.4, {"k": k + 1}, offset=0.2)
        bare = dd.simulate(m, 3.0, method=method)
        m.output("level", ca.if_else(x > place, 2.0, -1.0) + k)
        m.output("gated", ca.if_else(m.time >= gate, 5.0, 1.0) * x)
        tr = dd.simulate(m, 3.0, method=method)
        assert tr.work.steps == bare.work.steps
        assert len(tr.time) == len(bare.time) + 4
        ticks = np.trapezoid(bare["k"], bare.time)
        tr.save(tmp_path / "run.nc")
        for one in (tr, dd.load(tmp_path / "run.nc")):
            assert np.trapezoid(one["k"], one.time) == pytest.approx(ticks, abs=1e-9)
            assert np.trapezoid(one["level"], one.time) == pytest.approx(ticks - place + 2 * (3 - place), abs=1e-9)
            area = 0.5 * gate**2 + 2.5 * (9 - gate**2)
            assert np.trapezoid(one["gated"], one.time) == pytest.approx(area, abs=1e-9)


@pytest.mark.parametrize("method", ["auto", "radau5", "bdf", "rodas5p"])
def test_outputs_that_step_have_two_rows_at_every_step(method: str) -> None:
    """Gates and stairs of time, stairs of states and conditions on unknowns, many in one step of the run."""
    rng = np.random.default_rng(5)
    for period, rate, level in zip(rng.uniform(0.05, 0.4, 3), rng.uniform(0.5, 2.0, 3), rng.uniform(-0.8, 0.8, 3)):
        m = dd.Model("stairs")
        x, z = m.state("x", start=0.0), m.algebraic("z")
        m.equation(m.der(x), rate)
        m.equation(z + 0.1 * z**3, ca.sin(3 * x))
        width = 0.3 * float(period)
        m.output("gate", ca.if_else(ca.fmod(m.time, float(period)) < width, 2.0, -1.0))
        m.output("stairs", ca.floor(3 * m.time))
        m.output("places", ca.ceil(4 * x) + ca.fmod(x, 0.3))
        m.output("unknown", ca.if_else(z > float(level), 1.0, 0.0))
        tr = dd.simulate(m, 2.0, method=method)
        t = (np.arange(400_000) + 0.5) * 2.0 / 400_000
        sine = level + 0.1 * level**3
        expected = {
            "gate": np.where(np.fmod(t, period) < width, 2.0, -1.0),
            "stairs": np.floor(3 * t),
            "places": np.ceil(4 * rate * t) + np.fmod(rate * t, 0.3),
            "unknown": np.sin(3 * rate * t) > sine,
        }
        # An explicit method knows z by a formula of its own only.
        for name, values in expected.items():
            if name != "unknown" or tr.method != "dop853":
                assert np.trapezoid(tr[name], tr.time) == pytest.approx(2 * np.mean(values), abs=1e-4), name


def test_an_output_of_something_that_rests_adds_no_rows() -> None:
    m = dd.Model("brake")
    v = m.state("v", start=1.0)
    m.equation(m.der(v), m.friction("f", v, kinetic=1.0) + 0.5 * ca.sin(m.time))
    bare = dd.simulate(m, 9.0, method="radau5")
    m.output("side", ca.sign(v))
    assert len(dd.simulate(m, 9.0, method="radau5").time) <= len(bare.time) + 2


@pytest.mark.parametrize("method", ["auto", "radau5", "bdf", "rk4"])
@pytest.mark.parametrize("kind", ["table", "function", "condition", "clock", "given times"])
def test_a_jump_at_the_end_has_two_rows(kind: str, method: str, tmp_path: Path) -> None:
    m = dd.Model("to the end")
    x = m.state("x", start=0.0)
    inputs: dict[str, object] = {}
    if kind == "condition":
        u = ca.if_else(m.time < 1, 1, ca.if_else(m.time < 2, 2, 0))
        m.output("u", u)
    elif kind in ("clock", "given times"):
        u = m.discrete("u", start=1.0)
        (m.every(1.0, {"u": u + 1}) if kind == "clock" else m.schedule([1.0, 2.0], {"u": u + 1}))
    else:
        u = m.input("u")
        wave = dd.signal([0.0, 1.0, 2.0], [1.0, 2.0, 0.0], kind="hold")
        inputs = {"u": wave if kind == "table" else lambda t: ca.if_else(t < 1, 1, ca.if_else(t < 2, 2, 0))}
    m.equation(m.der(x), u)
    tr = dd.simulate(m, 2.0, inputs=inputs, method=method, **({"step": 0.1} if method == "rk4" else {}))
    assert np.trapezoid(tr["u"], tr.time) == pytest.approx(float(tr["x"][-1]), abs=1e-9)
    assert tr.time[-1] == tr.time[-2] == 2.0
    assert tr["u"][-2] != tr["u"][-1] == tr.at(2.0)["u"] == tr.end["u"]
    tr.save(tmp_path / "run.nc")
    np.testing.assert_array_equal(dd.load(tmp_path / "run.nc")["u"], tr["u"])
    asked = dd.simulate(m, 2.0, inputs=inputs, save_at=[0.0, 2.0]) if method == "auto" else tr
    assert asked["u"][-1] == tr["u"][-1]


def test_what_has_no_limit_at_an_instant_is_read_at_it():
    """arcsech(t) at t = 0 read 22.4, a matter of how far from the instant it was looked at; SBML's case 01488."""
    m = dd.Model("no limit")
    x, t = m.state("x", start=1.0), m.time
    m.equation(m.der(x), -x)
    m.output("arcsech", ca.if_else(t <= 0, 0, ca.acosh(1 / t)))
    m.output("pole", ca.if_else(t <= 0.5, 7, 1 / (t - 0.5)))
    m.output("ramp", ca.if_else(t < 0.5, 0, 3 + 2 * (t - 0.5)))
    tr = dd.simulate(m, 1.0)
    assert tr.at(0.0)["arcsech"] == 0
    assert tr.at(0.5)["pole"] == 7
    assert tr.at(0.5)["ramp"] == pytest.approx(3.0)
