"""Directions of the unknowns that change nothing that is measured, as sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daedalus.algebra.seen_space import SeenSpace, seen_space

# A belief with a spread of more than a thousand times the value says nothing.
BELIEVED = 1e-3
LARGEST_POWER = 4
# Powers are whole to this, and those of plain products and quotients.
WHOLE = 1e-2


@dataclass(frozen=True)
class Unseen:
    """A combination of parameters that the data do not determine: the relative change of each name, and its effect.

    values: of the names, where the direction was found. only: the powers of the one product of the names that is seen,
    if there is one. One point does not tell a sum from a product: the simpler one of them is told.

    >>> print(Unseen(("a", "b"), (1.0, -1.0), (3.0, 0.5)))
    only a · b is seen
    >>> print(Unseen(("a", "b"), (0.5, -1.0), (1.0, 0.5)))
    near these values only a + b is seen
    >>> print(Unseen(("a", "b", "c"), (1.0, 0.0, 1.0), (1.0, 5.0, 7.0), only=(1.0, 2.0, -1.0)))
    only a · b² / c is seen
    """

    names: tuple[str, ...]
    direction: tuple[float, ...]
    values: tuple[float, ...] = ()
    only: tuple[float, ...] = ()

    def __str__(self) -> str:
        if len(self.names) == 1:
            return f"{self.names[0]} changes nothing that is measured"
        only = self.only or (() if len(self.names) > 2 else (-self.direction[1], self.direction[0]))
        powers = _powers(only) if only else None
        if powers is None or max(map(abs, powers)) > 1:
            sum_of_names = _sum(self.names, only, self.values)
            if sum_of_names:
                return f"near these values only {sum_of_names} is seen"
        if powers is not None:
            return f"only {_product(self.names, powers)} is seen"
        return f"a combination of {', '.join(self.names)} changes nothing that is measured"


@dataclass(frozen=True, eq=False)
class Seen:
    """What slopes ∂r/∂θ of measurements say about unknowns θ.

    outputs: (rows,) which output each row belongs to; the last `priors` rows are beliefs: they are exact, however
    little they say.
    """

    slopes: np.ndarray
    theta: np.ndarray
    outputs: np.ndarray
    priors: int = 0

    @property
    def _sizes(self) -> np.ndarray:
        return np.where(self.theta == 0, 1.0, np.abs(self.theta))

    def _space(self) -> SeenSpace:
        scaled = np.array(self.slopes * self._sizes)
        outputs, first = np.array(self.outputs), len(scaled) - self.priors
        outputs[first:] = np.arange(self.priors) + outputs[:first].max(initial=-1) + 1
        beliefs = scaled[first:]
        beliefs[np.abs(beliefs).max(axis=1, initial=0.0) <= BELIEVED] = 0.0
        return seen_space(scaled, outputs)

    def covariance(self) -> np.ndarray:
        """(JᵀJ)⁻¹ of the unknowns; infinite on the diagonal for what data says nothing about."""
        sizes = self._sizes
        return self._space().covariance(self.slopes * sizes) * sizes[:, None] * sizes[None, :]

    def log_determinant(self) -> float:
        """log det JᵀJ in relative changes; −∞ where data says nothing about some direction."""
        return self._space().log_determinant(self.slopes * self._sizes)

    def unseen(self, labels: Sequence[str]) -> list[Unseen]:
        """The directions that data says nothing about, in relative changes of the unknowns."""
        signs, found = np.where(self.theta < 0, -1.0, 1.0), []
        for each in self._space().unseen:
            own = list(each.places)
            direction, values = (each.change * signs[own]).tolist(), self.theta[own].tolist()
            only = (each.only * signs[own]).tolist() if each.only.size else ()
            found.append(Unseen(tuple(labels[k] for k in own), tuple(direction), tuple(values), tuple(only)))
        return found


def _powers(only: Sequence[float]) -> tuple[int, ...] | None:
    """Small whole powers of the product that moves as told."""
    if not all(only):
        return None
    for scale in range(1, LARGEST_POWER + 1):
        ratios = np.array(only) * scale / only[0]
        whole = np.round(ratios)
        if np.all(np.abs(ratios - whole) < WHOLE) and np.all((np.abs(whole) <= LARGEST_POWER) & (whole != 0)):
            return tuple(int(part) for part in whole)
    return None


def _sum(names: Sequence[str], only: Sequence[float], values: Sequence[float]) -> str:
    """The plain sum or difference that moves as told, if one does."""
    if len(only) != len(names) or len(values) != len(names) or not all(values):
        return ""
    parts = np.array(only) / np.array(values)
    if not np.all(np.abs(np.abs(parts) - abs(parts[0])) < WHOLE * abs(parts[0])):
        return ""
    signs = ("+" if part * parts[0] > 0 else "-" for part in parts[1:])
    return names[0] + "".join(f" {sign} {name}" for sign, name in zip(signs, names[1:]))


def _product(names: Sequence[str], powers: Sequence[int]) -> str:
    raised = "⁰¹²³⁴"
    upward = powers if max(powers) > 0 else [-power for power in powers]
    words = [(f"{name}{'' if abs(power) == 1 else raised[abs(power)]}", power) for name, power in zip(names, upward)]
    below = "".join(f" / {word}" for word, power in words if power < 0)
    return " · ".join(word for word, power in words if power > 0) + below
