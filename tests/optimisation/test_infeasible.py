"""Problems without a solution, and what is said about each; mistakes are refused where they are made."""

import numpy as np
import pytest

import daedalus as dd


def cart(duration: float = 1.0) -> tuple[dd.Model, dd.OptimalControl]:
    m = dd.Model("cart")
    x, v, u = m.state("x", start=0.0, unit="m"), m.state("v", start=0.0, unit="m/s"), m.input("u", unit="N")
    m.equation([m.der(x), m.der(v)], [v, u])
    ocp = dd.OptimalControl(m, duration=duration, intervals=10)
    ocp.start()
    ocp.minimise(running=u**2)
    return m, ocp


def story(ocp: dd.OptimalControl) -> str:
    plan = ocp.solve(most_iterations=200)
    assert not plan.success
    return str(plan.explain())


def test_an_end_out_of_reach():
    _, ocp = cart()
    ocp.finish({"x": 1.0, "v": 0.0})
    ocp.bound("u", -3.0, 3.0)
    assert story(ocp) == (
        "These cannot hold together with the start and the duration of 1 s:\n"
        "  u >= -3 N between 0.5 s and 0.9 s: 3.17 N short, would have to be -6.167 N\n"
        "  u <= 3 N between 0 s and 0.4 s: 3.17 N short, would have to be 6.167 N\n"
        "  v <= 0 m/s at 1 s: 0.556 m/s short, would have to be 0.5556 m/s\n"
        "  x >= 1 m at 1 s: 0.25 m short, would have to be 0.75 m"
    )


def test_a_wall_before_the_end():
    m, ocp = cart()
    ocp.finish({"x": 1.0})
    ocp.subject_to(m["x"] <= 0.8, name="wall")
    told = story(ocp)
    assert told.startswith("These cannot hold together with the start and the duration of 1 s:\n")
    assert "wall <= 0.8 at 1 s: 0.2 short, would have to be 1" in told
    assert "x >= 1 m at 1 s: 0.2 m short, would have to be 0.8 m" in told


def test_two_conditions_that_contradict_each_other():
    m, ocp = cart()
    ocp.subject_to(m["v"] >= 2.0, at="end", name="fast")
    ocp.subject_to(m["v"] <= 1.0, at="end", name="slow")
    told = story(ocp)
    assert "fast >= 2 at 1 s: 1 short, would have to be 1" in told
    assert "slow <= 1 at 1 s: 1 short, would have to be 2" in told


def test_an_input_that_changes_too_slowly():
    m, ocp = cart()
    ocp.input("u", kind="linear", rate=(-1.0, 1.0))
    ocp.subject_to(m["u"] == 0.0, at="start", name="no push at first")
    ocp.finish({"v": 2.0})
    told = story(ocp)
    # From rest at a slope of 1 the speed is ½ at the end; each of the three could make up for what is missing.
    assert "no push at first <= 0 at 0 s: 1.5 short, would have to be 1.5" in told
    assert "v >= 2 m/s at 1 s: 1.5 m/s short, would have to be 0.5 m/s" in told
    assert "slope of u <= 1 between 0 s and 0.9 s: 3 short, would have to be 4" in told


def test_a_duration_that_is_too_short():
    _, ocp = cart(dd.unknown(1.0, 0.5, 1.2))
    ocp.finish({"x": 1.0})
    ocp.bound("u", -1.0, 1.0)
    plan = ocp.solve(most_iterations=200)
    told = {part.name: part.needed for part in plan.explain().conflicts}
    assert told == pytest.approx({"u": 2 / 1.44, "x": 0.72, "the duration": np.sqrt(2)}, rel=1e-4)
    assert "the duration <= 1.2: 0.214 short, would have to be 1.414" in str(plan.explain())


def test_a_start_outside_its_bounds():
    _, ocp = cart()
    ocp.start({"x": 2.0, "v": 0.0})
    ocp.bound("x", -1.0, 1.0)
    with pytest.raises(dd.InputError) as error:
        ocp.solve()
    assert str(error.value) == (
        "The start of x is outside its bounds.\n"
        "  x = 2, bounds -1 and 1\n"
        "  Because a fixed value cannot be changed.\n"
        "  Try: another start, or wider bounds"
    )


def test_an_end_off_the_constraint():
    m = dd.Model("pendulum")
    p = m.coordinate("p", 2, start=[0.6, -0.8], rate=[0.0, 0.0])
    u = m.input("u", 2)
    m.kinetic_energy(0.5 * (m.rate(p)[0] ** 2 + m.rate(p)[1] ** 2))
    m.constraint("rod", p[0] ** 2 + p[1] ** 2 - 1)
    m.generalised_force(p, u)
    ocp = dd.OptimalControl(m, duration=1.0, intervals=10)
    ocp.start()
    ocp.finish({"p": [0.5, -0.8]})
    with pytest.raises(dd.InconsistentStartError) as error:
        ocp.solve()
    assert str(error.value).splitlines()[0] == "rod and the end values p = (0.5, -0.8) disagree by 0.11."


def test_a_conserved_quantity_that_would_have_to_change():
    m = dd.Model("turning")
    x, u = m.state("x", 2, start=[1.0, 0.0]), m.input("u")
    m.equation(m.der(x), [-u * x[1], u * x[0]])
    ocp = dd.OptimalControl(m, duration=1.0, intervals=10)
    ocp.start()
    ocp.finish({"x": [0.0, 2.0]})
    ocp.minimise(running=u**2)
    with pytest.raises(dd.InputError) as error:
        ocp.solve()
    assert (
        str(error.value).splitlines()[0] == "The end cannot be reached: x keeps a quantity that would have to change."
    )


@pytest.mark.parametrize(
    ("call", "headline"),
    [
        (lambda m, o: o.bound("w", 0, 1), "The model 'cart' has no variable 'w'."),
        (lambda m, o: o.bound("u", 1, 0), "The bounds of u are crossed."),
        (lambda m, o: o.minimise(running=m["x"] * np.ones(2)), "The running cost is not a single number."),
        (lambda m, o: o.subject_to(m["x"] + 1), "A condition must be a comparison."),
        (lambda m, o: o.subject_to(m["x"] <= 1, at="middle"), "at='middle' is not a valid time of a condition."),
        (lambda m, o: o.given("x", 1.0), "x is not an input."),
        (lambda m, o: o.free("u"), "u is not a parameter."),
        (lambda m, o: o.periodic("u"), "u is not a state, and cannot be periodic."),
        (lambda m, o: o.solve(method="guessing"), "method='guessing' is not known."),
        (lambda m, o: o.solve(degree=0), "degree must be a whole number of at least 1."),
        (lambda m, o: dd.OptimalControl(m, duration=-1.0), "The duration must be a positive number."),
        (lambda m, o: o.bound(dd.Model("y").state("y"), 0, 1), "A bound contains a foreign symbol."),
    ],
)  # fmt: skip
def test_mistakes_are_refused_where_they_are_made(call, headline):
    m, ocp = cart()
    with pytest.raises(dd.DaedalusError) as error:
        call(m, ocp)
    assert str(error.value).splitlines()[0] == headline


def test_models_with_events_are_refused_by_name():
    m = dd.Model("ball")
    h = m.state("h", start=1.0, rate=0.0)
    m.equation(m.der(m.der(h)), -9.81)
    m.event("bounce", h, direction=-1, reset={"h_dot": -0.8 * m.der(h)})
    with pytest.raises(dd.InputError, match="The model has events: bounce"):
        dd.OptimalControl(m, duration=1.0)


def test_a_plan_begins_where_another_ends_at_a_bound():
    m = dd.Model("cart")
    v, u = m.state("v"), m.input("u")
    m.equation(m.der(v), u)
    ocp = dd.OptimalControl(m, duration=1.0, intervals=10)
    ocp.bound(v, None, 1.0)
    ocp.start({"v": 1.0 + 2e-8})
    ocp.finish(v=0.0)
    ocp.minimise(running=u**2)
    assert ocp.solve().objective == pytest.approx(1.0)
