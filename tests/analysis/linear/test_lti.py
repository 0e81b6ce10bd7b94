import numpy as np
import pytest
from hypothesis import given
from random_systems import random_system, shapes
from scipy.signal import ss2zpk

from daedalus.analysis.linear.lti import LTI
from daedalus.errors import InputError

AIRCRAFT = LTI(
    [[-0.02, 0.1, 0.0, -9.81], [-0.2, -2.0, 30.0, 0.0], [0.01, -0.3, -2.0, 0.0], [0.0, 0.0, 1.0, 0.0]],
    [[0.1, 1.0], [-5.0, 0.0], [-8.0, 0.1], [0.0, 0.0]],
    states=["forward", "down", "pitch_rate", "pitch"],
    inputs=["elevator", "thrust"],
)


@pytest.mark.document("002", "LTI x' = A x + B u, y = C x + D u: transfer function", "`dd.LTI`")
@given(shapes)
def test_transfer_function_agrees_with_scipy(shape):
    system, rng = random_system(shape)
    s = rng.normal(size=3) * 4 + 4j * rng.normal(size=3)
    found = system.transfer(s)
    for column in range(system.B.shape[1]):
        for row in range(len(system.C)):
            zeros, poles, gain = ss2zpk(
                system.A, system.B, system.C[row : row + 1], system.D[row : row + 1], input=column
            )
            expected = gain * np.array([np.prod(k - zeros) / np.prod(k - poles) for k in s])
            assert np.allclose(found[:, row, column], expected, rtol=1e-5, atol=1e-6)


@given(shapes)
def test_step_response_tends_to_the_static_gain(shape):
    system, _ = random_system(shape)
    shifted = LTI(system.A - 8 * np.eye(len(system.A)), system.B, system.C, system.D)
    if not shifted.is_stable:
        return
    end = 40.0 / shifted.stability().margin
    for k, name in enumerate(shifted.inputs):
        y = shifted.step_response([0.0, end], source=name).outputs[-1]
        assert np.allclose(y, shifted.transfer(0.0).real[:, k], rtol=1e-9, atol=1e-10)


@given(shapes)
def test_the_impulse_response_is_the_derivative_of_the_step_response(shape):
    system, _ = random_system(shape)
    name, h = system.inputs[0], 1e-4
    steps = system.step_response([0.0, 1.0 - h, 1.0, 1.0 + h], source=name).states
    impulse = system.impulse_response([0.0, 1.0], source=name).states[-1]
    assert np.allclose((steps[3] - steps[1]) / (2 * h), impulse, rtol=1e-5, atol=1e-5 * (1 + np.abs(steps).max()))


@given(shapes)
def test_superposition(shape):
    system, rng = random_system(shape)
    times = np.linspace(0.0, 1.0, 6)
    u, v = rng.normal(size=(2, 6, system.B.shape[1]))
    x, w = rng.normal(size=(2, len(system.A)))
    both = system.respond(times, 2 * u - v, 2 * x - w).outputs
    parts = 2 * system.respond(times, u, x).outputs - system.respond(times, v, w).outputs
    assert np.allclose(both, parts, atol=1e-10 * (1 + np.abs(parts).max()))


def test_zeros_of_a_known_system():
    """(s + 3) / ((s + 1)(s + 2)), and a double integrator measured at the end, which has none."""
    assert np.allclose(LTI([[0, 1], [-2, -3]], [0, 1], [3, 1]).zeros(), [-3])
    assert len(LTI([[0, 1], [0, 0]], [0, 1], [1, 0]).zeros()) == 0


def test_frequency_response_of_a_low_pass():
    f = LTI([[-10.0]], [[10.0]], outputs=["y"]).frequency_response([0.0, 10.0, 1e4])
    assert np.allclose(f["y"], [1.0, 1 / (1 + 1j), 1 / (1 + 1e3j)])
    assert np.allclose(np.degrees(f.phase[1, 0, 0]), -45)
    assert f.to_xarray().sel(output="y", input="u").shape == (3,)


def test_the_phase_is_continuous():
    chain = LTI(np.diag([-1.0] * 4) + np.diag([1.0] * 3, -1), [1, 0, 0, 0], [0, 0, 0, 1])
    phase = np.degrees(chain.frequency_response(np.logspace(-2, 3, 200)).phase[:, 0, 0])
    assert np.all(np.diff(phase) < 0)
    assert phase[-1] == pytest.approx(-360, abs=1)


def test_frequencies_by_default_surround_the_poles():
    w = LTI(np.diag([-0.1, -50.0])).frequency_response().frequency
    assert w[0] == pytest.approx(0.01)
    assert w[-1] == pytest.approx(500.0)


def test_sparse_and_casadi_matrices_are_taken():
    import casadi as ca
    from scipy.sparse import csr_matrix

    assert LTI(csr_matrix([[0.0, 1.0], [0.0, 0.0]]), ca.DM([0, 1])).B.tolist() == [[0.0], [1.0]]


def test_names_of_what_is_left_out():
    system = LTI([[0, 1], [0, 0]], [0, 1])
    assert (system.states, system.inputs, system.outputs) == (("x[0]", "x[1]"), ("u",), ("x[0]", "x[1]"))
    assert system.step_response([0.0, 1.0])["x"].shape == (2, 2)
    assert LTI([[-1.0]], [[1.0]], [[1.0]], [[0.0]]).outputs == ("y",)
    assert not system.A.flags.writeable
    assert repr(system) == "LTI(2 states, 1 input, 2 outputs)"


def test_selection_of_inputs_outputs_and_states():
    chosen = AIRCRAFT.select(inputs="elevator", outputs=["pitch", "pitch_rate"])
    assert (chosen.inputs, chosen.outputs, chosen.states) == (("elevator",), ("pitch", "pitch_rate"), AIRCRAFT.states)
    assert np.allclose(chosen.transfer(1j), AIRCRAFT.transfer(1j)[[3, 2], :1])
    # The short-period approximation: speed and attitude held.
    short = AIRCRAFT.select(states=["down", "pitch_rate"], outputs=["pitch_rate"])
    assert short.A.tolist() == [[-2.0, 30.0], [-0.3, -2.0]]
    assert np.allclose(short.poles(), [-2 - 3j, -2 + 3j])
    assert AIRCRAFT.to_xarray()["B"].sel(derivative="pitch_rate", input="elevator") == -8.0


@pytest.mark.document("002", "mechanical form M q'' + D q' + K q = F u as a state space", "`dd.LTI.from_second_order`")
def test_mechanical_form_keeps_the_order_of_names():
    system = LTI.from_second_order(np.eye(2) * 2, np.zeros((2, 2)), np.diag([2.0, 8.0]), [0, 1], coordinates="q")
    assert system.states == ("q[0]", "q[1]", "q_dot[0]", "q_dot[1]")
    assert np.allclose(np.sort(system.poles().imag), [-2, -1, 1, 2])
    assert system.respond([0.0], start={"q_dot": [1.0, 2.0]}).states.tolist() == [[0, 0, 1, 2]]
    # q = (s² M + s D + K)⁻¹ F u, with all four matrices.
    draw = np.random.default_rng(3)
    mass, damping, stiffness = (np.eye(2) * 3 + draw.normal(size=(2, 2)) for _ in range(3))
    push, s = draw.normal(size=(2, 1)), 0.3 + 1.7j
    found = LTI.from_second_order(mass, damping, stiffness, push, coordinates="q").transfer(s)[:2]
    assert np.allclose(found, np.linalg.solve(s**2 * mass + s * damping + stiffness, push))
    with pytest.raises(InputError) as caught:
        LTI.from_second_order(np.diag([1.0, 0.0]), np.eye(2), np.eye(2))
    assert str(caught.value).splitlines()[:2] == ["The mass matrix is singular.", "  rank 1 of 2"]


def test_printed():
    lines = str(LTI([[0, 1], [-1, -0.2]], [0, 1], states=["angle", "rate"], inputs=["torque"])).splitlines()
    assert lines == [
        "x' = A x + B u, y = C x + D u",
        "  states: angle, rate",
        "  inputs: torque",
        "  outputs: angle, rate",
        "  poles: -0.1 - 0.995j, -0.1 + 0.995j",
    ]


def test_without_states():
    gain = LTI(np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), [[3.0]])
    assert gain.respond([0.0, 1.0], 2.0).outputs.tolist() == [[6.0], [6.0]]
    assert gain.is_stable
    assert gain.transfer(1j).tolist() == [[3.0]]


def test_the_impulse_through_a_direct_path_is_mentioned():
    r = LTI([[-1.0]], [[1.0]], [[1.0]], [[2.0]], outputs=["pressure"]).impulse_response([0.0, 1.0])
    assert r.notes == ("the impulse of u itself appears in pressure at the first time and is not drawn",)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: LTI([[1, 2, 3]]), "The matrix A has the wrong shape.\n  it is 1 × 3, it should be 1 × 1"),
        (
            lambda: LTI([[1.0]], [[1.0], [2.0]]),
            "The matrix B has the wrong shape.\n  it is 2 × 1, it should be 1 × any",
        ),
        (lambda: LTI([[np.inf]]), "The matrix A contains NaN or infinity.\n  A[0,0] is inf"),
        (
            lambda: LTI(np.eye(2), states=["a"]),
            "The number of state names is wrong.\n  1 names for 2 states: a\n"
            "  Try: one name for each state, in the order of the matrices",
        ),
        (
            lambda: LTI(np.eye(2), states=["a", "a"]),
            "Two states share a name.\n  twice: a\n  Try: names that differ",
        ),
        (
            lambda: LTI([[1.0]], [[1.0]], states=["a"], inputs=["a"]),
            "A state and an input share a name.\n  both: a\n  Try: names that differ",
        ),
        (
            lambda: LTI([[1.0]], [[1.0]], [[3.6]], states=["speed"], outputs=["speed"]),
            "The output 'speed' has the name of another variable and is not equal to it.\n"
            "  Because results use names, and 'speed' would mean two things.\n"
            "  Try: outputs=['speed_out', ...]",
        ),
        (
            lambda: AIRCRAFT.select(states=["pitchrate"]),
            "The system has no state 'pitchrate'.\n  its states are forward, down, pitch_rate, pitch\n"
            "  Try: 'pitch_rate' or 'pitch'",
        ),
        (
            lambda: AIRCRAFT.step_response(),
            "Which input makes the step?\n  the inputs are elevator, thrust\n  Try: step_response(source='elevator')",
        ),
        (
            lambda: LTI([[-2.0]], [[1.0]]).transfer(-2.0),
            "The transfer function has a pole at s = -2.\n  Because s E - A is singular there.\n"
            "  Try: another s; system.poles() lists the poles",
        ),
        (
            lambda: AIRCRAFT.respond([0.0], start={"pitch": [1.0, 2.0]}),
            "The start of pitch is not usable.\n  got [1.0, 2.0]\n  Try: 1 finite number",
        ),
    ],
)
def test_refusals(call, text):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == text
