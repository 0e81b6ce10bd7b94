"""Discrete variables along a run: from which row and time on they have which values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from daedalus.model.printing import ConditionText


@dataclass(frozen=True, eq=False)
class HeldValues:
    """Values (changes, entries) that hold from times (changes,) on, and from rows (changes,) of the run on."""

    rows: np.ndarray
    times: np.ndarray
    values: np.ndarray

    @staticmethod
    def of_run(run: Any, count: int, sampled: bool) -> HeldValues:
        """The record of a core run, of its first `count` entries: modes of switches come behind.

        sampled: whether the rows of the run are those of given times, and not its steps.
        """
        rows, times, values = run.held
        held = HeldValues(rows, times, np.ascontiguousarray(values[:, :count]))
        return held.sampled(run.t) if sampled else held

    def sampled(self, times: np.ndarray) -> HeldValues:
        """The same in a run whose rows are those of given times."""
        sign = -1.0 if len(times) > 1 and times[-1] < times[0] else 1.0
        rows = np.searchsorted(sign * times, sign * self.times, side="left").astype(float)
        return HeldValues(rows, self.times, self.values)

    def before(self, t: float, forward: float, with_t: bool = False) -> HeldValues:
        """What holds up to a time, and what changes there too if asked for."""
        ahead = forward * (t - self.times)
        kept = ahead >= 0 if with_t else ahead > 0
        kept[0] = True
        return HeldValues(self.rows[kept], self.times[kept], self.values[kept])

    def at_rows(self, count: int) -> np.ndarray:
        """The values in each row of a run, (count, entries)."""
        place = np.searchsorted(self.rows, np.arange(count), side="right") - 1
        return self.values[np.maximum(place, 0)]

    def at(self, times: np.ndarray) -> np.ndarray:
        """The values at times, the later ones where they change, (times, entries)."""
        return self.beside(times, "right")

    def beside(self, times: np.ndarray, side: Literal["left", "right"]) -> np.ndarray:
        """The values just before times ("left"), or just after them ("right"), (times, entries)."""
        forward = len(self.times) < 2 or self.times[-1] >= self.times[0]
        sign = 1.0 if forward else -1.0
        place = np.searchsorted(sign * self.times, sign * np.asarray(times), side=side) - 1
        return self.values[np.maximum(place, 0)]


def held_parameters(
    p: np.ndarray, held: HeldValues | None, times: np.ndarray, side: Literal["left", "right"] = "right"
) -> np.ndarray:
    """Parameters at times, (times, np), with the discrete variables, which stand last, as they are there.

    side: just before each time ("left"), or just after it.
    """
    rows = np.repeat(p[None, :], len(times), axis=0)
    if held is not None:
        rows[:, rows.shape[1] - held.values.shape[1] :] = held.beside(times, side)
    return rows


class ConditionModes(NamedTuple):
    """The modes of the conditions in the equations, 1 where one holds, at a moment."""

    conditions: tuple[str, ...]
    values: np.ndarray


def whole_text(condition: str) -> str:
    """A condition without abbreviations."""
    return condition.whole if isinstance(condition, ConditionText) else condition


@dataclass(frozen=True, eq=False)
class HeldModes:
    """The modes of conditions along a run: from which times (changes,) on they have which values."""

    conditions: tuple[str, ...]
    held: HeldValues
    # (changes, conditions): whether the motion led one to zero there; else it turned with another, or at a jump.
    located: np.ndarray | None = None

    @staticmethod
    def of_run(run: Any, conditions: tuple[str, ...]) -> HeldModes | None:
        """The record of a core run behind its discrete variables; None where it kept none."""
        rows, times, values = run.held
        if not len(times) or not conditions:
            return None
        own = HeldValues(rows, times, values[:, values.shape[1] - len(conditions) :].copy())
        return HeldModes(conditions, own, run.located.astype(bool))

    def of(self, conditions: Sequence[str]) -> HeldModes | None:
        """The same of some of the conditions, such as those in equations alone; None where one of them is not kept."""
        known = {whole_text(text): k for k, text in enumerate(self.conditions)}
        if not all(whole_text(text) in known for text in conditions):
            return None
        chosen = [known[whole_text(text)] for text in conditions]
        held = HeldValues(self.held.rows, self.held.times, self.held.values[:, chosen])
        return HeldModes(tuple(conditions), held, None if self.located is None else self.located[:, chosen])

    def at(self, t: float) -> ConditionModes:
        """The modes at a time, the later ones where they change."""
        return ConditionModes(self.conditions, self.held.at(np.array([t]))[0])

    def located_at(self, t: float) -> list[int]:
        """The places of the conditions that the motion led to zero at a time."""
        assert self.located is not None
        return np.flatnonzero(self.located[self.held.times == t].any(axis=0)).tolist()
