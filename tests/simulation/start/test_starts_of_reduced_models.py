"""A start of a reduced model obeys what was written: states that the reduction made are solved for."""

import numpy as np
import pytest
from promoted_models import shifted_decay, summed_decays

import daedalus as dd

FORMS = ["projection", "baumgarte", None, "dummy_derivatives", "ggl"]


@pytest.mark.parametrize("method", ["auto", "radau5", "bdf"])
@pytest.mark.parametrize("stabilise", FORMS)
def test_states_that_a_reduction_made_are_solved_for(stabilise, method):
    n = dd.reduce(shifted_decay(), stabilise=stabilise)
    for start in (None, dd.initialise(shifted_decay()), dd.initialise(n), {"x": 1.0}):
        tr = dd.simulate(n, 1.0, start=start, method=method)
        assert [tr[name][0] for name in ("x", "r", "s")] == pytest.approx([1.0, -2.0, -2.0], abs=1e-9)
        assert tr["x"][-1] == pytest.approx(np.exp(-2.0), abs=1e-5)
        assert tr["s"][-1] == pytest.approx(-2 * np.exp(-2.0), abs=1e-5)


@pytest.mark.parametrize("stabilise", FORMS[:4])
def test_the_start_that_a_reduced_model_is_initialised_with_is_its_own(stabilise):
    s = dd.initialise(dd.reduce(shifted_decay(), stabilise=stabilise))
    assert (s["r"], s["s"]) == pytest.approx((-2.0, -2.0))
    assert s.origin["x"] == "given"


@pytest.mark.parametrize("stabilise", FORMS[:4])
def test_no_equation_is_lost_where_equations_are_sums(stabilise):
    tr = dd.simulate(dd.reduce(summed_decays(), stabilise=stabilise), 1.0, rtol=1e-8)
    values = [float(tr[name][-1]) for name in ("a", "b", "s", "v", "f")]
    assert values == pytest.approx(np.exp(-1.0) * np.array([1, 2, 1, -1, 1]), abs=1e-6)
