"""Which equations a start obeys, and at which stage each unknown is found."""

import numpy as np
from started_models import energy_pendulum, pendulum

from daedalus.initialisation.start_equations import start_equations


def test_the_rows_of_a_pendulum():
    equations = start_equations(pendulum().freeze(), np.ones(1))
    names = {row.name: row.stage for row in equations.rows}
    assert names["rod"] == -2
    assert names["rod, differentiated once"] == names["kinematics[0]"] == -1
    assert names["rod, differentiated twice"] == names["newton[1]"] == 0
    stages = {equations.label(k): int(stage) for k, stage in enumerate(equations.stage)}
    assert (stages["p[0]"], stages["v[0]"], stages["v_dot[0]"], stages["force"]) == (-2, -1, 0, 0)


def test_a_derivative_that_is_a_state_is_one_unknown():
    equations = start_equations(energy_pendulum().freeze(), np.zeros(0))
    labels = [equations.label(k) for k in range(len(equations.unknowns))]
    assert sorted(labels) == sorted({"q[0]", "q[1]", "q_dot[0]", "q_dot[1]", "q_ddot[0]", "q_ddot[1]", "rod"})
    assert not any("is the derivative of" in row.label for row in equations.rows)


def test_no_row_contains_an_unknown_of_a_later_stage():
    for model in (pendulum(), pendulum(3), energy_pendulum()):
        system = model.freeze()
        equations = start_equations(system, np.ones(system.sizes["p"]))
        for r, row in enumerate(equations.rows):
            assert max(equations.stage[equations.unknowns_in(r)]) <= row.stage
