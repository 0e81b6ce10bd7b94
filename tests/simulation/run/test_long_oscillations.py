"""Long oscillations: errors of steps add up in their phase, which a run tells with a bound that holds."""

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm
from tests.components.test_networks_of_ten_decades import ATOL, RTOL, Network

import daedalus as dd
from daedalus.simulation.result.records_of_methods import LongOscillation
from daedalus.simulation.run.long_oscillations import lasting_periods


def told(tr):
    return [record for record in tr.records if isinstance(record, LongOscillation)]


def oscillator(damping=0.0, push=0.0):
    m = dd.Model("oscillator")
    x, v = m.state("x", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -x - damping * v + push * ca.sin(m.time))
    return m


@pytest.mark.parametrize("method", ["auto", "tsit5", "radau5", "bdf"])
def test_an_oscillator_of_many_periods(method):
    end = 2 * np.pi * 150
    tr = dd.simulate(oscillator(), end, method=method)
    (record,) = told(tr)
    assert set(record.variables) == {"x", "v"}
    assert abs(record.periods - 150) <= 1
    assert record.steps == tr.work.steps
    off = abs(tr["x"][-1] - np.cos(end))
    assert off < record.steps * record.rtol


def test_what_comes_to_rest_or_is_short_or_led_is_not_told():
    assert not told(dd.simulate(oscillator(), 2 * np.pi * 90))
    assert not told(dd.simulate(oscillator(damping=0.1), 2 * np.pi * 150))
    assert not told(dd.simulate(oscillator(damping=0.1, push=1.0), 2 * np.pi * 150))
    assert told(dd.simulate(oscillator(damping=1e-4, push=1.0), 2 * np.pi * 150))
    assert not told(dd.simulate(oscillator(), 2 * np.pi * 150, method="gauss3", step=0.1))


def driven_modes(seed):
    """Coupled oscillators, damped or not, with a sinusoidal drive: A, B, frequency, start and length of the run."""
    draw = np.random.default_rng(seed)
    count = int(draw.integers(1, 4))
    natural = 10 ** draw.uniform(-1, 1, count)
    damping = 10 ** draw.uniform(-7, -0.5, count) * draw.integers(0, 2, count)
    A = np.zeros((2 * count, 2 * count))
    for k in range(count):
        A[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = natural[k] * np.array([[0, 1], [-1, -2 * damping[k]]])
    mixed = np.eye(2 * count) + 0.3 * draw.normal(size=A.shape)
    A = mixed @ A @ np.linalg.inv(mixed)
    return A, mixed @ draw.normal(size=2 * count), 10 ** draw.uniform(-1, 1), draw.normal(size=2 * count), natural.max()


@pytest.mark.parametrize("method", ["auto", "bdf"])
@pytest.mark.parametrize("seed", [3, 32, *(pytest.param(s, marks=pytest.mark.wide) for s in range(40, 60))])
def test_driven_oscillations_off_by_more_than_a_hundred_tolerances_are_told(seed, method):
    A, B, frequency, start, fastest = driven_modes(seed)
    end, n = 2 * np.pi / fastest * 300, len(B)
    m = dd.Model("driven")
    x = m.state("x", n, start=start.tolist())
    m.equation(m.der(x), ca.DM(A) @ x + ca.DM(B) * ca.sin(frequency * m.time))
    tr = dd.simulate(m, end, method=method)
    amplitude = np.linalg.solve(1j * frequency * np.eye(n) - A, B)
    exact = expm(A * end) @ (start - amplitude.imag) + (amplitude * np.exp(1j * frequency * end)).imag
    records = told(tr)
    for k in range(n):
        off, size = abs(tr["x"][-1, k] - exact[k]), np.abs(tr["x"][:, k]).max()
        named = any(f"x[{k}]" in record.variables for record in records)
        assert named or off < 100 * (1e-6 * size + 1e-9)
        assert not named or off < records[0].steps * 1e-6 * size + 1e-7


@pytest.mark.parametrize("method", ["auto", "radau5"])
@pytest.mark.parametrize(("damping", "expected"), [(0.0, True), (0.3, False)])
def test_a_driven_pendulum_on_a_rod_is_told_unless_it_forgets(damping, expected, method):
    """Directions that leave the constraint are no motions, though nothing in the reduced equations damps them."""
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[0.0, -1.0], rate=[0.3, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(q[1])
    m.dissipation(0.5 * damping * ca.sumsqr(m.rate(q)))
    m.constraint("rod", ca.sumsqr(q) - 1)
    push = m.input("push")
    m.force(ca.vertcat(push, 0), at=q)
    tr = dd.simulate(m, 2 * np.pi * 150, inputs={"push": lambda t: 0.05 * np.sin(1.9 * t)}, method=method)
    assert bool(told(tr)) == expected


def test_a_limit_cycle_is_told():
    m = dd.Model("van der pol")
    x, v = m.state("x", start=2.0), m.state("v", start=0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), (1 - x**2) * v - x)
    (record,) = told(dd.simulate(m, 6.6633 * 120))
    assert abs(record.periods - 120) <= 2


@pytest.mark.parametrize("seed", [64, *(pytest.param(s, marks=pytest.mark.wide) for s in (18, 28, 43, 46, 129))])
def test_networks_that_ring_for_long(seed):
    """Parts over ten decades: signals that are off by more than twenty tolerances are told, with a bound that holds."""
    network = Network.drawn(seed)
    end = 25000 / np.abs(np.linalg.eigvals(network.equations()[0]).imag).max()
    model, start = network.model()
    tr = dd.simulate(model, end, start=start, rtol=RTOL, atol=ATOL)
    records = told(tr)
    assert len(records) == (seed != 28)  # of 28 none is off by more than four
    for name, exact in zip(network.names, network.exact(end)):
        size = max(np.abs(tr[name]).max(), abs(exact))
        off = abs(tr[name][-1] - exact)
        assert off < 20 * (RTOL * size + ATOL) or any(name in record.variables for record in records)
        assert all(off < record.steps * RTOL * size + 20 * ATOL for record in records)


def test_small_ripples_on_a_large_motion_are_counted():
    t = np.linspace(0, 1, 4000)
    rows = np.column_stack([np.sin(2 * np.pi * 300 * t) + 5 * t, np.exp(-t), np.exp(-30 * t) * np.sin(2000 * t)])
    assert lasting_periods(rows).tolist() == [300, 0, 0]
