"""Written equations that follow from others while the motion is determined: they are set apart and watched.

As many equations as unknowns may say the same twice and leave multipliers or algebraic variables open in turn. Where
the system Jacobian is singular for all values, `DependenceSearch` finds equations that hold wherever the
others do, with all their derivatives, and unknowns that nothing else feels. Without the former there are too few
equations for the latter, of which the smallest values are taken (`model.smallest_values`).
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import FULL_NULL_SPACE
from daedalus.analysis.points.operating_point import read_point
from daedalus.analysis.structure.dependence.dependent_equations import DependenceSearch
from daedalus.analysis.structure.jets.consistent_jet import Stages, jet_start, solved_jet
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.analysis.structure.written_structure import WrittenStructure
from daedalus.errors import DaedalusError
from daedalus.model.reopened import as_model
from daedalus.model.smallest_values import smallest_values
from daedalus.model.system.equation_row import Role
from daedalus.model.system.freeze import freeze
from daedalus.model.system.once import once, remembered
from daedalus.model.system.repeated_rows import repeated_rows
from daedalus.model.system.system import System
from daedalus.reduction.findings import EquationsSetApart
from daedalus.reduction.redundancy.redundant_rows import rank_of_rows, scaled
from daedalus.reduction.rewriting import ReducedModel, equation_rows, keep_rows, scalar_rows, write_rows, written_out


def with_independent_equations(system: System) -> System:
    """The system without equations that follow from others, or itself where there are none.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("loop"); x = m.state("x", start=1.0); a = m.algebraic("a", 2)
    >>> m.equation(m.der(x), a[1] - a[0], name="flow")
    >>> m.equation(a[0] - a[1], x, name="law"); m.equation(2 * a[1] - 2 * a[0], -2 * x, name="law again")
    >>> system = with_independent_equations(m.freeze())
    >>> system.equation_labels, list(system.watched)
    (('flow', 'law', 'smallest a[1]'), ['law again'])
    """
    found = independent_equations(system)
    return system if found is None else found.freeze()


@remembered
def independent_equations(system: System) -> ReducedModel | None:
    """The notebook without equations that follow from others; None where nothing is singular, or the motion is open."""
    if not system.sizes["z"] or system.sizes["x"] + system.sizes["z"] > FULL_NULL_SPACE:
        return None
    if _always_singular(system):
        repeated = repeated_rows(system) or _repeated_differentiated(system)
    elif _constraints_meet(system):
        repeated = repeated_rows(system)
    else:
        return None
    written = written_out(as_model(system))
    rows, residuals = equation_rows(written), scalar_rows(written)
    place = {row.level: i for i, row in enumerate(rows)}
    dropped = [place[system.rows[i].level] for i in repeated if system.rows[i].level in place]
    if not dropped or len(dropped) < len(repeated):
        return None
    kept = [i for i in range(len(rows)) if i not in set(dropped)]
    written.written.equations = {}
    write_rows(written, [rows[i] for i in kept], [residuals[i] for i in kept])
    added = smallest_values(freeze(written, square=False))
    if len(added) != len(dropped):
        return None
    written.written.equations |= added
    keep_rows(written, [rows[i] for i in dropped], [residuals[i] for i in dropped])
    written._know(None, EquationsSetApart(tuple(rows[i] for i in dropped)))
    return written


def _always_singular(system: System) -> bool:
    """Whether the system Jacobian is singular at values drawn at random, or has no pattern of full rank."""
    if system.rows.places(Role.SMALLEST):
        return False
    if not structure_of(system).signature.regular:
        return True
    p = np.nan_to_num(np.array(system.start["p"], dtype=float), nan=1.0)
    return bool(once(system, WrittenStructure).singular_blocks(p))


def _constraints_meet(system: System) -> bool:
    """Whether written constraints of the states have dependent slopes at the start, though not everywhere.

    So have c(x) = 0 and exp(x) c(x) = 0. Those of mechanics are chosen along the motion (`Redundancy`).
    """
    alone = structure_of(system).rows_without("xdot", "z", "u")
    if len(alone) < 2 or as_model(system).written.mechanics.constraints:
        return False
    slopes = ca.Function("slopes", [system.symbol(k) for k in "txp"], [structure_of(system).slopes("x")[alone, :]])
    matrix = slopes(0.0, system.default_start, system.start["p"]).full()
    return bool(np.isfinite(matrix).all()) and rank_of_rows(scaled(matrix)) < len(matrix)


def _repeated_differentiated(system: System) -> list[int]:
    """Rows that follow from others and their derivatives, by the system Jacobian at a consistent point."""
    array, s = DerivativeArray(system), structure_of(system).signature
    if not s.regular:
        return []
    try:
        start = jet_start(system, read_point(system, None, None, None))
        stages = Stages(array, s, start)
        jet = solved_jet(stages, start)
        own = DependenceSearch(array, s, stages).at(jet) if jet.consistent else None
    except DaedalusError:  # no consistent point
        return []
    if own is None or own.here_alone or own.more_here or own.contradicts:
        return []
    return [int(k) for k in own.dropped]
