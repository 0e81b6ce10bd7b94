"""Predators and prey: x' = a x - b x y, y' = d x y - c y.

d x - c ln x + b y - a ln y is conserved, so that every solution is a closed curve.

Reference: in the logarithms of both populations, u' = a - b exp v, v' = d exp u - c, by extrapolation with 40 digits.
"""

from __future__ import annotations

import casadi as ca

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.model import Model


def build() -> KnownSystem:
    """Ten years of two populations, counted in thousands.

    Example
    -------
    >>> from daedalus import catalogue
    >>> catalogue.load("lotka_volterra").start
    {'prey': 1.0, 'predators': 1.0}
    """
    m = Model("lotka_volterra")
    prey = m.state("prey", start=1.0)
    predators = m.state("predators", start=1.0)
    birth = m.parameter("birth", 1.5, unit="1/year")
    catch = m.parameter("catch", 1.0, unit="1/year")
    death = m.parameter("death", 3.0, unit="1/year")
    growth = m.parameter("growth", 1.0, unit="1/year")
    m.equation(m.der(prey), birth * prey - catch * prey * predators, name="prey")
    m.equation(m.der(predators), growth * prey * predators - death * predators, name="predators")
    m.output("orbit", growth * prey - death * ca.log(prey) + catch * predators - birth * ca.log(predators), unit="1/s")
    return KnownSystem(
        m,
        span=(0.0, 10.0),
        conserved=("orbit",),
        reference=Reference(10.0, REFERENCE, 15, "logarithmic form, extrapolation with 40 digits"),
        source="E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential Equations I, 2nd ed. (1993), I.1",
    )


REFERENCE = {"prey": 1.0263447675750894, "predators": 0.9096910781360417}
