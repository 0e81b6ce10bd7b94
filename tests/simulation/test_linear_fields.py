"""Fields with linear equations by multistep methods: one Jacobian serves until a parameter in it changes."""

from typing import Any

import numpy as np
import pytest

import daedalus as dd
from daedalus.analysis.structure.system_structure import LONG_EQUATIONS

CELLS = 2500  # so that the equations are long
MIDDLES = (np.arange(CELLS) + 0.5) / CELLS
SLOWEST = 4 * CELLS**2 * np.sin(np.pi / (2 * CELLS)) ** 2


def field(model: dd.Model, factor: Any) -> tuple[Any, Any]:
    """A rod with cold ends in its slowest shape, and u' without what is added."""
    u = model.state("u", CELLS, start=np.sin(np.pi * MIDDLES))
    return u, factor * dd.laplacian(u, 1 / CELLS, boundary=("dirichlet", 0.0))


def run(model: dd.Model, end: float = 0.1, **more: Any) -> dd.Trajectory:
    assert model.freeze().function.n_instructions() >= LONG_EQUATIONS
    return dd.simulate(model, end, method="bdf", rtol=1e-6, atol=1e-9, save_at=[end], **more)


def test_one_jacobian_and_one_correction_a_step() -> None:
    m = dd.Model("rod")
    u, flow = field(m, m.parameter("k", 1.0))
    m.equation(m.der(u), flow)
    done = run(m)
    np.testing.assert_allclose(done["u"][-1], np.exp(-SLOWEST * 0.1) * np.sin(np.pi * MIDDLES), rtol=3e-6)
    assert done.work.jacobians == 1
    assert done.work.factorisations > 5
    assert done.work.newton <= 1.3 * (done.work.steps + done.work.rejected)
    # The next run has its own parameters.
    again = run(m, parameters={"k": 2.0})
    np.testing.assert_allclose(again["u"][-1], np.exp(-2 * SLOWEST * 0.1) * np.sin(np.pi * MIDDLES), rtol=1e-5)


def test_an_event_that_changes_a_coefficient_gives_a_new_jacobian() -> None:
    m = dd.Model("rod")
    k = m.discrete("k", start=1.0)
    u, flow = field(m, k)
    m.equation(m.der(u), flow)
    m.event("doubled", m.time - 0.04, reset={"k": 2.0})
    done = run(m)
    end = np.exp(-SLOWEST * (0.04 + 2 * 0.06))
    np.testing.assert_allclose(done["u"][-1], end * np.sin(np.pi * MIDDLES), rtol=1e-5)
    assert 2 <= done.work.jacobians <= 4


@pytest.mark.parametrize("kind", ["time", "input", "cubic"])
def test_coefficients_that_change_on_the_way_are_taken_anew(kind: str) -> None:
    m = dd.Model("rod")
    inputs: dict[str, Any] = {}
    factor: Any = 1.0
    if kind == "time":
        factor = 1 + np.sin(20 * m.time)
    elif kind == "input":
        factor, inputs = m.input("k"), {"k": lambda t: 1 + np.sin(20 * t)}
    u, flow = field(m, factor)
    m.equation(m.der(u), flow - (u**3 if kind == "cubic" else 0))
    done = run(m, inputs=inputs)
    assert done.work.jacobians > 1
    if kind != "cubic":
        end = np.exp(-SLOWEST * (0.1 + (1 - np.cos(2.0)) / 20))
        np.testing.assert_allclose(done["u"][-1], end * np.sin(np.pi * MIDDLES), rtol=1e-5)


def test_a_step_in_the_equations_has_slopes_of_zero_and_is_not_linear() -> None:
    """Heat is taken out once the middle is colder than a half: slopes are constant, the equations are not linear."""
    m = dd.Model("rod")
    u, flow = field(m, 1.0)
    m.equation(m.der(u), flow - 2 * (u[CELLS // 2] < 0.5))
    done = run(m)
    other = dd.simulate(m, 0.1, method="radau5", rtol=1e-6, atol=1e-9, save_at=[0.1])
    np.testing.assert_allclose(done["u"][-1], other["u"][-1], atol=3e-6)
