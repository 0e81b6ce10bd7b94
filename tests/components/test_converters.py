"""Converters of ideal switches and diodes at nodes without capacitance: textbook ratios, ripple, and the ledger."""

import numpy as np
import pytest
from tests.components import converters as of

import daedalus as dd


def run(m, end, rtol=1e-6, **start):
    states = dict.fromkeys(m.flat().freeze().labels["x"], 0.0)
    tr = dd.simulate(m, end, start={**states, **start}, rtol=rtol)
    assert tr.success, tr.stop_reason
    balance = tr.energy_balance()
    assert abs(balance.error) < 1e-5 * max(balance.supplied, balance.lost)
    return tr


def mean(tr, name, begin, end, count=4001):
    times = np.linspace(begin, end, count)
    return float(np.trapezoid(tr.at(times)[name], times) / (end - begin))


EVERY = {
    "buck": (of.buck, 1e-4), "boost": (of.boost, 1e-4), "buck_boost": (of.buck_boost, 1e-4),
    "flyback": (of.flyback, 1e-4), "sepic": (of.sepic, 2.5e-4), "cuk": (of.cuk, 1e-4),
    "full_bridge": (of.full_bridge, 3e-3), "inverter": (of.inverter_three_phase, 0.02),
    "power_factor": (of.power_factor, 0.02),
}  # fmt: skip


# One of each pair every day.
BY_CLOCKS = {"boost", "sepic", "full_bridge"}
KINDS = [
    pytest.param(name, kind, marks=() if (kind == "clock") == (name in BY_CLOCKS) else pytest.mark.wide)
    for name in EVERY
    for kind in ("time", "clock")
]


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_energy_is_kept_through_every_commutation(name, kind):
    """Gates by a formula of time and by clocks; every diode obeys its law at all times."""
    make, end = EVERY[name]
    tr = run(make(kind=kind), end)
    times = np.linspace(0.0, end, 997)[1:-1]
    at = tr.at(times)
    for part in [p for p in tr.energy_balance().by_part if p.startswith("d")]:
        voltage, current = at[f"{part}.voltage"], at[f"{part}.current"]
        law = np.where(voltage > 0, voltage / of.ON, voltage * of.OFF)
        np.testing.assert_allclose(current, law, atol=1e-4 * max(1.0, np.abs(current).max()))


@pytest.mark.parametrize("kind", ["time", "clock"])
def test_a_flyback_with_leakage_never_sends_current_back_through_its_diode(kind):
    """A closed switch takes over from the diode within the time that the leakage allows; the diode then blocks."""
    tr = run(of.flyback(coupling=0.98, kind=kind), 6e-5)
    at = tr.at(np.linspace(0.0, 6e-5, 3001))
    assert at["d1.current"].min() > -1e-3
    assert at["c1.voltage"].min() > -1e-3
    assert at["c1.voltage"][-1] > 3.0


# -- steady states against the textbook (R. W. Erickson, D. Maksimović, Fundamentals of Power Electronics) -----------


def settled(make, until, guess, **options):
    m = make(**options)
    tr = run(m, until, **guess)
    return tr, until - of.T


@pytest.mark.parametrize(
    ("make", "duty", "ratio", "vin", "guess"),
    [
        (of.buck, 0.4, lambda d: d, 24.0, {"c1.voltage": 9.6, "l1.current": 1.9}),
        (of.boost, 0.5, lambda d: 1 / (1 - d), 12.0, {"c1.voltage": 24.0, "l1.current": 2.4}),
        (of.buck_boost, 0.4, lambda d: -d / (1 - d), 12.0, {"c1.voltage": -8.0, "l1.current": 1.3}),
    ],
)
def test_conversion_ratios_in_continuous_conduction(make, duty, ratio, vin, guess):
    """Means over the last period; on resistances of 1 mΩ take less than 0.2 %."""
    tr, begin = settled(make, 600 * of.T, guess, duty=duty)
    assert mean(tr, "c1.voltage", begin, begin + of.T) == pytest.approx(ratio(duty) * vin, rel=3e-3)


def test_ripple_of_a_buck_converter():
    """Δi = V_out (1 − d) T / L, Δv = Δi T / (8 C)."""
    tr, begin = settled(of.buck, 150 * of.T, {"c1.voltage": 9.6, "l1.current": 1.9}, duty=0.4)
    at = tr.at(np.linspace(begin, begin + of.T, 2001))
    ripple = np.ptp(at["l1.current"])
    assert ripple == pytest.approx(9.6 * 0.6 * of.T / 1e-4, rel=5e-3)
    assert np.ptp(at["c1.voltage"]) == pytest.approx(ripple * of.T / (8 * 2e-5), rel=2e-2)


def test_a_buck_converter_in_discontinuous_conduction():
    """M = 2 / (1 + √(1 + 4 K / d²)) with K = 2 L / (R T); the boundary lies at K = 1 − d."""
    duty, load = 0.4, 100.0
    share = 2 * 1e-4 / (load * of.T)
    assert share < 1 - duty
    expected = 24.0 * 2 / (1 + (1 + 4 * share / duty**2) ** 0.5)
    tr, begin = settled(of.buck, 300 * of.T, {"c1.voltage": expected}, duty=duty, load=load)
    assert mean(tr, "c1.voltage", begin, begin + of.T) == pytest.approx(expected, rel=5e-3)
    current = tr.at(np.linspace(begin, begin + of.T, 501))["l1.current"]
    assert np.mean(np.abs(current) < 1e-4) > 0.1


def test_a_six_pulse_rectifier_gives_1_35_times_the_voltage_between_lines():
    tr = run(of.rectifier_six_pulse(), 0.06, **{"l1.current": 54.0})
    level = mean(tr, "v_q", 0.04, 0.06) - mean(tr, "v_n", 0.04, 0.06)
    assert level == pytest.approx(3 * 2**0.5 / np.pi * 400.0, rel=1e-3)


@pytest.mark.wide
def test_line_inductances_of_a_six_pulse_rectifier_overlap_its_commutations():
    """The currents of the lines add up to zero although no node says so; V = 1.35 V_lines − 3/π ω L I on overlap."""
    inductance = 1e-3
    tr = run(of.rectifier_six_pulse(source_inductance=inductance), 0.03)
    at = tr.at(np.linspace(0.0, 0.03, 3001))
    total = at["la.current"] + at["lb.current"] + at["lc.current"]
    assert np.abs(total).max() < 1e-6 * np.abs(at["la.current"]).max()
    current = mean(tr, "l1.current", 0.01, 0.03)
    level = mean(tr, "v_p", 0.01, 0.03) - mean(tr, "v_n", 0.01, 0.03)
    expected = 3 * 2**0.5 / np.pi * 400.0 - 3 / np.pi * 2 * np.pi * 50 * inductance * current
    assert level == pytest.approx(expected, rel=2e-3)


def test_an_inverter_of_180_degrees_has_six_steps():
    """The fundamental between lines is 2 √3 / π of the supply."""
    tr = run(of.inverter_three_phase(), 0.04)
    times = np.linspace(0.02, 0.04, 6001)[:-1]
    between = tr.at(times)["v_a"] - tr.at(times)["v_b"]
    fundamental = 2 * abs(np.mean(between * np.exp(-2j * np.pi * 50 * times)))
    assert fundamental == pytest.approx(2 * 3**0.5 / np.pi * 300.0, rel=1e-3)


def test_losses_by_device_over_a_window():
    """In a period of the steady state the losses of switch and diode are those of their mean square currents."""
    tr, begin = settled(of.buck, 150 * of.T, {"c1.voltage": 9.6, "l1.current": 1.9}, duty=0.4)
    window = tr.energy_balance(from_time=begin, until=begin + of.T)
    times = begin + of.T * (np.arange(20000) + 0.5) / 20000  # none of them is an instant of switching
    at = tr.at(times)
    for part in ("s1", "d1"):
        expected = of.T * np.mean(at[f"{part}.voltage"] * at[f"{part}.current"])
        assert window.by_part[part]["lost"] == pytest.approx(expected, rel=2e-3)
    assert abs(window.error) < 1e-5 * window.supplied


# -- steady states in one call ---------------------------------------------------------------------------------------

RATIOS = {
    "buck": (of.buck, 24.0 * 0.4, {"duty": 0.25}, 24.0 * 0.25),
    "boost": (of.boost, 12.0 / 0.5, {"duty": 0.25}, 12.0 / 0.75),
    # At the smaller duty its current rests in every period: V = d V_in √(R T / (2 L)).
    "flyback": (of.flyback, 24.0 * 0.5 * 0.4 / 0.6, {"duty": 0.25}, 24.0 * 0.25 * (10.0 * of.T / 2e-4) ** 0.5),
    "buck_boost": (of.buck_boost, -12.0 * 0.4 / 0.6, {"duty": 0.5}, -12.0),
    "sepic": (of.sepic, 12.0, {"duty": 0.4}, 12.0 * 0.4 / 0.6),
    "cuk": (of.cuk, -12.0 * 0.4 / 0.6, {"duty": 0.5}, -12.0),
}
EVERYDAY_ORBITS = {("buck", "discrete"), ("boost", "parameter"), ("flyback", "clock"), ("cuk", "clock")}


def from_rest(m, period, **options):
    return dd.periodic(m, start=dict.fromkeys(m.flat().freeze().labels["x"], 0.0), period=period, **options)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        pytest.param(name, kind, marks=() if (name, kind) in EVERYDAY_ORBITS else pytest.mark.wide)
        for name in RATIOS
        for kind in ("time", "parameter", "discrete", "clock")
    ],
)
def test_the_steady_state_of_a_converter_in_one_call(name, kind):
    """From rest, without waiting for the filter; a duty that nothing assigns is given and not searched for."""
    make, expected, _, _ = RATIOS[name]
    orbit = from_rest(make(kind=kind), of.T)
    assert mean(orbit.trajectory, "c1.voltage", 0.0, of.T) == pytest.approx(expected, rel=3e-3)
    assert orbit.stable
    if kind == "discrete":
        assert float(orbit["duty"][-1]) == float(orbit["duty"][0])
    balance = orbit.trajectory.energy_balance()
    assert balance.supplied == pytest.approx(balance.lost, rel=1e-4)
    assert abs(balance.error) < 1e-6 * balance.supplied


@pytest.mark.parametrize("name", ["boost", pytest.param("flyback", marks=pytest.mark.wide)])
def test_the_duty_of_a_steady_state_is_a_parameter(name):
    make, _, parameters, expected = RATIOS[name]
    orbit = from_rest(make(kind="parameter"), of.T, parameters=parameters)
    assert mean(orbit.trajectory, "c1.voltage", 0.0, of.T) == pytest.approx(expected, rel=3e-3)


def test_the_steady_state_of_a_bridge_with_inductive_load():
    """Square waves of ±V over R and L: i(0) = −(V / R) tanh(T R / (4 L))."""
    orbit = from_rest(of.full_bridge(kind="time"), 1e-3)
    expected = -100.0 / 5.0 * np.tanh(1e-3 * 5.0 / (4 * 2e-3))
    assert float(orbit["l1.current"][0]) == pytest.approx(expected, rel=1e-3)


@pytest.mark.wide
@pytest.mark.parametrize("kind", ["time", "clock"])
def test_the_steady_state_of_a_three_phase_inverter(kind):
    """The currents of the star are each other's, a third of a period later, and add up to zero."""
    orbit = from_rest(of.inverter_three_phase(kind=kind), 0.02)
    times = np.linspace(0.0, 0.02, 31)
    at = orbit.at(times)
    np.testing.assert_allclose(at["la.current"] + at["lb.current"] + at["lc.current"], 0.0, atol=1e-6)
    np.testing.assert_allclose(
        at["lb.current"][10:], at["la.current"][:-10], atol=2e-3 * np.abs(at["la.current"]).max()
    )
