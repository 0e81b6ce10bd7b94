"""Derivatives of cases in the same kernels: states, then selected columns of the sensitivities, as one larger model.

Steps follow the errors of the states alone.
"""

from __future__ import annotations

from dataclasses import replace

from daedalus.ensembles.case_runs import CaseRuns
from daedalus.ensembles.derivatives.derived_model import derived_model
from daedalus.ensembles.derivatives.tangent_starts import TangentStarts
from daedalus.ensembles.lanes.lane_runs import LaneRuns, NoLanes
from daedalus.model.system.instruction_list import UnknownOperationError


def with_derivatives(lanes: LaneRuns, runs: CaseRuns, names: tuple[str, ...]) -> LaneRuns | NoLanes:
    """The same cases with derivatives by elements of some names, or why there are none."""
    if lanes.numbers is None:
        return NoLanes("derivatives on lanes are those of explicit methods")
    if lanes.model.events is not None:
        return NoLanes("derivatives through events are taken by the scalar core")
    found = derived_model(runs.road.system, names)
    if found is None:
        return NoLanes("derivatives are taken by what the equations on lanes do not have")
    careful = lanes.model.careful
    try:
        shorter = None if careful is None else found.shorter_slopes
        slopes = found.slopes if shorter is None else shorter
        careful = None if shorter is None or careful is None else careful._replace(rows=found.careful)
        kept, independence = found.kept, found.independence
    except UnknownOperationError as unknown:
        return NoLanes(str(unknown))
    tangents, n = TangentStarts(runs.road, found), lanes.model.states
    model = replace(
        lanes.model, states=n * (1 + len(found.columns)), slopes=slopes, kept=kept, independence=independence, judged=n,
        careful=careful,
    )  # fmt: skip
    return replace(lanes, model=model, shared=tangents.joined(lanes.shared), stiff=None, tangents=tangents)
