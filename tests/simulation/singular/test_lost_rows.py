"""Every row of a run that stopped lies on all its constraints, hidden ones too; energy tells of velocities."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def slider_crank(rod=1.0):
    """Crank and rod of equal length: a singular configuration where both are upright."""
    m = dd.Model("slider")
    a = m.coordinate("a", start=0.5, rate=-1.0)
    b, s = m.coordinate("b", start=dd.guess(-0.5)), m.coordinate("s", start=dd.guess(1.7))
    energy = 0.5 * m.rate(a) ** 2 + 0.2 * m.rate(b) ** 2 + 0.5 * m.rate(s) ** 2
    m.kinetic_energy(energy)
    m.constraint("c", ca.vertcat(ca.cos(a) + rod * ca.cos(b) - s, ca.sin(a) + rod * ca.sin(b)))
    m.output("energy", energy)
    return m


def four_bar():
    """Lengths 1, 2, 2, 3: the bars can lie on one line."""
    m = dd.Model("four bar")
    q = m.coordinate("q", 3, start=[1.0, None, None], rate=[-2.0, None, None])
    energy = 0.5 * (m.rate(q)[0] ** 2 + 2 * m.rate(q)[1] ** 2 + m.rate(q)[2] ** 2)
    m.kinetic_energy(energy)
    x = ca.cos(q[0]) + 2 * ca.cos(q[1]) - 3 - 2 * ca.cos(q[2])
    m.constraint("c", ca.vertcat(x, ca.sin(q[0]) + 2 * ca.sin(q[1]) - 2 * ca.sin(q[2])))
    m.output("energy", energy)
    return m


def inverse():
    """x x' = -1 ends where x is zero."""
    m = dd.Model("inverse")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -1 / x)
    m.output("energy", x**2 / 2 + m.time)
    return m


METHODS = ["auto", "tsit5", "dop853", "radau3", "radau5", "radau9"]


@pytest.mark.parametrize("make", [slider_crank, four_bar, inverse], ids=lambda make: make.__name__)
@pytest.mark.parametrize("method", METHODS)
def test_all_rows_have_the_energy_of_the_start(make, method):
    rtol = 1e-6 if method in ("radau3", "radau9") else 1e-8
    tr = dd.simulate(make(), 5.0, method=method, rtol=rtol, atol=1e-3 * rtol)
    energy = tr["energy"] / tr["energy"][0] - 1
    assert np.abs(energy).max() < 1e-3
    assert abs(tr.end["energy"] / tr["energy"][0] - 1) < 1e-3
    if not tr.success:
        assert tr.end.time == tr.time[-1]
        assert np.isfinite(tr.at(tr.time[-1])["energy"])


def test_samples_and_the_end_too():
    tr = dd.simulate(inverse(), 5.0, method="radau5", save_at=np.linspace(0, 5, 101), atol=1e-9)
    assert not tr.success
    assert np.abs(tr["energy"] / tr["energy"][0] - 1).max() < 1e-3
    assert abs(tr.end["energy"] / tr["energy"][0] - 1) < 1e-3
