"""Behind a corner of an input the first steps are far too long: few attempts find how long they may be."""

import numpy as np
import pytest
from tests.components.by_ngspice import netlist

import daedalus as dd

CORNERS = [0.0, 1.0, 1.001, 2.0]


def cascade():
    """Eight lags from 0.1 µs to 1 s in a row, behind an input with a short ramp."""
    m = dd.Model("cascade")
    before = m.input("u")
    for k in range(8):
        x = m.state(f"x{k}")
        m.equation(m.der(x), 10.0 ** (7 - k) * (before - x * (1 + 0.3 * x * x)))
        before = x
    return m


@pytest.mark.parametrize("rtol", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("method", ["radau5", "sdirk4"])
def test_a_first_step_on_which_newtons_method_fails_is_cut_at_once(method, rtol):
    """By ten, as one with too large an error: halvings took five attempts at each of three beginnings."""
    ramp = dd.signal(CORNERS, [0.0, 0.0, 1.0, 1.0])
    tr = dd.simulate(cascade(), 2.0, inputs={"u": ramp}, method=method, rtol=rtol)
    assert tr.success, tr.stop_reason
    assert tr.work.rejected < 4 * (len(CORNERS) - 1)


@pytest.mark.wide
@pytest.mark.parametrize(("method", "share"), [("rodas5p", 0.3), ("rodas4", 0.35), ("radau5", 0.3)])
def test_refused_steps_of_an_operational_amplifier_are_few(method, share):
    """Errors fall like the first power of the step there: a method that trusts in its order is refused 17 times."""
    tr = dd.simulate(dd.components.from_spice(netlist("opamp_741")), 2e-4, method=method, rtol=1e-2)
    assert tr.success, tr.stop_reason
    assert tr.work.rejected < share * tr.work.steps
    numbers = np.array(tr.steps.rejected)
    assert numbers.max() <= 10
