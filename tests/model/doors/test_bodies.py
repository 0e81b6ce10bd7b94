"""Door 3: rigid bodies against Newton–Euler, their variables, forces, gravity, and every refusal."""

import pickle
import warnings

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daedalus as dd

BOX = dd.inertia.box(12.0, 1.0, 2.0, 3.0)
TENSOR = dd.inertia.tensor(2.0, 3.0, 4.0, xy=0.3, yz=-0.2)
triples = st.lists(st.floats(-2, 2), min_size=3, max_size=3)


def refused(call, error=dd.DaedalusError):
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def motion(m, **values):
    return m.mechanics().accelerations(**values)


# -- variables and start values --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("orientation", "wanted"),
    [
        ("quaternion", {"position": (3,), "velocity": (3,), "quaternion": (4,), "angular_velocity": (3,)}),
        ("rpy", {"position": (3,), "velocity": (3,), "rpy": (3,), "angular_velocity": (3,)}),
        ("planar", {"position": (2,), "velocity": (2,), "angle": (), "angular_velocity": ()}),
        (None, {"position": (3,), "velocity": (3,)}),
    ],
)
def test_a_body_has_the_variables_of_its_orientation(orientation, wanted):
    m = dd.Model("m")
    inertia = {"planar": 0.5, None: None}.get(orientation, BOX)
    b = m.body("nacelle", 12.0, inertia, orientation)
    assert {n: v.shape for n, v in m.variables.items()} == {f"nacelle.{n}": s for n, s in wanted.items()}
    assert m.freeze().sizes["x"] == sum(int(np.prod(s)) for s in wanted.values())
    assert repr(b) == f"Body('nacelle', orientation={orientation!r})"


def test_a_point_mass_with_two_coordinates_is_in_the_plane():
    m = dd.Model("m")
    m.body("bob", 1.0, orientation=None, position=[1.0, 2.0])
    assert m.variables["bob.position"].shape == (2,)
    assert m.freeze().start["x"].tolist()[:2] == [1.0, 2.0]


R = dd.rotation_from_rpy([0.3, -0.4, 1.2])


@pytest.mark.parametrize("given", [R, dd.quaternion_from_rotation(R), -3 * dd.quaternion_from_rotation(R)])
@pytest.mark.parametrize("orientation", ["quaternion", "rpy"])
def test_rotations_are_given_in_any_way(given, orientation):
    m = dd.Model("m")
    b = m.body("b", 1.0, BOX, orientation, rotation=given)
    system = m.freeze()
    start = ca.Function("R", [system.symbol("x")], [b.rotation])(np.nan_to_num(system.start["x"]))
    assert start.full() == pytest.approx(R, abs=1e-14)


def test_rpy_are_the_rotation_of_a_body_with_rpy():
    m = dd.Model("m")
    m.body("b", 1.0, BOX, "rpy", rotation=[0.3, -0.4, 1.2])
    assert m.variables["b.rpy"].start == (0.3, -0.4, 1.2)


def test_unwritten_starts_are_free_and_guessed_without_rotation():
    m = dd.Model("m")
    m.body("b", 1.0, BOX)
    assert m.variables["b.position"].start == (None,) * 3
    assert m.variables["b.quaternion"].start == (None,) * 4
    assert m.variables["b.quaternion"].guess == (1.0, 0.0, 0.0, 0.0)
    assert np.all(np.isfinite(motion(m).rates))


# -- Newton and Euler ------------------------------------------------------------------------------------------


@given(triples, triples, triples, st.sampled_from(["quaternion", "rpy"]))
def test_a_free_body_accelerates_as_newton_euler_says(force, torque, spin, orientation):
    m = dd.Model("m")
    b = m.body("b", 2.5, TENSOR, orientation, rotation=R, angular_velocity=spin)
    b.apply_force(force, frame="body")
    b.apply_torque(torque)
    found, wanted = motion(m), dd.newton_euler(2.5, TENSOR, force, torque, spin)
    assert found["b.velocity_dot"] == pytest.approx(R @ wanted.linear, abs=1e-12)
    assert found["b.angular_velocity_dot"] == pytest.approx(wanted.angular, abs=1e-12)


@given(triples, triples, st.sampled_from(["world", "body"]), st.sampled_from(["quaternion", "rpy"]))
def test_a_force_at_a_point_is_its_virtual_work(force, at, frame, orientation):
    """b.apply_force against m.force at the point, which knows positions only."""
    one, two = dd.Model("one"), dd.Model("two")
    bodies = [m.body("b", 2.5, TENSOR, orientation, rotation=R, angular_velocity=[1.0, 2.0, 3.0]) for m in (one, two)]
    bodies[0].apply_force(force, at=at, frame=frame)
    two.force(bodies[1].rotation @ force if frame == "body" else force, at=bodies[1].point(at))
    assert motion(one).rates == pytest.approx(motion(two).rates, abs=1e-11)


def test_torques_in_either_frame():
    accelerations = []
    for torque, frame in ((R @ [1.0, 2.0, 3.0], "world"), ([1.0, 2.0, 3.0], "body")):
        m = dd.Model("m")
        m.body("b", 1.0, TENSOR, rotation=R).apply_torque(torque, frame=frame)
        accelerations.append(motion(m)["b.angular_velocity_dot"])
    assert accelerations[0] == pytest.approx(accelerations[1], rel=1e-13)


def test_a_planar_body_is_a_body_in_space_that_stays_in_the_plane():
    flat, space = dd.Model("flat"), dd.Model("space")
    flat.gravity([0.3, -9.81])
    space.gravity([0.3, -9.81, 0.0])
    b = flat.body("b", 2.0, 0.7, "planar", rotation=0.6, angular_velocity=1.5)
    c = space.body("b", 2.0, dd.inertia.tensor(0.5, 0.5, 0.7), rotation=dd.rot_z(0.6), angular_velocity=[0, 0, 1.5])
    b.apply_force([1.0, 2.0], at=[0.3, -0.1])
    c.apply_force([1.0, 2.0, 0.0], at=[0.3, -0.1, 0.0])
    b.apply_force([0.5, -2.0], at=[0.1, 0.2], frame="body")
    c.apply_force([0.5, -2.0, 0.0], at=[0.1, 0.2, 0.0], frame="body")
    b.apply_torque(0.4)
    c.apply_torque([0, 0, 0.4])
    one, two = motion(flat), motion(space)
    assert one["b.velocity_dot"] == pytest.approx(two["b.velocity_dot"][:2], rel=1e-13)
    assert one["b.angular_velocity_dot"] == pytest.approx(two["b.angular_velocity_dot"][2], rel=1e-13)


@pytest.mark.parametrize("orientation", ["quaternion", "rpy"])
def test_free_motion_keeps_energy_momentum_and_the_length_of_the_quaternion(orientation):
    m = dd.Model("m")
    b = m.body(
        "b", 2.0, TENSOR, orientation, position=[0, 0, 0], velocity=[1, 2, 3], rotation=R, angular_velocity=[1, 2, -1]
    )
    m.output("energy", b.kinetic_energy)
    m.output("momentum", b.rotation @ (b.inertia @ b.angular_velocity))
    tr = dd.simulate(m, 1.0, rtol=1e-10, atol=1e-12)
    assert tr.success
    assert np.ptp(tr["energy"]) < 1e-8
    assert np.ptp(tr["momentum"], axis=0).max() < 1e-8
    assert float(tr["energy"][0]) == pytest.approx(dd.kinetic_energy(2.0, TENSOR, [1, 2, 3], [1, 2, -1]))


def test_velocities_of_points_are_the_rates_of_their_positions():
    m = dd.Model("m")
    bodies = [m.body("q", 1.0, BOX), m.body("r", 1.0, BOX, "rpy"), m.body("p", 1.0, 0.2, "planar")]
    rng = np.random.default_rng(5)
    system = m.freeze()
    x = rng.standard_normal(system.sizes["x"])
    x[system.place("q.quaternion").positions] /= np.linalg.norm(x[system.place("q.quaternion").positions])
    rates = ca.Function(
        "f", [system.symbol("x")], [ca.vertcat(*(v.rate for v in m.written.mechanics.velocities.values()))]
    )
    places = np.concatenate([system.place(v).positions for v in m.written.mechanics.velocities])
    h = 1e-6
    for b in bodies:
        at = [0.3, -0.2, 0.5][: b.size]
        point, velocity = (ca.Function("f", [system.symbol("x")], [e]) for e in (b.point(at), b.point_velocity(at)))
        step = np.zeros(len(x))
        step[places] = h * rates(x).full().ravel()
        slope = (point(x + step) - point(x - step)).full() / (2 * h)
        assert slope == pytest.approx(velocity(x).full(), abs=1e-8)
        assert ca.Function("f", [system.symbol("x")], [b.velocity_at(b.point(at))])(x).full() == pytest.approx(
            velocity(x).full(), abs=1e-12
        )


def test_kinetic_energy_of_door_2_may_contain_velocities_of_bodies():
    """A rotor inside a body: T adds ½ J (ω·n + s')²; by hand with the rotor's spin momentum in Euler's equation."""
    spin, rate, J = np.array([0.4, -0.7, 0.2]), 5.0, 0.3
    m = dd.Model("gyrostat")
    b = m.body("b", 1.0, TENSOR, rotation=R, angular_velocity=spin)
    s = m.coordinate("s", rate=rate)
    m.kinetic_energy(0.5 * J * (b.angular_velocity[2] + m.rate(s)) ** 2)
    found = motion(m)
    # Momentum H = M ω + J (ω_z + s') e_z: M ω' + J (ω_z' + s'') e_z + ω × H = 0, and J (ω_z' + s'') = 0.
    momentum = TENSOR @ spin + J * (spin[2] + rate) * np.array([0, 0, 1.0])
    wanted = np.linalg.solve(TENSOR, -np.cross(spin, momentum))
    assert found["b.angular_velocity_dot"] == pytest.approx(wanted, rel=1e-12)
    assert found["s_ddot"] == pytest.approx(-wanted[2], rel=1e-12)


def test_potential_energy_and_dissipation_act_on_bodies():
    m = dd.Model("m")
    b = m.body("b", 2.0, 0.5, "planar", position=[1.0, 0.5], velocity=[0.3, 0.0], rotation=0.4, angular_velocity=0.7)
    m.potential_energy(0.5 * 8.0 * ca.sumsqr(b.point([0.2, 0.0])))
    m.dissipation(0.5 * 3.0 * ca.sumsqr(b.velocity) + 0.5 * 0.1 * b.angular_velocity**2)
    tip = np.array([1.0 + 0.2 * np.cos(0.4), 0.5 + 0.2 * np.sin(0.4)])
    pull = -8.0 * tip
    found = motion(m)
    assert found["b.velocity_dot"] == pytest.approx((pull - 3.0 * np.array([0.3, 0.0])) / 2.0, rel=1e-13)
    lever = 0.2 * np.cos(0.4) * pull[1] - 0.2 * np.sin(0.4) * pull[0]
    assert found["b.angular_velocity_dot"] == pytest.approx((lever - 0.07) / 0.5, rel=1e-13)


def test_masses_and_inertias_may_be_parameters():
    m = dd.Model("m")
    mass, side = m.parameter("mass", 12.0), m.parameter("side", 2.0)
    b = m.body("b", mass, dd.inertia.box(mass, 1.0, side, 3.0), angular_velocity=[1.0, 2.0, 3.0])
    b.apply_force([6.0, 0, 0])
    assert motion(m)["b.velocity_dot"].tolist() == [0.5, 0.0, 0.0]
    wanted = dd.newton_euler(24.0, 2 * BOX, [0, 0, 0], [0, 0, 0], [1.0, 2.0, 3.0]).angular
    assert motion(m, parameters={"mass": 24.0})["b.angular_velocity_dot"] == pytest.approx(wanted)
    assert b.mass.name() == "mass"


def test_three_principal_moments_are_an_inertia():
    m = dd.Model("m")
    assert ca.DM(m.body("b", 1.0, [1.0, 2.0, 2.5]).inertia).full().tolist() == np.diag([1.0, 2.0, 2.5]).tolist()


# -- the length of the quaternion ------------------------------------------------------------------------------


def test_the_length_of_a_quaternion_is_an_invariant():
    m = dd.Model("m")
    m.body("nacelle", 1.0, BOX)
    m.body("flat", 1.0, 1.0, "planar")
    invariants = m.freeze().invariants
    assert list(invariants) == ["nacelle.quaternion length"]
    f = ca.Function("f", [m["nacelle.quaternion"]], [invariants["nacelle.quaternion length"]])
    assert float(f([2.0, 0.0, 0.0, 1.0])) == 4.0


def test_the_length_as_a_constraint_is_a_dae_with_a_multiplier():
    m = dd.Model("m")
    m.body("b", 1.0, BOX, norm="constraint", rotation=R, angular_velocity=[0.1, 0.2, 0.3])
    system = m.freeze()
    assert system.labels["z"] == ("b.norm",)
    assert system.invariants == {}
    assert len(system.equation_labels) == 14
    plain = dd.Model("plain")
    plain.body("b", 1.0, BOX, rotation=R, angular_velocity=[0.1, 0.2, 0.3])
    # With the multiplier at zero the equations are those without it.
    x, q = system.start["x"], system.start["x"][6:10]
    x = np.nan_to_num(x)
    rates = np.concatenate(
        [x[3:6], np.zeros(3), dd.quaternion_rate(q, x[10:13]), motion(plain)["b.angular_velocity_dot"]]
    )
    assert np.abs(system.function(0, rates, x, 0.0, [], []).full()).max() < 1e-15
    off = system.function(0, rates, x, 0.5, [], []).full().ravel()
    assert off[7 - 1 : 7 + 3] == pytest.approx(-0.5 * q)


# -- gravity ---------------------------------------------------------------------------------------------------


def test_gravity_acts_on_bodies_before_and_after_and_not_on_coordinates():
    m = dd.Model("m")
    m.body("early", 1.0, orientation=None)
    q = m.coordinate("q")
    m.kinetic_energy(0.5 * m.rate(q) ** 2)
    m.gravity([0, 0, -9.81])
    m.body("late", 2.0, BOX)
    found = motion(m)
    assert found["early.velocity_dot"][2] == found["late.velocity_dot"][2] == -9.81
    assert found["q_ddot"] == 0.0
    m.gravity([0, 0, -1.62])
    assert motion(m)["early.velocity_dot"][2] == -1.62


def test_parts_keep_their_own_gravity_and_take_the_whole_ones_where_they_have_none():
    moon, nowhere, whole = dd.Model("moon"), dd.Model("nowhere"), dd.Model("whole")
    moon.gravity([0, 0, -1.62])
    for m in (moon, nowhere):
        m.body("b", 1.0, orientation=None)
    whole.include("moon", moon)
    whole.include("here", nowhere)
    whole.gravity([0, 0, -9.81])
    found = motion(whole)
    assert found["moon.b.velocity_dot"][2] == -1.62
    assert found["here.b.velocity_dot"][2] == -9.81
    outer = dd.Model("outer")
    outer.gravity([0, 0, -3.7])
    outer.include("whole", whole)
    assert motion(outer)["whole.moon.b.velocity_dot"][2] == -1.62
    assert motion(outer)["whole.here.b.velocity_dot"][2] == -9.81


def test_gravity_may_be_a_parameter():
    m = dd.Model("m")
    g = m.parameter("g", 9.81)
    m.gravity([0, 0, -g])
    m.body("b", 2.0, orientation=None)
    assert motion(m, parameters={"g": 2.0})["b.velocity_dot"].tolist() == [0, 0, -2.0]


# -- travelling ------------------------------------------------------------------------------------------------


def test_copies_pickles_and_parts_have_bodies():
    m = dd.Model("m")
    m.gravity([0, 0, -9.81])
    b = m.body("b", 2.0, TENSOR, rotation=R, angular_velocity=[1, 2, 3])
    b.apply_force([1.0, 0, 0], at=[0, 0, 1.0], frame="body")
    for twin in (m.copy(), pickle.loads(pickle.dumps(m))):
        assert twin.equations == m.equations
        assert motion(twin).rates.tolist() == motion(m).rates.tolist()
        assert list(twin.freeze().invariants) == ["b.quaternion length"]
        twin.bodies["b"].apply_force([0, 0, 2 * 9.81])
        assert motion(twin).rates.tolist() != motion(m).rates.tolist()
    whole = dd.Model("whole")
    whole.include("left", m)
    assert list(whole.bodies) == ["left.b"]
    assert list(whole.freeze().invariants) == ["left.b.quaternion length"]
    assert motion(whole).rates.tolist() == motion(m).rates.tolist()


# -- refusals --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mass", [0.0, -1.0, [1.0, 2.0]])
def test_a_mass_is_positive(mass):
    text = refused(lambda: dd.Model("m").body("nacelle", mass, BOX), dd.ModelError)
    assert text.startswith("The mass of 'nacelle' is not a positive number.")
    assert text.endswith("Try: mass=1.0, in kg")


def test_parameters_without_sense_are_refused_by_their_values():
    m = dd.Model("m")
    p = m.parameter("p", -2.0)
    assert "it is -2" in refused(lambda: m.body("b", p, BOX))
    m.body("b", m.parameter("free"), BOX)
    far = m.parameter("far", 9.0)
    assert "inertia of arm is not that of a real body" in refused(lambda: m.body("arm", 1.0, [1.0, 2.0, far]))


def test_an_inertia_is_that_of_a_real_body():
    def body(inertia):
        return lambda: dd.Model("m").body("nacelle", 1.0, inertia)

    assert refused(body(np.diag([1.0, 1.0, 3.0]))).startswith(
        "The inertia of nacelle is not that of a real body.\n  principal moments 1, 1, 3 kg m²: 3 is more than 1 + 1"
    )
    assert refused(body(np.diag([1.0, 1.0, 0.0]))).startswith("The inertia of nacelle is not positive definite.")
    assert refused(body([[1.0, 0.0], [0.0, 1.0]])).startswith("The inertia of nacelle has the wrong shape.")
    assert refused(body(None)) == (
        "The body 'nacelle' has no inertia.\n"
        "  its orientation is 'quaternion'\n"
        "  Because a rotating body needs an inertia.\n"
        "  Try: inertia=dd.inertia.box(mass, a, b, c), or orientation=None for a point mass"
    )
    assert refused(lambda: dd.Model("m").body("b", 1.0, BOX, "planar")) == (
        "The inertia of 'b' is not a positive number.\n"
        "  it is a 3 × 3 matrix\n"
        "  Because a planar body turns about one axis only.\n"
        "  Try: inertia=0.1, in kg m²"
    )


def test_an_orientation_is_one_of_four():
    assert refused(lambda: dd.Model("m").body("b", 1.0, BOX, "quaternions")) == (
        "The body 'b' has no orientation 'quaternions'.\n"
        "  orientations: 'quaternion', 'rpy', 'planar', None\n"
        "  Because it decides which variables hold the attitude.\n"
        "  Try: 'quaternion'"
    )
    assert refused(lambda: dd.Model("m").body("b", 1.0, 1.0, "planar", norm="constraint")).startswith(
        "norm='constraint' cannot be used for the body 'b'."
    )


def test_three_numbers_are_no_rotation_of_a_quaternion():
    assert refused(lambda: dd.Model("m").body("b", 1.0, BOX, rotation=[0.1, 0.2, 0.3])) == (
        "The rotation of 'b' cannot be read.\n"
        "  its shape is (3,)\n"
        "  Because three numbers could be angles or a rotation vector.\n"
        "  Try: rotation=dd.rotation_from_rpy([roll, pitch, yaw]) or dd.rotation_exp(vector)"
    )
    assert "rotation of b" in refused(lambda: dd.Model("m").body("b", 1.0, BOX, rotation=2 * np.eye(3)))
    assert "no direction" in refused(lambda: dd.Model("m").body("b", 1.0, BOX, rotation=[0, 0, 0, 0]))


def test_a_point_mass_has_no_orientation():
    m = dd.Model("m")
    b = m.body("bob", 1.0, orientation=None)
    calls = {
        "rotation": lambda: b.rotation,
        "angular velocity": lambda: b.angular_velocity,
        "torque": lambda: b.apply_torque([0, 0, 1]),
        "body frame": lambda: b.apply_force([1, 0, 0], frame="body"),
        "point beside its centre": lambda: b.point([1, 0, 0]),
        "inertia": lambda: b.inertia,
    }
    for what, call in calls.items():
        assert refused(call) == (
            f"The body 'bob' has no {what}.\n"
            "  it was declared with orientation=None, as a point mass\n"
            "  Because a point mass has a position but no orientation.\n"
            '  Try: m.body("bob", ..., inertia=..., orientation="quaternion")'
        )
    assert b.point([0, 0, 0]).shape == (3, 1)
    assert refused(lambda: m.body("c", 1.0, orientation=None, rotation=R)).startswith("The body 'c' takes no rotation.")
    assert "c.position" not in m


def test_vectors_have_as_many_components_as_the_space():
    m = dd.Model("m")
    b, c = m.body("b", 1.0, BOX), m.body("c", 1.0, 1.0, "planar")
    assert refused(lambda: b.apply_force([1.0, 2.0])) == (
        "The force on 'b' has 2 components.\n"
        "  'b' is a body in space\n"
        "  Because it takes 3 components there.\n"
        "  Try: [0.0, 0.0, 0.0]"
    )
    assert refused(lambda: c.apply_torque([0, 0, 1])).startswith("The torque on 'c' has 3 components.")
    assert refused(lambda: c.point([0, 0, 1])).startswith("The point of 'c' has 3 components.")
    assert refused(lambda: b.apply_force([1, 0, 0], frame="moon"), dd.InputError)


def test_gravity_fits_the_bodies():
    m = dd.Model("m")
    assert refused(lambda: m.gravity(-9.81)).startswith("Gravity is a vector.\n  it is a scalar")
    m.body("rod", 1.0, 1.0, "planar")
    assert refused(lambda: m.gravity([0, 0, -9.81])) == (
        "Gravity points out of the plane of the body 'rod'.\n"
        "  planar bodies move in the x-y plane\n"
        "  Because it would have no effect on it.\n"
        "  Try: m.gravity([0, -9.81])"
    )
    m.gravity([0, -9.81])
    assert refused(lambda: m.body("box", 1.0, BOX)).startswith("Gravity has two components, and the body 'box' moves")


def test_a_refused_body_leaves_nothing_behind():
    m = dd.Model("m")
    m.state("b.angular_velocity")
    assert refused(lambda: m.body("b", 1.0, BOX)).startswith("The name 'b.angular_velocity' is taken.")
    assert list(m.variables) == ["b.angular_velocity"]
    assert m.bodies == {}


def test_a_gimbal_lock_at_the_start_warns():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dd.Model("m").body("b", 1.0, BOX, "rpy", rotation=dd.rot_y(np.pi / 2))
    assert any(issubclass(w.category, dd.GimbalLockWarning) for w in caught)
