"""A start of a reduced model obeys what was written: states that the reduction made are solved for."""

import pickle

import casadi
import numpy as np
import pytest
from promoted_models import driven_copy, shifted_decay, summed_decays

import daedalus as dd
from daedalus.initialisation.written_states import written_states

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


@pytest.mark.parametrize("bent", [True, False])
@pytest.mark.parametrize("given", [False, True])
def test_an_input_that_is_differentiated_leaves_auto_a_road(bent, given):
    """s = asinh(exp(-t) + sin t), or without asinh, from the start of the model or from one that was found."""
    m = driven_copy(bent)
    inputs = {"u": np.sin}
    start = dd.initialise(m, inputs=inputs) if given else None
    tr = dd.simulate(m, 1.0, start=start, inputs=inputs, rtol=1e-8)
    value = np.exp(-1.0) + np.sin(1.0)
    assert tr.success
    assert tr["s"][-1] == pytest.approx(np.arcsinh(value) if bent else value, abs=1e-6)
    sens = dd.sensitivities(m, 1.0, start=start, inputs={"u": casadi.sin(m.time)}, rtol=1e-8)
    assert float(sens.states["s"][-1]) == pytest.approx(float(tr["s"][-1]), abs=1e-6)
    # A start moves along the constraints, x and s together.
    slope = 1 / np.sqrt(1 + value**2) if bent else 1.0
    assert float(sens.d("s", "x")) / float(sens.d("x", "x")) == pytest.approx(slope, abs=1e-5)


def test_a_system_from_elsewhere_knows_which_states_were_written():
    for model in (shifted_decay(), summed_decays(), driven_copy(False)):
        system = dd.reduce(model).freeze()
        other = pickle.loads(pickle.dumps(system))
        assert written_states(other).tolist() == written_states(system).tolist()
