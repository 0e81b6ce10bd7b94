"""The Pleiades problem: seven stars in a plane that attract each other.

    x_i'' = Σ_{j≠i} m_j (x_j - x_i) / r_ij³,    y_i'' likewise,    m_i = i,    r_ij² = (x_i - x_j)² + (y_i - y_j)²

Several pairs pass close by each other, which tests the choice of the step. Energy, momentum and angular momentum are
conserved.

Reference: the published end values, computed there by PSIDE on a Cray C90 with tolerance 1e-16; extrapolation with 40
digits agrees to 2e-15.
"""

from __future__ import annotations

import casadi as ca

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.model import Model

STARS = 7


def build() -> KnownSystem:
    """Seven stars over three units of time; states in the published order x, y, x', y'.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("pleiades")
    >>> k.model.freeze().labels["x"][::7]
    ('x[0]', 'y[0]', 'x_dot[0]', 'y_dot[0]')
    """
    m = Model("pleiades")
    x = m.state("x", STARS, start=[3, 3, -1, -3, 2, -2, 2], rate=[0, 0, 0, 0, 0, 1.75, -1.5])
    y = m.state("y", STARS, start=[3, -3, 2, 0, 0, -4, 4], rate=[0, 0, 0, -1.25, 1, 0, 0])
    mass = m.parameter("mass", [1, 2, 3, 4, 5, 6, 7])

    vx, vy = m.der(x), m.der(y)
    pull_x, pull_y = [ca.SX(0)] * STARS, [ca.SX(0)] * STARS
    potential = ca.SX(0)
    for i in range(STARS):
        for j in range(i):
            dx, dy = x[j] - x[i], y[j] - y[i]
            square = dx**2 + dy**2
            distance = ca.sqrt(square)
            cube = square * distance
            pull_x[i], pull_y[i] = pull_x[i] + mass[j] * dx / cube, pull_y[i] + mass[j] * dy / cube
            pull_x[j], pull_y[j] = pull_x[j] - mass[i] * dx / cube, pull_y[j] - mass[i] * dy / cube
            potential -= mass[i] * mass[j] / distance
    m.equation(m.der(vx), ca.vertcat(*pull_x), name="along_x")
    m.equation(m.der(vy), ca.vertcat(*pull_y), name="along_y")
    for k in range(STARS):
        m.draw("sphere", [x[k], y[k]], radius=0.06 * (k + 1) ** (1 / 3), name=f"star {k + 1}")
        m.draw("trace", [x[k], y[k]], name=f"path {k + 1}")
    m.output("energy", 0.5 * mass.T @ (vx**2 + vy**2) + potential)
    m.output("momentum", [mass.T @ vx, mass.T @ vy])
    m.output("angular_momentum", mass.T @ (x * vy - y * vx))
    return KnownSystem(
        m,
        span=(0.0, 3.0),
        conserved=("energy", "momentum", "angular_momentum"),
        reference=Reference(
            3.0, REFERENCE, 14, "published: F. Mazzia, C. Magherini, Test Set for IVP Solvers 2.4 (2008)"
        ),
        source="E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential Equations I, 2nd ed. (1993), II.10",
    )


REFERENCE = {
    "x": [
        0.3706139143970502,
        0.3237284092057233e1,
        -0.3222559032418324e1,
        0.6597091455775310,
        0.3425581707156584,
        0.1562172101400631e1,
        -0.7003092922212495,
    ],
    "y": [
        -0.3943437585517392e1,
        -0.3271380973972550e1,
        0.5225081843456543e1,
        -0.2590612434977470e1,
        0.1198213693392275e1,
        -0.2429682344935824,
        0.1091449240428980e1,
    ],
    "x_dot": [
        0.3417003806314313e1,
        0.1354584501625501e1,
        -0.2590065597810775e1,
        0.2025053734714242e1,
        -0.1155815100160448e1,
        -0.8072988170223021,
        0.5952396354208710,
    ],
    "y_dot": [
        -0.3741244961234010e1,
        0.3773459685750630,
        0.9386858869551073,
        0.3667922227200571,
        -0.3474046353808490,
        0.2344915448180937e1,
        -0.1947020434263292e1,
    ],
}
