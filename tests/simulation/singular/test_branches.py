"""Runs over dead centres: on the branch of the motion with a note, or ended where they leave it, whatever the form."""

from itertools import product

import casadi as ca
import numpy as np
import pytest
from tests.support.records_of import records_of
from tests.support.slider_cranks import angle_at, parallelogram, slider_crank, slider_crank_with_coordinates

import daedalus as dd
from daedalus.simulation.between.dense import Dense
from daedalus.simulation.result.ending import Obstacle
from daedalus.simulation.result.records_on_the_way import DeadCentresPassed
from daedalus.simulation.singular.cut_pieces import dense_until

END = 5.0
# Crank and rod of equal length stand upright at odd multiples of a right angle.
UPRIGHT = np.pi / 2 + np.pi * np.arange(4)
# bdf refuses index 3.
METHODS = ("auto", "tsit5", "bdf", "radau3", "radau5", "radau9")
RUNS = [(index, method) for index in (2, 3) for method in METHODS if (index, method) != (3, "bdf")]


def passed(tr):
    return records_of(tr, DeadCentresPassed)


def assert_told(tr, rtol):
    """The run is on the branch of its motion all the way, and says what it passed or why it ended."""
    angles = tr["q"][:, 0]
    assert bool(passed(tr)) == (angles[-1] > UPRIGHT[0] + 0.1)
    if tr.success:
        # Errors of all steps add up: measured up to 50 rtol.
        assert angles[-1] == pytest.approx(angle_at(END), rel=300 * rtol)
        assert np.allclose(tr["q"][:, 1], -angles, atol=1e-2 * np.sqrt(rtol))
        return
    assert tr.status in ("stuck", "step_limit")
    if tr.status == "stuck":
        assert np.min(np.abs(UPRIGHT - angles[-1])) < 0.02
        assert tr.stop.obstacle in (Obstacle.SINGULAR_CONFIGURATION, Obstacle.LEFT_BRANCH)
        assert tr.stop.time == tr.end.time


@pytest.mark.parametrize("rtol", [1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9])
@pytest.mark.parametrize(("index", "method"), RUNS)
def test_no_run_is_on_another_branch_without_a_word(index, method, rtol):
    tr = dd.simulate(slider_crank(index=index), END, method=method, rtol=rtol, atol=1e-2 * rtol, max_steps=10_000)
    assert_told(tr, rtol)


@pytest.mark.parametrize("rtol", [1e-4, 1e-6])
@pytest.mark.parametrize("method", ["radau3", "radau5", "radau9", "bdf"])
def test_position_and_velocity_held_together(method, rtol):
    model = dd.reduce(slider_crank(), stabilise="ggl")
    tr = dd.simulate(model, END, method=method, rtol=rtol, atol=1e-2 * rtol, max_steps=4000)
    if method != "bdf":  # whose errors over thousands of steps are larger
        assert_told(tr, rtol)
    assert bool(passed(tr)) == (tr["q"][-1, 0] > UPRIGHT[0] + 0.1)


@pytest.mark.parametrize("step", [0.02, 0.1])
@pytest.mark.parametrize("method", ["rattle", "lobatto4", "lobatto6"])
def test_fixed_steps_of_mechanics_pass_between_two_of_them(method, step):
    tr = dd.simulate(slider_crank_with_coordinates(), END, method=method, step=step)
    assert tr.success
    (told,) = passed(tr)
    assert np.allclose([tr.at(t)["q"][0] for t in told.times], UPRIGHT, atol=1e-4)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "rattle", "step": 0.05},
        {"method": "lobatto4", "step": 0.05},
        {"method": "tsit5", "rtol": 1e-4},
        {"method": "dop853", "rtol": 1e-6},
        {"method": "radau5", "rtol": 1e-4},
    ],
    ids=lambda options: options["method"],
)
def test_a_parallelogram_stays_one(options):
    """The coupler never turns: its angle is not a kink, however it is rounded. A step may be as long as turns."""
    tr = dd.simulate(parallelogram(), END, **options)
    assert tr.success
    assert np.abs(tr["q"][:, 1]).max() < 1e-8
    (told,) = passed(tr)
    assert told.times == pytest.approx([(k * np.pi - 0.5) / 3.0 for k in (1, 2, 3, 4)], abs=1e-5)


@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("method", ["radau5", "radau9"])
def test_whether_a_run_passes_does_not_hang_on_a_last_digit(method, rtol):
    """Implicit steps onto a dead centre fail; whether one falls over it is chance, so these are led over, too."""
    cases = [(slider_crank(), angle_at(END), ("q", "v")), (parallelogram(), 0.5 + 3.0 * END, ("q",))]
    for (model, end, names), digits in product(cases, (0, 1, -1)):
        start = dd.initialise(model)
        moved = {name: np.asarray(start[name]) * (1 + digits * np.finfo(float).eps) for name in names}
        tr = dd.simulate(model, END, start=moved, method=method, rtol=rtol, atol=1e-2 * rtol)
        assert tr.success
        assert tr["q"][-1, 0] == pytest.approx(end, rel=300 * rtol)
        assert sum(len(told.times) for told in passed(tr)) == 4


def test_a_run_that_crawls_into_a_dead_centre_ends_soon():
    """Where rounding errors turn the coupler of the parallelogram, steps are some hundred spacings of numbers long."""
    tr = dd.simulate(parallelogram(), END, rtol=1e-8, atol=1e-10)
    if not tr.success:
        assert tr.status == "stuck"
        assert tr.work.steps < 100_000
        assert tr.stop.obstacle in (Obstacle.SINGULAR_CONFIGURATION, Obstacle.LEFT_BRANCH)
        assert tr.stop.equations == ("x",)
    assert np.abs(tr["q"][:, 1]).max() < 1e-6


@pytest.fixture(scope="module")
def leaving():
    """Options of a run that leaves its branch: which ones do is a matter of rounding errors, and many do."""
    for method in ("dop853", "bdf", "radau3", "radau9", "radau5"):
        for rtol in (1e-8, 1e-6, 1e-9, 1e-7):
            options = {"method": method, "rtol": rtol, "atol": 1e-2 * rtol}
            tr = dd.simulate(slider_crank(index=2), END, **options)
            if tr.stop.obstacle is Obstacle.LEFT_BRANCH:
                return options
    pytest.fail("all runs stay on their branches")


def test_a_run_that_leaves_its_branch_ends_there_with_the_reason(leaving):
    tr = dd.simulate(slider_crank(index=2), END, **leaving)
    assert tr.status == "stuck"
    assert tr["q"][-1, 0] % np.pi == pytest.approx(np.pi / 2, abs=1e-3)
    assert tr.stop_reason == (
        f"the run comes near a singular configuration (a dead centre) at t = {tr.time[-1]:.6g}: closure[0] hardly acts "
        "on the motion there, and the motion may go on in more than one way; the run has a kink there; "
        "try another start, or a constraint that leads it through"
    )
    # What is kept is read as any other run.
    assert np.all(np.diff(tr.time) > 0)
    middle = 0.5 * (tr.time[-2] + tr.time[-1])
    assert float(tr.at(middle)["q"][0]) == pytest.approx(angle_at(middle), abs=1e-4)
    assert float(tr.end["q"][0]) == tr["q"][-1, 0]
    with pytest.raises(dd.InputError, match="does not reach that time"):
        tr.at(tr.time[-1] + 0.1)


def test_raised_where_asked_for(leaving):
    with pytest.raises(dd.SolverError) as caught:
        dd.simulate(slider_crank(index=2), END, on_stop="raise", **leaving)
    assert str(caught.value).startswith(
        "The run of 'slider crank' stopped early.\n  the run comes near a singular configuration (a dead centre)"
    )
    assert str(caught.value).endswith("Try: another start, or a constraint that leads it through")
    assert not caught.value.trajectory.success


def test_saved_times_are_kept_until_there(leaving):
    every = dd.simulate(slider_crank(index=2), END, **leaving)
    tr = dd.simulate(slider_crank(index=2), END, save_at=np.linspace(0.0, END, 51), **leaving)
    assert tr.time.tolist() == np.linspace(0.0, END, 51)[: len(tr.time)].tolist()
    assert tr.time[-1] < float(tr.end.time) == pytest.approx(every.time[-1], rel=1e-9)
    assert tr.stop_reason == every.stop_reason


def test_events_behind_it_are_no_events_of_the_run(leaving):
    m = slider_crank(index=2)
    m.event("quarter", m["q"][0] - 1.0)
    m.event("half", m["q"][0] - 3.0)
    m.event("late", m.time - 4.9)
    tr = dd.simulate(m, END, **leaving)
    assert tr.success == (tr.events[-1].name == "late")
    assert all(event.time <= tr.time[-1] for event in tr.events)
    assert tr.events[0].name == "quarter"


def test_backwards():
    there = dd.simulate(slider_crank(), END, rtol=1e-9)
    back = dd.simulate(slider_crank(), (END, 0.0), start=there.end, rtol=1e-9)
    assert passed(there)
    assert passed(back)
    assert back["q"][-1, 0] == pytest.approx(0.3, abs=1e-6)


def test_prepared_runs_are_told_of_it_too(leaving):
    run = dd.prepare(slider_crank(index=2), END, **leaving)
    with pytest.raises(dd.SolverError, match="singular configuration"):
        run()
    assert run.trajectory().status == "stuck"
    smooth = dd.prepare(slider_crank(), END, save_at=[END], rtol=1e-9)
    assert smooth()[0, 0] == pytest.approx(angle_at(END), abs=1e-6)
    assert passed(smooth.trajectory())


@pytest.mark.parametrize("rod", [1.001, 1.05, 1.5, 3.0])
@pytest.mark.parametrize(("index", "method"), RUNS)
def test_longer_rods_have_no_dead_centre(index, method, rod):
    tr = dd.simulate(slider_crank(rod=rod, index=index), 2.0, method=method, rtol=1e-5, atol=1e-7)
    assert tr.success
    assert not passed(tr)


def test_what_comes_to_rest_upright_is_no_passage():
    """Swinging below the dead centre, with turns of all velocities."""
    m = slider_crank(speed=0.5)
    tr = dd.simulate(m, 1.0, method="radau5")
    assert tr.success
    assert not passed(tr)


def test_a_cut_polynomial_has_its_values():
    dense = Dense(np.array([0.0, 1.0]), np.array([1.0, 3.0]), np.array([[[1.0], [2.0], [0.0]], [[3.0], [4.0], [8.0]]]))
    cut = dense_until(dense, 2.0)
    theta = 0.25 / 1.0
    assert cut.ends.tolist() == [1.0, 2.0]
    assert cut.coefficients[1, :, 0] @ theta ** np.arange(3) == 3.0 + 4.0 * 0.125 + 8.0 * 0.125**2


def test_an_index_2_model_that_is_no_mechanism():
    """x' = w z, y' = z with x = sin y held by its rate: nothing to tell where directions only turn."""
    m = dd.Model("curve")
    x, y, z = m.state("x", start=0.0), m.state("y", start=0.0), m.algebraic("z")
    m.equation(m.der(y), 1.0 + 0 * z)
    m.equation(m.der(x), z)
    m.equation(x, ca.sin(y), name="curve")
    tr = dd.simulate(m, 10.0, method="radau5")
    assert tr.success
    assert not passed(tr)
