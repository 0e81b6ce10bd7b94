"""Directions of the unknowns that change nothing that is measured, found by the small singular values of ∂r/∂ln θ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES, NOT_ZERO

# A belief with a spread of more than a thousand times the value says nothing.
BELIEVED = 1e-3
# Entries of a direction below this share of its largest belong to rounding.
SHARE = 1e-3
LARGEST_POWER = 4
# Powers are whole to this, and those of plain products and quotients.
WHOLE = 1e-2
PLAIN_PRODUCTS = ((1, 1), (1, -1))


@dataclass(frozen=True)
class Unseen:
    """A combination of parameters that the data do not determine: the relative change of each name, and its effect.

    values: of the names, where the direction was found. One point does not tell a sum from a product: the simpler one
    of them is told.

    >>> print(Unseen(("a", "b"), (1.0, -1.0), (3.0, 0.5)))
    only a · b is seen
    >>> print(Unseen(("a", "b"), (0.5, -1.0), (1.0, 0.5)))
    near these values only a + b is seen
    """

    names: tuple[str, ...]
    direction: tuple[float, ...]
    values: tuple[float, ...] = ()

    def __str__(self) -> str:
        if len(self.names) == 1:
            return f"{self.names[0]} changes nothing that is measured"
        powers = _powers(self.direction) if len(self.names) == 2 else None
        if len(self.names) == 2 and len(self.values) == 2 and powers not in PLAIN_PRODUCTS:
            moved = tuple(part * value for part, value in zip(self.direction, self.values))
            if abs(abs(moved[0]) - abs(moved[1])) < WHOLE * abs(moved[0]):
                sign = "+" if moved[0] * moved[1] < 0 else "-"
                return f"near these values only {self.names[0]} {sign} {self.names[1]} is seen"
        if powers is not None:
            return f"only {_product(self.names, powers)} is seen"
        return f"a combination of {', '.join(self.names)} changes nothing that is measured"


def seen_directions(
    slopes: np.ndarray, theta: np.ndarray, priors: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Sizes of the unknowns, directions of relative changes (rows), how much each is seen, and whether it is at all.

    The last `priors` rows of the slopes are beliefs: they are exact, however little they say.
    """
    sizes = np.where(theta == 0, 1.0, np.abs(theta))
    scaled = slopes * sizes
    singular, rows = np.linalg.svd(scaled)[1:]
    padded = np.concatenate([singular, np.zeros(len(theta) - len(singular))])
    believed = np.linalg.norm(scaled[len(scaled) - priors :] @ rows.T, axis=0)
    return sizes, rows, padded, (padded > KNOWN_BY_DIFFERENCES * max(padded[0], NOT_ZERO)) | (believed > BELIEVED)


def linear_covariance(slopes: np.ndarray, theta: np.ndarray, priors: int = 0) -> np.ndarray:
    """(JᵀJ)⁻¹ of the unknowns; infinite on the diagonal for what data says nothing about."""
    sizes, rows, singular, seen = seen_directions(slopes, theta, priors)
    part = rows[seen] / singular[seen][:, None]
    covariance = np.asarray((part.T @ part) * sizes[:, None] * sizes[None, :])
    for row in rows[~seen]:
        blind = np.flatnonzero(np.abs(row) > SHARE * np.abs(row).max())
        covariance[blind, blind] = np.inf
    return covariance


def unseen_directions(slopes: np.ndarray, theta: np.ndarray, labels: Sequence[str], priors: int = 0) -> list[Unseen]:
    """The directions that data says nothing about, in relative changes of the unknowns."""
    _, rows, _, seen = seen_directions(slopes, theta, priors)
    found = []
    for row in rows[~seen]:
        signed = row * np.where(theta < 0, -1.0, 1.0)
        own = np.flatnonzero(np.abs(signed) > SHARE * np.abs(signed).max()).tolist()
        direction, values = (tuple(float(part[k]) for k in own) for part in (signed, theta))
        found.append(Unseen(tuple(labels[k] for k in own), direction, values))
    return found


def _powers(direction: tuple[float, ...]) -> tuple[int, int] | None:
    """Small whole powers a, b such that the product θ₁^a θ₂^b does not change along a direction."""
    first, second = -direction[1], direction[0]
    for scale in range(1, LARGEST_POWER + 1):
        ratio = scale * second / first
        if abs(ratio - round(ratio)) < WHOLE and abs(round(ratio)) <= LARGEST_POWER:
            return scale, round(ratio)
    return None


def _product(names: Sequence[str], powers: tuple[int, int]) -> str:
    raised = "⁰¹²³⁴"
    words = [f"{name}{'' if abs(power) == 1 else raised[abs(power)]}" for name, power in zip(names, powers)]
    return f"{words[0]} {'·' if powers[1] > 0 else '/'} {words[1]}"
