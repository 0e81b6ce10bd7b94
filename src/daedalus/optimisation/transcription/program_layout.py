"""Where the quantities of a problem stand among the variables of its program, and what its rows mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from daedalus.optimisation.transcription.mesh import Mesh


@dataclass(frozen=True, eq=False)
class RowGroup:
    """Rows of one meaning: `names` of the columns, `shares` of the duration of the rows; kind tells what they say.

    kind: "dynamics", "equation", "condition", "start", "end", "periodic", "rate" or "link".
    """

    kind: str
    names: tuple[str, ...]
    rows: np.ndarray  # (places, names)
    shares: np.ndarray  # (places,)


@dataclass(frozen=True, eq=False)
class SoftGroup:
    """What is left over of a soft condition: its variables, (places, elements, below and above)."""

    names: tuple[str, ...]
    variables: np.ndarray
    shares: np.ndarray


def values_of(numbers: np.ndarray, w: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """What variables are, and parameters, whose numbers are negative."""
    return np.asarray(np.concatenate([w, parameters])[np.where(numbers >= 0, numbers, len(w) - 1 - numbers)])


@dataclass(eq=False)
class ProgramLayout:
    """Numbers of variables (or, negative, of parameters): N intervals with Q points, n states.

    nodes (N + 1, n), points (Q, n), unknowns (Q, nz), inputs (N, nu), length (N + 1,), parameters (N + 1, np).
    """

    mesh: Mesh
    nodes: np.ndarray
    points: np.ndarray
    unknowns: np.ndarray
    inputs: np.ndarray
    length: np.ndarray
    parameters: np.ndarray
    node_unknowns: dict[int, np.ndarray] = field(default_factory=dict)
    steps: list[np.ndarray] = field(default_factory=list)  # rows (N, states) that lead from one node to the next
    # Parameters that hold shares of the duration, and given inputs with the shares at which they count.
    share_parameters: list[np.ndarray] = field(default_factory=list)
    given_parameters: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    groups: list[RowGroup] = field(default_factory=list)
    soft: list[SoftGroup] = field(default_factory=list)

    @property
    def stages(self) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]] | None:
        """States and inputs of every stage and the steps between; None where a point of one is a node of the next."""
        n = self.intervals
        if not self.steps:
            return None
        along = [self.nodes, *(part for part in (self.length[:, None], self.parameters) if self.stagewise)]
        states = [np.concatenate([part[k][part[k] >= 0] for part in along]) for k in range(n + 1)]
        own = [slice(*pair) for pair in pairwise(self.mesh.firsts)]
        inputs = [
            np.concatenate([self.inputs[k], self.points[own[k]].ravel(), self.unknowns[own[k]].ravel()])
            for k in range(n)
        ]
        inputs.append(np.zeros(0, dtype=int))
        for node, variables in self.node_unknowns.items():
            place = n if node < 0 else node
            inputs[place] = np.union1d(inputs[place], variables)
        return states, inputs, [np.concatenate([part[k] for part in self.steps]) for k in range(n)]

    @property
    def stagewise(self) -> bool:
        """Whether every node has a duration and free parameters of its own."""
        return len(np.unique(self.length)) > 1 or bool((np.ptp(self.parameters, axis=0) > 0).any())

    def interval_of(self, node: int) -> int:
        """The interval whose inputs and unknowns count at a node: the one before it, of shooting the one behind it."""
        place = node % (self.intervals + 1)
        return min(place, self.intervals - 1) if not self.mesh.firsts[-1] else max(place - 1, 0)

    @property
    def intervals(self) -> int:
        """How many intervals there are."""
        return self.mesh.intervals

    @property
    def shares(self) -> np.ndarray:
        """The shares of the duration at the nodes, (N + 1,)."""
        return self.mesh.shares

    @property
    def widths(self) -> np.ndarray:
        """The shares of the duration that the intervals take, (N,)."""
        return self.mesh.widths
