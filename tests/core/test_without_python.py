"""The core's headers alone, in a plain C++ program for any processor (`make sanitize` runs it under sanitizers)."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_headers_stand_alone(tmp_path):
    program = tmp_path / "core_test"
    core = ROOT / "src" / "daedalus" / "core"
    sources = [
        ROOT / "tests" / "core" / "core_test.cpp",
        *(core / f"{part}kernels.cpp" for part in ("", "implicit_", "linear_model_")),
    ]
    options = ["-std=c++20", "-fopenmp-simd", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread", f"-I{core}"]
    subprocess.run([os.environ.get("CXX", "g++"), *options, *map(str, sources), "-o", str(program)], check=True)
    result = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert result.stdout == "all checks passed\n"
    assert result.returncode == 0
