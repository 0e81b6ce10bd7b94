"""Formulas that end where noise may take a state: roots, logarithms and powers of states, as in √V of a price model.

A path of noise has no reason to stop where V = 0. What a model means behind it is for its writer to say.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from daedalus.model.expressions import elements, folded
from daedalus.model.names import listed
from daedalus.model.system.once import once
from daedalus.model.system.system import System

# Operations that are defined for operands on one side of zero.
ONE_SIDED = {ca.OP_SQRT: "ca.sqrt({})", ca.OP_LOG: "ca.log({})", ca.OP_POW: "{}**{}", ca.OP_CONSTPOW: "{}**{}"}
# Longer operands are not repeated in a text.
LONGEST_TEXT = 30


def limited_formulas(system: System) -> tuple[str, str]:
    """What is not defined wherever states may go, and what to write in its place; empty where there is nothing.

    Example
    -------
    >>> import casadi as ca
    >>> import daedalus as dd
    >>> m = dd.Model("rate"); r = m.state("r", start=0.04)
    >>> m.equation(m.der(r), 0.5 * (0.04 - r) + 0.1 * ca.sqrt(r) * m.noise("w"))
    >>> limited_formulas(m.freeze())
    ('noise may take states where sqrt(r) is not defined', 'ca.if_else(r > 0, ca.sqrt(r), 0.0) in its place')
    """
    return once(system, _limited)


def _limited(system: System) -> tuple[str, str]:
    x, found = system.symbol("x"), dict[str, str]()

    def seen(node: ca.SX, operands: list[Any]) -> None:
        form = ONE_SIDED.get(node.op())
        if form is None or not ca.depends_on(node.dep(0), x):
            return
        parts = [str(node.dep(k)) for k in range(node.n_dep())]
        whole = len(parts) > 1 and node.dep(1).is_constant() and float(node.dep(1)).is_integer()
        if whole or any("@" in part or len(part) > LONGEST_TEXT for part in parts):
            return
        shown = form.format(*parts)
        found[shown.removeprefix("ca.")] = f"ca.if_else({parts[0]} > 0, {shown}, 0.0)"

    known: dict[int, Any] = {}
    for entry in elements(system.residual):
        folded(entry, known, seen)
    if not found:
        return "", ""
    first = next(iter(found.values()))
    return (
        f"noise may take states where {listed(list(found), 3)} is not defined",
        f"{first} in its place" if len(found) == 1 else f"{first} in place of the first",
    )
