"""Shapes and contacts that mean nothing are refused in words that help."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import daedalus as dd


def model(orientation="quaternion"):
    m = dd.Model("m")
    inertia = 0.1 if orientation == "planar" else [0.1, 0.1, 0.1]
    return m, m.body("b", mass=1.0, inertia=inertia, orientation=orientation)


def touching(m, b, **law):
    b.shape("sphere", size=1.0)
    m.contact(b, dd.ground, **law)


@pytest.mark.parametrize(("write", "text"), [
    (lambda m, b: b.shape("ball", size=1.0), "There is no shape 'ball' that touches."),
    (lambda m, b: b.shape("sphere"), "The sphere of 'b' has no size."),
    (lambda m, b: b.shape("box", size=[1.0, 2.0]), "The box of 'b' has a size of 2 numbers."),
    (lambda m, b: b.shape("sphere", size=-1.0), "The sphere of 'b' has a size that is not positive."),
    (lambda m, b: b.shape("plane", size=1.0), "The plane of 'b' takes no size."),
    (lambda m, b: b.shape("sphere", size=1.0, at=[0.0, 1.0]), "The sphere of 'b' is at 2 coordinates."),
    (lambda m, b: b.shape("sphere", size=b.position[0]), "The sphere of 'b''s size depends on b.position."),
    (lambda m, b: b.shape("box", size=[1, 1, 1], rotation=np.ones((3, 3))), "s rotation cannot be read."),
    (lambda m, b: m.contact(b, dd.ground), "The body 'b' has no shape."),
    (lambda m, b: m.contact("all"), "No body has a shape."),
    (lambda m, b: m.contact(b), "A contact needs two bodies."),
    (lambda m, b: m.contact("c", dd.ground), "not a body of this model."),
    (lambda m, b: touching(m, b, friction=-1.0), "The friction of a contact is -1."),
    (lambda m, b: touching(m, b, restitution=2.0), "The restitution of a contact is 2."),
    (lambda m, b: (b.shape("sphere", size=1.0), m.contact(b, b)), "Contact 'b_b' pairs 'b' with itself."),
    (lambda m, b: m.contact(3, b), "pairs something that is not a body."),
    (lambda m, b: b.shape("box", size=[1, 1, 1], rotation=[0, 0, 0, 0]), "s rotation cannot be read."),
    (lambda m, b: touching(m, b, stiffness=-1.0), "The stiffness of a contact is -1."),
    (lambda m, b: touching(m, b, damping=1.0), "A hard contact takes no damping."),
    (lambda m, b: touching(m, b, stiffness=1e4, restitution=0.5), "A compliant contact takes no restitution."),
    (lambda m, b: touching(m, b, stiffness=1e4, rolling_friction=0.1), "takes no rolling_friction."),
    (lambda m, b: touching(m, b, friction=float("nan")), "contains NaN or infinity."),
    (lambda m, b: (touching(m, b), m.contact(b, dd.ground, name="again")), "is of the same two bodies as 'again'."),
    (lambda m, b: (touching(m, b, stiffness=1e4), b.shape("sphere", size=0.1)), "comes after the compliant contact"),
    (lambda m, b: (touching(m, b), m.contact("all"), m.contact("all", stiffness=1e4, name="c")), "of every pair"),
    (lambda m, b: (touching(m, b), m.contact(b, dd.ground)), "There is a contact 'b_ground' already."),
    (lambda m, b: touching(m, b, surface_velocity=[1.0]), "has 1 component"),
    (lambda m, b: dd.ground.shape("plane"), "dd.ground takes no shape."),
])  # fmt: skip
def test_what_is_wrong_is_told(write, text):
    m, b = model()
    with pytest.raises(dd.ModelError) as told:
        write(m, b)
    assert text in str(told.value)
    assert "Try:" in str(told.value) or "Because" in str(told.value)


def test_ellipsoids_are_compliant_with_planes_only():
    m, b = model()
    c = m.body("c", mass=1.0, inertia=[0.1, 0.1, 0.1])
    b.shape("ellipsoid", size=[1, 1, 1])
    c.shape("box", size=[1, 1, 1])
    with pytest.raises(dd.ModelError, match="cannot be compliant"):
        m.contact(b, c, stiffness=1e4)


def test_contacts_travel_into_copies_parts_and_pickles():
    m, b = model()
    b.shape("sphere", size=0.1)
    m.contact(b, dd.ground, friction=0.3)
    whole = dd.Model("whole")
    whole.include("left", m)
    assert "left.b_ground.force" in whole.variables
    for twin in (m.copy(), pickle.loads(pickle.dumps(m))):
        start = {
            "b.position": [0, 0, 0.1],
            "b.velocity": [1, 0, 0],
            "b.quaternion": [1, 0, 0, 0],
            "b.angular_velocity": [0, 0, 0],
        }
        assert dd.simulate(twin, 0.1, start=start).method == "moreau"
    start = {f"left.{name}": value for name, value in start.items()}
    assert dd.simulate(whole, 0.1, start=start).method == "moreau"


@pytest.mark.parametrize("verb", [
    lambda m: dd.prepare(m, 1.0, save_at=[1.0]), lambda m: dd.equilibrium(m), lambda m: dd.linearise(m),
    lambda m: dd.step(m, "rk4", 0.0, 0.01),
    lambda m: dd.convergence(m, 1.0, "rk4", [0.1, 0.05, 0.025]), lambda m: dd.work_precision(m, 1.0, [1e-4, 1e-6]),
])  # fmt: skip
def test_verbs_that_do_not_know_hard_contacts_say_so(verb):
    m, b = model()
    b.shape("sphere", size=0.1)
    m.contact(b, dd.ground)
    with pytest.raises(dd.InputError, match="does not support hard contacts between bodies"):
        verb(m)


def test_shapes_are_drawn_as_they_are():
    m = dd.Model("m")
    b = m.body("b", mass=1.0, inertia=[0.1, 0.1, 0.1], position=[0, 0, 1], velocity=[0, 0, 0], rotation=[1, 0, 0, 0],
               angular_velocity=[0, 0, 0])  # fmt: skip
    b.shape("capsule", size=[0.1, 0.4])
    b.shape("box", size=[0.1, 0.1, 0.1], at=[0.2, 0, 0], rotation=dd.rot_z(0.3))
    kinds = [shape.kind for shape in m.written.sketch.shapes.values()]
    assert kinds == ["cylinder", "sphere", "sphere", "box"]
    assert "shapes" in repr(dd.simulate(m, 0.1).animate())
