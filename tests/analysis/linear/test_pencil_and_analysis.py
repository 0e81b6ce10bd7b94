"""The pencil and the analysis say the same of every linear system in the catalogue."""

from functools import lru_cache

import numpy as np
import pytest

import daedalus as dd
from daedalus.catalogue.textbook.small_dae import EXAMPLES

KNOWN = [(name, {}) for name in dd.catalogue.names() if name != "small_dae"] + [
    ("small_dae", {"example": e}) for e in EXAMPLES
]


@lru_cache
def linear_systems():
    """The known square systems whose equations are linear with constant coefficients, and what the analysis says."""
    found = []
    for name, options in KNOWN:
        known = dd.catalogue.load(name, **options)
        size = sum(v.size for v in known.model.variables.values() if v.kind in ("state", "algebraic"))
        if size > 30 or sum(map(len, known.model.equations.values())) != size:
            continue
        report = dd.analyse(known.model, inputs=known.inputs)
        if report.is_linear:
            found.append(pytest.param(known, report, id=f"{name} {options.get('example', '')}".strip()))
    return found


@pytest.mark.parametrize(("known", "report"), linear_systems())
def test_index_and_freedom_agree(known, report):
    point = {**known.start, **known.inputs}
    lin = dd.linearise(known.model, at=point)
    pencil = dd.pencil(lin.E, lin.A)
    if report.index is None or not report.solvable:
        assert not pencil.regular
        return
    assert pencil.regular
    assert pencil.index == report.index
    assert len(np.atleast_1d(pencil.finite)) == report.degrees_of_freedom


def test_there_are_linear_systems_of_several_indices():
    indices = {parameters.values[1].index for parameters in linear_systems()}
    assert {0, 3} <= indices
