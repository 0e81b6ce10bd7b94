"""Sweeps over seeds: every path is the one that a single run computes, one by one and in kernels."""

import casadi as ca
import numpy as np
import pandas as pd
import pytest
from fake_gpu import install
from records_of import records_of
from scipy.integrate import cumulative_simpson, simpson

import daedalus as dd
from daedalus.simulation.result.records_of_methods import NoiseDrawn


def oscillator():
    m = dd.Model("oscillator")
    x, v, k = m.state("x", start=0.0), m.state("v", start=0.0), m.parameter("k", 1.0)
    w = m.noise("w", 1.0)
    m.equation([m.der(x), m.der(v)], [v, -k * x - v + w])
    return m


@pytest.mark.parametrize("on", ["auto", "cpu"])
@pytest.mark.parametrize("method", ["auto", "rk4"])
def test_every_path_is_that_of_a_run(on, method):
    options = {"step": 0.05, "method": method, "rtol": 1e-9}
    en = dd.sweep(oscillator(), 2.0, over={"k": [1.0, 3.0]}, seeds=[4, 9, 11], on=on, **options)
    assert en["x"].dims == ("k", "seed", "time")
    for k in (1.0, 3.0):
        for seed in (4, 11):
            one = dd.simulate(oscillator(), 2.0, parameters={"k": k}, seed=seed, **options)
            assert float(en["x"].sel(k=k, seed=seed)[-1]) == pytest.approx(float(one["x"][-1]), abs=1e-9)


def test_kernels_draw_for_any_number_of_cases():
    """Blocks whose last lanes are empty."""
    options = {"step": 0.1, "save_at": "end", "method": "rk4"}
    many = dd.sweep(oscillator(), 1.0, seeds=203, on="cpu", **options)
    for seed in (0, 63, 64, 202):
        one = dd.simulate(oscillator(), 1.0, step=0.1, method="rk4", seed=seed)
        assert float(many["x"].sel(seed=seed)[-1]) == pytest.approx(float(one["x"][-1]), abs=1e-12)


def noisy_well():
    """Noise that is added, that multiplies one state, that has several entries, and noise that a clock reads."""
    m = dd.Model("noisy well")
    x, v = m.state("x", start=0.1), m.state("v", start=0.0)
    w, b, s = m.noise("w", [0.5, 0.2], shape=(2,)), m.noise("b", 0.3), m.sampled_noise("s", 0.1, every=0.07)
    m.equation(m.der(x), v + w[1] + 0.1 * x * b)
    m.equation(m.der(v), x - x**3 - 0.2 * v + w[0] + s)
    return m


@pytest.mark.parametrize(
    "span",
    [(-0.7, 1.3), *(pytest.param(one, marks=pytest.mark.wide) for one in (2.0, (1e3 - 0.1, 1e3 + 0.1), (-3.0, -2.5)))],
)
@pytest.mark.parametrize("options", [{"step": 0.05, "method": "rk4"}, {"step": 0.013}, {"step": 0.04, "rtol": 1e-4}])
def test_kernels_draw_what_runs_draw(options, span):
    """Chains of cells from any time on, for steps of any length; lanes that take other steps than their neighbours."""
    end = span if isinstance(span, float) else span[1]
    many = dd.sweep(noisy_well(), span, seeds=19, save_at="end", on="cpu", **options)
    for seed in (0, 7, 18):
        one = dd.simulate(noisy_well(), span, seed=seed, save_at=[end], **options)
        close = 1e-12 if options.get("method") else 1e-2 * options.get("rtol", 1e-6)
        for name in ("x", "v"):
            assert float(many[name].sel(seed=seed)[-1]) == pytest.approx(float(one[name][-1]), abs=close)


def test_paths_on_a_gpu_are_those_on_lanes(monkeypatch):
    install(monkeypatch)
    options = {"step": 0.05, "save_at": "end", "method": "rk4"}
    there = dd.sweep(noisy_well(), (-0.3, 1.7), seeds=50, on="gpu", **options)
    assert "Fake GPU" in "".join(there.notes)
    here = dd.sweep(noisy_well(), (-0.3, 1.7), seeds=50, on="cpu", **options)
    assert there.data.equals(here.data)


@pytest.mark.parametrize("on", ["auto", "cpu"])
def test_derivatives_along_a_path(on):
    model, change = oscillator(), 1e-5
    options = {"step": 0.1, "rtol": 1e-10, "save_at": "end"}
    en = dd.sweep(model, 1.0, seeds=3, wrt=["k"], on=on, **options)
    for seed in range(3):
        ends = [
            dd.simulate(model, 1.0, step=0.1, rtol=1e-10, parameters={"k": 1 + sign * change}, seed=seed)["x"][-1]
            for sign in (1, -1)
        ]
        slope = (ends[0] - ends[1]) / (2 * change)
        assert float(en.d("x", "k").sel(seed=seed)[-1]) == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize("frame", [dict, pd.DataFrame])
def test_seeds_may_be_a_column_of_the_cases(frame):
    cases, options = {"k": [1.0, 3.0, 2.0], "seed": [4, 9, 11]}, {"step": 0.05, "method": "rk4", "save_at": "end"}
    many = dd.sweep(oscillator(), 2.0, over=frame(cases), combine="zip", **options)
    for case, (k, seed) in enumerate(zip(*cases.values())):
        one = dd.simulate(oscillator(), 2.0, parameters={"k": k}, seed=seed, step=0.05, method="rk4")
        assert float(many["x"][case, -1]) == pytest.approx(float(one["x"][-1]), abs=1e-12)


def test_cases_without_seeds_share_their_noise():
    en = dd.sweep(oscillator(), 1.0, over={"k": [1.0, 1.0 + 1e-9]}, seed=3, step=0.1)
    assert np.abs(np.diff(en["x"].values, axis=0)).max() < 1e-8
    one = dd.simulate(oscillator(), 1.0, seed=3, step=0.1)
    assert float(en["x"][0, -1]) == pytest.approx(float(one["x"][-1]), abs=1e-6)


def test_the_mean_time_of_escape_from_a_well():
    """Kramers: the mean first passage over a barrier, by quadrature of the backward equation, within its confidence.

    C. Gardiner, Stochastic Methods (4th edition, 2009), section 5.5: with V = -x²/2 + x⁴/4 and the intensity q it is
    2/q ∫ exp(2 V(y)/q) ∫ exp(-2 V(z)/q) dz dy, z from -∞ to y, y from the start to the end.
    """
    q, begin, end = 0.5, -1.0, 0.8
    fine = np.linspace(-5.0, end, 20_001)
    potential = 2 / q * (-(fine**2) / 2 + fine**4 / 4)
    inner = cumulative_simpson(np.exp(-potential), x=fine, initial=0.0)
    beyond = fine >= begin
    exact = 2 / q * simpson(np.exp(potential[beyond]) * inner[beyond], x=fine[beyond])
    m = dd.Model("well")
    x, w = m.state("x", start=begin), m.noise("w", q)
    m.equation(m.der(x), x - x**3 + w)
    m.event("over", x - end, direction=1, terminal=True)
    times = dd.sweep(m, 300.0, seeds=150, step=0.05, save_at="end")["end_time"].values
    assert times.max() < 300.0
    assert abs(times.mean() - exact) < 3 * times.std() / np.sqrt(len(times))


def test_a_pendulum_of_index_3_has_the_variance_of_its_linearisation():
    """Lyapunov's equation of the equations as written: q / (2 c g) for the place, q / (2 c) for the velocity."""
    m = dd.Model("pendulum")
    p = m.coordinate("p", 2, start=[0, -1], rate=[0, 0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(p)))
    m.potential_energy(9.81 * p[1])
    m.constraint("rod", ca.sumsqr(p) - 1)
    m.force(m.noise("w", [1e-3, 0.0], 2) - 2.0 * m.rate(p), at=p)
    lin = dd.linearise(m)
    P = np.diag(dd.covariance(lin))
    wide, fast = (P[list(lin.states).index(name)] for name in ("p[0]", "p_dot[0]"))
    assert (wide, fast) == pytest.approx((1e-3 / (4 * 9.81), 1e-3 / 4))
    en = dd.sweep(m, (0.0, 3.0), seeds=100, step=0.04, save_at=[2.0, 3.0], outputs=["p", "p_dot"])
    for name, exact in (("p", wide), ("p_dot", fast)):
        assert float((en[name][..., 0] ** 2).mean()) == pytest.approx(exact, rel=4 * np.sqrt(2 / 200))


def test_statistics_over_seeds():
    bands = dd.sweep(oscillator(), 3.0, seeds=500, step=0.05, summary=("mean", "std"), save_at="end")
    exact = np.sqrt(dd.covariance(dd.linearise(oscillator()), 1.0)[0, 0])
    assert float(bands["x"].sel(summary="std")[-1]) == pytest.approx(exact, rel=0.15)


def test_an_estimator_takes_the_noise_of_the_model():
    noisy, plain = dd.Model("cart"), dd.Model("cart")
    for m in (noisy, plain):
        x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
        push = 2.0 * m.noise("w", 0.3) if m is noisy else 0.0
        m.equation([m.der(x), m.der(v)], [v, u - 0.5 * v + push])
    options = {"measurement_noise": 0.01, "every": 0.1, "start_covariance": 1e-6}
    one = dd.Estimator(noisy, ["x"], **options)
    other = dd.Estimator(plain, ["x"], process_noise={"v": 4 * 0.3}, **options)
    for y in (0.1, -0.2, 0.4):
        assert one([y], [1.0]) == pytest.approx(other([y], [1.0]), abs=1e-12)
    assert one.covariance == pytest.approx(other.covariance, abs=1e-14)


def test_first_passages_without_a_step():
    """Runs that an event ends at different times are compared up to the earlier one; every sweep has the times."""
    m = dd.Model("well")
    x, w = m.state("x", start=-1.0), m.noise("w", 2.0)
    m.equation(m.der(x), x - x**3 + w)
    m.event("over", x, direction=1, terminal=True)
    once = dd.simulate(m, 6.0, seed=2)
    again = dd.simulate(m, 6.0, seed=2, save_at=[5.0])
    assert again.end.time == once.end.time < 3.0
    en = dd.sweep(m, 6.0, seeds=3, step=0.01)
    singles = [float(dd.simulate(m, 6.0, seed=k, step=0.01).end.time) for k in range(3)]
    assert np.allclose(en["end_time"].values, singles)


def walk(shift):
    """Brownian motion between two walls at ±1: from x, the mean time of exit is 1 - x²."""
    m = dd.Model("walk")
    x = m.state("x", start=0.3)
    m.equation(m.der(x), m.noise("w"))
    m.event("up", x - 1 + shift, direction=1, terminal=True)
    m.event("down", x + 1 - shift, direction=-1, terminal=True)
    return m


def test_late_passages_are_told():
    late = "noise moves the guard of up, down, which the path may pass unseen within a step"
    en = dd.sweep(walk(0.0), 1.0, seeds=3, step=0.1, save_at="end")
    assert en.notes[-1] == f"{late}: times are late by a share of the root of the step"
    (drawn,) = records_of(dd.simulate(walk(0.0), 1.0, step=0.1, seed=0), NoiseDrawn)
    assert drawn.late == ("up", "down")
    m = dd.Model("pushed")
    x, v = m.state("x", start=0.0), m.state("v", start=0.0)
    m.equation([m.der(x), m.der(v)], [v, m.noise("w")])
    m.event("there", x - 0.1, terminal=True)
    (drawn,) = records_of(dd.simulate(m, 1.0, step=0.1, seed=0), NoiseDrawn)
    assert drawn.late == ()


@pytest.mark.wide
@pytest.mark.parametrize("shift", [0.0, 0.5826])
def test_a_nearer_boundary_corrects_the_mean_time_of_exit(shift):
    times = dd.sweep(walk(shift * 0.1), 40.0, seeds=2000, step=0.01, save_at="end")["end_time"].values
    error = times.std() / np.sqrt(len(times))
    assert times.mean() == pytest.approx((1 + (0.5826 - shift) * 0.1) ** 2 - 0.09, abs=3 * error)


def ends(m, span, seeds, step):
    """The states of many paths at the end of a span."""
    en = dd.sweep(m, span, seeds=seeds, step=step, method="rk4", save_at="end", on="cpu")
    return {name: en[name].values.ravel() for name in m.freeze().labels["x"]}


def near(values, wanted):
    """Whether a mean is what is wanted, within four standard errors."""
    return abs(values.mean() - wanted) < 4 * values.std() / np.sqrt(len(values))


def test_short_rates_have_the_moments_of_cox_ingersoll_and_ross():
    m = dd.Model("short rate")
    r, a, b, s = m.state("r", start=0.09), 0.5, 0.04, 0.1
    m.equation(m.der(r), a * (b - r) + s * ca.sqrt(r) * m.noise("w"))
    last, forgotten = ends(m, 2.0, 4000, 0.05)["r"], np.exp(-2 * a)
    assert near(last, b + (0.09 - b) * forgotten)
    spread = 0.09 * s**2 / a * (forgotten - forgotten**2) + b * s**2 / (2 * a) * (1 - forgotten) ** 2
    assert near((last - last.mean()) ** 2, spread)


@pytest.mark.parametrize(("calculus", "grows"), [("stratonovich", 0.0), ("ito", 0.5)])
def test_a_frequency_that_is_noise(calculus, grows):
    """Kubo's oscillator: Stratonovich's keeps its amplitude and loses its phase, Itô's has <x² + y²> = exp(q t)."""
    m = dd.Model("Kubo")
    x, y, w = m.state("x", start=1.0), m.state("y", start=0.0), m.noise("w", 0.5, calculus=calculus)
    m.equation([m.der(x), m.der(y)], [y * (1 + w), -x * (1 + w)])
    last = ends(m, 2.0, 3000, 0.02)
    assert near(last["x"], np.cos(2.0) * np.exp(-(0.25 - grows / 2) * 2.0))
    assert last["x"] ** 2 + last["y"] ** 2 == pytest.approx(np.full(3000, np.exp(2.0 * grows)), rel=1e-3)


def test_a_particle_in_two_wells_has_the_density_of_gibbs():
    m = dd.Model("particle")
    x, v, hot = m.state("x", start=0.0), m.state("v", start=0.0), 0.4
    m.equation([m.der(x), m.der(v)], [v, x - x**3 - v + m.noise("w", 2 * hot)])
    last, grid = ends(m, 30.0, 3000, 0.05), np.linspace(-4.0, 4.0, 801)
    density = np.exp((grid**2 / 2 - grid**4 / 4) / hot)
    assert near(last["v"] ** 2, hot)
    assert near(last["x"] ** 2, simpson(grid**2 * density, x=grid) / simpson(density, x=grid))
