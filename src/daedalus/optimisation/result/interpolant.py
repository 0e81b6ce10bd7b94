"""A plan between its nodes: states as the polynomials they were found as, unknowns from the equations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from daedalus.model.lazy_values import cached_property
from daedalus.optimisation.transcription.collocation_points import CollocationPoints, basis, basis_slopes
from daedalus.optimisation.transcription.inputs_at_points import given_values
from daedalus.optimisation.transcription.problem_stage import ProblemStage
from daedalus.optimisation.transcription.program_layout import ProgramLayout, values_of
from daedalus.optimisation.transcription.stage_functions import StageFunctions


class Interpolant:
    """The values of a plan at any share of its duration; arrays have one row a share."""

    def __init__(self, stage: ProblemStage, layout: ProgramLayout, w: np.ndarray, parameters: np.ndarray) -> None:
        self.stage, self.layout, self.w = stage, layout, w
        self.functions, values = StageFunctions(stage), partial(values_of, w=w, parameters=parameters)
        self.nodes, self.points = values(layout.nodes), values(layout.points)
        self.unknowns, self.inputs = values(layout.unknowns), values(layout.inputs)
        self.length, self.parameters = float(values(layout.length[:1])[0]), values(layout.parameters[0])

    def places(self, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The interval of every share, and how far into it."""
        layout = self.layout
        interval = np.clip(np.searchsorted(layout.shares, shares, side="right") - 1, 0, layout.intervals - 1)
        return interval, (shares - layout.shares[interval]) / layout.widths[interval]

    def states(self, interval: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """States of the stage."""
        return self._by_basis(basis, interval, tau)

    def slopes(self, interval: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """The derivatives of the polynomials by time."""
        width = self.length * self.layout.widths[interval]
        rates: np.ndarray = self._by_basis(basis_slopes, interval, tau) / width[:, None]
        return rates

    def _by_basis(
        self, polynomials: Callable[[np.ndarray, np.ndarray], np.ndarray], interval: np.ndarray, tau: np.ndarray
    ) -> np.ndarray:
        """Polynomials through each interval's node and points."""
        found = np.zeros((len(tau), self.nodes.shape[1]))
        for scheme, at, points in self._alike(interval):
            corners = np.concatenate([self.nodes[interval[at], None], self.points[points]], axis=1)
            own = polynomials(np.concatenate([[0.0], scheme.tau]), tau[at])
            found[at] = np.einsum("kc,kcn->kn", own.T, corners)
        return found

    def _alike(self, interval: np.ndarray) -> Iterator[tuple[CollocationPoints, np.ndarray, np.ndarray]]:
        """Places on intervals with the same number of points: the scheme, the places and their points (M, degree)."""
        mesh = self.layout.mesh
        for scheme, own, _ in mesh.by_degree():
            at = np.flatnonzero(np.isin(interval, own))
            yield scheme, at, mesh.firsts[interval[at]][:, None] + np.arange(scheme.degree)

    def instants(
        self, interval: np.ndarray, tau: np.ndarray, states: np.ndarray | None = None
    ) -> tuple[np.ndarray, ...]:
        """Everything at some places, with the unknowns solved for; `states`: others of the model than the plan's."""
        layout = self.layout
        shares = layout.shares[interval] + tau * layout.widths[interval]
        shares = layout.mesh.inside(interval, shares, self.stage.description.rounding)
        x, u = self.states(interval, tau), self.inputs[interval]
        if states is not None:
            x[:, : self.stage.model_states] = states
        rest = self.functions.surroundings(self.length, self.parameters, shares)
        z = np.zeros((len(tau), self.stage.unknowns.size))
        for scheme, at, points in self._alike(interval):
            z[at] = np.einsum("kc,kcn->kn", basis(scheme.tau, tau[at]).T, self.unknowns[points])
        z = self.functions.solved_unknowns(x, z, u, *rest)
        return (x, z, u, *rest)

    def vectors(self, shares: np.ndarray) -> dict[str, np.ndarray]:
        """t, xdot, x, z, u and p of the model at shares."""
        return self.vectors_at(*self.places(shares))

    def vectors_at(
        self, interval: np.ndarray, tau: np.ndarray, states: np.ndarray | None = None
    ) -> dict[str, np.ndarray]:
        """The same at places of intervals, on their side of a node; `states`: other ones than the plan's."""
        stage, description = self.stage, self.stage.description
        x, z, u, given, p, _, seen = instants = self.instants(interval, tau, states)
        rates = self.functions.rates(*instants)
        inputs = np.zeros((len(tau), description.system.sizes["u"]))
        inputs[:, list(stage.constant)] = u[:, : len(stage.constant)]
        inputs[:, list(stage.linear)] = x[:, stage.model_states : stage.model_states + len(stage.linear)]
        inputs[:, list(stage.given_positions)] = given
        moved = [k for k in description.given if k not in stage.given_positions]
        if moved:
            times = description.begin + self.length * seen[:, 0]
            inputs[:, moved] = given_values(description, tuple(moved), times)
        n = stage.model_states
        t = description.begin + self.length * (self.layout.shares[interval] + tau * self.layout.widths[interval])
        return {
            "t": t[:, None], "xdot": rates[:, :n], "x": x[:, :n], "z": z[:, : description.system.sizes["z"]],
            "u": inputs, "p": p,
        }  # fmt: skip

    def mesh_error(self) -> np.ndarray:
        """Per interval ∫ |x' − f| dt of the worst state, as a share of its size.

        The polynomials obey the equations at the collocation points; between them they are off by what is shown here.
        """
        layout, n = self.layout, self.stage.model_states
        count = int(layout.mesh.degrees.max()) + 2
        nodes, weights = np.polynomial.legendre.leggauss(count)
        tau = np.tile(0.5 * (nodes + 1), layout.intervals)
        interval = np.repeat(np.arange(layout.intervals), count)
        instants = self.instants(interval, tau)
        off = np.abs(self.slopes(interval, tau)[:, :n] - self.functions.rates(*instants)[:, :n])
        width = self.length * layout.widths
        total = np.einsum("kjn,j->kn", off.reshape(layout.intervals, count, n), 0.5 * weights) * width[:, None]
        if layout.mesh.ends_on_node:
            # Where points were integrated from each node, they need not end on the next.
            total += np.abs(self.points[layout.mesh.firsts[1:] - 1, :n] - self.nodes[1:, :n])
        return np.asarray((total / self.state_sizes).max(axis=1)) if n else np.zeros(layout.intervals)

    @cached_property
    def state_sizes(self) -> np.ndarray:
        """What distances of states are judged by, (n,): the largest value of each on the plan, and its usual size."""
        n = self.stage.model_states
        return np.asarray(np.abs(self.nodes[:, :n]).max(axis=0) + self.stage.states.nominal[:n])
