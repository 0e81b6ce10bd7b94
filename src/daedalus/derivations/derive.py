"""`dd.derive(m)`: the way from what was written to what is solved, as steps in the user's names."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

from daedalus.derivations.derivation import Derivation, DerivationStep
from daedalus.derivations.parts.by_bodies import body_steps
from daedalus.derivations.parts.by_connections import connection_steps
from daedalus.derivations.parts.by_lagrange import lagrange_steps
from daedalus.derivations.parts.by_linearisation import linearisation_steps
from daedalus.derivations.parts.by_reduction import is_redundant, reduction_steps
from daedalus.derivations.parts.by_start_values import start_steps
from daedalus.derivations.parts.in_first_order import first_order_steps
from daedalus.derivations.planned_reduction import planned
from daedalus.derivations.tree_energies import is_by_lagrange
from daedalus.errors import DaedalusError, InputError
from daedalus.model.model import Model
from daedalus.model.names import did_you_mean
from daedalus.model.system.system import System
from daedalus.reduction.rewriting import read_model

PARTS: dict[str, Callable[..., list[DerivationStep]]] = {
    "lagrange": lagrange_steps,
    "bodies": body_steps,
    "parts": connection_steps,
    "reduce": reduction_steps,
    "start": start_steps,
    "linearise": linearisation_steps,
    "first_order": first_order_steps,
}


def derive(model: Model | System, part: str | None = None, **options: Any) -> Derivation:
    """Derive the equations that are solved from the model as you wrote it, step by step.

    Every step has a sentence (`.text`), formulas before and after (`.before`, `.after`) and the largest residual at
    random points (`.check`). The check is independent of the step: finite differences for derivatives, and the compiled
    equations of the model for the assembled ones.

    Parameters
    ----------
    part: "lagrange" (T, V, L, slopes, forces, equations of motion), "bodies" (Newton and Euler for every body),
        "parts" (joined quantities, sums at nodes, what was eliminated), "reduce" (what is differentiated how often,
        hidden constraints, the final system), "start" (what is given, what follows from which equation), "linearise"
        (E, A, B as formulas, then at the point), "first_order" (x' = f). None: all parts that apply, less
        "start" and "linearise", which need a point.
    options: of "reduce": `stabilise` as in `dd.reduce`, and `alpha`, a number or a name that stays a symbol; of
        "start": the arguments of `dd.initialise`; of "linearise": those of `dd.linearise`.

    Example
    -------
    >>> import daedalus as dd, casadi as ca
    >>> m = dd.Model("pendulum")
    >>> p = m.coordinate("p", 2, start=[1, 0], rate=[0, 0]); L = m.parameter("L", 1.0)
    >>> m.kinetic_energy(0.5 * ca.sumsqr(m.rate(p))); m.potential_energy(9.81 * p[1])
    >>> rod = m.constraint("rod", (ca.sumsqr(p) - L**2) / 2)
    >>> d = dd.derive(m, "reduce", stabilise="baumgarte", alpha="alpha")
    >>> for line in d[2].after:
    ...     print(line)
    p[0]*p_ddot[0] + p[1]*p_ddot[1] + p_dot[0]^2 + p_dot[1]^2 = 0
    >>> d.check < 1e-9
    True
    """
    book = read_model(model, "derive")
    if part is not None and part not in PARTS:
        raise InputError(
            f"There is no part {part!r} of a derivation.",
            f"parts: {', '.join(PARTS)}",
            because="each part is one derivation.",
            remedy=did_you_mean(str(part), PARTS),
        )
    if part is not None:
        return Derivation(book.name, _checked(part, book, options))
    if options:
        raise InputError(
            f"{', '.join(options)} cannot be used without a part.",
            because="options belong to one part of a derivation.",
            remedy=f'dd.derive(m, "reduce", {next(iter(options))}=...)',
        )
    return Derivation(book.name, [step for own in _parts_of(book) for step in PARTS[own](book)])


def _checked(part: str, book: Model, options: dict[str, Any]) -> list[DerivationStep]:
    known = list(signature(PARTS[part]).parameters.values())[1:]
    takes_all = any(p.kind is p.VAR_KEYWORD for p in known)
    for option in options:
        if not takes_all and option not in [p.name for p in known]:
            names = ", ".join(p.name for p in known) or "none"
            raise InputError(
                f"The part {part!r} takes no {option}.",
                f"options: {names}",
                because="it would have no effect.",
                remedy=f"leave {option} out",
            )
    return PARTS[part](book, **options)


def _parts_of(book: Model) -> list[str]:
    """The parts that tell something about a model."""
    flat = book.flat()
    found = []
    if not book.written.assembly.is_empty:
        found.append("parts")
    if is_by_lagrange(flat):
        found.append("lagrange")
    if flat.written.mechanics.bodies:
        found.append("bodies")
    try:
        if planned(book)[0].constraints:
            found.append("reduce")
    except DaedalusError:
        if is_redundant(book):
            found.append("reduce")
    return [*found, "first_order"]
