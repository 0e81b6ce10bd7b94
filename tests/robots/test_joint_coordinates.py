"""Joint coordinates and body coordinates give one motion and one set of forces."""

from __future__ import annotations

import pickle

import casadi as ca
import numpy as np
import pytest
from tests.support.random_trees import body_start, random_joint_start, random_tree

import daedalus as dd
from daedalus.simulation.result.records_of_methods import SizesOfParts
from daedalus.simulation.result.records_of_models import StartCompleted
from daedalus.simulation.run.sizes_of_parts import _of_parts


@pytest.mark.parametrize(
    ("seed", "free"),
    [(1, True), *(pytest.param(seed, free, marks=pytest.mark.wide) for seed in range(8) for free in (False, True))],
)
def test_random_trees_move_as_in_body_coordinates(seed: int, free: bool) -> None:
    joint, body = (random_tree(seed, kind, free=free) for kind in ("joint", "body"))
    options = {"rtol": 1e-9, "atol": 1e-10}
    tr = dd.simulate(joint, 0.2, start=random_joint_start(joint, seed), **options)
    other = dd.simulate(body, 0.2, start=body_start(tr, joint), **options)
    assert (tr.success, other.success) == (True, True)
    for name in joint.bodies:
        for what in ("position", "velocity", "angular_velocity"):
            np.testing.assert_allclose(tr[f"{name}.{what}"][-1], other[f"{name}.{what}"][-1], atol=1e-7)
    for name in joint.written.mechanics.tree:
        size = max(1.0, np.abs(other[name][0]).max())
        np.testing.assert_allclose(tr[name][0], other[name][0], atol=1e-7 * size)


def four_bar(coordinates: str) -> dd.Model:
    m = dd.Model("four bar")
    m.gravity([0, -9.81])
    a, b = m.body("a", 1.0, 1 / 12, "planar"), m.body("b", 2.0, 2 / 3, "planar")
    c = m.body("c", 1.5, 0.28, "planar")
    m.joint("j1", "revolute", dd.ground, a, at_b=[-0.5, 0], coordinates=coordinates)
    m.joint("j2", "revolute", a, b, at_a=[0.5, 0], at_b=[-1.0, 0], coordinates=coordinates)
    m.joint("j3", "revolute", b, c, at_a=[1.0, 0], at_b=[0.75, 0], coordinates=coordinates)
    m.joint("j4", "revolute", dd.ground, c, at_a=[2.0, 0], at_b=[-0.75, 0], coordinates=coordinates)
    return m


def test_a_loop_is_cut_and_closed_by_a_constraint() -> None:
    m = four_bar("joint")
    assert m.freeze().labels["x"][:3] == ("j1.angle", "j2.angle", "j3.angle")
    start = dd.initialise(m, {"j1.angle": 1.2, "j1.angle_dot": 0.0})
    options = {"rtol": 1e-9, "atol": 1e-9}
    tr = dd.simulate(m, 0.5, start=start, **options)
    parts = [f"{name}.{what}" for name in "abc" for what in ("position", "velocity", "angle", "angular_velocity")]
    other = dd.simulate(four_bar("body"), 0.5, start={name: tr[name][0] for name in parts}, **options)
    np.testing.assert_allclose(tr["b.position"][-1], other["b.position"][-1], atol=1e-7)
    for name in ("j1", "j4"):
        np.testing.assert_allclose(tr[name][0], other[name][0], atol=1e-6)


def swing(**body: object) -> dd.Model:
    m = dd.Model("swing")
    m.gravity([0, 0, -9.81])
    rod = m.body("rod", 1.0, [0.1, 0.1, 0.1], **body)
    m.joint("hinge", "revolute", dd.ground, rod, at_b=[0, 0, 0.5], axis_a=[0, -1, 0], coordinates="joint")
    return m


def test_starts_of_bodies_are_starts_of_their_joints() -> None:
    declared = swing(position=[0.5 * np.sin(0.4), 0, -0.5 * np.cos(0.4)], velocity=[0, 0, 0])
    assert dd.simulate(declared, 0.1)["hinge.angle"][0] == pytest.approx(0.4, abs=1e-9)
    passed = dd.simulate(swing(), 0.1, start={"rod.position": [0.3, 0.0, -0.4], "hinge.angle_dot": 0.0})
    assert passed["hinge.angle"][0] == pytest.approx(np.arctan2(0.3, 0.4), abs=1e-9)
    with pytest.raises(dd.InputError, match=r"The joints do not allow the given poses of the bodies."):
        dd.simulate(swing(), 0.1, start={"rod.position": [0.6, 0.0, -0.4], "hinge.angle_dot": 0.0})
    with pytest.raises(dd.InputError, match=r"The joints do not allow the given velocities of the bodies."):
        dd.simulate(swing(), 0.1, start={"hinge.angle": 0.0, "rod.velocity": [0.0, 1.0, 0.0]})


def test_parts_copies_and_pickles_keep_their_joints() -> None:
    m = swing(position=[0.5 * np.sin(0.4), 0, -0.5 * np.cos(0.4)], velocity=[0, 0, 0])
    whole = dd.Model("two")
    whole.include("left", m)
    whole.include("right", m)
    wanted = dd.simulate(m, 0.3)["hinge.angle"][-1]
    for model, name in (
        (whole, "right.hinge.angle"),
        (pickle.loads(pickle.dumps(m)), "hinge.angle"),
        (m.copy(), "hinge.angle"),
    ):
        assert dd.simulate(model, 0.3)[name][-1] == pytest.approx(wanted, rel=1e-6)


def test_rotor_inertias_and_energies_that_couple_joints() -> None:
    """A rotor counts on the diagonal; an energy that couples two joints makes the equations implicit."""
    m = swing()
    m.kinetic_energy(0.5 * 0.25 * m.rate(m["hinge.angle"]) ** 2)
    assert m.robot().mass_matrix([0.3])[0, 0] == pytest.approx(0.35 + 0.25)
    tr = dd.simulate(m, 0.1, start={"hinge.angle": 0.5, "hinge.angle_dot": 0.0})
    assert tr["hinge.angle_ddot"][0] == pytest.approx(-9.81 * 0.5 * np.sin(0.5) / 0.6, rel=1e-9)
    two = dd.Model("two links")
    two.gravity([0, 0, -9.81])
    before: object = dd.ground
    for k in range(2):
        body = two.body(f"b{k}", mass=1.0, inertia=[0.1, 0.1, 0.1])
        options = {"at_b": [0, 0, 0.5], "axis_a": [0, 1, 0], "coordinates": "joint"}
        two.joint(f"j{k}", "revolute", before, body, at_a=[0, 0, -0.5 * k], **options)
        before = body
    bare = two.robot().mass_matrix([0.3, 0.4])
    one, other = (two.rate(two[f"j{k}.angle"]) for k in range(2))
    two.kinetic_energy(0.3 * one * other + 0.4 * one**2 + other**2)
    tr = dd.simulate(two, 0.1, start={"j0.angle": 0.3, "j1.angle": 0.4, "j0.angle_dot": 0.0, "j1.angle_dot": 0.0})
    # At rest M a = −gravity, and M gains the energy's own matrix.
    weight = 9.81 * np.array([1.5 * np.sin(0.3) + 0.5 * np.sin(0.7), 0.5 * np.sin(0.7)])
    wanted = np.linalg.solve(bare + np.array([[0.8, 0.3], [0.3, 2.0]]), -weight)
    np.testing.assert_allclose([tr["j0.angle_ddot"][0], tr["j1.angle_ddot"][0]], wanted, rtol=1e-9)


def test_the_ledger_counts_the_energy_of_a_tree() -> None:
    m = swing()
    push = m.input("push")
    m.generalised_force(m["hinge.angle"], push)
    m.dissipation(0.5 * 0.2 * m.rate(m["hinge.angle"]) ** 2)
    start = {"hinge.angle": 0.5, "hinge.angle_dot": 0.0}
    tr = dd.simulate(m, 1.0, start=start, inputs={"push": 0.7}, rtol=1e-8)
    q, v = tr["hinge.angle"], tr["hinge.angle_dot"]
    energy = 0.5 * 0.35 * v**2 - 9.81 * 0.5 * np.cos(q)
    stored = tr.stored_energy()
    np.testing.assert_allclose(np.ravel(stored) - np.ravel(stored)[0], energy - energy[0], atol=1e-6)
    balance = tr.energy_balance()
    assert abs(balance.error) < 1e-6


def test_expressions_of_bodies_are_understood_by_every_question() -> None:
    m = swing()
    push = m.input("push")
    m.generalised_force(m["hinge.angle"], push)
    options = {"start": {"hinge.angle": 0.5, "hinge.angle_dot": 0.0}, "inputs": {"push": 0.7}}
    by_body = dd.gradient(m, 0.5, final=m["rod.position"][0], wrt=["hinge.angle"], **options)
    by_joint = dd.gradient(m, 0.5, final=0.5 * ca.sin(m["hinge.angle"]), wrt=["hinge.angle"], **options)
    assert by_body["hinge.angle"] == pytest.approx(by_joint["hinge.angle"], rel=1e-9)
    assert dd.OptimalControl(m, 1.0).at_end(m["rod.position"][0]).is_scalar()
    assert repr(m) == "Model('swing': 1 state, 1 input, 1 equation)"


@pytest.mark.wide
@pytest.mark.parametrize("kind", ["prismatic", "planar"])
@pytest.mark.parametrize("backwards", [False, True])
def test_reactions_of_sliding_joints_from_either_side(kind: str, backwards: bool) -> None:
    """The moment of a reaction is about the place of the joint on b, wherever b has slid."""

    def pair(coordinates: str) -> dd.Model:
        m = dd.Model("slides")
        m.gravity([0.3, -0.2, -9.81])
        one, two = m.body("one", 1.0, [0.1, 0.2, 0.15]), m.body("two", 2.0, [0.2, 0.1, 0.15])
        m.joint("hinge", "revolute", dd.ground, one, at_b=[0.1, 0.2, 0.3], axis_a=[0, 1, 0], coordinates=coordinates)
        options = {"at_a": [0.3, 0.1, 0.0], "at_b": [-0.2, 0.0, 0.4], "axis_a": [0.6, 0.0, 0.8], "axis_b": [0, 1, 0]}
        m.joint("slide", kind, *((two, one) if backwards else (one, two)), **options, coordinates=coordinates)
        return m

    joint, body = pair("joint"), pair("body")
    tr = dd.simulate(joint, 0.05, start=random_joint_start(joint, 3), rtol=1e-9, atol=1e-10)
    other = dd.simulate(body, 0.05, start=body_start(tr, joint), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(tr["two.position"][-1], other["two.position"][-1], atol=1e-9)
    np.testing.assert_allclose(tr["slide"][0], other["slide"][0], atol=1e-9)


def stopped(**options: object) -> dd.Model:
    m = dd.Model("swing")
    m.gravity([0, 0, -9.81])
    rod = m.body("rod", 1.0, [0.1, 0.1, 0.1])
    m.joint("hinge", "revolute", dd.ground, rod, at_b=[0, 0, 0.5], axis_a=[0, -1, 0], coordinates="joint", **options)
    return m


def test_limits_with_stops_bounce() -> None:
    tr = dd.simulate(stopped(start=0.5, rate=0.0, limits=(-0.2, 1.0), stops=0.5), 0.8, rtol=1e-9, atol=1e-9)
    assert tr["hinge.angle"].min() > -0.2 - 1e-9
    first = tr.events[0]
    # Energy gives the speed of the impact; half of it comes back.
    speed = np.sqrt(2 * 9.81 * 0.5 * (np.cos(0.2) - np.cos(0.5)) / 0.35)
    assert first.name == "hinge.lower_stop.closes"
    assert first.before["hinge.angle_dot"] == pytest.approx(-speed, rel=1e-7)
    assert first.after["hinge.angle_dot"] == pytest.approx(0.5 * speed, rel=1e-7)


def test_arguments_of_joint_coordinates_that_have_no_place_are_refused() -> None:
    with pytest.raises(dd.ModelError, match=r"Joint 'hinge' has stops and no limits."):
        stopped(stops=0.5)
    m = dd.Model("body")
    body = m.body("b", 1.0, [1, 1, 1])
    with pytest.raises(dd.ModelError, match=r"Joint 'hinge' takes no start.\n  it is 'revolute'"):
        m.joint("hinge", "revolute", dd.ground, body, axis_a=[0, 0, 1], start=0.1)
    m = four_bar("joint")
    with pytest.raises(dd.ModelError, match=r"Joint 'j5' closes a loop and takes no start."):
        m.joint("j5", "revolute", dd.ground, m.bodies["c"], coordinates="joint", start=0.0)


@pytest.mark.parametrize("coordinates", ["joint", "body"])
def test_joints_that_hardly_move_are_no_signals_of_unknown_size(coordinates):
    """The run is not made again with tolerances in units of what far joints do in a short time."""
    m = dd.Model("hanging chain")
    m.gravity([0, -9.81])
    before = dd.ground
    for k in range(8):
        body = m.body(f"b{k}", 1.0, 0.01, "planar")
        at = [0, 0] if k == 0 else [0, -0.1]
        m.joint(f"j{k}", "revolute", before, body, at_a=at, at_b=[0, 0.1], coordinates=coordinates)
        before = body
    start = {"j0.angle": 1e-4} if coordinates == "joint" else {"b0.angle": 1e-4}
    tr = dd.simulate(m, 0.01, start=start)
    assert SizesOfParts not in map(type, tr.records)


def test_bodies_that_start_unturned_need_no_search_and_are_run_once():
    """Their guesses are a start already, and what bodies and joints do is no signal of unknown size, also reduced."""
    m, before = dd.Model("chain"), dd.ground
    m.gravity([0, 0, -9.81])
    for k in range(3):
        body = m.body(f"b{k}", 1.0, [0.02, 0.03, 0.01], position=[0.1 + 0.2 * k, 0, 0])
        at = [0.1, 0, 0] if k else [0, 0, 0]
        turns = {"axis_a": [0, 1, 0], "axis_b": [0, 1, 0]}
        m.joint(f"j{k}", "revolute", before, body, at_a=at, at_b=[-0.1, 0, 0], **turns)
        before = body
    tr = dd.simulate(m, 0.1)
    assert not {StartCompleted, SizesOfParts} & set(map(type, tr.records))
    assert not _of_parts(tr.system)
    assert tr["b2.quaternion"][0].tolist() == [1.0, 0.0, 0.0, 0.0]
    np.testing.assert_allclose(tr.system.default_start, m.freeze().default_start)


def test_a_start_for_a_joint_itself_names_its_coordinate():
    m = dd.Model("pendulum")
    m.gravity([0, -9.81])
    body = m.body("b", 1.0, 0.01, "planar")
    m.joint("pin", "revolute", dd.ground, body, at_b=[0, 0.1], coordinates="joint")
    with pytest.raises(dd.InputError, match=r"pin follows from other variables") as caught:
        dd.simulate(m, 0.01, start={"pin": 0.5})
    assert "states and unknowns of 'pendulum' are pin.angle, pin.angle_dot" in str(caught.value)


@pytest.mark.parametrize("coordinates", ["body", "joint"])
def test_a_planar_joint_turns_about_its_one_normal(coordinates: str) -> None:
    m = dd.Model("puck")
    puck = m.body("puck", mass=2.0, inertia=[0.2, 0.2, 0.3])
    m.joint("table", "planar", dd.ground, puck, axis_a=[0, 0, 1], coordinates=coordinates)
    puck.apply_force([4.0, 0.0, 7.0])
    puck.apply_torque([5.0, 0.0, 0.6])
    still = {f"puck.{what}": np.zeros(3) for what in ("position", "velocity", "angular_velocity")}
    tr = dd.simulate(m, 1.0, start={**still, "puck.quaternion": [1.0, 0.0, 0.0, 0.0]})
    np.testing.assert_allclose(tr["puck.angular_velocity"][-1], [0.0, 0.0, 2.0], atol=1e-6)
    assert tr["puck.position"][-1, 2] == pytest.approx(0.0, abs=1e-9)
