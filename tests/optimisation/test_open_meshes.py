"""Problems without `intervals`: the mesh is refined where it does not resolve the plan, and the plan says so."""

import numpy as np
import pytest
from tests.support.optima import ode

import daedalus as dd


def layers(duration: float, intervals: int | None = None) -> dd.OptimalControl:
    """x' = -x³ + u from 1.5 to 1: layers of about a second at both ends (A. V. Rao, K. D. Mease, Automatica 35, 1999).

    With H = 0 along the rest, u = x³ ∓ x √(x⁴ + 1): each layer costs an integral over x that does not know of time.
    """
    m, (x,), (u,) = ode("x", "u", lambda x, u: [-(x**3) + u], [1.5])
    ocp = dd.OptimalControl(m, duration) if intervals is None else dd.OptimalControl(m, duration, intervals)
    ocp.start()
    ocp.finish({"x": 1.0})
    ocp.minimise(running=0.5 * (x**2 + u**2))
    return ocp


def layers_cost() -> float:
    """∫ p dx with the costate p of x'² = (x³)² + x², into rest at x = 0 and out of it."""
    at, weights = np.polynomial.legendre.leggauss(40)

    def along(end: float, sign: float) -> float:
        x = 0.5 * end * (at + 1)
        return float(0.5 * end * weights @ (np.sqrt(x**6 + x**2) + sign * x**3))

    return along(1.5, -1.0) + along(1.0, 1.0)


@pytest.mark.parametrize("duration", [40.0, 1000.0, pytest.param(10_000.0, marks=pytest.mark.wide)])
def test_layers_of_a_long_motion_are_resolved(duration):
    plan = layers(duration).solve()
    assert plan.success, plan
    assert plan.objective == pytest.approx(layers_cost(), rel=5e-3)
    assert plan.mesh_error.max() <= 1e-3
    assert any("the mesh was refined from 50 to" in note for note in plan.notes)


def test_given_intervals_are_kept_and_their_price_is_told():
    plan = layers(40.0, 60).solve()
    assert len(plan.time) == 61
    told = [note for note in plan.notes if "inputs that are constant on each interval cost about" in note]
    assert len(told) == 1
    # The order of magnitude of what a finer mesh saves.
    share, saved = float(told[0].split("cost about")[1].split("%")[0]) / 100, 1 - layers_cost() / plan.objective
    assert 0.2 * saved < share < 2 * saved


def test_a_mesh_that_resolves_its_plan_stays():
    m, _, (u,) = ode("x v", "u", lambda x, v, u: [v, u], [0.0, 0.0])
    ocp = dd.OptimalControl(m, 1.0)
    ocp.start()
    ocp.finish({"x": 1.0, "v": 0.0})
    ocp.minimise(running=u**2)
    plan = ocp.solve()
    assert len(plan.time) == 51
    assert not any("mesh" in note for note in plan.notes)
