"""Drift off the constraints: Baumgarte's damping bounds it, the rule for alpha, and what happens without."""

import pickle

import casadi as ca
import numpy as np
import pytest
from reduced_models import angle_of_pendulum, first_order_pendulum, pendulum, text_of

import daedalus as dd
from daedalus.reduction.stabilise import damped


def drift(n, tr):
    """The largest violation of each kept constraint along a run."""
    f = ca.Function("f", [n["p"], n["p_dot"]], list(n.constraints.values()))
    values = np.array([[float(part) for part in f(p, v)] for p, v in zip(tr["p"], tr["p_dot"])])
    return np.abs(values).max(axis=0)


def test_the_polynomial():
    """(d/dt + α)³ f for f = exp(2t): (2 + α)³."""
    levels = {k: ca.SX(2.0**k) for k in range(4)}
    assert float(damped(levels, 3, 1.5)) == pytest.approx(3.5**3)


def test_drift_grows_without_and_stays_with_damping():
    options = {"rtol": 1e-4, "atol": 1e-6, "method": "dopri5"}
    free, bound = dd.reduce(pendulum(), stabilise=None), dd.reduce(pendulum(), stabilise="baumgarte", alpha=10.0)
    assert not free.freeze().invariants
    assert not bound.freeze().invariants
    short, long = (drift(free, dd.simulate(free, t, **options)) for t in (5.0, 40.0))
    assert long[0] > 5 * short[0]
    held = drift(bound, dd.simulate(bound, 40.0, **options))
    assert held[0] < 0.05 * long[0]
    assert held[0] < 1e-3


def test_an_error_decays_at_the_rate_alpha():
    """c'' + 2αc' + α²c = 0 from c = 0.02, c' = 0 at rest: c(t) = 0.02 (1 + αt) exp(-αt)."""
    m = dd.Model("line")
    q = m.coordinate("q", 2, start=[0.02, 0.0], rate=[0.0, 1.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.constraint("line", q[0])
    tr = dd.simulate(dd.reduce(m, stabilise="baumgarte", alpha=3.0), 2.0, rtol=1e-10, atol=1e-12)
    assert np.abs(tr["q"][:, 0] - 0.02 * (1 + 3 * tr.time) * np.exp(-3 * tr.time)).max() < 1e-9


def test_a_constraint_on_velocities_is_damped_once():
    m = dd.Model("tank")
    x, z = m.state("x", start=1.1), m.algebraic("z")
    m.equation(m.der(x), z, name="balance")
    m.equation(x, 1, name="level")
    n = dd.reduce(m, stabilise="baumgarte", alpha=2.0)
    tr = dd.simulate(n, 1.0, rtol=1e-10, atol=1e-12)
    assert tr["x"][-1] - 1 == pytest.approx(0.1 * np.exp(-2.0), abs=1e-9)


def test_the_motion_is_the_same():
    position, _ = angle_of_pendulum(2.0, save_at=[2.0], rtol=1e-11, atol=1e-13)
    for model in (pendulum(), first_order_pendulum()):
        tr = dd.simulate(dd.reduce(model, stabilise="baumgarte"), 2.0, save_at=[2.0], rtol=1e-11, atol=1e-13)
        assert np.abs(tr["p"] - position).max() < 1e-8


def test_alpha_is_the_rate_of_the_motion():
    """A mass on a spring of 25 rad/s beside a constraint: α = 25, and time in ms makes it 0.025."""
    for scale in (1.0, 1e-3):
        m = dd.Model("springs")
        q = m.coordinate("q", 2, start=[0.0, 1.0], rate=[0.0, 0.0])
        m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
        m.potential_energy(0.5 * (25.0 * scale) ** 2 * q[1] ** 2)
        m.constraint("line", q[0])
        n = dd.reduce(m, stabilise="baumgarte")
        assert n.reduction.alpha == pytest.approx(25.0 * scale)


def test_alpha_is_on_record():
    n = dd.reduce(pendulum(), stabilise="baumgarte", alpha=7.0)
    assert n.reduction.alpha == 7.0
    assert "damped towards zero (Baumgarte, alpha = 7): rod; rod, differentiated once" in n.reduction.text
    assert "zero at the start and free to drift: rod" in dd.reduce(pendulum(), stabilise=None).reduction.text
    assert dd.reduce(pendulum()).reduction.alpha is None


def test_alpha_is_one_where_nothing_moves():
    m = dd.Model("rest")
    x, z = m.state("x", start=1.0), m.algebraic("z")
    m.equation(m.der(x), z)
    m.equation(x, 1, name="level")
    assert dd.reduce(m, stabilise="baumgarte").reduction.alpha == 1.0


def test_alpha_must_be_given_where_none_can_be_found():
    m = dd.Model("unknown")
    x, z, k = m.state("x", start=1.0), m.algebraic("z"), m.parameter("k")
    m.equation(m.der(x), z)
    m.equation(k * x, 1, name="level")
    text = text_of(lambda: dd.reduce(m, stabilise="baumgarte"), dd.InputError)
    assert text.startswith("No damping rate could be chosen.\n")
    assert "alpha=10.0" in text
    assert dd.reduce(m, stabilise="baumgarte", alpha=1.0).reduction.alpha == 1.0


def test_drift_lists_constraints_that_nothing_holds():
    """Without projection the run leaves the constraint; Baumgarte's damping keeps it near; both are measured."""
    found = {}
    for stabilise in ("projection", "baumgarte", None):
        tr = dd.simulate(dd.reduce(pendulum(), stabilise=stabilise), 10.0)
        found[stabilise] = tr.drift()
        assert list(found[stabilise]) == ["rod", "rod, differentiated once"]
        assert pickle.loads(pickle.dumps(tr)).drift() == found[stabilise]
        left = np.abs(np.sum(tr["p"] ** 2, axis=1) - 1).max()
        assert found[stabilise]["rod"] == pytest.approx(left, rel=1e-6, abs=1e-15)
    assert found["projection"]["rod"] < 1e-14 < 1e-8 < found["baumgarte"]["rod"] < 0.1 * found[None]["rod"]


def test_what_is_an_equation_already_is_not_listed_twice():
    assert dd.reduce(pendulum(), stabilise="ggl").freeze().watched == {}
    assert list(dd.reduce(pendulum(), stabilise=None).freeze().watched) == ["rod", "rod, differentiated once"]
