"""Values between the steps of switched runs: many conditions, discrete variables, several methods; closed forms."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

EXPLICIT = ["tsit5", "dopri5", "dop853", "bs3", "auto"]


def stairs(rng, states, conditions, discretes):
    """x_i' = Σ_j a_ij [y > c_j] + Σ_k b_ik d_k with y = t; each d_k jumps where y passes e_k. Returns (model, x(t))."""
    a, b = rng.normal(size=(states, conditions)), rng.normal(size=(states, discretes))
    c, e = rng.uniform(0.0, 1.0, conditions), rng.uniform(0.05, 0.95, discretes)
    jump = rng.integers(2, 6, discretes)
    m = dd.Model("stairs")
    y = m.state("y", start=0.0)
    m.equation(m.der(y), 1.0)
    held = [m.discrete(f"d{k}", start=1) for k in range(discretes)]
    for k, d in enumerate(held):
        m.when(dd.all_of(d < 1.5, y > float(e[k])), {f"d{k}": int(jump[k])})
    for i in range(states):
        x = m.state(f"x{i}", start=0.0)
        steps = sum(ca.if_else(y > float(c[j]), float(a[i, j]), 0.0) for j in range(conditions))
        m.equation(m.der(x), steps + sum(float(b[i, k]) * d for k, d in enumerate(held)))

    def solution(t):
        t = np.atleast_1d(t)[:, None]
        ramps, late = np.maximum(t - c, 0.0), np.maximum(t - e, 0.0)
        return ramps @ a.T + (t + late * (jump - 1)) @ b.T

    return m, solution


@pytest.mark.parametrize("seed", range(8))
def test_values_between_the_steps_of_many_conditions(seed):
    rng = np.random.default_rng(seed)
    states, conditions, discretes = int(rng.integers(1, 6)), int(rng.integers(8, 28)), int(rng.integers(1, 4))
    m, solution = stairs(rng, states, conditions, discretes)
    tr = dd.simulate(m, 1.0, method=EXPLICIT[seed % len(EXPLICIT)])
    assert tr.success
    for times in (0.5, rng.uniform(0.0, 1.0, 40), rng.uniform(0.0, 1.0, 300), np.array([0.0, 1.0])):
        found = np.column_stack([np.atleast_1d(tr.at(times)[f"x{i}"]) for i in range(states)])
        assert found == pytest.approx(solution(times), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_values_of_a_run_continued_with_another_method(seed):
    rng = np.random.default_rng(100 + seed)
    states = int(rng.integers(1, 4))
    m, solution = stairs(rng, states, int(rng.integers(10, 16)), int(rng.integers(1, 4)))
    middle = float(rng.uniform(0.3, 0.7))
    first = dd.simulate(m, middle, method=EXPLICIT[seed])
    for method in ("radau5", "dop853", "bdf", "rodas5p", "tsit5"):
        second = dd.simulate(m, (middle, 1.0), start=first.at(middle), method=method)
        assert second.success
        times = rng.uniform(middle, 1.0, 50)
        found = np.column_stack([second.at(times)[f"x{i}"] for i in range(states)])
        assert found == pytest.approx(solution(times), abs=2e-4)


@pytest.mark.parametrize("seed", range(4))
def test_values_of_a_run_that_changes_its_method(seed):
    """Slow decay until y = 1, then towards a level a million times as fast, beside steps of many conditions."""
    rng = np.random.default_rng(200 + seed)
    conditions = int(rng.integers(10, 20))
    c, level = rng.uniform(0.0, 2.0, conditions), float(rng.uniform(1.0, 3.0))
    m = dd.Model("changes")
    y, x, on = m.state("y", start=0.0), m.state("x", start=1.0), m.discrete("on", start=0)
    w = m.state("w", start=0.0)
    m.equation(m.der(y), 1.0)
    m.equation(m.der(x), ca.if_else(y > 1.0, 1e6 * (level - x), -x))
    m.equation(m.der(w), sum(ca.if_else(y > float(place), 1.0, 0.0) for place in c) + on)
    m.when(y > 0.5, {"on": 1})
    tr = dd.simulate(m, 2.0)
    assert tr.success
    for _ in range(5):
        times = np.concatenate([rng.uniform(0.0, 1.0, 30), rng.uniform(1.0001, 2.0, 30)])
        values = tr.at(times)
        assert values["x"] == pytest.approx(np.where(times < 1, np.exp(-times), level), abs=1e-4)
        expected = np.maximum(times[:, None] - c, 0.0).sum(1) + np.maximum(times - 0.5, 0.0)
        assert values["w"] == pytest.approx(expected, abs=1e-4)


def test_events_that_are_only_recorded_keep_their_values_beside_discrete_variables():
    m = dd.Model("recorded")
    y = m.state("y", start=0.0)
    m.discrete("d", start=3)
    m.discrete("e", start=7)
    m.equation(m.der(y), 1.0)
    for k in range(1, 6):
        m.event(f"pass{k}", y - 0.1 * k)
    m.when(y > 0.35, {"d": 4, "e": 8})
    tr = dd.simulate(m, 1.0)
    passed = {event.name: event for event in tr.events if event.name.startswith("pass")}
    for k in range(1, 6):
        event, late = passed[f"pass{k}"], k > 3
        for values in (event.before, event.after):
            assert (values["y"], values["d"], values["e"]) == pytest.approx((0.1 * k, 3 + late, 7 + late))


def source_follower(threshold, gain):
    """A switched MOSFET into an inductive load: ten conditions and more, several methods on the way."""
    C, m = dd.components.electrical, dd.Model("source follower")
    on, tick = m.discrete("on", start=1), m.discrete("tick", start=0)
    src, gnd = m.add(C.VoltageSource("src", voltage=12.0)), m.add(C.Ground("gnd"))
    drv = m.add(C.VoltageSource("drv", voltage=10.0 * on))
    R, L = m.add(C.Resistor("R", resistance=2.5)), m.add(C.Inductor("L", inductance=47e-6))
    c = m.add(C.Capacitor("c", capacitance=1e-9))
    q = m.add(C.Mosfet("q", threshold=threshold, gain=gain, conductance=1e-6))
    m.connect(drv.plus, q.gate)
    m.connect(src.plus, q.drain)
    m.connect(q.source, drv.minus, c.plus, L.plus)
    m.connect(L.minus, R.plus)
    m.connect(src.minus, gnd.pin, R.minus, c.minus)
    m.when(dd.all_of(on > 0.5, m.time - tick > 4e-6), {"on": 0})
    return m


@pytest.mark.parametrize(("threshold", "gain"), [(2.0, 10.0), (1.5, 4.0)])
def test_values_between_the_steps_of_a_source_follower(threshold, gain):
    start = {"c.voltage": 0.0, "L.current": 0.0}
    m = source_follower(threshold, gain)
    tr, other = (dd.simulate(m, 1e-5, start=start, method=method) for method in ("auto", "radau5"))
    times = np.linspace(1e-6, 1e-5, 40)
    for _ in range(3):
        assert tr.at(5e-6)["L.current"] == pytest.approx(other.at(5e-6)["L.current"], rel=1e-3)
        assert tr.at(times)["L.current"] == pytest.approx(other.at(times)["L.current"], rel=5e-3, abs=1e-3)
