"""SciPy's implicit methods by their names, and what is handed over to SciPy as it is."""

import subprocess
import sys

import numpy as np
import pytest
import right_hand_sides
import scipy.integrate

from daedalus.scipy_calls.ivp_settings import IMPLICIT
from daedalus.scipy_calls.solve_ivp import solve_ivp


def oscillator(t, y):
    return [y[1], -y[0]]


def robertson(t, y, k):
    slow, fast = k[0] * y[0], k[1] * y[1] ** 2
    back = k[2] * y[1] * y[2]
    return [-slow + back, slow - back - fast, fast]


@pytest.mark.parametrize("name", ["Radau", "BDF", "LSODA"])
def test_implicit_methods_run_in_the_core(name):
    options = {"method": name, "rtol": 1e-6, "atol": 1e-10, "t_eval": [40.0], "args": ((0.04, 3e7, 1e4),)}
    found = solve_ivp(robertson, (0, 40), [1, 0, 0], **options)
    assert (found.traced, found.reason, found.method) == (True, "traced", IMPLICIT[name])
    assert min(found.njev, found.nlu) > 0
    assert "yp" not in found
    # Hairer and Wanner, Solving ODEs II, IV.10: the ROBER problem at t = 40.
    np.testing.assert_allclose(found.y[:, 0], [0.7158270688, 9.185534764e-6, 0.2841637457], rtol=1e-4)


def test_large_stiff_systems_agree_with_scipy():
    def heat(t, y):
        dy = np.zeros_like(y)
        dy[1:-1] = 1e3 * (y[:-2] - 2 * y[1:-1] + y[2:])
        return dy

    start = np.r_[0.0, np.sin(np.linspace(0, np.pi, 80))[1:-1], 0.0]
    found = solve_ivp(heat, (0, 0.05), start, method="BDF", rtol=1e-6, atol=1e-9)
    radau = solve_ivp(heat, (0, 0.05), start, method="Radau", rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(radau.y[:, -1], found.y[:, -1], atol=1e-5)
    theirs = scipy.integrate.solve_ivp(heat, (0, 0.05), start, method="BDF", rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.y[:, -1], theirs.y[:, -1], atol=1e-5)
    assert found.success
    assert found.njev > 0
    assert found.nlu > 0


def test_own_jacobian_is_used_where_there_is_no_exact_one():
    calls = []
    found = solve_ivp(
        right_hand_sides.prints_nothing, (0, 1), [1.0], method="Radau", jac=lambda t, y: calls.append(t) or [[-1.0]]
    )
    assert calls
    assert found.method == "SciPy Radau"


def test_untraceable_functions_in_implicit_methods():
    found = solve_ivp(right_hand_sides.prints_nothing, (0, 1), [1.0], method="Radau")
    assert not found.traced
    assert found.reason == "called as a Python function by SciPy's Radau: it prints"


def test_radau_in_the_core_keeps_scipys_call():
    def falling(t, y):
        return y[0]

    falling.terminal = True
    options = {"method": "Radau", "rtol": 1e-8, "atol": 1e-10, "events": falling, "dense_output": True}
    found = solve_ivp(oscillator, (0, 10), [1, 0], **options, jac=None)
    assert (found.status, found.method) == (1, "radau5")
    assert found.t[-1] == pytest.approx(np.pi / 2, abs=1e-7)
    np.testing.assert_allclose(found.sol(1.0), [np.cos(1), -np.sin(1)], atol=1e-7)
    assert found.y_events[0].shape == (1, 2)
    endless = solve_ivp(oscillator, (0, np.inf), [1, 0], **options)
    assert endless.t[-1] == pytest.approx(np.pi / 2, abs=1e-7)


def test_own_implicit_names_take_functions_that_cannot_be_traced():
    found = solve_ivp(right_hand_sides.prints_nothing, (0, 1), [1.0], method="radau5", rtol=1e-8, atol=1e-10)
    assert (found.traced, found.method) == (False, "radau5")
    assert found.reason == "called as a Python function: it prints"
    theirs = scipy.integrate.solve_ivp(right_hand_sides.prints_nothing, (0, 1), [1.0], rtol=1e-9, atol=1e-11)
    assert found.y[0, -1] == pytest.approx(theirs.y[0, -1], rel=1e-6)


def test_complex_values_are_handed_over():
    found = solve_ivp(lambda t, y: 1j * y, (0, 1), [1 + 0j], rtol=1e-8)
    assert found.y[0, -1] == pytest.approx(np.exp(1j), abs=1e-6)
    assert (found.reason, found.traced) == ("handed to SciPy: y0 is complex", False)


def test_solver_classes_are_handed_over():
    found = solve_ivp(oscillator, (0, 1), [1, 0], method=scipy.integrate.RK45)
    assert found.reason == "handed to SciPy: RK45 is a solver class of its own"


def test_rtol_for_each_component_is_handed_over():
    found = solve_ivp(oscillator, (0, 1), [1, 0], rtol=[1e-3, 1e-6])
    assert found.success
    assert "rtol has one value for each component" in found.reason


def test_no_unknowns():
    assert solve_ivp(lambda t, y: y, (0, 1), []).y.shape[0] == 0


def test_scipy_is_not_imported_for_explicit_methods():
    code = (
        "import sys\nfrom daedalus.scipy_calls.solve_ivp import solve_ivp\n"
        "found = solve_ivp(lambda t, y: -y, (0, 1), [1.0], events=lambda t, y: y[0] - 0.5, dense_output=True)\n"
        "assert found.traced and found.sol(0.5) > 0, found.reason\n"
        "print([name for name in sys.modules if name.split('.')[0] == 'scipy'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
