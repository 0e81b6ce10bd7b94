"""Several processes: a shared cache, forks in the middle of a compilation, and an end that comes too early."""

import pickle
import subprocess
import sys
from pathlib import Path

import casadi as ca

from daedalus.compilation import compile_function

FOLDER = Path(__file__).parent

COMPILE = """
import casadi as ca, numpy as np
from daedalus.compilation import compile_function, counts
x = ca.SX.sym("x", 3)
for k in range(3):
    f = ca.Function("f", [x], [ca.sin(x) * (k + 0.5) + ca.sum1(x)])
    compiled = compile_function(f, strict=True)
    at = np.array([0.1, 0.2, 0.3])
    assert np.array_equal(compiled(at)[0], np.array(f(at)).ravel())
print(counts().compiled, counts().loaded_from_disk)
"""

FORK = """
import os, sys
import numpy as np
from example_functions import long_function, start
from daedalus.compilation import compile_function
f = long_function(4500)
compiled = compile_function(f, strict=True)
expected = np.array(f(start())[0]).ravel()
child = os.fork()
assert compiled.wait().tier == "llvm O1"
assert np.array_equal(compiled(start())[0], expected)
short = compile_function(long_function(400), strict=True)
assert short.core.kind == "machine code"
if child == 0:
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print("both done")
"""

UNPICKLE = """
import pickle, sys
compiled = pickle.load(open(sys.argv[1], "rb"))
print(compiled, compiled([0.25])[0][0])
"""

EARLY_END = """
from example_functions import long_function, start
from daedalus.compilation import compile_function
compiled = compile_function(long_function(15000))
compiled(start())
print("end")
"""


def started(script: str, cache: object, *arguments: str) -> subprocess.Popen:
    environment = {"DAEDALUS_CACHE": str(cache), "PYTHONPATH": str(FOLDER), "PATH": "/usr/bin:/bin", "HOME": "/nowhere"}
    return subprocess.Popen(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: subprocess.Popen) -> str:
    output, errors = process.communicate(timeout=600)
    assert (process.returncode, errors) == (0, "")
    return output.strip()


def test_processes_share_a_cache_that_they_fill_together(tmp_path):
    together = [started(COMPILE, tmp_path / "new") for _ in range(3)]
    for process in together:
        compiled, loaded = map(int, finished(process).split())
        assert compiled + loaded == 3
    assert len(list((tmp_path / "new").iterdir())) == 3
    assert finished(started(COMPILE, tmp_path / "new")) == "0 3"


def test_a_fork_amid_a_background_compilation():
    assert finished(started(FORK, "off")) == "both done"


def test_a_process_may_end_amid_a_background_compilation():
    assert finished(started(EARLY_END, "off")) == "end"


def test_a_compiled_function_travels_to_another_process(tmp_path):
    x = ca.SX.sym("x")
    compiled = compile_function(ca.Function("traveller", [x], [ca.exp(x)]), strict=True)
    (tmp_path / "compiled").write_bytes(pickle.dumps(compiled))
    there = finished(started(UNPICKLE, "off", str(tmp_path / "compiled")))
    assert there == f"<traveller: llvm O2, strict> {compiled([0.25])[0][0]}"


def test_llvmlite_is_imported_only_when_something_is_compiled():
    script = "import sys, daedalus.compilation; print([name for name in sys.modules if name.startswith('llvmlite')])"
    assert finished(started(script, "off")) == "[]"
