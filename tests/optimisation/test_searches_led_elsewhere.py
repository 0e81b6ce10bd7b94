"""Problems whose first search leads nowhere: guesses of other kinds find the plan, and the plan says so."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize
from tests.support.optima import begun, ode

import daedalus as dd


def particle(duration: object) -> dd.OptimalControl:
    """A particle in an electric field: where the input is zero the first slope of its motion is zero as well.

    D. E. Chang, N. Petit, P. Rouchon, Time-optimal control of a particle in a dielectrophoretic system, IEEE
    Transactions on Automatic Control 51 (2006).
    """
    m, _, _ = ode("x y", "u", lambda x, y, u: [y * u - 0.75 * u**2, u - y], [1.0, 0.0])
    ocp = begun(m, duration, 60, x=2.0)
    ocp.minimise(final=ocp.duration)
    return ocp


@pytest.mark.parametrize("bounded", ["by a bound", "by conditions"])
def test_a_motion_without_a_slope_at_the_guess_is_found(bounded):
    ocp = particle(dd.unknown(1.0, 0.1, 50.0))
    u = ocp.model["u"]
    if bounded == "by a bound":
        ocp.bound(u, -1.0, 1.0)
    else:
        ocp.subject_to(u <= 1)
        ocp.subject_to(u >= -1)
    plan = ocp.solve()
    assert plan.success, plan
    # On 400 intervals: 7.81135.
    assert plan.duration == pytest.approx(7.81135, rel=5e-4)
    assert any("the search from the guess found no plan" in note for note in plan.notes)


def test_a_car_moves_sideways_by_turning():
    """Beside itself: no input moves it there directly."""

    def rates(x, y, angle, v, a, bend):
        return [v * ca.cos(angle), v * ca.sin(angle), v * bend, a]

    m, _, _ = ode("x y angle v", "a bend", rates, [0.0, 0.0, 0.0, 0.0])
    ocp = begun(m, dd.unknown(5.0, 0.1, 50.0), 40, x=0.0, y=1.0, angle=0.0, v=0.0)
    for name in ("v", "a", "bend"):
        ocp.bound(name, -1.0, 1.0)
    ocp.minimise(final=ocp.duration)
    plan = ocp.solve()
    assert plan.success, plan
    assert plan.duration < 4.92
    replayed = plan.replay().trajectory
    np.testing.assert_allclose([replayed[name][-1] for name in ("x", "y", "angle", "v")], [0, 1, 0, 0], atol=1e-5)


def ascent(guess: float, bound: float | None) -> dd.OptimalControl:
    """Into an orbit of 185 km over a flat Earth: A. E. Bryson, Y.-C. Ho (1975), 2.4; tan u is linear in time."""

    def rates(x, y, v, w, u):
        return [v, w, 20 * ca.cos(u), 20 * ca.sin(u) - 9.81]

    m, _, (u,) = ode("x y v w", "u", rates, [0.0] * 4)
    ocp = begun(m, dd.unknown(guess, 1.0, 1000.0), 50, y=185e3, v=7796.7, w=0.0)
    if bound is not None:
        ocp.bound(u, -bound, bound)
    ocp.minimise(final=ocp.duration)
    return ocp


@pytest.mark.parametrize(
    ("guess", "bound"),
    [
        (100.0, np.pi / 2),
        pytest.param(400.0, None, marks=pytest.mark.wide),
        pytest.param(100.0, None, marks=pytest.mark.wide),
        pytest.param(100.0, 3.2, marks=pytest.mark.wide),
        pytest.param(600.0, None, marks=pytest.mark.wide),
    ],
)
def test_a_duration_far_from_the_guess_is_found(guess, bound):
    plan = ascent(guess, bound).solve()
    assert plan.success, plan
    assert plan.duration == pytest.approx(456.8577, rel=2e-5)


@pytest.mark.wide
def test_a_problem_without_ends_begins_at_a_motion():
    """Protein from a fed reactor: S. Park, W. F. Ramirez, AIChE Journal 34 (1988); R. Luus: 32.68 with finer inputs."""

    def rates(protein, total, cells, food, volume, u):
        growth, made = 21.87 * food / (food + 0.4) / (food + 62.5), food * ca.exp(-5 * food) / (0.1 + food)
        released, thinning = 4.75 * growth / (0.12 + growth), u / volume
        return [
            released * (total - protein) - thinning * protein, made * cells - thinning * total,
            (growth - thinning) * cells, -7.3 * growth * cells - thinning * (food - 20), u,
        ]  # fmt: skip

    m, (protein, *_, volume), _ = ode("protein total cells food volume", "u", rates, [0.0, 0.0, 1.0, 5.0, 1.0])
    ocp = begun(m, 15.0, 60)
    ocp.bound("u", 0.0, 2.0)
    ocp.minimise(final=-protein * volume)
    plan = ocp.solve()
    assert plan.success, plan
    assert plan.objective == pytest.approx(-32.68, rel=2e-3)


@pytest.mark.wide
def test_many_turns_round_a_planet_are_planned_from_a_motion():
    def rates(r, angle, v, w, u):
        return [v, w / r, w**2 / r - 1 / r**2 + 0.01 * ca.sin(u), -v * w / r + 0.01 * ca.cos(u)]

    m, (r, _, v, w), _ = ode("r angle v w", "u", rates, [1.0, 0.0, 0.0, 1.0])
    ocp = begun(m, 50.0, 60)
    ocp.subject_to(v == 0, at="end")
    ocp.subject_to(w == 1 / ca.sqrt(r), at="end")
    ocp.minimise(final=-r)
    plan = ocp.solve()
    assert plan.success, plan
    # On 400 intervals: 3.40557.
    assert plan.objective == pytest.approx(-3.40557, rel=1e-3)


def test_what_cannot_be_is_still_said():
    """Other starts make nothing possible that is not."""
    m, _, (u,) = ode("x v", "u", lambda x, v, u: [v, u], [0.0, 0.0])
    ocp = begun(m, 1.0, 20, x=1.0, v=0.0)
    ocp.bound(u, -1.0, 1.0)
    ocp.minimise(running=u**2)
    assert not ocp.solve().success


def largest_area(form: str, length: float = np.pi / 2) -> dd.OptimalControl:
    """The largest area between a rope and the ground (Dido), or inside a rope, in ways in which it is written."""
    m = dd.Model("rope")
    if form in ("at most", "given"):
        y, u = m.state("y", start=0.0), m.input("u")
        m.equation(m.der(y), u)
        ocp = begun(m, 1.0, 30, y=0.0)
        long = ocp.integral(ca.sqrt(1 + u**2))
        ocp.subject_to(long <= length if form == "at most" else long == length)
        ocp.minimise(running=-y)
    elif form == "length as a state":
        y, used, u = m.state("y", start=0.0), m.state("used", start=0.0), m.input("u")
        m.equation([m.der(y), m.der(used)], [u, ca.sqrt(1 + u**2)])
        ocp = begun(m, 1.0, 30, y=0.0, used=length)
        ocp.minimise(running=-y)
    elif form == "by its angle":
        x, y, area = (m.state(name, start=0.0) for name in ("x", "y", "area"))
        u = m.input("u")
        m.equation([m.der(x), m.der(y), m.der(area)], [ca.cos(u), ca.sin(u), y * ca.cos(u)])
        ocp = begun(m, length, 30, x=1.0, y=0.0)
        ocp.minimise(final=-area)
    else:
        x, y, u, w = m.state("x", start=0.0), m.state("y", start=0.0), m.input("u"), m.input("w")
        m.equation([m.der(x), m.der(y)], [u, w])
        ocp = begun(m, 1.0, 30)
        ocp.periodic()
        if form == "closed, speed at most":
            ocp.subject_to(u**2 + w**2 <= (2 * length) ** 2)
        else:
            long = ocp.integral(ca.sqrt(u**2 + w**2))
            ocp.subject_to(long == 2 * length if form == "closed, length given" else long <= 2 * length)
        ocp.minimise(running=0.5 * (y * u - x * w))
    return ocp


@pytest.mark.parametrize(
    "form",
    [
        "at most", "given", "by its angle", "closed, speed at most", "closed, length at most",
        pytest.param("length as a state", marks=pytest.mark.wide),
    ],
)  # fmt: skip
def test_the_largest_area_in_every_form(form):
    """Half a disc over the ground, or a disc; with 30 held inputs a polygon."""
    plan = largest_area(form).solve()
    assert plan.success, plan
    radius = 0.5
    assert plan.objective == pytest.approx(-np.pi * radius**2 * (1.0 if "closed" in form else 0.5), rel=5e-3)


def test_slopes_that_are_not_numbers_are_led_around():
    """|(u, w)| has no slope at the guess u = w = 0: the factorisation behind IPOPT read outside of its tables there."""
    plan = largest_area("closed, length given").solve(starts=1)
    assert plan.success, plan
    assert plan.objective == pytest.approx(-np.pi * 0.25, rel=5e-3)


def test_costs_without_a_number_end_a_search():
    m = dd.Model("nowhere real")
    x, u = m.state("x", start=0.0), m.input("u")
    m.equation(m.der(x), u)
    ocp = begun(m, 1.0, 10, x=1.0)
    ocp.minimise(running=ca.sqrt(-1 - u**2))
    plan = ocp.solve(starts=1)
    assert not plan.success
    assert "a function of the problem has no finite value at some iterate" in str(plan)


@pytest.mark.parametrize(
    ("angle", "way"),
    [
        (0.0, {}),
        (1.0, {"mesh_tolerance": 1e-4}),
        *(
            pytest.param(angle, way, marks=pytest.mark.wide)
            for angle in (-1.0, -0.3, 0.6, 1.2)
            for way in ({}, {"mesh_tolerance": 1e-4}, {"starts": 4})
        ),
    ],
)
def test_the_largest_area_under_a_rope_that_is_bent(angle, way):
    """Nothing but the curvature is chosen, and no cost sees it: the first search ends where it swings by intervals.

    An arc of the unit circle over a chord, less or more than half a circle: (π + 2 angle)/2 + sin(2 angle)/2.
    """
    length = np.pi + 2 * angle
    m, (_, y, turn), _ = ode("x y turn", "k", lambda x, y, turn, k: [ca.cos(turn), ca.sin(turn), k], [0.0, 0.0, 0.0])
    ocp = dd.OptimalControl(m, length, 40)
    ocp.start({"x": 0.0, "y": 0.0})
    ocp.finish({"x": 2 * np.cos(angle), "y": 0.0})
    ocp.minimise(running=-y * ca.cos(turn))
    plan = ocp.solve(**way)
    assert plan.success, plan
    assert plan.objective == pytest.approx(-(length + np.sin(2 * angle)) / 2, rel=1e-4)


# By arcs of constant torque, +, -, + and -, without a mesh: SciPy's SLSQP over their lengths.
PENDULUM_TIME = 3.106757


def pendulum_time() -> float:
    """The least time by four arcs, which meet the end."""

    def end(lengths):
        state = np.zeros(2)
        for sign, length in zip((4.0, -4.0, 4.0, -4.0), lengths):
            rates = lambda _, y, u=sign: [y[1], -9.81 * np.sin(y[0]) + u]  # noqa: E731
            state = solve_ivp(rates, (0.0, length), state, rtol=1e-8, atol=1e-10).y[:, -1]
        return state - [np.pi, 0.0]

    found = minimize(
        np.sum, [0.4, 1.0, 1.2, 0.5], method="SLSQP", bounds=[(0.0, 3.0)] * 4, constraints={"type": "eq", "fun": end}
    )
    assert np.abs(end(found.x)).max() < 1e-5
    return float(found.fun)


@pytest.mark.wide
def test_the_stored_time_of_the_pendulum_is_that_of_arcs():
    assert pendulum_time() == pytest.approx(PENDULUM_TIME, rel=1e-5)


@pytest.mark.wide
def test_where_the_guess_leads_nowhere_the_first_plan_is_not_the_last():
    """A pendulum is swung up by a torque too weak to hold it: with one swing in 3.1 s, with three in 5.5 s."""
    m, _, _ = ode("q w", "u", lambda q, w, u: [w, -9.81 * ca.sin(q) + u], [0.0, 0.0])
    ocp = begun(m, dd.unknown(3.0, 0.1, 20.0), 60, q=np.pi, w=0.0)
    ocp.bound("u", -4.0, 4.0)
    ocp.minimise(final=ocp.duration)
    plan = ocp.solve()
    assert plan.success, plan
    assert plan.duration == pytest.approx(PENDULUM_TIME, rel=1e-3)
