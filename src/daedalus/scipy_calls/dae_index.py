"""The index that `solve_dae` reports: from the structure of F, from its numbers where the structure is not enough."""

from __future__ import annotations

import numpy as np

from daedalus.analysis.analyse import analyse
from daedalus.analysis.structure.signature import Signature
from daedalus.analysis.structure.written_structure import indices_by_structure
from daedalus.model.system.once import By, once
from daedalus.model.system.system import System
from daedalus.scipy_calls.dae_callbacks import CallbackDae
from daedalus.scipy_calls.dae_model import DaeModel, check_regular
from daedalus.scipy_calls.dae_start import RANK, GivenStart
from daedalus.simulation.start.implicit_start import ATOL, RTOL


def traced_index(found: DaeModel, t: float, row: np.ndarray, p: np.ndarray) -> tuple[int, str]:
    """The index of a traced F at a consistent row, and a note where structure and numbers disagree.

    A structure of index 0 or 1 is confirmed by the matrix that gives y' (and what has no derivative) being regular.
    """
    structural = found.structure.index
    assert structural is not None  # a singular structure has no start
    if (
        structural > 1
        or found.plant.model.consistent(t, row, np.zeros(0), p, RTOL, np.full(len(row), ATOL)) is not None
    ):
        return structural, ""
    actual = once(found.model.freeze(), _index_at, found, By(p, p.tobytes()), By((t, row)))
    if actual is None:
        return structural, f"the index is {structural} by structure; ranks at the start do not confirm it"
    note = (
        f"the structure shows index {structural}, the ranks {actual}; index= scales for more than 1"
        if actual > 1
        else ""
    )
    return actual, note


def _index_at(system: System, found: DaeModel, p: By[np.ndarray], at: By[tuple[float, np.ndarray]]) -> int | None:
    """The index by ranks at the row of the first call with these parameters."""
    t, row = at.value
    y = dict(zip(system.labels["x"], row[: found.size].tolist()))
    values = dict(zip(system.labels["p"], p.value.tolist()))
    return analyse(found.model, {**y, "t": t}, parameters=values).index


def callback_index(found: CallbackDae, wanted: GivenStart, given: np.ndarray | None) -> tuple[int, np.ndarray, str]:
    """Index of the system, of each component, and a note; by the pattern of the Jacobians where it is not given."""
    n = found.size
    if given is not None:
        return int(given.max()), given, "index as given"
    structure: Signature = found.structure
    check_regular(structure)
    own = indices_by_structure(structure).index
    index = structure.index or 0
    if index == 0:
        rate = np.zeros(n) if wanted.yp is None else wanted.yp
        dot = found.jacobians(wanted.t, wanted.y, rate)[1]
        index = 0 if np.linalg.matrix_rank(dot, tol=RANK * max(float(np.abs(dot).max(initial=0.0)), 1e-300)) == n else 1
    note = f"index {index} by the pattern of the Jacobians" + (
        "" if index < 3 else "; hidden constraints that two differentiations show are not checked"
    )
    return index, own, note
