"""Whether what holds in a run holds between its steps, too: judged by the equations, not by the polynomial of a step.

A friction that sticks takes a force below its limit, a closed contact pushes, a surface is slid along with a share
between 0 and 1. Where nothing moves, steps are as long as they like, and a short push may begin and end inside one:
the values at both ends know nothing of it. So x' and z are solved for at many times of the dense output, and where a
force or a share is beyond its limit there, the run is repeated with a step that ends at that time. The change is then
located as any other.
"""

from __future__ import annotations

import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.simulation.between.dense import Dense
from daedalus.simulation.contacts.contact_run import Contacts
from daedalus.simulation.contacts.settling import AT_REST
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.sliding.sliding_system import Sliding
from daedalus.simulation.sliding.solved_slopes import slopes_of

# Looks at the whole run, and in each of its steps at least.
LOOKS, FEWEST = 2048, 4
# A force may be beyond its limit by this part of it, a share by this: dense output has errors.
ALLOWED = 1e-4
# Numbers that are solved for at once, at most: with more unknowns there are fewer looks.
MOST_NUMBERS = 4_000_000


def stops_where_broken(done: Trajectory, contacts: Contacts | None, span: tuple[float, float]) -> np.ndarray:
    """Pairs of times between which something that a run holds ceases to hold unnoticed; most often none."""
    sliding = done.system.part(Sliding)
    slides = sliding is not None and not sliding.rests
    if (contacts is None and not slides) or not done._source.steps:
        return np.zeros(0)
    dense = Dense(*done._source.dense())
    size = sum(done.system.sizes[letter] for letter in ("x", "z")) ** 2
    times = _looks(dense, abs(span[1] - span[0]) / LOOKS, max(1, MOST_NUMBERS // max(1, size)))
    rows, u, p = dense.at(times), _inputs(done._drive, times), _parameters(done, times)
    broken = np.zeros(len(times), dtype=bool)
    if contacts is not None:
        broken |= _broken_contacts(contacts, times, rows[:, contacts.states], u, p)
    if sliding is not None and slides:
        x = rows[:, done._plant.row_parts["x"]]
        shares = slopes_of(done.system).at_many(times, x, u, p)[:, -sliding.depth :]
        broken |= np.any((shares < -ALLOWED) | (shares > 1 + ALLOWED), axis=1)
    first = np.flatnonzero(broken[1:] & ~broken[:-1])
    return np.unique(np.concatenate([times[first], times[first + 1]]))


def _looks(dense: Dense, apart: float, most: int) -> np.ndarray:
    """Times between the ends of all steps."""
    lengths = np.abs(dense.ends - dense.starts)
    counts = np.maximum(np.ceil(lengths / max(apart, NOT_ZERO)), FEWEST)
    counts = np.maximum(counts * min(1.0, most / counts.sum()), 1.0).astype(int)
    step = np.repeat(np.arange(len(counts)), counts)
    within = (np.arange(len(step)) - np.repeat(np.cumsum(counts) - counts, counts) + 0.5) / counts[step]
    return np.asarray(dense.starts[step] + within * (dense.ends - dense.starts)[step])


def _inputs(drive: Drive, times: np.ndarray) -> np.ndarray:
    return drive.at(times) if drive.moves else np.repeat(drive.constants[None, :], len(times), axis=0)


def _parameters(done: Trajectory, times: np.ndarray) -> np.ndarray:
    """p at times, with the discrete variables as they are there."""
    p = np.repeat(done._parameters[None, :], len(times), axis=0)
    if done._held_values is not None:
        held = done._held_values.at(times)
        p[:, p.shape[1] - held.shape[1] :] = held
    return p


def _broken_contacts(contacts: Contacts, times: np.ndarray, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Of each time whether a friction sticks with too large a force, or a closed contact pulls."""
    laws, n = contacts.laws, contacts.laws.system.sizes["x"]
    y = slopes_of(laws.system).at_many(times, x, u, p)
    force, modes = y[:, laws.forces], p[:, laws.modes]
    level = laws.many_levels(times, y[:, :n], x, y[:, n:], u, p)
    sizes = np.abs(force).max(axis=0, initial=0.0, where=np.isfinite(force))
    slack = np.where(laws.is_friction, level - np.abs(force), force)
    allowed = ALLOWED * np.where(laws.is_friction, level, sizes)
    holds = modes == np.where(laws.is_friction, 0.0, 1.0)
    return np.asarray(np.any(holds & (slack < -allowed), axis=1))


# -- frictions that share a load -------------------------------------------------------------------------------------


def sharing_frictions(done: Trajectory, contacts: Contacts | None) -> tuple[str, ...]:
    """The names of frictions that are at their limits without moving while others stick, and of these; often none.

    They held one motion together: the motion is unique, how they share its load is not. Judged in the middle between
    two changes of modes.
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
