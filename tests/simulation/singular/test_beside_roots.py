"""Implicit steps that begin beside infinite slopes: no result that stands still is a success."""

import casadi as ca
import pytest

import daedalus as dd


def tank(start, law, inflow):
    m = dd.Model("tank")
    h = m.state("h", start=start)
    m.equation(m.der(h), inflow(m.time) - 1.5 * law(h))
    return m


LAWS = {
    "clipped": lambda h: ca.sqrt(ca.fmax(h, 0)),
    "both ways": lambda h: ca.sqrt(ca.fabs(h)) * ca.sign(h),
    "power": lambda h: ca.fmax(h, 0) ** 0.6,
}
INFLOWS = {"constant": lambda t: 0.1, "ramp": lambda t: 0.3 * t, "square": lambda t: 0.4 * t**2}


@pytest.mark.parametrize("inflow", INFLOWS)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("start", [0.0, 1e-36])
@pytest.mark.parametrize("method", ["radau5", "rodas5p", "bdf"])
def test_an_empty_tank_fills_or_the_run_says_that_it_does_not_follow(method, start, law, inflow):
    reference = dd.simulate(tank(1e-9, LAWS[law], INFLOWS[inflow]), 3, method="dop853", rtol=1e-8)
    tr = dd.simulate(tank(start, LAWS[law], INFLOWS[inflow]), 3, method=method)
    assert not tr.success or float(tr.end["h"]) == pytest.approx(float(reference.end["h"]), rel=1e-3)


@pytest.mark.parametrize("law", LAWS)
def test_the_default_fills_it(law):
    m = tank(0.0, LAWS[law], INFLOWS["square"])
    reference = dd.simulate(tank(1e-9, LAWS[law], INFLOWS["square"]), 3, method="dop853", rtol=1e-8)
    assert float(dd.simulate(m, 3).end["h"]) == pytest.approx(float(reference.end["h"]), rel=1e-4)


def test_a_run_that_stands_still_names_the_state():
    tr = dd.simulate(tank(0.0, LAWS["clipped"], INFLOWS["square"]), 3, method="radau5")
    assert not tr.success
    assert str(tr.stop_reason) == (
        "steps by radau5 do not follow the equations of h at t = 3; slopes are infinite where it begins, and "
        "corrections tell nothing there; try method='bdf' or 'auto', or a root with finite slopes such as "
        "h / sqrt(h + 1e-9) for sqrt(h)"
    )


@pytest.mark.parametrize(
    ("law", "inflow", "start", "span", "method"),
    [
        ("clipped", "ramp", 1e-20, 1, "radau3"), ("clipped", "ramp", 1e-20, 3, "radau5"),
        ("clipped", "square", 1e-20, 3, "radau9"), ("clipped", "square", 1e-40, 10, "rodas4"),
        ("power", "ramp", 1e-20, 1, "rodas5p"),
    ],
)  # fmt: skip
def test_a_run_that_stands_still_at_its_start_alone_says_so(law, inflow, start, span, method):
    """They ended near to the motion, which a tank forgets: 0.3 to 6 per cent off."""
    tr = dd.simulate(tank(start, LAWS[law], INFLOWS[inflow]), span, method=method)
    assert not tr.success
    assert "do not follow the equations of h" in str(tr.stop_reason)


@pytest.mark.parametrize("span", [1, 3])
def test_a_run_that_follows_from_nearly_nothing_is_right_all_the_way(span):
    """By error estimates rodas5p takes short steps here, where rodas4 stands still: what ends with success is near."""
    tr = dd.simulate(tank(1e-20, LAWS["power"], INFLOWS["square"]), span, method="rodas5p")
    reference = dd.simulate(tank(1e-9, LAWS["power"], INFLOWS["square"]), span, method="dop853", rtol=1e-9)
    assert tr.success
    assert float(abs(tr["h"] - reference.at(tr.time)["h"]).max()) < 1e-7
    assert float(tr.end["h"]) == pytest.approx(float(reference.end["h"]), rel=1e-6)


@pytest.mark.filterwarnings("error")
def test_slopes_that_are_infinite_leave_no_warning_of_numpy():
    """A pendulum held to the length of its rod, by square roots, with dummy derivatives."""
    m = dd.Model("pendulum")
    q = m.coordinate("q", 3, start=[0.6, 0.0, -0.8], rate=[0.8, 0.3, 0.6])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[2])
    m.constraint("rod", ca.sqrt(ca.sumsqr(q)) - 1)
    tr = dd.simulate(dd.reduce(m, stabilise="dummy_derivatives"), 1.0, rtol=1e-9, atol=1e-11)
    assert tr.success
