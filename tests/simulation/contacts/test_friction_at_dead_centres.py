"""Friction where its force cannot move what it acts on: at dead centres, and forces that enter no equation."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import daedalus as dd

ROD, CRANK_INERTIA, LEVEL = 2.0, 0.3, 0.5


def slope_of_slider(angle):
    """dx/dφ of the slider of a crank of length 1."""
    return -np.sin(angle) - np.sin(angle) * np.cos(angle) / np.sqrt(ROD**2 - np.sin(angle) ** 2)


def slider_crank(angle, speed, torque):
    """A crank that drives a slider with dry friction."""
    m = dd.Model("slider crank with friction")
    place = np.cos(angle) + np.sqrt(ROD**2 - np.sin(angle) ** 2)
    q = m.coordinate("q", 2, start=[angle, place], rate=[speed, slope_of_slider(angle) * speed])
    m.kinetic_energy(0.5 * (CRANK_INERTIA * m.rate(q)[0] ** 2 + m.rate(q)[1] ** 2))
    m.constraint("rod", (q[1] - ca.cos(q[0])) ** 2 + ca.sin(q[0]) ** 2 - ROD**2)
    m.force(ca.vertcat(torque, m.friction("slide", m.rate(q)[1], kinetic=LEVEL)), at=q)
    return m


def angle_by_one_coordinate(angle, speed, torque, end):
    """The angle of the crank from its own equation of motion, where the crank turns one way."""
    forward = np.sign(speed or torque)

    def slopes(_, y):
        slope, d = slope_of_slider(y[0]), 1e-5
        bent = (slope_of_slider(y[0] + d) - slope_of_slider(y[0] - d)) / (2 * d)
        force = torque - LEVEL * abs(slope) * forward - slope * bent * y[1] ** 2
        return [y[1], force / (CRANK_INERTIA + slope**2)]

    return solve_ivp(slopes, (0, end), [angle, speed], rtol=1e-8, atol=1e-9, max_step=0.01).y[0, -1]


@pytest.mark.parametrize("method", ["auto", "radau5"])
@pytest.mark.parametrize(("angle", "speed", "torque"), [(0.0, 0.0, 1.0), (np.pi, 2.0, 0.6), (0.0, 3.0, 0.0)])
def test_a_slider_with_friction_leaves_its_dead_centre(method, angle, speed, torque):
    tr = dd.simulate(slider_crank(angle, speed, torque), 1.2, method=method)
    assert tr.success
    assert tr.end["q"][0] == pytest.approx(angle_by_one_coordinate(angle, speed, torque, 1.2), abs=2e-5)


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_friction_along_a_rod_neither_holds_nor_is_refused(method):
    """Its force moved its speed by rounding, of either sign: two ways to go on, or the wrong way round."""
    for angle in np.random.default_rng(3).uniform(0, 2 * np.pi, 5):
        m, along = dd.Model("pendulum"), np.array([np.cos(angle), np.sin(angle)])
        q = m.coordinate("q", 2, start=along)
        m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
        m.potential_energy(9.81 * q[1])
        m.constraint("rod", ca.sumsqr(q) - 1)
        m.force(m.friction("f", ca.dot(along, m.rate(q)), kinetic=0.5) * along, at=q)
        tr = dd.simulate(m, 0.6, method=method)
        assert tr.success, tr.stop_reason
        power = tr["f"] * (tr["q_dot"] @ along)
        assert power.max() < 1e-9
        # The angle from its own equation, θ'' = -g cos θ - f sin(θ - angle).

        def slopes(_, y, angle=angle):
            speed = -y[1] * np.sin(y[0] - angle)
            return [y[1], -9.81 * np.cos(y[0]) + 0.5 * np.sign(speed) * np.sin(y[0] - angle)]

        end = solve_ivp(slopes, (0, 0.6), [angle, 0.0], rtol=1e-9, atol=1e-10, max_step=0.005).y[0, -1]
        assert tr.end["q"] == pytest.approx([np.cos(end), np.sin(end)], abs=2e-5)


def test_a_friction_whose_force_enters_no_equation_is_refused():
    m = dd.Model("block")
    x, v = m.state("x", start=0.0), m.state("v", start=1.0)
    force = m.friction("floor", v, kinetic=0.4)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -x, name="motion")
    with pytest.raises(dd.ModelError) as error:
        dd.simulate(m, 1.0)
    assert str(error.value).splitlines() == [
        "The force of the friction 'floor' enters no equation.",
        "  Because m.friction returns a force, which acts where you add it.",
        "  Try: force = m.friction('floor', ...) and + force in an equation of motion, or m.force(force, at=...) for a "
        "coordinate",
    ]
    mended = dd.Model("block")
    x, v = mended.state("x", start=0.0), mended.state("v", start=1.0)
    force = mended.friction("floor", v, kinetic=0.4)
    mended.equation(mended.der(x), v)
    mended.equation(mended.der(v), -x + force)
    assert dd.simulate(mended, 1.0).success


def test_a_friction_of_a_coordinate_without_its_force_is_refused():
    m = dd.Model("sledge")
    x = m.coordinate("x", start=0.0, rate=1.0)
    m.kinetic_energy(0.5 * m.rate(x) ** 2)
    force = m.friction("floor", m.rate(x), kinetic=0.4)
    with pytest.raises(dd.ModelError, match="enters no equation"):
        dd.simulate(m, 1.0)
    m.force(force, at=x)
    assert dd.simulate(m, 1.0).end["x"] == pytest.approx(0.8, rel=1e-6)
