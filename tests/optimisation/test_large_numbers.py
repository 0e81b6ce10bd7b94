"""Problems in small units: numbers of 1e9 where nobody wrote a nominal value."""

import numpy as np
import pytest

import daedalus as dd


def moved(size: float) -> dd.OptimalControl:
    """A cart with drag is brought to a place at rest with the least effort."""
    m = dd.Model("cart")
    x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
    m.equation(m.der(x), v)
    m.equation(m.der(v), u - 0.1 * v)
    ocp = dd.OptimalControl(m, 1.0, intervals=20)
    ocp.start()
    ocp.finish({"x": size, "v": 0.0})
    ocp.minimise(running=u**2)
    return ocp


@pytest.mark.parametrize("size", [1e9, -3e10])
def test_a_plan_does_not_hang_on_units(size: float) -> None:
    usual, large = moved(1.0).solve(), moved(size).solve()
    assert large.success, large
    assert large.objective == pytest.approx(usual.objective * size**2, rel=1e-6)
    np.testing.assert_allclose(large["u"] / size, usual["u"], rtol=1e-4, atol=1e-4)
    assert large.iterations > 0
