"""Four independent ways to one derivative, on every known system that explicit methods run.

The error-controlled variational equations, the derivative of the discrete map, its adjoint, and differences of the same
map with steps and projections held. A new system is tested here without new code.
"""

import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue

# Stiff; or more coupled equations than are solved as formulas; or an input that would have to be differentiated.
NOT_RUN = {"robertson", "chemical_akzo", "rod_chain", "nilpotent_3"}
RTOL = 1e-8
# The first part of each span: long enough to move, short enough for chaos to stay away.
SHARE = 0.2


@pytest.mark.parametrize("name", [n for n in catalogue.names() if n not in NOT_RUN])
def test_variational_discrete_adjoint_and_differences_agree(name, monkeypatch):
    # Each function is called some hundred times only: compiling the large mechanisms would take longer than that.
    monkeypatch.setenv("DAEDALUS_COMPILER", "interpreter")
    known = catalogue.load(name)
    t0, t1 = known.span
    options = {"start": known.start, "inputs": known.inputs, "rtol": RTOL, "atol": 1e-3 * RTOL}
    sens = dd.sensitivities(known.model, (t0, t0 + SHARE * (t1 - t0)), **options)
    report = sens.verify()
    assert report.passed, report
    assert report["differences"].error < 1e-7
    slope = report["differences"].slope
    assert slope is None or abs(slope - 2) < 0.15
    assert report["the adjoint"].error < 1e-12
    # Sensitivities have errors of their own, in proportion to what they amplify; measured up to 30 tolerances.
    assert report["the steps differentiated"].error < 100 * RTOL * (1 + norm(sens))


def norm(sens):
    """‖S‖ in the sizes of what is varied and of the states."""
    sizes = sens._directions.sizes(sens.system, sens._case.p)
    return np.abs(sens._slopes[0] * sizes / sens.system.nominal["x"][:, None]).max()
