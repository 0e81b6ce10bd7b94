"""Random masses with dry frictions as models: `m.friction`, plain signs or branches, with and without a stiff state."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from support.friction_references import FrictionSystem, friction_system

import daedalus as dd

FORMS = ("friction", "sign", "branch")
METHODS = ("auto", "radau5", "bdf", "rodas5p", "radau9", "sdirk4", "tsit5", "dop853")
EXPLICIT = ("tsit5", "dop853")


@dataclass(frozen=True)
class FrictionCase:
    """A system, how it is written and by which method it runs."""

    system: FrictionSystem
    form: str  # of FORMS
    stiff: bool
    method: str

    @property
    def model(self) -> dd.Model:
        """The model."""
        return friction_model(self.system, self.form, self.stiff)


def friction_case(seed: int) -> FrictionCase:
    """A random system, written and run in a random way."""
    rng = np.random.default_rng([seed, 1])
    system, form, stiff = friction_system(seed), str(rng.choice(FORMS)), bool(rng.random() < 0.3)
    if np.any(system.static > system.levels):  # plain signs have one level
        form = "friction"
    return FrictionCase(system, form, stiff, str(rng.choice(METHODS[: -len(EXPLICIT)] if stiff else METHODS)))


def friction_model(system: FrictionSystem, form: str = "friction", stiff: bool = False) -> dd.Model:
    """The equations of a system; stiff: with a fast state beside the masses."""
    m, n = dd.Model("frictions"), len(system.masses)
    x = [m.state(f"x{i}", start=float(system.x0[i])) for i in range(n)]
    v = [m.state(f"v{i}", start=float(system.v0[i])) for i in range(n)]
    forces = []
    for k, (row, level) in enumerate(zip(system.directions, system.levels.tolist())):
        speed = sum(float(row[i]) * v[i] for i in np.flatnonzero(row)) - float(system.belts[k])
        if form == "friction":
            static = float(system.static[k])
            forces.append(m.friction(f"f{k}", speed, kinetic=level, static=static if static > level else None))
        else:
            forces.append(-level * (ca.sign(speed) if form == "sign" else ca.if_else(speed > 0, 1, -1)))
    for i in range(n):
        outer = float(system.sines[i]) * ca.sin(float(system.frequency[i]) * m.time) + _constant(m, system, i)
        outer += -float(system.stiffness[i]) * x[i] - float(system.damping[i]) * v[i]
        own = sum(float(system.directions[k, i]) * f for k, f in enumerate(forces) if system.directions[k, i])
        m.equation(m.der(x[i]), v[i])
        m.equation(float(system.masses[i]) * m.der(v[i]), outer + own)
    if stiff:
        y = m.state("y", start=1.0)
        m.equation(m.der(y), -1e4 * (y - ca.cos(m.time)))
    return m


def _constant(m: dd.Model, system: FrictionSystem, i: int) -> ca.SX:
    """The constant push on a mass, which changes at given times."""
    values = system.constants[:, i].tolist()
    push = ca.SX(values[0])
    for time, value in zip(system.changes[1:].tolist(), values[1:]):
        push = ca.if_else(m.time < time, push, value)
    return push


def places_of(tr: dd.Trajectory, system: FrictionSystem, times: np.ndarray) -> np.ndarray:
    """(x, v) of a run at some times."""
    at = tr.at(times)
    return np.array([np.asarray(at[f"{letter}{i}"]) for letter in "xv" for i in range(len(system.masses))]).T
