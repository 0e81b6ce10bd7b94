"""Where phases are guessed to begin and to end: between the values that are given at the joints of a sequence.

A state that goes on from phase to phase is guessed along straight lines between the joints at which it is given, over
the expected durations, and beyond the first and last of them it stays. Where it is given nowhere, each phase begins
with the start value of its own model.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daedalus.optimisation.description.description import Description
from daedalus.optimisation.transcription.boundary.reference_ends import ReferenceEnds, first_guess, fixed_states


def ends_of_phases(described: Sequence[Description], links: Sequence[dict[int, int]]) -> list[ReferenceEnds]:
    """Guessed states at both ends of each phase.

    links: for each joint, the states of the phase before that go on, and which of the phase behind they become.
    """
    joints = np.concatenate([[0.0], np.cumsum([own.expected_duration for own in described])])
    found = [ReferenceEnds(first_guess(own), first_guess(own)) for own in described]
    for way in _ways(described, links):
        known: dict[float, float] = {}
        for phase, state in way:
            for time, given in zip(joints[phase:], (described[phase].starts, described[phase].ends)):
                value = fixed_states(given).get(state)
                if value is not None:
                    known[float(time)] = value
        times = sorted(known)
        for phase, state in way if known else ():
            values = np.interp(joints[phase : phase + 2], times, [known[time] for time in times])
            found[phase].start[state], found[phase].end[state] = values
    return found


def _ways(described: Sequence[Description], links: Sequence[dict[int, int]]) -> list[list[tuple[int, int]]]:
    """The states of all phases, (phase, position), those that go on as one."""
    ways: list[list[tuple[int, int]]] = []
    going_on: dict[int, list[tuple[int, int]]] = {}
    for phase, own in enumerate(described):
        arriving, going_on = going_on, {}
        for state in range(own.system.sizes["x"]):
            way = arriving.get(state)
            if way is None:
                way = []
                ways.append(way)
            way.append((phase, state))
            if phase < len(links) and state in links[phase]:
                going_on[links[phase][state]] = way
    return ways
