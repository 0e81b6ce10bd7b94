"""Van der Pol's oscillator: x'' = mu (1 - x²) x' - x.

Small mu: nearly a harmonic oscillator; large mu: slow drift and sudden jumps, the classic stiff problem.

References: for mu = 1, Liénard's form x' = mu (x - x³/3 - y), y' = x/mu integrated by extrapolation with 40 digits; for
mu = 1000 the published one (problem vdpol, there in the time t/mu, with mu x' as second variable). Other mu have none.

Problem: a force beside it, x'' = mu (1 - x²) x' - x + u, from (1, 0) for two units of time at the least cost
½ ∫ x² + x'² + u² dt; the optimum for mu = 1 is 1.0478069.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daedalus.catalogue import KnownSystem, Reference
from daedalus.errors import InputError
from daedalus.model.model import Model

if TYPE_CHECKING:
    from daedalus.optimisation.optimal_control import OptimalControl


def build(mu: float = 1.0) -> KnownSystem:
    """From (2, 0) over several turns of the limit cycle (its period is about 1.6 mu for large mu).

    Parameters
    ----------
    mu: how strong the damping is; above 30 or so the system counts as stiff. 1000 is the published problem.

    Example
    -------
    >>> from daedalus import catalogue
    >>> catalogue.load("van_der_pol", mu=1000.0).stiff
    True
    """
    if isinstance(mu, str) or np.ndim(mu) != 0:
        raise InputError("The option mu is not a number.", f"got {mu!r}", remedy='load("van_der_pol", mu=5.0)')
    m = Model("van_der_pol")
    x = m.state("x", start=2.0, rate=0.0)
    damping = m.parameter("mu", mu)
    m.equation(m.der(m.der(x)), damping * (1 - x**2) * m.der(x) - x, name="oscillator")
    end = max(20.0, 2.0 * mu)
    reference = None
    if mu in REFERENCES:
        reference = Reference(end, *REFERENCES[mu])
    return KnownSystem(
        m,
        span=(0.0, end),
        reference=reference,
        stiff=mu > 30.0,
        control=pushed if mu == 1.0 else None,
        optimum=1.0478069 if mu == 1.0 else None,
        source="E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 2nd ed. (1996), IV.1, IV.10",
    )


def pushed(m: Model) -> OptimalControl:
    """The oscillator with a force, as a model of its own."""
    from daedalus.optimisation.optimal_control import OptimalControl

    m = Model("van_der_pol_with_force")
    x, u = m.state("x", start=1.0, rate=0.0), m.input("u")
    m.equation(m.der(m.der(x)), (1 - x**2) * m.der(x) - x + u, name="oscillator")
    ocp = OptimalControl(m, duration=2.0, intervals=60)
    ocp.start()
    ocp.input("u", kind="linear")
    ocp.minimise(running=0.5 * (x**2 + m.der(x) ** 2 + u**2))
    return ocp


# End values, trusted digits and origin by mu.
REFERENCES: dict[float, tuple[dict[str, float], int, str]] = {
    1.0: ({"x": 2.0081497621749484, "x_dot": -0.04250887527320215}, 15, "Liénard's form, extrapolation with 40 digits"),
    1000.0: (
        {"x": 0.1706167732170483e1, "x_dot": -0.8928097010247975e-3},
        13,
        "published: F. Mazzia, C. Magherini, Test Set for IVP Solvers 2.4 (2008)",
    ),
}
