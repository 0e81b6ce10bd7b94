"""The core's headers alone, in a plain C++ program for any processor (`make sanitize` runs it under sanitizers)."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.wide
@pytest.mark.parametrize(
    ("test", "kernels", "printed"),
    [
        ("core_test", ["*kernels.cpp"], "all checks passed\n"),
        ("flow_test", ["flow_kernels.cpp", "linear_kernels.cpp"], "flows: all checks passed\n"),
    ],
)
def test_the_headers_stand_alone(tmp_path, test, kernels, printed):
    program = tmp_path / test
    core = ROOT / "src" / "daedalus" / "core"
    compiled = [file for pattern in (*kernels, "stage_pattern.cpp") for file in sorted(core.rglob(pattern))]
    sources = [ROOT / "tests" / "core" / f"{test}.cpp", *compiled]
    options = ["-std=c++20", "-fopenmp-simd", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread", f"-I{core}"]
    subprocess.run([os.environ.get("CXX", "g++"), *options, *map(str, sources), "-o", str(program)], check=True)
    result = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert result.stdout == printed
    assert result.returncode == 0


def test_code_for_newer_processors_leaves_no_function_for_all():
    """A linker keeps one copy of a weak function; one of AVX2 code would end the process on older processors."""
    objects = sorted(ROOT.glob("build/*/CMakeFiles/steppers_avx2.dir/**/*.o"))
    if not objects or not shutil.which("nm"):
        pytest.skip("no steppers were built here for two instruction sets")
    shared = set()
    for built in objects:
        listed = subprocess.run(["nm", "--demangle", str(built)], capture_output=True, text=True, check=True).stdout
        shared |= set(re.findall(r"^\S+ [WV] (?!.*avx2)(?!DW\.ref)(.+)$", listed, re.MULTILINE))
    assert shared == set()
