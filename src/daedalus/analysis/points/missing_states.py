"""States without a start value that follow from constraints, as a run would start them."""

from __future__ import annotations

import numpy as np

from daedalus.analysis.structure.jets.consistent_jet import consistent_jet, jet_start
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.model.names import listed
from daedalus.model.system.system import System

# What moves by less than this, in nominal values, stays at its guess.
MOVED = 1e-9


def follow_missing_states(system: System, vectors: dict[str, np.ndarray]) -> tuple[str, ...]:
    """Solve constraints for states that have no value and no start; what followed, in words.

    vectors: values by letter, NaN where there is none; those of states that follow are put in.
    """
    missing = np.flatnonzero(np.isnan(vectors["x"]) & np.isnan(system.start["x"]))
    if not len(missing):
        return ()
    found, guess = None, np.nan_to_num(system.guessed_start)
    signature = structure_of(system).signature
    if signature.regular and (system.sizes["z"] or signature.c.any()):
        jet = consistent_jet(DerivativeArray(system), jet_start(system, vectors), int(signature.c.max(initial=0)))
        found = jet.y[0, : system.sizes["x"]] if jet.consistent else None
    values = guess if found is None else found
    # What stays at a guess of 0 is told by whoever completes the point.
    told = [k for k in missing if abs(values[k]) > MOVED * system.nominal["x"][k]]
    vectors["x"][told] = values[told]
    moved = [f"{system.labels['x'][k]} = {values[k]:.6g}" for k in told if abs(values[k] - guess[k]) > MOVED]
    return (f"states without a start value follow from the equations: {listed(moved)}",) if moved else ()
