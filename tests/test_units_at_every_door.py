"""Quantities with units at every public door that takes numbers: those of any unit, and of the wrong kind."""

import warnings

import casadi as ca
import numpy as np
import pint
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.rings import examples
from unit_registry import UNITS

import daedalus as dd

# Other units of the same kind for each that a door takes.
OTHERS = {
    "s": ("ms", "minute", "us"),
    "m": ("mm", "km", "inch"),
    "m/s": ("km/hour", "mm/s"),
    "m/s^2": ("mm/s^2", "km/hour/s"),
    "N": ("kN", "mN", "lbf"),
    "N/s": ("kN/s", "N/minute"),
    "N/m": ("N/mm", "kN/m"),
    "kg": ("g", "tonne"),
    "kg*m^2": ("g*m^2", "kg*mm^2"),
    "rad": ("degree",),
}


def carrier():
    m = dd.Model("carrier")
    x, v = m.state("x", start=1.0, unit="m"), m.state("v", start=0.5, unit="m/s")
    u, k = m.input("u", unit="N"), m.parameter("k", 2.0, unit="N/m")
    m.equation([m.der(x), m.der(v)], [v, u - k * x - 0.1 * v])
    m.output("pull", k * x, unit="N")
    return m


def left_alone():
    m = dd.Model("left alone")
    x, k = m.state("x", start=1.0, unit="m"), m.parameter("k", 2.0, unit="N/m")
    m.equation(m.der(x), -k * x)
    return m


def problem(**options):
    ocp = dd.OptimalControl(carrier(), **{"duration": 1.0, "intervals": 3, **options})
    ocp.start()
    return ocp


def described(ocp):
    """All numbers of a problem."""
    d = ocp._description
    duration = d.duration if isinstance(d.duration, float) else (d.duration.guess, d.duration.lower, d.duration.upper)
    free = [(f.guess, f.lower, f.upper) for f in d.free.values()]
    ends = [[value.value for value in side] for side in (d.starts, d.ends)]
    tables = [v.values if hasattr(v, "times") else v for v in (*d.given.values(), *d.guesses.values())]
    kinds = [(kind.slowest, kind.fastest) for kind in d.kinds.values()]
    return [duration, free, ends, tables, kinds, *(np.asarray(v, dtype=float) for v in d.bounds.values())]


def with_problem(write, **options):
    ocp = problem(**options)
    write(ocp)
    return described(ocp)


def controlled(q):
    ocp = problem()
    ocp.minimise(running=ocp._description.system.symbol("x")[0] ** 2)
    controller = dd.Controller(ocp, every=q(0.2, "s"), time_limit=q(0.5, "s"))
    return controller.every, controller.time_limit


def at_event(q):
    m = left_alone()
    m.event("low", m["x"] - 0.5, direction=-1, reset={"x": q(0.9, "m")})
    return dd.simulate(m, 1.0)["x"][-1]


def at_ticks(q):
    m = left_alone()
    d = m.discrete("d", start=q(0.3, "m"), unit="m")
    m.every(q(0.25, "s"), {"d": q(0.7, "m")}, offset=q(0.1, "s"))
    m.output("seen", d)
    return dd.simulate(m, 1.0, save_at=[0.05, 0.2, 1.0])["d"]


def delayed(q):
    m = left_alone()
    m.output("late", m.delay(m["x"], q(0.2, "s"), history=1.0))
    return dd.simulate(m, 1.0)["late"][-1]


def fallen(q):
    m = dd.Model("fallen")
    m.gravity([0.0, 0.0, q(-9.81, "m/s^2")])
    inertia = dd.inertia.box(q(2.0, "kg"), q(1.0, "m"), q(2.0, "m"), q(3.0, "m"))
    m.body("b", mass=q(2.0, "kg"), inertia=inertia, position=[0, 0, q(3.0, "m")], velocity=[q(1.0, "m/s"), 0, 0],
           angular_velocity=[0, 0, 0.1], rotation=np.eye(3))  # fmt: skip
    return dd.simulate(m, 0.3)["b.position"][-1]


IDLE = {"inputs": {"u": 0.0}}
# What each door makes of numbers that come as q(value, unit).
DOORS = {
    "dd.unknown": lambda q: described(problem(duration=dd.unknown(q(2.0, "s"), q(0.1, "s"), q(9.0, "s")))),
    "duration": lambda q: described(problem(duration=q(2.0, "s"))),
    "ocp.start": lambda q: with_problem(lambda ocp: ocp.start(x=q(0.3, "m"))),
    "ocp.finish": lambda q: with_problem(lambda ocp: ocp.finish({"x": q(0.3, "m"), "pull": q(0.6, "N")})),
    "ocp.bound": lambda q: with_problem(lambda ocp: ocp.bound("u", q(-3.0, "N"), q(4.0, "N"))),
    "ocp.bound of a symbol": lambda q: with_problem(
        lambda ocp: ocp.bound(ocp._description.system.symbol("u"), q(-3.0, "N"), 4.0)),
    "ocp.free": lambda q: with_problem(lambda ocp: ocp.free("k", q(2.0, "N/m"), q(1.0, "N/m"), q(3.0, "N/m"))),
    "ocp.input": lambda q: with_problem(lambda ocp: ocp.input("u", "linear", rate=(q(-3.0, "N/s"), q(3.0, "N/s")))),
    "ocp.guess": lambda q: with_problem(lambda ocp: ocp.guess({"x": q(0.4, "m")})),
    "ocp.guess signal": lambda q: with_problem(lambda ocp: ocp.guess({"x": dd.signal([0, 1], q([0.4, 1.0], "m"))})),
    "ocp.given": lambda q: with_problem(lambda ocp: ocp.given("u", q(0.4, "N"))),
    "ocp.given signal": lambda q: with_problem(lambda ocp: ocp.given("u", dd.signal([0, 1], q([0.4, 1.0], "N")))),
    "dd.Controller": controlled,
    "dd.signal": lambda q: dd.simulate(
        carrier(), 1.0, inputs={"u": dd.signal(q([0, 1], "s"), q([1.0, 2.0], "N"))})["x"][-1],
    "dd.signal as a list": lambda q: dd.simulate(
        carrier(), 1.0, inputs={"u": dd.signal([0, 1], [q(1.0, "N"), q(2.0, "N")], kind="linear")})["x"][-1],
    "dd.signal as a spline": lambda q: dd.prepare(
        carrier(), 1.0, inputs={"u": dd.signal([0, 1, 2, 3], q([1.0, 2.0, 1.0, 0.0], "N"), kind="spline")})()[-1],
    "dd.initialise": lambda q: dd.initialise(carrier(), inputs={"u": dd.signal([0, 1], q([1.0, 2.0], "N"))})["v_dot"],
    "dd.flow": lambda q: dd.flow(left_alone(), step=q(0.1, "s"))(1.0, [], 2.0),
    "dd.normal": lambda q: dd.sweep(left_alone(), 0.1, over=dd.sample(
        {"k": dd.normal(q(2.0, "N/m"), q(0.1, "N/m"))}, 3), save_at="end").data["k"].values,
    "dd.uniform": lambda q: dd.sweep(left_alone(), 0.1, over=dd.sample(
        {"k": dd.uniform(q(2.0, "N/m"), q(3.0, "N/m"))}, 3, kind="latin"), save_at="end").data["k"].values,
    "dd.sweep": lambda q: dd.sweep(left_alone(), 0.1, over={"k": [q(2.0, "N/m"), q(3.0, "N/m")]}, save_at="end")["x"],
    "dd.equilibrium": lambda q: dd.equilibrium(
        carrier(), inputs={"u": q(3.0, "N")}, parameters={"k": q(2.5, "N/m")}, guess={"x": q(0.1, "m")})["x"],
    "dd.equilibrium over": lambda q: dd.equilibrium(carrier(), over={"u": [q(3.0, "N"), q(4.0, "N")]})["x"],
    "discretise": lambda q: dd.linearise(carrier(), **IDLE).discretise(q(0.1, "s")).A,
    "ltv.at": lambda q: dd.linearise(carrier(), along=dd.simulate(carrier(), 1.0, **IDLE)).at(q(0.5, "s")).A,
    "ltv.A": lambda q: dd.linearise(carrier(), along=dd.simulate(carrier(), 1.0, **IDLE)).A(q([0.5, 0.6], "s")),
    "dd.step_error": lambda q: dd.step_error(left_alone(), "rk4", q(0.1, "s")).error,
    "dd.convergence": lambda q: dd.convergence(left_alone(), "rk4", q([0.1, 0.05, 0.025], "s")).order,
    "dd.lipschitz": lambda q: dd.lipschitz(left_alone(), box={"x": (q(-1.0, "m"), q(1.0, "m"))}).upper,
    "dd.gradient": lambda q: dd.gradient(
        carrier(), q(1.0, "s"), final=ca.SX(1.0), grid=q([0.0, 0.5, 1.0], "s"), **IDLE)["k"],
    "atol": lambda q: dd.simulate(left_alone(), 1.0, atol={"x": q(1e-6, "m")}, rtol=1e-3)["x"][-1],
    "max_step": lambda q: len(dd.simulate(left_alone(), 1.0, max_step=q(0.1, "s"), first_step=q(0.01, "s")).time),
    "m.event": at_event,
    "m.every": at_ticks,
    "m.delay": delayed,
    "m.body": fallen,
    "dd.inertia": lambda q: [dd.inertia.cylinder(q(2.0, "kg"), q(0.1, "m"), q(0.4, "m")),
                             dd.parallel_axis(np.eye(3), q(2.0, "kg"), q([0.1, 0.2, 0.3], "m"))],
    "rotations": lambda q: [dd.rotation_from_rpy(q([0.1, 0.2, 0.3], "rad")),
                            dd.rotation_from_axis_angle([0, 0, 1], q(0.3, "rad"))],
}  # fmt: skip


def flat(value):
    """All numbers in a nested result."""
    if isinstance(value, (list, tuple)):
        return [number for part in value for number in flat(part)]
    return np.asarray(value, dtype=float).ravel().tolist()


def plain(value, unit):
    return value


@pytest.mark.parametrize("name", DOORS)
@settings(max_examples=examples(2, 1), deadline=None)
@given(data=st.data())
def test_any_unit_gives_the_numbers_that_plain_ones_give(name, data):
    def q(value, unit):
        other = data.draw(st.sampled_from((unit, *OTHERS[unit])))
        return UNITS.Quantity(value, unit).to(other)

    with warnings.catch_warnings():
        warnings.simplefilter("error", pint.UnitStrippedWarning)
        found, expected = flat(DOORS[name](q)), flat(DOORS[name](plain))
    assert len(expected) > 0
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", DOORS)
def test_another_kind_of_quantity_is_refused_in_words(name):
    with pytest.raises(dd.DaedalusError) as caught:
        DOORS[name](lambda value, unit: UNITS.Quantity(value, "candela"))
    error = caught.value
    assert "candela" in str(error)
    assert error.what
    assert error.because
    assert error.remedy


@pytest.mark.parametrize("kind", ["mean", "std"])
def test_logarithms_have_no_unit(kind):
    given = {"mean": 0.0, "std": 0.1, kind: 1.0 * UNITS.metre}
    with pytest.raises(dd.InputError, match=f"The {kind} of a logarithm has no unit"):
        dd.lognormal(**given)
