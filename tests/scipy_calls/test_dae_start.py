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


def as_text(values):
    """Numbers taken through text, which nobody can trace."""
    return np.array([float(str(v)) for v in values])


def disguised(seed):
    """x' = f(t, x) beside w = g(t, x), with its derivative at index 2 and equations mixed; an exact start."""
    draw = np.random.default_rng(seed)
    n, index = int(draw.integers(1, 4)), 1 + seed % 2
    matrix, forced, along = draw.normal(size=(n, n)), draw.normal(size=n), draw.normal(size=n)
    steep, mixed = 10 ** draw.uniform(-2, 2), draw.normal(size=(n + index, n + index))
    t0, x0 = 0.3, draw.normal(size=n) * 10 ** draw.uniform(-1, 1)

    def f(t, x):
        return matrix @ np.sin(x) + forced * np.cos(t)

    def g(t, x):
        return np.tanh(along @ x) + np.sin(t) * x[0] + steep * x[0] ** 2

    def equations(t, y, yp):
        y, yp = as_text(y), as_text(yp)
        moved = [yp[n] - y[n + 1]] if index == 2 else []
        return mixed @ np.concatenate([yp[:n] - f(t, y[:n]), moved, [y[n] - g(t, y[:n])]])

    rate = f(t0, x0)
    slope = (1 - np.tanh(along @ x0) ** 2) * (along @ rate) + 2 * steep * x0[0] * rate[0]
    slope += np.cos(t0) * x0[0] + np.sin(t0) * rate[0]
    return equations, t0, np.concatenate([x0, [g(t0, x0)], [slope] if index == 2 else []])


def swinging(seed):
    """A pendulum of any length with the force of its rod; an exact start."""
    draw = np.random.default_rng(seed)
    length, weight = 10 ** draw.uniform(-1, 1), 10 ** draw.uniform(0, 1.5)
    angle, speed = draw.uniform(0, 2 * np.pi), 2 * draw.normal()

    def equations(t, y, yp):
        y, yp = as_text(y), as_text(yp)
        q, v = y[:2], y[2:4]
        return np.concatenate([yp[:2] - v, yp[2:4] + y[4] * q + [0, weight], [q @ q - length**2]])

    q = length * np.array([np.cos(angle), np.sin(angle)])
    v = length * speed * np.array([-np.sin(angle), np.cos(angle)])
    return equations, 0.0, np.concatenate([q, v, [(v @ v - weight * q[1]) / length**2]])


@pytest.mark.parametrize("rtol", [1e-3, 1e-8])
@pytest.mark.parametrize("make", [disguised, swinging])
def test_exact_starts_of_functions_that_are_called_are_taken_as_they_are(make, rtol):
    for seed in (4, 6, 19, 32, 40, 51, 55, 59):
        function, t0, y0 = make(seed)
        for repair in (False, True):
            found = dd.solve_dae(function, (t0, t0 + 0.01), y0, rtol=rtol, atol=1e-2 * rtol, repair=repair)
            assert not found.traced
            np.testing.assert_array_equal(found.y[:, 0], y0)
        off = y0 + np.where(np.arange(len(y0)) == len(y0) - 1, 0, 0.1 * np.maximum(1, np.abs(y0)))
        with pytest.raises(dd.InconsistentStartError):
            dd.solve_dae(function, (t0, t0 + 0.01), off, rtol=1e-8, atol=1e-10)
