"""Which of many candidate times to measure at, at least so far apart, by the information that each of them adds.

Samples are added one by one where they tell most, then exchanged while that tells more (V. V. Fedorov, Theory of
Optimal Experiments, 1972). Samples that have to keep a distance block each other, and are moved together as well: the
set whose information, as seen from the present one, is largest is found exactly from left to right, and neighbours are
shifted side by side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

CRITERIA = ("D", "A")
# A little information about every unknown, a share of all that there is, so that the first samples can be compared.
SLIGHT = 1e-9
# Candidates that tell less than this in all tell nothing: their squares and inverses leave the range of numbers.
NOTHING = 1e-150
MOST_EXCHANGES = 100
# So many neighbours are shifted at most.
SIDE_BY_SIDE = 6
# What counts as better.
BETTER = 1e-12


@dataclass(frozen=True, eq=False)
class SampleSearch:
    """The best `count` of many candidates that are at least `apart` places from each other.

    parts: (candidates, n, n) the information of each. criterion: "D" or "A".
    """

    parts: np.ndarray
    count: int
    criterion: str
    apart: int = 1

    def best(self) -> tuple[list[int], float]:
        """The places of the samples in order, and their score, finite also where some direction is not seen."""
        return max((self._improved(first) for first in self._begins()), key=lambda found: found[1])

    def _begins(self) -> list[list[int]]:
        """One by one where each tells most; the largest information in all; and as evenly as they go."""
        chosen: list[int] = []
        for _ in range(self.count):
            chosen.append(self._next(chosen)[1])
        width = (len(self.parts) - 1) // max(self.count - 1, 1)
        return [chosen, self._together(np.einsum("tii->t", self.parts)), [k * width for k in range(self.count)]]

    def _improved(self, chosen: list[int]) -> tuple[list[int], float]:
        score = self._score(chosen)
        for _ in range(MOST_EXCHANGES):
            trials = [self._exchanged(chosen, k) for k in chosen]
            trials += [self._together(self._gains(chosen)), *self._shifted(chosen)]
            scores = [self._score(trial) for trial in trials]
            k = int(np.argmax(scores))
            if not scores[k] > score + BETTER * abs(score):
                break
            chosen, score = trials[k], scores[k]
        return sorted(chosen), score

    def _exchanged(self, chosen: list[int], left_out: int) -> list[int]:
        kept = [k for k in chosen if k != left_out]
        return [*kept, self._next(kept)[1]]

    def _shifted(self, chosen: list[int]) -> list[list[int]]:
        """The best of the sets in which neighbours move by the same number of places; none where none blocks."""
        places = np.array(sorted(chosen))
        steps = np.concatenate([np.arange(-self.apart, 0), np.arange(1, self.apart + 1)])
        own = np.arange(len(places))
        moved = [
            (own >= i) & (own < j) for j in range(2, len(places) + 1) for i in range(max(0, j - SIDE_BY_SIDE), j - 1)
        ]
        if self.apart == 1 or not moved:
            return []
        sets = (places + steps[:, None, None] * np.array(moved)).reshape(-1, len(places))
        inside = (sets[:, 0] >= 0) & (sets[:, -1] < len(self.parts)) & (np.diff(sets, axis=1) >= self.apart).all(axis=1)
        sets = sets[inside]
        if not len(sets):
            return []
        scores = self._scores(self.parts[sets].sum(axis=1) + self._information([]))
        return [sets[int(np.argmax(scores))].tolist()]

    def _next(self, kept: list[int]) -> tuple[float, int]:
        """The candidate that tells most beside those that are kept, and leaves room for the rest."""
        scores = self._scores(self.parts + self._information(kept))
        k = int(np.argmax(np.where(self._fits(kept), scores, -np.inf)))
        return float(scores[k]), k

    def _fits(self, kept: list[int]) -> np.ndarray:
        """Which candidates keep their distance, and leave room for the rest, (candidates,) bool."""
        size, apart = len(self.parts), self.apart
        # With a place on either side at which there is nothing to measure, all gaps are alike.
        ends = np.array([-apart, *sorted(kept), size - 1 + apart])
        places = np.arange(size)
        right = np.searchsorted(ends, places, side="right")
        before, behind = places - ends[right - 1], ends[right] - places
        room = np.diff(ends) // apart - 1
        left = room.sum() - room[right - 1] + before // apart + behind // apart - 2
        return np.asarray((np.minimum(before, behind) >= apart) & (len(kept) + 1 + left >= self.count))

    def _together(self, gains: np.ndarray) -> list[int]:
        """The samples with the largest sum of gains, by dynamic programming over the places."""
        size, apart = len(gains), self.apart
        before = np.maximum(np.arange(size) + 1 - apart, 0)  # how many places are free for the samples before
        best, taken = np.zeros(size + 1), []
        for number in range(self.count):
            with_it = best[before] + gains
            with_it[: number * apart] = -np.inf
            best = np.concatenate([[-np.inf], np.maximum.accumulate(with_it)])
            taken.append(with_it > best[:-1])
        found, k = [], size
        for own in taken[::-1]:
            k = int(np.flatnonzero(own[:k])[-1])
            found.append(k)
            k = int(before[k])
        return found[::-1]

    def _gains(self, chosen: list[int]) -> np.ndarray:
        """How the score changes with a little of each candidate's information."""
        inverse = np.linalg.inv(self._information(chosen))
        weight = inverse if self.criterion == "D" else inverse @ inverse
        return np.einsum("ij,tji->t", weight, self.parts)

    def _information(self, chosen: list[int]) -> np.ndarray:
        each = np.einsum("tii->i", self.parts)
        # What is not seen at all adds the same everywhere.
        usual = float(each.max(initial=0.0))
        slight = np.where(each > NOTHING, SLIGHT * each, usual if usual > NOTHING else 1.0)
        return self.parts[chosen].sum(axis=0) + np.diag(slight)

    def _score(self, chosen: list[int]) -> float:
        return float(self._scores(self._information(chosen)[None])[0])

    def _scores(self, information: np.ndarray) -> np.ndarray:
        """The score of each of many information matrices."""
        if self.criterion == "D":
            return np.asarray(np.linalg.slogdet(information)[1])
        return -np.trace(np.linalg.inv(information), axis1=1, axis2=2)
