"""simulate takes a model of high index as it is written: the index is reduced on the way, and the record says so."""

import casadi as ca
import numpy as np
import pytest
from tests.support.records_of import records_of

import daedalus as dd
from daedalus.compilation import counts
from daedalus.reduction.forms.no_form import NoForm
from daedalus.reduction.reduction_record import Reduction
from daedalus.simulation.plant.solvable import solvable
from daedalus.simulation.result.records_of_models import Reduced, StartCompleted, StartMoved


def pendulum():
    """A mass on a rod in Cartesian coordinates: index 3."""
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[1.0, 0.0], rate=[0.0, 0.0])
    length = m.parameter("length", 1.0)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", (ca.sumsqr(q) / length - length) / 2)
    m.output("energy", 0.5 * ca.sumsqr(m.rate(q)) + 9.81 * q[1])
    return m


def by_angle(end, rtol):
    m = dd.Model("by angle")
    a = m.state("a", start=np.pi / 2, rate=0.0)
    m.equation(m.der(m.der(a)), -9.81 * ca.sin(a))
    return dd.simulate(m, end, rtol=rtol)


@pytest.mark.parametrize("method", ["tsit5", "dopri5", "dop853"])
def test_an_index_3_pendulum_swings_full_circles_of_the_tolerance(method):
    tr = dd.simulate(pendulum(), 10.0, rtol=1e-8, atol=1e-10, method=method)
    angle = by_angle(10.0, 1e-12)["a"][-1]
    np.testing.assert_allclose(tr["q"][-1], [np.sin(angle), -np.cos(angle)], atol=2e-6)
    assert max(tr.drift().values()) < 2e-15
    assert np.ptp(tr["energy"]) < 1e-5
    assert tr.system.part(Reduction).differentiated == {"rod": 2}
    (reduced,) = records_of(tr, Reduced)
    assert reduced.finding.index == 3
    assert [(row.equation, row.times) for row in reduced.finding.levels] == [("rod", 2)]


def test_the_multiplier_is_the_force_of_the_rod():
    tr = dd.simulate(pendulum(), 3.0, rtol=1e-9)
    # Along the rod: λ q = -(v² + g·q-part); with c = (q·q/L - L)/2 the force on the mass is λ q.
    expected = -np.sum(tr["q_dot"] ** 2, axis=1) + 9.81 * tr["q"][:, 1]
    np.testing.assert_allclose(tr["rod"], expected, atol=1e-6)


def test_the_original_equations_hold_along_the_run():
    m = pendulum()
    tr = dd.simulate(m, 2.0, rtol=1e-9)
    s = m.freeze()
    sample = tr.at(np.linspace(0, 2, 11), project=True)
    for k in range(11):
        x = np.concatenate([sample["q"][k], sample["q_dot"][k]])
        xdot = np.concatenate([sample["q_dot"][k], sample["q_ddot"][k]])
        residual = s.function(sample.time[k], xdot, x, sample["rod"][k], [], 1.0)
        assert float(ca.norm_inf(residual)) < 1e-12


def test_a_start_off_the_constraint_is_refused_with_the_distance():
    with pytest.raises(dd.InconsistentStartError) as caught:
        dd.simulate(pendulum(), 1.0, start={"q": [0.9, 0.0]})
    assert str(caught.value) == (
        "rod (length = 1) and the given q = (0.9, 0) disagree by 0.1.\n"
        "  rod: ((q[0]^2 + q[1]^2)/length - length)/2 = 0 is left at -0.095\n"
        "  the nearest values that fit: q = (1, 0)\n"
        "  Because given values are not changed, and no values of the others satisfy the equations.\n"
        '  Try: start=dd.initialise(m, {...}, free=["q[0]"]), which becomes 1, or free=["q[1]"], which becomes '
        '0.43589, or parameters={"length": 0.9}'
    )


def test_values_that_were_not_given_follow_from_the_constraint():
    """Only the height is free to move: the start is completed by dd.initialise, and the record says so."""
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[0.6, None], rate=[0.0, None])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.constraint("rod", (ca.sumsqr(q) - 1) / 2)
    tr = dd.simulate(m, 0.1)
    assert abs(tr["q"][0, 1]) == pytest.approx(0.8)
    (told,) = records_of(tr, StartCompleted)
    assert dict(told.values)["q[1]"] == tr["q"][0, 1]


def test_a_moment_of_another_run_is_moved_onto_the_constraints():
    m = pendulum()
    first = dd.simulate(m, 3.0, rtol=1e-4)
    between = 0.5 * (first.time[20] + first.time[21])
    tr = dd.simulate(m, (between, between + 0.5), start=first.at(between), rtol=1e-9)
    assert max(tr.drift().values()) < 1e-14
    (told,) = records_of(tr, StartMoved)
    assert {"q[0]", "q[1]"} <= set(told.names)
    assert 0 < told.share < 1e-3


def test_a_repeated_call_reduces_once():
    m = pendulum()
    dd.simulate(m, 1.0)
    before = counts()
    for k in range(3):
        dd.simulate(m, 1.0 + k, start={"q": [0.0, -1.0], "q_dot": [1.0 + k, 0.0]})
    assert counts() == before


def test_sweeps_and_prepared_runs_take_such_models_too():
    m = pendulum()
    en = dd.sweep(m, 1.0, over={"q_dot[0]": [0.0, 0.0]}, start={"q": [0.0, -1.0]}, combine="zip")
    assert bool(en.success.all())
    assert dd.prepare(m, 1.0)().shape[1] == 4


def test_andrews_squeezer_reaches_its_published_end():
    """Index 3 with 7 angles and 6 multipliers; q1(0.03) from Hairer and Wanner II, VII.7."""
    k = dd.catalogue.load("andrews")
    tr = dd.simulate(k.model, k.span, start=k.start, inputs=k.inputs, rtol=1e-9)
    assert tr["angle"][-1][0] == pytest.approx(15.81077119629904, rel=1e-7)
    assert max(tr.drift().values()) < 1e-12


def test_a_refusal_that_is_kept_is_raised_anew_each_time():
    m = dd.Model("follower")
    x, force, u = m.state("x"), m.algebraic("force"), m.input("u")
    m.equation(m.der(m.der(x)), force)
    m.equation(x, u)
    kept = solvable(m)
    assert isinstance(kept, NoForm)
    raised = []
    for _ in range(2):
        with pytest.raises(dd.ModelError, match="The input u would have to be differentiated twice") as caught:
            raise kept.error
        raised.append(caught.value)
    assert raised[0] is not raised[1]
    assert raised[0].needed == raised[1].needed == {"u": 2}
    assert kept.found.__traceback__ is None
