"""DOP853 in C with the equations in C, compiled by the machine's compiler: what hand-written code reaches."""

import ctypes
import os
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.numba_rhs import numbers
from benchmarks.problem import Problem, casadi_expressions
from benchmarks.tool import NoSolution, Solve, Tool

TEMPLATE = Path(__file__).with_name("dop853.c")
STOPS = {1: "more than 1e6 steps", 2: "step size too small"}


def combination(weights: np.ndarray) -> str:
    """Σ weight * k[stage][i] in C, without the zeros."""
    return " + ".join(f"{float(w)!r} * k[{stage}][i]" for stage, w in enumerate(weights[:12]) if w != 0)


def coefficients() -> str:
    """The published coefficients, as SciPy stores them, written as C macros."""
    from scipy.integrate._ivp import dop853_coefficients as c

    stages = [
        f"for (int i = 0; i < SIZE; i++) y[i] = x[i] + h * ({combination(c.A[s])}); "
        f"derivative(t + {float(c.C[s])!r} * h, y, u, p, k[{s}]);"
        for s in range(1, 12)
    ]
    lines = [f"#define STAGES {' '.join(stages)}", f"#define SOLUTION {combination(c.B)}"]
    return "\n".join([*lines, f"#define ERROR_3 {combination(c.E3)}", f"#define ERROR_5 {combination(c.E5)}"])


@lru_cache(maxsize=1)
def library(problem: Problem) -> ctypes.CDLL:
    """The compiled integrator of one problem."""
    import casadi

    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        raise NoSolution("there is no C compiler on this machine")
    s = casadi_expressions(problem)
    function = casadi.Function("f", [s.t, s.x, s.u, s.p], [s.f])
    sizes = zip(("ARG", "RES", "IW", "W"), (function.sz_arg(), function.sz_res(), function.sz_iw(), function.sz_w()))
    generator = casadi.CodeGenerator("f.c")
    generator.add(function)
    header = [f"#define SIZE {problem.size}", *(f"#define SZ_{name} {size}" for name, size in sizes), coefficients()]
    folder = Path(tempfile.mkdtemp(prefix="c_dop853_"))
    source, target = folder / "integrate.c", folder / "integrate.so"
    source.write_text("\n".join([generator.dump(), *header, TEMPLATE.read_text(encoding="utf-8")]), encoding="utf-8")
    command = [compiler, "-O3", "-march=native", "-shared", "-fPIC", "-o", str(target), str(source), "-lm"]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
        return ctypes.CDLL(str(target))
    except subprocess.CalledProcessError as failed:
        raise NoSolution(f"the C compiler failed: {failed.stderr.strip().splitlines()[-1]}") from failed
    finally:
        shutil.rmtree(folder)


def prepare(problem: Problem, method: str, rtol: float, atol: float) -> Solve:
    call = library(problem).dop853
    address, number = ctypes.c_void_p, ctypes.c_double
    call.argtypes = [number, number, address, address, address, number, number]
    start, inputs, parameters = numbers(problem)
    x = np.empty(problem.size)
    # Addresses are looked up once: ctypes takes longer over them than the integrator over its work.
    # The arrays stay with the function, or their memory would be given away while C still reads it.
    arrays = (x, inputs, parameters)
    where = [array.ctypes.data for array in arrays]

    def solve() -> Any:
        arrays[0][:] = start
        stop = call(0.0, problem.end, *where, rtol, atol)
        if stop:
            raise NoSolution(STOPS[stop])
        return arrays[0].copy()

    return solve


TOOL = Tool("c_dop853", ("casadi", "scipy.integrate"), prepare, ("casadi>=3.8", "scipy"), methods=("dop853",))
