"""Noise as polynomials over steps: increments and integrals of the path, order 1.5 where noise is added."""

import casadi as ca
import numpy as np
import pytest
from records_of import records_of

import daedalus as dd
from daedalus.simulation.noise import curved_noise, ito_drift
from daedalus.simulation.noise.curved_noise import curved_paths
from daedalus.simulation.noise.ito_drift import noise_leaves_noise
from daedalus.simulation.noise.wiener_path import increments
from daedalus.simulation.result.records_of_methods import NoiseDrawn


def double_well():
    """Two noises that are added."""
    m = dd.Model("double well")
    x, w, v = m.state("x", start=0.5), m.noise("w"), m.noise("v", 0.5)
    m.equation(m.der(x), x - x**3 + w + v)
    return m.freeze()


def test_polynomials_have_the_increments_and_integrals_of_the_path():
    m = dd.Model("sums")
    x, y, w = m.state("x", start=0.0), m.state("y", start=0.0), m.noise("w", 4.0)
    m.equation([m.der(x), m.der(y)], [w, x])
    paths = curved_paths(m.freeze().noises, 0.0, 2.0, 0.2, 3)
    tr = dd.simulate(m, 2.0, inputs=paths, rtol=1e-10, save_at=np.linspace(0.2, 2.0, 10))
    path = 2.0 * np.cumsum(increments([3], "w", 1e-4, 0, 20000)[0])
    assert tr["x"] == pytest.approx(path[1999::2000], abs=1e-9)
    assert tr["y"] == pytest.approx(1e-4 * np.cumsum(path)[1999::2000], abs=5e-3)


def test_the_mean_square_inside_a_step_is_exact():
    """The mean of ∫W² over a step of length one is one half; over a straight line it is one third."""
    m = dd.Model("sums")
    m.equation(m.der(m.state("x", start=0.0)), m.noise("w"))
    (table,) = curved_paths(m.freeze().noises, 0.0, 1000.0, 1.0, 1).values()
    rows, s = table.coefficients[:, :, 0], np.linspace(0.0, 1.0, 101)
    inside = np.stack([s, s**2 / 2, s**3 / 3], axis=0)
    squares = np.trapezoid((rows @ inside) ** 2, s, axis=1)
    assert squares.mean() == pytest.approx(0.5, abs=4 * squares.std() / np.sqrt(1000))


def pushed_pendulum():
    """Index 3: what the noise moves depends on positions, which it does not move."""
    m = dd.Model("pendulum")
    p = m.coordinate("p", 2, start=[1, 0], rate=[0, 0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(p)))
    m.potential_energy(9.81 * p[1])
    m.constraint("rod", ca.sumsqr(p) - 1)
    m.force(m.noise("w", 0.5, 2), at=p)
    return m.freeze()


def stiff_follower():
    m = dd.Model("follower")
    x, y, w, v = m.state("x", start=0.5), m.state("y", start=0.0), m.noise("w", 0.5), m.noise("v", 0.3)
    m.equation([m.der(x), m.der(y)], [x - x**3 - y + w, 50 * (ca.sin(x) - y) + v])
    return m.freeze()


def timed():
    """The intensity of the noise depends on time."""
    m = dd.Model("timed")
    x, w = m.state("x", start=0.5), m.noise("w")
    m.equation(m.der(x), x - x**3 + (1 + ca.sin(3 * m.time)) * w)
    return m.freeze()


def with_an_algebraic_variable():
    m = dd.Model("relation")
    x, z, w = m.state("x", start=0.5), m.algebraic("z", start=0.4), m.noise("w")
    m.equation(z + z**3, ca.sin(x))
    m.equation(m.der(x), z - x**3 + w)
    return m.freeze()


@pytest.mark.parametrize(
    ("make", "method"),
    [
        (double_well, "auto"),
        (pushed_pendulum, "auto"),
        pytest.param(pushed_pendulum, "radau5", marks=pytest.mark.wide),
        (stiff_follower, "radau5"),
        (timed, "auto"),
        (with_an_algebraic_variable, "radau5"),
    ],
)
def test_order_one_and_a_half(make, method):
    system, steps = make(), (0.1, 0.01)
    name = system.labels["x"][0]

    def ends(step):
        inputs = [curved_paths(system.noises, 0.0, 1.0, step, seed) for seed in range(10)]
        options = {"save_at": [1.0], "method": method}
        return np.array([float(dd.simulate(system, 1.0, inputs=u, **options)[name][-1]) for u in inputs])

    exact = ends(2e-3)
    errors = [np.sqrt(np.mean((ends(step) - exact) ** 2)) for step in steps]
    assert np.log10(errors[0] / errors[1]) > 1.3


def test_many_steps_have_polynomials_too(monkeypatch):
    """2000 steps with 1000 nodes each are more values than allowed here: they have 100 each."""
    monkeypatch.setattr(curved_noise, "MOST_VALUES", 100_000)
    m = dd.Model("sums")
    m.equation(m.der(m.state("x", start=0.0)), m.noise("w"))
    (table,) = curved_paths(m.freeze().noises, 0.0, 0.4, 2e-4, 1).values()
    over = table.coefficients[:, :, 0] @ [2e-4, 2e-4**2 / 2, 2e-4**3 / 3]
    assert over == pytest.approx(increments([1], "w", 2e-4, 0, 2000)[0], abs=1e-12)


def test_runs_of_constrained_models_find_steps_with_polynomials():
    tr = dd.simulate(pushed_pendulum(), 0.5, seed=0)
    (drawn,) = records_of(tr, NoiseDrawn)
    assert drawn.curved
    assert np.abs((tr["p"] ** 2).sum(axis=1) - 1).max() < 1e-9
    exact = dd.simulate(pushed_pendulum(), 0.5, step=1e-4, seed=0)["p"][-1]
    assert tr["p"][-1] == pytest.approx(exact, abs=1e-3)


def pushed(law):
    m = dd.Model("pushed")
    x, w = m.state("x", start=1.0), m.noise("w")
    m.equation(m.der(x), law(x, w))
    return m


@pytest.mark.parametrize(
    ("law", "added"),
    [
        (lambda x, w: -ca.sin(x) + 2 * w, True),
        (lambda x, w: (0.5 + 0.1 * x) * w, False),
        (lambda x, w: -x + ca.cos(x) * w, False),
    ],
)
def test_noise_that_is_added_is_known(law, added):
    m = pushed(law)
    assert noise_leaves_noise(m.freeze()) == added
    tr = dd.simulate(m, 1.0, seed=0)
    (drawn,) = records_of(tr, NoiseDrawn)
    assert drawn.curved == added
    assert ("polynomials have the increments" in str(drawn)) == added


def test_a_given_step_holds_the_noise():
    tr = dd.simulate(double_well(), 1.0, step=0.1, seed=0)
    (drawn,) = records_of(tr, NoiseDrawn)
    assert "held over steps of 0.1 s" in str(drawn)


def test_found_steps_are_longer_than_those_of_held_noise():
    """A sweep holds its noise over steps that it finds; a run of the same model needs fewer."""
    run = dd.simulate(double_well(), 1.0, seed=0)
    (drawn,) = records_of(run, NoiseDrawn)
    held = dd.simulate(double_well(), 1.0, step=drawn.step, seed=0)
    exact = dd.simulate(double_well(), 1.0, step=1e-4, seed=0)["x"][-1]
    assert abs(run["x"][-1] - exact) < 0.2 * abs(held["x"][-1] - exact)
    assert abs(run["x"][-1] - exact) < 1e-3


def test_many_added_noises_are_not_looked_at_in_pairs(monkeypatch):
    m = dd.Model("ladder")
    x, w = m.state("x", 30, start=0.0), m.noise("w", 1.0, 30)
    m.equation(m.der(x), -ca.sin(x) + w)
    looked, changed = [], ito_drift._Drift._changed
    monkeypatch.setattr(ito_drift._Drift, "_changed", lambda *given: looked.append(given) or changed(*given))
    system = m.freeze()
    assert ito_drift.with_ito_drift(system) is system
    assert ito_drift.noises_commute(system)
    assert noise_leaves_noise(system)
    assert len(looked) == 30 * ito_drift.POINTS
