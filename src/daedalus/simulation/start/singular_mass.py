"""Name the part of a mechanical model that has no inertia, where a run cannot begin for it."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import SINGULAR
from daedalus.errors import SingularModelError
from daedalus.model.mechanics.constrained_accelerations import weakest_motion
from daedalus.model.mechanics.mechanics_part import motion_or_none
from daedalus.model.mechanics.motion_functions import MotionFunctions
from daedalus.model.model import Model, as_system
from daedalus.model.names import split_derivative, split_index
from daedalus.model.system.system import System

# Names in one sentence.
MOST_NAMES = 6


def check_start_mass(model: Model | System, system: System, t0: float, x0: np.ndarray, p: np.ndarray) -> None:
    """Refuse a start at which the mass matrix is singular; called when a run failed, with the values it began with.

    Example
    -------
    >>> import daedalus as dd, numpy as np
    >>> m = dd.Model("bead")
    >>> q = m.coordinate("q", start=0.0, rate=0.0)
    >>> m.kinetic_energy(0.5 * q**2 * m.rate(q) ** 2); m.potential_energy(q)
    >>> check_start_mass(m, m.freeze(), 0.0, np.zeros(2), np.zeros(0))
    Traceback (most recent call last):
    daedalus.errors.SingularModelError: The mass matrix is singular at the start.
      no inertia belongs to q at q = 0
      Because the accelerations follow from M v' = f, which has no single solution there.
      Try: another start of q, or an m.kinetic_energy(...) that q has there too
    """
    functions = motion_or_none(as_system(model))
    if functions is None:
        return
    known = {letter: set(functions.system.labels[letter]) for letter in "xp"}
    values, parameters = (
        {label: float(v) for label, v in zip(system.labels[letter], vector) if label in known[letter]}
        for letter, vector in (("x", x0), ("p", p))
    )
    arguments = functions.arguments(values, parameters=parameters, time=t0)
    parts = massless_parts(functions, arguments)
    if not parts:
        return
    names = ", ".join(parts[:MOST_NAMES])
    inside = _values_inside(functions, arguments)
    told = ", ".join(f"{name} = {value:g}" for name, value in list(inside.items())[:MOST_NAMES])
    choice = f"another start of {', '.join(n for n in inside if n in functions.positions)}, or "
    if not any(name in functions.positions for name in inside):
        choice = f"other parameters {', '.join(inside)}, or " if inside else ""
    raise SingularModelError(
        "The mass matrix is singular at the start.",
        f"no inertia belongs to {names}" + (f" at {told}" if told else ""),
        because="the accelerations follow from M v' = f, which has no single solution there.",
        remedy=f"{choice}an m.kinetic_energy(...) that {names} {'has' if len(parts) == 1 else 'have'} there too",
    )


def check_general_mass(model: Model | System) -> None:
    """Refuse a model whose mass matrix is singular at values drawn at random, hence everywhere."""
    functions = motion_or_none(as_system(model))
    if functions is None:
        return
    draw = np.random.default_rng(1788)
    arguments = functions.arguments()
    for k in (1, 2):
        arguments[k] = draw.uniform(0.3, 1.3, len(arguments[k]))
    parts = massless_parts(functions, arguments)
    if not parts:
        return
    names = ", ".join(parts[:MOST_NAMES])
    raise SingularModelError(
        f"The mass matrix of {model.name!r} is singular.",
        f"a motion of {names} has no kinetic energy, wherever it begins",
        because="the accelerations follow from M v' = f, which has no single solution.",
        remedy=f"m.kinetic_energy(...) for every motion of {names}, or a constraint between them",
    )


def massless_parts(functions: MotionFunctions, arguments: list[np.ndarray]) -> list[str]:
    """Coordinates and bodies that move, as far as constraints allow, without inertia; empty where there are none."""
    mass, jacobian = functions.M(*arguments).full(), functions.G(*arguments).full()
    if not (np.all(np.isfinite(mass)) and np.all(np.isfinite(jacobian))):
        return []
    moment, places = weakest_motion(mass, jacobian)
    return [] if moment > SINGULAR else list(dict.fromkeys(_part(functions.velocities[k]) for k in places))


def _part(velocity: str) -> str:
    """The coordinate or the body of a velocity: `q[1]` of `q_dot[1]`, `crank` of `crank.velocity[0]`."""
    stem, _ = split_index(velocity)
    origin, order = split_derivative(stem)
    return origin + velocity[len(stem) :] if order else stem.rpartition(".")[0]


def _values_inside(functions: MotionFunctions, arguments: list[np.ndarray]) -> Mapping[str, float]:
    """The values of the positions in the mass matrix, or of the parameters in it where no position is."""
    for place, labels in ((1, functions.positions), (4, functions.system.labels["p"])):
        inside = sorted(set(_columns(functions.M, place)))
        if inside:
            return {labels[k]: float(arguments[place][k]) + 0.0 for k in inside}
    return {}


def _columns(function: ca.Function, place: int) -> list[int]:
    """The elements of an argument that a function depends on."""
    return function.jac_sparsity(0, place).get_triplet()[1]
