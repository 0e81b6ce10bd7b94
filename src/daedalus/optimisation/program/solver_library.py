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
    "hpipm": tuple(
        f"d_ocp_qp_{name}"
        for name in (
            "strsize", "memsize", "create", "dim_strsize", "dim_memsize", "dim_create", "dim_set_all", "sol_strsize",
            "sol_memsize", "sol_create", "sol_get_u", "sol_get_x", "ipm_arg_strsize", "ipm_arg_memsize",
            "ipm_arg_create", "ipm_arg_set_default", "ipm_arg_set_iter_max", "ipm_arg_set", "ipm_ws_strsize",
            "ipm_ws_memsize", "ipm_ws_create", "ipm_solve", "ipm_get_status", "ipm_get_iter", "ipm_get_max_res_eq",
            "ipm_get_max_res_ineq", "set_idxbx", "set_idxbu", "set_A", "set_B", "set_b", "set_Q", "set_S", "set_R",
            "set_q", "set_r", "set_C", "set_D", "set_lg", "set_ug", "set_lbx", "set_ubx", "set_lbu", "set_ubu",
            "set_lg_mask", "set_ug_mask", "set_lbx_mask", "set_ubx_mask", "set_lbu_mask", "set_ubu_mask",
        )
    ),
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
