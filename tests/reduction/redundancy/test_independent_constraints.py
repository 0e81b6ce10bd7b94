"""Redundant constraints: the motion is that without them, and the smallest multipliers share the forces."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.model.system.equation_row import EquationRow, Source
from daedalus.reduction.reduction_record import Reduction

SHARP = {"rtol": 1e-9, "atol": 1e-11}


def pendulum(*rods):
    """A pendulum whose rod is written once or more, in different forms."""
    m = dd.Model("pendulum")
    p = m.coordinate("p", 2, start=[1.0, 0.0], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(p)))
    m.potential_energy(9.81 * p[1])
    forms = {"length": ca.norm_2(p) - 1, "square": ca.sumsqr(p) - 1, "tripled": 3 * (ca.norm_2(p) - 1)}
    force = 0
    for name in rods:
        force += m.constraint(name, forms[name]) * ca.jacobian(forms[name], p).T
    m.output("force", force)
    return m


def table(*legs):
    """A table top on parallel legs of length 1: two of them already keep it level, and only while it is level."""
    m = dd.Model("table")
    q = m.coordinate("q", 2, start=[np.cos(1.0), np.sin(1.0)], rate=[0.0, 0.0])
    a = m.coordinate("a", start=0.0, rate=0.0)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)) + 0.1 * m.rate(a) ** 2)
    m.potential_energy(9.81 * q[1])
    for k in legs:
        m.constraint(f"leg{k}", ((q[0] + k * ca.cos(a) - k) ** 2 + (q[1] + k * ca.sin(a)) ** 2 - 1) / 2)
    return m


def door(*heights):
    """A door on hinges one above the other."""
    m = dd.Model("door")
    m.gravity([0, 0, -9.81])
    leaf = m.body(
        "leaf", mass=2.0, inertia=dd.inertia.box(2.0, [0.8, 0.05, 2.0]), orientation="quaternion",
        position=[0.4, 0, 0], velocity=[0, 0.4, 0], rotation=np.eye(3), angular_velocity=[0, 0, 1.0],
    )  # fmt: skip
    for k, h in enumerate(heights):
        m.joint(
            f"hinge{k}", "revolute", dd.ground, leaf, at_a=[0, 0, h], at_b=[-0.4, 0, h], axis_a=[0, 0, 1.0],
            axis_b=[0, 0, 1.0],
        )  # fmt: skip
    return m


def test_a_constraint_written_twice_changes_nothing_but_the_multipliers():
    once, twice = (dd.simulate(pendulum(*rods), 3.0, **SHARP) for rods in (["length"], ["length", "square"]))
    assert twice["p"][-1] == pytest.approx(once["p"][-1], abs=1e-10)
    assert twice["force"][-1] == pytest.approx(once["force"][-1], abs=1e-8)
    # Both rows point along the rod; with lengths 1 and 2 each carries half of the force.
    assert twice["length"][-1] == pytest.approx(once["length"][-1] / 2, abs=1e-8)
    assert twice["square"][-1] == pytest.approx(once["length"][-1] / 4, abs=1e-8)
    assert max(twice.drift().values()) < 1e-14
    assert {"length", "square"} <= set(twice.drift())


def test_the_smallest_multipliers_on_rows_of_length_one():
    """Against the pseudo-inverse: λ̂ = (Ĝᵀ)⁺ f."""
    tr = dd.simulate(pendulum("length", "square", "tripled"), 1.0, **SHARP)
    p = tr["p"][-1]
    rows = np.array([p / np.linalg.norm(p), 2 * p, 3 * p / np.linalg.norm(p)])
    lengths = np.linalg.norm(rows, axis=1)
    smallest = np.linalg.pinv((rows / lengths[:, None]).T) @ tr["force"][-1]
    shown = [tr[name][-1] for name in ("length", "square", "tripled")]
    assert shown * lengths == pytest.approx(smallest, abs=1e-9)


def test_what_was_done_is_on_record():
    n = dd.reduce(pendulum("length", "tripled"))
    assert n.reduction.notes[:2] == (
        "redundant constraints: tripled follows from the others (1 of 2 are independent)",
        "the multipliers length, tripled are not unique: the smallest that give the same forces are shown, each "
        "counted in the length of its row",
    )
    tr = dd.simulate(pendulum("length", "tripled"), 0.1)
    assert set(map(str, tr.system.part(Reduction).told)) <= set(tr.notes)
    assert tr.system.part(Reduction).findings[0].dependent == (EquationRow("tripled", Source("tripled")),)
    assert tr.stop_reason == "reached t = 0.1"


def test_constraints_that_are_redundant_only_where_they_hold():
    """Three legs: off the constraints their rows are independent, on them they are not."""
    three, two = dd.simulate(table(0, 1, 2), 0.3, **SHARP), dd.simulate(table(0, 2), 0.3, **SHARP)
    assert three["q"][-1] == pytest.approx(two["q"][-1], abs=1e-10)
    # A pendulum of length 1 in the angle of the legs.
    m = dd.Model("angle")
    b = m.state("b", start=1.0, rate=0.0)
    m.equation(m.der(m.der(b)), -9.81 * ca.cos(b))
    end = dd.simulate(m, 0.3, rtol=1e-11)["b"][-1]
    assert three["q"][-1] == pytest.approx([np.cos(end), np.sin(end)], abs=1e-8)
    rows = np.array([[*three["q"][-1], k * three["q"][-1, 1]] for k in range(3)])
    lengths = np.linalg.norm(rows, axis=1)
    force = sum(two[f"leg{k}"][-1] * rows[k] for k in (0, 2))
    smallest = np.linalg.pinv((rows / lengths[:, None]).T) @ force
    assert [three[f"leg{k}"][-1] for k in range(3)] * lengths == pytest.approx(smallest, abs=1e-7)


def test_a_door_on_two_hinges():
    one, two = dd.simulate(door(0.0), 1.0, **SHARP), dd.simulate(door(-0.5, 0.5), 1.0, **SHARP)
    assert two["leaf.position"][-1] == pytest.approx(one["leaf.position"][-1], abs=1e-9)
    # Each hinge carries half of the weight; sideways they carry together what the one does.
    assert [two[f"hinge{k}"][-1, 2] for k in (0, 1)] == pytest.approx([9.81, 9.81], abs=1e-8)
    assert sum(two[f"hinge{k}"][-1, :2] for k in (0, 1)) == pytest.approx(one["hinge0"][-1, :2], abs=1e-8)


def test_independent_constraints_are_left_alone():
    n = dd.reduce(table(0, 2))
    assert n.reduction.findings == ()
    assert not n.written.events


def test_a_door_on_nine_hinges():
    """45 rows of which 5 are independent."""
    one, nine = dd.simulate(door(0.0), 0.5, **SHARP), dd.simulate(door(*np.linspace(-0.8, 0.8, 9)), 0.5, **SHARP)
    assert nine["leaf.position"][-1] == pytest.approx(one["leaf.position"][-1], abs=1e-9)
    assert [nine[f"hinge{k}"][-1, 2] for k in range(9)] == pytest.approx([2.18] * 9, abs=1e-8)


def test_equations_that_repeat_each_other_outside_of_mechanics_are_refused():
    m = dd.Model("line")
    x, force = m.state("x", 2, start=[7.0, -3.0]), m.algebraic("force", 2)
    m.equation(m.der(x), force, name="motion")
    m.equation(3 * x[0] + 7 * x[1], name="line")
    m.equation(6 * x[0] + 14 * x[1], name="again")
    with pytest.raises(dd.SingularModelError) as caught:
        dd.simulate(m, 1.0)
    assert "line, again: a combination of them says 0 = 0" in str(caught.value).replace("again, line", "line, again")
    assert "the motion is not determined: x[0], x[1], force[0], force[1] are left open" in str(caught.value)
