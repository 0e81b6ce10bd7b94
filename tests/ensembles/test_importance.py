"""Sobol' indices: the known ones of Ishigami's function, of any sweep, with failed cases left out."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def ishigami():
    """x' = f(a, b, c): at t = 1 the function itself (T. Ishigami and T. Homma 1990)."""
    m = dd.Model("ishigami")
    x = m.state("x", start=0.0)
    a, b, c = (m.parameter(name, 0.0) for name in "abc")
    m.equation(m.der(x), ca.sin(a) + 7 * ca.sin(b) ** 2 + 0.1 * c**4 * ca.sin(a))
    m.output("still", 0.0 * x + 1.0)
    return m


ANGLES = {name: dd.uniform(-np.pi, np.pi) for name in "abc"}


def test_indices_of_a_known_function():
    imp = dd.importance(ishigami(), 1.0, ANGLES, 2048, outputs=["x"], method="rk4", step=0.5)
    assert imp.first["x"].dims == ("name", "time")
    np.testing.assert_allclose(imp.first["x"].values[:, 0], [0.3139, 0.4424, 0.0], atol=0.02)
    np.testing.assert_allclose(imp.total["x"].values[:, 0], [0.5576, 0.4424, 0.2437], atol=0.02)
    np.testing.assert_allclose(imp["x"].sel(index="first"), imp.first["x"])
    spread = imp.spread["x"].values[:, :, 0]
    assert spread.shape == (2, 3)
    assert (spread[0] > 0.001).all()
    assert (spread < 0.1).all()
    assert imp.cases == 5 * 2048
    assert repr(imp) == "Importance(of a, b, c for x; 10240 cases)"


def test_indices_over_time_equal_seeds_and_what_does_not_vary():
    first, again = (dd.importance(ishigami(), 1.0, ANGLES, 64, save_at=[0.0, 0.5, 1.0], seed=3) for _ in range(2))
    assert first.total.equals(again.total)
    assert np.isnan(first.total["x"].sel(time=0.0)).all()
    assert np.isnan(first.total["still"]).all()
    np.testing.assert_allclose(first.total["x"].sel(time=0.5), first.total["x"].sel(time=1.0), rtol=1e-6)
    assert first.plot("x") is not None


def test_base_cases_with_a_failed_run_are_left_out():
    m = dd.Model("explosion")
    x, k = m.state("x", start=1.0), m.parameter("k", 1.0)
    m.equation(m.der(x), k * x**2)
    imp = dd.importance(m, 1.0, {"k": dd.uniform(0.0, 1.1), "x": dd.uniform(0.5, 1.0)}, 64)
    assert imp.left_out > 0
    assert np.isfinite(imp.total["x"]).all()
    with pytest.raises(dd.InputError, match="No base case has all its runs"):
        dd.importance(m, 1.0, {"k": dd.uniform(1.5, 2.0), "x": dd.uniform(0.9, 1.0)}, 8)


def test_wrong_arguments_are_named():
    with pytest.raises(dd.InputError, match="takes distributions by name"):
        dd.importance(ishigami(), 1.0, {}, 8)
    with pytest.raises(dd.InputError, match="draws its own cases"):
        dd.importance(ishigami(), 1.0, ANGLES, 8, summary=("mean",))
    imp = dd.importance(ishigami(), 1.0, ANGLES, 8, outputs="x")
    with pytest.raises(dd.InputError, match="'y' is not among the outputs"):
        imp["y"]
