"""The same files in Pinocchio and MuJoCo: accelerations and poses. Their numbers are stored, with their source."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.support.random_mjcf import random_mjcf
from tests.support.random_urdf import random_urdf

import daedalus as dd

HERE = Path(__file__).parent
PINOCCHIO = json.loads((HERE / "pinocchio.json").read_text())["cases"]
PINOCCHIO_FILES = json.loads((HERE / "pinocchio_files.json").read_text())["cases"]
MUJOCO = json.loads((HERE / "mujoco.json").read_text())["cases"]


def places(labels: tuple[str, ...], name: str) -> list[int]:
    return [k for k, label in enumerate(labels) if label.startswith(f"{name}.")]


@pytest.mark.parametrize("case", PINOCCHIO, ids=lambda c: f"{c['seed']}-{'free' if c['free'] else 'fixed'}")
def test_urdf_as_pinocchio(case: dict) -> None:
    robot = dd.read_urdf(random_urdf(case["seed"]), base="free" if case["free"] else "fixed").robot()
    compare_with_pinocchio(robot, case)


@pytest.mark.parametrize("case", PINOCCHIO_FILES, ids=lambda c: f"{c['file']}-{'free' if c['free'] else 'fixed'}")
def test_a_written_urdf_as_pinocchio(case: dict) -> None:
    """A root without mass on a fixed joint, links that fixed joints hold together, axes of any length, odd names."""
    robot = dd.read_urdf(HERE / "files" / case["file"], base="free" if case["free"] else "fixed").robot()
    compare_with_pinocchio(robot, case)


def compare_with_pinocchio(robot: dd.Robot, case: dict) -> None:
    q, basis = np.zeros(len(robot.labels["q"])), np.zeros((len(robot.labels["v"]), len(case["v"])))
    given = np.array(case["q"])
    for name, at, column, size in zip(case["names"], case["idx_q"], case["idx_v"], case["nqs"]):
        if size == 7:
            x, y, z, w = given[at + 3 : at + 7]
            q[:3], q[3:7] = given[at : at + 3], (w, x, y, z)
            # Its free base moves with its own axes, ours with those of the world.
            turn = dd.rotation_from_quaternion(np.array([w, x, y, z]))
            basis[:3, column : column + 3], basis[3:6, column + 3 : column + 6] = turn, np.eye(3)
            continue
        (k,), (j,) = places(robot.labels["q"], name), places(robot.labels["v"], name)
        q[k] = np.arctan2(given[at + 1], given[at]) if size == 2 else given[at]
        basis[j, column] = 1.0
    v = basis @ case["v"]
    # Forces in axes of the world; accelerations of a free base gain ω × v.
    tau = np.linalg.solve(basis.T, np.array(case["tau"]))
    found, wanted = robot.forward_dynamics(q, v, tau), basis @ case["a"]
    if case["free"]:
        spin, speed = np.array(case["v"][3:6]), np.array(case["v"][:3])
        wanted[:3] += basis[:3, :3] @ np.cross(spin, speed)
    condition = np.linalg.cond(robot.mass_matrix(q))
    assert np.abs(found - wanted).max() <= 1e-12 * condition * np.abs(wanted).max()
    np.testing.assert_allclose(robot.pose(case.get("frame", "link6"), q), case["pose"], atol=1e-13)
    np.testing.assert_allclose(robot.centre_of_mass(q), case["com"], atol=1e-13)


@pytest.mark.parametrize("case", MUJOCO, ids=lambda c: str(c["seed"]))
def test_mjcf_as_mujoco(case: dict) -> None:
    robot = dd.read_mjcf(random_mjcf(case["seed"])).robot()
    q, basis = np.zeros(len(robot.labels["q"])), np.zeros((len(robot.labels["v"]), len(case["v"])))
    for name, kind, at, column in zip(case["names"], case["types"], case["qadr"], case["vadr"]):
        own = places(robot.labels["q"], name or "b0"), places(robot.labels["v"], name or "b0")
        assert (len(own[0]), len(own[1])) == {0: (7, 6), 1: (4, 3), 2: (1, 1), 3: (1, 1)}[kind]
        q[own[0]] = case["q"][at : at + len(own[0])]
        basis[own[1], range(column, column + len(own[1]))] = 1.0
    found, wanted = robot.forward_dynamics(q, basis @ case["v"], basis @ case["tau"]), basis @ case["a"]
    condition = np.linalg.cond(robot.mass_matrix(q))
    assert np.abs(found - wanted).max() <= 1e-10 * condition * np.abs(wanted).max()
    for name, place in case["xpos"].items():
        np.testing.assert_allclose(robot.pose(name, q)[:3, 3], place, atol=1e-12)
