"""Problems of the catalogue reach their published or independently computed optima, with all end states fixed."""

import pytest

from daedalus import catalogue

# The largest relative distance from the optimum at 60 intervals, and the most iterations.
KNOWN = {
    "cart_pendulum": (1e-6, 120),
    "pendulum_3d": (1e-6, 25),
    "delta_robot": (1e-6, 30),
    "quadrotor": (1e-5, 30),
    "double_integrator": (1e-6, 30),
    "brachistochrone": (1e-6, 60),
    "van_der_pol": (1e-6, 20),
    "bryson_denham": (1e-4, 30),
    "hanging_chain": (1e-5, 120),
    "goddard_rocket": (1e-5, 200),
}


@pytest.mark.parametrize("name", KNOWN)
def test_the_optimum_is_reached(name):
    known = catalogue.load(name)
    error, most = KNOWN[name]
    plan = known.problem.solve()
    assert plan.success, plan
    assert plan.objective == pytest.approx(known.optimum, rel=error)
    assert plan.iterations <= most


def test_systems_without_a_problem_say_so():
    assert catalogue.load("hires").problem is None
    assert catalogue.load("hires").optimum is None


@pytest.mark.parametrize(
    ("name", "given", "independent"), [("pendulum_3d", 6, 4), ("delta_robot", 12, 6), ("quadrotor", 13, 12)]
)
def test_redundant_end_values_are_told(name, given, independent):
    plan = catalogue.load(name).problem.solve()
    assert f"of {given} end values {independent} are independent" in " ".join(plan.notes)
