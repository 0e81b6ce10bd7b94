"""Behind a corner of an input the first steps are too long: few attempts of Rosenbrock methods find how long to be."""

import numpy as np
import pytest
from tests.components.by_ngspice import netlist

import daedalus as dd


@pytest.mark.wide
@pytest.mark.parametrize(("method", "share"), [("rodas5p", 0.3), ("rodas4", 0.35)])
def test_refused_steps_of_an_operational_amplifier_are_few(method, share):
    """Errors fall like the first power of the step there: a method that trusts in its order is refused 17 times."""
    tr = dd.simulate(dd.components.from_spice(netlist("opamp_741")), 2e-4, method=method, rtol=1e-2)
    assert tr.success, tr.stop_reason
    assert tr.work.rejected < share * tr.work.steps
    numbers = np.array(tr.steps.rejected)
    assert numbers.max() <= 10
