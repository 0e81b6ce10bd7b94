"""The ways from a function to code on this machine, and the one the user asks for in DAEDALUS_COMPILER."""

from __future__ import annotations

import os

from daedalus.compilation import c_compiler, machine_code
from daedalus.errors import InputError

COMPILER_VARIABLE = "DAEDALUS_COMPILER"
CHOICES = ("auto", "llvm", "c", "interpreter")


def chosen_compiler() -> str:
    """The user's wish in DAEDALUS_COMPILER, "auto" where there is none.

    Example
    -------
    >>> chosen_compiler() in ("auto", "llvm", "c", "interpreter")
    True
    """
    choice = os.environ.get(COMPILER_VARIABLE, "").strip().lower() or "auto"
    if choice not in CHOICES:
        raise InputError(
            f"{COMPILER_VARIABLE} is set to {choice!r}.",
            f"known words: {', '.join(CHOICES)}",
            because="it decides how functions become machine code.",
            remedy=f"unset {COMPILER_VARIABLE}, or set it to auto.",
        )
    return choice


def compiler_in_use() -> str:
    """What makes machine code on this machine, in words: LLVM with its processor, a C compiler, or nothing.

    Example
    -------
    >>> compiler_in_use().split()[0] in ("LLVM", "C", "CasADi's")
    True
    """
    choice = chosen_compiler()
    if choice in ("auto", "llvm"):
        try:
            host = machine_code.host()
            return f"LLVM {host.llvm_version} for {host.processor}"
        except (ImportError, OSError):
            pass
    compiler = c_compiler.find_compiler() if choice in ("auto", "c") else None
    return f"C compiler {compiler}" if compiler else "CasADi's interpreter"
