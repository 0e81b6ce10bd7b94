"""Functions of FMUs live as long as an expression calls them.

An expression counts the CasADi functions that it calls, but of a function in Python it has only the address. So it
calls a function of CasADi's own around it, and what that one calls goes as soon as no expression has it any more.
"""

from __future__ import annotations

import threading

import casadi as ca

_lock = threading.Lock()
_in_use: list[tuple[ca.WeakRef, ca.Callback]] = []


def in_expressions(node: ca.Callback) -> ca.Function:
    """The function to call in expressions in place of a node, which stays as long as one of them does."""
    given = [ca.MX.sym(node.name_in(k), node.sparsity_in(k)) for k in range(node.n_in())]
    around = ca.Function(node.name(), given, [node(*given)], node.name_in(), node.name_out(), {"never_inline": True})
    with _lock:
        _in_use[:] = [entry for entry in _in_use if entry[0].alive()]
        _in_use.append((ca.WeakRef(around), node))
    return around
