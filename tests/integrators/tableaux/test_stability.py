"""R(z) against determinants and Padé approximants, A- and L-stability against the books, intervals against samples."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daedalus.integrators.tableaux.collocation import gauss_legendre, lobatto_iiia, lobatto_iiic, radau_iia
from daedalus.integrators.tableaux.named_tableaux import tableau, tableau_names
from daedalus.integrators.tableaux.tableau import Tableau

NAMES = [name for name in tableau_names() if name not in ("rk2", "rk3")]


def pade(j: int, k: int) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """The Padé approximant of exp with degrees j over k (Hairer & Wanner II, theorem IV.3.11)."""

    def side(m, n):
        f = math.factorial
        return [Fraction(f(m) * f(m + n - i), f(m - i) * f(i) * f(m + n)) for i in range(m + 1)]

    return tuple(side(j, k)), tuple(q * (-1) ** i for i, q in enumerate(side(k, j)))


@pytest.mark.parametrize("s", [1, 2, 3, 4, 5, 8, 13, 16])
def test_collocation_methods_are_pade_approximants(s):
    assert gauss_legendre(s).stability_coefficients == pade(s, s)
    assert radau_iia(s).stability_coefficients == pade(s - 1, s)
    if s > 1:
        assert lobatto_iiia(s).stability_coefficients == pade(s - 1, s - 1)
        assert lobatto_iiic(s).stability_coefficients == pade(s - 2, s)


@pytest.mark.document("002", "stability function by two determinants", "`T.stability`")
@pytest.mark.parametrize("name", NAMES)
def test_the_two_determinants_of_document_002(name):
    # R(z) = det(I - z(A - 1bᵀ)) / det(I - zA), evaluated as written.
    T = tableau(name)
    z = np.array([0.3, -1.7, 0.4 + 2.2j, -3.1 - 0.6j])
    identity = np.eye(T.stages)
    top = [np.linalg.det(identity - x * (T.A - T.b)) for x in z]
    bottom = [np.linalg.det(identity - x * T.A) for x in z]
    np.testing.assert_allclose(T.stability(z), np.array(top) / np.array(bottom), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_floating_coefficients_give_the_same_answers(name):
    T = tableau(name)
    copy = Tableau(T.A * (1 + 1e-16), T.b, T.c)
    assert (copy.is_a_stable, copy.is_l_stable) == (T.is_a_stable, T.is_l_stable)
    assert copy.real_stability_interval == pytest.approx(T.real_stability_interval, rel=1e-9)
    assert copy.imaginary_stability_interval == pytest.approx(T.imaginary_stability_interval, rel=1e-6)
    for ours, theirs in zip(copy.stability_coefficients, T.stability_coefficients):
        np.testing.assert_allclose([float(a) for a in ours], [float(a) for a in theirs], rtol=1e-9)


@pytest.mark.parametrize("s", range(1, 17))
def test_gauss_is_a_stable_on_the_knife_edge(s):
    T = gauss_legendre(s)
    # |R(iy)| = 1 on the whole axis: E vanishes identically.
    assert T.stability_function.axis_polynomial == ()
    assert (T.is_a_stable, T.is_l_stable) == (True, False)
    assert T.imaginary_stability_interval == math.inf
    # The same from rounded doubles, with the stated tolerance.
    assert Tableau(T.A, T.b, T.c).is_a_stable


@pytest.mark.document("002", "A- and L-stability", "`T.is_a_stable`, `T.is_l_stable`")
@pytest.mark.parametrize(
    ("name", "a_stable", "l_stable"),
    [
        ("euler", False, False),
        ("rk4", False, False),
        ("dopri5", False, False),
        ("implicit_euler", True, True),
        ("trapezoidal", True, False),
        ("gauss1", True, False),
        ("gauss4", True, False),
        ("radau3", True, True),
        ("radau5", True, True),
        ("radau9", True, True),
        ("lobatto_iiia3", True, False),
        ("lobatto_iiic2", True, True),
        ("lobatto_iiic4", True, True),
        ("sdirk2", True, True),
        ("sdirk3", True, True),
        ("sdirk4", True, True),
        ("trbdf2", True, True),
    ],
)
def test_stability_of_each(name, a_stable, l_stable):
    # Hairer & Wanner II, sections IV.3, IV.5 and IV.6.
    T = tableau(name)
    assert (T.is_a_stable, T.is_l_stable) == (a_stable, l_stable)


def sdirk(gamma) -> Tableau:
    return Tableau([[gamma, 0], [f"1 - 2*({gamma})", gamma]], ["1/2", "1/2"], [gamma, f"1 - ({gamma})"])


@pytest.mark.parametrize(
    ("gamma", "a_stable"),
    [("1/4", True), ("249999999/1000000000", False), ("1/2 + sqrt(3)/6", True), ("1/2 - sqrt(3)/6", False)],
)
def test_sdirk_of_two_stages_is_a_stable_from_a_quarter_on(gamma, a_stable):
    # Hairer & Wanner II, table IV.6.4: order 2 is A-stable for γ >= 1/4; of the two with order 3 one is A-stable.
    T = sdirk(gamma)
    assert T.is_a_stable == a_stable
    assert T.order == (3 if "sqrt" in gamma else 2)


def test_pade_with_more_zeros_than_poles_and_beyond_the_ehle_strip():
    from daedalus.integrators.tableaux.stability import StabilityFunction

    # Ehle: the approximant (j, k) is A-stable exactly for k - 2 <= j <= k.
    for k in range(1, 7):
        for j in range(k + 2):
            assert StabilityFunction(*pade(j, k)).is_a_stable == (k - 2 <= j <= k)


def test_a_pole_in_the_left_half_plane_is_seen_though_the_axis_is_fine():
    # R(z) = (1 - z/2)/(1 + z/2) has |R(iy)| = 1, and a pole at -2.
    T = Tableau([["-1/2"]], [-1], ["-1/2"])
    assert T.stability_function.axis_polynomial == ()
    assert not T.is_a_stable
    assert T.stability(-2.0) == math.inf


def test_a_stage_that_nobody_uses_does_not_count():
    # The idle stage has a pole at -1, which cancels.
    T = Tableau([[1, 0], [0, -1]], [1, 0], [1, -1])
    assert T.stability_coefficients == ((1,), (1, -1))
    assert T.is_l_stable


@pytest.mark.parametrize(
    ("name", "real", "imaginary"),
    [
        ("euler", 2.0, 0.0),
        ("midpoint", 2.0, 0.0),
        ("heun", 2.0, 0.0),
        ("kutta3", 2.5127453266183286, math.sqrt(3)),
        ("rk4", 2.785293563405282, 2 * math.sqrt(2)),
        ("rk38", 2.785293563405282, 2 * math.sqrt(2)),
        # 3.5068469938049774 is twice the stable step that the SpECTRE code states for Tsitouras' method.
        ("tsit5", 3.5068469938049774, 0.4779787),
        ("implicit_euler", math.inf, math.inf),
        ("radau5", math.inf, math.inf),
    ],
)
def test_intervals(name, real, imaginary):
    # Hairer & Wanner II, IV.2 for the polynomials 1 + z + … + z^p/p!.
    T = tableau(name)
    assert T.real_stability_interval == pytest.approx(real, rel=1e-9)
    assert T.imaginary_stability_interval == pytest.approx(imaginary, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("name", ["euler", "kutta3", "rk4", "dopri5", "tsit5", "dop853"])
def test_intervals_are_where_sampling_sees_them_end(name):
    T = tableau(name)
    x = T.real_stability_interval
    inside = np.abs(T.stability(-np.linspace(0, x, 400)))
    assert np.max(inside) <= 1 + 1e-12
    assert abs(T.stability(-x * (1 + 1e-6))) > 1
    y = T.imaginary_stability_interval
    # Doubles leave the coefficients of order 8 uncertain by 1e-16, and y^8 is a million.
    assert np.max(np.abs(T.stability(1j * np.linspace(0, y, 400)))) <= 1 + 1e-10
    assert abs(T.stability(1j * (y * (1 + 1e-3) + 0.05))) > 1


@given(st.complex_numbers(max_magnitude=30, allow_nan=False, allow_infinity=False))
def test_a_stable_methods_stay_in_the_unit_disc(z):
    z = complex(-abs(z.real), z.imag)
    for name in ("gauss2", "gauss6", "radau5", "lobatto_iiia4", "lobatto_iiic3", "sdirk3", "trbdf2"):
        assert abs(tableau(name).stability(z)) <= 1 + 1e-12


def test_values_far_out_and_at_the_limits():
    assert tableau("gauss2").stability(np.inf) == 1.0
    assert tableau("gauss3").stability(-1e200) == -1.0
    assert tableau("radau5").stability(-np.inf) == 0.0
    assert tableau("rk4").stability(-np.inf) == np.inf
    assert tableau("implicit_euler").stability(1.0) == np.inf
    assert np.isnan(tableau("rk4").stability(np.nan))
    # Polynomials in z alone would overflow here.
    assert abs(gauss_legendre(16).stability(1j * 1e60)) == pytest.approx(1.0, rel=1e-12)


def test_shapes_and_kinds():
    T = tableau("rk4")
    assert T.stability(np.zeros((2, 3))).shape == (2, 3)
    assert T.stability(np.zeros((2, 3))).dtype == float
    assert T.stability([1j]).dtype == complex
    assert isinstance(T.stability(-1), float)


def test_exact_coefficients_are_exact():
    numerator, denominator = tableau("rk4").stability_coefficients
    assert numerator == (1, 1, Fraction(1, 2), Fraction(1, 6), Fraction(1, 24))
    assert denominator == (1,)
    assert all(isinstance(a, Fraction) for a in numerator)
    # Document 002: explicit Euler has R(z) = 1 + z.
    assert tableau("euler").stability_coefficients == ((1, 1), (1,))
