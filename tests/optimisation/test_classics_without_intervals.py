"""Classics as someone new writes them: no intervals, no guess, inputs of the default kind."""

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import fsolve
from tests.support.optima import ode

import daedalus as dd


def aircraft() -> dd.OptimalControl:
    # W. L. Garrard, J. M. Jordan (1977), with the numbers of mintOC's "F-8 aircraft": 3.78086.
    def rates(a, b, c, w):
        lift = -0.877 * a + c - 0.088 * a * c + 0.47 * a**2 - 0.019 * b**2 - a**2 * c + 3.846 * a**3
        pitch = -4.208 * a - 0.396 * c - 0.47 * a**2 - 3.564 * a**3
        return [
            lift - 0.215 * w + 0.28 * a**2 * w + 0.47 * a * w**2 + 0.63 * w**3,
            c,
            pitch - 20.967 * w + 6.265 * a**2 * w + 46.0 * a * w**2 + 61.4 * w**3,
        ]

    m, *_ = ode("a b c", "w", rates, [0.4655, 0.0, 0.0])
    ocp = dd.OptimalControl(m, dd.unknown(5.0, 0.5, 10.0))
    ocp.start()
    ocp.finish(a=0.0, b=0.0, c=0.0)
    ocp.bound("w", -0.05236, 0.05236)
    ocp.minimise(final=ocp.duration)
    return ocp


def hanging_chain() -> dd.OptimalControl:
    # COPS 3.1 (2004), problem 4: a chain of length 4 between heights 1 and 3, one apart.
    m, (x,), (u,) = ode("x", "u", lambda x, u: [u], [1.0])
    ocp = dd.OptimalControl(m, 1.0)
    ocp.start()
    ocp.finish(x=3.0)
    ocp.subject_to(ocp.integral(ca.sqrt(1 + u**2)) == 4.0)
    ocp.minimise(running=x * ca.sqrt(1 + u**2))
    return ocp


def chain_energy() -> float:
    """Of the catenary k + c cosh((s - m) / c), by Gauss' rule."""

    def left(p: np.ndarray) -> list[float]:
        c, m, k = p
        height = lambda s: k + c * np.cosh((s - m) / c)  # noqa: E731
        return [height(0.0) - 1, height(1.0) - 3, c * (np.sinh((1 - m) / c) + np.sinh(m / c)) - 4]

    c, m, k = fsolve(left, [0.2, 0.4, 0.0])
    assert np.abs(left(np.array([c, m, k]))).max() < 1e-9
    at, weights = np.polynomial.legendre.leggauss(60)
    slope = np.cosh((0.5 * (at + 1) - m) / c)
    return float(0.5 * weights @ ((k + c * slope) * slope))


def beam() -> dd.OptimalControl:
    # A. E. Bryson, W. F. Denham (1963): 4 / (9 l) for ½u² below a limit l of at most 1/6.
    m, (x, _), (u,) = ode("x v", "u", lambda x, v, u: [v, u], [0.0, 1.0])
    ocp = dd.OptimalControl(m, 1.0)
    ocp.start()
    ocp.finish(x=0.0, v=-1.0)
    ocp.bound(x, None, 0.1)
    ocp.minimise(running=u**2)
    return ocp


KNOWN = {"aircraft": (aircraft, 3.78086), "hanging chain": (hanging_chain, chain_energy()), "beam": (beam, 8 / 0.9)}


@pytest.mark.parametrize("name", KNOWN)
def test_classics_are_solved_by_default(name):
    build, optimum = KNOWN[name]
    plan = build().solve()
    assert plan.success, plan
    assert plan.objective == pytest.approx(optimum, rel=5e-3)
    # No plan with held inputs is cheaper than the best.
    assert plan.objective > optimum * (1 - 1e-5)
