"""The same bodies beside MuJoCo and Drake at small steps: what all three agree on, to what soft contacts allow."""

from __future__ import annotations

import numpy as np
import pytest

import daedalus as dd

G, HALF, FRICTION = 9.81, 0.1, 0.4
UPRIGHT = [1.0, 0.0, 0.0, 0.0]
# A sphere that slides and then rolls; a box that stops; a box that is thrown and tips; a stack that is struck.
CASES = {
    "bowl": [("sphere", (0.0, 0.0, HALF), UPRIGHT, (2.0, 0.5, 0.0))],
    "stop": [("box", (0.0, 0.0, HALF), UPRIGHT, (1.5, 0.0, 0.0))],
    "turn": [("box", (0.0, 0.0, HALF), UPRIGHT, (1.0, 0.0, 0.0, 0.0, 0.0, 6.0))],
    "stack": [("box", (0.0, 0.0, HALF), UPRIGHT, (0.0, 0.0, 0.0)), ("box", (0.0, 0.0, 3 * HALF), UPRIGHT, (0.6, 0, 0))],
}
SPAN = 0.6


def speeds(given):
    return np.array([*given, *[0.0] * (6 - len(given))])


def by_daedalus(bodies):
    m = dd.Model("bodies")
    m.gravity([0, 0, -G])
    for k, (kind, place, q, given) in enumerate(bodies):
        v = speeds(given)
        moment = 0.4 * HALF**2 if kind == "sphere" else 4 * HALF**2 / 6
        b = m.body(f"b{k}", mass=1.0, inertia=[moment] * 3, position=place, velocity=v[:3], rotation=q,
                   angular_velocity=v[3:])  # fmt: skip
        b.shape(kind, size=HALF if kind == "sphere" else [2 * HALF] * 3)
    m.contact("all", friction=FRICTION)
    tr = dd.simulate(m, SPAN)
    return np.array([np.r_[tr[f"b{k}.position"][-1], tr[f"b{k}.velocity"][-1]] for k in range(len(bodies))])


def by_mujoco(bodies, step):
    mujoco = pytest.importorskip("mujoco")
    laws = f'friction="{FRICTION} 0 0" condim="3" solref="-1e6 -2e3" solimp="0.99 0.999 1e-5"'
    parts = []
    for kind, p, q, _ in bodies:
        size = f"{HALF}" if kind == "sphere" else f"{HALF} {HALF} {HALF}"
        place = f'pos="{p[0]} {p[1]} {p[2]}" quat="{q[0]} {q[1]} {q[2]} {q[3]}"'
        parts.append(f'<body {place}><freejoint/><geom type="{kind}" size="{size}" mass="1" {laws}/></body>')
    options = f'timestep="{step}" gravity="0 0 -{G}" cone="elliptic" impratio="100" tolerance="1e-12" iterations="200"'
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option {options}/><worldbody><geom type="plane" size="9 9 1" {laws}/>{"".join(parts)}'
        "</worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    data.qvel[:] = np.concatenate([speeds(given) for *_, given in bodies])
    for _ in range(round(SPAN / step)):
        mujoco.mj_step(model, data)
    return np.array([np.r_[data.qpos[7 * k : 7 * k + 3], data.qvel[6 * k : 6 * k + 3]] for k in range(len(bodies))])


def by_drake(bodies, step):
    drake = pytest.importorskip("pydrake.all")
    builder = drake.DiagramBuilder()
    plant, _ = drake.AddMultibodyPlantSceneGraph(builder, time_step=step)
    plant.set_contact_model(drake.ContactModel.kPoint)
    plant.set_discrete_contact_approximation(drake.DiscreteContactApproximation.kSap)
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -G])
    rough, still = drake.CoulombFriction(FRICTION, FRICTION), drake.RigidTransform()
    plant.RegisterCollisionGeometry(plant.world_body(), still, drake.HalfSpace(), "ground", rough)
    own = []
    for k, (kind, *_) in enumerate(bodies):
        side = 2 * HALF
        inertia = (
            drake.SpatialInertia.SolidSphereWithMass(1.0, HALF)
            if kind == "sphere"
            else drake.SpatialInertia.SolidBoxWithMass(1.0, side, side, side)
        )
        body = plant.AddRigidBody(f"b{k}", inertia)
        shape = drake.Sphere(HALF) if kind == "sphere" else drake.Box(side, side, side)
        plant.RegisterCollisionGeometry(body, still, shape, f"b{k}", rough)
        own.append(body)
    plant.Finalize()
    diagram = builder.Build()
    simulator = drake.Simulator(diagram)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    for body, (_, place, q, given) in zip(own, bodies):
        v = speeds(given)
        plant.SetFreeBodyPose(context, body, drake.RigidTransform(drake.Quaternion(q), place))
        plant.SetFreeBodySpatialVelocity(body, drake.SpatialVelocity(v[3:], v[:3]), context)
    simulator.AdvanceTo(SPAN)
    found = []
    for body in own:
        place = plant.EvalBodyPoseInWorld(context, body).translation()
        found.append(np.r_[place, plant.EvalBodySpatialVelocityInWorld(context, body).translational()])
    return np.array(found)


@pytest.mark.wide
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("peer", [by_mujoco, by_drake])
def test_peers_come_to_our_motion_as_their_steps_shrink(case, peer):
    ours = by_daedalus(CASES[case])
    off = [float(np.abs(peer(CASES[case], step) - ours).max()) for step in (1e-3, 1e-4)]
    # Their contacts are soft, and their friction creeps: a hundredth of speeds up to 2 m/s is left (MuJoCo 4.0 on the
    # box that turns, Drake 1.51 on the one that stops, which touches the ground in one point at a time there).
    assert off[1] < 0.02
    assert off[1] < off[0]
