"""Of a model with fewer equations than unknowns, what nothing but itself feels gets the smallest values."""

from __future__ import annotations

from typing import NamedTuple

from daedalus.errors import ModelError
from daedalus.model.expressions import elements
from daedalus.model.notebook import Notebook
from daedalus.model.system.equation_row import EquationRow, Role
from daedalus.model.system.freeze import freeze
from daedalus.model.system.open_algebraics import open_algebraics
from daedalus.model.system.repeated_rows import repeated_rows
from daedalus.model.system.system import System
from daedalus.model.written import Equation


class Completion(NamedTuple):
    """Equations for what is left open, by name, and rows that say what others say, which are too many then."""

    equations: dict[str, Equation]
    repeated: tuple[EquationRow, ...] = ()


def completed(book: Notebook) -> Completion:
    """What makes as many equations as unknowns of too few, as far as nothing but what is left open feels it.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("two ropes"); v = m.state("v", start=0.0); f = m.algebraic("f", 2)
    >>> m.equation(m.der(v), f[0] + f[1] - 9.81); m.equation(v, 0.0)
    >>> list(completed(m).equations), dd.simulate(m, 1.0)["f"][-1].round(6).tolist()
    (['smallest f[1]'], [4.905, 4.905])
    """
    try:
        system = freeze(book, square=False)
    except ModelError:
        return Completion({})
    added = smallest_values(system)
    extra = len(system.rows) + len(added) - system.sizes["x"] - system.sizes["z"]
    repeated = repeated_rows(system) if added and extra > 0 else []
    if len(repeated) < extra:
        return Completion({})
    return Completion(added, tuple(system.rows[k] for k in repeated))


def smallest_values(system: System) -> dict[str, Equation]:
    """Equations for algebraic unknowns that those of a system leave open, by name; none where these are all felt."""
    found = open_algebraics(system)
    if found is None:
        return {}
    labels = [f"smallest {system.labels['z'][k]}" for k in found.chosen]
    return {label: Equation(label, row, role=Role.SMALLEST) for label, row in zip(labels, elements(found.equations))}
