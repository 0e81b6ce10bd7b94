"""Who reads a run from `dd.simulate` on, call by call, comes back to files already left a few times only."""

import sys
from itertools import groupby
from pathlib import Path

import daedalus as dd
from daedalus.simulation.simulate import simulate

PACKAGE = str(Path(dd.__file__).parent)
ROOM = "simulation"


def files_entered(call):
    """The files of a room in the order in which one reads them: each function where it is first called."""
    read, entered = set(), []

    def note(frame, happening, _):
        code = frame.f_code
        if happening != "call" or code in read or not code.co_filename.startswith(PACKAGE) or code.co_name[0] == "<":
            return
        read.add(code)
        place = Path(code.co_filename).relative_to(PACKAGE)
        if place.parts[0] == ROOM:
            entered.append(str(place))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return [file for file, _ in groupby(entered)]


def test_a_run_is_read_without_coming_back_often():
    m = dd.Model("read from the beginning")
    x, v = m.state("x", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -m.parameter("k", 4.0) * x)
    for most in (40, 12):  # the first run, and a repeated one
        files = files_entered(lambda: simulate(m, 1.0))
        assert len(files) - len(set(files)) < most
