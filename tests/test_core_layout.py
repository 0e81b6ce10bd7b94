"""The layout of the C++ core: rooms in one order, includes that run one way, and one meaning for every name."""

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

CORE = Path(__file__).parent.parent / "src" / "daedalus" / "core"

# A folder includes from itself and from folders on earlier lines; folders on one line do not know each other.
ORDER = [
    ["machine"],  # processor, memory, numbers
    ["linear/preconditioners"],  # approximate inverses for iterations
    ["linear", "noise", "contact"],  # matrices, random numbers, bodies that touch
    ["model"],  # compiled functions, inputs, equations
    ["collocation"],  # motions on meshes
    ["state"],  # where a run is, and what it writes down
    ["methods"],  # the length of a step, for all methods
    ["methods/explicit", "methods/implicit"],  # explicit methods; what implicit ones share
    [f"methods/{name}" for name in ("radau", "bdf", "rosenbrock", "implicit_tableau", "lobatto")],
    ["events"],  # guards, switches, restarts
    ["run"],  # the loop over steps
    ["flow"],  # steps as maps with derivatives
    ["program"],  # nonlinear programs and their solvers
    ["python"],  # the seam
    # That of programs, of interrupts and forks, of contacts, of lanes, of meshes, of runs as functions of arrays, of
    # patterns and rows.
    [f"python/{name}" for name in ("program", "process", "contact", "lanes", "collocation", "arrays", "structure")],
]
LEVEL = {folder: level for level, folders in enumerate(ORDER) for folder in folders}

# Types that share a name because they are one idea said twice, with the reason.
SAME_NAME: dict[str, str] = {}

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)
TYPE = re.compile(
    r"^\s*(?:template\s*<[^;{]*>\s*)?(?:struct|class|union|enum(?:\s+class)?)\s+(\w+)[^;(){}]*\{", re.MULTILINE
)


def files() -> list[Path]:
    return sorted(p for p in CORE.rglob("*") if p.suffix in {".hpp", ".cpp"})


def name_of(path: Path) -> str:
    return path.relative_to(CORE).as_posix()


def folder_of(name: str) -> str:
    return name.rpartition("/")[0]


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def own_includes(path: Path) -> list[str]:
    return [target for mark, target in INCLUDE.findall(text_of(path)) if mark == '"']


def test_includes_are_written_from_the_root_of_the_core():
    missing = [(name_of(p), target) for p in files() for target in own_includes(p) if not (CORE / target).is_file()]
    assert not missing


def test_every_folder_has_a_place_in_the_order():
    assert {folder_of(name_of(p)) for p in files()} == set(LEVEL)


def test_includes_run_one_way_through_the_folders():
    wrong = [
        f"{name_of(p)} includes {target}"
        for p in files()
        for target in own_includes(p)
        if folder_of(target) != (here := folder_of(name_of(p))) and LEVEL[folder_of(target)] >= LEVEL[here]
    ]
    assert not wrong


def test_no_circle_of_includes():
    graph = {name_of(p): own_includes(p) for p in files()}
    done: set[str] = set()

    def visit(name: str, road: list[str]) -> None:
        assert name not in road, " -> ".join([*road[road.index(name) :], name])
        if name not in done:
            for target in graph[name]:
                visit(target, [*road, name])
            done.add(name)

    for name in graph:
        visit(name, [])


def test_folders_stay_small():
    count = defaultdict(int)
    for path in files():
        count[folder_of(name_of(path))] += 1
    assert {folder: n for folder, n in count.items() if n > 25} == {}


def test_python_is_known_in_one_folder_only():
    knowing = {
        folder_of(name_of(p))
        for p in files()
        if any(re.match(r"(nanobind/|Python\.h)", target) for _, target in INCLUDE.findall(text_of(p)))
    }
    assert {folder.partition("/")[0] for folder in knowing} == {"python"}


@pytest.mark.parametrize("path", files(), ids=name_of)
def test_every_file_opens_with_a_sentence(path):
    first = re.match(r"((?:// ?.*\n)+)", text_of(path))
    assert first, "no comment at the top"
    sentence = re.sub(r"\s*// ?", " ", first[1].split("\n//\n")[0]).strip()
    assert len(sentence.split()) >= 4
    assert sentence[0].isupper()
    assert sentence[-1] in ".?", sentence


def test_files_stay_readable():
    assert [name_of(p) for p in files() if text_of(p).count("\n") > 500] == []


def test_no_two_types_share_a_name():
    places = defaultdict(list)
    for path in files():
        code = re.sub(r"//.*", "", text_of(path))
        for name in TYPE.findall(code):
            places[name].append(name_of(path))
    shared = {name: where for name, where in places.items() if len(where) > 1}
    assert set(shared) == set(SAME_NAME), shared


# What every pair of formulas says of its own step control.
OF_METHODS = {"memory", "shrink", "grow", "stability_edge"}


def test_a_limit_is_decided_once():
    """No number has one name and one value in two files, and what rounding leaves in factors is said in one."""
    places = defaultdict(set)
    for path in files():
        code = re.sub(r"//.*", "", text_of(path))
        for declared in re.findall(r"constexpr double ([^;(){]*);", code):
            for name, value in re.findall(r"(\w+) = ([^,]+)", declared):
                places[name, value].add(name_of(path))
    assert len(places) > 100
    twice = {key: where for key, where in places.items() if len(where) > 1 and key[0] not in OF_METHODS}
    assert twice == {}
    factors = [name_of(p) for p in files() if re.search(r"\b(512|1000) \* .*epsilon\(\)", text_of(p))]
    assert factors == ["linear/pivot_watch.hpp"]


def test_limits_of_events_stand_in_one_file():
    """A number that decides about an event is declared once, with where it comes from."""
    own = re.compile(r"^(?:inline )?constexpr (?:double|int|long long) ", re.MULTILINE)
    assert [name_of(p) for p in sorted((CORE / "events").glob("*.hpp")) if own.search(text_of(p))] == [
        "events/limits.hpp"
    ]


def test_a_guard_changes_its_state_by_one_function():
    """Its state, reference, floor and heading are private, and `on` alone writes them."""
    body = text_of(CORE / "state" / "guard.hpp").partition("void on(")[2].partition("\n    }\n")
    written = re.compile(r"\b(state_|reference_|ahead_|floor_|heading_) = ")
    own = text_of(CORE / "state" / "guard.hpp").partition("struct Roots")[0]
    assert len(written.findall(body[0])) >= 6
    assert len(written.findall(own)) == len(written.findall(body[0])) + 5  # what they begin with
