"""Named methods: document 002 section 6 number by number, orders of all names, families, refusals."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daedalus.errors import InputError
from daedalus.integrators.tableaux.named_tableaux import ALIASES, tableau, tableau_names
from daedalus.integrators.tableaux.tableau import Tableau

# What document 002 section 6 prints, with the two corrections marked.
DOCUMENT_002 = {
    "euler": ([[0]], [1], [0], 1),
    # Printed b = (0, 1/2), which sums to 1/2; corrected to (0, 1).
    "midpoint": ([[0, 0], ["1/2", 0]], [0, 1], [0, "1/2"], 2),
    # Printed b = (1/4, 1/3), which sums to 7/12; corrected to (1/4, 3/4).
    "ralston": ([[0, 0], ["2/3", 0]], ["1/4", "3/4"], [0, "2/3"], 2),
    "heun": ([[0, 0], [1, 0]], ["1/2", "1/2"], [0, 1], 2),
    "rk4": (
        [[0, 0, 0, 0], ["1/2", 0, 0, 0], [0, "1/2", 0, 0], [0, 0, 1, 0]],
        ["1/6", "1/3", "1/3", "1/6"],
        [0, "1/2", "1/2", 1],
        4,
    ),
    "implicit_euler": ([[1]], [1], [1], 1),
    "trapezoidal": ([[0, 0], ["1/2", "1/2"]], ["1/2", "1/2"], [0, 1], 2),
}


@pytest.mark.document("002", "Butcher tableaux of section 6, number by number", "`dd.tableau`")
@pytest.mark.parametrize("name", DOCUMENT_002)
def test_document_002(name):
    A, b, c, order = DOCUMENT_002[name]
    assert tableau(name) == Tableau(A, b, c)
    assert tableau(name).order == order
    assert tableau(name).problems() == []


ORDERS = {
    "euler": (1, None),
    "midpoint": (2, None),
    "heun": (2, None),
    "ralston": (2, None),
    "heun3": (3, None),
    "kutta3": (3, None),
    "ralston3": (3, None),
    "ssprk3": (3, None),
    "rk4": (4, None),
    "rk38": (4, None),
    "bs3": (3, 2),
    "fehlberg": (4, 5),
    "cash_karp": (5, 4),
    "dopri5": (5, 4),
    "tsit5": (5, 4),
    "dop853": (8, 5),
    "implicit_euler": (1, None),
    "trapezoidal": (2, None),
    "sdirk2": (2, None),
    "sdirk3": (3, None),
    "sdirk4": (4, 3),
    "trbdf2": (2, 3),
    **{f"gauss{s}": (2 * s, None) for s in range(1, 7)},
    **{f"radau{p}": (p, None) for p in (3, 5, 9)},
    **{f"lobatto_{kind}{s}": (2 * s - 2, None) for kind in ("iiia", "iiic") for s in (2, 3, 4)},
}


@pytest.mark.parametrize("name", ORDERS)
def test_orders_of_all_names(name):
    T = tableau(name)
    assert (T.order, T.embedded_order) == ORDERS[name]
    assert T.problems() == []
    assert T.is_consistent
    assert T.name == name


def test_every_name_is_tested():
    assert set(tableau_names()) == {*ORDERS, "rk2", "rk3"}


def test_stages():
    expected = {"rk4": 4, "dopri5": 7, "tsit5": 7, "dop853": 12, "radau5": 3, "trbdf2": 3}
    assert {name: tableau(name).stages for name in expected} == expected


def test_the_coefficients_that_scipy_uses():
    from scipy.integrate import DOP853, RK23, RK45

    for name, other in (("bs3", RK23), ("dopri5", RK45), ("dop853", DOP853)):
        T, n, columns = tableau(name), other.n_stages, other.A.shape[1]
        np.testing.assert_allclose(T.A[:n, :columns], other.A[:n], rtol=1e-15)
        np.testing.assert_allclose(T.b[:n], other.B, rtol=1e-15)
        np.testing.assert_allclose(T.c[:n], other.C[:n], rtol=1e-15)
        # SciPy keeps b_hat - b (RK23, RK45) and b - b_hat (DOP853, fifth order).
        error = other.E5[:n] if name == "dop853" else -other.E[:n]
        np.testing.assert_allclose((T.b - T.b_hat)[:n], error, rtol=1e-12, atol=1e-15)


alphas = st.fractions(min_value=-3, max_value=3, max_denominator=60)


@given(alphas.filter(bool))
def test_every_alpha_of_the_second_order_family_has_order_two_or_more(alpha):
    T = tableau("rk2", alpha=alpha)
    assert T.order == 2
    # Document 002: b = (1 - 1/(2α), 1/(2α)).
    assert T.b.tolist() == [float(1 - 1 / (2 * alpha)), float(1 / (2 * alpha))]
    assert T.problems() == []


@given(alphas.filter(lambda a: a not in (0, 1, Fraction(2, 3))))
def test_every_alpha_of_the_third_order_family_has_order_three(alpha):
    T = tableau("rk3", alpha=alpha)
    assert T.order == 3
    assert T.c.tolist() == [0.0, float(alpha), 1.0]
    # Document 002: a_32 = -(1 - α)/(α(3α - 2)).
    assert T.A[2, 1] == float(-(1 - alpha) / (alpha * (3 * alpha - 2)))
    assert T.problems() == []


def test_members_of_the_families():
    assert tableau("rk2", alpha=0.5) == tableau("midpoint")
    assert tableau("rk2", alpha=1) == tableau("heun")
    assert tableau("rk2", alpha=2 / 3) == tableau("ralston")
    assert tableau("rk3", alpha=0.5) == tableau("kutta3")
    assert tableau("rk2", alpha=0.7) == tableau("rk2", alpha="7/10")
    assert tableau("rk2", alpha=0.7).is_exact
    assert tableau("rk3", alpha=0.4).order == 3


def message(action) -> list[str]:
    with pytest.raises(InputError) as caught:
        action()
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("family", "alpha", "reason"),
    [
        ("rk2", 0, "the second weight is 1/(2 alpha): both stages would be the same point."),
        ("rk2", 0.0, "the second weight is 1/(2 alpha): both stages would be the same point."),
        ("rk3", 0, "the second weight is 1/(6 alpha (1 - alpha)): the first two stages would be the same point."),
        ("rk3", 1, "the second weight is 1/(6 alpha (1 - alpha)): the last two stages would be at the same time."),
        ("rk3", "2/3", "the third stage has a coefficient (1 - alpha)/(alpha (3 alpha - 2)), and its weight vanishes."),
        ("rk3", 2 / 3, "the third stage has a coefficient (1 - alpha)/(alpha (3 alpha - 2)), and its weight vanishes."),
    ],
)
def test_alphas_that_divide_by_zero(family, alpha, reason):
    assert message(lambda: tableau(family, alpha=alpha)) == [
        "This alpha gives no method.",
        f'  dd.tableau("{family}", alpha={alpha!r})',
        f"  Because {reason}",
        f'  Try: dd.tableau("{family}", alpha="1/2").',
    ]


def test_other_bad_alphas():
    assert message(lambda: tableau("rk2"))[0] == "This family needs its alpha."
    assert message(lambda: tableau("rk4", alpha=0.5))[0] == "This method has no alpha."
    assert message(lambda: tableau("rk2", alpha=np.nan))[:2] == [
        "A coefficient of the tableau is not finite.",
        "  alpha = nan",
    ]
    assert message(lambda: tableau("rk2", alpha="half"))[1] == "  alpha = 'half'"


def test_unknown_names_get_close_ones():
    lines = message(lambda: tableau("dorpi5"))
    assert lines[0] == "There is no tableau of this name."
    assert lines[1].startswith("  name = 'dorpi5'; close: dopri5")
    assert lines[2].startswith("  Because known are rk2, rk3, euler, midpoint")
    assert lines[3] == '  Try: dd.tableau("dopri5").'
    assert message(lambda: tableau("bdf")) == [
        "This method has no Butcher tableau.",
        "  name = 'bdf'",
        "  Because it is not a Runge–Kutta method with one fixed tableau.",
        '  Try: dd.simulate(..., method="bdf"), or a tableau such as "radau5".',
    ]
    assert message(lambda: tableau("radau4"))[3] == '  Try: "radau3" or "radau5".'
    assert message(lambda: tableau(4))[1] == "  name = 4"


def test_spellings_and_aliases():
    assert tableau("RK4") is tableau("rk4") or tableau("RK4") == tableau("rk4")
    assert tableau("Cash-Karp") == tableau("cash_karp")
    assert tableau("crank nicolson") == tableau("trapezoidal")
    assert all(tableau(alias) == tableau(name) for alias, name in ALIASES.items())


def test_trbdf2_is_trapezoidal_then_bdf2():
    # An independent way: on x' = λx a trapezoidal step to γ = 2 - √2, then BDF2 through 0, γ, 1.
    gamma, z = 2 - np.sqrt(2), -0.8 + 0.3j
    middle = (1 + gamma * z / 2) / (1 - gamma * z / 2)
    end = (middle / gamma - (1 - gamma) ** 2 / gamma) / (2 - gamma) / (1 - (1 - gamma) / (2 - gamma) * z)
    assert tableau("trbdf2").stability(z) == pytest.approx(end, rel=1e-14)
