"""`dd.solve_for(m, "rod")`: the formula of a multiplier, an acceleration or an algebraic variable."""

from __future__ import annotations

import casadi as ca

from daedalus.derivations.formula.agreement import SAME
from daedalus.derivations.reading import Reading
from daedalus.derivations.solved_unknowns import left_over, solvable, solved_blocks
from daedalus.errors import InputError, SolverError
from daedalus.model.expressions import symbol_key
from daedalus.model.model import Model
from daedalus.model.names import did_you_mean, listed
from daedalus.model.system.system import System
from daedalus.reduction.rewriting import read_model


def solve_for(model: Model | System, name: str) -> ca.SX:
    """Return the formula of an algebraic variable, a multiplier or a derivative in states, inputs, parameters and time.

    Constraints are differentiated first if needed, as by `dd.reduce`. Formulas are simplified and checked against the
    equations at random points.

    Parameters
    ----------
    name: of an algebraic variable or a multiplier ("rod"), of a derivative ("q_ddot"), or of one element ("q_ddot[0]").

    Raises an InputError for a name that has no formula, and a SolverError if the equations are nonlinear in it.

    Example
    -------
    >>> import daedalus as dd, casadi as ca
    >>> m = dd.Model("pendulum")
    >>> p = m.coordinate("p", 2, start=[1, 0], rate=[0, 0]); g = m.parameter("g", 9.81)
    >>> m.kinetic_energy(0.5 * ca.sumsqr(m.rate(p))); m.potential_energy(g * p[1])
    >>> rod = m.constraint("rod", (ca.sumsqr(p) - 1) / 2)
    >>> dd.solve_for(m, "rod")
    SX(((((g*p[1])-sq(p_dot[0]))-sq(p_dot[1]))/(sq(p[0])+sq(p[1]))))
    """
    book = read_model(model, "solve_for")
    whole, _ = solvable(book)
    system = whole.freeze()
    try:
        place = system.place(name)
    except InputError:
        if name in whole.written.outputs:
            return Reading(whole.flat()).short(whole.written.outputs[name])
        raise
    if any(letter not in ("xdot", "z") for letter in place.letters):
        raise InputError(
            f"{name} has no formula of its own.",
            f"{name} is a state, an input or a parameter",
            because="algebraic variables, multipliers and highest derivatives follow from the equations.",
            remedy=did_you_mean(name, [*system.labels["z"], *system.labels["xdot"]], listed=False),
        )
    read = Reading(whole.flat())
    blocks = solved_blocks(whole, read)
    values: dict[int, ca.SX] = {}
    for block in blocks:
        if block.values is not None:
            values.update({symbol_key(s): block.values[k] for k, s in enumerate(block.symbols.elements())})  # type: ignore[arg-type]
    symbols = [system.symbol(letter)[int(k)] for letter, k in zip(place.letters, place.positions)]
    missing = [s for s in symbols if symbol_key(s) not in values]
    if missing or left_over(system, [b for b in blocks if b.values is not None], read.usual) > SAME:
        where = [label for b in blocks if b.values is None for label in b.equations]
        raise SolverError(
            f"{name} cannot be written as a formula.",
            f"no formula was found of: {listed(where, 6)}" if where else "the formulas do not fit at random points",
            because="the equations are nonlinear in it, or too many have to be solved together.",
            remedy="keep it as an unknown: an implicit method solves for it in every step",
        )
    found = ca.vertcat(*(values[symbol_key(s)] for s in symbols))
    return ca.reshape(found, *place.shape) if len(place.shape) == 2 else found
