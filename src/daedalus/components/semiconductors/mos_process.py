"""MOS transistors of netlists by their process and temperature: threshold, body effect, gain and bulk junctions.

Level 1 of SPICE (P. Antognetti, G. Massobrio, Semiconductor Device Modeling with SPICE, 1988, chapter 4). Without VTO
the threshold follows from doping, oxide, gate material and charge at the surface,

    V_T0 = φ_gate − φ_bulk − q N_ss / C_ox ± (γ √φ + φ),

and all of it moves with temperature as silicon does. Temperatures in °C.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from daedalus.components.semiconductors.temperature import (
    CHARGE,
    band_gap,
    junction_at,
    potential_at,
    thermal_voltage,
    warming,
)

EPSILON_OXIDE, EPSILON_SILICON = 3.9 * 8.854214871e-12, 11.7 * 8.854214871e-12
INTRINSIC = 1.45e16  # carriers of silicon in 1/m³
SURFACE_POTENTIAL, GAIN, BULK_POTENTIAL, BULK_CURRENT = (
    0.6,
    2e-5,
    0.8,
    1e-14,
)  # of SPICE, where a card does not give them


def mos_words(words: Mapping[str, Any], here: float, nominal: float) -> dict[str, Any]:
    """The keywords of a Mosfet at a temperature, from those of its card; without a threshold it follows from doping."""
    found, sign = dict(words), 1 if words["polarity"] == "n" else -1
    charge, gate = found.pop("surface_charge", 0.0), found.pop("gate_material", 1.0)
    sheet = found.pop("sheet_resistance", 0.0)
    for end in ("drain", "source"):
        squares = found.pop(f"{end}_squares", 1.0)
        if sheet * squares and found.get(f"{end}_resistance") is None:
            found[f"{end}_resistance"] = sheet * squares
    oxide = EPSILON_OXIDE / found["oxide_thickness"] if found.get("oxide_thickness") else None
    if found.get("transconductance") is None:
        mobility = found.get("mobility") or 600.0
        found["transconductance"] = GAIN if oxide is None else mobility * 1e-4 * oxide
    if oxide is not None and found.get("doping"):
        _dope(found, charge, gate, sign, oxide, nominal)
    found.setdefault("threshold", 0.0)
    phi, gamma = found.get("surface_potential") or SURFACE_POTENTIAL, found.get("body_effect") or 0.0
    found["surface_potential"] = phi
    if here != nominal:
        _warm(found, sign, phi, gamma, here, nominal)
    return found


def _dope(found: dict[str, Any], charge: float, gate: float, sign: int, oxide: float, nominal: float) -> None:
    """Surface potential, body effect and threshold from the doping of the substrate.

    charge: at the surface, in 1/cm². gate: its material: 1 doped unlike the substrate, −1 alike, 0 aluminium.
    """
    density, gap = found["doping"] * 1e6, band_gap(nominal)
    if found.get("surface_potential") is None:
        found["surface_potential"] = max(0.1, 2 * thermal_voltage(nominal) * math.log(density / INTRINSIC))
    if found.get("body_effect") is None:
        found["body_effect"] = math.sqrt(2 * EPSILON_SILICON * CHARGE * density) / oxide
    if "threshold" in found:
        return
    phi, gamma = found["surface_potential"], found["body_effect"]
    work = 3.2 if gate == 0 else 3.25 + gap / 2 - sign * gate * gap / 2
    flat_band = work - (3.25 + gap / 2 + sign * phi / 2) - charge * 1e4 * CHARGE / oxide
    found["threshold"] = flat_band + sign * (gamma * math.sqrt(phi) + phi)


def _warm(found: dict[str, Any], sign: int, phi: float, gamma: float, here: float, nominal: float) -> None:
    """The same at a temperature other than the one that the card was measured at."""
    gap, gap_here, ratio = band_gap(nominal), band_gap(here), warming(here, nominal)
    found["transconductance"] /= ratio**1.5
    phi_here = float(potential_at(phi, here, nominal))
    built_in = found["threshold"] - sign * gamma * math.sqrt(phi) + (gap - gap_here) / 2 + sign * (phi_here - phi) / 2
    found["threshold"], found["surface_potential"] = built_in + sign * gamma * math.sqrt(phi_here), phi_here
    growth = math.exp(gap / thermal_voltage(nominal) - gap_here / thermal_voltage(here))
    found["bulk_saturation_current"] = (found.get("bulk_saturation_current") or BULK_CURRENT) * growth
    if found.get("bulk_saturation_density"):
        found["bulk_saturation_density"] *= growth
    potential = found.get("bulk_potential") or BULK_POTENTIAL
    for words, grading in (
        (
            ("drain_bulk_capacitance", "source_bulk_capacitance", "bulk_capacitance_density"),
            found.get("bulk_grading", 0.5),
        ),
        (("side_capacitance_density",), found.get("side_grading", 0.33)),
    ):
        for word in words:
            if found.get(word):
                found[word] = float(junction_at(found[word], potential, grading, here, nominal)[0])
    found["bulk_potential"] = float(potential_at(potential, here, nominal))
