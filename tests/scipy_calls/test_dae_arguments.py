"""What `solve_dae` refuses in its own words, and what it takes as SciPy does."""

import numpy as np
import pytest
import scipy.sparse

import daedalus as dd


def decay(t, y, yp):
    return [yp[0] + y[0], y[1] - y[0]]


def number(value):
    """Hides a value from tracing."""
    return float(str(value))


def test_complex_values_are_refused_and_not_cut_to_their_real_parts():
    for F in (
        lambda t, y, yp: [yp[0] + 1j * y[0], y[1] - y[0]],
        lambda t, y, yp: np.array([yp[0] + 1j * y[0], y[1] - y[0]]),
        lambda t, y, yp: [complex(number(yp[0]), 0), 0.0],
    ):
        with pytest.raises(ValueError, match="`F` returns complex numbers") as caught:
            dd.solve_dae(F, (0, 1), [1.0, 1.0])
        assert "Try: real and imaginary parts as equations of their own" in str(caught.value)


@pytest.mark.parametrize("rtol", [-1.0, 0.0, float("nan")])
def test_a_relative_tolerance_below_zero_is_no_wish_for_rounding(rtol):
    with pytest.raises(ValueError, match="`rtol` must be positive"):
        dd.solve_dae(decay, (0, 1), [1.0, 1.0], rtol=rtol)


def test_an_absolute_tolerance_of_zero():
    for method in ("Radau", "BDF", "rodas5p"):
        found = dd.solve_dae(
            lambda t, y: [y[1], -y[0], y[2] - y[0]], (0, 1), [1.0, 0, 1], mass=np.diag([1.0, 1, 0]),
            method=method, rtol=1e-6, atol=0,
        )  # fmt: skip
        assert found.success, found.message
        np.testing.assert_allclose(found.y[:, -1], [np.cos(1), -np.sin(1), np.cos(1)], rtol=1e-4)


def test_an_equation_that_no_unknown_is_left_in():
    with pytest.raises(dd.SingularModelError) as caught:
        dd.solve_dae(lambda t, y, yp: [yp[0] + y[0], 0 * y[1] + y[0] - y[0]], (0, 1), [1.0, 0])
    assert str(caught.value) == (
        "F[1] contains no component of y or y'.\n"
        "  it is 0 whatever they are\n"
        "  Because its terms cancel or are multiplied by zero.\n"
        "  Try: as many independent equations as components"
    )


def test_an_index_given_too_low_is_told():
    def pendulum(t, y, yp):
        x, h, vx, vy, force = y
        return [yp[0] - vx, yp[1] - vy, yp[2] + force * x, yp[3] + force * h + 9.81, x**2 + h**2 - 1]

    low = dd.solve_dae(pendulum, (0, 1), [1.0, 0, 0, 0, 0], index=2, rtol=1e-6, atol=1e-6)
    assert (low.index, low.reason) == (2, "traced; index as given; by the equations it is 3")
    right = dd.solve_dae(pendulum, (0, 1), [1.0, 0, 0, 0, 0], index=3, rtol=1e-6, atol=1e-6)
    assert right.success
    assert right.reason == "traced; index as given"


@pytest.mark.parametrize("kind", [np.array, list, scipy.sparse.csr_matrix], ids=["array", "list", "sparse"])
def test_a_constant_jacobian_beside_a_mass(kind):
    def right_side(t, y):
        return [-number(y[0]), number(y[1]) - number(y[0])]

    jac = kind([[-1.0, 0.0], [-1.0, 1.0]])
    found = dd.solve_dae(right_side, (0, 1), [1.0, 1.0], mass=np.diag([1.0, 0]), jac=jac, rtol=1e-6, atol=1e-9)
    assert not found.traced
    np.testing.assert_allclose(found.y[:, -1], np.exp(-1), rtol=1e-5)
    with pytest.raises(ValueError, match="A Jacobian has the wrong shape"):
        dd.solve_dae(right_side, (0, 1), [1.0, 1.0], mass=np.diag([1.0, 0]), jac=kind([[1.0]]))
