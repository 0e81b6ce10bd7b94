"""Joints are assembled as they are meant: analyses look from where runs start, and half a turn is refused."""

import numpy as np
import pytest

import daedalus as dd

KINDS = {"fixed": {}, "prismatic": {"axis_a": [1, 0, 0]}, "revolute": {"axis_a": [1, 0, 0]}}
# Free start values of one body of 13 states on the ground, the length of its quaternion counted.
FREE = {"fixed": 1, "prismatic": 3, "revolute": 3}


def held(kind, turned=None, **more):
    m = dd.Model("held")
    pose = {} if turned is None else {"rotation": turned}
    body = m.body("b", mass=1.0, inertia=np.diag([1.0, 2.0, 3.0]), orientation="quaternion", **pose)
    m.gravity([0, 0, -9.81])
    m.joint("j", kind, dd.ground, body, **KINDS[kind], **more)
    return m


@pytest.mark.wide
@pytest.mark.parametrize("kind", KINDS)
def test_bodies_whose_rotation_is_not_written_are_looked_at_where_runs_start(kind):
    open_pose, written = dd.analyse(held(kind)), dd.analyse(held(kind, np.eye(3)))
    assert (open_pose.index, open_pose.degrees_of_freedom, open_pose.redundant) == (3, FREE[kind], [])
    assert written.degrees_of_freedom == open_pose.degrees_of_freedom
    assert dd.simulate(held(kind), 0.1).success


HALF = [
    ("fixed", dd.rot_x(np.pi)), ("fixed", dd.rot_y(np.pi)), ("prismatic", dd.rot_x(np.pi)),
    ("prismatic", dd.rot_z(np.pi)), ("revolute", dd.rot_y(np.pi)), ("revolute", dd.rot_z(np.pi)),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "rotation"), HALF)
@pytest.mark.parametrize("verb", ["simulate", "radau5", "initialise", "prepare", "sensitivities"])
def test_half_a_turn_is_no_assembly(kind, rotation, verb):
    calls = {
        "simulate": lambda m: dd.simulate(m, 0.1),
        "radau5": lambda m: dd.simulate(m, 0.1, method="radau5"),
        "initialise": dd.initialise,
        "prepare": lambda m: dd.prepare(m, 0.1)(),
        "sensitivities": lambda m: dd.sensitivities(m, 0.1),
    }
    with pytest.raises(dd.InconsistentStartError) as caught:
        calls[verb](held(kind, rotation))
    assert str(caught.value).startswith("Joint 'j' is half a turn away from how it is meant to be assembled.")


def test_a_hinge_may_stand_anywhere_about_its_axis():
    assert dd.simulate(held("revolute", dd.rot_x(np.pi)), 0.1).success
    assert dd.simulate(held("fixed", dd.rot_x(np.pi), rotation=dd.rot_x(np.pi)), 0.1).success


def test_parts_and_copies_know_how_their_joints_are_meant():
    whole = dd.Model("whole")
    whole.include("part", held("fixed", dd.rot_x(np.pi)))
    for m in (held("fixed", dd.rot_x(np.pi)).copy(), whole):
        with pytest.raises(dd.InconsistentStartError, match="half a turn away"):
            dd.simulate(m, 0.1)
