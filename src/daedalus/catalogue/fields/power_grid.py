"""A power grid after a disturbance: generators swing, loads take their power at once; index 1.

    δ_g' = ω_g,   M ω_g' = P_g - D ω_g - Σ_j B_gj sin(δ_g - θ_j)     generators, every third bus
                       0 = P_l - Σ_j B_lj sin(θ_l - θ_j)             loads, whose angles follow at once

Buses stand in a ring, and every second one has a line across. `load("power_grid", buses=500)` is as large as a grid of
a country.

Reference (12 buses): SciPy's DOP853 at a tolerance of 1e-13, the angles of the loads by Newton's method.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.catalogue import KnownSystem, Reference
from daedalus.catalogue.counted_option import counted_option
from daedalus.model.model import Model

INERTIA, DAMPING, LOAD = 0.2, 0.3, 0.5


def lines(buses: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The two ends of every line and its susceptance."""
    ring = [(k, (k + 1) % buses) for k in range(buses)]
    across = [(k, (7 * k + 3) % buses) for k in range(0, buses, 2)]
    pairs = {tuple(sorted(pair)) for pair in ring + across if pair[0] != pair[1]}
    one, two = np.array(sorted(pairs)).T
    return one, two, 4.0 + (one * 5 + two * 3) % 7 * 0.5


def build(buses: Any = 12) -> KnownSystem:
    """A grid of this many buses.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("power_grid", buses=500)
    >>> k.model.freeze().sizes["x"], k.model.freeze().sizes["z"]
    (334, 333)
    """
    count = counted_option("buses", buses, 6, 12)
    generators, loads = np.arange(0, count, 3), np.flatnonzero(np.arange(count) % 3)
    m = Model("power_grid")
    angle = m.state("angle", len(generators), start=0.3 * np.sin(1.0 + generators), unit="rad")
    speed = m.state("speed", len(generators), start=np.zeros(len(generators)), unit="rad/s")
    load = m.algebraic("load_angle", len(loads), start=np.zeros(len(loads)), unit="rad")
    demand = m.parameter("demand", LOAD)
    place = np.empty(count, int)
    place[generators], place[loads] = np.arange(len(generators)), len(generators) + np.arange(len(loads))
    whole = ca.vertcat(angle, load)
    one, two, susceptance = lines(count)
    flow = ca.DM(susceptance) * ca.sin(whole[place[one].tolist()] - whole[place[two].tolist()])
    number = np.arange(len(one))
    ends = ca.DM.triplet(place[one].tolist(), number.tolist(), ca.DM.ones(len(one)), count, len(one))
    ends -= ca.DM.triplet(place[two].tolist(), number.tolist(), ca.DM.ones(len(one)), count, len(one))
    leaving = ca.mtimes(ca.SX(ends), flow)
    made = demand * len(loads) / len(generators)
    m.equation(m.der(angle), speed, name="turning")
    m.equation(INERTIA * m.der(speed), made - DAMPING * speed - leaving[: len(generators)], name="swing")
    m.equation(0, -demand - leaving[len(generators) :], name="loads")
    return KnownSystem(
        m,
        span=(0.0, 3.0),
        index=1,
        reference=Reference(3.0, REFERENCE, 12, "SciPy's DOP853 at 1e-13") if count == 12 else None,
        source="A. R. Bergen, D. J. Hill, IEEE Trans. Power App. Syst. 100 (1981); grid chosen here",
    )


REFERENCE: dict[str, object] = {
    "angle": [-0.009576235869134019, 0.024308915015453295, 0.015343122515103377, 0.029214391537397393],
    "speed": [0.18045941183526165, -0.1769123516003092, 0.11542639910760641, -0.11897345934256022],
    "load_angle": [
        -0.07890374588464362,
        -0.06852917304255259,
        -0.06211480772517207,
        -0.0752516873419579,
        -0.0694959097986713,
        -0.06501475319771002,
        -0.06471383400665709,
        -0.07226796006248226,
    ],
}
