import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daedalus as dd
from daedalus import catalogue
from daedalus.analysis.linear.linearise import linearise
from daedalus.analysis.points.equilibrium import equilibrium


def refused(call) -> str:
    with pytest.raises(dd.DaedalusError) as error:
        call()
    return str(error.value)


def scalar(rate, start: float, **keywords) -> dd.Model:
    m = dd.Model("scalar")
    x = m.state("x", start=start, **keywords)
    m.equation(m.der(x), rate(x), name="rate")
    return m


@given(seed=st.integers(0, 10**6), n=st.integers(1, 6))
def test_known_rest_is_found_from_anywhere(seed, n):
    draw = np.random.default_rng(seed)
    root, far = draw.standard_normal(n), 20 * draw.standard_normal(n)
    pull = draw.standard_normal((n, n))
    pull = pull @ pull.T + np.eye(n)
    m = dd.Model("monotone")
    x = m.state("x", n, start=far.tolist() if n > 1 else float(far[0]))
    # The field is strongly monotone, so that there is one rest.
    gap = x - ca.DM(root)
    m.equation(m.der(x), -ca.DM(pull) @ gap - gap**3)
    found = equilibrium(m)
    np.testing.assert_allclose(np.atleast_1d(found["x"]), root, atol=1e-9)
    assert found.free == ()
    assert np.abs(found.residual).max() < 1e-9 * np.linalg.norm(pull)


@pytest.mark.parametrize(
    ("rate", "start", "rest"),
    [
        (ca.atan, 20.0, 0.0),  # plain Newton overshoots for |x| > 1.39
        (lambda x: 1 - ca.exp(x), 30.0, 0.0),  # plain Newton creeps down one by one
        (lambda x: 1 - ca.exp(x), -8.0, 0.0),  # plain Newton overflows
        (lambda x: ca.log(x), 5.0, 1.0),  # the first step leaves the domain
    ],
)
def test_damping_saves_what_newton_alone_would_lose(rate, start, rest):
    assert equilibrium(scalar(rate, start))["x"] == pytest.approx(rest, abs=1e-10)


def test_sizes_of_variables_do_not_matter():
    # A diode behind a resistor: i = I (exp(v/V) - 1), i R + v = U; currents of 1e-12 A beside volts.
    m = dd.Model("diode")
    v = m.state("v", start=0.0, unit="V")
    i = m.algebraic("i", start=0.0, unit="A", nominal=1e-3)
    supply = m.input("supply")
    m.equation(1e-9 * m.der(v), (supply - v) / 1e3 - i, name="node")
    m.equation(i, 1e-12 * (ca.exp(v / 0.025) - 1), name="diode")
    found = equilibrium(m, inputs={"supply": 5.0})
    v0 = found["v"]
    assert 1e-12 * np.expm1(v0 / 0.025) == pytest.approx((5.0 - v0) / 1e3, rel=1e-9)
    assert found["i"] == pytest.approx((5.0 - v0) / 1e3, rel=1e-9)
    assert 0.5 < v0 < 0.6


def test_large_system_against_a_closed_form():
    # Bratu's problem w'' + exp(w) = 0, w(0) = w(1) = 0 as a heated rod: w = -2 ln(cosh((s - ½) θ/2) / cosh(θ/4)).
    n = 199
    h = 1 / (n + 1)
    m = dd.Model("rod")
    w = m.state("w", n, start=0.0)
    ends = ca.vertcat(0, w, 0)
    m.equation(m.der(w), (ends[2:] - 2 * w + ends[:-2]) / h**2 + ca.exp(w))
    theta = 1.5171645990507543  # of θ = √2 cosh(θ/4)
    assert theta == pytest.approx(np.sqrt(2) * np.cosh(theta / 4), rel=1e-14)
    s = np.arange(1, n + 1) * h
    exact = -2 * np.log(np.cosh((s - 0.5) * theta / 2) / np.cosh(theta / 4))
    found = equilibrium(m)
    np.testing.assert_allclose(found["w"], exact, atol=2e-6)
    assert found.iterations < 10


def test_rest_stays_at_rest():
    known = catalogue.load("double_pendulum")
    rest = equilibrium(known.model, guess={"angle": [3.0, 3.2]})
    np.testing.assert_allclose(rest["angle"], [np.pi, np.pi], atol=1e-12)
    tr = dd.simulate(known.model, 1.0, start=rest)
    assert np.abs(tr["angle"] - rest["angle"]).max() < 1e-9
    lin = linearise(known.model, at=rest)
    assert lin.warnings == ()
    assert np.abs(lin.offset).max() < 1e-12


def test_angles_do_not_run_away_from_the_guess():
    np.testing.assert_allclose(equilibrium(catalogue.load("double_pendulum").model)["angle"], [0, 0], atol=1e-12)


def test_free_directions_are_named_and_stay_at_the_guess():
    known = catalogue.load("cart_pendulum")
    rest = equilibrium(known.model, guess={"position": 3.0, "angle": 0.2})
    assert rest.free == ("position",)
    assert rest["position"] == 3.0
    assert rest.solved_for == ("position", "angle", "position_dot", "angle_dot")
    np.testing.assert_allclose(np.abs(rest.directions), [[1], [0], [0], [0]], atol=1e-12)
    assert "free to first order: position" in str(rest)
    assert rest.notes == ("force had no value and is taken as 0",)


def test_conserved_sums_leave_a_family():
    # A reaction a <-> b: only the ratio is determined, and the nearest point of the line is taken.
    m = dd.Model("reaction")
    a, b = m.state("a", start=1.0), m.state("b", start=0.0)
    m.equation(m.der(a), 2 * b - a)
    m.equation(m.der(b), a - 2 * b)
    rest = equilibrium(m)
    assert rest.free == ("a", "b")
    np.testing.assert_allclose([rest["a"], rest["b"]], np.array([2.0, 1.0]) * 2 / 5, rtol=1e-12)


@pytest.mark.parametrize("guess", [[0.3, -0.9], [0.9, 0.2]])
def test_constrained_model_hangs(guess):
    m = dd.Model("pendulum")
    q = m.state("q", 2, start=guess, rate=0.0)
    pull = m.algebraic("pull")
    m.equation(m.der(m.der(q)), ca.vertcat(0, -9.81) - pull * q)
    m.equation(q.T @ q, 1.0)
    rest = equilibrium(m)
    np.testing.assert_allclose(rest["q"], [0, np.sign(rest["q"][1])], atol=1e-10)
    assert rest["pull"] == pytest.approx(9.81 * -rest["q"][1])
    assert rest.free == ()


# -- trim ------------------------------------------------------------------------------------------------------


def test_hover_of_the_quadrotor():
    known = catalogue.load("quadrotor")
    hover = equilibrium(known.model, fixed={"quaternion": [1, 0, 0, 0]}, solve_for=["thrust"])
    np.testing.assert_allclose(hover.inputs["thrust"], 0.468 * 9.81 / 4, rtol=1e-12)
    assert hover.free == ("position[0]", "position[1]", "position[2]")
    assert hover.notes == ()
    tr = dd.simulate(known.model, 1.0, start=hover, inputs=hover.inputs)
    assert np.abs(tr["position"]).max() < 1e-9


def test_parameters_can_be_solved_for():
    m = dd.Model("spring")
    x = m.state("x", start=0.0, rate=0.0)
    k = m.parameter("k", 1.0)
    m.equation(m.der(m.der(x)), 9.81 - k * x)
    assert equilibrium(m, fixed={"x": 0.5}, solve_for="k").parameters == {"k": pytest.approx(19.62)}
    assert equilibrium(m, guess={"x": 2.0}, fixed=["x"], solve_for="k").parameters == {"k": pytest.approx(4.905)}


@pytest.mark.parametrize("first_order", [False, True])
def test_steady_motion(first_order):
    # A sledge with drag: 3 v² = push.
    m = dd.Model("sledge")
    push = m.input("push")
    if first_order:
        x, v = m.state("x", start=0.0), m.state("v", start=0.1)
        m.equation(m.der(x), v)
        m.equation(m.der(v), push - 3 * v * ca.fabs(v))
        rate = "x_dot"
    else:
        x = m.state("x", start=0.0, rate=0.1)
        m.equation(m.der(m.der(x)), push - 3 * m.der(x) * ca.fabs(m.der(x)))
        rate = "x_dot"
    steady = equilibrium(m, inputs={"push": 12.0}, solve_for=[rate])
    assert steady[rate] == pytest.approx(2.0)
    assert steady.free == ("x",)
    forced = equilibrium(m, fixed={rate: 3.0}, solve_for=["push"])
    assert forced.inputs == {"push": pytest.approx(27.0)}
    assert forced[rate] == 3.0
    lin = linearise(m, at=forced)
    np.testing.assert_allclose(np.sort(lin.poles().real), [-18.0, 0.0], atol=1e-9)


def test_time_and_inputs_count_at_the_guess():
    m = dd.Model("driven")
    x = m.state("x", start=0.0)
    u = m.input("u")
    m.equation(m.der(x), u + m.time - x)
    found = equilibrium(m, inputs={"u": lambda t: t**2}, guess={"t": 3.0})
    assert (found["x"], found.time) == (pytest.approx(12.0), 3.0)


# -- failures --------------------------------------------------------------------------------------------------


def test_force_that_nothing_balances():
    text = refused(lambda: equilibrium(catalogue.load("cart_pendulum").model, inputs={"force": 0.5}))
    lines = text.split("\n")
    assert lines[0] == "No equilibrium of 'cart_pendulum' was found."
    assert lines[1] == "  largest scaled residual 0.417 in motion of position, which is off by -0.5"
    assert lines[2].startswith("  3 iterations from the guess")
    assert lines[3] == "  the equations leave undetermined: position"
    assert lines[4] == "  Because no unknown changes motion of position there, so nothing balances it."
    assert lines[5] == "  Try: other inputs=, or solve_for=[...] with an input or parameter that does"


def test_field_without_a_zero():
    text = refused(lambda: equilibrium(scalar(lambda x: ca.exp(x) + 1, 1.0)))
    assert text.startswith(
        "No equilibrium of 'scalar' was found.\n  largest scaled residual 1 in rate, which is off by -1"
    )
    assert "iterations from the guess; the last step changes x most" in text
    assert "Because the guess is too far, or there is no equilibrium." in text


def test_equations_that_contradict_each_other():
    m = dd.Model("contradiction")
    x, y = m.state("x", start=0.0), m.state("y", start=0.0)
    m.equation(m.der(x), x + y, name="first")
    m.equation(m.der(y), 1 - x - y, name="second")
    text = refused(lambda: equilibrium(m))
    assert "the equations leave undetermined: x, y" in text
    assert "Because the equations contradict each other near the point reached." in text


def test_equations_that_contradict_each_other_at_rest_alone():
    """x + y = ½ for ever, with x' = ½ and y' = −½."""
    m = dd.Model("drift")
    x, y = m.state("x", start=0.0), m.state("y", start=0.0)
    m.equation(m.der(x), x + y, name="first")
    m.equation(m.der(y), x + y - 1, name="second")
    assert "they move together, at x_dot = 0.5, y_dot = -0.5" in refused(lambda: equilibrium(m))
    found = equilibrium(m, fixed={"x": 0, "x_dot": 0.5, "y_dot": -0.5})
    assert found["y"] == pytest.approx(0.5)


def test_guess_outside_the_domain():
    assert refused(lambda: equilibrium(scalar(ca.log, -1.0))) == (
        "No equilibrium of 'scalar' was found.\n"
        "  rate is nan at the guess\n"
        "  Because the equations have no value there.\n"
        "  Try: guess={...} where every equation can be evaluated"
    )


def test_bounds_choose_the_root_or_refuse_it():
    inside = scalar(lambda x: (x + 1) * (x - 3), 1.4, lower=0.0, upper=9.0)
    assert equilibrium(inside)["x"] == pytest.approx(3.0)
    text = refused(lambda: equilibrium(scalar(lambda x: (x + 1) * (x + 3), 0.4, lower=0.0, upper=9.0)))
    assert "  x = -1 outside of the bounds" in text
    assert "Because the point found near the guess does not respect the bounds." in text


def test_trust_region_keeps_to_the_bounds():
    # Newton's method goes to the root at -2; the bounded search to the one at 2.
    m = scalar(lambda x: (x**2 - 4) * (x + 10), 0.1, lower=0.0)
    assert equilibrium(m)["x"] == pytest.approx(2.0)


def test_arguments_that_make_no_sense():
    m = catalogue.load("cart_pendulum").model
    assert refused(lambda: equilibrium(m, fixed={"force": 1.0})) == (
        "force is not an unknown of the equilibrium.\n"
        "  Because fixed= accepts states, algebraic variables and derivatives.\n"
        "  Try: inputs={'force': ...}"
    )
    assert refused(lambda: equilibrium(m, solve_for=["angle"])) == (
        "angle is an unknown of the equilibrium already.\n"
        "  Because solve_for= names inputs, parameters and derivatives that are solved for as well.\n"
        "  Try: leave it out of solve_for"
    )
    assert refused(lambda: equilibrium(m, guess={"angel": 1.0})).startswith("The model 'cart_pendulum' has no variable")
    assert refused(lambda: equilibrium(m, guess=4)).startswith("guess= takes values by name.")


@pytest.mark.parametrize("coordinates", ["body", "joint"])
def test_bodies_without_a_written_rotation_begin_unturned(coordinates: str) -> None:
    """The guess of a quaternion is no turn, not zero: an arm on a hinge, held by a spring."""
    m = dd.Model("arm")
    m.gravity([0, 0, -9.81])
    arm = m.body("arm", mass=1.0, inertia=[0.01, 0.02, 0.02])
    m.joint("hinge", "revolute", dd.ground, arm, at_b=[-0.3, 0, 0], axis_a=[0, 1, 0], coordinates=coordinates)
    m.potential_energy(10 * ca.sumsqr(arm.position - ca.DM([0.3, 0, 0.2])))
    place = np.ravel(dd.equilibrium(m)["arm.position"]) if coordinates == "body" else None
    if place is None:
        angle = float(dd.equilibrium(m)["hinge.angle"])
        place = np.array([0.3 * np.cos(angle), 0, -0.3 * np.sin(angle)])
    # At rest the force of spring and weight points along the arm.
    force = 20 * (np.array([0.3, 0, 0.2]) - place) - [0, 0, 9.81]
    np.testing.assert_allclose(np.cross(place, force), 0, atol=1e-9)
    assert np.linalg.norm(place) == pytest.approx(0.3, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_states_that_a_run_selects_all_rest(seed):
    """A pendulum in Cartesian coordinates with a side force f hangs at tan φ = f / (m g), whatever is selected."""
    rng, m = np.random.default_rng(seed), dd.Model("pendulum")
    mass, length, force = rng.uniform(0.5, 2), rng.uniform(0.5, 2), rng.uniform(0.5, 5)
    q = m.coordinate("q", 2, start=[0.6 * length, -0.8 * length])
    m.kinetic_energy(mass / 2 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * mass * q[1] - force * q[0])
    m.constraint("rod", ca.sumsqr(q) - length**2)
    found = dd.equilibrium(dd.reduce(m, stabilise="dummy_derivatives"), guess={"q[0]": rng.uniform(0, 0.5)})
    right = length * np.array([force, -9.81 * mass]) / np.hypot(force, 9.81 * mass)
    assert min(np.abs(found["q"] - right).max(), np.abs(found["q"] + right).max()) < 1e-8
