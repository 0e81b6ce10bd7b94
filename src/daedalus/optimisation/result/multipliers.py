"""Multipliers of a plan by name: what one unit of a bound or condition is worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from daedalus.errors import InputError
from daedalus.model.names import did_you_mean, split_index
from daedalus.optimisation.program.program_outcome import ProgramOutcome
from daedalus.optimisation.transcription.collocated import Transcription


class Pressure(NamedTuple):
    """Multipliers at shares of the duration: (places,) each; positive where the upper bound presses."""

    shares: np.ndarray
    values: np.ndarray


class Multipliers(Mapping[str, np.ndarray]):
    """By name of a condition, or of a variable for its bounds, the multipliers over time.

    `multipliers["speed limit"]` has one value a collocation point (or node), positive where the upper bound presses and
    negative where the lower one does: raising the bound there by one changes the objective by minus that. Those of the
    equations stand under "dynamics of x". `shares(name)` tells where the values belong, as shares of the duration.
    """

    def __init__(self, transcription: Transcription, outcome: ProgramOutcome) -> None:
        layout, stage = transcription.layout, transcription.stage
        self._found: dict[str, Pressure] = {}
        for group in layout.groups:
            for k, name in enumerate(group.names):
                key = {"dynamics": f"dynamics of {name}", "equation": f"equation {name}"}.get(group.kind, name)
                self._add(key, group.shares, outcome.multipliers[group.rows[:, k]])
        held = [
            (stage.inputs.labels, layout.shares[:-1], layout.inputs),
            (stage.unknowns.labels, layout.mesh.point_shares, layout.unknowns),
            (stage.states.labels[: stage.model_states + len(stage.linear)], layout.shares, layout.nodes),
        ]
        for labels, shares, variables in held:
            for name, own in zip(labels, variables.T):
                self._add(name, shares, outcome.bound_multipliers[own])

    def _add(self, name: str, shares: np.ndarray, values: np.ndarray) -> None:
        if name in self._found:
            before = self._found[name]
            shares, values = np.concatenate([before.shares, shares]), np.concatenate([before.values, values])
            order = np.argsort(shares, kind="stable")
            shares, values = shares[order], values[order]
        self._found[name] = Pressure(shares, values)

    def __getitem__(self, name: str) -> np.ndarray:
        if name in self._found:
            return self._found[name].values
        parts = [key for key in self._found if split_index(key)[0] == name]
        if parts:
            return np.stack([self._found[key].values for key in parts], axis=1)
        raise InputError(
            f"There are no multipliers of {name!r}.",
            f"there are those of {', '.join(list(self._found)[:8])}",
            remedy=did_you_mean(name, self._found),
        )

    def shares(self, name: str) -> np.ndarray:
        """Where the multipliers of a name belong, as shares of the duration."""
        key = name if name in self._found else next((k for k in self._found if split_index(k)[0] == name), name)
        self[name]
        return self._found[key].shares

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)
