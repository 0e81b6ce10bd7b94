"""From symbolic functions to machine code: LLVM in the process, a cache on disk, and an interpreter to fall back on."""

from daedalus.compilation.choice import compiler_in_use
from daedalus.compilation.compile import compile_function, compile_loops
from daedalus.compilation.compiled import Compiled
from daedalus.compilation.counting import Counts, counts
from daedalus.compilation.disk_cache import cache_folder

__all__ = ["Compiled", "Counts", "cache_folder", "compile_function", "compile_loops", "compiler_in_use", "counts"]
