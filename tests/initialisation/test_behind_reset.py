"""What lies behind a reset: one rule, whatever the path."""

import casadi as ca
import numpy as np
import pytest
from promoted_models import bent_store, shared_store

import daedalus as dd
from daedalus.simulation.result.ending import Obstacle

METHODS = ["auto", "dop853", "tsit5", "radau5", "radau9", "bdf"]
FORMS = ["projection", "baumgarte", None, "dummy_derivatives"]


def last(tr, *names):
    return [float(tr[name][-1]) for name in names]


@pytest.mark.parametrize("method", METHODS)
def test_promoted_variables_follow_from_what_is_assigned(method):
    tr = dd.simulate(bent_store(), 2.0, method=method, rtol=1e-8)
    (event,) = tr.events
    assert [event.after[name] for name in ("w", "s", "y")] == pytest.approx([1.5, 1.0, 1.0], abs=1e-9)
    assert tr["w"][-1] == pytest.approx(0.72, abs=0.2)


@pytest.mark.parametrize("stabilise", FORMS)
def test_reduced_models_reset_alike(stabilise):
    whole = dd.simulate(bent_store(), 2.0, rtol=1e-9)
    tr = dd.simulate(dd.reduce(bent_store(), stabilise=stabilise), 2.0, rtol=1e-9)
    assert last(tr, "w", "s", "y") == pytest.approx(last(whole, "w", "s", "y"), abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_a_reset_that_leaves_a_choice_is_refused_with_the_candidates(method):
    tr = dd.simulate(shared_store(q=0.2), 1.0, method=method)
    assert not tr.success
    assert tr.status == "inconsistent"
    assert tr.stop.obstacle is Obstacle.REFUSED_RESET
    assert tr.stop.variables == ("w", "s")
    assert tr.stop.event == "share"
    assert tr.time[-1] == pytest.approx(np.log(2), abs=1e-5)
    assert last(tr, "w", "q", "s") == pytest.approx([0.5, 0.1, 0.2], abs=1e-5)
    assert tr.stop_reason.startswith("the reset of 'share' leaves a choice at t = 0.69314")
    assert (
        tr.stop_reason.endswith(
            "; with q given, copy and shares cannot hold where w, s keep their values"
            '; try a value for one of w, s too: reset={"q": ..., "w": ...}'
        )
        or "shares and copy" in tr.stop_reason
    )


def test_the_choice_is_refused_with_derivatives_too():
    for call in (lambda m: dd.sensitivities(m, 1.0), lambda m: dd.gradient(m, 1.0, final="w", wrt=["start"])):
        with pytest.raises(dd.SolverError, match="leaves a choice"):
            call(shared_store(q=0.2))
    with pytest.raises(dd.SolverError, match="The run of 'shared store' stopped early"):
        dd.simulate(shared_store(q=0.2), 1.0, on_stop="raise")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("named", ["w", "s"])
def test_saying_which_one_moves_settles_it(method, named):
    """With w given s follows, and with s given w does."""
    reset = {"q": 0.2, "w": 0.6} if named == "w" else {"q": 0.2, "s": 0.2}
    tr = dd.simulate(shared_store(**reset), 0.8, method=method, rtol=1e-8)
    after = tr.events[0].after
    assert [after[name] for name in ("w", "q", "s")] == pytest.approx([0.6, 0.2, 0.2], abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_reset_that_contradicts_the_equations_is_refused(method):
    tr = dd.simulate(shared_store(q=0.2, w=0.5, s=0.3), 1.0, method=method)
    assert tr.stop.obstacle is Obstacle.REFUSED_RESET
    assert tr.stop_reason.startswith("the reset of 'share' contradicts the equations at t = 0.69314")


def pendulum(**reset):
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[1.0, 0.0], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", ca.sumsqr(q) - 1)
    m.event("bottom", q[0], direction=-1, reset=reset)
    return m


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_positions_that_are_assigned_take_velocities_with_them(method):
    """At (-0.6, -0.8) the old velocity (-v, 0) is left with its part along the circle."""
    tr = dd.simulate(pendulum(q=[-0.6, -0.8]), 0.7, method=method, rtol=1e-9)
    before, after = tr.events[0].before["q_dot"], tr.events[0].after["q_dot"]
    tangent = np.array([0.8, -0.6])
    assert after == pytest.approx((tangent @ before) * tangent, abs=1e-6)
    assert tr.events[0].after["q"] == pytest.approx([-0.6, -0.8], abs=1e-9)


@pytest.mark.parametrize("by", ["variational", "discrete"])
def test_an_impulse_is_differentiated(by):
    """Velocities behind a kick move in the mass metric; so do their derivatives."""

    def model():
        m = pendulum()
        k, q = m.parameter("k", 0.4), m["q"]
        m.event("kick", q[1] + 0.8, direction=-1, reset={"q_dot": m.rate(q) + ca.vertcat(k, k**2)})
        return m

    def end(k):
        return dd.simulate(model(), 0.6, parameters={"k": k}, rtol=1e-11, atol=1e-13).end["q"]

    sens = dd.sensitivities(model(), 0.6, wrt=["k"], rtol=1e-9, atol=1e-11, by=by)
    wanted = (end(0.4 + 1e-5) - end(0.4 - 1e-5)) / 2e-5
    assert np.ravel(sens.d("q", "k")) == pytest.approx(wanted, abs=1e-6)
    assert sens.verify().passed


@pytest.mark.parametrize("length", [1.0, 1e-7])
def test_a_reset_off_a_constraint_is_noticed_in_any_unit(length):
    """x of a pendulum is made a tenth shorter: its rod of 100 nm is as long as one of a metre."""
    m = dd.Model("short rod")
    (x, y), (v, w) = (([m.state(n, start=s, nominal=length) for n, s in own]) for own in (
        [("x", length), ("y", 0.0)], [("v", 0.0), ("w", 0.0)]))  # fmt: skip
    force = m.algebraic("force")
    m.equation([m.der(x), m.der(y)], [v, w])
    m.equation([m.der(v), m.der(w)], [-force * x, -force * y - 9.81 * length])
    m.equation(x**2 + y**2, length**2)
    m.event("hit", x - 0.3 * length, direction=-1, reset={"x": 0.9 * x})
    assert "leaves a choice" in dd.simulate(m, 2.0, on_stop="return").stop_reason
