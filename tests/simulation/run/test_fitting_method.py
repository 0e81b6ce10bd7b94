"""Which implicit methods solve which index, and what implicit Euler does on index 3."""

import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.simulation.result.records_of_methods import FirstStepsWrong


@pytest.mark.parametrize("step", [1e-2, 1e-3])
def test_implicit_euler_on_the_nilpotent_system(step):
    # u = cos t: x1 = -u'' = cos t is wrong by u''/2 = -1/2 at the first step, and to O(h) from the second on.
    model = catalogue.load("nilpotent_3").model
    tr = dd.simulate(
        model, 10.5 * step, start={"x": [None] * 3}, inputs={"u": np.cos}, method="implicit_euler", step=step
    )
    error = tr["x"][:, 0] - np.cos(tr.time)
    assert error[1] == pytest.approx(-0.5, abs=step)
    assert np.abs(error[2:-1]).max() < 2 * step
    # The last step is half as long: a change of step, wrong by (1 - α)/(2α) with α = 1/2.
    assert error[-1] == pytest.approx(0.5, abs=12 * step)
    assert FirstStepsWrong(("x[0]",)) in tr.records


def test_implicit_euler_converges_on_the_pendulum():
    pendulum = catalogue.load("pendulum_3d")
    found = dd.convergence(pendulum.model, "implicit_euler", [2e-3, 1e-3, 5e-4], span=0.2, inputs=pendulum.inputs)
    assert found.order == pytest.approx(1.0, abs=0.1)
    assert found.expected == 1
