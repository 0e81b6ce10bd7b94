"""Linear systems against python-control on random systems, and the way there and back."""

import control
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import daedalus as dd


@st.composite
def systems(draw):
    """A random stable system with named inputs and outputs, as matrices."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, nu, ny = draw(st.integers(1, 5)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    a = rng.normal(size=(n, n))
    a -= (np.linalg.eigvals(a).real.max() + 0.2) * np.eye(n)
    return a, rng.normal(size=(n, nu)), rng.normal(size=(ny, n)), rng.normal(size=(ny, nu)), rng


@given(systems())
def test_forced_response_with_linear_inputs(drawn):
    *matrices, rng = drawn
    nu, n = matrices[1].shape[1], matrices[0].shape[0]
    times, start = np.linspace(0, 3, 31), rng.normal(size=n)
    samples = rng.normal(size=(31, nu))
    ours = dd.LTI(*matrices).respond(times, samples, start, sampled="linear")
    theirs = control.forced_response(control.ss(*matrices), times, samples.T, start)
    np.testing.assert_allclose(ours.outputs, np.atleast_2d(np.squeeze(theirs.outputs)).reshape(-1, 31).T, atol=1e-9)


@given(systems())
def test_poles_step_and_frequency_response(drawn):
    *matrices, _ = drawn
    ours, theirs = dd.LTI(*matrices), control.ss(*matrices)
    sort = np.sort_complex
    np.testing.assert_allclose(sort(ours.poles()), sort(theirs.poles()), atol=1e-9)
    w = np.array([0.1, 1.0, 10.0])
    for s in 1j * w:
        np.testing.assert_allclose(ours.transfer(s), theirs(s, squeeze=False), atol=1e-10)
    times = np.linspace(0, 2, 21)
    single = control.step_response(theirs, times, input=0)
    outputs = np.reshape(single.outputs, (-1, 21)).T
    np.testing.assert_allclose(ours.step_response(times, source=ours.inputs[0]).outputs, outputs, atol=1e-9)


@given(systems())
def test_there_and_back(drawn):
    *matrices, _ = drawn
    names = {
        "states": [f"x{k}" for k in range(matrices[0].shape[0])],
        "inputs": [f"u{k}" for k in range(matrices[1].shape[1])],
        "outputs": [f"y{k}" for k in range(matrices[2].shape[0])],
    }
    ours = dd.LTI(*matrices, **names)
    theirs = ours.to_control()
    assert isinstance(theirs, control.StateSpace)
    assert theirs.input_labels == names["inputs"]
    again = dd.LTI.from_control(theirs)
    for one, two in zip((again.A, again.B, again.C, again.D), matrices):
        np.testing.assert_array_equal(one, two)
    assert list(again.states) == names["states"]


def test_a_linearised_model_reaches_python_control():
    m = dd.Model("oscillator")
    x, u = m.state("x", start=0.0, rate=0.0), m.input("u")
    m.equation(m.der(m.der(x)) + 0.2 * m.der(x) + 4 * x, u)
    m.output("y", x)
    system = dd.linearise(m, at={"x": 0.0, "u": 0.0}).to_control()
    np.testing.assert_allclose(np.sort(system.poles().imag), [-np.sqrt(3.99), np.sqrt(3.99)])
    assert abs(system(0) - 0.25) < 1e-12
