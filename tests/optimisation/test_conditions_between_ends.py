"""Conditions between ends, integrals, durations and free parameters, whose value is zero where they hold."""

import casadi as ca
import pytest
from tests.support.optima import ode

import daedalus as dd


def walk(duration: object = 1.0) -> tuple[dd.OptimalControl, ca.SX]:
    """x' = u from 1, with the least ∫u²."""
    m, (x,), (u,) = ode("x", "u", lambda x, u: [u], [1.0])
    m.parameter("P", 0.3)
    ocp = dd.OptimalControl(m, duration, 10)
    ocp.start()
    ocp.input("u", kind="linear")
    ocp.minimise(running=u**2)
    return ocp, x


def mean_of_zero() -> dd.OptimalControl:
    # u = 3 t − 3.
    ocp, x = walk()
    ocp.subject_to(ocp.integral(x) == 0)
    return ocp


def mean_of_twice_the_end() -> dd.OptimalControl:
    # u = −k (1 + t) with ∫(1 + t) u = −1.
    ocp, x = walk()
    ocp.subject_to(ocp.integral(x) == 2 * ocp.at_end(x))
    return ocp


def end_at_a_parameter() -> dd.OptimalControl:
    # The end P = 1/2 and ∫u² cost a quarter each.
    ocp, x = walk()
    ocp.free("P", 0.1, -5.0, 5.0)
    ocp.subject_to(ocp.at_end(x) == ocp.model["P"])
    ocp.minimise(final=ocp.model["P"] ** 2)
    return ocp


def end_opposite_to_the_start() -> dd.OptimalControl:
    ocp, x = walk()
    ocp.subject_to(ocp.at_end(x) + ocp.at_start(x) == 0)
    return ocp


def duration_by_a_parameter() -> dd.OptimalControl:
    # From 1 to 0 in T at a cost of T + 1 / T.
    ocp, _ = walk(dd.unknown(3.0, 0.1, 9.0))
    ocp.free("P", 0.1, 0.0, 5.0)
    ocp.finish(x=0.0)
    ocp.subject_to(ocp.duration - 2 * ocp.model["P"] == 0, at="end")
    ocp.minimise(final=2 * ocp.model["P"])
    return ocp


KNOWN = {
    mean_of_zero: 3.0, mean_of_twice_the_end: 3 / 7, end_at_a_parameter: 0.5, end_opposite_to_the_start: 4.0,
    duration_by_a_parameter: 2.0,
}  # fmt: skip


@pytest.mark.parametrize("problem", KNOWN, ids=lambda problem: problem.__name__)
@pytest.mark.parametrize("method", ["collocation", "shooting"])
def test_rounding_breaks_no_condition_whose_value_is_zero(problem, method):
    plan = problem().solve(method=method)
    assert plan.success, plan
    assert plan.objective == pytest.approx(KNOWN[problem], rel=1e-5)
