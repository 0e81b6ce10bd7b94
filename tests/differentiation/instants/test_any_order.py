"""Events at one time: differentiated where their order does not matter, refused by name where it does."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.simulation.result.records_of_derivatives import EventsTogether


@pytest.fixture(autouse=True)
def few_calls(monkeypatch):
    """Each function is called some thousand times at most: compiling would take longer."""
    monkeypatch.setenv("DAEDALUS_COMPILER", "interpreter")


def balls(damping=0.0, length=1.0, time=1.0):
    """Two balls that land on one table at one time."""
    m = dd.Model("balls")
    h = m.coordinate("h", 2, start=[length, length], rate=0.0, nominal=length)
    g, e, v = m.parameter("g", 9.81 * length / time**2), m.parameter("e", 0.6), m.rate(h)
    m.kinetic_energy(0.5 * ca.sumsqr(v))
    m.potential_energy(g * ca.sum1(h))
    if damping:
        force = damping / time * (v[0] - v[1])
        m.generalised_force(h, ca.vertcat(-force, force))
    for k in range(2):
        m.unilateral(f"table{k}", h[k], restitution=e * (1 + 0.5 * k))
    return m


def test_balls_that_land_together_have_the_derivatives_of_each():
    """h(t) = e v (t - τ) - g (t - τ)²/2 with v = g τ, τ = √(2 h₀ / g)."""
    sens = dd.sensitivities(balls(), 0.8, rtol=1e-10)
    g, t, tau = 9.81, 0.8, np.sqrt(2 / 9.81)
    for k, e in enumerate((0.6, 0.9)):
        s = t - tau
        by_tau = e * g * (t - 2 * tau) + g * s
        assert float(sens.d(f"h[{k}]", "e")) == pytest.approx(e / 0.6 * g * tau * s, rel=1e-7)
        assert float(sens.d(f"h[{k}]", f"h[{k}]")) == pytest.approx(by_tau * tau / 2, rel=1e-7)
        assert abs(float(sens.d(f"h[{k}]", f"h[{1 - k}]"))) < 1e-9
    backward = dd.gradient(balls(), 0.8, final="h[1]", wrt=("start", "parameters"), rtol=1e-10)
    assert backward["e"] == pytest.approx(float(sens.d("h[1]", "e")), rel=1e-8)
    assert backward.start.tolist() == pytest.approx(sens.M[1].tolist(), abs=1e-7)


def test_a_damper_between_them_makes_the_order_matter():
    with pytest.raises(dd.SolverError) as refused:
        dd.sensitivities(balls(0.7), 0.6)
    assert str(refused.value) == (
        "The derivatives of 'balls' cannot be computed through simultaneous events whose order matters.\n"
        "  at t = 0.451524 table0, table1 happen together\n"
        "  Because in a slightly different run they happen one after the other, in either order.\n"
        "  Try: a start from which they happen one by one, or a span that ends before"
    )


def test_conditions_that_are_met_together_move_apart():
    """x falls by 2 l from x = 1 on, y by 1/2 from y = 1 on, both at t = 1."""
    m = dd.Model("two conditions")
    x, y, a, b = (
        m.state("x", start=0.0),
        m.state("y", start=0.0),
        m.discrete("a", start=1.0),
        m.discrete("b", start=1.0),
    )
    k, level = m.parameter("k", 1.0), m.parameter("l", 1.0)
    m.equation(m.der(x), k * a)
    m.equation(m.der(y), level * b)
    m.when(x > 1, {"a": -2.0 * level}, name="first")
    m.when(y > 1, {"b": -0.5}, name="second")
    sens = dd.sensitivities(m, 1.5, rtol=1e-10)
    assert [float(sens.d("x", name)) for name in ("k", "l")] == pytest.approx([-3.0, -1.0], rel=1e-8)
    assert [float(sens.d("y", name)) for name in ("k", "l")] == pytest.approx([0.0, -0.75], abs=1e-8)


def test_blocks_that_stop_together_stick_each_for_itself():
    m = dd.Model("blocks")
    x, v = m.state("x", 2, start=[1.0, 1.0]), m.state("v", 2, start=[0.0, 0.0])
    stiff = [m.parameter(f"k{j}", 1.0) for j in range(2)]
    level = m.parameter("level", 0.3)
    forces = [m.friction(f"floor{j}", v[j], kinetic=level) for j in range(2)]
    m.equation(m.der(x), v)
    m.equation(m.der(v), ca.vertcat(*(-stiff[j] * x[j] + forces[j] for j in range(2))))
    sens = dd.sensitivities(m, 8.0, rtol=1e-9)
    # At rest at x₀ - 4 F / k since the second turn.
    assert [float(sens.d("x[1]", name)) for name in ("k0", "k1", "level")] == pytest.approx([0.0, 1.2, -4.0], abs=1e-6)
    g = dd.gradient(m, 8.0, final="x[1]", wrt=("start", "parameters"), rtol=1e-9)
    assert [g["k0"], g["k1"], g["level"]] == pytest.approx([0.0, 1.2, -4.0], abs=1e-6)
    assert g["x"].tolist() == pytest.approx([0.0, 1.0], abs=1e-6)


@pytest.mark.parametrize("rate", [1.0, 1e9])
def test_moments_move_apart_in_seconds_and_in_nanoseconds(rate):
    """a and b are set back together: ∂a/∂a₀ = 1 and ∂b/∂b₀ = 1, whatever the unit of time."""
    m = dd.Model("pair")
    a, b = m.state("a", start=0.0), m.state("b", start=0.0)
    m.equation(m.der(a), rate)
    m.equation(m.der(b), 2 * rate)
    m.event("one", a - 1, direction=1, reset={"a": 0.25 * a})
    m.event("two", b - 2, direction=1, reset={"b": 0.5 * b})
    sens = dd.sensitivities(m, 1.5 / rate)
    np.testing.assert_allclose(sens.M, np.eye(2), atol=1e-9)
    assert EventsTogether() not in sens.records


def test_an_event_beside_one_of_time_is_told():
    m = dd.Model("timed")
    x, y = m.state("x", start=0.0), m.state("y", start=0.0)
    m.equation(m.der(x), 1.0)
    m.equation(m.der(y), x)
    m.event("high", x - 1, direction=1, reset={"x": 0.5 * x})
    m.event("late", m.time - 1.0, direction=1, reset={"y": x})
    assert EventsTogether() in dd.sensitivities(m, 1.5).records


@pytest.mark.parametrize(("length", "time"), [(1e-9, 1e-3), (1.0, 1e9), (1e6, 1e3)])
def test_orders_matter_in_any_unit(length, time):
    """Heights of nanometres or thousands of kilometres, times of milliseconds or of thirty years."""
    in_units = {"length": length, "time": time}
    with pytest.raises(dd.SolverError, match="simultaneous events whose order matters"):
        dd.sensitivities(balls(0.7, **in_units), 0.6 * time)
    sens = dd.sensitivities(balls(**in_units), 0.8 * time, rtol=1e-9)
    plain = dd.sensitivities(balls(), 0.8, rtol=1e-9)
    for k in range(2):
        assert float(sens.d(f"h[{k}]", "e")) == pytest.approx(length * float(plain.d(f"h[{k}]", "e")), rel=1e-7)
        assert float(sens.d(f"h[{k}]", f"h[{k}]")) == pytest.approx(float(plain.d(f"h[{k}]", f"h[{k}]")), rel=1e-7)
