"""Documentation is code: the blocks of README and docs run, and so do the examples."""

import re
import runpy
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXPECTED = re.compile(r"^```python\n(?:(?!^```).)*?^```\s*^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace: dict = {}
    text = page.read_text(encoding="utf-8")
    missing = set()
    for match in BLOCK.finditer(text):
        needs = re.match(r"# needs (\w+)\n", match[1])
        if needs and find_spec(needs[1]) is None:
            missing.add(needs[1])
            continue
        exec(compile(match[1], f"{page.name}:{text[: match.start()].count(chr(10)) + 2}", "exec"), namespace)
    plt.close("all")
    printed = capsys.readouterr().out
    for match in EXPECTED.finditer(text):
        assert match[1] in printed
    if missing:
        pytest.skip(f"the blocks that need {', '.join(sorted(missing))} did not run: it is an optional extra")


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda script: script.name)
def test_examples_run(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = runpy.run_path(str(script), run_name="__main__")
    assert found


def test_readme_begins_with_the_two_commands():
    lines = [line.strip() for line in (ROOT / "README.md").read_text().splitlines() if line.strip()]
    assert lines[0] == "# Daedalus"
    assert lines[1].startswith("make demo")
    assert lines[2].startswith("make test")


def rooms_of(page: str) -> list[str]:
    """The folders of an indented tree, each with those that it lies in."""
    found: list[str] = []
    above: list[tuple[int, str]] = []
    for indent, name in re.findall(r"^( {4,})(\w+/)  ", page, re.MULTILINE):
        above = [(depth, folder) for depth, folder in above if depth < len(indent)]
        above.append((len(indent), name))
        found.append("".join(folder for _, folder in above))
    return found


def test_every_path_in_contributing_exists():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "daedalus"
    rooms = rooms_of(page)
    assert rooms
    written = re.findall(r"`([\w.]+/[\w./]*|[\w.]+\.(?:py|hpp|toml|md))`", page)
    missing = [path for path in [*rooms, *written] if not ((ROOT / path).exists() or (package / path).exists())]
    assert missing == []
    # And no room is left out, nor a folder in one; known systems and parts are kept by field.
    kept_by_field = {"catalogue", "components"}
    inside = [folder for folder in package.glob("*/*/") if folder.relative_to(package).parts[0] not in kept_by_field]
    folders = {
        f"{folder.relative_to(package).as_posix()}/"
        for folder in [*package.glob("*/"), *inside]
        if not any(part.startswith("_") for part in folder.relative_to(package).parts)
    }
    assert folders <= set(rooms)


def test_examples_are_numbered_in_the_order_of_the_flow():
    numbers = [int(script.name.split("_")[0]) for script in sorted((ROOT / "examples").glob("*.py"))]
    assert numbers == list(range(1, len(numbers) + 1))
