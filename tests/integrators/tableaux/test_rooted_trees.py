"""The computed order: tree counts, laws that every tableau obeys, and the order that a run measures."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

from daedalus.integrators.tableaux.collocation import gauss_legendre
from daedalus.integrators.tableaux.named_tableaux import tableau
from daedalus.integrators.tableaux.rooted_trees import ElementaryWeights, density, formula, size, trees
from daedalus.integrators.tableaux.simplifying_assumptions import quadrature_order, row_order, stage_order
from daedalus.integrators.tableaux.stage_algebra import ExactStages, FloatStages
from daedalus.integrators.tableaux.tableau import Tableau


def test_numbers_of_trees():
    # Sloane's A000081.
    assert [len(trees(n)) for n in range(1, 11)] == [1, 1, 2, 4, 9, 20, 48, 115, 286, 719]
    assert all(size(tree) == n for n in range(1, 9) for tree in trees(n))
    assert sum(len(trees(n)) for n in range(1, 9)) == 200


def test_densities():
    # Hairer, Nørsett & Wanner I, table II.2.1: the trees of order 4.
    assert sorted(density(tree) for tree in trees(4)) == [4, 8, 12, 24]
    # The bushy tree has γ = n, the tall one n!.
    assert (min(map(density, trees(7))), max(map(density, trees(7)))) == (7, math.factorial(7))


def test_densities_sum_up_to_the_labelled_trees():
    # Σ over trees of n!/(γ σ) = (n-1)!, the number of increasing labelled trees; σ counted by brute force.
    def symmetry(tree):
        product = 1
        for child in set(tree):
            count = tree.count(child)
            product *= math.factorial(count) * symmetry(child) ** count
        return product

    for n in range(1, 8):
        total = sum(Fraction(math.factorial(n), density(t) * symmetry(t)) for t in trees(n))
        assert total == math.factorial(n - 1)


def test_formulas():
    assert {formula(tree) for tree in trees(4)} == {"b·c³", "b·(c∘Ac)", "b·Ac²", "b·AAc"}
    assert formula(()) == "Σb"
    assert formula((((),), ((),))) == "b·(Ac)²"


small = st.fractions(min_value=-2, max_value=2, max_denominator=6)


@st.composite
def explicit_tableaux(draw):
    """A consistent explicit tableau with exact random coefficients."""
    stages = draw(st.integers(1, 4))
    A = [[draw(small) if j < i else 0 for j in range(stages)] for i in range(stages)]
    b = [draw(small) for _ in range(stages - 1)]
    return Tableau(A, [*b, 1 - sum(b, Fraction(0))])


@settings(max_examples=examples(60))
@given(explicit_tableaux())
def test_stability_polynomial_matches_exp_up_to_the_order(T):
    numerator, denominator = T.stability_coefficients
    assert denominator == (1,)
    assert len(numerator) <= T.stages + 1
    assert T.is_consistent
    assert T.order >= 1
    padded = [*numerator, *[Fraction(0)] * (T.order + 1 - len(numerator))]
    assert padded[: T.order + 1] == [Fraction(1, math.factorial(k)) for k in range(T.order + 1)]


@settings(max_examples=examples(40))
@given(explicit_tableaux(), st.randoms(use_true_random=False))
def test_renumbering_stages_changes_nothing(T, random):
    p = list(range(T.stages))
    random.shuffle(p)
    A, b, c = T._entries["A"], T._entries["b"], T._entries["c"]
    other = Tableau([[A[i][j] for j in p] for i in p], [b[i] for i in p], [c[i] for i in p])
    assert other.order == T.order
    assert other.stage_order == T.stage_order
    assert other.stability_coefficients == T.stability_coefficients
    assert other.real_stability_interval == T.real_stability_interval


@pytest.mark.parametrize("name", ["dopri5", "radau5", "gauss5", "dop853", "lobatto_iiic4"])
def test_renumbering_the_stages_of_a_named_method_changes_nothing(name):
    T = tableau(name)
    p = np.random.default_rng(1).permutation(T.stages)
    other = Tableau(T.A[np.ix_(p, p)], T.b[p], T.c[p], None if T.b_hat is None else T.b_hat[p])
    assert (other.order, other.embedded_order, other.stage_order) == (T.order, T.embedded_order, T.stage_order)
    assert (other.is_a_stable, other.is_l_stable) == (T.is_a_stable, T.is_l_stable)


@settings(max_examples=examples(30))
@given(explicit_tableaux())
def test_exact_and_floating_arithmetic_agree_on_the_order(T):
    exact = ElementaryWeights(ExactStages(T._entries["A"], T._entries["b"], T._entries["c"])).order(4)
    assert ElementaryWeights(FloatStages(T.A, T.b, T.c)).order(4) == exact


@pytest.mark.parametrize("stages", [3, 8, 16])
def test_gauss_from_doubles_alone_has_order_2s(stages):
    T = gauss_legendre(stages)
    copy = Tableau(T.A, T.b, T.c)
    assert not copy.is_exact
    assert copy.order == 2 * stages
    algebra = FloatStages(T.A, T.b, T.c)
    # With powers of c instead of Legendre polynomials B(33) of 16 nodes would seem to hold: 1e-19 is below rounding.
    assert quadrature_order(algebra, 2 * stages + 4) == 2 * stages
    assert stage_order(algebra, stages + 4) == stages
    assert row_order(algebra, stages + 4) == stages
    assert stages < 16 or abs(T.b @ T.c ** (2 * stages) - 1 / (2 * stages + 1)) < 1e-16


@pytest.mark.parametrize("name", ["rk4", "dopri5", "tsit5", "dop853", "gauss5"])
def test_a_coefficient_wrong_in_the_seventh_digit_costs_orders(name):
    T = tableau(name)
    A = T.A.copy()
    A[-1, 0] += 1e-7
    c = A.sum(axis=1)
    assert Tableau(A, T.b, c).order < T.order or not T.b[-1]
    b = T.b.copy()
    b[0] += 1e-7
    b[np.argmax(b)] -= 1e-7
    assert Tableau(T.A, b, T.c).order < T.order


def end_of_run(T: Tableau, steps: int) -> np.ndarray:
    """x' = sin(x + t) + x/2 from five starts to t = 2; stages by fixed-point iteration, s rounds if T is explicit."""
    x, h = np.linspace(-1.0, 1.5, 5), 2.0 / steps
    for k in range(steps):
        t = (k + T.c[:, None]) * h
        slopes = np.zeros((T.stages, 5))
        for _ in range(T.stages if T.is_explicit else 30):
            inner = x + h * T.A @ slopes
            slopes = np.sin(inner + t) + inner / 2
        x = x + h * T.b @ slopes
    return x


REFERENCE = end_of_run(gauss_legendre(6), 32)
MEASURED = [
    *("euler", "midpoint", "heun", "ralston", "heun3", "kutta3", "rk4", "rk38", "bs3", "cash_karp", "dopri5", "tsit5"),
    *("implicit_euler", "trapezoidal", "gauss1", "gauss2", "radau3", "radau5", "lobatto_iiia3", "lobatto_iiic3"),
    *("sdirk2", "sdirk3", "trbdf2"),
]


@pytest.mark.parametrize("name", MEASURED)
def test_a_run_measures_the_computed_order(name):
    T = tableau(name)
    coarse, fine = (np.linalg.norm(end_of_run(T, n) - REFERENCE) for n in ((20, 40) if T.order > 3 else (40, 80)))
    assert np.log2(coarse / fine) == pytest.approx(T.order, abs=0.35)


def test_explicit_methods_of_high_order_need_trees_beyond_eight():
    # Extrapolation of Euler's method gives explicit methods of any order, here with 37 stages.
    T = extrapolated_euler(9)
    assert T.order == 9


def extrapolated_euler(order: int) -> Tableau:
    """Euler with 1, 2, …, order substeps, combined by the Aitken–Neville weights (Hairer, Nørsett & Wanner I, II.9)."""
    rows, weights, width = [], [], 1 + sum(range(order))
    for n in range(1, order + 1):
        factor = math.prod(Fraction(n, n - k) for k in range(1, order + 1) if k != n)
        own: list[int] = []
        for step in range(n):
            stage = 0 if step == 0 else len(rows) if rows else 1
            if step == 0:
                own.append(0)
                if not rows:
                    rows.append([Fraction(0)] * width)
                    weights.append(Fraction(0))
            else:
                rows.append([Fraction(1, n) if j in own else Fraction(0) for j in range(width)])
                weights.append(Fraction(0))
                own.append(stage)
        for stage in own:
            weights[stage] += factor / n
    return Tableau(np.array(rows, dtype=float), np.array(weights, dtype=float))
