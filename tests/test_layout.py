"""The layout of the package: imports run one way, files stay short enough to read, and no code reads prose."""

import ast
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "daedalus"

# A folder imports only from folders above it in this list.
ROAD = [
    "algebra",
    "geometry",
    "model",
    "tracing",
    "compilation",
    "integrators",
    "analysis",
    "reduction",
    "initialisation",
    "simulation",
    "differentiation",
    "ensembles",
    "optimisation",
    "estimation",
    "robots",
    "studies",
    "derivations",
    "exchange",
    "scipy_calls",
    "display",
]
# Faces on the road: nothing of the road imports them.
ENDS = {"scipy_calls", "display"}
# What these may import; nothing imports them but the public face and the command line.
SIDE = {
    # The start of a netlist is its operating point, and its .tran a run.
    "components": {"geometry", "model", "analysis", "initialisation", "simulation"},
    "catalogue": {"geometry", "model", "components", "optimisation"},
}
# Rooms behind doors: one-line methods import them when they are called.
DOORS = {"display", "robots", "exchange", "derivations"}
MOST_FILES = 25
# Where runs are tested.
OF_RUNS = ("core", "simulation", "differentiation", "ensembles", "studies", "scipy_calls", "display", "promises")
FACE = {"__init__", "command_line", "demo", "model_source", "saved_results"}
# The memory of a system is read and written by its door alone.
DOOR = {"model/system/once.py", "model/system/system.py"}


# Names of what is written for people to read.
PROSE = {"note", "notes", "label", "reason", "reasons", "stop_reason", "remedy", "message", "sentence"}
SEARCHES = {"startswith", "endswith", "partition", "rpartition", "split", "rsplit", "find", "removeprefix"}

# Some files are parsed: many nodes, none of them garbage until their file is read.
pytestmark = pytest.mark.usefixtures("without_garbage_collection")


# `from daedalus.room.file import one, two`, `import daedalus.room`, and the space before it; examples have `>>>`.
IMPORT = re.compile(
    r"^( *)(?:from (daedalus[\w.]*) import (\([^)]*\)|[^\n#]+)|import (daedalus[\w.]*)|from (\.[\w.]*) import)",
    re.MULTILINE,
)
# What may be a search in prose; only files with one are parsed.
WORDS = rf"\b(?:{'|'.join(sorted(PROSE))})\b"
MAY_SEARCH = re.compile(rf"{WORDS}(?:\[.*\])?\s*\.(?:{'|'.join(sorted(SEARCHES))})\b|\bin\s[^\n]*{WORDS}|\bre\.\w+\(")


@dataclass(frozen=True)
class SourceFile:
    """What these tests ask of one file."""

    text: str
    # Every import of another part of the package, by dotted names, and whether it stands inside a function.
    imports: tuple[tuple[tuple[str, ...], bool], ...]
    classes: tuple[str, ...]
    # Searches in prose: the words searched in, where, and whether a sentence is looked for among many notes.
    searches: tuple[tuple[set[str], str, bool], ...]


@cache
def read(path: Path) -> SourceFile:
    """A file, by patterns: to parse all files takes each worker seconds."""
    text = text_of(path)
    classes = re.findall(r"^ *class (\w+)[(:]", text, re.MULTILINE)
    searches: Iterator[tuple[set[str], str, bool]] = iter(())
    if MAY_SEARCH.search(text) and re.search(WORDS, text):
        searches = searches_in(ast.parse(text), path.name)
    return SourceFile(text, tuple(imports_in(path, text)), tuple(classes), tuple(searches))


def imports_in(path: Path, text: str) -> Iterator[tuple[tuple[str, ...], bool]]:
    for found in IMPORT.finditer(text):
        indent, module, names, whole, relative = found.groups()
        assert not relative, f"{path}: relative import; write it from the root"
        # The last line without indentation before it: that of a function or class, or of a condition at the top.
        above = text.rfind("\n", 0, found.start())
        while indent and text[above + 1 : above + 2] in (" ", "\n", "#"):
            above = text.rfind("\n", 0, above)
        inside = bool(indent) and not re.match(r"if |try:|except|else:|with ", text[above + 1 : above + 10])
        words = [] if whole else re.findall(r"(\w+)(?: as \w+)?", re.sub(r"#.*", "", names))
        yield (whole,) if whole else tuple(f"{module}.{name}" for name in words), inside


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def word_of(node: ast.expr) -> str:
    """The last name of what an expression is taken from: `notes` of `done.notes[0]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def searches_in(tree: ast.Module, name: str) -> Iterator[tuple[set[str], str, bool]]:
    """Where a file looks into prose: in which words, the line, and whether it asks for a sentence among notes."""
    for node in ast.walk(tree):
        among_notes = False
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            words = {word_of(arg) for arg in node.args} if word_of(node.func.value) == "re" else set()
            if node.func.attr in SEARCHES:
                words.add(word_of(node.func.value))
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            right = node.comparators[0]
            words = {word_of(right)}
            among_notes = words == {"notes"} and not isinstance(right, ast.Subscript)
        else:
            continue
        if words & PROSE:
            yield words & PROSE, f"{name}:{node.lineno} {ast.unparse(node)}", among_notes


def imports_of(path: Path) -> list[tuple[str, bool]]:
    """(folder, inside a function) for every import of another part of the package."""
    return [(name.split(".")[1], inside) for names, inside in read(path).imports for name in names[:1]]


@cache
def source_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def test_imports_run_one_way():
    wrong = []
    for path in source_files():
        place = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if place in FACE:
            continue
        for target, in_function in imports_of(path):
            if target in {place, "errors", "deadline", "_core"}:
                continue
            if target in DOORS and in_function:
                allowed = (
                    True  # a door: tr.plot() imports display when called, m.robot() robots, a report's text derivations
                )
            elif place in SIDE:
                allowed = target in SIDE[place]
            else:
                allowed = place in ROAD and target in ROAD and ROAD.index(target) < ROAD.index(place)
                allowed = allowed and target not in ENDS
            if not allowed:
                wrong.append(f"{path.relative_to(PACKAGE)} imports {target}")
    assert not wrong


def test_folders_are_known():
    folders = {p.name for p in PACKAGE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders <= {*ROAD, *SIDE, "core"}


def test_files_stay_readable():
    long = [str(p.relative_to(PACKAGE)) for p in source_files() if len(read(p).text.splitlines()) > 500]
    assert not long


def test_every_file_opens_with_a_sentence():
    silent = [p.name for p in source_files() if not re.match(r'\s*(?:#.*\s*)*(?:r?"""\S|$)', read(p).text)]
    assert not silent


def test_folders_can_be_taken_in():
    folders = {p.parent for p in source_files()}
    full = {str(f.relative_to(PACKAGE)): n for f in folders if (n := len(list(f.glob("*.py")))) > MOST_FILES}
    assert not full


def imported_files(path: Path) -> set[Path]:
    """The files of the package that a file imports: at its top, inside functions, and for types alone.

    Doors, which are imports inside functions, are left out.
    """
    found = set()
    for names, inside in read(path).imports:
        for name in names:
            if not (inside and name.startswith(tuple(f"daedalus.{room}." for room in DOORS))):
                found |= file_of(name)
    return found


def file_of(name: str) -> set[Path]:
    """The file in which a dotted name of the package lies: a module, or what a module or a folder holds."""
    root, *parts = name.split(".")
    if root != "daedalus" or parts[:1] == ["_core"]:
        return set()
    for place in (PACKAGE.joinpath(*parts), PACKAGE.joinpath(*parts[:-1])):
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if file.exists():
                return {file}
    raise AssertionError(f"no file for {name}")


def test_no_circle_of_files():
    """One can read any file before those that use it."""
    order = TopologicalSorter({path: imported_files(path) for path in source_files()})
    try:
        order.prepare()
    except CycleError as circle:
        pytest.fail(" -> ".join(str(path.relative_to(PACKAGE)) for path in reversed(circle.args[1])))


def test_no_two_classes_share_a_name():
    """A leading underscore makes no other name; ready parts are told apart by their domain."""
    places = defaultdict(list)
    for path in source_files():
        if path.relative_to(PACKAGE).parts[0] == "components":
            continue
        for name in read(path).classes:
            places[name.lstrip("_")].append(str(path.relative_to(PACKAGE)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_no_two_files_of_tests_share_a_name():
    """Pytest imports them by it: two of one name end a whole run."""
    names = [path.name for path in TESTS.rglob("test_*.py")]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


def test_memory_of_a_system_is_reached_by_its_door():
    tests = Path(__file__).parent
    wrong = []
    for path in [*source_files(), *sorted(tests.rglob("*.py"))]:
        place = path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else tests).as_posix()
        if place not in DOOR and path != Path(__file__):
            wrong += [f"{place}: {line.strip()}" for line in past_the_door(text_of(path))]
    assert not wrong


def past_the_door(text: str) -> list[str]:
    """The lines that reach into the memory of a system themselves."""
    return re.findall(r"^.*(?:\._memory|\bsystem\.(?:prepared|lock))\b.*$", text, re.MULTILINE)


def test_nothing_is_decided_by_searching_in_prose():
    assert [line for path in source_files() for _, line, _ in read(path).searches] == []


def test_tests_of_runs_do_not_search_in_notes():
    paths = [path for folder in OF_RUNS for path in sorted((TESTS / folder).rglob("*.py"))]
    searched = [search for path in paths for search in read(path).searches]
    notes = {"note", "notes", "stop_reason"}
    assert [line for words, line, among_notes in searched if words & notes and not among_notes] == []


def test_laws_leave_the_number_of_their_examples_to_the_ring():
    """`max_examples=examples(60)`: twelve in `make test`, all of them in `make test-all`."""
    numbers = re.compile(r"max_examples=\d")
    found = [path.name for path in sorted(TESTS.rglob("*.py")) if numbers.search(text_of(path))]
    assert found == []


def test_values_kept_by_objects_are_made_without_a_lock():
    """`daedalus.model.lazy_values` has the reason: in a forked child nobody lets go of the standard one's."""
    standard = re.compile(r"from functools import .*\bcached_property|functools\.cached_property")
    asked = [path.name for path in source_files() if standard.search(read(path).text)]
    assert asked == ["lazy_values.py"]


def test_decisions_of_all_rooms_have_one_owner():
    """What is rounding, singular, full or one instant is a number of one file; others are named after their use."""
    names = (
        "EPSILON|NOT_ZERO|ROUNDING|SINGULAR|REDUNDANT|REDUNDANT_ON_A_MOTION|SAME_FORMULA|DENSE|CLEAR_GAP|STAYED"
        "|KNOWN_BY_DIFFERENCES|HALF_OF_DIGITS|TWELVE_DIGITS|SMALLEST_NORMAL|ONE_SIDED|SAME_INSTANT|SPACINGS|TIGHT|RANK"
        "|FEWEST_SPACINGS|PRESSES|JUMPS|SYMBOLIC_SOLVE|WITNESSES|TOLD_EVERY"
    )
    owners = defaultdict(set)
    for path in source_files():
        for name in re.findall(rf"^(?:\w+, )*({names})(?:, \w+)* = [\d.(-]", read(path).text, re.MULTILINE):
            owners[name].add(str(path.relative_to(PACKAGE)))
    cut_offs = {p.name for p in source_files() if re.search(r"rcond=[\d.]|matrix_rank\([^,()]*\)", read(p).text)}
    assert cut_offs == set()  # which singular values count is a name with a reason
    owners["ROUNDING"].discard("studies/measured_order.py")  # a verdict, not a size
    assert {name: own for name, own in owners.items() if len(own) > 1} == {}
    rounding = {str(p.relative_to(PACKAGE)) for p in source_files() if "finfo(float).eps" in read(p).text}
    assert rounding <= {"algebra/rank_decision.py"}


def test_a_share_is_decided_once():
    """No number that is not whole has one name and one value in two files, as in the core."""
    places = defaultdict(set)
    for path in source_files():
        room = path.relative_to(PACKAGE).parts[0]
        for name, value in named_numbers(path) if room != "catalogue" else ():
            if value != int(value):
                places[name.lstrip("_"), value].add(str(path.relative_to(PACKAGE)))
    assert len(places) > 450
    assert {key: where for key, where in places.items() if len(where) > 1} == {}


def test_every_number_with_a_name_says_what_it_is():
    """Beside it or above its block of assignments, so that who changes it knows where it comes from."""
    silent = []
    for path in source_files():
        room, lines = path.relative_to(PACKAGE).parts[0], text_of(path).splitlines()
        for place, last in blocks_of_numbers(path) if room not in ("catalogue", "components", "display") else ():
            above = place - 1
            while above > 0 and re.match(r"[A-Z_]|[)\]}]| ", lines[above]) and "#" not in lines[above]:
                above -= 1
            if not any("#" in line for line in (lines[above], *lines[place:last])):
                silent.append(f"{path.relative_to(PACKAGE)}: {lines[place]}")
    assert silent == []


@cache
def assignments(path: Path) -> list[ast.Assign]:
    """Those outside functions and classes, of a file that gives anything a name in capitals there."""
    text = text_of(path)
    if not re.search(r"^_?[A-Z][A-Z0-9_, ]* = ", text, re.MULTILINE):
        return []
    return [node for node in ast.parse(text).body if isinstance(node, ast.Assign)]


def blocks_of_numbers(path: Path) -> Iterator[tuple[int, int]]:
    """The lines, counted from 0, of each assignment that gives numbers names in capitals."""
    names = {name for name, _ in named_numbers(path)}
    for node in assignments(path):
        own = {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
        if own & names:
            yield node.lineno - 1, node.end_lineno or node.lineno


def named_numbers(path: Path) -> Iterator[tuple[str, float]]:
    """The numbers that a file gives a name in capitals."""
    for node in assignments(path):
        if len(node.targets) != 1:
            continue
        target, value = node.targets[0], node.value
        several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        for name, number in zip(target.elts, value.elts) if several else [(target, value)]:
            if isinstance(name, ast.Name) and name.id.isupper():
                with suppress(NameError, TypeError):
                    found = eval(compile(ast.Expression(number), "number", "eval"), {"__builtins__": {}})
                    if isinstance(found, (int, float)) and math.isfinite(found):
                        yield name.id, found


def test_other_rooms_read_the_public_record_of_a_run():
    """The fields of a run are private to the room that makes it; what others need is in `run_data`."""
    private = re.compile(
        r"\b(?:tr|run|piece|trajectory|done|short|end)\._(?:plant|drive|parameters|x|times|held\w*|source)\b"
    )
    rooms = (
        "differentiation",
        "ensembles",
        "optimisation",
        "estimation",
        "studies",
        "scipy_calls",
        "display",
        "exchange",
    )
    wrong = [
        f"{path.relative_to(PACKAGE)}: {line}"
        for path in source_files()
        if path.relative_to(PACKAGE).parts[0] in rooms
        for line in private.findall(read(path).text)
    ]
    assert not wrong


def test_private_names_are_read_in_the_room_that_gives_them():
    """What a room reads of another one's objects has a name without an underscore, and a sentence."""
    given, reads = defaultdict(set), defaultdict(set)
    named_tuples = {"_replace", "_fields", "_make", "_asdict", "_value_", "_exit", "_getframe"}
    gives = re.compile(r'def (_\w+)|self\.(_\w+)(?=[^=\n]* = |:)|^ *(_[a-z]\w*)(?=:| = )|"(_[a-z]\w*)"', re.MULTILINE)
    for path in source_files():
        room, text = path.relative_to(PACKAGE).parts[0], read(path).text
        for name in {name for names in gives.findall(text) for name in names}:
            given[name].add(room)
        for owner, name in set(re.findall(r"\b(\w+)\)?\.(_[a-z]\w*)", text)):
            if owner not in ("self", "cls", "_core", "daedalus") and name not in named_tuples:
                reads[name].add((room, f"{path.relative_to(PACKAGE)}: {owner}.{name}"))
    assert not [
        line for name, lines in reads.items() for room, line in lines if given[name] and room not in given[name]
    ]


def test_what_happens_at_a_switch_is_decided_by_the_run():
    """Other rooms read the transitions of a run, and take no limits from it to decide by again."""
    limits = re.compile(
        r"from daedalus\.simulation\.(?:sliding|switching|singular|contacts|touching)\.\w+ import "
        r"(?:\([^)]*|[^(\n]*)\b[A-Z][A-Z_]+\b"
    )
    asked = {
        str(path.relative_to(PACKAGE))
        for path in source_files()
        if path.relative_to(PACKAGE).parts[0] != "simulation" and limits.search(read(path).text)
    }
    assert asked == {"ensembles/lanes/explicit_kernel.py"}  # it writes the same decision for many cases at once


def test_what_is_written_in_a_model_is_read_from_its_record():
    """`m.written` is open to all rooms; a model has no second, private way to the same."""
    names = "variables|symbols|mechanics|sketch|assembly|aliases|derivative_symbol|derivative_scalar|flat|all_equations"
    private = re.compile(rf"\b(?:m|n|book|model|twin|flat|whole|written|plan\.book)\._(?:{names})\b")
    found = [f"{path.name}: {line}" for path in source_files() for line in private.findall(read(path).text)]
    assert found == []


def test_other_rooms_write_in_a_model_by_its_doors():
    """`model/notebook.py` has functions for them: `checked_expression`, `declare`, `adopt`, `note_change`."""
    own = re.compile(r"\b(?!self\b)\w+\._(?:expression|scalar|check_symbols|declare|adopt)\(")
    wrong = {
        f"{path.relative_to(PACKAGE)}: {line}"
        for path in source_files()
        if path.relative_to(PACKAGE).parts[0] != "model"
        for line in own.findall(read(path).text)
    }
    assert wrong == set()


def test_weak_collections_lose_no_interrupt():
    """Python drops what is raised in their callbacks: those of `model/interrupts.py` raise it behind them."""
    made = re.compile(r"= (?:weakref\.)?Weak(?:Set|KeyDictionary|ValueDictionary)\(")
    places = [p.name for p in sorted(PACKAGE.rglob("*.py")) if made.search(p.read_text(encoding="utf-8"))]
    assert places == ["interrupts.py"]


def test_lanes_read_the_numbers_of_the_core():
    """`_core.shared_numbers` has what both decide by: a copy is forgotten where the core's number changes."""
    core = "".join(p.read_text(encoding="utf-8") for p in (PACKAGE / "core").rglob("*.hpp"))
    known = {
        name
        for line in re.findall(r"inline constexpr [^;(]*;", core)
        for name in re.findall(r"(\w+)\s*(?:\[\])? =", line)
    }
    copied = {
        f"{path.name}: {name}"
        for path in sorted((PACKAGE / "ensembles" / "lanes").rglob("*.py"))
        for names, values in re.findall(r"^([A-Z][A-Z_]+(?:, [A-Z_]+)*) = (.*)$", text_of(path), re.MULTILINE)
        if re.fullmatch(r"[-+*/.,e\d() ]*\d[-+*/.,e\d() ]*", values)
        for name in names.split(", ")
        if name.lower() in known
    }
    assert "most_between" in known
    assert copied == set()
