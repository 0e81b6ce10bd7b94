"""Interval bounds that contain every value, Lipschitz constants known in closed form, and what they mean in words."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

import daedalus as dd
from daedalus import catalogue
from daedalus.analysis.interval_arithmetic import range_over

FUNCTIONS = {
    "polynomial": lambda x, y: x**3 - 2 * x * y + y**2,
    "trigonometric": lambda x, y: ca.sin(3 * x) * ca.cos(y) + ca.tan(0.3 * x),
    "exponential": lambda x, y: ca.exp(x) / (1 + ca.exp(y)) - ca.log(3 + x + y),
    "roots": lambda x, y: ca.sqrt(2 + x) * (3 + y) ** 1.5,
    "hyperbolic": lambda x, y: ca.tanh(x) + ca.cosh(y) * ca.sinh(x) - ca.atan(x * y),
    "quotient": lambda x, y: (x - y) / (x * y + 2),
    "arcs": lambda x, y: ca.asin(0.5 * x) + ca.acos(0.5 * y) + ca.atan2(x, 2 + y),
    "kinks": lambda x, y: ca.fabs(x) + ca.fmin(x, y) * ca.fmax(x, -y) + ca.sign(x),
    "switch": lambda x, y: ca.if_else(x > y, x, y**2),
    "error function": lambda x, y: ca.erf(x - y),
}
ends = st.floats(-1.0, 1.0)


@pytest.mark.parametrize("name", FUNCTIONS)
@given(a=ends, b=ends, c=ends, d=ends, seed=st.integers(0, 1000))
@settings(max_examples=examples(40), deadline=None)
def test_a_range_contains_every_value(name, a, b, c, d, seed):
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    function = ca.Function("f", [ca.vertcat(x, y)], [FUNCTIONS[name](x, y)])
    low, high = np.array([min(a, b), min(c, d)]), np.array([max(a, b), max(c, d)])
    found = range_over(function, [low[None, :]], [high[None, :]])
    draw = np.random.default_rng(seed)
    for point in (low, high, *draw.uniform(low, high, (20, 2))):
        value = float(function(point))
        assert found.low[0][0, 0] <= value <= found.high[0][0, 0]


def test_ranges_are_not_wider_than_needed_where_each_symbol_occurs_once():
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    for expression, low, high in [
        (x**2, 0.0, 4.0),
        (ca.sin(x), np.sin(-1.0), 1.0),
        (ca.cos(x), np.cos(2.0), 1.0),
        (x * y, -4.0, 8.0),
        (ca.exp(-x), np.exp(-2.0), np.e),
        (1 / y, 0.25, 0.5),
    ]:
        function = ca.Function("f", [ca.vertcat(x, y)], [expression])
        found = range_over(function, [np.array([[-1.0, 2.0]])], [np.array([[2.0, 4.0]])])
        assert found.low[0][0, 0] == pytest.approx(low, abs=1e-13)
        assert found.high[0][0, 0] == pytest.approx(high, abs=1e-13)


def test_an_unknown_operation_is_refused():
    x = ca.SX.sym("x")
    function = ca.Function("f", [x], [ca.erfinv(x)])
    with pytest.raises(dd.SolverError, match="The range of this expression cannot be bounded"):
        range_over(function, [np.zeros((1, 1))], [np.ones((1, 1))])


def scalar(write):
    m = dd.Model("scalar")
    x = m.state("x", start=0.5)
    m.equation(m.der(x), write(x))
    return m


@pytest.mark.parametrize(
    ("write", "box", "constant"),
    [
        (lambda x: x * (1 - x), (0, 2), 3.0),
        (lambda x: ca.sin(5 * x), (-1, 1), 5.0),
        (lambda x: -(x**3), (-1, 2), 12.0),
        (lambda x: ca.fabs(x), (-1, 1), 1.0),
        (lambda x: ca.sqrt(x), (0.25, 1), 1.0),
    ],
)
def test_scalar_constants_are_enclosed_closely(write, box, constant):
    bounds = dd.lipschitz(scalar(write), box={"x": box})
    assert bounds.lower <= constant * (1 + 1e-12)
    assert bounds.upper >= constant
    assert bounds.upper - bounds.lower < 0.03 * constant


def test_a_linear_system_has_the_norm_of_its_matrix():
    A = np.array([[0.0, 1.0], [-4.0, -0.5]])
    m = dd.Model("linear")
    x = m.state("x", 2, start=[1, 0])
    m.equation(m.der(x), ca.mtimes(ca.DM(A), x))
    bounds = dd.lipschitz(m, box={"x": ([-1, -2], [1, 2])})
    norm = np.linalg.norm(A, 2)
    assert bounds.lower == pytest.approx(norm, rel=1e-12)
    assert norm <= bounds.upper <= np.linalg.norm(A) * (1 + 1e-12)


def double_pendulum():
    """M(q) q'' = h(q, q') as it stands in textbooks, with the numbers of the known system."""
    m = dd.Model("double pendulum")
    angle = m.state("angle", 2, start=[1.5, -0.5], rate=[0.0, 0.0])
    rate, (a, b) = m.der(angle), ca.vertsplit(angle)
    lever, weight = 0.4 * ca.cos(a - b), 9.81 * ca.vertcat(1.5 * ca.sin(a), 0.4 * ca.sin(b))
    swirl = 0.4 * ca.sin(a - b) * ca.vertcat(-(rate[1] ** 2), rate[0] ** 2)
    m.equation(ca.blockcat([[1.5, lever], [lever, 0.32]]) @ m.der(rate), swirl - weight)
    return m


@pytest.mark.parametrize("form", ["equations", "energies"])
def test_solutions_move_apart_no_faster_than_the_bound(form):
    m = double_pendulum() if form == "equations" else catalogue.load("double_pendulum").model
    bounds = dd.lipschitz(m, box={"angle": (-0.5, 0.5), "angle_dot": (-2, 2)})
    one = dd.simulate(m, 0.2, start={"angle": [0.2, 0.1], "angle_dot": [0, 0]}, rtol=1e-10, save_at=[0, 0.2])
    two = dd.simulate(m, 0.2, start={"angle": [0.21, 0.1], "angle_dot": [0, 0]}, rtol=1e-10, save_at=[0, 0.2])
    gap = [np.hypot(*(np.linalg.norm(one[n][k] - two[n][k]) for n in ("angle", "angle_dot"))) for k in (0, -1)]
    assert gap[1] <= gap[0] * np.exp(bounds.upper * 0.2)
    assert bounds.lower <= bounds.upper
    # By energies, cos a cos b + sin a sin b stands where cos(a - b) would: intervals do not know that, and the bound
    # holds without being close.
    assert form == "energies" or bounds.upper < 1.3 * bounds.lower


def test_infinite_slopes_and_jumps_have_no_constant_and_say_so():
    bounds = dd.lipschitz(scalar(lambda x: -ca.sqrt(x)), box={"x": (0, 1)})
    assert bounds.upper == np.inf
    assert bounds.steep == [("x_dot", "x")]
    text = str(bounds)
    assert text.startswith("No Lipschitz constant was found on the box; it is ")
    assert "No bound for the slope of x_dot in x." in text
    assert "Existence and uniqueness are not guaranteed there" in text
    jump = dd.lipschitz(scalar(lambda x: -ca.sign(x)), box={"x": (-1, 1)})
    assert jump.upper == np.inf
    assert "may jump inside the box" in str(jump)
    assert np.isfinite(dd.lipschitz(scalar(lambda x: -ca.sign(x)), box={"x": (0.5, 1)}).upper)


@pytest.mark.document("002", "Lipschitz constants on a box, and the time for which a solution exists", "`dd.lipschitz`")
def test_the_time_of_existence_is_that_of_the_theorem():
    """x' = x² on [0, 2] from the middle 1: speed at most 4, half width 1; it really exists until t = 1."""
    found = dd.lipschitz(scalar(lambda x: x**2), box={"x": (0, 2)})
    assert found.time == pytest.approx(0.25)
    assert (found.lower, found.upper) == (pytest.approx(4.0, rel=1e-3), pytest.approx(4.0, rel=1e-3))  # max |2 x|


def test_algebraic_variables_are_solved_for_and_parameters_may_vary():
    m = dd.Model("tank")
    h, q, k = m.state("h", start=1.0), m.algebraic("q"), m.parameter("k", 0.5)
    m.equation(m.der(h), -q)
    m.equation(2 * q, k * h)
    assert dd.lipschitz(m, box={"h": (0, 1)}).upper == pytest.approx(0.25)
    assert dd.lipschitz(m, box={"h": (0, 1), "k": (0, 4)}).upper == pytest.approx(2.0)


def test_wrong_boxes_are_refused_by_name():
    m = scalar(lambda x: -x)
    with pytest.raises(dd.InputError, match="The box has no interval for x"):
        dd.lipschitz(m, box={})
    with pytest.raises(dd.InputError, match="The interval of x is not a pair"):
        dd.lipschitz(m, box={"x": 3})
    with pytest.raises(dd.InputError, match="The interval of x is empty or not finite"):
        dd.lipschitz(m, box={"x": (1, 0)})
    with pytest.raises(dd.InputError, match="box= takes states, inputs, parameters and the time, not x_dot"):
        dd.lipschitz(m, box={"x": (0, 1), "x_dot": (0, 1)})
    with pytest.raises(dd.InputError, match="has no variable 'y'"):
        dd.lipschitz(m, box={"y": (0, 1)})


def test_a_system_without_explicit_right_side_is_refused():
    with pytest.raises(dd.SolverError) as caught:
        dd.lipschitz(catalogue.load("nilpotent_3").model, box={"x": (0, 1)})
    assert "This model has no explicit right-hand side" in str(caught.value)
    assert "Try: dd.analyse(m)" in str(caught.value)


# -- all x -------------------------------------------------------------------------------------------------------


EVERYWHERE = {"x": (-np.inf, np.inf)}


@pytest.mark.document(
    "002",
    "with one constant for all x the solution exists and is unique for all t",
    "`dd.lipschitz`",
)
@pytest.mark.parametrize(
    ("right", "constant"),
    [
        (lambda x: -3 * x, 3.0),
        (lambda x: ca.sin(2 * x) + x, 3.0),
        (lambda x: ca.tanh(x), 1.0),
        (lambda x: ca.atan(x) - 0.5 * x, 0.5),
        (lambda x: ca.fmax(x, 0), 1.0),
    ],
)
def test_for_all_x_a_solution_exists_for_all_t(right, constant):
    """The theorem of document 002: with one constant for all x the solution exists and is unique for all t."""
    found = dd.lipschitz(scalar(right), EVERYWHERE)
    assert found.holds is True
    assert found.everywhere
    assert constant <= found.upper * (1 + 1e-12)
    assert found.upper <= 1.6 * constant
    assert found.time == np.inf
    assert "for all t" in str(found)


@pytest.mark.parametrize(
    ("right", "box"),
    [
        (lambda x: x**2, EVERYWHERE),
        (lambda x: ca.exp(x), {"x": (0.0, np.inf)}),
        (lambda x: x**3, {"x": (-np.inf, 1.0)}),
        (lambda x: x * ca.log(1 + x), {"x": (0.0, np.inf)}),
        (lambda x: -ca.sqrt(x), {"x": (0.0, 1.0)}),
        (lambda x: 1 / x, {"x": (0.0, 1.0)}),
    ],
)
def test_a_witness_says_that_there_is_no_constant(right, box):
    found = dd.lipschitz(scalar(right), box)
    assert found.holds is False
    assert found.upper == np.inf
    slopes = [size for _, size in found.witness]
    assert len(slopes) == 8
    assert np.all(np.diff(slopes) > 0)
    slope = ca.Function("slope", [x := ca.SX.sym("x")], [ca.jacobian(right(x), x)])
    for at, size in found.witness:
        assert box["x"][0] <= at["x"] <= box["x"][1]
        assert abs(float(slope(at["x"]))) == pytest.approx(size)
    assert "There is none: the slope is " in str(found)


def test_what_interval_arithmetic_does_not_decide_is_left_open():
    found = dd.lipschitz(scalar(lambda x: x / (1 + x**2)), EVERYWHERE)
    assert found.holds in (True, None)
    assert found.lower == pytest.approx(1.0, rel=0.1)


@pytest.mark.document("004", "(4) x'³ + x = 0", "`dd.lipschitz`")
def test_a_cube_root_has_a_constant_away_from_zero_only():
    """Example (4) of document 004, x'³ + x = 0: x' = -x^(1/3), whose slope is infinite at zero."""
    m = catalogue.load("small_dae", example="savin_4").model
    away = dd.lipschitz(m, {"x": (0.1, 1.0)})
    assert away.holds is True
    assert away.upper == pytest.approx(0.1 ** (-2 / 3) / 3, rel=0.03)
    for box in ({"x": (-1.0, 1.0)}, EVERYWHERE, {"x": (0.0, 2.0)}):
        found = dd.lipschitz(m, box)
        assert found.holds is False
        assert abs(found.witness[-1][0]["x"]) < 1e-3


def test_only_some_sides_may_be_open():
    m = dd.Model("two")
    x, y, u = m.state("x"), m.state("y"), m.input("u")
    m.equation(m.der(x), y * u)
    m.equation(m.der(y), -ca.sin(x) - y)
    box = {"x": (-np.inf, np.inf), "y": (-np.inf, np.inf), "u": (-2.0, 2.0)}
    assert dd.lipschitz(m, box).holds is True
    assert dd.lipschitz(m, {**box, "u": (-np.inf, np.inf)}).holds is False
