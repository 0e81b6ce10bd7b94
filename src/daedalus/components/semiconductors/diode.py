"""Diodes: exponential with the parameters of SPICE's model, or piecewise linear."""

from __future__ import annotations

import numbers
from functools import partial
from typing import Any, ClassVar

import casadi as ca

from daedalus.components.poles import HEAT, losses, two_pole
from daedalus.components.semiconductors.card_component import CardComponent
from daedalus.components.semiconductors.junction import (
    Depletion,
    displacement,
    exponential,
    inner_state,
    junction_voltage,
    larger,
    layer_current,
)
from daedalus.components.semiconductors.piecewise import piecewise_valve, valve_poles
from daedalus.components.semiconductors.temperature import (
    junction_at,
    potential_at,
    saturation_growth,
    thermal_voltage,
)
from daedalus.errors import ModelError
from daedalus.model.assembly.component import Keyword

THERMAL_VOLTAGE = 0.025852  # k T / q at 300 K, in V
KNEE_ROUNDED = 1e-18  # of the knee current: where the root of a current begins
LEAK = 1e-12  # across every junction unless told otherwise, in S: the gmin of SPICE


class Diode(CardComponent):
    """A diode from plus to minus, by Shockley's law or piecewise linear.

    Shockley: current = saturation_current (exp(v / (emission · thermal_voltage)) − 1) + conductance · v, with
    v = voltage − series_resistance · current; below −breakdown_voltage the current grows backwards, by
    `breakdown_emission` in the place of the emission if you give it. The junction stores the charge of its depletion
    layer (`junction_capacitance`, `junction_potential`, `grading`, `forward_share`) and
    transit_time · current: `charge`. Recombination adds recombination_current (exp(v / (recombination_emission ·
    thermal_voltage)) − 1) ((1 − v / junction_potential)² + 0.005)^(grading / 2), and above `knee_current` a current i
    grows more slowly: i / (1 + √(i / knee_current)). Both as in ngspice. With `temperature` (°C) the saturation
    current, the thermal voltage and the depletion layer follow it. `from_card=".model name D(is=1e-14 ...)"` reads the
    parameters of a SPICE card.

    Piecewise: `on_resistance` above `threshold`, `off_conductance` below it; continuous at the threshold, where a run
    locates the change.
    """

    domain = "electrical"
    card_kinds: ClassVar[tuple[str, ...]] = ("d",)
    keywords = {
        "saturation_current": Keyword("A", None, "positive"),
        "thermal_voltage": Keyword("V", None, "positive"),
        "conductance": Keyword("S", None, "not negative", nominal=1e-9),
        "on_resistance": Keyword("ohm", None, "positive"),
        "off_conductance": Keyword("S", None, "not negative"),
        "threshold": Keyword("V", 0.0),
        "emission": Keyword("", None, "positive"),
        "series_resistance": Keyword("ohm", None, "positive"),
        "junction_capacitance": Keyword("F", None, "positive", nominal=1e-12),
        "junction_potential": Keyword("V", None, "positive"),
        "grading": Keyword("", None, "between 0 and 1"),
        "forward_share": Keyword("", None, "between 0 and 1"),
        "transit_time": Keyword("s", None, "positive", nominal=1e-9),
        "knee_current": Keyword("A", None, "positive", nominal=1e-3),
        "recombination_current": Keyword("A", None, "positive", nominal=1e-12),
        "recombination_emission": Keyword("", None, "positive"),
        "breakdown_voltage": Keyword("V", None, "positive"),
        "breakdown_current": Keyword("A", None, "positive"),
        "breakdown_emission": Keyword("", None, "positive"),
        "temperature": Keyword("degC", None),
        "nominal_temperature": Keyword("degC", None),
        "energy_gap": Keyword("eV", None, "positive"),
        "saturation_exponent": Keyword("", None),
        "heat": HEAT,
    }
    # What a further word takes where it is left out, once the word before it is given.
    _further: ClassVar[dict[str, dict[str, float]]] = {
        "junction_capacitance": {"junction_potential": 1.0, "grading": 0.5, "forward_share": 0.5},
        "recombination_current": {"recombination_emission": 2.0, "junction_potential": 1.0, "grading": 0.5},
        "breakdown_voltage": {"breakdown_current": 1e-3},
        "temperature": {"nominal_temperature": 27.0, "energy_gap": 1.11, "saturation_exponent": 3.0},
    }

    def _check(self) -> None:
        exponential_law = self.values["saturation_current"] is not None
        if exponential_law == (self.values["on_resistance"] is not None):
            raise ModelError(
                f"Diode {self.name!r} needs exactly one law.",
                "saturation_current= selects the exponential law, on_resistance= the piecewise linear one",
                because="a diode has one law.",
                remedy="saturation_current=1e-14, or on_resistance=0.01 with off_conductance=1e-9",
            )
        if self.values["conductance"] is None:
            self.values["conductance"] = LEAK if exponential_law else 0.0
        if exponential_law:
            if self.values["temperature"] is None and self.values["thermal_voltage"] is None:
                self.values["thermal_voltage"] = THERMAL_VOLTAGE
            self._complete()
            return
        if self.values["off_conductance"] is None:
            self.values["off_conductance"] = 1e-9
        leaks = [self.values[word] for word in ("off_conductance", "conductance")]
        if all(isinstance(leak, numbers.Real) and leak == 0 for leak in leaks):
            raise ModelError(
                f"Diode {self.name!r} is an open circuit below its threshold.",
                f"off_conductance={leaks[0]}, conductance={leaks[1]}",
                because="an inductor in series would have no voltage then: the index would change with the diode.",
                remedy="off_conductance=1e-9",
            )

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        if q.saturation_current is None:
            _write_piecewise(m, q)
        else:
            _write_exponential(m, q)


def _write_piecewise(m: Any, q: Any) -> None:
    valve = piecewise_valve(m, q.on_resistance, q.off_conductance)
    voltage, current = valve_poles(m, q.threshold + valve.over)
    m.equation(current, valve.through + q.conductance * voltage + q.off_conductance * q.threshold, name="law")
    losses(m, voltage * current, q.heat)


def _write_exponential(m: Any, q: Any) -> None:
    saturation, slope, layer = _at_temperature(q)
    stores = layer is not None or q.transit_time is not None
    resistive = q.series_resistance is not None
    voltage, _, current = two_pole(m, "electrical", relative="state" if stores and not resistive else "algebraic")
    inner = voltage - q.series_resistance * current if resistive else voltage
    if stores and resistive:
        own = inner_state(m, "junction_voltage")
        m.equation(own, inner, name="junction voltage")
        inner = own
    breakdown = None
    if q.breakdown_voltage is not None:
        steep = slope
        if q.breakdown_emission is not None:
            steep = slope * q.breakdown_emission / (1 if q.emission is None else q.emission)
        breakdown = (_matched_breakdown(q.breakdown_voltage, q.breakdown_current, saturation, steep), steep)
    v = junction_voltage(m, "drive", inner, saturation, slope, breakdown)
    through, lost = _law(q, saturation, slope, breakdown, v) + q.conductance * v, ca.SX(0)
    if not stores:
        m.equation(current, through, name="law")
    else:
        held = ca.SX(0) if layer is None else layer.charge(v)
        charging = ca.SX(0) if layer is None else layer_current(m, layer, v, inner)
        m.stored(ca.SX(0) if layer is None else layer.energy(v))
        if q.transit_time is not None:
            forward = partial(_law, q, saturation, slope, None)
            carriers = displacement(m, lambda own: q.transit_time * forward(own), [v], [inner])
            charging = charging + carriers
            held = held + q.transit_time * forward(v)
            if q.knee_current is None and q.recombination_current is None:
                m.stored(_carrier_energy(v, saturation, slope, q.transit_time))
            else:
                lost = v * carriers
        m.equation(current, through + charging, name="law")
        m.quantity("charge", held, "C")
    losses(m, v * through + lost + (voltage - inner) * current, q.heat)


def _law(q: Any, saturation: Any, slope: Any, breakdown: tuple[Any, Any] | None, v: ca.SX) -> ca.SX:
    """The current of the junction without its conductance."""
    current = exponential(saturation, v, slope)
    if q.recombination_current is not None:
        # In reverse it stays as at −3 n v_t, where it has long reached its end.
        edge = larger(v, -3 * slope)
        here = q.recombination_emission * (thermal_voltage(q.temperature) if q.thermal_voltage is None
                                           else q.thermal_voltage)  # fmt: skip
        strength, potential = q.recombination_current, q.junction_potential
        if q.temperature is not None:
            potential = potential_at(potential, q.temperature, q.nominal_temperature)
            growth = saturation_growth(q.temperature, q.nominal_temperature, q.energy_gap, q.saturation_exponent)
            strength = strength * ca.exp(growth / q.recombination_emission)
        generation = ((1 - edge / potential) ** 2 + 0.005) ** (q.grading / 2)
        current = current + strength * (ca.exp(edge / here) - 1) * generation
    if q.knee_current is not None:
        current = current / (1 + ca.sqrt(_forward_part(current / q.knee_current)))
    if breakdown is not None:
        current = current - saturation * ca.exp(-(breakdown[0] + v) / breakdown[1])
    return ca.SX(current)


def _forward_part(size: ca.SX) -> ca.SX:
    """(s + √(s² + k²)) / 2 of a current s in units of the knee current, without rounding errors of one that blocks.

    a = √(s² + k²) + s and b = √(s² + k²) − s have the product k², so a = (a³ + k² b) / (a² + b²), where only the small
    one of them has lost its digits.
    """
    root = ca.sqrt(size**2 + KNEE_ROUNDED**2)
    a, b = root + size, root - size
    return (a**3 + KNEE_ROUNDED**2 * b) / (2 * (a**2 + b**2))


def _carrier_energy(v: ca.SX, saturation: Any, slope: Any, transit: Any) -> ca.SX:
    """∫ v dQ from zero of the carriers on their way."""
    law = exponential(saturation, v, slope)
    return ca.SX(transit * (v * (law + saturation) - slope * law))


def _at_temperature(q: Any) -> tuple[Any, Any, Depletion | None]:
    """Saturation current, slope n v_t and depletion layer."""
    emission = 1 if q.emission is None else q.emission
    saturation, slope = q.saturation_current, q.thermal_voltage
    layer = None
    if q.junction_capacitance is not None:
        layer = Depletion(q.junction_capacitance, q.junction_potential, q.grading, q.forward_share)
    if q.temperature is None:
        return saturation, slope * emission, layer
    if slope is None:
        slope = thermal_voltage(q.temperature)
    growth = saturation_growth(q.temperature, q.nominal_temperature, q.energy_gap, q.saturation_exponent)
    saturation = saturation * ca.exp(growth / emission)
    if layer is not None:
        capacitance, potential = junction_at(*layer[:3], q.temperature, q.nominal_temperature)
        layer = Depletion(capacitance, potential, layer.grading, layer.share)
    return saturation, slope * emission, layer


def _matched_breakdown(voltage: Any, current: Any, saturation: Any, slope: Any) -> Any:
    """Where the exponential of breakdown begins, so that the given current flows at the given voltage."""
    ratio = current / saturation
    found = voltage - slope * ca.log(1 + ratio)
    for _ in range(3):
        found = voltage - slope * ca.log(ca.fmax(ratio + 1 - found / slope, 1.0))
    return found
