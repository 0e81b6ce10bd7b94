"""Flow through a restriction: turbulent, laminar, and a smooth transition between, finite slope at no pressure drop.

Document 002: q = C_d A √(2 Δp / ρ) for Reynolds numbers D q / (A ν) above 1000, proportional to Δp below 10, and
nothing between. Here the coefficient goes with the flow number λ = D/ν √(2 |Δp| / ρ),

    C_d(λ) = C_d tanh(2 λ / λ_c),   λ_c = 800

(D. McCloy, H. R. Martin, Control of Fluid Power, 1980, on the shape of C_d over √Re; the tanh is common in
simulators of hydraulics). At Re = 1000 the flow is the turbulent one to 0.1 %, at Re = 10 the laminar one to 2 %.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

CRITICAL_FLOW_NUMBER = 800.0
EDGES = {"sharp": 0.61, "rounded": 0.85, "ideal": 1.0}  # document 002: 0.60–0.65, 0.8–0.9, 1 where nothing is lost
OIL_VISCOSITY = 30e-6  # kinematic viscosity of hydraulic oil in m²/s, document 002


def turbulent_flow(drop: ca.SX, discharge: Any, area: Any, density: Any, width: float = 1.0) -> ca.SX:
    """C_d A √(2 Δp / ρ) in both directions; below a drop of `width` (Pa) the root gives way to a straight line."""
    return discharge * area * ca.sqrt(2 / density) * drop / (drop**2 + width**2) ** 0.25


def restricted_flow(drop: ca.SX, discharge: Any, area: Any, diameter: Any, density: Any, viscosity: Any) -> ca.SX:
    """The flow through a restriction of any Reynolds number."""
    steepness = 2 * diameter / (viscosity * CRITICAL_FLOW_NUMBER)
    # Where the argument of tanh is one; the size of a drop is rounded far below that.
    laminar = density / (2 * steepness**2)
    size = ca.sqrt(drop**2 + (1e-4 * laminar) ** 2)
    velocity = ca.sqrt(2 * size / density)
    return discharge * area * velocity * ca.tanh(steepness * velocity) * drop / size
