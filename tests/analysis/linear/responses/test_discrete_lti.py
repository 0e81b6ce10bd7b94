import numpy as np
import pytest
from hypothesis import given
from random_systems import random_system, shapes
from scipy.signal import cont2discrete

from daedalus.analysis.linear.lti import LTI
from daedalus.errors import InputError


@given(shapes)
def test_agrees_with_scipy(shape):
    system, rng = random_system(shape)
    h = float(rng.uniform(0.01, 1.0))
    for hold, method in (("zero", "zoh"), ("linear", "foh")):
        d = system.discretise(h, hold=hold)
        expected = cont2discrete((system.A, system.B, system.C, system.D), h, method=method)
        for found, known in zip((d.A, d.B, d.C, d.D), expected):
            assert np.allclose(found, known, rtol=1e-9, atol=1e-10)


@given(shapes)
def test_sampled_and_continuous_responses_are_the_same(shape):
    system, rng = random_system(shape)
    u, start = rng.normal(size=(9, system.B.shape[1])), rng.normal(size=len(system.A))
    times = np.arange(9) * 0.25
    for hold, sampled in (("zero", "hold"), ("linear", "linear")):
        discrete = system.discretise(0.25, hold=hold).respond(u, start)
        exact = system.respond(times, u, start, sampled=sampled)
        scale = 1 + np.abs(exact.outputs).max()
        assert np.allclose(discrete.states, exact.states, atol=1e-11 * scale)
        assert np.allclose(discrete.outputs, exact.outputs, atol=1e-11 * scale)
        assert np.allclose(discrete.time, times)


def test_names_travel_along():
    d = LTI([[-1.0]], [[1.0]], states=["level"], inputs=["pump"]).discretise(0.5)
    assert d.respond([1.0, 1.0])["level"][0] == 0.0
    assert repr(d) == "DiscreteLTI(1 state, step 0.5, zero hold)"


def test_refusals():
    system = LTI([[-1.0]], [[1.0]])
    with pytest.raises(InputError, match="positive number"):
        system.discretise(0.0)
    with pytest.raises(InputError, match="'cubic' is not a kind of hold"):
        system.discretise(0.1, hold="cubic")
    with pytest.raises(InputError, match="samples of the inputs are not usable"):
        system.discretise(0.1).respond(np.ones((3, 2)))
    with pytest.raises(InputError, match="start has the wrong size"):
        system.discretise(0.1).respond([1.0], [1.0, 2.0])
