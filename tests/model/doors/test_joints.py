"""Joints: what each kind leaves free, which force its multiplier is, and every refusal."""

import pickle

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.analysis.points.motion_samples import MovingModel
from daedalus.model.doors.joint_kinds import across

BOX = dd.inertia.box(2.0, 0.3, 0.4, 0.5)
R = dd.rotation_from_rpy([0.3, -0.4, 1.2])
G = 9.81


def refused(call, error=dd.ModelError):
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def space(rotation_b=R, **start):
    m = dd.Model("m")
    a = m.body("a", 1.0, BOX, position=[0.1, 0.2, 0.3], rotation=R)
    b = m.body("b", 2.0, BOX, "rpy", rotation=rotation_b, **start)
    return m, a, b


# Degrees of freedom that a joint in space takes away, and the arguments it needs.
KINDS = {
    "fixed": (6, {}),
    "revolute": (5, {"axis_a": [0, 1, 1]}),
    "prismatic": (5, {"axis_a": [0, 1, 1]}),
    "spherical": (3, {}),
    "universal": (4, {"axis_a": [1, 0, 0], "axis_b": [0, 1, 0]}),
    "distance": (1, {"length": 0.8}),
    "point_on_plane": (1, {"axis_a": [0, 0, 2.0]}),
    "rolling": (3, {"axis_a": [0, 0, 1], "radius": 0.2}),
}
PLANAR = {
    "fixed": (3, {}),
    "revolute": (2, {}),
    "prismatic": (2, {"axis_a": [1, 1]}),
    "distance": (1, {"length": 0.8}),
    "point_on_plane": (1, {"axis_a": [0, 2.0]}),
    "rolling": (2, {"axis_a": [0, 1], "radius": 0.2}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_joint_takes_its_degrees_of_freedom(kind):
    count, arguments = KINDS[kind]
    m, a, b = space()
    reaction = m.joint("j", kind, a, b, at_a=[0.1, 0.0, 0.2], at_b=[0.0, -0.1, 0.1], **arguments)
    assert reaction.numel() == count == m.variables["j"].size
    f = m.mechanics()
    jacobian = f.G(*f.arguments({"b.position": [0.4, 0.5, 0.6]})).full()
    assert np.linalg.matrix_rank(jacobian) == count


@pytest.mark.parametrize("kind", PLANAR)
def test_a_planar_joint_takes_its_degrees_of_freedom(kind):
    count, arguments = PLANAR[kind]
    m = dd.Model("m")
    a, b = m.body("a", 1.0, 0.1, "planar", rotation=0.3), m.body("b", 1.0, 0.2, "planar", position=[0.7, 0.3])
    assert m.joint("j", kind, a, b, at_a=[0.1, 0.2], **arguments).numel() == count
    f = m.mechanics()
    assert np.linalg.matrix_rank(f.G(*f.arguments()).full()) == count


@pytest.mark.parametrize("kind", KINDS)
def test_reactions_are_internal_forces(kind):
    """Momentum and angular momentum of two joined bodies stay: the joint exerts the opposite on the other body."""
    _, arguments = KINDS[kind]
    m, a, b = space()
    m.joint("j", kind, a, b, at_a=[0.1, 0.0, 0.2], at_b=[0.0, -0.1, 0.1], **arguments)
    total = sum((body.mass * body.velocity for body in (a, b)), start=ca.SX.zeros(3))
    spin = ca.SX.zeros(3)
    for body in (a, b):
        spin += ca.cross(body.position, body.mass * body.velocity) + body.rotation @ (
            body.inertia @ body.angular_velocity
        )
    system, moving = m.freeze(), MovingModel(m)
    f = ca.Function("f", [system.symbol("x")], [ca.vertcat(total, spin)])
    rate = f.jacobian()
    random = np.random.default_rng(2)
    for _ in range(3):
        x = moving.sample(random, 0.3, 0.0, np.zeros(0))
        change = rate(x, np.zeros(6)).full() @ moving.derivative(0.0, x, np.zeros(0))
        assert np.abs(change).max() < 1e-9


def test_a_spherical_joint_hangs_a_body_with_its_weight():
    m = dd.Model("m")
    m.gravity([0, 0, -G])
    b = m.body("b", 2.0, BOX, position=[0, 0, -0.5])
    m.joint("pin", "spherical", dd.ground, b, at_b=[0, 0, 0.5])
    found = m.mechanics().accelerations()
    assert found["pin"] == pytest.approx([0, 0, 2 * G])
    assert np.abs(found.rates).max() < 1e-12


@pytest.mark.parametrize("kind", ["fixed", "revolute", "prismatic"])
def test_torques_of_a_joint_hold_a_cantilever(kind):
    """A weight at one metre along x from a joint about y (or fixed): the torque on it is −r × F about the joint."""
    m = dd.Model("m")
    m.gravity([0, -G, 0])
    b = m.body("b", 2.0, BOX, position=[1.0, 0, 0])
    arguments = {} if kind == "fixed" else {"axis_a": [0, 0, 1] if kind == "prismatic" else [0, 1, 0]}
    m.joint("j", kind, dd.ground, b, at_b=[-1.0, 0, 0], **arguments)
    found = m.mechanics().accelerations()
    assert np.abs(found.rates).max() < 1e-12
    if kind == "fixed":
        assert found["j"] == pytest.approx([0, 2 * G, 0, 0, 0, 2 * G], abs=1e-12)
    # The torque about z must be 2 g in all three; the force 2 g along y.
    f = m.mechanics()
    reaction = f.G(*f.arguments()).full().T @ found.multipliers
    assert reaction == pytest.approx([0, 2 * G, 0, 0, 0, 0], abs=1e-12)


def test_torques_of_a_revolute_joint_are_about_the_axes_across_it():
    m, torque = dd.Model("m"), np.array([0.3, -0.5, 0.0])
    b = m.body("b", 2.0, BOX)
    b.apply_torque(torque)
    m.joint("j", "revolute", dd.ground, b, axis_a=[0, 0, 1])

    axes = np.hstack([ca.DM(t).full() for t in across(np.array([0, 0, 1.0]))])
    assert m.mechanics().accelerations()["j"][3:] == pytest.approx(axes.T @ -torque, abs=1e-14)


def test_the_multiplier_of_a_distance_is_the_force_in_the_rod():
    m = dd.Model("m")
    a = m.body("a", 1.0, orientation=None, position=[0, 0, 0], velocity=[0, 0, 0])
    b = m.body("b", 3.0, orientation=None, position=[0, 0.5, 0], velocity=[2.0, 0, 0])
    m.joint("rod", "distance", a, b, length=0.5)
    # Two masses about their common centre: the tie pulls with μ v²/L.
    assert m.mechanics().accelerations()["rod"] == pytest.approx(-0.75 * 4.0 / 0.5)


def test_the_multiplier_of_a_plane_is_the_normal_force():
    m = dd.Model("m")
    m.gravity([0, 0, -G])
    b = m.body("b", 2.0, orientation=None, position=[1.0, 2.0, 0.0])
    slope = np.array([0.6, 0, 0.8])
    m.joint("floor", "point_on_plane", dd.ground, b, at_a=[1.0, 0, 0], axis_a=slope)
    found = m.mechanics().accelerations()
    assert found["floor"] == pytest.approx(2 * G * 0.8)
    assert found["b.velocity_dot"] @ slope == pytest.approx(0, abs=1e-14)


def test_fixed_and_prismatic_hold_the_wanted_orientation():
    for arguments in ({"rotation": R}, {"rotation": dd.quaternion_from_rotation(R)}):
        m, a, b = space(rotation_b=R @ R, position=[0.1, 0.2, 0.3])
        m.joint("j", "fixed", a, b, **arguments)
        f = m.mechanics()
        assert np.abs(f.c(*f.arguments()).full()).max() < 1e-15
    m = dd.Model("m")
    b = m.body("b", 1.0, BOX, rotation=dd.rot_z(-np.pi / 2), position=[0, 3.0, 0])
    m.joint("j", "prismatic", dd.ground, b, axis_a=[1, 0, 0], axis_b=[0, 1, 0], at_a=[0, 3.0, 0])
    f = m.mechanics()
    assert np.abs(f.c(*f.arguments()).full()).max() < 1e-15
    m.joint("k", "fixed", dd.ground, m.body("c", 1.0, 1.0, "planar", rotation=0.4), rotation=0.4)
    m.joint(
        "opposite",
        "prismatic",
        dd.ground,
        m.body("d", 1.0, BOX, rotation=dd.rot_x(np.pi)),
        axis_a=[0, 1, 0],
        axis_b=[0, -1, 0],
    )
    assert np.all(np.isfinite(m.mechanics().accelerations().rates))


def test_a_bead_slides_on_a_straight_wire():
    m = dd.Model("m")
    m.gravity([0, 0, -G])
    b = m.body("bead", 1.0, orientation=None)
    m.joint("wire", "prismatic", dd.ground, b, axis_a=[3.0, 0, -4.0])
    assert m.mechanics().accelerations()["bead.velocity_dot"] == pytest.approx(0.8 * G * np.array([0.6, 0, -0.8]))


def test_a_ball_rolls_down_with_five_sevenths_of_sliding():
    slope, normal = np.array([0.8, 0, -0.6]), np.array([0.6, 0, 0.8])
    m = dd.Model("m")
    m.gravity([0, 0, -G])
    ball = m.body("ball", 2.0, dd.inertia.sphere(2.0, 0.1), position=0.1 * normal)
    m.joint("contact", "rolling", dd.ground, ball, axis_a=normal, radius=0.1)
    found = m.mechanics().accelerations()
    assert found["ball.velocity_dot"] == pytest.approx(5 / 7 * 0.6 * G * slope)
    assert found["contact"] == pytest.approx(2 * (5 / 7 * 0.6 * G * slope + np.array([0, 0, G])))
    assert list(m.freeze().invariants) == ["ball.quaternion length", "contact height"]


def test_a_planar_wheel_rolls_down_with_two_thirds_of_sliding():
    m = dd.Model("m")
    m.gravity([0, -G])
    wheel = m.body("wheel", 2.0, 0.5 * 2.0 * 0.1**2, "planar", position=0.1 * np.array([0.6, 0.8]))
    m.joint("contact", "rolling", dd.ground, wheel, axis_a=[0.6, 0.8], radius=0.1)
    found = m.mechanics().accelerations()
    assert found["wheel.velocity_dot"] == pytest.approx(2 / 3 * 0.6 * G * np.array([0.8, -0.6]))


def test_a_rolling_disc_goes_round_in_a_steady_circle():
    """The condition for steady motion of a thin disc (Routh; Borisov, Mamaev and Kilin 2003), solved for the spin.

    The disc leans and its centre goes round a circle with the rate W. About the centre, with unit mass and radius,
    moments 1/4 across and 1/2 along the axle n, spin ω·n = s: d(momentum)/dt = r_contact × contact force.
    """
    lean, turn = 0.3, 2.0
    # The axle is horizontal but for the lean; the disc travels along y at this moment.
    axle = np.array([np.cos(lean), 0, np.sin(lean)])
    steep = np.cross([0, 1.0, 0], axle)  # along the steepest line of the disc

    def gap(s):
        """Angular momentum balance about y for steady motion: what is left over."""
        # ω = s n + component of the turn across the axle.
        spin = s * axle + turn * (np.array([0, 0, 1.0]) - axle[2] * axle)
        momentum = 0.5 * s * axle + 0.25 * (spin - s * axle)
        contact = -(np.array([0, 0, 1.0]) - axle[2] * axle)
        contact /= np.linalg.norm(contact)
        velocity = -np.cross(spin, contact)
        force = np.cross([0, 0, turn], velocity) + np.array([0, 0, G])
        return (np.cross([0, 0, turn], momentum) - np.cross(contact, force)) @ [0, 1.0, 0], spin, velocity, contact

    low, high = gap(0.0)[0], gap(1.0)[0]
    s = -low / (high - low)
    left, spin, velocity, contact = gap(s)
    assert left == pytest.approx(0, abs=1e-12)
    rotation = np.column_stack([np.cross(steep, axle), steep, axle])
    m = dd.Model("m")
    m.gravity([0, 0, -G])
    disc = m.body(
        "disc", 1.0, [0.25, 0.25, 0.5], position=-contact, velocity=velocity, rotation=rotation,
        angular_velocity=rotation.T @ spin,
    )  # fmt: skip
    m.joint("floor", "rolling", dd.ground, disc, axis_a=[0, 0, 1], axis_b=[0, 0, 1], radius=1.0)
    f = m.mechanics()
    assert np.abs(f.c_dot(*f.arguments()).full()).max() < 1e-13
    found = f.accelerations()
    assert found["disc.velocity_dot"] == pytest.approx(np.cross([0, 0, turn], velocity), abs=1e-11)
    # In steady motion the whole turns about the vertical: ω' (world) = W × ω.
    world = rotation @ found["disc.angular_velocity_dot"]
    assert world == pytest.approx(np.cross([0, 0, turn], spin), abs=1e-11)


def test_rolling_keeps_its_height():
    m = dd.Model("m")
    table = m.body("table", 5.0, BOX, rotation=R, angular_velocity=[0.1, 0.2, 0.3])
    disc = m.body("disc", 1.0, [0.25, 0.25, 0.5], position=[0.3, 0.2, 1.0], rotation=R @ R)
    m.joint("contact", "rolling", table, disc, axis_a=[0, 0, 1], axis_b=[0, 0, 1], radius=0.4)
    system, moving = m.freeze(), MovingModel(m)
    slope = ca.Function(
        "f", [system.symbol("x")], [ca.jacobian(system.invariants["contact height"], system.symbol("x"))]
    )
    x = moving.sample(np.random.default_rng(1), 0.1, 0.0, np.zeros(0))
    assert float(slope(x) @ moving.derivative(0.0, x, np.zeros(0))) == pytest.approx(0, abs=1e-10)


def test_names_stand_for_bodies_and_parts_can_be_joined():
    arm = dd.Model("arm")
    arm.body("link", 1.0, 0.1, "planar", position=[0.5, 0])
    m = dd.Model("m")
    m.include("one", arm)
    m.include("two", arm)
    m.joint("a", "revolute", dd.ground, m.bodies["one.link"], at_b=[-0.5, 0])
    m.joint("b", "revolute", "one.link", "two.link", at_a=[0.5, 0], at_b=[-0.5, 0])
    assert m.freeze().sizes["z"] == 4
    twin = m.copy()
    twin.joint("c", "revolute", m.bodies["two.link"], dd.ground, at_a=[0.5, 0.0], at_b=[2.0, 0.0])
    assert "c" not in m


def test_the_ground_stays_one_when_pickled():
    assert pickle.loads(pickle.dumps(dd.ground)) is dd.ground
    assert repr(dd.ground) == "dd.ground"


# -- refusals --------------------------------------------------------------------------------------------------


def test_unknown_kinds():
    m, a, b = space()
    assert refused(lambda: m.joint("elbow", "revolut", a, b)) == (
        "Joint 'elbow' has a kind that does not exist.\n"
        "  got 'revolut'; kinds: fixed, revolute, prismatic, planar, spherical, universal, distance, point_on_plane, "
        "rolling\n"
        "  Because every kind is a set of ready constraints.\n"
        "  Try: 'revolute'"
    )
    n = dd.Model("n")
    c = n.body("c", 1.0, 1.0, "planar")
    assert refused(lambda: n.joint("elbow", "spherical", dd.ground, c)) == (
        "Joint 'elbow' has a kind that planar bodies do not have.\n"
        "  got 'spherical'; kinds: fixed, revolute, prismatic, distance, point_on_plane, rolling\n"
        "  Because a planar body turns about one axis only.\n"
        "  Try: 'revolute'"
    )


def test_missing_and_superfluous_arguments():
    m, a, b = space()
    assert refused(lambda: m.joint("elbow", "revolute", a, b)) == (
        "Joint 'elbow' has no axis_a.\n"
        "  it is 'revolute'\n"
        "  Because a revolute joint needs axis_a.\n"
        "  Try: axis_a=[0, 0, 1]"
    )
    assert refused(lambda: m.joint("rod", "distance", a, b)).endswith("Try: length=1.0")
    assert "needs axis_a and axis_b" in refused(lambda: m.joint("cross", "universal", a, b, axis_a=[1, 0, 0]))
    assert refused(lambda: m.joint("ball", "spherical", a, b, axis_a=[0, 0, 1])) == (
        "Joint 'ball' takes no axis_a.\n"
        "  it is 'spherical' and takes at_a, at_b\n"
        "  Because it would have no effect.\n"
        "  Try: leave axis_a out"
    )


def test_partners():
    m, a, b = space()
    assert refused(lambda: m.joint("elbow", "spherical", a, a)) == (
        "Joint 'elbow' joins 'a' with itself.\n"
        "  Because a joint constrains the motion of one body relative to another.\n"
        "  Try: two different bodies, or a body and dd.ground"
    )
    assert refused(lambda: m.joint("elbow", "spherical", dd.ground, dd.ground)).startswith(
        "Joint 'elbow' joins 'ground'"
    )
    c = m.body("c", 1.0, 1.0, "planar")
    assert refused(lambda: m.joint("elbow", "spherical", b, c)) == (
        "Joint 'elbow' joins a planar body with one in space.\n"
        "  'c' is planar, 'b' is not\n"
        "  Because their positions have two and three components.\n"
        "  Try: the same kind of orientation for both bodies"
    )
    assert refused(lambda: m.joint("elbow", "spherical", a, "bb")).startswith(
        "Joint 'elbow' joins 'bb', which is not a body of this model.\n  bodies: a, b, c"
    )
    assert refused(lambda: m.joint("elbow", "spherical", a, b.position)).startswith(
        "Joint 'elbow' joins something that is not a body.\n  got SX"
    )
    other = dd.Model("other").body("a", 1.0, BOX)
    assert refused(lambda: m.joint("elbow", "spherical", a, other)) == (
        "Joint 'elbow' joins 'a', a body of another model.\n"
        "  it belongs to the model 'other', not to 'm'\n"
        "  Because each model has its own symbols.\n"
        '  Try: m.include("part", other) and then m.bodies["part.a"]'
    )


def test_places_axes_and_measures():
    m, a, b = space()
    assert refused(lambda: m.joint("j", "spherical", dd.ground, b, at_a=[0, 0])) == (
        "The place of joint 'j' on the ground has 2 components.\n"
        "  Because the bodies of the joint have 3.\n"
        "  Try: [0.0, 0.0, 0.0]"
    )
    for axis in ([0, 0, 0], [0, 1], "z", [np.nan, 0, 1]):
        text = refused(lambda axis=axis: m.joint("j", "revolute", a, b, axis_a=axis), dd.InputError)
        assert text.startswith("axis_a of joint 'j' is not a direction.")
    text = refused(lambda: m.joint("j", "revolute", a, b, axis_a=a.position), dd.InputError)
    assert text.startswith("axis_a of joint 'j' is an expression.")
    assert refused(lambda: m.joint("j", "distance", a, b, length=0.0)) == (
        "The length of joint 'j' is not a positive number.\n"
        "  it is 0\n"
        "  Because a force along it needs a direction.\n"
        '  Try: length=1.0, in m; "spherical" for a distance of zero'
    )
    bob = m.body("bob", 1.0, orientation=None)
    assert refused(lambda: m.joint("j", "revolute", a, bob, axis_a=[0, 0, 1])).startswith(
        "The body 'bob' has no rotation."
    )
    flat = m.body("flat", 1.0, 1.0, "planar")
    text = refused(lambda: m.joint("j", "fixed", dd.ground, flat, rotation=np.eye(2)), dd.InputError)
    assert text.startswith("The rotation of joint 'j' is not an angle.")
    assert "j" not in m


@pytest.mark.parametrize(
    ("kind", "planar", "unit"),
    [("revolute", True, "N"), ("fixed", True, "N, N*m"), ("spherical", False, "N"), ("revolute", False, "N, N*m")],
)
def test_reactions_have_their_unit_in_results_and_files(kind, planar, unit, tmp_path):
    """Not in equations: masses that are plain numbers have no unit either."""
    m = dd.Model("beam")
    size = 2 if planar else 3
    more = {"orientation": "planar"} if planar else {}
    body = m.body("beam", mass=1.0, inertia=0.1 if planar else [0.1, 0.1, 0.1], position=[0.0] * size,
                  velocity=[0.0] * size, rotation=0.0 if planar else np.eye(3),
                  angular_velocity=0.0 if planar else [0.0] * 3, **more)  # fmt: skip
    m.joint("pin", kind, dd.ground, body, **({"axis_a": [0, 0, 1]} if kind == "revolute" and not planar else {}))
    tr = dd.simulate(m, 0.1)
    tr.save(tmp_path / "run.nc")
    for run in (tr, dd.load(tmp_path / "run.nc")):
        assert run.to_xarray()["pin"].attrs["units"] == unit
    assert list(dd.check_units(m)) == []
