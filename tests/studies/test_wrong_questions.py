"""Questions that have no answer are refused in words, with a remedy that runs."""

from contextlib import nullcontext

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.errors import DaedalusError


def van_der_pol():
    m = dd.Model("van der Pol")
    mu, x, y = m.parameter("mu", 1.0), m.state("x", start=2.0), m.state("y", start=0.0)
    m.equation([m.der(x), m.der(y)], [y, mu * (1 - x**2) * y - x])
    return m


def pushed():
    m = dd.Model("pushed")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), x - x**3 + m.noise("w"))
    return m


def between(m, conditions=lambda at: [at(0)["x"], at(1)["x"] - 1], span=(0, 1), **options):
    return dd.boundary_value(m, span, conditions, **options)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (lambda m: dd.branch(m, "mu", (-1, 1), most_points=0), "0 is not a number of points."),
        (lambda m: dd.branch(m, "mu", (-1, 1), most_points="all"), "'all' is not a number of points."),
        (lambda m: dd.branch(m, "mu", (-1, 1), max_step=0), "max_step=0 is not valid."),
        (lambda m: dd.branch(m, "mu", (-1, 1), max_step="small"), "max_step='small' is not valid."),
        (lambda m: dd.branch(m, "mu", "01"), "The range of mu is not a pair of different numbers."),
        (lambda m: dd.periodic(m, start={"x": 0.0, "y": 0.0}), "'van der Pol' is at rest at the start."),
        (lambda m: dd.lyapunov(m, -5.0, 1), "The span has no positive duration."),
        (lambda m: between(m, lambda at: None), "The conditions are no expressions of the states."),
        (lambda m: between(m, lambda at: ["x", "y"]), "The conditions are no expressions of the states."),
        (lambda m: between(m, span=(0, 0)), "The span of a boundary value problem goes from an earlier time"),
        (lambda m: between(m, span=(1, 0)), "The span of a boundary value problem goes from an earlier time"),
        (lambda m: between(m, rtol=-1.0), "rtol must be a positive number."),
        (lambda m: between(m, atol=0), "atol must be a positive number."),
        (lambda m: between(m, guess={"x": float("nan")}), "The guess of x is not finite everywhere."),
        (lambda m: between(m, lambda at: [at("now")["x"]]), "The time of at() is not a number."),
        (lambda m: between(m, lambda: [1.0]), "The conditions are not a function of `at`."),
        (lambda m: between(m, free=["mu"]), "free= takes values by name."),
        (lambda m: between(m, free={"mu": "one"}), "The guess of mu is not a number."),
        (lambda m: between(m, guess=1.0), "guess= takes values by name."),
        (lambda m: between(m, guess={"x": [1.0, 2.0]}), "The guess of x has the wrong shape."),
        (lambda m: between(m, guess={"x": lambda t: 1 / (t - t)}), "The function for input x cannot be evaluated."),
        (lambda m: between(m, inputs=[1.0]), "inputs= takes values by name."),
        (lambda m: between(m).at("now"), "The times of at() are not numbers."),
        (lambda m: between(m).at(np.nan), "The solution is known from t = 0 to 1."),
        (lambda m: dd.branch(m, "mu", (0, 1), inputs=3), "inputs= takes values by name."),
        (lambda m: dd.periodic(m, period=6.5, banana=1), "dd.periodic takes no banana."),
        (lambda m: dd.periodic(m, period=6.5).at("now"), "The times of at() are not numbers."),
        (lambda m: dd.periodic(m, period=6.5, parameters=[1.0]), "parameters= takes values by name."),
        (lambda m: dd.poincare(m, "x", 3, banana=1), "dd.poincare takes no banana."),
        (lambda m: dd.poincare(m, "x", 3, save_at=[1.0]), "dd.poincare takes no save_at."),
        (lambda m: dd.lyapunov(m, 5.0, 1, wrt="mu"), "dd.lyapunov takes no wrt."),
        (lambda m: dd.frequency_sweep(m, "u", [1.0], 1.0, banana=1), "dd.frequency_sweep takes no banana."),
        (lambda m: dd.propagate(m, 1.0, parameters=["mu"]), "parameters= takes values by name."),
        (lambda m: dd.propagate(m, 1.0, start_covariance={"q": 1.0}), "start_covariance= has q."),
        (
            lambda m: dd.propagate(m, 1.0, start_covariance=[[1.0, 2.0], [0.0, 1.0]]),
            "start_covariance is not a covariance",
        ),
        (
            lambda m: dd.propagate(m, 1.0, start_covariance=[[1e-10, 5e-11], [0.0, 1e-10]]),
            "start_covariance is not a covariance",
        ),
        (
            lambda m: dd.propagate(m, 1.0, start_covariance=[[1e-14, 2e-14], [2e-14, 1e-14]]),
            "start_covariance is not a covariance",
        ),
        (lambda m: dd.propagate(m, 1.0, start_covariance=-1.0), "start_covariance is not a covariance of 2 numbers."),
    ],
)
def test_what_has_no_answer_is_refused(question, text):
    with pytest.raises(DaedalusError) as told:
        question(van_der_pol())
    assert str(told.value).startswith(text)
    assert "Try:" in str(told.value)


@pytest.mark.parametrize(
    "question",
    [
        lambda m, **given: dd.periodic(m, start={"x": 0.2}, period=1.0, **given),
        lambda m, **given: dd.boundary_value(m, (0, 1), lambda at: [at(0)["x"] - 0.5], **given),
        lambda m, **given: dd.lyapunov(m, 20.0, 1, **given),
        lambda m, **given: dd.sensitivities(m, 1.0, wrt="start", **given),
        lambda m, **given: dd.gradient(m, 1.0, final="x", wrt="start", **given),
    ],
)
def test_noise_is_not_left_out_in_silence(question):
    with pytest.raises(dd.InputError) as told:
        question(pushed())
    assert "the model has the noise w" in str(told.value)
    assert str(told.value).endswith(
        'Try: inputs={"w": 0.0} for motion without noise, or dd.sweep(..., seeds=1000) for statistics of paths'
    )


def test_the_remedy_for_noise_runs():
    assert dd.lyapunov(pushed(), 20.0, 1, inputs={"w": 0.0})[0] == pytest.approx(-2.0, rel=1e-3)
    found = dd.boundary_value(pushed(), (0, 1), lambda at: [at(0)["x"] - 0.5], inputs={"w": 0.0})
    # (x / sqrt(1 - x²)) grows like exp(t).
    grown = 0.5 / 0.75**0.5 * 2.718281828459045
    assert found.at(1.0)["x"] == pytest.approx(grown / (1 + grown**2) ** 0.5, rel=1e-6)
    # At rest in 1, where the slope is -2: a change of the start decays so. A gradient is that of the steps taken.
    sens = dd.sensitivities(pushed(), 1.0, wrt="start", inputs={"w": 0.0}, rtol=1e-9)
    grad = dd.gradient(pushed(), 1.0, final="x", wrt="start", inputs={"w": 0.0}, step=0.01)
    assert sens.M[0, 0] == pytest.approx(2.718281828459045**-2, rel=1e-6)
    assert grad["x"] == pytest.approx(2.718281828459045**-2, rel=1e-6)


def test_a_number_that_no_point_of_a_branch_has_is_refused():
    m = dd.Model("pitchfork")
    x, mu = m.state("x"), m.parameter("mu", -1.0)
    m.equation(m.der(x), mu * x - x**3)
    br = dd.branch(m, "mu", (-1.0, -0.5))
    assert br.at(-1)["mu"] == br["mu"][-1]
    for number in (10_000, -10_000, 1.5, "mu"):
        with pytest.raises(dd.InputError) as told:
            br.at(number)
        assert str(told.value).startswith(f"The branch has no point {number!r}.\n  it has {len(br['mu'])} points")
    orbits = dd.branch(dd.periodic(van_der_pol(), period=6.5), "mu", (1.0, 1.2))
    for asked in (lambda: orbits.at(10_000), lambda: orbits.samples(10_000, ["x"], 4)):
        with pytest.raises(dd.InputError, match=r"The branch has no orbit 10000\."):
            asked()


def follower():
    m = dd.Model("follower")
    x, u, k = m.state("x", start=0.0), m.input("u"), m.parameter("k", 1.0)
    m.equation(m.der(x), u - k * x)
    return m


def test_inputs_of_boundary_values_are_those_of_runs():
    """Numbers, functions, signals and expressions; an input without a value was taken as zero in silence."""
    m = follower()
    begun = lambda at: [at(0)["x"] - 1.0]  # noqa: E731
    with pytest.raises(dd.InputError, match="u has no value"):
        dd.boundary_value(m, (0, 1), begun)
    for u in (0.5, np.sin, m["x"] * 0.5, m.time**2, dd.signal([0.0, 0.4], [0.0, 1.0])):
        run = dd.simulate(m, 1.0, start={"x": 1.0}, inputs={"u": u}, rtol=1e-9)
        found = dd.boundary_value(m, (0, 1), begun, inputs={"u": u})
        assert found.at(1.0)["x"] == pytest.approx(run["x"][-1], abs=1e-6)


def test_time_in_questions_about_rest_and_repetition_is_told():
    m = follower()
    branch = dd.branch(m, "k", (0.5, 1.0), inputs={"u": np.cos})
    assert branch.notes[-1] == "'follower' depends on time: the branch is that of the equations at t = 0"
    told = "u would change in the next period: the values of the first one are repeated"
    assert dd.periodic(m, period=1.0, inputs={"u": lambda t: t}).notes[-1] == told
    assert told not in dd.periodic(m, period=6.2832, inputs={"u": np.cos}).notes


def test_a_frequency_that_is_a_parameter_repeats():
    m = dd.Model("driven")
    x, frequency = m.state("x", start=0.0), m.parameter("w", 2.0)
    m.equation(m.der(x), -x + ca.cos(frequency * m.time))
    told = "the equations would change in the next period: the values of the first one are repeated"
    for w in (2.0, 4.0, 1.5):
        assert (told in dd.periodic(m, period=np.pi, parameters={"w": w}).notes) == (w == 1.5)


def test_models_without_states():
    m = dd.Model("algebraic")
    z, k = m.algebraic("z", start=1.0), m.parameter("k", 1.0)
    m.equation(z**2, k)
    (fold,) = dd.branch(m, "k", (1.0, -1.0)).points
    assert (fold.kind, abs(fold.parameter) < 1e-8) == ("fold", True)
    with pytest.raises(dd.DaedalusError, match="No equilibrium of 'algebraic' was found"):
        dd.branch(m, "k", (-1.0, 1.0))
    with pytest.raises(dd.InputError, match="'algebraic' has no states"):
        dd.periodic(m, period=1.0)


def test_a_time_limit_is_that_of_all_runs_together(monkeypatch):
    given = []
    monkeypatch.setattr("daedalus.model.time_limit.limited_to", lambda seconds: given.append(seconds) or nullcontext())
    dd.periodic(van_der_pol(), period=6.5, time_limit=7.0)
    assert given[0] == 7.0
