"""Models with a choice of states: runs choose anew where another choice is better, and the solution does not change."""

import pickle

import casadi as ca
import numpy as np
import pytest
from tests.support.records_of import records_of

import daedalus as dd
from daedalus import catalogue
from daedalus.compilation import counts
from daedalus.reduction.selection.dominant_columns import BOUND, dominant_columns, worst_rate
from daedalus.simulation.plant.plants import implicit_plant_of
from daedalus.simulation.result.ending import Obstacle
from daedalus.simulation.result.records_on_the_way import StatesSelected

GRAVITY = 9.81
TURNING = 7.0  # rad/s at the start: enough to go over the top


def pendulum(rate=TURNING):
    m = dd.Model("pendulum")
    p = m.coordinate("p", 2, start=[1.0, 0.0], rate=[0.0, rate])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(p)))
    m.potential_energy(GRAVITY * p[1])
    m.constraint("rod", ca.sumsqr(p) - 1)
    return m


def selected(m, **options):
    return dd.reduce(m, stabilise="dummy_derivatives", **options)


def by_angle(times, rate=TURNING):
    m = dd.Model("angle")
    a, w = m.state("a", start=0.0), m.state("w", start=rate)
    m.equation(m.der(a), w)
    m.equation(m.der(w), -GRAVITY * ca.cos(a))
    return dd.simulate(m, (0.0, times[-1]), save_at=times, rtol=1e-12, atol=1e-13)


def renewed(tr):
    """The times at which states were selected anew."""
    return [told.time for told in records_of(tr, StatesSelected) if told.time is not None]


# -- a pendulum that goes full circle ---------------------------------------------------------------------------


# BDF begins at order 1 in each of the 44 pieces; it promises 1e4 rtol at the end.
@pytest.mark.parametrize(
    ("method", "error", "drift"), [("radau5", 1e-6, 2e-9), ("bdf", 1e-4, 2e-7), ("auto", 1e-6, 1e-8)]
)
def test_a_pendulum_that_goes_full_circle(method, error, drift):
    times = np.linspace(0, 10, 41)
    exact = by_angle(times)
    n = selected(pendulum())
    tr = dd.simulate(n, 10.0, save_at=times, method=method, rtol=1e-8)
    turns = exact["a"][-1] / (2 * np.pi)
    assert turns > 10.7
    # The choice changes where |p1/p0| or |p0/p1| reaches 2: once in every quarter turn.
    wanted = np.arctan(2.0) + np.pi / 2 * np.arange(int(4 * turns + 1))
    assert len(tr.pieces) == 1 + np.sum(wanted < exact["a"][-1]) == 44
    assert np.abs(by_angle(renewed(tr))["a"] - wanted[:43]).max() < 1e-4
    place = np.column_stack([np.cos(exact["a"]), np.sin(exact["a"])])
    speed = exact["w"][:, None] * np.column_stack([-place[:, 1], place[:, 0]])
    assert np.abs(tr["p"] - place).max() < error
    assert np.abs(tr["p_dot"] - speed).max() < 20 * error
    assert np.abs(2 * tr["rod"] + exact["w"] ** 2 - GRAVITY * np.sin(exact["a"])).max() < 200 * error
    # Constraints are equations: they hold as well as Newton's method solves them.
    steps = dd.simulate(n, 10.0, method=method, rtol=1e-8)
    assert steps.drift()["rod"] < drift
    assert steps.drift()["rod, differentiated once"] < 20 * drift
    assert tr.events == []


def test_derivatives_are_what_the_equations_say_not_slopes_of_polynomials():
    tr = dd.simulate(selected(pendulum()), 2.0, method="radau5", rtol=1e-6)
    p, v, force = tr["p"], tr["p_rate"], tr["rod"]
    assert np.array_equal(tr["p_dot"], v)
    assert np.abs(tr["p_rate_dot"] - 2 * p * force[:, None] + [0, GRAVITY]).max() < 1e-12
    inside = tr.at(np.linspace(0.01, 1.99, 57))
    assert np.abs(np.sum(inside["p"] * inside["p_rate_dot"] + inside["p_rate"] ** 2, axis=1)).max() < 2e-3


def test_a_pendulum_that_swings_keeps_its_choice():
    tr = dd.simulate(selected(pendulum(rate=0.0)), 1.0, start={"p": [0.3, -np.sqrt(1 - 0.09)]}, method="radau5")
    assert len(tr.pieces) == 1
    assert tr.records[-1] == StatesSelected(None, ("p[0]", "p_rate[0]"), ("p[1]", "p_rate[1]"))
    assert tr.notes[-1] == "states selected at the start: p[0], p_rate[0]; dependent: p[1], p_rate[1]"


COARSE = [(name, {"rtol": rtol}) for name in ("radau5", "radau9", "bdf", "rodas5p") for rtol in (1e-2, 1e-4)]


@pytest.mark.parametrize(("method", "options"), [*COARSE, ("radau3", {"step": 5e-3}), ("gauss2", {"step": 5e-3})])
def test_coarse_runs_choose_as_often(method, options):
    """The state at the event is only as good as the tolerance: the choice is made anew all the same."""
    tr = dd.simulate(selected(pendulum()), 2.0, method=method, **options)
    assert tr.success
    assert len(tr.pieces) in (9, 10)


def test_methods_and_what_they_say():
    n = selected(pendulum())
    tr = dd.simulate(n, 1.0)
    assert tr.method == "radau5"
    assert tr.notes[0] == "auto: radau5, implicit, because dependent states follow from constraints in every step"
    quick = dd.simulate(n, 1.0, method="rodas5p", rtol=1e-8)
    # An explicit method integrates all states and keeps the constraints by projection.
    explicit = dd.simulate(n, 1.0, method="dopri5", rtol=1e-10)
    assert len(explicit.pieces) == 1
    assert explicit.drift()["rod"] < 1e-14
    assert np.abs(quick["p"][-1] - explicit["p"][-1]).max() < 1e-6
    assert np.abs(dd.prepare(n, 1.0, save_at=[1.0], rtol=1e-9)()[-1, :2] - explicit["p"][-1]).max() < 1e-7


def test_nothing_is_compiled_for_another_choice():
    n = selected(pendulum())
    dd.simulate(n, 0.1, method="radau5")
    before = counts()
    assert len(dd.simulate(n, 3.0, method="radau5").pieces) == 14
    assert counts() == before


# -- events, inputs, files ---------------------------------------------------------------------------------------


def test_events_of_the_model_happen_between():
    """A kick at every passage of the lowest point, and an end after some time."""
    m = pendulum()
    p = m["p"]
    m.event("kick", p[0], direction=1, reset={"p_dot": 1.05 * m["p_dot"]})
    m.event("late", m.time - 2.5, terminal=True)
    tr = dd.simulate(selected(m), 5.0, method="radau5", rtol=1e-9)
    other = dd.simulate(dd.reduce(m), 5.0, rtol=1e-11, atol=1e-12)
    assert tr.stop_reason == "event 'late' ended the run at t = 2.5"
    assert [e.name for e in tr.events] == [e.name for e in other.events]
    assert np.abs(np.array([e.time for e in tr.events]) - [e.time for e in other.events]).max() < 1e-6
    assert len(tr.pieces) > 8
    assert np.abs(tr["p"][-1] - other["p"][-1]).max() < 1e-5


def test_inputs_by_table_and_function():
    m = pendulum()
    push = m.input("push")
    m.generalised_force(m["p"], push * ca.vertcat(1, 0))
    n = selected(m)
    for value in (lambda t: float(np.sin(t)) if t else 0.0, dd.signal([0.0, 1.0, 2.0], [0.0, 1.0, -1.0])):
        tr = dd.simulate(n, 2.0, inputs={"push": value}, method="radau5", rtol=1e-8)
        other = dd.simulate(dd.reduce(m), 2.0, inputs={"push": value}, rtol=1e-10, atol=1e-12)
        assert len(tr.pieces) > 5
        assert np.abs(tr["p"][-1] - other["p"][-1]).max() < 1e-5


def test_switches_are_located_as_in_other_runs():
    """A wind that blows on one side only: its edge and the changes of the choice cut steps alike."""
    m = pendulum()
    m.generalised_force(m["p"], ca.if_else(m["p"][0] > 0.3, 2.0, 0.0) * ca.vertcat(0, 1))
    tr = dd.simulate(selected(m), 2.0, method="radau5", rtol=1e-9)
    other = dd.simulate(dd.reduce(m), 2.0, rtol=1e-11, atol=1e-12)
    assert len(tr.pieces) > 5
    assert np.abs(tr["p"][-1] - other["p"][-1]).max() < 1e-6


def test_backwards_and_again():
    n = selected(pendulum())
    there = dd.simulate(n, 2.0, method="radau5", rtol=1e-10, atol=1e-12)
    back = dd.simulate(n, (2.0, 0.0), start=there.end, method="radau5", rtol=1e-10, atol=1e-12)
    assert len(back.pieces) > 5
    assert np.abs(back["p"][-1] - [1.0, 0.0]).max() < 1e-7


def test_a_run_travels(tmp_path):
    n = pickle.loads(pickle.dumps(selected(pendulum())))
    tr = dd.simulate(n, 2.0, method="radau5")
    tr.save(tmp_path / "run.nc")
    for twin in (pickle.loads(pickle.dumps(tr)), dd.load(tmp_path / "run.nc")):
        at = np.linspace(0, 2, 23)
        assert np.array_equal(twin.at(at)["p_dot"], tr.at(at)["p_dot"])
        assert twin.drift().keys() == tr.drift().keys()


def test_sweeps_choose_for_every_case():
    en = dd.sweep(selected(pendulum()), 2.0, over={"p_rate[1]": [0.5, 7.0]}, method="radau5", rtol=1e-8)
    assert np.abs((en["p"] ** 2).sum("p_index") - 1).max() < 1e-7


def test_an_inconsistent_start_is_refused_by_the_name_of_the_constraint():
    n = selected(pendulum())
    with pytest.raises(dd.InconsistentStartError) as caught:
        dd.simulate(n, 1.0, start={"p": [0.9, 0.0]}, method="radau5")
    assert str(caught.value).startswith("rod and the given p = (0.9, 0) disagree by 0.1")
    start = dd.initialise(n, {"p": [0.6, None], "p_rate": [None, 0.5]})
    tr = dd.simulate(n, 1.0, start=start, method="radau5")
    assert tr["p"][0] == pytest.approx([0.6, 0.8])


def test_rates_have_two_names():
    """p_dot is p_rate: either gives the start, and both at once have to agree."""
    n = selected(pendulum())
    for start in ({"p_dot": [3.0, 0.0]}, {"p_rate": [3.0, 0.0]}, {"p_dot": [3.0, 0.0], "p_rate": [3.0, 0.0]}):
        tr = dd.simulate(n, 0.1, start={"p": [0.0, -1.0], **start}, method="radau5")
        assert tr["p_rate"][0].tolist() == tr["p_dot"][0].tolist() == [3.0, 0.0]
    with pytest.raises(dd.InconsistentStartError, match="rate of p"):
        dd.initialise(n, {"p": [0.0, -1.0], "p_dot": [3.0, 0.0], "p_rate": [2.0, 0.0]})


def test_a_singular_configuration_ends_the_run_with_the_reason():
    """On x² = y² all choices fail at the crossing of the lines, s = 1 - t - t² / 20 = 0; a pull along x alone needs a
    force of the constraint, which grows without bound there."""
    m = dd.Model("crossing")
    p = m.coordinate("p", 2, start=[1.0, 1.0], rate=[-1.0, -1.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(p)))
    m.potential_energy(0.2 * p[0])
    m.constraint("lines", p[0] ** 2 - p[1] ** 2)
    n = selected(m)
    tr = dd.simulate(n, 3.0, method="radau5")
    assert not tr.success
    assert (tr.stop.obstacle, tr.stop.equations) == (Obstacle.SINGULAR_CONFIGURATION, ("lines",))
    assert tr.stop.sentence == "; ".join(
        [
            f"the run comes near a singular configuration at t = {tr.stop.time:.6g}: lines hardly determines any of "
            "its states there",
            *tr.stop.facts,
        ]
    )
    assert tr.stop.time == tr.time[-1] == pytest.approx(10 * (np.sqrt(1.2) - 1), abs=1e-3)
    with pytest.raises(dd.SingularModelError) as caught:
        dd.simulate(n, 1.0, start={"p": [0.0, 0.0], "p_rate": [1.0, 1.0], "lines": 0.0}, method="radau5")
    assert str(caught.value) == (
        "No choice of states is regular at t = 0.\n"
        "  lines does not determine any 1 of p[0], p[1] there\n"
        "  Because the constraints depend on each other at this point: a singular configuration.\n"
        "  Try: another start or other parameters, so that the motion does not pass this point"
    )


# -- other mechanisms and systems --------------------------------------------------------------------------------


def changes(m, jacobian, span, **options):
    """How often the best choice changes along another run, looked at on a fine grid."""
    times = np.linspace(*span, 4001)
    positions = dd.simulate(dd.reduce(m), span, rtol=1e-10, atol=1e-12, **options).at(times)
    chosen, count = None, 0
    for k in range(len(times)):
        matrix = jacobian({v: positions[v][k] for v in m.variables if m.variables[v].kind == "state"})
        if chosen is None:
            chosen = dominant_columns(matrix)
        elif worst_rate(matrix, chosen) > BOUND:
            chosen, count = dominant_columns(matrix, chosen), count + 1
    return count


def against_projection(m, span, error, **options):
    tr = dd.simulate(selected(m), span, method="radau9", rtol=1e-9, **options)
    other = dd.simulate(dd.reduce(m), span, rtol=1e-11, atol=1e-12, **options)
    for v in (v for v in m.variables.values() if v.kind == "state"):
        assert np.abs(tr[v.name][-1] - other[v.name][-1]).max() < error, v.name
    return tr


def test_a_spherical_pendulum_over_the_top():
    m = dd.Model("spherical")
    p = m.coordinate("p", 3, start=[1.0, 0.0, 0.0], rate=[0.0, 3.0, 7.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(p)))
    m.potential_energy(GRAVITY * p[2])
    m.constraint("rod", ca.sumsqr(p) - 1)
    tr = against_projection(m, 4.0, 1e-6)
    assert len(tr.pieces) == 1 + changes(m, lambda at: at["p"][None, :], (0.0, 4.0)) == 21


@pytest.mark.wide
def test_a_double_pendulum_in_cartesian_coordinates():
    m = dd.Model("double")
    a = m.coordinate("a", 2, start=[1.0, 0.0], rate=[0.0, 6.0])
    b = m.coordinate("b", 2, start=[2.0, 0.0], rate=[0.0, 14.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(a)) + 0.5 * ca.sumsqr(m.rate(b)))
    m.potential_energy(GRAVITY * (a[1] + b[1]))
    m.constraint("upper", ca.sumsqr(a) - 1)
    m.constraint("lower", ca.sumsqr(b - a) - 1)
    n = selected(m)
    assert len(n.freeze().choices) == 1
    tr = against_projection(m, 2.0, 1e-5)

    def jacobian(at):
        rod = at["b"] - at["a"]
        return np.array([[*at["a"], 0, 0], [*-rod, *rod]])

    assert len(tr.pieces) == 1 + changes(m, jacobian, (0.0, 2.0)) == 9


@pytest.mark.parametrize(("name", "pieces"), [("slider_crank", 1), ("four_bar", 1), ("cstr", 1), ("car_axis", 1)])
def test_known_systems(name, pieces):
    k = catalogue.load(name)
    tr = dd.simulate(selected(k.model), k.span, start=k.start, inputs=k.inputs, rtol=1e-8)
    assert len(tr.pieces) == pieces
    end = tr.at(k.reference.time)
    assert max(k.reference.error(v, end[v]) for v in k.reference) < 1e-8


def test_a_slider_crank_turns_and_turns():
    k = catalogue.load("slider_crank")
    tr = against_projection(k.model, (0.0, 2.0), 1e-5, start=k.start, inputs=k.inputs)
    # The angle of the crank is a good choice all the way round.
    assert np.ptp(tr["crank.angle"]) > 6 * np.pi
    assert len(tr.pieces) == 1


def test_an_amplifier_of_index_one_by_numbers():
    """Of charge states that are tied by constraints the choice changes with the transistors."""
    k = catalogue.load("transistor_amplifier")
    tr = dd.simulate(selected(k.model), (0.0, 0.05), start=k.start, inputs=k.inputs, rtol=1e-8)
    other = dd.simulate(k.model, (0.0, 0.05), start=k.start, inputs=k.inputs, rtol=1e-9)
    assert tr.success
    assert np.abs(tr["y"][-1] - other["y"][-1]).max() < 1e-6


def test_nothing_to_choose():
    """Nilpotent of index 3: every state follows from the constraints."""
    m = dd.Model("nilpotent")
    x = [m.state(f"x{k}") for k in range(3)]
    m.equation([m.der(x[1]) - x[0], m.der(x[2]) - x[1], x[2] - ca.sin(m.time)], name="chain")
    n = selected(m)
    assert n.reduction.degrees_of_freedom == 0
    assert n.reduction.selected == ()
    tr = dd.simulate(n, 2.0, rtol=1e-8)
    assert len(tr.pieces) == 1
    assert np.abs(tr["x0"] + np.sin(tr.time)).max() < 1e-12
    assert np.abs(tr["x1_dot"] + np.sin(tr.time)).max() < 1e-12


# -- the core ----------------------------------------------------------------------------------------------------


def test_a_consistent_row_moves_dependent_states_alone():
    plant = implicit_plant_of(selected(pendulum()).freeze())
    row = np.array([0.6, -0.79, 0.8, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0])
    for flags, kept in (([0.0, 1.0], [0, 2]), ([1.0, 0.0], [1, 3])):
        p = np.array(flags)
        found = plant.model_of(p, plant, False).consistent(0.0, row, np.zeros(0), p, atol=np.full(9, 1e-12))
        assert np.array_equal(found[kept], row[kept])
        place, speed = found[:2], found[2:4]
        assert abs(place @ place - 1) < 1e-12
        assert abs(place @ speed) < 1e-12
        moved = plant.completed(0.0, found, np.zeros(0), p)
        assert np.abs(moved[5:7] - speed).max() == 0


def test_the_core_refuses_places_that_are_not_there():
    plant = implicit_plant_of(selected(pendulum()).freeze())
    residual, jacobian = plant.functions
    for dependent, held in (([4], []), ([], [5]), ([-1], [])):
        with pytest.raises(ValueError, match="out of range"):
            plant.core_model(residual.core, jacobian.core, None, dependent, held)
