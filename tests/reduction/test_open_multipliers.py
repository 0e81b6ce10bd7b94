"""Multipliers and algebraic variables that are not unique while the motion is: those of least norm are taken."""

import casadi as ca
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.rings import examples

import daedalus as dd

METHODS = ("auto", "dop853", "radau5", "bdf", "radau9")


def told(tr):
    return any("least norm" in note for note in tr.notes)


def check(m, x, multipliers, methods=METHODS, tolerance=1e-5):
    """Every method reaches the motion and the multipliers of least norm, and says so."""
    for method in methods:
        tr = dd.simulate(m, 1.0, method=method, rtol=1e-8, atol=1e-10)
        assert tr.success, (method, tr.stop_reason)
        assert told(tr), (method, tr.notes)
        assert tr["x"][-1] == pytest.approx(x, rel=tolerance, abs=tolerance), method
        assert tr["l"][-1] == pytest.approx(multipliers, rel=10 * tolerance, abs=10 * tolerance), method


def test_the_motion_of_two_multipliers_in_one_combination():
    m = dd.Model("two for one")
    x, l = m.state("x", 2, start=[1.0, 2.0]), m.algebraic("l", 2)
    m.equation(m.der(x[0]), x[0] + 5 * x[1] - l[0] - 2 * l[1])
    m.equation(m.der(x[1]), -2 * x[0] + x[1] + l[0] + 2 * l[1])
    m.equation(2 * x[0], x[1])
    # With x2 = 2 x1 the sum of the equations says 3 x1' = 11 x1, so that the combination is 22/3 x1.
    end = np.exp(11 / 3)
    check(m, [end, 2 * end], np.array([1, 2]) / 5 * (22 / 3) * end)
    report = dd.analyse(m)
    assert report.undetermined == ["l[0]", "l[1]"]
    assert report.solvable
    assert report.index == 2
    assert "l[0], l[1] do not influence the motion: a run takes the values of least norm" in report.notes


def random_linear(seed, redundant):
    """x' = A x + B V l with G x = 0, V wide, and its solution; None where the draw is of no use.

    `redundant`: as many equations as unknowns, some of which repeat others.
    """
    draw = np.random.default_rng(seed)
    n = int(draw.integers(2, 5))
    r = int(draw.integers(1, n))
    count = r + int(draw.integers(1, 3))
    A, B, G, V, K = (
        draw.integers(-2, 3, shape).astype(float) for shape in ((n, n), (n, r), (r, n), (r, count), (count - r, r))
    )
    usable = abs(np.linalg.det(G @ B)) > 0.5 and np.linalg.matrix_rank(V) == r
    if not usable or not np.all((B @ V).any(axis=0)) or not np.all((K @ G).any(axis=1)):
        return None
    along = np.eye(n) - B @ np.linalg.solve(G @ B, G)
    start = along @ draw.normal(size=n)
    m = dd.Model(f"linear {seed}")
    x, l = m.state("x", n, start=start), m.algebraic("l", count)
    rows = np.vstack([G, K @ G]) if redundant else G
    m.equation(m.der(x), ca.DM(A) @ x + ca.DM(B @ V) @ l, name="motion")
    m.equation(ca.DM(rows) @ x, np.zeros(len(rows)), name="held")
    end = scipy.linalg.expm(along @ A) @ start
    return m, end, np.linalg.pinv(V) @ -np.linalg.solve(G @ B, G @ A @ end)


LINEAR = [seed for seed in range(80) if random_linear(seed, False) is not None]


@pytest.mark.parametrize("seed", LINEAR[:4])
@pytest.mark.parametrize("redundant", [False, True])
def test_random_linear_systems(seed, redundant):
    check(*random_linear(seed, redundant), methods=("auto", "radau5", "bdf"))


@pytest.mark.long
@pytest.mark.parametrize("seed", LINEAR[4:])
@pytest.mark.parametrize("redundant", [False, True])
def test_more_random_linear_systems(seed, redundant):
    check(*random_linear(seed, redundant))


def pendulum(weights, rows=1, length=1.0):
    """A pendulum whose rod has several multipliers; weights: of each in the force, functions of (x, parameter)."""
    m = dd.Model("pendulum of many rods")
    x, v = m.state("x", 2, start=[length, 0.0]), m.state("v", 2, start=[0.0, 0.0])
    k, l = m.parameter("k", 2.0), m.algebraic("l", len(weights))
    force = sum(weight(x, k) * l[i] for i, weight in enumerate(weights))
    m.equation(m.der(x), v)
    m.equation(m.der(v), ca.vertcat(0.0, -9.81) + 2 * x * force)
    for times in range(1, rows + 1):
        m.equation(times * (ca.sumsqr(x) - length**2), 0.0, name=f"rod {times}")
    return m


WEIGHTS = {
    "numbers": [lambda x, k: 1.0, lambda x, k: -3.0, lambda x, k: 0.5],
    "parameters": [lambda x, k: k, lambda x, k: 1.0 + k**2],
    "states": [lambda x, k: 2.0 + x[0], lambda x, k: ca.cos(x[1])],
}


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("repeated", [False, True])
def test_multipliers_of_a_pendulum(name, repeated):
    weights = WEIGHTS[name]
    m = pendulum(weights, rows=len(weights) if repeated else 1)
    single = pendulum([lambda x, k: 1.0])
    reference = dd.simulate(single, 1.0, rtol=1e-10, atol=1e-12)
    for k in (2.0, 0.7):
        for method in ("auto", "radau5"):
            tr = dd.simulate(m, 1.0, method=method, rtol=1e-8, atol=1e-10, parameters={"k": k})
            assert tr.success
            assert told(tr)
            assert tr["x"][-1] == pytest.approx(reference["x"][-1], abs=2e-6)
            row = np.array([float(ca.DM(ca.SX(weight(ca.DM(tr["x"][-1]), k)))) for weight in weights])
            wanted = row / (row @ row) * float(np.ravel(reference["l"][-1])[0])
            assert tr["l"][-1] == pytest.approx(wanted, rel=1e-4)


def test_the_norm_counts_in_nominal_values():
    m = dd.Model("two ropes")
    v = m.state("v", start=0.0)
    thick, thin = m.algebraic("thick", nominal=10.0), m.algebraic("thin", nominal=1.0)
    m.equation(m.der(v), thick + thin - 9.81)
    m.equation(v, 0.0)
    tr = dd.simulate(m, 1.0)
    assert [tr["thick"][-1], tr["thin"][-1]] == pytest.approx([9.81 * 100 / 101, 9.81 / 101])


@pytest.mark.parametrize("method", ["auto", "radau5", "bdf", "rodas5p"])
def test_a_loop_of_differences_that_close(method):
    """The third difference follows from the others, and the level of all three is open."""
    m = dd.Model("loop")
    x, a = m.state("x", start=1.0), m.algebraic("a", 3)
    m.equation(m.der(x), a[0] - a[1] - x + 0.1 * (a[1] - a[2]) ** 2, name="motion")
    m.equation([a[0] - a[1], a[1] - a[2], a[2] - a[0]], [0.5 * x, x**2, -0.5 * x - x**2], name="loop")
    tr = dd.simulate(m, 1.0, method=method, rtol=1e-8)
    plain = dd.Model("plain")
    y = plain.state("x", start=1.0)
    plain.equation(plain.der(y), -0.5 * y + 0.1 * y**4)
    end = float(dd.simulate(plain, 1.0, rtol=1e-10)["x"][-1])
    assert tr.success
    assert told(tr)
    assert tr["x"][-1] == pytest.approx(end, rel=1e-6)
    level = np.array([0.0, -0.5 * end, -0.5 * end - end**2])
    assert tr["a"][-1] == pytest.approx(level - level.mean(), rel=1e-5)
    assert any("follows from the other equations" in note for note in tr.notes)
    assert tr.drift()["loop[2]"] < 1e-9


def test_an_equation_that_no_longer_follows_ends_the_run():
    m = dd.Model("loop")
    x, a = m.state("x", start=1.0), m.algebraic("a", 2)
    m.equation(m.der(x), a[1] - a[0])
    m.equation(a[0] - a[1], x)
    m.equation(2 * a[0] - 2 * a[1] + ca.fmax(0, m.time - 5), 2 * x, name="again")
    assert dd.simulate(m, 4.0).success
    for method in ("auto", "radau5"):
        tr = dd.simulate(m, 8.0, method=method)
        assert not tr.success
        assert tr.stop_reason.startswith("again no longer follows from the other equations at t = 5.")
        assert 5.0 < tr.time[-1] < 8.0


def test_every_verb_takes_such_a_model():
    m = dd.Model("two for one")
    x, k, l = m.state("x", 2, start=[1.0, 2.0]), m.parameter("k", 2.0), m.algebraic("l", 2)
    m.equation(m.der(x), [x[0] + 5 * x[1] - l[0] - k * l[1], -2 * x[0] + x[1] + l[0] + k * l[1]])
    m.equation(2 * x[0], x[1])
    combination = 22 / 3 * np.exp(11 / 3)
    assert dd.simulate(m, 1.0, start=dd.initialise(m)).success
    assert dd.simulate(dd.reduce(m), 1.0).success
    assert dd.prepare(m, 1.0)().shape[1] == 2
    end = dd.sweep(m, 1.0, over={"k": [1.0, 3.0]}, save_at=[1.0], rtol=1e-8)["l"].values[:, -1]
    assert end == pytest.approx(combination * np.array([[0.5, 0.5], [0.1, 0.3]]), rel=1e-5)
    # l = (1, k) / (1 + k²) times the combination.
    slope = dd.sensitivities(m, 1.0, rtol=1e-8, order=1).d("l", "k")
    assert slope == pytest.approx(combination * np.array([-4.0, -3.0]) / 25, rel=1e-5)


def test_what_the_motion_feels_stays_an_error():
    m = pendulum(WEIGHTS["numbers"])
    w, y = m.algebraic("w"), m.state("y", start=0.0)
    m.equation(m.der(y), w - y)
    with pytest.raises(dd.ModelError, match=r"(?s)one equation too few.*the motion is not determined: w, y stand"):
        dd.simulate(m, 1.0)
    # Nothing says anything about what no equation contains.
    m.equation(w, 1.0)
    m.algebraic("forgotten")
    with pytest.raises(dd.ModelError, match="no equation contains forgotten"):
        dd.simulate(m, 1.0)


def test_few_equations_of_which_some_repeat_others():
    m = dd.Model("few and repeated")
    x, l = m.state("x", 2, start=[1.0, 2.0]), m.algebraic("l", 3)
    m.equation(m.der(x), [x[0] + 5 * x[1] - l[0] - 2 * l[1] + l[2], x[1] - 2 * x[0] + l[0] + 2 * l[1] - l[2]])
    m.equation([2 * x[0] - x[1], 4 * x[0] - 2 * x[1]], [0.0, 0.0])
    end = np.exp(11 / 3)
    check(m, [end, 2 * end], np.array([1, 2, -1]) / 6 * (22 / 3) * end, methods=("auto", "radau5"))


@pytest.mark.parametrize("method", ["auto", "radau5", "bdf"])
def test_redundant_constraints_of_a_mechanism_by_every_method(method):
    m = dd.Model("pendulum")
    p = m.coordinate("p", 2, start=[1, 0], rate=[0, 0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(p)))
    m.potential_energy(9.81 * p[1])
    m.constraint("rod", ca.sumsqr(p) - 1)
    m.constraint("again", 3 * (ca.sumsqr(p) - 1))
    tr, reference = dd.simulate(m, 1.0, method=method, rtol=1e-8), dd.simulate(m, 1.0, rtol=1e-10)
    assert tr.success
    assert tr["p"][-1] == pytest.approx(reference["p"][-1], abs=1e-5)
    assert [tr["rod"][-1], tr["again"][-1]] == pytest.approx([reference["rod"][-1], reference["again"][-1]], rel=1e-4)


@pytest.mark.parametrize("again", [lambda c, q: c * ca.exp(q[0]), lambda c, q: c * (2 + q[1] ** 2) + c**2])
def test_a_constraint_that_repeats_another_only_where_both_hold(again):
    """A pendulum written as equations, held twice: the slopes of both are parallel on the circle alone."""

    def pendulum(held):
        m = dd.Model("pendulum")
        q, v, force = m.state("q", 2, start=[1.0, 0.0]), m.state("v", 2, start=[0.0, 0.0]), m.algebraic("force", held)
        c = ca.sumsqr(q) - 1
        constraints = ca.vertcat(c, again(c, q))[:held]
        m.equation(m.der(q), v)
        m.equation(m.der(v), ca.vertcat(0, -9.81) - ca.jacobian(constraints, q).T @ force)
        m.equation(constraints, name="held")
        return m

    once, twice = pendulum(1), pendulum(2)
    end = dd.simulate(once, 1.0, rtol=1e-9, atol=1e-11)["q"][-1]
    for method in ("auto", "radau5"):
        tr = dd.simulate(twice, 1.0, method=method, rtol=1e-8, atol=1e-10)
        assert tr.success, tr.stop_reason
        assert tr["q"][-1] == pytest.approx(end, abs=1e-6)
        assert told(tr)


def accepted(verb, m):
    try:
        verb(m)
    except dd.DaedalusError:
        return False
    return True


@given(st.integers(0, 10**6))
@settings(max_examples=examples(60, 5))
def test_analyses_starts_and_runs_agree_on_what_is_solvable(seed):
    """Random linear models with an equation too few: states feel all, some or none of what is left open."""
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 5))
    m = dd.Model("one too few")
    x, z = m.state("x", 2, start=[1.0, 0.5]), m.algebraic("z", n)
    constraints = random.integers(-2, 3, (n - 1, n))
    # Rows in the span of the constraints do not feel what they leave open; others do.
    felt = random.integers(-1, 2, (2, n - 1)) @ constraints
    if random.random() < 0.3:
        felt = felt + random.integers(-1, 2, (2, n))
    m.equation(m.der(x), -x + ca.mtimes(ca.DM(felt.astype(float)), z))
    m.equation(ca.mtimes(ca.DM(constraints.astype(float)), z), random.integers(-2, 3, n - 1) * x[0])
    report = dd.analyse(m)
    assert report.undetermined or report.non_unique_multipliers
    starts = accepted(dd.initialise, m)
    runs = {accepted(lambda m, method=method: dd.simulate(m, 0.1, method=method), m) for method in ("auto", "radau5")}
    assert {report.solvable, starts} == runs
    assert (report.index is not None) == report.solvable
    if report.solvable:
        assert "yes for the motion" in " ".join(str(report).split())
