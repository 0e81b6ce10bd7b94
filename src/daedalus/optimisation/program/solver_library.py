"""The optimisers that come with CasADi, found as libraries beside it; their C functions are handed to the core."""

from __future__ import annotations

import ctypes
import functools
import sys
from pathlib import Path
from typing import Any

import casadi as ca

from daedalus.errors import SolverError

_SUFFIX = {"win32": (".dll",), "darwin": (".dylib",)}.get(sys.platform, (".so",))

FUNCTIONS = {
    "ipopt": (
        "CreateIpoptProblem", "FreeIpoptProblem", "AddIpoptStrOption", "AddIpoptNumOption", "AddIpoptIntOption",
        "SetIntermediateCallback", "IpoptSolve", "GetIpoptCurrentIterate",
    ),
    "fatrop": (
        "fatrop_ocp_c_create", "fatrop_ocp_c_solve", "fatrop_ocp_c_set_option_double", "fatrop_ocp_c_set_option_int",
        "fatrop_ocp_c_get_primal", "fatrop_ocp_c_get_dual", "fatrop_ocp_c_get_dims", "fatrop_ocp_c_get_stats",
        "fatrop_ocp_c_destroy",
    ),
    "blasfeo": ("blasfeo_pack_dmat",),
}  # fmt: skip


@functools.cache
def solver_addresses(solver: str) -> dict[str, int]:
    """The addresses of a solver's C functions by name; a SolverError where this installation has none.

    Example
    -------
    >>> sorted(solver_addresses("ipopt"))[0]
    'AddIpoptIntOption'
    """
    library = _library(solver)
    found = {}
    for name in FUNCTIONS[solver]:
        try:
            found[name] = ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
        except AttributeError:
            raise _missing(solver, f"{name} is not among its functions") from None
    return found


def _library(solver: str) -> Any:
    # CasADi's own part for the solver brings the folder of its libraries into the process.
    if solver in ("ipopt", "fatrop") and not ca.has_nlpsol(solver):
        raise _missing(solver, "CasADi was built without it")
    folder = Path(ca.__file__).parent
    for suffix in _SUFFIX:
        for path in (*folder.glob(f"lib{solver}{suffix}*"), *folder.glob(f"{solver}*{suffix}")):
            try:
                return ctypes.CDLL(str(path))
            except OSError as error:
                raise _missing(solver, str(error)) from None
    raise _missing(solver, f"no library lib{solver} lies beside CasADi")


def _missing(solver: str, fact: str) -> SolverError:
    return SolverError(
        f"The solver {solver} is not available.",
        fact,
        because="plans are computed by solvers that come with CasADi's package from PyPI.",
        remedy="pip install --force-reinstall casadi",
    )
