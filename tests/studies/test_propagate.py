"""Means and deviations over time, three ways, against what is known of them."""

import math

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.errors import DaedalusError, InputError


def decay():
    m = dd.Model("decay")
    x, k = m.state("x", start=1.0), m.parameter("k", 1.0)
    m.equation(m.der(x), -k * x)
    m.output("square", x**2)
    return m


# x = x0 exp(-k): moments of a normal x0 and a normal exponent.
def moments(power, start=0.1, rate=0.1):
    decays = [math.exp(-n + 0.5 * (n * rate) ** 2) for n in (power, 2 * power)]
    starts = {1: (1.0, 1 + start**2), 2: (1 + start**2, 1 + 6 * start**2 + 3 * start**4)}[power]
    mean, second = (a * b for a, b in zip(starts, decays))
    return mean, math.sqrt(second - mean**2)


@pytest.mark.parametrize(("by", "tolerance"), [("linear", 5e-2), ("unscented", 3e-2), ("chaos", 1e-3)])
def test_decay_from_an_uncertain_start_at_an_uncertain_rate(by, tolerance):
    options = {"start_covariance": 0.01, "parameters": {"k": 0.1}, "save_at": [0.5, 1.0], "rtol": 1e-9}
    en = dd.propagate(decay(), 1.0, by=by, **options)
    for name, power in (("x", 1), ("square", 2)):
        mean, deviation = en[name].sel(time=1.0).values
        exact = moments(power)
        assert mean == pytest.approx(exact[0], rel=tolerance)
        assert deviation == pytest.approx(exact[1], rel=tolerance)


@pytest.mark.parametrize("by", ["linear", "unscented", "chaos"])
def test_linear_models_are_exact_with_correlations(by):
    m = dd.Model("oscillator")
    x = m.state("x", 2, start=[1.0, 0.0])
    u = m.input("u")
    m.equation(m.der(x), [x[1], -x[0] + u])
    spread = np.array([[0.04, 0.01], [0.01, 0.09]])
    options = {"inputs": {"u": 0.5}, "save_at": [0.0, 2.0], "rtol": 1e-10, "atol": 1e-12}
    en = dd.propagate(m, 2.0, start_covariance=spread, parameters={"u": 0.3}, by=by, **options)
    flow = np.array([[math.cos(2), math.sin(2)], [-math.sin(2), math.cos(2)]])
    pushed = np.array([1 - math.cos(2), math.sin(2)])
    exact = np.sqrt(np.diag(flow @ spread @ flow.T) + (0.3 * pushed) ** 2)
    assert en["x"].sel(summary="std", time=2.0).values == pytest.approx(exact, rel=1e-6)
    assert en["x"].sel(summary="std", time=0.0).values == pytest.approx([0.2, 0.3], rel=1e-9)
    assert en["x"].sel(summary="mean", time=2.0).values == pytest.approx(flow @ [1.0, 0.0] + 0.5 * pushed, abs=1e-8)


def test_noise_is_gathered():
    m = dd.Model("oscillator")
    x, w = m.state("x", 2, start=[0.0, 0.0]), m.noise("w", 0.4)
    m.equation(m.der(x), [x[1], -4 * x[0] - 0.5 * x[1] + w])
    m.output("total", x[0] + x[1])
    en = dd.propagate(m, 60.0, start_covariance=1e-4, save_at=[0.5, 60.0])
    settled = dd.covariance(dd.linearise(m), 0.4)
    assert en["x"].sel(summary="std", time=60.0).values == pytest.approx(np.sqrt(settled.diagonal()), rel=1e-4)
    assert float(en["total"].sel(summary="std", time=60.0)) == pytest.approx(math.sqrt(settled.sum()), rel=1e-4)
    paths = dd.sweep(m, 0.5, seeds=2000, step=0.01, method="rk4", save_at="end")
    assert float(en["total"].sel(summary="std", time=0.5)) == pytest.approx(float(paths["total"].std()), rel=0.1)


@pytest.mark.parametrize("by", ["linear", "unscented"])
def test_constrained_models(by):
    m = dd.Model("pendulum")
    q, g = m.coordinate("q", 2, start=[1, 0], rate=[0, 0]), m.parameter("g", 9.81)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(g * q[1])
    m.constraint("rod", ca.sumsqr(q) - 1)
    en = dd.propagate(m, 1.0, parameters={"g": 0.01}, by=by, save_at=[1.0], rtol=1e-9)
    ends = [dd.simulate(m, 1.0, parameters={"g": 9.81 + d}, rtol=1e-10)["q"][-1] for d in (1e-4, -1e-4)]
    slope = np.abs(ends[0] - ends[1]) / 2e-4
    assert en["q"].sel(summary="std", time=1.0).values == pytest.approx(0.01 * slope, rel=1e-3)


def test_many_dimensions_use_a_sobol_sequence():
    m = dd.Model("sum")
    x, a = m.state("x", start=0.0), m.parameter("a", [0.0] * 8)
    m.equation(m.der(x), ca.sum1(a) + a[0] * a[1])
    deviations = {f"a[{k}]": 0.5 for k in range(8)}
    en = dd.propagate(m, 1.0, parameters=deviations, by="chaos", save_at=[1.0])
    assert float(en["x"].sel(summary="std", time=1.0)) == pytest.approx(math.sqrt(8 * 0.25 + 0.25**2), rel=1e-6)


def test_the_band_is_drawn():
    figure = dd.propagate(decay(), 1.0, parameters={"k": 0.1}).plot("x")
    assert figure is not None


def noisy():
    m = dd.Model("noisy")
    x = m.state("x", start=0.0)
    m.equation(m.der(x), m.noise("w"))
    return m


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: dd.propagate(decay(), 1.0), "Nothing is uncertain"),
        (lambda: dd.propagate(decay(), 1.0, parameters={"q": 0.1}), "q is neither a parameter nor an input"),
        (lambda: dd.propagate(decay(), 1.0, parameters={"k": -0.1}), "The deviation of k is -0.1"),
        (lambda: dd.propagate(decay(), 1.0, parameters={"k": 0.1}, by="magic"), "not a way to propagate"),
        (lambda: dd.propagate(decay(), 1.0, parameters={"k": 0.1}, degree=0), "not a degree of polynomials"),
        (lambda: dd.propagate(decay(), 1.0, start_covariance=-1.0), "not a covariance"),
        (lambda: dd.propagate(noisy(), 1.0, by="chaos"), "takes no noise"),
    ],
)
def test_wrong_uses_are_told(call, text):
    with pytest.raises(InputError, match=text):
        call()


def test_runs_that_stop_are_told():
    m = dd.Model("blow-up")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), x**2)
    with pytest.raises(DaedalusError, match="stopped early"):
        dd.propagate(m, 0.9, start_covariance=0.04, by="unscented")


def test_a_hunted_population_against_samples():
    """Lotka and Volterra: second order counts, and polynomials of degree three agree with 4000 samples."""
    m = dd.Model("prey")
    a, x, y = m.parameter("a", 1.0), m.state("x", start=1.0), m.state("y", start=0.5)
    m.equation([m.der(x), m.der(y)], [x * (a - y), y * (x - 1)])
    draw = np.random.default_rng(1)
    over = {"a": 1 + 0.1 * draw.standard_normal(4000), "x": 1 + 0.05 * draw.standard_normal(4000)}
    samples = dd.sweep(m, 4.0, over=over, combine="zip", save_at="end")["x"].values.ravel()
    error = samples.std() / np.sqrt(len(samples))

    def found(by):
        en = dd.propagate(m, 4.0, start_covariance={"x": 0.0025}, parameters={"a": 0.1}, by=by, save_at="end")
        return [float(np.ravel(en["x"].sel(summary=word).values)[-1]) for word in ("mean", "std")]

    for by in ("unscented", "chaos"):
        mean, deviation = found(by)
        assert mean == pytest.approx(samples.mean(), abs=4 * error)
        assert deviation == pytest.approx(samples.std(), rel=0.05)
    assert abs(found("linear")[0] - samples.mean()) > 6 * error
