"""Model functions in C with CasADi's signature, compiled once for all tests of the core."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from daedalus import _core

SOURCE = r"""
#include <math.h>
#define FUNCTION(name) int name(const double** arg, double** res, long long* iw, double* w, int mem)
#define OPEN const double t = arg[0][0], *x = arg[1], *u = arg[2], *p = arg[3]; double* d = res[0]; \
    (void)t, (void)x, (void)u, (void)p, (void)iw, (void)w, (void)mem;

/* Kepler's problem and exp(sin t): nonlinear, dependent on time, solution known. */
FUNCTION(orbit) { OPEN
    const double r = sqrt(x[0] * x[0] + x[1] * x[1]), k = -1 / (r * r * r);
    d[0] = x[2]; d[1] = x[3]; d[2] = k * x[0]; d[3] = k * x[1]; d[4] = x[4] * cos(t); return 0; }
FUNCTION(oscillator) { OPEN d[0] = x[1]; d[1] = -x[0]; return 0; }
FUNCTION(slow_oscillator) { OPEN double s = 0; int i; for (i = 0; i < 3000; ++i) s += sin(i + t);
    d[0] = x[1] + 1e-300 * s; d[1] = -x[0]; return 0; }
FUNCTION(square) { OPEN d[0] = 0; d[1] = x[1] * x[1]; return 0; }
FUNCTION(root) { OPEN d[0] = 1; d[1] = 0; d[2] = -sqrt(x[2]); return 0; }
FUNCTION(refuses) { OPEN d[0] = 1; return t > 0.5; }
FUNCTION(driven) { OPEN d[0] = u[0]; d[1] = u[1] * t; d[2] = u[2]; return 0; }
FUNCTION(fall) { OPEN d[0] = x[1]; d[1] = -p[0]; return 0; }
FUNCTION(fall_with_drag) { OPEN d[0] = x[1]; d[1] = -p[0] - 0.05 * x[1] * fabs(x[1]); return 0; }
FUNCTION(height) { OPEN d[0] = x[0]; return 0; }
FUNCTION(bounce) { OPEN d[0] = x[0]; d[1] = -p[1] * x[1]; return 0; }
FUNCTION(nothing) { OPEN (void)d; return 0; }
"""


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder: Path = tmp_path_factory.mktemp("native")
    (folder / "models.c").write_text(SOURCE)
    command = ["gcc", "-O2", "-shared", "-fPIC", str(folder / "models.c"), "-o", str(folder / "models.so"), "-lm"]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(folder / "models.so"))


@pytest.fixture(scope="session")
def native(library: ctypes.CDLL) -> Callable[..., _core.Function]:
    """native(name, n, nu=0, np=0, out=n): one of the C functions above as machine code."""

    def make(name: str, n: int, nu: int = 0, np_: int = 0, out: int | None = None) -> _core.Function:
        function = _core.Function(name, [1, n, nu, np_], [n if out is None else out], 4, 1, 0, 0)
        function.set_machine_code(ctypes.cast(getattr(library, name), ctypes.c_void_p).value, library)
        return function

    return make


@pytest.fixture(scope="session")
def python() -> Callable[..., _core.Function]:
    """python(callable, n, nu=0, np=0, out=n): a Python callable (t, x, u, p) as a model function."""

    def make(call: Callable, n: int, nu: int = 0, np_: int = 0, out: int | None = None) -> _core.Function:
        function = _core.Function("python", [1, n, nu, np_], [n if out is None else out])
        function.set_python(call)
        return function

    return make


@pytest.fixture(scope="session")
def integrate() -> Callable[..., _core.Run]:
    """integrate(rhs, method, t0, t1, x0, u=(), p=(), **options) with lists allowed."""

    def run(rhs, method, t0, t1, x0, u=(), p=(), **options) -> _core.Run:
        arrays = [np.array(values, dtype=float) for values in (x0, u, p)]
        return _core.integrate(rhs, method, t0, t1, *arrays, **options)

    return run
