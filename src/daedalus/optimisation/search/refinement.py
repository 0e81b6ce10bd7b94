"""A better mesh from a plan: where the motion is smooth polynomials of higher degree, elsewhere shorter intervals.

An interval of degree N that is off by e where ε is allowed needs about P = log_N(e / ε) points more. It gets them up to
the highest degree; where that is reached, or where an input jumps, the interval is divided, and its parts begin with
the degree that was asked for (M. A. Patterson, W. W. Hager, A. V. Rao: A ph mesh refinement method for optimal control,
Optimal Control Applications and Methods 36, 2015). Smooth motions need fewer points than estimated, so that a degree
is at most doubled at once. Inputs that are linear between nodes are bent there: intervals are halved until that no
longer matters, to the input or to the cost: along singular arcs the cost hardly tells one input from another, and what
is found of them is rough on every mesh.
"""

from __future__ import annotations

import numpy as np

from daedalus.optimisation.transcription.collocated import Transcription
from daedalus.optimisation.transcription.mesh import Mesh, mesh_of
from daedalus.optimisation.transcription.program_layout import values_of

# An input that changes by more than this share of its range from one interval to the next jumps.
JUMP = 0.3
# An input at a bound that hardly presses stays off it by about the square root of what a search is accurate to: 1e-8.
STILL = 1e-4
# Intervals beside a jump are halved down to this share of the duration.
SHORTEST = 2e-4
# Intervals of this degree are divided, into at most so many parts: the estimate is rough where e is large.
HIGHEST_DEGREE, MOST_PARTS = 10, 4
# An interval that is off by more than this share of the size of a state does not look like the motion yet: more points
# would not bring what they bring to smooth ones, and it is divided.
UNLIKE = 1e-2


def refined_mesh(
    transcription: Transcription, w: np.ndarray, error: np.ndarray, tolerance: float, family: str, lowest: int,
    bends_matter: bool = True,
) -> Mesh | None:  # fmt: skip
    """A finer mesh, or None where it is fine enough; `lowest` is the degree of intervals that were just divided.

    bends_matter: whether bends of linear inputs are looked at.
    """
    mesh = transcription.layout.mesh
    broken = beside_jumps(transcription, w) & (mesh.widths > SHORTEST)
    bent = (bent_inputs(transcription, w) > np.sqrt(tolerance)) & ~broken & bends_matter
    missed = error > tolerance
    if not (broken | bent | missed).any():
        return None
    if not mesh.firsts[-1]:
        # Steps from node to node have no degree: they become shorter.
        broken, mesh = broken | missed, mesh_of(mesh.shares, family, lowest)
    parts, degrees = refined_parts(mesh.degrees, error / tolerance, broken, lowest, error > UNLIKE)
    # Where an input is bent, the states may be smooth: both halves keep the degree.
    parts, degrees = np.where(bent & (parts == 1), 2, parts), np.where(bent & (parts == 1), mesh.degrees, degrees)
    shares = [mesh.shares[k] + mesh.widths[k] * np.arange(count) / count for k, count in enumerate(parts)]
    return mesh_of(np.concatenate([*shares, [1.0]]), family, np.repeat(degrees, parts))


def resolving_mesh(
    transcription: Transcription, w: np.ndarray, error: np.ndarray, tolerance: float, lost: np.ndarray, most_lost: float
) -> Mesh | None:
    """A mesh with shorter intervals where the motion or an input is not resolved, or None where both are.

    lost: what inputs that are held on each interval cost, as a share of the cost; most_lost: of all together.
    """
    mesh = transcription.layout.mesh
    missed = error > tolerance
    # Halves lose a quarter: what all may lose is shared evenly, and those that lose more are divided.
    coarse = (lost > most_lost / max(1, len(lost))) & bool(lost.sum() > most_lost)
    if not (missed | coarse).any():
        return None
    parts = np.where(missed & (error > UNLIKE), MOST_PARTS, np.where(missed | coarse, 2, 1))
    parts = np.where(lost > MOST_PARTS**2 * most_lost / max(1, len(lost)), MOST_PARTS, parts)
    shares = [mesh.shares[k] + mesh.widths[k] * np.arange(count) / count for k, count in enumerate(parts)]
    places = np.concatenate([*shares, [1.0]])
    scheme = mesh.schemes[0]
    return Mesh(places, (scheme,) * (len(places) - 1))


def refined_parts(
    degrees: np.ndarray, ratio: np.ndarray, broken: np.ndarray, lowest: int, unlike: np.ndarray | bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Into how many parts each interval is divided, and their degree; ratio: error by tolerance; unlike: any motion.

    Example
    -------
    >>> import numpy as np
    >>> parts, degrees = refined_parts(np.array([3, 3, 3, 10]), np.array([0.1, 20.0, 20.0, 500.0]),
    ...                                np.array([False, False, True, False]), 3)
    >>> parts.tolist(), degrees.tolist()
    ([1, 1, 2, 4], [3, 6, 3, 3])
    """
    missed = ratio > 1.0
    more = np.ceil(np.log(np.maximum(ratio, 1.0)) / np.log(np.maximum(degrees, 2))).astype(int)
    wanted = degrees + np.where(missed, np.clip(more, 1, degrees), 0)
    divided = broken | (missed & ((degrees >= HIGHEST_DEGREE) | unlike))
    parts = np.clip(-(-wanted // lowest), 2, MOST_PARTS)
    parts = np.where(unlike, MOST_PARTS, np.where(broken, 2, parts))
    return np.where(divided, parts, 1), np.where(
        divided, np.minimum(lowest, degrees), np.where(missed, np.minimum(wanted, HIGHEST_DEGREE), degrees)
    )


def beside_jumps(transcription: Transcription, w: np.ndarray) -> np.ndarray:
    """Which intervals have a jump of an input at one of their ends: it belongs into one of them."""
    layout, stage = transcription.layout, transcription.stage
    beside, held = np.zeros(layout.intervals, dtype=bool), len(stage.constant)
    if held and layout.intervals > 1:
        u = w[layout.inputs[:, :held]]
        span = _range(u, stage.inputs.nominal[:held])
        jumps = (np.abs(np.diff(u, axis=0)) > JUMP * span).any(axis=1)
        beside[:-1] |= jumps
        beside[1:] |= jumps
    return beside


def _range(values: np.ndarray, nominal: np.ndarray) -> np.ndarray:
    """How far inputs reach, (inputs,); one that stays where it is, but for what a search leaves open, by its size."""
    reach: np.ndarray = np.maximum(np.ptp(values, axis=0), STILL * np.maximum(nominal, np.abs(values).max(axis=0)))
    return reach


def bent_inputs(transcription: Transcription, w: np.ndarray) -> np.ndarray:
    """How far inputs that are linear between nodes are from smooth ones, per interval, as a share of their range.

    Where slopes differ by Δs, a smooth input is off the straight line by about h Δs / 8. Costs change by the square of
    that, as the input is the best one.
    """
    layout, stage = transcription.layout, transcription.stage
    count = len(stage.linear)
    bent = np.zeros(layout.intervals)
    if count and layout.intervals > 1:
        slopes, n = w[layout.inputs[:, len(stage.constant) : len(stage.constant) + count]], stage.model_states
        own = w[layout.nodes[:, n : n + count]]
        span = _range(own, stage.states.nominal[n : n + count])
        kinks = np.abs(np.diff(slopes, axis=0)) / span
        width = values_of(layout.length[:1], w, transcription.program.parameters) * layout.widths[:, None]
        bent[:-1] = (width[:-1] * kinks / 8).max(axis=1)
        bent[1:] = np.maximum(bent[1:], (width[1:] * kinks / 8).max(axis=1))
    return bent
