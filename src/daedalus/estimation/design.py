"""Which experiment tells most: inputs and sample times by the information that measurements hold about unknowns.

F = Σ over samples of (∂y/∂ln θ)ᵀ (∂y/∂ln θ) / σ²      D: the largest determinant of F      A: the smallest trace of F⁻¹
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from daedalus.differentiation.sensitivities import sensitivities
from daedalus.errors import InputError
from daedalus.estimation.sample_times import CRITERIA, SampleSearch
from daedalus.estimation.unseen_directions import Seen, Unseen
from daedalus.model.model import Model, as_system
from daedalus.model.names import counted
from daedalus.model.plain_numbers import plain_number
from daedalus.model.signals import signal
from daedalus.model.switching.schedule import SAME_TIME
from daedalus.model.system.system import System
from daedalus.model.values import unit_of
from daedalus.optimisation.description.unknown import Unknown
from daedalus.simulation.run.request import read_span

# Levels of a chosen input, as shares of the way from its lower to its upper bound, beside its guess.
LEVELS = (0.0, 0.5, 1.0)
MOST_SWEEPS = 6
MOST_CANDIDATES = 10_000


@dataclass(frozen=True, eq=False)
class Design:
    """The result of `dd.design`: when to measure, which inputs to apply, and the expected standard deviations.

    times: (samples,) in order. choice: the index of the chosen inputs in your list. inputs: as `dd.simulate` takes
    them;
    an optimised one is a `dd.signal`. std: the expected standard deviations of a fit, by name; infinite for values that
    the samples do not determine. unidentifiable: the combinations that they do not determine; `str` of each is a
    sentence. score:
    log det F, or −trace F⁻¹, in relative changes of the unknowns; −∞ where some direction is not seen.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("line")
    >>> x = m.state("x", start=0.0); a = m.parameter("a", 1.0)
    >>> m.equation(m.der(x), a)
    >>> best = dd.design(m, 2.0, ["a"], samples=1, noise=0.1)
    >>> best.times.tolist(), round(best.std["a"], 6)
    ([2.0], 0.05)
    """

    times: np.ndarray
    choice: int
    inputs: Mapping[str, object]
    std: dict[str, float]
    score: float
    unidentifiable: list[Unseen] = field(default_factory=list)

    def __repr__(self) -> str:
        head = f"Design: {counted(len(self.times), 'sample')}, score {self.score:.4g}"
        rows = [f"  {name} ± {value:.2g}" for name, value in self.std.items()]
        return "\n".join([head, *rows, *dict.fromkeys(f"  {direction}" for direction in self.unidentifiable)])


def design(
    model: Model | System,
    span: float | tuple[float, float],
    free: str | Sequence[str],
    inputs: Mapping[str, object] | Sequence[Mapping[str, object]] | None = None,
    outputs: str | Sequence[str] | None = None,
    noise: Mapping[str, float] | float = 1.0,
    samples: int = 10,
    candidates: int = 101,
    criterion: str = "D",
    intervals: int = 8,
    spacing: float = 0.0,
    **simulate_options: Any,
) -> Design:
    """Choose the inputs and sample times that give the most information about unknowns, at their current values.

    Parameters
    ----------
    free: names of parameters and states (their start values).
    inputs: the inputs of one experiment, or a list of alternatives. An input `dd.unknown(guess, lower, upper)` is
        optimised: it is constant over `intervals` equal parts of the span, each at its lower or upper bound, its guess
        or half way between.
    outputs: what is measured; all states if None. noise: the standard deviation of a sample, by name or one number.
    samples: the number of sample times, chosen from `candidates` equally spaced ones. spacing: the minimum time between
        two, s.
    criterion: "D" minimises the volume of the confidence region, "A" the mean variance of
        relative changes.

    An unknown that the samples do not determine has an infinite standard deviation; `unidentifiable` explains it as in
    `dd.fit`.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay")
    >>> x = m.state("x", start=1.0); k = m.parameter("k", 2.0)
    >>> m.equation(m.der(x), -k * x)
    >>> dd.design(m, 2.0, ["k"], samples=1, candidates=201).times.tolist()
    [0.5]
    >>> dd.design(m, 2.0, ["k"], samples=3, candidates=201, spacing=0.2).times.round(2).tolist()
    [0.35, 0.55, 0.75]
    >>> m = dd.Model("product")
    >>> x = m.state("x", start=1.0); a = m.parameter("a", 2.0); b = m.parameter("b", 1.0)
    >>> m.equation(m.der(x), -a * b * x)
    >>> found = dd.design(m, 2.0, ["a", "b"])
    >>> found.std, str(found.unidentifiable[0])
    ({'a': inf, 'b': inf}, 'only a · b is seen')
    >>> m = dd.Model("lag")
    >>> x = m.state("x", start=0.0); k = m.parameter("k", 2.0); u = m.input("u")
    >>> m.equation(m.der(x), k * (u - x))
    >>> best = dd.design(m, 2.0, ["k"], inputs={"u": dd.unknown(0.0, -1.0, 1.0)}, samples=1, intervals=4)
    >>> best.inputs["u"].values.ravel().tolist(), best.times.tolist()
    ([1.0, 1.0, 1.0, -1.0], [2.0])
    """
    if criterion not in CRITERIA:
        raise InputError(f"criterion={criterion!r} is not valid.", remedy='criterion="D" or criterion="A"')
    if not 0 < samples <= candidates:
        raise InputError("There are too few candidates.", f"{samples} of {candidates}", remedy="more candidates")
    if intervals < 1:
        raise InputError("intervals must be at least 1.", f"got {intervals!r}")
    ends, seen = read_span(span), _seen(model, outputs)
    question = _Question(
        model, ends, [free] if isinstance(free, str) else list(free), seen, _noise(model, seen, noise),
        np.linspace(*ends, candidates), samples, _places_apart(ends, samples, candidates, spacing), criterion,
        {"rtol": 1e-8, **simulate_options},
    )  # fmt: skip
    several = [inputs] if isinstance(inputs, Mapping) or inputs is None else list(inputs)
    found = [_chosen(question, k, dict(given or {}), intervals) for k, given in enumerate(several)]
    return _best(found).design


def _places_apart(ends: tuple[float, float], samples: int, candidates: int, spacing: object) -> int:
    """How many places of the candidates lie at least between two samples."""
    least = plain_number(spacing, "spacing", "s")
    if not (least >= 0 and np.isfinite(least)):
        raise InputError("spacing must be a time of at least 0.", f"got {spacing!r}", remedy="spacing=0.1")
    length = abs(ends[1] - ends[0])
    apart = max(1, int(np.ceil(least * (candidates - 1) / length - SAME_TIME))) if candidates > 1 and length > 0 else 1
    if (samples - 1) * apart > candidates - 1:
        fits = (samples - 1) * least <= length * (1 + SAME_TIME)
        raise InputError(
            f"{samples} samples do not fit.",
            f"{least:g} s between two of them, {counted(candidates, 'candidate')} over {length:g} s",
            because="the candidates are too few for this spacing."
            if fits
            else f"they need {(samples - 1) * least:g} s.",
            remedy=f"candidates={_enough(length, least, samples)}"
            if fits
            else "a smaller spacing, fewer samples, a longer span",
        )
    return apart


def _enough(length: float, least: float, samples: int) -> int:
    """Candidates with so small a distance that the samples have room."""
    most = min(MOST_CANDIDATES, np.ceil(length / max(length / (samples - 1) - least, length / MOST_CANDIDATES)))
    enough = (n for n in range(samples, int(most)) if (samples - 1) * np.ceil(least * n / length - SAME_TIME) <= n)
    return next(enough, int(most)) + 1


def _seen(model: Model | System, outputs: str | Sequence[str] | None) -> list[str]:
    if outputs is None:
        return [v.name for v in as_system(model).of_kind("state")]
    return [outputs] if isinstance(outputs, str) else list(outputs)


def _noise(model: Model | System, seen: Sequence[str], noise: Mapping[str, float] | float) -> dict[str, float]:
    """The standard deviation of each measured name; 1 where none is given."""
    unknown = [name for name in noise if name not in seen] if isinstance(noise, Mapping) else []
    if unknown:
        raise InputError(f"noise= has {unknown[0]}, which is not measured.", f"measured: {', '.join(seen)}")
    found = {}
    for name in seen:
        given = noise.get(name, 1.0) if isinstance(noise, Mapping) else noise
        found[name] = plain_number(given, f"The noise of {name}", unit_of(as_system(model), name))
        if not (found[name] > 0 and np.isfinite(found[name])):
            raise InputError(f"The noise of {name} must be positive.", f"got {given!r}", remedy="noise=0.1")
    return found


class _FoundDesign(NamedTuple):
    """A design, and its score in the search, which is finite also where some direction is not seen."""

    design: Design
    search_score: float

    def is_better_than(self, other: _FoundDesign) -> bool:
        """Whether it leaves fewer directions unseen, or as many and tells more about the rest."""
        unseen = len(self.design.unidentifiable), len(other.design.unidentifiable)
        if unseen[0] != unseen[1]:
            return unseen[0] < unseen[1]
        return self.search_score > other.search_score + 1e-9 * abs(other.search_score)


def _best(found: Iterable[_FoundDesign]) -> _FoundDesign:
    """The first of those that none is better than."""
    return reduce(lambda best, other: other if other.is_better_than(best) else best, found)


@dataclass(frozen=True, eq=False)
class _Question:
    """What is asked of an experiment, whatever its inputs."""

    model: Model | System
    span: tuple[float, float]
    free: list[str]
    seen: list[str]
    noise: Mapping[str, float]
    times: np.ndarray
    samples: int
    apart: int
    criterion: str
    options: Mapping[str, Any]

    def answered(self, choice: int, given: Mapping[str, object]) -> _FoundDesign:
        """The best sample times with given inputs."""
        sens = sensitivities(self.model, self.span, wrt=self.free, **self.options, inputs=given or None)
        at = sens.at(self.times)
        rows = [at.curves_of(name)[1] / self.noise[name] for name in self.seen]
        slopes = np.concatenate(rows, axis=1)
        unknowns = sens.varied_values
        relative = slopes * np.abs(unknowns)
        parts = np.einsum("tri,trj->tij", relative, relative)
        chosen, score = SampleSearch(parts, self.samples, self.criterion, self.apart).best()
        outputs = np.tile(np.arange(slopes.shape[1]), len(chosen))
        seen = Seen(slopes[chosen].reshape(-1, len(unknowns)), unknowns, outputs)
        unseen, covariance = seen.unseen(sens.labels), seen.covariance()
        std = dict(zip(sens.labels, np.sqrt(np.diag(covariance)).tolist()))
        by_trace = -float(np.sum(np.diag(covariance) / unknowns**2))
        own = seen.log_determinant() if self.criterion == "D" else by_trace
        return _FoundDesign(Design(self.times[chosen], choice, given, std, own, unseen), score)


def _chosen(question: _Question, choice: int, given: dict[str, object], intervals: int) -> _FoundDesign:
    """The best held inputs within their bounds: levels are exchanged one by one while that tells more."""
    open_ones = {name: value for name, value in given.items() if isinstance(value, Unknown)}
    fixed = {name: value for name, value in given.items() if name not in open_ones}
    if not open_ones:
        return question.answered(choice, fixed)
    levels = [_levels(question, name, value) for name, value in open_ones.items()]
    begins = np.linspace(*question.span, intervals + 1)[:-1]

    def design(values: np.ndarray) -> _FoundDesign:
        driven = {name: signal(begins, row, "hold") for name, row in zip(open_ones, values)}
        return question.answered(choice, {**fixed, **driven})

    begins_with = [(design(v), v) for v in _begin(levels, intervals)]
    best = _best(found for found, _ in begins_with)
    values = next(v for found, v in begins_with if found is best)
    for _ in range(MOST_SWEEPS):
        before = best
        for row, k in np.ndindex(values.shape):
            for level in levels[row]:
                if level != values[row, k]:
                    trial = np.array(values)
                    trial[row, k] = level
                    other = design(trial)
                    if other.is_better_than(best):
                        best, values = other, trial
        if best is before:
            break
    return best


def _levels(question: _Question, name: str, value: Unknown) -> list[float]:
    place = as_system(question.model).place(name)
    if place.letter != "u" or len(place.positions) != 1:
        raise InputError(f"{name} is not a single input.", "inputs are chosen one by one", remedy=f'"{name}[0]"')
    if not np.isfinite(value.upper - value.lower):
        raise InputError(
            f"The input {name} needs bounds to be chosen.",
            f"got dd.unknown({value.guess}, {value.lower}, {value.upper})",
            because="without bounds, a larger input always gives more information.",
            remedy="dd.unknown(0.0, -1.0, 1.0)",
        )
    inside = [value.lower + share * (value.upper - value.lower) for share in LEVELS]
    return sorted({*inside, float(value.guess)})


def _begin(levels: Sequence[Sequence[float]], intervals: int) -> list[np.ndarray]:
    """Where the search begins: all inputs at a bound, and square waves of several periods."""
    k, found = np.arange(intervals), []
    for period in (intervals, *(p for p in (4, 2, 1) if p < intervals)):
        up = (k // period) % 2 == 0
        found.append(np.array([np.where(up, own[-1], own[0]) for own in levels]))
    return found
