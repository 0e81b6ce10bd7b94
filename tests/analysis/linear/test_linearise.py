import pickle

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daedalus as dd
from daedalus import catalogue
from daedalus.analysis.linear.descriptor import DescriptorSystem
from daedalus.analysis.linear.linearise import linearise
from daedalus.compilation import counts

INDEX_ZERO = ("mass_spring", "cart_pendulum", "double_pendulum", "quadrotor", "pleiades", "van_der_pol", "hires")


def pendulum(reduced: bool = False) -> dd.Model:
    """A point mass on a rod in Cartesian coordinates: index 3, or 1 with the constraint differentiated twice."""
    m = dd.Model("pendulum")
    q = m.state("q", 2, start=[0.6, -0.8])
    v = m.state("v", 2, start=[0.0, 0.0])
    pull = m.algebraic("pull")
    m.equation(m.der(q), v, name="kinematics")
    m.equation(m.der(v), ca.vertcat(0, -9.81) - pull * q, name="Newton")
    if reduced:
        m.equation(ca.sumsqr(v) + q.T @ m.der(v), 0, name="rod")
    else:
        m.equation(q.T @ q, 1.0, name="rod")
    return m


def random_linear(seed: int, n: int, nu: int) -> tuple[dd.Model, dict[str, np.ndarray]]:
    draw = np.random.default_rng(seed)
    matrices = {
        "E": draw.standard_normal((n, n)),
        "A": draw.standard_normal((n, n)),
        "B": draw.standard_normal((n, nu)),
        "C": draw.standard_normal((2, n)),
        "D": draw.standard_normal((2, nu)),
        "G": draw.standard_normal((2, n)),
    }
    m = dd.Model("linear")
    x = m.state("x", n, start=draw.standard_normal(n).tolist())
    u = m.input("u", nu)
    given = {name: ca.DM(value) for name, value in matrices.items()}
    m.equation(given["E"] @ m.der(x), given["A"] @ x + given["B"] @ u)
    m.output("y", given["C"] @ x + given["D"] @ u + given["G"] @ m.der(x))
    return m, matrices


@given(seed=st.integers(0, 10**6), n=st.integers(2, 6), nu=st.integers(2, 3))
def test_linear_systems_are_their_own_linearisation(seed, n, nu):
    m, given = random_linear(seed, n, nu)
    lin = linearise(m, inputs={"u": np.ones(nu)})
    for name in ("E", "A", "B"):
        np.testing.assert_allclose(getattr(lin, name), given[name], rtol=0, atol=1e-15)
    # y = C x + D u + G x' with x' = E⁻¹ (A x + B u).
    solved = np.linalg.solve(given["E"], np.hstack([given["A"], given["B"]]))
    scale = np.linalg.cond(given["E"]) * np.abs(solved).max() + 1
    np.testing.assert_allclose(lin.C, given["C"] + given["G"] @ solved[:, :n], atol=1e-13 * scale)
    np.testing.assert_allclose(lin.D, given["D"] + given["G"] @ solved[:, n:], atol=1e-13 * scale)
    # In absolute values the affine form is exact for a linear system.
    x0, rate = lin.point["x"], lin.point["x_dot"]
    np.testing.assert_allclose(lin.E @ rate, lin.offset, atol=1e-12 * scale)
    np.testing.assert_allclose(lin.offset, given["A"] @ x0 + given["B"] @ np.ones(nu), atol=1e-11 * scale)


@pytest.mark.document("002", "linearisation about a point: A, B, C, D by derivatives", "`dd.linearise`")
@pytest.mark.parametrize("name", INDEX_ZERO)
def test_matrices_agree_with_finite_differences(name):
    known = catalogue.load(name)
    system = known.model.freeze()
    draw = np.random.default_rng(7)
    x = np.nan_to_num(system.start["x"]) + 0.1 * draw.standard_normal(system.sizes["x"])
    at = dict(zip(system.labels["x"], x.tolist()))
    lin = linearise(known.model, at=at, inputs=known.inputs)
    vectors = lin.point.vectors
    order = [lin.equations.index(label) for label in system.equation_labels]

    def residual(**changed: np.ndarray) -> np.ndarray:
        values = {**vectors, **changed}
        return system.function(*(values[letter] for letter in ("t", "xdot", "x", "z", "u", "p"))).full().ravel()

    def slope(letter: str) -> np.ndarray:
        columns = []
        for k in range(system.sizes[letter]):
            h = 1e-5 * max(1.0, abs(vectors[letter][k]))
            step = h * np.eye(system.sizes[letter])[k]
            ahead, behind = residual(**{letter: vectors[letter] + step}), residual(**{letter: vectors[letter] - step})
            columns.append((ahead - behind) / (2 * h))
        return np.array(columns).T.reshape(len(order), -1)

    size = max(1.0, np.abs(lin.A).max())
    np.testing.assert_allclose(lin.E[order], slope("xdot"), atol=1e-8 * size)
    np.testing.assert_allclose(lin.A[order], -slope("x"), atol=1e-7 * size)
    np.testing.assert_allclose(lin.B[order], -slope("u"), atol=1e-8 * size)
    np.testing.assert_allclose(residual(), lin.residual[order], atol=1e-12 * size)
    assert np.abs(lin.residual).max() < 1e-10 * size


def test_second_order_model_has_its_rates_beside_the_states():
    known = catalogue.load("cart_pendulum")
    lin = linearise(known.model, at={"angle": 0.0})
    assert lin.states == ("position", "angle", "position_dot", "angle_dot")
    assert lin.equations[2:] == ("motion of position", "motion of angle")
    m, b, l, g = 1.0, 0.2, 0.5, 9.81
    # The upright cart-pendulum: x'' = (F - b g θ)/m, θ'' = ((m + b) g θ - F)/(m l).
    space = lin.to_state_space()
    np.testing.assert_allclose(space.A[2:, 1], [-b * g / m, (m + b) * g / (m * l)], rtol=1e-13)
    np.testing.assert_allclose(space.B[:, 0], [0, 0, 1 / m, -1 / (m * l)], atol=1e-13)
    np.testing.assert_allclose(np.sort(lin.poles().real)[[0, 3]], np.sqrt((m + b) * g / (m * l)) * np.array([-1, 1]))


def test_outputs_are_rows_with_names():
    known = catalogue.load("cart_pendulum")
    lin = linearise(known.model, at={"angle": np.pi / 6, "position_dot": 2.0}, inputs=known.inputs)
    assert lin.outputs == ("bob[0]", "bob[1]", "energy", "energy_less_work")
    np.testing.assert_allclose(lin.C[:2, :2], [[1, 0.5 * np.cos(np.pi / 6)], [0, -0.5 * np.sin(np.pi / 6)]])
    assert lin.D[3, 0] == -lin.point["position"]
    assert lin.C[3, 0] == pytest.approx(-0.5)


def test_a_model_without_outputs_gives_its_unknowns():
    lin = linearise(pendulum(), at={"q": [0.0, -1.0]})
    assert lin.outputs == lin.states == ("q[0]", "q[1]", "v[0]", "v[1]", "pull")
    np.testing.assert_array_equal(lin.C, np.eye(5))


# -- DAEs ------------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10**6), n=st.integers(1, 5), m=st.integers(1, 3))
def test_index_one_has_the_poles_of_its_explicit_form(seed, n, m):
    draw = np.random.default_rng(seed)
    a, b, c = draw.standard_normal((n, n)), draw.standard_normal((n, m)), draw.standard_normal((m, n))
    model = dd.Model("index one")
    x = model.state("x", n, start=draw.standard_normal(n).tolist() if n > 1 else 0.3)
    z = model.algebraic("z", m)
    u = model.input("u")
    # z + ½ tanh z = c tanh(x), x' = a x + b z + u: nonlinear in z, regular everywhere.
    model.equation(model.der(x), ca.DM(a) @ x + ca.DM(b) @ z + u)
    model.equation(z + 0.5 * ca.tanh(z), ca.DM(c) @ ca.tanh(x))
    model.output("z_sum", ca.sum1(z))
    lin = linearise(model, inputs={"u": 0.0})
    x0, z0 = np.atleast_1d(lin.point["x"]), np.atleast_1d(lin.point["z"])
    np.testing.assert_allclose(z0 + 0.5 * np.tanh(z0), c @ np.tanh(x0), atol=1e-12)
    dz = np.diag(1 / (1 + 0.5 / np.cosh(z0) ** 2)) @ c @ np.diag(1 / np.cosh(x0) ** 2)
    explicit = a + b @ dz
    assert lin.index == 1
    s = 0.3 + 1.7j
    by_hand = np.ones(m) @ dz @ np.linalg.solve(s * np.eye(n) - explicit, np.ones(n))
    assert lin.transfer(s)[0, 0] == pytest.approx(by_hand, rel=1e-9, abs=1e-12)
    for pole in lin.poles():
        smallest = np.linalg.svd(explicit - pole * np.eye(n), compute_uv=False)[-1]
        assert smallest < 1e-9 * max(1.0, np.linalg.norm(explicit))


def test_index_three_at_rest_has_the_frequency_of_the_pendulum():
    lin = linearise(pendulum(), at={"q": [0.0, -1.0]})
    assert lin.warnings == ()
    assert lin.point["pull"] == pytest.approx(9.81)
    np.testing.assert_allclose(lin.poles(), [-1j * np.sqrt(9.81), 1j * np.sqrt(9.81)], atol=1e-12)
    assert (lin.index, lin.pencil.infinite) == (3, 3)


@pytest.mark.parametrize("v", [[0.0, 0.0], [1.6, 1.2]])
def test_index_three_in_motion_solves_the_differentiated_equations(v):
    high, low = (linearise(pendulum(reduced), at={"v": v}) for reduced in (False, True))
    # |q| = 1: pull = v² + g cos(angle from below).
    pull = np.dot(v, v) + 9.81 * 0.8
    for lin in (high, low):
        assert lin.point["pull"] == pytest.approx(pull, rel=1e-13)
        np.testing.assert_allclose(
            lin.point["v_dot"], np.array([0.0, -9.81]) - pull * np.array([0.6, -0.8]), rtol=1e-12
        )
    assert high.notes == ("derivatives and algebraic variables follow from equations differentiated up to twice",)
    assert low.notes == ()
    # The matrices are those of F at that point, whatever the index.
    np.testing.assert_allclose(high.A[2:4], low.A[2:4], atol=1e-12)


def test_large_constrained_model_solves_sparse():
    n = 40
    m = dd.Model("chain")
    angle = np.linspace(0.2, 0.6, n)
    m_start = np.cumsum([np.sin(angle), -np.cos(angle)], axis=1) / n
    r = m.state("r", (2, n), start=m_start, rate=0.0)
    pull = m.algebraic("pull", n)
    ends = ca.horzcat(ca.SX.zeros(2), r)
    rods = ends[:, 1:] - ends[:, :-1]
    force = rods * ca.repmat(pull.T, 2, 1)
    m.equation(m.der(m.der(r)) + force - ca.horzcat(force[:, 1:], ca.SX.zeros(2)), ca.repmat(ca.SX([0, -9.81]), 1, n))
    m.equation(ca.sum1(rods**2).T, np.full(n, 1 / n**2))
    m.output("last", m.der(m.der(r))[:, -1])
    lin = linearise(m)
    assert np.abs(lin.residual).max() < 1e-11
    # Rod k stays as long as it is: rod · rod'' = 0 from rest.
    acceleration = np.diff(np.hstack([np.zeros((2, 1)), lin.point["r_ddot"]]), axis=1)
    start = np.diff(np.hstack([np.zeros((2, 1)), m_start]), axis=1)
    assert np.abs(np.sum(acceleration * start, axis=0)).max() < 1e-12
    assert lin.C.shape == (2, 5 * n)


def test_outputs_of_derivatives_come_from_the_equations():
    m = pendulum()
    m.output("acceleration", m.der(m["v"]))
    lin = linearise(m, at={"q": [0.0, -1.0]})
    np.testing.assert_allclose(lin.C, [[-9.81, 0, 0, 0, 0], [0, -9.81, 0, 0, 1]], atol=1e-14)


def test_a_derivative_that_no_equation_contains_becomes_a_variable():
    m = dd.Model("slaved")
    x = m.state("x", start=0.5)
    y = m.state("y", start=0.25)
    u = m.input("u")
    m.equation(m.der(x), u - y, name="motion")
    m.equation(y, x**2, name="slave")
    m.output("rate", m.der(y))
    lin = linearise(m, inputs={"u": 0.25})
    assert lin.states == ("x", "y", "rate in rate")
    assert lin.equations == ("motion", "slave", "definition of rate in rate")
    assert any("rate in rate added" in note for note in lin.notes)
    # δy = δx there, so δx' = δu - δx and δy' = s/(s + 1) δu.
    s = 0.7 + 0.3j
    assert lin.transfer(s)[0, 0] == pytest.approx(s / (s + 1))
    np.testing.assert_allclose(lin.poles(), [-1.0])


# -- points ----------------------------------------------------------------------------------------------------


def test_point_that_is_no_equilibrium_is_told():
    m = dd.Model("logistic")
    x = m.state("x", start=0.5)
    m.equation(m.der(x), x * (1 - x))
    lin = linearise(m)
    assert lin.warnings == (
        "the point is not an equilibrium (x_dot = 0.25): the matrices describe small deviations from the "
        "motion through it, as long as that stays near; for absolute values add offset",
    )
    assert lin.warnings[0] in str(lin)
    assert linearise(m, at={"x": 1.0}).warnings == ()


def test_point_that_contradicts_the_equations_is_told():
    lin = linearise(pendulum(), at={"q": [0.6, -0.9]})
    assert lin.warnings[0].startswith("the point does not obey rod: rod is off by 0.17;")
    np.testing.assert_allclose(lin.residual, [0, 0, 0, 0, 0.17], atol=1e-14)
    lin = linearise(pendulum(), at={"q": [0.0, -1.0], "pull": 5.0, "v_dot": [0.0, 0.0]})
    assert lin.warnings[0].startswith("the point does not obey Newton[1]: Newton[1] is off by 4.81;")
    assert lin.point["pull"] == 5.0


def test_missing_values_are_taken_from_the_start_or_zero_and_told():
    m = dd.Model("mixed")
    x = m.state("x", 2, start=[2.0, None])
    u = m.input("u")
    m.equation(m.der(x), [x[1] + u, x[0]])
    lin = linearise(m)
    np.testing.assert_array_equal(lin.point["x"], [2.0, 0.0])
    assert lin.notes == ("x[1] had no value and is taken as 0", "u had no value and is taken as 0")


def test_point_of_a_run_brings_inputs_parameters_and_time():
    m = dd.Model("driven")
    x = m.state("x", start=1.0)
    k = m.parameter("k", 1.0)
    u = m.input("u")
    m.equation(m.der(x), -k * x**2 + u * m.time)
    tr = dd.simulate(m, 2.0, inputs={"u": lambda t: np.exp(-t)}, parameters={"k": 3.0}, rtol=1e-9)
    lin = linearise(m, at=tr.at(1.5))
    assert lin.point["t"] == 1.5
    assert lin.point["k"] == 3.0
    assert lin.point.inputs["u"] == pytest.approx(np.exp(-1.5))
    assert lin.A[0, 0] == pytest.approx(-6.0 * tr.at(1.5)["x"])
    assert lin.B[0, 0] == 1.5
    assert np.abs(lin.residual).max() < 1e-12
    again = linearise(m, at=lin.point)
    np.testing.assert_array_equal(again.A, lin.A)
    other = linearise(m, at=lin.point, parameters={"k": 1.0}, inputs={"u": dd.signal([0.0, 1.0], [7.0, 8.0])})
    assert other.A[0, 0] == pytest.approx(lin.A[0, 0] / 3)
    assert other.point["u"] == 8.0
    assert np.abs(other.residual).max() < 1e-12


def test_a_point_is_a_start():
    m = pendulum(reduced=True)
    point = linearise(m, at={"v": [1.6, 1.2]}).point
    tr = dd.simulate(m, 0.5, start=point, rtol=1e-9)
    assert tr["pull"][0] == pytest.approx(4.0 + 9.81 * 0.8)
    assert list(point) == ["q", "v", "pull"]
    assert "v_dot" in point
    assert "rod" not in point
    assert point.get("rod", 7) == 7


def test_repeated_calls_compile_nothing():
    known = catalogue.load("double_pendulum")
    linearise(known.model)
    before = counts()
    for angle in (0.1, 0.2, 0.3):
        linearise(known.model, at={"angle": [angle, 0.0]})
    assert counts() == before


def test_results_travel():
    known = catalogue.load("cart_pendulum")
    lin = linearise(known.model, at={"angle": 0.1}, inputs=known.inputs)
    back = pickle.loads(pickle.dumps(lin))
    np.testing.assert_array_equal(back.A, lin.A)
    assert (back.warnings, back.states, back.point["angle"]) == (lin.warnings, lin.states, 0.1)
    np.testing.assert_array_equal(linearise(known.model, at=back.point).A, lin.A)


def test_result_is_a_frozen_descriptor_system():
    lin = linearise(catalogue.load("mass_spring").model)
    assert isinstance(lin, DescriptorSystem)
    with pytest.raises(AttributeError):
        lin.A = 0
    for array in (lin.A, lin.residual, lin.offset, lin.point.vectors["x"]):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    assert lin.select(outputs="energy").C.shape == (1, 2)


# -- refusals --------------------------------------------------------------------------------------------------


def refused(call) -> str:
    with pytest.raises(dd.DaedalusError) as error:
        call()
    return str(error.value)


def test_refusals_name_the_culprit():
    m = catalogue.load("cart_pendulum").model
    tr = dd.simulate(m, 0.1, inputs={"force": 0.0})
    text = refused(lambda: linearise(m, at={"angel": 0.0}))
    assert text.startswith("The model 'cart_pendulum' has no variable 'angel'.")
    assert "'angle'" in text
    assert refused(lambda: linearise(m, at=0.3)).startswith("at= takes values by name.\n  got float")
    assert refused(lambda: linearise(m, at=tr.at([0.0, 0.1]))) == (
        "at= takes one moment of a run.\n  got 2 times\n  Try: at=tr.at(t)"
    )
    assert refused(lambda: linearise(m, inputs={"angle": 0.0})).startswith("angle is a state, not an input.")
    assert refused(lambda: linearise(m, at=tr.at(0.0), along=tr)) == (
        "linearise takes a point or a run, not both.\n"
        "  along= already contains the values of states, inputs and parameters\n"
        "  Try: dd.linearise(m, along=tr), or dd.linearise(m, at=tr.at(t))"
    )
    assert refused(lambda: linearise(m, along=3.0)).startswith("along= takes a run.\n  got float")


def test_equations_without_a_solution_are_named():
    m = dd.Model("no square root")
    x = m.state("x", start=1.0)
    z = m.algebraic("z", start=0.5)
    m.equation(m.der(x), -z)
    m.equation(z**2, -1.0 - x**2, name="square")
    text = refused(lambda: linearise(m))
    assert text.startswith(
        "The equations of 'no square root' could not be solved for the missing values at this point."
    )
    assert "solved for x_dot, z" in text
    assert "in square" in text
    assert "Try: better values in at=" in text


def test_states_without_a_start_follow_from_constraints_as_in_a_run():
    """x has no start value: x + y = 3 gives it, in a run and in a linearisation alike."""
    m = dd.Model("held")
    x, y, z = m.state("x"), m.state("y", start=2.0), m.algebraic("z")
    m.equation(m.der(y), z - y)
    m.equation(x + y, 3)
    m.equation(z, x * y)
    lin = dd.linearise(m)
    assert lin.point["x"] == pytest.approx(dd.simulate(m, 0.1)["x"][0], abs=1e-12)
    assert any("follow from the equations: x = 1" in note for note in lin.notes)
    # Given values are never moved, and nothing is assumed of what is given.
    assert dd.linearise(m, at={"x": 5.0}).point["x"] == 5.0
    pendulum = dd.Model("pendulum")
    p = pendulum.coordinate("p", 2, start=[0.6, None], rate=[0.8, None])
    pendulum.kinetic_energy(0.5 * ca.sumsqr(pendulum.rate(p)))
    pendulum.potential_energy(9.81 * p[1])
    pendulum.constraint("rod", ca.sumsqr(p) - 1)
    found, start = dd.linearise(pendulum).point, dd.initialise(pendulum)
    assert np.abs(found["p"]) == pytest.approx(np.abs(start["p"]), abs=1e-9)
    assert ca.dot(found["p"], found["p_dot"]) == pytest.approx(0.0, abs=1e-9)
    free = dd.Model("free body")
    free.body("b", mass=1.0, inertia=np.eye(3), orientation="quaternion")
    assert np.array_equal(dd.linearise(free).point["b.quaternion"], [1.0, 0.0, 0.0, 0.0])
