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
from daedalus.model.system.system import System
from daedalus.simulation.run.request import read_span

CRITERIA = ("D", "A")
# A little information in every direction, so that the first samples can be compared.
SLIGHT = 1e-9
MOST_EXCHANGES = 100


@dataclass(frozen=True, eq=False)
class Design:
    """A chosen experiment: when to measure, which of the inputs to apply, and the spread that is to be expected.

    times: (samples,) in order. choice: the place of the inputs in the list given. std: by name, as a fit of such
    data would have it. score: log det F, or −trace F⁻¹, in relative changes of the unknowns.

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
    **simulate_options: Any,
) -> Design:
    """Choose the inputs and the sample times that tell most about unknowns, at their present values.

    Parameters
    ----------
    free: names of parameters and states (their start values). inputs: those of one experiment, or a list of such.
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
    """
    if criterion not in CRITERIA:
        raise InputError(f"criterion={criterion!r} means nothing.", remedy='criterion="D" or criterion="A"')
    if not 0 < samples <= candidates:
        raise InputError("There are too few candidates.", f"{samples} of {candidates}", remedy="more candidates")
    names = [free] if isinstance(free, str) else list(free)
    seen = [outputs] if isinstance(outputs, str) else outputs
    seen = [v.name for v in as_system(model).of_kind("state")] if seen is None else list(seen)
    several = [inputs] if isinstance(inputs, Mapping) or inputs is None else list(inputs)
    times = np.linspace(*read_span(span), candidates)
    found: list[Design] = []
    for k, given in enumerate(several):
        sens = sensitivities(model, span, wrt=names, **{"rtol": 1e-8, **simulate_options}, inputs=given)
        at, rows = sens.at(times), []
        for name in seen:
            sigma = noise.get(name, 1.0) if isinstance(noise, Mapping) else noise
            what = at._followed(name)
            rows.append(what.first(at._point, at._seeds) / float(sigma))
        slopes = np.concatenate(rows, axis=1)
        sizes = sens._directions.sizes(sens.system, sens._case.p)
        parts = np.einsum("tri,trj->tij", slopes * sizes, slopes * sizes)
        chosen, score = _exchanged(parts, samples, criterion)
        spread = np.sqrt(np.diag(np.linalg.pinv(parts[chosen].sum(axis=0)))) * sizes
        found.append(Design(times[chosen], k, given or {}, dict(zip(sens.labels, spread.tolist())), score))
    return max(found, key=lambda each: each.score)


def _exchanged(parts: np.ndarray, count: int, criterion: str) -> tuple[list[int], float]:
    """Samples added one by one where they tell most, then exchanged while that tells more (Fedorov)."""
    slight = SLIGHT * np.trace(parts.sum(axis=0)) * np.eye(parts.shape[1])
    chosen: list[int] = []

    def best(kept: list[int]) -> tuple[float, int]:
        base = parts[kept].sum(axis=0) + slight
        scores = [(_score(base + parts[k], criterion), k) for k in range(len(parts)) if k not in kept]
        return max(scores, key=lambda pair: pair[0])

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


def _score(information: np.ndarray, criterion: str) -> float:
    if criterion == "D":
        return float(np.linalg.slogdet(information)[1])
    return -float(np.trace(np.linalg.inv(information)))
