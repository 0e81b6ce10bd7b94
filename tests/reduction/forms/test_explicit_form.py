"""The explicit form: x' and z solved for, block by block, against NumPy; and what has none, in words."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daedalus as dd
import daedalus.reduction.forms.explicit_form as explicit_form_module
from daedalus import catalogue
from daedalus.reduction.forms.explicit_form import SYMBOLIC_SOLVE, explicit_form, find_shorter_form
from daedalus.simulation.plant.solvable import solvable


def text_of(call, kind) -> str:
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    return str(caught.value)


def solved(system, t=0.0, x=(), u=(), p=()):
    """x' and z at a point."""
    form = explicit_form(system)
    f = ca.Function("f", [system.symbol(letter) for letter in "txup"], [form.xdot, form.z])
    return [out.full().ravel() for out in f(t, x, u, p)]


def assert_residual_is_zero(system, seed=0):
    """The explicit form put back into F: the second, independent way."""
    draw = np.random.default_rng(seed)
    t, x, u, p = (draw.uniform(0.5, 1.5, n) for n in (1, *(system.sizes[c] for c in "xup")))
    xdot, z = solved(system, t, x, u, p)
    residual = system.function(t, xdot, x, z, u, p).full().ravel()
    assert np.abs(residual).max() <= 1e-9 * (1 + np.abs(xdot).max(initial=0) + np.abs(z).max(initial=0))


# -- forms that exist ------------------------------------------------------------------------------------------


def test_the_plain_case():
    m = dd.Model()
    x, y = m.state("x", 2), m.state("y")
    u, k = m.input("u"), m.parameter("k", 2.0)
    m.equation(m.der(y), u * m.time)
    m.equation(k * m.der(x), [x[1], -x[0] * y])
    assert [part.tolist() for part in solved(m.freeze(), 3, [4, 5, 6], 7, 2)] == [[2.5, -12, 21], []]


def test_it_is_computed_once():
    m = dd.Model()
    m.equation(m.der(m.state("x")), 1)
    s = m.freeze()
    assert explicit_form(s) is explicit_form(s)


def test_outputs_in_terms_of_states():
    m = dd.Model()
    x, z = m.state("x", start=1.0), m.algebraic("z")
    m.equation(m.der(x), -z)
    m.equation(z, 3 * x)
    m.output("o", m.der(x) + 10 * z)
    s = m.freeze()
    form = explicit_form(s)
    applied = form.applied(s, s.outputs["o"])
    assert float(ca.Function("f", [s.symbol("x")], [applied])(2)) == -6 + 60


def test_a_mass_matrix_that_depends_on_the_state():
    """Two-link arm: M(q) q'' = τ, and M put back."""
    m = dd.Model()
    q, tau = m.state("q", 2), m.input("tau", 2)
    c = ca.cos(q[1])
    M = ca.vertcat(ca.horzcat(3 + 2 * c, 1 + c), ca.horzcat(1 + c, 1))
    m.equation(M @ m.der(m.der(q)), tau)
    s = m.freeze()
    xdot, _ = solved(s, 0, [0.3, 0.7, 1, 2], [5, -1])
    matrix = ca.Function("M", [q], [M])([0.3, 0.7]).full()
    assert np.allclose(xdot, [1, 2, *np.linalg.solve(matrix, [5, -1])], rtol=1e-12)


def test_a_chain_of_algebraic_variables_written_backwards():
    m = dd.Model()
    x = m.state("x")
    a, b, c = m.algebraic("a"), m.algebraic("b"), m.algebraic("c")
    m.equation(m.der(x), c)
    m.equation(c, ca.sin(b) * a)
    m.equation(b * (1 + a**2), x)
    m.equation(2 * a, x**2)
    xdot, z = solved(m.freeze(), x=[1.5])
    a, b = 1.125, 1.5 / (1 + 1.125**2)
    assert np.allclose(z, [a, b, np.sin(b) * a])
    assert np.allclose(xdot, np.sin(b) * a)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.integers(0, 10**6))
def test_random_block_triangular_systems(blocks, seed):
    """E w = A x + c, E block-triangular but for a permutation of rows and columns, against numpy.linalg.solve."""
    draw = np.random.default_rng(seed)
    n = sum(blocks)
    E, start = np.zeros((n, n)), 0
    for size in blocks:
        E[start : start + size, start : start + size] = draw.normal(size=(size, size)) + 4 * np.eye(size)
        E[start : start + size, :start] = draw.normal(size=(size, start)) * (draw.random((size, start)) < 0.5)
        start += size
    E = E[draw.permutation(n)][:, draw.permutation(n)]
    states = draw.integers(0, n + 1)
    A, c = draw.normal(size=(n, states)), draw.normal(size=n)
    m = dd.Model()
    x = m.state("x", int(states)) if states else ca.SX(0, 1)
    z = m.algebraic("z", int(n - states)) if n > states else ca.SX(0, 1)
    w = ca.vertcat(m.der(x), z) if states else z
    m.equation(ca.mtimes(ca.DM(E), w), ca.mtimes(ca.DM(A), x) + c)
    point = draw.normal(size=states)
    xdot, zv = solved(m.freeze(), x=point)
    expected = np.linalg.solve(E, A @ point + c)
    assert np.allclose(np.concatenate([xdot, zv]), expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())


@given(st.integers(1, 4), st.integers(0, 3), st.integers(0, 10**6))
def test_nonlinear_in_states_linear_in_unknowns(n, extra, seed):
    draw = np.random.default_rng(seed)
    m = dd.Model()
    q, u, k = m.state("q", n), m.input("u"), m.parameter("k", 1.0)
    z = m.algebraic("z", extra) if extra else ca.SX(0, 1)
    M = ca.SX(ca.DM(draw.normal(size=(n, n)) + 5 * np.eye(n))) + ca.diag(ca.sin(q))
    coupling = ca.mtimes(ca.DM(draw.normal(size=(n, extra))), z)
    m.equation(M @ m.der(m.der(q)), -k * ca.sin(q) + u * m.der(q) * m.time + coupling)
    if extra:
        m.equation(z * (2 + ca.cos(q[0])), [q[0] ** (i + 1) for i in range(extra)])
    assert_residual_is_zero(m.freeze(), seed)


def test_the_largest_dense_block():
    """As many equations at once as are allowed: solved, in no more operations than orthogonal factors take."""
    n = SYMBOLIC_SOLVE
    draw = np.random.default_rng(1)
    m = dd.Model()
    x, k = m.state("x", n), m.parameter("k", 1.0)
    E = draw.normal(size=(n, n)) + 8 * np.eye(n)
    m.equation((ca.DM(E) * k) @ m.der(x), x)
    s = m.freeze()
    point = draw.normal(size=n)
    assert np.allclose(solved(s, x=point, p=2.0)[0], np.linalg.solve(2 * E, point))
    f = ca.Function("f", [s.symbol(c) for c in "txup"], [explicit_form(s).xdot])
    assert f.n_instructions() < 4 * n**3


def test_units_of_very_different_size_are_not_singular():
    m = dd.Model()
    x = m.state("x", 2)
    a = m.parameter("a", 1.0)
    M = ca.vertcat(ca.horzcat(1e9 * a, 1e-3), ca.horzcat(1e-3, 1e-12))
    m.equation(M @ m.der(x), x)
    assert_residual_is_zero(m.freeze())


def test_steps_of_states_are_welcome():
    m = dd.Model()
    v, force = m.state("v"), m.algebraic("force")
    m.equation(2 * m.der(v), force)
    m.equation(force, -3 * ca.sign(v) + ca.if_else(v > 1, -v, 0))
    assert solved(m.freeze(), x=[2])[0].tolist() == [-2.5]
    assert solved(m.freeze(), x=[-1])[0].tolist() == [1.5]


def test_the_work_grows_with_the_chain_not_with_its_square(monkeypatch):
    """Instructions of all functions that are made while a chain of 40 and of 160 algebraic variables is solved."""

    def work(n):
        m = dd.Model()
        x, z = m.state("x"), m.algebraic("z", n)
        m.equation(m.der(x), z[n - 1])
        m.equation(z, 1.01 * ca.sin(ca.vertcat(x, z[:-1])))
        s = m.freeze()
        total = 0

        def counted(original):
            def call(expression, *arguments):
                nonlocal total
                for e in (expression, result := original(expression, *arguments)):
                    total += sum(s.n_dep() > 0 for s in e.elements()) if isinstance(e, ca.SX) else 0
                total += ca.Function("size", ca.symvar(expression), [expression]).n_instructions()
                return result

            return call

        with monkeypatch.context() as patch:
            for name in ("substitute", "jacobian"):
                patch.setattr(ca, name, counted(getattr(ca, name)))
            explicit_form(s)
        return total

    assert work(160) < 5 * work(40)


# -- forms that do not -----------------------------------------------------------------------------------------


NO_FORM = (
    "This model has no explicit form x' = f(t, x, u, p).\n"
    "  {}\n"
    "  Because explicit methods need every derivative and algebraic variable as an expression.\n"
    '  Try: method="auto" or "radau5", which solve it in every step, or the equation solved by hand'
)


def test_nonlinear_equations():
    m = dd.Model()
    x, z = m.state("x"), m.algebraic("z", 2)
    m.equation(m.der(x), z[0])
    m.equation(z[0] ** 3 + z[0], x, name="valve")
    m.equation(z[1], x)
    assert text_of(lambda: explicit_form(m.freeze()), dd.SolverError) == NO_FORM.format("valve is nonlinear in z[0]")


def test_nonlinear_blocks_and_derivatives():
    m = dd.Model()
    x = m.state("x", 2)
    m.equation([m.der(x[0]) * m.der(x[1]) - 1, m.der(x[0]) + m.der(x[1]) - x[0]], name="pair")
    text = text_of(lambda: explicit_form(m.freeze()), dd.SolverError)
    assert text == NO_FORM.format("pair[0], pair[1] are nonlinear in x_dot[0], x_dot[1]") or text == NO_FORM.format(
        "pair[1], pair[0] are nonlinear in x_dot[1], x_dot[0]"
    )
    n = dd.Model()
    y = n.state("y")
    n.equation(n.der(y) ** 2, y, name="root")
    assert text_of(lambda: explicit_form(n.freeze()), dd.SolverError) == NO_FORM.format("root is nonlinear in y_dot")


@pytest.mark.parametrize(
    "step",
    [
        lambda z, x: z + ca.sign(z) - x,
        lambda z, x: z - x - ca.if_else(z > 0, 1, 0),
        lambda z, x: ca.floor(z) - x,
        lambda z, x: z + ca.fmod(z, 2) - x,
        lambda z, x: z - ca.fmax(z, x) / 2,
    ],
)
def test_steps_of_the_unknown_itself(step):
    """The slope of z + sign(z) is 1 everywhere; it is not linear for all that."""
    m = dd.Model()
    x, z = m.state("x"), m.algebraic("z")
    m.equation(m.der(x), 1)
    m.equation(step(z, x), name="friction")
    assert text_of(lambda: explicit_form(m.freeze()), dd.SolverError) == NO_FORM.format("friction is nonlinear in z")


def test_blocks_that_are_too_large():
    n = SYMBOLIC_SOLVE + 1
    m = dd.Model()
    x = m.state("x", n)
    m.equation(ca.DM(np.ones((n, n)) + np.eye(n)) @ m.der(x), x)
    text = text_of(lambda: explicit_form(m.freeze()), dd.SolverError)
    names = text.split("together for ")[1].split("\n")[0]
    assert text == NO_FORM.format(f"{n} equations must be solved together for {names}")
    assert names.endswith(", …")
    assert names.count("x_dot[") == 8


def test_a_pendulum_is_structurally_singular():
    m = dd.Model()
    x, v, force = m.state("x", 2), m.state("v", 2), m.algebraic("force")
    m.equation(m.der(x), v, name="kinematics")
    m.equation(m.der(v), -x * force - ca.DM([0, 9.81]), name="newton")
    m.equation(x.T @ x, 1, name="rod")
    assert text_of(lambda: explicit_form(m.freeze()), dd.SingularModelError) == (
        "The equations as written do not determine all derivatives and algebraic variables.\n"
        "  left undetermined: force\n"
        "  equations without an unknown of their own: rod\n"
        "  Because the model is a DAE of index 2 or higher, or two equations constrain the same unknowns.\n"
        "  Try: dd.reduce(m), which differentiates the constraints, or a method for high-index systems"
    )


def test_two_equations_for_one_unknown():
    m = dd.Model()
    x, z = m.state("x"), m.algebraic("z", 2)
    m.equation(m.der(x), 1)
    m.equation(z[0], x, name="one")
    m.equation(z[0], 2 * x, name="two")
    facts = text_of(lambda: explicit_form(m.freeze()), dd.SingularModelError).split("\n")[1:3]
    assert facts[0] == "  left undetermined: z[1]"
    assert facts[1] in (
        "  equations without an unknown of their own: one",
        "  equations without an unknown of their own: two",
    )


@pytest.mark.parametrize("size", [2, 12])
def test_matrices_that_are_always_singular(size):
    """dF/dx' = [1 1; 1 1] times a function of the state: structurally regular, singular everywhere, small and large."""
    m = dd.Model()
    x, k = m.state("x", size), m.parameter("k", 1.0)
    matrix = ca.SX.ones(size, size) * (1 + k * ca.sin(x[0]) ** 2)
    m.equation(matrix @ m.der(x), x, name="sum")
    text = text_of(lambda: explicit_form(m.freeze()), dd.SingularModelError).split("\n")
    assert text[0].startswith("The equations do not determine x_dot[")
    assert text[1].endswith("is singular for all values")
    assert text[2:] == [
        "  Because the model is a DAE of higher index, or two equations are equivalent.",
        "  Try: dd.analyse(m), which names hidden constraints",
    ]


def test_a_refusal_is_not_remembered_as_a_form():
    m = dd.Model()
    z = m.algebraic("z")
    m.equation(z**2, 4)
    for _ in range(2):
        with pytest.raises(dd.SolverError):
            explicit_form(m.freeze())


def test_many_equations_with_one_unknown_each_are_solved_in_one_go(monkeypatch):
    """A line of resistances and capacities: currents first, then slopes, each lot at once."""
    n, calls = 100, []
    m = dd.Model("line")
    v, i, u = m.state("v", n), m.algebraic("i", n), m.input("u")
    m.equation(2.0 * i, ca.vertcat(u, v[:-1]) - v)
    m.equation(np.linspace(1, 2, n) * (1 + v**2) * m.der(v), i - ca.vertcat(i[1:], 0))
    linear = explicit_form_module.is_linear
    monkeypatch.setattr(explicit_form_module, "is_linear", lambda *a: calls.append(1) or linear(*a))
    system = m.freeze()
    form = explicit_form(system)
    assert len(calls) == 2
    assert len(form.divisors) == n
    assert [d.equation for d in form.divisors[:2]] == ["equation_2[0]", "equation_2[1]"]
    evaluate = ca.Function("f", [system.symbol("x"), system.symbol("u")], [form.xdot, form.z])
    x = np.random.default_rng(7).uniform(size=n)
    xdot, z = (part.full().ravel() for part in evaluate(x, 0.3))
    current = (np.concatenate([[0.3], x[:-1]]) - x) / 2
    np.testing.assert_allclose(z, current, rtol=1e-15)
    slope = (current - np.concatenate([current[1:], [0]])) / (np.linspace(1, 2, n) * (1 + x**2))
    np.testing.assert_allclose(xdot, slope, rtol=1e-14)


def test_the_one_nonlinear_equation_among_many_is_named():
    n = 50
    m = dd.Model("line")
    x, z, w = m.state("x", start=1.0), m.algebraic("z", n), m.algebraic("w", n)
    m.equation(m.der(x), -x)
    m.equation(z, ca.repmat(x, n, 1))
    m.equation(ca.vertcat(w[:30], w[30] ** 3 + w[30], w[31:]), z, name="law")
    with pytest.raises(dd.SolverError, match=r"law\[30\] is nonlinear in w\[30\]"):
        explicit_form(m.freeze())


def test_an_algebraic_loop_of_gain_one_is_named_before_a_run():
    """z cancels: x = 1 is a constraint then, and z = 0 keeps it."""
    m = dd.Model("loop")
    x, z = m.state("x", start=1.0), m.algebraic("z")
    m.equation(z, z + x - 1.0, name="feedback")
    m.equation(m.der(x), -z)
    assert text_of(lambda: explicit_form(m.freeze()), dd.SingularModelError) == (
        "feedback is an algebraic loop of gain one: z cancels out of it.\n"
        "  the coefficient of z is zero for all values\n"
        "  Because z equals itself and something more, which then has to be zero and leaves z open.\n"
        "  Try: another gain, a delay or a lag in the loop, or an equation that determines z"
    )
    tr = dd.simulate(m, 1.0)
    assert (tr.success, float(tr.end["x"]), float(tr.end["z"])) == (True, 1.0, 0.0)
    with pytest.raises(dd.InconsistentStartError, match="feedback and the given x = 2 disagree by 1"):
        dd.simulate(m, 1.0, start={"x": 2.0})


def test_a_form_that_divides_by_parameters_is_shorter_and_has_the_same_values():
    """A pendulum of mass m: one division by a formula of the states, and no root; 194 instructions by factors."""
    system = solvable(catalogue.load("pendulum_3d").model)
    arguments = [system.symbol(letter) for letter in ("t", "x", "u", "p")]
    forms = explicit_form(system), find_shorter_form(system)
    by_factors, shorter = (ca.Function("f", arguments, [form.xdot], {"cse": True}) for form in forms)
    assert shorter.n_instructions() < 0.4 * by_factors.n_instructions()
    operations = [shorter.instruction_id(k) for k in range(shorter.n_instructions())]
    assert ca.OP_SQRT not in operations
    at = [0.0, np.linspace(0.3, 1.1, 6), np.zeros(system.sizes["u"]), np.linspace(0.7, 9.0, system.sizes["p"])]
    np.testing.assert_allclose(shorter(*at).full(), by_factors(*at).full(), rtol=1e-13)
