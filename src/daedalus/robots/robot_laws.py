"""Control laws of robots as CasADi expressions, from the same recursions as the functions of robots.

    PD with gravity compensation      τ = K e − D v + g(q)
    computed torque                   τ = M (a_d + D (v_d − v) + K e) + bias
    operational space                 τ = Jᵀ Λ (a* − J' v) + (1 − Jᵀ Λ J M⁻¹) τ_posture + bias,   Λ = (J M⁻¹ Jᵀ + δ)⁻¹

with e = goal ⊖ q, the way from q to the goal in the coordinates of v (O. Khatib, A unified approach for motion and
force control of robot manipulators: The operational space formulation, IEEE Journal on Robotics and Automation 3, 1987;
R. Murray, Z. Li, S. Sastry, A Mathematical Introduction to Robotic Manipulation, 1994, section 4.5).
"""

from __future__ import annotations

import casadi as ca

from daedalus.geometry.quaternions import quaternion_conjugate, quaternion_product
from daedalus.model.mechanics.tree_recursions import joint_forces, mass_matrix
from daedalus.robots.robot_functions import RobotFunctions, symmetric_inverse

LAWS = ("difference", "gravity_pd", "computed_torque")
FRAME_LAWS = ("operational_space", "operational_position")


def law(functions: RobotFunctions, name: str) -> ca.Function:
    """The function of a law: "difference", "gravity_pd", "computed_torque", or "operational_space tool"."""
    what, _, frame = name.partition(" ")
    s = functions.symbols
    count = s.v.numel()
    goal = ca.SX.sym("goal", s.q.numel())
    stiffness, damping = ca.SX.sym("stiffness", count), ca.SX.sym("damping", count)
    way = _difference(functions, goal)
    tau, _ = joint_forces(s.tree.links, s.v, s.a, s.tree.gravity)
    tau = tau + s.armature * s.a
    still = ca.SX.zeros(count)
    if what == "difference":
        return ca.Function("difference", [s.q, goal], [way], ["q", "goal"], ["way"])
    if what == "gravity_pd":
        hold = ca.substitute([tau], [s.v, s.a], [still, still])[0]
        found = stiffness * way - damping * s.v + hold
        arguments = {"q": s.q, "v": s.v, "goal": goal, "stiffness": stiffness, "damping": damping}
    elif what == "computed_torque":
        rate, rise = ca.SX.sym("rate", count), ca.SX.sym("acceleration", count)
        wanted = rise + damping * (rate - s.v) + stiffness * way
        found = ca.substitute(tau, s.a, wanted)
        arguments = {"q": s.q, "v": s.v, "goal": goal, "rate": rate, "acceleration": rise}
        arguments |= {"stiffness": stiffness, "damping": damping}
    else:
        return _operational(functions, what == "operational_space", frame, way, goal, ca.substitute(tau, s.a, still))
    return ca.Function(what, list(arguments.values()), [ca.densify(found)], list(arguments), ["tau"])


def _operational(
    functions: RobotFunctions, turns: bool, frame: str, way: ca.SX, posture: ca.SX, bias: ca.SX
) -> ca.Function:
    s = functions.symbols
    count = s.v.numel()
    place, turn = functions._frame(frame)
    rows = 6 if turns else 3
    jacobian = ca.densify(functions._frame_jacobian(frame))[:rows, :]
    rate = ca.reshape(ca.jtimes(ca.vec(jacobian), s.q, s.rate), rows, count)
    target, speed, rise = (ca.SX.sym(name, 3) for name in ("position", "velocity", "acceleration"))
    gains = [ca.SX.sym(name) for name in ("stiffness", "damping", "posture_stiffness", "posture_damping", "softness")]
    stiffness, damping, stay, slow, softness = gains
    motion = jacobian @ s.v
    wanted = rise + damping * (speed - motion[:3]) + stiffness * (target - place)
    arguments = {"q": s.q, "v": s.v, "position": target, "velocity": speed, "acceleration": rise}
    if turns:
        rotation = ca.SX.sym("rotation", 9)
        away = ca.reshape(rotation, 3, 3) @ turn.T
        # sin θ times the axis of the rotation that is missing, in world axes.
        sine = ca.vertcat(away[2, 1] - away[1, 2], away[0, 2] - away[2, 0], away[1, 0] - away[0, 1]) / 2
        wanted = ca.vertcat(wanted, stiffness * sine - damping * motion[3:])
        arguments["rotation"] = rotation
    matrix = ca.densify(mass_matrix(s.tree.links, count) + ca.diag(s.armature))
    inverse = symmetric_inverse(matrix)
    light = symmetric_inverse(ca.densify(jacobian @ inverse @ jacobian.T + softness * ca.SX.eye(rows)))
    rise_of_posture = stay * way - slow * s.v
    # What the posture asks for without moving the frame: its acceleration of the frame is taken off.
    force = light @ (wanted - rate @ s.v - jacobian @ rise_of_posture)
    found = jacobian.T @ force + matrix @ rise_of_posture + bias
    arguments |= {"posture": posture, **dict(zip([g.name() for g in gains], gains))}
    name = "operational_space" if turns else "operational_position"
    return ca.Function(name, list(arguments.values()), [ca.densify(found)], list(arguments), ["tau"])


def _difference(functions: RobotFunctions, goal: ca.SX) -> ca.SX:
    """goal ⊖ q in the coordinates of v: rotations as twice the vector part of the quaternion that is missing."""
    s = functions.symbols
    parts: dict[int, ca.SX] = {}
    at = 0
    for name, columns in s.tree.positions.items():
        size = len(columns) + (1 if name.endswith(".quaternion") else 0)
        own, wanted = s.q[at : at + size], goal[at : at + size]
        at += size
        if name.endswith(".quaternion"):
            missing = quaternion_product(quaternion_conjugate(own), wanted)
            rest = 2 * ca.if_else(missing[0] < 0, -1.0, 1.0) * missing[1:]
        else:
            rest = wanted - own
        parts.update(zip(columns, ca.vertsplit(rest)))
    return ca.vertcat(*(parts[k] for k in range(s.v.numel())))
