"""A problem on its way to a program: variables for everything, and what each symbol stands for at every place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daedalus.optimisation.description.unknown import Unknown
from daedalus.optimisation.program.draft import Binding, Draft
from daedalus.optimisation.transcription.boundary.independent_ends import IndependentEnd
from daedalus.optimisation.transcription.boundary.reference_ends import ReferenceEnds
from daedalus.optimisation.transcription.inputs_at_points import given_values
from daedalus.optimisation.transcription.invariants import KeptQuantities
from daedalus.optimisation.transcription.known_jumps import jumps_off_nodes
from daedalus.optimisation.transcription.mesh import Mesh
from daedalus.optimisation.transcription.problem_stage import ProblemStage
from daedalus.optimisation.transcription.program_layout import ProgramLayout, RowGroup


class ProblemDraft:
    """A transcription in the making; the parts of a problem are added by functions of their own files."""

    def __init__(
        self, stage: ProblemStage, mesh: Mesh, draft: Draft, ends: ReferenceEnds, kept: KeptQuantities,
        stagewise: bool = False,
    ) -> None:  # fmt: skip
        self.stage, self.draft, self.ends, self.kept = stage, draft, ends, kept
        self.description, self.stagewise = stage.description, stagewise
        self.layout = self._make_layout(mesh)
        self.notes = jumps_off_nodes(self.description, mesh)
        self.independence: list[IndependentEnd] = []  # of ends whose values repeat what the model keeps
        self._given: dict[tuple[float, ...], np.ndarray] = {}

    def add_rows(
        self, kind: str, names: Sequence[str], shares: np.ndarray, lower: object = 0.0, upper: object = 0.0
    ) -> np.ndarray:
        """New rows of one meaning, (shares, names): their numbers."""
        rows = self.draft.add_rows((len(shares), len(names)), lower=lower, upper=upper)
        self.layout.groups.append(RowGroup(kind, tuple(names), rows, shares))
        return rows

    # -- what symbols stand for --------------------------------------------------------------------------------

    def point_bindings(self) -> list[Binding]:
        """Symbols at all points, interval by interval."""
        layout, mesh = self.layout, self.layout.mesh
        return self.bindings(layout.points, layout.unknowns, mesh.point_shares, mesh.point_interval)

    def bindings(
        self, states: np.ndarray, unknowns: np.ndarray, shares: np.ndarray, intervals: np.ndarray
    ) -> list[Binding]:
        """Symbols at some places: states and unknowns there, all else that of their shares and intervals."""
        stage = self.stage
        return [
            (stage.states.symbols, states),
            (stage.unknowns.symbols, unknowns),
            (stage.inputs.symbols, self.layout.inputs[intervals]),
            *self.common_bindings(shares, intervals),
        ]

    def common_bindings(self, shares: np.ndarray, intervals: np.ndarray) -> list[Binding]:
        """Symbols that are the same at points and nodes: given inputs, share, duration, parameters, and both ends."""
        layout, stage = self.layout, self.stage
        seen = layout.mesh.inside(intervals, shares, self.description.rounding)
        return [
            (stage.given, self.given_at(seen)),
            (stage.share, self.share_at(seen)[:, None]),
            (stage.length, layout.length[intervals][:, None]),
            (stage.parameters, layout.parameters[intervals]),
            *self.end_bindings(),
        ]

    def share_at(self, shares: np.ndarray) -> np.ndarray:
        """Parameters that hold shares of the duration."""
        found = self.draft.add_parameters(shares)
        self.layout.share_parameters.append(found)
        return found

    def given_at(self, shares: np.ndarray) -> np.ndarray:
        """Parameters that hold the given inputs at some shares, (shares, given)."""
        if not self.stage.given_positions:
            return np.zeros((len(shares), 0), dtype=int)
        key = tuple(shares)
        if key not in self._given:
            times = self.description.begin + self.description.expected_duration * shares
            self._given[key] = self.draft.add_parameters(
                given_values(self.description, self.stage.given_positions, times)
            )
            self.layout.given_parameters.append((self._given[key], np.asarray(shares, dtype=float)))
        return self._given[key]

    def end_bindings(self) -> list[Binding]:
        """The copies that stand for the values at the start and at the end."""
        layout, stage = self.layout, self.stage
        found: list[Binding] = []
        for copies, node, interval in ((stage.start, 0, 0), (stage.end, -1, layout.intervals - 1)):
            share = layout.mesh.inside(np.array([interval]), layout.shares[[node]], self.description.rounding)
            unknowns = layout.node_unknowns.get(node)
            found += [
                (copies.states, layout.nodes[node][None]),
                (copies.inputs, layout.inputs[interval][None, : copies.inputs.numel()]),
                (copies.given, self.given_at(share)),
                (copies.share, self.share_at(share)[:, None]),
            ]
            if unknowns is not None:
                found.append((copies.unknowns, unknowns[None]))
        return found

    def has_unknowns(self, node: int) -> np.ndarray:
        """The algebraic unknowns at a node, with their equations where no point lies on it."""
        layout, stage, draft = self.layout, self.stage, self.draft
        if node not in layout.node_unknowns:
            if node != 0 and layout.mesh.ends_on_node:
                layout.node_unknowns[node] = layout.unknowns[layout.mesh.firsts[node] - 1]
            else:
                q = stage.unknowns
                own = draft.add_variables((q.size,), lower=q.lower, upper=q.upper, scale=q.nominal)
                layout.node_unknowns[node] = own
                rows = self.add_rows("equation", self.description.form.equation_labels, layout.shares[[node]])
                interval = np.array([layout.interval_of(node)])
                bindings = self.bindings(layout.nodes[[node]], own[None], layout.shares[[node]], interval)
                draft.add_block(stage.equations, bindings, rows)
        return layout.node_unknowns[node]

    # -- variables ---------------------------------------------------------------------------------------------

    def _make_layout(self, mesh: Mesh) -> ProgramLayout:
        """Variables for everything, in the order of time: a node, then inputs, points and next node of intervals."""
        stage, draft = self.stage, self.draft
        x, z, u = stage.states, stage.unknowns, stage.inputs
        length, parameters = self._globals(mesh.intervals)
        shared = mesh.ends_on_node and not self.stagewise
        own, carried = mesh.degrees - shared, len(stage.carried)  # points that are no node, and states of one
        ends = carried + np.cumsum(u.size + own * x.size + mesh.degrees * z.size + carried)
        begins = np.concatenate([[carried], ends[:-1]])
        nodes = np.concatenate([[0], ends - carried])[:, None] + np.arange(carried)
        inputs = begins[:, None] + np.arange(u.size)
        interval = mesh.point_interval
        place = np.arange(mesh.firsts[-1]) - mesh.firsts[interval]
        points = (begins[interval] + u.size + place * x.size)[:, None] + np.arange(x.size)
        unknowns = begins[interval] + u.size + own[interval] * x.size + place * z.size
        unknowns = unknowns[:, None] + np.arange(z.size)
        if shared:
            points[mesh.firsts[1:] - 1] = nodes[1:]
        of_all = np.zeros((3, ends[-1] if len(ends) else carried))
        for table, q in ((nodes, x), (inputs, u), (points, x), (unknowns, z)):
            for values, kind in zip(of_all, (q.lower, q.upper, q.nominal)):
                values[table] = kind[: table.shape[1]]
        first = draft.add_variables((of_all.shape[1],), lower=of_all[0], upper=of_all[1], scale=of_all[2])[0]
        nodes = nodes + first
        if carried < x.size:
            # The running cost begins at zero on every interval, and is no variable.
            nodes = np.append(nodes, np.full((len(nodes), 1), draft.add_parameters(0.0)), axis=1)
        return ProgramLayout(mesh, nodes, points + first, unknowns + first, inputs + first, length, parameters)

    def _globals(self, intervals: int) -> tuple[np.ndarray, np.ndarray]:
        """The duration and the parameters: variables where they are unknown, else parameters of the program."""
        description, draft = self.description, self.draft
        # Solvers that go through the stages one by one need what is unknown once a node.
        count = intervals + 1 if self.stagewise else 1
        if isinstance(description.duration, Unknown):
            open_ = description.duration
            length = draft.add_variables((count,), lower=open_.lower, upper=open_.upper, scale=open_.size)
        else:
            length = draft.add_parameters([description.duration])
        parameters = np.tile(draft.add_parameters(description.parameters), (intervals + 1, 1))
        for k, wanted in description.free.items():
            each = (1,) if k in description.single else (count,)
            parameters[:, k] = draft.add_variables(each, lower=wanted.lower, upper=wanted.upper, scale=wanted.size)
        return np.broadcast_to(length, (intervals + 1,)).copy(), parameters


def add_carried(made: ProblemDraft) -> None:
    """An unknown duration and free parameters stay what they are from one node to the next."""
    layout, draft = made.layout, made.draft
    if not made.stagewise:
        return
    scale = np.concatenate(draft.scale)
    for column in (layout.length, *layout.parameters.T):
        if column[0] >= 0 and column[1] != column[0]:
            rows = draft.add_rows((layout.intervals, 1))
            size = scale[column[0]]
            draft.add_linear(rows[:, 0], column[1:], 1.0 / size)
            draft.add_linear(rows[:, 0], column[:-1], -1.0 / size)
            layout.steps.append(rows)
