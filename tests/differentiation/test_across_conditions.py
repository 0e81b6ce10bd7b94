"""Derivatives along conditions that both branches lead back to, against closed forms and differences of runs."""

import pickle

import casadi as ca
import numpy as np
import pytest
from tests.support.records_of import records_of
from tests.support.relays import relays

import daedalus as dd
from daedalus.simulation.result.records_on_the_way import SlidesAlong

TIGHT = {"rtol": 1e-11, "atol": 1e-13}


@pytest.fixture(autouse=True)
def few_calls(monkeypatch):
    """Each function is called some thousand times at most: compiling would take longer."""
    monkeypatch.setenv("DAEDALUS_COMPILER", "interpreter")


def relay():
    """x falls to zero and slides there with a mean relay of a / k, which y adds up."""
    m = dd.Model("relay")
    x, y, k, a = m.state("x", start=1.0), m.state("y", start=0.0), m.parameter("k", 2.0), m.parameter("a", 0.5)
    m.equation(m.der(x), a - k * ca.sign(x))
    m.equation(m.der(y), ca.sign(x))
    m.output("effort", -k * ca.sign(x))
    return m


@pytest.mark.parametrize("by", ["variational", "discrete"])
@pytest.mark.parametrize("method", ["auto", "tsit5", "radau5", "rodas5p"])
def test_a_relay_has_its_closed_form(method, by):
    """Sliding begins at τ = x₀ / (k - a): y = τ + (3 - τ) a / k."""
    sens = dd.sensitivities(relay(), 3.0, method=method, by=by, rtol=1e-8)
    k, a, x0 = 2.0, 0.5, 1.0
    tau, share = x0 / (k - a), a / k
    by_tau = 1 - share
    wanted = {
        "x": by_tau / (k - a),
        "k": -by_tau * tau / (k - a) - (3 - tau) * a / k**2,
        "a": by_tau * tau / (k - a) + (3 - tau) / k,
        "y": 1.0,
    }
    assert sens.value.tolist() == pytest.approx([0.0, tau + (3 - tau) * share], abs=1e-8)
    for name, value in wanted.items():
        assert float(sens.d("y", name)) == pytest.approx(value, rel=1e-7), name
        assert abs(float(sens.d("x", name))) < 1e-9
    assert [(record.time, record.condition) for record in records_of(sens, SlidesAlong)] == [
        (pytest.approx(tau), "x > 0")
    ]
    g = dd.gradient(relay(), 3.0, final="y", wrt=("start", "parameters"), method=method, rtol=1e-8)
    assert g["k"] == pytest.approx(wanted["k"], rel=1e-7)
    assert g.start.tolist() == pytest.approx([wanted["x"], 1.0], rel=1e-7)
    # What the relay does on the surface is its mean, -a.
    assert float(sens.d("effort", "a")) == pytest.approx(-1.0)
    assert abs(float(sens.d("effort", "k"))) < 1e-9


def test_a_coulomb_oscillator_stops_four_levels_from_where_it_began():
    m = dd.Model("oscillator")
    x, v, level = m.state("x", start=1.0), m.state("v", start=0.0), m.parameter("level", 0.3)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -x - level * ca.sign(v))
    sens = dd.sensitivities(m, 8.0, rtol=1e-9)
    assert sens.value.tolist() == pytest.approx([-0.2, 0.0], abs=1e-8)
    assert float(sens.d("x", "level")) == pytest.approx(-4.0, rel=1e-6)
    assert sens.M.tolist() == [pytest.approx([1.0, 0.0], abs=1e-6), pytest.approx([0.0, 0.0], abs=1e-9)]
    assert sens.verify().passed
    again = pickle.loads(pickle.dumps(sens))
    assert again.M.tolist() == sens.M.tolist()
    assert sens.states["x"][-1] == pytest.approx(-0.2, abs=1e-8)


def test_a_clutch_locks_and_its_inertias_add_up():
    """Locked, both turn with (J₁ ω₁ + T t) / (J₁ + J₂), whatever the level of the friction was."""
    m = dd.Model("clutch")
    w1, w2 = m.state("w1", start=3.0), m.state("w2", start=0.0)
    T, level = m.parameter("T", 0.5), m.parameter("level", 4.0)
    m.equation(2.0 * m.der(w1), T - level * ca.sign(w1 - w2))
    m.equation(3.0 * m.der(w2), level * ca.sign(w1 - w2))
    sens = dd.sensitivities(m, 2.0, rtol=1e-9)
    assert sens.value.tolist() == pytest.approx([1.4, 1.4])
    for name in ("w1", "w2"):
        assert float(sens.d(name, "T")) == pytest.approx(0.4)
        assert float(sens.d(name, "level")) == pytest.approx(0.0, abs=1e-9)
        assert [float(sens.d(name, start)) for start in ("w1", "w2")] == pytest.approx([0.4, 0.6])


def belt():
    """A mass that a belt takes along until the spring pulls it off."""
    m = dd.Model("belt")
    x, v = m.state("x", start=0.0), m.state("v", start=0.0)
    speed, level = m.parameter("speed", 0.5), m.parameter("level", 1.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -x - 0.1 * v + level * ca.sign(speed - v))
    return m


def pushed():
    """It begins at rest and sticks until a force that grows is large enough; friction is an algebraic variable."""
    m = dd.Model("pushed")
    x, v, f = m.state("x", start=0.2), m.state("v", start=0.0), m.algebraic("f")
    level, force = m.parameter("level", 3.0), m.parameter("force", 4.0)
    m.equation(m.der(x), v)
    m.equation(f, -level * ca.sign(v))
    m.equation(m.der(v), -4 * x + force * m.time + f)
    return m


def two_surfaces():
    """Two relays: both slide, one leaves again; a third state adds up what they do."""
    m = dd.Model("two")
    x, y, w = m.state("x", start=0.5), m.state("y", start=0.8), m.state("w", start=0.0)
    a, b = m.parameter("a", 1.0), m.parameter("b", 1.5)
    m.equation(m.der(x), -a * ca.sign(x) + 0.3 * ca.cos(m.time) + 0.2 * ca.sign(y - 0.1 * b))
    m.equation(m.der(y), -b * ca.sign(y - 0.1 * b) + 0.2 * x + 0.6 * m.time)
    m.equation(m.der(w), -w + a * ca.sign(x) + b * x + ca.sign(y - 0.1 * b))
    return m


def without_formulas():
    m = dd.Model("without formulas")
    x, v, z = m.state("x", start=1.0), m.state("v", start=0.2), m.algebraic("z", start=0.5)
    level, k = m.parameter("level", 3.0), m.parameter("k", 0.3)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -4 * x - level * ca.sign(v) + z)
    m.equation(z + k * z**3, 0.5 * x + 0.1 * m.time)
    return m


def of_an_algebraic_variable():
    m = dd.Model("error")
    x, y, e = m.state("x", start=1.0), m.state("y", start=0.3), m.algebraic("e")
    k, r = m.parameter("k", 2.0), m.parameter("r", 0.4)
    m.equation(e, x + 0.5 * y - r)
    m.equation(m.der(x), y - k * ca.sign(e))
    m.equation(m.der(y), -y + 0.3 * ca.sin(m.time) * x)
    return m


def sampled():
    """A clock acts while the run slides, and once carries it off."""
    m = dd.Model("sampled")
    x, y, u, c = m.state("x", start=0.5), m.state("y", start=0.0), m.discrete("u"), m.discrete("c", start=0.3)
    k = m.parameter("k", 2.0)
    m.equation(m.der(x), -k * ca.sign(x - c) + 0.5 * u)
    m.equation(m.der(y), -y + k * ca.sign(x - c))
    m.every(0.25, {"u": ca.sin(3 * m.time) * k + 0.3 * y})
    m.schedule([0.6], {"c": 0.3 + 0.1 * k})
    return m


def carried_off():
    """An event carries the state off the surface, and it comes back."""
    m = dd.Model("carried off")
    x, y, w = m.state("x", start=1.0), m.state("y", start=0.0), m.state("w", start=0.0)
    k, c = m.parameter("k", 2.0), m.parameter("c", 0.3)
    m.equation(m.der(x), -k * ca.sign(x - c) + 0.5 * y)
    m.equation(m.der(y), 1.0 + x)
    m.equation(m.der(w), x)
    m.event("wrap", y - 1.5, direction=1, reset={"y": y - 0.75 * k, "x": x + 0.2 * k})
    return m


def pendulum():
    """Dry friction in the joint of a pendulum of Cartesian coordinates."""
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[1.0, 0.0], rate=[0.0, 0.0])
    v = m.rate(q)
    m.kinetic_energy(0.5 * ca.dot(v, v))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", ca.dot(q, q) - 1)
    turning = ca.sign(q[0] * v[1] - q[1] * v[0])
    m.generalised_force(q, -m.parameter("level", 4.0) * turning * ca.vertcat(-q[1], q[0]))
    return m


CASES = [
    (belt, 8.0, "x"),
    (pushed, 1.2, "x"),
    (two_surfaces, 1.5, "w"),
    (without_formulas, 3.0, "x"),
    (of_an_algebraic_variable, 3.0, "x"),
    (sampled, 1.3, "y"),
    (carried_off, 2.0, "w"),
    (pendulum, 3.0, "q[0]"),
]


@pytest.mark.parametrize(("model", "span", "of"), CASES, ids=[make.__name__ for make, *_ in CASES])
def test_forward_and_backward_agree_with_differences(model, span, of):
    m = model()
    sens = dd.sensitivities(m, span, wrt="parameters", rtol=1e-9)
    g = dd.gradient(m, span, final=of, rtol=1e-9)
    for name in m.parameters:
        value = m.parameters[name].start[0]
        ends = [float(dd.simulate(m, span, parameters={name: value + h}, **TIGHT).end[of]) for h in (1e-5, -1e-5)]
        wanted = (ends[0] - ends[1]) / 2e-5
        assert float(sens.d(of, name)) == pytest.approx(wanted, rel=1e-6, abs=1e-8)
        assert g[name] == pytest.approx(wanted, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(("model", "span", "of"), CASES, ids=[make.__name__ for make, *_ in CASES])
def test_they_slide_where_the_run_does(model, span, of):
    """What a run did is read from it: derivatives go along the same conditions from the same times on."""
    ran = dd.simulate(model(), span, rtol=1e-8)
    wanted = [(t.guard, pytest.approx(t.time, abs=1e-5)) for t in ran.transitions if t.kind == "slides"]
    found = records_of(dd.sensitivities(model(), span, wrt="parameters", rtol=1e-8), SlidesAlong)
    assert [(record.condition, record.time) for record in found] == wanted


@pytest.mark.parametrize("seed", range(3))
def test_random_relays_agree_with_differences(seed):
    draw = np.random.default_rng(seed)
    A, b, c = 0.5 * draw.standard_normal((3, 3)), draw.standard_normal(3), draw.standard_normal(3)
    m = dd.Model("random")
    x, k = m.state("x", 3, start=0.3 * draw.standard_normal(3)), m.parameter("k", 2.0)
    b = b * np.sign(b @ c)
    m.equation(
        m.der(x), ca.mtimes(ca.DM(A), x) - k * ca.DM(b) * ca.sign(ca.dot(ca.DM(c), x) - 0.1 * k * ca.sin(m.time))
    )
    sens = dd.sensitivities(m, 1.5, wrt="parameters", rtol=1e-9)
    assert records_of(sens, SlidesAlong)
    ends = [dd.simulate(m, 1.5, parameters={"k": 2.0 + h}, **TIGHT).end["x"] for h in (1e-5, -1e-5)]
    assert np.ravel(sens.d("x", "k")).tolist() == pytest.approx(
        ((ends[0] - ends[1]) / 2e-5).tolist(), rel=1e-6, abs=1e-8
    )


@pytest.mark.parametrize("seed", [5, 17, 66])
def test_surfaces_are_left_for_good(seed):
    m = relays(seed)
    sens = dd.sensitivities(m, 2.0, wrt="parameters")
    k = m.parameters["k"].start[0]
    ends = [dd.simulate(m, 2.0, parameters={"k": k + h}, **TIGHT).end["x"] for h in (1e-5, -1e-5)]
    wanted = (ends[0] - ends[1]) / 2e-5
    assert np.ravel(sens.d("x", "k")).tolist() == pytest.approx(wanted.tolist(), rel=1e-4, abs=1e-5)


def test_what_is_not_determined_along_a_condition_is_refused():
    """One relay decides how far the other jumps."""
    m = dd.Model("woven")
    x, y = m.state("x", start=0.2), m.state("y", start=0.2)
    m.equation(m.der(x), -ca.sign(x) * (2 + ca.sign(y)) + m.parameter("a", 0.1))
    m.equation(m.der(y), -ca.sign(y) * (2 + ca.sign(x)))
    with pytest.raises(dd.SolverError) as refused:
        dd.sensitivities(m, 1.0)
    assert str(refused.value).startswith("The derivatives of 'woven' cannot be continued along ")
    assert "two conditions switch to and fro together, and one changes the other's jump" in str(refused.value)


def test_turns_in_ever_shorter_time_end_where_the_run_stays():
    """A spiral turns around two conditions without end: |x| + |y| reaches zero at t = 0.4, where every run stays."""
    m = dd.Model("spiral")
    x, y = m.state("x", start=0.3), m.state("y", start=0.5)
    m.equation(m.der(x), -ca.sign(x) + 2 * ca.sign(y))
    m.equation(m.der(y), -2 * ca.sign(x) - ca.sign(y))
    near = dd.simulate(m, 1.0, start={"x": 0.3001}).end
    assert [float(near["x"]), float(near["y"])] == pytest.approx([0.0, 0.0], abs=1e-12)
    assert dd.sensitivities(m, 1.0).M.ravel().tolist() == pytest.approx([0.0] * 4, abs=1e-9)
    assert list(dd.gradient(m, 1.0, final="x", wrt="start").values()) == pytest.approx([0.0, 0.0], abs=1e-9)
    # Before it each of the turns moves with the start.
    report = dd.sensitivities(m, 0.3, rtol=1e-9).verify()
    assert report.passed, report
