"""Questions that have no answer are refused in words, with a remedy that runs."""

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
