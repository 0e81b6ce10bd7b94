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
)
from daedalus.components.semiconductors.temperature import (
    junction_at,
    saturation_growth,
    thermal_voltage,
)
from daedalus.errors import ModelError
from daedalus.model.assembly.component import Keyword

THERMAL_VOLTAGE = 0.025852  # k T / q at 300 K, in V
LEAK = 1e-12  # across every junction unless told otherwise, in S: the gmin of SPICE


class Diode(CardComponent):
    """A diode from plus to minus, by Shockley's law or piecewise linear.

    Shockley: current = saturation_current (exp(v / (emission · thermal_voltage)) − 1) + conductance · v, with
    v = voltage − series_resistance · current; below −breakdown_voltage the current grows backwards. The junction stores
    the charge of its depletion layer (`junction_capacitance`, `junction_potential`, `grading`, `forward_share`) and
    transit_time · current. With `temperature` (°C) the saturation current, the thermal voltage and the depletion layer
    follow it. `from_card=".model name D(is=1e-14 ...)"` reads the parameters of a SPICE card.

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
        "breakdown_voltage": Keyword("V", None, "positive"),
        "breakdown_current": Keyword("A", None, "positive"),
        "temperature": Keyword("degC", None),
        "nominal_temperature": Keyword("degC", None),
        "energy_gap": Keyword("eV", None, "positive"),
        "saturation_exponent": Keyword("", None),
        "heat": HEAT,
    }
    # What a further word takes where it is left out, once the word before it is given.
    _further: ClassVar[dict[str, dict[str, float]]] = {
        "junction_capacitance": {"junction_potential": 1.0, "grading": 0.5, "forward_share": 0.5},
        "breakdown_voltage": {"breakdown_current": 1e-3},
        "temperature": {"nominal_temperature": 27.0, "energy_gap": 1.11, "saturation_exponent": 3.0},
    }

    def _check(self) -> None:
        exponential_law = self.values["saturation_current"] is not None
        if exponential_law == (self.values["on_resistance"] is not None):
            raise ModelError(
                f"Diode {self.name!r} is neither exponential nor piecewise linear, or both.",
                "saturation_current= belongs to the one, on_resistance= to the other",
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
                f"Diode {self.name!r} is quite open below its threshold.",
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
    voltage, _, current = two_pole(m, "electrical")
    over = voltage - q.threshold
    law = ca.if_else(over > 0, over / q.on_resistance, q.off_conductance * over) + q.conductance * voltage
    m.equation(current, law + q.off_conductance * q.threshold, name="law")
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
        breakdown = (_matched_breakdown(q.breakdown_voltage, q.breakdown_current, saturation, slope), slope)
    charge = partial(_charge, saturation, slope, layer, q.transit_time)
    v = junction_voltage(m, "drive", inner, saturation, slope, breakdown)
    law = exponential(saturation, v, slope)
    through = law + q.conductance * v
    if breakdown is not None:
        through = through - saturation * ca.exp(-(breakdown[0] + v) / slope)
    if not stores:
        m.equation(current, through, name="law")
    else:
        m.equation(current, through + displacement(m, charge, [v], [inner]), name="law")
        m.stored(_energy(v, law, saturation, slope, layer, q.transit_time))
    losses(m, v * through + (voltage - inner) * current, q.heat)


def _charge(saturation: Any, slope: Any, layer: Depletion | None, transit: Any, v: ca.SX) -> ca.SX:
    """The charge at a voltage: depletion layer and carriers on their way."""
    stored = ca.SX(0) if layer is None else layer.charge(v)
    return stored if transit is None else stored + transit * exponential(saturation, v, slope)


def _energy(v: ca.SX, law: ca.SX, saturation: Any, slope: Any, layer: Depletion | None, transit: Any) -> ca.SX:
    """∫ v dQ from zero."""
    stored = ca.SX(0) if layer is None else layer.energy(v)
    return stored if transit is None else stored + transit * (v * (law + saturation) - slope * law)


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
