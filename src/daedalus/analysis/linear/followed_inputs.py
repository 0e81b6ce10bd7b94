"""Derivatives of inputs in a linear system: x' = A x + B u + B₁ u' as a descriptor system with the input u alone.

States that follow the input stand in for its derivatives: 0 = u - w₀, w₀' = w₁, ..., so that u⁽ᵏ⁾ = wₖ. The index grows
by them, as it should: u' of a u that jumps is an impulse.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from daedalus.model.input_rates import system_rates
from daedalus.model.system.system import System

FOLLOWED = "{name}, followed"


def with_inputs_followed(
    system: System, matrices: Mapping[str, np.ndarray], names: Mapping[str, Any]
) -> tuple[dict[str, np.ndarray], dict[str, Any], tuple[str, ...]]:
    """The matrices and names without derivatives among the inputs, and the states that were added for them."""
    own, told = dict(matrices), dict(names)
    rates = system_rates(system)
    if not rates:
        return own, told, ()
    if "C" not in own:
        own["C"], own["D"] = np.eye(own["A"].shape[1]), np.zeros((own["A"].shape[1], own["B"].shape[1]))
        told["outputs"] = told["states"]
    labels: list[str] = []
    gone: list[int] = []
    for name, levels in rates.items():
        positions = system.places[name].positions
        columns = [system.places[level].positions if level in system.places else None for level in levels]
        for k, place in enumerate(positions):
            chain = [None if own_columns is None else int(own_columns[k]) for own_columns in columns]
            _follow(own, int(place), chain)
            labels.append(FOLLOWED.format(name=system.labels["u"][place]))
            labels += [_element(level, system, name, k) for level in levels]
            gone += [column for column in chain if column is not None]
    kept = [k for k in range(own["B"].shape[1]) if k not in gone]
    own["B"], own["D"] = own["B"][:, kept], own["D"][:, kept]
    told["inputs"] = tuple(told["inputs"][k] for k in kept)
    told["states"] = (*told["states"], *labels)
    return own, told, tuple(labels)


def _element(level: str, system: System, name: str, k: int) -> str:
    label = system.labels["u"][system.places[name].positions[k]]
    return level + label[len(name) :]


def _follow(own: dict[str, np.ndarray], place: int, chain: list[int | None]) -> None:
    """Add the states of one input: w₀ = u, w₁ = w₀', ...; those that are inputs now take the place of these."""
    rows, width = own["A"].shape
    count = len(chain) + 1
    E, A = (np.pad(own[letter], ((0, count), (0, count))) for letter in "EA")
    B, C = np.pad(own["B"], ((0, count), (0, 0))), np.pad(own["C"], ((0, 0), (0, count)))
    A[rows, width], B[rows, place] = -1.0, 1.0
    for k, column in enumerate(chain, 1):
        E[rows + k, width + k - 1] = A[rows + k, width + k] = 1.0
        if column is not None:
            A[:, width + k] += B[:, column]
            C[:, width + k] += own["D"][:, column]
    own.update(E=E, A=A, B=B, C=C)
