"""Rosenbrock methods where what stands before the derivatives moves: slopes as unknowns keep the order."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def cone():
    """A tank whose area grows with the level, with an algebraic outflow that time drives."""
    m = dd.Model("cone")
    h, z = m.state("h", start=1.0), m.algebraic("z", start=0.3)
    m.equation(h**2 * m.der(h), -z * h)
    m.equation(z, 0.3 + 0.1 * ca.sin(m.time) * h)
    return m


def squared():
    """A slope that enters by its square, before a factor of time."""
    m = dd.Model("squared")
    h = m.state("h", start=0.4)
    m.equation(m.der(h) ** 2 + 2 * m.der(h) * ca.exp(m.time), -h * ca.cos(m.time))
    return m


def linked():
    """Two charges that depend on both voltages, and a third that time moves."""
    m = dd.Model("linked")
    h, v = m.state("h", start=0.5), m.state("v", start=-0.2)
    w = m.state("w", start=0.1)
    m.equation((1 + h**2) * m.der(h) + ca.sin(v) * m.der(v), -h)
    m.equation(h * v * m.der(h) + (2 + v) * m.der(v), ca.cos(m.time) - v)
    m.equation((1 + m.time) * m.der(w), h - w)
    return m


@pytest.mark.parametrize("build", [cone, squared, linked])
@pytest.mark.parametrize(("method", "order"), [("rodas4", 4), ("rodas5p", 5)])
def test_order_of_rosenbrock_methods_with_a_moving_mass(build, method, order):
    m = build()
    exact = dd.simulate(m, 1.0, method="radau9", step=1 / 100)["h"][-1]
    coarse, fine = (abs(dd.simulate(m, 1.0, method=method, step=1 / n)["h"][-1] - exact) for n in (20, 40))
    assert np.log2(coarse / fine) > order - 0.5
    assert fine < 1e-8


def test_slopes_of_a_moving_mass_obey_the_equations():
    tr = dd.simulate(cone(), 1.0, method="rodas5p", rtol=1e-6)
    h, z, slope = (np.array(tr[name]) for name in ("h", "z", "h_dot"))
    assert np.abs(h**2 * slope + z * h).max() < 1e-6


def test_charge_of_a_floating_node_is_kept():
    """Two diodes back to back hold a node that nothing else feeds: its charge changes by what leaks."""
    text = """floating node
V1 a 0 SIN(0 3 1meg)
D1 a f dm
D2 b f dm
R1 b 0 50
.model dm D(IS=1e-14 CJO=10p VJ=0.8 M=0.4 TT=5n)
"""
    m = dd.components.from_spice(text)
    kept = {}
    for method, rtol in (("radau5", 1e-9), ("rodas5p", 1e-5), ("rodas5p", 1e-8), ("bdf", 1e-7)):
        tr = dd.simulate(m, 20e-6, method=method, rtol=rtol, atol=1e-3 * rtol)
        assert tr.success, tr.stop_reason
        charge = np.array(tr["d1.charge"]) + np.array(tr["d2.charge"])
        kept[method, rtol] = charge[-1]
    exact = kept.pop(("radau5", 1e-9))
    for (method, rtol), value in kept.items():
        assert abs(value - exact) < 30 * rtol * 3e-11, (method, rtol, value, exact)  # 10 pF at 3 V
