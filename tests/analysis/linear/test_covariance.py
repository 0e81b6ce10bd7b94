"""Stationary covariances and spectra of linear systems, two ways each."""

import numpy as np
import pytest
from scipy.integrate import quad

import daedalus as dd
from daedalus.errors import InputError, SolverError


@pytest.mark.parametrize("seed", range(4))
def test_the_spectrum_integrates_to_the_covariance(seed):
    random = np.random.default_rng(seed)
    A = random.normal(size=(3, 3))
    A -= (np.linalg.eigvals(A).real.max() + 0.5) * np.eye(3)
    B, root = random.normal(size=(3, 2)), random.normal(size=(2, 2))
    lin, density = dd.LTI(A, B), root @ root.T
    P = dd.covariance(lin, density)
    assert pytest.approx(-B @ density @ B.T, abs=1e-10) == A @ P + P @ A.T
    power = quad(lambda f: dd.spectrum(lin, density, f)[0, 0].real, -np.inf, np.inf, limit=400)[0]
    assert P[0, 0] == pytest.approx(power, rel=1e-5)


def test_algebraic_variables_follow():
    """z = 2 x has four times the variance; what contains the noise has none that is finite."""
    m = dd.Model("low pass")
    x, z, y, w = m.state("x", start=0.0), m.algebraic("z"), m.algebraic("y"), m.noise("w")
    m.equation([m.der(x), z, y], [-x + w, 2 * x, x + w])
    lin = dd.linearise(m)
    P = dict(zip(lin.states, dd.covariance(lin, 1.0).diagonal()))
    assert {"x": pytest.approx(0.5), "z": pytest.approx(2.0), "y": np.inf} == P


def test_sampled_systems():
    lin = dd.LTI([[-1.0]], [[1.0]])
    step = 0.1
    sampled = lin.discretise(step)
    gain, decay = float(sampled.B[0, 0]), float(sampled.A[0, 0])
    assert dd.covariance(sampled, 3.0)[0, 0] == pytest.approx(3.0 * gain**2 / (1 - decay**2))


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: dd.covariance(dd.LTI([[0.0]], [[1.0]]), 1.0), SolverError, "The noise does not settle"),
        (
            lambda: dd.covariance(dd.LTI([[-1.0]], [[1.0]]), -1.0),
            InputError,
            "intensity matrix is not positive semidefinite",
        ),
        (lambda: dd.covariance(3, 1.0), InputError, "that of a linear system"),
        (lambda: dd.spectrum(dd.LTI([[-1.0]], [[1.0]]), 1.0, "x"), InputError, "frequencies are not numbers"),
    ],
)
def test_wrong_uses_are_told(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_the_intensity_is_that_of_the_model():
    """x' = -2 x + w with the density 0.5: the variance is 0.5 / 4; other inputs are no noise."""
    m = dd.Model("filter")
    x, u, w, e = m.state("x", start=0.0), m.input("u"), m.noise("w", 0.5), m.noise("e", [0.1, 0.3])
    m.equation(m.der(x), -2 * x + u + w + e[0] + e[1])
    lin = dd.linearise(m, inputs={"u": 0.0})
    assert dd.covariance(lin)[0, 0] == pytest.approx((0.5 + 0.1 + 0.3) / 4, rel=1e-12)
    assert dd.covariance(lin, {"w": 1.0})[0, 0] == pytest.approx(0.25, rel=1e-12)
