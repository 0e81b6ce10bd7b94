"""Code of functions that nobody refers to any more gives its memory back."""

import subprocess
import sys

import pytest

SCRIPT = """
import gc
import casadi as ca
from daedalus.compilation import compile as door

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

door._KEPT = 32  # functions that are kept for callers who build them again
x = ca.SX.sym("x", 2)

def compile_some(first, count):
    for k in range(first, first + count):
        door.compile_function(ca.Function("f", [x], [ca.sin(x) * (k + 0.5)]))

compile_some(0, 150)
before = resident()
compile_some(150, 250)
print((resident() - before) / 250)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
def test_memory_of_dropped_functions_is_freed():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env={"DAEDALUS_CACHE": "off", "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, timeout=600, check=True,
    )  # fmt: skip
    # Each one left 16 000 bytes behind.
    assert float(done.stdout) < 5000


INPUTS = """
import gc
import numpy as np
import daedalus as dd
from daedalus.compilation import compile as door
from daedalus.model.system import closed_loop

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

door._KEPT = closed_loop.MOST_LOOPS = 8  # what is kept for callers who come again
m = dd.Model("m")
x, u = m.state("x", start=1.0), m.input("u")
m.equation(m.der(x), u - x)

def run_some(first, count):
    for k in range(first, first + count):
        dd.simulate(m, 0.1, inputs={"u": lambda t, k=k: (k + 0.5) * np.sin(t)})
        dd.simulate(m, 0.1, inputs={"u": lambda t, k=k: float(str(k * t))})

run_some(0, 400)  # until all that is bounded is full
before, objects = resident(), len(gc.get_objects())
run_some(400, 200)
print((resident() - before) / 200, (len(gc.get_objects()) - objects) / 200)
"""


@pytest.mark.wide
@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
def test_memory_of_fresh_input_functions_is_freed():
    done = subprocess.run(
        [sys.executable, "-c", INPUTS], env={"DAEDALUS_CACHE": "off", "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, timeout=600, check=True,
    )  # fmt: skip
    size, objects = done.stdout.split()
    # A pair of them left 10 000 bytes behind.
    assert float(size) < 6000
    assert float(objects) < 1
