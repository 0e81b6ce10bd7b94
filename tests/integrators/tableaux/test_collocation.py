"""Collocation methods of any number of stages: orders, nodes, last bits, and the published tables."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

from daedalus.errors import InputError
from daedalus.integrators.tableaux.coefficients import read_matrix, read_vector
from daedalus.integrators.tableaux.collocation import (
    gauss_legendre,
    lobatto_iiia,
    lobatto_iiic,
    radau_iia,
    shifted_legendre,
)
from daedalus.integrators.tableaux.tableau import Tableau


@pytest.mark.parametrize("s", range(1, 17))
def test_orders(s):
    assert (gauss_legendre(s).order, gauss_legendre(s).stage_order) == (2 * s, s)
    assert (radau_iia(s).order, radau_iia(s).stage_order) == (2 * s - 1, s)
    if s > 1:
        assert (lobatto_iiia(s).order, lobatto_iiia(s).stage_order) == (2 * s - 2, s)
        assert (lobatto_iiic(s).order, lobatto_iiic(s).stage_order) == (2 * s - 2, s - 1)


@pytest.mark.parametrize("s", [1, 2, 3, 5, 16, 40])
def test_gauss_nodes_are_those_of_numpy(s):
    nodes, weights = np.polynomial.legendre.leggauss(s)
    np.testing.assert_allclose(gauss_legendre(s).c, (nodes + 1) / 2, rtol=0, atol=4e-16)
    np.testing.assert_allclose(gauss_legendre(s).b, weights / 2, rtol=2e-12)


@pytest.mark.parametrize("s", [2, 3, 4, 6, 16])
def test_ends_of_radau_and_lobatto(s):
    assert radau_iia(s).c[-1] == 1.0
    assert radau_iia(s).is_stiffly_accurate
    for family in (lobatto_iiia, lobatto_iiic):
        T = family(s)
        assert (T.c[0], T.c[-1]) == (0.0, 1.0)
        assert T.is_stiffly_accurate
    assert not np.any(lobatto_iiia(s).A[0])
    assert np.all(lobatto_iiic(s).A[:, 0] == lobatto_iiic(s).b[0])


def test_published_tables():
    # Hairer & Wanner II, tables IV.5.1, IV.5.5, IV.5.6, IV.5.8 and IV.5.13.
    assert gauss_legendre(3) == Tableau(
        [
            ["5/36", "2/9 - sqrt(15)/15", "5/36 - sqrt(15)/30"],
            ["5/36 + sqrt(15)/24", "2/9", "5/36 - sqrt(15)/24"],
            ["5/36 + sqrt(15)/30", "2/9 + sqrt(15)/15", "5/36"],
        ],
        ["5/18", "4/9", "5/18"],
        ["1/2 - sqrt(15)/10", "1/2", "1/2 + sqrt(15)/10"],
    )
    assert radau_iia(3) == Tableau(
        [
            ["(88 - 7*sqrt(6))/360", "(296 - 169*sqrt(6))/1800", "(-2 + 3*sqrt(6))/225"],
            ["(296 + 169*sqrt(6))/1800", "(88 + 7*sqrt(6))/360", "(-2 - 3*sqrt(6))/225"],
            ["(16 - sqrt(6))/36", "(16 + sqrt(6))/36", "1/9"],
        ],
        ["(16 - sqrt(6))/36", "(16 + sqrt(6))/36", "1/9"],
        ["(4 - sqrt(6))/10", "(4 + sqrt(6))/10", 1],
    )
    assert lobatto_iiia(3) == Tableau(
        [[0, 0, 0], ["5/24", "1/3", "-1/24"], ["1/6", "2/3", "1/6"]], ["1/6", "2/3", "1/6"], [0, "1/2", 1]
    )
    assert lobatto_iiic(2) == Tableau([["1/2", "-1/2"], ["1/2", "1/2"]], ["1/2", "1/2"], [0, 1])
    assert lobatto_iiic(3) == Tableau(
        [["1/6", "-1/3", "1/6"], ["1/6", "5/12", "-1/12"], ["1/6", "2/3", "1/6"]], ["1/6", "2/3", "1/6"], [0, "1/2", 1]
    )
    assert gauss_legendre(1) == Tableau([["1/2"]], [1], ["1/2"])
    assert radau_iia(1) == Tableau([[1]], [1], [1])
    assert lobatto_iiia(2) == Tableau([[0, 0], ["1/2", "1/2"]], ["1/2", "1/2"], [0, 1])


@pytest.mark.document("002", "collocation at Gauss–Legendre points of any number", "`dd.gauss_legendre`")
def test_legendre_by_the_recipe_of_document_002():
    # P_s = (1/s!) d^s/dτ^s (τ² - τ)^s, differentiated as written.
    for s in range(7):
        polynomial = np.polynomial.Polynomial([0, -1, 1]) ** s
        for k in range(1, s + 1):
            polynomial = polynomial.deriv() / k
        np.testing.assert_allclose([float(a) for a in shifted_legendre(s)], polynomial.coef, rtol=1e-12)


@pytest.mark.parametrize("family", [gauss_legendre, radau_iia, lobatto_iiia, lobatto_iiic])
@pytest.mark.parametrize("s", [2, 4, 7, 12])
def test_coefficients_integrate_lagrange_polynomials(family, s):
    # An independent way: A from the collocation conditions C as a linear system in floats.
    T = family(s)
    powers = np.vander(T.c, s, increasing=True).T
    eta = s - 1 if family is lobatto_iiic else s
    for k in range(1, eta + 1):
        np.testing.assert_allclose(T.A @ T.c ** (k - 1), T.c**k / k, atol=4e-16 * s)
    np.testing.assert_allclose(powers @ T.b, 1 / np.arange(1, s + 1), rtol=1e-14)


@pytest.mark.parametrize("family", [gauss_legendre, radau_iia, lobatto_iiia, lobatto_iiic])
@pytest.mark.parametrize("s", [4, 6, 9])
def test_doubles_are_right_to_the_last_bit(family, s, monkeypatch):
    import daedalus.integrators.tableaux.collocation as module

    T = family(s)
    more = module._digits(s) + 60
    monkeypatch.setattr(module, "_digits", lambda stages: more)
    again = getattr(module, f"_{family.__name__}").__wrapped__(s)
    assert again == T


@pytest.mark.parametrize("family", [gauss_legendre, radau_iia, lobatto_iiia, lobatto_iiic])
def test_the_polynomial_form_is_the_matrix(family):
    # What A does to powers of c, once from the doubles and once from the exact form.
    T = family(7)
    form = T._form
    assert form is not None
    for m, image in enumerate(form.images):
        expected = np.polynomial.polynomial.polyval(T.c, [float(a) for a in image])
        np.testing.assert_allclose(T.A @ T.c**m, expected, atol=1e-14)
        assert T.b @ T.c**m == pytest.approx(float(form.moments[m]), rel=1e-14)


@settings(max_examples=examples(20))
@given(st.integers(1, 12), st.lists(st.floats(-2, 2), min_size=1, max_size=24))
def test_gauss_integrates_polynomials_of_degree_below_2s(s, coefficients):
    T = gauss_legendre(s)
    p = np.polynomial.Polynomial(coefficients[: 2 * s])
    assert T.b @ p(T.c) == pytest.approx(p.integ()(1.0), abs=1e-13 * (1 + np.sum(np.abs(coefficients))))


def test_small_ones_are_exact_entry_by_entry():
    assert gauss_legendre(2)._entries["c"] == tuple(read_vector(["1/2 - sqrt(3)/6", "1/2 + sqrt(3)/6"], "c"))
    assert radau_iia(2)._entries["A"] == tuple(map(tuple, read_matrix([["5/12", "-1/12"], ["3/4", "1/4"]], "A")))
    assert all(isinstance(b, Fraction) for b in lobatto_iiia(4)._entries["b"])
    assert all(family(s).is_exact for family in (gauss_legendre, radau_iia) for s in (1, 4, 16))


@pytest.mark.parametrize("bad", [0, -1, 2.0, "3", True, None])
def test_numbers_of_stages_that_cannot_be(bad):
    with pytest.raises(InputError) as caught:
        gauss_legendre(bad)
    assert str(caught.value).splitlines() == [
        "The number of stages cannot be used.",
        f"  gauss_legendre({bad!r})",
        "  Because it is a whole number, 1 or more for this family.",
        "  Try: gauss_legendre(3).",
    ]
    with pytest.raises(InputError, match="cannot be used"):
        lobatto_iiia(1)
    with pytest.raises(InputError, match="cannot be used"):
        lobatto_iiic(1)
