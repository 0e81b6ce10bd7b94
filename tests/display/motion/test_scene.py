"""What is seen of a run: shapes from the model, checked against the numbers of the trajectory."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue


def scene_of(model, span=1.0, **options):
    return dd.simulate(model, span, **options).animate(frames=21).scenes[0]


def shape(scene, name, kind):
    found = [s for s in scene.shapes if s.name == name and s.kind == kind]
    assert len(found) == 1, [(s.name, s.kind) for s in scene.shapes]
    return found[0]


def spinning_box(orientation="quaternion"):
    m = dd.Model("box")
    m.gravity([0, 0, -9.81])
    m.body("box", mass=12.0, inertia=dd.inertia.box(12.0, 1.0, 2.0, 3.0), orientation=orientation,
           position=[0, 0, 5], velocity=[1, 0, 0], rotation=dd.rot_z(0.3),
           angular_velocity=[0.1, 2.0, 0.3])  # fmt: skip
    return m


@pytest.mark.parametrize("orientation", ["quaternion", "rpy"])
def test_a_body_is_the_box_of_its_inertia(orientation):
    tr = dd.simulate(spinning_box(orientation), 1.0)
    scene = tr.animate(frames=21).scenes[0]
    box = shape(scene, "box", "box")
    assert sorted(box.sizes["size"]) == pytest.approx([1.0, 2.0, 3.0])
    np.testing.assert_allclose(box.track[:, :3], tr.at(scene.times)["box.position"], atol=1e-12)
    # The longest side points along the body's z axis.
    long = int(np.argmax(box.sizes["size"]))
    drawn = dd.rotation_from_quaternion(box.track[-1, 3:])[:, long]
    attitude = {"quaternion": dd.rotation_from_quaternion, "rpy": dd.rotation_from_rpy}[orientation]
    own = attitude(tr.at(1.0)[f"box.{orientation}"])[:, 2]
    assert abs(drawn @ own) == pytest.approx(1.0)
    assert scene.up == (0.0, 0.0, 1.0)
    assert not scene.flat


def test_a_massless_rod_is_found_in_its_constraint():
    k = catalogue.load("pendulum_3d")
    tr = dd.simulate(k.model, k.span, inputs=k.inputs)
    scene = tr.animate(frames=11).scenes[0]
    rod, force = shape(scene, "cable", "rod"), shape(scene, "cable", "force")
    position = tr.at(scene.times)["position"]
    np.testing.assert_allclose(rod.track[:, :3], 0.0, atol=1e-12)
    np.testing.assert_allclose(rod.track[:, 3:], position, atol=1e-12)
    np.testing.assert_allclose(force.track[:, 3:], position * tr.at(scene.times)["cable"][:, None], atol=1e-9)


def test_rods_between_points_of_the_plane():
    m = dd.Model("two masses on a rod")
    p = m.coordinate("p", 2, start=[0, 0], rate=[0, 1])
    q = m.coordinate("q", 2, start=[2, 0], rate=[0, -1])
    m.kinetic_energy(0.5 * (ca.sumsqr(m.rate(p)) + 3 * ca.sumsqr(m.rate(q))))
    m.constraint("rod", ca.sumsqr(p - q) - 4.0)
    scene = scene_of(m)
    rod = shape(scene, "rod", "rod")
    np.testing.assert_allclose(np.linalg.norm(rod.track[:, :3] - rod.track[:, 3:], axis=1), 2.0, atol=1e-6)
    assert scene.flat
    assert scene.up == (0.0, 1.0, 0.0)


def test_angles_are_no_points():
    m = dd.Model("two angles")
    a = m.coordinate("a", 2, start=[0, 1], rate=[0, 0], unit="rad")
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(a)))
    with pytest.raises(dd.InputError, match="'two angles' has no geometry to draw") as error:
        scene_of(m)
    assert "m.draw" in str(error.value)


def test_bars_and_joints_of_a_mechanism_stay_together():
    k = catalogue.load("four_bar")
    scene = scene_of(k.model, k.span)
    crank, coupler = shape(scene, "crank", "rod"), shape(scene, "coupler", "rod")
    pin = shape(scene, "crank_pin", "joint")
    np.testing.assert_allclose(crank.track[:, 3:], coupler.track[:, :3], atol=1e-9)
    np.testing.assert_allclose(pin.track, crank.track[:, 3:], atol=1e-9)
    assert shape(scene, "rocker_bearing", "joint").track.shape == (1, 3)
    # On the crank alone: its weight and the forces of its joints make its acceleration.
    tr = dd.simulate(k.model, k.span).at(scene.times)
    force = shape(scene, "crank_bearing", "force").track[:, 3:5]
    np.testing.assert_allclose(force, tr["crank_bearing"], rtol=1e-3, atol=0.5)


def test_written_shapes_take_the_place_of_the_bodys_own():
    m = spinning_box()
    m.draw("sphere", "box", radius=0.4, offset=[0, 0, 1.5], colour="teal")
    scene = scene_of(m)
    assert [s.kind for s in scene.shapes if s.name == "box"] == ["sphere", "trace", "frame"]
    tr = dd.simulate(m, 1.0).at(scene.times)
    expected = tr["box.position"] + np.einsum(
        "nij,j->ni", dd.rotation_from_quaternion(tr["box.quaternion"]), [0, 0, 1.5]
    )
    np.testing.assert_allclose(shape(scene, "box", "sphere").track[:, :3], expected, atol=1e-9)


def test_a_trace_of_what_rests_has_a_point_for_every_time():
    m = dd.Model("resting")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), 0)
    m.draw("trace", [x, 0], name="path")
    m.draw("point", [x, 0], name="tip")
    scene = scene_of(m)
    assert len(shape(scene, "path", "trace").track) == len(scene.times)
    assert len(shape(scene, "tip", "point").track) == 1


def test_drawings_survive_copies_parts_and_pickles():
    import pickle

    arm = dd.Model("arm")
    a = arm.coordinate("angle", start=0.3, rate=0.0, unit="rad")
    length = arm.parameter("length", 2.0)
    arm.kinetic_energy(0.5 * length**2 * arm.rate(a) ** 2)
    arm.draw("rod", [0, 0], to=[length * ca.cos(a), length * ca.sin(a)], name="bar")
    whole = dd.Model("two arms")
    whole.include("left", arm)
    whole.include("right", arm, parameters={"length": 1.0})
    for model in (whole, whole.copy(), pickle.loads(pickle.dumps(whole))):
        scene = scene_of(model)
        assert np.linalg.norm(shape(scene, "left.bar", "rod").track[:, 3:], axis=-1) == pytest.approx(2.0)
        assert np.linalg.norm(shape(scene, "right.bar", "rod").track[:, 3:], axis=-1) == pytest.approx(1.0)


@pytest.mark.parametrize("stabilise", ["projection", "baumgarte", "ggl", "dummy_derivatives"])
def test_reduced_models_look_as_before(stabilise):
    k = catalogue.load("delta_robot")
    reduced = dd.reduce(k.model, stabilise=stabilise)
    names = [(s.name, s.kind) for s in scene_of(k.model, k.span, inputs=k.inputs).shapes]
    assert [(s.name, s.kind) for s in scene_of(reduced, k.span, inputs=k.inputs).shapes] == names


def test_feedback_keeps_the_drawing():
    m = dd.Model("cart")
    x = m.coordinate("x", start=1.0, rate=0.0, unit="m")
    u = m.input("u")
    m.kinetic_energy(0.5 * m.rate(x) ** 2)
    m.generalised_force(x, u)
    m.draw("box", [x, 0], size=[1, 1, 1], name="cart")
    m.draw("arrow", [x, 0], vector=[u, 0], name="push")
    scene = scene_of(m, inputs={"u": -x})
    push, cart = shape(scene, "push", "arrow"), shape(scene, "cart", "box")
    np.testing.assert_allclose(push.track[:, 3], -cart.track[:, 0], atol=1e-9)


def test_what_rolls_is_round():
    k = catalogue.load("rolling_disc")
    scene = scene_of(k.model, k.span)
    assert shape(scene, "disc", "cylinder").sizes["radius"][0] > 0
    assert shape(scene, "contact", "plane").track.shape == (1, 7)


def test_a_run_that_blows_up_keeps_a_readable_scene():
    m = dd.Model("flight")
    p = m.state("p", 2, start=[0.0, 1.0], unit="m")
    m.equation(m.der(p), [1.0, p[1] ** 2])
    m.draw("point", p)
    tr = dd.simulate(m, 2.0)
    assert not tr.success
    low, high = tr.animate().scenes[0].box()
    assert np.all(np.abs([low, high]) < 1e3)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("blob",), "There is no shape 'blob'"),
        (("box", [0, 0]), "The box has no size"),
        (("sphere", [0, 0], {"radius": 1.0, "to": [1, 1]}), "A sphere takes no to"),
        (("point", [1, 2, 3, 4]), "two or three components"),
        (("point", "nowhere"), "Nothing is called 'nowhere'"),
        (("mesh", [0, 0], {"file": "missing.stl"}), "The mesh 'missing.stl' cannot be read"),
    ],
)
def test_wrong_shapes_are_refused_in_words(arguments, text):
    m = dd.Model("m")
    *places, last = arguments
    named = last if isinstance(last, dict) else {}
    with pytest.raises(dd.DaedalusError) as error:
        m.draw(*places, *([] if named else [last]), **named)
    assert text in str(error.value)


def test_levels_of_two_tanks_are_no_position():
    m = dd.Model("tanks")
    level = m.state("level", 2, start=[0.4, 0.1], unit="m")
    m.equation(m.der(level), -level)
    with pytest.raises(dd.InputError, match="has no geometry to draw"):
        dd.simulate(m, 1.0).animate()
    m = dd.Model("star")
    place = m.state("place", 2, start=[0.4, 0.1], unit="m")
    speed = m.state("speed", 2, start=[0.0, 1.0], unit="m/s")
    m.equation([m.der(place), m.der(speed)], [speed, -place])
    assert [shape["name"] for shape in dd.simulate(m, 1.0).animate().data["runs"][0]["shapes"]][:1] == ["place"]
    m = dd.Model("planet")
    place = m.state("place", 2, start=[0.4, 0.1], rate=[0.0, 1.0], unit="m")
    m.equation(m.der(m.der(place)), -place)
    assert dd.simulate(m, 1.0).animate().data["runs"][0]["shapes"]
