"""`solve_ivp` gives SciPy's answers for functions as SciPy's users write them, and says how a run failed."""

import _thread
import threading

import numpy as np
import pytest
import right_hand_sides
import scipy.integrate
from right_hand_sides import STYLES, with_args

from daedalus.scipy_calls.solve_ivp import solve_ivp


def oscillator(t, y):
    return [y[1], -y[0]]


def without_writing(t, y):
    return -0.5 * y + np.array([1.0, 0.0])


@pytest.fixture(autouse=True)
def switches_off():
    right_hand_sides.SWITCHES["mode"] = 1.0


def reference(style, **options):
    """SciPy at tight tolerance with short steps, so that kinks cost nothing."""
    right_hand_sides.SWITCHES["mode"] = 1.0
    # SciPy itself goes wrong where a function writes into its y.
    fun = without_writing if style.name == "writes_into_y" else style.fun
    return scipy.integrate.solve_ivp(fun, (0, style.t_end), style.y0, args=style.args, **style.options, **options)


class TestStyles:
    @pytest.mark.parametrize("style", STYLES, ids=str)
    def test_tight_tolerance_agrees_with_scipy(self, style):
        times = np.linspace(0, style.t_end, 9)
        tight = {"rtol": 1e-9, "atol": 1e-11, "t_eval": times}
        expected = reference(style, **tight, max_step=0.05)
        right_hand_sides.SWITCHES["mode"] = 1.0
        found = solve_ivp(style.fun, (0, style.t_end), style.y0, args=style.args, **style.options, **tight)
        assert found.success
        assert found.traced == style.traced, found.reason
        assert np.all(np.isfinite(found.y))
        assert np.array_equal(found.t, times)
        np.testing.assert_allclose(found.y, expected.y, rtol=style.tolerance, atol=style.tolerance)

    @pytest.mark.parametrize("style", STYLES, ids=str)
    def test_default_tolerance_is_as_good_as_scipys(self, style):
        exact = reference(style, rtol=1e-9, atol=1e-11, max_step=0.05).y[:, -1]
        theirs = reference(style).y[:, -1]
        right_hand_sides.SWITCHES["mode"] = 1.0
        ours = solve_ivp(style.fun, (0, style.t_end), style.y0, args=style.args, **style.options)
        scale = 1e-6 + 1e-3 * np.max(np.abs(ours.y), axis=1)
        error, usual = np.max(np.abs(ours.y[:, -1] - exact) / scale), np.max(np.abs(theirs - exact) / scale)
        assert error < max(40.0, 3.0 * usual), (error, usual)

    def test_at_least_fifteen_in_twenty_are_traced(self):
        assert sum(style.traced for style in STYLES) >= 0.75 * len(STYLES)

    def test_effects_really_happen(self):
        right_hand_sides.CALLS[0] = 0
        found = solve_ivp(right_hand_sides.counts_its_calls, (0, 1), [1.0])
        assert right_hand_sides.CALLS[0] >= found.nfev
        assert found.reason == "called as a Python function: it changes CALLS"

    def test_own_memory_is_kept(self):
        found = solve_ivp(right_hand_sides.remembers, (0, 4), [1.0], rtol=1e-8, max_step=0.01)
        # e^-t down to 1/2, then twice as fast.
        assert found.y[0, -1] == pytest.approx(0.5 * np.exp(-2 * (4 - np.log(2))), rel=0.05)


class TestFailures:
    def test_blow_up(self):
        found = solve_ivp(lambda t, y: y**2, (0, 2), [1.0])
        assert (found.status, found.success) == (-1, False)
        assert found.message == (
            "Required step size is less than spacing between numbers. "
            f"The run stopped at t = {found.stop.time:.6g}, because of y[0]."
        )
        assert (found.stop.ending, found.stop.variables) == ("step_too_small", ("y[0]",))
        assert found.t[-1] == pytest.approx(1.0, abs=1e-3)
        assert np.all(np.isfinite(found.y))

    def test_leaving_the_domain_names_the_component(self):
        found = solve_ivp(lambda t, y: [1.0, -np.sqrt(y[1]) - 1], (0, 2), [0.0, 1.0])
        assert found.status == -1
        assert np.all(np.isfinite(found.y))
        assert found.stop.time == pytest.approx(2 - 2 * np.log(2), abs=0.01)
        assert found.message == (
            f"The run stopped at t = {found.stop.time:.6g}: the derivative of y[1] is not finite there."
        )

    def test_nan_at_the_start(self):
        with np.errstate(all="ignore"):
            found = solve_ivp(lambda t, y: np.log(-y), (0, 2), [1.0], dense_output=True)
        assert found.status == -1
        assert not found.traced
        assert "its value at the start is not finite" in found.reason
        assert np.array_equal(found.t, [0.0])
        assert np.array_equal(found.sol(0.0), [1.0])

    @pytest.mark.parametrize("error", [RuntimeError("boom"), KeyError("k"), KeyboardInterrupt()])
    def test_errors_in_the_middle_pass_through(self, error):
        def breaks(t, y):
            if t > 0.5:
                raise error
            return -y

        with pytest.raises(type(error)):
            solve_ivp(breaks, (0, 1), [1.0])

    def test_errors_at_the_start_pass_through(self):
        def undefined(t, y):
            return missing * y  # noqa: F821

        with pytest.raises(NameError, match="missing"):
            solve_ivp(undefined, (0, 1), [1.0])
        with pytest.raises(ZeroDivisionError):
            solve_ivp(lambda t, y: [1.0 / t], (0, 1), [1.0])
        with pytest.raises(TypeError, match="positional argument"):
            solve_ivp(with_args, (0, 1), [1.0, 1.0])

    def test_the_keyboard_interrupts_a_compiled_run(self):
        timer = threading.Timer(0.3, _thread.interrupt_main)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            solve_ivp(oscillator, (0, 1e9), [1, 0], rtol=1e-10, t_eval=[1e9])
        timer.join()
