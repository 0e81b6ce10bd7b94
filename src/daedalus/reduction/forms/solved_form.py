"""How x' and z follow from the rest at every evaluation: by formulas, else by a linear solve, or why not at all."""

from __future__ import annotations

from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import ExplicitForm, find_explicit_form
from daedalus.reduction.forms.linear_form import LinearForm, find_linear_form
from daedalus.reduction.forms.no_form import FormObstacle, NoForm


def find_solved_form(system: System) -> ExplicitForm | LinearForm | NoForm:
    """The formulas of a system, the linear solve in their place where too many would be coupled, or the obstacle.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("root")
    >>> x = m.state("x", start=1.0); z = m.algebraic("z")
    >>> m.equation(m.der(x), -z); m.equation(z**3 + z, x, name="bend")
    >>> find_solved_form(m.freeze()).reason
    'bend is nonlinear in z'
    """
    form = find_explicit_form(system)
    if isinstance(form, NoForm) and form.obstacle is FormObstacle.LARGE:
        return find_linear_form(system)
    return form
