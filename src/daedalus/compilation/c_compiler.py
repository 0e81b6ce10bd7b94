"""The way through a C compiler, where there is one but no llvmlite: CasADi writes C, the compiler a library."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

import casadi as ca

from daedalus.compilation.inverse_error_function import inverse_error_function_in_c
from daedalus.compilation.machine_code import MachineCode
from daedalus.compilation.mathematics_library import operand_order

# Compilers take more than linear time over one long function: gcc -O1 needs about 6 s for this many instructions.
LARGEST = 20_000

# gcc and clang know the mathematical functions by name and replace some calls; strict code forbids it.
_FAST_FLAGS = ("-O1", "-fPIC", "-shared")
_STRICT_FLAGS = (*_FAST_FLAGS, "-ffp-contract=off", "-fno-builtin")
# The entry has one name whatever the function is called, so that equal functions share their code.
_DOOR = """
int daedalus_evaluate(const double** arg, double** res, long long int* iw, double* w, int mem) {{
  return {name}(arg, res, iw, w, mem);
}}
"""
# A compiler that hangs must not hang a simulation.
TIME_LIMIT = 300.0


class CompilerFailedError(Exception):
    """The C compiler did not accept the code, or took too long over it."""


def find_compiler() -> str | None:
    """The path of the C compiler: $CC if set, else cc, gcc or clang; None on machines without one."""
    import shutil

    if sys.platform == "win32":
        return None
    for name in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        path = shutil.which(name) if name else None
        if path:
            return path
    return None


def identity(compiler: str) -> str:
    """What tells one compiler from another without starting it: its path, size and age."""
    status = Path(compiler).resolve().stat()
    return f"{compiler} {status.st_size} {status.st_mtime_ns}"


def shared_library(f: ca.Function, compiler: str, strict: bool) -> bytes:
    """The bytes of a shared library with the function `daedalus_evaluate`.

    Raises OSError or CompilerFailedError when the compiler fails.
    """
    import subprocess
    import tempfile

    generator = ca.CodeGenerator("code.c", {"with_header": False, "casadi_int": "long long int"})
    generator.add(f)
    with tempfile.TemporaryDirectory(prefix="daedalus") as folder:
        source, target = Path(folder) / "code.c", Path(folder) / "code.so"
        code = _ordered_as_casadi(generator.dump()) if strict else generator.dump()
        missing = inverse_error_function_in_c() if "erfinv(" in code else ""
        source.write_text(missing + code + _DOOR.format(name=f.name()), encoding="utf-8")
        flags = _STRICT_FLAGS if strict else _FAST_FLAGS
        command = [compiler, "-std=c99", *flags, "-o", str(target), str(source), "-lm"]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=TIME_LIMIT, stdin=subprocess.DEVNULL)
        except subprocess.SubprocessError as error:
            raise CompilerFailedError(str(error)) from error
        return target.read_bytes()


def _ordered_as_casadi(code: str) -> str:
    """Let fmin and fmax take their operands in the order in which CasADi's own compiler passed them."""
    for name in ("fmin", "fmax"):
        line = f"return {name}(x, y);"
        if line in code:
            order = operand_order(name)
            if order is None:
                raise OSError(f"the order in which CasADi compares the operands of {name} is unknown")
            if order == (1, 0):
                code = code.replace(line, f"return {name}(y, x);")
    return code


def load_library(data: bytes) -> MachineCode:
    """Load a shared library from its bytes; OSError when it does not fit this machine."""
    import tempfile

    handle, path = tempfile.mkstemp(prefix="daedalus", suffix=".so")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        library = ctypes.CDLL(path)
    finally:
        os.unlink(path)
    address = ctypes.cast(library.daedalus_evaluate, ctypes.c_void_p).value
    if address is None:
        raise OSError("the shared library has no entry")
    return MachineCode(address, library)
