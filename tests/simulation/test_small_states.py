"""States below the absolute tolerance: no error of theirs is seen, and the run says so."""

import numpy as np
import pytest

import daedalus as dd
from daedalus.simulation.result.records_of_methods import BelowTolerance


def tiny(size=1e-11, nominal=1.0):
    m = dd.Model("tiny")
    x, v = m.state("x", start=size, nominal=nominal), m.state("v", start=0.0, nominal=nominal)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -400 * x)
    return m


@pytest.mark.parametrize("method", ["auto", "radau5", "bdf"])
def test_states_below_their_tolerance_are_told(method):
    tr = dd.simulate(tiny(), 10.0, method=method)
    assert BelowTolerance(("x", "v"), 1e-9) in tr.records


def test_the_remedies_that_are_told_help():
    exact = 1e-11 * np.cos(200.0)
    for options, model in (({}, tiny(nominal=1e-11)), ({"atol": {"x": 1e-20, "v": 1e-20}}, tiny())):
        tr = dd.simulate(model, 10.0, **options)
        assert tr["x"][-1] == pytest.approx(exact, rel=1e-2)
        assert not any(isinstance(record, BelowTolerance) for record in tr.records)


def test_states_at_rest_and_those_that_rounding_moves_are_not_told():
    m = tiny(size=1.0)
    z = m.state("z", start=0.0)
    m.equation(m.der(z), 1e-16 * m["x"])
    rest = m.state("rest", start=1e-12)
    m.equation(m.der(rest), 0.0 * rest + 0.0 * m["x"])
    tr = dd.simulate(m, 1.0)
    assert not any(isinstance(record, BelowTolerance) and "z" in record.variables for record in tr.records)
