"""From a Tableau to the table that the integrator core runs; what the core cannot run is refused here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.errors import InputError

if TYPE_CHECKING:
    from daedalus.simulation.tableaux.tableau import Tableau


def core_coefficients(
    tableau: Tableau,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None, int, int]:
    """A, b, c, b_hat, order and error order of an explicit, consistent tableau.

    The error order is the smaller order of a pair, so that the estimate is O(h^(error order + 1)); 0 without b_hat.

    Example
    -------
    >>> import daedalus as dd
    >>> from daedalus.simulation.tableaux.core_tableau import core_coefficients
    >>> core_coefficients(dd.tableau("bs3"))[4:]
    (3, 2)
    """
    name = tableau.name or "the tableau"
    if not tableau.is_explicit:
        raise InputError(
            "This tableau is implicit, and only explicit ones run from a table.",
            f"{name}: A has entries on or above its diagonal",
            because="implicit stages need Newton's method, which the named implicit methods bring along.",
            remedy='a named implicit method such as "radau5", or an explicit tableau.',
        )
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
    """The table of an explicit, consistent tableau as the core's own object, ready for its integrate().

    Example
    -------
    >>> import daedalus as dd
    >>> from daedalus.simulation.tableaux.core_tableau import core_tableau
    >>> type(core_tableau(dd.tableau("rk4"))).__name__
    'Tableau'
    """
    from daedalus._core import Tableau as CoreTableau

    return CoreTableau(*core_coefficients(tableau))
