"""The questions of an exam, answered for a report: well-posed, index, consistent starts, how it is solved."""

from __future__ import annotations

from collections import Counter
from typing import Any

import casadi as ca

from daedalus.model.names import counted, listed, times_text
from daedalus.model.system.equation_row import EquationRow, Role, collected

Report = Any  # a `Report`, which has these answers

# So many names are listed in a sentence.
NAMED = 5
# Radau IIA methods solve models up to this index as they are written.
HIGHEST = 3


def answers(report: Report) -> dict[str, str]:
    """The answers by question, a sentence each with its reason."""
    return {
        "well-posed": _posed(report),
        "index": _index(report),
        "start": _start(report),
        "solution": _solution(report),
    }


def _is_solvable(report: Report) -> bool:
    return report.solvable and report.index is not None and not report.overdetermined


def _posed(report: Report) -> str:
    what = "every derivative and algebraic unknown" if report.algebraic else "every derivative"
    if report.overdetermined:
        return f"no: {listed(report.overdetermined, NAMED)} cannot all hold"
    if report.undetermined and _is_solvable(report):
        return f"yes for the motion: it does not feel {listed(report.undetermined, NAMED)}, which nothing determines"
    if report.undetermined:
        return f"no: nothing determines {listed(report.undetermined, NAMED)}"
    if report.non_unique_multipliers:
        return "yes for the motion: only single multipliers of redundant constraints are not unique"
    if not _is_solvable(report):
        return f"not at this point: the equations do not determine {what} there"
    return f"yes: the equations determine {what}, so each consistent start has one solution"


def _differentiated(report: Report) -> str:
    """The equations that are differentiated, each with how often; empty where the structure does not tell."""
    signature = report.signature
    if not signature.regular or report.structural_index != report.index or not signature.c.any():
        return ""
    known = _known_derivatives(report)
    often: dict[int, list[EquationRow]] = {}
    for i, (row, times) in enumerate(zip(report.system.rows, signature.c)):
        if times and row.role is not Role.DERIVATIVE and i not in known:
            often.setdefault(int(times), []).append(row)
    named = [f"{name} {times_text(k)}" for k in sorted(often, reverse=True) for name in collected(often[k])]
    return listed(named, NAMED)


def _known_derivatives(report: Report) -> set[int]:
    """The rows that say x' = v: the derivative is put in, constraints alone are differentiated, where there are any."""
    slopes = ca.jacobian(report.system.residual, report.system.symbol("xdot"))
    rows = slopes.sparsity().row()
    moving = Counter(rows)
    without = any(times and i not in moving for i, times in enumerate(report.signature.c))
    return {i for k, i in enumerate(rows) if moving[i] == 1 and slopes.nz[k].is_constant()} if without else set()


def _index(report: Report) -> str:
    if report.index is None:
        return "none: however often the equations are differentiated, they do not determine every derivative"
    if not report.is_dae:
        return "0, an ODE: dF/dx' has full rank"
    if report.non_unique_multipliers:
        after = f"follow after differentiating {times_text(report.index)} at most"
        return f"{report.index}: derivatives {after}, the multipliers below only in their sum"
    if report.undetermined:
        return f"{report.index}, with the unknowns that are left open taken from their least norm"
    if report.directly_solvable:
        return "1: dF/dx' is singular, and [dF/dx' dF/dz] is not, so x' and z follow from the equations as written"
    times = times_text(report.index)
    named = _differentiated(report)
    inner = f"; to determine the highest derivatives and z, differentiate {named}" if named else ""
    return f"{report.index}: x' and z' follow from the equations differentiated {times} at most{inner}"


def _start(report: Report) -> str:
    free = counted(report.degrees_of_freedom, "start value")
    head = f"{free} may be chosen freely" if report.degrees_of_freedom else "no start value may be chosen freely"
    hidden = sum(own.hidden for own in report.constraints)
    written = len(report.constraints) - hidden
    if not written + hidden:
        return f"{head}; any start is consistent" if not report.is_dae else head
    parts = [counted(written, "written constraint")] if written else []
    parts += [counted(hidden, "hidden one")] if hidden else []
    return f"{head}; a consistent start obeys {' and '.join(parts)}"


def _solution(report: Report) -> str:
    if not _is_solvable(report):
        return "mend the model first"
    if report.undetermined:
        return "dd.simulate takes the values of least norm of what is left open"
    if not report.is_dae:
        return "by any method as written" if report.kind == "explicit ODE" else (
            "by implicit methods as written, by explicit ones after solving for x'")  # fmt: skip
    if report.directly_solvable:
        return "by implicit methods as written, by explicit ones where z can be eliminated"
    if report.non_unique_multipliers:
        return "by any method on the reduced model, with independent constraints and the multipliers of least norm"
    named = _differentiated(report)
    reduced = f"dd.reduce(m) differentiates {named}" if named else "dd.reduce(m) lowers the index"
    as_written = "; radau5 also solves it as written" if (report.index or 0) <= HIGHEST else ""
    return f"{reduced}{as_written}"
