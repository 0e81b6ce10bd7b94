"""Problems of economics, orbits and mechanics with optima in closed form, written as users write them."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.interpolate import CubicSpline
from scipy.linalg import expm
from scipy.optimize import brentq
from tests.support.optima import Published, begun, check, ode

import daedalus as dd


def saving() -> dd.OptimalControl:
    # F. Ramsey (1928) with the utility log c: c grows by the rate of interest less that of impatience.
    m = dd.Model("saving")
    k, c = m.state("k", start=1.0), m.input("c")
    m.equation(m.der(k), 0.1 * k - c)
    ocp = begun(m, 10.0, None, k=0.0)
    ocp.minimise(running=-ca.exp(-0.04 * m.time) * ca.log(c))
    return ocp


def saved() -> float:
    first = 0.04 / (1 - np.exp(-0.4))
    return -quad(lambda t: np.exp(-0.04 * t) * (np.log(first) + 0.06 * t), 0, 10)[0]


def mine() -> dd.OptimalControl:
    # H. Hotelling (1931): a resource sold at the price 10 - q, until a time that is best.
    m = dd.Model("mine")
    stock, q = m.state("stock", start=50.0), m.input("q")
    m.equation(m.der(stock), -q)
    ocp = begun(m, dd.unknown(10.0, 1.0, 200.0), None)
    ocp.bound(stock, 0.0, None)
    ocp.bound(q, 0.0, None)
    ocp.minimise(running=-ca.exp(-0.05 * m.time) * q * (10 - q))
    return ocp


def mined() -> float:
    def sold(t, last):
        return 5 - 5 * np.exp(0.05 * (t - last))

    last = brentq(lambda last: quad(sold, 0, last, (last,))[0] - 50, 1, 200)
    return -quad(lambda t: np.exp(-0.05 * t) * sold(t, last) * (10 - sold(t, last)), 0, last)[0]


def spline() -> dd.OptimalControl:
    # The least bending through a point on the way is a cubic spline.
    m, (x, _), (u,) = ode("x v", "u", lambda x, v, u: [v, u], [0.0, 0.0])
    ocp = begun(m, 1.0, None, x=0.0, v=0.0)
    ocp.subject_to(x == 1, at=0.4)
    ocp.minimise(running=u**2)
    return ocp


def bent() -> float:
    own = CubicSpline([0, 0.4, 1], [0, 1, 0], bc_type=((1, 0), (1, 0)))
    return sum(quad(lambda t: own(t, 2) ** 2, *part)[0] for part in ((0, 0.4), (0.4, 1)))


DRIFT = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [3, 0, 0, 2], [0, 0, -2, 0]], dtype=float)
FAR = np.array([1.0, -2.0, 0.3, 0.1])


def rendezvous() -> dd.OptimalControl:
    # W. Clohessy, R. Wiltshire (1960), with the least effort: by the Gramian of the drift.
    m = dd.Model("rendezvous")
    x, u = m.state("x", 4, start=FAR), m.input("u", 2)
    m.equation(m.der(x), ca.mtimes(DRIFT, x) + ca.vertcat(0, 0, u))
    ocp = dd.OptimalControl(m, 3.0)
    ocp.start()
    ocp.finish({"x": np.zeros(4)})
    ocp.minimise(running=ca.sumsqr(u))
    return ocp


def met() -> float:
    by = np.diag([0.0, 0.0, 1.0, 1.0])
    both = expm(3.0 * np.block([[-DRIFT, by], [np.zeros((4, 4)), DRIFT.T]]))
    over = both[4:, 4:].T
    missed = -over @ FAR
    return float(missed @ np.linalg.solve(over @ both[:4, 4:], missed))


def speed_at_most() -> dd.OptimalControl:
    # The least largest speed of a cart from rest to rest: v (2 - v / 2) = 1 with an acceleration of 2.
    m, (_, v), (a,) = ode("x v", "a", lambda x, v, a: [v, a], [0.0, 0.0])
    top = m.parameter("top", 1.0)
    ocp = begun(m, 2.0, None, x=1.0, v=0.0)
    ocp.free("top", 1.0, 0.0, 10.0)
    ocp.bound(a, -2.0, 2.0)
    ocp.subject_to(v <= top)
    ocp.minimise(final=top)
    return ocp


def periodic_tracking() -> dd.OptimalControl:
    # x' = u - x after sin t: of the amplitude 1 / (1 + 2 r) by the response to a frequency.
    m = dd.Model("tracking")
    x, u = m.state("x"), m.input("u")
    m.equation(m.der(x), u - x)
    ocp = dd.OptimalControl(m, 2 * np.pi)
    ocp.periodic("x")
    ocp.minimise(running=(x - ca.sin(m.time)) ** 2 + 0.5 * u**2)
    return ocp


# Inputs that are held on the intervals may cost half a percent.
CLASSICS = {
    "saving": Published(saving, saved(), 1e-5),
    "mine": Published(mine, mined(), 1e-4),
    "spline": Published(spline, bent(), 5e-3),
    "rendezvous": Published(rendezvous, met(), 5e-3),
    "speed at most": Published(speed_at_most, 2 - np.sqrt(2), 2e-3),
    "periodic tracking": Published(periodic_tracking, np.pi / 2, 5e-3),
}


@pytest.mark.parametrize("name", CLASSICS)
def test_closed_forms_are_reached(name):
    check(CLASSICS[name])
