"""Numbers that decide the same in the package and in C have one value: given by the core, or compared here."""

import re
from pathlib import Path

import daedalus
from daedalus import _core
from daedalus.exchange.c_code import steps_in_c
from daedalus.exchange.c_code.controller_in_c import controller_code
from daedalus.simulation.contacts import settling

RUNTIME = Path(daedalus.__file__).parent / "exchange" / "fmu"
# Names in the runtime of FMUs that the package decides by, too, and where.
SHARED = {
    "iteration.h": {"SHORTENING": _core.shared_numbers["shortening"]},
    "bdf.h": {"MOST_ORDER": _core.shared_numbers["bdf_orders"]},
    "friction.h": {"AT_REST": settling.AT_REST, "STUCK": settling.STUCK},
    "prebuilt.h": {"LEAST_STAGE": steps_in_c.LEAST_STAGE, "MOST_ITERATIONS": steps_in_c.MOST_ITERATIONS},
}


def numbers_in_c(text):
    defined = re.findall(r"#define (\w+) ([\d.e+-]+)\s", text)
    constants = re.findall(r"(\w+) = ([\d.e+-]+)[,; }]", " ".join(re.findall(r"(?:enum \{|const double)[^;]*;", text)))
    return {name: float(value) for name, value in [*defined, *constants]}


def test_the_runtime_of_fmus_decides_as_runs_do():
    for name, known in SHARED.items():
        found = numbers_in_c((RUNTIME / name).read_text(encoding="utf-8"))
        assert {word: found[word] for word in known} == known


def test_a_controller_in_c_has_the_numbers_of_the_core():
    text = controller_code("own", "", 1e-7, 25)
    found = numbers_in_c(text)
    assert {name: found[name.upper()] for name in _core.receding_numbers} == _core.receding_numbers
    assert (found["SETTLED"], found["MOST_ROUNDS"], "@" in text) == (1e-7, 25, False)
