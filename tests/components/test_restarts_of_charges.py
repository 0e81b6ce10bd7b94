"""Behind a switch, capacitors in loops and junctions whose charge vanishes: every implicit method goes on."""

import numpy as np
import pytest

import daedalus as dd

LOOP = """a switch closes onto a triangle of capacitors
VG g 0 PULSE(0 5 1u 20n 20n 4u 10u)
V1 in 0 {source}
S1 in x g 0 sm
CS x y {between}
CX x 0 {first}
CY y 0 {second}
.model sm SW(RON=5k ROFF=1e12 VT=2.5 VH={hysteresis})
.ic v(x)=0 v(y)=0
.tran 10n 3u uic
"""


@pytest.mark.parametrize("method", ["auto", "radau5", "bdf", "rodas5p"])
@pytest.mark.parametrize("hysteresis", [0, 0.1])
def test_a_switch_charges_a_triangle_of_capacitors(method, hysteresis):
    """v_x rises to the source with R (C_x + C_s C_y / (C_s + C_y)); v_y is the share of the divider at all times."""
    between, first, second = 1e-12, 0.4e-12, 3e-12
    text = LOOP.format(source=2.0, between=between, first=first, second=second, hysteresis=hysteresis)
    tr = dd.simulate(dd.components.from_spice(text), 3e-6, method=method, rtol=1e-7)
    assert tr.success, tr.stop_reason
    closed = 1e-6 + (2.5 + hysteresis) / 5 * 20e-9
    times = np.linspace(closed, 2.9e-6, 40)
    at, lag = tr.at(times), 5e3 * (first + between * second / (between + second))
    share = between / (between + second)
    np.testing.assert_allclose(at["v_x"], 2.0 * (1 - np.exp(-(times - closed) / lag)), atol=2e-5)
    np.testing.assert_allclose(at["v_y"], share * np.array(at["v_x"]), atol=1e-7)


def test_a_loop_that_holds_a_source_follows_its_slope_behind_a_switch():
    """Two capacitors in series at a ramp: the current behind a switch is that of the ramp, not of before."""
    text = """ramp
V1 a 0 PWL(0 0 2u 2 4u 2)
C1 a b 1n
C2 b 0 1n
VG g 0 PULSE(0 5 1u 20n 20n 4u 10u)
S1 b 0 g 0 sm
.model sm SW(RON=1k ROFF=1e9 VT=2.5)
.ic v(b)=0
.tran 10n 4u uic
"""
    ways = [dd.simulate(dd.components.from_spice(text), 4e-6, method=own, rtol=1e-8) for own in ("radau5", "bdf")]
    times = np.linspace(0.0, 4e-6, 81)
    first, second = (np.array(tr.at(times)["v_b"]) for tr in ways)
    np.testing.assert_allclose(first, second, atol=2e-6)
    # The ramp of 1 V/µs ends at 2 µs; before, v_b goes to R C1 V'.
    settled = float(ways[0].at(1.999e-6)["v_b"])
    level, lag, since = 1e3 * 1e-9 * 1e6, 1e3 * 2e-9, 1.999e-6 - 1.01e-6
    begun = float(ways[0].at(1.01e-6)["v_b"])
    assert settled == pytest.approx(level + (begun - level) * np.exp(-since / lag), rel=1e-3)


@pytest.mark.parametrize("method", ["auto", "radau5", "bdf", "rodas5p"])
@pytest.mark.parametrize("card", ["TT=5n", "TT=5n RS=1", "TT=200n N=1.8"])
def test_a_diode_with_a_transit_time_alone_goes_through_corners_of_its_source(method, card):
    """Blocking, it has no charge at all: C = 0 stands before its voltage at the corner."""
    text = f"""corner
V1 a 0 PULSE(-5 5 10n 2n 2n 40n 100n)
R1 a b 1k
D1 b 0 dm
.model dm D(IS=1e-15 {card})
.tran 1n 100n
"""
    m = dd.components.from_spice(text)
    tr = dd.simulate(m, 1e-7, method=method, rtol=1e-5)
    assert tr.success, tr.stop_reason
    exact = dd.simulate(m, 1e-7, method="radau5", rtol=1e-9)
    times = np.linspace(0.0, 1e-7, 41)
    assert np.abs(np.array(tr.at(times)["v_b"]) - np.array(exact.at(times)["v_b"])).max() < 5e-3
