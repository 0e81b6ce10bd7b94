"""Linear systems from coefficients, transfer functions, zeros and poles; optimal gains with E handled."""

from importlib.util import find_spec

import numpy as np
import pytest

import daedalus as dd


@pytest.mark.document("004", "(7), (8): a_n x⁽ⁿ⁾ + … + a_0 x = f and its normal form", "`dd.LTI.from_coefficients`")
def test_the_equation_of_document_004():
    """(7) a_n x⁽ⁿ⁾ + ... + a_0 x = f and (8), its normal form."""
    system = dd.LTI.from_coefficients([2.0, 3.0, 5.0, 7.0])
    assert system.states == ("x", "x_dot", "x_ddot")
    assert system.A[-1].tolist() == [-3.5, -2.5, -1.5]
    s = 0.3 + 1.1j
    assert system.transfer(s)[0, 0] == pytest.approx(1 / (2 * s**3 + 3 * s**2 + 5 * s + 7))
    with pytest.raises(dd.InputError, match="a_n, the first of them, multiplies the highest derivative"):
        dd.LTI.from_coefficients([0.0, 1.0, 2.0])


@pytest.mark.parametrize(
    ("top", "bottom"), [([3.0], [2.0, 1.0]), ([1, 2, 3], [4, 5, 6]), ([1.0, 0], [1, 0, 4, 1]), ([2.0], [4.0])]
)
def test_transfer_functions(top, bottom):
    s = np.array([0.3 + 1.1j, 2.0])
    expected = np.polyval(top, s) / np.polyval(bottom, s)
    assert dd.LTI.from_transfer_function(top, bottom).transfer(s)[:, 0, 0] == pytest.approx(expected)
    assert dd.DescriptorSystem.from_transfer_function(top, bottom).transfer(s)[:, 0, 0] == pytest.approx(expected)


def test_improper_transfer_functions_are_descriptor_systems():
    top, bottom = [1.0, 2.0, 3.0, 4.0], [1.0, 5.0]
    system, s = dd.DescriptorSystem.from_transfer_function(top, bottom), 0.7j
    assert system.transfer(s)[0, 0] == pytest.approx(np.polyval(top, s) / np.polyval(bottom, s))
    assert system.index == 3
    with pytest.raises(dd.InputError) as caught:
        dd.LTI.from_transfer_function(top, bottom)
    assert "the numerator is of degree 3, the denominator of 1" in str(caught.value)
    times = np.linspace(0.0, 1.0, 5)
    derivative = dd.DescriptorSystem.from_transfer_function([1.0, 0.0], [1.0])
    assert derivative.respond(times, lambda t: t**2)["y"] == pytest.approx(2 * times, abs=1e-9)


def test_zeros_and_poles():
    system = dd.LTI.from_zeros_poles([-3.0], [-1 + 2j, -1 - 2j, -4.0], gain=5.0)
    assert sorted(system.poles(), key=lambda p: (p.real, p.imag)) == pytest.approx([-4.0, -1 - 2j, -1 + 2j])
    assert system.zeros() == pytest.approx([-3.0])
    assert system.transfer(1.0)[0, 0] == pytest.approx(5 * 4 / (8 * 5))
    with pytest.raises(dd.InputError, match="The poles do not belong to a real system"):
        dd.LTI.from_zeros_poles([], [1j])


def test_models_from_matrices():
    E, A, B, C, D = [[1, 0], [0, 0]], [[-2, 1], [1, -1]], [1, 0], [[0, 1]], [[2.0]]
    m = dd.Model.from_matrices(E, A, B, C, D, start=[0.5, None])
    lin = dd.linearise(m)
    for name, value in zip("EABCD", (E, A, np.reshape(B, (2, 1)), C, D)):
        assert getattr(lin, name) == pytest.approx(np.array(value, dtype=float))
    tr = dd.simulate(m, 1.0, inputs={"u": 1.0}, rtol=1e-9)
    assert tr["y"][-1] == pytest.approx(1 - 0.5 * np.exp(-1) + 2.0, abs=1e-7)
    scalar = dd.Model.from_matrices(None, [[-1.0]], start=2.0)
    assert dd.simulate(scalar, 1.0, rtol=1e-9)["x"][-1] == pytest.approx(2 * np.exp(-1), abs=1e-7)
    with pytest.raises(dd.ModelError, match=r"The matrix B does not fit.\n  it is 3 × 1, it should be 2 × any"):
        dd.Model.from_matrices(E, A, [1, 2, 3])
    with pytest.raises(dd.ModelError, match="there is no B, and so no input"):
        dd.Model.from_matrices(E, A, None, C, D)


def riccati_residual(A, B, Q, R, P):
    return A.T @ P + P @ A - P @ B @ np.linalg.solve(R, B.T @ P) + Q


def test_feedback_solves_riccatis_equation():
    system = dd.LTI([[0, 1], [3, 0]], [0, 1], states=["angle", "rate"])
    best = system.lqr(Q=[1.0, 2.0], R=0.5)
    assert riccati_residual(system.A, system.B, np.diag([1.0, 2.0]), np.array([[0.5]]), best.P) == pytest.approx(
        0.0, abs=1e-9
    )
    assert np.all(best.poles.real < 0)
    assert pytest.approx(best.K) == system.lqr(Q={"angle": 1.0, "rate": 2.0}, R=0.5).K
    with pytest.raises(dd.SolverError, match="no optimal feedback"):
        dd.LTI([[1.0, 0], [0, -1]], [0, 1]).lqr()


def test_e_is_handled():
    """E x' = A x + B u with E invertible, and with an algebraic variable that is weighed."""
    A, B, E = np.array([[0.0, 1.0], [3.0, 0.0]]), np.array([[0.0], [1.0]]), np.array([[2.0, 0.5], [0.0, 1.5]])
    plain = dd.LTI(A, B).lqr(Q=[1.0, 2.0])
    assert pytest.approx(plain.K) == dd.DescriptorSystem(E, E @ A, E @ B).lqr(Q=[1.0, 2.0]).K
    # z = x + u: z² + u² is x² + 2 x u + 2 u².
    dae = dd.DescriptorSystem([[1, 0], [0, 0]], [[1, 0], [1, -1]], [1, 1], states=["x", "z"])
    best = dae.lqr(Q={"z": 1.0}, R=1.0)
    assert best.states == ("x",)
    # With x' = x + u, cost P x²: 2 P + 1 - (P + 1)² / 2 = 0, K = (P + 1) / 2.
    P = 1 + np.sqrt(2.0)
    assert best.P[0, 0] == pytest.approx(P)
    assert best.K[0, 0] == pytest.approx((P + 1) / 2)


def test_observers():
    cart = dd.LTI([[0, 1], [0, 0]], [0, 1], [1, 0], states=["x", "v"])
    seen = cart.kalman({"v": 4.0}, 1.0)
    assert riccati_residual(cart.A.T, cart.C.T, np.diag([0.0, 4.0]), np.eye(1), seen.P) == pytest.approx(0.0, abs=1e-9)
    assert np.all(seen.poles.real < 0)
    E = np.array([[2.0, 0.5], [0.0, 1.5]])
    twin = dd.DescriptorSystem(E, E @ cart.A, E @ cart.B, cart.C, states=["x", "v"])
    assert pytest.approx(seen.L) == twin.kalman({"v": 4.0}, 1.0).L
    with pytest.raises(dd.SolverError, match="no optimal observer"):
        dd.LTI([[1.0, 0], [0, -1]], None, [0, 1]).kalman()


def test_sampled_gains_approach_continuous_ones():
    cart = dd.LTI([[0, 1], [0, 0]], [0, 1], [1, 0])
    h = 1e-3
    fine = cart.discretise(h)
    assert pytest.approx(cart.lqr().K, abs=5e-3) == fine.lqr(Q=h, R=h).K
    with pytest.raises(dd.InputError, match="need held inputs"):
        cart.discretise(h, hold="linear").lqr()
    assert fine.kalman(h, 1 / h).L / h == pytest.approx(cart.kalman().L, abs=5e-3)


@pytest.mark.skipif(find_spec("control") is None, reason="python-control is not installed")
def test_python_control_takes_over_from_there():
    import control

    lin = dd.DescriptorSystem([[1, 0], [0, 0]], [[-2, 1], [1, -1]], [1, 0])
    assert control.poles(lin.to_control()) == pytest.approx([-1.0])
    sampled = lin.discretise(0.1).to_control()
    assert sampled.dt == 0.1
