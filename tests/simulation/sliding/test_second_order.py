"""Runs whose turns on a surface become endlessly short: twisting and super-twisting control."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.errors import SolverError
from daedalus.simulation.result.records_on_the_way import SlidesAlong

METHODS = ["auto", "radau5", "bdf"]


def _model(name, starts, rates):
    m = dd.Model(name)
    states = [m.state(key, start=value) for key, value in starts.items()]
    for state, rate in zip(states, rates(m.time, *states)):
        m.equation(m.der(state), rate)
    return m


def _twisting(t, x, v, push=0.0):
    return v, -2 * ca.sign(x) - ca.sign(v) + push


@pytest.mark.parametrize("method", METHODS)
def test_twisting_control_ends_at_the_origin_in_a_finite_time(method):
    tr = dd.simulate(_model("twisting", {"x": 1.0, "v": 0.0}, _twisting), 10, method=method)
    assert tr.success
    assert [float(tr.end[name]) for name in ("x", "v")] == pytest.approx([0, 0], abs=1e-12)
    stays = [record for record in tr.records if isinstance(record, SlidesAlong)]
    assert [(record.condition, record.is_second) for record in stays] == [("x > 0", True)]
    # x falls to zero from rest under 2 - 1, and rises again under 2 + 1: v shrinks by √(1/3) each half turn.
    ratio = np.sqrt(1 / 3)
    first = np.sqrt(2 * 1.0 / 1.0)  # time to zero, v there √2
    v = np.sqrt(2.0)
    rest = sum(v * ratio**k * (1 / 3) + v * ratio ** (k + 1) for k in range(200))
    assert stays[0].time == pytest.approx(first + rest, rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_what_pushes_more_than_both_relays_leads_off_again(method):
    """0.5 t passes 3 at t = 6, when even both relays together hold no longer."""
    m = _model("pushed", {"x": 0.1, "v": 0.0}, lambda t, x, v: _twisting(t, x, v, 0.5 * t))
    tr = dd.simulate(m, 8, method=method)
    assert tr.success
    assert float(tr.end["v"]) == pytest.approx(0.25 * 2**2, rel=1e-6)
    assert float(tr.end["x"]) == pytest.approx(2**3 / 12, rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("start", [0.0, 1.0])
def test_super_twisting_control_holds_against_a_disturbance(method, start):
    m = _model(
        "super-twisting",
        {"x": start, "y": 0.0},
        lambda t, x, y: (-1.5 * ca.sqrt(ca.fabs(x)) * ca.sign(x) + y, -1.1 * ca.sign(x) + 0.4 * ca.sin(t)),
    )
    m.output("relay", -1.1 * ca.sign(m["x"]))
    tr = dd.simulate(m, 10, method=method, save_at=[9.0, 10.0])
    assert tr.success
    assert [float(tr.end[name]) for name in ("x", "y")] == pytest.approx([0, 0], abs=1e-8)
    # The mean of the relay is what the disturbance needs.
    assert np.asarray(tr["relay"]) == pytest.approx(-0.4 * np.sin([9.0, 10.0]), abs=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_a_differentiator_follows_the_slope_of_its_signal(method):
    """Levant's differentiator: y is the derivative of the signal once the error is zero."""

    def rates(t, x, y):
        error = x - ca.sin(t)
        return -3 * ca.sqrt(ca.fabs(error)) * ca.sign(error) + y, -2 * ca.sign(error)

    tr = dd.simulate(_model("differentiator", {"x": 1.0, "y": 0.0}, rates), 10, method=method)
    assert tr.success
    assert float(tr.end["y"]) == pytest.approx(np.cos(10.0), abs=2e-5)
    assert float(tr.end["x"]) == pytest.approx(np.sin(10.0), abs=2e-5)


def test_roots_that_lead_back_are_left_in_words():
    m = _model(
        "too little gain",
        {"x": 0.0, "y": 0.0},
        lambda t, x, y: (-1.5 * ca.sqrt(ca.fabs(x)) * ca.sign(x) + y, -1.1 * ca.sign(x) + 0.5 * t),
    )
    tr = dd.simulate(m, 6)
    assert not tr.success
    assert str(tr.stop_reason) == (
        "it no longer stays where x > 0 changes from t = 2.2 on; slopes are infinite there, and no step leads off it; "
        "try more gain, or a root with finite slopes such as h / sqrt(abs(h) + 1e-9) for sqrt(abs(h)) * sign(h)"
    )


def test_derivatives_end_before_endless_turns():
    m = _model("twisting", {"x": 0.0, "v": 0.0}, _twisting)
    with pytest.raises(SolverError, match="its turns become endlessly short") as refused:
        dd.sensitivities(m, 10, wrt="start")
    assert "a smooth law such as tanh" in str(refused.value)


def test_a_surface_that_moves_is_not_left_for_errors_of_steps():
    """Along x = sin t steps of bdf were off by more than a fixed bound, and the run began anew 4000 times."""
    m = _model("follower", {"x": 1.0}, lambda t, x: (-2 * ca.sign(x - ca.sin(t)),))
    tr = dd.simulate(m, 30, method="bdf", rtol=1e-4)
    assert tr.success
    assert len([record for record in tr.records if isinstance(record, SlidesAlong)]) == 1
    assert float(tr.end["x"]) == pytest.approx(np.sin(30.0), abs=1e-3)


@pytest.mark.wide
@pytest.mark.parametrize("seed", range(24))
def test_random_twisting_controllers_of_driven_masses(seed):
    """A third state reads the first two: it follows its own equation alone once they stay zero."""
    rng = np.random.default_rng(seed)
    other = rng.uniform(0.5, 2.0)
    one, push = other + rng.uniform(1.0, 3.0), rng.uniform(0.0, 0.4)

    def rates(t, x, v, q):
        return v, -one * ca.sign(x) - other * ca.sign(v) + push * ca.sin(q), 1 + x

    starts = {"x": rng.uniform(-1, 1), "v": rng.uniform(-1, 1), "q": 0.0}
    m = _model("driven", starts, rates)
    runs = [dd.simulate(m, 20, method=method, rtol=1e-7) for method in ("auto", "radau5", "rodas5p")]
    assert all(run.success for run in runs)
    ends = np.array([[float(run.end[name]) for name in ("x", "v", "q")] for run in runs])
    assert ends[:, :2] == pytest.approx(np.zeros((3, 2)), abs=1e-9)
    assert ends[1:, 2] == pytest.approx(ends[0, 2], rel=1e-5)
