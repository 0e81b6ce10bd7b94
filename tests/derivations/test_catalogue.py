"""Every system of the catalogue is derived: each step is checked, and TeX sets the pages within their margins."""

import re
import shutil
import subprocess

import pytest

import daedalus as dd
from daedalus import catalogue

# Points by which a formula may reach into the margin of two centimetres.
MARGIN = 20.0
# Whose start values need those of its input.
WITHOUT_START = ("nilpotent_3",)


@pytest.mark.long
@pytest.mark.parametrize("part", [None, "start", "linearise"])
@pytest.mark.parametrize("name", catalogue.names())
def test_every_system_is_derived_checked_and_typeset(name, part, tmp_path):
    if part == "start" and name in WITHOUT_START:
        pytest.skip("the start depends on an input")
    d = dd.derive(catalogue.load(name).model, part)
    assert all(step.check < 1e-9 for step in d), [(step.kind, step.check) for step in d if not step.check < 1e-9]
    if shutil.which("pdflatex") is None:
        pytest.skip("no TeX engine is installed")
    (tmp_path / "d.tex").write_text(d.to_latex(document=True), encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "d.tex"],
        cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    wide = [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt", done.stdout)]
    assert max(wide, default=0.0) < MARGIN
