"""Implicit methods run redundant constraints as explicit ones do: one motion, and the smallest multipliers."""

from functools import cache

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.redundant_models import chain, planar_linkage_in_space, platform, rolling_chain
from tests.support.rings import examples

import daedalus as dd
from daedalus.reduction.findings import SmallestMultipliers
from daedalus.reduction.reduction_record import Reduction
from daedalus.simulation.result.records_on_the_way import DeadCentresPassed

ADAPTIVE = ("radau3", "radau5", "radau9", "bdf", "sdirk4")
# A rod once more, in forms that have its slope only where it holds, and where it is zero everywhere.
AGAIN = (
    lambda c, q: 3 * c,
    lambda c, q: c * ca.exp(q[0]),
    lambda c, q: c * (2 + ca.sin(q[1])) + c**2,
    lambda c, q: ca.log(1 + c),
)


@cache
def held_twice(again):
    """A bob on a rod in space that is written twice, in one of several forms."""
    m = dd.Model("held twice")
    q = m.coordinate("q", 3, start=[1.0, 0.0, 0.0], rate=[0.0, 0.7, 0.4])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[2])
    rod = ca.sumsqr(q) - 1
    m.constraint("rod", rod)
    m.constraint("again", AGAIN[again](rod, q))
    return m


@given(st.integers(0, 3), st.floats(-3.0, 3.0), st.floats(-2.0, 2.0), st.sampled_from(ADAPTIVE))
@settings(max_examples=examples(24, 3), deadline=None)
def test_a_rod_written_twice_in_any_form(again, angle, speed, method):
    m, c, s = held_twice(again), np.cos(angle), np.sin(angle)
    begin = {"q": [c, s, 0.0], "q_dot": [-speed * s, speed * c, 0.4]}
    exact = dd.simulate(m, 1.0, start=begin, rtol=1e-10, atol=1e-12)
    rtol = 1e-4 if method == "radau3" else 1e-7
    tr = dd.simulate(m, 1.0, start=begin, method=method, rtol=rtol, atol=1e-3 * rtol)
    assert tr.success, tr.stop_reason
    assert tr.end["q"] == pytest.approx(exact.end["q"], abs=100 * rtol)
    assert any(isinstance(found, SmallestMultipliers) for found in tr.system.part(Reduction).findings)
    start = dd.initialise(m, begin)
    for name in ("rod", "again"):
        assert tr[name][0] == pytest.approx(start[name], abs=1e-9)


@pytest.mark.parametrize("method", ["radau5", pytest.param("bdf"), pytest.param("radau9", marks=pytest.mark.wide)])
@pytest.mark.parametrize(
    ("model", "name"),
    [
        pytest.param(lambda: platform(4), "q", id="plank on four legs"),
        pytest.param(lambda: chain(3, lambda q: ca.sqrt(ca.sumsqr(q[:2])) - 1), "q", id="chain"),
        pytest.param(lambda: rolling_chain(2, holonomic=True), "q", id="velocities"),
        pytest.param(planar_linkage_in_space, "coupler.position", id="four-bar in space", marks=pytest.mark.wide),
    ],
)
def test_mechanisms_with_too_many_constraints(model, name, method):
    m = model()
    exact = dd.simulate(m, 0.3, rtol=1e-10, atol=1e-12)
    tr = dd.simulate(m, 0.3, method=method, rtol=1e-7, atol=1e-10)
    assert tr.success, tr.stop_reason
    assert tr.end[name] == pytest.approx(exact.end[name], abs=2e-6)
    assert max(tr.drift().values()) < 1e-10


@pytest.mark.wide
def test_gradients_of_runs_moved_onto_constraints_by_solves():
    m, name = planar_linkage_in_space(), "crank.angular_velocity[1]"
    options = {"method": "radau5", "rtol": 1e-8, "atol": 1e-10}
    found = dd.gradient(m, 0.1, final=m["coupler.position"][0], wrt=[name], **options)[name]
    start = dd.simulate(m, 0.1, method="trapezoidal", step=0.005)
    again = dd.gradient(m, 0.1, final=m["coupler.position"][0], wrt=[name], method="trapezoidal", step=0.005)[name]
    assert max(start.drift().values()) < 1e-12
    assert found == pytest.approx(again, rel=1e-4)


def door(hinges):
    """A door that leans a little, on hinges in one line."""
    m = dd.Model("door")
    m.gravity([0.3, 0.2, -9.81])
    axis = np.array([0.05, -0.1, 1.0])
    place = np.array([0.45, 0.0, 1.0])
    leaf = m.body("leaf", mass=20.0, inertia=dd.inertia.box(20.0, [0.9, 0.05, 2.0]), position=place.tolist())
    for k, height in enumerate(np.linspace(-0.8, 0.7, hinges)):
        at = np.array([0.0, 0.0, 1.0]) + height * axis
        m.joint(f"hinge{k}", "revolute", dd.ground, leaf, at_a=at, at_b=at - place, axis_a=axis)
    return m


@pytest.mark.parametrize("hinges", [2, pytest.param(3, marks=pytest.mark.wide)])
def test_a_door_on_hinges_in_one_line(hinges):
    m = door(hinges)
    exact = dd.simulate(door(1), 1.0, rtol=1e-9, atol=1e-11)
    for method in ("radau5", "bdf"):
        tr = dd.simulate(m, 1.0, method=method, rtol=1e-7, atol=1e-9)
        assert tr.success, tr.stop_reason
        assert tr.end["leaf.position"] == pytest.approx(exact.end["leaf.position"], abs=1e-5)
    # All hinges together carry what a single one does.
    total = sum(tr[f"hinge{k}"][:, :3] for k in range(hinges))
    alone = exact.at(tr.time)["hinge0"][:, :3]
    assert np.abs(total - alone).max() < 1e-3 * np.abs(alone).max()


@pytest.mark.parametrize(("method", "allowed"), [("gauss2", 1e-7), ("radau5", 1e-8), ("trapezoidal", 1e-3)])
def test_fixed_steps(method, allowed):
    m = held_twice(1)
    exact = dd.simulate(m, 1.0, rtol=1e-10, atol=1e-12)
    tr = dd.simulate(m, 1.0, method=method, step=0.01)
    assert tr.end["q"] == pytest.approx(exact.end["q"], abs=allowed)


def test_dead_centres_are_led_over_by_implicit_methods_too():
    """A plank that falls through the line of its feet, where its legs lie in one line."""
    m = platform(3, angle=0.2)
    exact = dd.simulate(m, 0.3, rtol=1e-10, atol=1e-12)
    for method in ("radau5", "bdf"):
        tr = dd.simulate(m, 0.3, method=method, rtol=1e-7, atol=1e-9)
        assert tr.success, tr.stop_reason
        assert any(isinstance(record, DeadCentresPassed) for record in tr.records)
        assert tr.end["q"] == pytest.approx(exact.end["q"], abs=1e-5)
        assert tr.end["q"][1] < 0


def with_current(m):
    """The current of a motor that pushes the plank."""
    i = m.state("i", start=0.0)
    m.generalised_force(m["q"][0], 5 * i)
    m.equation(0.01 * m.der(i), 1 - i - 0.5 * m.rate(m["q"])[0])


def with_nonlinear_force(m):
    """A force that follows from a nonlinear equation."""
    force = m.algebraic("force")
    m.generalised_force(m["q"][0], force)
    m.equation(force + 0.1 * force**3, -m.rate(m["q"])[0])


@pytest.mark.parametrize("add", [with_current, with_nonlinear_force])
def test_other_equations_beside_a_redundant_mechanism(add):
    """Two legs are as many as needed: the same motion as with four."""
    ends = []
    for legs, method in ((2, "auto"), (4, "auto"), (4, "radau5")):
        m = platform(legs)
        add(m)
        tr = dd.simulate(m, 0.2, method=method, rtol=1e-8, atol=1e-10)
        assert tr.success, tr.stop_reason
        ends.append(tr.end["q"])
    assert ends[1:] == [pytest.approx(ends[0], abs=1e-6)] * 2
