"""The table of figures in the README: lines of what was measured, others as they were."""

import re

import pytest
from benchmarks import figures, readme_table
from benchmarks.figure import Row

MACHINE = {"date": "2026-11-16T10:00:00+00:00", "processor": "Fast | 9", "cores": 2, "load": 0.2}
ROWS = [
    Row("a", "SciPy", 1e-3, 3e-2, 10.0),
    Row("a", "CVODE", 1e-3, 5e-3, 10.0),
    Row("a", "20 ms", 1e-3, 2e-2, 1.0, "at most"),
    Row("a", "error", 1e-9, 1e-8, 1.0, "at most", unit=""),
]


def test_a_line_has_ratios_limits_targets_and_the_machine():
    line = readme_table.line("fits", ROWS, MACHINE)
    assert line == "| fits | SciPy, CVODE | 5 to 30× | 5 % | 3 of 4 | 2026-11-16, Fast / 9, 2 cores |"
    busy = readme_table.line("fits", ROWS[2:3], {**MACHINE, "load": 12.0})
    assert busy == "| fits | a limit of time | – | 5 % | 1 of 1 | 2026-11-16, Fast / 9, 2 cores, load 12 |"


def test_lines_that_were_not_measured_stay(tmp_path):
    file = tmp_path / "README.md"
    file.write_text(f"before\n{readme_table.BEGIN}\n{readme_table.END}\nafter\n")
    readme_table.update(file, {"fits": ROWS, "empty": [Row("b", "SciPy", None, None, 1.0)]}, MACHINE)
    readme_table.update(file, {"chains": ROWS[:1]}, {**MACHINE, "date": "2026-12-01T00:00:00+00:00"})
    text = file.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert re.findall(r"^\| (\w+) \|.*\| (2026-\d\d-\d\d),", text, re.M) == [
        ("chains", "2026-12-01"),
        ("fits", "2026-11-16"),
    ]
    readme_table.update(file, {"fits": ROWS[:1]}, MACHINE)
    assert file.read_text().count("| fits |") == 1


def test_a_file_without_the_marks_is_refused(tmp_path):
    (tmp_path / "README.md").write_text("nothing")
    with pytest.raises(ValueError, match="has not the two marks"):
        readme_table.update(tmp_path / "README.md", {"fits": ROWS}, MACHINE)


def test_the_readme_has_the_marks_and_only_known_figures():
    text = readme_table.README.read_text(encoding="utf-8")
    inside = text.partition(readme_table.BEGIN)[2].partition(readme_table.END)[0]
    titles = {figures.load(name).title for name in figures.names()}
    lines = [line for line in inside.splitlines() if line.startswith("| ") and line != readme_table.HEADING[0]]
    assert {readme_table.title_of(line) for line in lines} <= titles
    assert lines
