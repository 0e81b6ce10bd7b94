"""A model with noise as an estimator takes it: its mean motion, and the spectral density of its noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.model.names import listed
from daedalus.model.system.closed_loop import closed_loop
from daedalus.model.system.system import System
from daedalus.model.values import parameter_values
from daedalus.reduction.reduce import reduce
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.plants import plant_of


def without_noise(system: System) -> System:
    """The system with its noises at zero, their mean; they are outputs now, and no inputs."""
    return closed_loop(system, {v.name: ca.SX.zeros(v.size) for v in system.noises})


def noise_density(system: System, states: Sequence[str], parameters: Mapping[str, object] | None) -> np.ndarray:
    """G Q Gᵀ of the white noises that enter x' by G, in the order of some states; refused where G is not constant."""
    white = [v for v in system.noises if v.noise is not None and v.noise.is_white]
    if not white:
        return np.zeros((len(states), len(states)))
    plant = plant_of(system)
    if not isinstance(plant, ExplicitPlant):
        system = reduce(system).freeze()
        plant = plant_of(system)
    positions = [k for v in white for k in system.place(v.name).positions.tolist()]
    slopes = None
    if isinstance(plant, ExplicitPlant) and set(states) <= set(system.labels["x"]):
        slopes = ca.jacobian(plant.form.xdot, system.symbol("u")[positions])
    moves = ca.vertcat(*system.symbols(("t", "x", "u")))
    if slopes is None or ca.depends_on(slopes, moves):
        raise InputError(
            f"The intensity of {listed([v.name for v in white])} in the state equations is not constant.",
            because="an estimator only supports white noise of constant intensity.",
            remedy="process_noise= with a density for it",
        )
    gain = ca.Function("gain", [system.symbol("p")], [slopes])(parameter_values(system, parameters)).full()
    rows = [system.labels["x"].index(name) for name in states]
    spread = np.array([value for v in white if v.noise is not None for value in v.noise.spread])
    return np.asarray((gain * spread @ gain.T)[np.ix_(rows, rows)])
