"""The rings of the test run: what `make test` runs, and what waits for `make test-all` (marker `wide`).

A product of methods and cases runs `auto` and `radau5` by default; the other methods are `wide`. A product that has
neither of the two keeps its first and its last method. Where every method has cases of its own, all cases are one
product. Several cases outside of the promises take the two in turn, unless tolerances are among their parameters. Of
several tolerances `auto`, or else the first method, runs all and the others the first. Tests of the methods themselves
run all of them, always. Of families whose cases are alike and long a part runs by default (`long_families.py`). A test
over the known systems leaves the largest of them to the wide ring, unless it shows that their reference is reached;
that is shown by `auto` at the first tolerance.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import strategies as st
from long_families import ALONE, ONE_OF

# The method users get, and the one that fits most systems.
USUAL_METHODS = ("auto", "radau5")
# Folders whose tests are about the methods themselves, one by one.
ABOUT_METHODS = ("tests/core", "tests/integrators")
# Known systems that take seconds to prepare or to run.
LARGE_SYSTEMS = {
    *("two_bit_adder", "wheelset", "bridge_rectifier", "water_tube", "nand_gate", "fekete", "medical_akzo", "beam"),
    *("emep", "andrews", "flexible_slider_crank", "ring_modulator", "ring_modulator_of_parts", "amplifier_of_parts"),
    *("brusselator_2d", "bricard"),
}
# Where they run by default too, but for the two circuits of transistors that take many seconds.
MAIN_PROMISE, LARGEST = "tests/promises/test_known_systems.py", {"two_bit_adder", "nand_gate"}
# Parameters of tests that are tolerances.
TOLERANCES = ("rtol", "tolerance")
# Random examples of a law: those of a run that people wait for.
USUAL_EXAMPLES = 12

_everything = False


def run_everything(chosen: bool) -> None:
    """Decide, before tests are imported, whether laws get all their examples."""
    global _everything
    _everything = chosen


def everything() -> bool:
    """Whether `wide` tests run too."""
    return _everything


def examples(count: int, usual: int = USUAL_EXAMPLES) -> int:
    """How many random examples a law gets: `count` in `make test-all`, at most `usual` in `make test`: twelve, or fewer
    where an example takes a quarter of a second."""
    return count if _everything else min(count, usual)


def any_text(longest: int) -> st.SearchStrategy[str]:
    """Texts of any characters but surrogates, as `st.text` draws them; that one tries to encode a million characters
    first, which takes each worker of a fresh clone three seconds."""
    return st.text(st.characters(exclude_categories=("Cs",)), max_size=longest)


def mark_wide_products(items: Iterable[pytest.Item], root: Path) -> None:
    """Mark the members of products of methods, known systems and cases that `make test` leaves out."""
    products: dict[tuple, dict[tuple, list[tuple[str, pytest.Item]]]] = defaultdict(lambda: defaultdict(list))
    tolerances: dict[tuple, list[tuple[str, float, pytest.Item]]] = defaultdict(list)
    for item in items:
        call = getattr(item, "callspec", None)
        if call is None:
            continue
        method, file = call.params.get("method"), item.path.relative_to(root).as_posix()
        words = {value for value in call.params.values() if isinstance(value, str)}
        large = bool(words & LARGE_SYSTEMS)
        if words & LARGEST or (large and (not file.startswith(MAIN_PROMISE) or method == USUAL_METHODS[1])):
            item.add_marker(pytest.mark.wide)
        if not isinstance(method, str) or file.startswith(ABOUT_METHODS):
            continue
        others = {name: _key(value) for name, value in sorted(call.params.items()) if name != "method"}
        products[item.path, item.originalname][tuple(others.items())].append((method, item))
        tolerance = next((others.pop(name) for name in TOLERANCES if name in others), None)
        if isinstance(tolerance, float):
            tolerances[item.path, item.originalname, large, tuple(others.items())].append((method, tolerance, item))
    for cases in products.values():
        one_each = all(len(members) == 1 for members in cases.values())
        turns = [] if one_each else _in_turn(cases, root)
        for members in [[only for (only,) in cases.values()]] if one_each else cases.values():
            usual = [method for method, _ in members if method in USUAL_METHODS] or [members[0][0], members[-1][0]]
            for method, item in members:
                if method not in usual or item in turns:
                    item.add_marker(pytest.mark.wide)
    for (_, _, large, _), runs in tolerances.items():
        first_method, first, _ = runs[0]
        leading = USUAL_METHODS[0] if any(method == USUAL_METHODS[0] for method, _, _ in runs) else first_method
        for method, tolerance, item in runs:
            if tolerance != first and (large or method != leading):
                item.add_marker(pytest.mark.wide)
    _mark_long_families(items)


def _in_turn(cases: dict[tuple, list[tuple[str, pytest.Item]]], root: Path) -> list[pytest.Item]:
    """Of cases that run by both usual methods, those that the other one of them runs by default."""
    both = [(key, dict(members)) for key, members in cases.items() if set(USUAL_METHODS) <= {m for m, _ in members}]
    named = {name for key, _ in both for name, _ in key}
    if len(both) < 2 or named & set(TOLERANCES):
        return []
    if next(iter(both[0][1].values())).path.relative_to(root).as_posix().startswith("tests/promises"):
        return []
    return [members[USUAL_METHODS[1 - k % 2]] for k, (_, members) in enumerate(both)]


def _mark_long_families(items: Iterable[pytest.Item]) -> None:
    families: dict[tuple, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if getattr(item, "originalname", None) in ALONE:
            item.add_marker(pytest.mark.wide)
        elif getattr(item, "callspec", None) is not None and item.get_closest_marker("wide") is None:
            families[item.path, item.originalname].append(item)
    every = {name: share for share, names in ONE_OF.items() for name in names}
    for (_, name), members in families.items():
        chosen = _balanced(members, every.get(name, 1))
        for item in members:
            if item not in chosen:
                item.add_marker(pytest.mark.wide)


def _balanced(members: list[pytest.Item], share: int) -> list[pytest.Item]:
    """Of every so many members that follow each other the one whose parameters have come least often, or the first.

    Of a product of 40 models and 2 forms every second member in its order would be one form of all models.
    """
    if share == 1:
        return members
    seen: Counter[tuple[str, object]] = Counter()
    chosen = []
    for first in range(0, len(members), share):
        values = {item: [(name, _key(value)) for name, value in item.callspec.params.items()] for item in
                  members[first : first + share]}  # fmt: skip
        least = min(values, key=lambda item: sum(seen[value] for value in values[item]))
        seen.update(values[least])
        chosen.append(least)
    return chosen


def _key(value: object) -> object:
    """A value to tell cases apart by: itself where it is plain, else its identity."""
    return value if isinstance(value, str | int | float | bool | None) else id(value)
