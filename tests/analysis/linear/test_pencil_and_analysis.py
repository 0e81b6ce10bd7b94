"""The pencil and the analysis say the same of every linear system in the catalogue."""

from functools import lru_cache

import numpy as np
import pytest

import daedalus as dd
from daedalus.catalogue.textbook.small_dae import EXAMPLES

KNOWN = [(name, None) for name in dd.catalogue.names() if name != "small_dae"] + [("small_dae", e) for e in EXAMPLES]


@lru_cache
def linear_system(name, example):
    """A known square system and what the analysis says, where its equations are linear with constant coefficients."""
    known = dd.catalogue.load(name, **({"example": example} if example else {}))
    size = sum(v.size for v in known.model.variables.values() if v.kind in ("state", "algebraic"))
    if size > 30 or sum(map(len, known.model.equations.values())) != size:
        return None
    report = dd.analyse(known.model, inputs=known.inputs)
    return (known, report) if report.is_linear else None


@pytest.mark.parametrize(("name", "example"), KNOWN, ids=lambda value: value or "")
def test_index_and_freedom_agree(name, example):
    linear = linear_system(name, example)
    if linear is None:
        return
    known, report = linear
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
    linear = [linear_system(name, None) for name in ("mass_spring", "nilpotent_3")]
    assert {0, 3} <= {report.index for _, report in filter(None, linear)}
