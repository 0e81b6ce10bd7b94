"""From a Tableau to what the integrator core runs: an explicit one, or one whose stages are solved for.

An inconsistent tableau is refused here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.errors import InputError
from daedalus.integrators.tableaux.stage_interpolation import state_weights, value_weights
from daedalus.integrators.tableaux.tableau import Tableau


def core_coefficients(
    tableau: Tableau,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None, int, int]:
    """A, b, c, b_hat, order and error order of a consistent tableau.

    The error order is the smaller order of a pair, so that the estimate is O(h^(error order + 1)); 0 without b_hat.

    Example
    -------
    >>> import daedalus as dd
    >>> from daedalus.integrators.tableaux.core_tableau import core_coefficients
    >>> core_coefficients(dd.tableau("bs3"))[4:]
    (3, 2)
    """
    name = tableau.name or "the tableau"
    if not tableau.is_consistent or tableau.embedded_order == 0:
        raise InputError(
            "The tableau is not consistent.",
            [f"{name}: {problem}" for problem in tableau.problems()],
            because="a run with it would not approach the solution, however small the step.",
            remedy="correct the coefficients; T.problems() is empty for a sound tableau.",
        )
    second = tableau.embedded_order
    error_order = 0 if second is None else min(second, tableau.order)
    return tableau.A, tableau.b, tableau.c, tableau.b_hat, tableau.order, error_order


def core_tableau(tableau: Tableau) -> Any:
    """A consistent tableau as the core's own object, ready for its integrate().

    Explicit tableaux become a Tableau, for models x' = f(t, x); all others an ImplicitTableau, for 0 = F(t, x', x, z).

    Example
    -------
    >>> import daedalus as dd
    >>> from daedalus.integrators.tableaux.core_tableau import core_tableau
    >>> type(core_tableau(dd.tableau("rk4"))).__name__, type(core_tableau(dd.gauss_legendre(2))).__name__
    ('Tableau', 'ImplicitTableau')
    """
    from daedalus._core import Tableau as CoreTableau

    if tableau.is_explicit:
        return CoreTableau(*core_coefficients(tableau))
    return core_implicit_tableau(tableau)


def core_implicit_tableau(tableau: Tableau) -> Any:
    """Any consistent tableau for implicit models; an explicit one solves for x' and z at each stage.

    ``groups`` of the result says how the stages are solved: the number of stages at once, 0 for one that x is known at.

    Example
    -------
    >>> import daedalus as dd
    >>> from daedalus.integrators.tableaux.core_tableau import core_implicit_tableau
    >>> [core_implicit_tableau(dd.tableau(name)).groups for name in ("gauss3", "sdirk2", "lobatto_iiia3", "rk4")]
    [[3], [1, 1], [0, 2], [0, 0, 0, 0]]
    """
    from daedalus._core import ImplicitTableau

    A, b, c, b_hat, order, error_order = core_coefficients(tableau)
    return ImplicitTableau(A, b, c, state_weights(tableau), value_weights(tableau), b_hat, order, error_order)
