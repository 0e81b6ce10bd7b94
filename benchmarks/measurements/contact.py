"""Boxes that fall on the ground and onto each other: CPU seconds for one second of motion, and how deep they go in.

Each tool at several settings: steps of ours; steps of MuJoCo with its usual contacts and with the stiffest that its
steps allow (a time constant of two steps); steps of Drake (SAP, hydroelastic contact off).
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

HALF, GAP, FRICTION, GRAVITY = 0.1, 0.36, 0.5, 9.81
# Steps in s, the fastest runs first: what comes before a limit of time is kept.
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "daedalus": [{"step": step} for step in (5e-3, 1e-2, 2e-3, None)],
    "mujoco": [
        *({"step": step, "stiff": True} for step in (5e-3, 2e-3, 1e-3)),
        *({"step": step} for step in (5e-3, 2e-3, 1e-3, 5e-4)),
    ],
    "drake": [{"step": step} for step in (1e-2, 5e-3, 2e-3)],
}


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A record for each setting of a tool: seconds, and the deepest overlap in m; options count and tool."""
    tools: dict[str, Callable[..., tuple[float, float]]]
    tools = {"daedalus": by_daedalus, "mujoco": by_mujoco, "drake": by_drake}
    for setting in SETTINGS[options["tool"]]:
        seconds, depth = tools[options["tool"]](options["count"], **setting)
        yield {"seconds": seconds, "depth": depth, **setting}


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of one call, and what it gives."""
    began = time.process_time()
    given = call()
    return time.process_time() - began, given


def places(count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Positions and quaternions of boxes in layers, each turned in another way."""
    draw, side = np.random.default_rng(0), int(np.ceil(count**0.5 / 2))
    found = []
    for k in range(count):
        layer, rest = divmod(k, side * side)
        q = draw.normal(size=4)
        place = np.array([GAP * (rest // side), GAP * (rest % side), 0.2 + GAP * layer])
        found.append((place, q / np.linalg.norm(q)))
    return found


def by_daedalus(count: int, step: float | None = None) -> tuple[float, float]:
    import daedalus as dd

    m = dd.Model("boxes")
    m.gravity([0.0, 0.0, -GRAVITY])
    side = 2 * HALF
    for k, (place, q) in enumerate(places(count)):
        body = m.body(f"b{k}", mass=1.0, inertia=dd.inertia.box(1.0, side, side, side), position=place,
                      velocity=[0.0, 0.0, 0.0], rotation=q, angular_velocity=[0.0, 0.0, 0.0])  # fmt: skip
        body.shape("box", size=[side] * 3)
    m.contact("all", friction=FRICTION)
    dd.simulate(m, 0.01)
    seconds, tr = timed(lambda: dd.simulate(m, 1.0, step=step))
    return seconds, next(record.depth for record in tr.records if type(record).__name__ == "ContactsStepped")


def by_mujoco(count: int, step: float, stiff: bool = False) -> tuple[float, float]:
    import mujoco  # type: ignore[import-not-found,unused-ignore]

    geom = f'friction="{FRICTION} 0 0" condim="3"' + (f' solref="{2 * step} 1"' if stiff else "")
    bodies = "".join(
        f'<body pos="{p[0]} {p[1]} {p[2]}" quat="{q[0]} {q[1]} {q[2]} {q[3]}"><freejoint/>'
        f'<geom type="box" size="{HALF} {HALF} {HALF}" mass="1" {geom}/></body>'
        for p, q in places(count)
    )
    text = f'<mujoco><option timestep="{step}" gravity="0 0 -{GRAVITY}" cone="elliptic"/><worldbody>'
    model = mujoco.MjModel.from_xml_string(
        f'{text}<geom type="plane" size="50 50 1" {geom}/>{bodies}</worldbody></mujoco>'
    )
    data = mujoco.MjData(model)

    def run() -> float:
        deep = 0.0
        for _ in range(round(1.0 / step)):
            mujoco.mj_step(model, data)
            deep = max(deep, -min((contact.dist for contact in data.contact), default=0.0))
        return deep

    return timed(run)


def by_drake(count: int, step: float) -> tuple[float, float]:
    from pydrake import all as drake  # type: ignore[import-not-found,unused-ignore]

    builder = drake.DiagramBuilder()
    plant, _ = drake.AddMultibodyPlantSceneGraph(builder, time_step=step)
    plant.set_contact_model(drake.ContactModel.kPoint)
    plant.set_discrete_contact_approximation(drake.DiscreteContactApproximation.kSap)
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -GRAVITY])
    rough, still, side = drake.CoulombFriction(FRICTION, FRICTION), drake.RigidTransform(), 2 * HALF
    plant.RegisterCollisionGeometry(plant.world_body(), still, drake.HalfSpace(), "ground", rough)
    inertia = drake.SpatialInertia.SolidBoxWithMass(1.0, side, side, side)
    boxes = [plant.AddRigidBody(f"b{k}", inertia) for k in range(count)]
    for k, box in enumerate(boxes):
        plant.RegisterCollisionGeometry(box, still, drake.Box(side, side, side), f"b{k}", rough)
    plant.Finalize()
    diagram = builder.Build()
    simulator = drake.Simulator(diagram)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    for box, (place, q) in zip(boxes, places(count)):
        plant.SetFreeBodyPose(context, box, drake.RigidTransform(drake.Quaternion(q), place))
    touching = plant.get_contact_results_output_port()

    def run() -> float:
        deep = 0.0
        for k in range(round(1.0 / step)):
            simulator.AdvanceTo((k + 1) * step)
            found = touching.Eval(context)
            pairs = (found.point_pair_contact_info(i).point_pair() for i in range(found.num_point_pair_contacts()))
            deep = max(deep, max((pair.depth for pair in pairs), default=0.0))
        return deep

    return timed(run)
