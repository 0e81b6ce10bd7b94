"""Values between the steps, of every known system by every method that controls its error: as good as the steps.

Within ten tolerances, rtol |x| + atol in nominal values, of a much finer run at random times, beside what both ends of
the step are off by; |x| is the largest in the step, which is what steps are controlled by.
"""

import numpy as np
import pytest
from tests.promises.test_known_systems import COARSE, METHODS, fits
from tests.support.between_steps import fine_run, worst_between, worst_from_rows

import daedalus as dd
from daedalus import catalogue
from daedalus.simulation.result.records_on_the_way import DeadCentresPassed

MOST = 10.0
RTOL, ATOL = 1e-6, 1e-9
# In the default ring: a stiff ODE, index 1, 2 and 3, and a mechanism by its reduced equations.
SAMPLE = {
    *(("hires", "auto"), ("chemical_akzo", "radau5"), ("rolling_disc", "radau5"), ("rolling_disc", "bdf")),
    *(("pendulum_3d", "radau5"), ("pendulum_3d", "radau9"), ("andrews", "radau5"), ("andrews", "auto")),
    *(("car_axis", "radau9"), ("pleiades", "dop853"), ("small_dae", "sdirk4"), ("pollution", "rodas5p")),
}
# Where errors of rows are many tolerances and change from one row to the next (modes that turn faster than the steps
# follow, forces that follow places steeply), the ends of a step do not tell what lies between them: values are compared
# with the motion that begins in the row before. That of the beam has 6400 rad/s, of which steps of Radau methods keep
# as much as the tolerance allows; accelerations of elastic modes of the flexible crank are 1e8 times the errors of
# their places.
FROM_ROWS = {
    *(("beam", method) for method in ("auto", *METHODS) if method != "bdf"),
    *(("flexible_slider_crank", method) for method in ("auto", "radau3", "radau5", "radau9", "bdf")),
    *((name, "cash_karp") for name in ("andrews", "rod_chain", "four_bar_windows")),
}
# Forces in the bars of the windows have poles at their dead centres, which no tolerance resolves: explicit methods,
# which solve forces from places, have up to 2300 tolerances beside one (radau5, whose forces are of the steps, 6).
# The forces count at all other times, 75 of 80, and places at all of them; a note of the run tells it.
POLES = {("four_bar_windows", method) for method in ("auto", "dopri5", "tsit5", "dop853", "cash_karp")}


def marks_of(name, method):
    """Where a run belongs."""
    return [] if (name, method) in SAMPLE else [pytest.mark.wide]


RUNS = [
    pytest.param(name, method, marks=marks_of(name, method), id=f"{name}-{method}")
    for name in catalogue.names()
    for method in ["auto", *(row.name for row in METHODS.values() if row.adaptive and row.name not in COARSE)]
]


@pytest.mark.parametrize(("name", "method"), RUNS)
def test_values_between_steps_are_as_good_as_the_steps(name, method):
    if not fits(method, catalogue.load(name)):
        pytest.skip(f"{method} does not solve {name}")
    known, fine = fine_run(name)
    assert fine.success
    tr = dd.simulate(
        known.model, known.span, start=known.start, inputs=known.inputs, method=method, rtol=RTOL, atol=ATOL
    )
    assert tr.success
    poles = (name, method) in POLES
    assert not poles or any(isinstance(record, DeadCentresPassed) for record in tr.records)
    if (name, method) in FROM_ROWS:
        excess, where = worst_from_rows(known, fine, tr, RTOL, ATOL, poles=poles)
        assert excess < MOST, where
    else:
        excess, where = worst_between(fine, tr, RTOL, ATOL, poles=poles)
        assert excess < MOST, where


@pytest.mark.wide
@pytest.mark.parametrize("method", ["radau5", "rodas4"])
def test_steps_behind_a_jump_do_not_lead_over_what_settles_there(method):
    """Atomic oxygen of emep settles within 0.1 ms behind sunset; steps of 140 s kept half of it for as long."""
    known, fine = fine_run("emep")
    call = {"start": known.start, "inputs": known.inputs}
    tr = dd.simulate(known.model, known.span, method=method, rtol=1e-4, atol=1e-7, **call)
    sunset = 72000.0
    times = sunset + np.geomspace(0.05, 400.0, 60)
    exact = fine.at(times)["OP"]
    assert np.abs(tr.at(times)["OP"] - exact).max() < 10 * 1e-4 * np.abs(exact).max()
