"""The Reference FMUs of the Modelica Association, built from their public sources and equal to their published results.

Their sources are at github.com/modelica/Reference-FMUs; DAEDALUS_REFERENCE_FMUS names a checkout of them.
"""

import csv
import math
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.exchange.fmus.small_fmus import entry_of, written

import daedalus as dd

SOURCES = Path(os.environ.get("DAEDALUS_REFERENCE_FMUS", "/nowhere"))
NAMES = ("BouncingBall", "Dahlquist", "Feedthrough", "Resource", "Stair", "VanDerPol", "Roberts", "StateSpace")
pytestmark = [
    pytest.mark.wide,
    pytest.mark.skipif(shutil.which("cc") is None, reason="the Reference FMUs are built by cc"),
    pytest.mark.skipif(not SOURCES.is_dir(), reason="DAEDALUS_REFERENCE_FMUS names no checkout of their sources"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reference")


def fmu(folder, name, version):
    description = SOURCES / name / f"FMI{version}.xml"
    if not description.exists():
        pytest.skip(f"{name} has no version {version}")
    path, library = folder / f"{name}{version}.fmu", folder / f"{name}{version}.so"
    if not path.exists():
        sources = [SOURCES / name / "model.c", SOURCES / f"src/fmi{version}Functions.c", SOURCES / "src/cosimulation.c"]
        flags = ["-shared", "-fPIC", "-O0", f"-DFMI_VERSION={version}", "-DDISABLE_PREFIX", f"-I{SOURCES}/include"]
        subprocess.run(["cc", *flags, f"-I{SOURCES / name}", *map(str, sources), "-lm", "-o", str(library)], check=True)
        files = {"modelDescription.xml": description.read_bytes(), entry_of(version, name): library.read_bytes()}
        if name == "Resource":
            files["resources/y.txt"] = (SOURCES / name / "y.txt").read_bytes()
        written(path, files)
    return path


def published(name):
    with (SOURCES / name / f"{name}_out.csv").open() as file:
        head, *rows = list(csv.reader(file))
    return head, [[np.array(cell.split(), dtype=float) for cell in row] for row in rows]


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("name", ["BouncingBall", "Dahlquist", "Stair", "VanDerPol", "Resource"])
def test_co_simulation_equals_what_is_published(folder, name, version):
    head, rows = published(name)
    times = np.array([float(row[0][0]) for row in rows])
    part = dd.exchange.load_fmu(fmu(folder, name, version), kind="co_simulation")
    tr = dd.simulate(part, max(times[-1], 1.0))
    for k, word in enumerate(head[1:], 1):
        own = np.array([tr.at(t)[word] for t in times])
        np.testing.assert_allclose(own, [row[k][0] for row in rows], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("version", [2, 3])
def test_model_exchange_is_more_exact_than_what_is_published(folder, version):
    part = dd.exchange.load_fmu(fmu(folder, "Dahlquist", version))
    assert dd.simulate(part, 10.0, rtol=1e-9)["x"][-1] == pytest.approx(math.exp(-10), rel=1e-6)
    ball = dd.simulate(dd.exchange.load_fmu(fmu(folder, "BouncingBall", version)), 3.0, rtol=1e-9)
    first = math.sqrt(2 / 9.81)
    falls = [first * (1 + 2 * sum(0.7**j for j in range(1, k + 1))) for k in range(5)]
    np.testing.assert_allclose([e.time for e in ball.events][:5], falls, rtol=1e-8)
    stair = dd.simulate(dd.exchange.load_fmu(fmu(folder, "Stair", version)), 12.0)
    assert stair.time[-1] == pytest.approx(9.0, abs=1.01)
    assert stair["counter"][-1] in (9.0, 10.0)


def test_arrays_and_matrices(folder):
    part = dd.exchange.load_fmu(fmu(folder, "StateSpace", 3))
    matrix = np.array([[0.0, 1.0, 0.0], [-2.0, -0.3, 0.5], [0.0, 0.0, -1.0]])
    given = {"start": {"x": [1.0, 2.0, 3.0]}, "inputs": {"u": [0.0, 0.0, 0.0]}}
    tr = dd.simulate(part, 1.0, parameters={"A": matrix}, rtol=1e-9, **given)
    values, vectors = np.linalg.eig(matrix)
    exact = (vectors @ np.diag(np.exp(values)) @ np.linalg.inv(vectors) @ [1.0, 2.0, 3.0]).real
    np.testing.assert_allclose(tr["x"][-1], exact, rtol=1e-7)


def test_stiff_reactions(folder):
    part = dd.exchange.load_fmu(fmu(folder, "Roberts", 3))
    tr = dd.simulate(part, 40.0, rtol=1e-8, method="radau5")
    # E. Hairer, G. Wanner, Solving Ordinary Differential Equations II; the value at 40 of many codes.
    assert tr["y1"][-1] == pytest.approx(0.7158270688, rel=1e-6)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("kind", ["model_exchange", "co_simulation"])
def test_every_type_passes_through(folder, kind, version):
    part = dd.exchange.load_fmu(fmu(folder, "Feedthrough", version), kind=kind)
    values = {"Float64_continuous": 0.25, "Float64_discrete": -1.5, "Int32": 7.0, "Boolean": 1.0, "Enumeration": 2.0}
    tr = dd.simulate(part, 1.0, inputs={f"{word}_input": value for word, value in values.items()})
    for word, value in values.items():
        assert tr[f"{word}_output"][-1] == value, word
