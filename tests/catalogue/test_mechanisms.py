"""The mechanisms of the catalogue: consistent starts, references by other coordinates, published values, energies."""

import casadi as ca
import numpy as np
import pytest
from minimal_forms import FORMS

import daedalus as dd
from daedalus import catalogue
from daedalus.analysis.points.motion_samples import MovingModel

MECHANISMS = ["pendulum_3d", "delta_robot", "slider_crank", "four_bar", "rod_chain", "andrews", "car_axis"]


def flat_inputs(known):
    return np.concatenate([np.zeros(0), *(np.atleast_1d(value) for value in known.inputs.values())])


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_start_obeys_the_constraints(name):
    known = catalogue.load(name)
    moving = MovingModel(known.model)
    assert known.index == 3
    assert moving.violation(known.span[0], moving.start(), flat_inputs(known)) < 1e-14
    assert known.model.mechanics().accelerations(inputs=known.inputs).redundant == ()


@pytest.mark.parametrize("name", FORMS)
def test_fewer_coordinates_give_the_same_accelerations(name):
    known = catalogue.load(name)
    minimal, carried = FORMS[name]()
    found = dd.same(minimal, known.model, map={**carried, **known.inputs}, spread=0.05)
    assert found.difference < 1e-11, str(found)


@pytest.mark.parametrize("name", FORMS)
def test_fewer_coordinates_reach_the_reference(name):
    known = catalogue.load(name)
    minimal, carried = FORMS[name]()
    for key in known.reference:
        minimal.output(f"end.{key}", carried[key])
    tr = dd.simulate(minimal, known.span, method="dop853", rtol=1e-11, atol=1e-12)
    for key in known.reference:
        assert known.reference.error(key, tr[f"end.{key}"][-1]) < 1e-8


@pytest.mark.wide
@pytest.mark.parametrize(("name", "rtol", "allowed"), [("andrews", 1e-8, 1e-6), ("car_axis", 1e-6, 1e-4)])
def test_differentiated_constraints_reach_the_published_values(name, rtol, allowed):
    known = catalogue.load(name)
    moving, u = MovingModel(known.model), flat_inputs(known)

    def rhs(t, x):
        return moving.derivative(t, x, u)

    end = dd.solve_ivp(rhs, known.span, moving.start(), method="DOP853", rtol=rtol, atol=1e-3 * rtol).y[:, -1]
    for key in known.reference:
        assert known.reference.error(key, end[moving.system.place(key).positions]) < allowed


def test_andrews_starts_with_the_published_accelerations_and_multipliers():
    """Test Set for Initial Value Problem Solvers: M q'' = f − Gᵀλ there, so that multipliers have the other sign."""
    known = catalogue.load("andrews")
    found = known.model.mechanics().accelerations(inputs=known.inputs)
    wanted = [14222.4439199541138705911625887, -10666.8329399655854029433719415, 0, 0, 0, 0, 0]
    assert found["angle_ddot"] == pytest.approx(wanted, rel=1e-12, abs=1e-8)
    assert found["loop3"] == pytest.approx(
        [-98.5668703962410896057654982170, 6.12268834425566265503114393122], rel=1e-11
    )
    assert np.abs([found["loop5"], found["loop7"]]).max() < 1e-10


@pytest.mark.parametrize("name", [name for name in MECHANISMS if catalogue.load(name).conserved])
def test_what_is_conserved_has_no_rate(name):
    known = catalogue.load(name)
    moving, u = MovingModel(known.model), flat_inputs(known)
    system = moving.system
    x, inputs, p = (system.symbol(letter) for letter in "xup")
    random = np.random.default_rng(4)
    for key in known.conserved:
        slope = ca.Function("slope", [x, inputs, p], [ca.jacobian(system.outputs[key], x)])
        state = moving.sample(random, 0.02, 0.0, u)
        rate = moving.derivative(0.0, state, u)
        gradient = slope(state, u, moving.parameters).full().ravel()
        assert abs(gradient @ rate) <= 1e-11 * (np.abs(gradient) @ np.abs(rate))


def test_the_delta_robot_has_the_potential_of_its_arms():
    """The slides print + ½ M g l sin α beside tips at −l sin α; here the centre of an arm is half way to its tip."""
    known = catalogue.load("delta_robot")
    system, p = known.model.freeze(), known.parameters
    energy = ca.Function("energy", [system.symbol(letter) for letter in "xup"], [system.outputs["energy"]])
    x, angle = np.nan_to_num(system.start["x"]), system.place("angle").positions
    lower = x.copy()
    lower[angle] += 0.1
    change = float(energy(lower, np.zeros(3), system.start["p"]) - energy(x, np.zeros(3), system.start["p"]))
    heights = -0.5 * p["short_arm"] * (np.sin(lower[angle]) - np.sin(x[angle]))
    assert change == pytest.approx(p["arm_mass"] * p["gravity"] * heights.sum(), rel=1e-12)
    assert change < 0


def test_the_gyroscope_is_a_body_on_a_ball_joint():
    known = catalogue.load("gyroscope")
    p = known.parameters
    m = dd.Model("body on a joint")
    m.gravity([0, 0, -p["gravity"]])
    about_centre = p["inertia"] - p["mass"] * p["arm"] ** 2 * np.array([1, 1, 0])
    top = m.body("top", p["mass"], about_centre)
    m.joint("tip", "spherical", dd.ground, top, at_b=[0, 0, -p["arm"]])
    found = dd.same(m, known.model, map={"quaternion": m["top.quaternion"], "angular_velocity": "top.angular_velocity"})
    assert found.difference < 1e-11, str(found)


def test_the_fast_gyroscope_precesses_at_about_the_simple_rate():
    """Averaged over its nodding a fast top goes round at about m g l / (C s)."""
    known = catalogue.load("gyroscope")
    p = known.parameters
    tr = dd.simulate(known.model, known.span, rtol=1e-9)
    azimuth = np.unwrap(np.arctan2(tr["axle"][:, 1], tr["axle"][:, 0]))
    simple = p["mass"] * p["gravity"] * p["arm"] / (p["inertia"][2] * 150.0)
    assert (azimuth[-1] - azimuth[0]) / 1.0 == pytest.approx(simple, rel=0.1)


def test_a_chain_has_as_many_rods_as_wanted():
    assert len(catalogue.load("rod_chain", rods=3).model.bodies) == 3
    assert catalogue.load("rod_chain", rods=3).reference is None
    for rods in (0, 2.5, "ten"):
        with pytest.raises(dd.InputError) as caught:
            catalogue.load("rod_chain", rods=rods)
        assert str(caught.value) == f"The option rods is not a number of rods.\n  got {rods!r}\n  Try: rods=10"
