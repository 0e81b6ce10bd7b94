"""Expressions in the symbols of a model with parts, as its system reads them: joining took some symbols away."""

from __future__ import annotations

import casadi as ca

from daedalus.model.assembly.ledger import Ledger
from daedalus.model.expressions import elements, symbol_key
from daedalus.model.system.closed_loop import opened
from daedalus.model.system.once import once
from daedalus.model.system.system import System


def in_system(system: System, expression: ca.SX) -> ca.SX:
    """The expression with what stands for the symbols that are gone; itself where there are none in it."""
    ledger = opened(system).part(Ledger)
    if ledger is None or not ledger.gone.numel():
        return expression
    gone = once(opened(system), _gone)
    if not any(symbol_key(symbol) in gone for symbol in ca.symvar(expression)):
        return expression
    return ca.densify(ca.substitute([expression], [ledger.gone], [ledger.put])[0])


def _gone(system: System) -> frozenset[int]:
    ledger = system.part(Ledger)
    return frozenset() if ledger is None else frozenset(map(symbol_key, elements(ledger.gone)))
