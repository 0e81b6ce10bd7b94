"""Which experiment tells most: inputs and sample times by the information that measurements hold about unknowns.

F = Σ over samples of (∂y/∂ln θ)ᵀ (∂y/∂ln θ) / σ²      D: the largest determinant of F      A: the smallest trace of F⁻¹
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.differentiation.sensitivities import sensitivities
from daedalus.errors import InputError
from daedalus.model.model import Model, as_system
from daedalus.model.signals import signal
from daedalus.model.system.system import System
from daedalus.optimisation.description.unknown import Unknown
from daedalus.simulation.run.request import read_span

CRITERIA = ("D", "A")
# Levels of a chosen input, as shares of the way from its lower to its upper bound, beside its guess.
LEVELS = (0.0, 0.5, 1.0)
MOST_SWEEPS = 6
# A little information in every direction, so that the first samples can be compared.
SLIGHT = 1e-9
MOST_EXCHANGES = 100


@dataclass(frozen=True, eq=False)
class Design:
    """A chosen experiment: when to measure, which of the inputs to apply, and the spread that is to be expected.

    times: (samples,) in order. choice: the place of the inputs in the list given. inputs: as `dd.simulate` takes them;
    a chosen one is a `dd.signal`. std: by name, as a fit of such data would have it. score: log det F, or −trace F⁻¹,
    in relative changes of the unknowns.

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
    **simulate_options: Any,
) -> Design:
    """Choose the inputs and the sample times that tell most about unknowns, at their present values.

    Parameters
    ----------
    free: names of parameters and states (their start values).
    inputs: those of one experiment, or a list of such, of which one is chosen. `dd.unknown(guess, lower, upper)` for an
        input is chosen too: held over `intervals` equal parts of the span, each at its lower or upper bound, its guess
        or half way between.
    outputs: what is measured; all states if None. noise: the standard deviation of a sample, by name or one number.
    samples: how many times are chosen, of `candidates` equally spaced ones.
    criterion: "D" makes the volume of the confidence region small, "A" the mean variance.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay")
    >>> x = m.state("x", start=1.0); k = m.parameter("k", 2.0)
    >>> m.equation(m.der(x), -k * x)
    >>> dd.design(m, 2.0, ["k"], samples=1, candidates=201).times.tolist()
    [0.5]
    >>> m = dd.Model("lag")
    >>> x = m.state("x", start=0.0); k = m.parameter("k", 2.0); u = m.input("u")
    >>> m.equation(m.der(x), k * (u - x))
    >>> best = dd.design(m, 2.0, ["k"], inputs={"u": dd.unknown(0.0, -1.0, 1.0)}, samples=1, intervals=4)
    >>> best.inputs["u"].values.ravel().tolist(), best.times.tolist()
    ([1.0, 1.0, 1.0, -1.0], [2.0])
    """
    if criterion not in CRITERIA:
        raise InputError(f"criterion={criterion!r} means nothing.", remedy='criterion="D" or criterion="A"')
    if not 0 < samples <= candidates:
        raise InputError("There are too few candidates.", f"{samples} of {candidates}", remedy="more candidates")
    if intervals < 1:
        raise InputError("intervals must be at least 1.", f"got {intervals!r}")
    ends = read_span(span)
    question = _Question(
        model, ends, [free] if isinstance(free, str) else list(free), _seen(model, outputs), noise,
        np.linspace(*ends, candidates), samples, criterion, {"rtol": 1e-8, **simulate_options},
    )  # fmt: skip
    several = [inputs] if isinstance(inputs, Mapping) or inputs is None else list(inputs)
    found = [_chosen(question, k, dict(given or {}), intervals) for k, given in enumerate(several)]
    return max(found, key=lambda each: each.score)


def _seen(model: Model | System, outputs: str | Sequence[str] | None) -> list[str]:
    if outputs is None:
        return [v.name for v in as_system(model).of_kind("state")]
    return [outputs] if isinstance(outputs, str) else list(outputs)


@dataclass(frozen=True, eq=False)
class _Question:
    """What is asked of an experiment, whatever its inputs."""

    model: Model | System
    span: tuple[float, float]
    free: list[str]
    seen: list[str]
    noise: Mapping[str, float] | float
    times: np.ndarray
    samples: int
    criterion: str
    options: Mapping[str, Any]

    def answered(self, choice: int, given: Mapping[str, object]) -> Design:
        """The best sample times with given inputs."""
        sens = sensitivities(self.model, self.span, wrt=self.free, **self.options, inputs=given or None)
        at, rows = sens.at(self.times), []
        for name in self.seen:
            sigma = self.noise.get(name, 1.0) if isinstance(self.noise, Mapping) else self.noise
            rows.append(at._followed(name).first(at._point, at._seeds) / float(sigma))
        sizes = sens._directions.sizes(sens.system, sens._case.p)
        slopes = np.concatenate(rows, axis=1) * sizes
        parts = np.einsum("tri,trj->tij", slopes, slopes)
        chosen, score = _exchanged(parts, self.samples, self.criterion)
        spread = np.sqrt(np.diag(np.linalg.pinv(parts[chosen].sum(axis=0)))) * sizes
        return Design(self.times[chosen], choice, given, dict(zip(sens.labels, spread.tolist())), score)


def _chosen(question: _Question, choice: int, given: dict[str, object], intervals: int) -> Design:
    """The best held inputs within their bounds: levels are exchanged one by one while that tells more."""
    open_ones = {name: value for name, value in given.items() if isinstance(value, Unknown)}
    fixed = {name: value for name, value in given.items() if name not in open_ones}
    if not open_ones:
        return question.answered(choice, fixed)
    levels = [_levels(question, name, value) for name, value in open_ones.items()]
    begins = np.linspace(*question.span, intervals + 1)[:-1]

    def design(values: np.ndarray) -> Design:
        driven = {name: signal(begins, row, "hold") for name, row in zip(open_ones, values)}
        return question.answered(choice, {**fixed, **driven})

    best, values = max(((design(v), v) for v in _begin(levels, intervals)), key=lambda pair: pair[0].score)
    for _ in range(MOST_SWEEPS):
        before = best.score
        for row, k in np.ndindex(values.shape):
            for level in levels[row]:
                if level != values[row, k]:
                    trial = np.array(values)
                    trial[row, k] = level
                    other = design(trial)
                    if other.score > best.score + 1e-9 * abs(best.score):
                        best, values = other, trial
        if best.score == before:
            break
    return best


def _levels(question: _Question, name: str, value: Unknown) -> list[float]:
    place = as_system(question.model).place(name)
    if place.letter != "u" or len(place.positions) != 1:
        raise InputError(f"{name} is no single input.", "inputs are chosen one by one", remedy=f'"{name}[0]"')
    if not np.isfinite(value.upper - value.lower):
        raise InputError(
            f"The input {name} needs bounds to be chosen.",
            f"got dd.unknown({value.guess}, {value.lower}, {value.upper})",
            because="without them a larger input always tells more.",
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


def _exchanged(parts: np.ndarray, count: int, criterion: str) -> tuple[list[int], float]:
    """Samples added one by one where they tell most, then exchanged while that tells more (Fedorov)."""
    slight = SLIGHT * np.trace(parts.sum(axis=0)) * np.eye(parts.shape[1])
    chosen: list[int] = []

    def best(kept: list[int]) -> tuple[float, int]:
        scores = _scores(parts + (parts[kept].sum(axis=0) + slight), criterion)
        scores[kept] = -np.inf
        k = int(np.argmax(scores))
        return float(scores[k]), k

    score = -np.inf
    for _ in range(count):
        score, k = best(chosen)
        chosen.append(k)
    for _ in range(MOST_EXCHANGES):
        trials = [(*best([c for c in chosen if c != k]), k) for k in chosen]
        other, new, old = max(trials, key=lambda trial: trial[0])
        if not other > score + 1e-12 * abs(score):
            break
        chosen, score = [new if c == old else c for c in chosen], other
    return sorted(chosen), float(score)


def _scores(information: np.ndarray, criterion: str) -> np.ndarray:
    """The score of each of many information matrices."""
    if criterion == "D":
        return np.asarray(np.linalg.slogdet(information)[1])
    return -np.trace(np.linalg.inv(information), axis1=1, axis2=2)
