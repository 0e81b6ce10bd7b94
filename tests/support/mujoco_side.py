"""MuJoCo's accelerations of a file: what the tests of robot files compare with, and how the stored numbers were made.

Without contacts, limits and friction. Equalities hold exactly: the accelerations are solved for from MuJoCo's mass
matrix and bias with the rows of its own equality constraints, whose rates are central differences of the rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

FILES = Path(__file__).parents[1] / "robots" / "files"


def case_of(name: str, seed: int = 0) -> dict[str, Any]:
    """Positions near those of the file, velocities that its equalities allow, forces, and the accelerations."""
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(FILES / name))
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_FRICTIONLOSS | off.mjDSBL_ACTUATION
    model.opt.disableflags |= off.mjDSBL_SPRING | off.mjDSBL_DAMPER
    model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    data = mujoco.MjData(model)
    draw = np.random.default_rng(seed)
    q = _closed(mujoco, model, data, model.qpos0 + 0.2 * draw.normal(size=model.nq))
    v, tau = draw.normal(size=(2, model.nv))
    rows = _rows(mujoco, model, data, q)[0]
    v = v - np.linalg.pinv(rows, rcond=1e-8) @ (rows @ v)
    step, ahead, behind = 1e-5, q.copy(), q.copy()
    mujoco.mj_integratePos(model, ahead, v, step)
    mujoco.mj_integratePos(model, behind, v, -step)
    change = (_rows(mujoco, model, data, ahead)[0] - _rows(mujoco, model, data, behind)[0]) / (2 * step)
    data.qpos[:], data.qvel[:] = q, v
    mujoco.mj_forward(model, data)
    matrix, push = np.zeros((model.nv, model.nv)), np.zeros(model.nv)
    for k, unit in enumerate(np.eye(model.nv)):
        mujoco.mj_mulM(model, data, push, unit)
        matrix[:, k] = push
    whole = np.block([[matrix, rows.T], [rows, np.zeros((len(rows), len(rows)))]])
    right = np.concatenate([tau - data.qfrc_bias, -change @ v])
    a = np.linalg.lstsq(whole, right, rcond=1e-10)[0][: model.nv]
    bodies = range(1, model.nbody)
    names = [model.joint(j).name or model.body(model.jnt_bodyid[j]).name for j in range(model.njnt)]
    for j in range(model.njnt):
        if model.jnt_type[j] == 0:
            names[j] = model.body(model.jnt_bodyid[j]).name
    return {
        "file": name, "names": names, "types": model.jnt_type.tolist(), "qadr": model.jnt_qposadr.tolist(),
        "vadr": model.jnt_dofadr.tolist(), "q": q.tolist(), "v": v.tolist(), "tau": tau.tolist(), "a": a.tolist(),
        "closes": len(rows),
        "xpos": {model.body(k).name: data.xpos[k].tolist() for k in bodies},
        "xmat": {model.body(k).name: data.xmat[k].tolist() for k in bodies},
    }  # fmt: skip


def _rows(mujoco: Any, model: Any, data: Any, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slopes and values of the equality constraints."""
    data.qpos[:], data.qvel[:] = q, 0.0
    mujoco.mj_forward(model, data)
    return data.efc_J.reshape(-1, model.nv).copy(), data.efc_pos.copy()


def _closed(mujoco: Any, model: Any, data: Any, q: np.ndarray) -> np.ndarray:
    mujoco.mj_normalizeQuat(model, q)
    for _ in range(50):
        rows, away = _rows(mujoco, model, data, q)
        if not len(away):
            return q
        mujoco.mj_integratePos(model, q, -np.linalg.pinv(rows, rcond=1e-8) @ away, 1.0)
    return q
