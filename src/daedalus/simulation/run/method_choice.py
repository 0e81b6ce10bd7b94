"""Which implicit method runs a system where that was left open, and why."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from daedalus.algebra.rank_decision import EPSILON
from daedalus.analysis.structure.written_structure import variable_index
from daedalus.model.signals import Signal
from daedalus.model.system.system import System
from daedalus.simulation.plant.constant_mass import varying_mass
from daedalus.simulation.result.records_of_methods import ImplicitChosen, Stiffness

# From here on BDF is faster than Radau. Measured on reaction and diffusion with an algebraic variable in each cell, on
# a line and on a square: BDF needs a third of the factorisations, and none of them complex. With 500 to 2000 unknowns
# it took 0.3 to 0.9 of the time of radau5 at rtol = 1e-2 to 1e-5 (the middle of these ratios is 0.5), with errors
# below rtol; at 1e-6 as much or more along a line. With 100 unknowns there is little to gain.
MANY, LOOSE = 500, 1e-5
# Below this rtol "auto" takes an implicit method of higher order, above it a Rosenbrock method where one fits: at equal
# error rodas5p and radau9 take the same time where rodas5p runs at rtol = 5e-7 (HIRES), 6e-7 (Chemical Akzo Nobel),
# 8e-7 (Oregonator), 5e-6 (van der Pol), 1e-5 (medical Akzo Nobel) and 5e-5 (transistor amplifier); radau5 takes longer
# than rodas5p down to 1e-6 on all of them but medical Akzo Nobel, and on Robertson's and the pollution problem too.
TIGHT = 1e-6
# Explicit steps that a run by an implicit method costs at that tolerance: it takes 30 to 300, each for two or three.
COST = 300.0
TINY = EPSILON


def implicit_choice(
    system: System, because: str | Stiffness, rtol: float, smooth: bool = False, atol: object = 1e-9
) -> tuple[str, ImplicitChosen]:
    """The implicit method for a system, and the record of the choice; `smooth`: no jump makes it restart.

    Over Robertson, Chemical Akzo Nobel, HIRES, van der Pol, the transistor amplifier, pendulum, Andrews and car axis
    order 9 reaches an error of 1e-7 and less first, whatever the index; at looser tolerances its Newton method, over
    longer steps, fails more often, and a Rosenbrock method, which has none, is fastest where it fits. It does not where
    atol is below rounding: it solves each stage once, and the rounding errors of its matrix stay in the sums that a
    solution keeps (E5: y2 - y3 - y4 moves by 1e-20 instead of 1e-25, and y3 is 1e-22 at the end).
    """
    if system.delayed:
        smooth, rtol = False, min(rtol, TIGHT)  # Radau keeps what signals were
    index, unknowns = variable_index(system).largest, system.sizes["x"] + system.sizes["z"]
    if smooth and index == 1 and unknowns >= MANY and rtol >= LOOSE:
        return "bdf", ImplicitChosen("bdf", because, unknowns, rtol)
    name = "radau9" if rtol < TIGHT else "radau5"
    if rtol > TIGHT and index == 1 and unknowns < MANY and not _is_tiny(atol) and not varying_mass(system):
        name = "rodas5p"
    return name, ImplicitChosen(name, because)


def implicit_cost(rtol: float) -> float:
    """How many explicit steps a run by an implicit method costs.

    A method of order k takes steps in proportion to rtol^(-1/k), where k is 5 at loose tolerances and 9 at tight ones.
    What stability allows an explicit method does not depend on rtol: at a loose one an implicit method pays earlier.
    """
    return float(COST * (TIGHT / rtol) ** (1 / (5 if rtol >= TIGHT else 9)))


def _is_tiny(atol: object) -> bool:
    """Whether an absolute tolerance is below the rounding errors of numbers of size one."""
    values = atol.values() if isinstance(atol, Mapping) else (atol,)
    return any(bool(np.any(np.asarray(value, dtype=float) < TINY)) for value in values)


def runs_smoothly(system: System, inputs: Mapping[str, object] | None) -> bool:
    """Whether a run has no events and no tables, at each of which a method of several steps would begin anew."""
    return not system.events and not any(isinstance(value, Signal) for value in (inputs or {}).values())
