"""Why a plan failed, or what holds it: conditions that cannot hold together, or bounds that press, by name and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from daedalus.initialisation.wording import joined, number
from daedalus.model.values import unit_of
from daedalus.optimisation.description.unknown import Unknown
from daedalus.optimisation.program.program_outcome import ProgramEnding, ProgramOutcome
from daedalus.optimisation.result.elastic import ConflictPart, contradiction
from daedalus.optimisation.transcription.collocated import Transcription
from daedalus.optimisation.transcription.program_layout import values_of

# Multipliers below this share of the largest belong to bounds that do not press.
PRESSES = 1e-4
# Bounds smaller than this part of what is missing are zeros.
ROUNDED = 1e-6


@dataclass(frozen=True)
class Shortfall:
    """A condition or bound over some time: by how much it is missed (`short`), or what it costs (`price`).

    needed: what the bound would have to be, if it alone were another, for the others beside it to hold.
    """

    name: str
    side: str  # "upper" or "lower"
    bound: float
    begin: float
    end: float
    short: float
    price: float = 0.0
    unit: str = ""

    @property
    def needed(self) -> float:
        """What the bound would have to be."""
        found = self.bound + (self.short if self.side == "upper" else -self.short)
        return 0.0 if abs(found) < ROUNDED * self.short else found

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        when = f" at {number(self.begin, 4)} s" if self.begin == self.end else (
            f" between {number(self.begin, 4)} s and {number(self.end, 4)} s"
        )  # fmt: skip
        # The duration and parameters belong to no instant.
        when = "" if np.isnan(self.begin) else when
        bound = 0.0 if abs(self.bound) < ROUNDED * self.short else self.bound
        what = f"{self.name} {'<=' if self.side == 'upper' else '>='} {number(bound, 6)}{unit}{when}"
        if self.short:
            needed = f"would have to be {number(self.needed, 4)}{unit}"
            return f"{what}: {number(self.short, 3)}{unit} short, {needed}"
        # How much is missing is not known where no search finds it.
        rate = f"{number(self.price, 3)} per {self.unit or 'unit'}"
        return f"{what}: loosening it lowers the cost by {rate}" if self.price else what


@dataclass(frozen=True)
class Explanation:
    """The result of `plan.explain()`: why there is no plan, or what its limits cost. `print` shows it in words.

    success: whether the plan is a solution. conflicts: of a plan that is none, what cannot hold together: without any
    one of them the others can, and each is told with what it alone would have to be. tight: of a solution, the bounds
    and conditions that press. headline: the verdict in a sentence.
    """

    success: bool
    headline: str
    conflicts: tuple[Shortfall, ...] = ()
    tight: tuple[Shortfall, ...] = ()

    def __str__(self) -> str:
        return "\n".join([self.headline, *(f"  {part}" for part in (*self.conflicts, *self.tight))])

    __repr__ = __str__


def explained(transcriptions: Sequence[Transcription], outcome: ProgramOutcome, begin: np.ndarray) -> Explanation:
    """The explanation of how a search ended, of one problem or of phases that were solved together."""
    if outcome.success:
        durations = _durations(transcriptions, outcome)
        tight = _by_phase([_tightness(made, outcome) for made in transcriptions], durations, transcriptions)
        # Those that are told as equally dear stand in the order of time.
        tight.sort(key=lambda c: (-float(number(c.price, 3)), c.begin))
        headline = (
            "Solved. These bounds and conditions limit the cost:"
            if tight
            else "Solved. No bound or condition limits it."
        )
        return Explanation(True, headline, tight=tuple(tight[:12]))
    if outcome.ending is ProgramEnding.TOO_FEW_FREEDOMS and (told := _equations_of_inputs(transcriptions)):
        return Explanation(False, told)
    found = contradiction(transcriptions, begin)
    durations = list(found.durations)
    missed: list[list[Shortfall]] = [[] for _ in transcriptions]
    for conflict in found.conflicts:
        own, phase = transcriptions[conflict.part.phase], conflict.part.phase
        missed[phase].append(_missed(own, conflict, durations[phase]))
    conflicts = _by_phase(missed, durations, transcriptions)
    told = joined([f"{number(duration, 4)} s" for duration in durations])
    length = f"the duration{'s' if len(durations) > 1 else ''} of {told}"
    if conflicts:
        # A duration that may be longer is one of the conflicts, or no part of them.
        free = any(isinstance(made.description.duration, Unknown) for made in transcriptions)
        headline = f"These cannot hold together with the start{'' if free else f' and {length}'}:"
        return Explanation(False, headline, tuple(_largest(conflicts)))
    if found.found:
        return Explanation(
            False, f"All conditions can hold together with {length}, but the search failed: {outcome.ending.value}. "
            "Try: a better guess, ocp.guess(trajectory=...), or bounds on what runs away.",
        )  # fmt: skip
    return Explanation(False, f"No relaxation was found either: {outcome.ending.value}. Try: a better guess.")


def _equations_of_inputs(transcriptions: Sequence[Transcription]) -> str:
    """Which conditions are equations at more points than an interval has values of inputs; empty where none is."""
    several = [
        f"{name} ({len(group.shares)} equations in {made.layout.intervals} intervals)"
        for made in transcriptions
        for group in made.layout.groups
        for name, rows in zip(group.names, np.transpose(group.rows))
        if group.kind == "condition" and len(group.shares) > made.layout.intervals + 1
        and np.all(made.program.row_lower[rows] == made.program.row_upper[rows])
    ]  # fmt: skip
    if not several:
        return ""
    return (
        f"There are more equations than freedoms: {joined(several)}. An input has one value in each interval, or one "
        'at each node where it is linear, so an equation cannot hold at every point. Try: at="nodes", or an algebraic '
        "variable of the model in place of the input."
    )


def _durations(transcriptions: Sequence[Transcription], outcome: ProgramOutcome) -> list[float]:
    return [float(values_of(m.layout.length[:1], outcome.w, m.program.parameters)[0]) for m in transcriptions]


def _by_phase(
    parts: list[list[Shortfall]], durations: list[float], transcriptions: Sequence[Transcription]
) -> list[Shortfall]:
    """All in one list; of several phases with the number of each, and times that count from the first."""
    if len(parts) == 1:
        return parts[0]
    since = np.concatenate([[0.0], _begin(transcriptions[0]) + np.cumsum(durations)])
    return [
        replace(
            part,
            name=f"{part.name} (phase {k + 1})",
            begin=float(part.begin + since[k]),
            end=float(part.end + since[k]),
        )
        for k, own in enumerate(parts)
        for part in own
    ]


def _largest(conflicts: list[Shortfall]) -> list[Shortfall]:
    return sorted(conflicts, key=lambda c: -c.short / max(1.0, abs(c.bound)))


def _missed(made: Transcription, conflict: ConflictPart, duration: float) -> Shortfall:
    part = conflict.part
    times = _begin(made) + duration * conflict.shares
    # Bounds that differ along the way are told by the strictest.
    bound = float(part.bounds.min() if part.side == "upper" else part.bounds.max())
    unit = unit_of(made.description.system, part.name)
    return Shortfall(part.name, part.side, bound, float(times.min()), float(times.max()), conflict.short, unit=unit)


def _begin(transcription: Transcription) -> float:
    """When a problem begins; a phase that follows another counts from its own start."""
    return 0.0 if transcription.description.linked else transcription.description.begin


def _stretches(use: np.ndarray) -> list[np.ndarray]:
    """Runs of neighbours that are true."""
    marked = np.flatnonzero(use)
    return [run for run in np.split(marked, np.flatnonzero(np.diff(marked) > 1) + 1) if len(run)]


def _tightness(transcription: Transcription, outcome: ProgramOutcome) -> list[Shortfall]:
    """Bounds and conditions that press."""
    layout, stage, program = transcription.layout, transcription.stage, transcription.program
    (duration,) = _durations([transcription], outcome)
    parts: list[tuple[str, np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
    for group in layout.groups:
        if group.kind in ("condition", "rate"):
            for k, name in enumerate(group.names):
                rows = group.rows[:, k]
                parts.append(
                    (name, group.shares, outcome.multipliers[rows], program.row_lower[rows], program.row_upper[rows])
                )
    held = [(stage.inputs.labels[k], layout.inputs[:, k], layout.shares[:-1]) for k in range(stage.inputs.size)]
    carried = np.flatnonzero((layout.nodes >= 0).all(axis=0))
    held += [(stage.states.labels[k], layout.nodes[1:-1, k], layout.shares[1:-1]) for k in carried]
    for name, own, shares in held:
        parts.append((name, shares, outcome.bound_multipliers[own], program.lower[own], program.upper[own]))
    highest = max((float(np.abs(price).max(initial=0.0)) for _, _, price, _, _ in parts), default=0.0)
    tight = []
    for name, shares, price, low, high in parts:
        times = _begin(transcription) + duration * shares
        for side, pressing, bounds in (("upper", price, high), ("lower", -price, low)):
            use = (pressing > PRESSES * highest) & (pressing > 1e-8) & (low < high) & np.isfinite(bounds)
            for stretch in _stretches(use):
                worst = stretch[int(np.argmax(pressing[stretch]))]
                tight.append(
                    Shortfall(
                        name, side, float(bounds[worst]), float(times[stretch[0]]), float(times[stretch[-1]]), 0.0,
                        float(pressing[stretch].sum()), unit_of(transcription.description.system, name),
                    )
                )  # fmt: skip
    return tight
