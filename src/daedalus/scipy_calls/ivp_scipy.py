"""The part of `solve_ivp` that SciPy still does: implicit methods, complex values, solver classes of the user's own.

SciPy is imported here only. Where the right-hand side was traced, SciPy gets the compiled formula and its exact
Jacobian.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from daedalus.analysis.points.partial_derivatives import full_matrix
from daedalus.scipy_calls.ivp_function import Formula
from daedalus.scipy_calls.ivp_result import IvpResult

# From here on a Jacobian goes to SciPy as a sparse matrix, where fewer than this part of its entries can be nonzero.
_SPARSE_SIZE, _SPARSE_PART = 50, 0.1


def run_scipy(
    fun: Callable[..., Any],
    span: tuple[float, float],
    y0: np.ndarray,
    method: Any,
    *,
    reason: str,
    traced: bool,
    **call: Any,
) -> IvpResult:
    """SciPy's own `solve_ivp` with all its keywords; its result with ours added."""
    from scipy.integrate import solve_ivp

    options = call.pop("options")
    found = solve_ivp(fun, span, y0, method=method, **call, **options)
    name = method if isinstance(method, str) else method.__name__
    return IvpResult({**found, "traced": traced, "reason": reason, "method": f"SciPy {name}"})


def with_exact_jacobian(
    formula: Formula, p: np.ndarray, method: str, options: dict[str, Any]
) -> tuple[dict[str, Any], str]:
    """The options with the compiled Jacobian, unless the user gave one (or a banded form of it); and that in words."""
    taken = [name for name in ("jac", "lband", "uband") if options.get(name) is not None]
    if taken:
        return options, f"its {taken[0]}= as given"
    compiled, sparsity = formula.jacobian
    core, nothing = compiled.core, np.zeros(0)
    n = sparsity.size1()
    rows, starts = np.array(sparsity.row()), np.array(sparsity.colind())
    if method != "LSODA" and n >= _SPARSE_SIZE and len(rows) < _SPARSE_PART * n * n:
        from scipy.sparse import csc_matrix

        def sparse(t: float, y: np.ndarray, *args: Any) -> Any:
            return csc_matrix((core(np.array([t]), y, nothing, p)[0], rows, starts), shape=(n, n))

        return {**options, "jac": sparse}, "its exact sparse Jacobian"

    def dense(t: float, y: np.ndarray, *args: Any) -> np.ndarray:
        return full_matrix(sparsity, core(np.array([t]), y, nothing, p)[0])

    return {**options, "jac": dense}, "its exact Jacobian"
