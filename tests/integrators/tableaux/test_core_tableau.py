"""What goes to the integrator core, and what is refused on the way."""

import pytest

from daedalus import _core
from daedalus.errors import InputError
from daedalus.integrators.tableaux.core_tableau import core_coefficients, core_tableau
from daedalus.integrators.tableaux.named_tableaux import tableau
from daedalus.integrators.tableaux.tableau import Tableau


@pytest.mark.parametrize(
    ("name", "order", "error_order"),
    [("euler", 1, 0), ("rk4", 4, 0), ("bs3", 3, 2), ("fehlberg", 4, 4), ("dopri5", 5, 4), ("dop853", 8, 5)],
)
def test_orders_that_the_core_controls_its_steps_by(name, order, error_order):
    T = tableau(name)
    A, b, c, b_hat, *orders = core_coefficients(T)
    assert orders == [order, error_order]
    assert A is T.A
    assert b is T.b
    assert c is T.c
    assert b_hat is T.b_hat
    assert isinstance(core_tableau(T), _core.Tableau)


def message(T: Tableau) -> list[str]:
    with pytest.raises(InputError) as caught:
        core_tableau(T)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("gauss4", [4]),
        ("radau5", [3]),
        ("trapezoidal", [0, 1]),
        ("trbdf2", [0, 1, 1]),
        ("sdirk3", [1, 1, 1]),
        ("lobatto_iiia4", [0, 3]),
        ("lobatto_iiic2", [2]),
    ],
)
def test_implicit_ones_solve_together_what_needs_each_other(name, groups):
    T = tableau(name)
    core = core_tableau(T)
    assert isinstance(core, _core.ImplicitTableau)
    assert core.groups == groups
    assert (core.stages, core.order, core.adaptive) == (T.stages, T.order, T.b_hat is not None)


def test_inconsistent_ones_are_refused_with_their_problems():
    lines = message(Tableau([[0, 0], [0.5, 0]], [0, 0.5], [0, 0.5], name="printed"))
    assert lines[0] == "The tableau is not consistent."
    assert lines[1].startswith("  printed: the weights b sum to 1/2, not 1")
    assert lines[2:] == [
        "  Because a run with it would not approach the solution, however small the step.",
        "  Try: correct the coefficients; T.problems() is empty for a sound tableau.",
    ]
    assert message(Tableau([[0, 0], [1, 0]], [0.5, 0.5], [0, 1], [1, 1]))[1].startswith(
        "  the tableau: the weights b_hat sum to 2, not 1"
    )
