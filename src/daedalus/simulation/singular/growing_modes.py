"""Modes that grow in a run: what the core followed or stepped over, and rests that a disturbance would leave.

Long steps of implicit methods damp a mode e^(λ t), Re λ > 0, that they do not resolve, and a state that stands exactly
on an unstable rest stays there with any method. The core finds modes by the factors of its steps and resolves those
that the motion meets (methods/implicit/growing_modes.hpp); what it cannot decide is told with its rate. Steps of a
fixed length are as long as they were asked to be: modes that they do not resolve are told.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus._core import shared_numbers
from daedalus.algebra.rank_decision import EPSILON, KNOWN_BY_DIFFERENCES
from daedalus.simulation.result.records_of_methods import GrowingModeMet
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.run.long_oscillations import INFINITE, LARGEST, linearised_at, modes_of
from daedalus.simulation.run.road import Piece

# As the core numbers them.
KINDS = ("", "rest", "followed", "passed")
# The limits of the core: a state that moves by less, in units of its tolerance or of its last digit, is at rest; a mode
# grows where its rate is this share of its size, and by so many powers of e in the run.
IN_TOLERANCES, IN_DIGITS = shared_numbers["rest_in_tolerances"], shared_numbers["rest_in_digits"]
GROWS, WORTH_TELLING = shared_numbers["grows_at_rest"], shared_numbers["worth_telling"]
# Of steps of a fixed length: a mode with h Re λ above this is damped by implicit Euler's method, whose stability
# function has its pole there; one that moves with the solution counts where it grows rather than turns, as in the core.
UNRESOLVED, GROWS_IN_MOTION = 1.0, 0.3
# Rows of such a run at which modes are looked at.
LOOKS = 5


def growing_modes(piece: Piece, run: Any) -> tuple[GrowingModeMet, ...]:
    """The record of a mode that grows, where a core run met one or rests where one would grow."""
    settings, plant = piece.settings, piece.settings.plant
    labels = plant.system.labels["x"]
    kind, time, rate, frequency, component = run.growing
    if kind and component < len(labels):
        return (GrowingModeMet(KINDS[kind], labels[component], time, rate, frequency),)
    x = run.x[:, plant.row_parts["x"]]
    count, span = x.shape[1], abs(float(run.t[-1] - run.t[0])) if len(run.t) else 0.0
    if count == 0 or span == 0.0 or len(labels) != count or count + plant.system.sizes["z"] > LARGEST:
        return ()
    tolerance = np.asarray(settings.call["atol"])[:count] + settings.rtol * np.abs(x[0])
    step = settings.call.get("step")
    if step is not None and plant.is_implicit and (unresolved := _unresolved(piece, run, float(step))):
        return unresolved
    still = np.maximum(IN_TOLERANCES * tolerance, IN_DIGITS * EPSILON * np.abs(x[0]))
    if (np.abs(x - x[0]) > still).any():
        return ()
    rows = Samples(plant, piece.drive, piece.parameters, np.asarray(run.t)[:1], np.asarray(run.x)[:1])
    for matrices in linearised_at(rows):
        found = modes_of(*matrices, INFINITE / span)
        if found is None or not len(found[0]):
            return ()
        values, modes = found
        grows = values.real > np.maximum(GROWS * np.abs(values), KNOWN_BY_DIFFERENCES * np.abs(values).max())
        grows &= values.real * span > WORTH_TELLING
        if grows.any():
            k = int(np.argmax(np.where(grows, values.real, -np.inf)))
            most = int(np.argmax(np.abs(modes[:, k]) / tolerance))
            size = float(values[k].real), abs(float(values[k].imag))
            return (GrowingModeMet("rest", labels[most], float(run.t[0]), *size),)
    return ()


def _unresolved(piece: Piece, run: Any, step: float) -> tuple[GrowingModeMet, ...]:
    """The record of a mode that steps of a fixed length do not resolve, at the first of some rows with one."""
    plant, end = piece.settings.plant, float(run.t[-1])
    places = np.unique(np.linspace(0, len(run.t) - 1, LOOKS).astype(int)[:-1])
    rows = Samples(plant, piece.drive, piece.parameters, np.asarray(run.t)[places], np.asarray(run.x)[places])
    for place, matrices in zip(places, linearised_at(rows)):
        found = modes_of(*matrices, INFINITE / abs(end - float(run.t[0])))
        if found is None or not len(found[0]):
            continue
        values, modes = found
        left = abs(end - float(run.t[place]))
        grows = (values.real > GROWS_IN_MOTION * np.abs(values)) & (values.real * left > WORTH_TELLING)
        grows &= (values.real * abs(step) > UNRESOLVED) & (values.real > KNOWN_BY_DIFFERENCES * np.abs(values).max())
        if grows.any():
            k = int(np.argmax(np.where(grows, values.real, -np.inf)))
            most = int(np.argmax(np.abs(modes[:, k]) / plant.system.nominal["x"]))
            size = float(values[k].real), abs(float(values[k].imag))
            return (GrowingModeMet("unresolved", plant.system.labels["x"][most], float(run.t[place]), *size),)
    return ()
