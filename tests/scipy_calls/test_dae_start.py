"""How near to consistent the start of `solve_dae` has to be, by the index of each component."""

import re

import numpy as np
import pytest

import daedalus as dd

G = 9.81


def pendulum(t, y, yp):
    x, h, vx, vy, force = y
    return [yp[0] - vx, yp[1] - vy, yp[2] + force * x, yp[3] + force * h + G, x**2 + h**2 - 1]


@pytest.mark.parametrize("method", ["radau3", "radau5", "radau9"])
@pytest.mark.parametrize("rtol", [1e-3, 1e-5, 1e-8])
def test_a_run_goes_on_from_its_own_end_and_back(method, rtol):
    """Velocities and the force in the rod are kept less well than the tolerance: that is no contradiction."""
    options = {"method": method, "rtol": rtol, "atol": 1e-3 * rtol}
    there = dd.solve_dae(pendulum, (0, 2), [1.0, 0, 0, 0, 0], **options)
    end = there.y[:, -1]
    on = dd.solve_dae(pendulum, (2, 2.5), end, **options)
    back = dd.solve_dae(pendulum, (2, 0), end, **options)
    assert on.success
    np.testing.assert_allclose(back.y[:4, -1], [1, 0, 0, 0], atol=200 * rtol)
    # What moved is told, and what begins lies on the rod.
    assert "y0 moved onto the constraints by up to" in on.reason
    x, h, vx, vy, force = on.y[:, 0]
    assert abs(x * vx + h * vy) < 1e-14
    assert force == pytest.approx(vx**2 + vy**2 - G * h, rel=1e-12)


@pytest.mark.parametrize(
    ("off", "refused"),
    [
        ([0, 0, 0, 0, 5e-3], False),  # within the cube root of the tolerance
        ([0, 0, 0, 0, 5e-2], True),
        ([0, 0, 5e-5, 0, 0], False),  # within its power 2/3
        ([0, 0, 5e-4, 0, 0], True),
        ([5e-7, 0, 0, 0, 0], False),
        ([5e-6, 0, 0, 0, 0], True),
    ],
)
def test_the_further_differentiated_the_looser(off, refused):
    y0 = np.array([1.0, 0, 0, 0, 0]) + off
    if not refused:
        found = dd.solve_dae(pendulum, (0, 0.1), y0, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(found.y[:, 0], [1, 0, 0, 0, 0], atol=1e-12)
        return
    with pytest.raises(dd.InconsistentStartError, match="y0 contradicts the equations"):
        dd.solve_dae(pendulum, (0, 0.1), y0, rtol=1e-6, atol=1e-6)


def test_a_contradiction_is_told_with_as_many_digits_as_it_takes():
    with pytest.raises(dd.InconsistentStartError) as caught:
        dd.solve_dae(pendulum, (0, 1), [0.6, -0.80000005, 0, 0, 9.81 * 0.8], rtol=1e-10, atol=1e-12)
    assert re.search(r"y0\[1\] = -0.8 is off by 3.2e-08: -0.80000001\d would fit", str(caught.value))


def called(t, y, yp):
    """The same, and nothing follows a number through texts."""
    return np.array(pendulum(t, [float(str(v)) for v in y], [float(str(v)) for v in yp]))


@pytest.mark.parametrize("rtol", [1e-3, 1e-6])
def test_a_function_that_is_called_goes_on_from_its_own_end(rtol):
    there = dd.solve_dae(called, (0, 1), [1.0, 0, 0, 0, 0], rtol=rtol, atol=rtol)
    on = dd.solve_dae(called, (1, 1.5), there.y[:, -1], rtol=rtol, atol=rtol)
    assert not on.traced
    assert on.success


@pytest.mark.parametrize("y0", [[1.0, 0, 0.3, 0, 0], [0.6, -0.8, 1.5, 0.2, 0], [0.6, -0.9, 1.5, 0.2, 0]])
def test_the_repaired_start_of_a_called_function_is_near(y0):
    """Positions on the circle and velocities along it, as near as those of the traced function."""
    found, other = (dd.solve_dae(F, (0, 0.01), y0, repair=True, rtol=1e-6, atol=1e-6) for F in (called, pendulum))
    assert (found.traced, other.traced) == (False, True)
    np.testing.assert_allclose(found.y[:4, 0], other.y[:4, 0], atol=1e-3)
    x, h, vx, vy, _ = found.y[:, 0]
    assert abs(x**2 + h**2 - 1) < 1e-6
    assert abs(x * vx + h * vy) < 1e-6
