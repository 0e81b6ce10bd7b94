"""How silicon changes with temperature: thermal voltage, saturation currents, junction potentials and capacitances.

The formulas are those of SPICE (P. Antognetti, G. Massobrio, Semiconductor Device Modeling with SPICE, 1988); all
temperatures in °C.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

KELVIN = 273.15
ROOM = 27.0  # where SPICE measures and simulates unless told otherwise
BOLTZMANN, CHARGE = 1.380649e-23, 1.602176634e-19  # J/K and C, exact since 2019
BOLTZMANN_PER_CHARGE = BOLTZMANN / CHARGE
REFERENCE = 300.15  # K, where the band gap below is known


def thermal_voltage(temperature: Any) -> Any:
    """k T / q in V."""
    return BOLTZMANN_PER_CHARGE * (temperature + KELVIN)


def warming(temperature: Any, nominal: Any) -> Any:
    """T / T_nominal in K."""
    return (temperature + KELVIN) / (nominal + KELVIN)


def saturation_growth(temperature: Any, nominal: Any, gap: Any, exponent: Any) -> Any:
    """ln of the factor on a saturation current: (T / T_nom − 1) E_g / v_t + X_ti ln(T / T_nom)."""
    ratio = warming(temperature, nominal)
    return (ratio - 1) * gap / thermal_voltage(temperature) + exponent * ca.log(ratio)


def junction_at(capacitance: Any, potential: Any, grading: Any, temperature: Any, nominal: Any) -> tuple[Any, Any]:
    """Capacitance and potential of a depletion layer at a temperature, from those at the nominal one."""
    cold = _fraction_and_shift(nominal)
    at_reference = (potential - cold[1]) / cold[0]
    here = potential_at(potential, temperature, nominal)
    shrink = (potential - at_reference) / at_reference
    bare = capacitance / (1 + grading * (4e-4 * (nominal + KELVIN - REFERENCE) - shrink))
    growth = (here - at_reference) / at_reference
    return bare * (1 + grading * (4e-4 * (temperature + KELVIN - REFERENCE) - growth)), here


def potential_at(potential: Any, temperature: Any, nominal: Any) -> Any:
    """The potential of a junction or a surface at a temperature, from that at the nominal one."""
    cold, warm = _fraction_and_shift(nominal), _fraction_and_shift(temperature)
    return warm[0] * (potential - cold[1]) / cold[0] + warm[1]


def band_gap(temperature: Any) -> Any:
    """The band gap of silicon in eV."""
    kelvin = temperature + KELVIN
    return 1.16 - 7.02e-4 * kelvin**2 / (kelvin + 1108)


def _fraction_and_shift(temperature: Any) -> tuple[Any, Any]:
    """T / T_ref, and by how much a potential moves beside that factor."""
    kelvin = temperature + KELVIN
    gap = band_gap(temperature)
    slope = -gap / (2 * BOLTZMANN_PER_CHARGE * kelvin) + 1.1150877 / (2 * BOLTZMANN_PER_CHARGE * REFERENCE)
    shift = -2 * thermal_voltage(temperature) * (1.5 * ca.log(kelvin / REFERENCE) + slope)
    return kelvin / REFERENCE, shift
