"""A mass on a spring by its energies: m x'' = -k x.

The energy ½ m x'² + ½ k x² is conserved and x(t) = x(0) cos ωt + x'(0)/ω sin ωt with ω² = k/m; the reference is this
formula, evaluated with 40 digits.
"""

from __future__ import annotations

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.model import Model


def build() -> KnownSystem:
    """Half a kilogram that swings with 4 rad/s.

    Example
    -------
    >>> from daedalus import catalogue
    >>> catalogue.load("mass_spring").parameters
    {'mass': 0.5, 'stiffness': 8.0}
    """
    m = Model("mass_spring")
    position = m.coordinate("position", start=0.1, rate=0.0, unit="m", nominal=0.1)
    mass = m.parameter("mass", 0.5, unit="kg")
    stiffness = m.parameter("stiffness", 8.0, unit="N/m")
    kinetic, potential = 0.5 * mass * m.rate(position) ** 2, 0.5 * stiffness * position**2
    m.kinetic_energy(kinetic)
    m.potential_energy(potential)
    m.draw("spring", [-0.3, 0], to=[position, 0], radius=0.02, name="spring")
    m.draw("box", [position, 0], size=[0.08, 0.08, 0.08], name="mass")
    m.output("energy", kinetic + potential, unit="J")
    return KnownSystem(
        m,
        span=(0.0, 10.0),
        conserved=("energy",),
        reference=Reference(10.0, REFERENCE, 15, "closed form"),
        source="S. Gros, Numerical Optimal Control with DAEs, lecture slides (2016), spring-mass example",
    )


REFERENCE = {"position": -0.06669380616522619, "position_dot": -0.29804526419173955}
