"""Which frictions of a run have held one motion together: the motion is unique, how they share its load is not."""

from __future__ import annotations

import numpy as np

from daedalus.simulation.between.dense import Dense
from daedalus.simulation.contacts.contact_run import Contacts
from daedalus.simulation.contacts.settling import AT_REST
from daedalus.simulation.result.trajectory import Trajectory


def sharing_frictions(done: Trajectory, contacts: Contacts | None) -> tuple[str, ...]:
    """The names of frictions that are at their limits without moving while others stick, and of these; often none.

    Judged in the middle between two changes of modes.
    """
    held = done._held_values
    if contacts is None or held is None or not done._source.steps:
        return ()
    laws, p = contacts.laws, done._parameters
    modes = held.values[:, laws.modes - (len(p) - held.values.shape[1])]
    sticks, slides = laws.is_friction & (modes == 0), laws.is_friction & (modes != 0)
    times = np.append(held.times, done._source.t[-1])
    mixed = np.flatnonzero(sticks.any(axis=1) & slides.any(axis=1) & (np.diff(times) != 0))
    if not len(mixed):
        return ()
    middle = 0.5 * (times[mixed] + times[mixed + 1])
    x = Dense(*done._source.dense()).at(middle)[:, contacts.states]
    values = np.repeat(p[None, :], len(middle), axis=0)
    values[:, len(p) - held.values.shape[1] :] = held.values[mixed]
    speeds = laws.many_rates(middle, x, done._drive.at(middle), values)
    rest = AT_REST * np.maximum(laws.usual, np.abs(x).max(axis=1, initial=0.0))[:, None]
    still = slides[mixed] & (np.abs(speeds) <= rest)
    found = still.any(axis=0) | (sticks[mixed] & still.any(axis=1, keepdims=True)).any(axis=0)
    return tuple(laws.names[k] for k in np.flatnonzero(found))
