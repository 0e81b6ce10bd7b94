"""Noise as polynomials over steps: increments and integrals of the path, order 1.5 where noise is added."""

import casadi as ca
import numpy as np
import pytest
from records_of import records_of

import daedalus as dd
from daedalus.simulation.noise.curved_noise import curved_paths, is_additive
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


def test_order_one_and_a_half():
    system, steps = double_well(), (0.1, 0.01)

    def ends(step):
        seeds = range(10)
        inputs = [curved_paths(system.noises, 0.0, 1.0, step, seed) for seed in seeds]
        return np.array([float(dd.simulate(system, 1.0, inputs=u, save_at=[1.0])["x"][-1]) for u in inputs])

    exact = ends(2e-3)
    errors = [np.sqrt(np.mean((ends(step) - exact) ** 2)) for step in steps]
    assert np.log10(errors[0] / errors[1]) > 1.3


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
    assert is_additive(m.freeze()) == added
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
