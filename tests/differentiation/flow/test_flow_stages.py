"""The stage of a flow: as formulas or as the equations are written, parameters apart or not, one and the same map."""

import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.differentiation.flow import flow_stages
from daedalus.differentiation.flow.flow_core import FlowCore
from daedalus.differentiation.flow.flow_stages import stage_of, written_is_shorter
from daedalus.simulation.plant.solvable import solvable


def point(name):
    known = catalogue.load(name)
    system = solvable(known.model)
    inputs = [np.ravel(value) for value in known.inputs.values()]
    x = np.array(system.default_start)
    for key, value in known.start.items():
        x[system.place(key).positions] = np.ravel(value)
    u = np.concatenate(inputs) if inputs else np.zeros(system.sizes["u"])
    return system, x, u, np.array(system.start["p"])


def all_of(core, x, u, p):
    """Value, first derivatives with and without parameters, and the contracted second derivative."""
    weights = np.linspace(1.0, 2.0, len(x))
    return [
        core.value(x, u, p),
        core.first(x, u, p)[1],
        core.first(x, u, p, parameters=True)[1],
        core.second(x, u, p, weights)[3],
        *core.second(x, u, p, weights, parameters=True)[2:],
    ]


def same(found, expected):
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, atol=1e-10 * np.abs(b).max())


@pytest.mark.parametrize("method", ["radau5", "gauss2"])
def test_equations_as_written_and_formulas_are_one_map(method):
    system, x, u, p = point("pendulum_3d")
    cores = [
        FlowCore(system, dd.tableau(method), 0.02, 3, 0.0, stage_of(system, True, written)) for written in (True, False)
    ]
    assert [core.stage.sizes["z"] for core in cores] == [1, 0]
    same(*(all_of(core, x, u, p) for core in cores))


@pytest.mark.parametrize("method", ["rk4", "radau5"])
def test_one_function_serves_with_and_without_parameters(method, monkeypatch):
    system, x, u, p = point("pendulum_3d")
    apart = FlowCore(system, dd.tableau(method), 0.02, 2, 0.0)
    expected = all_of(apart, x, u, p)
    monkeypatch.setattr(flow_stages, "LARGE", 0)
    system, x, u, p = point("pendulum_3d")
    together = FlowCore(system, dd.tableau(method), 0.02, 2, 0.0)
    same(all_of(together, x, u, p), expected)
    assert len(apart.stage._made) == 4
    assert len(together.stage._made) == 2


def test_mechanisms_are_stepped_as_they_are_written():
    """What is compiled for a mechanism does not grow with the elimination of its accelerations and multipliers."""
    system, *_ = point("delta_robot")
    assert written_is_shorter(system)
    core = FlowCore(system, dd.tableau("radau5"), 1e-3, 1, 0.0)
    assert core.stage.sizes["z"] == 3
    assert core.stage.main(True).linear.function.n_instructions() < 3000
    assert not written_is_shorter(solvable(catalogue.load("quadrotor").model))
