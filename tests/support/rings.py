"""The rings of the test run: what `make test` runs, and what waits for `make test-all` (marker `wide`).

A product of methods and cases runs `auto` and `radau5` by default; the other methods are `wide`. A product that has
neither of the two keeps its first and its last method. Tests of the methods themselves run all of them, always. A test
over the known systems leaves the largest of them to the wide ring, unless it keeps a promise of `tests/promises`.
"""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

# The method users get, and the one that fits most systems.
USUAL_METHODS = ("auto", "radau5")
# Folders whose tests are about the methods themselves, one by one.
ABOUT_METHODS = ("tests/core", "tests/integrators")
# Known systems that take seconds to prepare or to run.
LARGE_SYSTEMS = {
    *("two_bit_adder", "wheelset", "bridge_rectifier", "water_tube", "nand_gate", "fekete", "medical_akzo", "beam"),
    *("emep", "andrews", "flexible_slider_crank", "ring_modulator", "ring_modulator_of_parts", "amplifier_of_parts"),
}
# Where they run by default too, but for the one that takes half a minute.
PROMISES, LARGEST = "tests/promises", "two_bit_adder"
# Random examples of a law: those of a run that people wait for.
USUAL_EXAMPLES = 12

_everything = False


def run_everything(chosen: bool) -> None:
    """Decide, before tests are imported, whether laws get all their examples."""
    global _everything
    _everything = chosen


def examples(count: int) -> int:
    """How many random examples a law gets: `count` in `make test-all`, at most twelve in `make test`."""
    return count if _everything else min(count, USUAL_EXAMPLES)


def mark_wide_products(items: Iterable[pytest.Item], root: Path) -> None:
    """Mark the members of products of methods, known systems and cases that `make test` leaves out."""
    products = defaultdict(list)
    for item in items:
        call = getattr(item, "callspec", None)
        if call is None:
            continue
        method, folder = call.params.get("method"), item.path.relative_to(root).as_posix()
        words = {value for value in call.params.values() if isinstance(value, str)}
        if LARGEST in words or (words & LARGE_SYSTEMS and not folder.startswith(PROMISES)):
            item.add_marker(pytest.mark.wide)
        if not isinstance(method, str) or folder.startswith(ABOUT_METHODS):
            continue
        others = tuple((name, _key(value)) for name, value in sorted(call.params.items()) if name != "method")
        products[item.path, item.originalname, others].append((method, item))
    for members in products.values():
        usual = [method for method, _ in members if method in USUAL_METHODS] or [members[0][0], members[-1][0]]
        for method, item in members:
            if method not in usual:
                item.add_marker(pytest.mark.wide)


def _key(value: object) -> object:
    """A value to tell cases apart by: itself where it is plain, else its identity."""
    return value if isinstance(value, str | int | float | bool | None) else id(value)
