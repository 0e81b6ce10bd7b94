"""A run of a model with noise: the noise is drawn and held over short steps, and the equations are solved with it.

For noise that is added, and for one source of noise of any kind, the path converges with order one in the step. With
`step=` that step is taken. Without it, steps become shorter along the same path (1, 0.5, 0.2, 0.1, …) until that no
longer changes the states; noise that is added, and forces, then follow polynomials, with order 1.5.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from daedalus.algebra.agreement import SAME
from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.errors import InputError
from daedalus.model.mechanics.mechanics_part import touching_book
from daedalus.model.system.system import System
from daedalus.model.variables import Variable
from daedalus.simulation.noise.curved_noise import curved_paths
from daedalus.simulation.noise.ito_drift import events_of_noise, noise_leaves_noise, noises_commute, with_ito_drift
from daedalus.simulation.noise.limited_formulas import limited_formulas
from daedalus.simulation.noise.noise_signals import NoisePath, cells, noise_paths
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.result.joined_trajectory import joined
from daedalus.simulation.result.records_of_methods import LongOscillation, NoiseDrawn
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.request import Request, checked_numbers

# Without step=, a span begins with about this many steps, and has at most so many.
FIRST_STEPS, MOST_STEPS = 128, 2**18
# Halving the step may change the path by this share of its size, whatever rtol says: steps go with its inverse.
LARGEST_CHANGE = 1e-3

Run = Callable[[Request], Trajectory]


def undriven_noises(request: Request) -> tuple[Variable, ...]:
    """The noises of a model that a run has to draw: those whose values are not given."""
    noises = request.system.noises
    if not noises:
        return ()
    given = {name.split("[")[0] for name in request.inputs or {}}
    return tuple(variable for variable in noises if variable.name not in given)


def run_with_noise(
    request: Request, noises: tuple[Variable, ...], seed: int | None, run: Run, curved: bool = True
) -> Trajectory:
    """The run of a request whose noises are drawn; `run` makes one whose inputs are all given.

    curved: noise that no noise changes may follow polynomials where no step is given.
    """
    own = read_seed(seed)
    checked_numbers(request.rtol, request.limits)
    if request.t1 < request.t0:
        raise InputError(
            "A run with noise must go forward in time.",
            f"the span is ({request.t0:g}, {request.t1:g})",
            because="noise is independent of the past, but not of the future.",
            remedy="a span that ends after its start",
        )
    held = request._replace(model=with_ito_drift(request.system))
    step, *limits = request.limits
    if request.method == "auto":
        held = held.with_options(limits=(None, *limits))
    draw = _NoisyRuns(held, noises, own, run, held.model is not request.system, noises_commute(request.system))
    if curved and step is None and touching_book(request.system) is None:
        draw.curved = noise_leaves_noise(request.system)
    if step is not None or not any(_is_white(variable) for variable in noises) or request.t0 == request.t1:
        return draw.told(draw.trajectory(step), step)
    return draw.refined()


def read_seed(seed: object) -> int:
    """The seed as a number; a new one for None."""
    if seed is None:
        return secrets.randbits(63)
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or not 0 <= seed < 2**64:
        raise InputError(
            f"{seed!r} is not a seed."[:80], because="a seed is a whole number from 0 on.", remedy="seed=1"
        )
    return int(seed)


def _is_white(variable: Variable) -> bool:
    return variable.noise is not None and variable.noise.is_white


class _NoisyRuns:
    """Runs of one request with noise that is held over different steps."""

    def __init__(
        self, request: Request, noises: tuple[Variable, ...], seed: int, run: Run, drift: bool, commutes: bool
    ) -> None:
        self.request, self.noises, self.seed, self.run = request, noises, seed, run
        self.drift, self.commutes, self.curved = drift, commutes, False

    def paths(self, step: float | None) -> dict[str, NoisePath]:
        """The noise, white noise held over a step or as polynomials in it."""
        if self.curved and step is not None:
            return curved_paths(self.noises, self.request.t0, self.request.t1, step, self.seed)
        return noise_paths(self.noises, self.request.t0, self.request.t1, step, self.seed)

    def trajectory(self, step: float | None, compared: bool = False) -> Trajectory:
        """The run with a step; its rows are where white noise changes, unless others are asked for."""
        request = self.request
        save_at = None if compared else request.save_at
        if save_at is None and step is not None and any(_is_white(v) for v in self.noises):
            save_at = self._grid(step)
        inputs = {**(request.inputs or {}), **self.paths(step)}
        return self.run(request._replace(inputs=inputs, save_at=save_at))

    def _grid(self, step: float) -> np.ndarray:
        t0, t1 = self.request.t0, self.request.t1
        first, last = cells(t0, t1, step, self.noises[0].name)
        inner = np.arange(first + 1, last) * step
        return np.array([t0, *inner[(inner > t0) & (inner < t1)], t1])

    def refined(self) -> Trajectory:
        """The run whose steps are so short that shorter ones change nothing that counts."""
        t0, t1 = self.request.t0, self.request.t1
        step = _round_step((t1 - t0) / FIRST_STEPS)
        wanted = max(float(self.request.rtol), LARGEST_CHANGE)
        before = self.trajectory(step, compared=True)
        while True:
            step = _round_step(step / 2)
            after = self.trajectory(step, compared=True)
            change = _change(before, after, t0)
            before = after
            if not after.success or change <= wanted or (t1 - t0) / step >= MOST_STEPS:
                asked = after if self.request.save_at is None else self.trajectory(step)
                return self.told(asked, step, change, wanted)

    def told(
        self, whole: Trajectory, step: float | None, change: float | None = None, wanted: float | None = None
    ) -> Trajectory:
        """The run with a record of its noise."""
        white = tuple(variable.name for variable in self.noises if _is_white(variable))
        sampled = tuple(variable.name for variable in self.noises if not _is_white(variable))
        record = NoiseDrawn(
            white, sampled, self.seed, step if white else None, self.drift, change, wanted, self.commutes, self.curved,
            events_of_noise(self.request.system),
        )  # fmt: skip
        first, *rest = whole.pieces
        # Noise leads the phase of what it shakes.
        kept = [one for one in first.outcome.records if not (white and isinstance(one, LongOscillation))]
        pieces = [first.remade(first.status, replace(first.outcome, records=(*kept, record))), *rest]
        pieces[-1] = _with_reason(pieces[-1], self.request.system) if white else pieces[-1]
        return joined(pieces) if rest else pieces[0]


def _with_reason(last: Trajectory, system: System) -> Trajectory:
    """A run that ended with values that are not finite tells where noise may have led."""
    fact, remedy = limited_formulas(system) if last.status is Ending.NOT_FINITE else ("", "")
    if not fact:
        return last
    stop = replace(last.outcome.stop, facts=(*last.outcome.stop.facts, fact), remedy=remedy)
    return last.remade(last.status, replace(last.outcome, stop=stop))


def _round_step(most: float) -> float:
    """The longest step of 1, 2 or 5 times a power of ten up to a length: its ends are met at once."""
    exponent = math.floor(math.log10(most) + SAME)
    return next(step for digit in (5, 2, 1) if (step := float(f"{digit}e{exponent}")) <= most * (1 + SAME))


def _change(before: Trajectory, after: Trajectory, t0: float) -> float:
    """How far two runs are apart at the rows of the first, in root mean squares of each state."""
    if not (before.success and after.success):
        return math.inf
    system: System = before.system
    # An event may have ended the runs at different times.
    ends = float(before.end.time), float(after.end.time)
    largest = abs(ends[1] - ends[0]) / max(ends[1] - t0, NOT_ZERO)
    both = np.asarray(before.time) <= min(ends)
    if not both.any():
        return largest
    seen = after.at(np.asarray(before.time)[both])
    for name in system.labels["x"]:
        one, other = np.asarray(before[name], dtype=float)[both], np.asarray(seen[name], dtype=float)
        size = math.sqrt(float(np.mean(other**2)))
        apart = math.sqrt(float(np.mean((one - other) ** 2)))
        largest = max(largest, apart / size if size > 0 else (0.0 if apart == 0 else math.inf))
    return largest
