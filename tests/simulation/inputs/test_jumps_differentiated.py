"""Kinks of time in constraints: smooth enough for the differentiations they go through, or not."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.simulation.inputs.jumps_differentiated import jumps_differentiated


def driven(path, orders=2):
    """A point held on a path x(t) by a force: index `orders` + 1, the path is differentiated `orders` times."""
    m = dd.Model("driven point")
    x, force = m.state("x", start=0.0), m.algebraic("force")
    begin, one = m.parameter("begin", 1.0), m.parameter("one", 1.0)
    if orders == 1:
        m.equation(m.der(x), force)
    else:
        v = m.state("v", start=0.0)
        m.equation(m.der(x), v)
        m.equation(m.der(v), force)
    m.equation(x, path(m.time, begin, one), name="path")
    return m


@pytest.mark.parametrize("power", [0, 1, 2, 3])
@pytest.mark.parametrize("orders", [1, 2])
def test_a_kink_of_order_k_bears_k_differentiations(power, orders):
    m = driven(lambda t, begin, _: ca.if_else(t > begin, (t - begin) ** power, 0), orders)
    found = jumps_differentiated(m.freeze(), (0.0, 3.0))
    assert (found is None) == (power >= orders)
    if found:
        times = {1: "once", 2: "twice"}[orders]
        assert found == f"path is differentiated {times}, and begin < t changes there"


def test_a_change_beyond_the_span_does_no_harm():
    m = driven(lambda t, begin, _: ca.if_else(t > begin, t, 0))
    assert jumps_differentiated(m.freeze(), (0.0, 0.5)) is None
    assert jumps_differentiated(m.freeze(), (0.0, 2.0)) is not None


def test_what_is_smooth_for_some_values_of_the_parameters_only_is_refused():
    """(t - begin)² meets zero smoothly at t = 1 only while begin = 1."""
    m = driven(lambda t, begin, _: ca.if_else(t > 1, (t - begin) ** 2, 0))
    assert jumps_differentiated(m.freeze(), (0.0, 3.0)) is not None


def test_factors_of_the_state_count_too():
    m = dd.Model("factor")
    x, force = m.state("x", start=0.0), m.algebraic("force")
    m.equation(m.der(x), force)
    m.equation(x * (1 + ca.fmax(m.time - 1, 0)), ca.sin(m.time), name="path")
    assert jumps_differentiated(m.freeze(), (0.0, 3.0)) is None


def test_a_sawtooth_jumps_at_every_tooth():
    assert jumps_differentiated(driven(lambda t, *_: ca.fmod(t, 0.5), 1).freeze(), (0.0, 3.0)) is not None


def test_a_smooth_kink_runs_by_the_reduction_and_gives_the_force():
    """x = max(t - 1, 0)³ has x'' = 6 (t - 1) from t = 1 on; explicit methods need the reduction."""
    tr = dd.simulate(driven(lambda t, begin, _: ca.fmax(t - begin, 0) ** 3), 2.0, method="tsit5", rtol=1e-9)
    t = tr.time
    assert np.abs(tr["force"] - 6 * np.maximum(t - 1, 0)).max() < 1e-7
    with pytest.raises(dd.SolverError) as error:
        dd.simulate(driven(lambda t, begin, _: ca.fmax(t - begin, 0)), 2.0, method="tsit5")
    assert "path is differentiated twice, and" in str(error.value)
