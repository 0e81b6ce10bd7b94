"""The description itself: what it accepts, that it does not change, and what it answers."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

from daedalus.errors import InputError
from daedalus.integrators.tableaux.collocation import gauss_legendre, radau_iia
from daedalus.integrators.tableaux.named_tableaux import tableau
from daedalus.integrators.tableaux.tableau import Tableau

HEUN = ([[0, 0], [1, 0]], [0.5, 0.5], [0, 1])


def test_numbers_fractions_and_texts_are_the_same_tableau():
    written = [
        Tableau([[0, 0], [Fraction(2, 3), 0]], [Fraction(1, 4), Fraction(3, 4)], [0, Fraction(2, 3)]),
        Tableau([["0", "0"], ["2/3", "0"]], ["0.25", "1 - 1/4"], [0, "2/3"]),
        Tableau(np.array([[0.0, 0.0], [2 / 3, 0.0]]), np.array([0.25, 0.75]), np.array([0.0, 2 / 3])),
        Tableau([[0, 0], ["2/3", 0]], ["1/4", "3/4"]),
    ]
    assert len(set(written)) == 1
    assert all(T.order == 2 and T.is_consistent for T in written)


def test_exactness_is_lost_only_by_floats_that_are_no_small_binary_fractions():
    assert Tableau(*HEUN).is_exact
    assert not Tableau([[0, 0], [2 / 3, 0]], ["1/4", "3/4"], [0, 2 / 3]).is_exact
    # Two different square roots do not fit into one number field.
    assert not Tableau([[0, 0], ["sqrt(2)", 0]], ["sqrt(3)", "1 - sqrt(3)"]).is_exact


def test_nodes_left_out_are_row_sums():
    assert Tableau([[0, 0], ["1/3", "1/3"]], ["1/4", "3/4"]).c.tolist() == [0.0, 2 / 3]


def test_a_tableau_does_not_change():
    T = Tableau(*HEUN)
    with pytest.raises(AttributeError, match="does not change"):
        T.name = "other"
    with pytest.raises(AttributeError, match="does not change"):
        del T.b
    for part in (T.A, T.b, T.c):
        with pytest.raises(ValueError):
            part[0] = 1


def test_equality_is_about_coefficients_not_names():
    assert Tableau(*HEUN, name="a") == Tableau(*HEUN, name="b") == tableau("heun")
    assert Tableau(*HEUN) != Tableau(*HEUN, b_hat=[1, 0])
    assert Tableau(*HEUN) != "heun"


@pytest.mark.parametrize("name", ["rk4", "tsit5", "gauss2", "gauss7", "sdirk3", "trbdf2", "lobatto_iiic6"])
def test_pickling_keeps_everything(name):
    T = tableau(name)
    copy = pickle.loads(pickle.dumps(T))
    assert copy == T
    assert hash(copy) == hash(T)
    assert repr(copy) == repr(T)
    assert copy.is_exact == T.is_exact
    assert copy.stability_coefficients == T.stability_coefficients


def test_repr_draws_the_butcher_array():
    assert repr(tableau("bs3")).splitlines() == [
        "bs3: 4 stages, order 3(2), explicit",
        "  0 |",
        "1/2 |  1/2",
        "3/4 |    0 3/4",
        "  1 |  2/9 1/3 4/9",
        "----+-----------------",
        "    |  2/9 1/3 4/9   0",
        "    | 7/24 1/4 1/3 1/8",
    ]
    assert repr(tableau("implicit_euler")).splitlines()[0] == "implicit_euler: 1 stage, order 1, diagonally implicit"


@pytest.mark.parametrize(
    ("name", "explicit", "diagonal", "stiffly", "reuses"),
    [
        ("rk4", True, False, False, False),
        ("dopri5", True, False, False, True),
        ("bs3", True, False, False, True),
        ("implicit_euler", False, True, True, False),
        ("trapezoidal", False, True, True, False),
        ("trbdf2", False, True, True, False),
        ("gauss1", False, True, False, False),
        ("gauss2", False, False, False, False),
        ("radau5", False, False, True, False),
        ("lobatto_iiic3", False, False, True, False),
    ],
)
def test_kinds(name, explicit, diagonal, stiffly, reuses):
    T = tableau(name)
    found = T.is_explicit, T.is_diagonally_implicit, T.is_stiffly_accurate, T.reuses_last_stage
    assert found == (explicit, diagonal, stiffly, reuses)


def test_symplectic_methods_are_the_gauss_methods():
    assert all(gauss_legendre(s).is_symplectic for s in (1, 2, 5, 12))
    assert not any(tableau(name).is_symplectic for name in ("rk4", "radau5", "trapezoidal", "lobatto_iiic3"))


def test_a_rotation_keeps_its_radius_under_gauss_only():
    # An independent way: one step of the implicit method on the linear rotation x' = J x, solved as a linear system.
    J = np.array([[0.0, 1.0], [-1.0, 0.0]])
    for T, keeps in ((gauss_legendre(3), True), (radau_iia(3), False)):
        matrix = np.eye(2 * T.stages) - 0.9 * np.kron(T.A, J)
        slopes = np.linalg.solve(matrix, np.tile(J @ [1.0, 0.0], T.stages)).reshape(T.stages, 2)
        radius = np.linalg.norm([1.0, 0.0] + 0.9 * T.b @ slopes)
        assert (abs(radius - 1) < 1e-14) == keeps


def test_nodes_that_differ_from_row_sums_spoil_the_order_in_time():
    sound = Tableau([[0, 0], ["1/2", 0]], [0, 1], [0, "1/2"])
    late = Tableau([[0, 0], ["1/2", 0]], [0, 1], [0, 1])
    assert (sound.order, late.order) == (2, 1)
    assert not late.is_consistent
    # x' = t from 0 to 1 in one step: 1/2 by the sound tableau, 1 by the late one.
    assert sound.b @ sound.c == 0.5
    assert late.b @ late.c == 1.0


def test_order_conditions_are_listed():
    conditions = tableau("rk4").order_conditions(4)
    assert [(c.formula, c.target, c.holds) for c in conditions] == [
        ("b·AAc", Fraction(1, 24), True),
        ("b·Ac²", Fraction(1, 12), True),
        ("b·(c∘Ac)", Fraction(1, 8), True),
        ("b·c³", Fraction(1, 4), True),
    ]
    with pytest.raises(InputError, match="orders 1 to 10"):
        tableau("rk4").order_conditions(12)


def message(action) -> str:
    with pytest.raises(InputError) as caught:
        action()
    return str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        (([[0, 0], [1, 0]], [1], [0, 1]), "A has 2 rows of 2 entries; b has 1; c has 2"),
        (([[0, 0], [1]], [1, 0], [0, 1]), "A has 2 rows of 1 and 2 entries; b has 2; c has 2"),
        (([[0, 0], [1, 0]], [1, 0], [0]), "A has 2 rows of 2 entries; b has 2; c has 1"),
        (([[0, 0], [1, 0]], [1, 0], [0, 1], [1]), "A has 2 rows of 2 entries; b has 2; c has 2; b_hat has 1"),
        (([], [], []), "A has 0 rows of 0 entries; b has 0; c has 0"),
    ],
)
def test_shapes_that_do_not_fit(arguments, fact):
    text = message(lambda: Tableau(*arguments))
    assert text.splitlines() == [
        "The parts of the tableau do not fit together.",
        f"  {fact}",
        "  Because a method of s stages has an s-by-s matrix A and s entries in b, c and b_hat.",
        "  Try: dd.Tableau([[0, 0], [1, 0]], [0.5, 0.5], [0, 1]); write the zeros of an explicit A too.",
    ]


def test_a_name_is_a_text():
    assert "name = 3" in message(lambda: Tableau(*HEUN, name=3))
